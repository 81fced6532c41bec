"""rates -- ratios of counts with intervals, ROC curves, score cuts.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math

import numpy as np

Counts = np.ndarray | float

ONE_SIGMA_TAIL = 0.15865525393145707

_log_gamma = np.vectorize(math.lgamma, otypes=[np.float64])


def ratio(part: Counts, whole: Counts) -> np.ndarray:
    """part / whole; nan where whole is 0."""
    part = np.asarray(part, dtype=np.float64)
    whole = np.asarray(whole, dtype=np.float64)
    empty = np.full(np.broadcast(part, whole).shape, np.nan)
    np.divide(part, whole, out=empty, where=whole > 0)
    return empty


def _beta_fraction(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Continued fraction of the incomplete beta function, by Lentz."""
    tiny = 1e-300
    c = np.ones_like(x)
    d = 1.0 / np.where(
        np.abs(g := 1.0 - (a + b) * x / (a + 1.0)) < tiny, tiny, g
    )
    value = d.copy()
    for m in range(1, 10_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        change = np.ones_like(x)
        for factor in (even, odd):
            d = 1.0 + factor * d
            d = 1.0 / np.where(np.abs(d) < tiny, tiny, d)
            c = 1.0 + factor / c
            c = np.where(np.abs(c) < tiny, tiny, c)
            change = c * d
            value *= change
        if (np.abs(change - 1.0) < 1e-14).all():
            break
    return value


def incomplete_beta(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Regularised incomplete beta function I_x(a, b) for 0 < x < 1."""
    swap = x >= (a + 1.0) / (a + b + 2.0)
    p, q = np.where(swap, b, a), np.where(swap, a, b)
    y = np.where(swap, 1.0 - x, x)
    front = (
        _log_gamma(p + q) - _log_gamma(p) - _log_gamma(q)
        + p * np.log(y) + q * np.log1p(-y)
    )  # fmt: skip
    value = np.exp(front) * _beta_fraction(p, q, y) / p
    found: np.ndarray = np.where(swap, 1.0 - value, value)
    return found


def _beta_quantile(share: float, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x with I_x(a, b) = share, by bisection."""
    low, high = np.zeros_like(a), np.ones_like(a)
    middle: np.ndarray
    for _ in range(54):
        middle = 0.5 * (low + high)
        below = incomplete_beta(a, b, middle) < share
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    middle = 0.5 * (low + high)
    return middle


def clopper_pearson(
    part: Counts, whole: Counts
) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of the 68.27 % interval of part / whole; [0, 1] of 0 / 0."""
    k = np.atleast_1d(np.asarray(part, dtype=np.float64))
    n = np.atleast_1d(np.asarray(whole, dtype=np.float64))
    low, high = np.zeros_like(n), np.ones_like(n)
    some, rest = k > 0, k < n
    low[some] = _beta_quantile(ONE_SIGMA_TAIL, k[some], (n - k)[some] + 1.0)
    high[rest] = _beta_quantile(
        1.0 - ONE_SIGMA_TAIL, k[rest] + 1.0, (n - k)[rest]
    )
    return low, high


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
