"""torchscript -- weights and facts of a TorchScript archive.

The pickled tree of modules names the class of every layer, and the text of the
code says how they are called. torch.jit.freeze turns parameters into constants
of the graph and forgets their names; there a chain of layers gets names back
from the order of its steps: the names of Exa.TrkX's vanilla networks when
layers share one norm, else of a torch.nn.Sequential. That alone needs torch.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..files.torch_archive import Archive, Inert
from .facts import SETTINGS, ConvertError, Facts, StateDict, with_setting

NORMS = ("LayerNorm", "BatchNorm1d")
EPS = (  # in the code of a scripted norm, or of a traced one
    r"eps : Final\[float\] = (\S+)",
    r"torch\.batch_norm\(.*, (\S+), (?:True|False)\)",
    r"torch\.layer_norm\(.*\], \w+, \w+, ([^,)]+)",
)
SETTING = {  # in the code of a scripted activation, or of a traced one
    "ELU": r"\b(?:alpha : Final\[float\] = |elu_?\(\w+, )([^\s,)]+)",
    "GELU": r'\bapproximate(?: : Final\[str\] = |=)"(\w+)"',
}
STEPS = {  # of a frozen graph
    "aten::layer_norm": "LayerNorm",
    "aten::batch_norm": "BatchNorm1d",
    "aten::relu": "ReLU",
    "aten::relu_": "ReLU",
    "aten::silu": "SiLU",
    "aten::silu_": "SiLU",
    "aten::tanh": "Tanh",
    "aten::tanh_": "Tanh",
    "aten::gelu": "GELU",
    "aten::elu": "ELU",
    "aten::elu_": "ELU",
    "aten::sigmoid": "Sigmoid",
    "aten::dropout": "Dropout",
}


def read_torchscript(archive: Archive) -> tuple[StateDict, Facts]:
    """Arrays by name, and what the modules and their code say."""
    state: StateDict = {}
    facts = Facts(origin="TorchScript")
    top = archive.load()
    code = archive.code()
    if isinstance(top, Inert):
        facts.code = code.get(top.name.rpartition(".")[0], "")
        _walk(top, "", code, state, facts)
    if not state:
        return frozen_state(load_module(archive.path), facts), facts
    facts.settings = {
        name: value
        for name, value in top.state.items()
        if isinstance(value, int) and not isinstance(value, bool)
    }
    return state, facts


def _walk(
    module: Inert, head: str, code: dict[str, str], state: StateDict, facts: Facts
) -> None:
    children = {n: v for n, v in module.state.items() if isinstance(v, Inert)}
    for name, value in module.state.items():
        if isinstance(value, np.ndarray):
            state[head + name] = value
    linear = ""
    for name, child in children.items():
        kind = child.name.rpartition(".")[2]
        facts.kinds[head + name] = kind
        text = code.get(child.name.rpartition(".")[0], "")
        if kind in NORMS:
            found = [match for pattern in EPS if (match := re.search(pattern, text))]
            eps = child.state.get("eps") or (float(found[0][1]) if found else None)
            if eps is not None:
                facts.eps.setdefault(kind, set()).add(float(eps))
        if module.name.endswith(".Sequential"):
            if kind == "Linear":
                linear = head + name
                facts.after[linear] = []
            elif linear:
                facts.after[linear].append(_named(kind, text))
        _walk(child, f"{head}{name}.", code, state, facts)


def _named(kind: str, text: str) -> str:
    """The class of a layer with what its code says of its setting."""
    for value in re.findall(SETTING.get(kind, "$^"), text):
        named = with_setting(kind, float(value) if kind == "ELU" else value)
        if named != kind:
            return named
    return kind


def load_module(path: str) -> Any:
    """The archive as torch runs it."""
    try:
        import torch
    except ImportError:
        raise ConvertError(
            f"{path}: a frozen module needs torch (pip install torch), or its "
            "weights as .npz"
        ) from None
    with warnings.catch_warnings():  # that TorchScript is no longer grown
        warnings.simplefilter("ignore")
        load: Any = torch.jit.load
        return load(path, map_location="cpu")


def frozen_state(module: Any, facts: Facts) -> StateDict:
    """Names and arrays; empty when there are none to be found."""
    layers: list[tuple[Any, Any]] = []
    norms: dict[int, tuple[Any, Any]] = {}  # by the layer before
    after: list[list[str]] = []
    unknown: list[str] = []  # what else reads the end of the last layer
    end = ""
    for node in _nodes(module.graph):
        inputs = [value.node() for value in node.inputs()]
        if node.kind() in ("aten::addmm", "aten::linear"):
            if layers:
                after[-1] += unknown
            weight, bias = (2, 0) if node.kind() == "aten::addmm" else (1, 2)
            matrix = _tensor(inputs[weight])
            matrix = matrix.T if node.kind() == "aten::addmm" else matrix
            layers.append((matrix, _tensor(inputs[bias])))
            after.append([])
            unknown = []
            end = node.output().debugName()
        elif node.kind() in STEPS and layers:
            end = node.output().debugName()
            kind = STEPS[node.kind()]
            if kind in SETTINGS and len(inputs) > 1:
                kind = with_setting(kind, inputs[1].output().toIValue())
            after[-1].append(kind)
            if node.kind() == "aten::batch_norm":
                raise ConvertError("batch norm in a frozen module: save it unfrozen")
            if node.kind() == "aten::layer_norm" and _tensor(inputs[2]) is not None:
                norms[len(layers) - 1] = (_tensor(inputs[2]), _tensor(inputs[3]))
                facts.eps["LayerNorm"] = {inputs[4].output().toIValue()}
        elif end in [value.debugName() for value in node.inputs()]:
            made = [str(value.type()) for value in node.outputs()]
            unknown += [node.kind()] if made == ["Tensor"] else []
    shared = len({weight.ctypes.data for weight, _ in norms.values()}) == 1
    if shared and 0 not in norms and len(norms) == len(layers) - 2:
        names, state = _vanilla(layers, next(iter(norms.values())))
        facts.counts["layernorm"] = len(norms)
    else:
        names, state = _sequential(layers, norms)
    facts.after = dict(zip(names, after, strict=True))
    return state


def _nodes(graph: Any) -> Iterator[Any]:
    """Depth first, as they run."""
    for node in graph.nodes():
        yield node
        for block in node.blocks():
            yield from _nodes(block)


def _tensor(node: Any) -> Any:
    value = node.output().toIValue()
    return None if value is None else value.detach().numpy()


def _vanilla(
    layers: list[tuple[Any, Any]], norm: tuple[Any, Any]
) -> tuple[list[str], StateDict]:
    inner = [f"layers.{k}" for k in range(len(layers) - 2)]
    state = {"layernorm.weight": norm[0], "layernorm.bias": norm[1]}
    names = ["input_layer", *inner, "output_layer"]
    for name, (weight, bias) in zip(names, layers, strict=True):
        state |= {f"{name}.weight": weight, f"{name}.bias": bias}
    return names, state


def _sequential(
    layers: list[tuple[Any, Any]], norms: dict[int, tuple[Any, Any]]
) -> tuple[list[str], StateDict]:
    step = 3 if norms else 2
    names = [f"network.{k * step}" for k in range(len(layers))]
    state: StateDict = {}
    for k, (weight, bias) in enumerate(layers):
        state |= {f"{names[k]}.weight": weight, f"{names[k]}.bias": bias}
        if k in norms:
            state[f"network.{k * step + 1}.weight"] = norms[k][0]
            state[f"network.{k * step + 1}.bias"] = norms[k][1]
    return names, state
