"""triplets -- a network on doublets against one on triplets.

    python -m tables.triplets --data DIR --validation DIR

Both classify the same doublets (edges); the second does so on the line graph,
whose nodes are the doublets and whose edges the triplets. Same width,
iterations and steps.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys

from .training import Variants, main_of

SIZE = {"hidden": 16, "n_iterations": 3}
VARIANTS: Variants = {
    "doublets: `interaction_network`": {
        "model": {"arch": "interaction_network", "options": SIZE}
    },
    "triplets: `triplet_gnn`": {
        "model": {"arch": "triplet_gnn", "options": {"triplets": SIZE}}
    },
}

main = main_of("triplets", VARIANTS, events=10, steps=600, edges=4000, seeds=2)

if __name__ == "__main__":
    sys.exit(main())
