"""test_convert_public -- networks in files of other programs, run next to them.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import types
import unittest
import unittest.mock
import warnings
import zipfile

import numpy as np
from convert_case import ConvertCase

from exatrkx.conversion import check, event_features, facts, state_dict
from exatrkx.files import safetensors, torch_archive
from support import EVENT, LIBRARY, REFERENCE, needs

PUBLIC = REFERENCE / "exatrkx_models"


def network(kind: str, norm: str, activation: str):
    """A small network of Exa.TrkX in torch."""
    import torch
    from torch import nn

    def steps(*widths: int) -> nn.Sequential:
        found: list[nn.Module] = []
        for n_in, n_out in zip(widths, widths[1:], strict=False):
            found.append(nn.Linear(n_in, n_out))
            found += [nn.LayerNorm(n_out)] if norm == "layer" else []
            found += [nn.BatchNorm1d(n_out, eps=1e-3)] if norm == "batch" else []
            found.append(getattr(nn, activation)())
        return nn.Sequential(*found[: -1 if norm == "none" else -2])

    class Embedding(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = steps(3, 8, 8, 4)

        def forward(self, x):
            return self.network(x)

    class Interaction(nn.Module):
        """Of Exa.TrkX's Common_Tracking example, on directed edges."""

        def __init__(self) -> None:
            super().__init__()
            h = 8
            self.node_encoder = steps(3, h, h)
            self.edge_encoder = steps(2 * h, h, h)
            self.node_network = steps(2 * h, h, h)
            self.edge_network = steps(3 * h, h, h)
            self.output_edge_classifier = steps(3 * h, h, 1)

        def forward(self, x, edge_index):
            start, end = edge_index[0], edge_index[1]
            x = self.node_encoder(x)
            e = self.edge_encoder(torch.cat([x[start], x[end]], 1))
            for _ in range(3):
                row = end[:, None].expand_as(e)
                m = torch.zeros_like(x).scatter_add(0, row, e)
                x = self.node_network(torch.cat([x, m], 1)) + x
                e = self.edge_network(torch.cat([x[start], x[end], e], 1)) + e
            return self.output_edge_classifier(torch.cat([x[start], x[end], e], 1))

    torch.manual_seed(2)
    made = {"mlp": Embedding, "interaction_network": Interaction}[kind]()
    with torch.no_grad():
        for name, value in made.named_buffers():
            if value.dim() == 1:
                value.uniform_(0.5, 2.0) if "var" in name else value.normal_()
    return made.eval()


def inputs(kind: str) -> tuple:
    import torch

    x = torch.randn(20, 3)
    pairs = torch.combinations(torch.arange(20))[torch.randperm(190)[:40]]
    return (x,) if kind == "mlp" else (x, pairs.T.contiguous())


@needs("torch")
class TestFiles(ConvertCase):
    def setUp(self) -> None:
        super().setUp()
        quiet = warnings.catch_warnings()
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)
        warnings.simplefilter("ignore")

    def trace(self, kind: str, norm: str, activation: str) -> str:
        import torch

        made = network(kind, norm, activation)
        torch.jit.save(torch.jit.trace(made, inputs(kind)), self.path("w.pt"))
        return "w.pt"

    def stage(self) -> dict:
        _, metadata = safetensors.read(self.path("m.safetensors"))
        config = json.loads(metadata["etx.config"])
        return next(config[k] for k in ("embedding", "gnn") if k in config)

    @unittest.skipUnless(LIBRARY.exists(), f"no {LIBRARY}: make lib")
    def test_torchscript(self) -> None:
        """Activation and norm come from the file; --check compares."""
        for norm in ("layer", "batch", "none"):
            for activation in ("ReLU", "Tanh", "GELU"):
                with self.subTest(norm, activation=activation):
                    self.trace("mlp", norm, activation)
                    status, text = self.convert("mlp", "w.pt", "--check")
                    self.assertEqual(status, 0, text)
                    self.assertIn("largest difference of a point", text)
                    self.assertNotIn("no activation given", text)

    @unittest.skipUnless(LIBRARY.exists(), f"no {LIBRARY}: make lib")
    def test_interaction(self) -> None:
        self.trace("interaction_network", "layer", "ReLU")
        options = ("--options", '{"aggregation": ["sum"]}')
        status, text = self.convert("interaction_network", "w.pt", *options)
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"of the original in float32: \d\S+ \(0 of 800 decisions")
        found = self.stage()["options"]
        self.assertEqual(found["n_iterations"], 3)
        self.assertEqual(found["edge_update"], "new")
        self.assertEqual(found["direction"], "directed")
        wrong = ("--options", '{"aggregation": ["sum"], "activation": "tanh"}')
        status, text = self.convert("interaction_network", "w.pt", *wrong, out="n")
        self.assertEqual(status, 1, text)
        self.assertIn("largest difference of a score", text)
        self.assertFalse(os.path.exists(self.path("n")))

    def test_settings_of_activations(self) -> None:
        """Of another activation, or of one with another setting, no model."""
        import torch
        from torch import nn

        for activation, said in (
            (nn.ELU(alpha=0.25), r"ELU\(alpha=0.25\)"),
            (nn.GELU(approximate="tanh"), r"GELU\(approximate=tanh\)"),
            (nn.LeakyReLU(), "LeakyReLU|aten::leaky_relu"),
            (nn.Softplus(), "Softplus|aten::softplus"),
        ):
            made = nn.Sequential(nn.Linear(3, 8), activation, nn.Linear(8, 4)).eval()
            script = torch.jit.script(made)
            traced = torch.jit.trace(made, inputs("mlp"))
            for name, file in (
                ("scripted", script),
                ("traced", traced),
                ("frozen", torch.jit.freeze(script)),
            ):
                with self.subTest(said, name=name):
                    torch.jit.save(file, self.path("w.pt"))
                    status, text = self.convert("mlp", "w.pt", "--no-check")
                    self.assertEqual(status, 1, text)
                    self.assertRegex(text, f"activation ({said}): expected one of")

    @unittest.skipUnless(LIBRARY.exists(), f"no {LIBRARY}: make lib")
    def test_event(self) -> None:
        """--check EVENT compares features and scores on an event."""
        options = ("--options", '{"aggregation": ["sum"]}', "--check", str(EVENT))
        scale = event_features.Hits.matrix
        for kind, family, given in (
            ("mlp", "mlp", options[2:]),
            ("interaction_network", "interaction_network", options),
        ):
            self.trace(kind, "layer", "Tanh")
            status, text = self.convert(family, "w.pt", *given)
            self.assertEqual(status, 0, text)
            self.assertRegex(text, rf"on {EVENT.name}: \d")
            with unittest.mock.patch.object(
                event_features.Hits, "matrix", lambda *of: scale(*of) * 1.1
            ):
                status, text = self.convert(family, "w.pt", *given, out="n")
            self.assertEqual(status, 1, text)
            self.assertRegex(text, rf"--check: .* on {EVENT.name}")
        status, text = self.convert(family, "w.pt", *given[:-1], "no/event1", out="n")
        self.assertEqual(status, 1, text)
        self.assertIn("no/event1", text)
        self.assertFalse(os.path.exists(self.path("n")))

    def test_rounding(self) -> None:
        """A model may differ as much as float32 makes the original differ from
        itself in float64, and is compared with float32 where that is all."""

        def run_exactly(values: np.ndarray) -> np.ndarray:
            if not values.any():
                raise RuntimeError("expected Float but found Double")
            return values

        original = check.Original(1, lambda values: values + 0.25, run_exactly)
        for value, expected in ((1.0, (1.0, 0.25)), (0.0, (0.25, 0.0))):
            found, rounding = original.results(lambda run, v=value: run(np.array([v])))
            self.assertEqual((found.item(), rounding), expected)
        notes: list[str] = []
        few = np.zeros(3)
        check._report(few, few + 0.01, 0.02, "point", "here", notes.append)
        self.assertIn("of the original in float32: 0.02", notes[0])
        for rounding in (0.0, 0.009):
            with self.assertRaisesRegex(facts.ConvertError, "--check: largest"):
                check._report(few, few + 0.01, rounding, "point", "here", print)

    @unittest.skipUnless(LIBRARY.exists(), f"no {LIBRARY}: make lib")
    def test_event_edge_features(self) -> None:
        """Edge features by their definition."""
        import exatrkx

        names = "dr dphi dz deta phislope rphislope own_6".split()
        names += "length theta asinh_z0 asinh_dzdr asinh_dphidr".split()
        features = [{"name": name, "scale": 0.5} for name in names]
        event = exatrkx.Event.from_arrays([[40, 3, 5], [60, 9, -7], [-40, 1, 2]])
        edges = np.array([[0, 0, 2], [1, 2, 1]])
        own = np.arange(21.0).reshape(3, 7)
        hits = event_features.Hits(event)
        found = event_features.edge_matrix(hits, edges, features, own)
        r, phi = hits.column("r"), hits.column("phi")
        dphi = np.angle(np.exp(1j * (phi[edges[1]] - phi[edges[0]])))
        slope = dphi / np.pi / (r[edges[1]] - r[edges[0]]) * 1000.0
        self.assertLess(np.abs(found[:, 1] - 2.0 * dphi).max(), 1e-6)
        self.assertTrue(np.allclose(found[:, 4], 2.0 * np.clip(slope, -100, 100)))
        self.assertEqual(found[:, 6].tolist(), (2.0 * own[:, 6]).tolist())
        (start, end), z = edges, hits.column("z")
        step = event.positions[end] - event.positions[start]
        dr, dz = (r[end] - r[start]), step[:, 2].astype("f8")
        expected = [np.linalg.norm(step, axis=1), np.arctan2(dz, dr)]
        expected += [np.arcsinh(z[start] - r[start] * dz / dr), np.arcsinh(dz / dr)]
        expected += [np.arcsinh(1000.0 * dphi / dr)]
        self.assertLess(np.abs(found[:, 7:] / 2.0 - np.stack(expected, 1)).max(), 1e-5)
        for name, column in (("log_cell_count", np.log(3.0)), ("lx", 7.0)):
            nine = np.full((3, 9), 7.0)
            nine[:, 0] = 2.0
            event = exatrkx.Event.from_arrays(event.positions, cell_features=nine)
            value = event_features.Hits(event).column(name)
            self.assertLess(np.abs(value - column).max(), 1e-6)
        for refused in (
            lambda: hits.column("cluster_r_1"),
            lambda: event_features.edge_matrix(
                hits, edges, [{"name": "helix_eta", "scale": 1.0}], own
            ),
        ):
            with self.assertRaisesRegex(facts.ConvertError, "without EVENT"):
                refused()

    @needs("onnx")
    @unittest.skipUnless(LIBRARY.exists(), f"no {LIBRARY}: make lib")
    def test_interaction_onnx(self) -> None:
        """What an ONNX graph does not say is found out by comparing."""
        import torch

        made = network("interaction_network", "layer", "ReLU")
        given = inputs("interaction_network")
        path = self.path("w.onnx")
        torch.onnx.export(
            made,
            given,
            path,
            opset_version=18,
            dynamo=False,
            input_names=["x", "edges"],
            dynamic_axes={"x": {0: "nodes"}, "edges": {1: "edges"}},
        )
        options = {"aggregation": ["sum"], "edge_update": "new"}
        for direction, expected in (("directed", 0), ("doubled_first_half", 1)):
            text = json.dumps(options | {"direction": direction})
            status, text = self.convert(
                "interaction_network", "w.onnx", "--options", text
            )
            self.assertEqual(status, expected, text)
            self.assertIn("largest difference of a score", text)

    def test_contradiction(self) -> None:
        self.trace("mlp", "layer", "ReLU")
        settings = self.folder / "h.json"
        for stated, piece in (
            ({"activation": "Tanh"}, "activation is Tanh, but the TorchScript says"),
            ({"layernorm": False}, "layernorm is False, but the TorchScript says"),
            ({"batchnorm": True}, "batchnorm is True, but the TorchScript says"),
        ):
            settings.write_text(json.dumps(stated))
            status, text = self.convert("mlp", "w.pt", "--hparams", str(settings))
            self.assertEqual(status, 1, text)
            self.assertIn(piece, text)

    def test_without_torch(self) -> None:
        """Archives of torch are read without it."""
        import torch

        self.trace("mlp", "layer", "ReLU")
        state = {"network.0.weight": torch.ones(2, 3).half()}
        state["network.0.bias"] = torch.ones(4)[::2]
        torch.save({"state_dict": state}, self.path("w.ckpt"))
        named = {"model_state_dict": state, "optimizer": {"state": {}}, "epoch": 3}
        torch.save(named, self.path("named.ckpt"))
        with unittest.mock.patch.dict(sys.modules, {"torch": None}):
            for name in ("w.pt", "w.ckpt", "named.ckpt"):
                status, text = self.convert("mlp", name, "--no-check")
                self.assertEqual(status, 0, text)

    @needs("onnx")
    def test_onnx(self) -> None:
        """The same model as from TorchScript."""
        import torch

        for norm in ("layer", "batch", "none"):
            every = ("ReLU", "SiLU", "Tanh", "GELU", "ELU")
            for activation in every if norm == "layer" else every[:1]:
                self.trace("mlp", norm, activation)
                for version in (12, 17):
                    with self.subTest(norm, activation=activation, version=version):
                        made = network("mlp", norm, activation)
                        torch.onnx.export(
                            made,
                            inputs("mlp"),
                            self.path("w.onnx"),
                            opset_version=version,
                            dynamo=False,
                        )
                        found = []
                        for name in ("w.pt", "w.onnx"):
                            status, text = self.convert("mlp", name)
                            self.assertEqual(status, 0, text)
                            path = self.folder / "m.safetensors"
                            found.append(path.read_bytes())
                        self.assertEqual(found[0], found[1])


class Mapping(dict):
    """As the AttributeDict of Lightning."""


class TestArchive(ConvertCase):
    """Pickles that are no checkpoints; nothing of them is run."""

    def write(self, data: bytes, storage: bytes = b"") -> str:
        with zipfile.ZipFile(self.path("w.pt"), "w") as file:
            file.writestr("a/data.pkl", data)
            file.writestr("a/data/0", storage)
        return self.path("w.pt")

    def test_no_call(self) -> None:
        class Hostile:
            def __reduce__(self) -> tuple:
                return os.mkdir, (mark,)

        mark = self.path("mark")
        self.write(pickle.dumps({"state_dict": {"x": Hostile()}}))
        status, text = self.convert("mlp", "w.pt")
        self.assertEqual(status, 1, text)
        self.assertFalse(os.path.exists(mark))

    def test_settings_of_a_class(self) -> None:
        """Hyper-parameters are read from any class of mapping or namespace."""
        settings = {"model": "MetricLearning", "activation": "ReLU"}
        rng = np.random.default_rng(1)
        arrays = {"network.0.weight": (4, 3), "network.0.bias": (4,)}
        arrays |= {"network.2.weight": (2, 4), "network.2.bias": (2,)}
        for stored in (Mapping(settings), types.SimpleNamespace(**settings)):
            data = pickle.dumps({"state_dict": arrays, "hyper_parameters": stored})
            self.write(data)
            found = torch_archive.Archive(self.path("w.pt")).load()
            found["state_dict"] = {
                name: rng.normal(size=shape) for name, shape in arrays.items()
            }
            _, hparams = state_dict._checkpoint("w.pt", found)
            self.assertEqual(hparams, settings)

    def test_bounds(self) -> None:
        storage = np.zeros(6, "f4")
        for offset, shape, strides in [
            (0, (3, 3), (3, 1)),
            (4, (2, 2), (2, 1)),
            (0, (2, 3), (-3, 1)),
            (-1, (2,), (1,)),
            (0, (2, 3), (3,)),
        ]:
            with self.assertRaises(ValueError):
                torch_archive._tensor(storage, offset, shape, strides)
        found = torch_archive._tensor(np.arange(6), 1, (2, 2), (1, 3))
        self.assertEqual(found.tolist(), [[1, 4], [2, 5]])

    def test_broken(self) -> None:
        for data in (b"", b"no pickle", pickle.dumps({})[:-1]):
            self.write(data)
            status, text = self.convert("mlp", "w.pt")
            self.assertEqual(status, 1)
            self.assertIn("data.pkl", text)


@needs("torch")
@unittest.skipUnless(PUBLIC.is_dir(), f"no {PUBLIC} (ETX_REFERENCE_DATA)")
@unittest.skipUnless(LIBRARY.exists(), f"no {LIBRARY}: make lib")
class TestPublic(ConvertCase):
    """The trained networks that are public agree with torch."""

    def test_torchscript(self) -> None:
        for family, name in [
            ("attention_gnn", "lrt_gnn.torchscript.pt"),
            ("attention_gnn", "trackml_gnn.torchscript.pt"),
            ("edge_filter", "trackml_filter.torchscript.pt"),
        ]:
            with self.subTest(name):
                path = str(PUBLIC / name)
                status, text = self.convert(family, path, "--check")
                self.assertEqual(status, 0, text)
                self.assertIn("(0 of 800 decisions differ)", text)

    @needs("onnx")
    def test_onnx(self) -> None:
        found = []
        for name in ("trackml_filter.onnx", "weights_trackml_filter.npz"):
            path = self.convert_well("edge_filter", str(PUBLIC / name))
            with open(path, "rb") as file:
                found.append(file.read())
        self.assertEqual(found[0], found[1])
