"""event -- synthetic events: helices through a simplified TrackML detector.

Deterministic by seed, numpy only, in a fraction of a second: good for timing,
where exatrkx simulate is good for physics.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FIELD = 2.0  # T
RADIUS_PER_GEV = 1000.0 / (0.299792458 * FIELD)  # mm
VERTEX_SIGMA = (0.01, 0.01, 55.0)  # mm
MAX_ETA = 3.5
MIN_PT, MEAN_PT, MAX_PT = 0.1, 0.8, 10.0  # GeV
PT_POWER = -6.0
EFFICIENCY = 0.98
NOISE = 0.15  # of all hits
PARTICLES_PER_VERTEX = 50
HITS_PER_PARTICLE = 11.12  # noise included; measured over several seeds

PIXEL, SHORT_STRIP, LONG_STRIP = (0.012, 0.04), (0.06, 0.6), (0.06, 1.2)  # mm
PIXEL_Z = (600, 700, 820, 960, 1120, 1320, 1500)
STRIP_Z = (1220, 1500, 1800, 2150, 2550, 2950)


@dataclass(frozen=True)
class Layer:
    """A barrel at a radius, active from low to high in z, or a disk at a z,
    active from low to high in radius; mm."""

    is_barrel: bool
    position: float
    low: float
    high: float
    volume: int
    number: int
    sigma: tuple[float, float]  # across and along the layer


def make_detector() -> list[Layer]:
    layers = []
    for volume, radii, length, sigma in (
        (8, (32, 72, 116, 172), 500, PIXEL),
        (13, (260, 360, 500, 660), 1080, SHORT_STRIP),
        (17, (820, 1020), 1080, LONG_STRIP),
    ):
        for i, radius in enumerate(radii):
            layers.append(
                Layer(True, radius, -length, length, volume, 2 * i + 2, sigma)
            )
    for volumes, distances, low, high, sigma in (
        ((7, 9), PIXEL_Z, 30, 176, PIXEL),
        ((12, 14), STRIP_Z, 240, 700, SHORT_STRIP),
        ((16, 18), STRIP_Z, 750, 1020, LONG_STRIP),
    ):
        for volume, sign in zip(volumes, (-1, 1), strict=True):
            for i, z in enumerate(sorted(sign * z for z in distances)):
                layers.append(Layer(False, z, low, high, volume, 2 * i + 2, sigma))
    return layers


@dataclass(frozen=True)
class Particles:
    """Columns, one row per particle; row 0 stands for noise."""

    start: np.ndarray  # [n, 3] mm
    pt: np.ndarray  # GeV
    eta: np.ndarray
    phi: np.ndarray
    charge: np.ndarray

    def __len__(self) -> int:
        return len(self.pt)


@dataclass(frozen=True)
class Event:
    """Hits in random order."""

    position: np.ndarray  # [n, 3] mm
    volume: np.ndarray
    layer: np.ndarray
    particle: np.ndarray  # row of particles, 0 for noise
    particles: Particles

    def __len__(self) -> int:
        return len(self.position)

    def features(self, n_features: int) -> np.ndarray:
        """[n, n_features] float32 of order one: r, phi, z as Exa.TrkX scales
        them, then up to nine columns instead of cell features."""
        x, y, z = self.position.T
        r, phi = np.hypot(x, y), np.arctan2(y, x)
        theta = np.arctan2(r, z)
        columns = [
            r / 1000,
            phi / np.pi,
            z / 1000,
            self.volume / 18,
            self.layer / 14,
            np.abs(np.cos(theta)),
            np.sin(theta),
            np.sin(phi),
            np.cos(phi),
            theta / np.pi,
            -np.log(np.tan(theta / 2)) / 4,
            1 / (0.5 + r / 100),
        ]
        return np.stack(columns[:n_features], axis=1).astype(np.float32)


def make_particles(rng: np.random.Generator, n_particles: int) -> Particles:
    n_vertices = max(1, round(n_particles / PARTICLES_PER_VERTEX))
    vertex = rng.normal(0, VERTEX_SIGMA, (n_vertices, 3))
    pt = draw_pt(rng, n_particles)
    eta = rng.uniform(-MAX_ETA, MAX_ETA, n_particles)
    phi = rng.uniform(-np.pi, np.pi, n_particles)
    charge = rng.choice(np.array([-1.0, 1.0]), n_particles)
    start = vertex[rng.integers(0, n_vertices, n_particles)]
    noise = np.zeros((1, 3))
    columns = (np.concatenate(([0.0], column)) for column in (pt, eta, phi, charge))
    return Particles(np.concatenate((noise, start)), *columns)


def draw_pt(rng: np.random.Generator, n: int) -> np.ndarray:
    """From pT (1 + pT / p0)^power, with the p0 that gives the wanted mean."""
    grid = np.geomspace(MIN_PT, MAX_PT, 4000)
    middle = 0.5 * (grid[1:] + grid[:-1])
    low, high = 0.05, 20.0
    for _ in range(60):
        p0 = 0.5 * (low + high)
        weight = middle * (1 + middle / p0) ** PT_POWER * np.diff(grid)
        if (weight * middle).sum() / weight.sum() < MEAN_PT:
            low = p0
        else:
            high = p0
    cumulative = np.concatenate(([0.0], np.cumsum(weight)))
    return np.interp(rng.random(n), cumulative / cumulative[-1], grid)


def cross(layer: Layer, particles: Particles) -> np.ndarray:
    """Angle by which each helix has turned when it first meets the layer, nan
    where it does not on its way out."""
    radius = particles.pt * RADIUS_PER_GEV
    start, phi, charge = particles.start, particles.phi, particles.charge
    with np.errstate(divide="ignore", invalid="ignore"):
        if not layer.is_barrel:
            turn = (layer.position - start[:, 2]) / (radius * np.sinh(particles.eta))
        else:
            centre_x = start[:, 0] + charge * radius * np.sin(phi)
            centre_y = start[:, 1] - charge * radius * np.cos(phi)
            distance = np.hypot(centre_x, centre_y)
            cosine = (layer.position**2 - distance**2 - radius**2) / (
                2 * distance * radius
            )
            aside = np.arccos(np.where(np.abs(cosine) <= 1, cosine, np.nan))
            from_centre = phi + charge * np.pi / 2 - np.arctan2(centre_y, centre_x)
            turn = np.minimum(
                np.mod(charge * (from_centre - aside), 2 * np.pi),
                np.mod(charge * (from_centre + aside), 2 * np.pi),
            )
        return np.where((turn > 0) & (turn <= np.pi), turn, np.nan)


def hits_of_layer(
    rng: np.random.Generator, layer: Layer, particles: Particles
) -> tuple[np.ndarray, ...]:
    """r, azimuth, z and particle of the hits on a layer."""
    radius = particles.pt * RADIUS_PER_GEV
    start, phi, charge = particles.start, particles.phi, particles.charge
    turn = cross(layer, particles)
    turned = phi - charge * turn
    x = start[:, 0] + charge * radius * (np.sin(phi) - np.sin(turned))
    y = start[:, 1] - charge * radius * (np.cos(phi) - np.cos(turned))
    z = start[:, 2] + radius * turn * np.sinh(particles.eta)
    along = z if layer.is_barrel else np.hypot(x, y)
    found = np.isfinite(turn) & (along >= layer.low) & (along <= layer.high)
    found[0] = False
    found &= rng.random(len(particles)) < EFFICIENCY
    who = np.nonzero(found)[0]
    r, azimuth, z = np.hypot(x[who], y[who]), np.arctan2(y[who], x[who]), z[who]
    azimuth = azimuth + rng.normal(0, layer.sigma[0], len(who)) / r
    shift = rng.normal(0, layer.sigma[1], len(who))
    return (
        (r, azimuth, z + shift, who)
        if layer.is_barrel
        else (r + shift, azimuth, z, who)
    )


def make_event(n_hits: int, seed: int = 1) -> Event:
    """An event of about n_hits hits, noise included."""
    rng = np.random.default_rng(seed)
    detector = make_detector()
    particles = make_particles(rng, max(1, round(n_hits / HITS_PER_PARTICLE)))
    with np.errstate(invalid="ignore"):
        found = [hits_of_layer(rng, layer, particles) for layer in detector]
    r, azimuth, z, particle = (
        np.concatenate(column) for column in zip(*found, strict=True)
    )
    surface = np.repeat(np.arange(len(detector)), [len(part[0]) for part in found])

    # Noise follows the occupancy of the layers, at any azimuth.
    n_noise = round(len(r) * NOISE / (1 - NOISE))
    like = rng.integers(0, len(r), n_noise)
    is_barrel = np.array([layer.is_barrel for layer in detector])[surface[like]]
    stretch = rng.uniform(0.9, 1.1, n_noise)
    r = np.concatenate((r, np.where(is_barrel, r[like], r[like] * stretch)))
    z = np.concatenate((z, np.where(is_barrel, z[like] * stretch, z[like])))
    azimuth = np.concatenate((azimuth, rng.uniform(-np.pi, np.pi, n_noise)))
    surface = np.concatenate((surface, surface[like]))
    particle = np.concatenate((particle, np.zeros(n_noise, particle.dtype)))

    order = rng.permutation(len(r))
    position = np.stack((r * np.cos(azimuth), r * np.sin(azimuth), z), axis=1)
    volume = np.array([layer.volume for layer in detector])[surface]
    number = np.array([layer.number for layer in detector])[surface]
    return Event(
        position[order], volume[order], number[order], particle[order], particles
    )


def true_edges(event: Event) -> np.ndarray:
    """[2, m] hits that follow each other on a particle, by their distance from
    the origin."""
    order = np.lexsort((np.linalg.norm(event.position, axis=1), event.particle))
    order = order[event.particle[order] > 0]
    follows = event.particle[order[1:]] == event.particle[order[:-1]]
    return np.stack((order[:-1][follows], order[1:][follows]))


def filtered_edges(event: Event, n_edges: int, seed: int = 11) -> np.ndarray:
    """[2, n_edges] int32 like those that a filter leaves: the true ones and
    others between hits near in azimuth and slope; sorted by target, then
    source, as a graph that was built has them."""
    rng = np.random.default_rng(seed)
    true = true_edges(event)
    true = true[:, rng.permutation(true.shape[1])[:n_edges]]
    x, y, z = event.position.T
    near = np.lexsort((np.arcsinh(z / np.hypot(x, y)), np.round(40 * np.arctan2(y, x))))
    missing = n_edges - true.shape[1]
    first = rng.integers(0, len(event), missing)
    second = np.clip(first + rng.integers(1, 60, missing), 0, len(event) - 1)
    edges = np.concatenate((true, np.stack((near[first], near[second]))), axis=1)
    return np.ascontiguousarray(edges[:, np.lexsort(edges)], np.int32)


def points_of_tracks(event: Event, n_dim: int = 8, seed: int = 7) -> np.ndarray:
    """[n, n_dim] float32: a smooth random map of the track parameters with some
    smearing. Of about four dimensions inside, like a trained embedding."""
    rng = np.random.default_rng(seed)
    particles = event.particles
    eta, phi = particles.eta[event.particle], particles.phi[event.particle]
    pt = np.maximum(particles.pt[event.particle], MIN_PT)
    curvature = np.clip(particles.charge[event.particle] / pt, -5, 5)
    vertex_z = particles.start[event.particle, 2]
    noise = event.particle == 0
    n_noise = int(noise.sum())
    x, y, z = event.position[noise].T
    phi[noise], eta[noise] = np.arctan2(y, x), np.arcsinh(z / np.hypot(x, y))
    curvature[noise] = rng.uniform(-3, 3, n_noise)
    vertex_z[noise] = rng.normal(0, VERTEX_SIGMA[2], n_noise)
    track = np.stack(
        (2 * np.cos(phi), 2 * np.sin(phi), eta, curvature, vertex_z / 100), axis=1
    )
    hidden = np.tanh(track @ rng.normal(0, 0.5, (5, 64)) + rng.normal(0, 0.5, 64))
    points = hidden @ rng.normal(0, 1 / 8, (64, n_dim))
    return (points + rng.normal(0, 0.01, points.shape)).astype(np.float32)


def points_of_balls(event: Event, n_dim: int = 8, seed: int = 7) -> np.ndarray:
    """[n, n_dim] float32: the hits of a particle around a random point of the
    unit ball, a tenth of them far from it. They fill all dimensions: the
    worst that trees and grids can meet."""
    rng = np.random.default_rng(seed)

    def in_ball(n: int) -> np.ndarray:
        direction = rng.normal(size=(n, n_dim))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        return direction * rng.random((n, 1)) ** (1 / n_dim)

    points = in_ball(len(event.particles))[event.particle]
    noise = event.particle == 0
    points[noise] = in_ball(int(noise.sum()))
    width = np.where(rng.random(len(event)) < 0.1, 0.15, 0.03)[:, None]
    return (points + rng.normal(size=points.shape) * width).astype(np.float32)


def radius_of(points: np.ndarray, neighbours: float, n_sample: int = 400) -> float:
    """The radius within which a point has this many neighbours on average."""
    rng = np.random.default_rng(3)
    rows = rng.choice(len(points), min(n_sample, len(points)), replace=False)
    some, all_points = points[rows].astype(np.float64), points.astype(np.float64)
    square = (some**2).sum(1)[:, None] + (all_points**2).sum(1)
    square = np.maximum(square - 2 * some @ all_points.T, 0).ravel()
    rank = min(int(len(some) * (neighbours + 1)), len(square) - 1)
    # A little more, that no rounding decides about the pair at this distance.
    return float(np.float32(np.sqrt(np.partition(square, rank)[rank]) * (1 + 1e-6)))
