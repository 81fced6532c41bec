"""faults -- what a detector does not see, sees twice, or sees where it is not.

Modules that are dead, misaligned or hot are the same in all events of a seed. Random
numbers of faults have streams of their own: the particles and hits that are
left are the ones of an event without faults.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from .detector import Modules
from .fatras import Measurements
from .noise import Noise, on_modules

Hits = TypeVar("Hits", Measurements, Noise)
# Streams of random numbers.
FAULTS, LOST, HOT, TWICE = 0xFA17, 0x1057, 0x407, 0x21CE
LAYERS = 10000  # more layers than any volume has
HOT_ETA = 1.0  # of the line on which hot modules lie: uniform within


@dataclass(frozen=True)
class Faults:
    """How bad a detector is."""

    inefficiency: float = 0.0  # fraction of the hits of particles
    dead_modules: float = 0.0  # fraction of the modules
    misalignment: float = 0.0  # mm, sigma of the shift of a module in x, y, z
    dead_volumes: tuple[int, ...] = ()  # all modules of these are dead
    hot_modules: int = 0  # modules with noise hits of their own
    hot_hits: int = 0  # of each in every event
    doubled: float = 0.0  # fraction of all hits that are written twice

    def dead(self, modules: Modules, seed: int) -> np.ndarray:
        """Whether a module is dead, [n_modules]."""
        rng = np.random.default_rng((seed, FAULTS, 0))
        result: np.ndarray = rng.random(len(modules.module_id)) < self.dead_modules
        return result | np.isin(modules.volume_id, self.dead_volumes)

    def hot(self, modules: Modules, seed: int) -> np.ndarray:
        """Rows of the hot modules: of the innermost layers of the barrels, next to
        a straight line from the middle of the detector, where a track could be."""
        rng = np.random.default_rng((seed, HOT, 0))
        phi, eta = rng.uniform(-np.pi, np.pi), rng.uniform(-HOT_ETA, HOT_ETA)
        barrel = np.flatnonzero(
            np.isin(modules.volume_id, modules.design.barrel_volumes)
        )
        centre = modules.centre[barrel]
        radius = np.hypot(centre[:, 0], centre[:, 1])
        line = np.array((np.cos(phi), np.sin(phi), np.sinh(eta)))
        away = np.linalg.norm(centre - radius[:, None] * line, axis=1)
        layer = modules.volume_id[barrel] * LAYERS + modules.layer_id[barrel]
        nearest = [
            rows[np.argmin(away[rows])]
            for rows in (np.flatnonzero(layer == number) for number in np.unique(layer))
        ]
        outward = sorted(nearest, key=lambda row: float(radius[row]))
        result: np.ndarray = barrel[np.array(outward[: self.hot_modules], dtype=int)]
        return result

    def shifts(self, modules: Modules, seed: int) -> np.ndarray:
        """How far modules are from where they are thought to be, [n, 3] mm."""
        rng = np.random.default_rng((seed, FAULTS, 1))
        return rng.normal(scale=self.misalignment, size=(len(modules.centre), 3))


def lose_hits(
    found: Measurements, faults: Faults, seed: int, event: int
) -> Measurements:
    """The hits that particles leave in an inefficient detector."""
    rng = np.random.default_rng((seed, LOST, event))
    return kept(found, rng.random(len(found.module)) >= faults.inefficiency)


def heat(modules: Modules, faults: Faults, seed: int, event: int) -> Noise:
    """The noise hits of the hot modules."""
    rng = np.random.default_rng((seed, HOT, 1, event))
    rows = np.repeat(faults.hot(modules, seed), faults.hot_hits)
    return on_modules(rng, modules, rows)


def twice(
    hits: Measurements, faults: Faults, seed: int, event: int
) -> Measurements:
    """The hits, and after them the ones that a detector writes again."""
    rng = np.random.default_rng((seed, TWICE, event))
    more = kept(hits, rng.random(len(hits.module)) < faults.doubled)
    more = replace(more, cell_hit=more.cell_hit + len(hits.module))
    return Measurements(
        **{
            name: np.concatenate((getattr(hits, name), getattr(more, name)))
            for name in Measurements.__dataclass_fields__
        }
    )


def see(hits: Hits, modules: Modules, faults: Faults, seed: int) -> Hits:
    """Hits of particles, or noise, of modules that are dead or misaligned."""
    alive = kept(hits, ~faults.dead(modules, seed)[hits.module])
    shift = faults.shifts(modules, seed)[alive.module]
    return replace(alive, position=alive.position + shift)


def kept(hits: Hits, keep: np.ndarray) -> Hits:
    """The hits that are kept, [n] bool, with their cells."""
    cell = keep[hits.cell_hit]
    arrays = {
        name: getattr(hits, name)[cell if name.startswith("cell") else keep]
        for name in hits.__dataclass_fields__
    }
    arrays["cell_hit"] = (np.cumsum(keep) - 1)[arrays["cell_hit"]]
    return replace(hits, **arrays)
