"""batch -- graphs of a step against physics, at a fixed number of graphs.

    python -m tables.batch --data DIR --validation DIR

--steps is that of one graph a step; with n graphs a training has an nth of the
steps. The learning rate stays, or is multiplied by n or its root. n ranks with a
graph each are n graphs of a step: the bits are the same (docs/distributed.md).

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import sys

from .training import Variants, main_of

GRAPHS = (2, 4, 8)
SCALES = ("none", "sqrt", "linear")


def variants(options: argparse.Namespace) -> Variants:
    """One graph a step, then more in all scalings of the rate."""
    found = {"1": {}}
    for graphs in GRAPHS:
        steps = max(options.steps // graphs, 1)
        for scale in SCALES:
            schedule = {"steps": steps, "warmup_steps": steps // 12}
            found[f"{graphs}, {scale}"] = {
                "schedule": schedule | {"scale_learning_rate": scale},
                "sampling": {"graphs": graphs},
            }
    return found


main = main_of("batch", variants, events=10, steps=800, edges=2000, seeds=3)

if __name__ == "__main__":
    sys.exit(main())
