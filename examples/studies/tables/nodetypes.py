"""nodetypes -- what a graph network gains from knowing the kind of a hit's module.

    python -m tables.nodetypes --data DIR --validation DIR

Pixels or strips as one more input of the nodes; one input for each of six kinds
(pixels, short and long strips, in barrel and end-caps); and the type times the other
features, which gives pixels and strips first layers of their own in the encoders, as
in networks with node types. The inputs are in the columns of the cells that no
shipped network reads, so these are six: eta has no product, it follows from r and z.
No reflections in any training: they would have to move z times the type, too.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

import exatrkx

from .embedded import UNUSED, with_columns, with_nodes
from .events import read_events
from .training import Variants, edges_and_tracks, parse, run_on

KINDS = ((8,), (13,), (17,), (7, 9), (12, 14), (16, 18))  # volumes
PIXELS = (7, 8, 9)
COLUMNS = tuple(UNUSED)
OF_TYPE: Variants = {
    "no type": with_nodes(()),
    "type": with_nodes(COLUMNS[:1]),
    "encoders by type": with_nodes(COLUMNS),
}
OF_KIND: Variants = {"six kinds": with_nodes(COLUMNS)}


def kinds(event: exatrkx.Event) -> np.ndarray:
    """[n_hits, 6], 1 in the column of the kind."""
    return np.stack([np.isin(event.modules[0], volumes) for volumes in KINDS], axis=1)


def types(event: exatrkx.Event) -> np.ndarray:
    """[n_hits, 6]: 1 for a strip, then that times the features of its hit."""
    x, y, z = event.positions.T
    cells = event.cell_features
    count, lx, ly = cells[:, 0], cells[:, 4], cells[:, 5]
    ones = np.ones_like(z)
    features = [ones, np.hypot(x, y) / 1000, z / 1000, np.log1p(count), lx / 0.2, ly]
    return np.stack(features, axis=1) * ~np.isin(event.modules[0], PIXELS)[:, None]


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments, "nodetypes", events=10, steps=600, edges=4000, seeds=12)
    sets = [
        read_events(options.data, options.train_events),
        read_events(options.validation, options.validation_events),
    ]
    lines: list[str] = []
    for variants, columns in ((OF_TYPE, types), (OF_KIND, kinds)):
        if options.only not in (None, *variants):
            continue
        changed = [
            [with_columns(event, columns(event)) for event in events]
            for events in sets
        ]
        made = run_on(options, variants, (edges_and_tracks,), *changed)
        lines += made.splitlines()[2 if lines else 0 :]
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
