"""event_truth -- the truth of an event as the plots need it.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .. import _event
from .._errors import expect
from .display import particle_rows

FALSE, SAME, LOW_PT, SIGNAL = range(4)  # what a pair of hits can be


class Event:
    """Hits of one event, their particles and which hits follow each other."""

    def __init__(self, source: Any) -> None:
        """Of an exatrkx.Event, or of PREFIX-hits and its siblings."""
        if isinstance(source, (str, os.PathLike)):
            source = _event.Event.from_files(source)
        expect("event", source, "Event")
        if source.particles is None:
            raise ValueError(f"{source!r}: plots need the truth")
        self.source: _event.Event = source
        self.position = source.positions.astype(np.float64)
        self.owner = particle_rows(source)
        self.particles = source.particles
        self.vertex = self.particles["vertex"].astype(np.float64)
        self.momentum = self.particles["momentum"].astype(np.float64)
        self.pt = np.hypot(self.momentum[:, 0], self.momentum[:, 1])
        with np.errstate(divide="ignore", invalid="ignore"):
            self.eta = np.arcsinh(self.momentum[:, 2] / self.pt)
        self.next_hit = self._next_hit()

    @property
    def n_hits(self) -> int:
        """Hits of the event."""
        return len(self.position)

    @property
    def r(self) -> np.ndarray:
        """Distance of every hit from the beam line, mm."""
        found: np.ndarray = np.hypot(self.position[:, 0], self.position[:, 1])
        return found

    def _next_hit(self) -> np.ndarray:
        """The hit after each on its particle, -1 after the last."""
        rows = np.flatnonzero(self.owner >= 0)
        owner = self.owner[rows]
        distance = ((self.position[rows] - self.vertex[owner]) ** 2).sum(axis=1)
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
        found[owned] = self.pt[owner[owned]] > np.float32(min_pt)
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
