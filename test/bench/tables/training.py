"""training -- small graph networks trained alike but for what a table varies.

Embedding and filter are the shipped model's, so that every network
sees the same edges. Validation runs over whole
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
from pathlib import Path
from typing import Any

import exatrkx

from .events import read_events
from .markdown import table

CONFIGS = Path(__file__).resolve().parents[3] / "examples" / "configs"
KEPT = 0.95  # of the signal pairs that reach the network, for the purity
HEAD = ("", "training loss", "validation loss", "AUC", "purity", "CPU s")
Variants = Mapping[str, dict[str, Any]]


def parse(arguments: Sequence[str] | None, name: str, **defaults: int) -> Any:
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
    return parser.parse_args(arguments)


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
    """That of the shipped graph network, narrow and short."""
    config = json.loads((CONFIGS / "gnn.json").read_text())
    change = {
        "model": {"options": {"hidden": 16, "n_iterations": 3}},
        "schedule": {
            "steps": options.steps,
            "learning_rate": 0.003,
            "warmup_steps": options.steps // 12,
        },
        "sampling": {"edges": options.edges},
        "validation": {"target_efficiency": KEPT},
    }
    return merged(config, change)


def train(
    config: dict[str, Any],
    data: Sequence[exatrkx.Event],
    validation: Sequence[exatrkx.Event],
) -> tuple[list[exatrkx.Report], exatrkx.Report, float]:
    """Reports of all steps, of the validation, and processor seconds."""
    reports: list[exatrkx.Report] = []
    start = time.process_time()
    exatrkx.train(
        config,
        data,
        validation,
        start=exatrkx.Model.load(),
        context=exatrkx.Context(1),
        report=reports.append,
    )
    return reports[:-1], reports[-1], time.process_time() - start


def end_loss(steps: Sequence[exatrkx.Report]) -> float:
    """The mean training loss of the last tenth."""
    last = steps[-max(len(steps) // 10, 1) :]
    return sum(report.loss for report in last) / len(last)


def mean_and_spread(values: Sequence[float], digits: int) -> str:
    """Mean over seeds and, with more than one, their standard deviation."""
    mean = sum(values) / len(values)
    if len(values) == 1:
        return f"{mean:.{digits}f}"
    variance = sum((v - mean) ** 2 for v in values) / (len(values) - 1)
    return f"{mean:.{digits}f} +- {math.sqrt(variance):.{digits}f}"


def run(options: argparse.Namespace, variants: Variants) -> str:
    """Train every variant with every seed; the table."""
    data = read_events(options.data, options.train_events)
    validation = read_events(options.validation, options.validation_events)
    rows = []
    for name, change in variants.items():
        if options.only not in (None, name):
            continue
        results = []
        for seed in range(1, options.seeds + 1):
            config = merged(base_config(options), {**change, "seed": seed})
            steps, last, seconds = train(config, data, validation)
            results.append((end_loss(steps), last, seconds))
            print(
                f"{name}, seed {seed}: training loss {results[-1][0]:.5f}, "
                f"{last}, {seconds:.1f} s",
                file=sys.stderr,
                flush=True,
            )
        rows.append(row(name, results))
    return table(HEAD, rows)


def main_of(
    name: str, variants: Variants, **defaults: int
) -> Callable[[Sequence[str] | None], int]:
    """The main function of a module: its table on standard output."""

    def main(arguments: Sequence[str] | None = None) -> int:
        print(run(parse(arguments, name, **defaults), variants), end="")
        return 0

    return main


def row(name: str, results: Sequence[tuple[float, Any, float]]) -> list[str]:
    """One line: means over seeds."""
    loss, last, seconds = zip(*results, strict=True)
    cells = [mean_and_spread(loss, 4)]
    for field in ("loss", "auc", "purity"):
        cells.append(mean_and_spread([getattr(r, field) for r in last], 4))
    return [name, *cells, mean_and_spread(seconds, 0)]
