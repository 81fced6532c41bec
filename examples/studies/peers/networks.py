"""networks -- the networks that are timed: widths, options, weights, counts.

Weights are numpy arrays under the names of a model file; our library, PyTorch
and ONNX Runtime all load these.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

Tensors = dict[str, np.ndarray]


@dataclass(frozen=True)
class Perceptron:
    """Linears, each but the last with norm and activation."""

    widths: tuple[int, ...]
    activation: str = "relu"
    norm: str = "none"

    @property
    def options(self) -> dict[str, Any]:
        hidden = list(self.widths[1:-1])
        return {"hidden": hidden, "activation": self.activation, "norm": self.norm}

    def weights(self, prefix: str, seed: int) -> Tensors:
        n_norms = (len(self.widths) - 2) * (self.norm != "none")
        rng = np.random.default_rng(seed)
        return perceptron_weights(rng, prefix, self.widths, n_norms)


EMBEDDING = Perceptron((12, 512, 512, 512, 512, 8))

# The vanilla filter of Exa.TrkX: the first linear stands alone, the others are
# linear, tanh and one layer norm that they share.
FILTER_WIDTHS = (24, 512, 512, 512, 1)
FILTER_OPTIONS: dict[str, Any] = {
    "hidden": list(FILTER_WIDTHS[1:-1]),
    "style": "vanilla",
}

# The networks of the shipped model default. Edge features are columns here: eleven
# of each end in place of six and nine of the edge, 22 columns in place of 21.
DEFAULT_SHARE = 0.4  # of the hits: what its first pass leaves
DEFAULT_EMBEDDING = Perceptron((5, 128, 128, 128, 8), "silu", "layer")
DEFAULT_FILTER = Perceptron((22, 64, 64, 1), "relu", "layer")
DEFAULT_GNN_OPTIONS: dict[str, Any] = {"hidden": 32, "n_iterations": 6}
DEFAULT_GNN_FEATURES = 11

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


def embedding_weights(network: Perceptron = EMBEDDING) -> Tensors:
    return network.weights("embedding.layers", 1)


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


def default_gnn_weights() -> Tensors:
    """Of two linears each, of which the first alone has a norm."""
    rng = np.random.default_rng(3)
    hidden = DEFAULT_GNN_OPTIONS["hidden"]
    widths = {"node_encoder": (DEFAULT_GNN_FEATURES, hidden, hidden)}
    widths["edge_encoder"] = (2 * DEFAULT_GNN_FEATURES, hidden, hidden)
    for k in range(DEFAULT_GNN_OPTIONS["n_iterations"]):
        for part in ("edge_network", "node_network"):
            widths[f"{part}.{k}"] = (3 * hidden, hidden, hidden)
    widths["decoder"] = (3 * hidden, hidden, 1)
    tensors: Tensors = {}
    for name, some in widths.items():
        tensors |= perceptron_weights(rng, "gnn." + name, some, 1)
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


def embedding_config(
    radius: float, network: Perceptron = EMBEDDING
) -> dict[str, Any]:
    options = network.options | {"n_out": network.widths[-1]}
    config = stage_config("mlp", options, network.widths[0])
    return config | {"graph": {"radius": radius}}


def filter_config(
    cut: float,
    options: dict[str, Any] = FILTER_OPTIONS,
    n_features: int = FILTER_WIDTHS[0] // 2,
) -> dict[str, Any]:
    config = stage_config("edge_filter", options, n_features)
    return config | {"edge_features": [], "cut": cut}


def gnn_config(hidden: int, n_features: int = GNN_FEATURES) -> dict[str, Any]:
    options = {"hidden": hidden} | GNN_OPTIONS
    return edge_network_config(options, n_features)


def edge_network_config(options: dict[str, Any], n_features: int) -> dict[str, Any]:
    config = stage_config("interaction_network", options, n_features)
    return config | {"edge_features": []}


def default_gnn_config() -> dict[str, Any]:
    return edge_network_config(DEFAULT_GNN_OPTIONS, DEFAULT_GNN_FEATURES)


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


def weight_flops(tensors: Tensors, prefix: str, n_rows: int) -> float:
    """The same of all weights whose names start so."""
    sizes = (v.size for k, v in tensors.items() if k.startswith(prefix) and v.ndim == 2)
    return 2.0 * n_rows * sum(sizes)


def default_gnn_flops(tensors: Tensors, n_nodes: int, n_edges: int) -> float:
    return weight_flops(tensors, "gnn.node", n_nodes) + sum(
        weight_flops(tensors, f"gnn.{part}", n_edges) for part in ("edge", "decoder")
    )


def embed(features: np.ndarray, tensors: Tensors) -> np.ndarray:
    """The embedding in numpy, to choose a radius by."""
    values = features
    for k in range(len(EMBEDDING.widths) - 1):
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
