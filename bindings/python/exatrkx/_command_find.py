"""_command_find -- python -m exatrkx find-tracks.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from ._command_line import (
    add_model,
    events_of,
    names_of,
    parser,
    reported,
    tools,
)
from ._context import Context
from ._events import Events
from ._stages import find_tracks


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 when done, 1 when something failed."""
    line = parser("find-tracks", "Find the tracks of events.")
    add_model(line)
    line.add_argument(
        "--out",
        required=True,
        metavar="FILE",
        help="hit_id,track_id (.csv or .csv.gz); a folder for several events",
    )
    line.add_argument(
        "--timing", action="store_true", help="print seconds per stage"
    )
    args = line.parse_args(arguments)
    return reported("find-tracks", lambda: run(args))


def run(args: argparse.Namespace) -> None:
    """Every event of the arguments."""
    model, detector, context = tools(args)
    prefixes = events_of(args)
    names_of(prefixes)
    for event in Events(prefixes, detector=detector, progress=len(prefixes) > 1):
        name = event.name
        out = args.out
        if len(prefixes) > 1:
            os.makedirs(out, exist_ok=True)
            out = os.path.join(out, name + "-tracks.csv")
        tracks = find_tracks(model, event, context)
        tracks.write_csv(out, event)
        print(f"{name}: {len(event)} hits, {len(tracks)} tracks")
        if args.timing:
            print_timing(name, context)


def print_timing(name: str, context: Context) -> None:
    """Seconds, peak bytes and edges of every stage, on stderr."""
    head = f"{'stage':10} {'seconds':>10} {'peak bytes':>14} {'edges':>12}"
    print(f"{name}\n{head}", file=sys.stderr)
    for stage, one in context.timings.items():
        print(
            f"{stage:10} {one.seconds:10.4f} {one.peak_bytes:14d} "
            f"{one.n_edges:12d}",
            file=sys.stderr,
        )
