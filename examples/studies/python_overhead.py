"""python_overhead -- what Python adds to the time of an event.

    PYTHONPATH=bindings/python ETX_LIBRARY=lib/libexatrkx.so \\
        python3 examples/studies/python_overhead.py PREFIX [THREADS]

Makes an event of arrays, finds its tracks and reads their labels; prints the
time of all that, the time inside the library's functions, and the rest.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
import time
from typing import Any

import exatrkx
from exatrkx import _library


class Timed:
    """The library with a clock around every function."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self.inside = 0.0

    def __getattr__(self, name: str) -> Any:
        function = getattr(self._library, name)

        def timed(*arguments: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*arguments)
            finally:
                self.inside += time.perf_counter() - start

        return timed


def main(prefix: str, threads: int) -> None:
    """Time one event."""
    model = exatrkx.Model.load()
    detector = exatrkx.Detector.load()
    read = exatrkx.Event.from_trackml(prefix, detector=detector)
    context = exatrkx.Context(threads=threads)
    _library.library = clock = Timed(_library.library)
    start = time.perf_counter()
    event = exatrkx.Event.from_arrays(
        read.positions.astype("f8"),
        hit_ids=read.hit_ids,
        cell_features=read.cell_features,
    )
    labels = exatrkx.find_tracks(model, event, context).labels
    whole = time.perf_counter() - start
    rest = whole - clock.inside
    print(
        f"{len(labels)} hits, {labels.max() + 1} tracks, {threads} threads: "
        f"{whole:.3f} s, {clock.inside:.3f} s in the library, "
        f"{rest * 1e3:.2f} ms in Python ({100 * rest / whole:.3f} %)"
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 2)
