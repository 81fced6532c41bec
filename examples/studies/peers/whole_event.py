"""whole_event -- the stage of all stages: hits to tracks at reference sizes.

libexatrkx finds the tracks of an event with the networks of the other stages.
For the peers the table uses, stage by stage, the fastest of them,
its time scaled to the hits and edges of this event.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Any

import exatrkx
import numpy as np

from . import networks
from .event import make_event, radius_of
from .library import make_context, make_model
from .stage import OURS, Agreement, Implementation, Inputs, Run, Stage, n_hits

NEIGHBOURS = 100  # per hit: five million pairs of 100 000 hits
KEPT = 0.2  # of the edges, by the filter
N_SAMPLE = 300  # hits whose edges choose the cut of the filter
GNN_HIDDEN = 64
# The stages of an event, the stages here that time them, and whether
# they count hits or edges before them.
PARTS = {
    "embedding": "embedding",
    "graph": "radius_tracks",
    "filter": "filter",
    "gnn": "gnn64",
    "label": "components",
}


def make(n_hits: int, hidden: int = GNN_HIDDEN) -> Inputs:
    from scipy.spatial import cKDTree

    event = make_event(n_hits)
    features = event.features(networks.EMBEDDING.widths[0])
    weights = networks.embedding_weights() | networks.filter_weights()
    points = networks.embed(features, weights)
    radius = radius_of(points, NEIGHBOURS)
    rows = np.random.default_rng(1).choice(len(points), N_SAMPLE)
    near = cKDTree(points).query_ball_point(points[rows], radius)
    found = [(i, j) for i, some in zip(rows, near, strict=True) for j in some if i != j]
    pairs = np.sort(np.array(found).reshape(-1, 2), axis=1)
    logits = networks.filter_logits(features[pairs].reshape(len(pairs), -1), weights)
    cut = 1 / (1 + np.exp(-np.quantile(logits, 1 - KEPT)))
    inputs = {
        "position": event.position,
        "features": features,
        "radius": np.array(radius),
        "cut": np.array(cut),
    }
    return inputs | weights | networks.gnn_weights(hidden, features.shape[1])


def ours(
    inputs: Inputs,
    n_threads: int,
    hidden: int = GNN_HIDDEN,
    context: exatrkx.Context | None = None,
) -> Run:
    context = context or make_context(n_threads)
    features = inputs["features"]
    config = {
        "embedding": networks.embedding_config(float(inputs["radius"])),
        "filter": networks.filter_config(float(inputs["cut"])),
        "gnn": networks.gnn_config(hidden, features.shape[1]),
        "label": {"method": "components", "cut": 0.5, "min_hits": 3},
    }
    tensors = {name: value for name, value in inputs.items() if "." in name}
    model = make_model(config, tensors)
    event = exatrkx.Event.from_arrays(inputs["position"], features=features)

    def facts() -> dict[str, Any]:
        return {
            name: {"seconds": timing.seconds, "edges": timing.n_edges}
            for name, timing in context.timings.items()
        }

    return Run(
        lambda: exatrkx.find_tracks(model, event, context),
        lambda tracks: np.array([len(tracks)]),
        facts,
    )


def compare(_: Inputs, reference: np.ndarray, result: np.ndarray) -> Agreement:
    return Agreement(bool(np.array_equal(reference, result)), f"{result[0]} tracks")


STAGE = Stage(
    name="event",
    title="whole event",
    item="hit",
    make=make,
    implementations=(Implementation(OURS, ours),),
    compare=compare,
    n_items=n_hits,
)
