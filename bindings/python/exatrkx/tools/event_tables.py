"""event_tables -- events of another form, written as TrackML events.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ..files import trackml_csv

OUT = "folder for the TrackML events, made where it is missing"  # --out, for the help


def check_positions(event: int, hits: trackml_csv.Table) -> None:
    """ValueError for a hit that is nowhere."""
    for name in "xyz":
        rows = np.flatnonzero(~np.isfinite(np.asarray(hits[name], float)))
        if len(rows):
            raise ValueError(
                f"event {event}: hit {hits['hit_id'][rows[0]]}: {name} is "
                f"{hits[name][rows[0]]}; {len(rows)} such hits"
            )


def write_events(
    command: str,
    package: str,
    out: Path,
    events: Iterable[tuple[int, dict[str, trackml_csv.Table]]],
) -> int:
    """Number and tables of each event to the folder out; a line for each on stdout.
    The exit status of the command: 1 after a line of what it lacks, as package."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        for event, tables in events:
            check_positions(event, tables["hits"])
            for kind, table in tables.items():
                path = trackml_csv.event_path(str(out), event, kind, True)
                trackml_csv.write_table(path, table)
            print(f"event{event:09d}: {len(tables['hits']['hit_id'])} hits")
    except ImportError as error:
        print(f"{command}: {error}; try: pip install {package}", file=sys.stderr)
        return 1
    except (OSError, ValueError) as error:
        print(f"{command}: {error}", file=sys.stderr)
        return 1
    return 0
