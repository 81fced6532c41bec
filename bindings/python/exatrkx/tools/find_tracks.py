"""find_tracks -- exatrkx find-tracks.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from itertools import islice

from .. import _progress
from .._context import Context
from .._event import Event
from .._events import Events
from .._stages import find_tracks, find_tracks_batch
from .._tracks import Tracks
from .command_line import (
    add_model,
    events_of,
    names_of,
    parser,
    reported,
    tools,
)


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
    line.add_argument(
        "--at-once",
        type=int,
        metavar="N",
        help="events at a time, each on a thread and in memory of its own "
        "(default: as many as there are threads; 1 with --timing)",
    )
    args = line.parse_args(arguments)
    if args.at_once is not None and args.at_once < 1:
        line.error(f"--at-once {args.at_once}: 1 or more")
    if args.timing and (args.at_once or 1) > 1:
        line.error("--timing needs --at-once 1")
    return reported("find-tracks", lambda: run(args))


def run(args: argparse.Namespace) -> None:
    """Every event of the arguments."""
    model, detector, context = tools(args)
    prefixes = events_of(args)
    names_of(prefixes)
    n_threads = args.threads or len(os.sched_getaffinity(0))
    at_once = args.at_once or (1 if args.timing else min(n_threads, len(prefixes)))
    events = Events(prefixes, detector=detector, ahead=at_once + 1)
    left = iter(events)
    with _progress.Bar(len(events), "event", len(events) > 1) as bar:
        while group := list(islice(left, at_once)):
            if at_once == 1:
                found = [find_tracks(model, group[0], context)]
            else:
                found = find_tracks_batch(model, group, context)
            for event, tracks in zip(group, found, strict=True):
                write(args.out, len(events) > 1, event, tracks)
                bar.say(f"{event.name}: {len(event)} hits, {len(tracks)} tracks")
                bar.advance()
            if args.timing:
                print_timing(group[0].name, context)


def write(out: str, is_folder: bool, event: Event, tracks: Tracks) -> None:
    """To the file out, or to one of the event in the folder out."""
    if is_folder:
        os.makedirs(out, exist_ok=True)
        out = os.path.join(out, event.name + "-tracks.csv")
    tracks.write_csv(out, event)


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
