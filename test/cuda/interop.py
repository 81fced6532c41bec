"""interop -- arrays of torch, CuPy, numba and JAX on a GPU, as the library lends and
reads them; tracks there next to the CPU's.

    ETX_LIBRARY=FILE PYTHONPATH=bindings/python python3 test/cuda/interop.py

Runs in the folder that holds examples/. A package that is missing is skipped.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback
from collections.abc import Callable

import numpy as np

import exatrkx

EVENT = "examples/data/event000000001"
LATE_PRODUCTS = 20  # of large matrices before the values are written


class Given:
    """What every check starts from."""

    def __init__(self) -> None:
        self.context = exatrkx.Context(1, device="cuda", keep_graphs=True)
        self.model = exatrkx.Model.load()
        self.event = exatrkx.Event.from_trackml(EVENT, detector=exatrkx.Detector.load())

    def graph(self) -> exatrkx.Graph:
        """On the device and the host."""
        candidates = exatrkx.build_graph(self.model, self.event, self.context)
        return exatrkx.filter_graph(candidates, self.model, self.event, self.context)


def torch_out(given: Given) -> None:
    """Both protocols."""
    import torch

    graph = given.graph()
    for tensor in (
        torch.from_dlpack(graph.src_device),
        torch.as_tensor(graph.src_device, device="cuda"),
    ):
        assert tensor.is_cuda
        np.testing.assert_array_equal(tensor.cpu().numpy(), graph.src)


def torch_late(given: Given) -> None:
    """Positions that torch writes after long work, on its default stream and on one
    of its own, are waited for."""
    import torch

    positions = torch.from_numpy(given.event.positions.copy()).cuda()
    for stream in (torch.cuda.default_stream(), torch.cuda.Stream()):
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            late = torch.zeros_like(positions)
            work = torch.full((4096, 4096), 1e-4, device="cuda")
            for _ in range(LATE_PRODUCTS):
                work = work @ work
            late.copy_(positions + 0 * work[0, 0])
            event = exatrkx.Event.from_arrays(late, context=given.context)
        np.testing.assert_array_equal(event.positions, given.event.positions)


def torch_edges(given: Given) -> None:
    """Edges that torch owns get the scores of the graph's."""
    import torch

    graph = given.graph()
    arrays = graph.src_device, graph.dst_device, graph.scores_device
    own = [torch.from_dlpack(array).clone() for array in arrays]
    found = exatrkx.Graph.from_edges(graph.n_nodes, *own, context=given.context)
    scores = [
        exatrkx.score_graph(each, given.model, given.event, given.context).scores
        for each in (found, graph)
    ]
    np.testing.assert_array_equal(*scores)


def cupy_both(given: Given) -> None:
    import cupy

    graph = given.graph()
    np.testing.assert_array_equal(cupy.asarray(graph.src_device).get(), graph.src)
    np.testing.assert_array_equal(cupy.from_dlpack(graph.dst_device).get(), graph.dst)
    positions = cupy.asarray(given.event.positions)
    event = exatrkx.Event.from_arrays(positions, context=given.context)
    np.testing.assert_array_equal(event.positions, given.event.positions)


def numba_out(given: Given) -> None:
    from numba import cuda

    graph = given.graph()
    found = cuda.as_cuda_array(graph.src_device).copy_to_host()
    np.testing.assert_array_equal(found, graph.src)


def jax_both(given: Given) -> None:
    import jax

    graph = given.graph()
    found = jax.dlpack.from_dlpack(graph.src_device)
    np.testing.assert_array_equal(np.asarray(found), graph.src)
    positions = jax.numpy.asarray(given.event.positions)
    event = exatrkx.Event.from_arrays(positions, context=given.context)
    np.testing.assert_array_equal(event.positions, given.event.positions)


def tracks(given: Given) -> None:
    """In float32 the labels of the CPU; in float16 of at least 97 % of the hits."""
    for name in ("default", "accurate", "positions", "chain", "pixels"):
        model = exatrkx.Model.load(name)
        wanted = exatrkx.find_tracks(model, given.event, exatrkx.Context(1)).labels
        for precision, share in (("float32", 1.0), ("best", 0.97)):
            context = exatrkx.Context(1, device="cuda", precision=precision)
            found = exatrkx.find_tracks(model, given.event, context).labels
            assert np.mean(found == wanted) >= share, (name, precision)


CHECKS: tuple[tuple[Callable[[Given], None], str], ...] = (
    (torch_out, "torch"),
    (torch_late, "torch"),
    (torch_edges, "torch"),
    (cupy_both, "cupy"),
    (numba_out, "numba"),
    (jax_both, "jax"),
    (tracks, "numpy"),
)


def main() -> int:
    # JAX takes three quarters of the device otherwise.
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    given = Given()
    n_failed = 0
    for check, package in CHECKS:
        if importlib.util.find_spec(package) is None:
            print(f"SKIPPED {check.__name__}: no {package}")
            continue
        try:
            check(given)
        except Exception:  # the others run, too
            traceback.print_exc()
            n_failed += 1
            continue
        print(f"{check.__name__}: passed", flush=True)
    return int(n_failed > 0)


if __name__ == "__main__":
    sys.exit(main())
