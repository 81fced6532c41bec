"""momentum -- with and without a head that estimates the momentum of an edge.

    python -m tables.momentum --data DIR --validation DIR

The error of ln(pT / GeV) is the root mean square over true edges, next to the
standard deviation of the truth: equal numbers mean that nothing is learnt.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import exatrkx

from .training import Trained, Values, Variants, edges_and_tracks, main_of

SIZE = {"hidden": 16, "n_iterations": 6}
VARIANTS: Variants = {
    "no head": {"model": {"options": SIZE}},
    **{
        f"`pt_weight` {weight}": {
            "model": {"options": SIZE | {"pt_layers": 2}},
            "loss": {"pt_weight": weight},
        }
        for weight in (0.02, 0.2)
    },
}


def error(trained: Trained, events: Sequence[exatrkx.Event]) -> Values:
    """Of the head, on whole validation events."""
    found = trained.validation
    return {"error of ln(pT)": found.pt_error, "spread of ln(pT)": found.pt_spread}


main = main_of(
    "momentum",
    VARIANTS,
    (edges_and_tracks, error),
    events=10,
    steps=600,
    edges=4000,
    seeds=3,
)

if __name__ == "__main__":
    sys.exit(main())
