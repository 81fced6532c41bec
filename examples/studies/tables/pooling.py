"""pooling -- edges scored on a graph of contracted hits, and on the hits themselves.

    python -m tables.pooling --data DIR --validation DIR

The interaction network of edge_pooling is as wide and deep as the one without;
edges are contracted above two cuts of the filter's score.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
from typing import Any

from .training import Variants, main_of

SIZE = {"hidden": 16, "n_iterations": 3}


def pooled(cut: float) -> dict[str, Any]:
    options = {"coarse": SIZE, "contract_cut": cut}
    return {"model": {"arch": "edge_pooling", "options": options}}


VARIANTS: Variants = {
    "`interaction_network`": {},
    "`edge_pooling`, above 0.5": pooled(0.5),
    "`edge_pooling`, above 0.9": pooled(0.9),
}

main = main_of("pooling", VARIANTS, events=10, steps=600, edges=4000, seeds=3)

if __name__ == "__main__":
    sys.exit(main())
