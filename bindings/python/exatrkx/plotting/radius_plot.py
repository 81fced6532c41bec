"""radius_plot -- neighbours in the embedding against the radius.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .._arrays import together
from .event_truth import Event
from .rates import ratio
from .style import BLUE, GREY, ORANGE, PURPLE, panels, share_axis, title

N_STEPS = 200
BLOCK = 512  # hits whose distances to all others are in memory at a time
TARGETS = (0.95, 0.98, 0.99)


class Neighbours:
    """How many pairs of hits, true and signal pairs, each radius joins."""

    def __init__(self, n_hits: int, radius: np.ndarray) -> None:
        """No pairs yet; radius rises from 0."""
        self.n_hits, self.radius = n_hits, radius
        self.n_pairs = np.zeros(len(radius))
        self.n_true = np.zeros(len(radius))
        self.n_signal = np.zeros(len(radius))
        self.n_signal_all = 0

    @property
    def efficiency(self) -> np.ndarray:
        """Share of the signal pairs that each radius joins."""
        return ratio(self.n_signal, self.n_signal_all)

    def radius_for(self, share: float) -> float:
        """The first radius with this efficiency."""
        return float(self.radius[np.argmax(self.efficiency >= share)])

    @property
    def purity(self) -> np.ndarray:
        """Share of true pairs among all that each radius joins."""
        return ratio(self.n_true, self.n_pairs)

    @property
    def per_hit(self) -> np.ndarray:
        """Edges of the graph per hit, each pair of hits once."""
        return ratio(self.n_pairs, self.n_hits)


def read_points(path: str) -> np.ndarray:
    """Headerless points of etx-graph --stage embedding, one row per hit."""
    return np.loadtxt(path, delimiter=",", ndmin=2, encoding="ascii")


def count_pairs(points: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Pairs of points within each radius."""
    square = (points**2).sum(axis=1)
    found = np.zeros(len(radius), dtype=np.int64)
    for begin in range(0, len(points), BLOCK):
        rows = slice(begin, begin + BLOCK)
        near = square[rows, None] + square[None, begin:]
        near -= 2.0 * (points[rows] @ points[begin:].T)
        first, second = np.nonzero(near <= radius[-1] ** 2)
        distance = near[first, second][second > first]
        found += count_within(np.sqrt(np.maximum(distance, 0.0)), radius)
    return found


def count_within(distance: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """How many distances each radius reaches."""
    return np.searchsorted(np.sort(distance), radius, side="right")


def measure(
    events: Sequence[Event],
    points: Sequence[np.ndarray],
    min_pt: float,
    max_radius: float | None,
) -> Neighbours:
    """Counts over all events; the largest radius fits the data if not given.

    It then is 1.5 times the one that keeps 98 % of the signal pairs.
    """
    lengths, signals = [], []
    for event, own in zip(events, points, strict=True):
        inner, outer = event.true_pairs()
        difference = own[inner] - own[outer]
        lengths.append(np.sqrt((difference**2).sum(axis=1)))
        signals.append(event.is_signal(inner, min_pt))
    length, signal = np.concatenate(lengths), np.concatenate(signals)
    if not signal.any():
        raise ValueError("the events have no true pairs above the pT cut")
    if max_radius is None:
        max_radius = 1.5 * float(np.quantile(length[signal], 0.98))
    radius = np.linspace(0.0, max_radius, N_STEPS + 1)
    result = Neighbours(sum(event.n_hits for event in events), radius)
    result.n_true = count_within(length, radius)
    result.n_signal = count_within(length[signal], radius)
    result.n_signal_all = int(signal.sum())
    for own in points:
        result.n_pairs += count_pairs(own, radius)
    return result


def draw(
    prefixes: Sequence[Any],
    files: Sequence[Any],
    min_pt: float,
    max_radius: float | None,
    given: Sequence[Axes] | None = None,
) -> Figure:
    """The three panels."""
    events = [Event(prefix) for prefix in prefixes]
    points = [
        read_points(os.fspath(file))
        if isinstance(file, (str, os.PathLike))
        else np.asarray(file, np.float64)
        for file in files
    ]
    for event, own, file in together(events=events, points=points, files=files):
        if len(own) != event.n_hits:
            raise ValueError(
                f"{file if isinstance(file, str) else 'points'}: "
                f"{len(own)} points, the event has {event.n_hits} hits"
            )
    found = measure(events, points, min_pt, max_radius)
    return _figure(found, len(events), min_pt, given)


def _figure(
    found: Neighbours,
    n_events: int,
    min_pt: float,
    given: Sequence[Axes] | None,
) -> Figure:
    figure, axes = panels(3, 3, given=given)
    first = f"efficiency, pairs with pT > {min_pt:g} GeV"
    shown = (
        (found.efficiency, BLUE, first),
        (found.purity, ORANGE, "purity"),
        (found.per_hit, PURPLE, "edges per hit"),
    )
    for (value, colour, name), axis in zip(shown, axes, strict=True):
        axis.plot(found.radius, value, color=colour)
        for share in TARGETS:
            if found.efficiency[-1] >= share:
                at = found.radius_for(share)
                axis.axvline(at, color=GREY, linewidth=0.8, linestyle="--")
                if colour == BLUE:
                    axis.plot(at, share, "o", color=BLUE, markersize=4)
        axis.set_xlabel("radius in the embedding")
        axis.set_title(name)
        axis.set_xlim(0.0, found.radius[-1])
        axis.set_ylim(bottom=0.0)
    share_axis(given[0] if given is not None else figure.axes[0])
    plural = "s" if n_events != 1 else ""
    marked = [
        f"{100 * share:.0f} % at {found.radius_for(share):.3g}"
        for share in TARGETS
        if found.efficiency[-1] >= share
    ]
    title(
        figure,
        f"{n_events} event{plural}, {found.n_hits} hits; efficiency "
        + (", ".join(marked) or f"below {100 * TARGETS[0]:.0f} %"),
        given,
    )
    return cast(Figure, figure)
