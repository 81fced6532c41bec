"""peers -- time libexatrkx and its peers stage by stage; README.md.

    python -m peers [--threads N] [--stages NAME,...] [--hits N,...] [--quick]

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from . import limits, report
from .catalogue import STAGES
from .measure import Row, measure_stage
from .stage import OURS

QUICK_HITS, QUICK_ROUNDS = 3000, 2


def counts(text: str) -> list[int]:
    """N,...: numbers above zero."""
    values = [int(part) for part in text.split(",")]
    if min(values) < 1:
        raise ValueError(text)
    return values


def stage_names(text: str) -> list[str]:
    """NAME,...: known stages, in their order."""
    wanted = text.split(",")
    unknown = set(wanted) - set(STAGES)
    if unknown:
        raise argparse.ArgumentTypeError(
            f"unknown {', '.join(sorted(unknown))}; known: {', '.join(STAGES)}"
        )
    return [name for name in STAGES if name in wanted]


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m peers", description="Time libexatrkx and its peers."
    )
    add = parser.add_argument
    add("--threads", type=int, default=1, metavar="N", help="of each; default 1")
    add(
        "--stages",
        type=stage_names,
        default=list(STAGES),
        metavar="NAME,...",
        help=f"default all: {', '.join(STAGES)}",
    )
    add("--hits", type=counts, metavar="N,...", help="default 100000")
    add("--rounds", type=int, metavar="N", help="timed calls of each; default 3")
    add(
        "--quick",
        action="store_true",
        help=f"{QUICK_HITS} hits and {QUICK_ROUNDS} rounds, unless given",
    )
    add(
        "--out",
        type=Path,
        default=Path("build/bench"),
        metavar="DIR",
        help="of peers.txt and peers.json; default build/bench",
    )
    parsed = parser.parse_args(arguments)
    if parsed.hits is None:
        parsed.hits = [QUICK_HITS if parsed.quick else 100_000]
    if parsed.rounds is None:
        parsed.rounds = QUICK_ROUNDS if parsed.quick else 3
    if parsed.threads < 1 or parsed.rounds < 1:
        parser.error("--threads and --rounds are at least 1")
    return parsed


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when every result agrees and ours is among all of them."""
    options = parse_arguments(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()

    def tell(text: str) -> None:
        seconds = time.monotonic() - start
        print(f"[{seconds:6.1f} s] {text}", file=sys.stderr, flush=True)

    tell("peak and triad of this machine")
    bounds = limits.measure(options.threads)
    rows: list[Row] = []
    for name in options.stages:
        for hits in options.hits:
            with tempfile.TemporaryDirectory(dir=options.out) as folder:
                rows += measure_stage(
                    STAGES[name],
                    hits,
                    options.threads,
                    options.rounds,
                    Path(folder),
                    tell,
                )
        report.write(options.out, rows, bounds, options.threads)
    print(report.write(options.out, rows, bounds, options.threads), end="")
    wrong = [
        row
        for row in rows
        if row.agrees is False or (row.implementation == OURS and not row.seconds)
    ]
    for row in wrong:
        tell(f"WRONG {row.stage} {row.implementation}: {row.note}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
