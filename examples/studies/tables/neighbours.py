"""neighbours -- approximate searches for neighbours against the exact one.

    make build/studies/hashed_pairs.so
    python -m tables.neighbours --events DIR [--count N] [--model FILE]
        [--hashed build/studies/hashed_pairs.so]

On the points that the embedding of a model gives, with the radius that it uses
in each event: locality-sensitive hashing (hashed_pairs.c) and the inverted file
of FAISS, where it is installed. Recall is the share of the pairs of the exact
search. A true edge joins two hits of a particle after each other (construction.py).
Processor milliseconds are of the fastest of a few searches on one thread, each next
to an exact one.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

import exatrkx

from .construction import MIN_PT, codes, true_edges
from .events import event_options, read_events
from .markdown import table

REPEATS = 3
CELL = 2.0  # width of a cell of one of four lines
TABLES = (1, 2, 4)
PER_CLUSTER = 100  # points of the inverted file
PROBES = (1, 4, 16)

Pairs = tuple[np.ndarray, np.ndarray]
Search = Callable[[np.ndarray, float], Pairs]


def hashed(library: ctypes.CDLL, n_tables: int, n_lines: int) -> Search:
    """Lines and their cells are wider the more lines a table has, so that the
    buckets of all tables have about as many points."""
    search = library.hashed_pairs
    search.restype = ctypes.c_int64

    def call(points: np.ndarray, radius: float) -> Pairs:
        n, n_dim = points.shape
        random = np.random.default_rng(1)
        lines = random.normal(size=(n_tables, n_lines, n_dim + 1))
        lines /= CELL * n_lines / 4 * radius / 0.35
        lines[:, :, n_dim] = random.random((n_tables, n_lines))
        lines = np.ascontiguousarray(lines, np.float32)
        pairs = np.empty((200 * n, 2), np.int32)
        pointers = [ctypes.c_void_p(a.ctypes.data) for a in (pairs, points, lines)]
        capacity = ctypes.c_int64(len(pairs))
        size = (ctypes.c_int64(n), n_dim, ctypes.c_float(radius))
        n_pairs = search(
            pointers[0], capacity, pointers[1], *size, pointers[2], n_tables, n_lines
        )
        if n_pairs > len(pairs):
            raise MemoryError(f"{n_pairs} pairs, {len(pairs)} at most")
        return pairs[:n_pairs, 0], pairs[:n_pairs, 1]

    return call


def inverted_file(n_probes: int) -> Search:
    """Clusters of points, of which the nearest n_probes are searched."""
    import faiss

    def call(points: np.ndarray, radius: float) -> Pairs:
        faiss.omp_set_num_threads(1)
        n_dim = points.shape[1]
        n_clusters = max(len(points) // PER_CLUSTER, n_probes)
        index = faiss.IndexIVFFlat(faiss.IndexFlatL2(n_dim), n_dim, n_clusters)
        index.cp.niter = 4
        index.train(points)
        index.add(points)
        index.nprobe = n_probes
        limits, _, found = index.range_search(points, radius * radius)
        rows = np.repeat(np.arange(len(points)), np.diff(limits.astype(np.int64)))
        once = rows < found
        return rows[once], found[once]

    return call


def searches(path: Path | None) -> Iterator[tuple[str, Search]]:
    """What is installed, by name."""
    if path is not None:
        library = ctypes.CDLL(str(path.resolve()))
        for n_lines in (4, 8):
            for n_tables in TABLES:
                name = f"hashing, {n_tables} x {n_lines} lines"
                yield name, hashed(library, n_tables, n_lines)
    if importlib.util.find_spec("faiss") is not None:
        for n_probes in PROBES:
            name = f"inverted file, nearest {n_probes}"
            yield name, inverted_file(n_probes)


class Problem:
    """The points of an event, and what there is to find among them."""

    def __init__(
        self, model: exatrkx.Model, event: exatrkx.Event, context: exatrkx.Context
    ) -> None:
        self.points = exatrkx.embed(model, event, context)
        self.context = context
        graph = exatrkx.build_graph(model, event, context)
        apart = self.points[graph.src] - self.points[graph.dst]
        self.radius = float(np.linalg.norm(apart, axis=1).max())
        self.pairs = self.code(self.exact(self.points, self.radius))
        self.true = [np.sort(true_edges(event, min_pt)) for min_pt in MIN_PT]

    @staticmethod
    def share_found(true: np.ndarray, found: np.ndarray) -> float:
        """The share of the sorted codes that is among those found, far more."""
        at = np.searchsorted(true, found)
        is_true = true[np.minimum(at, len(true) - 1)] == found
        out = np.zeros(len(true), bool)
        out[at[is_true]] = True
        return float(out.mean())

    def code(self, pairs: Pairs) -> np.ndarray:
        return codes(*pairs, len(self.points))

    def exact(self, points: np.ndarray, radius: float) -> Pairs:
        graph = exatrkx.Graph.radius(points, radius, context=self.context)
        return graph.src, graph.dst

    def seconds(self, search: Search) -> tuple[float, Pairs]:
        start = time.process_time()
        pairs = search(self.points, self.radius)
        return time.process_time() - start, pairs

    def compare(self, search: Search) -> list[float]:
        """Shares of the pairs and of the true edges; pairs per hit; seconds of it
        and exact."""
        times = np.empty((REPEATS, 2))
        for row in times:
            row[0], pairs = self.seconds(search)
            row[1], _ = self.seconds(self.exact)
        found = self.code(pairs)
        shares = [self.share_found(true, found) for true in self.true]
        recall = len(found) / len(self.pairs)
        return [recall, *shares, len(found) / len(self.points), *times.min(0)]


def row(name: str, problems: Sequence[Problem], search: Search) -> list[str]:
    """Means over events; the time as a multiple of the exact one."""
    recall, *shares, per_hit, own, exact = np.mean(
        [problem.compare(search) for problem in problems], axis=0
    )
    true = [f"{share:.4f}" for share in shares]
    times = [f"{1000 * own:.0f}", f"{own / exact:.2f}"]
    return [name, f"{recall:.3f}", *true, f"{per_hit:.1f}", *times]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = event_options("neighbours", count=1)
    parser.add_argument("--model", type=Path, metavar="FILE", help="default: default")
    parser.add_argument("--hashed", type=Path, metavar="FILE", help="hashed_pairs.so")
    options = parser.parse_args(arguments)
    context = exatrkx.Context(1)
    model = exatrkx.Model.load(options.model)
    events = read_events(options.events, options.count)
    problems = [Problem(model, event, context) for event in events]
    rows = [row("exact", problems, problems[0].exact)]
    for name, search in searches(options.hashed):
        rows.append(row(name, problems, search))
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    head = [f"true edges, pT > {pt} GeV" for pt in MIN_PT]
    head = ["search", "recall", *head, "edges per hit", "CPU ms", "times exact"]
    print(table(head, rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
