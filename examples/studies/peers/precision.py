"""precision -- the whole event at the published sizes, by instruction set and precision.

    python3 -m peers.precision [--hits 10000] [--hidden 64] [--rounds 5]

CPU seconds of one thread, medians of rounds that alternate; edges that pass the filter.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence

import exatrkx

from . import whole_event

LEVELS = ("avx2", "avx512")
PRECISIONS = ("float32", "int16", "bfloat16")
HEAD = "| instructions | precision | CPU seconds | times as fast | filtered edges |"


def contexts() -> dict[tuple[str, str], exatrkx.Context]:
    """Those that this processor has."""
    found = {}
    for level in LEVELS:
        for precision in PRECISIONS:
            try:
                context = exatrkx.Context(1, cpu_level=level, precision=precision)
            except exatrkx.UnsupportedError as error:
                print(f"precision: {error}", file=sys.stderr)
            else:
                found[level, precision] = context
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="peers.precision")
    parser.add_argument("--hits", type=int, default=10000)
    parser.add_argument("--hidden", type=int, default=whole_event.GNN_HIDDEN)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args(arguments)
    inputs = whole_event.make(given.hits, given.hidden)
    runs = {
        key: (whole_event.ours(inputs, 1, given.hidden, context), context)
        for key, context in contexts().items()
    }
    seconds: dict[tuple[str, str], list[float]] = {key: [] for key in runs}
    for _ in range(given.rounds):
        for key, (run, _context) in runs.items():
            start = time.process_time()
            run.call()
            seconds[key].append(time.process_time() - start)
    print(HEAD, "|---|---|---|---|---|", sep="\n")
    for (level, precision), (_run, context) in runs.items():
        own = statistics.median(seconds[level, precision])
        ratio = statistics.median(seconds[level, "float32"]) / own
        n_edges = context.timings["filter"].n_edges
        print(f"| {level} | {precision} | {own:.2f} | {ratio:.2f} | {n_edges} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
