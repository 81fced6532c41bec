"""windows -- graph networks that learn from whole events, or from parts of them.

    python -m tables.windows --data DIR --validation DIR

Each part holds the hits within a random window of azimuth and of z / r, and the edges
between them; validation is of whole events. All see as many edges.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys

from .training import Variants, main_of

EDGES = 40000  # of all graphs of a step


def parts(n: int) -> dict[str, object]:
    """n parts of that many edges together; a part of the whole range of z / r."""
    return {"sampling": {"graphs": n, "edges": EDGES // n, "eta_window": 1.0}}


VARIANTS: Variants = {
    "1 of 40 000 edges": parts(1),
    "4 of 10 000": parts(4),
    "16 of 2500": parts(16),
    "80 of 500": parts(80),
}

main = main_of("windows", VARIANTS, events=10, steps=300, edges=0, seeds=3)

if __name__ == "__main__":
    sys.exit(main())
