"""default_event -- the stage: hits to tracks by the shipped model default.

Overlays of the shipped event, as etx-bench makes them. No peer has this model: the row
of a new context for each event says what the first event of a context costs.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from functools import partial

import exatrkx
import numpy as np

from .library import make_context
from .stage import OURS, Agreement, Implementation, Inputs, Run, Stage

GOLDEN_SECTION = 0.61803398875


def make(n_hits: int) -> Inputs:
    """Copies of the hits, each turned by another angle, or some of them evenly."""
    event = exatrkx.Event.example()
    number = np.arange(n_hits)
    copy, row = np.divmod(number, len(event))
    if n_hits < len(event):
        row = number * len(event) // n_hits
    angle = 2 * np.pi * (GOLDEN_SECTION * copy % 1.0)
    x, y, z = event.positions[row].T.astype(np.float64)
    cos, sin = np.cos(angle), np.sin(angle)
    modules, cells = event.modules, event.cell_features
    assert modules is not None and cells is not None
    return {
        "position": np.stack(
            (cos * x - sin * y, sin * x + cos * y, z), axis=1, dtype=np.float32
        ),
        "modules": modules[:, row],
        "cell_features": cells[row],
    }


def ours(inputs: Inputs, n_threads: int, is_first: bool) -> Run:
    model = exatrkx.Model.load("default")
    event = exatrkx.Event.from_arrays(
        inputs["position"],
        modules=inputs["modules"],
        cell_features=inputs["cell_features"],
    )
    kept = make_context(n_threads)

    def call() -> exatrkx.Tracks:
        context = make_context(n_threads) if is_first else kept
        return exatrkx.find_tracks(model, event, context)

    if not is_first:
        call()  # which a long one is not, before it is timed
    return Run(call, lambda tracks: tracks.labels.copy())


def compare(_: Inputs, reference: np.ndarray, result: np.ndarray) -> Agreement:
    same = bool(np.array_equal(reference, result))
    return Agreement(same, f"{result.max(initial=-1) + 1} tracks")


STAGE = Stage(
    name="default_event",
    title="whole event, model default",
    item="hit",
    make=make,
    implementations=(
        Implementation(f"{OURS}, first event", partial(ours, is_first=True)),
        Implementation(OURS, partial(ours, is_first=False)),
    ),
    compare=compare,
    n_items=lambda inputs, _: len(inputs["position"]),
)
