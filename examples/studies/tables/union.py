"""union -- the tracks of several models together, by their fit.

    python -m tables.union --events DIR [--count 2] [--model FILE ...]

Each model alone, then all tracks of all of them, which share most hits, and
what etx_tracks_resolve leaves, with the field that the last model has learned.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import exatrkx

from .events import event_options, read_events
from .losses import MODELS, NAMES
from .markdown import table
from .robustness import MIN_PT, cells_of


def joined(sets: Sequence[exatrkx.Tracks]) -> exatrkx.Tracks:
    """All tracks of all sets, of one event."""
    sizes = np.concatenate([np.diff(tracks.offsets) for tracks in sets])
    hits = np.concatenate([tracks.hits for tracks in sets])
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return exatrkx.Tracks.from_lists(sets[0].n_hits, offsets, hits)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = event_options("union", count=2)
    parser.add_argument("--model", type=Path, action="append", metavar="FILE")
    options = parser.parse_args(arguments)
    context = exatrkx.Context(options.threads)
    detector = exatrkx.Detector.load()
    paths = options.model or [MODELS / f"{name}.safetensors" for name in NAMES]
    models = [exatrkx.Model.load(path) for path in paths]
    events = read_events(options.events, options.count)
    rows = []

    def add_row(name: str, tracks: Sequence[exatrkx.Tracks]) -> None:
        rates = [exatrkx.evaluate(events, tracks, min_pt=pt) for pt in MIN_PT]
        duplicates = f"{rates[0].duplicate_rate.value:.4f}"
        rows.append([name, *cells_of(rates), duplicates])

    sets = [[exatrkx.find_tracks(m, e, context) for e in events] for m in models]
    for path, found in zip(paths, sets, strict=True):
        add_row(path.stem, found)
    both = [joined(of_event) for of_event in zip(*sets, strict=True)]
    add_row("all tracks", both)
    left = []
    for event, tracks in zip(events, both, strict=True):
        fit = exatrkx.fit_tracks(event, tracks, detector, model=models[-1], context=context)
        left.append(exatrkx.resolve_tracks(tracks, fit))
    add_row("resolved", left)
    head = [f"efficiency, pT > {min_pt} GeV" for min_pt in MIN_PT]
    head = ["tracks of", *head, "purity", "fake rate", "TrackML score", "duplicates"]
    print(table(head, rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
