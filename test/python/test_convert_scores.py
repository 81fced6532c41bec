"""test_convert_scores -- a converted network computes what the original does.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import unittest
from pathlib import Path

import numpy as np
from convert_case import ConvertCase, attention, interaction, score, sequential

from exatrkx.conversion import convert
from support import LIBRARY


class Original:
    """The networks as their authors wrote them, on arrays of numpy."""

    def __init__(self, state: dict, activation: str) -> None:
        self.state = {name: value.astype("f8") for name, value in state.items()}
        self.activation = activation

    def activate(self, x: np.ndarray) -> np.ndarray:
        if self.activation == "relu":
            return np.maximum(x, 0.0)
        return np.tanh(x) if self.activation == "tanh" else x * sigmoid(x)

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        x = x - x.mean(axis=1, keepdims=True)
        x = x / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
        if name + ".weight" in self.state:
            x = x * self.state[name + ".weight"] + self.state[name + ".bias"]
        return x

    def linear(self, name: str, x: np.ndarray) -> np.ndarray:
        return x @ self.state[name + ".weight"].T + self.state[name + ".bias"]

    def mlp(self, name: str, *parts: np.ndarray, bare_end: bool = True) -> np.ndarray:
        """make_mlp with layer norm: hidden layers step by three."""
        x = np.concatenate(parts, axis=1)
        k = 0
        while f"{name}.{k}.weight" in self.state:
            x = self.linear(f"{name}.{k}", x)
            if f"{name}.{k + 3}.weight" in self.state or not bare_end:
                x = self.activate(self.norm(x, f"{name}.{k + 1}"))
            k += 3
        return x


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-x))


def gather(kind: str, values: np.ndarray, index: np.ndarray, n: int) -> np.ndarray:
    """Sum, mean or maximum of the rows of values that have the same index."""
    out = np.zeros((n, values.shape[1]))
    for node in range(n):
        rows = values[index == node]
        if len(rows):
            out[node] = getattr(rows, kind)(axis=0)
    return out


@unittest.skipUnless(LIBRARY.exists(), f"no {LIBRARY}: make lib")
class TestNumbers(ConvertCase):
    """What the library computes is what the original network computes."""

    def setUp(self) -> None:
        super().setUp()
        rng = np.random.default_rng(7)
        self.x = rng.normal(size=(9, 3))
        pairs = [(i, j) for i in range(8) for j in range(i + 1, 8)]
        chosen = rng.permutation(len(pairs))[:14]
        self.edges = np.array(pairs)[chosen].T

    def check(self, family: str, state: dict, expected: np.ndarray, *args: str) -> None:
        self.convert_state(family, state, *args)
        stage = convert.STAGES[family]
        found = score(self.path("m.safetensors"), stage, self.x, self.edges)
        self.assertLess(np.abs(found - sigmoid(expected)).max(), 1e-5)
        self.assertGreater(np.ptp(found), 1e-3)

    def test_filter(self) -> None:
        state = sequential("net", [6, 16, 8, 1])
        s, t = self.edges
        expected = Original(state, "silu").mlp("net", self.x[s], self.x[t])
        self.check("edge_filter", state, expected[:, 0], "--cut", "0")

    def test_filter_vanilla(self) -> None:
        rng = np.random.default_rng(3)
        state = {"layernorm.weight": rng.normal(size=8), "layernorm.bias": np.ones(8)}
        for name, n_in, n_out in [
            ("input_layer", 6, 8),
            ("layers.0", 8, 8),
            ("layers.1", 8, 8),
            ("output_layer", 8, 1),
        ]:
            state[name + ".weight"] = rng.normal(size=(n_out, n_in))
            state[name + ".bias"] = rng.normal(size=n_out)
        original = Original(state, "tanh")
        s, t = self.edges
        e = original.linear("input_layer", np.hstack([self.x[s], self.x[t]]))
        for k in range(2):
            e = np.tanh(original.linear(f"layers.{k}", e))
            e = original.norm(e, "layernorm")
        expected = original.linear("output_layer", e)
        self.check("edge_filter", state, expected[:, 0], "--cut", "0")

    def test_attention(self) -> None:
        for name in ("node_encoder", "input_network"):
            state = {
                key.replace("node_encoder", name): value
                for key, value in attention().items()
            }
            original = Original(state, "relu")
            s, t = self.edges
            n = len(self.x)
            h = original.mlp(name, self.x, bare_end=False)
            h = np.hstack([h, self.x])
            for _ in range(5):
                e = sigmoid(original.mlp("edge_network", h[s], h[t]))
                m = gather("sum", e * h[s], t, n) + gather("sum", e * h[t], s, n)
                parts = [h, m] if name == "node_encoder" else [m, h]
                h = h + np.hstack([original.mlp("node_network", *parts), self.x])
            expected = original.mlp("edge_network", h[s], h[t])
            self.check(
                "attention_gnn",
                state,
                expected[:, 0],
                "--options",
                '{"n_iterations": 5}',
            )

    def test_interaction(self) -> None:
        state = interaction(3)
        original = Original(state, "silu")
        s = np.concatenate([self.edges[0], self.edges[1]])
        t = np.concatenate([self.edges[1], self.edges[0]])
        n = len(self.x)
        x = original.mlp("node_encoder", self.x)
        e = original.mlp("edge_encoder", x[s], x[t])
        for _ in range(3):
            old = x
            m = [gather("max", e, t, n), gather("sum", e, t, n)]
            x = original.mlp("node_network", x, *m) + x
            e = original.mlp("edge_network", old[s], old[t], e) + e
        out = original.mlp("output_edge_classifier", x[s], x[t], e)[:, 0]
        self.check(
            "interaction_network",
            state,
            out[: self.edges.shape[1]],
            "--options",
            '{"n_iterations": 3, "aggregation": ["max", "sum"]}',
        )

    def test_interaction_acorn(self) -> None:
        state = interaction(5, norm="plain")
        Path(self.path("h.json")).write_text(
            '{"aggregation": ["sum", "mean"], "n_graph_iters": 3, "undirected": true}'
        )
        original = Original(state, "silu")
        n_edges = self.edges.shape[1]
        s = np.concatenate([self.edges[0], self.edges[1]])
        t = np.concatenate([self.edges[1], self.edges[0]])
        n = len(self.x)
        x = original.mlp("node_encoder", self.x)
        e = original.mlp("edge_encoder", x[s], x[t])
        for _ in range(3):
            m = [gather(kind, e, end, n) for end in (t, s) for kind in ("sum", "mean")]
            x = original.mlp("node_network", x, *m)
            e = original.mlp("edge_network", x[s], x[t], e)
        out = original.mlp("output_edge_classifier", x[s], x[t], e)[:, 0]
        expected = (out[:n_edges] + out[n_edges:]) / 2
        self.check(
            "interaction_network", state, expected, "--hparams", self.path("h.json")
        )
