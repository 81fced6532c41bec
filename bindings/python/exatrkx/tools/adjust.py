"""adjust -- other options for a model file: radius, cuts, bounds, labels.

    exatrkx adjust MODEL --out M filter.cut=0.01 label.min_hits=5
    exatrkx adjust MODEL --out M --without-cells
    exatrkx adjust MODEL --out M --networks-only

A key is a path in etx.config (docs/model_format.md), its value JSON or a word.
Weights and learned tables stay. --without-cells removes the features of cells and
their weights: for events without cells, where these features are 0, the results
stay the same. --networks-only removes the first pass and completion with their
tables: what is left is embedding, filter, graph network and labels. The library
checks the result.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from ..files import safetensors
from . import model_change

CELL_FEATURES = (
    "log_cell_count", "cell_count", "cell_val",
    "lx", "ly", "lz", "leta", "lphi", "geta", "gphi",
)  # fmt: skip
BESIDES = ("first_pass", "completion")  # what a pipeline has next to networks
# The weights of each network that multiply node features, and of how many hits.
NODE_WEIGHTS = {
    "mlp": (("layers.0.weight", 1),),
    "edge_filter": (("layers.0.weight", 2),),
    "interaction_network": (("node_encoder.0.weight", 1), ("edge_encoder.0.weight", 2)),
}


class AdjustError(ValueError):
    """A change that the model file cannot take."""


def parse_change(text: str) -> tuple[list[str], Any]:
    """The path and the value of KEY=VALUE."""
    key, found, value = text.partition("=")
    if not key or not found:
        raise argparse.ArgumentTypeError(f"{text}: not KEY=VALUE")
    try:
        return key.split("."), json.loads(value)
    except json.JSONDecodeError:
        return key.split("."), value


def adjust(config: dict[str, Any], path: list[str], value: Any) -> None:
    """Set one value of etx.config."""
    inner = config
    for name in path[:-1]:
        if not isinstance(inner.get(name), dict):
            raise AdjustError(f"etx.config has no object {name} for {'.'.join(path)}")
        inner = inner[name]
    inner[path[-1]] = value


def drop_cells(name: str, stage: dict[str, Any], tensors: dict[str, Any]) -> None:
    """Remove the features of cells, and their columns, from one stage."""
    features = stage["node_features"]
    kept = [k for k, f in enumerate(features) if f["name"] not in CELL_FEATURES]
    stage.pop("cells", None)
    if len(kept) == len(features):
        return
    if stage["arch"] not in NODE_WEIGHTS:
        raise AdjustError(f"{name}: --without-cells does not know {stage['arch']}")
    n = len(features)
    for weight, n_hits in NODE_WEIGHTS[stage["arch"]]:
        values = tensors[f"{name}.{weight}"]
        n_edge = len(stage.get("edge_features", []))
        n_columns = n * n_hits + (n_edge if n_hits > 1 else 0)
        if values.shape[1] != n_columns:
            raise AdjustError(
                f"{name}.{weight}: {values.shape[1]} columns where features have "
                f"{n_columns}"
            )
        columns = [hit * n + k for hit in range(n_hits) for k in kept]
        columns += range(n_hits * n, n_columns)
        tensors[f"{name}.{weight}"] = values[:, columns]
    stage["node_features"] = [features[k] for k in kept]


def drop_stages(
    config: dict[str, Any], tensors: dict[str, Any], stages: Sequence[str]
) -> None:
    """Remove stages, and what they learned."""
    for stage in stages:
        config.pop(stage, None)
        if isinstance(config.get("training"), dict):
            config["training"].pop(stage, None)
    for name in [n for n in tensors if n.partition(".")[0] in stages]:
        del tensors[name]


def main(arguments: list[str] | None = None) -> int:
    parser = model_change.parser(
        "adjust", __doc__.partition("\n")[0], "the changed one"
    )
    add = parser.add_argument
    add("--without-cells", action="store_true", help="remove features of cells")
    add(
        "--networks-only",
        action="store_true",
        help="remove the first pass and completion",
    )
    add(
        "changes", nargs="*", type=parse_change, metavar="KEY=VALUE",
        help="path in etx.config, and JSON or a word",
    )
    options = parser.parse_intermixed_args(arguments)

    def change(
        config: dict[str, Any], tensors: safetensors.Tensors
    ) -> safetensors.Tensors:
        if options.without_cells:
            for name in safetensors.NETWORKS:
                if name in config:
                    drop_cells(name, config[name], tensors)
        if options.networks_only:
            drop_stages(config, tensors, BESIDES)
        for path, value in options.changes:
            adjust(config, path, value)
        return tensors

    return 1 if model_change.change_model("adjust", options, change) is None else 0
