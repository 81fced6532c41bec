"""detector -- a shipped model on another detector, and what it gains by learning there.

    python -m tables.detector --data DIR [DIR ...] --validation DIR \\
        --events DIR --detector FILE

From the shipped model, one step after the other: the completion and the first pass
are learned from true tracks, then the filter and the graph network are trained
further, all on the events of --data. Measured on the events of --events, which no step
has seen. Trainings have three seeds.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import exatrkx

from .chain import rates
from .events import read_events
from .training import Values, table_of

SCHEDULE = {"min_learning_rate": 1e-5, "warmup_steps": 60, "decay": "cosine"}
AUGMENTATION = {"reflect_y": True, "reflect_z": True, "first_pass": 0.8}
FILTER: dict[str, Any] = {
    "stage": "filter",
    "schedule": SCHEDULE | {"steps": 1500, "learning_rate": 0.001},
    "truth": {"min_pt": 0.5, "low_pt_weight": 0.7, "displaced_weight": 2},
    "sampling": {"hits": 8000, "edges": 20000, "false_per_true": 4},
    "augmentation": AUGMENTATION,
    "validation": {"target_efficiency": 0},
}
GNN: dict[str, Any] = {
    "stage": "gnn",
    "schedule": SCHEDULE | {"steps": 1200, "learning_rate": 0.0006},
    "truth": {"min_pt": 0.5, "low_pt_weight": 0.75, "displaced_weight": 1.5},
    "sampling": {"hits": 0, "eta_window": 0.5, "edges": 30000},
    "augmentation": AUGMENTATION,
    "label": {
        "method": "best_first",
        "cut": 0.02,
        "sure_cut": 0.9,
        "strong_cut": 0.5,
        "support_hits": 3,
        "max_curvature_change": 1.5,
        "max_polar_change": 0.1,
        "min_hits": 4,
    },
}
STEPS = {"+ filter trained": FILTER, "+ graph network trained": GNN}


def learned(events: Sequence[exatrkx.Event]) -> exatrkx.Model:
    """The shipped model with completion and first pass from these events."""
    model = exatrkx.learn_completion(exatrkx.Model.load(), events)
    return exatrkx.learn_first_pass(model, events)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tables.detector")
    add = parser.add_argument
    add("--data", type=Path, nargs="+", required=True, metavar="DIR", help="to learn from")
    add("--validation", type=Path, required=True, metavar="DIR", help="of trainings")
    add("--events", type=Path, nargs="+", required=True, metavar="DIR", help="to measure on")
    add("--detector", type=Path, required=True, metavar="FILE", help="of the modules")
    add("--seeds", type=int, default=3, metavar="N")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)

    def read(folder: Path) -> list[exatrkx.Event]:
        count = len(list(folder.glob("*-hits.csv*")))
        return read_events(folder, count, options.detector)

    data = [event for folder in options.data for event in read(folder)]
    validation = read(options.validation)
    measured = [read(folder) for folder in options.events]
    tables: list[dict[str, list[Values]]] = [{} for _ in measured]

    def measure(name: str, model: exatrkx.Model) -> None:
        for rows, events in zip(tables, measured, strict=True):
            rows.setdefault(name, []).append(rates(model, events))
            print(name, rows[name][-1], file=sys.stderr, flush=True)

    measure("`default` as shipped", exatrkx.Model.load())
    start = learned(data)
    measure("+ completion and first pass learned", start)
    for seed in range(1, options.seeds + 1):
        model = start
        for name, config in STEPS.items():
            seeded = config | {"seed": seed}
            context = exatrkx.Context(1)
            model = exatrkx.train(
                seeded, data, validation, start=model, context=context
            )
            measure(name, model)
    print("\n".join(table_of(rows) for rows in tables), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
