"""events -- the events that a table is measured on.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
from pathlib import Path

import exatrkx


def event_options(
    table: str, count: int, action: str = "store"
) -> argparse.ArgumentParser:
    """The options of a table over events and of all such tables.

    action: of --events; append where several folders are compared.
    """
    parser = argparse.ArgumentParser(prog=f"python -m tables.{table}")
    add = parser.add_argument
    text = "with truth"
    add("--events", type=Path, required=True, action=action, metavar="DIR", help=text)
    text = f"events, default {count}"
    add("--count", type=int, default=count, metavar="N", help=text)
    add("--threads", type=int, default=1, metavar="N")
    return parser


def read_events(
    folder: Path, count: int, detector: Path | None = None
) -> list[exatrkx.Event]:
    """The first events of a folder, by name; detector: default the shipped one."""
    hits = sorted(folder.glob("*-hits.csv*"))[:count]
    if len(hits) < count:
        raise FileNotFoundError(f"{folder}: {len(hits)} events, {count} are needed")
    modules = exatrkx.Detector.load(detector)
    prefixes = [str(path).split("-hits.csv")[0] for path in hits]
    return [exatrkx.Event.from_trackml(p, detector=modules) for p in prefixes]
