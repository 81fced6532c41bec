"""Processor time and memory of hostile and of dense events, by their size.

    python3 test/soak/growth.py [--model NAME] [KIND ...]

Finds tracks with one thread in events of each kind, each in a process of its own,
and prints the rows of the table of docs/reliability.md. From the smallest event to
the largest, time must grow with a lower power of the hits than MAX_EXPONENT. Runs
in the root of the repository.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import exatrkx
import numpy as np

MAX_EXPONENT = 1.8
# Volume, layer and radius, mm, of the barrels of TrackML.
BARRELS = [
    (8, 2, 32), (8, 4, 72), (8, 6, 116), (8, 8, 172), (13, 2, 260),
    (13, 4, 360), (13, 6, 500), (13, 8, 660), (17, 2, 820), (17, 4, 1020),
]  # fmt: skip
Hits = tuple[Any, Any]  # positions [n, 3], modules [3, n]


def shipped() -> exatrkx.Event:
    return exatrkx.Event.example()


def on_barrels(y: Any, z: Any, barrels: list[tuple[int, int, int]]) -> Hits:
    """Hits at these y, z on a module of each of these barrels."""
    volume, layer, module = shipped().modules
    n = len(y)
    position, modules = [], []
    for v, k, radius in barrels:
        own = module[(volume == v) & (layer == k)][0]
        position.append(np.stack([np.full(n, radius), y, z], 1))
        modules.append(np.repeat([[v], [k], [own]], n, 1))
    return np.concatenate(position), np.concatenate(modules, 1)


def along(position: Any) -> Hits:
    """These hits, with the modules of a shipped event in turn."""
    modules = np.stack(shipped().modules)
    return position, modules[:, np.arange(len(position)) % modules.shape[1]]


def line(n: int) -> Hits:
    x = np.linspace(1.0, 1000.0, n)
    return along(np.stack([x, 0 * x, 0 * x], 1))


def helix(n: int) -> Hits:
    u = np.linspace(0.0, 1.0, n)
    turn = 3.0 * u
    return along(
        np.stack([500 * np.sin(turn), 500 - 500 * np.cos(turn), 1000 * u], 1)
    )


def equal(n: int) -> Hits:
    """As many equal points on each barrel, all on one line."""
    y = np.zeros(n // len(BARRELS))
    return on_barrels(y, y, BARRELS)


def jet(n: int) -> Hits:
    """Hits within a millimetre on each barrel."""
    random = np.random.default_rng(3)
    y, z = random.normal(0.0, 1.0, (2, n // len(BARRELS)))
    return on_barrels(y, z, BARRELS)


def comb(n: int) -> Hits:
    """Parallel tracks, 0.05 mm from one to the next."""
    y = 0.05 * np.arange(n // len(BARRELS))
    return on_barrels(y, 0 * y, BARRELS)


def hot(n: int) -> Hits:
    """A shipped event, and noise on three modules in line."""
    random = np.random.default_rng(3)
    y, z = random.uniform(-8.0, 8.0, n // 3), random.uniform(-30.0, 30.0, n // 3)
    position, modules = on_barrels(y, z, BARRELS[:3])
    event = shipped()
    return (
        np.concatenate([event.positions, position]),
        np.concatenate([np.stack(event.modules), modules], 1),
    )


def copies(n: int) -> Hits:
    """A shipped event and copies of it, turned about the beam line."""
    event = shipped()
    position = np.asarray(event.positions, np.float64)
    k = n // len(position)
    turn = 2.0 * math.pi * np.arange(k)[:, None] / k
    x, y, z = position.T
    turned = [
        x * np.cos(turn) - y * np.sin(turn),
        x * np.sin(turn) + y * np.cos(turn),
        np.broadcast_to(z, (k, len(z))),
    ]
    return np.stack(turned, 2).reshape(-1, 3), np.tile(np.stack(event.modules), k)


KINDS: dict[str, tuple[Callable[[int], Hits], list[int]]] = {
    "line": (line, [1000, 4000, 16000]),
    "helix": (helix, [1000, 4000, 16000]),
    "equal": (equal, [1000, 4000, 16000]),
    "jet": (jet, [1000, 4000, 16000]),
    "comb": (comb, [1000, 4000, 16000]),
    "hot": (hot, [3000, 6000, 24000]),
    "copies": (copies, [100000, 200000, 400000]),
}


def event_of(hits: Hits) -> exatrkx.Event:
    position, modules = hits
    cells = np.asarray(shipped().cell_features)
    return exatrkx.Event.from_arrays(
        position.astype(np.float32),
        modules=tuple(modules.astype(np.int32)),
        cell_features=cells[np.arange(len(position)) % len(cells)],
    )


def measure(model: exatrkx.Model, hits: Hits) -> tuple[float, int]:
    """Seconds of processor time and the peak in MiB, of a process of its own."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        event = event_of(hits)
        context = exatrkx.Context(1)
        begin = time.process_time()
        exatrkx.find_tracks(model, event, context)
        seconds = time.process_time() - begin
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        os.write(write, f"{seconds} {peak}".encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        found = pipe.read().split()
    os.waitpid(pid, 0)
    return float(found[0]), int(found[1])


def exponent(model: exatrkx.Model, kind: str) -> float:
    """Print the row of a kind; returns the power of growth."""
    make, sizes = KINDS[kind]
    found = [measure(model, make(n)) for n in sizes]
    first, last = found[0][0], found[-1][0]
    power = math.log(last / first) / math.log(sizes[-1] / sizes[0])
    cells = [f"{n} hits: {s:.2f} s, {peak} MiB" for n, (s, peak) in zip(sizes, found)]
    print(f"| {kind} | {' | '.join(cells)} | {power:.2f} |", flush=True)
    return power


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="default")
    parser.add_argument("kind", nargs="*", default=list(KINDS))
    options = parser.parse_args()
    model = exatrkx.Model.load(options.model)
    return int(max(exponent(model, kind) for kind in options.kind) > MAX_EXPONENT)


if __name__ == "__main__":
    sys.exit(main())
