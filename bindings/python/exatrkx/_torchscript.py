"""_torchscript -- weights of a frozen TorchScript module.

torch.jit.freeze turns parameters into constants of the graph and forgets
their names. A chain of layers gets names back from the order of its steps:
the names of Exa.TrkX's vanilla networks when layers share one norm, else of
a torch.nn.Sequential.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def frozen_state(module: Any) -> dict[str, Any]:
    """Names and tensors; empty when there are none to be found."""
    layers: list[tuple[Any, Any]] = []
    norms: dict[int, tuple[Any, Any]] = {}  # by the layer before
    for node in _nodes(module.graph):
        inputs = [value.node() for value in node.inputs()]
        if node.kind() == "aten::addmm":
            layers.append((_tensor(inputs[2]).t(), _tensor(inputs[0])))
        elif node.kind() == "aten::linear":
            layers.append((_tensor(inputs[1]), _tensor(inputs[2])))
        elif node.kind() == "aten::layer_norm" and layers:
            norms[len(layers) - 1] = (_tensor(inputs[2]), _tensor(inputs[3]))
    shared = len({weight.data_ptr() for weight, _ in norms.values()}) == 1
    if shared and 0 not in norms and len(norms) == len(layers) - 2:
        return _vanilla(layers, next(iter(norms.values())))
    return _sequential(layers, norms)


def _nodes(graph: Any) -> Iterator[Any]:
    """Depth first, as they run."""
    for node in graph.nodes():
        yield node
        for block in node.blocks():
            yield from _nodes(block)


def _tensor(node: Any) -> Any:
    return node.output().toIValue()


def _vanilla(layers: list[tuple[Any, Any]], norm: tuple[Any, Any]) -> dict[str, Any]:
    inner = [f"layers.{k}" for k in range(len(layers) - 2)]
    state = {"layernorm.weight": norm[0], "layernorm.bias": norm[1]}
    names = ["input_layer", *inner, "output_layer"]
    for name, (weight, bias) in zip(names, layers, strict=True):
        state |= {f"{name}.weight": weight, f"{name}.bias": bias}
    return state


def _sequential(
    layers: list[tuple[Any, Any]], norms: dict[int, tuple[Any, Any]]
) -> dict[str, Any]:
    step = 3 if norms else 2
    state = {}
    for k, (weight, bias) in enumerate(layers):
        state[f"network.{k * step}.weight"] = weight
        state[f"network.{k * step}.bias"] = bias
        if k in norms:
            state[f"network.{k * step + 1}.weight"] = norms[k][0]
            state[f"network.{k * step + 1}.bias"] = norms[k][1]
    return state
