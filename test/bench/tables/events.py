"""events -- the events that a table is measured on.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from pathlib import Path

import exatrkx


def read_events(folder: Path, count: int) -> list[exatrkx.Event]:
    """The first events of a folder, by name."""
    hits = sorted(folder.glob("*-hits.csv*"))[:count]
    if len(hits) < count:
        raise FileNotFoundError(f"{folder}: {len(hits)} events, {count} are needed")
    detector = exatrkx.Detector.load()
    prefixes = [str(path).split("-hits.csv")[0] for path in hits]
    return [exatrkx.Event.from_trackml(p, detector=detector) for p in prefixes]
