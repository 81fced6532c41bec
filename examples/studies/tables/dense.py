"""dense -- events with close particles: the models as shipped, and networks alone.

    python -m tables.dense --events DIR --events DIR [--count 2] [--nearest]

Networks alone are the stages of a model and its labels, without first pass and
completion: what runs where hits have no modules. --nearest: efficiency by the distance
to the nearest other particle.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from itertools import pairwise

import exatrkx
from exatrkx._evaluation import rate_of

from .events import event_options, read_events
from .markdown import table

NAMES = ("default", "accurate", "positions", "chain")
MIN_PT = (0.5, 0.1)  # GeV
DISTANCES = (0.0, 0.003, 0.01, 0.03, 0.1, 100.0)  # in eta and phi

Events = Sequence[exatrkx.Event]
Find = Callable[[exatrkx.Event], exatrkx.Tracks]


def networks_alone(
    model: exatrkx.Model, labels: exatrkx.LabelOptions, context: exatrkx.Context
) -> Find:
    """The stages of a model with these labels."""

    def find(event: exatrkx.Event) -> exatrkx.Tracks:
        graph = exatrkx.build_graph(model, event, context)
        graph = exatrkx.filter_graph(graph, model, event, context)
        graph = exatrkx.score_graph(graph, model, event, context)
        return exatrkx.build_tracks(graph, labels, event=event, context=context)

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


def line_by_nearest(cells: Sequence[str], events: Events, find: Find) -> list[str]:
    """Technical efficiency in each bin of the distance, after cells."""
    counts = [
        exatrkx.evaluate_binned(event, find(event), "nearest", DISTANCES, min_pt=MIN_PT[0])
        for event in events
    ]
    total, matched = (sum(column) for column in zip(*counts, strict=True))
    rates = map(rate_of, matched.tolist(), total.tolist())
    return [*cells, *(f"{rate.value:.3f} ({rate.low:.3f} .. {rate.high:.3f})" for rate in rates)]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = event_options("dense", count=2, action="append")
    parser.add_argument("--nearest", action="store_true", help="efficiency by distance")
    options = parser.parse_args(arguments)
    make_line = line_by_nearest if options.nearest else line
    context = exatrkx.Context(options.threads)
    rows = []
    for folder in options.events:
        count = len(list(folder.glob("*-hits.csv*")))
        events = read_events(folder, min(count, options.count))
        for (name, way), find in ways(context).items():
            rows.append(make_line([folder.name, name, way], events, find))
    efficiencies = [f"efficiency, pT > {min_pt} GeV" for min_pt in MIN_PT]
    columns = [*efficiencies, "purity", "fake rate"]
    if options.nearest:
        columns = [f"{a:g} .. {b:g}" for a, b in pairwise(DISTANCES)]
    head = ["events", "model", "way", *columns]
    print(table(head, rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
