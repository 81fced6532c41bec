"""graph_network -- the stage: scores of edges by the interaction network.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from functools import partial

import exatrkx
import numpy as np

from . import networks
from .event import filtered_edges, make_event
from .library import graph_from_edges, make_model, score
from .stage import (
    OURS,
    Implementation,
    Inputs,
    Run,
    Stage,
    n_edges,
    n_hits,
    tensors_of,
    within,
)


def make(n_hits: int, hidden: int, edges_per_hit: float) -> Inputs:
    event = make_event(n_hits)
    return {
        "position": event.position,
        "features": event.features(networks.GNN_FEATURES),
        "edges": filtered_edges(event, round(n_hits * edges_per_hit)),
    } | networks.gnn_weights(hidden)


def pytorch(
    inputs: Inputs,
    n_threads: int,
    is_compiled: bool = False,  # with a split first layer
    is_geometric: bool = False,  # sums by PyTorch Geometric
) -> Run:
    import torch

    from . import torch_networks

    network = torch_networks.InteractionNetwork(inputs, is_compiled, is_geometric)
    network = torch_networks.ready(network, n_threads, is_compiled)
    features = torch.from_numpy(inputs["features"])
    src, dst = torch.from_numpy(inputs["edges"].astype(np.int64))
    return torch_networks.inference(
        lambda: torch.sigmoid(network(features, src, dst)), is_compiled
    )


def onnx_runtime(inputs: Inputs, n_threads: int) -> Run:
    from . import onnx_networks

    session = onnx_networks.interaction_network(inputs, n_threads)
    src, dst = inputs["edges"].astype(np.int64)
    feed = {"x": inputs["features"], "src": src, "dst": dst}
    return onnx_networks.in_batches(session, [feed])


def ours(
    inputs: Inputs, n_threads: int, hidden: int, context: exatrkx.Context | None = None
) -> Run:
    context = context or exatrkx.Context(n_threads)
    config = {"gnn": networks.gnn_config(hidden)}
    model = make_model(config, tensors_of(inputs, "gnn."))
    event = exatrkx.Event.from_arrays(inputs["position"], features=inputs["features"])
    graph = graph_from_edges(len(event), inputs["edges"], context)
    return Run(
        lambda: score(graph, model, event, context), lambda scored: scored.scores.copy()
    )


def flops(inputs: Inputs, hidden: int) -> float:
    return networks.gnn_flops(hidden, n_hits(inputs), n_edges(inputs))


def stage(hidden: int, edges_per_hit: float) -> Stage:
    split = partial(pytorch, is_compiled=True)
    return Stage(
        name=f"gnn{hidden}",
        title=f"interaction network, width {hidden}, 8 iterations",
        item="edge",
        make=partial(make, hidden=hidden, edges_per_hit=edges_per_hit),
        implementations=(
            Implementation("PyTorch", pytorch),
            Implementation("PyTorch factorised, compiled", split, compiles=True),
            Implementation("PyTorch Geometric", partial(pytorch, is_geometric=True)),
            Implementation("ONNX Runtime", onnx_runtime),
            Implementation(OURS, partial(ours, hidden=hidden)),
        ),
        compare=within(1e-3),
        n_items=n_edges,
        flops=partial(flops, hidden=hidden),
    )


STAGES = (stage(64, 10), stage(128, 3))
