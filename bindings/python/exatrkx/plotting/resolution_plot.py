"""resolution_plot -- fitted parameters of tracks against the truth.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .._arrays import together
from .._errors import expect
from .._evaluation import match
from .._tracks import Tracks
from ..files.trackml_csv import read_table
from .event_truth import Event
from .style import BLUE, GREEN, ORANGE, log_axis, panels, title
from .tracks_plot import tracks_of

PROMPT = 0.1  # mm from the beam line
ONE_SIGMA = 0.6827
MIN_TRACKS = 20  # of a point
NAMES = ("d0", "z0", "phi", "theta", "q_over_pt")
# What a panel shows: name, unit, factor to it.
SHOWN = (
    ("d0", "mm", 1.0),
    ("z0", "mm", 1.0),
    ("phi", "mrad", 1e3),
    ("theta", "mrad", 1e3),
    ("q/pT", "%", 1e2),
)
ETA_RANGES = ((0.0, 1.0, BLUE, "o"), (1.0, 2.5, ORANGE, "s"), (2.5, 4.0, GREEN, "^"))
PT_RANGES = ((0.3, 0.5, BLUE, "o"), (0.5, 1.0, ORANGE, "s"), (1.0, 20.0, GREEN, "^"))
PT_EDGES = np.array([0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.5, 5.0])
ETA_EDGES = np.linspace(0.0, 4.0, 11)


def truth_of(event: Event, rows: np.ndarray) -> np.ndarray:
    """[n, 5] parameters of particles at their points of closest approach."""
    px, py, pz = event.momentum[rows].T
    vx, vy, vz = event.vertex[rows].T
    pt, phi = event.pt[rows], np.arctan2(py, px)
    along = -(vx * np.cos(phi) + vy * np.sin(phi))
    d0 = -vx * np.sin(phi) + vy * np.cos(phi)
    z0 = vz + along * pz / pt
    charge = event.particles["charge"][rows]
    return np.stack((d0, z0, phi, np.arctan2(pt, pz), charge / pt), axis=1)


def fitted_of(parameters: Any, tracks: Tracks) -> tuple[np.ndarray, np.ndarray]:
    """Fitted or not, and [n, 5] of a file of etx-fit-tracks, or of
    exatrkx.TrackParameters."""
    is_file = isinstance(parameters, (str, os.PathLike))
    if is_file:
        names = ("track_id", "n_degrees", *NAMES)
        table = read_table(os.fspath(parameters), names)
    else:
        expect("parameters", parameters, "TrackParameters")
        table = vars(parameters)
    n_fits = len(table["n_degrees"])
    if n_fits != len(tracks):
        raise ValueError(f"parameters of {n_fits} tracks, there are {len(tracks)}")
    if is_file:
        for found, wanted in zip(table["track_id"], tracks.ids, strict=True):
            if found != wanted:
                raise ValueError(
                    f"parameters: track_id {found:.0f} where the tracks have {wanted}"
                )
    return table["n_degrees"] > 0, np.stack([table[name] for name in NAMES], axis=1)


def deviations(event: Event, tracks: Any, parameters: Any) -> np.ndarray:
    """[n, 7]: pT, |eta| and the deviations of the parameters, that of q/pT
    relative, of the fitted tracks that have more than half of their hits from a
    prompt charged particle."""
    own = tracks_of(event, tracks)
    is_fitted, values = fitted_of(parameters, own)
    best = match(event.source, own, matching="atlas", min_track_hits=1)[0]
    prompt = np.hypot(event.vertex[:, 0], event.vertex[:, 1]) < PROMPT
    good = is_fitted & (best >= 0)
    good[good] = (prompt & (event.particles["charge"] != 0))[best[good]]
    best = best[good]
    found = values[good] - truth_of(event, best)
    found[:, 2] = np.angle(np.exp(1j * found[:, 2]))
    found[:, 4] *= event.pt[best]
    return np.column_stack((event.pt[best], np.abs(event.eta[best]), found))


def resolution(values: np.ndarray) -> tuple[float, float]:
    """The 68.27 % quantile of the absolute values and its uncertainty, from
    the quantiles one standard deviation of the count away."""
    size = np.abs(values)
    step = np.sqrt(ONE_SIGMA * (1.0 - ONE_SIGMA) / len(size))
    low, middle, high = np.quantile(
        size, [max(0.0, ONE_SIGMA - step), ONE_SIGMA, min(1.0, ONE_SIGMA + step)]
    )
    return float(middle), float(0.5 * (high - low))


def points(value: np.ndarray, deviation: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """[n, 3] middle of the bin, resolution, uncertainty, where tracks are."""
    found = []
    for low, high in zip(edges, edges[1:]):
        inside = (value >= low) & (value < high)
        if inside.sum() >= MIN_TRACKS:
            middle = float(np.median(value[inside]))
            found.append((middle, *resolution(deviation[inside])))
    return np.array(found).reshape(-1, 3)


def draw(
    events: Sequence[Any],
    tracks: Sequence[Any],
    parameters: Sequence[Any],
    given: Sequence[Axes] | None = None,
) -> Figure:
    """Ten panels: each parameter against pT, then against |eta|."""
    rows = np.concatenate(
        [
            deviations(Event(event), own, fit)
            for event, own, fit in together(
                events=events, tracks=tracks, parameters=parameters
            )
        ]
    )
    figure, axes = panels(2 * len(SHOWN), len(SHOWN), given=given)
    for variable, other, edges, ranges in (
        (0, 1, PT_EDGES, ETA_RANGES),
        (1, 0, ETA_EDGES, PT_RANGES),
    ):
        for k, (name, unit, factor) in enumerate(SHOWN):
            axis = next(axes)
            for low, high, colour, marker in ranges:
                some = rows[(rows[:, other] >= low) & (rows[:, other] < high)]
                found = points(some[:, variable], some[:, 2 + k], edges)
                if len(found):
                    _add(axis, found, factor, colour, marker, (low, high))
            _finish(axis, variable, f"{name} [{unit}]")
    plural = "s" if len(events) != 1 else ""
    text = f"{len(events)} event{plural}, {len(rows)} tracks of prompt particles"
    title(figure, f"{text}: resolution, 68 % quantiles", given)
    return cast(Figure, figure)


def _add(
    axis: Axes,
    found: np.ndarray,
    factor: float,
    colour: str,
    marker: str,
    bounds: tuple[float, float],
) -> None:
    """The points of one range."""
    x, y, error = found.T
    axis.errorbar(
        x,
        factor * y,
        factor * error,
        fmt=marker,
        color=colour,
        markersize=4,
        linewidth=1.1,
        label="{:g} to {:g}".format(*bounds),
    )


def _finish(axis: Axes, variable: int, name: str) -> None:
    """Axes of one panel; the legend of a row is in its first."""
    axis.set_ylabel(name)
    if not axis.containers:
        return
    log_axis(axis.yaxis)
    if variable == 0:
        log_axis(axis.xaxis)
        axis.set_xlabel("pT of the particle [GeV]")
    else:
        axis.set_xlabel("|eta| of the particle")
    if name.startswith(SHOWN[0][0]):
        axis.legend(title="pT [GeV]" if variable else "|eta|", loc="best")
