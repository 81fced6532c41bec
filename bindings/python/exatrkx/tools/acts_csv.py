"""acts_csv -- events in the CSV files of ACTS as TrackML events.

    exatrkx acts-csv DIR --out DIR2 [--detector detectors.csv]

Reads eventN-hits, -measurements, -measurement-simhit-map, -particles_simulated (or
-particles_initial and the like) and, where ACTS wrote them, -spacepoint and -cells,
.csv or .csv.gz, in mm and GeV (more in files/acts_csv.py). Writes hits, truth,
particles and cells of TrackML. Versions of ACTS that write local positions alone need
--detector.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..files import event_files, trackml_csv
from ..files.acts_csv import Event, convert
from .event_tables import OUT


def prefixes(folder: Path) -> list[Path]:
    """eventN of all events of a folder."""
    found = event_files.find(str(folder))
    if not found:
        raise FileNotFoundError(f"{folder}: no event*-hits.csv[.gz]")
    return [Path(prefix) for prefix in found]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        prog="exatrkx acts-csv",
        description=__doc__.partition("\nSPDX")[0],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="folder of the files of ACTS")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR2", help=OUT)
    parser.add_argument(
        "--detector",
        metavar="FILE",
        help="detectors.csv, in mm: plane modules, for measurements without global_x "
        "(default: none)",
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
