"""edge_filter -- the stage: scores of edges from the features of their ends.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from functools import partial

import numpy as np

from . import networks
from .event import filtered_edges, make_event
from .library import Library, Object
from .stage import OURS, Implementation, Inputs, Run, Stage, tensors_of, within

BATCH = 4096
# The time of the stage is strictly proportional to the edges; as few as are
# enough to measure it well.
EDGES_PER_HIT = 2.5


def make(n_hits: int) -> Inputs:
    event = make_event(n_hits)
    return {
        "position": event.position,
        "features": event.features(networks.FILTER_WIDTHS[0] // 2),
        "edges": filtered_edges(event, round(n_hits * EDGES_PER_HIT)),
    } | networks.filter_weights()


def pytorch(inputs: Inputs, n_threads: int, is_compiled: bool) -> Run:
    import torch

    from . import torch_networks

    torch_networks.use_threads(n_threads)
    network = torch_networks.Filter(inputs).eval()
    if is_compiled:
        network = torch_networks.compiled(network)
    features = torch.from_numpy(inputs["features"])
    edges = torch.from_numpy(inputs["edges"])

    @torch.no_grad()
    def call() -> torch.Tensor:
        scores = []
        for src, dst in zip(edges[0].split(BATCH), edges[1].split(BATCH), strict=True):
            ends = (features.index_select(0, src), features.index_select(0, dst))
            scores.append(network(torch.cat(ends, 1)))
        return torch.cat(scores)

    if is_compiled:
        call()  # compiles here
    return Run(call, lambda scores: scores.numpy())


def onnx_runtime(inputs: Inputs, n_threads: int) -> Run:
    from . import onnx_networks

    session = onnx_networks.edge_filter(inputs, n_threads)
    src, dst = inputs["edges"].astype(np.int64)
    feeds = [
        {
            "x": inputs["features"],
            "src": src[i : i + BATCH],
            "dst": dst[i : i + BATCH],
        }
        for i in range(0, len(src), BATCH)
    ]

    def call() -> np.ndarray:
        return np.concatenate([session.run(None, feed)[0] for feed in feeds])

    return Run(call, lambda scores: scores)


def ours(inputs: Inputs, n_threads: int) -> Run:
    library = Library(n_threads)
    # Scores are above zero: all edges pass, with their scores.
    config = {"filter": networks.filter_config(0.0)}
    model = library.model(config, tensors_of(inputs, "filter."))
    event = library.event(inputs["position"], inputs["features"])
    graph = library.graph_from_edges(len(inputs["features"]), inputs["edges"])

    def call() -> Object:
        return library.graph_filter(graph, model, event)

    return Run(call, library.scores)


STAGE = Stage(
    name="filter",
    title="filter 24-512x3-1, vanilla",
    item="edge",
    make=make,
    implementations=(
        Implementation("PyTorch", partial(pytorch, is_compiled=False)),
        Implementation(
            "PyTorch compiled", partial(pytorch, is_compiled=True), compiles=True
        ),
        Implementation("ONNX Runtime", onnx_runtime),
        Implementation(OURS, ours),
    ),
    compare=within(1e-4),
    n_items=lambda inputs, _: inputs["edges"].shape[1],
    flops=lambda inputs: networks.perceptron_flops(
        networks.FILTER_WIDTHS, inputs["edges"].shape[1]
    ),
)
