"""edges_plot -- scored edges against the truth, as docs/training.md has it.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from .._arrays import together
from .._errors import expect
from .event_truth import FALSE, LOW_PT, SAME, SIGNAL, Event
from .rates import count_above, cut_that_keeps, ratio, roc
from .style import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    log_bins,
    panels,
    ratio_points,
    share_axis,
    title,
)

KEPT = 0.98  # of the signal pairs of the file, by the cut when none is given
CLASSES = (
    (SIGNAL, GREEN, "true, pT > {:g} GeV"),
    (LOW_PT, BLUE, "true, softer"),
    (SAME, ORANGE, "same particle, no neighbours"),
    (FALSE, RED, "false"),
)
NEAR_AXIS = 1e-3  # mm, the least r of a direction
ETA_BINS = np.linspace(-4.0, 4.0, 25)
FEW = 4  # edges or pairs below which a cell of a map stays empty


@dataclass
class Edges:
    """Edges of one or more events, and the true pairs of these events.

    A true pair has the best score of the edges that join its hits, and
    -inf where there is none.
    """

    score: np.ndarray
    kind: np.ndarray
    r: np.ndarray  # of the hit nearer to the origin, mm
    z: np.ndarray
    pt: np.ndarray  # of the particle of that hit, GeV; nan where it is noise
    pair_score: np.ndarray
    pair_is_signal: np.ndarray
    pair_pt: np.ndarray
    pair_r: np.ndarray
    pair_z: np.ndarray
    pair_eta: np.ndarray  # of the particle
    event: np.ndarray  # index in n_hits
    n_hits: np.ndarray  # of every event

    @property
    def eta(self) -> np.ndarray:
        """Of the hit nearer to the origin, seen from there."""
        found: np.ndarray = np.arcsinh(self.z / np.maximum(self.r, NEAR_AXIS))
        return found

    @property
    def has_scores(self) -> bool:
        """False for a graph that no network has scored yet."""
        return not np.isinf(self.score).all()

    @property
    def is_true(self) -> np.ndarray:
        """Edges between hits that follow each other."""
        found: np.ndarray = (self.kind == SIGNAL) | (self.kind == LOW_PT)
        return found

    def roc(self) -> tuple[np.ndarray, np.ndarray, float]:
        """True against false edges; others of one particle take no part."""
        used = self.kind != SAME
        return roc(self.score[used], self.is_true[used])

    def efficiency(self, cut: np.ndarray) -> np.ndarray:
        """Share of the signal pairs of the truth above each cut."""
        signal = self.pair_score[self.pair_is_signal]
        return ratio(count_above(signal, cut), len(signal))

    def purity(self, cut: np.ndarray) -> np.ndarray:
        """Share of true edges among all above each cut."""
        return ratio(
            count_above(self.score[self.is_true], cut),
            count_above(self.score, cut),
        )

    def default_cut(self) -> float:
        """The cut that keeps KEPT of the signal pairs in the file."""
        if not self.has_scores:
            return -np.inf
        signal = self.pair_score[self.pair_is_signal]
        return cut_that_keeps(signal[np.isfinite(signal)], KEPT)


def read_edges(path: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """src, dst and score of etx-graph; +inf where a score is empty."""
    with open(path, encoding="ascii", errors="replace") as file:
        head = file.readline().strip()
    if not head.startswith("src,dst"):
        raise ValueError(f"{path}: line 1 is {head!r}, expected src,dst[,score]")
    table = np.loadtxt(
        path,
        delimiter=",",
        skiprows=1,
        ndmin=2,
        converters=lambda text: float(text) if text.strip() else np.inf,
        encoding="ascii",
    )
    if table.size == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
    if table.shape[1] not in (2, 3):
        raise ValueError(f"{path}: expected src,dst[,score]")
    src, dst = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64)
    score = table[:, 2] if table.shape[1] == 3 else np.full(len(src), np.inf)
    return src, dst, score


def edges_of(source: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same of a file, or of an exatrkx.Graph."""
    if isinstance(source, (str, os.PathLike)):
        return read_edges(os.fspath(source))
    score = source.scores
    if score is None:
        score = np.full(len(source), np.inf)
    return source.src.astype(np.int64), source.dst.astype(np.int64), score


def load(prefix: Any, path: Any, min_pt: float) -> Edges:
    """The edges of one event."""
    event = Event(prefix)
    if not isinstance(path, (str, os.PathLike)):
        expect("graph", path, "Graph")
        if path.n_nodes != event.n_hits:
            raise ValueError(
                f"graph of {path.n_nodes} hits, event of {event.n_hits}"
            )
    src, dst, score = edges_of(path)
    rows = np.concatenate([src, dst])
    if len(rows) and (rows.min() < 0 or rows.max() >= event.n_hits):
        raise ValueError(
            f"{path}: row {rows.max()} of an event of {event.n_hits} hits"
        )
    inner, outer = event.true_pairs()
    far = (event.position**2).sum(axis=1)
    nearer = np.where(far[src] <= far[dst], src, dst)
    return Edges(
        score=score,
        kind=event.pair_kind(src, dst, min_pt),
        r=event.r[nearer],
        z=event.position[nearer, 2],
        pt=np.append(event.pt, np.nan)[event.owner[nearer]],
        pair_score=_best_scores(event, src, dst, score),
        pair_is_signal=event.is_signal(inner, min_pt),
        pair_pt=event.pt[event.owner[inner]],
        pair_r=event.r[inner],
        pair_z=event.position[inner, 2],
        pair_eta=event.eta[event.owner[inner]],
        event=np.zeros(len(src), dtype=np.int64),
        n_hits=np.array([event.n_hits]),
    )


def _best_scores(
    event: Event, src: np.ndarray, dst: np.ndarray, score: np.ndarray
) -> np.ndarray:
    """For each true pair its best score; a hit starts one pair at most."""
    best = np.full(event.n_hits, -np.inf)
    forward = event.next_hit[src] == dst
    np.maximum.at(best, src[forward], score[forward])
    backward = event.next_hit[dst] == src
    np.maximum.at(best, dst[backward], score[backward])
    return best[event.next_hit >= 0]


def load_all(
    prefixes: Sequence[Any], files: Sequence[Any], min_pt: float
) -> Edges:
    """The edges of several events, joined."""
    parts = [
        load(prefix, file, min_pt)
        for prefix, file in together(events=prefixes, graphs=files)
    ]
    for index, part in enumerate(parts):
        part.event += index
    names = Edges.__dataclass_fields__
    edges = Edges(
        **{n: np.concatenate([getattr(p, n) for p in parts]) for n in names}
    )
    if len(edges.score) == 0:
        raise ValueError("there are no edges")
    return edges


def draw(
    prefixes: Sequence[Any],
    files: Sequence[Any],
    min_pt: float,
    cut: float | None,
    given: Sequence[Axes] | None = None,
) -> Figure:
    """Eight panels; the five that need no scores where there are none."""
    edges = load_all(prefixes, files, min_pt)
    if not edges.has_scores:
        cut = -np.inf
    elif cut is None:
        cut = edges.default_cut()
    n = 8 if edges.has_scores else 5
    figure, axes = panels(n, 3, aligned=False, given=given)
    if edges.has_scores:
        _histogram(next(axes), edges, min_pt, cut)
        _roc(next(axes), edges, cut)
        _against_cut(next(axes), edges, min_pt, cut)
    _against_pt(next(axes), edges, cut)
    _maps(figure, next(axes), next(axes), edges, cut)
    _against_eta(next(axes), edges, cut)
    _sizes(next(axes), edges, cut)
    title(figure, _summary(edges, len(prefixes), min_pt, cut), given)
    return cast(Figure, figure)


def _summary(edges: Edges, n_events: int, min_pt: float, cut: float) -> str:
    """The totals in one line."""
    at = np.array([cut])
    plural = "s" if n_events != 1 else ""
    cut_text = f"score > {cut:.4g}" if edges.has_scores else "all edges"
    return (
        f"{n_events} event{plural}, {len(edges.score)} edges; {cut_text}: "
        f"efficiency {100 * edges.efficiency(at)[0]:.1f} % of the true pairs "
        f"with pT > {min_pt:g} GeV, purity {100 * edges.purity(at)[0]:.1f} %"
    )


def _mark_cut(axes: Axes, cut: float) -> None:
    axes.axvline(
        cut, color=GREY, linewidth=1, linestyle="--", label=f"cut {cut:.4g}"
    )


def _histogram(axes: Axes, edges: Edges, min_pt: float, cut: float) -> None:
    low = min(0.0, float(edges.score.min()))
    high = max(1.0, float(edges.score.max()))
    bins = np.linspace(low, high, 51)
    for kind, colour, name in CLASSES:
        axes.hist(
            edges.score[edges.kind == kind],
            bins.tolist(),
            histtype="step",
            color=colour,
            linewidth=1.4,
            label=name.format(min_pt),
        )
    _mark_cut(axes, cut)
    axes.set_yscale("log")
    bottom, top = axes.get_ylim()
    axes.set_ylim(max(bottom, 0.7), top * 30.0)
    axes.set_xlabel("score")
    axes.set_ylabel("edges")
    axes.legend(loc="upper center", ncols=2, fontsize=7.5)


def _roc(axes: Axes, edges: Edges, cut: float) -> None:
    false, true, area = edges.roc()
    n_false = max(1, int((edges.kind == FALSE).sum()))
    lowest = 0.5 / n_false
    axes.plot(
        np.maximum(false, lowest), true, color=BLUE, label=f"AUC {area:.5f}"
    )
    above = edges.score > cut
    at_false = ratio((above & (edges.kind == FALSE)).sum(), n_false)
    at_true = ratio((above & edges.is_true).sum(), edges.is_true.sum())
    axes.plot(
        np.maximum(at_false, lowest), at_true, "o", color=ORANGE,
        label=f"cut {cut:.4g}",
    )  # fmt: skip
    axes.set_xscale("log")
    axes.set_xlim(lowest, 1.0)
    share_axis(axes)
    axes.set_xlabel("share of the false edges that is kept")
    axes.set_ylabel("share of the true edges that is kept")
    axes.legend(loc="lower right")


def _against_cut(axes: Axes, edges: Edges, min_pt: float, cut: float) -> None:
    at = np.unique(
        np.concatenate(
            [np.linspace(0.0, 1.0, 1001), np.quantile(edges.score, [0.0, 1.0])]
        )
    )[:-1]
    axes.plot(
        at, edges.efficiency(at), color=BLUE,
        label=f"efficiency, pT > {min_pt:g} GeV",
    )  # fmt: skip
    axes.plot(at, edges.purity(at), color=ORANGE, label="purity")
    _mark_cut(axes, cut)
    share_axis(axes)
    axes.set_xlabel("score cut")
    axes.set_ylabel("edge efficiency, purity")
    axes.legend(loc="lower center")


def binned_purity(
    edges: Edges, values: np.ndarray, bins: np.ndarray, cut: float
) -> tuple[np.ndarray, np.ndarray]:
    """True edges and all edges above the cut, in bins of a value per edge."""
    kept = edges.score > cut
    good = values[kept & edges.is_true]
    return np.histogram(good, bins)[0], np.histogram(values[kept], bins)[0]


def _against_pt(axes: Axes, edges: Edges, cut: float) -> None:
    """Efficiency by the pair's particle, purity by that of the inner hit."""
    pt = edges.pair_pt
    bins = log_bins(pt, 0.1)
    kept = edges.pair_score > cut
    whole, part = np.histogram(pt, bins)[0], np.histogram(pt[kept], bins)[0]
    ratio_points(
        axes, bins, part, whole, BLUE, "efficiency", shift=-0.1,
        logarithmic=True,
    )  # fmt: skip
    part, whole = binned_purity(edges, edges.pt, bins, cut)
    ratio_points(
        axes, bins, part, whole, ORANGE, "purity", marker="s", shift=0.1,
        logarithmic=True,
    )  # fmt: skip
    _label_rates(axes, "pT of the particle [GeV]")


def _against_eta(axes: Axes, edges: Edges, cut: float) -> None:
    """Efficiency by the particle's eta, purity by that of the inner hit."""
    pair = edges.pair_eta[edges.pair_is_signal]
    found = edges.pair_score[edges.pair_is_signal] > cut
    whole, part = (np.histogram(v, ETA_BINS)[0] for v in (pair, pair[found]))
    ratio_points(axes, ETA_BINS, part, whole, BLUE, "efficiency", shift=-0.1)
    part, whole = binned_purity(edges, edges.eta, ETA_BINS, cut)
    ratio_points(
        axes, ETA_BINS, part, whole, ORANGE, "purity", marker="s", shift=0.1
    )
    _label_rates(axes, "eta")


def _label_rates(axes: Axes, name: str) -> None:
    axes.set_ylim(0.0, 1.04)
    axes.set_xlabel(name)
    axes.set_ylabel("edge efficiency, purity")
    axes.legend(loc="lower center")


def graph_sizes(edges: Edges, cut: float) -> tuple[np.ndarray, np.ndarray]:
    """Edges of every event: all, and those above the cut."""
    n = len(edges.n_hits)
    kept = edges.event[edges.score > cut]
    return np.bincount(edges.event, minlength=n), np.bincount(kept, minlength=n)


def _sizes(axes: Axes, edges: Edges, cut: float) -> None:
    """Edges against hits, a point an event."""
    every, kept = graph_sizes(edges, cut)
    axes.plot(edges.n_hits, every, "o", color=GREY, label="all edges")
    if edges.has_scores:
        axes.plot(edges.n_hits, kept, "o", color=BLUE, label=f"above {cut:.4g}")
    axes.set_xlim(0.0, 1.1 * edges.n_hits.max())
    axes.set_ylim(0.0, 1.1 * max(every.max(), 1))
    axes.set_xlabel("hits of the event")
    axes.set_ylabel("edges of the graph")
    axes.legend(loc="upper left")


def _maps(
    figure: Figure, left: Axes, right: Axes, edges: Edges, cut: float
) -> None:
    """Efficiency and purity where the inner hit of the pair or edge is."""
    signal = edges.pair_is_signal
    kept = edges.score > cut
    _map(
        figure, left, edges, "edge efficiency",
        (edges.pair_z[signal], edges.pair_r[signal]),
        edges.pair_score[signal] > cut,
    )  # fmt: skip
    _map(
        figure, right, edges, "edge purity",
        (edges.z[kept], edges.r[kept]), edges.is_true[kept],
    )  # fmt: skip


def _map(
    figure: Figure,
    axes: Axes,
    edges: Edges,
    name: str,
    position: tuple[np.ndarray, np.ndarray],
    good: np.ndarray,
) -> None:
    z_reach = float(np.abs(edges.pair_z).max(initial=1.0)) * 1.02
    r_reach = float(edges.pair_r.max(initial=1.0)) * 1.02
    bins = [np.linspace(-z_reach, z_reach, 41), np.linspace(0, r_reach, 26)]
    z, r = position
    whole = np.histogram2d(z, r, bins)[0]
    part = np.histogram2d(z[good], r[good], bins)[0]
    value = ratio(part, np.where(whole >= FEW, whole, 0.0))
    lowest = np.nanmin(value) if np.isfinite(value).any() else 0.0
    start = min(0.9, np.floor(20.0 * lowest) / 20.0)
    image = axes.pcolormesh(
        bins[0], bins[1], value.T, vmin=start, vmax=1.0, cmap="viridis",
        rasterized=True,
    )  # fmt: skip
    axes.grid(False)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    figure.colorbar(image, ax=axes, label=name)
    axes.set_xlabel("z of the inner hit [mm]")
    axes.set_ylabel("r of the inner hit [mm]")
