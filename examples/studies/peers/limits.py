"""limits -- arithmetic and memory traffic that this machine can do at most.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import os

N_RUNS = 40
N_TRIAD = 20_000_000  # 160 MB an array: beyond every cache


def native(name: str) -> ctypes.CDLL:
    """What `make bench-peers` built of native/, in the folder ETX_NATIVE."""
    return ctypes.CDLL(f"{os.environ['ETX_NATIVE']}/{name}.so")


def measure(n_threads: int) -> dict[str, float]:
    """Peak of float32 fused multiply-adds and STREAM triad of n_threads threads."""
    library = native("limits")
    library.peak_gflops.restype = ctypes.c_double
    library.peak_gflops.argtypes = [ctypes.c_int32, ctypes.c_int32]
    library.triad_gbytes.restype = ctypes.c_double
    library.triad_gbytes.argtypes = [ctypes.c_int32, ctypes.c_int32, ctypes.c_int64]
    return {
        "peak_gflops": library.peak_gflops(n_threads, N_RUNS),
        "triad_gbytes": library.triad_gbytes(n_threads, N_RUNS // 4, N_TRIAD),
    }
