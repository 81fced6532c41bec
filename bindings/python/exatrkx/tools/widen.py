"""widen -- a larger graph network that starts as the one that was trained.

    exatrkx widen MODEL --out M [--factor 2] [--node-feature lx=0.2]

Net2WiderNet (Chen, Goodfellow, Shlens, arXiv:1511.05641, section 3.1): every
unit of the interaction network becomes `factor` copies of itself, which share
what it gave to the next layer. Layer norms and sums over edges see equal copies
and stay as they are, so the scores are the same up to rounding. The shares are
drawn at random, or the copies would stay equal in training. A node feature that
is added has weights of zero. The stages before the graph network, and what is
chosen with it (cuts, labels), are kept: train on from the result with
etx-train --start.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse

import numpy as np

from ..files import safetensors
from . import model_change
from .model_change import Config, change_model

PREFIX = "gnn."
FAMILY = "interaction_network"
DEFAULT_HIDDEN = 32
ONE_OUTPUT = ("decoder", "transform")
# Shares of copies lie within this of an equal one, relative to it.
SPREAD = 0.7


class WidenError(ValueError):
    """A model that cannot be widened as requested."""


def find_network(config: Config) -> Config:
    network: Config | None = config.get("gnn")
    if network is None:
        raise WidenError("the model has no graph network")
    if network.get("arch") != FAMILY:
        raise WidenError(f"the graph network is no {FAMILY}: {network.get('arch')}")
    return network


def refuse_bytes(tensors: safetensors.Tensors) -> None:
    """Weights that shrink stored as integers with a scale."""
    for name in tensors:
        if name.endswith(".scale"):
            raise WidenError(f"{name}: weights are quantised already")


def draw_shares(
    factor: int, shape: tuple[int, ...], random: np.random.Generator
) -> np.ndarray:
    """[factor, *shape], sums over the first axis are 1."""
    shares = 1 + SPREAD * random.uniform(-1, 1, (factor, *shape))
    shares /= shares.sum(0)
    return shares


def widen_inputs(
    weight: np.ndarray, hidden: int, factor: int, random: np.random.Generator
) -> np.ndarray:
    """Columns are latents side by side, each of width hidden."""
    n_out, n_in = weight.shape
    if n_in % hidden != 0:
        raise WidenError(f"{n_in} inputs are no whole number of latents of {hidden}")
    blocks = weight.astype(np.float64).reshape(n_out, n_in // hidden, hidden)
    shared = draw_shares(factor, blocks.shape, random) * blocks
    return np.moveaxis(shared, 0, 2).reshape(n_out, factor * n_in)


def is_encoder_input(name: str) -> bool:
    return name in ("node_encoder.0.weight", "edge_encoder.0.weight")


def has_one_output(name: str, tensors: safetensors.Tensors) -> bool:
    """Whether the layer of this parameter is the one that makes the logit."""
    layer = name.rpartition(".")[0]
    weight = tensors[PREFIX + layer + ".weight"]
    return name.partition(".")[0] in ONE_OUTPUT and weight.shape[0] == 1


def widen(
    config: Config, tensors: safetensors.Tensors, factor: int, seed: int
) -> safetensors.Tensors:
    """The tensors of a network `factor` times as wide; config is changed."""
    refuse_bytes(tensors)
    network = find_network(config)
    options = network.setdefault("options", {})
    hidden = options.get("hidden", DEFAULT_HIDDEN)
    if options.get("edge_from_latents", False):
        raise WidenError("edge_from_latents: latents among other inputs")
    random = np.random.default_rng(seed)
    out = dict(tensors)
    for name in sorted(tensors):
        if not name.startswith(PREFIX):
            continue
        short = name.removeprefix(PREFIX)
        array = tensors[name]
        if array.ndim == 2 and not is_encoder_input(short):
            array = widen_inputs(array, hidden, factor, random)
        if not has_one_output(short, tensors):
            array = np.concatenate([array] * factor)
        out[name] = array.astype(np.float32)
    options["hidden"] = factor * hidden
    return out


def count_ends(options: Config, name: str) -> int:
    """How many times the node features are in the inputs of an encoder."""
    if name == "node_encoder.0.weight":
        return 1
    return 2 if options.get("edge_from_nodes", True) else 0


def add_node_features(
    config: Config, tensors: safetensors.Tensors, features: dict[str, float]
) -> safetensors.Tensors:
    """Inputs of the encoders that nothing is done with yet; config is changed."""
    network = find_network(config)
    listed = network.setdefault("node_features", [])
    for name in features:
        if any(feature["name"] == name for feature in listed):
            raise WidenError(f"the graph network has node feature {name} already")
    n_before = len(listed)
    out = dict(tensors)
    for short in ("node_encoder.0.weight", "edge_encoder.0.weight"):
        weight = tensors[PREFIX + short]
        # Node features come first, once for each end.
        for end in range(count_ends(network.get("options", {}), short)):
            at = (end + 1) * n_before + end * len(features)
            weight = np.insert(weight, [at] * len(features), np.float32(0), axis=1)
        out[PREFIX + short] = weight
    listed += [{"name": name, "scale": scale} for name, scale in features.items()]
    return out


def parse_feature(text: str) -> tuple[str, float]:
    name, _, scale = text.partition("=")
    try:
        value = float(scale)
    except ValueError:
        value = 0.0
    if not name or not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not NAME=SCALE with a scale above 0")
    return name, value


def parse_factor(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 64:
        raise argparse.ArgumentTypeError(f"{text} is not in 1..64")
    return int(text)


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = model_change.parser("widen", __doc__.partition("\n")[0], "the wider one")
    parser.add_argument(
        "--factor", type=parse_factor, default=2, metavar="N",
        help="times the width of the graph network (default 2; 1 keeps it)",
    )
    parser.add_argument(
        "--node-feature", type=parse_feature, action="append", default=[],
        metavar="NAME=SCALE", help="one more input of the graph network",
    )
    parser.add_argument("--seed", type=int, default=1, help="of the shares (default 1)")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse_arguments(arguments)

    def change(config: Config, tensors: safetensors.Tensors) -> safetensors.Tensors:
        tensors = add_node_features(config, tensors, dict(options.node_feature))
        return widen(config, tensors, options.factor, options.seed)

    found = change_model("widen", options, change)
    if found is None:
        return 1
    config, tensors, _ = found
    hidden = config["gnn"]["options"]["hidden"]
    n = sum(array.size for array in tensors.values())
    print(f"graph network of width {hidden}, {n} parameters in all")
    return 0
