"""_field -- maps of the magnetic field: files, and learned from true tracks.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from . import _errors
from ._context import Context
from ._event import Event
from ._fit import fit_tracks
from ._model import Detector
from ._options import FitOptions
from ._tracks import Tracks
from .files import trackml_csv

NAMES = ("r", "z", "b_r", "b_z", "x", "y")
ON_GRID = 1e-3  # of a step
POINTS = (51, 151)  # of a learned map, along r and z
REACH = 1.25  # of the map, in units of the largest r and |z| of a hit
HALF_PERIOD = 1.5  # of the terms, in units of the largest |z|
N_TERMS = 6
PROMPT = 0.1  # mm from the beam line
MIN_HITS = 5
MIN_TRACKS = 50
MIN_PT = 0.4  # GeV: below, what particles lose on their way counts for more
MAX_ETA = 1.0  # of tracks in what is nearly the middle of the coil
FLOOR = 0.005  # relative error of q/pT that is not of the fit
MAX_PULL = 2.0  # beyond, a track counts less
STEP = np.array([5.0] * 3 + [0.005] * N_TERMS)  # mm and T, of derivatives
PRIOR = np.array([100.0] * 3 + [1.0] * N_TERMS)  # mm and T: what is known before
CONVERGED = 0.3  # standard deviations
MAX_STEPS = 15


def read_field_map(path: str | os.PathLike[str], **options: Any) -> FitOptions:
    """FitOptions with the map of a file: lines of r, z [mm], b_r, b_z [T] and,
    where the axis is not that of z, its x and y [mm]; a grid of equal steps with r
    from 0 on, in any order. options: further ones."""
    table = trackml_csv.read_table(os.fspath(path))
    if tuple(table) not in (NAMES[:4], NAMES):
        raise ValueError(f"{path}: columns {','.join(table)}, expected r,z,b_r,b_z[,x,y]")
    r, z = np.unique(table["r"]), np.unique(table["z"])
    order = np.lexsort((table["z"], table["r"]))
    rows = np.stack([table[name][order] for name in NAMES[:4]], axis=-1)
    grid = np.stack((np.repeat(r, len(z)), np.tile(z, len(r))), axis=-1)
    if not np.array_equal(rows[:, :2], grid) or r[0] != 0.0 or uneven(r) or uneven(z):
        raise ValueError(f"{path}: no grid of equal steps with r from 0 on")
    return FitOptions(
        field_map=rows[:, 2:].reshape(len(r), len(z), 2),
        max_r=float(r[-1]),
        max_z=0.5 * float(z[-1] - z[0]),
        map_x=float(table["x"][0]) if "x" in table else 0.0,
        map_y=float(table["y"][0]) if "y" in table else 0.0,
        map_z=0.5 * float(z[-1] + z[0]),
        **options,
    )


def uneven(values: np.ndarray) -> bool:
    steps = np.diff(values)
    return len(steps) == 0 or not np.allclose(steps, steps[0], rtol=ON_GRID)


def write_field_map(path: str | os.PathLike[str], options: FitOptions) -> None:
    """Write the map of options, as read_field_map and etx-fit-tracks read it."""
    _errors.expect("options", options, "FitOptions")
    if options.field_map is None:
        raise ValueError("options: have no field_map")
    field = np.asarray(options.field_map, np.float64)
    r = np.linspace(0.0, options.max_r, field.shape[0])
    z = options.map_z + np.linspace(-options.max_z, options.max_z, field.shape[1])
    columns = np.broadcast_arrays(
        r[:, None], z, field[..., 0], field[..., 1], options.map_x, options.map_y
    )
    table = {name: values.ravel() for name, values in zip(NAMES, columns, strict=True)}
    trackml_csv.write_table(os.fspath(path), table)


# ----------------------------------------------------------------- learning --


def true_tracks(event: Event, min_pt: float = 0.0) -> tuple[Tracks, np.ndarray]:
    """Prompt charged particles with hits enough as tracks, and their rows of
    event.particles."""
    particles, ids = event.particles, event.particle_ids
    if particles is None or ids is None:
        raise ValueError("an event has no truth")
    rows = np.searchsorted(particles["id"], ids).astype(np.int32)
    rows[ids == 0] = -1
    n_hits = np.bincount(rows[rows >= 0], minlength=len(particles))
    wanted = np.hypot(*particles["vertex"].T[:2]) < PROMPT
    wanted &= (n_hits >= MIN_HITS) & (particles["charge"] != 0)
    wanted &= np.hypot(*particles["momentum"].T[:2]) >= min_pt
    rows[(rows >= 0) & ~wanted[rows]] = -1
    tracks = Tracks.from_labels(rows)
    return tracks, rows[tracks.hits[tracks.offsets[:-1]]]


@dataclass(frozen=True)
class Solenoid:
    """Fields without divergence and curl, symmetric about an axis and about a point
    of it: B_z = sum a_k I_0(k r) cos(k z), B_r = sum a_k I_1(k r) sin(k z)."""

    max_r: float  # mm
    max_z: float  # mm
    half_period: float  # mm

    @cached_property
    def terms(self) -> np.ndarray:
        """[N_TERMS, n_r, n_z, 2]"""
        k = np.arange(N_TERMS) * np.pi / self.half_period
        kr = k[:, None] * np.linspace(0.0, self.max_r, POINTS[0])
        kz = k[:, None] * np.linspace(-self.max_z, self.max_z, POINTS[1])
        radial = bessel(1, kr)[:, :, None] * np.sin(kz)[:, None]
        return np.stack((radial, bessel(0, kr)[:, :, None] * np.cos(kz)[:, None]), -1)

    def options(self, parameters: np.ndarray, options: FitOptions) -> FitOptions:
        """parameters: the middle, mm, and a_k, T."""
        x, y, z = parameters[:3].tolist()
        return replace(
            options,
            field_map=np.tensordot(parameters[3:], self.terms, 1).astype(np.float32),
            max_r=self.max_r,
            max_z=self.max_z,
            map_x=x,
            map_y=y,
            map_z=z,
        )


def bessel(order: int, x: np.ndarray) -> np.ndarray:
    """The modified Bessel function I_order: its integral by the midpoint rule, which
    converges exponentially."""
    angle = (np.arange(64) + 0.5) * np.pi / 64
    found: np.ndarray = np.exp(x[..., None] * np.cos(angle)) @ np.cos(order * angle) / 64
    return found


@dataclass(frozen=True)
class Sample:
    """True tracks, and what their fits in a field tell of it."""

    tracks: list[tuple[Event, Tracks, np.ndarray, np.ndarray]]  # true q/pT, eta
    detector: Detector
    context: Context | None

    @staticmethod
    def of(events: Iterable[Event], detector: Detector, context: Context | None) -> Sample:
        tracks = []
        for event in events:
            own, rows = true_tracks(event, MIN_PT)
            assert event.particles is not None
            particle = event.particles[rows]
            px, py, pz = particle["momentum"].T.astype(float)
            pt = np.hypot(px, py)
            tracks.append((event, own, particle["charge"] / pt, np.arcsinh(pz / pt)))
        n = sum(len(own) for _, own, *_ in tracks)
        if n < MIN_TRACKS:
            raise ValueError(f"{n} prompt particles with hits, expected {MIN_TRACKS} or more")
        return Sample(tracks, detector, context)

    def ratios(self, options: FitOptions) -> np.ndarray:
        """q/pT over its true value, of the tracks near eta 0."""
        found = []
        for event, tracks, true, eta in self.tracks:
            fit = fit_tracks(event, tracks, self.detector, context=self.context, options=options)
            found.append((fit.q_over_pt / true)[(fit.n_degrees > 0) & (abs(eta) < MAX_ETA)])
        return np.concatenate(found)

    def pulls(self, options: FitOptions) -> np.ndarray:
        """Deviations of q/pT in standard deviations, 0 where a fit failed."""
        found = []
        for event, tracks, true, _ in self.tracks:
            fit = fit_tracks(event, tracks, self.detector, context=self.context, options=options)
            sigma = np.hypot(np.sqrt(fit.covariance[:, 4, 4]), FLOOR * true)
            found.append(np.where(fit.n_degrees > 0, (fit.q_over_pt - true) / sigma, 0.0))
        return np.concatenate(found)


def learn_field(
    events: Iterable[Event],
    detector: Detector,
    *,
    context: Context | None = None,
    options: FitOptions | None = None,
) -> FitOptions:
    """options with a field_map in which the true tracks of the events have their
    momenta, by Gauss-Newton steps from a uniform field; a track far off counts
    less (Huber, Ann. Math. Stat. 35 (1964) 73). The map is a solenoid whose axis
    is parallel to z, its middle anywhere. A hundred tracks know it to a percent."""
    chosen = FitOptions() if options is None else options
    every_hit = replace(chosen, max_hit_chi2=0.0)
    sample = Sample.of(events, detector, context)
    positions = np.concatenate([event.positions for event, *_ in sample.tracks])
    max_z = float(np.ceil(np.abs(positions[:, 2]).max()))
    max_r = float(np.ceil(np.hypot(*positions.T[:2]).max()))
    shape = Solenoid(REACH * max_r, REACH * max_z, HALF_PERIOD * max_z)
    parameters = np.zeros(len(STEP))
    parameters[3] = np.median(sample.ratios(replace(every_hit, field=1.0)))
    for _ in range(MAX_STEPS):
        pulls = sample.pulls(shape.options(parameters, every_hit))
        moved = [sample.pulls(shape.options(p, every_hit)) for p in parameters + np.diag(STEP)]
        slope = (np.stack(moved) - pulls) / STEP[:, None]
        weighted = slope / np.maximum(1.0, np.abs(pulls) / MAX_PULL)
        curvature = weighted @ slope.T + np.diag(PRIOR**-2.0)
        step = -np.linalg.solve(curvature, weighted @ pulls)
        parameters += step
        if step @ curvature @ step < CONVERGED**2:
            break
    return shape.options(parameters, chosen)
