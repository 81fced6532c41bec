"""generator -- primary and displaced particles of one simulated event.

Charged particles with the multiplicities, momenta and production points of
the TrackML events: independent proton collisions along the beam line, soft
transverse momenta, nearly flat pseudorapidity, and a fraction of particles
that start away from the beam line (decays and interactions with material).
The shares below are round numbers near the shares of particles with hits there.
Lengths in mm, momenta in GeV.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .decays import pairs

VERTEX_SIGMA_XY = 0.010
# Length of the beam spot: sigma in mm. "flat" is uniform within FLAT_Z of 0.
BEAM_SPOTS = {"long": 55.0, "trackml": 5.5, "flat": 0.0}
FLAT_Z = 300.0
ETA_MAX = 4.0
PARTICLES_PER_VERTEX = 41.0

# Bin edges in GeV; inside a bin log(pT) is uniform.
PT_EDGES = np.array(
    [0.10, 0.15, 0.20, 0.25, 0.30, 0.35, 0.40, 0.50, 0.60]
    + [0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 50.0]
)
PROMPT_PT = np.array(
    [2, 23, 31, 35, 31, 26, 43, 37, 50, 37, 27, 8.5, 6.5, 3.3, 1.0, 0.4]
)
DISPLACED_PT = np.array(
    [7, 26, 19, 17, 10, 6, 8, 6.5, 4, 2.5, 3.5, 2.5, 1.0, 0.5, 0.2, 0]
)

# |eta| of prompt particles: bins of 0.5 from 0 to ETA_MAX.
PROMPT_ETA = np.array([1.15, 1.15, 1.1, 1.0, 0.95, 0.95, 0.9, 0.7])

# Production radius of displaced particles: edges in mm, uniform in a bin.
RADIUS_EDGES = np.array(
    [1.0, 10, 25, 40, 60, 100, 150, 200, 300, 400, 500, 700, 1000]
)
RADIUS_SHARE = np.array([8, 12, 16, 8, 15, 14, 8, 13, 6, 4, 7, 7])
Z_MAX = 3000.0
PARENT_ETA_MAX = 3.0
FORWARD_SHARE = 0.5  # the rest leave the vertex with any azimuth
FORWARD_SIGMA_PHI = 0.5
DISPLACED_SIGMA_ETA = 0.75

# Chance that a hadron ends in a nuclear interaction at a module it crosses.
INTERACTION = 0.012

# PDG code of the positive particle and mass in GeV: pi, K, p, e.
SPECIES = (
    (211, 0.13957039),
    (321, 0.493677),
    (2212, 0.93827208),
    (-11, 0.00051099895),
)
PROMPT_SPECIES = np.array([0.855, 0.095, 0.047, 0.003])
DISPLACED_SPECIES = np.array([0.62, 0.0, 0.38, 0.0])


@dataclass(frozen=True)
class Beam:
    """Where collisions happen."""

    spot: str = "long"  # of BEAM_SPOTS
    offset: tuple[float, float, float] = (0.0, 0.0, 0.0)  # mm


@dataclass(frozen=True)
class Particles:
    """Generated particles; every array has one entry per particle."""

    particle_id: np.ndarray  # int64, TrackML bit fields
    pdg: np.ndarray  # int64
    mass: np.ndarray  # GeV
    charge: np.ndarray  # int64, -1 or +1
    position: np.ndarray  # [n, 3] mm
    momentum: np.ndarray  # [n, 3] GeV
    last_hit: np.ndarray  # int64, hits before its nuclear interaction

    def __len__(self) -> int:
        return len(self.particle_id)


VERTEX_SHIFT = 52  # of the collision in a particle_id


def pack_particle_id(
    vertex: np.ndarray,
    primary: np.ndarray,
    generation: np.ndarray,
    secondary: np.ndarray,
) -> np.ndarray:
    """TrackML particle_id: 12, 16, 12, 12 and 12 bits from the top.

    The fields are vertex, primary particle, generation, secondary particle
    and process; the process is written equal to the generation.
    """
    packed: np.ndarray = (vertex << VERTEX_SHIFT) | (primary << 36) | (generation << 24)
    packed |= (secondary << 12) | generation
    return packed


def piecewise(
    rng: np.random.Generator, edges: np.ndarray, share: np.ndarray, n: int
) -> np.ndarray:
    """n values, uniform inside bins that are chosen by their share."""
    chosen = rng.choice(len(share), size=n, p=share / share.sum())
    values: np.ndarray = edges[chosen] + rng.random(n) * np.diff(edges)[chosen]
    return values


def vertices(
    rng: np.random.Generator, pileup: int, beam: Beam
) -> np.ndarray:
    """Positions of the collisions [pileup, 3] in mm."""
    xyz = rng.normal(size=(pileup, 3))
    xyz *= (VERTEX_SIGMA_XY, VERTEX_SIGMA_XY, BEAM_SPOTS[beam.spot])
    if beam.spot == "flat":
        xyz[:, 2] = rng.uniform(-FLAT_Z, FLAT_Z, size=pileup)
    result: np.ndarray = xyz + beam.offset
    return result


def generate(
    rng: np.random.Generator,
    pileup: int,
    displaced: float,
    decays: float = 0.0,
    beam: Beam = Beam(),
) -> Particles:
    """All particles of one event with the given number of collisions.

    displaced: the fraction of particles produced away from the beam line;
    decays: the fraction of those that come in pairs from one point.
    """
    vertex_xyz = vertices(rng, pileup, beam)
    counts = np.maximum(rng.poisson(PARTICLES_PER_VERTEX, size=pileup), 1)
    vertex = np.repeat(np.arange(pileup), counts)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    primary = np.arange(len(vertex)) - first
    away = rng.random(len(vertex)) < displaced
    position = vertex_xyz[vertex]
    momentum = prompt_momenta(rng, len(vertex))
    position[away], momentum[away] = displaced_particles(rng, position[away])
    pdg, mass, charge = species(rng, away)
    rows = pair_rows(rng, vertex, np.flatnonzero(away), decays)
    if len(rows):
        pair = pairs(
            rng, vertex_xyz[vertex[rows[:, 0]]], prompt_momenta(rng, len(rows))
        )
        position[rows] = pair.position[:, None]
        momentum[rows] = pair.momentum
        pdg[rows], mass[rows], charge[rows] = pair.pdg, pair.mass, (1, -1)
    generation = away.astype(np.int64)
    last_hit = rng.geometric(INTERACTION, size=len(vertex)) - 1
    last_hit[np.abs(pdg) == 11] = np.iinfo(np.int64).max
    return Particles(
        particle_id=pack_particle_id(
            vertex + 1, primary + 1, generation, generation
        ),
        pdg=pdg,
        mass=mass,
        charge=charge,
        position=position,
        momentum=momentum,
        last_hit=last_hit,
    )


def pair_rows(
    rng: np.random.Generator, vertex: np.ndarray, away: np.ndarray, share: float
) -> np.ndarray:
    """Rows [n, 2] of displaced particles that become pairs.

    vertex: the collision of every particle; away: the rows of displaced ones;
    share: how many of them. Both of a pair are of one collision.
    """
    free: np.ndarray = away[: len(away) // 2 * 2].reshape(-1, 2)
    free = free[vertex[free[:, 0]] == vertex[free[:, 1]]]
    wanted = min(round(share * len(away) / 2), len(free))
    if wanted == 0:
        return free[:0]
    return free[rng.permutation(len(free))[:wanted]]


def momenta(pt: np.ndarray, phi: np.ndarray, eta: np.ndarray) -> np.ndarray:
    """Cartesian momenta [n, 3] in GeV."""
    return np.stack(
        (pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(eta)), axis=1
    )


def prompt_momenta(rng: np.random.Generator, n: int) -> np.ndarray:
    """Momenta of particles from the collisions, [n, 3] in GeV."""
    pt = np.exp(piecewise(rng, np.log(PT_EDGES), PROMPT_PT, n))
    phi = rng.uniform(-np.pi, np.pi, size=n)
    edges = np.linspace(0.0, ETA_MAX, len(PROMPT_ETA) + 1)
    eta = piecewise(rng, edges, PROMPT_ETA, n)
    return momenta(pt, phi, eta * rng.choice((-1.0, 1.0), size=n))


def displaced_particles(
    rng: np.random.Generator, origin: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Production points and momenta of particles born away from origin.

    An unseen parent flies straight from its collision (origin [n, 3], mm) to
    the production radius. The particle leaves near the parent's direction or
    with any azimuth.
    """
    n = len(origin)
    radius = piecewise(rng, RADIUS_EDGES, RADIUS_SHARE, n)
    phi = rng.uniform(-np.pi, np.pi, size=n)
    reach = np.arcsinh((Z_MAX - np.abs(origin[:, 2])) / radius)
    eta = rng.uniform(-1.0, 1.0, size=n) * np.minimum(reach, PARENT_ETA_MAX)
    position = origin + momenta(radius, phi, eta)
    forward = rng.random(n) < FORWARD_SHARE
    turn = np.where(
        forward,
        rng.normal(scale=FORWARD_SIGMA_PHI, size=n),
        rng.uniform(-np.pi, np.pi, size=n),
    )
    eta = rng.normal(scale=DISPLACED_SIGMA_ETA, size=n) + np.where(
        forward, eta, 0.0
    )
    pt = np.exp(piecewise(rng, np.log(PT_EDGES), DISPLACED_PT, n))
    eta = np.clip(eta, -ETA_MAX, ETA_MAX)
    return position, momenta(pt, phi + turn, eta)


def species(
    rng: np.random.Generator, away: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """PDG codes, masses in GeV and charges of the particles."""
    cumulative = np.where(
        away[:, None], np.cumsum(DISPLACED_SPECIES), np.cumsum(PROMPT_SPECIES)
    )
    draw = rng.random(len(away))
    kind = (draw[:, None] >= cumulative[:, :-1]).sum(axis=1)
    positive = np.where(
        away & (kind == 2),
        rng.random(len(away)) < 0.9,  # protons knocked out of material
        rng.random(len(away)) < 0.5,
    )
    code = np.array([row[0] for row in SPECIES])[kind]
    charge = np.where(positive, 1, -1)
    return code * charge, np.array([row[1] for row in SPECIES])[kind], charge
