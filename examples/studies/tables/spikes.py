"""spikes -- what keeps a training alive whose learning rate is too high.

    python -m tables.spikes --data DIR --validation DIR

The rate is fifty times the usual one, the gradient has no bound, and the network
no norm, but for what a line says. Jumps are steps whose loss is above twice the
running mean of the last ones.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import exatrkx

from .training import Trained, Values, Variants, main_of, merged

WINDOW = 20  # steps of the running mean
JUMP = 2.0
SIZE = {"hidden": 16, "n_iterations": 6, "norm": "none"}
BASE: Mapping[str, Any] = {
    "model": {"options": SIZE},
    "schedule": {"learning_rate": 0.1, "decay": "constant"},
    "optimiser": {"weight_decay": 0.0, "gradient_clip": 0.0},
    "sampling": {"graphs": 2},
}
CHANGES: Mapping[str, dict[str, Any]] = {
    "nothing": {},
    "layer norm": {"model": {"options": SIZE | {"norm": "layer"}}},
    "weight decay 0.1": {"optimiser": {"weight_decay": 0.1}},
    "momentum head": {
        "model": {"options": SIZE | {"pt_layers": 2}},
        "loss": {"pt_weight": 0.2},
    },
    "mean over graphs": {"loss": {"average": "graphs"}},
    "gradient clip 1": {"optimiser": {"gradient_clip": 1.0}},
    "a tenth of the rate": {"schedule": {"learning_rate": 0.01}},
}
VARIANTS: Variants = {
    name: merged(dict(BASE), change) for name, change in CHANGES.items()
}


def jumps(losses: Sequence[float]) -> int:
    """Steps whose loss is above JUMP times the running mean of the others."""
    mean, n, found = 0.0, 0, 0
    for loss in losses:
        if not math.isfinite(loss) or (n >= WINDOW and loss > JUMP * mean):
            found += 1
            continue
        n = min(n + 1, WINDOW)
        mean += (loss - mean) / n
    return found


def stability(trained: Trained, events: Sequence[exatrkx.Event]) -> Values:
    """Jumps, the largest loss after the warm-up, and the end."""
    losses = [report.loss for report in trained.steps]
    n_warm = len(losses) // 12
    return {
        "jumps": float(jumps(losses)),
        "log10 of the largest loss": math.log10(max(losses[n_warm:])),
        "validation loss": trained.validation.loss,
        "AUC": trained.validation.auc,
    }


main = main_of(
    "spikes", VARIANTS, (stability,), events=4, steps=240, edges=2000, seeds=3
)

if __name__ == "__main__":
    sys.exit(main())
