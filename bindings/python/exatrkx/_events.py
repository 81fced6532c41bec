"""_events -- the events of a folder or zip, one after the other.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from . import _progress
from ._event import Event
from ._model import Detector
from .files import event_files

Path = str | os.PathLike[str]


class Events:
    """Events read from files, in the order of their names.

        for event in exatrkx.Events("train_100_events.zip", detector=detector):
            tracks = exatrkx.find_tracks(model, event)

    path is a folder, a zip file, the prefix of one event or a list of
    prefixes, in any form that Event.from_files reads. Threads
    read the next events meanwhile. Event.name is that of the files. len() is
    the number of events; prefixes say where their files are.
    """

    def __init__(
        self,
        path: Path | Sequence[Path],
        *,
        detector: Detector | None = None,
        progress: bool = False,
        ahead: int = 2,
    ) -> None:
        """detector: as for Event.from_files. progress: a bar on a terminal
        or in a notebook, where the package tqdm is installed. ahead: events that
        are read meanwhile, each on a thread. FileNotFoundError where path holds
        no events; ValueError."""
        if ahead < 1:
            raise ValueError(f"ahead {ahead}, expected 1 or more")
        self._ahead = ahead
        self._detector = detector
        self._progress = progress
        self._path = ""
        self._is_zip = False
        if isinstance(path, Sequence) and not isinstance(path, str):
            self.prefixes = [os.fspath(prefix) for prefix in path]
        else:
            self._path = os.fspath(path)
            is_event = self._path.endswith((event_files.ARRAYS, event_files.GRAPH))
            self._is_zip = not is_event and zipfile.is_zipfile(path)
            find = find_zipped if self._is_zip else event_files.find
            self.prefixes = find(self._path)
        if not self.prefixes:
            raise FileNotFoundError(f"{path}: no *-hits.csv[.gz], *.npz or *.pyg in it")

    def __len__(self) -> int:
        return len(self.prefixes)

    def __repr__(self) -> str:
        return f"<exatrkx.Events: {len(self)}, the first {self.prefixes[0]}>"

    def __iter__(self) -> Iterator[Event]:
        with _progress.Bar(len(self), "event", self._progress) as bar:
            for event in self._read_ahead():
                yield event
                bar.advance()

    def _read_ahead(self) -> Iterator[Event]:
        coming: deque[Future[Event]] = deque()
        left = iter(self.prefixes)
        reader = ThreadPoolExecutor(self._ahead, "exatrkx-events")
        try:
            for _, name in zip(range(self._ahead), left):
                coming.append(reader.submit(self._read, name))
            while coming:
                event = coming.popleft().result()
                for name in left:
                    coming.append(reader.submit(self._read, name))
                    break
                yield event
        finally:
            reader.shutdown(wait=False, cancel_futures=True)

    def _read(self, name: str) -> Event:
        if not self._is_zip:
            return Event.from_files(name, detector=self._detector)
        with (
            tempfile.TemporaryDirectory() as folder,
            zipfile.ZipFile(self._path) as archive,
        ):
            for part in archive.namelist():
                if part == name or part.startswith(f"{name}-"):
                    with open(os.path.join(folder, os.path.basename(part)), "wb") as file:
                        file.write(archive.read(part))
            prefix = os.path.join(folder, os.path.basename(name))
            return Event.from_files(prefix, detector=self._detector)


def find_zipped(path: str) -> list[str]:
    """Prefixes of the events of a zip file, sorted."""
    with zipfile.ZipFile(path) as archive:
        return event_files.prefixes_among(archive.namelist())
