"""onnx_networks -- the networks as ONNX graphs, run by ONNX Runtime.

Written node by node from the weights of a model file: exporters differ in how
they write a scatter, and wrongly written ones lose edges.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from . import networks
from .stage import Run

OPERATOR_SET, FILE_VERSION = 18, 10
NORM_EPS = 1e-5
CPU = ("CPUExecutionProvider",)


class Graph:
    """An ONNX graph that grows a node at a time."""

    def __init__(self, tensors: Mapping[str, np.ndarray]) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, np.ndarray] = {}
        self.tensors = tensors

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Append a node; the name of its output."""
        name = f"{operator}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    def constant(self, name: str, values: np.ndarray | None = None) -> str:
        """A weight by its name, or values under a name of their own."""
        self.constants[name] = self.tensors[name] if values is None else values
        return name

    def linear(self, values: str, name: str) -> str:
        weight, bias = (self.constant(f"{name}.{part}") for part in ("weight", "bias"))
        return self.node("Gemm", values, weight, bias, transB=1)

    def norm(self, values: str, name: str) -> str:
        gain, shift = (self.constant(f"{name}.{part}") for part in ("gain", "shift"))
        return self.node(
            "LayerNormalization", values, gain, shift, axis=-1, epsilon=NORM_EPS
        )

    def perceptron(self, values: str, prefix: str, n_layers: int) -> str:
        """Linears, each with norm and ReLU where the weights hold a norm."""
        for k in range(n_layers):
            values = self.linear(values, f"{prefix}.{k}")
            if f"{prefix}.{k}.gain" in self.tensors:
                values = self.node("Relu", self.norm(values, f"{prefix}.{k}"))
        return values

    def scores(self, logits: str) -> str:
        """Sigmoid of [n, 1] as [n]."""
        axis = self.constant("last_axis", np.array([1], np.int64))
        return self.node("Sigmoid", self.node("Squeeze", logits, axis))

    def session(
        self,
        inputs: Mapping[str, Sequence[int | str]],
        output: str,
        n_threads: int,
        providers: Sequence[str] = CPU,
        is_int8: bool = False,
    ) -> onnxruntime.InferenceSession:
        """inputs: shapes by name; src and dst are int64, others float32."""
        kinds = dict.fromkeys(inputs, TensorProto.FLOAT)
        kinds |= dict.fromkeys(("src", "dst"), TensorProto.INT64)
        infos = [
            helper.make_tensor_value_info(name, kinds[name], shape)
            for name, shape in inputs.items()
        ]
        result = helper.make_tensor_value_info(output, TensorProto.FLOAT, None)
        constants = [
            numpy_helper.from_array(values, name)
            for name, values in self.constants.items()
        ]
        graph = helper.make_graph(self.nodes, "network", infos, [result], constants)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPERATOR_SET)],
            ir_version=FILE_VERSION,
        )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = n_threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        return onnxruntime.InferenceSession(
            int8(model) if is_int8 else model.SerializeToString(),
            options,
            providers=list(providers),
        )


def int8(model: Any) -> bytes:
    """The model with products of int8, scaled by the values of each call."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "int8.onnx"
        quantize_dynamic(model, path, per_channel=True, weight_type=QuantType.QInt8)
        return path.read_bytes()


def in_batches(
    session: onnxruntime.InferenceSession, feeds: Sequence[Mapping[str, np.ndarray]]
) -> Run:
    """The first output, of one batch of inputs after the other."""

    def call() -> np.ndarray:
        return np.concatenate([session.run(None, feed)[0] for feed in feeds])

    return Run(call)


def embedding(
    tensors: Mapping[str, np.ndarray],
    n_threads: int,
    providers: Sequence[str] = CPU,
    is_int8: bool = False,
) -> onnxruntime.InferenceSession:
    graph = Graph(tensors)
    values = "x"
    for k in range(len(networks.EMBEDDING.widths) - 1):
        if k > 0:
            values = graph.node("Relu", values)
        values = graph.linear(values, f"embedding.layers.{k}")
    shape = ("n", networks.EMBEDDING.widths[0])
    return graph.session({"x": shape}, values, n_threads, providers, is_int8)


def edge_filter(
    tensors: Mapping[str, np.ndarray],
    n_threads: int,
    providers: Sequence[str] = CPU,
    is_int8: bool = False,
) -> onnxruntime.InferenceSession:
    graph = Graph(tensors)
    n_layers = len(networks.FILTER_WIDTHS) - 1
    ends = [graph.node("Gather", "x", end, axis=0) for end in ("src", "dst")]
    values = graph.linear(graph.node("Concat", *ends, axis=1), "filter.layers.0")
    for k in range(1, n_layers - 1):
        values = graph.node("Tanh", graph.linear(values, f"filter.layers.{k}"))
        values = graph.norm(values, "filter.norm")
    output = graph.scores(graph.linear(values, f"filter.layers.{n_layers - 1}"))
    inputs = {"x": ("n", networks.FILTER_WIDTHS[0] // 2), "src": ("m",), "dst": ("m",)}
    return graph.session(inputs, output, n_threads, providers, is_int8)


def interaction_network(
    tensors: Mapping[str, np.ndarray], n_threads: int, providers: Sequence[str] = CPU
) -> onnxruntime.InferenceSession:
    graph = Graph(tensors)
    n_layers = networks.GNN_LAYERS
    column = graph.constant("column", np.array([1], np.int64))
    index = {end: graph.node("Unsqueeze", end, column) for end in ("src", "dst")}
    zero = graph.constant("zero", np.zeros(1, np.float32))

    def on_edges(x: str, e: str | None, name: str) -> str:
        parts = [graph.node("Gather", x, end, axis=0) for end in ("src", "dst")]
        values = graph.node("Concat", *parts, *([e] if e else []), axis=1)
        return graph.perceptron(values, name, n_layers)

    x = graph.perceptron("x", "gnn.node_encoder", n_layers)
    e = on_edges(x, None, "gnn.edge_encoder")
    for _ in range(networks.GNN_ITERATIONS):
        messages = graph.node("Mul", x, zero)
        for end in ("src", "dst"):
            messages = graph.node("ScatterND", messages, index[end], e, reduction="add")
        inputs = graph.node("Concat", x, messages, axis=1)
        update = graph.perceptron(inputs, "gnn.node_network", n_layers)
        x = graph.node("Add", update, x)
        e = graph.node("Add", on_edges(x, e, "gnn.edge_network"), e)
    output = graph.scores(on_edges(x, e, "gnn.decoder"))
    shapes = {"x": ("n", networks.GNN_FEATURES), "src": ("m",), "dst": ("m",)}
    return graph.session(shapes, output, n_threads, providers)
