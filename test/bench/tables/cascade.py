"""cascade -- what a cascade in front of the filter saves and what it loses.

    python -m tables.cascade --data DIR --validation DIR

A cascade learns the decisions of the shipped filter. Of all candidates the share
that reaches the filter; milliseconds of the processor per event, the fastest of RUNS
runs of each, next to the same model without its cascade; and the share that stays of
the signal pairs which the filter keeps.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import exatrkx
from exatrkx import _event_truth, safetensors_file

from .training import MIN_PT, Trained, Values, Variants, main_of

RUNS = 5
VARIANTS: Variants = {"cascade": {"validation": {"target_efficiency": 0.999}}}


def changed(model: exatrkx.Model, change: Any) -> exatrkx.Model:
    """A copy of the model with options that change(config) left."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.safetensors"
        model.save(path)
        tensors, metadata = safetensors_file.read(str(path))
    config = json.loads(metadata["etx.config"])
    change(config)
    kept = {k: v for k, v in tensors.items() if k.split(".")[0] in config}
    metadata = {**metadata, "etx.config": json.dumps(config)}
    return exatrkx.Model.from_bytes(safetensors_file.dump(kept, metadata))


def open_filter(config: dict[str, Any]) -> None:
    """A filter that drops nothing."""
    config["filter"] |= {"cut": 0.0, "max_edges_per_hit": 0.0}


def fastest(
    graph: exatrkx.Graph, model: exatrkx.Model, event: exatrkx.Event
) -> tuple[exatrkx.Graph, float]:
    """The filtered graph and its processor seconds."""
    context = exatrkx.Context(1)
    best = float("inf")
    for _ in range(RUNS):
        start = time.process_time()
        found = exatrkx.filter_graph(graph, model, event, context)
        best = min(best, time.process_time() - start)
    return found, best


def saved(trained: Trained, events: Sequence[exatrkx.Event]) -> Values:
    """Sums over the events."""
    context = exatrkx.Context(1)
    alone = changed(trained.model, lambda config: config.pop("cascade"))
    opened = changed(trained.model, open_filter)
    sums = dict.fromkeys(("all", "reach", "kept", "stay", "alone", "with"), 0.0)
    for event in events:
        truth = _event_truth.Event(event)
        graph = exatrkx.build_graph(trained.model, event, context)
        sums["all"] += graph.n_edges
        sums["reach"] += exatrkx.filter_graph(graph, opened, event, context).n_edges
        for name, signal, model in (
            ("alone", "kept", alone),
            ("with", "stay", trained.model),
        ):
            found, seconds = fastest(graph, model, event)
            sums[name] += seconds
            kinds = truth.pair_kind(found.src, found.dst, MIN_PT)
            sums[signal] += int((kinds == _event_truth.SIGNAL).sum())
    return {
        "reach the filter": sums["reach"] / sums["all"],
        "signal": sums["stay"] / sums["kept"],
        "filter alone, CPU ms": 1000 * sums["alone"] / len(events),
        "with cascade, CPU ms": 1000 * sums["with"] / len(events),
    }


main = main_of(
    "cascade",
    VARIANTS,
    (saved,),
    stage="cascade",
    events=10,
    steps=1000,
    edges=20000,
    seeds=3,
)

if __name__ == "__main__":
    sys.exit(main())
