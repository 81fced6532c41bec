"""made_detectors -- events of detectors that need no simulation.

barrel: ten barrels and nine discs a side in 3.8 T, a seventh of the particles from up to
60 mm off the beam. straight: the same without a field. rows: sixty rows of a time
projection chamber. straws: twelve barrels that measure 0.5 mm across and 5 mm along the
beam. soft: four barrels within 76 mm, particles of 20 to 150 MeV, 20 % noise. dipole:
fourteen planes along z, six of them beyond a magnet that turns tracks in x. telescope:
six planes in a beam of 120 GeV. All: 2 % of the hits lost, 5 % noise (but soft and
telescope), smeared, without cells.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import exatrkx

GEV_PER_T_MM = 0.299792458e-3
LOST = 0.02
SMEARING = 0.03  # mm

Hit = tuple[float, float, float, int, int, int]  # x, y, z, volume, layer, particle
Particle = tuple[float, ...]  # vx, vy, vz, px, py, pz, q
Contents = tuple[list[Hit], list[Particle]]


@dataclass(frozen=True)
class Barrels:
    """Layers around z, perhaps with discs, and what is measured there; mm, GeV, T."""

    barrels: tuple[tuple[float, float], ...]  # radius, half length
    discs: tuple[tuple[float, float], ...] = ()  # z, inner radius
    field: float = 2.0
    n_particles: int = 115
    pt: tuple[float, float] = 0.15, 0.8  # least, mean above it
    eta: float = 2.4
    vertex: float = 40.0  # sigma of z
    away: float = 0.0  # share of the particles from up to 60 mm off the beam
    smearing: tuple[float, float] = SMEARING, 3 * SMEARING  # across, along z
    noise: float = 0.05

    @property
    def outer(self) -> float:
        return 30 + self.barrels[-1][0]


BARREL = Barrels(
    barrels=(
        *((radius, 270) for radius in (30, 70, 110, 160)),
        *((radius, 550) for radius in (250, 350, 450)),
        *((radius, 1100) for radius in (600, 800, 1050)),
    ),
    discs=(
        *((z, 45) for z in (320, 400, 500)),
        *((z, 200) for z in (650, 850, 1200)),
        *((z, 250) for z in (1500, 1900, 2300)),
    ),
    field=3.8,
    away=1 / 7,
)
ROWS = Barrels(
    tuple((radius, 2500.0) for radius in np.linspace(850, 2450, 60)),
    field=0.5,
    n_particles=40,
    pt=(0.15, 0.6),
    eta=0.9,
    smearing=(0.5, 0.8),
)
STRAWS = Barrels(
    tuple((radius, 1100.0) for radius in (50, 110, 170, *range(250, 1051, 100))),
    n_particles=80,
    pt=(0.2, 0.8),
    eta=1.3,
    smearing=(0.5, 5.0),
)
SOFT = Barrels(
    tuple((radius, 250.0) for radius in (22, 28, 70, 76)),
    field=1.0,
    n_particles=40,
    pt=(0.02, 0.03),
    eta=1.0,
    vertex=10.0,
    smearing=(0.02, 0.02),
    noise=0.2,
)
PLANES = (200, 300, 400, 500, 600, 1500, 2200, 2600, 5400, 5800, 6400, 7000, 7600, 8000)
MAGNET = (3000.0, 2000.0)  # begin and length
KICK = 1.2  # GeV
BEAM_PLANES = (0, 150, 300, 650, 800, 950)


def crossings(
    particle: Particle, made: Barrels
) -> list[tuple[float, float, float, int, int]]:
    """x, y, z, volume, layer along half a turn of a helix about z."""
    vx, vy, vz, px, py, pz, q = particle
    pt, phi = np.hypot(px, py), np.arctan2(py, px)
    curvature = GEV_PER_T_MM * made.field * q / pt
    length = np.linspace(0, min(np.pi / abs(curvature), 2 * made.outer), 4000)
    angle = phi - curvature * length
    x = vx + (np.sin(phi) - np.sin(angle)) / curvature
    y = vy + (np.cos(angle) - np.cos(phi)) / curvature
    z = vz + length * pz / pt
    radius = np.hypot(x, y)
    surfaces = [(radius, at, 1, k) for k, (at, _) in enumerate(made.barrels)]
    surfaces += [(abs(z), at, 2 if pz > 0 else 3, k) for k, (at, _) in enumerate(made.discs)]
    found = []
    for away, at, volume, layer in surfaces:
        for i in np.nonzero((away[:-1] < at) & (away[1:] >= at))[0][:1]:
            part = (at - away[i]) / (away[i + 1] - away[i])
            hx, hy, hz = (float(c[i] + part * (c[i + 1] - c[i])) for c in (x, y, z))
            is_inside = (
                abs(hz) < made.barrels[layer][1]
                if volume == 1
                else made.discs[layer][1] < np.hypot(hx, hy) < made.outer
            )
            if is_inside:
                found.append((int(i), (hx, hy, hz, volume, layer)))
    return [hit for _, hit in sorted(found)]


def around(made: Barrels) -> Callable[[np.random.Generator], Contents]:
    """What draws the hits and particles of an event."""

    def draw(rng: np.random.Generator) -> Contents:
        hits: list[Hit] = []
        particles: list[Particle] = []
        for number in range(1, made.n_particles + 1):
            pt, eta = made.pt[0] + rng.exponential(made.pt[1]), rng.uniform(-made.eta, made.eta)
            phi = rng.uniform(-np.pi, np.pi)
            off = rng.uniform(0, 60) if rng.random() < made.away else 0.0
            vertex = off * np.cos(phi), off * np.sin(phi), rng.normal(0, made.vertex)
            momentum = pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(eta)
            particles.append((*vertex, *momentum, rng.choice([-1, 1])))
            for x, y, z, volume, layer in crossings(particles[-1], made):
                turn = rng.normal(0, made.smearing[0]) / np.hypot(x, y)
                along = rng.normal(0, made.smearing[1]) if volume == 1 else 0.0
                hits.append((x - turn * y, y + turn * x, z + along, volume, layer, number))
        for k in rng.integers(0, len(hits), int(made.noise * len(hits))):
            x, y, z, volume, layer, _ = hits[k]
            radius, angle = np.hypot(x, y), rng.uniform(-np.pi, np.pi)
            hits.append((radius * np.cos(angle), radius * np.sin(angle), z, volume, layer, 0))
        return hits, particles

    return draw


def dipole(rng: np.random.Generator) -> Contents:
    """Particles of 2 to 30 GeV along z."""
    hits: list[Hit] = []
    particles: list[Particle] = []
    begin, length = MAGNET
    for number in range(1, 61):
        pz, q, vz = rng.uniform(2, 30), rng.choice([-1, 1]), rng.normal(0, 20)
        tx, ty = rng.normal(0, 0.08, 2)
        particles.append((0.0, 0.0, vz, pz * tx, pz * ty, pz, q))
        for layer, z in enumerate(PLANES):
            inside = np.clip((z - begin) / length, 0, 1)
            bent = inside**2 * length / 2 + max(z - begin - length, 0)
            x, y = tx * (z - vz) + q * KICK / pz * bent, ty * (z - vz)
            if max(abs(x), abs(y)) < 80 + z / 4:
                dx, dy = rng.normal(0, SMEARING, 2)
                hits.append((x + dx, y + dy, float(z), 1, layer, number))
    for layer in rng.integers(0, len(PLANES), len(hits) // 20):
        x, y = rng.uniform(-1, 1, 2) * (80 + PLANES[layer] / 10)
        hits.append((x, y, float(PLANES[layer]), 1, int(layer), 0))
    return hits, particles


def telescope(rng: np.random.Generator) -> Contents:
    """Particles of 120 GeV along z, 10 % noise."""
    hits: list[Hit] = []
    particles: list[Particle] = []
    for number in range(1, 31):
        (tx, ty), (x, y) = rng.normal(0, 0.002, 2), rng.uniform(-9, 9, 2)
        particles.append((x, y, -50.0, 120 * tx, 120 * ty, 120.0, 1))
        for layer, z in enumerate(BEAM_PLANES):
            dx, dy = rng.normal(0, 0.005, 2)
            at = x + tx * (z + 50) + dx, y + ty * (z + 50) + dy
            hits.append((*at, float(z), 1, layer, number))
    for layer in rng.integers(0, len(BEAM_PLANES), len(hits) // 10):
        x, y = rng.uniform(-10, 10, 2)
        hits.append((x, y, float(BEAM_PLANES[layer]), 1, int(layer), 0))
    return hits, particles


DETECTORS = {
    "barrel": around(BARREL),
    "straight": around(replace(BARREL, field=1e-4)),
    "rows": around(ROWS),
    "straws": around(STRAWS),
    "soft": around(SOFT),
    "dipole": dipole,
    "telescope": telescope,
}


def modules_of(hits: NDArray[np.float64]) -> NDArray[np.int32]:
    """[3, n]: volume and layer of hits, and a part of it."""
    x, y, z, volume, layer, _ = hits.T
    sector = ((np.arctan2(y, x) + np.pi) * 5).astype(int)
    return np.stack([volume, layer, 100 * sector + np.abs(z) // 100]).astype(np.int32)


def event(detector: str, number: int, has_modules: bool = True) -> exatrkx.Event:
    """An event of DETECTORS; the same for the same number."""
    rng = np.random.default_rng(number)
    drawn, true = DETECTORS[detector](rng)
    hits = np.array([hit for hit in drawn if hit[5] == 0 or rng.random() > LOST])
    particles = np.zeros(len(true), exatrkx.PARTICLE)
    columns = np.array(true)
    particles["id"] = np.arange(1, len(true) + 1)
    particles["vertex"], particles["momentum"] = columns[:, :3], columns[:, 3:6]
    particles["charge"] = columns[:, 6]
    return exatrkx.Event.from_arrays(
        hits[:, :3].astype(np.float32),
        modules=modules_of(hits) if has_modules else None,
        particle_ids=hits[:, 5].astype(np.int64),
        particles=particles,
    )
