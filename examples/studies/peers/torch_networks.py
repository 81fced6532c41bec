"""torch_networks -- the networks in PyTorch, from the weights of a model file.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import count

import numpy as np
import torch
from torch import Tensor, nn

from . import networks
from .stage import Run

NORM_EPS = 1e-5
ACTIVATIONS = {"relu": nn.ReLU, "silu": nn.SiLU}


def use_threads(n_threads: int) -> None:
    torch.set_num_threads(n_threads)
    torch.set_float32_matmul_precision("highest")


def ready(
    network: nn.Module, n_threads: int, is_compiled: bool = False
) -> Callable[..., Tensor]:
    """For inference with tensors of the shapes of the first calls: compiled code
    has the weights frozen into it and packs them once."""
    use_threads(n_threads)
    if not is_compiled:
        return network.eval()
    import torch._inductor.config

    torch._inductor.config.freezing = True
    return torch.compile(network.eval(), dynamic=False)


def inference(
    call: Callable[[], Tensor], is_compiled: bool = False, device: str = "cpu"
) -> Run:
    """Without gradients; called once beforehand where that compiles."""

    @torch.no_grad()
    def run() -> Tensor:
        found = call()
        if device != "cpu":
            torch.cuda.synchronize()
        return found

    if is_compiled:
        run()
    return Run(run, lambda found: found.float().cpu().numpy())


def parameter(values: np.ndarray) -> nn.Parameter:
    """A copy: training changes it."""
    return nn.Parameter(torch.tensor(values))


def linear(tensors: Mapping[str, np.ndarray], name: str) -> nn.Linear:
    return bare_linear(tensors[name + ".weight"], tensors[name + ".bias"])


def bare_linear(weight: np.ndarray, bias: np.ndarray | None = None) -> nn.Linear:
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    layer.weight = parameter(weight)
    if bias is not None:
        layer.bias = parameter(bias)
    return layer


def layer_norm(tensors: Mapping[str, np.ndarray], name: str) -> nn.LayerNorm:
    gain = tensors[name + ".gain"]
    layer = nn.LayerNorm(len(gain), NORM_EPS)
    layer.weight, layer.bias = parameter(gain), parameter(tensors[name + ".shift"])
    return layer


def perceptron(
    tensors: Mapping[str, np.ndarray],
    prefix: str,
    first: int = 0,
    activation: str = "relu",
) -> nn.Sequential:
    """Linears from the first on, each with norm and activation where the weights hold
    a norm, and all but the last with activation."""
    layers: list[nn.Module] = []
    for k in count(first):
        name = f"{prefix}.{k}"
        if f"{name}.weight" not in tensors:
            return nn.Sequential(*layers)
        layers.append(linear(tensors, name))
        if f"{name}.gain" in tensors:
            layers.append(layer_norm(tensors, name))
        if f"{name}.gain" in tensors or f"{prefix}.{k + 1}.weight" in tensors:
            layers.append(ACTIVATIONS[activation]())
    raise AssertionError


def embedding(
    tensors: Mapping[str, np.ndarray],
    network: networks.Perceptron = networks.EMBEDDING,
) -> nn.Module:
    return perceptron(tensors, "embedding.layers", activation=network.activation)


class Filter(nn.Module):
    """Linear, then linear, tanh and the one shared norm, then linear."""

    def __init__(self, tensors: Mapping[str, np.ndarray]) -> None:
        super().__init__()
        n_layers = len(networks.FILTER_WIDTHS) - 1
        layers = [linear(tensors, f"filter.layers.{k}") for k in range(n_layers)]
        self.first, self.last = layers[0], layers[-1]
        self.hidden = nn.ModuleList(layers[1:-1])
        self.norm = layer_norm(tensors, "filter.norm")

    def forward(self, pairs: Tensor) -> Tensor:
        values = self.first(pairs)
        for layer in self.hidden:
            values = self.norm(torch.tanh(layer(values)))
        return torch.sigmoid(self.last(values)[:, 0])


def default_filter(tensors: Mapping[str, np.ndarray]) -> nn.Module:
    layers = perceptron(tensors, "filter.layers")
    return nn.Sequential(layers, nn.Flatten(0), nn.Sigmoid())


class Concatenated(nn.Module):
    """A perceptron on concat[x_source, x_target, (e)] of every edge."""

    def __init__(
        self, tensors: Mapping[str, np.ndarray], prefix: str, activation: str = "relu"
    ) -> None:
        super().__init__()
        self.layers = perceptron(tensors, prefix, activation=activation)

    def forward(self, x: Tensor, e: Tensor | None, src: Tensor, dst: Tensor) -> Tensor:
        parts = [x.index_select(0, src), x.index_select(0, dst)]
        return self.layers(torch.cat(parts if e is None else [*parts, e], 1))


class Factorised(nn.Module):
    """The same with a split first linear, the parts of the nodes once per node:
    W concat[x_source, x_target, e] = W1 x_source + W2 x_target + W3 e."""

    def __init__(
        self, tensors: Mapping[str, np.ndarray], prefix: str, activation: str = "relu"
    ) -> None:
        super().__init__()
        weight = tensors[f"{prefix}.0.weight"]
        hidden = len(weight)
        parts = [weight[:, k : k + hidden] for k in range(0, weight.shape[1], hidden)]
        self.source = bare_linear(parts[0], tensors[f"{prefix}.0.bias"])
        self.target = bare_linear(parts[1])
        self.edge = bare_linear(parts[2]) if len(parts) > 2 else None
        self.norm = layer_norm(tensors, f"{prefix}.0")
        self.activation = ACTIVATIONS[activation]()
        self.rest = perceptron(tensors, prefix, 1, activation)

    def forward(self, x: Tensor, e: Tensor | None, src: Tensor, dst: Tensor) -> Tensor:
        values = self.source(x).index_select(0, src)
        values = values + self.target(x).index_select(0, dst)
        if self.edge is not None:
            values = values + self.edge(e)
        return self.rest(self.activation(self.norm(values)))


def sum_by_index(e: Tensor, index: Tensor, n_nodes: int) -> Tensor:
    sums = torch.zeros(n_nodes, e.shape[1], dtype=e.dtype, device=e.device)
    return sums.index_add(0, index, e)


def geometric_sum() -> Callable[[Tensor, Tensor, int], Tensor]:
    """The same by PyTorch Geometric."""
    from torch_geometric.utils import scatter

    def sum_at(e: Tensor, index: Tensor, n_nodes: int) -> Tensor:
        return scatter(e, index, dim=0, dim_size=n_nodes, reduce="sum")

    return sum_at


class InteractionNetwork(nn.Module):
    """Nodes and edges update each other; logits of the edges."""

    def __init__(
        self,
        tensors: Mapping[str, np.ndarray],
        is_factorised: bool = False,
        is_geometric: bool = False,
    ) -> None:
        super().__init__()
        on_edges = Factorised if is_factorised else Concatenated
        self.node_encoder = perceptron(tensors, "gnn.node_encoder")
        self.edge_encoder = on_edges(tensors, "gnn.edge_encoder")
        self.node_network = perceptron(tensors, "gnn.node_network")
        self.edge_network = on_edges(tensors, "gnn.edge_network")
        self.decoder = on_edges(tensors, "gnn.decoder")
        self.sum_at = geometric_sum() if is_geometric else sum_by_index

    def forward(self, features: Tensor, src: Tensor, dst: Tensor) -> Tensor:
        x = self.node_encoder(features)
        e = self.edge_encoder(x, None, src, dst)
        n_nodes = x.shape[0]
        for _ in range(networks.GNN_ITERATIONS):
            messages = self.sum_at(e, dst, n_nodes) + self.sum_at(e, src, n_nodes)
            x = self.node_network(torch.cat([x, messages], 1)) + x
            e = self.edge_network(x, e, src, dst) + e
        return self.decoder(x, e, src, dst)[:, 0]


class DefaultNetwork(nn.Module):
    """The network of the shipped model default: edges first, each iteration with
    networks of its own, sums at both ends side by side."""

    def __init__(
        self, tensors: Mapping[str, np.ndarray], is_factorised: bool = False
    ) -> None:
        super().__init__()
        on_edges = Factorised if is_factorised else Concatenated
        each = range(networks.DEFAULT_GNN_OPTIONS["n_iterations"])

        def nodes(name: str) -> nn.Module:
            return perceptron(tensors, f"gnn.{name}", activation="silu")

        self.node_encoder = nodes("node_encoder")
        self.edge_encoder = Concatenated(tensors, "gnn.edge_encoder", "silu")
        self.edges = nn.ModuleList(
            on_edges(tensors, f"gnn.edge_network.{k}", "silu") for k in each
        )
        self.nodes = nn.ModuleList(nodes(f"node_network.{k}") for k in each)
        self.decoder = on_edges(tensors, "gnn.decoder", "silu")

    def forward(self, features: Tensor, src: Tensor, dst: Tensor) -> Tensor:
        x = self.node_encoder(features)
        e = self.edge_encoder(features, None, src, dst)
        for edges, nodes in zip(self.edges, self.nodes, strict=True):
            e = edges(x, e, src, dst) + e
            messages = [sum_by_index(e, end, x.shape[0]) for end in (dst, src)]
            x = nodes(torch.cat([x, *messages], 1)) + x
        return self.decoder(x, e, src, dst)[:, 0]


class EdgeFilter(nn.Module):
    """Logits of edges by the filter of default, for training."""

    def __init__(
        self, tensors: Mapping[str, np.ndarray], is_factorised: bool = False
    ) -> None:
        super().__init__()
        self.pairs = Concatenated(tensors, "filter.layers")

    def forward(self, features: Tensor, src: Tensor, dst: Tensor) -> Tensor:
        return self.pairs(features, None, src, dst)[:, 0]


def edge_loss(
    inputs: Mapping[str, np.ndarray], network: nn.Module
) -> Callable[[], Tensor]:
    """Binary cross-entropy of the logits, on the device of the network."""
    device = next(network.parameters()).device
    features = torch.from_numpy(inputs["features"]).to(device)
    src, dst = torch.from_numpy(inputs["edges"]).to(device)
    target = torch.from_numpy(inputs["is_true"].astype(np.float32)).to(device)

    def loss_of() -> Tensor:
        logits = network(features, src, dst)
        return nn.functional.binary_cross_entropy_with_logits(logits, target)

    return loss_of
