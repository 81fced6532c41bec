"""torch_families -- every network family in PyTorch, from the READMEs.

Each function takes the parameters by name, the input and the options of the
network, and gives points [n_nodes, n_out] or logits [n_edges]. They follow the
equations of src/arch/*/README.md and share nothing with the C code.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

Weights = Mapping[str, Tensor]
Options = Mapping[str, object]
ACTIVATIONS = {
    "none": lambda x: x,
    "relu": torch.relu,
    "silu": functional.silu,
    "tanh": torch.tanh,
    "gelu": functional.gelu,
}


@dataclass
class Graph:
    x: Tensor  # [n_nodes, n_features]
    e: Tensor  # [n_edges, n_edge_features]
    src: Tensor  # [n_edges]
    dst: Tensor  # [n_edges]
    score: Tensor | None = None  # [n_edges], of the filter

    @property
    def n_nodes(self) -> int:
        return self.x.shape[0]


def norm(w: Weights, name: str, x: Tensor) -> Tensor:
    return functional.layer_norm(x, x.shape[1:], w[name + ".gain"], w[name + ".shift"])


def perceptron(
    w: Weights, prefix: str, x: Tensor, activation: str, bare_end: bool = True
) -> Tensor:
    """Linears with norm (where there is one) and activation; the last is bare
    unless set otherwise."""
    k = 0
    while f"{prefix}.{k}.weight" in w:
        name = f"{prefix}.{k}"
        x = functional.linear(x, w[name + ".weight"], w[name + ".bias"])
        if name + ".gain" in w:
            x = norm(w, name, x)
        k += 1
        if f"{prefix}.{k}.weight" in w or not bare_end:
            x = ACTIVATIONS[activation](x)
    return x


def add_up(values: Tensor, index: Tensor, n: int) -> Tensor:
    shape = (n, *values.shape[1:])
    return torch.zeros(shape, dtype=values.dtype).index_add(0, index, values)


def largest(values: Tensor, index: Tensor, n: int) -> Tensor:
    """Per segment, 0 where it is empty."""
    out = torch.full((n, *values.shape[1:]), -torch.inf, dtype=values.dtype)
    rows = index.view(-1, *[1] * (values.dim() - 1)).expand_as(values)
    out = out.scatter_reduce(0, rows, values, "amax")
    return torch.where(torch.isinf(out), 0.0, out)


def mlp(w: Weights, graph: Graph, options: Options) -> Tensor:
    out = perceptron(w, "layers", graph.x, options["activation"])
    out = ACTIVATIONS[options.get("last_activation", "none")](out)
    return functional.normalize(out) if options.get("normalize_output") else out


def ends(graph: Graph, options: Options) -> tuple[Tensor, Tensor]:
    if options.get("order") == "target_source":
        return graph.dst, graph.src
    return graph.src, graph.dst


def edge_filter(w: Weights, graph: Graph, options: Options) -> Tensor:
    first, second = ends(graph, options)
    h = torch.cat([graph.x[first], graph.x[second], graph.e], 1)
    if options.get("style") != "vanilla":
        return perceptron(w, "layers", h, options["activation"])[:, 0]
    last = max(int(name.split(".")[1]) for name in w if name.startswith("layers."))
    for k in range(last + 1):
        h = functional.linear(h, w[f"layers.{k}.weight"], w[f"layers.{k}.bias"])
        if 0 < k < last:
            h = norm(w, "norm", torch.tanh(h))
    return h[:, 0]


def attention_gnn(w: Weights, graph: Graph, options: Options) -> Tensor:
    activation = options["activation"]
    first, second = ends(graph, options)
    h = perceptron(w, "node_encoder", graph.x, activation, bare_end=False)
    h = torch.cat([h, graph.x], 1)

    def logits() -> Tensor:
        pairs = torch.cat([h[first], h[second]], 1)
        return perceptron(w, "edge_network", pairs, activation)

    for _ in range(options["n_iterations"]):
        a = torch.sigmoid(logits())
        m = add_up(a * h[graph.src], graph.dst, graph.n_nodes)
        m = m + add_up(a * h[graph.dst], graph.src, graph.n_nodes)
        update = perceptron(w, "node_network", torch.cat([h, m], 1), activation)
        h = torch.cat([update, graph.x], 1) + h
    return logits()[:, 0]


REDUCE: dict[str, Callable[[Tensor, Tensor, int], Tensor]] = {
    "sum": add_up,
    "max": largest,
}


def interaction_latents(
    w: Weights, graph: Graph, options: Options
) -> tuple[Tensor, Tensor]:
    """Latents of nodes and edges after the last iteration."""
    activation = options.get("activation", "silu")
    first, second = ends(graph, options)
    n = graph.n_nodes

    def run(name: str, parts: list[Tensor], k: int | None = None) -> Tensor:
        prefix = name if f"{name}.0.weight" in w else f"{name}.{k}"
        return perceptron(w, prefix, torch.cat(parts, 1), activation)

    def edges(x: Tensor, e: Tensor, k: int) -> Tensor:
        return run("edge_network", [x[first], x[second], e], k) + e

    def nodes(x: Tensor, e: Tensor, k: int) -> Tensor:
        kinds = [REDUCE[kind] for kind in options.get("aggregation", ["sum"])]
        m = [reduce(e, graph.dst, n) for reduce in kinds]
        if options.get("aggregate_at", "both") == "both":
            m += [reduce(e, graph.src, n) for reduce in kinds]
        return run("node_network", [x, *m], k) + x

    x = run("node_encoder", [graph.x])
    parts = [graph.e]
    if options.get("edge_from_nodes", True):
        parts = [graph.x[first], graph.x[second], *parts]
    if options.get("edge_from_latents", False):
        parts = [x[first], x[second], *parts]
    e = run("edge_encoder", parts)
    for k in range(options["n_iterations"]):
        if options.get("edge_update", "first") == "first":
            e = edges(x, e, k)
            x = nodes(x, e, k)
        elif options["edge_update"] == "old":
            x, e = nodes(x, e, k), edges(x, e, k)
        else:
            x = nodes(x, e, k)
            e = edges(x, e, k)
    return x, e


def interaction_network(w: Weights, graph: Graph, options: Options) -> Tensor:
    first, second = ends(graph, options)
    x, e = interaction_latents(w, graph, options)
    activation = options.get("activation", "silu")
    parts = [x[first], x[second], e]
    return perceptron(w, "decoder", torch.cat(parts, 1), activation)[:, 0]


def momentum_head(w: Weights, graph: Graph, options: Options) -> Tensor:
    """What the second head of an interaction network says of every edge."""
    e = interaction_latents(w, graph, options)[1]
    return perceptron(w, "pt_head", e, options.get("activation", "silu"))[:, 0]


def graph_convolution(w: Weights, graph: Graph, options: Options) -> Tensor:
    activation = options["activation"]
    first, second = ends(graph, options)
    n = graph.n_nodes
    loops = torch.arange(n)
    row = torch.cat([graph.src, graph.dst, loops])
    column = torch.cat([graph.dst, graph.src, loops])
    degree = torch.bincount(row, minlength=n).to(graph.x.dtype)
    weight = (degree[row] * degree[column]).rsqrt()
    adjacency = torch.zeros(n, n, dtype=graph.x.dtype).index_put(
        (row, column), weight, accumulate=True
    )
    h = graph.x
    if options.get("encoder", True):
        h = perceptron(w, "node_encoder", h, activation, bare_end=False)
    for k in range(options["n_iterations"]):
        name = f"convolution.{k}"
        update = perceptron(w, name, adjacency @ h, activation, bare_end=False)
        h = update + h if options.get("residual", True) else update
    parts = [h[first], h[second], graph.e]
    return perceptron(w, "decoder", torch.cat(parts, 1), activation)[:, 0]


def line_graph(src: Tensor, dst: Tensor) -> tuple[Tensor, Tensor]:
    """Pairs (a, b) of edges with dst[a] == src[b], by b and then a."""
    b, a = torch.nonzero(src[:, None] == dst[None, :], as_tuple=True)
    return a, b


def inner_weights(w: Weights, prefix: str) -> Weights:
    """The parameters of a network inside another, by their own names."""
    return {
        name.removeprefix(prefix): value
        for name, value in w.items()
        if name.startswith(prefix)
    }


def triplet_gnn(w: Weights, graph: Graph, options: Options) -> Tensor:
    first, second = ends(graph, options)
    rows = torch.cat([graph.x[first], graph.x[second], graph.e], 1)
    a, b = line_graph(graph.src, graph.dst)
    line = Graph(rows, rows.new_zeros(len(a), 0), a, b)
    inner = inner_weights(w, "triplets.")
    q = interaction_network(inner, line, options["triplets"])
    u = perceptron(w, "doublets", rows, options["activation"])[:, 0]
    return u + largest(q, b, len(u)) + largest(q, a, len(u))


def contracted(graph: Graph, cut: float) -> Tensor:
    """Which edges [n_edges] are above the cut and the best of both their ends."""
    best_out = largest(graph.score, graph.src, graph.n_nodes)[graph.src]
    best_in = largest(graph.score, graph.dst, graph.n_nodes)[graph.dst]
    is_best = (graph.score == best_out) & (graph.score == best_in)
    return is_best & (graph.score > cut)


def clusters(src: Tensor, dst: Tensor, n_nodes: int) -> Tensor:
    """The component of each node, dense, by repeated merging."""
    label = list(range(n_nodes))
    for a, b in zip(src.tolist(), dst.tolist(), strict=True):
        old, new = label[a], label[b]
        label = [new if name == old else name for name in label]
    return torch.unique(torch.tensor(label), return_inverse=True)[1]


def edge_pooling(w: Weights, graph: Graph, options: Options) -> Tensor:
    first, second = ends(graph, options)
    rows = torch.cat([graph.x[first], graph.x[second], graph.e], 1)
    u = perceptron(w, "edges", rows, options["activation"])[:, 0]
    chosen = contracted(graph, options["contract_cut"])
    c = clusters(graph.src[chosen], graph.dst[chosen], graph.n_nodes)
    size = torch.bincount(c).to(graph.x.dtype)[:, None]
    pooled = add_up(graph.x, c, len(size)) / size
    between = torch.nonzero(c[graph.src] != c[graph.dst])[:, 0]
    pairs = torch.stack([c[graph.src[between]], c[graph.dst[between]]])
    coarse, rows = torch.unique(pairs, dim=1, return_inverse=True)
    x = torch.cat([pooled, size.log()], 1)
    inner = Graph(x, x.new_zeros(coarse.shape[1], 0), coarse[0], coarse[1])
    q = interaction_network(inner_weights(w, "coarse."), inner, options["coarse"])
    return u.index_add(0, between, q[rows])


def gravnet(w: Weights, graph: Graph, options: Options) -> Tensor:
    activation = options["activation"]
    n_neighbours = options["n_neighbours"]
    h = perceptron(w, "encoder", graph.x, activation)
    for k in range(options["n_iterations"]):
        s = perceptron(w, f"space.{k}", h, activation)
        f = perceptron(w, f"flow.{k}", h, activation)
        square = ((s[:, None] - s[None, :]) ** 2).sum(2)
        others = square + torch.diag(torch.full((len(s),), torch.inf))
        near = others.topk(n_neighbours, largest=False).indices
        weight = torch.exp(-square.gather(1, near)) / n_neighbours
        m = (weight[:, :, None] * f[near]).sum(1)
        h = h + perceptron(w, f"update.{k}", torch.cat([h, m], 1), activation)
    return perceptron(w, "output", h, activation)


def lorentz_network(w: Weights, graph: Graph, options: Options) -> Tensor:
    activation, ratio = options["activation"], options["ratio"]
    first, second = ends(graph, options)
    metric = torch.tensor([1.0, -1, -1, -1], dtype=graph.x.dtype)

    def product(a: Tensor, b: Tensor) -> Tensor:
        return (a * metric * b).sum(1, keepdim=True)

    def edges(h: Tensor, x: Tensor) -> Tensor:
        apart = x[graph.dst] - x[graph.src]
        products = product(apart, apart), product(x[graph.src], x[graph.dst])
        scalars = [torch.tanh(ratio**k * q) for q in products for k in range(3)]
        return torch.cat([h[first], h[second], *scalars, graph.e], 1)

    x = graph.x[:, :4]
    scalars = torch.cat([product(x, x), graph.x[:, 4:]], 1)
    h = perceptron(w, "node_encoder", scalars, activation)
    for k in range(options["n_iterations"]):
        m = perceptron(w, f"message.{k}", edges(h, x), activation, bare_end=False)
        a = options["step"] * perceptron(w, f"step.{k}", m, activation)
        sums = [add_up(m, end, graph.n_nodes) for end in (graph.dst, graph.src)]
        moved = add_up(a * x[graph.src], graph.dst, graph.n_nodes)
        moved = moved + add_up(a * x[graph.dst], graph.src, graph.n_nodes)
        h = h + perceptron(w, f"node.{k}", torch.cat([h, *sums], 1), activation)
        x = x + moved
    return perceptron(w, "decoder", edges(h, x), activation)[:, 0]


FAMILIES = {
    "mlp": mlp,
    "edge_filter": edge_filter,
    "attention_gnn": attention_gnn,
    "interaction_network": interaction_network,
    "graph_convolution": graph_convolution,
    "triplet_gnn": triplet_gnn,
    "edge_pooling": edge_pooling,
    "gravnet": gravnet,
    "lorentz_network": lorentz_network,
}
