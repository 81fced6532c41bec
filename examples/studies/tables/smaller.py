"""smaller -- a shipped model after exatrkx shrink, without further training.

    python -m tables.smaller --events DIR [--count 20] [--model FILE]

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import exatrkx
from exatrkx.tools import shrink

from .events import event_options, read_events
from .losses import MODELS
from .markdown import table
from .physics import interval

CHANGES = (
    "",
    "--quantise fp16",
    "--quantise int8",
    "--prune 0.1",
    "--prune 0.2",
    "--prune 0.2 --quantise int8",
    "--prune 0.3",
    "--prune 0.5",
)


def measure(path: Path, events: Sequence[exatrkx.Event]) -> list[str]:
    """Size and rates of a model file."""
    model, context = exatrkx.Model.load(path), exatrkx.Context(1)
    tracks = [exatrkx.find_tracks(model, event, context) for event in events]
    rates = exatrkx.evaluate(events, tracks, min_pt=0.5)
    return [
        f"{path.stat().st_size:,}".replace(",", " "),
        interval(rates.technical_efficiency, 4),
        f"{rates.physics_efficiency.value:.4f}",
        f"{rates.purity.value:.4f}",
        f"{rates.fake_rate.value:.4f}",
        f"{rates.trackml_score:.4f}",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = event_options("smaller", count=20)
    parser.add_argument("--model", type=Path, default=MODELS / "default.safetensors")
    options = parser.parse_args(arguments)
    events = read_events(options.events, options.count)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for change in CHANGES:
            path = Path(folder) / "model.safetensors"
            line = [str(options.model), "--out", str(path), *change.split()]
            with contextlib.redirect_stdout(sys.stderr):
                if change and shrink.main(line) != 0:
                    return 1
            used = path if change else options.model
            rows.append([f"`{change}`" if change else "none", *measure(used, events)])
            print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    head = ["`shrink`", "bytes", "technical efficiency", "physics efficiency"]
    head += ["purity", "fake rate", "TrackML score"]
    print(table(head, rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
