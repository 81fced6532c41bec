"""graph_network -- the stage: scores of edges by the interaction network.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from functools import partial

import numpy as np

from . import networks
from .event import filtered_edges, make_event
from .library import Library, Object
from .stage import OURS, Implementation, Inputs, Run, Stage, tensors_of, within


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
    is_compiled: bool = False,  # and its first layers factorised
    is_geometric: bool = False,  # sums by PyTorch Geometric
) -> Run:
    import torch

    from . import torch_networks

    torch_networks.use_threads(n_threads)
    sum_at = torch_networks.sum_by_index
    if is_geometric:
        from torch_geometric.utils import scatter

        def sum_at(e: torch.Tensor, index: torch.Tensor, n: int) -> torch.Tensor:
            return scatter(e, index, dim=0, dim_size=n, reduce="sum")

    network = torch_networks.InteractionNetwork(inputs, is_compiled, sum_at).eval()
    if is_compiled:
        network = torch_networks.compiled(network)
    features = torch.from_numpy(inputs["features"])
    src, dst = torch.from_numpy(inputs["edges"].astype(np.int64))

    @torch.no_grad()
    def call() -> torch.Tensor:
        return torch.sigmoid(network(features, src, dst))

    if is_compiled:
        call()  # compiles here
    return Run(call, lambda scores: scores.numpy())


def onnx_runtime(inputs: Inputs, n_threads: int) -> Run:
    from . import onnx_networks

    session = onnx_networks.interaction_network(inputs, n_threads)
    src, dst = inputs["edges"].astype(np.int64)
    feed = {"x": inputs["features"], "src": src, "dst": dst}
    return Run(lambda: session.run(None, feed)[0], lambda scores: scores)


def ours(inputs: Inputs, n_threads: int, hidden: int) -> Run:
    library = Library(n_threads)
    config = {"gnn": networks.gnn_config(hidden)}
    model = library.model(config, tensors_of(inputs, "gnn."))
    event = library.event(inputs["position"], inputs["features"])
    graph = library.graph_from_edges(len(inputs["features"]), inputs["edges"])

    def call() -> Object:
        library.graph_score(graph, model, event)
        return graph

    return Run(call, library.scores)


def flops(inputs: Inputs, hidden: int) -> float:
    n_nodes, n_edges = len(inputs["features"]), inputs["edges"].shape[1]
    return networks.gnn_flops(hidden, n_nodes, n_edges)


def stage(hidden: int, edges_per_hit: float) -> Stage:
    return Stage(
        name=f"gnn{hidden}",
        title=f"interaction network, width {hidden}, 8 iterations",
        item="edge",
        make=partial(make, hidden=hidden, edges_per_hit=edges_per_hit),
        implementations=(
            Implementation("PyTorch", pytorch),
            Implementation(
                "PyTorch factorised, compiled",
                partial(pytorch, is_compiled=True),
                compiles=True,
            ),
            Implementation("PyTorch Geometric", partial(pytorch, is_geometric=True)),
            Implementation("ONNX Runtime", onnx_runtime),
            Implementation(OURS, partial(ours, hidden=hidden)),
        ),
        compare=within(1e-3),
        n_items=lambda inputs, _: inputs["edges"].shape[1],
        flops=partial(flops, hidden=hidden),
    )


STAGES = (stage(64, 10), stage(128, 3))
