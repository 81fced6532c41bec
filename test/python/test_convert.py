"""test_convert -- PyTorch weights to model files that the C library loads.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
from convert_case import ConvertCase, attention, interaction, sequential

from exatrkx.conversion import state_dict
from exatrkx.files import safetensors


class TestFamilies(ConvertCase):
    """Networks with the names and shapes of the originals."""

    def test_embedding(self) -> None:
        stage = self.convert_state(
            "mlp", sequential("network", [3, 16, 16, 8]), "--graph", '{"radius": 1.6}'
        )
        self.assertEqual(stage["options"]["hidden"], [16, 16])
        self.assertEqual(stage["options"]["n_out"], 8)
        self.assertEqual(stage["options"]["activation"], "tanh")
        self.assertEqual(stage["options"]["norm"], "layer")
        self.assertEqual(stage["graph"], {"radius": 1.6})
        self.assertEqual([f["name"] for f in stage["node_features"]], ["r", "phi", "z"])

    def test_embedding_without_norm(self) -> None:
        state = sequential("net", [12, 16, 4], "none")
        Path(self.path("h.yaml")).write_text(
            "r_test: 0.2\nactivation: ReLU\nregime:\n- rp\n- norm\n"
        )
        stage = self.convert_state("mlp", state, "--hparams", self.path("h.yaml"))
        self.assertEqual(stage["options"]["norm"], "none")
        self.assertEqual(stage["options"]["activation"], "relu")
        self.assertTrue(stage["options"]["normalize_output"])
        self.assertEqual(stage["graph"]["radius"], 0.2)
        self.assertEqual(len(stage["node_features"]), 12)

    def test_embedding_vanilla(self) -> None:
        state = {}
        for name, n_in, n_out in [
            ("input_layer", 3, 16),
            ("layers.0", 16, 16),
            ("output_layer", 16, 8),
        ]:
            state[name + ".weight"] = np.ones((n_out, n_in), "f4")
            state[name + ".bias"] = np.ones(n_out, "f4")
        state["layernorm.weight"] = state["layernorm.bias"] = np.ones(16, "f4")
        stage = self.convert_state("mlp", state)
        self.assertEqual(stage["options"]["hidden"], [16, 16])
        self.assertEqual(stage["options"]["norm"], "none")

    def test_filter(self) -> None:
        stage = self.convert_state(
            "edge_filter",
            sequential("model.net", [7, 16, 8, 1]),
            "--node-features",
            "r:1000,phi:3.14,z:1000",
            "--edge-features",
            "dphi",
            "--cut",
            "0.05",
        )
        self.assertEqual(stage["options"]["hidden"], [16, 8])
        self.assertEqual(stage["cut"], 0.05)
        self.assertEqual(stage["edge_features"], [{"name": "dphi", "scale": 1.0}])

    def test_norm_without_weights(self) -> None:
        state = sequential("net", [6, 16, 16, 1], "plain")
        stage = self.convert_state("edge_filter", state)
        self.assertEqual(stage["options"]["norm"], "layer")
        self.assertFalse(stage["options"]["norm_affine"])

    def test_interaction(self) -> None:
        Path(self.path("h.yaml")).write_text(
            "aggregation: sum_max\nn_graph_iters: 6\nhidden_activation: SiLU\n"
        )
        stage = self.convert_state(
            "interaction_network", interaction(3), "--hparams", self.path("h.yaml")
        )
        self.assertEqual(stage["options"]["aggregation"], ["max", "sum"])
        self.assertEqual(stage["options"]["n_iterations"], 6)
        self.assertEqual(stage["options"]["decoder_layers"], 4)
        self.assertEqual(stage["options"]["edge_update"], "old")
        self.assertEqual(stage["options"]["direction"], "doubled_first_half")

    def test_interaction_acorn(self) -> None:
        Path(self.path("h.yaml")).write_text(
            "aggregation: [sum, mean]\nundirected: True\n"
        )
        stage = self.convert_state(
            "interaction_network",
            interaction(5, norm="plain"),
            "--hparams",
            self.path("h.yaml"),
        )
        self.assertEqual(stage["options"]["aggregation"], ["sum", "mean"])
        self.assertEqual(stage["options"]["aggregate_at"], "both")
        self.assertEqual(stage["options"]["direction"], "doubled_mean")
        self.assertFalse(stage["options"]["node_residual"])

    def test_interaction_second(self) -> None:
        h = 8
        state = {
            **sequential("node_encoder", [3, h, h], "plain"),
            **sequential("edge_encoder", [2, h, h], "plain"),
            **sequential("edge_decoder", [h, h, h], "plain"),
            **sequential("edge_output_transform", [h, h, 1], "plain"),
        }
        for k in range(4):
            state |= sequential(f"node_network.{k}", [4 * h, h, h], "plain")
            state |= sequential(f"edge_network.{k}", [6 * h, h, h], "plain")
        stage = self.convert_state(
            "interaction_network", state, "--edge-features", "dr:1000,dz:1000"
        )
        self.assertEqual(stage["options"]["n_iterations"], 4)
        self.assertFalse(stage["options"]["node_recurrent"])
        self.assertEqual(stage["options"]["transform_layers"], 2)

    def test_attention(self) -> None:
        stage = self.convert_state(
            "attention_gnn",
            attention(),
            "--options",
            '{"n_iterations": 3, "activation": "tanh"}',
        )
        self.assertEqual(stage["options"]["n_iterations"], 3)
        self.assertEqual(stage["options"]["activation"], "tanh")
        self.assertTrue(stage["options"]["input_shortcut"])

    def test_merge(self) -> None:
        self.convert_state("mlp", sequential("network", [3, 16, 8]))
        os.rename(self.path("m.safetensors"), self.path("base"))
        for _ in range(2):
            self.convert_state(
                "edge_filter",
                sequential("net", [6, 16, 1]),
                "--merge",
                self.path("base"),
                "--label",
                '{"method": "components", "cut": 0.75}',
            )
            tensors, metadata = safetensors.read(self.path("m.safetensors"))
            config = json.loads(metadata["etx.config"])
            self.assertEqual(set(config), {"schema", "embedding", "filter", "label"})
            self.assertEqual(len(tensors), 6 + 6)
            os.rename(self.path("m.safetensors"), self.path("base"))

    def test_merge_of_a_shipped_model(self) -> None:
        state = sequential("net", [6, 16, 1])
        np.savez(self.path("w.npz"), **state)
        status, text = self.convert("edge_filter", "w.npz", "--merge", "chain")
        self.assertEqual(status, 0, text)
        _, metadata = safetensors.read(self.path("m.safetensors"))
        config = json.loads(metadata["etx.config"])
        self.assertLessEqual({"embedding", "filter", "gnn"}, set(config))

    def test_refused(self) -> None:
        good = sequential("network", [3, 16, 8])
        for state, family, piece in [
            ({"n": np.ones(3, "i4")}, "mlp", "no floating-point arrays"),
            ({"a.0.weight": np.full((2, 2), np.nan, "f4")}, "mlp", "not a finite"),
            ({**good, "other.0.weight": np.ones((2, 2), "f4")}, "mlp", "one sequence"),
            (sequential("network", [5, 16, 8]), "mlp", "reads 5 --node-features"),
            (sequential("net", [7, 16, 1]), "edge_filter", "no two nodes"),
            (sequential("net", [6, 16, 8]), "edge_filter", "ends with 8 values"),
            (good, "attention_gnn", "no weights node_encoder.0.weight"),
            (good, "interaction_network", "output_edge_classifier.0.weight"),
            (
                {**attention(), "extra": np.ones(1, "f4")},
                "attention_gnn",
                "does not use: extra",
            ),
        ]:
            np.savez(self.path("w.npz"), **state)
            with self.subTest(piece):
                status, text = self.convert(family, "w.npz", out="m")
                self.assertEqual(status, 1)
                self.assertIn(piece, text)
                self.assertFalse(os.path.exists(self.path("m")))

    def test_files_refused(self) -> None:
        Path(self.path("w.npz")).write_bytes(b"PK and no more")
        Path(self.path("pointer.pt")).write_text(
            "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
        )
        for name, piece in [
            ("none.npz", "No such file"),
            ("w.npz", "no .npz file"),
            ("pointer.pt", "a Git LFS pointer"),
            ("w.bin", "expected a .pt"),
        ]:
            with self.subTest(name):
                status, text = self.convert("mlp", name)
                self.assertEqual(status, 1)
                self.assertIn(piece, text)

    def test_yaml(self) -> None:
        found = state_dict.parse_yaml(
            "# comment\na: 1\nb: 0.5\nc: ReLU # why\nd:\n- x\n- 2\n"
            "e: [r, 'phi']\nf: null\ng: true\nh:\n  nested: 1\ni: 1e-3\n"
        )
        self.assertEqual(
            found,
            {
                "a": 1,
                "b": 0.5,
                "c": "ReLU",
                "d": ["x", 2],
                "e": ["r", "phi"],
                "f": None,
                "g": True,
                "h": [],
                "i": 1e-3,
            },
        )
