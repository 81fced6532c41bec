"""padding -- what graphs of one fixed shape cost.

    python -m tables.padding --events DIR [DIR ...] [--count N] [--model FILE]

Frameworks that compile a program for each shape of their arrays fill the graphs
of a training up to one shape, the largest, or up to the largest of a bucket of
similar ones. This library needs neither. The table has the edges of the filled
graphs relative to the true ones, and the processor time of the graph network of
a model on them. Filling is done with hits that only edges of the filling reach,
so the scores of the true edges must have the same bits: with a weight of zero in
the loss, the gradients have, too.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import exatrkx

from .events import read_events
from .markdown import table

BUCKETS = (1, 2, 4)
REPEATS = 3


class Sample:
    """An event and the graph that the network sees."""

    def __init__(
        self, event: exatrkx.Event, model: exatrkx.Model, context: exatrkx.Context
    ) -> None:
        built = exatrkx.build_graph(model, event, context)
        self.event = event
        self.graph = exatrkx.filter_graph(built, model, event, context)

    @property
    def size(self) -> tuple[int, int]:
        """Hits, edges."""
        return self.event.n_hits, self.graph.n_edges

    def filled(self, n_hits: int, n_edges: int) -> tuple[exatrkx.Event, exatrkx.Graph]:
        """The same with hits and edges of no particle after its own; two hits
        more, for the edges to join."""
        event, graph = self.event, self.graph
        more = n_hits - event.n_hits + 2
        cells = event.cell_features
        larger = exatrkx.Event.from_arrays(
            np.pad(event.positions, ((0, more), (0, 0)), constant_values=500.0),
            cell_features=None if cells is None else np.pad(cells, ((0, more), (0, 0))),
        )
        fill = n_edges - graph.n_edges
        src, dst, scores = (
            np.pad(np.asarray(values), (0, fill), constant_values=value)
            for values, value in (
                (graph.src, n_hits),
                (graph.dst, n_hits + 1),
                (graph.scores, 0.5),
            )
        )
        return larger, exatrkx.Graph.from_edges(n_hits + 2, src, dst, scores)


def seconds(
    model: exatrkx.Model,
    event: exatrkx.Event,
    graph: exatrkx.Graph,
    context: exatrkx.Context,
) -> tuple[float, np.ndarray]:
    """Of the fastest of a few runs; and the scores."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        scored = exatrkx.score_graph(graph, model, event, context)
        times.append(time.process_time() - start)
    return min(times), np.asarray(scored.scores)


def shapes(samples: Sequence[Sample], n_buckets: int) -> list[tuple[int, int]]:
    """For each sample, in order of edges, the largest of its bucket."""
    out: list[tuple[int, int]] = []
    for bucket in np.array_split(np.arange(len(samples)), n_buckets):
        sizes = np.array([samples[i].size for i in bucket])
        largest = sizes.max(0)
        out += [(int(largest[0]), int(largest[1]))] * len(bucket)
    return out


def check(sample: Sample, plain: np.ndarray, scores: np.ndarray) -> None:
    """The true edges are the first, as targets of the filling come last."""
    if not np.array_equal(scores[: len(plain)], plain):
        raise ValueError(f"{sample.event.name}: filling changes the scores")


def rows_of(
    name: str,
    samples: Sequence[Sample],
    model: exatrkx.Model,
    context: exatrkx.Context,
) -> list[list[str]]:
    samples = sorted(samples, key=lambda s: s.graph.n_edges)
    plain = [seconds(model, s.event, s.graph, context) for s in samples]
    n_edges = sum(s.graph.n_edges for s in samples)
    rows = [[name, "as they are", "1.000", "1.000"]]
    for n_buckets in (n for n in BUCKETS if n <= len(samples)):
        all_shapes = shapes(samples, n_buckets)
        spent = 0.0
        for sample, shape, (_, expected) in zip(
            samples, all_shapes, plain, strict=True
        ):
            own, scores = seconds(model, *sample.filled(*shape), context)
            check(sample, expected, scores)
            spent += own
        label = "one shape" if n_buckets == 1 else f"{n_buckets} shapes"
        filled = sum(edges for _, edges in all_shapes) / n_edges
        ratio = spent / sum(own for own, _ in plain)
        rows.append([name, label, f"{filled:.3f}", f"{ratio:.3f}"])
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tables.padding")
    add = parser.add_argument
    add("--events", type=Path, nargs="+", required=True, metavar="DIR")
    add("--count", type=int, default=10, metavar="N", help="events, default 10")
    add("--model", type=Path, metavar="FILE", help="default: default")
    options = parser.parse_args(arguments)
    model, context = exatrkx.Model.load(options.model), exatrkx.Context(1)
    rows = []
    for folder in options.events:
        events = read_events(folder, options.count)
        samples = [Sample(event, model, context) for event in events]
        rows += rows_of(folder.name, samples, model, context)
    print(table(["events", "filled", "edges", "CPU time"], rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
