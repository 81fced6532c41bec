"""choices -- options of a model, chosen by the tracks of validation events.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._context import Context
from .._errors import Error
from .._evaluation import Rate, evaluate
from .._event import Event
from .._model import Model
from .._stages import build_graph, find_tracks
from .._tracks import Tracks
from ..files import safetensors
from ..tools.adjust import adjust, drop_stages
from .facts import Wanted

USUAL = Wanted()


@dataclass(frozen=True)
class Quality:
    """Of the tracks that a model finds, double majority."""

    efficiency: Rate  # technical
    soft_efficiency: Rate  # of softer particles, too
    purity: Rate
    fake_rate: Rate
    n_particles: int  # reconstructable, softer ones too

    @property
    def value(self) -> float:
        """What choices are made by: the mean of both efficiencies and the purity,
        less the rate of fakes. Of nothing found 0."""
        parts = self.efficiency, self.soft_efficiency, self.purity
        values = [rate.value if rate.value == rate.value else 0.0 for rate in parts]
        fakes = self.fake_rate.value if self.fake_rate.value == self.fake_rate.value else 0
        return sum(values) / 3 - fakes

    @property
    def margin(self) -> float:
        """A gain below half a standard deviation of the efficiency is none."""
        p = min(max(self.soft_efficiency.value, 0.5), 1 - 1 / max(self.n_particles, 2))
        return 0.5 * float(np.sqrt(p * (1 - p) / max(self.n_particles, 1)))

    @property
    def is_best(self) -> bool:
        """Whether nothing is left to gain."""
        return self.value >= 1

    def is_better(self, other: Quality | None) -> bool:
        """Whether the gain is one, and no rate loses more than what is gained: what finds
        few wrong tracks as it finds few is no better."""
        if other is None:
            return True
        gain = self.value - other.value
        pairs = (
            (self.efficiency, other.efficiency),
            (self.soft_efficiency, other.soft_efficiency),
            (self.purity, other.purity),
            (other.fake_rate, self.fake_rate),
        )
        losses = (lost.value - found.value for found, lost in pairs)
        return gain > other.margin and not any(loss > gain for loss in losses)

    def __str__(self) -> str:
        return (
            f"{self.value:.4f}: efficiency {self.efficiency.value:.4f} / "
            f"{self.soft_efficiency.value:.4f}, purity {self.purity.value:.4f}, "
            f"fakes {self.fake_rate.value:.4f}"
        )


def tracks_of(model: Model, events: Sequence[Event], context: Context) -> list[Tracks]:
    """The tracks of events. What does not fit the model shows in their quality: no
    warning for each candidate."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [find_tracks(model, event, context) for event in events]


def measure(
    model: Model, events: Sequence[Event], context: Context, wanted: Wanted = USUAL
) -> Quality:
    """The quality of the tracks of events."""
    tracks = tracks_of(model, events, context)
    hard, soft = (
        evaluate(events, tracks, min_pt=pt, **wanted.others)
        for pt in (wanted.min_pt, wanted.soft_pt)
    )
    return Quality(
        hard.technical_efficiency,
        soft.technical_efficiency,
        hard.purity,
        hard.fake_rate,
        soft.counts["n_particles_reconstructable"],
    )


def kept_pairs(
    model: Model, events: Sequence[Event], context: Context, min_pt: float
) -> float:
    """The share of true edges, from hit to hit of a particle by distance from its
    vertex, that are candidates of the model; nan where there are none."""
    n_true = n_kept = 0
    for event in events:
        true = true_edges(event, min_pt)
        graph = build_graph(model, event, context)
        ends = np.sort(np.stack([graph.src, graph.dst]), axis=0).astype(np.int64)
        candidates = ends[0] * graph.n_nodes + ends[1]
        n_true += len(true)
        n_kept += int(np.isin(true[:, 0] * graph.n_nodes + true[:, 1], candidates).sum())
    return n_kept / n_true if n_true else float("nan")


def true_edges(event: Event, min_pt: float) -> NDArray[np.int64]:
    """[n, 2] hits, the smaller first, that follow each other on a particle with
    min_pt [GeV]."""
    ids, particles = np.asarray(event.particle_ids), event.particles
    assert particles is not None
    rows = np.argsort(particles["id"], kind="stable")
    row = rows[np.searchsorted(particles["id"], ids, sorter=rows) % len(rows)]
    positions = event.positions.astype(float)  # vertices may be very far away
    away = np.linalg.norm(positions - particles["vertex"][row], axis=1)
    order = np.lexsort((away, ids))
    pairs = np.stack([order[:-1], order[1:]], 1)
    pt = np.hypot(particles["momentum"][row, 0], particles["momentum"][row, 1])
    same = (ids[pairs[:, 0]] == ids[pairs[:, 1]]) & (ids[pairs[:, 0]] != 0)
    same &= pt[pairs[:, 0]] > min_pt
    return np.sort(pairs[same], axis=1).astype(np.int64)


def changed(
    model: Model, options: Mapping[str, Any], *, without: Sequence[str] = ()
) -> Model:
    """A copy of model with other values of etx.config, by their paths, and without
    stages."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model.safetensors")
        model.save(path)
        tensors, metadata = safetensors.read(path)
    config = safetensors.config_of(metadata)
    drop_stages(config, tensors, without)
    for key, value in options.items():
        adjust(config, key.split("."), value)
    metadata[safetensors.CONFIG] = json.dumps(config, separators=(",", ":"))
    return Model.from_bytes(safetensors.dump(tensors, metadata))


def value_at(config: Mapping[str, Any], key: str) -> Any:
    """The value of etx.config at a path, or None."""
    found: Any = config
    for name in key.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def shown(value: Any) -> str:
    """A value of etx.config with the decimals that a float32 has."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Trial:
    """One candidate of a choice."""

    name: str
    quality: Quality | None  # None: the library refuses it here
    reason: str = ""  # then


class Chooser:
    """The best model so far, and the trials that led to it."""

    def __init__(
        self, events: Sequence[Event], context: Context, wanted: Wanted = USUAL
    ) -> None:
        self.events = events
        self.context = context
        self.wanted = wanted
        self.model: Model | None = None
        self.quality: Quality | None = None
        # What was chosen, the trials, the one that is kept.
        self.steps: list[tuple[str, list[Trial], Trial | None]] = []

    def choose(
        self, what: str, candidates: Iterable[tuple[str, Model]], *, is_even: bool = False
    ) -> bool:
        """Take the best candidate, if it is better than the model so far, with is_even
        also if it is as good; whether it is."""
        trials: list[Trial] = []
        best: tuple[Trial, Model, Quality] | None = None
        for name, model in candidates:
            try:
                quality = measure(model, self.events, self.context, self.wanted)
            except Error as error:
                trials.append(Trial(name, None, str(error)))
                continue
            trials.append(Trial(name, quality))
            is_best = best is None or quality.value > best[2].value
            is_kept = quality.is_better(self.quality) or (
                is_even and self.quality is not None and quality.value >= self.quality.value
            )
            if is_best and is_kept:
                best = trials[-1], model, quality
        if best is not None:
            _, self.model, self.quality = best
        self.steps.append((what, trials, best[0] if best else None))
        return best is not None

    def best(self) -> tuple[Model, Quality]:
        """The model so far; ValueError where the library refused all."""
        if self.model is None or self.quality is None:
            reasons = {trial.reason for _, trials, _ in self.steps for trial in trials}
            raise ValueError("no model fits the events: " + "; ".join(sorted(reasons)))
        return self.model, self.quality

    def forget(self) -> None:
        """Begin again: the next choice is the best so far."""
        self.model = self.quality = None

    def compare(
        self, name: str, model: Model, quality: Quality, *, is_even: bool = False
    ) -> None:
        """Go back to a model of before, if the one so far is no better, with is_even if it
        is worse."""
        _, found = self.best()
        trial = Trial(name, quality)
        is_better = found.is_better(quality) or (is_even and found.value >= quality.value)
        if not is_better:
            self.model, self.quality = model, quality
        self.steps.append(("result", [trial], None if is_better else trial))

    def sweep(self, grid: Mapping[str, Sequence[Any]], *, is_relative: bool = False) -> None:
        """Each option of the grid in turn: its values, with is_relative these times the
        model's own, the others as they are."""
        for key, values in grid.items():
            model, _ = self.best()
            now = value_at(model.config, key)
            if now is None and (
                is_relative or value_at(model.config, key.partition(".")[0]) is None
            ):
                continue
            if is_relative:
                values = [float(shown(now * factor)) for factor in values]
            others = [value for value in values if value != now]
            self.choose(
                f"{key} (was {shown(now)})",
                ((str(value), changed(model, {key: value})) for value in others),
            )
