"""guns -- particles that are added to an event: single ones, jets, muons.

Particles of a bundle leave one point about one direction. Muons come from outside:
from above (cosmic) or along the beam (halo). None of them interacts. Lengths in
mm, momenta in GeV.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, replace

import numpy as np

from . import generator
from .generator import Beam, Particles

PION = generator.SPECIES[0]
MUON = (-13, 0.1056583755)  # the positive one: PDG code and mass
AXIS_ETA = 2.0  # of bundles: uniform within
COSMIC_RADIUS = 1027.0  # outside of all layers, inside of the detector of ACTS
COSMIC_X, COSMIC_Z = 900.0, 900.0  # where they cross y = 0: uniform within
HALO_Z = 2980.0
HALO_RADII = (35.0, 1000.0)
HALO_SLOPE = 1e-3  # sigma


@dataclass(frozen=True)
class Gun:
    """What one gun adds to every event."""

    kind: str
    n: int = 1  # bundles or muons
    particles: int = 1  # pions of a bundle
    cone: float = 0.0  # half width in eta and phi, sigma of a core
    low: float = 1.0  # GeV, bounds of pT (muons: of the momentum)
    high: float = 100.0
    radius: float = 0.0  # where a bundle starts on its way, mm


KINDS = {
    gun.kind: gun
    for gun in (
        Gun("single", n=10, low=0.1),
        Gun("jet", particles=20, cone=0.05, low=2.0),
        Gun("core", particles=20, cone=0.012, low=2.0),
        Gun("tau", particles=3, cone=0.005, low=5.0, high=50.0),
        Gun("cosmic", low=5.0),
        Gun("halo", low=5.0),
    )
}
MUONS = ("cosmic", "halo")
BUNDLE_ONLY = ("particles", "cone", "radius")


def parse(text: str) -> Gun:
    """KIND or KIND:KEY=VALUE,... with the fields of Gun."""
    kind, _, rest = text.partition(":")
    if kind not in KINDS:
        raise argparse.ArgumentTypeError(f"{kind!r} is none of {', '.join(KINDS)}")
    gun = KINDS[kind]
    for change in filter(None, rest.split(",")):
        key, found, value = change.partition("=")
        if not found or key == "kind" or key not in Gun.__dataclass_fields__:
            raise argparse.ArgumentTypeError(f"{change!r} in {text!r}: not KEY=VALUE")
        if kind in MUONS and key in BUNDLE_ONLY:
            raise argparse.ArgumentTypeError(f"{key} has no meaning for {kind}")
        number = type(getattr(gun, key))(value)
        gun = replace(gun, **{key: number})
    return checked(gun, text)


def checked(gun: Gun, text: str) -> Gun:
    """The gun, if its values make sense."""
    values = (gun.cone, gun.low, gun.high, gun.radius)
    if not all(map(math.isfinite, values)) or min(gun.n, gun.particles) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: n or particles below 1")
    if not 0.0 < gun.low <= gun.high or gun.cone < 0.0:
        raise argparse.ArgumentTypeError(f"{text!r}: wants 0 < low <= high, cone >= 0")
    if not 0.0 <= gun.radius <= 1000.0:
        raise argparse.ArgumentTypeError(f"{text!r}: radius is not within 0 and 1000")
    return gun


def generate(
    rng: np.random.Generator, guns: tuple[Gun, ...], vertex: int, beam: Beam
) -> list[Particles]:
    """The particles of each gun; collisions are numbered from `vertex`."""
    result = []
    for gun in guns:
        if gun.kind in MUONS:
            result.append(muons(rng, gun, vertex))
            vertex += 1
        else:
            result.append(bundles(rng, gun, vertex, beam))
            vertex += gun.n
    return result


def momentum_sizes(rng: np.random.Generator, gun: Gun, n: int) -> np.ndarray:
    """n values between the bounds of the gun, uniform in the logarithm."""
    size: np.ndarray = np.exp(rng.uniform(np.log(gun.low), np.log(gun.high), n))
    return size


def bundles(
    rng: np.random.Generator, gun: Gun, vertex: int, beam: Beam
) -> Particles:
    """n bundles of pions, each of a collision of its own."""
    bundle = np.repeat(np.arange(gun.n), gun.particles)
    n = len(bundle)
    eta = rng.uniform(-AXIS_ETA, AXIS_ETA, gun.n)
    phi = rng.uniform(-np.pi, np.pi, gun.n)
    draw = rng.normal(size=(2, n))
    if gun.kind != "core":
        draw = rng.uniform(-1.0, 1.0, (2, n))
    origin = generator.vertices(rng, gun.n, beam)
    origin += gun.radius * generator.momenta(np.ones(gun.n), phi, eta)
    momentum = generator.momenta(
        momentum_sizes(rng, gun, n),
        phi[bundle] + gun.cone * draw[0],
        eta[bundle] + gun.cone * draw[1],
    )
    charge = rng.choice((-1, 1), n)
    primary = np.arange(n) % gun.particles + 1
    generation = int(gun.radius > 0.0)
    number = vertex + bundle
    return shot(PION, charge, number, primary, generation, origin[bundle], momentum)


def muons(rng: np.random.Generator, gun: Gun, vertex: int) -> Particles:
    """n muons from outside."""
    position, direction = (cosmic if gun.kind == "cosmic" else halo)(rng, gun.n)
    momentum = momentum_sizes(rng, gun, gun.n)[:, None] * direction
    charge = rng.choice((-1, 1), gun.n)
    number = np.full(gun.n, vertex)
    return shot(MUON, charge, number, np.arange(gun.n) + 1, 1, position, momentum)


def cosmic(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Points above the detector and directions [n, 3], y being up.

    The square of the cosine of the angle to the vertical weighs the directions.
    """
    cosine = np.cbrt(rng.random(n))  # of density 3 cos^2
    turn = rng.uniform(-np.pi, np.pi, n)
    sine = np.sqrt(1.0 - cosine**2)
    direction = np.stack((sine * np.cos(turn), -cosine, sine * np.sin(turn)), axis=1)
    point = np.zeros((n, 3))
    point[:, 0] = rng.uniform(-COSMIC_X, COSMIC_X, n)
    point[:, 2] = rng.uniform(-COSMIC_Z, COSMIC_Z, n)
    # Back along the direction to the cylinder of COSMIC_RADIUS.
    square = direction[:, 0] ** 2 + direction[:, 1] ** 2
    along = (point[:, :2] * direction[:, :2]).sum(axis=1) / square
    rest = (COSMIC_RADIUS**2 - (point[:, :2] ** 2).sum(axis=1)) / square
    back = along + np.sqrt(along**2 + rest)
    start = point - back[:, None] * direction
    start[:, 2] = np.clip(start[:, 2], -HALO_Z, HALO_Z)
    return start, direction


def halo(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Points at one end of the detector and directions along the beam [n, 3]."""
    side = rng.choice((-1.0, 1.0), n)
    radius = rng.uniform(*HALO_RADII, n)
    turn = rng.uniform(-np.pi, np.pi, n)
    start = np.stack((radius * np.cos(turn), radius * np.sin(turn), -side * HALO_Z), 1)
    slope = rng.normal(scale=HALO_SLOPE, size=(n, 2))
    direction = np.column_stack((slope, side))
    return start, direction / np.linalg.norm(direction, axis=1, keepdims=True)


def shot(
    species: tuple[int, float],
    charge: np.ndarray,
    vertex: np.ndarray,
    primary: np.ndarray,
    generation: int,
    position: np.ndarray,
    momentum: np.ndarray,
) -> Particles:
    """Particles of one species that do not interact."""
    n = len(charge)
    depth = np.full(n, generation)
    return Particles(
        particle_id=generator.pack_particle_id(vertex, primary, depth, depth),
        pdg=species[0] * charge,
        mass=np.full(n, species[1]),
        charge=charge,
        position=position,
        momentum=momentum,
        last_hit=np.full(n, np.iinfo(np.int64).max),
    )
