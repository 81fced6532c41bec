"""edge_filter -- the stage: scores of edges from the features of their ends.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import exatrkx
import numpy as np

from . import networks
from .event import filtered_edges, make_event
from .library import graph_from_edges, make_context, make_model
from .stage import (
    OURS,
    Implementation,
    Inputs,
    Run,
    Stage,
    n_edges,
    of_network,
    of_torch,
    tensors_of,
    within,
)

BATCH = 4096
# Time is strictly proportional to the number of edges; few are enough.
EDGES_PER_HIT = 2.5


DEFAULT_EDGES_PER_HIT = 20


def make(n_hits: int, edges_per_hit: float = EDGES_PER_HIT) -> Inputs:
    inputs = edges_of(n_hits, edges_per_hit, networks.FILTER_WIDTHS[0] // 2)
    return inputs | networks.filter_weights()


def make_default(n_hits: int) -> Inputs:
    n_hits = round(n_hits * networks.DEFAULT_SHARE)
    n_features = networks.DEFAULT_FILTER.widths[0] // 2
    inputs = edges_of(n_hits, DEFAULT_EDGES_PER_HIT, n_features)
    return inputs | networks.DEFAULT_FILTER.weights("filter.layers", 2)


def edges_of(n_hits: int, edges_per_hit: float, n_features: int) -> Inputs:
    event = make_event(n_hits)
    return {
        "position": event.position,
        "features": event.features(n_features),
        "edges": filtered_edges(event, round(n_hits * edges_per_hit)),
    }


def pytorch(
    inputs: Inputs, n_threads: int, is_compiled: bool = False, is_default: bool = False
) -> Run:
    import torch

    from . import torch_networks

    make_network = (
        torch_networks.default_filter if is_default else torch_networks.Filter
    )
    network = make_network(inputs)
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


def onnx_runtime(inputs: Inputs, n_threads: int, is_int8: bool = False) -> Run:
    from . import onnx_networks

    session = onnx_networks.edge_filter(inputs, n_threads, is_int8=is_int8)
    src, dst = inputs["edges"].astype(np.int64)
    feeds = [
        {"x": inputs["features"], "src": src[i : i + BATCH], "dst": dst[i : i + BATCH]}
        for i in range(0, len(src), BATCH)
    ]
    return onnx_networks.in_batches(session, feeds)


def ours(
    inputs: Inputs,
    n_threads: int,
    context: exatrkx.Context | None = None,
    precision: str = "float32",
    is_default: bool = False,
) -> Run:
    context = context or make_context(n_threads, precision=precision)
    # Scores are above zero: all edges pass, with their scores.
    options = networks.DEFAULT_FILTER.options if is_default else networks.FILTER_OPTIONS
    n_features = inputs["features"].shape[1]
    config = {"filter": networks.filter_config(0.0, options, n_features)}
    model = make_model(config, tensors_of(inputs, "filter."))
    event = exatrkx.Event.from_arrays(inputs["position"], features=inputs["features"])
    graph = graph_from_edges(len(event), inputs["edges"], context)

    def call() -> exatrkx.Graph:
        return exatrkx.filter_graph(graph, model, event, context)

    return Run(call, lambda filtered: filtered.scores.copy())


def stage(
    name: str,
    title: str,
    make: Callable[[int], Inputs],
    implementations: Sequence[Implementation],
    widths: Sequence[int],
) -> Stage:
    return Stage(
        name=name,
        title=title,
        item="edge",
        make=make,
        implementations=tuple(implementations),
        compare=within(1e-4),
        n_items=n_edges,
        flops=lambda inputs: networks.perceptron_flops(widths, n_edges(inputs)),
    )


STAGES = (
    stage(
        "filter",
        "filter 24-512x3-1, vanilla",
        make,
        of_network(pytorch, onnx_runtime, ours),
        networks.FILTER_WIDTHS,
    ),
    stage(
        "default_filter",
        "filter 22-64x2-1",
        make_default,
        (
            *of_torch(partial(pytorch, is_default=True)),
            Implementation(OURS, partial(ours, is_default=True)),
        ),
        networks.DEFAULT_FILTER.widths,
    ),
)
