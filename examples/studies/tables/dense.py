"""dense -- events with close particles: the models as shipped, and networks alone.

    python -m tables.dense --events DIR --events DIR [--count 2]

Networks alone are the stages of a model and its labels, without first pass and
completion: what runs where hits have no modules.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import exatrkx

from .events import event_options, read_events
from .markdown import table

NAMES = ("default", "accurate", "positions", "chain")
MIN_PT = (0.5, 0.1)  # GeV

Events = Sequence[exatrkx.Event]
Find = Callable[[exatrkx.Event], exatrkx.Tracks]


def networks_alone(
    model: exatrkx.Model, labels: exatrkx.LabelOptions, context: exatrkx.Context
) -> Find:
    """The stages of a model with these labels."""

    def find(event: exatrkx.Event) -> exatrkx.Tracks:
        graph = exatrkx.build_graph(model, event, context)
        graph = exatrkx.filter_graph(graph, model, event, context)
        graph = exatrkx.score(graph, model, event, context)
        return exatrkx.label(graph, labels, event=event, context=context)

    return find


def ways(context: exatrkx.Context) -> dict[tuple[str, str], Find]:
    """Every model in its ways."""
    models = {name: exatrkx.Model.load(name) for name in NAMES}
    found: dict[tuple[str, str], Find] = {}
    for name, model in models.items():
        found[name, "as shipped"] = lambda event, model=model: exatrkx.find_tracks(
            model, event, context
        )
        if name == "chain":
            labels, way = models["accurate"].label_options, "best first"
        else:
            labels, way = model.label_options, "networks alone"
        found[name, way] = networks_alone(model, labels, context)
    return found


def line(cells: Sequence[str], events: Events, find: Find) -> list[str]:
    """The rates of one way, after cells."""
    tracks = [find(event) for event in events]
    rates = [exatrkx.evaluate(events, tracks, min_pt=min_pt) for min_pt in MIN_PT]
    first = rates[0].technical_efficiency
    return [
        *cells,
        f"{first.value:.4f} ({first.low:.4f} .. {first.high:.4f})",
        f"{rates[1].technical_efficiency.value:.4f}",
        f"{rates[0].purity.value:.3f}",
        f"{rates[0].fake_rate.value:.4f}",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    options = event_options("dense", count=2, action="append").parse_args(arguments)
    context = exatrkx.Context(options.threads)
    rows = []
    for folder in options.events:
        count = len(list(folder.glob("*-hits.csv*")))
        events = read_events(folder, min(count, options.count))
        for (name, way), find in ways(context).items():
            rows.append(line([folder.name, name, way], events, find))
    efficiencies = [f"efficiency, pT > {min_pt} GeV" for min_pt in MIN_PT]
    head = ["events", "model", "way", *efficiencies, "purity", "fake rate"]
    print(table(head, rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
