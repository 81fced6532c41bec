"""radius_graph -- the stage: pairs of points that lie within a radius.

Every implementation returns each pair once. They may differ by rounding, so pairs that only one of two has must lie at the radius itself.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial

import exatrkx
import numpy as np

from .event import Event, make_event, points_of_balls, points_of_tracks, radius_of
from .limits import native
from .stage import OURS, Agreement, Implementation, Inputs, Run, Stage

NEIGHBOURS = 60
FAISS_SHARE = 0.02  # of the points that FAISS searches around; it tries all
TOLERANCE = 1e-5  # of the radius: how near to it a pair may be in doubt
# FAISS finds distances from norms and products, which cancel.
FAISS_TOLERANCE = 1e-3


def make(n_hits: int, points_of: Callable[[Event], np.ndarray]) -> Inputs:
    points = points_of(make_event(n_hits))
    return {"points": points, "radius": np.array(radius_of(points, NEIGHBOURS))}


def coded(first: np.ndarray, second: np.ndarray, n_points: int) -> np.ndarray:
    """Pairs as sorted numbers, smaller row times n_points plus larger."""
    low = np.minimum(first, second).astype(np.int64)
    return np.sort(low * n_points + np.maximum(first, second))


def scipy_tree(inputs: Inputs, n_threads: int) -> Run:
    from scipy.spatial import cKDTree

    points, radius = inputs["points"], float(inputs["radius"])

    def call() -> np.ndarray:
        return cKDTree(points).query_pairs(radius, output_type="ndarray")

    return Run(call, lambda pairs: coded(*pairs.T, len(points)))


def nanoflann(inputs: Inputs, n_threads: int) -> Run:
    search = native("nanoflann_pairs").nanoflann_pairs
    search.restype = ctypes.c_int64
    array = [ctypes.c_void_p, ctypes.c_int64]
    search.argtypes = [*array, *array, ctypes.c_int32, ctypes.c_float, ctypes.c_int32]
    points, radius = inputs["points"], float(inputs["radius"])
    capacity = len(points) * NEIGHBOURS

    def call() -> np.ndarray:
        pairs = np.empty((capacity, 2), np.int32)
        given = (points.ctypes.data, *points.shape, radius, n_threads)
        n_pairs = search(pairs.ctypes.data, capacity, *given)
        if n_pairs > capacity:
            raise MemoryError(f"{n_pairs} pairs, capacity {capacity}")
        return pairs[:n_pairs]

    return Run(call, lambda pairs: coded(*pairs.T, len(points)))


def faiss_flat(inputs: Inputs, n_threads: int) -> Run:
    import faiss

    faiss.omp_set_num_threads(n_threads)
    points, radius = inputs["points"], float(inputs["radius"])
    queries = points[: round(len(points) * FAISS_SHARE)]

    def call() -> tuple[np.ndarray, np.ndarray]:
        index = faiss.IndexFlatL2(points.shape[1])
        index.add(points)
        limits, _, found = index.range_search(queries, radius * radius)
        return limits, found

    def result(value: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        limits, found = value
        rows = np.repeat(np.arange(len(queries)), np.diff(limits.astype(np.int64)))
        once = found > rows
        return coded(rows[once], found[once], len(points))

    return Run(call, result)


def ours(inputs: Inputs, n_threads: int) -> Run:
    context = exatrkx.Context(n_threads)
    points, radius = inputs["points"], float(inputs["radius"])
    return Run(
        lambda: exatrkx.Graph.radius(points, radius, context=context),
        lambda graph: coded(graph.src, graph.dst, len(points)),
    )


def compare(
    inputs: Inputs,
    reference: np.ndarray,
    result: np.ndarray,
    share: float = 1.0,
    tolerance: float = TOLERANCE,
) -> Agreement:
    """Which pairs only one of them has, and how far those are from the radius.
    share: of the points that the result has the pairs of."""
    points, radius = inputs["points"].astype(np.float64), float(inputs["radius"])
    n_points = len(points)
    reference = reference[reference < round(n_points * share) * n_points]
    other = np.setxor1d(reference, result, assume_unique=True)
    first, second = np.divmod(other, n_points)
    distance = np.linalg.norm(points[first] - points[second], axis=1)
    worst = float(np.abs(distance / radius - 1).max(initial=0))
    text = f"{len(reference)} pairs, {len(other)} others"
    if len(other):
        text += f", {worst:.0e} off the radius, allowed {tolerance:.0e}"
    return Agreement(worst <= tolerance, text)


def stage(name: str, title: str, points_of: Callable[[Event], np.ndarray]) -> Stage:
    return Stage(
        name=name,
        title=title,
        item="pair",
        make=partial(make, points_of=points_of),
        implementations=(
            Implementation("SciPy cKDTree", scipy_tree),
            Implementation("nanoflann", nanoflann),
            Implementation(
                "FAISS flat",
                faiss_flat,
                share=FAISS_SHARE,
                compare=partial(compare, share=FAISS_SHARE, tolerance=FAISS_TOLERANCE),
            ),
            Implementation(OURS, ours),
        ),
        compare=compare,
        n_items=lambda _, pairs: len(pairs),
    )


STAGES = (
    stage("radius_tracks", "radius graph, 8-D, points of tracks", points_of_tracks),
    stage("radius_filled", "radius graph, 8-D, all dimensions filled", points_of_balls),
)
