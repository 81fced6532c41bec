"""evaluate -- exatrkx evaluate.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from typing import Any

from .._evaluation import COUNTS, MATCHINGS, Evaluation, Rate, evaluate, filled
from .._event import Event
from .._tracks import Tracks
from .command_line import events_of, parser, reported, tracks_of


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 when done, 1 when something failed."""
    line = parser("evaluate", "Compare tracks with the truth of their events.")
    add = line.add_argument
    add(
        "--tracks",
        action="append",
        required=True,
        metavar="FILE",
        help="hit_id,track_id, one for each event, or a folder",
    )
    add("--min-pt", type=float, help="GeV, of selected particles (0.1)")
    add("--max-eta", type=float, help="of selected particles (4)")
    add("--min-hits", type=int, help="of reconstructable particles (5)")
    add("--min-track-hits", type=int, help="of tracks that count (3)")
    names = [name.replace("_", "-") for name in MATCHINGS]
    add("--matching", choices=names, help="default double-majority")
    add("--fraction", type=float, help="of hits that matching requires (0.5)")
    add("--neutral", action="store_true", help="neutral particles, too")
    add("--json", action="store_true", help="print one JSON object")
    args = line.parse_args(arguments)
    return reported("evaluate", lambda: run(args))


def run(args: argparse.Namespace) -> None:
    """Evaluate and print."""
    prefixes = events_of(args)
    files = tracks_of(args.tracks, prefixes)
    events = [Event.from_trackml(prefix) for prefix in prefixes]
    tracks = [
        Tracks.from_csv(file, event)
        for file, event in zip(files, events, strict=True)
    ]
    matching = args.matching and args.matching.replace("-", "_")
    options = {
        "matching_fraction": args.fraction,
        "min_pt": args.min_pt,
        "max_eta": args.max_eta,
        "min_particle_hits": args.min_hits,
        "min_track_hits": args.min_track_hits,
        "charged_only": 0 if args.neutral else None,
    }
    found = evaluate(events, tracks, matching=matching, **options)
    print(as_json(found, filled(matching, options)) if args.json else found)


def as_json(found: Evaluation, used: Any) -> str:
    """The keys of etx-evaluate; JSON has no nan: null. used: the options."""
    values: dict[str, Any] = dict(found.counts)
    for name in COUNTS:
        rate: Rate = getattr(found, name)
        values |= {
            name: rate.value,
            f"{name}_low": rate.low,
            f"{name}_high": rate.high,
        }
    values["trackml_score"] = found.trackml_score
    values["primary_score"] = found.primary_score
    names = {number: name.replace("_", "-") for name, number in MATCHINGS.items()}
    values["matching"] = names[used.matching]
    for name in ("matching_fraction", "min_pt", "max_eta"):
        values[name] = float(f"{getattr(used, name):.8g}")
    values["min_particle_hits"] = used.min_particle_hits
    values["min_track_hits"] = used.min_track_hits
    values["charged_only"] = bool(used.charged_only)
    plain = {
        key: None if isinstance(v, float) and math.isnan(v) else v
        for key, v in values.items()
    }
    return json.dumps(plain, indent=1)
