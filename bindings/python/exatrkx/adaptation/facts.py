"""facts -- what events say about their detector, before anything is trained.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _errors
from .._event import Event

GEV_PER_T_MM = 0.299792458e-3
MANY_EVENTS = 10  # of fewer choices on validation mean little
MIN_CHAIN = 4  # hits of a particle whose curvature is measured
MIN_LAYERS = 3  # fewer are a number that hits without layers were given
MIN_TRACK_HITS = 3  # fewer are no track
MIN_SHARE = 0.05  # of the particles, that a usual threshold leaves
ANY_ETA = 1e9
SHORT_TRACK = 7  # hits; the particles of a detector of shorter ones count from 3
MIN_EXTENT = 20.0  # mm; detectors are larger
FIELD_PT = 0.6  # of the least pT of the efficiency: of such a particle
MAX_SPREAD = 0.3  # T; straight tracks have less
MAX_FIELD = 10.0  # T, of any detector
MAX_BEND = 1e-3  # of straight tracks
MAX_DETOUR = 1.5  # of a track; half a turn is one of 1.6
MIN_APPROACH = 0.1  # to the origin, of the way of a track from it
MAX_INWARD = 0.1  # of the tracks
MAX_REPEATED = 0.01  # of the hits
UNITS = {"mm": 1.0, "cm": 10.0, "m": 1000.0}  # mm


@dataclass(frozen=True)
class Wanted:
    """The particles that count where tracks are judged."""

    min_pt: float = 0.5  # GeV, of the efficiency
    soft_pt: float = 0.1  # GeV, of the soft one
    min_hits: int = 5  # of a particle
    max_eta: float = 4.0

    @property
    def others(self) -> dict[str, Any]:
        """The thresholds of evaluate but for pT."""
        return {"min_particle_hits": self.min_hits, "max_eta": self.max_eta}

    def __str__(self) -> str:
        pt = f"pT > {self.min_pt:g} and {self.soft_pt:g} GeV, " if self.min_pt > 0 else ""
        text = f"{pt}{self.min_hits} hits or more"
        return text + (f", |eta| < {self.max_eta:g}" if self.max_eta < ANY_ETA else "")


@dataclass(frozen=True)
class Facts:
    """Of all events together; lengths in mm, momenta in GeV."""

    n_events: int
    n_hits: int  # of an event, median
    n_particles: int  # with hits, of an event, median
    noise: float  # share of the hits
    radius: float  # that holds 99.9 % of the hits
    half_length: float  # |z| that holds them
    n_layers: int  # 0: hits of some event have no modules, or hardly any layers
    has_cells: bool
    is_symmetric: bool  # about z = 0
    median_pt: float
    field: float  # T along z, from true tracks; nan: too few
    field_spread: float  # half of the quartile range, T
    bend: float  # median distance of true tracks, in their middle, from a line, over their reach
    detour: float  # median way of true tracks through their hits, over their reach
    inward: float  # share of the true tracks that come nearer to the origin first
    wanted: Wanted
    warnings: list[str]

    @property
    def has_helices(self) -> bool:
        """Whether true tracks are helices about z; straight ones are, too."""
        return are_helices(self.field, self.field_spread)

    def lines(self) -> Iterator[tuple[str, str]]:
        """Name and value of each fact, for people."""
        yield "events", f"{self.n_events} of {self.n_hits} hits, {self.n_particles} particles"
        yield "noise", f"{100 * self.noise:.1f} % of the hits"
        yield "extent", f"radius {self.radius:.0f} mm, |z| {self.half_length:.0f} mm"
        yield "layers", str(self.n_layers or "none")
        yield "cells", "yes" if self.has_cells else "none"
        yield "symmetric about z = 0", "yes" if self.is_symmetric else "no"
        yield "momentum", f"median pT {self.median_pt:.3g} GeV"
        yield "field along z", f"{self.field:.2f} T, spread {self.field_spread:.2f} T"
        yield "judged by", f"particles with {self.wanted}"


def are_helices(field: float, spread: float) -> bool:
    """Of the field along z that bends true tracks, as src/learn/first_pass.c has it."""
    return spread <= max(MAX_SPREAD, abs(field) / 2)


def in_unit(event: Event, unit: str) -> Event:
    """The event with lengths in mm that were given in another unit."""
    scale = UNITS[unit]
    if scale == 1.0:
        return event
    particles = event.particles
    if particles is not None:
        particles = particles.copy()
        particles["vertex"] *= scale
    clusters = event.cluster_positions
    return copy_of(
        event,
        positions=event.positions * np.float32(scale),
        cluster_positions=None if clusters is None else clusters * np.float32(scale),
        particles=particles,
    )


def copy_of(event: Event, **changes: Any) -> Event:
    """The event with other arrays."""
    names = (
        "positions", "hit_ids", "features", "modules", "cell_features",
        "cluster_positions", "particle_ids", "weights", "particles", "shared_hits",
    )  # fmt: skip
    copied = Event.from_arrays(**{name: getattr(event, name) for name in names} | changes)
    copied.name = event.name
    return copied


def with_particles(events: Sequence[Event]) -> list[Event]:
    """The events that have true particles: of what measured nothing there is nothing to
    learn. ArgumentError where there are none, or an event has no truth."""
    for event in events:
        if not event.has_truth:
            raise _errors.ArgumentError(
                f"{event.name or event}: no truth to learn from: true particles of hits, "
                "and a table of particles (of TrackML -truth.csv and -particles.csv)"
            )
    found = [event for event in events if np.any(event.particle_ids)]
    if not found:
        raise _errors.ArgumentError(
            f"{len(events)} events: no hit has a true particle to learn from"
        )
    return found


def with_momenta(events: Sequence[Event]) -> list[Event]:
    """The events. Where no particle of any has a momentum, or none a charge, that of all
    is 1 GeV across the beam line, or 1: others count nowhere."""
    usual = {"momentum": (1, 0, 0), "charge": 1}
    tables = [np.array(event.particles) for event in events]
    missing = [name for name in usual if not any(np.any(one[name]) for one in tables)]
    if not missing:
        return list(events)
    for table in tables:
        for name in missing:
            table[name] = usual[name]
    return [
        copy_of(event, particles=table) for event, table in zip(events, tables, strict=True)
    ]


def ways(
    event: Event, min_pt: float
) -> tuple[list[float], list[float], list[float], list[bool]]:
    """Of the true tracks with four hits or more, these by distance from the vertex: the
    field along z, in T, that bends the circle through the first, middle and last hit of
    a charged one with such a pT; over the distance of the last from the first that of
    the middle one from the line through both, and the way through all hits; whether it
    comes nearer to the origin first."""
    ids, particles = event.particle_ids, event.particles
    fields: list[float] = []
    bends: list[float] = []
    detours: list[float] = []
    inward: list[bool] = []
    if ids is None or particles is None:
        return fields, bends, detours, inward
    pt = np.hypot(particles["momentum"][:, 0], particles["momentum"][:, 1])
    is_measured = (pt > min_pt) & (particles["charge"] != 0)
    order = np.argsort(ids, kind="stable")
    begin, end = (np.searchsorted(ids[order], particles["id"] + k) for k in (0, 1))
    for row in np.nonzero(end - begin >= MIN_CHAIN)[0]:
        xyz = event.positions[order[begin[row] : end[row]]].astype(float)
        away = np.linalg.norm(xyz - particles["vertex"][row], axis=1)
        xyz = xyz[np.argsort(away)]
        chord = xyz[-1] - xyz[0]
        reach = float(np.linalg.norm(chord))
        if reach > 0:
            off = np.cross(xyz[len(xyz) // 2] - xyz[0], chord)
            bends.append(float(np.linalg.norm(off)) / reach**2)
            steps = np.linalg.norm(np.diff(xyz, axis=0), axis=1)
            detours.append(float(steps.sum()) / reach)
        radii = np.linalg.norm(xyz, axis=1)
        inward.append(bool(radii[0] - radii.min() > MIN_APPROACH * np.ptp(radii)))
        a, b, c = xyz[[0, len(xyz) // 2, -1], :2]
        lengths = np.linalg.norm([b - a, c - b, c - a], axis=1)
        area = (b - a)[0] * (c - a)[1] - (b - a)[1] * (c - a)[0]
        if is_measured[row] and lengths.min() > 0:
            curvature = -2 * area / lengths.prod()
            charge_pt = float(particles["charge"][row]) * float(pt[row])
            fields.append(curvature * charge_pt / GEV_PER_T_MM)
    return fields, bends, detours, inward


def tracks_of(event: Event) -> tuple[NDArray[np.float64], ...]:
    """pT in GeV, |eta| and hits of each particle with three hits or more."""
    ids, particles = event.particle_ids, event.particles
    if ids is None or particles is None:
        return (np.empty(0),) * 3
    found, counts = np.unique(ids[ids != 0], return_counts=True)
    _, rows, of_rows = np.intersect1d(particles["id"], found, return_indices=True)
    is_track = counts[of_rows] >= MIN_TRACK_HITS
    momentum = particles["momentum"][rows[is_track]].astype(float)
    pt = np.hypot(momentum[:, 0], momentum[:, 1])
    with np.errstate(divide="ignore", invalid="ignore"):
        eta = np.abs(np.arcsinh(momentum[:, 2] / pt))
    return pt, eta, counts[of_rows][is_track].astype(float)


def wanted_of(events: Sequence[Event]) -> Wanted:
    """The usual particles, where there are some; softer, shorter and more forward ones in
    a detector that has these."""
    pt, eta, n_hits = map(np.concatenate, zip(*map(tracks_of, events), strict=True))
    if len(pt) == 0:
        return Wanted()
    usual = Wanted()
    min_pt, soft_pt = usual.min_pt, usual.soft_pt
    if np.mean(pt > min_pt) < MIN_SHARE:
        min_pt = float(f"{np.median(pt):.1g}")
        soft_pt *= min_pt / usual.min_pt
    return Wanted(
        min_pt,
        soft_pt,
        usual.min_hits if np.median(n_hits) >= SHORT_TRACK else MIN_TRACK_HITS,
        usual.max_eta if np.mean(eta > usual.max_eta) < MIN_SHARE else ANY_ETA,
    )


def look(events: Sequence[Event]) -> Facts:
    """What the events, which have particles, say of themselves."""
    positions = np.concatenate([event.positions for event in events])
    if len(positions) == 0 or np.abs(positions).max() < MIN_EXTENT:
        raise _errors.ArgumentError(
            f"no hit is {MIN_EXTENT:g} mm from the origin: lengths in m or cm need "
            "--unit m or --unit cm"
        )
    ids = [np.asarray(event.particle_ids) for event in events]
    z = positions[:, 2]
    radius = float(np.quantile(np.hypot(positions[:, 0], positions[:, 1]), 0.999))
    layers: set[tuple[int, int]] = set()
    if all(event.modules is not None for event in events):
        for event in events:
            volumes_layers = np.asarray(event.modules)[:2].T
            layers |= set(map(tuple, np.unique(volumes_layers, axis=0).tolist()))
    wanted = wanted_of(events)
    each = [ways(event, FIELD_PT * wanted.min_pt) for event in events]
    field, bends, detours, inward = (
        [one for found in each for one in found[k]] for k in range(4)
    )
    quartiles = np.quantile(field, [0.25, 0.5, 0.75]) if len(field) else [np.nan] * 3
    momenta = [event.particles["momentum"] for event in events if event.particles is not None]
    pt = np.concatenate([np.hypot(p[:, 0], p[:, 1]) for p in momenta])
    n_up = int(np.count_nonzero(z > 0))
    facts: dict[str, Any] = {
        "n_events": len(events),
        "n_hits": int(np.median([len(event) for event in events])),
        "n_particles": int(np.median([len(np.unique(one[one != 0])) for one in ids])),
        "noise": float(np.mean(np.concatenate(ids) == 0)),
        "radius": radius,
        "half_length": float(np.quantile(np.abs(z), 0.999)),
        "n_layers": len(layers) if len(layers) >= MIN_LAYERS else 0,
        "has_cells": all(event.cell_features is not None for event in events),
        "is_symmetric": abs(2 * n_up - len(z)) < 0.1 * len(z),
        "median_pt": float(np.median(pt)),
        "field": float(quartiles[1]),
        "field_spread": float(quartiles[2] - quartiles[0]) / 2,
        "bend": float(np.median(bends)) if bends else 0.0,
        "detour": float(np.median(detours)) if detours else 1.0,
        "inward": float(np.mean(inward)) if inward else 0.0,
        "wanted": wanted,
    }
    return Facts(**facts, warnings=list(doubts(facts, events)))


def repeated(event: Event) -> float:
    """The share of the hits that are where another one is."""
    return 1 - len(np.unique(event.positions, axis=0)) / max(len(event), 1)


def doubts(facts: dict[str, Any], events: Sequence[Event]) -> Iterator[str]:
    """What seems wrong."""
    field, spread = facts["field"], facts["field_spread"]
    if facts["median_pt"] == 0 or field != field:
        yield (
            "momenta or charges of the true particles are missing: no field, no "
            "thresholds of pT, no first pass"
        )
    elif abs(field) > MAX_FIELD:
        yield f"true tracks bend as in {field:.0f} T: momenta are wanted in GeV, lengths in mm"
    elif not are_helices(field, spread) and facts["bend"] < MAX_BEND:
        yield (
            "true tracks are straight and close to the direction of z: no field, or one "
            f"along z that hardly bends them ({field:.2f} T, spread {spread:.2f} T); no "
            "first pass"
        )
    elif not are_helices(field, spread):
        yield (
            f"true tracks are no helices about z (field {field:.2f} T, spread "
            f"{spread:.2f} T): no solenoid, wrong units, momenta or particles of hits; the "
            "first pass expects helices"
        )
    if facts["detour"] > MAX_DETOUR:
        yield (
            "true tracks go back and forth by distance from their vertices, the order of "
            "their hits in trainings: wrong vertices, or wrong particles of hits"
        )
    if facts["inward"] > MAX_INWARD:
        yield (
            f"{100 * facts['inward']:.0f} % of the true tracks come nearer to the origin "
            "before they go away from it, and hits are joined outward: put the origin where "
            "particles come from"
        )
    twice = float(np.mean([repeated(event) for event in events]))
    if twice > MAX_REPEATED:
        yield f"{100 * twice:.1f} % of the hits are where another one is: are they repeated?"
    if facts["n_layers"] == 0:
        yield "hits have no layers: no first pass and no completion"
    if facts["n_events"] < MANY_EVENTS:
        yield f"{len(events)} events are few: choices on validation mean little"
