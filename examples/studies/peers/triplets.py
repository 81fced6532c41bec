"""triplets -- the stage: doublets that share a hit are joined to triplets.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import numpy as np

from .event import filtered_edges, make_event
from .library import graph_from_edges, make_context
from .stage import OURS, Agreement, Implementation, Inputs, Run, Stage, n_edges

DOUBLETS_PER_HIT = 15


def make(n_hits: int) -> Inputs:
    event = make_event(n_hits)
    edges = filtered_edges(event, n_hits * DOUBLETS_PER_HIT)
    # Sorted as our graphs have them: a row of a result is a doublet of these.
    order = np.lexsort((edges[0], edges[1]))
    return {"n_hits": np.array(len(event)), "edges": edges[:, order]}


def numpy(inputs: Inputs, n_threads: int) -> Run:
    """Every doublet with those into its source, by repetition of ranges."""
    n_hits, (src, dst) = int(inputs["n_hits"]), inputs["edges"]

    def call() -> np.ndarray:
        offset = np.searchsorted(dst, np.arange(n_hits + 1))
        count = (offset[1:] - offset[:-1])[src]
        second = np.repeat(np.arange(len(src), dtype=np.int32), count)
        begin = np.cumsum(count) - count
        first = np.arange(len(second)) - np.repeat(begin - offset[src], count)
        return np.stack((first.astype(np.int32), second))

    return Run(call)


def scipy(inputs: Inputs, n_threads: int) -> Run:
    """The product of the incidence matrices of both ends."""
    from scipy.sparse import csr_matrix

    n_hits, (src, dst) = int(inputs["n_hits"]), inputs["edges"]
    n = len(src)
    ones, rows = np.ones(n, np.int8), np.arange(n + 1)

    def call() -> np.ndarray:
        starts = csr_matrix((ones, src, rows), shape=(n, n_hits))
        ends = csr_matrix((ones, dst, rows), shape=(n, n_hits))
        joined = starts @ ends.T
        joined.sort_indices()
        second = np.repeat(np.arange(n, dtype=np.int32), np.diff(joined.indptr))
        return np.stack((joined.indices, second))

    return Run(call)


def ours(inputs: Inputs, n_threads: int) -> Run:
    context = make_context(n_threads)
    doublets = graph_from_edges(int(inputs["n_hits"]), inputs["edges"], context)
    return Run(
        lambda: doublets.to_triplets(context=context),
        lambda triplets: np.stack((triplets.src, triplets.dst)),
    )


def compare(_: Inputs, reference: np.ndarray, result: np.ndarray) -> Agreement:
    if np.array_equal(reference, result):
        return Agreement(True, f"the same {reference.shape[1]} triplets")
    return Agreement(False, f"others than the {reference.shape[1]} of the first")


STAGE = Stage(
    name="triplets",
    title="doublets to triplets",
    item="doublet",
    make=make,
    implementations=(
        Implementation("NumPy", numpy),
        Implementation("SciPy sparse", scipy),
        Implementation(OURS, ours),
    ),
    compare=compare,
    n_items=n_edges,
)
