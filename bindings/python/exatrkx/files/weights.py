"""weights -- the hit weights of the TrackML accuracy score.

The weight of a hit is a factor for its position along the track times a factor
for the transverse momentum of its particle, normalised to a sum of 1 over the
event (Amrouche et al., "The Tracking Machine Learning challenge: Accuracy
phase", 2019, section 3).

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import numpy as np

ORDER_SHAPE = np.array([10.0, 8.0, 6.0, 5.0, 3.0, 3.0, 3.0, 5.0, 6.0])
MIN_HITS = 4
MAX_HITS = 20
PT_KNOTS = (0.05, 0.5, 3.0)  # GeV
PT_FACTORS = (0.2, 0.2, 1.0)


def order_factors(n_hits: int) -> np.ndarray:
    """Factors of the hits of one track, first to last, sum 1.

    Zero for tracks of fewer than four hits; a longer track than 20 hits has
    the factors of a 20-hit track and zero for the hits after these.
    """
    factors = np.zeros(n_hits)
    if n_hits < MIN_HITS:
        return factors
    n_used = min(n_hits, MAX_HITS)
    knots = np.linspace(0.0, n_used - 1.0, len(ORDER_SHAPE))
    used = np.interp(np.arange(n_used), knots, ORDER_SHAPE)
    factors[:n_used] = used / used.sum()
    return factors


def pt_factors(pt: np.ndarray) -> np.ndarray:
    """Factor of each particle for its transverse momentum in GeV."""
    last = PT_FACTORS[-1]
    result: np.ndarray = np.interp(
        pt, PT_KNOTS, PT_FACTORS, left=0.0, right=last
    )
    return result


def hit_weights(
    particle: np.ndarray, tz: np.ndarray, vz: np.ndarray, pt: np.ndarray
) -> np.ndarray:
    """Weight of every hit, float64 [n_hits].

    particle [n_hits]: row of the hit's particle in vz and pt, -1 for noise;
    tz [n_hits]: true z of the hit in mm; vz, pt [n_particles]: production z
    in mm and transverse momentum in GeV. The position along the track is the
    rank of |tz - vz|; ties have their mean rank, rounded down.
    """
    weights = np.zeros(len(particle))
    signal = np.flatnonzero(particle >= 0)
    if len(signal) == 0:
        return weights
    owner = particle[signal]
    distance = np.abs(tz[signal] - vz[owner])
    order = np.lexsort((distance, owner))
    starts = np.flatnonzero(np.diff(owner[order], prepend=-1))
    factor = pt_factors(pt)
    for rows in np.split(order, starts[1:]):
        rank = mean_ranks(distance[rows])
        position_factor = order_factors(len(rows))[rank]
        weights[signal[rows]] = position_factor * factor[owner[rows[0]]]
    total = weights.sum()
    return weights / total if total > 0.0 else weights


def mean_ranks(ascending: np.ndarray) -> np.ndarray:
    """Zero-based rank of each sorted value; ties share their mean, floored."""
    first = np.searchsorted(ascending, ascending, side="left")
    last = np.searchsorted(ascending, ascending, side="right") - 1
    return (first + last) // 2
