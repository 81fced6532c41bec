"""construction -- the ways to candidate edges, next to each other.

    python -m tables.construction --events DIR [--count N] --learn DIR [DIR ...]
        [--model FILE] [--hashed build/studies/hashed_pairs.so] [--only NAME ...]

The learned radius of a model against module maps and windows between layers,
learned from the events of --learn, and against approximate searches within the same
radius (neighbours.py), which find no tracks of their own. A true edge joins two hits of a particle
after each other by distance from its vertex, of particles with three hits or
more.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import exatrkx

from .events import event_options, read_events
from .markdown import table

MIN_PT = (0.5, 0.1)  # GeV
MIN_HITS = 3
REPEATS = 3

CONSTRUCTIONS: dict[str, exatrkx.ModuleMapOptions | None] = {
    "radius": None,
    "modules": exatrkx.ModuleMapOptions(),
    "modules, triplets": exatrkx.ModuleMapOptions(use_triplets=True),
    "modules, margin 30": exatrkx.ModuleMapOptions(margin=30),
    "modules, triplets, margin 30": exatrkx.ModuleMapOptions(
        use_triplets=True, margin=30
    ),
    "layers": exatrkx.ModuleMapOptions(units="layers", min_pt=0.5, tail=0.01),
    "layers, triplets": exatrkx.ModuleMapOptions(
        units="layers", min_pt=0.5, tail=0.01, use_triplets=True
    ),
}

APPROXIMATE = ("hashing, 4 x 4 lines", "inverted file, nearest 16")


def true_edges(event: exatrkx.Event, min_pt: float) -> np.ndarray:
    """Pairs of hits of a particle after each other, as lower * n + higher."""
    particles, n = event.particles, event.n_hits
    row = np.searchsorted(particles["id"], event.particle_ids)
    row[event.particle_ids == 0] = -1
    pt = np.hypot(*particles["momentum"][:, :2].T)
    hits = np.bincount(row[row >= 0], minlength=len(particles))
    wanted = (pt >= min_pt) & (hits >= MIN_HITS)
    hit = np.flatnonzero((row >= 0) & wanted[row])
    away = event.positions[hit] - particles["vertex"][row[hit]]
    hit = hit[np.lexsort((np.linalg.norm(away, axis=1), row[hit]))]
    a, b = hit[:-1], hit[1:]
    follows = row[a] == row[b]
    return codes(a[follows], b[follows], n)


def codes(a: np.ndarray, b: np.ndarray, n: int) -> np.ndarray:
    """One number for every pair of hits, whichever comes first."""
    return np.minimum(a, b).astype(np.int64) * n + np.maximum(a, b)


def measure(
    model: exatrkx.Model, events: Sequence[exatrkx.Event], context: exatrkx.Context
) -> list[str]:
    """Efficiencies, edges per hit and processor milliseconds per event."""
    found = np.zeros(len(MIN_PT))
    wanted = np.zeros(len(MIN_PT))
    n_edges = n_hits = 0
    seconds = []
    for event in events:
        times = []
        for _ in range(REPEATS):
            start = time.process_time()
            graph = exatrkx.build_graph(model, event, context)
            times.append(time.process_time() - start)
        seconds.append(min(times))
        edges = codes(graph.src, graph.dst, event.n_hits)
        for k, min_pt in enumerate(MIN_PT):
            true = true_edges(event, min_pt)
            found[k] += np.isin(true, edges).sum()
            wanted[k] += len(true)
        n_edges += graph.n_edges
        n_hits += event.n_hits
    cells = [f"{share:.4f}" for share in found / wanted]
    milliseconds = 1000 * statistics.median(seconds)
    return [*cells, f"{n_edges / n_hits:.1f}", f"{milliseconds:.0f}"]


def found_tracks(
    model: exatrkx.Model, events: Sequence[exatrkx.Event], context: exatrkx.Context
) -> list[str]:
    """Efficiencies of the tracks of the whole pipeline."""
    tracks = [exatrkx.find_tracks(model, event, context) for event in events]
    rates = [exatrkx.evaluate(events, tracks, min_pt=min_pt) for min_pt in MIN_PT]
    return [f"{rate.technical_efficiency.value:.4f}" for rate in rates]


def measure_approximate(
    path: Path | None, model: exatrkx.Model, events: Sequence[exatrkx.Event]
) -> list[list[str]]:
    """The same of searches that miss few pairs, with the embedding before them."""
    from . import neighbours  # which has its truth from here

    context = exatrkx.Context(1)
    problems = [neighbours.Problem(model, event, context) for event in events]
    embedding = []
    for event in events:
        start = time.process_time()
        exatrkx.embed(model, event, context)
        embedding.append(time.process_time() - start)
    rows = []
    for name, search in neighbours.searches(path):
        if name in APPROXIMATE:
            _, *shares, per_hit, seconds, _ = np.mean(
                [problem.compare(search) for problem in problems], axis=0
            )
            milliseconds = 1000 * (statistics.median(embedding) + seconds)
            cells = [*(f"{share:.4f}" for share in shares), f"{per_hit:.1f}"]
            rows.append([f"radius, {name}", *cells, f"{milliseconds:.0f}", "", ""])
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    parser = event_options("construction", count=10)
    add = parser.add_argument
    add("--learn", type=Path, nargs="+", required=True, metavar="DIR")
    add("--model", type=Path, metavar="FILE", help="default: default")
    add("--hashed", type=Path, metavar="FILE", help="hashed_pairs.so")
    add("--only", choices=CONSTRUCTIONS, action="append", help="these lines")
    options = parser.parse_args(arguments)
    context = exatrkx.Context(options.threads)
    start = exatrkx.Model.load(options.model)
    events = read_events(options.events, options.count)
    seen = [
        event
        for folder in options.learn
        for event in read_events(folder, len(list(folder.glob("*-hits.csv*"))))
    ]
    rows = []
    for name in options.only or CONSTRUCTIONS:
        model = start
        used = CONSTRUCTIONS[name]
        if used is not None:
            model = exatrkx.learn_module_map(start, seen, options=used)
        row = [name, *measure(model, events, context)]
        rows.append([*row, *found_tracks(model, events, context)])
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    if options.only is None or "radius" in options.only:
        rows += measure_approximate(options.hashed, start, events)
    head = [f"true edges, pT > {pt} GeV" for pt in MIN_PT]
    tracks = [f"tracks, pT > {pt} GeV" for pt in MIN_PT]
    head = ["candidates", *head, "edges per hit", "CPU ms", *tracks]
    print(table(head, rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
