"""test_convert -- PyTorch weights to model files that the C library loads.

Run with `python3 test/python/test_convert.py`. What needs numpy, torch, the
reference data or the built library is skipped where they are missing.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import io
import json
import os
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "bindings", "python"))

HAVE_NUMPY = importlib.util.find_spec("numpy") is not None
HAVE_TORCH = HAVE_NUMPY and importlib.util.find_spec("torch") is not None
NO_NUMPY = "numpy is not installed"
NO_TORCH = "torch is not installed"
LIBRARY = os.environ.get("ETX_LIBRARY", os.path.join(ROOT, "lib", "libexatrkx.so"))
REFERENCE = os.environ.get(
    "ETX_REFERENCE_DATA", os.path.join(ROOT, "..", "shared", "data")
)
MODELS = os.path.join(REFERENCE, "exatrkx_models")
HAVE_MODELS = os.path.isdir(MODELS)
NO_MODELS = f"no {MODELS} (ETX_REFERENCE_DATA)"

if HAVE_NUMPY:
    import numpy as np

    from exatrkx import _state_dict, convert, safetensors_file


def sequential(name: str, widths: list[int], norm: str = "affine") -> dict:
    """Weights of torch.nn.Sequential: linears, norms but after the last."""
    rng = np.random.default_rng(len(name))
    state = {}
    step = 2 if norm == "none" else 3
    for k in range(len(widths) - 1):
        shape = (widths[k + 1], widths[k])
        state[f"{name}.{k * step}.weight"] = rng.normal(size=shape).astype("f4")
        state[f"{name}.{k * step}.bias"] = np.zeros(widths[k + 1], "f4")
        if norm == "affine" and k < len(widths) - 2:
            state[f"{name}.{k * step + 1}.weight"] = np.ones(widths[k + 1], "f4")
            state[f"{name}.{k * step + 1}.bias"] = np.zeros(widths[k + 1], "f4")
    return state


def attention() -> dict:
    """Weights of a ResAGNN of width 8."""
    h = 8
    return {
        **sequential("node_encoder", [3, h, h]),
        "node_encoder.4.weight": np.full(h, 1.5, "f4"),
        "node_encoder.4.bias": np.full(h, 0.25, "f4"),
        **sequential("edge_network", [2 * (h + 3), h, 1]),
        **sequential("node_network", [2 * (h + 3), h, h]),
    }


class Library:
    """What is needed of the built library, through ctypes."""

    def __init__(self) -> None:
        self.c = ctypes.CDLL(LIBRARY)
        self.c.etx_last_error.restype = ctypes.c_char_p
        self.c.etx_graph_scores.restype = ctypes.POINTER(ctypes.c_float)

    def call(self, name: str, *arguments: object) -> None:
        if getattr(self.c, name)(*arguments) != 0:
            raise AssertionError(self.c.etx_last_error().decode())

    def make(self, name: str, *arguments: object) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        self.call(name, ctypes.byref(made), *arguments)
        return made

    def rewrite(self, path: str, out: str) -> None:
        model = self.make("etx_model_load", path.encode())
        self.call("etx_model_save", model, out.encode())
        self.c.etx_model_free(model)

    def score(
        self, path: str, stage: str, x: np.ndarray, edges: np.ndarray
    ) -> np.ndarray:
        """Scores of the edges by the stage of the model, in their order."""

        def pointer(array: np.ndarray) -> ctypes.c_void_p:
            return array.ctypes.data_as(ctypes.c_void_p)

        n = ctypes.c_int64
        model = self.make("etx_model_load", path.encode())
        context = self.make("etx_context_create", None)
        positions = np.zeros((len(x), 3), "f4")
        event = self.make("etx_event_create", n(len(x)), None, pointer(positions))
        features = np.ascontiguousarray(x, "f4")
        self.call("etx_event_set_features", event, n(x.shape[1]), pointer(features))
        order = np.zeros(edges.shape[1], "i8")
        ends = np.ascontiguousarray(edges, "i4")
        graph = self.make(
            "etx_graph_from_edges",
            n(len(x)),
            n(edges.shape[1]),
            pointer(ends[0]),
            pointer(ends[1]),
            None,
            pointer(order),
        )
        if stage == "filter":
            # The library numbers edges anew, and a cut of 0 keeps them all.
            whole = graph
            graph = self.make("etx_graph_filter", whole, context, model, event)
            self.c.etx_graph_free(whole)
        else:
            self.call("etx_graph_score", graph, context, model, event)
        found = np.zeros(len(order), "f4")
        found[order] = self.c.etx_graph_scores(graph)[: len(order)]
        self.c.etx_graph_free(graph)
        self.c.etx_event_free(event)
        self.c.etx_context_free(context)
        self.c.etx_model_free(model)
        return found


class ConvertCase(unittest.TestCase):
    """A folder, and what to do with a model file in it."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def run_convert(self, *arguments: str) -> tuple[int, str]:
        """Exit status and what went to stderr."""
        text = io.StringIO()
        with contextlib.redirect_stderr(text):
            status = convert.main(arguments)
        return status, text.getvalue()

    def convert_state(self, family: str, state: dict, *arguments: str) -> dict:
        """Convert arrays; the stage of etx.config, which the library loads."""
        np.savez(self.path("w.npz"), **state)
        out = self.path("m.safetensors")
        status, text = self.run_convert(
            "--family",
            family,
            "--weights",
            self.path("w.npz"),
            "--out",
            out,
            *arguments,
        )
        self.assertEqual(status, 0, text)
        self.check_loads(out)
        _, metadata = safetensors_file.read(out)
        return json.loads(metadata["etx.config"])[convert.STAGES[family]]

    def check_loads(self, path: str) -> None:
        """The library loads the file and saves the same bytes."""
        if not os.path.exists(LIBRARY):
            return
        again = self.path("again.safetensors")
        Library().rewrite(path, again)
        self.assertEqual(Path(path).read_bytes(), Path(again).read_bytes())


@unittest.skipUnless(HAVE_NUMPY, NO_NUMPY)
class TestSafetensors(ConvertCase):
    def test_round_trip(self) -> None:
        tensors = {
            "b": np.arange(6, dtype="f4").reshape(2, 3),
            "a": np.array([1, 2], "u1"),
            "c": np.array(7, "i8"),
            "none": np.zeros((0, 4), "f4"),
        }
        path = self.path("t")
        safetensors_file.write(path, tensors, {"key": 'caf\u00e9 "\\'})
        found, metadata = safetensors_file.read(path)
        self.assertEqual(list(found), sorted(tensors))
        for name, value in tensors.items():
            self.assertTrue(np.array_equal(found[name], value))
            self.assertEqual(found[name].dtype, value.dtype)
            self.assertEqual(found[name].shape, value.shape)
        self.assertEqual(metadata, {"key": 'caf\u00e9 "\\'})
        self.assertEqual(os.listdir(self.folder), ["t"])

    def test_every_prefix_is_refused(self) -> None:
        data = safetensors_file.dump({"a": np.ones(3, "f4")}, {"k": "v"})
        for n in range(len(data)):
            with self.assertRaises(safetensors_file.FormatError):
                safetensors_file.parse(data[:n])

    def test_refused(self) -> None:
        entry = '"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'
        for header, n_data in [
            ("[]", 0),
            ("{" + entry + "," + entry + "}", 4),
            ("{" + entry + "}", 5),
            ("{" + entry.replace("F32", "F16") + "}", 4),
            ("{" + entry.replace("[1]", "[-1]") + "}", 4),
            ("{" + entry.replace("[1]", "[2]") + "}", 4),
            ("{" + entry.replace("[0,4]", "[0]") + "}", 4),
            ("{" + entry.replace("[0,4]", "[4,8]") + "}", 8),
            ('{"__metadata__":{"a":1}}', 0),
        ]:
            data = len(header).to_bytes(8, "little") + header.encode()
            with self.subTest(header), self.assertRaises(safetensors_file.FormatError):
                safetensors_file.parse(data + bytes(n_data))

    def test_dtype(self) -> None:
        with self.assertRaises(safetensors_file.FormatError):
            safetensors_file.dump({"a": np.zeros(1, "f8")}, {})


@unittest.skipUnless(HAVE_NUMPY, NO_NUMPY)
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

    def interaction(self, message: int, edge: int = 3, norm: str = "affine") -> dict:
        h = 8
        return {
            **sequential("node_encoder", [3, h, h, h], norm),
            **sequential("edge_encoder", [2 * h, h, h, h], norm),
            **sequential("node_network", [message * h, h, h, h], norm),
            **sequential("edge_network", [edge * h, h, h, h], norm),
            **sequential("output_edge_classifier", [3 * h, h, h, h, 1], norm),
        }

    def test_interaction(self) -> None:
        Path(self.path("h.yaml")).write_text(
            "aggregation: sum_max\nn_graph_iters: 6\nhidden_activation: SiLU\n"
        )
        stage = self.convert_state(
            "interaction_network", self.interaction(3), "--hparams", self.path("h.yaml")
        )
        self.assertEqual(stage["options"]["aggregation"], ["max", "sum"])
        self.assertEqual(stage["options"]["n_iterations"], 6)
        self.assertEqual(stage["options"]["decoder_layers"], 4)
        self.assertEqual(stage["options"]["edge_update"], "old")
        self.assertEqual(stage["options"]["direction"], "doubled_first_half")

    def test_interaction_acorn(self) -> None:
        Path(self.path("h.yaml")).write_text("aggregation: [sum, mean]\n")
        stage = self.convert_state(
            "interaction_network",
            self.interaction(5, norm="plain"),
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
            tensors, metadata = safetensors_file.read(self.path("m.safetensors"))
            config = json.loads(metadata["etx.config"])
            self.assertEqual(set(config), {"schema", "embedding", "filter", "label"})
            self.assertEqual(len(tensors), 6 + 6)
            os.rename(self.path("m.safetensors"), self.path("base"))

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
                {**self.interaction(3), "extra": np.ones(1, "f4")},
                "interaction_network",
                "no place for: extra",
            ),
        ]:
            np.savez(self.path("w.npz"), **state)
            with self.subTest(piece):
                status, text = self.run_convert(
                    "--family",
                    family,
                    "--weights",
                    self.path("w.npz"),
                    "--out",
                    self.path("m"),
                )
                self.assertEqual(status, 1)
                self.assertIn(piece, text)
                self.assertFalse(os.path.exists(self.path("m")))

    def test_files_refused(self) -> None:
        Path(self.path("w.npz")).write_bytes(b"PK and no more")
        for name, piece in [
            ("none.npz", "No such file"),
            ("w.npz", "no .npz file"),
            ("w.onnx", "ONNX"),
            ("w.bin", "expected a .pt"),
        ]:
            with self.subTest(name):
                status, text = self.run_convert(
                    "--family", "mlp", "--weights", self.path(name), "--out", "m"
                )
                self.assertEqual(status, 1)
                self.assertIn(piece, text)

    def test_yaml(self) -> None:
        found = _state_dict.parse_yaml(
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


@unittest.skipUnless(HAVE_NUMPY, NO_NUMPY)
@unittest.skipUnless(os.path.exists(LIBRARY), f"no {LIBRARY}")
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
        found = Library().score(self.path("m.safetensors"), stage, self.x, self.edges)
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
        state = TestFamilies.interaction(TestFamilies(), 3)
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
            '{"n_iterations": 3}',
        )

    def test_interaction_acorn(self) -> None:
        state = TestFamilies.interaction(TestFamilies(), 5, norm="plain")
        Path(self.path("h.json")).write_text(
            '{"aggregation": ["sum", "mean"], "n_graph_iters": 3}'
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


@unittest.skipUnless(HAVE_NUMPY, NO_NUMPY)
@unittest.skipUnless(HAVE_MODELS, NO_MODELS)
class TestReference(ConvertCase):
    """The trained networks that are public."""

    def convert_file(self, family: str, name: str, *arguments: str) -> bytes:
        out = self.path("m.safetensors")
        status, text = self.run_convert(
            "--family",
            family,
            "--weights",
            os.path.join(MODELS, name),
            "--out",
            out,
            *arguments,
        )
        self.assertEqual(status, 0, text)
        self.check_loads(out)
        return Path(out).read_bytes()

    def test_npz(self) -> None:
        for family, name, n_values in [
            ("attention_gnn", "weights_lrt_gnn.npz", 44803),
            ("attention_gnn", "weights_trackml_gnn.npz", 26433),
            ("edge_filter", "weights_trackml_filter.npz", None),
        ]:
            with self.subTest(name):
                tensors, _ = safetensors_file.parse(self.convert_file(family, name))
                with np.load(os.path.join(MODELS, name)) as weights:
                    expected = sum(value.size for value in weights.values())
                found = sum(value.size for value in tensors.values())
                self.assertEqual(found, expected)
                if n_values is not None:
                    self.assertEqual(found, n_values)

    @unittest.skipUnless(HAVE_TORCH, NO_TORCH)
    def test_formats_agree(self) -> None:
        hparams = os.path.join(MODELS, "lrt_gnn.hparams.yaml")
        for family, names, arguments in [
            (
                "attention_gnn",
                [
                    "weights_lrt_gnn.npz",
                    "lrt_gnn.torchscript.pt",
                    "lrt_gnn.lightning.ckpt",
                ],
                ["--hparams", hparams],
            ),
            ("attention_gnn", ["weights_lrt_gnn.npz", "lrt_gnn.lightning.ckpt"], []),
            (
                "attention_gnn",
                ["weights_trackml_gnn.npz", "trackml_gnn.torchscript.pt"],
                [],
            ),
            (
                "edge_filter",
                ["weights_trackml_filter.npz", "trackml_filter.torchscript.pt"],
                [],
            ),
        ]:
            with self.subTest(names[0]):
                found = {self.convert_file(family, n, *arguments) for n in names}
                self.assertEqual(len(found), 1)


@unittest.skipUnless(HAVE_TORCH, NO_TORCH)
class TestTorch(ConvertCase):
    def test_state_dict_and_pickle(self) -> None:
        import torch

        network = torch.nn.Sequential(
            torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)
        )
        path = self.path("w.pt")
        torch.save({"network." + k: v for k, v in network.state_dict().items()}, path)
        status, text = self.run_convert(
            "--family", "mlp", "--weights", path, "--out", self.path("m")
        )
        self.assertEqual(status, 0, text)
        tensors, _ = safetensors_file.read(self.path("m"))
        self.assertTrue(
            np.array_equal(
                tensors["embedding.layers.0.weight"],
                network[0].weight.detach().numpy(),
            )
        )
        torch.save(network, path)  # a pickled object, which could run code
        status, text = self.run_convert(
            "--family", "mlp", "--weights", path, "--out", self.path("n")
        )
        self.assertEqual(status, 1)
        self.assertIn("expected a state_dict or a checkpoint", text)
        Path(path).write_bytes(b"no checkpoint at all")
        status, text = self.run_convert(
            "--family", "mlp", "--weights", path, "--out", self.path("n")
        )
        self.assertEqual(status, 1)
        self.assertIn("torch does not read it", text)

    def test_hostile_pickle(self) -> None:
        """A class that would run a command while it is read does not."""
        import torch

        class Hostile:
            def __init__(self, mark: str) -> None:
                self.mark = mark

            def __reduce__(self) -> tuple:
                return os.mkdir, (self.mark,)

        state = {"network.0.weight": torch.ones(2, 3)}
        state["network.0.bias"] = torch.ones(2)
        path = self.path("w.ckpt")
        torch.save({"state_dict": state, "x": Hostile(self.path("mark"))}, path)
        self.run_convert("--family", "mlp", "--weights", path, "--out", self.path("m"))
        self.assertFalse(os.path.exists(self.path("mark")))

    def test_frozen(self) -> None:
        """A frozen module has no names; the chain of its layers gives them."""
        import torch

        warnings.simplefilter("ignore", FutureWarning)
        self.addCleanup(warnings.resetwarnings)
        for norms in (True, False):
            steps = [torch.nn.Linear(3, 4)]
            steps += [torch.nn.LayerNorm(4)] if norms else []
            steps += [torch.nn.Tanh(), torch.nn.Linear(4, 2)]
            module = torch.nn.Sequential(*steps).eval()
            found = []
            for name, frozen in (("a.pt", False), ("b.pt", True)):
                script = torch.jit.trace(module, torch.ones(5, 3))
                if frozen:
                    script = torch.jit.freeze(script)
                    self.assertEqual(len(script.state_dict()), 0)
                torch.jit.save(script, self.path(name))
                status, text = self.run_convert(
                    "--family",
                    "mlp",
                    "--weights",
                    self.path(name),
                    "--out",
                    self.path("m"),
                )
                self.assertEqual(status, 0, text)
                found.append(Path(self.path("m")).read_bytes())
            self.assertEqual(found[0], found[1])


if __name__ == "__main__":
    unittest.main()
