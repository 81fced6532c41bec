"""display -- an event as one HTML page that needs nothing else.

The page is assembled from the files in page/: no network, no other
packages. docs/display.md says what it shows.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import base64
import html
import json
import os
from pathlib import Path
from typing import Any, overload

import numpy as np

from .._event import Event
from .._tracks import Tracks, check_hits
from ..files import whole_file

PAGE = Path(__file__).parent / "page"
SCRIPTS = ("data.js", "axes.js", "view.js", "page.js")


class Page:
    """A page that a notebook shows inline."""

    def __init__(self, text: str) -> None:
        self.text = text  # the HTML document

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file."""
        whole_file.write(path, self.text.encode())

    def _repr_html_(self) -> str:
        text = html.escape(self.text)
        return (
            f'<iframe srcdoc="{text}" width="100%" height="640" '
            'style="border:0"></iframe>'
        )


@overload
def display(
    event: Event,
    tracks: Tracks | None = None,
    path: None = None,
    *,
    title: str | None = None,
) -> Page: ...


@overload
def display(
    event: Event,
    tracks: Tracks | None,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
) -> None: ...


def display(
    event: Event,
    tracks: Tracks | None = None,
    path: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
) -> Page | None:
    """An HTML page with x-y, r-z and 3-D views of an event, written to path.

    Without a path the page is the result: a notebook shows it inline. Hits
    are coloured by their track, or by their particle where the event has truth; a click lists the hits of what was hit. tracks may be None.
    The title is by default the name of the file or the event. OSError where
    path cannot be written.
    """
    check_hits(event, tracks)
    name = event.name if path is None else Path(path).stem
    parts = {
        "title": html.escape(title or name),
        "style": (PAGE / "style.css").read_text(),
        "event": json.dumps(contents(event, tracks), separators=(",", ":")),
        "script": "\n".join((PAGE / name).read_text() for name in SCRIPTS),
    }
    text = (PAGE / "page.html").read_text()
    for name in ("title", "style", "script", "event"):
        text = text.replace(f"@{name}@", parts[name])
    page = Page(text)
    if path is None:
        return page
    page.save(path)
    return None


def contents(event: Event, tracks: Tracks | None) -> dict[str, Any]:
    """What data.js reads."""
    return {
        "position": packed(event.positions, "<f4"),
        "hit_id": list(map(str, event.hit_ids.tolist())),  # of up to 63 bits
        "track": None if tracks is None else lists(tracks.hits, tracks.offsets),
        "track_id": [] if tracks is None else list(map(str, tracks.ids.tolist())),
        "particle": None if not event.has_truth else lists(*particle_hits(event)),
        "particles": particle_list(event),
    }


def lists(hits: np.ndarray, offsets: np.ndarray) -> dict[str, str]:
    """Groups of hits, which may share some."""
    return {"hits": packed(hits, "<i4"), "offsets": packed(offsets, "<i4")}


def packed(values: np.ndarray, kind: str) -> str:
    """Base64 of the values in little-endian order."""
    raw = np.ascontiguousarray(values, dtype=kind).tobytes()
    return base64.b64encode(raw).decode("ascii")


def particle_rows(event: Event) -> np.ndarray:
    """[n_hits] row of event.particles of each hit, -1 = noise."""
    ids, particles = event.particle_ids, event.particles
    assert ids is not None and particles is not None
    rows = np.searchsorted(particles["id"], ids).astype(np.int32)
    return np.where(ids == 0, np.int32(-1), rows)


def particle_hits(event: Event) -> tuple[np.ndarray, np.ndarray]:
    """Rows of hits by the row of their particle, and where each particle starts
    in them, up to the last that has hits."""
    owner = particle_rows(event)
    n_without, *counts = np.bincount(owner + 1, minlength=1)
    order = np.argsort(owner, kind="stable")
    return order[n_without:], np.cumsum([0, *counts])


def momenta(event: Event) -> tuple[np.ndarray, np.ndarray]:
    """pT [GeV] and eta of every particle, eta cut off at 99."""
    assert event.particles is not None
    px, py, pz = event.particles["momentum"].astype(float).T
    pt = np.hypot(px, py)
    steep = np.arcsinh(pz / np.maximum(pt, 1e-30))
    return pt, np.clip(steep, -99.0, 99.0)


def particle_list(event: Event) -> list[dict[str, Any]]:
    """Particles for the side panel; ids as text, which keeps 64 bits."""
    if event.particles is None:
        return []
    table = event.particles
    pt, eta = momenta(event)
    columns = zip(
        table["id"].tolist(),
        pt.round(4).tolist(),
        eta.round(3).tolist(),
        table["charge"].tolist(),
        strict=True,
    )
    return [
        {"id": str(number), "pt": p, "eta": e, "charge": q}
        for number, p, e, q in columns
    ]
