"""acorn_csv -- events of the ITk in the CSV files that acorn makes of Athena's.

PREFIX-truth.csv has a row for each space point (and a further one for each
further particle of it): x, y, z, the positions cluster_x_1 .. cluster_z_2 of its
two clusters, region, layer_disk, eta_module, phi_module and particle_id.
PREFIX-particles.csv has momenta in MeV.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .trackml_csv import Table, find_file, read_table

POSITION = ("x", "y", "z")
CLUSTERS = tuple(f"cluster_{axis}_{k}" for k in (1, 2) for axis in POSITION)
MODULE = ("region", "layer_disk", "eta_module", "phi_module")
PARTICLE = ("particle_id", "px", "py", "pz", "vx", "vy", "vz", "charge")
STRIP_ENDCAPS = (2, 6)  # where acorn's features have the point for its clusters
MEV = 1e-3  # GeV
MODULES_PER_ETA = 1000  # more than there are in azimuth
FIRST_ETA = -100  # less than any eta_module


def columns(table: Table, names: tuple[str, ...]) -> np.ndarray:
    return np.stack([table[name] for name in names], axis=1)


def read_points(prefix: str) -> tuple[Table, tuple[np.ndarray, np.ndarray]]:
    """The rows of space points, of a point of several particles the first, and
    the further ones: row of the point, particle."""
    names = ("hit_id", *POSITION, *CLUSTERS, *MODULE, "particle_id")
    table = read_table(find_file(prefix, "truth"), names)
    order = np.lexsort((table["particle_id"] <= 0, table["hit_id"]))  # noise last
    table = {name: values[order] for name, values in table.items()}
    _, first, row = np.unique(table["hit_id"], return_index=True, return_inverse=True)
    points = {name: values[first] for name, values in table.items()}
    owner = table["particle_id"]
    further = (owner > 0) & (owner != points["particle_id"][row])
    pairs = np.unique(np.stack((row, owner), axis=1)[further], axis=0)
    return points, (pairs[:, 0], pairs[:, 1])


def cluster_positions(points: Table) -> np.ndarray:
    """[n_hits, 2, 3] as acorn's features of the nodes."""
    clusters = columns(points, CLUSTERS).reshape(-1, 2, 3)
    whole = np.isin(points["region"], STRIP_ENDCAPS)
    clusters[whole] = columns(points, POSITION)[whole, None]
    return clusters


def modules_of(points: Table) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Volume, layer and module."""
    eta = points["eta_module"] - FIRST_ETA
    module = eta * MODULES_PER_ETA + points["phi_module"]
    return points["region"], points["layer_disk"], module


def read(prefix: str) -> dict[str, Any]:
    """Arguments of Event.from_arrays."""
    points, shared = read_points(prefix)
    particles = read_table(find_file(prefix, "particles"), PARTICLE)
    for name in ("px", "py", "pz"):
        particles[name] = particles[name] * MEV
    particles["q"] = np.rint(particles.pop("charge")).astype(np.int64)
    return {
        "positions": columns(points, POSITION),
        "hit_ids": points["hit_id"] + 1,  # acorn's begin at 0
        "modules": modules_of(points),
        "cluster_positions": cluster_positions(points),
        "particle_ids": np.maximum(points["particle_id"], 0),
        "particles": particles,
        "shared_hits": shared,
    }
