"""iterations -- graph networks of 1 to 8 iterations of message passing.

    python -m tables.iterations --data DIR --validation DIR

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys

from .training import Variants, main_of

VARIANTS: Variants = {
    f"{n}": {"model": {"options": {"hidden": 16, "n_iterations": n}}}
    for n in (1, 2, 4, 6, 8)
}

main = main_of("iterations", VARIANTS, events=10, steps=600, edges=20000, seeds=3)

if __name__ == "__main__":
    sys.exit(main())
