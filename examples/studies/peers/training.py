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

from . import networks
from .event import Event, make_event, radius_of, true_edges
from .library import make_model
from .stage import (
    OURS,
    Agreement,
    Implementation,
    Inputs,
    Run,
    Stage,
    n_edges,
    n_hits,
    tensors_of,
)

LEARNING_RATE, WEIGHT_DECAY, CLIP = 1e-3, 0.01, 1.0
MANY_STEPS = 1_000_000
PAIRS_PER_HIT = 10
POSITIVE_WEIGHT, MARGIN = 4.0, 1.0
TOLERANCE = 1e-4
PAIR_TOLERANCE = 0.03  # where each draws its own pairs
GNN_HIDDEN = 64
GNN_SHARE = 0.1  # of the hits, with ten edges each
GNN_SCALES = (("r", 1000.0), ("phi", np.pi), ("z", 1000.0))


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


def make_embedding(n_hits: int) -> Inputs:
    event = make_event(n_hits)
    features = event.features(networks.EMBEDDING_WIDTHS[0])
    return truth_of(event) | {"features": features} | networks.embedding_weights()


def make_gnn(n_hits: int) -> Inputs:
    from scipy.spatial import cKDTree

    event = make_event(round(n_hits * GNN_SHARE))
    features = event.features(networks.GNN_FEATURES)
    radius = radius_of(features, 2 * PAIRS_PER_HIT)
    src, dst = np.sort(cKDTree(features).query_pairs(radius, output_type="ndarray")).T
    order = np.lexsort((src, dst))
    edges = np.stack((src[order], dst[order]))
    inputs = truth_of(event)
    true = np.sort(inputs["true_edges"], axis=0)
    is_true = np.isin(edges[0] * len(event) + edges[1], true[0] * len(event) + true[1])
    # The graph of the trainer is that of an embedding which changes nothing.
    identity = {
        "embedding.layers.0.weight": np.eye(3, dtype=np.float32),
        "embedding.layers.0.bias": np.zeros(3, np.float32),
    }
    inputs |= {"features": features, "radius": np.array(radius)}
    inputs |= {"edges": edges, "is_true": is_true}
    return inputs | identity | networks.gnn_weights(GNN_HIDDEN)


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
    tensors = tensors_of(inputs, "embedding.") | tensors_of(inputs, "gnn.")
    start = make_model(model, tensors)
    trains = exatrkx.Trainer(config | common, start=start, context=context)
    join(trains)
    trains.add(event)

    def call() -> np.ndarray:
        report = trains.step()
        return np.array([report.loss, report.gradient_norm])

    return Run(call)


def pytorch(network: Any, loss_of: Callable[[], Any]) -> Run:
    """AdamW with a bound on the gradient; biases and norms do not decay."""
    import torch

    def group(parameters: Iterable[Any], decay: float) -> dict[str, Any]:
        return {"params": list(parameters), "weight_decay": decay}

    parameters = list(network.parameters())
    optimiser = torch.optim.AdamW(
        [
            group((p for p in parameters if p.ndim > 1), WEIGHT_DECAY),
            group((p for p in parameters if p.ndim == 1), 0.0),
        ],
        lr=LEARNING_RATE,
    )

    def call() -> np.ndarray:
        optimiser.zero_grad(set_to_none=True)
        loss = loss_of()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(parameters, CLIP)
        optimiser.step()
        return np.array([float(loss.detach()), float(norm)])

    return Run(call)


def pytorch_embedding(inputs: Inputs, n_threads: int) -> Run:
    import torch

    from . import torch_networks

    torch_networks.use_threads(n_threads)
    torch.manual_seed(1)
    network = torch_networks.embedding(inputs)
    names = ("features", "particle", "true_edges")
    features, particle, true = (torch.from_numpy(inputs[name]) for name in names)
    n_hits = len(features)

    def squares(points: torch.Tensor, pairs: torch.Tensor) -> torch.Tensor:
        ends = points.index_select(0, pairs[0]) - points.index_select(0, pairs[1])
        return ends.square().sum(1)

    def loss_of() -> torch.Tensor:
        pairs = torch.randint(n_hits, (2, n_hits * PAIRS_PER_HIT))
        first, second = particle[pairs[0]], particle[pairs[1]]
        pairs = pairs[:, (first != second) | (first == 0)]
        points = network(features)
        distance = (squares(points, pairs) + 1e-12).sqrt()
        repelled = (MARGIN - distance).clamp(min=0).square().mean()
        return POSITIVE_WEIGHT * squares(points, true).mean() + repelled

    return pytorch(network, loss_of)


def ours_embedding(inputs: Inputs, n_threads: int) -> Run:
    n_pairs = len(inputs["position"]) * PAIRS_PER_HIT
    return trainer(
        inputs,
        exatrkx.Context(n_threads),
        {"embedding": networks.embedding_config(1.0)},
        {
            "stage": "embedding",
            "truth": {"min_pt": 0.0, "low_pt_weight": 1.0},
            "sampling": {"queries": 1, "random_pairs": n_pairs}
            | dict.fromkeys(("hits", "neighbours", "other"), 0),
            "loss": {"positive_weight": POSITIVE_WEIGHT, "margin": MARGIN},
        },
    )


def pytorch_gnn(inputs: Inputs, n_threads: int, device: str = "cpu") -> Run:
    from . import torch_networks

    torch_networks.use_threads(n_threads)
    network = torch_networks.InteractionNetwork(inputs).to(device)
    return pytorch(network, torch_networks.edge_loss(inputs, network))


def ours_gnn(
    inputs: Inputs,
    n_threads: int,
    n_graphs: int = 1,
    join: Callable[[exatrkx.Trainer], None] = alone,
    context: exatrkx.Context | None = None,
) -> Run:
    space = {
        "arch": "mlp",
        "options": {"hidden": [], "n_out": 3, "norm": "none"},
        "node_features": [{"name": n, "scale": s} for n, s in GNN_SCALES],
        "graph": {"radius": float(inputs["radius"])},
    }
    return trainer(
        inputs,
        context or exatrkx.Context(n_threads),
        {"embedding": space, "gnn": networks.gnn_config(GNN_HIDDEN)},
        {
            "stage": "gnn",
            "truth": {"min_pt": 0.0, "low_pt_weight": 1.0, "same_particle": "false"},
            "sampling": {"hits": 0, "edges": 0, "graphs": n_graphs},
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


def training_flops(inputs: Inputs) -> float:
    """Backward is twice forward."""
    if "edges" not in inputs:
        widths = networks.EMBEDDING_WIDTHS
        return 3 * networks.perceptron_flops(widths, n_hits(inputs))
    return 3 * networks.gnn_flops(GNN_HIDDEN, n_hits(inputs), n_edges(inputs))


def both(pytorch_step: Any, our_step: Any) -> tuple[Implementation, ...]:
    return Implementation("PyTorch", pytorch_step), Implementation(OURS, our_step)


STAGES = (
    Stage(
        name="train_embedding",
        title="step of the embedding, ten random pairs per hit",
        item="hit",
        make=make_embedding,
        implementations=both(pytorch_embedding, ours_embedding),
        compare=partial(compare, tolerance=PAIR_TOLERANCE),
        n_items=n_hits,
        flops=training_flops,
    ),
    Stage(
        name="train_gnn64",
        title="step of the interaction network, width 64",
        item="edge",
        make=make_gnn,
        implementations=both(pytorch_gnn, ours_gnn),
        compare=partial(compare, tolerance=TOLERANCE),
        n_items=n_edges,
        flops=training_flops,
    ),
)
