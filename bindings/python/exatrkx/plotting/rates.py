"""rates -- ratios of counts with intervals, ROC curves, score cuts.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math

import numpy as np

from .._evaluation import rate_of

Counts = np.ndarray | float


def ratio(part: Counts, whole: Counts) -> np.ndarray:
    """part / whole; nan where whole is 0."""
    part = np.asarray(part, dtype=np.float64)
    whole = np.asarray(whole, dtype=np.float64)
    empty = np.full(np.broadcast(part, whole).shape, np.nan)
    np.divide(part, whole, out=empty, where=whole > 0)
    return empty


def clopper_pearson(
    part: Counts, whole: Counts
) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of the 68.27 % interval of part / whole; [0, 1] of 0 / 0."""
    counts = np.stack(np.broadcast_arrays(*np.atleast_1d(part, whole))).astype(int)
    found = [rate_of(k, n) for k, n in counts.T.tolist()]
    ends = np.array([(rate.low, rate.high) for rate in found]).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]


def roc(
    score: np.ndarray, is_true: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """False and true positive rates from (0, 0) to (1, 1), and the area.

    Equal scores make one step, so that ties count half.
    """
    order = np.argsort(-score, kind="stable")
    last = np.append(np.flatnonzero(np.diff(score[order])), len(score) - 1)
    n_true = np.cumsum(is_true[order])[last] if len(score) else np.zeros(0)
    n_false = np.cumsum(~is_true[order])[last] if len(score) else np.zeros(0)
    true = np.concatenate([[0.0], ratio(n_true, is_true.sum())])
    false = np.concatenate([[0.0], ratio(n_false, (~is_true).sum())])
    area = float((np.diff(false) * 0.5 * (true[1:] + true[:-1])).sum())
    return false, true, area


def cut_that_keeps(score: np.ndarray, share: float) -> float:
    """Largest cut that leaves at least `share` of the scores above it."""
    if len(score) == 0:
        return math.nan
    n_kept = max(1, math.ceil(share * len(score) - 1e-9))
    lowest = np.float32(np.sort(score)[len(score) - n_kept])
    return float(np.nextafter(lowest, np.float32(-np.inf)))


def count_above(score: np.ndarray, cut: np.ndarray) -> np.ndarray:
    """How many scores are above each cut."""
    ordered = np.sort(score)
    return len(ordered) - np.searchsorted(ordered, cut, side="right")
