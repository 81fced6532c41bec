"""adapted -- what exatrkx adapt makes of detectors that no shipped model has seen.

    python -m tables.adapted [--time 120] [--detector rows ...]

Test events, next to the shipped models default and accurate. CPU seconds are of the
whole command.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence

import exatrkx
from exatrkx.adaptation.adapt import adapt
from exatrkx.adaptation.choices import Quality, measure
from exatrkx.adaptation.facts import wanted_of

from .made_detectors import DETECTORS, event
from .markdown import table

HEAD = [
    "events",
    "model",
    "efficiency",
    "softer particles",
    "purity",
    "fake rate",
    "CPU s",
]
FIRST_TEST = 1001
NAMES = {
    "barrel": "barrel and discs",
    "straight": "no field",
    "rows": "time projection chamber",
    "straws": "straw tubes",
    "soft": "20 to 150 MeV",
    "dipole": "spectrometer",
    "telescope": "beam telescope",
}


def row(events: str, model: str, found: Quality, seconds: str = "") -> list[str]:
    rates = found.efficiency, found.soft_efficiency, found.purity, found.fake_rate
    return [events, model, *(f"{rate.value:.4f}" for rate in rates), seconds]


def rows(detector: str, options: argparse.Namespace) -> Iterator[list[str]]:
    """The shipped models, and the adapted one; of the barrel also of three events, and
    without modules."""
    context = exatrkx.Context(1)
    last = FIRST_TEST + options.test_events
    variants = [(options.events, True)]
    if detector == "barrel":
        variants += [(min(3, options.events), True), (options.events, False)]
    for n, has_modules in variants:
        unseen = [event(detector, k, has_modules) for k in range(FIRST_TEST, last)]
        wanted = wanted_of(unseen)
        if (n, has_modules) == variants[0]:
            for name in "default", "accurate":
                found = measure(exatrkx.Model.load(name), unseen, context, wanted)
                yield row(NAMES[detector] if name == "default" else "", name, found)
        events = [event(detector, k, has_modules) for k in range(1, n + 1)]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.safetensors")
            begin = time.process_time()
            adapt(events, path, seconds=options.time, context=context)
            seconds = time.process_time() - begin
            found = measure(exatrkx.Model.load(path), unseen, context, wanted)
        label = f"adapted, {n} events" + ("" if has_modules else " without modules")
        yield row("", label, found, f"{seconds:.0f}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tables.adapted")
    add = parser.add_argument
    add("--detector", action="append", choices=list(DETECTORS))
    add("--events", type=int, default=60)
    add("--test-events", type=int, default=20)
    add("--time", type=float, default=120.0, metavar="S", help="as in exatrkx adapt")
    options = parser.parse_args(arguments)
    found = [one for name in options.detector or DETECTORS for one in rows(name, options)]
    print(table(HEAD, found), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
