"""radius_graph -- the stage: pairs of points that lie within a radius.

Every implementation returns each pair once. They may differ by rounding, so pairs that
only one of two has must lie at the radius itself; approximate ones miss a few.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

import exatrkx
import numpy as np

from .event import Event, make_event, points_of_balls, points_of_tracks, radius_of
from .limits import native
from .library import make_context
from .stage import OURS, Agreement, Implementation, Inputs, Run, Stage

NEIGHBOURS = 60
FAISS_SHARE = 0.02  # of the points that FAISS searches around; it tries all
TOLERANCE = 1e-5  # of the radius: how near to it a pair may be in doubt
# FAISS finds distances from norms and products, which cancel.
FAISS_TOLERANCE = 1e-3
# Of the pairs, by approximate peers; queries by which their search is set.
RECALL, N_SAMPLE = 0.95, 500
# More of either take longer to make than they save: tried with 50 000 points.
IVF_LISTS, IVF_ITERATIONS = 2, 3  # times the root of the points; of k-means
HNSW = {"M": 12, "ef_construction": 80}
# How many neighbours each query has, itself included, and all of them in turn.
Found = tuple[np.ndarray, np.ndarray]


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


def approximate(
    inputs: Inputs,
    build: Callable[[], Any],
    search: Callable[[Any, np.ndarray, int], Found],
) -> Run:
    """Build an index and search around all points, with the least effort, in steps
    of a quarter, that finds RECALL of the neighbours of a sample."""
    from scipy.spatial import cKDTree

    points, radius = inputs["points"], float(inputs["radius"])
    some = points[np.random.default_rng(5).choice(len(points), N_SAMPLE)]
    near = cKDTree(points).query_ball_point(some, radius, return_length=True) - 1
    index, effort = build(), 1
    while (search(index, some, effort)[0] - 1).sum() < RECALL * near.sum():
        effort += max(1, effort // 4)

    def result(found: Found) -> np.ndarray:
        first, second = np.repeat(np.arange(len(points)), found[0]), found[1]
        others = first != second
        return np.unique(coded(first[others], second[others], len(points)))

    return Run(lambda: search(build(), points, effort), result)


def faiss_ivf(inputs: Inputs, n_threads: int) -> Run:
    import faiss

    faiss.omp_set_num_threads(n_threads)
    points, radius = inputs["points"], float(inputs["radius"])
    n_points, n_dim = points.shape
    n_lists = round(IVF_LISTS * n_points**0.5)

    def build() -> Any:
        index = faiss.IndexIVFFlat(faiss.IndexFlatL2(n_dim), n_dim, n_lists)
        index.cp.niter = IVF_ITERATIONS
        index.train(points)
        index.add(points)
        return index

    def search(index: Any, queries: np.ndarray, effort: int) -> Found:
        index.nprobe = min(effort, n_lists)
        limits, _, found = index.range_search(queries, radius * radius)
        return np.diff(limits.astype(np.int64)), found

    return approximate(inputs, build, search)


def hnsw(inputs: Inputs, n_threads: int) -> Run:
    import hnswlib

    points, radius = inputs["points"], float(inputs["radius"])

    def build() -> Any:
        index = hnswlib.Index("l2", points.shape[1])
        index.init_index(len(points), **HNSW)
        index.set_num_threads(n_threads)
        index.add_items(points)
        return index

    def search(index: Any, queries: np.ndarray, effort: int) -> Found:
        n_nearest = min(effort, len(points))
        index.set_ef(n_nearest)
        found, square = index.knn_query(queries, n_nearest)
        near = square <= radius * radius
        return near.sum(1), found[near].astype(np.int64)

    return approximate(inputs, build, search)


def ours(inputs: Inputs, n_threads: int) -> Run:
    context = make_context(n_threads)
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


def compare_recall(
    inputs: Inputs, reference: np.ndarray, result: np.ndarray
) -> Agreement:
    """Most pairs of the reference, and others only at the radius."""
    common = np.intersect1d(reference, result, assume_unique=True)
    recall = len(common) / len(reference)
    others = compare(inputs, common, result, tolerance=FAISS_TOLERANCE)
    return Agreement(
        recall >= RECALL and others.agrees,
        f"{recall:.3f} of {len(reference)} pairs, at least {RECALL}; {others.text}",
    )


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
            Implementation("FAISS IVF", faiss_ivf, compare=compare_recall),
            Implementation("hnswlib", hnsw, compare=compare_recall),
            Implementation(OURS, ours),
        ),
        compare=compare,
        n_items=lambda _, pairs: len(pairs),
    )


STAGES = (
    stage("radius_tracks", "radius graph, 8-D, points of tracks", points_of_tracks),
    stage("radius_filled", "radius graph, 8-D, all dimensions filled", points_of_balls),
)
