"""training -- small networks trained alike but for what a table varies.

Graph networks, or another stage; the stages before are the shipped model's, so that
every network sees the same edges. Validation runs over whole
events; purity is at the cut which keeps KEPT of the signal pairs.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import exatrkx

from .events import read_events
from .markdown import table

CONFIGS = Path(__file__).resolve().parents[3] / "examples" / "configs"
KEPT = 0.95  # of the signal pairs that reach the network, for purity and tracks
MIN_PT = 0.5  # GeV, of efficiency and track purity
PT = (0.1, 0.2, 0.5, 1.0, 2.0, 50.0)  # GeV, bounds of ranges
Variants = Mapping[str, dict[str, Any]]
Values = dict[str, float]  # of one training, by column
DIGITS = {"bytes": 0, "CPU s": 0, "jumps": 1, "rollbacks": 1}  # after the point; else 4


@dataclass(frozen=True)
class Trained:
    """What a training left."""

    model: exatrkx.Model
    steps: Sequence[exatrkx.TrainingReport]
    validation: exatrkx.TrainingReport
    seconds: float  # of the processor


Measure = Callable[[Trained, Sequence[exatrkx.Event]], Values]


def parser_of(name: str, **defaults: int) -> argparse.ArgumentParser:
    """The command line of all trainings."""
    parser = argparse.ArgumentParser(prog=f"python -m tables.{name}")
    add = parser.add_argument
    add("--data", type=Path, required=True, metavar="DIR", help="to train on")
    add("--validation", type=Path, required=True, metavar="DIR")
    add("--train-events", type=int, default=defaults["events"], metavar="N")
    add("--validation-events", type=int, default=4, metavar="N")
    add("--steps", type=int, default=defaults["steps"], metavar="N")
    add("--edges", type=int, default=defaults["edges"], metavar="N", help="a step")
    add("--seeds", type=int, default=defaults["seeds"], metavar="N")
    add("--only", metavar="NAME", help="this line of the table")
    parser.set_defaults(stage="gnn")
    return parser


def parse(arguments: Sequence[str] | None, name: str, **defaults: int) -> Any:
    return parser_of(name, **defaults).parse_args(arguments)


def merged(base: dict[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """base with the change laid over it. Replaced as a whole are lists, values
    and options: options of one network mean nothing to another."""
    result = copy.deepcopy(base)
    for key, value in change.items():
        old = result.get(key)
        both = isinstance(old, dict) and isinstance(value, Mapping)
        both = both and key != "options"
        result[key] = merged(old, value) if both else value
    return result


def base_config(options: argparse.Namespace) -> dict[str, Any]:
    """That of the shipped stage, short; graph networks are narrow, too."""
    config = json.loads((CONFIGS / f"{options.stage}.json").read_text())
    narrow = {"options": {"hidden": 16, "n_iterations": 3}}
    change = {
        "model": narrow if options.stage == "gnn" else {},
        "schedule": {
            "steps": options.steps,
            "learning_rate": 0.003,
            "warmup_steps": options.steps // 12,
        },
        "sampling": {"edges": options.edges} if options.edges > 0 else {},
        "validation": {"target_efficiency": KEPT},
    }
    return merged(config, change)


def train(
    config: dict[str, Any],
    data: Sequence[exatrkx.Event],
    validation: Sequence[exatrkx.Event],
) -> Trained:
    """One training on one thread, validated at its end."""
    reports: list[exatrkx.TrainingReport] = []
    start = time.process_time()
    model = exatrkx.train(
        config,
        data,
        validation,
        start=exatrkx.Model.load(),
        context=exatrkx.Context(1),
        report=reports.append,
    )
    seconds = time.process_time() - start
    return Trained(model, reports[:-1], reports[-1], seconds)


def end_loss(steps: Sequence[exatrkx.TrainingReport]) -> float:
    """The mean training loss of the last tenth."""
    last = steps[-max(len(steps) // 10, 1) :]
    return sum(report.loss for report in last) / len(last)


def scored(model: exatrkx.Model, event: exatrkx.Event) -> exatrkx.Graph:
    """The edges that pass the filter, with the scores of the graph network."""
    context = exatrkx.Context(1)
    candidates = exatrkx.build_graph(model, event, context)
    filtered = exatrkx.filter_graph(candidates, model, event, context)
    return exatrkx.score_graph(filtered, model, event, context)


def find(trained: Trained, event: exatrkx.Event) -> exatrkx.Tracks:
    """Best first by scores alone, above the cut that keeps KEPT of the pairs: so
    networks of other calibration compare, and no helix helps a poor one."""
    return exatrkx.build_tracks(
        scored(trained.model, event),
        event=event,
        method="best_first",
        cut=trained.validation.threshold,
        min_hits=4,
    )


def edges_and_tracks(trained: Trained, events: Sequence[exatrkx.Event]) -> Values:
    """The columns of most tables."""
    tracks = [find(trained, event) for event in events]
    rates = exatrkx.evaluate(events, tracks, min_pt=MIN_PT)
    return {
        "training loss": end_loss(trained.steps),
        "validation loss": trained.validation.loss,
        "AUC": trained.validation.auc,
        "edge purity": trained.validation.purity,
        "efficiency": rates.technical_efficiency.value,
        "track purity": rates.purity.value,
        "CPU s": trained.seconds,
    }


def by_momentum(trained: Trained, events: Sequence[exatrkx.Event]) -> Values:
    """The technical efficiency in ranges of pT."""
    counts = np.sum(
        [
            exatrkx.evaluate_binned(
                event, find(trained, event), "pt", PT, min_pt=0.0
            )
            for event in events
        ],
        axis=0,
    )
    ranges = zip(PT, PT[1:])
    return {
        f"pT {low:g} to {high:g}": float(matched / total)
        for (low, high), total, matched in zip(ranges, *counts)
    }


def mean_and_spread(values: Sequence[float], digits: int) -> str:
    """Mean over seeds and, with more than one, their standard deviation; nothing
    where there is no number."""
    mean = sum(values) / len(values)
    if math.isnan(mean):
        return ""
    if len(values) == 1:
        return f"{mean:.{digits}f}"
    variance = sum((v - mean) ** 2 for v in values) / (len(values) - 1)
    return f"{mean:.{digits}f} +- {math.sqrt(variance):.{digits}f}"


def run(
    options: argparse.Namespace,
    variants: Variants,
    measures: Sequence[Measure] = (edges_and_tracks,),
) -> str:
    """Train every variant with every seed; the table."""
    data = read_events(options.data, options.train_events)
    validation = read_events(options.validation, options.validation_events)
    return run_on(options, variants, measures, data, validation)


def run_on(
    options: argparse.Namespace,
    variants: Variants,
    measures: Sequence[Measure],
    data: Sequence[exatrkx.Event],
    validation: Sequence[exatrkx.Event],
) -> str:
    """The same on events that are there."""
    rows = {}
    for name, change in variants.items():
        if options.only not in (None, name):
            continue
        results = []
        for seed in range(1, options.seeds + 1):
            config = merged(base_config(options), {**change, "seed": seed})
            trained = train(config, data, validation)
            values: Values = {}
            for measure in measures:
                values |= measure(trained, validation)
            results.append(values)
            print(f"{name}, seed {seed}: {values}", file=sys.stderr, flush=True)
        rows[name] = results
    return table_of(rows)


def table_of(rows: Mapping[str, Sequence[Values]]) -> str:
    """One line for each name: means over seeds."""
    columns = list(next(iter(rows.values()))[0])
    lines = []
    for name, results in rows.items():
        cells = [
            mean_and_spread([values[c] for values in results], DIGITS.get(c, 4))
            for c in columns
        ]
        lines.append([name, *cells])
    return table(["", *columns], lines)


def main_of(
    name: str,
    variants: Variants | Callable[[argparse.Namespace], Variants],
    measures: Sequence[Measure] = (edges_and_tracks,),
    stage: str = "gnn",
    **defaults: int,
) -> Callable[[Sequence[str] | None], int]:
    """The main function of a module: its table on standard output."""

    def main(arguments: Sequence[str] | None = None) -> int:
        options = parse(arguments, name, **defaults)
        options.stage = stage
        of_options = variants(options) if callable(variants) else variants
        print(run(options, of_options, measures), end="")
        return 0

    return main
