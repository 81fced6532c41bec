"""merge -- clusters of different particles that touch become one hit.

Cells touch when they are the same or share a side or a corner. The hit belongs
to the particle that left most in it, as TrackML knows one for each hit; the
others lose theirs.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import numpy as np

from .detector import Modules, read_out
from .fatras import Measurements

# A cell and half of the cells around it: the other half finds it.
STEPS = ((0, 0), (0, 1), (1, -1), (1, 0), (1, 1))
CHANNELS = 1 << 20  # more than any axis has


def merge(modules: Modules, found: Measurements) -> Measurements:
    """The hits that a detector would read out."""
    cluster = clusters(found)
    first, hit = np.unique(cluster, return_inverse=True)
    cell, channel, value = shared_cells(found, hit)
    value, position = read_out(
        modules, found.module[first], cell, channel, value
    )
    owner = strongest(found, hit)
    return Measurements(
        particle=found.particle[owner],
        module=found.module[owner],
        position=position,
        true_position=found.true_position[owner],
        true_momentum=found.true_momentum[owner],
        cell_hit=cell,
        cell_channel=channel,
        cell_value=value,
    )


def cell_keys(found: Measurements) -> np.ndarray:
    """A number for the position of every cell, [m]."""
    module = found.module[found.cell_hit]
    first, second = found.cell_channel.T + 1  # so that a step back fits
    key: np.ndarray = (module * CHANNELS + first) * CHANNELS + second
    return key


def touching(found: Measurements) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of hits with cells that touch; a pair may come more than once."""
    key = cell_keys(found)
    order = np.argsort(key, kind="stable")
    sorted_keys, sorted_hits = key[order], found.cell_hit[order]
    left, right = [], []
    for u, v in STEPS:
        wanted = sorted_keys + u * CHANNELS + v
        begin = np.searchsorted(sorted_keys, wanted, side="left")
        end = np.searchsorted(sorted_keys, wanted, side="right")
        count = end - begin
        row = np.repeat(np.arange(len(key)), count)
        inside = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        left.append(sorted_hits[row])
        right.append(sorted_hits[begin[row] + inside])
    a, b = np.concatenate(left), np.concatenate(right)
    return a[a != b], b[a != b]


def clusters(found: Measurements) -> np.ndarray:
    """For every hit the lowest row of the hits that it is joined with."""
    a, b = touching(found)
    lowest = np.arange(len(found.module))
    while True:
        least = np.minimum(lowest[a], lowest[b])
        before = lowest.copy()
        np.minimum.at(lowest, a, least)
        np.minimum.at(lowest, b, least)
        if np.array_equal(before, lowest):
            return lowest


def shared_cells(
    found: Measurements, hit: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cells of the new hits: hit [m], channel [m, 2] and summed value [m].

    hit: the new row of every old hit.
    """
    owner = hit[found.cell_hit]
    rows = np.column_stack((owner, found.cell_channel))
    unique, group = np.unique(rows, axis=0, return_inverse=True)
    value = np.bincount(group.ravel(), found.cell_value)
    return unique[:, 0], unique[:, 1:], value


def strongest(found: Measurements, hit: np.ndarray) -> np.ndarray:
    """For every new hit the old one with the largest sum of cell values."""
    total = np.bincount(
        found.cell_hit, found.cell_value, minlength=len(found.module)
    )
    order = np.lexsort((np.arange(len(hit)), -total, hit))
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = hit[order][1:] != hit[order][:-1]
    return order[is_first]
