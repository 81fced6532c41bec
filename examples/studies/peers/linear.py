"""linear -- the stage: one linear layer, the product that networks consist of.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
from functools import partial

import numpy as np

from . import networks
from .limits import native
from .stage import OURS, Implementation, Inputs, Run, Stage, within

PREFIX = "layers"
POINTERS = [ctypes.c_void_p] * 4
SIZES = [ctypes.c_int64, ctypes.c_int32, ctypes.c_int32]


def make(n_hits: int, width: int, rows_per_hit: float) -> Inputs:
    n_rows = round(n_hits * rows_per_hit)
    rng = np.random.default_rng(4)
    x = rng.standard_normal((n_rows, width), np.float32)
    return {"x": x} | networks.perceptron_weights(rng, PREFIX, (width, width), 0)


def weights(inputs: Inputs) -> tuple[np.ndarray, np.ndarray]:
    return inputs[f"{PREFIX}.0.weight"], inputs[f"{PREFIX}.0.bias"]


def open_blas(inputs: Inputs, n_threads: int) -> Run:
    """NumPy's own BLAS, which is OpenBLAS in the packages of PyPI."""
    from threadpoolctl import threadpool_limits

    x, (weight, bias) = inputs["x"], weights(inputs)
    turned = np.ascontiguousarray(weight.T)
    limits = threadpool_limits(n_threads)

    def call() -> np.ndarray:
        assert limits
        result = np.matmul(x, turned)
        result += bias
        return result

    return Run(call)


def pytorch(inputs: Inputs, n_threads: int) -> Run:
    import torch

    from . import torch_networks

    torch_networks.use_threads(n_threads)
    x, weight, bias = map(torch.from_numpy, (inputs["x"], *weights(inputs)))
    return torch_networks.inference(lambda: torch.nn.functional.linear(x, weight, bias))


def libxsmm(inputs: Inputs, n_threads: int) -> Run:
    product = native("xsmm_product").xsmm_product
    product.restype = ctypes.c_int32
    product.argtypes = [*POINTERS, *SIZES]
    if n_threads != 1:
        raise OSError("the program around LIBXSMM has one thread")
    x, (weight, bias) = inputs["x"], weights(inputs)
    turned = np.ascontiguousarray(weight.T)

    def call() -> np.ndarray:
        out = np.empty((len(x), turned.shape[1]), np.float32)
        addresses = [array.ctypes.data for array in (out, x, turned, bias)]
        if product(*addresses, len(x), *turned.shape):
            raise OSError("LIBXSMM makes no kernel for this processor")
        return out

    return Run(call)


def ours(inputs: Inputs, n_threads: int) -> Run:
    product = native("own_product").own_product
    product.restype = ctypes.c_int32
    product.argtypes = [*POINTERS, *SIZES, ctypes.c_int32]
    x, (weight, bias) = inputs["x"], weights(inputs)

    def call() -> np.ndarray:
        out = np.empty((len(x), len(weight)), np.float32)
        addresses = [array.ctypes.data for array in (out, x, weight, bias)]
        if product(*addresses, len(x), *reversed(weight.shape), n_threads):
            raise OSError("the operator failed")
        return out

    return Run(call)


def stage(width: int, rows_per_hit: float) -> Stage:
    return Stage(
        name=f"linear{width}",
        title=f"linear {width}-{width}",
        item="row",
        make=partial(make, width=width, rows_per_hit=rows_per_hit),
        implementations=(
            Implementation("NumPy, OpenBLAS", open_blas),
            Implementation("PyTorch", pytorch),
            Implementation("LIBXSMM", libxsmm),
            Implementation(OURS, ours),
        ),
        compare=within(1e-5),
        n_items=lambda inputs, _: len(inputs["x"]),
        flops=lambda inputs: networks.perceptron_flops(
            (width, width), len(inputs["x"])
        ),
    )


STAGES = (stage(64, 4), stage(512, 0.5))
