"""onnx -- weights and facts of an ONNX file, by the package onnx.

Exports of PyTorch keep the names of the parameters; what follows each linear
(norm, activation) is read from the nodes after it. Weights that an exporter
renamed because it transposed them get their names from the bias. Where biases
have other names, as in files of tf2onnx, the linears must be one sequence, and
are numbered as torch.nn.Sequential numbers them.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .facts import SETTINGS, ConvertError, Facts, StateDict, with_setting

ACTIVATIONS = {"Relu": "ReLU", "Tanh": "Tanh", "Elu": "ELU", "Gelu": "GELU"}
REFUSED = (  # the library has none of these
    "Celu Clip HardSigmoid HardSwish LeakyRelu Mish PRelu Selu Softplus Softsign "
    "ThresholdedRelu"
).split()


def read_onnx(path: str) -> tuple[StateDict, Facts]:
    """Arrays by PyTorch's names, and what the graph says."""
    try:
        import onnx
    except ImportError:
        raise ConvertError(
            f"{path}: needs the package onnx (pip install onnx), or the weights as .npz"
        ) from None
    try:
        model = onnx.load(path, load_external_data=False)
        graph = _Graph(path, model.graph, onnx)
    except ConvertError:
        raise
    except Exception as error:  # of protobuf
        raise ConvertError(f"{path}: onnx does not read it: {error}") from None
    return graph.read()


class _Graph:
    def __init__(self, path: str, graph: Any, onnx: Any) -> None:
        self.path = path
        self.nodes = list(graph.node)
        self.attribute = onnx.helper.get_attribute_value
        self.arrays: StateDict = {}
        for tensor in graph.initializer:
            if tensor.external_data:
                raise ConvertError(f"{path}: {tensor.name} is in another file")
            self.arrays[tensor.name] = onnx.numpy_helper.to_array(tensor)
        for node in self.nodes:  # an exporter keeps equal arrays once
            if node.op_type == "Identity" and node.input[0] in self.arrays:
                self.arrays[node.output[0]] = self.arrays[node.input[0]]
        self.numbered = 0  # linears without names of PyTorch
        self.last: Any = None  # of them
        self.constants = dict(self.arrays)
        for node in self.nodes:
            value = self.get(node, "value") if node.op_type == "Constant" else None
            if value is not None:
                self.constants[node.output[0]] = onnx.numpy_helper.to_array(value)
        self.makers = {out: node for node in self.nodes for out in node.output}
        self.readers: dict[str, list[Any]] = {}
        for node in self.nodes:
            for name in node.input:
                self.readers.setdefault(name, []).append(node)

    def get(self, node: Any, name: str, default: Any = None) -> Any:
        found = [self.attribute(a) for a in node.attribute if a.name == name]
        return found[0] if found else default

    def read(self) -> tuple[StateDict, Facts]:
        facts = Facts(origin="ONNX")
        linears: StateDict = {}
        for node in self.nodes:
            linear = self.linear(node)
            if linear is None:
                continue
            name, weight, end = linear
            linears[f"{name}.weight"] = weight
            after = self.after(end, facts) if weight.shape[0] != 1 else []
            if name.isdigit():
                linears[f"{name}.bias"] = self.bias_behind(node)
            if facts.after.setdefault(name, after) != after:
                raise ConvertError(
                    f"{self.path}: after {name} come {after} and elsewhere "
                    f"{facts.after[name]}"
                )
            facts.counts[name] = facts.counts.get(name, 0) + 1
        if not linears:
            raise ConvertError(f"{self.path}: no linear layers with names are in it")
        for name, n in list(facts.counts.items()):
            facts.counts.setdefault(name.split(".")[0], n)
        scatter = [n for n in self.nodes if n.op_type == "ScatterElements"]
        if any(self.get(n, "reduction", b"none") == b"none" for n in scatter):
            facts.notes.append(
                "the ONNX file writes messages over each other (ScatterElements "
                "without reduction), which is an error of its export; the model "
                "adds them up as the network that it was made from"
            )
        state = {
            name: value
            for name, value in self.arrays.items()
            if name.endswith((".weight", ".bias", ".running_mean", ".running_var"))
        }
        return state | linears, facts

    def linear(self, node: Any) -> tuple[str, np.ndarray, str] | None:
        """Name, weight [n_out, n_in] and output of a linear."""
        if node.op_type not in ("Gemm", "MatMul") or len(node.input) < 2:
            return None
        weight = self.constants.get(node.input[1])
        if weight is None or weight.ndim != 2:
            return None
        end = node
        transposed = node.op_type == "Gemm" and self.get(node, "transB", 0)
        if node.op_type == "MatMul":
            adds = [n for n in self.readers.get(node.output[0], ())]
            if len(adds) != 1 or adds[0].op_type != "Add":
                raise ConvertError(f"{self.path}: {node.name}: a linear without bias")
            end = adds[0]
        bias = [n for n in end.input if n in self.arrays and n.endswith(".bias")]
        if not bias:
            bias = [self.number(node)]
        factors = self.get(node, "alpha", 1.0), self.get(node, "beta", 1.0)
        if factors != (1.0, 1.0) or self.get(node, "transA", 0):
            raise ConvertError(f"{self.path}: {node.name}: alpha, beta or transA")
        name = bias[0].removesuffix(".bias")
        return name, weight if transposed else weight.T, end.output[0]

    def number(self, node: Any) -> str:
        """A name as in a Sequential, for the next linear of one sequence."""
        source = node.input[0]
        while (maker := self.makers.get(source)) is not None:
            if maker.op_type in ("MatMul", "Gemm"):
                break
            inputs = [name for name in maker.input if name not in self.constants]
            if len(set(inputs)) != 1 and maker.op_type != "Mul":  # of SiLU
                raise ConvertError(
                    f"{self.path}: {node.name or node.op_type}: a linear whose bias "
                    "has no name of PyTorch, of a network that is no sequence"
                )
            source = inputs[0]
        if maker is not self.last:
            raise ConvertError(
                f"{self.path}: {node.name or node.op_type}: a linear whose bias has "
                "no name of PyTorch, besides others"
            )
        self.numbered += 1
        self.last = node
        return f"{2 * (self.numbered - 1)}.bias"

    def bias_behind(self, node: Any) -> np.ndarray:
        """Of a linear without names."""
        end = node if node.op_type == "Gemm" else self.only(node.output[0])
        names = end.input[2:] if end is node else end.input
        values = [self.constants[n] for n in names if n in self.constants]
        if len(values) != 1 or values[0].ndim != 1:
            raise ConvertError(f"{self.path}: {node.name}: a linear without bias")
        return values[0]

    def after(self, value: str, facts: Facts) -> list[str]:
        """The classes of torch.nn after a value, up to what is no layer."""
        found: list[str] = []
        while True:
            step = self.step(value, facts)
            if step is None:
                return found
            kind, value = step
            found += [kind] if kind else []

    def step(self, value: str, facts: Facts) -> tuple[str, str] | None:
        readers = self.readers.get(value, [])
        kinds = sorted(node.op_type for node in readers)
        by_kind = {node.op_type: node for node in readers}
        if kinds == ["ReduceMean", "Sub"]:
            return self.layer_norm(by_kind["Sub"].output[0], facts)
        if kinds == ["Mul", "Sigmoid"]:
            return "SiLU", by_kind["Mul"].output[0]
        if kinds == ["Div", "Mul"] and self.has("Erf", by_kind["Div"]):
            return "GELU", self.only(by_kind["Mul"].output[0]).output[0]
        if len(readers) != 1:
            return None
        node = readers[0]
        if node.op_type in ("LayerNormalization", "BatchNormalization"):
            kind = {"L": "LayerNorm", "B": "BatchNorm1d"}[node.op_type[0]]
            if kind == "BatchNorm1d":
                self.statistics(node)
            facts.eps.setdefault(kind, set()).add(
                _rounded(self.get(node, "epsilon", 1e-5))
            )
            return kind, node.output[0]
        if node.op_type in ACTIVATIONS:
            kind = ACTIVATIONS[node.op_type]
            if kind in SETTINGS:
                value = self.get(node, SETTINGS[kind][0])
                value = value.decode() if isinstance(value, bytes) else value
                kind = with_setting(kind, value)
            return kind, node.output[0]
        if node.op_type in REFUSED:
            return node.op_type, node.output[0]
        if node.op_type in ("Identity", "Dropout"):
            return "", node.output[0]
        return None

    def statistics(self, node: Any) -> None:
        """The running means of a batch norm, by the name of its bias."""
        names = list(node.input)[1:5]  # weight, bias, mean, variance
        if any(name not in self.constants for name in names) or self.get(
            node, "training_mode", 0
        ):
            raise ConvertError(f"{self.path}: a batch norm in training mode")
        head = names[1].removesuffix(".bias")
        for name, kind in zip(names[2:], ("mean", "var"), strict=True):
            self.arrays[f"{head}.running_{kind}"] = self.constants[name]

    def only(self, value: str) -> Any:
        readers = self.readers.get(value, [])
        if len(readers) != 1:
            raise ConvertError(f"{self.path}: {value} is read {len(readers)} times")
        return readers[0]

    def has(self, kind: str, node: Any) -> bool:
        return any(n.op_type == kind for n in self.readers.get(node.output[0], ()))

    def layer_norm(self, centred: str, facts: Facts) -> tuple[str, str]:
        """A norm that was exported as its single steps."""
        by_kind = {node.op_type: node for node in self.readers[centred]}
        if set(by_kind) != {"Pow", "Div"}:
            raise ConvertError(f"{self.path}: {centred}: no step of a layer norm")
        add = self.only(self.only(by_kind["Pow"].output[0]).output[0])
        eps = [self.constants[n] for n in add.input if n in self.constants]
        if add.op_type != "Add" or len(eps) != 1:
            raise ConvertError(f"{self.path}: {centred}: no step of a layer norm")
        facts.eps.setdefault("LayerNorm", set()).add(_rounded(eps[0]))
        end = by_kind["Div"].output[0]
        scale = self.readers.get(end, [])
        if len(scale) == 1 and scale[0].op_type == "Mul":
            if any(name in self.arrays for name in scale[0].input):
                end = self.only(scale[0].output[0]).output[0]
        return "LayerNorm", end


def _rounded(value: Any) -> float:
    """Without the digits that float32 adds."""
    return float(f"{float(value):.6g}")
