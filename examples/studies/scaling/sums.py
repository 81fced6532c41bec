"""sums -- times all-reduces of several sizes.

    mpirun -n 2 python -m scaling.sums lib/libexatrkx_dist.so

Rank 0 prints one JSON object per line: ranks, bytes, and the median seconds of an
all-reduce, by the clock of the library, which runs once all ranks have called.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import json
import sys
from statistics import median

from dist_group import Group

SIZES = [2**k for k in range(3, 24, 4)]  # bytes
REPEATS = 41


def time_sum(group: Group, size: int) -> float:
    values = (ctypes.c_double * (size // 8))()
    spent = []
    for _ in range(REPEATS):
        before = group.statistics().seconds
        group.sum(values)
        spent.append(group.statistics().seconds - before)
    return median(spent)


def main(path: str) -> None:
    group = Group(path)
    for size in SIZES:
        seconds = time_sum(group, size)
        if group.rank == 0:
            line = {"ranks": group.n_ranks, "bytes": size, "seconds": seconds}
            print(json.dumps(line), flush=True)
    group.close()


if __name__ == "__main__":
    main(sys.argv[1])
