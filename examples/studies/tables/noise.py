"""noise -- a shipped model on the same particles under more and more noise.

    python -m tables.noise --events DIR [--count 20] [--model FILE]

Hits of particles stay; the noise hits of an event are kept up to the
level, in random order, and where they are too few the next event's are added:
noise does not depend on the event (docs/simulation.md). Nothing
is trained again and no cut moved. Relative efficiency: particles found over
those found without noise; its error takes into account that both are the same
particles.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import exatrkx

from .events import event_options, read_events
from .markdown import table

LEVELS = (0.0, 0.05, 0.10, 0.15, 0.20)  # noise hits of all hits
MIN_PT = (0.5, 0.1)  # GeV
MAX_ETA = 4.0
MIN_HITS = 5


class Hits:
    """The hits of one event that a model reads, and whose they are."""

    def __init__(self, event: exatrkx.Event, chosen: np.ndarray) -> None:
        self.position = event.positions[chosen]
        self.modules = np.stack(event.modules, axis=1)[chosen]
        self.cells = event.cell_features[chosen]
        self.owner = event.particle_ids[chosen]

    def __len__(self) -> int:
        return len(self.owner)


def pools(
    events: Sequence[exatrkx.Event], rng: np.random.Generator
) -> list[list[Hits]]:
    """For each event its noise, in random order, and that of the next one."""
    noise = []
    for event in events:
        rows = np.flatnonzero(event.particle_ids == 0)
        noise.append(Hits(event, rng.permutation(rows)))
    return [[own, noise[(i + 1) % len(noise)]] for i, own in enumerate(noise)]


def overlaid(event: exatrkx.Event, pool: Sequence[Hits], level: float) -> exatrkx.Event:
    """The event with this fraction of noise among its hits."""
    own = Hits(event, np.flatnonzero(event.particle_ids != 0))
    n_noise = round(len(own) * level / (1.0 - level))
    if n_noise > sum(map(len, pool)):
        raise ValueError(f"too few noise hits for {level}: {n_noise} are needed")
    parts = [own, *pool]
    keep = len(own) + n_noise
    return exatrkx.Event.from_arrays(
        np.concatenate([part.position for part in parts])[:keep],
        modules=list(np.concatenate([part.modules for part in parts])[:keep].T),
        cell_features=np.concatenate([part.cells for part in parts])[:keep],
        particle_ids=np.concatenate([part.owner for part in parts])[:keep],
        particles=event.particles,
    )


def reconstructable(event: exatrkx.Event, min_pt: float) -> np.ndarray:
    """Which particles the technical efficiency is of (docs/evaluation.md)."""
    particles = event.particles
    ids, counts = np.unique(event.particle_ids, return_counts=True)
    index = np.minimum(np.searchsorted(ids, particles["id"]), len(ids) - 1)
    hits = np.where(ids[index] == particles["id"], counts[index], 0)
    px, py, pz = particles["momentum"].astype(np.float64).T
    pt = np.hypot(px, py)
    with np.errstate(divide="ignore", invalid="ignore"):
        eta = np.arcsinh(pz / pt)
    return (pt > np.float32(min_pt)) & (np.abs(eta) < MAX_ETA) & (hits >= MIN_HITS)


def measure(
    events: Sequence[exatrkx.Event], model: exatrkx.Model, context: exatrkx.Context
) -> tuple[list[exatrkx.Evaluation], list[np.ndarray]]:
    """For each pT: the rates, and which reconstructable particles were found
    [n_particles of all events]."""
    tracks = [exatrkx.find_tracks(model, event, context) for event in events]
    rates, found = [], []
    for min_pt in MIN_PT:
        rates.append(exatrkx.evaluate(events, tracks, min_pt=min_pt))
        matched = [
            exatrkx.match(event, of_event, min_pt=min_pt)[1]
            for event, of_event in zip(events, tracks, strict=True)
        ]
        wanted = [reconstructable(event, min_pt) for event in events]
        found.append(np.concatenate([m[w] for m, w in zip(matched, wanted)]))
        if found[-1].mean() != rates[-1].technical_efficiency.value:
            raise ValueError("the particles of both efficiencies differ")
    return rates, found


def ratio(found: np.ndarray, without: np.ndarray) -> tuple[float, float]:
    """Found with noise over found without, and its standard error: that of a
    ratio of two sums over the same particles."""
    value = found.sum() / without.sum()
    residual = found - value * without
    return value, float(np.sqrt((residual**2).sum()) / without.sum())


def row(
    noise: float,
    rates: Sequence[exatrkx.Evaluation],
    found: Sequence[np.ndarray],
    without: Sequence[np.ndarray],
) -> list[str]:
    """One line of the table."""
    cells = [f"{100 * noise:.0f} %"]
    for rate, now, before in zip(rates, found, without, strict=True):
        efficiency = rate.technical_efficiency
        value, error = ratio(now, before)
        cells.append(
            f"{efficiency.value:.4f} ({efficiency.low:.4f} .. {efficiency.high:.4f})"
        )
        cells.append(f"{value:.4f} +- {error:.4f}")
    cells.append(f"{rates[0].purity.value:.4f}")
    cells.append(f"{rates[0].fake_rate.value:.4f}")
    return cells


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = event_options("noise", count=20)
    add = parser.add_argument
    add("--model", type=Path, metavar="FILE", help="default: the shipped one")
    add("--seed", type=int, default=1, metavar="S", help="of the order of noise")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    model = exatrkx.Model.load(options.model)
    context = exatrkx.Context(options.threads)
    events = read_events(options.events, options.count)
    pool = pools(events, np.random.default_rng(options.seed))
    rows: list[list[str]] = []
    without: list[np.ndarray] = []
    for level in LEVELS:
        pairs = zip(events, pool, strict=True)
        noisy = [overlaid(event, noise, level) for event, noise in pairs]
        rates, found = measure(noisy, model, context)
        without = without or found
        rows.append(row(level, rates, found, without))
        n_hits = sum(map(len, noisy))
        print(f"noise {level:.2f}: {n_hits} hits", file=sys.stderr, flush=True)
    head = ["noise"]
    for min_pt in MIN_PT:
        head += [f"efficiency, pT > {min_pt} GeV", "relative"]
    print(table([*head, "purity", "fake rate"], rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
