"""pixels -- tracks of the pixel hits alone, which nothing else of an event goes with.

    python -m tables.pixels --events DIR --events DIR [--count 2]

Models with options for few layers are the shipped ones whose labels, first pass and
completion take tracks of 3 hits and 4 layers.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import exatrkx
from exatrkx.tools import adjust

from .events import event_options, read_events
from .markdown import table
from .published import pixel_event

FEW_LAYERS = (
    "label.min_hits=3",
    "first_pass.min_layers=4",
    "completion.min_layers=4",
    "first_pass.min_event_hits=0",
)
CUTS = ((0.6, 2.5), (0.9, 4.0), (0.1, 4.0))  # pT above, GeV; largest abs(eta)
MIN_HITS = 3  # of a particle in the pixels
HEAD = [
    "events",
    "model",
    *(f"efficiency, pT > {pt} GeV, abs(eta) < {eta}" for pt, eta in CUTS),
    "purity",
    "fake rate",
]


def with_options(name: str, folder: Path) -> exatrkx.Model:
    """A shipped model that takes tracks of few layers."""
    path = folder / f"{name}.safetensors"
    adjust.main([name, "--out", str(path), *FEW_LAYERS])
    return exatrkx.Model.load(path)


def models() -> dict[str, exatrkx.Model]:
    """Every model by what the table calls it."""
    with tempfile.TemporaryDirectory() as folder:
        found = {
            f"{name}, options for few layers": with_options(name, Path(folder))
            for name in ("default", "accurate")
        }
    shipped = {name: exatrkx.Model.load(name) for name in ("default", "pixels")}
    return {"default": shipped["default"], **found, "pixels": shipped["pixels"]}


def line(
    model: exatrkx.Model, events: Sequence[exatrkx.Event], context: exatrkx.Context
) -> list[str]:
    """Efficiencies above each cut, purity and fake rate."""
    tracks = [exatrkx.find_tracks(model, event, context) for event in events]
    rates = [
        exatrkx.evaluate(
            events, tracks, min_pt=pt, max_eta=eta, min_particle_hits=MIN_HITS
        )
        for pt, eta in CUTS
    ]
    found = [rate.technical_efficiency for rate in rates]
    return [
        *(f"{one.value:.4f} ({one.low:.4f} .. {one.high:.4f})" for one in found),
        f"{rates[0].purity.value:.3f}",
        f"{rates[0].fake_rate.value:.4f}",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = event_options("pixels", count=2, action="append")
    options = parser.parse_args(arguments)
    context = exatrkx.Context(options.threads)
    rows = []
    for folder in options.events:
        events = [pixel_event(event) for event in read_events(folder, options.count)]
        for name, model in models().items():
            rows.append([folder.name, name, *line(model, events, context)])
    print(table(HEAD, rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
