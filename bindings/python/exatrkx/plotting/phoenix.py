"""phoenix -- events as JSON for the Phoenix event display of HEP.

Phoenix (hepsoftwarefoundation.org/phoenix) reads a mapping from names of
events to collections: of hits, with `pos` in mm, and of tracks, with the
points `pos` that a curve goes through.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .._event import Event
from .._tracks import Tracks, check_hits
from ..files import whole_file
from .display import momenta, particle_rows

TRACK_COLOUR, LOOSE_COLOUR = "#79c0ff", "#8a8a8a"


def write_phoenix(
    event: Event,
    tracks: Tracks | None,
    path: str | os.PathLike[str],
    *,
    name: str | None = None,
    min_hits: int = 3,
) -> None:
    """Write hits, tracks and, with truth, particles for Phoenix.

    Tracks and particles of fewer than min_hits hits are left out. name is
    that of the event, by default that of the file.
    """
    check_hits(event, tracks)
    collections: dict[str, Any] = {}
    if tracks is not None:
        rows = [outward(event, hits) for hits in tracks]
        collections["exatrkx tracks"] = curves(
            event, rows, "track_id", tracks.ids.tolist(), min_hits
        )
    if event.has_truth:
        collections["particles"] = particle_curves(event, min_hits)
    free = np.ones(event.n_hits, bool)
    if tracks is not None:
        free[tracks.hits] = False
    contents = {
        name or Path(path).stem: {
            "event number": 0,
            "run number": 0,
            "Hits": {
                "hits of tracks": hits_of(event, ~free, TRACK_COLOUR),
                "hits without a track": hits_of(event, free, LOOSE_COLOUR),
            },
            "Tracks": collections,
        }
    }
    text = json.dumps(contents, separators=(",", ":"))
    whole_file.write(path, text.encode())


def hits_of(event: Event, use: np.ndarray, colour: str) -> list[Any]:
    """A collection of the hits that are used."""
    positions = event.positions[use].astype(float).round(3).tolist()
    ids = event.hit_ids[use].tolist()
    return [
        {"type": "Point", "pos": position, "color": colour, "hit_id": number}
        for position, number in zip(positions, ids, strict=True)
    ]


def outward(event: Event, rows: np.ndarray) -> np.ndarray:
    """Rows in the order of their distance from the origin."""
    distance = np.linalg.norm(event.positions[rows].astype(float), axis=1)
    return rows[np.argsort(distance, kind="stable")]


def curves(
    event: Event,
    groups: list[np.ndarray],
    name: str,
    numbers: Iterable[int],
    min_hits: int,
) -> list[dict[str, Any]]:
    """A collection of tracks through the hits of each group, with its number."""
    return [
        {
            "pos": event.positions[rows].astype(float).round(3).tolist(),
            name: number,
            "hits": event.hit_ids[rows].tolist(),
        }
        for number, rows in zip(numbers, groups, strict=True)
        if len(rows) >= min_hits
    ]


def particle_curves(event: Event, min_hits: int) -> list[dict[str, Any]]:
    """The same of the particles, with pT [GeV] and eta."""
    owner = particle_rows(event)
    order = np.argsort(owner, kind="stable")
    pt, eta = momenta(event)
    ends = np.cumsum(np.bincount(owner + 1, minlength=len(pt) + 1))
    groups = [outward(event, rows) for rows in np.split(order, ends[:-1])[1:]]
    found = curves(event, groups, "particle", range(len(groups)), min_hits)
    for one in found:
        k = one["particle"]
        one |= {"pT": float(pt[k]), "eta": float(eta[k])}
    return found
