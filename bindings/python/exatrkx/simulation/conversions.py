"""conversions -- photons that become electron pairs in the material they cross.

A photon flies straight. In each barrel layer and disc that it crosses it converts
with a chance of 7/9 for each radiation length on its path. The pair starts beyond
the layer with the photon's direction. Lengths in mm, momenta in GeV.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import generator
from .detector import Modules
from .generator import Particles

ELECTRON = generator.SPECIES[3]  # the positron: PDG code and mass
BEYOND = 0.5  # mm beyond the layer
MIN_PT = 0.05
GENERATION = 2  # of the pairs: displaced, and apart from decays


@dataclass(frozen=True)
class Photons:
    """Photons of one event; every array has one entry per photon."""

    vertex: np.ndarray  # int64, number of the collision, from 1, ascending
    position: np.ndarray  # [n, 3] mm
    momentum: np.ndarray  # [n, 3] GeV


@dataclass(frozen=True)
class Layers:
    """Cylinders about the beam line or discs across it, one entry for each."""

    position: np.ndarray  # radius of a cylinder, z of a disc, mm
    low: np.ndarray  # bounds of |z| on a cylinder, of the radius on a disc
    high: np.ndarray
    depth: np.ndarray  # radiation lengths, straight through


def layers(modules: Modules, barrel: bool) -> Layers:
    """The cylinders or the discs that the modules make."""
    across = np.hypot(modules.centre[:, 0], modules.centre[:, 1])
    along = modules.centre[:, 2]
    is_barrel = np.isin(modules.volume_id, modules.design.barrel_volumes)
    depth = modules.radiation_lengths
    layer = modules.volume_id * 10000 + modules.layer_id
    rows = []
    for number in np.unique(layer[is_barrel == barrel]):
        inside = layer == number
        half = modules.half_v[inside].max()
        if barrel:
            low, high = 0.0, np.abs(along[inside]).max() + half
            position = across[inside].mean()
        else:
            low, high = across[inside].min() - half, across[inside].max() + half
            position = along[inside].mean()
        rows.append((position, low, high, depth[inside][0]))
    return Layers(*np.array(rows).reshape(-1, 4).T)


def generate(
    rng: np.random.Generator, photons: Photons, modules: Modules
) -> Particles:
    """The pairs of all photons that convert, the positron of each first."""
    steps, chances = [], []
    for barrel in (True, False):
        step, chance = crossings(photons, layers(modules, barrel), barrel)
        steps.append(step)
        chances.append(chance)
    step, chance = np.concatenate(steps, axis=1), np.concatenate(chances, axis=1)
    happens = rng.random(chance.shape) < chance
    first = np.where(happens, step, np.inf).min(axis=1, initial=np.inf)
    row = np.flatnonzero(np.isfinite(first))
    share = rng.random(len(row))
    return pairs(photons, row, first[row], share)


def crossings(
    photons: Photons, surfaces: Layers, barrel: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Where photons cross surfaces and the chance to convert, both [n, n_layers].

    A crossing is the factor of the momentum that leads to it, infinite without.
    """
    x, y, z = (photons.position[:, i : i + 1] for i in range(3))
    px, py, pz = (photons.momentum[:, i : i + 1] for i in range(3))
    transverse = px**2 + py**2
    with np.errstate(divide="ignore", invalid="ignore"):
        if barrel:
            half = (x * px + y * py) / transverse
            square = (surfaces.position**2 - x**2 - y**2) / transverse
            step = np.where(square > 0.0, np.sqrt(half**2 + square) - half, np.inf)
            other = np.abs(z + step * pz)
            slant = np.sqrt(1.0 + pz**2 / transverse)
        else:
            step = (surfaces.position - z) / pz
            other = np.hypot(x + step * px, y + step * py)
            slant = np.sqrt(1.0 + transverse / pz**2)
        inside = (step > 0.0) & (other >= surfaces.low) & (other <= surfaces.high)
        chance = 1.0 - np.exp(-7.0 / 9.0 * surfaces.depth * slant)
    return np.where(inside, step, np.inf), np.where(inside, chance, 0.0)


def pairs(
    photons: Photons, row: np.ndarray, step: np.ndarray, share: np.ndarray
) -> Particles:
    """Pairs of the photons [n] at their points; share: of the positron."""
    momentum = np.repeat(photons.momentum[row], 2, axis=0)
    length = np.linalg.norm(momentum, axis=1, keepdims=True)
    point = photons.position[row] + step[:, None] * photons.momentum[row]
    position = np.repeat(point, 2, axis=0) + BEYOND * momentum / length
    momentum *= np.stack((share, 1.0 - share), axis=1).reshape(-1, 1)
    vertex = np.repeat(photons.vertex[row], 2)
    charge = np.tile((1, -1), len(row))
    number = np.arange(len(vertex)) - np.searchsorted(vertex, vertex) + 1
    keep = np.hypot(momentum[:, 0], momentum[:, 1]) >= MIN_PT
    generation = np.full(len(vertex), GENERATION)
    identity = generator.pack_particle_id(
        vertex, np.zeros_like(vertex), generation, number
    )
    return Particles(
        particle_id=identity[keep],
        pdg=(ELECTRON[0] * charge)[keep],
        mass=np.full(int(keep.sum()), ELECTRON[1]),
        charge=charge[keep],
        position=position[keep],
        momentum=momentum[keep],
        last_hit=np.full(int(keep.sum()), np.iinfo(np.int64).max),
    )
