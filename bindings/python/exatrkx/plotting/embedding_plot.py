"""embedding_plot -- the learned space in two dimensions, and one neighbourhood.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle

from .event_truth import Event
from .radius_plot import read_points
from .style import BLUE, COLOURS, GREEN, GREY, ORANGE, RED, panels

N_PARTICLES = len(COLOURS) - 1  # shown in colour, the last colour is grey


@dataclass
class Neighbourhood:
    """Rows of the hits around one, by what they are to it."""

    hit: int
    true: np.ndarray  # before or after it on its particle
    same: np.ndarray  # other hits of its particle
    false: np.ndarray  # of another particle, or noise
    missed: np.ndarray  # before or after it, beyond the radius


def principal(points: np.ndarray) -> np.ndarray:
    """The two directions [n_dim, 2] along which the points vary most."""
    directions = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2]
    if len(directions) < 2:
        directions = np.vstack([directions, np.zeros((1, points.shape[1]))])
    return directions[:2].T


def around(event: Event, points: np.ndarray, hit: int, radius: float) -> Neighbourhood:
    """The hits within the radius of hit, and the true ones beyond."""
    near = np.linalg.norm(points - points[hit], axis=1) <= radius
    near[hit] = False
    rows = np.arange(event.n_hits)
    same = (event.owner == event.owner[hit]) & (event.owner >= 0)
    true = same & ((event.next_hit == hit) | (rows == event.next_hit[hit]))
    kinds = (near & true, near & same & ~true, near & ~same, true & ~near)
    return Neighbourhood(hit, *(np.flatnonzero(kind) for kind in kinds))


def choose(event: Event, points: np.ndarray, radius: float, min_pt: float) -> int:
    """The first hit of a signal particle that misses the next one; of the first
    pair where none does."""
    inner, outer = event.true_pairs()
    signal = event.is_signal(inner, min_pt)
    inner, outer = inner[signal], outer[signal]
    if not len(inner):
        raise ValueError("the event has no true pairs above the pT cut")
    missed = np.linalg.norm(points[inner] - points[outer], axis=1) > radius
    return int(inner[np.argmax(missed)])


def draw(
    source: Any,
    given_points: Any,
    radius: float,
    hit_id: int | None,
    min_pt: float,
    given: Sequence[Axes] | None = None,
) -> Figure:
    """Both panels."""
    is_file = isinstance(given_points, (str, os.PathLike))
    event = Event(source)
    points = (
        read_points(os.fspath(given_points))
        if is_file
        else np.asarray(given_points, np.float64)
    )
    if len(points) != event.n_hits:
        raise ValueError(
            f"{given_points if is_file else 'points'}: "
            f"{len(points)} points, the event has {event.n_hits} hits"
        )
    if hit_id is None:
        hit = choose(event, points, radius, min_pt)
    else:
        rows = np.flatnonzero(event.source.hit_ids == hit_id)
        if not len(rows):
            raise ValueError(f"there is no hit {hit_id}")
        hit = int(rows[0])
    found = around(event, points, hit, radius)
    return _figure(event, points, found, radius, given)


def _figure(
    event: Event,
    points: np.ndarray,
    found: Neighbourhood,
    radius: float,
    given: Sequence[Axes] | None,
) -> Figure:
    figure, axes = panels(2, 2, given=given)
    axis = next(axes)
    flat = (points - points.mean(axis=0)) @ principal(points)
    axis.plot(*flat.T, ",", color=GREY)
    hits = np.bincount(event.owner[event.owner >= 0], minlength=1)
    longest = np.argsort(-hits, kind="stable")[:N_PARTICLES]
    for particle, colour in zip(longest, COLOURS, strict=False):
        axis.plot(*flat[event.owner == particle].T, "o", color=colour, markersize=3)
    axis.set_title(f"all hits; the {len(longest)} particles with most in colour")
    axis = next(axes)
    shown = np.concatenate([found.true, found.same, found.false, found.missed])
    local = points - points[found.hit]
    flat = local @ principal(local[np.append(shown, found.hit)])
    axis.add_patch(Circle((0, 0), radius, fill=False, color=GREY, linestyle="--"))
    for rows, name, colour, marker in (
        (found.false, "false", GREY, "."),
        (found.same, "same particle", BLUE, "o"),
        (found.true, "true", GREEN, "o"),
        (found.missed, "missed", RED, "x"),
        (np.array([found.hit]), "the hit", ORANGE, "*"),
    ):
        label = name if name == "the hit" else f"{name}: {len(rows)}"
        axis.plot(*flat[rows].T, marker, color=colour, label=label)
    axis.set_aspect("equal", adjustable="datalim")
    axis.legend()
    axis.set_title(f"around hit {event.source.hit_ids[found.hit]}, radius {radius:g}")
    for axis in given if given is not None else figure.axes:
        axis.set_xlabel("first principal component")
        axis.set_ylabel("second")
    return cast(Figure, figure)
