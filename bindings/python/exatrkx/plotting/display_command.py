"""display_command -- exatrkx display.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from .. import display, write_phoenix
from .._event import Event
from .._stages import find_tracks
from .._tracks import Tracks
from ..tools.command_line import add_model, parser, reported, tools

PICTURES = (".png", ".svg", ".pdf")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 when done, 1 when something failed."""
    about = "Show an event and its tracks."
    line = parser("display", about, "PREFIX-hits.csv[.gz] and its siblings")
    add_model(line)
    line.add_argument(
        "--tracks",
        metavar="FILE",
        help="hit_id,track_id; default: found with the model",
    )
    line.add_argument(
        "--out",
        required=True,
        metavar="FILE",
        help=".html, .json (Phoenix), .png, .svg or .pdf",
    )
    args = line.parse_args(arguments)
    if len(args.event) != 1:
        line.error("give one --event")
    if args.tracks is not None and (args.model or args.detector or args.threads):
        line.error("--model, --detector and --threads: not with --tracks")
    if not args.out.lower().endswith((".html", ".json", *PICTURES)):
        line.error(f"--out {args.out}: not .html, .json, .png, .svg or .pdf")
    return reported("display", lambda: run(args))


def run(args: argparse.Namespace) -> None:
    """Write the format that the ending of --out names."""
    prefix, ending = args.event[0], os.path.splitext(args.out)[1].lower()
    if args.tracks is None:
        model, detector, context = tools(args)
        event = Event.from_trackml(prefix, detector=detector)
        tracks = find_tracks(model, event, context)
    else:
        event = Event.from_trackml(prefix)
        tracks = Tracks.from_csv(args.tracks, event)
    name = os.path.basename(prefix)
    if ending == ".html":
        display(event, tracks, args.out, title=name)
    elif ending == ".json":
        write_phoenix(event, tracks, args.out, name=name)
    else:
        from .. import picture

        picture(event, tracks, args.out, title=name)
