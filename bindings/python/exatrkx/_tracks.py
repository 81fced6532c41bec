"""_tracks -- sets of hits that belong together.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import _handle, _library
from ._arrays import address, array
from ._event import Event


class Tracks(_handle.Handle):
    """Tracks of one event; tracks[t] are the rows of the hits of track t."""

    @classmethod
    def from_labels(cls, labels: Any) -> Tracks:
        """labels [n_hits]: the track of each hit, -1 = none."""
        values = array("labels", labels, np.int32, -1)
        return cls(
            _handle.make(
                "tracks",
                "etx_tracks_from_labels",
                len(values),
                address(values),
            )
        )

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str], event: Event) -> Tracks:
        """Read hit_id,track_id[...]; track_id 0 = none.

        Raises FormatError for hits that the event lacks.
        """
        return cls(
            _handle.make(
                "tracks",
                "etx_tracks_read_csv",
                event._pointer,
                _library.file_name(path),
            )
        )

    def write_csv(self, path: str | os.PathLike[str], event: Event) -> None:
        """Write hit_id,track_id; a path that ends in .gz is compressed."""
        _library.call(
            "etx_tracks_write_csv",
            self._pointer,
            event._pointer,
            _library.file_name(path),
        )

    def __len__(self) -> int:
        return self._get("etx_tracks_count")

    @property
    def n_hits(self) -> int:
        """Hits of the event the tracks were made from."""
        return self._get("etx_tracks_n_hits")

    @property
    def offsets(self) -> np.ndarray:
        """[len + 1] int64, a view: where each track starts in hits."""
        return self._view("etx_tracks_offsets", (len(self) + 1,), np.int64)

    @property
    def hits(self) -> np.ndarray:
        """[offsets[-1]] int32, a view: rows of the event, by track."""
        shape = (int(self.offsets[-1]),)
        return self._view("etx_tracks_hits", shape, np.int32)

    @property
    def labels(self) -> np.ndarray:
        """[n_hits] int32, a new array: the track of each hit, -1 = none.

        For a hit of several tracks, the last one.
        """
        found = np.full(self.n_hits, -1, np.int32)
        number = np.arange(len(self), dtype=np.int32)
        found[self.hits] = np.repeat(number, np.diff(self.offsets))
        return found

    def __getitem__(self, track: int) -> np.ndarray:
        """Rows of the hits of one track, a view."""
        n_tracks = len(self)
        track = operator.index(track)
        if not -n_tracks <= track < n_tracks:
            raise IndexError(f"track {track} of {n_tracks}")
        offsets = self.offsets
        track %= n_tracks
        return self.hits[offsets[track] : offsets[track + 1]]

    def __iter__(self) -> Iterator[np.ndarray]:
        offsets, hits = self.offsets, self.hits
        for first, last in zip(offsets[:-1], offsets[1:], strict=True):
            yield hits[first:last]

    def __repr__(self) -> str:
        if self.closed:
            return "<exatrkx.Tracks closed>"
        return f"<exatrkx.Tracks: {len(self)} of {self.n_hits} hits>"
