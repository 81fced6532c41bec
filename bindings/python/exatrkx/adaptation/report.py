"""report -- what an adaptation chose and reached, as data, text and a page.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from .. import _html
from .._context import Context
from .._evaluation import Rate, evaluate, evaluate_binned, rate_of
from .._event import Event
from .._graph import Graph
from .._model import Model
from .._stages import build_graph, build_tracks, filter_graph
from .choices import Chooser, Quality, Trial, measure, tracks_of
from .facts import Facts, Wanted
from .stages import Curve

PT_BINS = 0.2, 0.6, 1, 2, 4, 10, 2000  # of the least pT of the efficiency
BINS: dict[str, tuple[str, Sequence[float]]] = {  # unit, edges
    "eta": ("", (-20, -5, -3, -2, -1, 0, 1, 2, 3, 5, 20)),
    "radius": ("mm", (0, 1, 30, 100, 300, 10000)),
    "nearest": ("", (0, 0.003, 0.01, 0.03, 0.1, 100)),
}


def numbers(quality: Quality | None) -> dict[str, Any]:
    """The rates of a quality with their intervals, as JSON takes them."""
    if quality is None:
        return {}
    rates = {
        name: [rate.value, rate.low, rate.high]
        for name, rate in vars(quality).items()
        if isinstance(rate, Rate)
    }
    return {"value": quality.value, **rates}


def trial(one: Trial) -> dict[str, Any]:
    """A candidate with its rates, or why it was refused."""
    return {"name": one.name, **({"refused": one.reason} if one.reason else numbers(one.quality))}


def binned(
    model: Model, events: Sequence[Event], context: Context, wanted: Wanted
) -> dict[str, Any]:
    """Technical efficiency with intervals in bins of each variable."""
    tracks = tracks_of(model, events, context)
    found: dict[str, Any] = {}
    variables: dict[str, tuple[str, Sequence[float]]] = dict(BINS)
    if wanted.min_pt > 0:  # else the truth has no momenta
        variables = {"pt": ("GeV", [wanted.min_pt * edge for edge in PT_BINS]), **BINS}
    for name, (unit, edges) in variables.items():
        counts = [
            evaluate_binned(
                event,
                some,
                name,
                edges,
                min_pt=wanted.soft_pt if name == "pt" else wanted.min_pt,
                **wanted.others,
            )
            for event, some in zip(events, tracks, strict=True)
        ]
        total, matched = (sum(column) for column in zip(*counts, strict=True))
        found[name] = {"unit": unit, "rows": list(rows_of(edges, total, matched))}
    return found


def rows_of(edges: Sequence[float], total: Any, matched: Any) -> Iterator[list[float]]:
    """Bounds, particles, efficiency and its interval of each bin with particles."""
    for k, n in enumerate(np.asarray(total).tolist()):
        if n > 0:
            rate = rate_of(int(matched[k]), n)
            yield [edges[k], edges[k + 1], n, rate.value, rate.low, rate.high]


def losses(
    model: Model, events: Sequence[Event], context: Context, wanted: Wanted
) -> dict[str, float]:
    """Technical efficiency of a perfect graph network on the edges that radius and
    filter leave, of networks alone: where particles are lost."""
    left: dict[str, list[Any]] = {}
    for event in events:
        if "embedding" in model.stages or "module_map" in model.stages:
            graph = build_graph(model, event, context)
            left.setdefault("after radius", []).append(perfect(graph, event))
            if "filter" in model.stages:
                graph = filter_graph(graph, model, event, context)
                left.setdefault("after filter", []).append(perfect(graph, event))
    return {
        name: evaluate(
            events, tracks, min_pt=wanted.min_pt, **wanted.others
        ).technical_efficiency.value
        for name, tracks in left.items()
    }


def perfect(graph: Graph, event: Event) -> Any:
    """The tracks of the true edges of a graph."""
    ids = np.asarray(event.particle_ids)
    same = (ids[graph.src] == ids[graph.dst]) & (ids[graph.src] != 0)
    scored = Graph.from_edges(graph.n_nodes, graph.src, graph.dst, same.astype(np.float32))
    return build_tracks(scored, method="components", cut=0.5, min_hits=3)


def more(
    model: Model,
    seen: Sequence[Event],
    chooser: Chooser,
    curves: Mapping[str, Curve],
    context: Context,
) -> dict[str, Any]:
    """What more events and more time may gain: the tracks of events that were
    trained on, next to the ones of validation, and the curves of the trainings."""
    return {
        "trained_on": numbers(measure(model, seen, context, chooser.wanted)),
        "validation": numbers(chooser.best()[1]),
        "curves": {name: curve.rows() for name, curve in curves.items()},
    }


def advice(found: dict[str, Any]) -> Iterator[str]:
    """What to do next, from what more() found."""
    seen, others = (found["more"][name]["value"] for name in ("trained_on", "validation"))
    yield (
        f"more events: value {seen:.4f} on events that were trained on, {others:.4f} on "
        f"others; more of them can gain {max(seen - others, 0):.4f}"
    )
    for stage, curve in found["more"]["curves"].items():
        if len(curve) > 1:
            (before, low), (last, high) = curve[-2:]
            yield (
                f"more time: {stage} {low:.4f} at step {before}, {high:.4f} at the last, "
                f"{last}"
            )
    yield f"to go on: {found['continue']}"


def report(
    facts: Facts,
    chooser: Chooser,
    first: Quality,
    model: Model,
    events: Sequence[Event],
    context: Context,
) -> dict[str, Any]:
    """All of it, of validation events, as JSON takes it."""
    return {
        "facts": {name: value for name, value in facts.lines()},
        "warnings": list(facts.warnings),
        "all_facts": asdict(facts),
        "n_validation_events": len(events),
        "start": numbers(first),
        "result": numbers(chooser.best()[1]),
        "choices": [
            {
                "what": what,
                "kept": kept.name if kept else "",
                "trials": [trial(one) for one in trials],
            }
            for what, trials, kept in chooser.steps
        ],
        "losses": losses(model, events, context, facts.wanted),
        "efficiency_by": binned(model, events, context, facts.wanted),
    }


def as_json(found: Any) -> Any:
    """The same with null in place of nan, which JSON lacks: 0 of 0."""
    if isinstance(found, dict):
        return {name: as_json(value) for name, value in found.items()}
    if isinstance(found, (list, tuple)):
        return [as_json(value) for value in found]
    return None if found != found else found


def rate_text(found: Sequence[float]) -> str:
    """A rate with its interval."""
    value, low, high = found
    return f"{value:.4f} ({low:.4f} .. {high:.4f})"


def tables(found: dict[str, Any]) -> Iterator[tuple[str, list[str], list[list[Any]]]]:
    """Title, head and rows of each table of a report."""
    yield "Events", ["", ""], [list(one) for one in found["facts"].items()]
    rows = [
        [name, rate_text(found["start"][name]), rate_text(found["result"][name])]
        for name in ("efficiency", "soft_efficiency", "purity", "fake_rate")
    ]
    rows = [[row[0].replace("_", " "), *row[1:]] for row in rows]
    title = f"Tracks of {found['n_validation_events']} validation events"
    yield title, ["", "start", "result"], rows
    kept = [
        [one["what"], one["kept"], value_of(one, one["kept"])] for one in of_result(found)
    ]
    yield "Choices that were kept", ["what", "kept", "value"], kept
    lost = [[name, f"{value:.4f}"] for name, value in found["losses"].items()]
    if lost:
        yield "Efficiency that the stages leave", ["stage", "efficiency"], lost
    for name, table in found["efficiency_by"].items():
        rows = [
            [f"{low:g} .. {high:g}", n, rate_text(rate)]
            for low, high, n, *rate in table["rows"]
        ]
        yield f"Efficiency by {name}", [table["unit"], "particles", "efficiency"], rows
    yield "What more may gain", ["", ""], [line.split(": ", 1) for line in advice(found)]


def of_result(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The choices that made the model: none of the trained one, where it is dropped."""
    choices: list[dict[str, Any]] = found["choices"]
    if choices[-1]["what"] == "result" and choices[-1]["kept"]:
        names = [one["what"] for one in choices]
        choices = choices[: names.index("training")]
    return [one for one in choices if one["kept"]]


def value_of(choice: dict[str, Any], name: str) -> str:
    """What a candidate of a choice reached."""
    for one in choice["trials"]:
        if one["name"] == name:
            return f"{one['value']:.4f}"
    return ""


def text(found: dict[str, Any]) -> str:
    """A report for a terminal, which has the warnings already."""
    lines = []
    for title, head, rows in tables(found):
        lines += ["", title]
        shown = [head, *rows] if any(head) else rows
        cells = [[_html.number(cell) for cell in row] for row in shown]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for row in cells:
            padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            lines.append("  " + "  ".join(padded).rstrip())
    return "\n".join(lines)


def page(found: dict[str, Any]) -> str:
    """A report as one HTML page."""
    parts = [_html.table(title, rows, head) for title, head, rows in tables(found)]
    for choice in found["choices"]:
        rows = [
            [one["name"], one.get("refused") or f"{one['value']:.4f}"]
            for one in choice["trials"]
        ]
        title = f"{choice['what']}: {choice['kept'] or 'as it was'}"
        parts.append(_html.table(title, rows, ["candidate", "value"]))
    warnings = [[one] for one in found["warnings"]]
    if warnings:
        parts.insert(0, _html.table("Warnings", warnings))
    style = "body{font-family:sans-serif}table{margin:1em 0}td,th{padding:0 1em 0 0}"
    return (
        '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Adaptation</title>'
        f"<style>{style}</style><h1>Adaptation</h1>" + "\n".join(parts)
    )
