"""embedding -- the stage: hits to points by a perceptron.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import exatrkx
import numpy as np

from . import networks
from .event import make_event
from .library import make_model
from .stage import Inputs, Run, Stage, n_hits, of_network, tensors_of, within

BATCH = 4096  # rows per call; the peers are fastest with batches that fit a cache


def make(n_hits: int) -> Inputs:
    event = make_event(n_hits)
    features = event.features(networks.EMBEDDING_WIDTHS[0])
    weights = networks.embedding_weights()
    return {"position": event.position, "features": features} | weights


def pytorch(inputs: Inputs, n_threads: int, is_compiled: bool = False) -> Run:
    import torch

    from . import torch_networks

    network = torch_networks.embedding(inputs)
    network = torch_networks.ready(network, n_threads, is_compiled)
    batches = torch.from_numpy(inputs["features"]).split(BATCH)
    return torch_networks.inference(
        lambda: torch.cat([network(batch) for batch in batches]), is_compiled
    )


def onnx_runtime(inputs: Inputs, n_threads: int) -> Run:
    from . import onnx_networks

    session = onnx_networks.embedding(inputs, n_threads)
    features = inputs["features"]
    feeds = [{"x": features[i : i + BATCH]} for i in range(0, len(features), BATCH)]
    return onnx_networks.in_batches(session, feeds)


def ours(inputs: Inputs, n_threads: int, context: exatrkx.Context | None = None) -> Run:
    context = context or exatrkx.Context(n_threads)
    config = {"embedding": networks.embedding_config(1.0)}
    model = make_model(config, tensors_of(inputs, "embedding."))
    event = exatrkx.Event.from_arrays(inputs["position"], features=inputs["features"])

    def call() -> np.ndarray:
        return exatrkx.embed(model, event, context)

    return Run(call)


STAGE = Stage(
    name="embedding",
    title="embedding 12-512x4-8, ReLU",
    item="hit",
    make=make,
    implementations=of_network(pytorch, onnx_runtime, ours),
    compare=within(1e-5),
    n_items=n_hits,
    flops=lambda inputs: networks.perceptron_flops(
        networks.EMBEDDING_WIDTHS, n_hits(inputs)
    ),
)
