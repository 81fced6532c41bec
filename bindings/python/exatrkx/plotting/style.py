"""style -- what the figures of exatrkx.plotting have in common.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from ..files import whole_file
from .rates import clopper_pearson, ratio

BLUE, ORANGE, GREEN, RED = "#1f6fb4", "#e07b16", "#2a9d5c", "#c23b3b"
PURPLE, GREY = "#7d55a8", "#8a8a8a"
COLOURS = (BLUE, ORANGE, GREEN, PURPLE, RED, "#8c564b", "#17a2b0", GREY)
PANEL = (4.3, 3.3)  # inches
SPARSE = 5  # values below which the last bin grows and bars may leave the panel

SETTINGS = {
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.7,
    "legend.frameon": True,
    "legend.framealpha": 0.85,
    "legend.edgecolor": "none",
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.6,
    "svg.hashsalt": "exatrkx",
}


def panels(
    n: int,
    n_columns: int,
    aligned: bool = True,
    given: Sequence[Axes] | None = None,
) -> tuple[Any, Iterator[Axes]]:
    """A figure and n axes in rows of n_columns, or the n axes that are given.

    Rows that are not aligned each share their width among their own panels.
    """
    if given is not None:
        if len(given) != n:
            raise ValueError(f"{len(given)} axes given, there are {n} panels")
        return given[0].figure, iter(given)
    settings: Any = SETTINGS
    matplotlib.rcParams.update(settings)
    n_columns = min(n, n_columns)
    n_rows = math.ceil(n / n_columns)
    size = (PANEL[0] * n_columns, PANEL[1] * n_rows + 0.5)
    spaced = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.06)
    figure = Figure(figsize=size, layout=spaced)
    if aligned:
        grid = [figure.subplots(n_rows, n_columns, squeeze=False)]
    else:
        rows = figure.subfigures(n_rows, 1, squeeze=False).flat
        grid = [row.subplots(1, n_columns, squeeze=False) for row in rows]
    axes = [axis for part in grid for axis in part.flat]
    for unused in axes[n:]:
        unused.set_visible(False)
    return figure, iter(axes[:n])


def title(figure: Any, text: str, given: Sequence[Axes] | None) -> None:
    """Above all panels, in a figure of our own."""
    if given is None:
        figure.suptitle(text, fontsize=10.5)


def save(figure: Figure, path: str) -> None:
    """Write the figure in the format of the ending, without a time stamp."""
    ending = path.rsplit(".", 1)[-1].lower()
    stamp = {"svg": "Date", "pdf": "CreationDate"}.get(ending)
    metadata = {stamp: None} if stamp else {}
    drawn = io.BytesIO()
    figure.savefig(drawn, format=ending, dpi=150, metadata=metadata)
    whole_file.write(path, drawn.getvalue())


def share_axis(axes: Axes, low: float = 0.0) -> None:
    """A y axis for values from 0 to 1."""
    axes.set_ylim(low, 1.0 + 0.04 * (1.0 - low))


def log_axis(axis: Axis, few_decades: bool = True) -> None:
    """Plain numbers on a logarithmic axis: 0.1 0.2 0.5 1 ..."""
    if axis is axis.axes.xaxis:
        axis.axes.set_xscale("log")
    else:
        axis.axes.set_yscale("log")
    if few_decades:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))


def log_bins(values: np.ndarray, low: float) -> np.ndarray:
    """Six bins a decade from low; the last holds the sparse end."""
    high = float(values.max(initial=10.0 * low))
    n_bins = max(1, math.ceil(6.0 * math.log10(high / low)))
    edges = low * 10.0 ** (np.arange(n_bins + 1) / 6.0)
    edges[-1] = max(edges[-1], high)
    while len(edges) > 2 and (values >= edges[-2]).sum() < SPARSE:
        edges = np.delete(edges, -2)
    return edges


def ratio_points(
    axes: Axes,
    edges: np.ndarray,
    part: np.ndarray,
    whole: np.ndarray,
    colour: str,
    label: str,
    marker: str = "o",
    shift: float = 0.0,
    logarithmic: bool = False,
) -> None:
    """part / whole in bins as points with 68 % bars; empty bins stay empty.

    shift moves the points by a share of their bin so that two sets of points
    can be distinguished.
    """
    value = ratio(part, whole)
    low, high = clopper_pearson(part, whole)
    left, right = (np.log(edges) if logarithmic else edges)[:-1], edges[1:]
    right = np.log(right) if logarithmic else right
    centre = 0.5 * (left + right) + shift * (right - left)
    width = [centre - left, right - centre]
    if logarithmic:
        start, middle, end = np.exp(left), np.exp(centre), np.exp(right)
        centre, width = middle, [middle - start, end - middle]
    used = np.asarray(whole) > 0
    if logarithmic:
        axes.set_xlim(0.85 * edges[0], 1.15 * edges[-1])
        log_axis(axes.xaxis)
    if not used.any():
        axes.plot([], [], marker, color=colour, markersize=4, label=label)
        return
    axes.errorbar(
        centre[used],
        value[used],
        xerr=None if shift else [side[used] for side in width],
        yerr=[
            np.maximum(value - low, 0.0)[used],
            np.maximum(high - value, 0.0)[used],
        ],
        fmt=marker,
        color=colour,
        markersize=4,
        linewidth=1.1,
        label=label,
    )
