"""secondaries -- charged particles from nuclear interactions in the modules.

A hadron that ends at a module leaves pions with limited transverse momentum
about its direction and a share of its momentum, and protons knocked out of a
nucleus. Lengths in mm, momenta in GeV.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import numpy as np

from . import generator
from .fatras import Ends, Measurements
from .generator import Particles

MEAN_CHARGED = 2.0  # particles of one interaction, before MIN_PT
PROTON_SHARE = 0.38
POSITIVE_PROTONS = 0.9
RELATIVE_PT = 0.2  # GeV, sigma of a pion's across its parent in either axis
PROTON_MOMENTUM = 0.22  # GeV, sigma of a proton's in each axis
MIN_PT = 0.1
STEP = 0.5  # mm beyond the module in which they are made

PION, PROTON = generator.SPECIES[0], generator.SPECIES[2]


def generate(
    rng: np.random.Generator, particles: Particles, ends: Ends
) -> Particles:
    """The particles that come from all interactions."""
    count = rng.poisson(MEAN_CHARGED, size=len(ends.particle))
    row = np.repeat(np.arange(len(count)), count)
    is_proton = rng.random(len(row)) < PROTON_SHARE
    momentum = np.where(
        is_proton[:, None],
        rng.normal(scale=PROTON_MOMENTUM, size=(len(row), 3)),
        pion_momenta(rng, ends.momentum[row]),
    )
    likely = np.where(is_proton, POSITIVE_PROTONS, 0.5)
    charge = np.where(rng.random(len(row)) < likely, 1, -1)
    keep = np.hypot(momentum[:, 0], momentum[:, 1]) > MIN_PT
    keep &= np.abs(pseudorapidity(momentum)) < generator.ETA_MAX
    row, momentum, charge = row[keep], momentum[keep], charge[keep]
    is_proton = is_proton[keep]
    length = np.linalg.norm(momentum, axis=1, keepdims=True)
    parent = ends.particle[row]
    last_hit = rng.geometric(generator.INTERACTION, size=len(row)) - 1
    return Particles(
        particle_id=identities(particles.particle_id[parent], row),
        pdg=np.where(is_proton, PROTON[0], PION[0]) * charge,
        mass=np.where(is_proton, PROTON[1], PION[1]),
        charge=charge,
        position=ends.position[row] + STEP * momentum / length,
        momentum=momentum,
        last_hit=last_hit,
    )


def pseudorapidity(momentum: np.ndarray) -> np.ndarray:
    """eta of momenta [n, 3] with some pT."""
    result: np.ndarray = np.arcsinh(
        momentum[:, 2] / np.hypot(momentum[:, 0], momentum[:, 1])
    )
    return result


def pion_momenta(rng: np.random.Generator, parent: np.ndarray) -> np.ndarray:
    """A share of the parent's momentum [n, 3], and some in any direction."""
    n = len(parent)
    share = rng.beta(1.0, 3.0, size=(n, 1))
    result: np.ndarray = share * parent
    return result + rng.normal(scale=RELATIVE_PT, size=(n, 3))


def identities(parent: np.ndarray, interaction: np.ndarray) -> np.ndarray:
    """Ids of particles of the next generation, counted by interaction."""
    first = np.searchsorted(interaction, interaction, side="left")
    secondary = np.arange(len(interaction)) - first + 1
    generation = ((parent >> 24) & 0xFFF) + 1
    return generator.pack_particle_id(
        parent >> 52, (parent >> 36) & 0xFFFF, generation, secondary
    )


def joined(first: Particles, second: Particles) -> Particles:
    """The particles of both."""
    return Particles(
        **{
            name: np.concatenate((getattr(first, name), getattr(second, name)))
            for name in Particles.__dataclass_fields__
        }
    )


def joined_hits(
    first: Measurements, second: Measurements, n_particles: int
) -> Measurements:
    """The hits of both; particle rows of the second begin at n_particles."""
    offset = {"particle": n_particles, "cell_hit": len(first.module)}
    return Measurements(
        **{
            name: np.concatenate(
                (getattr(first, name), getattr(second, name) + offset.get(name, 0))
            )
            for name in Measurements.__dataclass_fields__
        }
    )
