"""event_truth -- the truth of an event as the plots need it.

Rows of the event are the rows of its hits file. Momenta are rounded to single
precision as the C library stores them, so that both select the same particles.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..files.trackml_csv import Table, aligned, find_file, lookup, read_table

FALSE, SAME, LOW_PT, SIGNAL = range(4)  # what a pair of hits can be


def single(values: np.ndarray | float) -> np.ndarray:
    """Values in double precision that single precision can hold."""
    return np.asarray(values, dtype=np.float32).astype(np.float64)


class Event:
    """Hits of one event, their particles and which hits follow each other."""

    def __init__(self, source: Any) -> None:
        """Read PREFIX-hits, -truth and -particles, compressed or not, or take
        them of an exatrkx.Event."""
        if isinstance(source, (str, os.PathLike)):
            hits, truth, self.particles = _read(os.fspath(source))
        else:
            hits, truth, self.particles = _tables(source)
        self.hit_id = hits["hit_id"]
        self.position = single(np.stack([hits[n] for n in "xyz"], axis=1))
        self.owner = _owner(str(source), self.particles, aligned(truth, hits))
        px, py, pz = (single(self.particles["p" + n]) for n in "xyz")
        self.pt = np.hypot(px, py)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.eta = np.arcsinh(pz / self.pt)
        self.next_hit = self._next_hit()

    @property
    def n_hits(self) -> int:
        """Hits of the event."""
        return len(self.hit_id)

    @property
    def r(self) -> np.ndarray:
        """Distance of every hit from the beam line, mm."""
        found: np.ndarray = np.hypot(self.position[:, 0], self.position[:, 1])
        return found

    def _next_hit(self) -> np.ndarray:
        """The hit after each on its particle, -1 after the last."""
        rows = np.flatnonzero(self.owner >= 0)
        owner = self.owner[rows]
        vertex = np.stack(
            [single(self.particles["v" + n][owner]) for n in "xyz"], axis=1
        )
        distance = ((self.position[rows] - vertex) ** 2).sum(axis=1)
        order = np.lexsort((rows, distance, owner))
        rows, owner = rows[order], owner[order]
        after = np.full(self.n_hits, -1)
        follows = owner[1:] == owner[:-1]
        after[rows[:-1][follows]] = rows[1:][follows]
        return after

    def true_pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """All pairs of hits that follow each other: the inner, the outer."""
        inner = np.flatnonzero(self.next_hit >= 0)
        return inner, self.next_hit[inner]

    def is_signal(self, hit: np.ndarray, min_pt: float) -> np.ndarray:
        """Does a particle with pT above min_pt own the hit?"""
        owner = self.owner[hit]
        found = np.zeros(len(hit), dtype=bool)
        owned = owner >= 0
        found[owned] = self.pt[owner[owned]] > single(min_pt)
        return found

    def pair_kind(
        self, a: np.ndarray, b: np.ndarray, min_pt: float
    ) -> np.ndarray:
        """SIGNAL, LOW_PT, SAME (particle, no neighbours) or FALSE."""
        same = (self.owner[a] >= 0) & (self.owner[a] == self.owner[b])
        true = same & ((self.next_hit[a] == b) | (self.next_hit[b] == a))
        kind = np.where(same, SAME, FALSE)
        kind[true] = np.where(self.is_signal(a[true], min_pt), SIGNAL, LOW_PT)
        return kind


def _read(prefix: str) -> tuple[Table, Table, Table]:
    """Hits, truth and particles."""
    return (
        read_table(find_file(prefix, "hits"), ("hit_id", "x", "y", "z")),
        read_table(find_file(prefix, "truth"), ("hit_id", "particle_id")),
        read_table(
            find_file(prefix, "particles"),
            ("particle_id", "vx", "vy", "vz", "px", "py", "pz", "q"),
        ),
    )


def _tables(event: Any) -> tuple[Table, Table, Table]:
    """The same of an exatrkx.Event."""
    if event.particles is None:
        raise ValueError(f"{event!r}: plots need the truth")
    ids = {"hit_id": event.hit_ids}
    hits = ids | dict(zip("xyz", event.positions.T, strict=True))
    table = event.particles
    particles = {"particle_id": table["id"], "q": table["charge"]}
    for k, axis in enumerate("xyz"):
        particles["v" + axis] = table["vertex"][:, k]
        particles["p" + axis] = table["momentum"][:, k]
    return hits, ids | {"particle_id": event.particle_ids}, particles


def _owner(prefix: str, particles: Table, truth: Table) -> np.ndarray:
    """Row of the particle of each hit, -1 for noise."""
    names = truth["particle_id"]
    owner = lookup(particles["particle_id"], names)
    owner[names == 0] = -1
    unknown = np.flatnonzero((owner < 0) & (names != 0))
    if len(unknown):
        raise ValueError(
            f"{prefix}: particle {names[unknown[0]]} is not in its particles"
        )
    return owner
