"""families -- networks of all families on the same edges.

    python -m tables.families --data DIR --validation DIR

The same width and iterations, steps and features of hits, and features of edges
where a network reads them. edge_pooling and gravnet have tables of their own.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys

from .training import Variants, main_of

SIZE = {"hidden": 16, "n_iterations": 3}
NO_EDGES = {"edge_features": []}
VARIANTS: Variants = {
    f"`{arch}`": {"model": {"arch": arch, "options": SIZE, **change}}
    for arch, change in (
        ("graph_convolution", {}),
        ("attention_gnn", NO_EDGES),
        ("interaction_network", {}),
        ("lorentz_network", {}),
        ("triplet_gnn", {"options": {"triplets": SIZE}}),
    )
}

main = main_of("families", VARIANTS, events=10, steps=600, edges=4000, seeds=3)

if __name__ == "__main__":
    sys.exit(main())
