"""test_convert_acorn -- every setting of acorn is computed or refused by name.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import math
import unittest
from typing import Any

import numpy as np
from convert_case import ConvertCase

from exatrkx.files import safetensors
from support import LIBRARY, needs

FIRST = {
    "model": "InteractionGNN",
    "node_features": ["r", "phi", "z"],
    "node_scales": [1000, 3.141592653589793, 1000],
    "hidden": 8,
    "n_graph_iters": 2,
    "nb_node_layer": 2,
    "nb_edge_layer": 2,
    "layernorm": True,
    "batchnorm": False,
    "aggregation": ["sum", "mean", "max"],
    "hidden_activation": "SiLU",
    "output_activation": "Tanh",
}
SECOND = {
    "model": "InteractionGNN2",
    "node_features": ["r", "phi", "z"],
    "node_scales": [1000, 3.141592653589793, 1000],
    "edge_features": ["dr", "dphi", "dz", "edge_deta", "phislope", "rphislope"],
    "hidden": 8,
    "n_graph_iters": 2,
    "n_node_net_layers": 2,
    "n_edge_net_layers": 3,
    "n_edge_decoder_layers": 2,
    "layernorm": False,
    "output_layer_norm": False,
    "batchnorm": True,
    "output_batch_norm": False,
    "edge_output_transform_final_batch_norm": False,
    "hidden_activation": "ReLU",
    "output_activation": "ReLU",
    "edge_output_transform_final_activation": None,
    "concat": True,
    "node_net_recurrent": False,
    "edge_net_recurrent": False,
    "in_out_diff_agg": True,
}
FILTER = {
    "model": "Filter",
    "node_features": ["r", "phi", "z"],
    "node_scales": [1000, 3.141592653589793, 1000],
    "hidden": 16,
    "nb_layer": 3,
    "layernorm": True,
    "batchnorm": False,
    "hidden_activation": "ReLU",
}
LEARNING = {
    "model": "MetricLearning",
    "node_features": ["r", "phi", "z"],
    "node_scales": [1000, 3.141592653589793, 1000],
    "emb_hidden": 16,
    "nb_layer": 2,
    "emb_dim": 4,
    "activation": "Tanh",
    "r_train": 0.1,
}
NORMS = [
    {"layernorm": True, "batchnorm": False},
    {"layernorm": False, "batchnorm": True},
    {"layernorm": False, "batchnorm": True, "track_running_stats": True},
    {"layernorm": False, "batchnorm": False},
]
BOTH = {"layernorm": True, "batchnorm": True}


@needs("torch")
@unittest.skipUnless(LIBRARY.exists(), f"no {LIBRARY}: make lib")
class TestAcorn(ConvertCase):
    def setUp(self) -> None:
        super().setUp()
        rng = np.random.default_rng(5)
        self.positions = rng.normal(size=(40, 3)).astype("f4") * 300
        self.x = rng.normal(size=(40, 3)).astype("f4")
        pairs = rng.permutation(40 * 39 // 2)[:120]
        self.edges = np.stack([end[pairs] for end in np.triu_indices(40, 1)])

    def save(self, settings: dict[str, Any]) -> Any:
        """Write a checkpoint; the network, with weights that are not the
        initial ones."""
        import torch
        import torch_acorn

        torch.manual_seed(3)
        network = getattr(torch_acorn, settings["model"])(settings).eval()
        with torch.no_grad():
            for name, value in network.state_dict().items():
                if name.endswith("running_var"):
                    value.uniform_(0.5, 2.0)
                elif value.dim() == 2:
                    value *= 2.5
                elif value.dim() == 1:
                    value += torch.randn_like(value) * 0.3
        torch.save(
            {"state_dict": network.state_dict(), "hyper_parameters": settings},
            self.path("w.ckpt"),
        )
        return network

    def expect(self, network: Any) -> np.ndarray:
        import torch

        x, edges = torch.from_numpy(self.x), torch.from_numpy(self.edges)
        network = network.double()
        inputs = [x.double(), edges]
        if network.s["model"] == "MetricLearning":
            inputs = inputs[:1]
        elif network.s["model"] == "InteractionGNN2":
            inputs.append(torch.from_numpy(self.edge_features()))
        with torch.no_grad():
            out = network(*inputs)
        return (out if len(inputs) == 1 else torch.sigmoid(out)).numpy()

    def edge_features(self) -> np.ndarray:
        """The features of SECOND, from hits in units of m and half turns."""
        x, y, z = self.positions.T.astype("f8") / 1000
        r, phi = np.hypot(x, y), np.arctan2(y, x) / np.pi
        src, dst = self.edges
        dr, dphi = r[dst] - r[src], phi[dst] - phi[src]
        dphi -= 2 * np.round(dphi / 2)
        eta = np.arcsinh(z / r)
        with np.errstate(divide="ignore"):
            slope = np.clip(dphi / dr, -100, 100)
        middle = (r[src] + r[dst]) / 2
        columns = [dr, dphi, z[dst] - z[src], eta[dst] - eta[src], slope]
        return np.stack([*columns, middle * slope], 1)

    def compute(self, model: str) -> np.ndarray:
        import exatrkx

        loaded = exatrkx.Model.load(self.path("m.safetensors"))
        event = exatrkx.Event.from_arrays(self.positions, features=self.x)
        if model == "MetricLearning":
            return exatrkx.embed(loaded, event)
        graph = exatrkx.Graph.from_edges(len(self.x), *self.edges)
        run = exatrkx.filter_graph if model == "Filter" else exatrkx.score_graph
        found = np.zeros(len(graph), "f4")
        found[graph.order] = run(graph, loaded, event, exatrkx.Context(1)).scores
        return found

    FAMILIES = {"Filter": "edge_filter", "MetricLearning": "mlp"}

    def check(self, base: dict[str, Any], changes: dict[str, Any]) -> None:
        """The converted network computes what the original does."""
        settings = {k: v for k, v in (base | changes).items() if v != "absent"}
        with self.subTest(settings["model"], **changes):
            network = self.save(settings)
            family = self.FAMILIES.get(settings["model"], "interaction_network")
            cut = ("--cut", "0") if family == "edge_filter" else ()
            self.convert_well(family, "w.ckpt", *cut)
            expected = self.expect(network)
            found = self.compute(settings["model"])
            relative = np.abs(found - expected).max() / np.abs(expected).max()
            self.assertLess(relative, 1e-5)
            self.assertGreater(np.ptp(expected), 1e-3)

    def refuse(
        self, base: dict[str, Any], changes: dict[str, Any], *names: str
    ) -> None:
        settings = base | changes
        with self.subTest(settings["model"], **changes):
            plain = {"std": {"aggregation": ["sum"] * 4}}
            self.save(settings | plain.get(names[0], {}))
            self.rewrite(settings)
            family = self.FAMILIES.get(settings["model"], "interaction_network")
            status, text = self.convert(family, "w.ckpt")
            self.assertEqual(status, 1, text)
            for name in names:
                self.assertIn(name, text)

    def rewrite(self, settings: dict[str, Any]) -> None:
        """Other settings in the checkpoint."""
        import torch

        found = torch.load(self.path("w.ckpt"))
        found["hyper_parameters"] = settings
        torch.save(found, self.path("w.ckpt"))

    def test_first(self) -> None:
        for changes in [
            {},
            *({"output_activation": name} for name in ("ReLU", None, "absent")),
            *({"undirected": value} for value in (True, False)),
            *NORMS,
            *(norm | {"undirected": True} for norm in NORMS),
            *({"aggregation": kinds} for kinds in ("sum", ["max"], ["mean", "sum"])),
            {"aggregation": "absent"},
            {"node_net_recurrent": False},
            {"edge_net_recurrent": False},
            {"node_net_recurrent": False, "edge_net_recurrent": False},
            *({"hidden_activation": name} for name in ("ReLU", "Tanh", "GELU")),
            {"hidden_dropout": 0.1, "nb_node_layer": 3},
        ]:
            self.check(FIRST, changes)

    def test_first_refused(self) -> None:
        self.refuse(FIRST, BOTH, "layernorm", "batchnorm")
        self.refuse(FIRST, {"aggregation": ["sum", "mean", "max", "std"]}, "std")
        self.refuse(FIRST, {"hidden_activation": "LeakyReLU"}, "LeakyReLU")
        for changes, names in [
            ({"layernorm": False}, ["apart", "layernorm"]),
            ({"batchnorm": True, "layernorm": False}, ["batchnorm"]),
            ({"hidden_dropout": 0.1}, ["hidden_dropout"]),
            ({"input_dropout": 0.1}, ["input_dropout"]),
            ({"aggregation": ["sum"]}, ["aggregation"]),
            ({"node_net_recurrent": False}, ["node_net_recurrent"]),
            (
                {"undirected": True, "dataset_class": "HeteroGraphDataset"},
                ["dataset_class"],
            ),
            ({"output_layer_norm": True}, ["output_layer_norm", "last_norm"]),
        ]:
            with self.subTest(**changes):
                self.save(FIRST)
                self.rewrite(FIRST | changes)
                status, text = self.convert("interaction_network", "w.ckpt")
                self.assertEqual(status, 1, text)
                for name in names:
                    self.assertIn(name, text)

    def test_second(self) -> None:
        for changes in [
            {},
            *({"output_activation": name} for name in ("Tanh", None)),
            {"output_batch_norm": True},
            {"output_batch_norm": True, "track_running_stats": True},
            {"output_batch_norm": True, "output_activation": None},
            *NORMS,
            {"edge_features": []},
            {"concat": False},
            {"in_out_diff_agg": False},
            {"concat": False, "in_out_diff_agg": False},
            {"node_net_recurrent": True, "edge_net_recurrent": True},
            {"node_net_recurrent": True},
        ]:
            self.check(SECOND, changes)

    def test_second_refused(self) -> None:
        self.refuse(SECOND, BOTH, "layernorm", "batchnorm")
        name = "edge_output_transform_final_activation"
        self.refuse(SECOND, {name: "Tanh"}, name)
        self.refuse(
            SECOND,
            {"layernorm": True, "batchnorm": False, "output_batch_norm": True},
            "norms",
        )

    def features(self, changes: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        self.save(SECOND | changes)
        status, text = self.convert("interaction_network", "w.ckpt")
        self.assertEqual(status, 0, text)
        _, metadata = safetensors.read(self.path("m.safetensors"))
        return text, json.loads(metadata["etx.config"])["gnn"]

    def test_features(self) -> None:
        """The lists of CTD_2023, and edge features that acorn does not name."""
        positions = ["", "cluster_{}_1", "cluster_{}_2"]
        nodes = [(p or "{}").format(c) for p in positions for c in "r phi z eta".split()]
        changes = {"node_features": nodes, "node_scales": [1000, math.pi, 1000, 1] * 3}
        text, stage = self.features(changes)
        self.assertIn("strip endcaps", text)
        self.assertEqual([f["name"] for f in stage["node_features"]], nodes)
        self.assertEqual(
            {f["name"]: f["scale"] for f in stage["edge_features"]},
            dict(dr=1000, dphi=math.pi, dz=1000, deta=1, phislope=1, rphislope=1),
        )
        text, stage = self.features({"edge_features": ["dr", "module_distance"]})
        self.assertIn("module_distance is not computed: give it as own_1", text)
        self.assertEqual(stage["edge_features"][1], {"name": "own_1", "scale": 1.0})
        self.refuse(SECOND, {"node_scales": [1000, 1, 1000]}, "dphi", "divided by 1:")
        self.refuse(
            SECOND, {"node_scales": [1, math.pi, 1]}, "phislope", "r divided by 1:"
        )

    def test_filter_and_embedding(self) -> None:
        for norm in NORMS:
            self.check(FILTER, norm)
        self.refuse(FILTER, BOTH, "layernorm", "batchnorm")
        self.check(LEARNING, {})

    def test_unknown_keys(self) -> None:
        self.save(LEARNING)
        for arguments in (
            ("--options", '{"hiden": 3}'),
            ("--node-features", "r,phi,zeta"),
        ):
            status, text = self.convert("mlp", "w.ckpt", *arguments, out="n")
            self.assertEqual(status, 1, text)
            self.assertIn("the library refuses the model", text)

    def test_settings_that_are_refused(self) -> None:
        """A line that names what is wrong, and no traceback."""
        layer = {"network.0.weight": np.ones((2, 3), "f4")}
        np.savez(self.path("w.npz"), **layer, **{"network.0.bias": np.ones(2, "f4")})
        for name, text, reason in (
            ("h.yaml", b"\xff", "utf-8"),
            ("h.json", b"{", "Expecting"),
            ("h.json", b"[1]", "expected settings by name"),
            ("h.yaml", b"- a\n", "expected settings by name"),
            ("h.yaml", b"node_features: [r, phi, z]\nnode_scales: [1]", "node_scales"),
            ("h.yaml", b"node_features: [r, phi, z]\nnode_scales: 3", "node_scales"),
            ("h.yaml", b"node_features: [r]\nnode_scales: [a]", "node_scales"),
        ):
            with self.subTest(text):
                (self.folder / name).write_bytes(text)
                status, said = self.convert("mlp", "w.npz", "--hparams", self.path(name))
                self.assertEqual(status, 1)
                self.assertIn(reason, said)
        status, said = self.convert("mlp", "w.npz", "--cut", "0.5")
        self.assertEqual((status, "--cut: for" in said), (1, True))
        status, said = self.convert("edge_filter", "w.npz", "--graph", '{"radius": 1}')
        self.assertEqual((status, "--graph: for" in said), (1, True))
        (self.folder / "w.npz").write_bytes(b"")
        status, said = self.convert("mlp", "w.npz")
        self.assertEqual((status, "no .npz file" in said), (1, True))

    def test_radius(self) -> None:
        """--graph leaves nothing to assume."""
        self.save(LEARNING)
        status, text = self.convert("mlp", "w.ckpt", "--graph", '{"radius": 0.2}')
        self.assertEqual((status, text), (0, text))
        self.assertNotIn("r_infer", text)
        _, metadata = safetensors.read(self.path("m.safetensors"))
        graph = json.loads(metadata["etx.config"])["embedding"]["graph"]
        self.assertEqual(graph["radius"], 0.2)
