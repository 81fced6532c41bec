"""kernels -- one line for each kernel of a profile, those that take longest first.

    python3 test/cuda/kernels.py FILE

FILE is what `ncu --csv --page raw` writes, with messages of ncu among it.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from pathlib import Path

# Columns of ncu, and the units that it may choose for them.
TIME = "gpu__time_duration.sum"
INSTRUCTIONS = "smsp__inst_executed.sum"
READ, WRITTEN = "dram__bytes_read.sum", "dram__bytes_write.sum"
SCALE = {
    **{"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6},  # microseconds
    **{"nsecond": 1e-3, "usecond": 1.0, "msecond": 1e3, "second": 1e6},
    **{"byte": 1e-6, "Kbyte": 1e-3, "Mbyte": 1.0, "Gbyte": 1e3},  # megabytes
}


def number(text: str, unit: str) -> float:
    try:
        return float(text.replace(",", "")) * SCALE.get(unit, 1.0)
    except ValueError:  # n/a
        return float("nan")


def main() -> None:
    lines = Path(sys.argv[1]).read_text().splitlines()
    rows = list(csv.reader(line for line in lines if line.startswith('"')))
    names, units = rows[0], dict(zip(rows[0], rows[1], strict=True))
    kernels: dict[str, list[dict[str, float]]] = defaultdict(list)
    for row in rows[2:]:
        launch = dict(zip(names, row, strict=True))
        kernels[launch["Kernel Name"].split("(")[0]].append(
            {
                name: number(launch[name], units[name])
                for name in (TIME, INSTRUCTIONS, READ, WRITTEN)
            }
        )

    def total(name: str, column: str) -> float:
        return sum(launch[column] for launch in kernels[name])

    print(
        f"{'us':>9} {'launches':>8} {'longest us':>10} {'instructions':>13} "
        f"{'MB read':>9} {'written':>9}  kernel"
    )
    for name in sorted(kernels, key=lambda name: -total(name, TIME)):
        longest = max(launch[TIME] for launch in kernels[name])
        print(
            f"{total(name, TIME):9.1f} {len(kernels[name]):8d} {longest:10.1f} "
            f"{total(name, INSTRUCTIONS):13.0f} {total(name, READ):9.2f} "
            f"{total(name, WRITTEN):9.2f}  {name[-60:]}"
        )


if __name__ == "__main__":
    main()
