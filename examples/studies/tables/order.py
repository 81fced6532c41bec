"""order -- which graphs share a step, against physics.

    python -m tables.order --data DIR --validation DIR

Whole events of several sizes, four to a step: drawn at random, each once per epoch,
or in buckets of similar size (docs/training_objectives.md).

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys

from .training import Variants, main_of

VARIANTS: Variants = {
    name: {
        "sampling": {"graphs": 4, "order": name, "edges": 0, "hits": 0},
    }
    for name in ("drawn", "epochs", "buckets")
}

main = main_of("order", VARIANTS, events=16, steps=120, edges=0, seeds=3)

if __name__ == "__main__":
    sys.exit(main())
