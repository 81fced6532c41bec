"""networks -- the networks that are timed: widths, options, weights, counts.

Weights are numpy arrays under the names of a model file; our library, PyTorch
and ONNX Runtime all load these.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

Tensors = dict[str, np.ndarray]

EMBEDDING_WIDTHS = (12, 512, 512, 512, 512, 8)
EMBEDDING_OPTIONS: dict[str, Any] = {
    "hidden": list(EMBEDDING_WIDTHS[1:-1]),
    "n_out": EMBEDDING_WIDTHS[-1],
    "activation": "relu",
    "norm": "none",
}

# The vanilla filter of Exa.TrkX: the first linear stands alone, the others are
# linear, tanh and one layer norm that they share.
FILTER_WIDTHS = (24, 512, 512, 512, 1)
FILTER_OPTIONS: dict[str, Any] = {
    "hidden": list(FILTER_WIDTHS[1:-1]),
    "style": "vanilla",
}

# The InteractionGNN of Exa.TrkX in the form of Common_Tracking (nodes first,
# residuals, one network for all iterations, norm and activation after every
# linear but the last of all), with messages summed at both ends.
GNN_FEATURES = 3
GNN_ITERATIONS = 8
GNN_LAYERS = 3
GNN_OPTIONS: dict[str, Any] = {
    "n_iterations": GNN_ITERATIONS,
    "encoder_layers": GNN_LAYERS,
    "edge_encoder_layers": GNN_LAYERS,
    "node_layers": GNN_LAYERS,
    "edge_layers": GNN_LAYERS,
    "decoder_layers": GNN_LAYERS,
    "activation": "relu",
    "norm": "layer",
    "last_activation": "relu",
    "last_norm": "layer",
    "edge_update": "new",
    "aggregation": ["sum"],
    "aggregate_at": "both_summed",
    "node_recurrent": True,
    "edge_recurrent": True,
    "edge_from_latents": True,
    "edge_from_nodes": False,
    "edge_from_features": False,
}


def gnn_widths(
    hidden: int, n_features: int = GNN_FEATURES
) -> dict[str, tuple[int, ...]]:
    """Widths of the perceptrons of the interaction network."""
    h = (hidden,) * GNN_LAYERS
    return {
        "node_encoder": (n_features, *h),
        "edge_encoder": (2 * hidden, *h),
        "node_network": (2 * hidden, *h),
        "edge_network": (3 * hidden, *h),
        "decoder": (3 * hidden, *h[:-1], 1),
    }


def embedding_weights() -> Tensors:
    rng = np.random.default_rng(1)
    return perceptron_weights(rng, "embedding.layers", EMBEDDING_WIDTHS, 0)


def filter_weights() -> Tensors:
    rng = np.random.default_rng(2)
    tensors = perceptron_weights(rng, "filter.layers", FILTER_WIDTHS, 0)
    return tensors | norm_weights(rng, "filter.norm", FILTER_WIDTHS[1])


def gnn_weights(hidden: int, n_features: int = GNN_FEATURES) -> Tensors:
    rng = np.random.default_rng(3)
    tensors: Tensors = {}
    for name, widths in gnn_widths(hidden, n_features).items():
        n_norms = len(widths) - 1 - (name == "decoder")
        tensors |= perceptron_weights(rng, "gnn." + name, widths, n_norms)
    return tensors


def perceptron_weights(
    rng: np.random.Generator, prefix: str, widths: Sequence[int], n_norms: int
) -> Tensors:
    """Random linears, the first n_norms of them with a layer norm."""
    tensors: Tensors = {}
    for k, (n_in, n_out) in enumerate(pairwise(widths)):
        bound = (6 / n_in) ** 0.5  # keeps the size of values through ReLU
        weight = rng.uniform(-bound, bound, (n_out, n_in))
        tensors[f"{prefix}.{k}.weight"] = weight.astype(np.float32)
        bias = rng.uniform(-0.1, 0.1, n_out)
        tensors[f"{prefix}.{k}.bias"] = bias.astype(np.float32)
        if k < n_norms:
            tensors |= norm_weights(rng, f"{prefix}.{k}", n_out)
    return tensors


def norm_weights(rng: np.random.Generator, prefix: str, n: int) -> Tensors:
    return {
        f"{prefix}.gain": rng.uniform(0.8, 1.2, n).astype(np.float32),
        f"{prefix}.shift": rng.uniform(-0.1, 0.1, n).astype(np.float32),
    }


def stage_config(arch: str, options: dict[str, Any], n_features: int) -> dict[str, Any]:
    """A stage of etx.config whose node features come from the caller."""
    return {
        "arch": arch,
        "options": options,
        # The caller's own features replace these; only their number
        # counts.
        "node_features": [{"name": "r", "scale": 1.0}] * n_features,
    }


def embedding_config(radius: float) -> dict[str, Any]:
    config = stage_config("mlp", EMBEDDING_OPTIONS, EMBEDDING_WIDTHS[0])
    return config | {"graph": {"radius": radius}}


def filter_config(cut: float) -> dict[str, Any]:
    config = stage_config("edge_filter", FILTER_OPTIONS, FILTER_WIDTHS[0] // 2)
    return config | {"edge_features": [], "cut": cut}


def gnn_config(hidden: int, n_features: int = GNN_FEATURES) -> dict[str, Any]:
    options = {"hidden": hidden} | GNN_OPTIONS
    config = stage_config("interaction_network", options, n_features)
    return config | {"edge_features": []}


def perceptron_flops(widths: Sequence[int], n_rows: int) -> float:
    """Multiplications and additions of the linears."""
    products = sum(a * b for a, b in pairwise(widths))
    return 2.0 * n_rows * products


def gnn_flops(hidden: int, n_nodes: int, n_edges: int) -> float:
    """The same of the interaction network, as it is written."""
    each = {
        name: perceptron_flops(widths, n_nodes if "node" in name else n_edges)
        for name, widths in gnn_widths(hidden).items()
    }
    repeated = each["node_network"] + each["edge_network"]
    return sum(each.values()) + (GNN_ITERATIONS - 1) * repeated


def embed(features: np.ndarray, tensors: Tensors) -> np.ndarray:
    """The embedding in numpy, to choose a radius by."""
    values = features
    for k in range(len(EMBEDDING_WIDTHS) - 1):
        if k > 0:
            values = np.maximum(values, 0)
        values = linear(values, tensors, f"embedding.layers.{k}")
    return values


def filter_logits(pairs: np.ndarray, tensors: Tensors) -> np.ndarray:
    """The filter in numpy, to choose a cut by."""
    values = linear(pairs, tensors, "filter.layers.0")
    for k in range(1, len(FILTER_WIDTHS) - 2):
        values = np.tanh(linear(values, tensors, f"filter.layers.{k}"))
        values -= values.mean(axis=1, keepdims=True)
        values /= np.sqrt((values**2).mean(axis=1, keepdims=True) + 1e-5)
        values = values * tensors["filter.norm.gain"] + tensors["filter.norm.shift"]
    return linear(values, tensors, f"filter.layers.{len(FILTER_WIDTHS) - 2}")[:, 0]


def linear(values: np.ndarray, tensors: Tensors, name: str) -> np.ndarray:
    return values @ tensors[name + ".weight"].T + tensors[name + ".bias"]
