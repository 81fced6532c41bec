"""embedded -- the learned points of the hits as inputs of the graph network.

    python -m tables.embedded --data DIR --validation DIR

The first principal components of the points of the shipped embedding are written
into the columns of the cells that no shipped network reads. No reflections in
either training: they would have to move the points, too.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import numpy as np

import exatrkx

from .events import read_events
from .training import CONFIGS, Variants, edges_and_tracks, parse, run_on

# Columns of the cells: number and the extents along the module stay as they are.
UNUSED = {"cell_val": 1, "leta": 2, "lphi": 3, "lz": 6, "geta": 7, "gphi": 8}
NODES = json.loads((CONFIGS / "gnn.json").read_text())["model"]["node_features"]
STILL = {f"reflect_{axis}": False for axis in "xyz"} | {"rotate_phi": False}


def with_nodes(names: Sequence[str]) -> dict[str, dict[str, object]]:
    """The usual features of hits, and these columns."""
    own = [{"name": name, "scale": 1.0} for name in names]
    return {"model": {"node_features": NODES + own}, "augmentation": STILL}


VARIANTS: Variants = {
    "without": with_nodes(()),
    "with the learned points": with_nodes(tuple(UNUSED)),
}


def with_columns(event: exatrkx.Event, values: np.ndarray) -> exatrkx.Event:
    """The event with these [n_hits, 6] in the unused columns."""
    cells = event.cell_features.copy()
    cells[:, list(UNUSED.values())] = values
    return exatrkx.Event.from_arrays(
        event.positions,
        modules=event.modules,
        cell_features=cells,
        particle_ids=event.particle_ids,
        weights=event.weights,
        particles=event.particles,
    )


def principal_axes(points: np.ndarray) -> tuple[np.ndarray, float]:
    """[n_dims, 6], and the share of the variance along them."""
    variance, axes = np.linalg.eigh(np.cov(points.T))
    n = len(UNUSED)
    return axes[:, -n:].astype(np.float32), float(variance[-n:].sum() / variance.sum())


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments, "embedded", events=10, steps=600, edges=4000, seeds=3)
    model = exatrkx.Model.load()
    data = read_events(options.data, options.train_events)
    validation = read_events(options.validation, options.validation_events)
    axes, share = principal_axes(exatrkx.embed(model, data[0]))
    print(f"{100 * share:.1f} % of the variance of the points", file=sys.stderr)
    changed = [
        [with_columns(event, exatrkx.embed(model, event) @ axes) for event in events]
        for events in (data, validation)
    ]
    print(run_on(options, VARIANTS, (edges_and_tracks,), *changed), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
