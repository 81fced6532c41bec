"""fits -- etx_fit_tracks next to ACTS's Kalman filter on the same tracks.

    python -m tables.fits --events DIR [--count 10] [--resolution X]

The true hits of prompt particles, as in resolution, in the field of the simulation.
A cell has the library's figure, then that of ACTS, which knows the material of each
surface and the errors of hits by volume and size of the cluster.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

import exatrkx
import numpy as np
from exatrkx._field import true_tracks
from exatrkx.files import event_files
from peers import kalman_fit

from .events import event_options, read_events
from .markdown import table
from .resolution import HEAD, by_eta_and_pt, compare, simulated_field


def main(arguments: Sequence[str] | None = None) -> int:
    parser = event_options("fits", 10)
    parser.add_argument("--resolution", type=float, default=1.0, metavar="X")
    given = parser.parse_args(arguments)
    events = read_events(given.events, given.count)
    prefixes = event_files.find(str(given.events))[: given.count]
    detector = exatrkx.Detector.load()
    options = replace(simulated_field(), resolution_scale=given.resolution)
    tracks, own = [], []
    for event in events:
        every = true_tracks(event)[0]
        fit = exatrkx.fit_tracks(event, every, detector, options=options)
        tracks.append(exatrkx.select_tracks(every, keep=fit.n_degrees > 0))
        own.append(exatrkx.fit_tracks(event, tracks[-1], detector, options=options))
    theirs = kalman_fit.fit_tracks(prefixes, events, tracks, own)
    lines = [
        by_eta_and_pt(np.concatenate(list(map(compare, events, tracks, fits))))
        for fits in (own, theirs)
    ]
    rows = [
        [a if a == b else f"{a}, {b}" for a, b in zip(*pair, strict=True)]
        for pair in zip(*lines, strict=True)
    ]
    sys.stdout.write(table(HEAD, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
