"""times_plot -- what etx-bench --out wrote, against the number of hits.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, cast

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from .style import COLOURS, log_axis, panels

STAGES = {
    "first_pass": "first pass",
    "features": "features",
    "embedding": "embedding",
    "graph": "neighbour graph",
    "filter": "filter",
    "gnn": "graph network",
    "label": "labels",
    "completion": "completion",
}
LEAST = 0.01  # of the whole event: a stage below it everywhere is not drawn
Row = dict[str, Any]


def read(path: str) -> dict[str, list[Row]]:
    """Rows of each stage, by the number of hits."""
    with open(path, encoding="utf-8") as file:
        try:
            rows = json.load(file)
            result: dict[str, list[Row]] = {}
            for row in sorted(rows, key=lambda row: int(row["n_hits"])):
                for name in ("median_s", "p10_s", "p90_s", "threads"):
                    row[name] = float(row[name])
                row["device"] = str(row["device"])
                result.setdefault(str(row["stage"]), []).append(row)
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{path}: not what etx-bench --out writes") from None
    if "event" not in result:
        raise ValueError(f"{path}: no times of whole events in it")
    return result


def draw(paths: Sequence[str], given: Sequence[Axes] | None = None) -> Figure:
    """A panel for each file: the event and its stages, median and 10 to 90 %."""
    files = [read(path) for path in paths]
    if not files:
        raise ValueError("there are no times to draw")
    figure, axes = panels(len(files), 3, given=given)
    used = list(axes)
    for path, stages, axis in zip(paths, files, used, strict=True):
        event = stages["event"]
        whole = {row["n_hits"]: row["median_s"] for row in event}
        _line(axis, event, "black", "whole event", 2.2)
        for colour, (name, label) in zip(COLOURS, STAGES.items(), strict=True):
            rows = stages.get(name, [])
            if any(
                row["median_s"] > LEAST * whole.get(row["n_hits"], 0.0) for row in rows
            ):
                _line(axis, rows, colour, label, 1.4)
        log_axis(axis.xaxis)
        log_axis(axis.yaxis, few_decades=False)
        axis.set_xticks(sorted(whole))
        axis.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x / 1000:g}"))
        axis.set_xlabel("thousand hits")
        axis.set_ylabel("seconds")
        name = os.path.basename(path).removesuffix(".json")
        n = event[0]["threads"]
        axis.set_title(f"{name}, {n:g} thread{'s' if n > 1 else ''}, {event[0]['device']}")
    low = min(axis.get_ylim()[0] for axis in used)
    high = max(axis.get_ylim()[1] for axis in used)
    for axis in used:
        axis.set_ylim(low, high)
    lines = [line for axis in used for line in axis.get_lines()]
    named = list({line.get_label(): line for line in lines}.values())
    if given is None:
        figure.legend(handles=named, loc="outside right center")
    else:
        used[0].legend(handles=named)
    return cast(Figure, figure)


def _line(axis: Axes, rows: list[Row], colour: str, label: str, width: float) -> None:
    """Medians, and where the middle eighty of a hundred runs lie."""
    hits = [row["n_hits"] for row in rows]
    axis.fill_between(
        hits,
        [row["p10_s"] for row in rows],
        [row["p90_s"] for row in rows],
        color=colour,
        alpha=0.2,
        linewidth=0,
    )
    median = [row["median_s"] for row in rows]
    axis.plot(hits, median, "o-", color=colour, markersize=3, linewidth=width, label=label)
