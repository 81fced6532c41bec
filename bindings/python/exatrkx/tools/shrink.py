"""shrink -- a smaller model: fewer units, small weights to zero, fewer bits.

    exatrkx shrink MODEL --out M [--narrow F] [--prune F]
        [--quantise fp16|int8]

Narrowing removes the fraction F of the units of every layer of the filter and of
the graph network, as rows and columns (Li et al., arXiv:1608.08710), so that the
time falls, too: those whose gain, or incoming weights, times their outgoing weights
is smallest. Latents of nodes and edges have the same units in all iterations.
Train on from the result with etx-train --start, the filter first.

Magnitude pruning (Han et al., arXiv:1506.02626) sets the fraction F of every
weight matrix that is smallest in magnitude to zero, at most: equal weights go
together or stay. Quantisation stores the matrices as IEEE binary16, or as
integers of eight bits with one scale a row, max |w| / 127 (symmetric, rounded
to the nearest). Biases and norms keep their 32 bits. The library computes in
float32 with the rounded weights. What it costs in physics is for
etx-find-tracks and etx-evaluate to say.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..files import safetensors
from . import model_change
from .model_change import change_model
from .widen import DEFAULT_HIDDEN, FAMILY, refuse_bytes

SCALE = ".scale"
TABLES = ("completion.", "first_pass.", "module_map.")  # no weights
PLAIN = {"hidden", "n_iterations", "activation", "norm"}  # options of the graph network
PLAIN |= {f"{name}_layers" for name in ("encoder", "edge_encoder", "node", "edge")}
LARGEST_INTEGER = 127
LARGEST_HALF = float(np.finfo(np.float16).max)


class ShrinkError(ValueError):
    """A model that cannot be made smaller as requested."""


def prune(weight: np.ndarray, fraction: float) -> np.ndarray:
    """The matrix with at most this fraction of its entries set to zero."""
    n = int(fraction * weight.size)
    if n == 0:
        return weight
    sizes = np.abs(weight)
    threshold = np.partition(sizes, n, axis=None)[n] if n < weight.size else np.inf
    return np.where(sizes < threshold, np.float32(0), weight)


@dataclass
class Units:
    """Outputs of these layers, unit by unit, and the columns that read them."""

    outputs: list[str]
    readers: list[tuple[str, int]]  # layer, first column


def inner_units(tensors: safetensors.Tensors, perceptron: str) -> list[Units]:
    """Of all layers of a perceptron but the last."""
    found = []
    k = 0
    while f"{perceptron}.{k + 1}.weight" in tensors:
        found.append(Units([f"{perceptron}.{k}"], [(f"{perceptron}.{k + 1}", 0)]))
        k += 1
    return found


def units_of_graph_network(
    tensors: safetensors.Tensors, options: dict[str, Any]
) -> list[Units]:
    """Of an interaction network whose wiring is the default one."""
    if not PLAIN.issuperset(options):
        raise ShrinkError("--narrow: the graph network has other options than its size")
    hidden = options.get("hidden", DEFAULT_HIDDEN)
    perceptrons = {name.rsplit(".", 2)[0] for name in tensors if name.startswith("gnn.")}
    found = []
    latents = {"node": Units([], []), "edge": Units([], [])}
    for name in sorted(perceptrons):
        inner = inner_units(tensors, name)
        found += inner
        kind, _, what = name.removeprefix("gnn.").partition("_")
        if kind in latents:
            latents[kind].outputs.append(f"{name}.{len(inner)}")
        if what != "encoder":
            inputs = ("node", "edge", "edge") if kind == "node" else ("node", "node", "edge")
            for k, latent in enumerate(inputs):
                latents[latent].readers.append((f"{name}.0", k * hidden))
    return found + list(latents.values())


def importance(tensors: safetensors.Tensors, units: Units) -> np.ndarray:
    """What a unit can give to those that read it, as a product of norms."""

    given = np.zeros(len(tensors[units.outputs[0] + ".bias"]), np.float32)
    taken = np.zeros_like(given)
    for layer in units.outputs:
        if layer + ".gain" in tensors:
            given += tensors[layer + ".gain"] ** 2 + tensors[layer + ".shift"] ** 2
        else:
            given += (tensors[layer + ".weight"] ** 2).sum(1)
    for layer, k in units.readers:
        columns = tensors[layer + ".weight"][:, k : k + len(given)]
        taken += (columns**2).sum(0)
    return given * taken


def narrow(
    tensors: safetensors.Tensors, config: dict[str, Any], fraction: float
) -> safetensors.Tensors:
    """The tensors with fewer units; config is changed."""
    refuse_bytes(tensors)
    families = [config.get(stage, {}).get("arch") for stage in ("filter", "gnn")]
    if families != ["edge_filter", FAMILY]:
        raise ShrinkError(f"--narrow: needs an edge_filter and an {FAMILY}")
    network = config["gnn"].setdefault("options", {})
    layers = inner_units(tensors, "filter.layers")
    rows: dict[str, np.ndarray] = {}
    columns: dict[str, np.ndarray] = {}
    for units in layers + units_of_graph_network(tensors, network):
        worth = importance(tensors, units)
        n_gone = int(fraction * len(worth))
        stays = np.ones(len(worth), bool)
        stays[np.argsort(worth, kind="stable")[:n_gone]] = False
        rows.update(dict.fromkeys(units.outputs, stays))
        for layer, k in units.readers:
            n_in = tensors[layer + ".weight"].shape[1]
            columns.setdefault(layer, np.ones(n_in, bool))[k : k + len(worth)] = stays
    out = dict(tensors)
    for name, array in tensors.items():
        layer = name.rpartition(".")[0]
        if layer in rows:
            out[name] = array = array[rows[layer]]
        if layer in columns and array.ndim == 2:
            out[name] = array[:, columns[layer]]
    widths = [int(rows[units.outputs[0]].sum()) for units in layers]
    config["filter"].setdefault("options", {})["hidden"] = widths
    network["hidden"] = len(out["gnn.node_encoder.0.bias"])
    describe(config, "narrow", fraction)
    return out


def to_half(name: str, weight: np.ndarray) -> dict[str, np.ndarray]:
    if np.abs(weight).max(initial=0) > LARGEST_HALF:
        raise ShrinkError(f"{name}: a weight is beyond {LARGEST_HALF:g}")
    return {name: weight.astype(np.float16)}


def to_bytes(name: str, weight: np.ndarray) -> dict[str, np.ndarray]:
    scale = np.abs(weight).max(axis=1, initial=0) / np.float32(LARGEST_INTEGER)
    # Below this a row divided by its scale would not be finite.
    scale = np.where(scale < np.finfo(np.float32).tiny, 0, scale).astype(np.float32)
    divisor = np.where(scale > 0, scale, 1)[:, None]
    rounded = np.where(scale[:, None] > 0, np.rint(weight / divisor), 0)
    rounded = np.clip(rounded, -LARGEST_INTEGER, LARGEST_INTEGER)
    return {name: rounded.astype(np.int8), name + SCALE: scale}


QUANTISE = {"fp16": to_half, "int8": to_bytes}


def shrink(
    tensors: safetensors.Tensors, fraction: float, bits: str | None
) -> safetensors.Tensors:
    """The tensors of a model file, pruned and stored as requested."""
    out: safetensors.Tensors = {}
    for name, array in tensors.items():
        if name.startswith(TABLES):
            out[name] = array
            continue
        if array.dtype != np.float32:
            raise ShrinkError(f"{name}: not of dtype F32; is the model small already?")
        if array.ndim != 2:
            out[name] = array
            continue
        weight = prune(array, fraction)
        out.update(QUANTISE[bits](name, weight) if bits else {name: weight})
    return out


def describe(config: dict[str, Any], name: str, done: object) -> None:
    """Add what was done to the provenance, or replace what is no object."""
    known = config.get("training")
    config["training"] = (known if isinstance(known, dict) else {}) | {name: done}


def parse_fraction(text: str) -> float:
    fraction = float(text)
    if not 0 <= fraction < 1:
        raise argparse.ArgumentTypeError(f"{text} is not in [0, 1)")
    return fraction


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = model_change.parser(
        "shrink", __doc__.partition("\n")[0], "the smaller one"
    )
    parser.add_argument(
        "--narrow", type=parse_fraction, default=0.0, metavar="F",
        help="remove this fraction of the units of filter and graph network",
    )
    parser.add_argument(
        "--prune", type=parse_fraction, default=0.0, metavar="F",
        help="set this fraction of every weight matrix to zero",
    )
    parser.add_argument(
        "--quantise", choices=sorted(QUANTISE), help="store weight matrices so"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse_arguments(arguments)

    def change(
        config: dict[str, Any], tensors: safetensors.Tensors
    ) -> safetensors.Tensors:
        if options.narrow > 0:
            tensors = narrow(tensors, config, options.narrow)
        done = {"prune": options.prune, "quantise": options.quantise or "none"}
        describe(config, "shrink", done)
        return shrink(tensors, options.prune, options.quantise)

    found = change_model("shrink", options, change)
    if found is None:
        return 1
    _, tensors, path = found
    before, after = os.path.getsize(path), os.path.getsize(options.out)
    matrices = [
        array
        for name, array in tensors.items()
        if array.ndim == 2 and not name.startswith(TABLES)
    ]
    n_zero = sum(int((array == 0).sum()) for array in matrices)
    n = sum(array.size for array in matrices)
    print(f"{before} -> {after} bytes, {n_zero} of {n} weights are zero")
    return 0
