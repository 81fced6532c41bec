"""picture -- an event as a still figure, by matplotlib.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from .._event import Event
from .._tracks import Tracks, check_hits
from .display import particle_rows
from .phoenix import outward


def picture(
    event: Event,
    tracks: Tracks | None,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    min_hits: int = 3,
) -> None:
    """Draw x-y and r-z; the ending of path says png, svg or pdf.

    Without tracks the particles of the truth are drawn. Tracks of fewer than
    min_hits hits are left out; hits without a track are grey.
    """
    from .style import panels, save

    check_hits(event, tracks)
    groups = [outward(event, g) for g in groups_of(event, tracks)]
    groups = [rows for rows in groups if len(rows) >= min_hits]
    figure, axes = panels(2, 2)
    x, y, z = event.positions.astype(float).T
    flat = next(axes)
    draw(flat, x, y, groups)
    flat.set(xlabel="x [mm]", ylabel="y [mm]", aspect="equal")
    long = next(axes)
    draw(long, z, np.hypot(x, y), groups)
    long.set(xlabel="z [mm]", ylabel="r [mm]")
    what = "particles" if tracks is None else "tracks"
    text = f"{event.n_hits} hits, {len(groups)} {what}"
    figure.suptitle(f"{title}: {text}" if title else text, fontsize=10.5)
    save(figure, os.fspath(path))


def groups_of(event: Event, tracks: Tracks | None) -> list[np.ndarray]:
    """Rows of the hits of every track or, without tracks, particle."""
    if tracks is not None:
        return list(tracks)
    if not event.has_truth:
        return []
    owner = particle_rows(event)
    order = np.argsort(owner, kind="stable")
    ends = np.cumsum(np.bincount(owner + 1))
    return np.split(order, ends[:-1])[1:]


def draw(
    axes: Any, across: np.ndarray, up: np.ndarray, groups: list[np.ndarray]
) -> None:
    """Hits as points, groups as lines."""
    from matplotlib.collections import LineCollection

    from .style import COLOURS, GREY

    vivid = [colour for colour in COLOURS if colour != GREY]
    loose = np.ones(len(across), bool)
    for rows in groups:
        loose[rows] = False
    axes.plot(across[loose], up[loose], ".", color=GREY, markersize=1.2, zorder=0.9)
    lines = [np.stack([across[rows], up[rows]], axis=1) for rows in groups]
    colours = [vivid[k % len(vivid)] for k in range(len(groups))]
    axes.add_collection(LineCollection(lines, colors=colours, linewidths=0.6))
    for k, colour in enumerate(vivid):
        own = groups[k :: len(vivid)]
        if own:
            rows = np.concatenate(own)
            axes.plot(across[rows], up[rows], ".", color=colour, markersize=1.6)
    axes.autoscale_view()
