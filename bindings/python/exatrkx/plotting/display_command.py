"""display_command -- exatrkx display.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .._context import Context
from .._errors import Error
from .._event import Event
from .._model import Detector, Model
from .._stages import find_tracks
from .._tracks import Tracks
from ..files import whole_file
from .display import display
from .phoenix import write_phoenix

ENDINGS = (".html", ".json")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 when done, 1 when something failed."""
    line = argparse.ArgumentParser(
        allow_abbrev=False,
        prog="exatrkx display", description="Show an event and its tracks."
    )
    add = line.add_argument
    add("--event", required=True, metavar="PREFIX", help="PREFIX-hits.csv[.gz] and others")
    add("--out", required=True, metavar="FILE", help=".html, or .json for Phoenix")
    add("--tracks", metavar="FILE", help="hit_id,track_id; default: found with the model")
    add("--model", metavar="FILE", help="default: the one that ships")
    add("--detector", metavar="FILE", help="default: the TrackML detector")
    add("--threads", type=int, default=0, metavar="N", help="0 = all cores (default)")
    args = line.parse_args(arguments)
    if args.tracks is not None and (args.model or args.detector or args.threads):
        line.error("--model, --detector and --threads: not with --tracks")
    if not args.out.lower().endswith(ENDINGS):
        line.error(f"--out {args.out}: not .html or .json")
    try:
        run(args)
    except (Error, OSError, ValueError) as error:
        print(f"display: {error}", file=sys.stderr)
        return 1
    return 0


def run(args: argparse.Namespace) -> None:
    """Write the format that the ending of --out names."""
    whole_file.check(args.out)
    if args.tracks is None:
        event = Event.from_files(args.event, detector=Detector.load(args.detector))
        context = Context(args.threads or None)
        tracks = find_tracks(Model.load(args.model), event, context)
    else:
        event = Event.from_files(args.event)
        tracks = Tracks.from_csv(args.tracks, event)
    if args.out.lower().endswith(".html"):
        display(event, tracks, args.out, title=event.name)
    else:
        write_phoenix(event, tracks, args.out, name=event.name)
