"""sums -- times all-reduces of several sizes.

    mpirun -n 2 python -m scaling.sums lib/libexatrkx_dist.so

Rank 0 prints a JSON object a line: ranks, bytes, and the median seconds of an
all-reduce, by the clock of the library, which runs once all ranks are there.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import json
import sys
from statistics import median

SIZES = [2**k for k in range(3, 24, 4)]  # bytes
REPEATS = 41


class Statistics(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("reserved", ctypes.c_int32),
        ("seconds", ctypes.c_double),
        ("waiting_seconds", ctypes.c_double),
        ("n_calls", ctypes.c_int64),
        ("n_bytes", ctypes.c_int64),
    ]


def check(status: int) -> None:
    if status != 0:
        raise RuntimeError(f"libexatrkx_dist: status {status}")


def time_sum(library: ctypes.CDLL, group: ctypes.c_void_p, size: int) -> float:
    values = (ctypes.c_double * (size // 8))()
    spent = []
    for _ in range(REPEATS):
        before, after = (
            Statistics(struct_size=ctypes.sizeof(Statistics)) for _ in range(2)
        )
        check(library.etx_dist_get_statistics(ctypes.byref(before), group))
        check(library.etx_dist_sum(group, values, ctypes.c_int64(len(values))))
        check(library.etx_dist_get_statistics(ctypes.byref(after), group))
        spent.append(after.seconds - before.seconds)
    return median(spent)


def main(path: str) -> None:
    library = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    library.etx_dist_close.restype = None
    group = ctypes.c_void_p()
    check(library.etx_dist_open_mpi(ctypes.byref(group), None))
    ranks = library.etx_dist_n_ranks(group)
    for size in SIZES:
        seconds = time_sum(library, group, size)
        if library.etx_dist_rank(group) == 0:
            line = {"ranks": ranks, "bytes": size, "seconds": seconds}
            print(json.dumps(line), flush=True)
    library.etx_dist_close(group)


if __name__ == "__main__":
    main(sys.argv[1])
