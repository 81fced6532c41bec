"""learn_field -- a map of the magnetic field from true tracks.

    exatrkx learn-field EVENTS --out MAP.csv
    exatrkx fit --event EVENT --tracks TRACKS.csv --field-map MAP.csv

The map is a solenoid whose axis is parallel to z, its middle anywhere, in which the
prompt particles of the events have their momenta (docs/fitting.md). Events need
truth and modules.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from .. import _field
from .._context import Context
from .._events import Events
from .._model import Detector
from ..files import whole_file


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        prog="exatrkx learn-field",
        description=__doc__.partition("\nSPDX")[0],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("events", metavar="EVENTS", help="a folder of events, or one")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE",
        help="the map, .csv[.gz], mm and T",
    )
    parser.add_argument("--detector", metavar="FILE", help="detectors.csv (default: TrackML's)")
    parser.add_argument("--threads", type=int, metavar="N", help="default: all cores")
    options = parser.parse_args(arguments)
    whole_file.check(options.out)
    detector = Detector.load(options.detector)
    try:
        events = Events(options.events, detector=detector)
        learned = _field.learn_field(
            events, detector, context=Context(options.threads)
        )
        _field.write_field_map(options.out, learned)
    except ValueError as error:
        parser.exit(1, f"learn-field: {error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
