"""training -- the stages of one training step: forward, backward and update.

libexatrkx trains through its public trainer on one whole event, which it
samples, labels and computes features of in every step; PyTorch is given these.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from . import networks
from .event import Event, make_event, radius_of, true_edges
from .library import Library, Particle, TrainingReport
from .stage import OURS, Agreement, Implementation, Inputs, Run, Stage, tensors_of

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
    return (
        inputs
        | {
            "features": features,
            "radius": np.array(radius),
            "edges": edges,
            "is_true": is_true,
        }
        | identity
        | networks.gnn_weights(GNN_HIDDEN)
    )


def alone(_: Library, __: Any) -> None:
    """No other ranks."""


def trainer(
    inputs: Inputs,
    n_threads: int,
    model: dict[str, Any],
    config: dict[str, Any],
    join: Callable[[Library, Any], None] = alone,
    library: Library | None = None,
) -> Run:
    """libexatrkx at config["stage"], with a model of these weights to start at;
    join makes the trainer one of several ranks, library has another context
    than one with n_threads threads."""
    library = Library(n_threads) if library is None else library
    event = library.event(inputs["position"], inputs["features"])
    ids = inputs["particle"].astype(np.int64)
    n_hits = np.bincount(ids, minlength=len(inputs["momentum"]))
    particles = (Particle * (len(n_hits) - 1))()
    for row, particle in enumerate(particles, start=1):
        particle.id, particle.charge, particle.n_hits = row, 1, int(n_hits[row])
        particle.momentum[:] = inputs["momentum"][row]
    library.call(
        "etx_event_set_truth",
        event.handle,
        ids.ctypes.data,
        None,
        len(particles),
        particles,
    )
    text = json.dumps(
        config
        | {
            "schedule": {
                "steps": MANY_STEPS,
                "learning_rate": LEARNING_RATE,
                "warmup_steps": 0,
                "decay": "constant",
            },
            "optimiser": {"weight_decay": WEIGHT_DECAY, "gradient_clip": CLIP},
            "augmentation": {
                "rotate_phi": False,
                "reflect_z": False,
                "reflect_y": False,
            },
        }
    )
    tensors = tensors_of(inputs, "embedding.") | tensors_of(inputs, "gnn.")
    start = library.model(model, tensors)
    trains = library.make(
        "trainer",
        "etx_trainer_create",
        library.context.handle,
        text.encode(),
        start.handle,
    )
    join(library, trains)
    library.call("etx_trainer_add_event", trains.handle, event.handle, 0)
    # The trainer refers to the event: both live as long as the call.
    alive = (event, start)

    def call() -> np.ndarray:
        assert alive
        report = TrainingReport(struct_size=ctypes.sizeof(TrainingReport))
        library.call("etx_trainer_step", trains.handle, report)
        return np.array([report.loss, report.gradient_norm])

    return Run(call, lambda found: found)


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

    return Run(call, lambda found: found)


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
        n_threads,
        {"embedding": networks.embedding_config(1.0)},
        {
            "stage": "embedding",
            "truth": {"min_pt": 0.0, "low_pt_weight": 1.0},
            "sampling": {
                "hits": 0,
                "queries": 1,
                "neighbours": 0,
                "other": 0,
                "random_pairs": n_pairs,
            },
            "loss": {"positive_weight": POSITIVE_WEIGHT, "margin": MARGIN},
        },
    )


def pytorch_gnn(inputs: Inputs, n_threads: int) -> Run:
    import torch

    from . import torch_networks

    torch_networks.use_threads(n_threads)
    network = torch_networks.InteractionNetwork(inputs)
    features = torch.from_numpy(inputs["features"])
    src, dst = torch.from_numpy(inputs["edges"])
    target = torch.from_numpy(inputs["is_true"].astype(np.float32))

    def loss_of() -> torch.Tensor:
        logits = network(features, src, dst)
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, target)

    return pytorch(network, loss_of)


def ours_gnn(
    inputs: Inputs,
    n_threads: int,
    n_graphs: int = 1,
    join: Callable[[Library, Any], None] = alone,
    library: Library | None = None,
) -> Run:
    space = {
        "arch": "mlp",
        "options": {"hidden": [], "n_out": 3, "norm": "none"},
        "node_features": [{"name": n, "scale": s} for n, s in GNN_SCALES],
        "graph": {"radius": float(inputs["radius"])},
    }
    return trainer(
        inputs,
        n_threads,
        {"embedding": space, "gnn": networks.gnn_config(GNN_HIDDEN)},
        {
            "stage": "gnn",
            "truth": {"min_pt": 0.0, "low_pt_weight": 1.0, "same_particle": "false"},
            "sampling": {"hits": 0, "edges": 0, "graphs": n_graphs},
            "loss": {"positive_weight": 1.0},
        },
        join,
        library,
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
        return 3 * networks.perceptron_flops(
            networks.EMBEDDING_WIDTHS, len(inputs["features"])
        )
    n_nodes, n_edges = len(inputs["features"]), inputs["edges"].shape[1]
    return 3 * networks.gnn_flops(GNN_HIDDEN, n_nodes, n_edges)


STAGES = (
    Stage(
        name="train_embedding",
        title="step of the embedding, ten random pairs a hit",
        item="hit",
        make=make_embedding,
        implementations=(
            Implementation("PyTorch", pytorch_embedding),
            Implementation(OURS, ours_embedding),
        ),
        compare=partial(compare, tolerance=PAIR_TOLERANCE),
        n_items=lambda inputs, _: len(inputs["features"]),
        flops=training_flops,
    ),
    Stage(
        name="train_gnn64",
        title="step of the interaction network, width 64",
        item="edge",
        make=make_gnn,
        implementations=(
            Implementation("PyTorch", pytorch_gnn),
            Implementation(OURS, ours_gnn),
        ),
        compare=partial(compare, tolerance=TOLERANCE),
        n_items=lambda inputs, _: inputs["edges"].shape[1],
        flops=training_flops,
    ),
)
