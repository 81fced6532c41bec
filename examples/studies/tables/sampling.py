"""sampling -- which false pairs an embedding learns from, and how it weighs them.

    python -m tables.sampling --data DIR --validation DIR

Edges per hit at the radius that keeps 99 % of the signal pairs of the validation.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import exatrkx

from .training import CONFIGS, Trained, Values, Variants, main_of, merged

MODEL = json.loads((CONFIGS / "embedding.json").read_text())["model"]
BASE: Mapping[str, Any] = {
    "model": {"options": MODEL["options"] | {"hidden": [128, 128, 128]}},
    "validation": {"target_efficiency": 0.99},
}
NEAREST = {"search_radius": 1.0, "neighbours": 40, "other": 0}
CHANGES: Mapping[str, dict[str, Any]] = {
    "random pairs alone": {"sampling": {"neighbours": 0, "other": 0, "random_pairs": 100000}},
    "40 nearest within 1": {"sampling": NEAREST},
    "100 drawn within 0.6": {"sampling": {"search_radius": 0.6}},
    "100 drawn within 0.45": {},
    "the same, without rotations": {"augmentation": {"rotate_phi": False}},
    "the same, `learning_rate` 0.01": {"schedule": {"learning_rate": 0.01}},
    "the same, `positive_weight` 1.5": {"loss": {"positive_weight": 1.5}},
    "the same, `positive_weight` 8": {"loss": {"positive_weight": 8.0}},
    "the same, `hinge` squared": {"loss": {"hinge": "squared"}},
}
VARIANTS: Variants = {
    name: merged(dict(BASE), change) for name, change in CHANGES.items()
}


def edges(trained: Trained, events: Sequence[exatrkx.Event]) -> Values:
    """Of whole validation events."""
    found = trained.validation
    n_hits = sum(event.n_hits for event in events)
    return {
        "efficiency": found.efficiency,
        "radius": found.threshold,
        "edges per hit": found.n_edges / n_hits,
        "CPU s": trained.seconds,
    }


main = main_of(
    "sampling",
    VARIANTS,
    (edges,),
    stage="embedding",
    events=10,
    steps=600,
    edges=0,
    seeds=3,
)

if __name__ == "__main__":
    sys.exit(main())
