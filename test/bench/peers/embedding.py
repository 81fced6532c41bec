"""embedding -- the stage: hits to points by a perceptron.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from functools import partial

import numpy as np

from . import networks
from .event import make_event
from .library import Library
from .stage import OURS, Implementation, Inputs, Run, Stage, tensors_of, within

BATCH = 4096  # rows at a time; the peers are fastest with pieces that fit a cache


def make(n_hits: int) -> Inputs:
    event = make_event(n_hits)
    features = event.features(networks.EMBEDDING_WIDTHS[0])
    weights = networks.embedding_weights()
    return {"position": event.position, "features": features} | weights


def pytorch(inputs: Inputs, n_threads: int, is_compiled: bool) -> Run:
    import torch

    from . import torch_networks

    torch_networks.use_threads(n_threads)
    network = torch_networks.embedding(inputs).eval()
    if is_compiled:
        network = torch_networks.compiled(network)
    parts = torch.from_numpy(inputs["features"]).split(BATCH)

    @torch.no_grad()
    def call() -> torch.Tensor:
        return torch.cat([network(part) for part in parts])

    if is_compiled:
        call()  # compiles here
    return Run(call, lambda points: points.numpy())


def onnx_runtime(inputs: Inputs, n_threads: int) -> Run:
    from . import onnx_networks

    session = onnx_networks.embedding(inputs, n_threads)
    features = inputs["features"]
    parts = [features[i : i + BATCH] for i in range(0, len(features), BATCH)]

    def call() -> np.ndarray:
        return np.concatenate([session.run(None, {"x": part})[0] for part in parts])

    return Run(call, lambda points: points)


def ours(inputs: Inputs, n_threads: int) -> Run:
    library = Library(n_threads)
    config = {"embedding": networks.embedding_config(1.0)}
    model = library.model(config, tensors_of(inputs, "embedding."))
    event = library.event(inputs["position"], inputs["features"])
    n_points, n_dim = len(inputs["features"]), networks.EMBEDDING_WIDTHS[-1]

    def call() -> np.ndarray:
        points = np.empty((n_points, n_dim), np.float32)
        library.embed(points, model, event)
        return points

    return Run(call, lambda points: points)


STAGE = Stage(
    name="embedding",
    title="embedding 12-512x4-8, ReLU",
    item="hit",
    make=make,
    implementations=(
        Implementation("PyTorch", partial(pytorch, is_compiled=False)),
        Implementation(
            "PyTorch compiled", partial(pytorch, is_compiled=True), compiles=True
        ),
        Implementation("ONNX Runtime", onnx_runtime),
        Implementation(OURS, ours),
    ),
    compare=within(1e-5),
    n_items=lambda inputs, _: len(inputs["features"]),
    flops=lambda inputs: networks.perceptron_flops(
        networks.EMBEDDING_WIDTHS, len(inputs["features"])
    ),
)
