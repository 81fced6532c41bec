"""convert -- model files from trained PyTorch networks of Exa.TrkX.

    exatrkx convert --family attention_gnn --weights gnn.ckpt \\
        --hparams hparams.yaml --node-features r:1000,phi:3.1415927,z:1000 \\
        --out gnn.safetensors

Reads Lightning checkpoints and TorchScript (.ckpt, .pt), ONNX (.onnx: needs
the package onnx) or plain arrays (.npz). Sizes come from the weights, the rest
from --options, then the file, --hparams and the checkpoint, which must not
contradict each other, then the usual setting, which is reported. What cannot
be represented is refused.

Edges run from edge_index[0] to edge_index[1]. A network that was trained on
edges from the larger index to the smaller and now gets them the other way
wants --options '{"order": "target_source"}'.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from typing import Any

from ..files import safetensors, whole_file
from ..files.safetensors import CONFIG
from ..files.torch_archive import ArchiveError
from .check import check_loads, compare
from .facts import ConvertError, Hparams
from .families import CONVERTERS, STAGES, Converted
from .source import Source
from .state_dict import read_hparams, read_weights

CELLS = "cell_count cell_val leta lphi lx ly lz geta gphi".split()
SPACE = [("r", 1000.0), ("phi", math.pi), ("z", 1000.0)]

Features = list[dict[str, Any]]


def parse_features(text: str) -> Features:
    """NAME:SCALE,... as etx.config lists them; SCALE may be left out for 1."""
    features = []
    for part in text.split(",") if text else []:
        name, _, scale = part.strip().partition(":")
        try:
            features.append({"name": name, "scale": float(scale or 1.0)})
        except ValueError:
            raise ConvertError(f"{part}: expected NAME:SCALE") from None
    return features


def choose_node_features(
    given: str | None, hparams: Hparams, n_features: int, source: Source
) -> Features:
    """--node-features, acorn's lists, or the usual three or twelve."""
    if given is not None:
        features = parse_features(given)
    elif isinstance(hparams.get("node_features"), list):
        pairs = acorn_node_features(hparams)
        features = [{"name": name, "scale": scale} for name, scale in pairs]
    elif n_features in (3, 12):
        columns = [(name, 1.0) for name in CELLS] if n_features == 12 else []
        features = [{"name": n, "scale": s} for n, s in columns + SPACE]
        listed = ",".join(f"{f['name']}:{f['scale']:g}" for f in features)
        source.note(f"no --node-features given: taking {listed}")
    else:
        raise ConvertError(f"the network reads {n_features} --node-features")
    if len(features) != n_features:
        raise ConvertError(
            f"{len(features)} node features given, the network reads {n_features}"
        )
    return features


def acorn_node_features(hparams: Hparams) -> list[tuple[str, float]]:
    """Names and scales of acorn's lists."""
    names = hparams.get("node_features") or []
    try:
        scales = hparams.get("node_scales") or [1.0] * len(names)
        return [
            (str(name).removeprefix("hit_"), float(scale))
            for name, scale in zip(names, scales, strict=True)
        ]
    except (TypeError, ValueError):
        raise ConvertError(
            "node_scales: expected a number for each of node_features"
        ) from None


def choose_edge_features(given: str, n_features: int, source: Source) -> Features:
    """--edge-features, or acorn's list."""
    listed = source.hparams.get("edge_features")
    if given or not n_features or not listed:
        features = parse_features(given)
    else:
        features = acorn_edge_features([str(name) for name in listed], source)
    if len(features) != n_features:
        raise ConvertError(f"the network reads {n_features} --edge-features")
    return features


def acorn_edge_features(names: list[str], source: Source) -> Features:
    """acorn computes edge features of scaled nodes; those that it does not
    name are the host's own."""
    scales = dict(acorn_node_features(source.hparams))
    r, phi, z, eta = (scales.get(n, 1.0) for n in ("r", "phi", "z", "eta"))
    known = {
        "dr": r,
        "dphi": phi,
        "dz": z,
        "deta": eta,
        "phislope": phi / math.pi,
        "rphislope": phi / math.pi,
    }
    features = []
    for column, name in enumerate(n.removeprefix("edge_") for n in names):
        if "phi" in name and name in known and abs(phi - math.pi) > 0.01:
            raise ConvertError(
                f"edge_features: {name} with phi divided by {phi:g}: acorn wraps "
                "angles at 1, which is right for a node_scale of pi only"
            )
        if name.endswith("phislope") and name in known and r != 1000.0:
            raise ConvertError(
                f"edge_features: {name} with r divided by {r:g}: the library's is "
                "of r in m, with a node_scale of 1000"
            )
        if name not in known:
            source.note(f"edge feature {name} is not computed: give it as own_{column}")
        chosen = name if name in known else f"own_{column}"
        features.append({"name": chosen, "scale": known.get(name, 1.0)})
    return features


def make_stage(
    options: argparse.Namespace, converted: Converted, source: Source
) -> dict[str, Any]:
    """The object of the stage in etx.config."""
    hparams = source.hparams
    stage: dict[str, Any] = {
        "arch": options.family,
        "options": converted.options | options.options,
        "node_features": choose_node_features(
            options.node_features, hparams, converted.n_node_features, source
        ),
    }
    if options.family != "mlp":
        stage["edge_features"] = choose_edge_features(
            options.edge_features, converted.n_edge_features, source
        )
    else:
        graph = dict(options.graph)
        if "radius" not in graph:
            graph["radius"] = source.setting("r_infer r_test r_val r", 0.1)
        stage["graph"] = graph
    if options.family == "edge_filter":
        cut = options.cut
        stage["cut"] = source.setting("filter_cut", 0.5) if cut is None else cut
    return stage


def convert(options: argparse.Namespace) -> None:
    """Read the weights, write the model file."""

    def note(text: str) -> None:
        print(f"convert: {text}", file=sys.stderr)

    if options.cut is not None and options.family != "edge_filter":
        raise ConvertError("--cut: for --family edge_filter alone")
    if options.graph and options.family != "mlp":
        raise ConvertError("--graph: for --family mlp alone")
    whole_file.check(options.out)
    others = read_model(options.merge) if options.merge else ({}, {"schema": 1})
    state, stored, facts = read_weights(options.weights)
    hparams = stored | read_hparams(options.hparams)
    n_edge = len(parse_features(options.edge_features))
    if "n_iterations" in options.options:  # needs no default and no note
        hparams["n_graph_iters"] = options.options["n_iterations"]
    source = Source(state, hparams, note, n_edge, facts, options.options)
    converted = CONVERTERS[options.family](source)
    source.finish()
    name = STAGES[options.family]
    tensors, config = others
    tensors = {t: v for t, v in tensors.items() if not t.startswith(name + ".")}
    config[name] = make_stage(options, converted, source)
    if options.label:
        config["label"] = options.label
    tensors |= {f"{name}.{key}": value for key, value in converted.tensors.items()}
    text = json.dumps(config, separators=(",", ":"))
    check_loads(safetensors.dump(tensors, {CONFIG: text}), note)
    if options.check is not False:
        models = {"": dump_alone(name, own_edge_features(config[name]), tensors)}
        if isinstance(options.check, str):
            models[options.check] = dump_alone(name, config[name], tensors)
        required = options.check is not None
        compare(models, name, options.weights, facts, note, required)
    safetensors.write(options.out, tensors, {CONFIG: text})


def own_edge_features(stage: dict[str, Any]) -> dict[str, Any]:
    """The stage with edge features of the caller."""
    n = len(stage.get("edge_features", []))
    own: Features = [{"name": f"own_{k}", "scale": 1.0} for k in range(n)]
    return stage | {"edge_features": own} if own else stage


def dump_alone(
    name: str, stage: dict[str, Any], tensors: safetensors.Tensors
) -> bytes:
    """A model file of one stage; a filter keeps all edges."""
    if name == "filter":
        stage = stage | {"cut": 0.0}
    alone = {t: value for t, value in tensors.items() if t.startswith(name + ".")}
    return safetensors.dump(
        alone, {CONFIG: json.dumps({"schema": 1, name: stage})}
    )


def read_model(path: str) -> tuple[safetensors.Tensors, dict[str, Any]]:
    """Tensors and etx.config of a model file, or of a shipped one by its name."""
    from .._shipped import model_file

    tensors, metadata = safetensors.read(str(model_file(path)))
    try:
        return tensors, safetensors.config_of(metadata)
    except safetensors.FormatError as error:
        raise ConvertError(f"{path}: {error}") from None


def json_object(text: str) -> dict[str, Any]:
    """An argument that is a JSON object."""
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError(text)
    return found


json_object.__name__ = "JSON object"  # as argparse calls it in its message


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        prog="exatrkx convert",
        description=__doc__.partition("\nSPDX")[0],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    features = "NAME:SCALE,... in the order of the inputs, each divided by its SCALE"
    families = sorted(CONVERTERS)
    add("--family", required=True, choices=families, help="of networks (docs/convert.md)")
    add("--weights", required=True, metavar="FILE", help=".pt, .ckpt, .onnx or .npz")
    add("--out", required=True, metavar="MODEL", help="model file to write")
    add(
        "--hparams",
        metavar="FILE",
        help="settings of the training, .yaml or .json (default: of the checkpoint)",
    )
    add(
        "--options",
        type=json_object,
        default={},
        metavar="JSON",
        help="options of the network, over all that is found (default: {})",
    )
    add(
        "--node-features",
        metavar="LIST",
        help=f"{features} (default: of --hparams, or of 3 or 12 inputs the usual ones)",
    )
    add(
        "--edge-features",
        default="",
        metavar="LIST",
        help=f"{features} (default: of --hparams)",
    )
    add(
        "--graph",
        type=json_object,
        default={},
        metavar="JSON",
        help="of --family mlp: radius and bounds (default: the radius of --hparams, or 0.1)",
    )
    add(
        "--cut",
        type=float,
        metavar="C",
        help="of --family edge_filter: edges with scores above stay, 0 to 1 (default: "
        "that of --hparams, or 0.5)",
    )
    add(
        "--label",
        type=json_object,
        metavar="JSON",
        help="how to make tracks: method, cut, ... (default: of --merge, or the library's)",
    )
    add(
        "--merge",
        metavar="MODEL",
        help="model file, or the name of a shipped one, whose other stages to keep",
    )
    add(
        "--check",
        nargs="?",
        const=True,
        metavar="EVENT",
        help="run the original next to the model on a random graph (by default "
        "where it can be run), and on the event of this prefix",
    )
    add(
        "--no-check",
        dest="check",
        action="store_const",
        const=False,
        help="do not run the original",
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    try:
        convert(options)
    except (ArchiveError, ConvertError, safetensors.FormatError, OSError) as error:
        print(f"convert: {error}", file=sys.stderr)
        return 1
    return 0
