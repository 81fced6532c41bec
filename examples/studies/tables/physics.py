"""physics -- the rates of the shipped models, with intervals.

    python -m tables.physics --set medium=DIR --set full=DIR

All events of each set, in a column for each model.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import exatrkx

from .events import read_events
from .losses import MODELS, NAMES
from .markdown import table


def interval(rate: exatrkx.Rate, digits: int) -> str:
    low, high = f"{rate.low:.{digits}f}", f"{rate.high:.{digits}f}"
    return f"{rate.value:.{digits}f} ({low} .. {high})"


def column(model: exatrkx.Model, events: Sequence[exatrkx.Event]) -> dict[str, str]:
    """What one model finds in one set."""
    context = exatrkx.Context(1)
    tracks = [exatrkx.find_tracks(model, event, context) for event in events]
    hard, soft = (exatrkx.evaluate(events, tracks, min_pt=pt) for pt in (0.5, 0.1))
    return {
        "technical efficiency": interval(hard.technical_efficiency, 4),
        "physics efficiency": interval(hard.physics_efficiency, 3),
        "purity": interval(hard.purity, 3),
        "fake rate": interval(hard.fake_rate, 4),
        "TrackML score": f"{hard.trackml_score:.3f}",
        "the same, particles of generation 0": f"{hard.primary_score:.4f}",
        "technical efficiency, pT > 0.1 GeV": interval(soft.technical_efficiency, 4),
        "physics efficiency, pT > 0.1 GeV": interval(soft.physics_efficiency, 3),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tables.physics")
    add = parser.add_argument
    add("--set", action="append", required=True, metavar="NAME=DIR")
    columns = {}
    for one in parser.parse_args(arguments).set:
        of, folder = one.split("=", 1)
        events = read_events(Path(folder), len(list(Path(folder).glob("*-hits.csv*"))))
        for name in NAMES:
            model = exatrkx.Model.load(MODELS / f"{name}.safetensors")
            columns[f"{of}, {name}"] = column(model, events)
            print(of, name, columns[f"{of}, {name}"], file=sys.stderr, flush=True)
    rows = [
        [rate, *(cells[rate] for cells in columns.values())]
        for rate in next(iter(columns.values()))
    ]
    print(table(["pT > 0.5 GeV", *columns], rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
