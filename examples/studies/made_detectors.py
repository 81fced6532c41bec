"""made_detectors -- events of three detectors that need no simulation.

    python3 examples/studies/made_detectors.py barrel OUT --first 1 --events 60

barrel: ten barrels and nine discs a side in 3.8 T, a seventh of the particles from up
to 60 mm off the beam. straight: the same without a field. dipole: fourteen planes along
z, six of them beyond a magnet that turns tracks in x. All: 2 % of the hits lost, 5 %
noise, smeared, without cells.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable

import numpy as np

import exatrkx
from exatrkx.files.trackml_csv import event_path, write_table

FIELD = 3.8  # T
BARRELS = (  # radius, half length
    (30, 270), (70, 270), (110, 270), (160, 270), (250, 550),
    (350, 550), (450, 550), (600, 1100), (800, 1100), (1050, 1100),
)  # fmt: skip
DISCS = (  # z, inner radius
    (320, 45), (400, 45), (500, 45), (650, 200), (850, 200),
    (1200, 200), (1500, 250), (1900, 250), (2300, 250),
)  # fmt: skip
OUTER = 1080.0
PLANES = (200, 300, 400, 500, 600, 1500, 2200, 2600, 5400, 5800, 6400, 7000, 7600, 8000)
MAGNET = (3000.0, 2000.0)  # begin and length
KICK = 1.2  # GeV
SMEARING = 0.03  # mm
LOST, NOISE = 0.02, 0.05

Hit = tuple[float, float, float, int, int, int]  # x, y, z, volume, layer, particle
Particle = tuple[float, ...]  # vx, vy, vz, px, py, pz, q
Event = tuple[list[Hit], list[Particle]]


def crossings(particle: Particle, field: float) -> list[tuple[float, float, float, int, int]]:
    """x, y, z, volume, layer along half a turn of a helix about z."""
    vx, vy, vz, px, py, pz, q = particle
    pt, phi = np.hypot(px, py), np.arctan2(py, px)
    curvature = 0.299792458e-3 * field * q / pt
    length = np.linspace(0, min(np.pi / abs(curvature), 2 * OUTER), 4000)
    angle = phi - curvature * length
    x = vx + (np.sin(phi) - np.sin(angle)) / curvature
    y = vy + (np.cos(angle) - np.cos(phi)) / curvature
    z = vz + length * pz / pt
    surfaces = [(np.hypot(x, y), at, 1, k) for k, (at, _) in enumerate(BARRELS)]
    surfaces += [(abs(z), at, 2 if pz > 0 else 3, k) for k, (at, _) in enumerate(DISCS)]
    found = []
    for away, at, volume, layer in surfaces:
        for i in np.nonzero((away[:-1] < at) & (away[1:] >= at))[0][:1]:
            part = (at - away[i]) / (away[i + 1] - away[i])
            hx, hy, hz = (float(c[i] + part * (c[i + 1] - c[i])) for c in (x, y, z))
            is_barrel = volume == 1 and abs(hz) < BARRELS[layer][1]
            if is_barrel or (volume != 1 and DISCS[layer][1] < np.hypot(hx, hy) < OUTER):
                found.append((int(i), (hx, hy, hz, volume, layer)))
    return [hit for _, hit in sorted(found)]


def barrel(rng: np.random.Generator, field: float = FIELD) -> Event:
    """Particles of 0.15 GeV and more."""
    hits: list[Hit] = []
    particles: list[Particle] = []
    for number in range(1, 116):
        pt, eta = 0.15 + rng.exponential(0.8), rng.uniform(-2.4, 2.4)
        phi, off = rng.uniform(-np.pi, np.pi), max(0.0, rng.uniform(-360, 60))
        vertex = off * np.cos(phi), off * np.sin(phi), rng.normal(0, 40)
        momentum = pt * np.cos(phi), pt * np.sin(phi), pt * np.sinh(eta)
        particles.append((*vertex, *momentum, rng.choice([-1, 1])))
        for x, y, z, volume, layer in crossings(particles[-1], field):
            turn = rng.normal(0, SMEARING) / np.hypot(x, y)
            along = rng.normal(0, 3 * SMEARING) if volume == 1 else 0.0
            hits.append((x - turn * y, y + turn * x, z + along, volume, layer, number))
    for k in rng.integers(0, len(hits), int(NOISE * len(hits))):
        x, y, z, volume, layer, _ = hits[k]
        radius, angle = np.hypot(x, y), rng.uniform(-np.pi, np.pi)
        hits.append((radius * np.cos(angle), radius * np.sin(angle), z, volume, layer, 0))
    return hits, particles


def straight(rng: np.random.Generator) -> Event:
    """As in barrel, hardly bent."""
    return barrel(rng, 1e-4)


def dipole(rng: np.random.Generator) -> Event:
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
    for layer in rng.integers(0, len(PLANES), int(NOISE * len(hits))):
        x, y = rng.uniform(-1, 1, 2) * (80 + PLANES[layer] / 10)
        hits.append((x, y, float(PLANES[layer]), 1, int(layer), 0))
    return hits, particles


def write(folder: str, number: int, make: Callable[[np.random.Generator], Event]) -> None:
    """The files of one event."""
    rng = np.random.default_rng(number)
    hits, particles = make(rng)
    hits = [hit for hit in hits if hit[5] == 0 or rng.random() > LOST]
    x, y, z, volume, layer, particle = map(np.array, zip(*hits, strict=True))
    ids, zero = np.arange(1, len(hits) + 1), np.zeros(len(hits))
    sector = ((np.arctan2(y, x) + np.pi) * 5).astype(int)
    columns = map(np.array, zip(*particles, strict=True))
    names = "vx vy vz px py pz q".split()
    tables = {
        "hits": {
            "hit_id": ids, "x": x, "y": y, "z": z, "volume_id": volume, "layer_id": layer,
            "module_id": 100 * sector + (np.abs(z) // 100).astype(int),
        },
        "truth": {
            "hit_id": ids, "particle_id": particle, "tx": x, "ty": y, "tz": z,
            "tpx": zero, "tpy": zero, "tpz": zero, "weight": zero + 1 / len(hits),
        },
        "particles": {
            "particle_id": np.arange(1, len(particles) + 1),
            **dict(zip(names, columns, strict=True)),
            "nhits": np.bincount(particle, minlength=len(particles) + 1)[1:],
        },
    }  # fmt: skip
    for kind, table in tables.items():
        write_table(event_path(folder, number, kind, True), table)


def write_arrays(
    folder: str, number: int, make: Callable[[np.random.Generator], Event]
) -> None:
    """The event without modules."""
    with tempfile.TemporaryDirectory() as tables:
        write(tables, number, make)
        (event,) = exatrkx.Events(tables)
    np.savez(
        os.path.join(folder, event.name),
        positions=event.positions,
        particle_ids=event.particle_ids,
        particles=event.particles,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("detector", choices=("barrel", "straight", "dipole"))
    parser.add_argument("out", metavar="OUT")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--events", type=int, default=60)
    parser.add_argument("--no-modules", action="store_true", help="arrays of numpy")
    options = parser.parse_args()
    make = {"barrel": barrel, "straight": straight, "dipole": dipole}[options.detector]
    os.makedirs(options.out, exist_ok=True)
    for number in range(options.first, options.first + options.events):
        (write_arrays if options.no_modules else write)(options.out, number, make)


if __name__ == "__main__":
    main()
