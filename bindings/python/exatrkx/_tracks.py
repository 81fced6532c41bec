"""_tracks -- sets of hits that belong together.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, cast, overload

import numpy as np
from numpy.typing import NDArray

from . import _errors, _handle, _html, _interrupt, _library
from ._arrays import address, array
from ._event import Event

if TYPE_CHECKING:
    import pandas


def check_hits(event: Event, tracks: Tracks | None) -> None:
    """Refuse tracks of another event, by the number of its hits."""
    _handle.pointer("event", event)
    if tracks is None:
        return
    _errors.expect("tracks", tracks, "Tracks")
    if tracks.n_hits != event.n_hits:
        raise ValueError(f"tracks of {tracks.n_hits} hits, event of {event.n_hits}")


class Tracks(_handle.Immutable):
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
    def from_lists(
        cls, n_hits: int, offsets: Any, hits: Any, ids: Any = None
    ) -> Tracks:
        """Track t has the rows hits[offsets[t] : offsets[t + 1]] of an event of
        n_hits; tracks may share hits. ids [n tracks], each once: see ids."""
        begin = array("offsets", offsets, np.int64, -1)
        if not len(begin):
            raise ValueError("offsets is empty: n tracks have n + 1")
        rows = array("hits", hits, np.int32, int(begin[-1]))
        numbers = None if ids is None else array("ids", ids, np.int64, len(begin) - 1)
        tracks = cls(
            _handle.make(
                "tracks",
                "etx_tracks_from_lists",
                n_hits,
                len(begin) - 1,
                address(begin),
                address(rows),
            )
        )
        if numbers is not None:
            _library.call("etx_tracks_set_ids", tracks._pointer, address(numbers))
        return tracks

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str], event: Event) -> Tracks:
        """Read hit_id,track_id[...]; track_id 0 = none.

        Raises FormatError for hits that the event lacks.
        """
        return cls(
            _handle.make(
                "tracks",
                "etx_tracks_read_csv",
                _handle.pointer("event", event),
                _library.file_name(path),
            )
        )

    def write_csv(self, path: str | os.PathLike[str], event: Event) -> None:
        """Write hit_id,track_id, a row for each track of a hit; a path that
        ends in .gz is compressed."""
        with _interrupt.stoppable():
            _library.call(
                "etx_tracks_write_csv",
                self._pointer,
                _handle.pointer("event", event),
                _library.file_name(path),
            )

    def __len__(self) -> int:
        return self._count("etx_tracks_count")

    @property
    def n_hits(self) -> int:
        """Hits of the event the tracks were made from."""
        return self._count("etx_tracks_n_hits")

    @property
    def offsets(self) -> NDArray[np.int64]:
        """[len + 1] int64, a view: where each track starts in hits."""
        return self._view("etx_tracks_offsets", (len(self) + 1,), np.int64)

    @property
    def hits(self) -> NDArray[np.int32]:
        """[offsets[-1]] int32, a view: rows of the event, by track."""
        shape = (int(self.offsets[-1]),)
        return self._view("etx_tracks_hits", shape, np.int32)

    @property
    def ids(self) -> NDArray[np.int64]:
        """[len] int64: track_id in the file of from_csv, or of from_lists, which
        tracks selected or resolved from those keep; else 1, 2, ..., as write_csv
        numbers them."""
        if not self._get("etx_tracks_ids"):
            return np.arange(1, len(self) + 1)
        return self._view("etx_tracks_ids", (len(self),), np.int64)

    @property
    def labels(self) -> NDArray[np.int32]:
        """[n_hits] int32, a new array: the track of each hit, -1 = none.

        For a hit of several tracks, the first one.
        """
        none = np.iinfo(np.int32).max
        found = np.full(self.n_hits, none, np.int32)
        number = np.arange(len(self), dtype=np.int32)
        np.minimum.at(found, self.hits, np.repeat(number, np.diff(self.offsets)))
        found[found == none] = -1
        return found

    @overload
    def __getitem__(self, track: int) -> NDArray[np.int32]: ...

    @overload
    def __getitem__(self, track: slice) -> list[NDArray[np.int32]]: ...

    @overload
    def __getitem__(
        self, track: Sequence[int] | NDArray[Any]
    ) -> list[NDArray[np.int32]]: ...

    def __getitem__(
        self, track: int | slice | Sequence[int] | NDArray[Any]
    ) -> NDArray[np.int32] | list[NDArray[np.int32]]:
        """Rows of the hits of one track, a view; a list of them of a slice, of
        numbers of tracks or of a mask [len]. select_tracks makes Tracks."""
        n_tracks = len(self)
        if isinstance(track, slice):
            return [self[t] for t in range(n_tracks)[track]]
        chosen = np.asarray(track)
        if chosen.ndim == 1:
            chosen = chosen if chosen.size else chosen.astype(np.int64)
            return [self[int(t)] for t in np.arange(n_tracks)[chosen]]
        number = operator.index(cast(SupportsIndex, track))
        if not -n_tracks <= number < n_tracks:
            raise IndexError(f"track {number} of {n_tracks}")
        offsets = self.offsets
        number %= n_tracks
        return self.hits[offsets[number] : offsets[number + 1]]

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        offsets, hits = self.offsets, self.hits
        for first, last in zip(offsets[:-1], offsets[1:], strict=True):
            yield hits[first:last]

    def to_pandas(self, event: Event | None = None) -> pandas.DataFrame:
        """A row for each hit of each track: track, hit (row of the event) and
        of an event hit_id, x, y, z [mm]. Needs pandas."""
        import pandas

        number = np.arange(len(self), dtype=np.int32)
        columns: dict[str, Any] = {
            "track": np.repeat(number, np.diff(self.offsets)),
            "hit": self.hits,
        }
        if event is not None:
            check_hits(event, self)
            columns["hit_id"] = event.hit_ids[self.hits]
            xyz = event.positions[self.hits]
            columns |= dict(zip("xyz", xyz.T, strict=True))
        return pandas.DataFrame(columns)

    def __reduce__(self) -> tuple[Any, ...]:
        lists = (np.array(self.offsets), np.array(self.hits))
        ids = np.array(self.ids) if self._get("etx_tracks_ids") else None
        return Tracks.from_lists, (self.n_hits, *lists, ids)

    def _repr_html_(self) -> str:
        lengths = np.diff(self.offsets)
        rows: list[tuple[str, object]] = [
            ("hits of the event", self.n_hits),
            ("hits on tracks", len(np.unique(self.hits))),
        ]
        if len(self):
            rows.append(("hits per track, mean", float(lengths.mean())))
            bounds = f"{lengths.min()}, {lengths.max()}"
            rows.append(("shortest, longest", bounds))
        return _html.table(f"{len(self)} tracks", rows)

    def __repr__(self) -> str:
        if self.closed:
            return "<exatrkx.Tracks closed>"
        return f"<exatrkx.Tracks: {len(self)} of {self.n_hits} hits>"
