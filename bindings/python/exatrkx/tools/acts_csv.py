"""acts_csv -- events in the CSV files of ACTS as TrackML events.

    exatrkx acts-csv DIR --out DIR2 [--detector detectors.csv]

Reads what files.acts_csv says and writes hits, truth, particles and, where ACTS
wrote them, cells of TrackML. --detector: the plane modules that turn the local
positions of versions that write no others; pitches of cells are in that file, too.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..files import event_files, trackml_csv
from ..files.acts_csv import ActsCsvError, Event, convert


def prefixes(folder: Path) -> list[Path]:
    """eventN of all events of a folder."""
    found = event_files.find(str(folder))
    if not found:
        raise ActsCsvError(f"{folder}: no event*-hits.csv[.gz]")
    return [Path(prefix) for prefix in found]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="exatrkx acts-csv", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="files of ACTS")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR2")
    parser.add_argument(
        "--detector", metavar="FILE", help="modules, for measurements without global_x"
    )
    options = parser.parse_args(arguments)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
        for prefix in prefixes(options.folder):
            tables = convert(Event(prefix, options.detector))
            for kind, table in tables.items():
                path = options.out / f"{prefix.name}-{kind}.csv.gz"
                trackml_csv.write_table(str(path), table)
            n_hits = len(tables["hits"]["hit_id"])
            n = len(tables["particles"]["q"])
            print(f"{prefix.name}: {n_hits} hits, {n} particles")
    except (OSError, ValueError) as error:
        print(f"acts-csv: {error}", file=sys.stderr)
        return 1
    return 0
