"""tracks_plot -- tracks against the truth, as docs/evaluation.md defines it.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .. import _evaluation
from .._arrays import together
from .._errors import expect
from .._tracks import Tracks, check_hits
from .event_truth import Event
from .rates import clopper_pearson, ratio
from .style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    SPARSE,
    log_axis,
    log_bins,
    panels,
    ratio_points,
    title,
)


BINS = {  # of evaluate_binned; the first begins at 0
    "radius": np.array([0.0, 1, 3, 10, 30, 100, 300, 1000]),
    "nearest": np.array([0.0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 10]),
}


@dataclass(frozen=True)
class Cuts:
    """Which particles and tracks count; the defaults of etx-evaluate."""

    min_pt: float = 0.1
    max_eta: float = 4.0
    min_hits: int = 5
    min_track_hits: int = 3
    fraction: float = 0.5


@dataclass
class Matched:
    """Reconstructable particles and counted tracks of one or more events.

    by_radius, by_nearest [n_events, 2, n_bins]: the particles in BINS, and the
    found ones of them.
    """

    pt: np.ndarray
    eta: np.ndarray
    n_hits: np.ndarray
    is_found: np.ndarray
    track_hits: np.ndarray
    track_matches: np.ndarray
    track_is_fake: np.ndarray
    by_radius: np.ndarray
    by_nearest: np.ndarray

    @property
    def technical_efficiency(self) -> float:
        """Found reconstructable particles over all of them."""
        return float(ratio(self.is_found.sum(), len(self.is_found)))


def tracks_of(event: Event, tracks: Any) -> Tracks:
    """Tracks of the event, or its file of hit_id,track_id."""
    if isinstance(tracks, (str, os.PathLike)):
        return Tracks.from_csv(tracks, event.source)
    expect("tracks", tracks, "Tracks")
    check_hits(event.source, tracks)
    return cast(Tracks, tracks)


def match(event: Event, tracks: Any, cuts: Cuts) -> Matched:
    """Match the tracks of one event by double majority."""
    own = tracks_of(event, tracks)
    of_tracks = partial(
        _evaluation.match,
        event.source,
        own,
        matching_fraction=cuts.fraction,
        min_track_hits=cuts.min_track_hits,
    )
    matched, is_found = of_tracks()
    majority, _ = of_tracks(matching="atlas")
    size = np.diff(own.offsets)
    counted = size >= cuts.min_track_hits
    hits_of = np.bincount(event.owner[event.owner >= 0], minlength=len(event.pt))
    use = event.particles["charge"] != 0
    use &= event.pt > np.float32(cuts.min_pt)
    use &= np.abs(event.eta) < np.float32(cuts.max_eta)
    use &= hits_of >= cuts.min_hits
    binned = {
        name: _evaluation.evaluate_binned(
            event.source,
            own,
            name,
            edges,
            min_pt=cuts.min_pt,
            max_eta=cuts.max_eta,
            min_particle_hits=cuts.min_hits,
            min_track_hits=cuts.min_track_hits,
            matching_fraction=cuts.fraction,
        )
        for name, edges in BINS.items()
    }
    return Matched(
        pt=event.pt[use],
        eta=event.eta[use],
        n_hits=hits_of[use],
        is_found=is_found[use],
        track_hits=size[counted],
        track_matches=matched[counted] >= 0,
        track_is_fake=majority[counted] < 0,
        by_radius=np.array([binned["radius"]]),
        by_nearest=np.array([binned["nearest"]]),
    )


def match_all(
    prefixes: Sequence[Any], tracks: Sequence[Any], cuts: Cuts
) -> Matched:
    """Match several events, each on its own, and concatenate the results."""
    parts = [
        match(Event(prefix), file, cuts)
        for prefix, file in together(events=prefixes, tracks=tracks)
    ]
    names = Matched.__dataclass_fields__
    return Matched(
        **{n: np.concatenate([getattr(p, n) for p in parts]) for n in names}
    )


def draw(
    prefixes: Sequence[Any],
    tracks: Sequence[Any],
    cuts: Cuts,
    given: Sequence[Axes] | None = None,
) -> Figure:
    """The six panels."""
    matched = match_all(prefixes, tracks, cuts)
    figure, axes = panels(6, 2, given=given)
    _efficiency_pt(next(axes), matched, cuts)
    _efficiency_eta(next(axes), matched, cuts)
    _efficiency_radius(next(axes), matched)
    _efficiency_nearest(next(axes), matched)
    _rates_by_hits(next(axes), matched)
    _lengths(next(axes), matched, cuts)
    title(figure, _summary(matched, len(prefixes)), given)
    return cast(Figure, figure)


def _summary(matched: Matched, n_events: int) -> str:
    """The totals in one line."""
    n_found, n = matched.is_found.sum(), len(matched.is_found)
    low, high = clopper_pearson(n_found, n)
    value = 100.0 * matched.technical_efficiency
    purity = 100.0 * float(
        ratio(matched.track_matches.sum(), len(matched.track_hits))
    )
    fakes = 100.0 * float(
        ratio(matched.track_is_fake.sum(), len(matched.track_hits))
    )
    plural = "s" if n_events != 1 else ""
    return (
        f"{n_events} event{plural}, double majority: technical efficiency "
        f"{value:.1f} % (+{100 * high[0] - value:.1f} "
        f"\N{MINUS SIGN}{value - 100 * low[0]:.1f}), "
        f"purity {purity:.1f} %, fake rate {fakes:.1f} %"
    )


def _efficiency(
    axes: Axes,
    matched: Matched,
    edges: np.ndarray,
    part: np.ndarray,
    whole: np.ndarray,
    logarithmic: bool,
) -> None:
    ratio_points(
        axes, edges, part, whole, BLUE, "in the bin", logarithmic=logarithmic
    )
    total = matched.technical_efficiency
    axes.axhline(
        total, color=GREY, linewidth=1, linestyle="--", label="in all bins"
    )
    axes.set_ylabel("technical efficiency")
    lowest = clopper_pearson(part, whole)[0][whole >= SPARSE]
    start = lowest.min() if len(lowest) else 0.0
    axes.set_ylim(max(0.0, np.floor(10 * (start - 0.05)) / 10), 1.02)
    axes.legend(loc="lower right")


def _counted(
    matched: Matched, value: np.ndarray, edges: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The found particles in each bin, and all."""
    part, _ = np.histogram(value[matched.is_found], edges)
    whole, _ = np.histogram(value, edges)
    return part, whole


def _efficiency_pt(axes: Axes, matched: Matched, cuts: Cuts) -> None:
    edges = log_bins(matched.pt, max(cuts.min_pt, 0.05))
    part, whole = _counted(matched, matched.pt, edges)
    _efficiency(axes, matched, edges, part, whole, True)
    axes.set_xlabel("pT of the particle [GeV]")


def _efficiency_eta(axes: Axes, matched: Matched, cuts: Cuts) -> None:
    reach = min(cuts.max_eta, float(np.abs(matched.eta).max(initial=0.5)))
    n_bins = 2 * int(np.ceil(reach / 0.4))
    edges = (np.arange(n_bins + 1) - n_bins / 2) * 0.4
    part, whole = _counted(matched, matched.eta, edges)
    _efficiency(axes, matched, edges, part, whole, False)
    axes.set_xlabel("eta of the particle")


def _efficiency_from_zero(
    axes: Axes, matched: Matched, edges: np.ndarray, counts: np.ndarray
) -> None:
    """Logarithmic bins; the first, from 0 on, is drawn as wide as a factor of 3."""
    whole, part = counts.sum(axis=0)
    n_used = max(1, int(np.flatnonzero(whole).max(initial=0)) + 1)
    drawn = np.append(edges[1] / 3, edges[1 : n_used + 1])
    _efficiency(axes, matched, drawn, part[:n_used], whole[:n_used], True)
    log_axis(axes.xaxis, few_decades=False)
    axes.legend(loc="lower left")


def _efficiency_radius(axes: Axes, matched: Matched) -> None:
    _efficiency_from_zero(axes, matched, BINS["radius"], matched.by_radius)
    axes.set_xlabel("production radius [mm], from 0 on")


def _efficiency_nearest(axes: Axes, matched: Matched) -> None:
    _efficiency_from_zero(axes, matched, BINS["nearest"], matched.by_nearest)
    axes.set_xlabel("distance to the nearest particle in eta, phi, from 0 on")


def _rates_by_hits(axes: Axes, matched: Matched) -> None:
    size = matched.track_hits
    edges = np.arange(size.min(initial=3), size.max(initial=3) + 2) - 0.5
    whole = np.histogram(size, edges)[0]
    good = np.histogram(size[matched.track_matches], edges)[0]
    fake = np.histogram(size[matched.track_is_fake], edges)[0]
    ratio_points(axes, edges, good, whole, GREEN, "purity", shift=-0.08)
    ratio_points(axes, edges, fake, whole, RED, "fake rate", "s", shift=0.08)
    axes.set_ylim(-0.03, 1.03)
    axes.set_xlabel("hits of the track")
    axes.set_ylabel("share of the tracks")
    axes.legend(loc="center")


def _lengths(axes: Axes, matched: Matched, cuts: Cuts) -> None:
    size = matched.track_hits
    last = max(size.max(initial=3), matched.n_hits.max(initial=3))
    edges = np.arange(min(cuts.min_track_hits, cuts.min_hits), last + 2) - 0.5
    fake, good = matched.track_is_fake, matched.track_matches
    axes.hist(
        [size[good], size[~good & ~fake], size[fake]],
        edges.tolist(),
        stacked=True,
        color=[GREEN, ORANGE, RED],
        label=["matched tracks", "pieces of particles", "fake tracks"],
        alpha=0.85,
    )
    axes.hist(
        matched.n_hits,
        edges.tolist(),
        histtype="step",
        color="black",
        linewidth=1.2,
        label="reconstructable particles",
    )
    axes.set_xlabel("hits")
    axes.set_ylabel("tracks, particles")
    axes.set_ylim(top=1.3 * axes.get_ylim()[1])
    axes.legend(loc="upper center", ncols=2)
