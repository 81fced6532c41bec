"""training -- the stages of one training step: forward, backward and update.

libexatrkx trains through its public trainer on one whole event, which it
samples, labels and computes features of in every step; PyTorch starts from these.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import exatrkx
import numpy as np

from . import graph_network, networks
from .event import Event, make_event, radius_of, true_edges
from .graph_network import FACTORISED
from .library import make_context, make_model
from .stage import (
    OURS,
    Agreement,
    Implementation,
    Inputs,
    Run,
    Stage,
    n_edges,
    n_hits,
    of_torch,
)

LEARNING_RATE, WEIGHT_DECAY, CLIP = 1e-3, 0.01, 1.0
MANY_STEPS = 1_000_000
PAIRS_PER_HIT = 10
SPACE = 3  # columns by whose distance hits are joined for the edge networks
POSITIVE_WEIGHT, MARGIN = 4.0, 1.0
TOLERANCE = 1e-4
PAIR_TOLERANCE = 0.03  # where each draws its own pairs
GNN_HIDDEN = 64
GNN_SHARE = 0.1  # of the hits, with ten edges each


def truth_of(event: Event) -> Inputs:
    """Hits, and what the trainer wants to know of their particles."""
    particles = event.particles
    momentum = np.zeros((len(particles), 3))
    momentum[:, 0] = particles.pt * np.cos(particles.phi)
    momentum[:, 1] = particles.pt * np.sin(particles.phi)
    return {
        "position": event.position,
        "particle": event.particle,
        "momentum": momentum,
        "true_edges": true_edges(event),
    }


def make_embedding(
    n_hits: int, network: networks.Perceptron = networks.EMBEDDING
) -> Inputs:
    event = make_event(n_hits)
    features = {"features": event.features(network.widths[0])}
    return truth_of(event) | features | networks.embedding_weights(network)


def make_gnn(n_hits: int) -> Inputs:
    weights = networks.gnn_weights(GNN_HIDDEN)
    return make_edges(n_hits, networks.GNN_FEATURES) | weights


def make_default_gnn(n_hits: int) -> Inputs:
    weights = networks.default_gnn_weights()
    return make_edges(n_hits, networks.DEFAULT_GNN_FEATURES) | weights


def make_filter(n_hits: int) -> Inputs:
    weights = networks.DEFAULT_FILTER.weights("filter.layers", 2)
    return make_edges(n_hits, networks.DEFAULT_FILTER.widths[0] // 2) | weights


def make_edges(n_hits: int, n_features: int) -> Inputs:
    from scipy.spatial import cKDTree

    event = make_event(round(n_hits * GNN_SHARE))
    features = event.features(n_features)
    space = features[:, :SPACE]
    radius = radius_of(space, 2 * PAIRS_PER_HIT)
    src, dst = np.sort(cKDTree(space).query_pairs(radius, output_type="ndarray")).T
    order = np.lexsort((src, dst))
    edges = np.stack((src[order], dst[order]))
    inputs = truth_of(event)
    true = np.sort(inputs["true_edges"], axis=0)
    is_true = np.isin(edges[0] * len(event) + edges[1], true[0] * len(event) + true[1])
    # The graph of the trainer is that of an embedding which changes nothing.
    identity = {
        "embedding.layers.0.weight": np.eye(SPACE, n_features, dtype=np.float32),
        "embedding.layers.0.bias": np.zeros(SPACE, np.float32),
    }
    inputs |= {"features": features, "radius": np.array(radius)}
    return inputs | {"edges": edges, "is_true": is_true} | identity


def alone(_: exatrkx.Trainer) -> None:
    """No other ranks."""


def trainer(
    inputs: Inputs,
    context: exatrkx.Context,
    model: dict[str, Any],
    config: dict[str, Any],
    join: Callable[[exatrkx.Trainer], None] = alone,
) -> Run:
    """libexatrkx at config["stage"], starting from these weights; join makes the
    trainer one of several ranks."""
    ids = inputs["particle"].astype(np.int64)
    particles = np.zeros(len(inputs["momentum"]) - 1, exatrkx.PARTICLE)
    particles["id"] = np.arange(1, len(particles) + 1)
    particles["charge"] = 1
    particles["n_hits"] = np.bincount(ids, minlength=len(particles) + 1)[1:]
    particles["momentum"] = inputs["momentum"][1:]
    event = exatrkx.Event.from_arrays(
        inputs["position"],
        features=inputs["features"],
        particle_ids=ids,
        particles=particles,
    )
    schedule = {"steps": MANY_STEPS, "learning_rate": LEARNING_RATE}
    common = {
        "schedule": schedule | {"warmup_steps": 0, "decay": "constant"},
        "optimiser": {"weight_decay": WEIGHT_DECAY, "gradient_clip": CLIP},
        "augmentation": dict.fromkeys(("rotate_phi", "reflect_z", "reflect_y"), False),
    }
    tensors = {name: value for name, value in inputs.items() if "." in name}
    start = make_model(model, tensors)
    trains = exatrkx.Trainer(config | common, start=start, context=context)
    join(trains)
    trains.add(event)

    def call() -> np.ndarray:
        report = trains.step()
        return np.array([report.loss, report.gradient_norm])

    return Run(call)


def pytorch(
    network: Any, loss_of: Callable[[], Any], is_compiled: bool = False
) -> Run:
    """AdamW with a bound on the gradient; biases and norms do not decay."""
    import torch

    if is_compiled:
        loss_of = torch.compile(loss_of, dynamic=False)
        loss_of().backward()

    def group(parameters: Iterable[Any], decay: float) -> dict[str, Any]:
        return {"params": list(parameters), "weight_decay": decay}

    parameters = list(network.parameters())
    optimiser = torch.optim.AdamW(
        [
            group((p for p in parameters if p.ndim > 1), WEIGHT_DECAY),
            group((p for p in parameters if p.ndim == 1), 0.0),
        ],
        lr=LEARNING_RATE,
        fused=True,
    )

    def call() -> np.ndarray:
        optimiser.zero_grad(set_to_none=True)
        loss = loss_of()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(parameters, CLIP)
        optimiser.step()
        return np.array([float(loss.detach()), float(norm)])

    return Run(call)


def pytorch_embedding(
    inputs: Inputs,
    n_threads: int,
    is_compiled: bool = False,
    shape: networks.Perceptron = networks.EMBEDDING,
) -> Run:
    import torch

    from . import torch_networks

    torch_networks.use_threads(n_threads)
    torch.manual_seed(1)
    network = torch_networks.embedding(inputs, shape)
    names = ("features", "particle", "true_edges")
    features, particle, true = (torch.from_numpy(inputs[name]) for name in names)
    n_hits = len(features)

    def squares(points: torch.Tensor, pairs: torch.Tensor) -> torch.Tensor:
        ends = points.index_select(0, pairs[0]) - points.index_select(0, pairs[1])
        return ends.square().sum(1)

    def loss_of() -> torch.Tensor:
        pairs = torch.randint(n_hits, (2, n_hits * PAIRS_PER_HIT))
        first, second = particle[pairs[0]], particle[pairs[1]]
        others = (first != second) | (first == 0)
        points = network(features)
        distance = (squares(points, pairs) + 1e-12).sqrt()
        repelled = ((MARGIN - distance).clamp(min=0).square() * others).sum()
        attracted = squares(points, true).mean()
        return POSITIVE_WEIGHT * attracted + repelled / others.sum()

    return pytorch(network, loss_of, is_compiled)


def ours_embedding(
    inputs: Inputs, n_threads: int, shape: networks.Perceptron = networks.EMBEDDING
) -> Run:
    n_pairs = len(inputs["position"]) * PAIRS_PER_HIT
    return trainer(
        inputs,
        make_context(n_threads),
        {"embedding": networks.embedding_config(1.0, shape)},
        {
            "stage": "embedding",
            "truth": {"min_pt": 0.0, "low_pt_weight": 1.0},
            "sampling": {"queries": 1, "random_pairs": n_pairs}
            | dict.fromkeys(("hits", "neighbours", "other"), 0),
            "loss": {"positive_weight": POSITIVE_WEIGHT, "margin": MARGIN},
        },
    )


def pytorch_edges(
    inputs: Inputs,
    n_threads: int,
    device: str = "cpu",
    is_compiled: bool = False,  # with split first layers
    network: str = "InteractionNetwork",  # of torch_networks
) -> Run:
    from . import torch_networks

    torch_networks.use_threads(n_threads)
    made = getattr(torch_networks, network)(inputs, is_compiled).to(device)
    return pytorch(made, torch_networks.edge_loss(inputs, made), is_compiled)


def ours_gnn(
    inputs: Inputs,
    n_threads: int,
    n_graphs: int = 1,
    join: Callable[[exatrkx.Trainer], None] = alone,
    context: exatrkx.Context | None = None,
) -> Run:
    context = context or make_context(n_threads)
    network = {"gnn": networks.gnn_config(GNN_HIDDEN)}
    return ours_edges(inputs, context, network, {"graphs": n_graphs}, join)


def ours_default_gnn(inputs: Inputs, n_threads: int) -> Run:
    network = {"gnn": networks.default_gnn_config()}
    return ours_edges(inputs, make_context(n_threads), network)


def ours_filter(inputs: Inputs, n_threads: int) -> Run:
    n_features = inputs["features"].shape[1]
    options = networks.DEFAULT_FILTER.options
    network = {"filter": networks.filter_config(0.5, options, n_features)}
    all_edges = {"false_per_true": 0}
    return ours_edges(inputs, make_context(n_threads), network, all_edges)


def ours_edges(
    inputs: Inputs,
    context: exatrkx.Context,
    network: dict[str, Any],
    sampling: dict[str, Any] | None = None,
    join: Callable[[exatrkx.Trainer], None] = alone,
) -> Run:
    """Steps of an edge network on all edges of the space of the first columns."""
    (stage,) = network
    space = {"hidden": [], "n_out": SPACE, "norm": "none"}
    config = networks.stage_config("mlp", space, inputs["features"].shape[1])
    config |= {"graph": {"radius": float(inputs["radius"])}}
    return trainer(
        inputs,
        context,
        {"embedding": config} | network,
        {
            "stage": stage,
            "truth": {"min_pt": 0.0, "low_pt_weight": 1.0, "same_particle": "false"},
            "sampling": {"hits": 0, "edges": 0} | (sampling or {}),
            "loss": {"positive_weight": 1.0},
        },
        join,
    )


def compare(
    _: Inputs, reference: np.ndarray, result: np.ndarray, tolerance: float
) -> Agreement:
    """Loss and norm of the gradient, each by itself."""
    difference = float(np.abs(result / reference - 1).max())
    text = f"loss {result[0]:.5f}, it and its gradient"
    return Agreement(
        difference <= tolerance,
        f"{text} differ by {difference:.0e}, allowed {tolerance:.0e}",
    )


def step(
    name: str,
    title: str,
    make: Callable[[int], Inputs],
    implementations: tuple[Implementation, ...],
    flops: Callable[[Inputs], float],
) -> Stage:
    """A stage; backward is twice forward."""
    is_of_hits = "embedding" in name
    return Stage(
        name=name,
        title=f"step of the {title}",
        item="hit" if is_of_hits else "edge",
        make=make,
        implementations=implementations,
        compare=partial(compare, tolerance=PAIR_TOLERANCE if is_of_hits else TOLERANCE),
        n_items=n_hits if is_of_hits else n_edges,
        flops=lambda inputs: 3 * flops(inputs),
    )


def embedding_step(name: str, title: str, shape: networks.Perceptron) -> Stage:
    return step(
        name,
        f"embedding{title}, ten random pairs per hit",
        partial(make_embedding, network=shape),
        (
            *of_torch(partial(pytorch_embedding, shape=shape)),
            Implementation(OURS, partial(ours_embedding, shape=shape)),
        ),
        lambda inputs: networks.perceptron_flops(shape.widths, n_hits(inputs)),
    )


STAGES = (
    embedding_step("train_embedding", "", networks.EMBEDDING),
    step(
        "train_gnn64",
        "interaction network, width 64",
        make_gnn,
        (*of_torch(pytorch_edges, FACTORISED), Implementation(OURS, ours_gnn)),
        partial(graph_network.flops, hidden=GNN_HIDDEN),
    ),
    embedding_step(
        "train_default_embedding", " of default", networks.DEFAULT_EMBEDDING
    ),
    step(
        "train_default_filter",
        "filter of default",
        make_filter,
        (
            *of_torch(partial(pytorch_edges, network="EdgeFilter")),
            Implementation(OURS, ours_filter),
        ),
        lambda inputs: networks.perceptron_flops(
            networks.DEFAULT_FILTER.widths, n_edges(inputs)
        ),
    ),
    step(
        "train_default_gnn",
        "interaction network of default",
        make_default_gnn,
        (
            *of_torch(partial(pytorch_edges, network="DefaultNetwork"), FACTORISED),
            Implementation(OURS, ours_default_gnn),
        ),
        graph_network.default_flops,
    ),
)
