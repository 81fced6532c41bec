"""components -- the stage: labels of connected hits.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from .event import filtered_edges, make_event
from .library import graph_from_edges, label_components, make_context
from .stage import OURS, Agreement, Implementation, Inputs, Run, Stage, n_edges

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

    return Run(call)


def igraph(inputs: Inputs, n_threads: int, is_from_edges: bool) -> Run:
    """Its C function, without the Python objects around its labels. With a hit that has
    no edge: a graph that was found to be connected once is not searched again."""
    from igraph import Graph, GraphBase

    edges = int(inputs["n_hits"]) + 1, np.ascontiguousarray(inputs["edges"].T)
    given = Graph(*edges)

    def call() -> Any:
        graph = Graph(*edges) if is_from_edges else given
        return GraphBase.connected_components(graph, mode="weak")

    return Run(call, lambda labels: np.array(labels[:-1]))


def ours(inputs: Inputs, n_threads: int, is_from_edges: bool) -> Run:
    context = make_context(n_threads)
    edges = (int(inputs["n_hits"]), inputs["edges"], context)
    given = graph_from_edges(*edges)

    def call() -> np.ndarray:
        graph = graph_from_edges(*edges) if is_from_edges else given
        return label_components(graph, context)

    return Run(call)


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
    all_of_them = {"SciPy csgraph": scipy_csgraph, "igraph": igraph, OURS: ours}
    implementations = tuple(
        Implementation(who, partial(prepare, is_from_edges=is_from_edges))
        for who, prepare in all_of_them.items()
    )
    return Stage(name, title, "edge", make, implementations, n_edges, compare)


STAGES = (
    stage("components", "components of an existing graph", False),
    stage("components_of_edges", "components from a list of edges", True),
)
