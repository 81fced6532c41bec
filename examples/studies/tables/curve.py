"""curve -- more training events and wider networks at equal steps.

    python -m tables.curve --data DIR --validation DIR

Graph networks after the stages of the shipped model.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .events import read_events
from .training import edges_and_tracks, parse, run_on

EVENTS = (16, 64, 256, 512)
WIDTHS = (16, 32, 64)


def main(arguments: Sequence[str] | None = None) -> int:
    defaults = dict(events=max(EVENTS), steps=1500, edges=20000, seeds=1)
    options = parse(arguments, "curve", **defaults)
    data = read_events(options.data, options.train_events)
    validation = read_events(options.validation, options.validation_events)
    counts = [n for n in EVENTS if n <= len(data)] or [len(data)]
    pairs = [(n, WIDTHS[1]) for n in counts] + [(counts[-1], w) for w in WIDTHS if w != WIDTHS[1]]
    for n, width in pairs:
        network = {"options": {"hidden": width, "n_iterations": 4}}
        variants = {f"{n} events, width {width}": {"model": network}}
        text = run_on(options, variants, (edges_and_tracks,), data[:n], validation)
        lines = text.splitlines(keepends=True)
        print("".join(lines if (n, width) == pairs[0] else lines[2:]), end="", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
