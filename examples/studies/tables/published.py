"""published -- the shipped models by the definitions of published figures.

    python -m tables.published --events DIR [--events DIR2 ...] [--count 2]
        [--model FILE ...]

All hits: charged particles above 0.5 and 0.1 GeV with at least 5 hits. Pixels
alone: tracks are found with all hits; of particles above 0.9 GeV and of tracks
the hits of the pixel detector count, at least 3 of each.

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

PIXELS = (7, 8, 9)  # volumes
HEAD = [
    "events",
    "model",
    "hits",
    "pT above, GeV",
    "technical efficiency",
    "physics efficiency",
    "purity",
    "fake rate",
    "TrackML score",
    "generation 0",
]


def in_pixels(event: exatrkx.Event) -> np.ndarray:
    """The rows of the hits in the pixel detector."""
    return np.flatnonzero(np.isin(event.modules[0], PIXELS))


def pixel_event(event: exatrkx.Event) -> exatrkx.Event:
    """The same without the strips."""
    rows = in_pixels(event)
    return exatrkx.Event.from_arrays(
        event.positions[rows],
        modules=event.modules[:, rows],
        cell_features=None if event.cell_features is None else event.cell_features[rows],
        particle_ids=event.particle_ids[rows],
        weights=event.weights[rows],
        particles=event.particles,
    )


def pixels_of(
    event: exatrkx.Event, tracks: exatrkx.Tracks
) -> tuple[exatrkx.Event, exatrkx.Tracks]:
    """The same without the strips."""
    found = exatrkx.Tracks.from_labels(tracks.labels[in_pixels(event)])
    return pixel_event(event), found


def cells(hits: str, min_pt: float, rates: exatrkx.Evaluation) -> list[str]:
    found = rates.technical_efficiency
    return [
        hits,
        f"{min_pt}",
        f"{found.value:.4f} ({found.low:.4f} .. {found.high:.4f})",
        f"{rates.physics_efficiency.value:.3f}",
        f"{rates.purity.value:.3f}",
        f"{rates.fake_rate.value:.4f}",
        f"{rates.trackml_score:.3f}",
        f"{rates.primary_score:.3f}",
    ]


def rows_of(
    model: exatrkx.Model, events: Sequence[exatrkx.Event], context: exatrkx.Context
) -> list[list[str]]:
    """The rows of a model and some events, without their names."""
    tracks = [exatrkx.find_tracks(model, event, context) for event in events]
    rows = [
        cells("all", min_pt, exatrkx.evaluate(events, tracks, min_pt=min_pt))
        for min_pt in (0.5, 0.1)
    ]
    pairs = [pixels_of(*pair) for pair in zip(events, tracks, strict=True)]
    inner = [list(values) for values in zip(*pairs, strict=True)]
    rates = exatrkx.evaluate(*inner, min_pt=0.9, min_particle_hits=3)
    return [*rows, cells("pixels", 0.9, rates)]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = event_options("published", count=2, action="append")
    parser.add_argument("--model", type=Path, action="append", metavar="FILE")
    options = parser.parse_args(arguments)
    context = exatrkx.Context(options.threads)
    rows = []
    for folder in options.events:
        events = read_events(folder, options.count)
        for path in options.model or [MODELS / f"{name}.safetensors" for name in NAMES]:
            made = rows_of(exatrkx.Model.load(path), events, context)
            rows += [[folder.name, path.stem, *row] for row in made]
    print(table(HEAD, rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
