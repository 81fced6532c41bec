"""torch_acorn -- networks of acorn in PyTorch, from their equations.

Settings have acorn's names; a state dict has the names of its checkpoints.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

Settings = dict[str, Any]


def perceptron(
    n_in: int, widths: list[int], s: Settings, last: str | None, last_batch: bool
) -> nn.Sequential:
    """Linear, LayerNorm, BatchNorm1d, activation, Dropout; the end by itself."""

    def batch_norm(n: int) -> nn.Module:
        keep = s.get("track_running_stats", False)
        return nn.BatchNorm1d(n, eps=6e-5, track_running_stats=keep)

    steps: list[nn.Module] = []
    for k, n in enumerate(widths[:-1]):
        if k == 0 and s.get("input_dropout"):
            steps.append(nn.Dropout(s["input_dropout"]))
        steps.append(nn.Linear(n_in, n))
        if s.get("layernorm"):
            steps.append(nn.LayerNorm(n, elementwise_affine=False))
        if s.get("batchnorm"):
            steps.append(batch_norm(n))
        steps.append(getattr(nn, s["hidden_activation"])())
        if s.get("hidden_dropout"):
            steps.append(nn.Dropout(s["hidden_dropout"]))
        n_in = n
    steps.append(nn.Linear(n_in, widths[-1]))
    if last is not None:
        steps += [batch_norm(widths[-1])] if last_batch else []
        steps.append(getattr(nn, last)())
    return nn.Sequential(*steps)


def gathered(kind: str, e: Tensor, index: Tensor, n: int) -> Tensor:
    """The rows of e with the same index, reduced; 0 where there are none."""
    rows = index[:, None].expand_as(e)
    zeros = e.new_zeros(n, e.shape[1])
    if kind == "sum":
        return zeros.index_add(0, index, e)
    kind = {"max": "amax"}.get(kind, kind)
    return zeros.scatter_reduce(0, rows, e, kind, include_self=False)


class Network(nn.Module):
    def __init__(self, s: Settings) -> None:
        super().__init__()
        self.s = s

    def block(self, n_in: int, n_layers: int) -> nn.Sequential:
        widths = [self.s["hidden"]] * n_layers
        last = self.s.get("output_activation")
        batch = self.s.get("output_batch_norm", False) and self.second
        return perceptron(n_in, widths, self.s, last, batch)

    def per_iteration(self, name: str, n_in: int, n_layers: int) -> Any:
        if self.s.get(f"{name}_net_recurrent", True):
            return self.block(n_in, n_layers)
        many = range(self.s["n_graph_iters"])
        return nn.ModuleList([self.block(n_in, n_layers) for _ in many])

    second = False


class InteractionGNN(Network):
    def __init__(self, s: Settings) -> None:
        super().__init__(s)
        h = s["hidden"]
        kinds = s.get("aggregation", ["sum"])
        self.kinds = [kinds] if isinstance(kinds, str) else kinds
        n, m = s["nb_node_layer"], s["nb_edge_layer"]
        self.node_encoder = self.block(len(s["node_features"]), n)
        self.edge_encoder = self.block(2 * h, m)
        for name, n_in, n_layers in [
            ("edge", 3 * h, m),
            ("node", (1 + 2 * len(self.kinds)) * h, n),
        ]:
            shared = s.get(f"{name}_net_recurrent", True)
            module = self.per_iteration(name, n_in, n_layers)
            setattr(self, f"{name}_network" + ("" if shared else "s"), module)
        self.output_edge_classifier = perceptron(3 * h, [h] * m + [1], s, None, False)

    def run(self, name: str, k: int, x: Tensor) -> Tensor:
        shared = getattr(self, f"{name}_network", None)
        return shared(x) if shared else getattr(self, f"{name}_networks")[k](x)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        start, end = edges
        if self.s.get("undirected"):
            start, end = torch.cat([start, end]), torch.cat([end, start])
        n = len(x)
        x = self.node_encoder(x)
        e = self.edge_encoder(torch.cat([x[start], x[end]], 1))
        for k in range(self.s["n_graph_iters"]):
            m = [gathered(kind, e, i, n) for i in (end, start) for kind in self.kinds]
            x = self.run("node", k, torch.cat([x, *m], 1))
            e = self.run("edge", k, torch.cat([x[start], x[end], e], 1))
        out = self.output_edge_classifier(torch.cat([x[start], x[end], e], 1))[:, 0]
        return out.view(2, -1).mean(0) if self.s.get("undirected") else out


class InteractionGNN2(Network):
    second = True

    def __init__(self, s: Settings) -> None:
        super().__init__(s)
        h = s["hidden"]
        n, m = s["n_node_net_layers"], s["n_edge_net_layers"]
        latents = 2 if s["concat"] else 1
        messages = 2 if s["in_out_diff_agg"] else 1
        n_edge = len(s.get("edge_features") or [])
        self.node_encoder = self.block(len(s["node_features"]), n)
        self.edge_encoder = self.block(n_edge or 2 * h, m)
        self.edge_network = self.per_iteration("edge", 3 * latents * h, m)
        self.node_network = self.per_iteration("node", (latents + messages) * h, n)
        self.edge_decoder = self.block(h, s["n_edge_decoder_layers"])
        last = s.get("edge_output_transform_final_activation")
        self.edge_output_transform = perceptron(h, [h, 1], s, last, False)

    def run(self, module: Any, k: int, x: Tensor) -> Tensor:
        return module[k](x) if isinstance(module, nn.ModuleList) else module(x)

    def forward(self, x: Tensor, edges: Tensor, features: Tensor) -> Tensor:
        src, dst = edges
        n = len(x)
        x = self.node_encoder(x)
        if not self.s.get("edge_features"):
            features = torch.cat([x[src], x[dst]], 1)
        e = self.edge_encoder(features)
        x0, e0 = x, e
        for k in range(self.s["n_graph_iters"]):
            if self.s["concat"]:
                x, e = torch.cat([x, x0], 1), torch.cat([e, e0], 1)
            e = self.run(self.edge_network, k, torch.cat([e, x[src], x[dst]], 1))
            m = [gathered("sum", e, dst, n), gathered("sum", e, src, n)]
            m = m if self.s["in_out_diff_agg"] else [m[0] + m[1]]
            x = self.run(self.node_network, k, torch.cat([*m, x], 1))
        return self.edge_output_transform(self.edge_decoder(e))[:, 0]


class Filter(Network):
    def __init__(self, s: Settings) -> None:
        super().__init__(s)
        widths = [s["hidden"] // 2**k for k in range(s["nb_layer"])] + [1]
        self.net = perceptron(2 * len(s["node_features"]), widths, s, None, False)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        return self.net(torch.cat([x[edges[0]], x[edges[1]]], 1))[:, 0]


class MetricLearning(Network):
    def __init__(self, s: Settings) -> None:
        super().__init__(s)
        widths = [s["emb_hidden"]] * s["nb_layer"] + [s["emb_dim"]]
        style = {"layernorm": True, "hidden_activation": s["activation"]}
        n_in = len(s["node_features"])
        self.network = perceptron(n_in, widths, style, None, False)

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.normalize(self.network(x))
