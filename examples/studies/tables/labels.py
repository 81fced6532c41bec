"""labels -- what the ways to label make of the same scored graphs.

    python -m tables.labels --events DIR [--count 2]

Every shipped model scores the edges of the events once. Its own label options
stand next to other methods: components at 0.5, and the two that take single
edges by their score at 0.25, the cut that the models had for the walkthrough.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import exatrkx

from .events import event_options, read_events
from .losses import MIN_HITS, MIN_PT, MODELS, NAMES
from .markdown import table

OTHERS = {
    "components": {"method": "components", "cut": 0.5},
    "walkthrough": {"method": "walkthrough", "cut": 0.25},
    "best_first, by scores alone": {"method": "best_first", "cut": 0.25},
}

Row = list[str]
Events = Sequence[exatrkx.Event]


def score(
    name: str, events: Events, context: exatrkx.Context
) -> tuple[exatrkx.Model, list[exatrkx.Graph]]:
    """A model and its scored graphs of all events."""
    model = exatrkx.Model.load(MODELS / f"{name}.safetensors")
    graphs = []
    for event in events:
        candidates = exatrkx.build_graph(model, event, context)
        filtered = exatrkx.filter_graph(candidates, model, event, context)
        graphs.append(exatrkx.score_graph(filtered, model, event, context))
    return model, graphs


def line(
    cells: Row,
    options: exatrkx.LabelOptions,
    graphs: Sequence[exatrkx.Graph],
    events: Events,
    context: exatrkx.Context,
) -> Row:
    """The rates of one way to label, after cells."""
    tracks = [
        exatrkx.build_tracks(graph, options, event=event, context=context)
        for graph, event in zip(graphs, events, strict=True)
    ]
    rates = [exatrkx.evaluate(events, tracks, min_pt=min_pt) for min_pt in MIN_PT]
    efficiencies = [f"{rate.technical_efficiency.value:.4f}" for rate in rates]
    purity, fakes = rates[0].purity.value, rates[0].fake_rate.value
    return [*cells, *efficiencies, f"{purity:.3f}", f"{fakes:.4f}"]


def lines(name: str, events: Events, context: exatrkx.Context) -> list[Row]:
    """One model with every way to label."""
    model, graphs = score(name, events, context)
    ways = {
        way: exatrkx.LabelOptions(min_hits=MIN_HITS, **changes)
        for way, changes in OTHERS.items()
    }
    ways["the model's"] = model.label_options
    return [
        line([name, way], options, graphs, events, context)
        for way, options in ways.items()
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    options = event_options("labels", count=2).parse_args(arguments)
    context = exatrkx.Context(options.threads)
    events = read_events(options.events, options.count)
    rows = [row for name in NAMES for row in lines(name, events, context)]
    head = [f"technical efficiency, pT > {min_pt} GeV" for min_pt in MIN_PT]
    print(table(["model", "labels", *head, "purity", "fake rate"], rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
