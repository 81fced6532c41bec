"""edge_filter -- the stage: scores of edges from the features of their ends.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import exatrkx
import numpy as np

from . import networks
from .event import filtered_edges, make_event
from .library import graph_from_edges, make_model
from .stage import Inputs, Run, Stage, n_edges, of_network, tensors_of, within

BATCH = 4096
# Time is strictly proportional to the number of edges; few are enough.
EDGES_PER_HIT = 2.5


def make(n_hits: int, edges_per_hit: float = EDGES_PER_HIT) -> Inputs:
    event = make_event(n_hits)
    return {
        "position": event.position,
        "features": event.features(networks.FILTER_WIDTHS[0] // 2),
        "edges": filtered_edges(event, round(n_hits * edges_per_hit)),
    } | networks.filter_weights()


def pytorch(inputs: Inputs, n_threads: int, is_compiled: bool = False) -> Run:
    import torch

    from . import torch_networks

    network = torch_networks.Filter(inputs)
    network = torch_networks.ready(network, n_threads, is_compiled)
    features = torch.from_numpy(inputs["features"])
    edges = torch.from_numpy(inputs["edges"])

    def call() -> torch.Tensor:
        scores = []
        for src, dst in zip(edges[0].split(BATCH), edges[1].split(BATCH), strict=True):
            ends = (features.index_select(0, src), features.index_select(0, dst))
            scores.append(network(torch.cat(ends, 1)))
        return torch.cat(scores)

    return torch_networks.inference(call, is_compiled)


def onnx_runtime(inputs: Inputs, n_threads: int) -> Run:
    from . import onnx_networks

    session = onnx_networks.edge_filter(inputs, n_threads)
    src, dst = inputs["edges"].astype(np.int64)
    feeds = [
        {"x": inputs["features"], "src": src[i : i + BATCH], "dst": dst[i : i + BATCH]}
        for i in range(0, len(src), BATCH)
    ]
    return onnx_networks.in_batches(session, feeds)


def ours(inputs: Inputs, n_threads: int, context: exatrkx.Context | None = None) -> Run:
    context = context or exatrkx.Context(n_threads)
    # Scores are above zero: all edges pass, with their scores.
    config = {"filter": networks.filter_config(0.0)}
    model = make_model(config, tensors_of(inputs, "filter."))
    event = exatrkx.Event.from_arrays(inputs["position"], features=inputs["features"])
    graph = graph_from_edges(len(event), inputs["edges"], context)

    def call() -> exatrkx.Graph:
        return exatrkx.filter_graph(graph, model, event, context)

    return Run(call, lambda filtered: filtered.scores.copy())


STAGE = Stage(
    name="filter",
    title="filter 24-512x3-1, vanilla",
    item="edge",
    make=make,
    implementations=of_network(pytorch, onnx_runtime, ours),
    compare=within(1e-4),
    n_items=n_edges,
    flops=lambda inputs: networks.perceptron_flops(
        networks.FILTER_WIDTHS, n_edges(inputs)
    ),
)
