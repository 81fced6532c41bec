"""seeds -- triplets of a purity that is chosen elsewhere, by momentum.

    python -m tables.seeds --set medium=VALIDATION,TEST --set full=VALIDATION,TEST

The cut on the score of a triplet gives PURITY on the validation events; purity and
efficiency are measured on the test events. As etx-seeds: a seed is pure when its hits
are of one particle, efficiency is the share of charged particles with |eta| < 4 and
at least 5 hits that have a pure seed. Intervals are Clopper-Pearson, 68.27 %.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import exatrkx
from exatrkx.plotting.rates import clopper_pearson

from .events import read_events
from .losses import MODELS, NAMES
from .markdown import table
from .training import PT, scored

PURITY = 0.991
MIN_HITS = 5
MAX_ETA = 4.0


class Seeds:
    """Triplets of all events: scores and purity; and wanted particles: pT and the
    best score of their pure seeds."""

    def __init__(self, model: exatrkx.Model, events: Sequence[exatrkx.Event]) -> None:
        found = [of_event(model, event) for event in events]
        columns = [np.concatenate(column) for column in zip(*found)]
        self.score, self.is_pure, self.pt, self.best = columns
        self.n_events = len(events)

    def cut(self, purity: float) -> float:
        """The lowest with this purity."""
        order = np.argsort(-self.score, kind="stable")
        so_far = np.cumsum(self.is_pure[order]) / np.arange(1, len(order) + 1)
        last = np.flatnonzero(so_far >= purity)[-1]
        return float(np.nextafter(self.score[order][last], np.float32(0)))


def of_event(model: exatrkx.Model, event: exatrkx.Event) -> tuple[np.ndarray, ...]:
    """Score and purity of triplets, pT and best pure score of particles."""
    graph = scored(model, event)
    triplets = exatrkx.score_triplets(graph.to_triplets(), graph, model, event)
    owner = event.particle_ids
    inner, outer = triplets.src, triplets.dst
    a, b, c = (owner[h] for h in (graph.src[inner], graph.dst[inner], graph.dst[outer]))
    is_pure = (a != 0) & (a == b) & (b == c)
    particles = event.particles
    best = np.full(len(particles), -1.0, np.float32)
    row = np.searchsorted(particles["id"], a[is_pure])
    np.maximum.at(best, row, triplets.scores[is_pure])
    pt, is_wanted = wanted(event)
    return triplets.scores, is_pure, pt[is_wanted], best[is_wanted]


def wanted(event: exatrkx.Event) -> tuple[np.ndarray, np.ndarray]:
    """pT of all particles, and which count."""
    particles, owner = event.particles, event.particle_ids
    n_hits = np.bincount(
        np.searchsorted(particles["id"], owner[owner != 0]), minlength=len(particles)
    )
    px, py, pz = particles["momentum"].astype(np.float64).T
    pt = np.hypot(px, py)
    eta = np.abs(np.arcsinh(pz / pt))
    return pt, (particles["charge"] != 0) & (n_hits >= MIN_HITS) & (eta < MAX_ETA)


def share(part: np.ndarray, digits: int = 4) -> str:
    """The share that is true, and its interval."""
    low, high = (float(end[0]) for end in clopper_pearson(part.sum(), len(part)))
    return f"{part.mean():.{digits}f} ({low:.{digits}f} .. {high:.{digits}f})"


def row(name: Sequence[str], seeds: Seeds, cut: float) -> list[str]:
    """One line: cut, seeds, purity, then efficiencies."""
    above = seeds.score > cut
    has_seed = seeds.best > cut
    cells = [*name, f"{cut:.4g}", f"{above.sum() / seeds.n_events:.0f}"]
    cells.append(share(seeds.is_pure[above]))
    for low, high in zip(PT, PT[1:]):
        cells.append(share(has_seed[(seeds.pt > low) & (seeds.pt <= high)], 3))
    return cells


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tables.seeds")
    add = parser.add_argument
    add("--set", action="append", required=True, metavar="NAME=DIR,DIR")
    add("--purity", type=float, default=PURITY)
    options = parser.parse_args(arguments)
    rows = []
    for one in options.set:
        of, folders = one.split("=", 1)
        sets = [
            read_events(Path(f), len(list(Path(f).glob("*-hits.csv*"))))
            for f in folders.split(",")
        ]
        for name in NAMES:
            model = exatrkx.Model.load(MODELS / f"{name}.safetensors")
            validation, test = (Seeds(model, events) for events in sets)
            rows.append(row([of, name], test, validation.cut(options.purity)))
            print(*rows[-1], sep=" | ", file=sys.stderr, flush=True)
    ranges = [f"pT {low:g} to {high:g} GeV" for low, high in zip(PT, PT[1:])]
    head = ["events", "model", "cut", "seeds per event", "purity", *ranges]
    print(table(head, rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
