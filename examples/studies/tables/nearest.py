"""nearest -- candidate edges among the nearest points, in place of a smaller radius.

    python -m tables.nearest --events DIR [--count 2]

Shipped models as they are, which make the radius smaller where an event is dense
(max_edges_per_hit), and with each pair of the k nearest points within the radius
(max_neighbours).

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import exatrkx
from exatrkx.adaptation.choices import changed

from .events import event_options, read_events
from .losses import MODELS, NAMES
from .markdown import table

NEAREST = (32, 64, 128, 256)
HEAD = ["model", "candidates", "edges per hit", "pT > 0.5 GeV", "pT > 0.1 GeV"]
HEAD += ["fake rate", "CPU s an event"]


def line(model: exatrkx.Model, events: Sequence[exatrkx.Event]) -> list[str]:
    context, tracks, n_edges = exatrkx.Context(1), [], 0
    started = time.process_time()
    for event in events:
        tracks.append(exatrkx.find_tracks(model, event, context))
        n_edges += context.timings["graph"].n_edges
    seconds = (time.process_time() - started) / len(events)
    hard, soft = (exatrkx.evaluate(events, tracks, min_pt=pt) for pt in (0.5, 0.1))
    return [
        f"{n_edges / sum(event.n_hits for event in events):.1f}",
        f"{hard.technical_efficiency.value:.4f}",
        f"{soft.technical_efficiency.value:.4f}",
        f"{hard.fake_rate.value:.4f}",
        f"{seconds:.2f}",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    given = event_options("nearest", 2).parse_args(arguments)
    events = read_events(given.events, given.count)
    rows = []
    for name in (*NAMES, "chain"):
        shipped = exatrkx.Model.load(MODELS / f"{name}.safetensors")
        rows.append([name, "as shipped", *line(shipped, events)])
        for k in NEAREST:
            graph = {"max_edges_per_hit": 0, "max_neighbours": k}
            options = {f"embedding.graph.{key}": value for key, value in graph.items()}
            model = changed(shipped, options)
            rows.append([name, f"{k} nearest", *line(model, events)])
    sys.stdout.write(table(HEAD, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
