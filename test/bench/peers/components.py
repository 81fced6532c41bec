"""components -- the stage: labels of connected hits.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .event import filtered_edges, make_event
from .library import Library
from .stage import OURS, Agreement, Implementation, Inputs, Run, Stage

EDGES_PER_HIT = 10


def make(n_hits: int) -> Inputs:
    event = make_event(n_hits)
    edges = filtered_edges(event, n_hits * EDGES_PER_HIT)
    return {"n_hits": np.array(len(event)), "edges": edges}


def scipy_csgraph(inputs: Inputs, n_threads: int, is_from_edges: bool) -> Run:
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    n_hits, (src, dst) = int(inputs["n_hits"]), inputs["edges"]
    ones = np.ones(len(src), np.int8)

    def sparse() -> Any:
        return coo_matrix((ones, (src, dst)), shape=(n_hits, n_hits)).tocsr()

    given = sparse()

    def call() -> np.ndarray:
        graph = sparse() if is_from_edges else given
        return connected_components(graph, directed=False)[1]

    return Run(call, lambda labels: labels)


def ours(inputs: Inputs, n_threads: int, is_from_edges: bool) -> Run:
    library = Library(n_threads)
    n_hits, edges = int(inputs["n_hits"]), inputs["edges"]
    given = library.graph_from_edges(n_hits, edges)

    def call() -> np.ndarray:
        graph = library.graph_from_edges(n_hits, edges) if is_from_edges else given
        labels = np.empty(n_hits, np.int32)
        library.graph_label(labels, graph)
        return labels

    return Run(call, lambda labels: labels)


def numbered(labels: np.ndarray) -> np.ndarray:
    """Labels by the order in which they are met first."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def compare(_: Inputs, reference: np.ndarray, result: np.ndarray) -> Agreement:
    n_parts = len(np.unique(reference))
    if np.array_equal(numbered(reference), numbered(result)):
        return Agreement(True, f"the same {n_parts} components")
    return Agreement(False, f"other components than the {n_parts} of the first")


def stage(name: str, title: str, is_from_edges: bool) -> Stage:
    peer = partial(scipy_csgraph, is_from_edges=is_from_edges)
    own = partial(ours, is_from_edges=is_from_edges)
    return Stage(
        name=name,
        title=title,
        item="edge",
        make=make,
        implementations=(
            Implementation("SciPy csgraph", peer),
            Implementation(OURS, own),
        ),
        compare=compare,
        n_items=lambda inputs, _: inputs["edges"].shape[1],
    )


STAGES = (
    stage("components", "components of a graph that is there", False),
    stage("components_of_edges", "components from a list of edges", True),
)
