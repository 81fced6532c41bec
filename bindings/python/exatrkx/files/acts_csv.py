"""acts_csv -- events in the CSV files of ACTS.

Reads eventN-hits.csv, -measurements.csv, -measurement-simhit-map.csv and
-particles_simulated.csv (older versions: -particles_initial.csv or others, see
PARTICLES), each also .csv.gz, as the examples of ACTS write them for any
detector (CsvSimHitWriter, CsvMeasurementWriter, CsvParticleWriter). Before version
44 a particle_id is one number. Positions are taken from the space points where
eventN-spacepoint.csv is there (CsvSpacePointWriter), else the global positions of
the measurements; older versions do not write these, and their plane modules are
then wanted (detector, as CsvTrackingGeometryWriter writes them) to turn local
positions. Volume, layer and module are fields of the geometry identifier. A space
point of two particles counts as noise, a measurement of several as the first's.
Cells are read from eventN-cells.csv where it is there, of a space point its first
measurement's.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import trackml_csv, weights
from .columns import Columns

NO_MEASUREMENT = np.uint64(2**64 - 1)
BARCODE = tuple(f"particle_id_{part}" for part in ("pv", "sv", "part", "gen", "subpart"))
FIELDS = ((52, 12), (40, 12), (24, 16), (16, 8), (0, 16))  # of one number
PARTICLES = ("particles_simulated", "particles_initial", "particles_selected", "particles")
# The fields of a geometry identifier: shift and mask.
MODULE = {"volume_id": (56, 0xFF), "layer_id": (36, 0xFFF), "module_id": (8, 0xFFFFF)}
GENERATION_BIT = 24  # of a particle_id of TrackML


class ActsCsvError(ValueError):
    """Files that lack columns or modules, or do not belong together."""


class Event:
    """The files of one event."""

    def __init__(self, prefix: Path, detector: str | None = None) -> None:
        self.prefix = prefix
        self.detector = detector

    def find(self, kind: str) -> str | None:
        """The file of a kind, as the library chooses it; None = there is none."""
        for ending in (".csv", ".csv.gz"):
            path = f"{self.prefix}-{kind}{ending}"
            if os.path.exists(path):
                return path
        return None

    def table(self, kind: str) -> Columns:
        path = self.find(kind)
        if path is None:
            raise FileNotFoundError(f"{self.prefix}-{kind}.csv[.gz]: not found")
        return Columns(path)

    def particles(self) -> str:
        """The kind of the file of particles: the first of PARTICLES."""
        return next((kind for kind in PARTICLES if self.find(kind)), PARTICLES[0])

    def barcodes(self, kind: str) -> np.ndarray:
        """[n_rows, 5] in the order of BARCODE, also of files with one number."""
        if "particle_id" not in self.table(kind).names:
            return self.integers(kind, *BARCODE)
        return unpacked(self.integers(kind, "particle_id")[:, 0])

    def floats(self, kind: str, *names: str) -> np.ndarray:
        return self.checked(kind, names).floats(*names)

    def integers(self, kind: str, *names: str) -> np.ndarray:
        return self.checked(kind, names).numbers(np.uint64, *names)

    def checked(self, kind: str, names: Sequence[str]) -> Columns:
        table = self.table(kind)
        for name in names:
            if name not in table.names:
                cure = "; exatrkx acts-csv --detector turns local ones" if name == "global_x" else ""
                raise ActsCsvError(f"{self.prefix}-{kind}.csv: no column {name}{cure}")
        return table

    def has_space_points(self) -> bool:
        return self.find("spacepoint") is not None


def unpacked(particle_id: np.ndarray) -> np.ndarray:
    """[n, 5] in the order of BARCODE, of ids that are one number."""
    packed = particle_id.astype(np.uint64)
    fields = [
        (packed >> np.uint64(shift)) & np.uint64((1 << width) - 1) for shift, width in FIELDS
    ]
    return np.stack(fields, axis=1)


def hits_of(event: Event) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Positions [n, 3], geometry identifiers [n], measurements [n, 2]."""
    if event.has_space_points():
        where = event.floats("spacepoint", "x", "y", "z")
        if "measurement_id" in event.table("spacepoint").names:  # of pixels alone
            return where, *alone_of(event, "spacepoint")
        names = ("geometry_id_1", "measurement_id_1", "measurement_id_2")
        found = event.integers("spacepoint", *names)
        return where, found[:, 0], found[:, 1:]
    if event.detector and "global_x" not in event.table("measurements").names:
        geometry, measurements = alone_of(event, "measurements")
        return from_local(event, event.detector, geometry), geometry, measurements
    where = event.floats("measurements", "global_x", "global_y", "global_z")
    return where, *alone_of(event, "measurements")


def from_local(event: Event, detector: str, geometry: np.ndarray) -> np.ndarray:
    """Positions [n, 3] of measurements on plane modules of a file of ACTS."""
    rotation = tuple(f"rot_{axis}{side}" for axis in "xyz" for side in "uv")
    centre = ("cx", "cy", "cz")
    modules = trackml_csv.read_table(detector, (*MODULE, *centre, *rotation))
    known = packed(*(modules[name] for name in MODULE))
    row = trackml_csv.lookup(known, packed(*modules_of(geometry).values()))
    if (row < 0).any():
        lost = geometry[row < 0][0]
        raise ActsCsvError(f"{detector}: no module of geometry_id {lost}")
    axes = np.stack([modules[name] for name in rotation], axis=1).reshape(-1, 3, 2)
    middle = np.stack([modules[name] for name in centre], axis=1)
    local = event.floats("measurements", "local0", "local1")
    moved: np.ndarray = middle[row] + np.einsum("nij,nj->ni", axes[row], local)
    return moved


def packed(volume: np.ndarray, layer: np.ndarray, module: np.ndarray) -> np.ndarray:
    """One number for each module."""
    return np.asarray((volume << 32) + (layer << 20) + module)


def modules_of(geometry: np.ndarray) -> dict[str, np.ndarray]:
    """Volume, layer and module of geometry identifiers."""
    return {
        name: ((geometry >> np.uint64(shift)) & np.uint64(mask)).astype(np.int64)
        for name, (shift, mask) in MODULE.items()
    }


def cells_of(event: Event, measurements: np.ndarray) -> trackml_csv.Table:
    """The cells of the first measurement of each hit."""
    names = event.table("cells").names
    owner = "measurement_id" if "measurement_id" in names else "hit_id"
    found = event.integers("cells", owner, "channel0", "channel1")
    order = np.argsort(found[:, 0], kind="stable")
    owners, wanted = found[order, 0], measurements[:, 0]
    first = np.searchsorted(owners, wanted)
    n_cells = np.searchsorted(owners, wanted, "right") - first
    hit = np.repeat(np.arange(len(measurements)), n_cells)
    before = np.cumsum(n_cells) - n_cells
    cell = order[np.arange(len(hit)) + (first - before)[hit]]
    return {
        "hit_id": hit + 1,
        "ch0": found[cell, 1].astype(np.int64),
        "ch1": found[cell, 2].astype(np.int64),
        "value": event.floats("cells", "value")[cell, 0],
    }


def alone_of(event: Event, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Geometry identifiers [n], measurements [n, 2] of points of one each."""
    found = event.integers(kind, "geometry_id", "measurement_id")
    none = np.full(len(found), NO_MEASUREMENT)
    return found[:, 0], np.stack((found[:, 1], none), axis=1)


def sim_hits_of(event: Event, measurements: np.ndarray) -> np.ndarray:
    """The row of the first simulated hit of each measurement; -1 = none."""
    link = event.integers("measurement-simhit-map", "measurement_id", "hit_id")
    ids, first = np.unique(link[:, 0], return_index=True)
    if len(ids) == 0:
        return np.full(measurements.shape, -1)
    row = np.minimum(np.searchsorted(ids, measurements), len(ids) - 1)
    found = link[first[row], 1].astype(np.int64)
    return np.where(ids[row] == measurements, found, -1)


def particle_ids(barcodes: np.ndarray) -> np.ndarray:
    """TrackML ids of rows of BARCODE: a number from 1, and the generation."""
    row = np.arange(1, len(barcodes) + 1)
    return row + (barcodes[:, 3].astype(np.int64) << GENERATION_BIT)


def owners_of(event: Event, hit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Barcodes of all particles, and the row of each hit's; -1 = none."""
    barcodes = event.barcodes(event.particles())
    of_hits = event.barcodes("hits")
    beyond = hit[hit >= len(of_hits)]
    if len(beyond):
        raise ActsCsvError(
            f"{event.prefix}-measurement-simhit-map.csv: hit_id {beyond[0]}, "
            f"there are {len(of_hits)} hits"
        )
    known = {tuple(code): row for row, code in enumerate(barcodes.tolist())}
    rows = np.array([known.get(tuple(c), -1) for c in of_hits.tolist()], np.int64)
    owner = np.where(hit >= 0, np.append(rows, -1)[hit], -1)
    return barcodes, owner


def convert(event: Event) -> dict[str, trackml_csv.Table]:
    """The tables of TrackML, hits in the order of the files."""
    position, geometry, measurements = hits_of(event)
    hit = sim_hits_of(event, measurements)
    barcodes, owner = owners_of(event, hit)
    is_shared = (hit[:, 1] >= 0) & (owner[:, 0] != owner[:, 1])
    owner = np.where(is_shared, -1, owner[:, 0])
    names = ("vx", "vy", "vz", "px", "py", "pz", "q")
    state = event.floats(event.particles(), *names)
    particle_id = particle_ids(barcodes)
    hit_id = np.arange(1, len(position) + 1)
    true = event.floats("hits", "tx", "ty", "tz", "tpx", "tpy", "tpz")
    true = np.where(owner[:, None] >= 0, true[np.maximum(hit[:, 0], 0)], 0.0)
    weight = weights.hit_weights(
        owner, true[:, 2], state[:, 2], np.hypot(state[:, 3], state[:, 4])
    )
    n_hits = np.bincount(owner[owner >= 0], minlength=len(state))
    charge = {"q": state[:, 6].astype(np.int64), "nhits": n_hits}
    cells = {"cells": cells_of(event, measurements)} if event.find("cells") else {}
    return cells | {
        "hits": {"hit_id": hit_id, **dict(zip("xyz", position.T)), **modules_of(geometry)},
        "truth": {
            "hit_id": hit_id,
            "particle_id": np.append(particle_id, 0)[owner],
            **dict(zip(("tx", "ty", "tz", "tpx", "tpy", "tpz"), true.T)),
            "weight": weight,
        },
        "particles": {
            "particle_id": particle_id,
            **dict(zip(names[:6], state.T)),
            **charge,
        },
    }


def read(prefix: str, with_cells: bool) -> dict[str, Any]:
    """Arguments of Event.from_arrays."""
    tables = convert(Event(Path(prefix)))
    hits, truth = tables["hits"], tables["truth"]
    arrays: dict[str, Any] = {
        "positions": np.stack([hits[axis] for axis in "xyz"], axis=1),
        "modules": hits,
        "particle_ids": truth["particle_id"],
        "weights": truth["weight"],
        "particles": tables["particles"],
    }
    if with_cells and "cells" in tables:
        hit_id, *others = tables["cells"].values()
        arrays["cells"] = (hit_id - 1, *others)
    return arrays
