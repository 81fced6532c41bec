"""oneshot -- tracks from one network: GravNet points, grouped without a graph network.

    python -m tables.oneshot --data DIR --validation DIR

GravNet is trained with all pairs of hits of a particle attracting, on sectors of
--hits hits. Its points are grouped by components of pairs closer than eps, or by
DBSCAN (Ester et al. 1996): a hit with at least 4 hits within eps, itself included, is
core; cores within eps share a track, other hits join their nearest core within eps.
eps is the best of EPS on the first training event. The last line is a learned
embedding of the usual kind with the same steps and the same groups.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import exatrkx

from .events import read_events
from .training import MIN_PT, Values, parser_of, table_of

EPS = (0.02, 0.04, 0.06, 0.09, 0.13, 0.2)
MIN_POINTS = 4
FEATURES = [("r", 1000.0), ("cos_phi", 1.0), ("sin_phi", 1.0), ("z", 1000.0), ("eta", 1.0)]
NETWORKS = {
    "GravNet": {"arch": "gravnet", "options": {"hidden": 32, "n_iterations": 3}},
    "perceptron": {
        "arch": "mlp",
        "options": {"hidden": [64, 64, 64], "n_out": 8, "norm": "layer"},
    },
}

Group = Callable[[np.ndarray, np.ndarray, int], tuple[np.ndarray, np.ndarray]]


def config(network: dict[str, Any], options: argparse.Namespace, seed: int) -> Any:
    """Of a training of points."""
    features = [{"name": name, "scale": scale} for name, scale in FEATURES]
    graph = {"radius": max(EPS), "orientation": "outward"}
    return {
        "stage": "embedding",
        "seed": seed,
        "model": network | {"node_features": features, "graph": graph},
        "schedule": {"steps": options.steps, "learning_rate": 0.003}
        | {"warmup_steps": options.steps // 12},
        "truth": {"pairs": "any", "min_pt": MIN_PT},
        "sampling": {"hits": options.edges, "queries": 300, "search_radius": 0.45}
        | {"neighbours": 0, "other": 50, "random_pairs": 1000},
        "augmentation": {"rotate_phi": True, "reflect_y": True, "reflect_z": True},
    }


def components(
    pairs: np.ndarray, distance: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """All pairs."""
    return pairs[0], pairs[1]


def dbscan(
    pairs: np.ndarray, distance: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of cores, and each other hit with its nearest core."""
    is_core = 1 + np.bincount(pairs.ravel(), minlength=n) >= MIN_POINTS
    both = is_core[pairs[0]] & is_core[pairs[1]]
    hit = np.concatenate((pairs[0], pairs[1]))
    other = np.concatenate((pairs[1], pairs[0]))
    away = np.concatenate((distance, distance))
    border = np.flatnonzero(~is_core[hit] & is_core[other])
    border = border[np.lexsort((away[border], hit[border]))]
    _, first = np.unique(hit[border], return_index=True)
    nearest = border[first]
    return (
        np.concatenate((pairs[0][both], hit[nearest])),
        np.concatenate((pairs[1][both], other[nearest])),
    )


def tracks_of(
    model: exatrkx.Model, event: exatrkx.Event, eps: float, group: Group
) -> exatrkx.Tracks:
    """The groups of an event."""
    points = exatrkx.embed(model, event)
    graph = exatrkx.build_graph(model, event)
    distance = np.linalg.norm(points[graph.src] - points[graph.dst], axis=1)
    near = distance <= eps
    pairs = np.stack((graph.src[near], graph.dst[near]))
    src, dst = group(pairs, distance[near], event.n_hits)
    scores = np.ones(len(src), np.float32)
    kept = exatrkx.Graph.from_edges(event.n_hits, src, dst, scores)
    return exatrkx.build_tracks(kept, method="components", cut=0.5, min_hits=4)


def measure(
    model: exatrkx.Model, events: Sequence[exatrkx.Event], eps: float, group: Group
) -> exatrkx.Evaluation:
    tracks = [tracks_of(model, event, eps, group) for event in events]
    return exatrkx.evaluate(events, tracks, min_pt=MIN_PT)


def values(
    model: exatrkx.Model,
    data: Sequence[exatrkx.Event],
    validation: Sequence[exatrkx.Event],
    group: Group,
) -> Values:
    """With the best eps of the first training event."""
    scores = [measure(model, data[:1], eps, group).trackml_score for eps in EPS]
    rates = measure(model, validation, EPS[int(np.argmax(scores))], group)
    return {
        "eps": EPS[int(np.argmax(scores))],
        "efficiency": rates.technical_efficiency.value,
        "track purity": rates.purity.value,
        "fake rate": rates.fake_rate.value,
        "TrackML score": rates.trackml_score,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = parser_of("oneshot", events=10, steps=400, edges=1500, seeds=3)
    options = parser.parse_args(arguments)
    data = read_events(options.data, options.train_events)
    validation = read_events(options.validation, options.validation_events)
    rows: dict[str, list[Values]] = {}
    for name, network in NETWORKS.items():
        for seed in range(1, options.seeds + 1):
            start = time.process_time()
            model = exatrkx.train(
                config(network, options, seed), data, context=exatrkx.Context(1)
            )
            seconds = {"CPU s": time.process_time() - start}
            for group in (components, dbscan):
                found = values(model, data, validation, group) | seconds
                rows.setdefault(f"{name}, {group.__name__}", []).append(found)
                print(name, group.__name__, seed, found, file=sys.stderr, flush=True)
    print(table_of(rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
