"""balance -- how evenly ranks have work, by the order of the graphs and how
they are assigned.

An embedding on whole events, whose work grows with their hits: the pairs of
true edges, one query and one random pair. Counts, no clock: the same figures on
every machine.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tables.markdown import table

from .runs import last_line, training

RULES = {"turn": "in turn (by chance)", "balanced": "balanced"}
KINDS = [("epochs", "turn"), ("epochs", "balanced"), ("buckets", "balanced")]
FEATURES = [{"name": name, "scale": 1000.0} for name in ("r", "z")]


@dataclass(frozen=True)
class Assignment:
    order: str
    rule: str
    imbalance: float  # most work of a rank / mean, mean over the steps


def config(order: str, graphs: int, steps: int) -> dict:
    return {
        "stage": "embedding",
        "seed": 1,
        "model": {
            "arch": "mlp",
            "options": {"hidden": [8], "n_out": 2},
            "node_features": FEATURES,
            "graph": {"radius": 0.1},
        },
        "schedule": {"steps": steps, "learning_rate": 1e-3},
        "sampling": {"hits": 0, "queries": 1, "neighbours": 0}
        | {"other": 1, "random_pairs": 1, "graphs": graphs, "order": order},
    }


def measure(
    program: Path,
    folder: Path,
    data: Sequence[str],
    ranks: int,
    graphs: int,
    steps: int,
) -> list[Assignment]:
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for order, rule in KINDS:
        path = folder / f"{order}.json"
        name = f"{order}_{rule}"
        path.write_text(json.dumps(config(order, graphs, steps)))
        command = training(program, path, folder, name, data)
        command += ["--ranks", str(ranks), "--assign", rule]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        line = last_line(folder / f"{name}.jsonl")
        found.append(Assignment(order, rule, line["imbalance"]))
    return found


def describe(found: Sequence[Assignment]) -> str:
    rows = [
        [f"`{one.order}`", RULES[one.rule], f"{one.imbalance:.3f}"] for one in found
    ]
    return table(["order", "assigned", "most work / mean"], rows)
