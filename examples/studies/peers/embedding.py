"""embedding -- the stage: hits to points by a perceptron.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import exatrkx
import numpy as np

from . import networks
from .event import make_event
from .library import make_context, make_model
from .stage import (
    OURS,
    Implementation,
    Inputs,
    Run,
    Stage,
    n_hits,
    of_network,
    of_torch,
    tensors_of,
    within,
)

BATCH = 4096  # rows per call; the peers are fastest with batches that fit a cache


Network = networks.Perceptron


def make(n_hits: int, network: Network = networks.EMBEDDING) -> Inputs:
    event = make_event(n_hits)
    features = event.features(network.widths[0])
    weights = networks.embedding_weights(network)
    return {"position": event.position, "features": features} | weights


def pytorch(
    inputs: Inputs,
    n_threads: int,
    is_compiled: bool = False,
    network: Network = networks.EMBEDDING,
) -> Run:
    import torch

    from . import torch_networks

    layers = torch_networks.embedding(inputs, network)
    layers = torch_networks.ready(layers, n_threads, is_compiled)
    batches = torch.from_numpy(inputs["features"]).split(BATCH)
    return torch_networks.inference(
        lambda: torch.cat([layers(batch) for batch in batches]), is_compiled
    )


def onnx_runtime(inputs: Inputs, n_threads: int, is_int8: bool = False) -> Run:
    from . import onnx_networks

    session = onnx_networks.embedding(inputs, n_threads, is_int8=is_int8)
    features = inputs["features"]
    feeds = [{"x": features[i : i + BATCH]} for i in range(0, len(features), BATCH)]
    return onnx_networks.in_batches(session, feeds)


def ours(
    inputs: Inputs,
    n_threads: int,
    context: exatrkx.Context | None = None,
    precision: str = "float32",
    network: Network = networks.EMBEDDING,
) -> Run:
    context = context or make_context(n_threads, precision=precision)
    config = {"embedding": networks.embedding_config(1.0, network)}
    model = make_model(config, tensors_of(inputs, "embedding."))
    event = exatrkx.Event.from_arrays(inputs["position"], features=inputs["features"])

    def call() -> np.ndarray:
        return exatrkx.embed(model, event, context)

    return Run(call)


def stage(
    name: str, network: Network, share: float, implementations: Sequence[Implementation]
) -> Stage:
    return Stage(
        name=name,
        title=f"embedding {network.widths}, {network.activation}",
        item="hit",
        make=lambda n_hits: make(round(n_hits * share), network),
        implementations=tuple(implementations),
        compare=within(1e-5),
        n_items=n_hits,
        flops=lambda inputs: networks.perceptron_flops(network.widths, n_hits(inputs)),
    )


STAGES = (
    stage(
        "embedding", networks.EMBEDDING, 1.0, of_network(pytorch, onnx_runtime, ours)
    ),
    stage(
        "default_embedding",
        networks.DEFAULT_EMBEDDING,
        networks.DEFAULT_SHARE,
        (
            *of_torch(partial(pytorch, network=networks.DEFAULT_EMBEDDING)),
            Implementation(OURS, partial(ours, network=networks.DEFAULT_EMBEDDING)),
        ),
    ),
)
