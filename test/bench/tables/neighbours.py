"""neighbours -- approximate searches for neighbours against the exact one.

    gcc -O3 -mavx2 -mfma -ffast-math -shared -fPIC \\
        test/bench/tables/hashed_pairs.c -o build/hashed_pairs.so
    python -m tables.neighbours --events DIR [--count N] [--model FILE]
        [--hashed build/hashed_pairs.so]

On the points that the embedding of a model gives, with the radius that it uses
in each event: locality-sensitive hashing (hashed_pairs.c) and the inverted file
of FAISS, where it is installed. A true edge joins two hits of a particle above
0.5 GeV after each other (construction.py). Processor seconds are of the
fastest of a few searches on one thread, each next to an exact one.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import importlib.util
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

import exatrkx

from .construction import codes, true_edges
from .events import event_options, read_events
from .markdown import table

REPEATS = 3
MIN_PT = 0.5  # GeV
CELL = 2.0  # width of a cell of one of four lines
TABLES = (1, 2, 4)
CLUSTERS = 1024
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
        index = faiss.IndexIVFFlat(faiss.IndexFlatL2(n_dim), n_dim, CLUSTERS)
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
            name = f"inverted file, {n_probes} of {CLUSTERS} clusters"
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
        true = np.sort(true_edges(event, MIN_PT))
        self.true = true[self.is_found(true, self.pairs)]

    @staticmethod
    def is_found(true: np.ndarray, found: np.ndarray) -> np.ndarray:
        """Which of the sorted codes are among those found, far more."""
        at = np.searchsorted(true, found)
        is_true = true[np.minimum(at, len(true) - 1)] == found
        out = np.zeros(len(true), bool)
        out[at[is_true]] = True
        return out

    def code(self, pairs: Pairs) -> np.ndarray:
        return codes(*pairs, len(self.points))

    def exact(self, points: np.ndarray, radius: float) -> Pairs:
        graph = exatrkx.Graph.radius(points, radius, context=self.context)
        return graph.src, graph.dst

    def seconds(self, search: Search) -> tuple[float, Pairs]:
        start = time.process_time()
        pairs = search(self.points, self.radius)
        return time.process_time() - start, pairs

    def compare(self, search: Search) -> tuple[float, float, float, float]:
        """Shares of the pairs and of the true edges; seconds of it and exact."""
        times = np.empty((REPEATS, 2))
        for row in times:
            row[0], pairs = self.seconds(search)
            row[1], _ = self.seconds(self.exact)
        found = self.code(pairs)
        true = float(self.is_found(self.true, found).mean())
        return len(found) / len(self.pairs), true, *times.min(0)


def row(name: str, problems: Sequence[Problem], search: Search) -> list[str]:
    """Means over events; the time as a multiple of the exact one."""
    found, true, own, exact = np.mean([p.compare(search) for p in problems], axis=0)
    return [name, f"{found:.3f}", f"{true:.3f}", f"{own:.2f}", f"{own / exact:.2f}"]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = event_options("neighbours", count=1)
    parser.add_argument("--model", type=Path, metavar="FILE", help="default: default")
    parser.add_argument("--hashed", type=Path, metavar="FILE", help="hashed_pairs.so")
    options = parser.parse_args(arguments)
    context = exatrkx.Context(1)
    model = exatrkx.Model.load(options.model)
    events = read_events(options.events, options.count)
    problems = [Problem(model, event, context) for event in events]
    per_hit = statistics.mean(len(p.pairs) / len(p.points) for p in problems)
    print(f"{per_hit:.1f} pairs per hit", file=sys.stderr)
    rows = [row("exact", problems, problems[0].exact)]
    for name, search in searches(options.hashed):
        rows.append(row(name, problems, search))
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    head = ["search", "pairs", "true edges", "CPU s", "relative to exact"]
    print(table(head, rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
