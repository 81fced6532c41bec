"""_evaluation -- tracks against the truth (docs/evaluation.md).

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _errors, _handle, _html, _interrupt, _library
from ._arrays import address, array, together
from ._context import choose, numbers
from ._declarations import (
    etx_evaluation,
    etx_evaluation_counts,
    etx_evaluation_options,
    etx_rate,
)
from ._event import Event
from ._tracks import Tracks

MATCHINGS = numbers("ETX_MATCH_")
VARIABLES = numbers("ETX_VARIABLE_")
COUNTS = {
    "physics_efficiency": ("n_selected_matched", "n_particles_selected"),
    "technical_efficiency": (
        "n_reconstructable_matched",
        "n_particles_reconstructable",
    ),
    "purity": ("n_tracks_matched", "n_tracks"),
    "fake_rate": ("n_tracks_fake", "n_tracks"),
    "duplicate_rate": ("n_tracks_duplicate", "n_tracks"),
}


@dataclass(frozen=True)
class Rate:
    """A ratio and its 68.27 % Clopper-Pearson interval; 0 of 0 is nan."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Evaluation:
    """Rates over all events; counts holds what they are computed from."""

    physics_efficiency: Rate  # matched selected / selected particles
    technical_efficiency: Rate  # the same of reconstructable ones
    purity: Rate  # matched tracks / tracks
    fake_rate: Rate
    duplicate_rate: Rate
    trackml_score: float  # mean over events
    primary_score: float  # the same with weights of generation 0 alone
    counts: dict[str, int]

    def __str__(self) -> str:
        """A line for each rate."""
        lines = [f"{'':22} {'value':>8}   {'68.27 % interval':17}  counts"]
        for name, (part, whole) in COUNTS.items():
            rate: Rate = getattr(self, name)
            lines.append(
                f"{name.replace('_', ' '):22} {rate.value:8.4f}   "
                f"{rate.low:.4f} .. {rate.high:.4f}   "
                f"{self.counts[part]} / {self.counts[whole]}"
            )
        lines.append(f"{'TrackML score':22} {self.trackml_score:8.4f}")
        lines.append(f"{'- generation 0 alone':22} {self.primary_score:8.4f}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rates = [
            (name.replace("_", " "), one.value, f"{one.low:.4g}, {one.high:.4g}")
            for name, one in vars(self).items()
            if isinstance(one, Rate)
        ]
        score = ("TrackML score", self.trackml_score, "")
        primary = ("- generation 0 alone", self.primary_score, "")
        head = ("rate", "value", "68.27 % interval")
        return _html.table("Evaluation", [*rates, score, primary], head)


def filled(matching: str | None, fields: dict[str, Any]) -> Any:
    """The options struct; TypeError for a field that it lacks."""
    known = {field[0] for field in etx_evaluation_options._fields_[2:]}
    unknown = set(fields) - known
    if unknown:
        raise TypeError(
            f"unknown options {sorted(unknown)}, expected {sorted(known)}"
        )
    if matching is not None:
        fields = {**fields, "matching": choose("matching", matching, MATCHINGS)}
    return _library.defaults(etx_evaluation_options, **fields)


def evaluate(
    events: Event | Iterable[Event],
    tracks: Tracks | Iterable[Tracks],
    *,
    matching: str | None = None,
    **options: Any,
) -> Evaluation:
    """Efficiency, purity, fakes, duplicates and TrackML score.

    One event with its tracks, or as many of both. matching is
    "double_majority" (default), "atlas" or "perfect"; options are the fields
    of etx_evaluation_options: matching_fraction, min_pt [GeV], max_eta,
    min_particle_hits, min_track_hits, charged_only. The events must carry
    truth (ArgumentError).
    """
    for name, given, other in (("events", events, Tracks), ("tracks", tracks, Event)):
        if given is None or isinstance(given, other):
            _handle.pointer(name, given)  # says what is wrong
    all_events = [events] if isinstance(events, Event) else events
    all_tracks = [tracks] if isinstance(tracks, Tracks) else tracks
    chosen = ctypes.byref(filled(matching, options))
    counts = etx_evaluation_counts(
        struct_size=ctypes.sizeof(etx_evaluation_counts)
    )
    for event, found in together(events=all_events, tracks=all_tracks):
        pointers = _handle.pointer("event", event), _handle.pointer("tracks", found)
        if not event.has_truth:
            raise _errors.ArgumentError(f"{event.name or event}: the event has no truth")
        with _interrupt.stoppable():
            _library.call("etx_evaluate", ctypes.byref(counts), *pointers, chosen)
    out = etx_evaluation(struct_size=ctypes.sizeof(etx_evaluation))
    _library.call(
        "etx_evaluation_rates", ctypes.byref(out), ctypes.byref(counts)
    )
    return evaluation_of(out, counts)


def rate_of(part: int, whole: int) -> Rate:
    """Any ratio of counts with its interval."""
    counts = etx_evaluation_counts(
        struct_size=ctypes.sizeof(etx_evaluation_counts),
        n_tracks=whole,
        n_tracks_matched=part,
    )
    out = etx_evaluation(struct_size=ctypes.sizeof(etx_evaluation))
    _library.call("etx_evaluation_rates", ctypes.byref(out), ctypes.byref(counts))
    return Rate(out.purity.value, out.purity.low, out.purity.high)


def evaluation_of(out: Any, counts: Any) -> Evaluation:
    """The structs of the library as Python objects."""
    rates = {
        name: Rate(rate.value, rate.low, rate.high)
        for name in (field[0] for field in etx_evaluation._fields_)
        for rate in [getattr(out, name)]
        if isinstance(rate, etx_rate)
    }
    names = [name for name, kind in counts._fields_ if name.startswith("n_")]
    return Evaluation(
        **rates,
        trackml_score=out.trackml_score,
        primary_score=out.primary_score,
        counts={name: getattr(counts, name) for name in names},
    )


def evaluate_binned(
    event: Event,
    tracks: Tracks,
    variable: str,
    edges: Any,
    *,
    matching: str | None = None,
    **options: Any,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Reconstructable particles and the matched ones of them, each [n_bins].

    variable is "pt" [GeV], "eta", "radius" (of production, from the beam line
    [mm]) or "nearest" (the distance in eta and phi to the nearest other
    particle with min_particle_hits); edges [n_bins + 1] ascend.
    """
    bounds = array("edges", edges, np.float64, -1)
    if len(bounds) < 2:
        raise ValueError(f"edges: {len(bounds)}, expected 2 or more")
    total = np.zeros(len(bounds) - 1, np.int64)
    matched = np.zeros(len(bounds) - 1, np.int64)
    _library.call(
        "etx_evaluate_binned",
        address(total),
        address(matched),
        _handle.pointer("event", event),
        _handle.pointer("tracks", tracks),
        choose("variable", variable, VARIABLES),
        len(total),
        address(bounds),
        ctypes.byref(filled(matching, options)),
    )
    return total, matched


def match(
    event: Event, tracks: Tracks, *, matching: str | None = None, **options: Any
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """The row of event.particles of each track, -1 = none, [n_tracks] int32;
    and whether a track matches each particle, [n_particles] bool."""
    pointers = (
        _handle.pointer("event", event),
        _handle.pointer("tracks", tracks),
    )
    rows = np.empty(len(tracks), np.int32)
    n_particles = 0 if event.particles is None else len(event.particles)
    found = np.empty(n_particles, np.uint8)
    _library.call(
        "etx_match",
        address(rows),
        address(found),
        *pointers,
        ctypes.byref(filled(matching, options)),
    )
    return rows, found.astype(bool)
