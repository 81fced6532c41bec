"""messages -- the sum of messages at the nodes as dense, scattered and sparse.

    make build/studies/messages
    python -m tables.messages [--hits N ...] [--edges N] [--width N]

    m_i = sum over e into i of w_e x_src + sum over e out of i of w_e x_dst

and its gradients of x and w, on one thread, for random graphs of ten edges
per hit:

    library     segment_reduce over edges sorted by target, and in the order of
                their source (examples/studies/messages.c)
    dense       products with the incidence matrices of the sources and targets,
                as in arXiv:1810.06111 (PyTorch)
    scatter     rows gathered by edge, index_add at the nodes (PyTorch)
    sparse      a sparse matrix times x; PyTorch in CSR, with the gradient of w
                from gathered rows, and SciPy in CSR

Each in a process of its own: processor seconds of the fastest pass, and how far
the highest resident size grows in all passes. Dense stops where its two
matrices are larger than 2 GiB.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .markdown import table

PROGRAM = Path(__file__).resolve().parents[3] / "build" / "studies" / "messages"
PASSES = 5
LARGEST_MATRIX = 1 << 30  # bytes
MIB = 1 << 20

# Of a problem: m, and with m the gradients of x and w.
Way = Callable[["Problem"], tuple[Callable[[], Any], Callable[[Any], Any]]]


class Problem:
    """A random graph with values, the same for all ways."""

    def __init__(self, n_hits: int, n_edges: int, width: int) -> None:
        random = np.random.default_rng(1)
        self.n = n_hits
        ends = random.integers(0, n_hits, (2, n_edges))
        self.src, self.dst = ends[:, np.lexsort((ends[0], ends[1]))]
        self.x, self.d_m = random.uniform(-1, 1, (2, n_hits, width)).astype("f4")
        self.w = random.uniform(-1, 1, n_edges).astype("f4")


def tensors(problem: Problem) -> Any:
    """x and w, which take gradients, d_m, src and dst."""
    import torch

    torch.set_num_threads(1)
    x, w = (torch.from_numpy(a).requires_grad_() for a in (problem.x, problem.w))
    rest = (problem.d_m, problem.src, problem.dst)
    return x, w, *(torch.from_numpy(a) for a in rest)


def with_autograd(forward: Callable[[], Any], d_m: Any, leaves: Sequence[Any]) -> Any:
    """The forward, and a backward of what it gave."""

    def backward(m: Any) -> Any:
        for leaf in leaves:
            leaf.grad = None
        m.backward(d_m)
        return tuple(leaf.grad for leaf in leaves)

    return forward, backward


def dense(problem: Problem) -> Any:
    import torch

    x, w, d_m, src, dst = tensors(problem)
    edge = torch.arange(len(src))
    sources, targets = torch.zeros(2, problem.n, len(src))
    sources[src, edge] = targets[dst, edge] = 1

    def forward() -> Any:
        into = targets @ (w[:, None] * (sources.T @ x))
        return into + sources @ (w[:, None] * (targets.T @ x))

    return with_autograd(forward, d_m, (x, w))


def scatter(problem: Problem) -> Any:
    import torch

    x, w, d_m, src, dst = tensors(problem)

    def forward() -> Any:
        m = torch.zeros(x.shape).index_add(0, dst, w[:, None] * x[src])
        return m.index_add(0, src, w[:, None] * x[dst])

    return with_autograd(forward, d_m, (x, w))


def compressed(problem: Problem) -> Any:
    """Both directions as one CSR matrix, and the edge of each of its values."""
    row = np.concatenate([problem.dst, problem.src])
    column = np.concatenate([problem.src, problem.dst])
    order = np.lexsort((column, row))
    offset = np.zeros(problem.n + 1, np.int64)
    np.cumsum(np.bincount(row, minlength=problem.n), out=offset[1:])
    edge = np.tile(np.arange(len(problem.src)), 2)[order]
    return offset, column[order], edge


def sparse(problem: Problem) -> Any:
    import torch

    x, w, d_m, src, dst = tensors(problem)
    offset, column, edge = (torch.from_numpy(a) for a in compressed(problem))
    shape = (problem.n, problem.n)

    def product(values: Any) -> Any:
        with torch.no_grad():
            matrix = torch.sparse_csr_tensor(offset, column, w[edge], shape)
            return matrix @ values

    def backward(_: Any) -> Any:
        with torch.no_grad():
            d_w = (d_m[dst] * x[src]).sum(1) + (d_m[src] * x[dst]).sum(1)
        return product(d_m), d_w  # the matrix is symmetric

    return lambda: product(x), backward


def scipy_sparse(problem: Problem) -> Any:
    from scipy.sparse import csr_matrix

    offset, column, edge = compressed(problem)
    x, w, d_m = problem.x, problem.w, problem.d_m
    src, dst = problem.src, problem.dst

    def product(values: np.ndarray) -> np.ndarray:
        return csr_matrix((w[edge], column, offset), (problem.n,) * 2) @ values

    def backward(_: np.ndarray) -> Any:
        d_w = np.einsum("ek,ek->e", d_m[dst], x[src])
        return product(d_m), d_w + np.einsum("ek,ek->e", d_m[src], x[dst])

    return lambda: product(x), backward


WAYS: dict[str, tuple[str, Way]] = {
    "dense, PyTorch": ("torch", dense),
    "scatter, PyTorch": ("torch", scatter),
    "sparse, PyTorch": ("torch", sparse),
    "sparse, SciPy": ("scipy", scipy_sparse),
}


def peak_mib() -> float:
    """The highest resident size, MiB; that of getrusage outlives exec."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return float(next(x for x in lines if x.startswith("VmHWM:")).split()[1]) / 1024


def measure(name: str, size: tuple[int, int, int], queue: Any) -> None:
    """Seconds forward and backward, MiB."""
    forward, backward = WAYS[name][1](small := Problem(100, 300, size[2]))
    backward(forward())  # what libraries load at a first call
    del small
    before = peak_mib()
    forward, backward = WAYS[name][1](Problem(*size))
    seconds = np.empty((PASSES, 2))
    for row in seconds:
        start = time.process_time()
        m = forward()
        middle = time.process_time()
        backward(m)
        row[:] = middle - start, time.process_time() - middle
    queue.put((*seconds.min(0), peak_mib() - before))


def in_process(name: str, size: tuple[int, int, int]) -> tuple[float, ...]:
    """measure, in a new process."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=measure, args=(name, size, queue))
    process.start()
    result = queue.get()
    process.join()
    return result


def library(size: tuple[int, int, int]) -> tuple[float, ...]:
    command = [str(PROGRAM), *map(str, size), str(PASSES)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return tuple(map(float, said.split()))


def rows_of(size: tuple[int, int, int]) -> list[list[str]]:
    """One row for each way that is installed and fits."""
    results = {"library": library(size)}
    for name, (module, way) in WAYS.items():
        too_large = way is dense and 4 * size[0] * size[1] > LARGEST_MATRIX
        if importlib.util.find_spec(module) is not None and not too_large:
            results[name] = in_process(name, size)
    rows = []
    for name, (forward, backward, mib) in results.items():
        times = [f"{1000 * t:.2f}" for t in (forward, backward)]
        rows.append([str(size[0]), name, *times, f"{mib:.0f}"])
        print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tables.messages")
    add = parser.add_argument
    hits = [1000, 10000, 100000]
    add("--hits", type=int, nargs="+", default=hits, metavar="N")
    add("--edges", type=int, default=10, metavar="N", help="per hit, default 10")
    add("--width", type=int, default=64, metavar="N", help="default 64")
    options = parser.parse_args(arguments)
    rows = []
    for n in options.hits:
        rows += rows_of((n, n * options.edges, options.width))
    print(table(["hits", "way", "forward, ms", "backward, ms", "MiB"], rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
