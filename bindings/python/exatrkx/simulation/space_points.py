"""space_points -- hits of crossing strips become points.

A module of two sensors measures one coordinate on each. A point lies where a
straight line from the middle of the detector crosses a strip of both; where
several particles cross a module, strips of different ones make points that no
particle left, as in any such detector.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import dataclasses

import numpy as np

from .detector import Modules
from .fatras import Measurements

TOLERANCE = 1.02  # of half a strip: tracks are not quite straight


def join(modules: Modules, hits: Measurements) -> Measurements:
    """Hits with those on the design's stereo volumes replaced by points.

    A point is on the first sensor of its module, with the cells of the hit there,
    and is of a particle (row >= 0) when both hits are.
    """
    stereo = np.isin(modules.volume_id[hits.module], modules.design.stereo_volumes)
    first, second = pairs(modules, hits, np.flatnonzero(stereo))
    point, along = where(modules, hits, first, second)
    opposite = where(modules, hits, second, first)[1]
    half = TOLERANCE * modules.half_v[hits.module[first]]
    inside = (np.abs(along) <= half) & (np.abs(opposite) <= half)
    first, second, point = first[inside], second[inside], point[inside]
    owner = hits.particle[first]
    same = (owner == hits.particle[second]) & (owner >= 0)
    plain = np.flatnonzero(~stereo)
    n = len(plain)
    joined = taken(hits, np.concatenate((plain, first)))
    joined.position[n:] = point
    joined.particle[n:] = np.where(same, owner, -1)
    joined.true_position[n:][~same] = point[~same]
    joined.true_momentum[n:][~same] = 0.0
    return joined


def pairs(
    modules: Modules, hits: Measurements, rows: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of hits on the first and the second sensor of a module."""
    module = hits.module[rows]
    is_first = modules.acts_id[module] % 2 == 1
    first, second = rows[is_first], rows[~is_first]
    second = second[np.argsort(hits.module[second], kind="stable")]
    partner = hits.module[second] - 1
    begin = np.searchsorted(partner, hits.module[first], side="left")
    end = np.searchsorted(partner, hits.module[first], side="right")
    return np.repeat(first, end - begin), second[ranges(begin, end - begin)]


def where(
    modules: Modules, hits: Measurements, strip: np.ndarray, other: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Points [n, 3] on strips, and how far they are from the strips' middle.

    They lie in the plane of the other strip and the origin.
    """
    middle = hits.position[strip]
    axis = modules.rotation[hits.module[strip]][:, :, 1]
    normal = np.cross(
        hits.position[other], modules.rotation[hits.module[other]][:, :, 1]
    )
    along = -(normal * middle).sum(axis=1) / (normal * axis).sum(axis=1)
    return middle + along[:, None] * axis, along


def taken(hits: Measurements, rows: np.ndarray) -> Measurements:
    """The hits of these rows, each as often as it is named, with their cells."""
    begin = np.searchsorted(hits.cell_hit, rows, side="left")
    count = np.searchsorted(hits.cell_hit, rows, side="right") - begin
    cells = ranges(begin, count)
    arrays = {
        name: getattr(hits, name)[cells if name.startswith("cell") else rows]
        for name in hits.__dataclass_fields__
    }
    arrays["cell_hit"] = np.repeat(np.arange(len(rows)), count)
    return dataclasses.replace(hits, **arrays)


def ranges(begin: np.ndarray, count: np.ndarray) -> np.ndarray:
    """begin[0], begin[0] + 1, ... count[0] values, then the same for each next."""
    before = np.cumsum(count) - count
    row: np.ndarray = np.arange(count.sum()) + np.repeat(begin - before, count)
    return row
