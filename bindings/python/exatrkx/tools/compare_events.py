"""compare_events -- one table of the properties of sets of events.

    exatrkx compare-events DIR_or_PREFIX [DIR_or_PREFIX ...]

prints a Markdown table with a row for each property and a column for each
set. A set is a folder of TrackML events or one event given by its prefix; cells may
be missing. Volumes are all that a set has hits in.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

import numpy as np

from ..files import event_files
from ..files.trackml_csv import (
    Table,
    aligned,
    find_file,
    lookup,
    read_table,
)
from ..simulation.detector import cells_along
from . import field_steps

PROMPT_RADIUS = 1.0  # mm
BARREL_LAYERS = (  # of TrackML
    *((8, 2), (8, 4), (8, 6), (8, 8)),
    *((13, 2), (13, 4), (13, 6), (13, 8), (17, 2), (17, 4)),
)
CELL_VOLUMES = (7, 8)  # whose values are summed
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
Z_EDGES = (0, 300, 600, 1000, 1500, 2000, 2600, 3000)  # mm
COLUMNS = {
    "hits": "hit_id x y z volume_id layer_id module_id".split(),
    "cells": "hit_id ch0 ch1 value".split(),
    "particles": "particle_id vx vy vz px py pz q".split(),
    "truth": "hit_id particle_id tx ty tz tpx tpy tpz".split(),
}
DETECTOR_COLUMNS = (
    "volume_id layer_id module_id cx cy cz rot_xu rot_yu rot_zu rot_xv rot_yv rot_zv "
    "rot_xw rot_yw rot_zw module_maxhu module_hv pitch_u pitch_v"
).split()
R_EDGES = (0, 350, 700, 1100)  # mm
ENDS = ((-3000, -1500), (-1500, 1500), (1500, 3000))  # mm along z
DISTANCES = (0.1, 1.0)  # mm
FAR = 1e5  # mm, more than the length of a detector
MODULE_KEYS = 10**12  # more than module_key returns
STIFF_PT = 0.4  # GeV, for the sense and size of the curvature

Rows = dict[str, str]


class Sample:
    """All events of one set, joined; particle rows are unique over events."""

    def __init__(self, path: str) -> None:
        """Read the set; raises FileNotFoundError where it has no event."""
        prefixes = event_files.find(path)
        if not prefixes:
            raise FileNotFoundError(f"{path}: no event*-hits.csv[.gz] in it")
        parts: list[dict[str, Table]] = [
            {kind: read(prefix, kind) for kind in COLUMNS} for prefix in prefixes
        ]
        self.n_events = len(parts)
        sizes = [len(part["hits"]["hit_id"]) for part in parts]
        self.event = np.repeat(np.arange(len(parts)), sizes)  # of every hit
        self.hits = joined([part["hits"] for part in parts])
        self.particles = joined([part["particles"] for part in parts])
        truth = [aligned(part["truth"], part["hits"]) for part in parts]
        self.truth = joined(truth)
        cells = joined([part["cells"] for part in parts])
        self.cell_value = cells["value"]
        self.channel = (cells["ch0"], cells["ch1"])
        cell_hit, owner, n_hits, n_particles = [], [], 0, 0
        for part, own_truth in zip(parts, truth, strict=True):
            row = lookup(part["hits"]["hit_id"], part["cells"]["hit_id"])
            cell_hit.append(row + n_hits)
            names = part["particles"]["particle_id"]
            row = lookup(names, own_truth["particle_id"])
            owner.append(np.where(row >= 0, row + n_particles, -1))
            n_hits += len(part["hits"]["hit_id"])
            n_particles += len(part["particles"]["q"])
        self.cell_hit = np.concatenate(cell_hit)
        self.owner = np.concatenate(owner)  # row of the particle, -1 for noise
        self.n_hits, self.n_particles = n_hits, n_particles


def read(prefix: str, kind: str) -> Table:
    """The table of one kind of an event; without rows where it has no cells."""
    if kind == "cells" and not event_files.has(prefix, kind):
        return {name: np.empty(0, np.int64) for name in COLUMNS[kind]}
    return read_table(find_file(prefix, kind), COLUMNS[kind])


def volumes_of(samples: Sequence[Sample]) -> list[int]:
    """Those that have hits."""
    found = (np.unique(sample.hits["volume_id"]).tolist() for sample in samples)
    return sorted(set().union(*found))


def joined(tables: list[Table]) -> Table:
    """Tables one after the other."""
    return {
        name: np.concatenate([table[name] for table in tables])
        for name in tables[0]
    }


def quantiles(values: np.ndarray, digits: int) -> str:
    """The quantiles QUANTILES as text."""
    if len(values) == 0:
        return "-"
    found = np.quantile(values, QUANTILES)
    return " / ".join(f"{value:.{digits}f}" for value in found)


def percent(part: float, whole: float) -> str:
    """A share as text."""
    return f"{100.0 * part / whole:.1f} %" if whole else "-"


def mean(values: np.ndarray) -> str:
    """A mean as text."""
    return f"{values.mean():.2f}" if len(values) else "-"


def count_rows(sample: Sample) -> Rows:
    """Events, hits and particles."""
    n_hits = np.bincount(
        sample.owner[sample.owner >= 0], minlength=sample.n_particles
    )
    radius = np.hypot(sample.particles["vx"], sample.particles["vy"])
    prompt = radius <= PROMPT_RADIUS
    seen = n_hits > 0
    return {
        "events": str(sample.n_events),
        "hits per event": f"{sample.n_hits / sample.n_events:.0f}",
        "particles with hits per event": f"{seen.sum() / sample.n_events:.0f}",
        "noise hits": percent((sample.owner < 0).sum(), sample.n_hits),
        "particles without hits": percent((~seen).sum(), sample.n_particles),
        "hits per particle with hits": mean(n_hits[seen]),
        "- prompt (production radius <= 1 mm)": mean(n_hits[seen & prompt]),
        "- displaced": mean(n_hits[seen & ~prompt]),
        "- prompt, quantiles": quantiles(n_hits[seen & prompt], 0),
        "- displaced, quantiles": quantiles(n_hits[seen & ~prompt], 0),
        "particles with hits that are displaced": percent(
            (seen & ~prompt).sum(), seen.sum()
        ),
        "their production radius, mm, quantiles": quantiles(
            radius[seen & ~prompt], 0
        ),
    }


def momentum_rows(sample: Sample) -> Rows:
    """Transverse momenta and directions of particles with hits."""
    seen = np.unique(sample.owner[sample.owner >= 0])
    px, py = sample.particles["px"][seen], sample.particles["py"][seen]
    radius = np.hypot(sample.particles["vx"], sample.particles["vy"])[seen]
    pt = np.hypot(px, py)
    prompt = radius <= PROMPT_RADIUS
    eta = np.arcsinh(sample.particles["pz"][seen] / np.maximum(pt, 1e-9))
    return {
        "pT of prompt particles, GeV, quantiles": quantiles(pt[prompt], 3),
        "pT of displaced particles, GeV, quantiles": quantiles(pt[~prompt], 3),
        "particles with pT > 0.5 GeV": percent((pt > 0.5).sum(), len(pt)),
        "particles with pT > 1 GeV": percent((pt > 1.0).sum(), len(pt)),
        "eta of prompt particles, quantiles": quantiles(eta[prompt], 2),
        "eta of displaced particles, quantiles": quantiles(eta[~prompt], 2),
        "positive charge": percent(
            (sample.particles["q"][seen] > 0).sum(), len(seen)
        ),
    }


def track_order(sample: Sample) -> np.ndarray:
    """Rows of particle hits, by particle, then by distance from its origin."""
    rows = np.flatnonzero(sample.owner >= 0)
    owner = sample.owner[rows]
    square = np.zeros(len(rows))
    for true, origin in (("tx", "vx"), ("ty", "vy"), ("tz", "vz")):
        start = sample.particles[origin][owner]
        square += (sample.truth[true][rows] - start) ** 2
    return rows[np.lexsort((square, owner))]


def track_rows(sample: Sample) -> Rows:
    """Neighbouring hits along tracks, and the sense of the curvature."""
    order = track_order(sample)
    owner = sample.owner[order]
    layer = sample.hits["volume_id"] * 100 + sample.hits["layer_id"]
    pair = owner[1:] == owner[:-1]
    same = pair & (layer[order][1:] == layer[order][:-1])
    sense, curvature = bending(sample, order)
    return {
        "consecutive pairs per hit": f"{pair.sum() / max(sample.n_hits, 1):.3f}",
        "pairs inside one layer": percent(same.sum(), pair.sum()),
        "tracks with dphi/dr against their charge": percent(
            (sense < 0).sum(), len(sense)
        ),
        "median q pT dphi/dr, GeV/m": f"{1e3 * np.median(curvature):.3f}"
        if len(curvature)
        else "-",
    }


def bending(
    sample: Sample, order: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sign of q dphi/dr, and q pT dphi/dr in GeV/mm, of stiff prompt tracks.

    Taken between the innermost and the outermost hit of tracks of at least
    five hits.
    """
    owner = sample.owner[order]
    first = np.flatnonzero(np.diff(owner, prepend=-1))
    last = np.append(first[1:], len(owner))[: len(first)] - 1
    row = owner[first]
    x, y = sample.truth["tx"][order], sample.truth["ty"][order]
    pt = np.hypot(sample.particles["px"], sample.particles["py"])[row]
    born = np.hypot(sample.particles["vx"], sample.particles["vy"])[row]
    dr = np.hypot(x[last], y[last]) - np.hypot(x[first], y[first])
    good = (last - first >= 4) & (pt > STIFF_PT) & (born < PROMPT_RADIUS)
    good &= dr > 50.0
    dphi = np.arctan2(y[last], x[last]) - np.arctan2(y[first], x[first])
    dphi = (dphi + np.pi) % (2.0 * np.pi) - np.pi
    value = (sample.particles["q"][row] * pt * dphi)[good] / dr[good]
    return np.sign(value), value


def field_rows(sample: Sample) -> Rows:
    """The field that turns prompt tracks, by region, and its part across the beam."""
    order = track_order(sample)
    owner = sample.owner[order]
    found = field_steps.steps(
        owner,
        sample.particles["q"][owner],
        np.stack([sample.truth["t" + axis][order] for axis in "xyz"], axis=1),
        np.stack([sample.truth["tp" + axis][order] for axis in "xyz"], axis=1),
    )
    radius, z = np.hypot(*found.middle[:, :2].T), found.middle[:, 2]
    ranges = [(0, 3000, *z) for z in zip(Z_EDGES[:-1], Z_EDGES[1:], strict=True)]
    for radii in zip(R_EDGES[:-1], R_EDGES[1:], strict=True):
        ranges += [(*radii, *z) for z in ((0, 1000), (1000, 2000), (2000, 3000))]
    rows: Rows = {}
    for near, far, low, high in ranges:
        inside = (np.abs(z) >= low) & (np.abs(z) < high)
        inside &= (radius >= near) & (radius < far)
        where = f"z {low} to {high} mm"
        if far != 3000:
            where = f"r {near} to {far} mm, {where}"
        rows[f"median bending field, T, {where}"] = (
            f"{np.median(found.bending[inside]):.2f}" if inside.any() else "-"
        )
    for low, high in ENDS:
        field = field_steps.across_beam(found.chosen((z >= low) & (z < high)))
        title = f"field along x / y from polar angles, T, z {low} to {high} mm"
        rows[title] = "-" if field is None else f"{field[0]:.3f} / {field[1]:.3f}"
    coil = field_steps.middle_of_coil(found)
    rows["middle of the coil, mm, x / y / z"] = (
        "-" if coil is None else " / ".join(f"{value:.0f}" for value in coil[:3])
    )
    return rows


def position_rows(sample: Sample, volumes: Sequence[int]) -> Rows:
    """Where the hits are."""
    rows: Rows = {}
    volume, layer = sample.hits["volume_id"], sample.hits["layer_id"]
    noise = sample.owner < 0
    for number in volumes:
        inside = volume == number
        rows[f"hits of particles in volume {number}"] = percent(
            (inside & ~noise).sum(), (~noise).sum()
        )
    for number, which in BARREL_LAYERS:
        if number not in volumes:
            continue
        inside = (volume == number) & (layer == which) & ~noise
        rows[f"hits of particles in barrel layer {number}/{which}"] = percent(
            inside.sum(), (~noise).sum()
        )
    for number in volumes:
        rows[f"noise in volume {number}"] = percent(
            (noise & (volume == number)).sum(), noise.sum()
        )
    return rows


def cell_rows(sample: Sample, volumes: Sequence[int]) -> Rows:
    """Cells per hit and their values."""
    if len(sample.cell_hit) == 0:
        return {"cells per hit": "-"}
    count = np.bincount(sample.cell_hit, minlength=sample.n_hits)
    total = np.bincount(
        sample.cell_hit, sample.cell_value, minlength=sample.n_hits
    )
    volume, noise = sample.hits["volume_id"], sample.owner < 0
    rows: Rows = {"cells per hit": mean(count)}
    for number in volumes:
        inside = volume == number
        rows[f"cells per particle / noise hit, volume {number}"] = (
            f"{mean(count[inside & ~noise])} / {mean(count[inside & noise])}"
        )
    for number in CELL_VOLUMES:
        if number not in volumes:
            continue
        inside = (volume == number) & ~noise
        rows[f"sum of cell values per hit, volume {number}, quantiles"] = (
            quantiles(total[inside], 3)
        )
    return rows


def crowd_rows(sample: Sample) -> Rows:
    """How close hits are to each other, and how many a module has."""
    rows: Rows = {}
    particle_hits = sample.owner >= 0
    for distance in DISTANCES:
        near = close(sample, distance)[particle_hits]
        title = f"hits of particles within {distance:g} mm of another's"
        rows[title] = percent(near.sum(), len(near))
    key = sample.event * MODULE_KEYS + module_key(sample.hits)
    count = np.unique(key, return_counts=True)[1]
    found = np.quantile(count, (0.5, 0.9, 0.99, 1.0)) if len(count) else ()
    rows["hits on a module with hits, 50 / 90 / 99 / 100 %"] = (
        " / ".join(f"{value:.0f}" for value in found) or "-"
    )
    return rows


def close(sample: Sample, distance: float) -> np.ndarray:
    """Whether a hit of another particle of its event is within the distance, mm."""
    result = np.zeros(sample.n_hits, dtype=bool)
    rows = np.flatnonzero(sample.owner >= 0)
    # Events one after another along z, so that hits of two are never close.
    z = sample.hits["z"][rows] + FAR * sample.event[rows]
    rows = rows[np.argsort(z, kind="stable")]
    point = np.stack([sample.hits[axis][rows] for axis in "xyz"], axis=1)
    point[:, 2] += FAR * sample.event[rows]
    for step in range(1, len(rows)):
        away = point[step:] - point[:-step]
        inside = np.abs(away[:, 2]) <= distance
        if not inside.any():
            break
        inside &= (away**2).sum(axis=1) <= distance**2
        inside &= sample.owner[rows[step:]] != sample.owner[rows[:-step]]
        result[rows[step:][inside]] = True
        result[rows[:-step][inside]] = True
    return result


def properties(sample: Sample, volumes: Sequence[int]) -> Rows:
    """All rows of the table for one set; volumes: of all sets."""
    return (
        count_rows(sample)
        | momentum_rows(sample)
        | track_rows(sample)
        | field_rows(sample)
        | position_rows(sample, volumes)
        | crowd_rows(sample)
        | cell_rows(sample, volumes)
    )


def detector_rows(sample: Sample, detectors: Table) -> Rows:
    """Whether hits, modules and cells agree with the module table."""
    module = lookup(module_key(detectors), module_key(sample.hits))
    if (module < 0).any():
        return {"hits on unknown modules": str((module < 0).sum())}
    local = to_local(sample, detectors, module)
    has_cells = len(sample.cell_hit) > 0
    centres = cell_centres(sample, detectors, module) if has_cells else []
    rows: Rows = {}
    for axis, centre in enumerate(centres):
        title = f"local {'uv'[axis]} of hit less mean of its cells, um"
        rows[title] = quantiles(1e3 * (local[axis] - centre), 1)
    rows["largest distance of a hit from its module plane, um"] = (
        f"{1e3 * np.abs(local[2]).max():.1f}"
    )
    return rows


def module_key(table: Table) -> np.ndarray:
    """One integer for volume, layer and module."""
    disc = table["volume_id"] * 1000 + table["layer_id"]
    return disc * 1_000_000 + table["module_id"]


def to_local(
    sample: Sample, detectors: Table, module: np.ndarray
) -> list[np.ndarray]:
    """Local coordinates u, v, w of the hits in mm."""
    offset = {n: sample.hits[n] - detectors["c" + n][module] for n in "xyz"}
    return [
        sum(detectors[f"rot_{n}{axis}"][module] * offset[n] for n in "xyz")
        for axis in "uvw"
    ]


def cell_centres(
    sample: Sample, detectors: Table, module: np.ndarray
) -> list[np.ndarray]:
    """Mean centre of the cells of each hit along u and v, in mm."""
    total = np.bincount(
        sample.cell_hit, sample.cell_value, minlength=sample.n_hits
    )
    centres = []
    for channel, pitch, half in (
        (sample.channel[0], "pitch_u", "module_maxhu"),
        (sample.channel[1], "pitch_v", "module_hv"),
    ):
        weighted = np.bincount(
            sample.cell_hit,
            (channel + 0.5) * sample.cell_value,
            minlength=sample.n_hits,
        )
        begin = cells_along(detectors[half], detectors[pitch])[1]
        centres.append(weighted / total * detectors[pitch][module] - begin[module])
    return centres


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = argparse.ArgumentParser(
        allow_abbrev=False,
        prog="exatrkx compare-events",
        description="Compare sets of TrackML events.",
    )
    add = result.add_argument
    add("sets", nargs="+", metavar="DIR_or_PREFIX", help="folder of events, or prefix of one")
    add("--detector", metavar="FILE", help="detectors.csv, to check hits against")
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 when done, 1 when something failed."""
    args = parser().parse_args(arguments)
    try:
        samples = [Sample(path) for path in args.sets]
        volumes = volumes_of(samples)
        columns = [properties(sample, volumes) for sample in samples]
        if args.detector is not None:
            table = read_table(args.detector, DETECTOR_COLUMNS)
            for column, sample in zip(columns, samples):
                column |= detector_rows(sample, table)
    except (OSError, ValueError) as error:
        print(f"compare-events: {error}", file=sys.stderr)
        return 1
    titles = [os.path.basename(os.path.normpath(path)) for path in args.sets]
    print("| " + " | ".join(["property", *titles]) + " |")
    print("|---" * (len(titles) + 1) + "|")
    for name in dict.fromkeys(name for column in columns for name in column):
        cells = [column.get(name, "-") for column in columns]
        print("| " + " | ".join([name, *cells]) + " |")
    return 0
