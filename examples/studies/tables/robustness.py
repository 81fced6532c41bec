"""robustness -- shipped models on events of worse detectors and other beams.

    python -m tables.robustness --events DIR [--count 20] [--model FILE ...]
        [--only NAME ...] [--simulate DIR [--set medium] [--seed 2000]]

The first lines change the events of DIR: random hits are missing, all hits of
random modules, every module is moved by normal random numbers along x, y and z,
or the cells are unknown. With --simulate more lines follow, of events that are
simulated like those but in another field or of another beam, below its DIR,
where they are not there yet (needs pyacts). Nothing is trained again and no cut
moved. Missing hits do not count for the hits that a particle must have.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import exatrkx
from exatrkx.simulation import simulate

from .events import event_options, read_events
from .losses import MODELS, NAMES
from .markdown import table
from .physics import interval

MIN_PT = (0.5, 0.1)  # GeV

Change = Callable[[exatrkx.Event, np.random.Generator], exatrkx.Event]


def rebuilt(
    event: exatrkx.Event,
    kept: np.ndarray | slice = slice(None),
    shift: np.ndarray | float = 0.0,
    has_cells: bool = True,
) -> exatrkx.Event:
    """The kept hits of an event, moved by shift [n_hits, 3] mm.

    Without cells their features are 0, which no cluster has.
    """
    cells = event.cell_features[kept]
    return exatrkx.Event.from_arrays(
        (event.positions + shift)[kept],
        modules=[column[kept] for column in event.modules],
        cell_features=cells if has_cells else np.zeros_like(cells),
        particle_ids=event.particle_ids[kept],
        weights=event.weights[kept],
        particles=event.particles,
    )


def modules(event: exatrkx.Event) -> tuple[int, np.ndarray]:
    """The number of modules with hits, and the module of every hit."""
    table = np.stack(event.modules, axis=1)
    unique, row = np.unique(table, axis=0, return_inverse=True)
    return len(unique), row.ravel()


def missing(share: float) -> Change:
    """Hits are missing at random."""
    return lambda event, rng: rebuilt(event, rng.random(event.n_hits) >= share)


def dead(share: float) -> Change:
    """Modules have no hits."""

    def change(event: exatrkx.Event, rng: np.random.Generator) -> exatrkx.Event:
        n, row = modules(event)
        return rebuilt(event, (rng.random(n) >= share)[row])

    return change


def moved(sigma: float) -> Change:
    """Modules are not where they are thought to be, mm."""

    def change(event: exatrkx.Event, rng: np.random.Generator) -> exatrkx.Event:
        n, row = modules(event)
        return rebuilt(event, shift=rng.normal(scale=sigma, size=(n, 3))[row])

    return change


CHANGES: dict[str, Change] = {
    "nominal": lambda event, rng: event,
    "5 % of the hits missing": missing(0.05),
    "10 % of the hits missing": missing(0.1),
    "20 % of the hits missing": missing(0.2),
    "1 % of the modules dead": dead(0.01),
    "2 % of the modules dead": dead(0.02),
    "5 % of the modules dead": dead(0.05),
    "modules moved by 50 um": moved(0.05),
    "modules moved by 100 um": moved(0.1),
    "modules moved by 200 um": moved(0.2),
    "without cells": lambda event, rng: rebuilt(event, has_cells=False),
}


# What makes the same events otherwise, for exatrkx simulate.
SIMULATED: dict[str, tuple[str, ...]] = {
    "field 1.9 T": ("--tesla", "1.9"),
    "field 1.6 T": ("--tesla", "1.6"),
    "collisions at 4, -3, 0 mm": ("--beam-offset", "4", "-3", "0"),
    "collisions at 0, 0, 100 mm": ("--beam-offset", "0", "0", "100"),
    "TrackML's beam spot": ("--beam-spot", "trackml"),
    "collisions within 300 mm": ("--beam-spot", "flat"),
    "touching clusters merged": ("--merge",),
    "3 modules in line with 1000 noise hits each": ("--hot-modules", "3", "1000"),
    "5 % of the hits doubled": ("--doubled", "0.05"),
    "twice the collisions": ("--pileup",),
}


def simulated(name: str, options: argparse.Namespace) -> list[exatrkx.Event]:
    """The events of a line, made where they are not there."""
    change = list(SIMULATED[name])
    size = ["--set", options.set]
    if change == ["--pileup"]:
        change, size = [*change, str(2 * simulate.SETS[options.set])], []
    folder = options.simulate / "_".join(change).replace("--", "")
    if not folder.exists():
        source = ["--seed", str(options.seed), "--events", str(options.count)]
        simulate.main(["--out", str(folder), *size, *source, *change])
    return read_events(folder, options.count)


def changed(events: Sequence[exatrkx.Event], change: Change) -> list[exatrkx.Event]:
    """The events of a line; the random numbers of all lines start equal."""
    rng = np.random.default_rng(1)
    return [change(event, rng) for event in events]


def measure(
    events: Sequence[exatrkx.Event], model: exatrkx.Model, context: exatrkx.Context
) -> list[exatrkx.Evaluation]:
    """The rates of a model, for each pT."""
    tracks = [exatrkx.find_tracks(model, event, context) for event in events]
    return [exatrkx.evaluate(events, tracks, min_pt=min_pt) for min_pt in MIN_PT]


def cells_of(rates: Sequence[exatrkx.Evaluation]) -> list[str]:
    """Efficiencies, purity, fakes and score of one line."""
    cells = [interval(rate.technical_efficiency, 4) for rate in rates]
    cells.append(f"{rates[0].purity.value:.3f}")
    cells.append(f"{rates[0].fake_rate.value:.4f}")
    cells.append(f"{rates[0].trackml_score:.3f}")
    return cells


def main(arguments: Sequence[str] | None = None) -> int:
    parser = event_options("robustness", count=20)
    add = parser.add_argument
    add("--model", type=Path, action="append", metavar="FILE")
    names = [*CHANGES, *SIMULATED]
    add("--only", choices=names, action="append", help="these lines")
    text = "folder of simulated events"
    add("--simulate", type=Path, metavar="DIR", help=text)
    add("--set", choices=simulate.SETS, default="medium", help="size of them")
    add("--seed", type=int, default=2000, metavar="S", help="of them")
    options = parser.parse_args(arguments)
    context = exatrkx.Context(options.threads)
    paths = options.model or [MODELS / f"{name}.safetensors" for name in NAMES]
    models = [exatrkx.Model.load(path) for path in paths]
    nominal = read_events(options.events, options.count)
    rows = []

    def add_rows(name: str, events: Sequence[exatrkx.Event]) -> None:
        for path, model in zip(paths, models, strict=True):
            rates = measure(events, model, context)
            rows.append([name, path.stem, *cells_of(rates)])
            print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)

    chosen = options.only or names[: None if options.simulate else len(CHANGES)]
    for name in chosen:
        if name in CHANGES:
            add_rows(name, changed(nominal, CHANGES[name]))
        else:
            add_rows(name, simulated(name, options))
    head = [f"efficiency, pT > {min_pt} GeV" for min_pt in MIN_PT]
    head = ["events", "model", *head, "purity", "fake rate", "TrackML score"]
    print(table(head, rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
