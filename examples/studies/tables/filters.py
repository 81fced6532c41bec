"""filters -- edge filters of other sizes, activations and inputs.

    python -m tables.filters --data DIR --validation DIR

On the candidate edges of the shipped embedding; edges per hit at the cut that keeps
99.8 % of the signal pairs among them.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import exatrkx

from .training import CONFIGS, Trained, Values, Variants, main_of

SHIPPED = json.loads((CONFIGS / "filter.json").read_text())["model"]
KEPT = 0.998


def filter_of(width: int, activation: str, without: str = "") -> dict[str, Any]:
    """Two hidden layers, without some features of hits, and no bound on the edges."""
    options = {"hidden": [width, width], "activation": activation}
    nodes = [x for x in SHIPPED["node_features"] if x["name"] not in without.split()]
    return {
        "model": {
            "options": SHIPPED["options"] | options,
            "node_features": nodes,
            "max_edges_per_hit": 0.0,
        },
        "validation": {"target_efficiency": KEPT},
    }


VARIANTS: Variants = {
    "32, 32, SiLU": filter_of(32, "silu"),
    "64, 64, SiLU": filter_of(64, "silu"),
    "64, 64, ReLU": filter_of(64, "relu"),
    "64, 64, ReLU, without extents": filter_of(64, "relu", "lx ly"),
}


def rejection(trained: Trained, events: Sequence[exatrkx.Event]) -> Values:
    """What the filter leaves, after the cut that its validation stored."""
    model, context = trained.model, exatrkx.Context(1)
    left = 0
    for event in events:
        candidates = exatrkx.build_graph(model, event, context)
        left += exatrkx.filter_graph(candidates, model, event, context).n_edges
    return {
        "validation loss": trained.validation.loss,
        "AUC": trained.validation.auc,
        "edges per hit": left / sum(event.n_hits for event in events),
        "CPU s": trained.seconds,
    }


main = main_of(
    "filters",
    VARIANTS,
    (rejection,),
    stage="filter",
    events=10,
    steps=800,
    edges=20000,
    seeds=3,
)

if __name__ == "__main__":
    sys.exit(main())
