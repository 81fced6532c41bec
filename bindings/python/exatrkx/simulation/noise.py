"""noise -- hits of no particle, with the cells they would light.

Points are uniform on modules, modules uniform in a volume, and volumes as
often as the design of the detector says. The cells are those under a straight
piece of track of random inclination, shared out by length of path as ACTS does.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .detector import Modules, cells_along, drift_depth, read_out, to_global
from .fatras import Measurements

DISC_ANGLE_SIGMA = 0.43  # rad, from the normal of the module
ANGLE_MAX = 1.45
BARREL_SLOPE_SIGMA = 0.45  # across the beam line
BARREL_ETA_MAX = 2.4  # along the beam line


@dataclass(frozen=True)
class Noise:
    """Noise hits of one event and their cells."""

    module: np.ndarray  # int64 [n], row of the module
    position: np.ndarray  # [n, 3] mm, measured: the mean of the cells
    point: np.ndarray  # [n, 3] mm, where the random point lay
    cell_hit: np.ndarray  # int64 [m], row of the hit, ascending
    cell_channel: np.ndarray  # int64 [m, 2]
    cell_value: np.ndarray  # [m]


def generate(rng: np.random.Generator, modules: Modules, n: int) -> Noise:
    """n noise hits."""
    return on_modules(rng, modules, random_modules(rng, modules, n))


def on_modules(
    rng: np.random.Generator, modules: Modules, module: np.ndarray
) -> Noise:
    """A noise hit on each of these modules [n]."""
    n = len(module)
    point = random_points(rng, modules, module)
    barrel = np.isin(modules.volume_id[module], modules.design.barrel_volumes)
    slope = random_slopes(rng, barrel)
    depth = drift_depth(modules, module)
    channels, paths = [np.zeros((0, 2), dtype=np.int64)], [np.zeros(0)]
    for i, row in enumerate(module.tolist()):
        channel, path = cells_under(modules, row, depth[i], point[i], slope[i])
        channels.append(channel)
        paths.append(path)
    hit = np.repeat(np.arange(n), [len(path) for path in paths[1:]])
    channel, path = np.concatenate(channels), np.concatenate(paths)
    value, position = read_out(modules, module, hit, channel, path)
    return Noise(
        module=module,
        position=position,
        point=to_global(modules, module, point),
        cell_hit=hit,
        cell_channel=channel,
        cell_value=value,
    )


def random_modules(
    rng: np.random.Generator, modules: Modules, n: int
) -> np.ndarray:
    """Rows of n random modules."""
    volumes = np.array(list(modules.design.noise_share))
    share = np.array(list(modules.design.noise_share.values()))
    volume = volumes[rng.choice(len(volumes), size=n, p=share / share.sum())]
    first = np.searchsorted(modules.volume_id, volume, side="left")
    last = np.searchsorted(modules.volume_id, volume, side="right")
    return first + (rng.random(n) * (last - first)).astype(np.int64)


def random_points(
    rng: np.random.Generator, modules: Modules, module: np.ndarray
) -> np.ndarray:
    """Uniform local points (u, v) [n, 2] in mm, one on each module."""
    n = len(module)
    low, high = modules.min_half_u[module], modules.max_half_u[module]
    # The width grows linearly with v: invert the cumulative area.
    area = rng.random(n)
    root = np.sqrt(low**2 + area * (high**2 - low**2))
    with np.errstate(invalid="ignore", divide="ignore"):
        along = np.where(high > low, (root - low) / (high - low), area)
    half_u = low + along * (high - low)
    u = rng.uniform(-1.0, 1.0, size=n) * half_u
    return np.stack((u, (2.0 * along - 1.0) * modules.half_v[module]), axis=1)


def random_slopes(rng: np.random.Generator, is_barrel: np.ndarray) -> np.ndarray:
    """Slopes du/dw, dv/dw of the crossing pieces of track, [n, 2].

    In the barrels like tracks from the beam line, in the end-caps at random
    angles to the beam: so are the cluster sizes of the TrackML noise.
    """
    n = len(is_barrel)
    angle = np.abs(rng.normal(scale=DISC_ANGLE_SIGMA, size=n))
    slope = np.tan(np.minimum(angle, ANGLE_MAX))
    turn = rng.uniform(-np.pi, np.pi, size=n)
    disc = np.stack((slope * np.cos(turn), slope * np.sin(turn)), axis=1)
    across = rng.normal(scale=BARREL_SLOPE_SIGMA, size=n)
    along = np.sinh(rng.uniform(-BARREL_ETA_MAX, BARREL_ETA_MAX, size=n))
    barrel = np.stack((across, along), axis=1)
    return np.where(is_barrel[:, None], barrel, disc)


def cells_under(
    modules: Modules,
    row: int,
    depth: float,
    point: np.ndarray,
    slope: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Channels [k, 2] and lengths of path in mm [k] of one crossing.

    The crossing goes through the whole depth (mm) with its middle at point.
    """
    pitch = np.array((modules.pitch_u[row], modules.pitch_v[row]))
    half = np.array((modules.max_half_u[row], modules.half_v[row]))
    count, begin = cells_along(half, pitch)
    entry = (point - 0.5 * depth * slope + begin) / pitch
    step = depth * slope / pitch
    cuts = [np.array((0.0, 1.0))]
    for axis in (0, 1):
        low, high = sorted((entry[axis], entry[axis] + step[axis]))
        lines = np.arange(np.ceil(low), np.floor(high) + 1.0)
        if step[axis] != 0.0:
            cuts.append((lines - entry[axis]) / step[axis])
    share = np.unique(np.clip(np.concatenate(cuts), 0.0, 1.0))
    middle = 0.5 * (share[1:] + share[:-1])
    channel = np.floor(entry + middle[:, None] * step).astype(np.int64)
    path = np.diff(share) * depth * np.sqrt(1.0 + slope @ slope)
    inside = ((channel >= 0) & (channel < count)).all(axis=1)
    return channel[inside], path[inside]


def joined(found: Measurements, noise: Noise) -> Measurements:
    """Hits of particles, then noise hits, whose particle is -1."""
    n_found, n_noise = len(found.module), len(noise.module)
    both = np.concatenate
    return Measurements(
        particle=both((found.particle, np.full(n_noise, -1))),
        module=both((found.module, noise.module)),
        position=both((found.position, noise.position)),
        true_position=both((found.true_position, noise.point)),
        true_momentum=both((found.true_momentum, np.zeros((n_noise, 3)))),
        cell_hit=both((found.cell_hit, n_found + noise.cell_hit)),
        cell_channel=both((found.cell_channel, noise.cell_channel)),
        cell_value=both((found.cell_value, noise.cell_value)),
    )
