"""triplets -- a network on doublets against one on triplets.

    python -m tables.triplets --data DIR --validation DIR [--barrel]

Both classify the same doublets (edges); the second does so on the line graph,
whose nodes are the doublets and whose edges the triplets. Same width,
iterations and steps. --barrel: only hits of the barrel volumes. Edge purity counts
an edge between hits of one particle that do not follow each other as false; the
last column counts it as true.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import numpy as np

import exatrkx

from .events import read_events
from .robustness import rebuilt
from .training import (
    Trained,
    Values,
    Variants,
    edges_and_tracks,
    parser_of,
    run_on,
    scored,
)

BARREL = (8, 13, 17)  # volumes
SIZE = {"hidden": 16, "n_iterations": 3}
VARIANTS: Variants = {
    "doublets: `interaction_network`": {
        "model": {"arch": "interaction_network", "options": SIZE}
    },
    "triplets: `triplet_gnn`": {
        "model": {"arch": "triplet_gnn", "options": {"triplets": SIZE}}
    },
}


def of_one_particle(trained: Trained, events: Sequence[exatrkx.Event]) -> Values:
    """The share of the kept edges whose hits are of one particle."""
    kept = same = 0
    for event in events:
        graph = scored(trained.model, event)
        above = graph.scores >= trained.validation.threshold
        owner = event.particle_ids
        src, dst = owner[graph.src[above]], owner[graph.dst[above]]
        kept += int(above.sum())
        same += int(((src == dst) & (src != 0)).sum())
    return {"of one particle": same / max(kept, 1)}


def events_of(
    options: argparse.Namespace, which: str, count: int
) -> list[exatrkx.Event]:
    """The events, or their barrels."""
    events = read_events(getattr(options, which), count)
    if not options.barrel:
        return events
    return [rebuilt(event, np.isin(event.modules[0], BARREL)) for event in events]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of("triplets", events=10, steps=600, edges=4000, seeds=3)
    parser.add_argument("--barrel", action="store_true")
    options = parser.parse_args(arguments)
    data = events_of(options, "data", options.train_events)
    validation = events_of(options, "validation", options.validation_events)
    measures = (edges_and_tracks, of_one_particle)
    print(run_on(options, VARIANTS, measures, data, validation), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
