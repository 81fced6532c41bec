"""faults -- what a detector does not see, or sees where it is not.

Modules that are dead or misaligned are the same in all events of a seed. Random
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
from .noise import Noise

Hits = TypeVar("Hits", Measurements, Noise)
FAULTS, LOST = 0xFA17, 0x1057  # streams of random numbers


@dataclass(frozen=True)
class Faults:
    """How bad a detector is."""

    inefficiency: float = 0.0  # fraction of the hits of particles
    dead_modules: float = 0.0  # fraction of the modules
    misalignment: float = 0.0  # mm, sigma of the shift of a module in x, y, z
    dead_volumes: tuple[int, ...] = ()  # all modules of these are dead

    def dead(self, modules: Modules, seed: int) -> np.ndarray:
        """Whether a module is dead, [n_modules]."""
        rng = np.random.default_rng((seed, FAULTS, 0))
        result: np.ndarray = rng.random(len(modules.module_id)) < self.dead_modules
        return result | np.isin(modules.volume_id, self.dead_volumes)

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
