"""test_convert_files -- checkpoints of torch, and the public trained networks.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import unittest
import warnings
from pathlib import Path

import numpy as np
from convert_case import ConvertCase

from exatrkx.files import safetensors
from support import REFERENCE, needs

MODELS = REFERENCE / "exatrkx_models"


@unittest.skipUnless(MODELS.is_dir(), f"no {MODELS} (ETX_REFERENCE_DATA)")
class TestReference(ConvertCase):
    """The trained networks that are public."""

    def convert_file(self, family: str, name: str, *arguments: str) -> bytes:
        path = self.convert_well(family, str(MODELS / name), *arguments)
        return Path(path).read_bytes()

    def test_npz(self) -> None:
        for family, name, n_values in [
            ("attention_gnn", "weights_lrt_gnn.npz", 44803),
            ("attention_gnn", "weights_trackml_gnn.npz", 26433),
            ("edge_filter", "weights_trackml_filter.npz", None),
        ]:
            with self.subTest(name):
                tensors, _ = safetensors.parse(self.convert_file(family, name))
                with np.load(str(MODELS / name)) as weights:
                    expected = sum(value.size for value in weights.values())
                found = sum(value.size for value in tensors.values())
                self.assertEqual(found, expected)
                if n_values is not None:
                    self.assertEqual(found, n_values)

    @needs("torch")
    def test_formats_agree(self) -> None:
        hparams = str(MODELS / "lrt_gnn.hparams.yaml")
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


@needs("torch")
class TestTorch(ConvertCase):
    def test_state_dict_and_pickle(self) -> None:
        import torch

        network = torch.nn.Sequential(
            torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)
        )
        path = self.path("w.pt")
        torch.save({"network." + k: v for k, v in network.state_dict().items()}, path)
        status, text = self.convert("mlp", path, out="m")
        self.assertEqual(status, 0, text)
        tensors, _ = safetensors.read(self.path("m"))
        self.assertTrue(
            np.array_equal(
                tensors["embedding.layers.0.weight"], network[0].weight.detach().numpy()
            )
        )
        torch.save(network, path)  # a pickled object, which could run code
        status, text = self.convert("mlp", path, out="n")
        self.assertEqual(status, 1)
        self.assertIn("expected a state_dict or a checkpoint", text)
        Path(path).write_bytes(b"no checkpoint at all")
        status, text = self.convert("mlp", path, out="n")
        self.assertEqual(status, 1)
        self.assertIn("torch does not read it", text)

    @needs("onnx")
    def test_tf2onnx(self) -> None:
        """Dense layers of Keras as tf2onnx writes them: MatMul, Add, activation."""
        from onnx import TensorProto, helper, numpy_helper, save

        rng = np.random.default_rng(2)
        nodes, tensors, at = [], [], "input_1"
        for k, (n_in, n) in enumerate([(3, 16), (16, 16), (16, 4)]):
            head = f"StatefulPartitionedCall/model/dense_{k}"
            names = [f"{head}/{op}/ReadVariableOp:0" for op in ("MatMul", "BiasAdd")]
            values = rng.normal(size=(n_in, n)), rng.normal(size=n)
            for name, value in zip(names, values, strict=True):
                tensors.append(numpy_helper.from_array(value.astype("f4"), name))
            nodes.append(helper.make_node("MatMul", [at, names[0]], [f"{head}:0"]))
            nodes.append(
                helper.make_node("Add", [f"{head}:0", names[1]], [f"{head}/B:0"])
            )
            at = f"{head}/B:0"
            if k < 2:
                nodes.append(helper.make_node("Relu", [at], [f"{head}/Relu:0"]))
                at = f"{head}/Relu:0"
        ends = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", width])
            for name, width in (("input_1", 3), (at, 4))
        ]
        path = self.path("w.onnx")
        for extra, text in ((0, "largest difference of a point"), (1, "no sequence")):
            if extra:  # the input again, after the first layer
                both = [nodes[2].output[0], "input_1"]
                nodes.insert(3, helper.make_node("Concat", both, ["x"], axis=1))
                nodes[4].input[0] = "x"
            graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], tensors)
            save(helper.make_model(graph), path)
            status, found = self.convert("mlp", "w.onnx")
            self.assertEqual(status, extra, found)
            self.assertIn(text, found)

    @needs("onnx")
    def test_onnx_activations(self) -> None:
        """Of an unknown activation, or another setting of one, no model."""
        from onnx import TensorProto, helper, numpy_helper, save

        tensors = [
            numpy_helper.from_array(np.ones(shape, "f4"), f"network.{name}")
            for name, shape in (
                ("0.weight", (8, 3)), ("0.bias", 8), ("2.weight", (4, 8)), ("2.bias", 4)
            )
        ]  # fmt: skip
        ends = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", width])
            for name, width in (("x", 3), ("y", 4))
        ]
        for kind, setting, said in (
            ("Elu", {"alpha": 0.25}, r"activation ELU\(alpha=0.25\)"),
            ("Gelu", {"approximate": "tanh"}, r"activation GELU\(approximate=tanh\)"),
            ("LeakyRelu", {}, "activation LeakyRelu"),
            ("Exp", {}, "no activation that is known"),
        ):
            gemm = [
                helper.make_node(
                    "Gemm", [at, f"network.{k}.weight", f"network.{k}.bias"], [out],
                    transB=1,
                )
                for at, k, out in (("x", 0, "a"), ("b", 2, "y"))
            ]  # fmt: skip
            between = helper.make_node(kind, ["a"], ["b"], **setting)
            nodes = [gemm[0], between, gemm[1]]
            graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], tensors)
            save(helper.make_model(graph), self.path("w.onnx"))
            with self.subTest(kind):
                status, text = self.convert("mlp", "w.onnx", "--no-check")
                self.assertEqual(status, 1, text)
                self.assertRegex(text, said)

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
        self.convert("mlp", path)
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
                status, text = self.convert("mlp", name, out="m")
                self.assertEqual(status, 0, text)
                found.append(Path(self.path("m")).read_bytes())
            self.assertEqual(found[0], found[1])
