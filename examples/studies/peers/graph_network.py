"""graph_network -- the stage: scores of edges by the interaction network.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from functools import partial
from typing import Any

import exatrkx
import numpy as np

from . import networks
from .event import filtered_edges, make_event
from .library import graph_from_edges, make_context, make_model, score
from .stage import (
    OURS,
    Implementation,
    Inputs,
    Run,
    Stage,
    n_edges,
    n_hits,
    of_torch,
    tensors_of,
    within,
)

DEFAULT_EDGES_PER_HIT = 8  # of those that the filter of default leaves
FACTORISED = "PyTorch factorised, compiled"


def make(n_hits: int, hidden: int, edges_per_hit: float) -> Inputs:
    event = make_event(n_hits)
    return {
        "position": event.position,
        "features": event.features(networks.GNN_FEATURES),
        "edges": filtered_edges(event, round(n_hits * edges_per_hit)),
    } | networks.gnn_weights(hidden)


def make_default(n_hits: int) -> Inputs:
    event = make_event(round(n_hits * networks.DEFAULT_SHARE))
    return {
        "position": event.position,
        "features": event.features(networks.DEFAULT_GNN_FEATURES),
        "edges": filtered_edges(event, len(event) * DEFAULT_EDGES_PER_HIT),
    } | networks.default_gnn_weights()


def pytorch(
    inputs: Inputs,
    n_threads: int,
    is_compiled: bool = False,  # with a split first layer
    is_geometric: bool = False,  # sums by PyTorch Geometric
    is_default: bool = False,
) -> Run:
    import torch

    from . import torch_networks

    network = (
        torch_networks.DefaultNetwork(inputs, is_compiled)
        if is_default
        else torch_networks.InteractionNetwork(inputs, is_compiled, is_geometric)
    )
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
    return of_config(inputs, n_threads, networks.gnn_config(hidden), context)


def of_config(
    inputs: Inputs,
    n_threads: int,
    config: dict[str, Any],
    context: exatrkx.Context | None = None,
) -> Run:
    context = context or make_context(n_threads)
    model = make_model({"gnn": config}, tensors_of(inputs, "gnn."))
    event = exatrkx.Event.from_arrays(inputs["position"], features=inputs["features"])
    graph = graph_from_edges(len(event), inputs["edges"], context)
    return Run(
        lambda: score(graph, model, event, context), lambda scored: scored.scores.copy()
    )


def flops(inputs: Inputs, hidden: int) -> float:
    return networks.gnn_flops(hidden, n_hits(inputs), n_edges(inputs))


def stage(hidden: int, edges_per_hit: float) -> Stage:
    return Stage(
        name=f"gnn{hidden}",
        title=f"interaction network, width {hidden}, 8 iterations",
        item="edge",
        make=partial(make, hidden=hidden, edges_per_hit=edges_per_hit),
        implementations=(
            *of_torch(pytorch, FACTORISED),
            Implementation("PyTorch Geometric", partial(pytorch, is_geometric=True)),
            Implementation("ONNX Runtime", onnx_runtime),
            Implementation(OURS, partial(ours, hidden=hidden)),
        ),
        compare=within(1e-3),
        n_items=n_edges,
        flops=partial(flops, hidden=hidden),
    )


def default_flops(inputs: Inputs) -> float:
    return networks.default_gnn_flops(inputs, n_hits(inputs), n_edges(inputs))


DEFAULT = Stage(
    name="default_gnn",
    title="interaction network of default, width 32, 6 iterations",
    item="edge",
    make=make_default,
    implementations=(
        *of_torch(partial(pytorch, is_default=True), FACTORISED),
        Implementation(OURS, partial(of_config, config=networks.default_gnn_config())),
    ),
    compare=within(1e-3),
    n_items=n_edges,
    flops=default_flops,
)
STAGES = (stage(64, 10), stage(128, 3), DEFAULT)
