"""chain -- a small pipeline trained from initial values, on events without cells.

    python -m tables.chain --data DIR --validation DIR

Embedding, filter and graph network, one after the other: what events of another
detector need, from files to tracks. The configs are the shipped ones, narrow and
short, without the features of cells; no first pass and no completion. Measured on the
events of --validation, next to the shipped model for events without cells.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

import exatrkx

from .losses import MODELS
from .training import CONFIGS, Values, merged, parser_of, read_events, table_of

CELLS = ("log_cell_count", "lx", "ly")  # features that need them
STAGES: dict[str, tuple[int, dict[str, Any]]] = {  # share of the steps, changes
    "embedding": (1, {"validation": {"target_efficiency": 0.99}}),
    "filter": (1, {"validation": {"target_efficiency": 0.998}}),
    "gnn": (2, {"sampling": {"edges": 4000}}),
}
WIDTHS = {
    "embedding": {"hidden": [64, 64, 64]},
    "filter": {"hidden": [32, 32]},
    "gnn": {"hidden": 16, "n_iterations": 3},
}


def config_of(stage: str, steps: int, seed: int) -> dict[str, Any]:
    """The shipped config of a stage, narrow and short."""
    config = json.loads((CONFIGS / f"{stage}.json").read_text())
    share, change = STAGES[stage]
    schedule = {"steps": share * steps, "warmup_steps": steps // 12}
    model = config["model"]
    model["options"] |= WIDTHS[stage]
    model["node_features"] = [
        x for x in model["node_features"] if x["name"] not in CELLS
    ]
    return merged(config, {"seed": seed, "schedule": schedule, **change})


def rates(model: exatrkx.Model, events: Sequence[exatrkx.Event]) -> Values:
    """What a model finds."""
    context = exatrkx.Context(1)
    tracks = [exatrkx.find_tracks(model, event, context) for event in events]
    hard, soft = (exatrkx.evaluate(events, tracks, min_pt=pt) for pt in (0.5, 0.1))
    return {
        "efficiency, pT > 0.5 GeV": hard.technical_efficiency.value,
        "efficiency, pT > 0.1 GeV": soft.technical_efficiency.value,
        "purity": hard.purity.value,
        "fake rate": hard.fake_rate.value,
        "TrackML score": hard.trackml_score,
    }


def trained(
    options: argparse.Namespace, data: Sequence[exatrkx.Event], seed: int
) -> exatrkx.Model:
    """All stages, each after the ones before."""
    model = None
    for stage in STAGES:
        config = config_of(stage, options.steps, seed)
        context = exatrkx.Context(1)
        model = exatrkx.train(config, data[1:], data[:1], start=model, context=context)
    assert model is not None
    return model


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of("chain", events=10, steps=400, edges=0, seeds=3)
    options = parser.parse_args(arguments)
    data = read_events(options.data, options.train_events)
    events = read_events(options.validation, options.validation_events)
    rows = {"trained": []}
    for seed in range(1, options.seeds + 1):
        rows["trained"].append(rates(trained(options, data, seed), events))
        print(f"seed {seed}: {rows['trained'][-1]}", file=sys.stderr, flush=True)
    shipped = exatrkx.Model.load(MODELS / "positions.safetensors")
    rows["`positions`"] = [rates(shipped, events)]
    print(table_of(rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
