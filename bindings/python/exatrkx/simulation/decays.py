"""decays -- pairs of charged particles from one displaced point.

Neutral parents fly straight from their collision: K0s and Lambda decay after
an exponential proper length, photons convert in the material of a layer. They
replace displaced particles that were drawn one by one, so that
multiplicities stay. Masses and lifetimes of the Particle Data Group; lengths
in mm, momenta in GeV.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

PION, PROTON, ELECTRON = 0.13957039, 0.93827208, 0.00051099895


@dataclass(frozen=True)
class Parent:
    """A neutral particle and its two daughters, the positive one first."""

    mass: float  # GeV
    proper_length: float  # mm; 0: ends in a layer of material
    pdg: tuple[int, int]
    masses: tuple[float, float]
    share: float


PARENTS = (
    Parent(0.497611, 26.84, (211, -211), (PION, PION), 0.5),
    Parent(1.115683, 78.9, (2212, -211), (PROTON, PION), 0.15),
    Parent(1.115683, 78.9, (211, -2212), (PION, PROTON), 0.15),
    Parent(0.0, 0.0, (-11, 11), (ELECTRON, ELECTRON), 0.2),
)

# Radii of barrel layers, mm, and how far material extends on both sides.
LAYER_RADII = np.array([32.0, 72, 116, 172, 260, 360, 500, 660, 820, 1020])
LAYER_HALF_WIDTH = 5.0
RADIUS_MIN, RADIUS_MAX, Z_MAX = 1.0, 1000.0, 3000.0  # of production, mm


@dataclass(frozen=True)
class Pairs:
    """The daughters, [n, 2]: positive, negative."""

    pdg: np.ndarray
    mass: np.ndarray  # GeV
    position: np.ndarray  # [n, 3] mm, of both
    momentum: np.ndarray  # [n, 2, 3] GeV


def pairs(
    rng: np.random.Generator, origin: np.ndarray, momentum: np.ndarray
) -> Pairs:
    """One pair of each parent of this origin and momentum, both [n, 3].

    A parent that ends outside of the radii and lengths above is drawn again
    from those that do not, with its own origin.
    """
    n = len(origin)
    share = np.array([parent.share for parent in PARENTS])
    kind = rng.choice(len(PARENTS), size=n, p=share / share.sum())
    position = np.empty((n, 3))
    momentum = momentum.copy()
    left = np.arange(n)
    while len(left):
        point = production_points(rng, kind[left], origin[left], momentum[left])
        radius = np.hypot(point[:, 0], point[:, 1])
        inside = (radius > RADIUS_MIN) & (radius < RADIUS_MAX)
        inside &= np.abs(point[:, 2]) < Z_MAX
        position[left[inside]] = point[inside]
        left = left[~inside]
        momentum[left] = momentum[rng.integers(0, n, size=len(left))]
    pdg = np.array([parent.pdg for parent in PARENTS])[kind]
    mass = np.array([parent.masses for parent in PARENTS])[kind]
    return Pairs(pdg, mass, position, daughters(rng, kind, momentum))


def production_points(
    rng: np.random.Generator,
    kind: np.ndarray,
    origin: np.ndarray,
    momentum: np.ndarray,
) -> np.ndarray:
    """Where the parents end, [n, 3]."""
    n = len(kind)
    mass = np.array([parent.mass for parent in PARENTS])[kind]
    length = np.array([parent.proper_length for parent in PARENTS])[kind]
    pt = np.hypot(momentum[:, 0], momentum[:, 1])
    flown = rng.exponential(size=n) * length / np.where(mass > 0.0, mass, 1.0)
    layer = LAYER_RADII[rng.integers(0, len(LAYER_RADII), size=n)]
    layer = layer + rng.uniform(-1.0, 1.0, size=n) * LAYER_HALF_WIDTH
    step = np.where(mass > 0.0, flown, layer / pt)
    ends: np.ndarray = origin + step[:, None] * momentum
    return ends


def daughters(
    rng: np.random.Generator, kind: np.ndarray, momentum: np.ndarray
) -> np.ndarray:
    """Momenta of both daughters, [n, 2, 3]; they add up to the parent's.

    Two-body decays are isotropic in the frame of the parent. A photon shares
    its momentum evenly at random, without an angle between the two.
    """
    n = len(kind)
    share = rng.random(n)
    direction = isotropic(rng, n)
    result = np.empty((n, 2, 3))
    result[:, 0] = share[:, None] * momentum
    for row, parent in enumerate(PARENTS):
        if parent.mass == 0.0:
            continue
        chosen = kind == row
        result[chosen, 0] = boosted(
            parent, direction[chosen], momentum[chosen]
        )
    result[:, 1] = momentum - result[:, 0]
    return result


def isotropic(rng: np.random.Generator, n: int) -> np.ndarray:
    """Directions [n, 3]."""
    cosine = rng.uniform(-1.0, 1.0, size=n)
    phi = rng.uniform(-np.pi, np.pi, size=n)
    sine = np.sqrt(1.0 - cosine**2)
    return np.stack((sine * np.cos(phi), sine * np.sin(phi), cosine), axis=1)


def boosted(
    parent: Parent, direction: np.ndarray, momentum: np.ndarray
) -> np.ndarray:
    """Momentum of the first daughter, [n, 3], from that in the rest frame."""
    big, (first, second) = parent.mass, parent.masses
    triangle = (big**2 - (first + second) ** 2) * (big**2 - (first - second) ** 2)
    rest = np.sqrt(triangle) / (2.0 * big) * direction
    energy = np.sqrt(first**2 + (rest**2).sum(axis=1))
    total = np.sqrt(big**2 + (momentum**2).sum(axis=1))
    along = (rest * momentum).sum(axis=1)
    factor = (along / (total + big) + energy) / big
    result: np.ndarray = rest + factor[:, None] * momentum
    return result
