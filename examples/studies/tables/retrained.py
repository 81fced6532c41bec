"""retrained -- a shipped model after exatrkx shrink, trained on.

    python -m tables.retrained --data DIR --events DIR [--count 20] [--seeds 3]
        [--steps 800] [--only NAME]

The networks are measured alone, without the first pass and new tracks. Filter and graph network are
trained on, one after the other, with the configs
that the model was trained with but for their length, learning rate and edges per
step. In eight bits the stages before the one in training are rounded already, and each is
rounded after its training. CPU ms: filter and graph network of one event, on one
thread, the fastest of three passes over the events.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import exatrkx
from exatrkx.files import safetensors
from exatrkx.tools import adjust, shrink

from .events import event_options, read_events
from .losses import MODELS
from .training import Values, table_of

MIN_PT = 0.5  # GeV
PASSES = 3
STAGES = ("filter", "gnn")
LEARNING_RATE = 0.003
# Networks without a first pass and new tracks.
ALONE = "first_pass.min_event_hits=2147483647", "completion.min_layers=0"
VARIANTS = {  # of shrink, before the training and after each stage
    "`--narrow 0.5`": ("--narrow 0.5", ""),
    "`--quantise int8`": ("", "--quantise int8"),
    "`--narrow 0.5 --quantise int8`": ("--narrow 0.5", "--quantise int8"),
}
NEW = "`--narrow 0.5`"  # also with new initial values


def shrunk(path: Path, change: str) -> None:
    """The file, changed in place."""
    if not change:
        return
    line = [str(path), "--out", str(path), *change.split()]
    with contextlib.redirect_stdout(sys.stderr):
        if shrink.main(line) != 0:
            raise RuntimeError(f"shrink {change}")


def config_of(
    path: Path, stage: str, options: argparse.Namespace, seed: int, is_new: bool
) -> Any:
    """That of the model's own training, short."""
    _, metadata = safetensors.read(str(path))
    model = json.loads(metadata[safetensors.CONFIG])
    config = json.loads(model["training"][stage]["config"])
    for key in ("model", "label"):
        config.pop(key, None)
    if is_new:
        config["model"] = model[stage]
    config["seed"] = seed
    config["schedule"] |= {
        "steps": options.steps,
        "learning_rate": LEARNING_RATE,
        "warmup_steps": options.steps // 12,
    }
    config["sampling"]["edges"] = options.edges
    return config


def retrain(
    path: Path, bits: str, configs: Sequence[Any], data: Sequence[exatrkx.Event]
) -> None:
    """Train filter and graph network of the file on, in place."""
    for config in configs:
        shrunk(path, bits)
        start = exatrkx.Model.load(path)
        context = exatrkx.Context(1)
        model = exatrkx.train(config, data, start=start, context=context)
        model.save(path)
    shrunk(path, bits)


def milliseconds(model: exatrkx.Model, events: Sequence[exatrkx.Event]) -> list[float]:
    """Of filter and graph network, per event."""
    context = exatrkx.Context(1)
    fastest = [float("inf")] * 2
    for _ in range(PASSES):
        sums = [0.0, 0.0]
        for event in events:
            candidates = exatrkx.build_graph(model, event, context)
            times = [time.process_time()]
            graph = exatrkx.filter_graph(candidates, model, event, context)
            times.append(time.process_time())
            exatrkx.score_graph(graph, model, event, context)
            times.append(time.process_time())
            sums = [t + end - start for t, start, end in zip(sums, times, times[1:])]
        fastest = [min(pair) for pair in zip(fastest, sums)]
    return [1000 * seconds / len(events) for seconds in fastest]


def measure(path: Path, events: Sequence[exatrkx.Event]) -> Values:
    """The columns of a model file."""
    model, context = exatrkx.Model.load(path), exatrkx.Context(1)
    tracks = [exatrkx.find_tracks(model, event, context) for event in events]
    rates = exatrkx.evaluate(events, tracks, min_pt=MIN_PT)
    softer = exatrkx.evaluate(events, tracks, min_pt=0.1)
    of_filter, of_network = milliseconds(model, events)
    return {
        "bytes": path.stat().st_size,
        f"efficiency, pT > {MIN_PT} GeV": rates.technical_efficiency.value,
        "efficiency, pT > 0.1 GeV": softer.technical_efficiency.value,
        "purity": rates.purity.value,
        "fake rate": rates.fake_rate.value,
        "TrackML score": rates.trackml_score,
        "filter, CPU ms": of_filter,
        "network, CPU ms": of_network,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = event_options("retrained", count=20)
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="to train on")
    add("--train-events", type=int, default=10, metavar="N")
    add("--steps", type=int, default=800, metavar="N", help="of each stage")
    add("--edges", type=int, default=16000, metavar="N", help="a step")
    add("--seeds", type=int, default=3, metavar="N")
    add("--only", metavar="NAME", help="this line and its trainings")
    options = parser.parse_args(arguments)
    data = read_events(options.data, options.train_events)
    events = read_events(options.events, options.count)
    rows = {}

    def add_row(name: str, results: list[Values]) -> None:
        rows[name] = results
        print(name, *results, sep=" | ", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        path, model = (Path(folder) / f"{name}.safetensors" for name in ("m", "alone"))
        with contextlib.redirect_stdout(sys.stderr):
            shipped = str(MODELS / "default.safetensors")
            if adjust.main([shipped, "--out", str(model), *ALONE]) != 0:
                raise RuntimeError("adjust")
        if options.only is None:
            add_row("`default`", [measure(model, events)])
        for name, (before, after) in VARIANTS.items():
            if options.only not in (None, name):
                continue
            shutil.copy(model, path)
            shrunk(path, f"{before} {after}")
            add_row(name, [measure(path, events)])
            for is_new in (False, True)[: 1 + (name == NEW)]:
                results = []
                for seed in range(1, options.seeds + 1):
                    shutil.copy(model, path)
                    shrunk(path, before)
                    configs = [
                        config_of(path, stage, options, seed, is_new)
                        for stage in STAGES
                    ]
                    retrain(path, after, configs, data)
                    results.append(measure(path, events))
                how = "new networks" if is_new else "trained on"
                add_row(f"{name}, {how}", results)
    print(table_of(rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
