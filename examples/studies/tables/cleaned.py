"""cleaned -- foreign hits of tracks, without what a fit does not believe.

    python -m tables.cleaned --events DIR [--count 2]

The tracks of the default model, completed as it ships and by hits that are less often
random (completion.max_random); then without the hits whose removal lowers chi2 of
etx_fit_tracks by more than a bound, in the field of the simulation. Foreign are the
hits of other particles or none on tracks that one particle has more than half of.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

import exatrkx
import numpy as np
from exatrkx.adaptation.choices import changed

from .events import event_options, read_events
from .markdown import table
from .resolution import MODEL, simulated_field

MAX_RANDOM = (0.15, 0.1, 0.05)  # the first is what ships
BOUNDS = (0, 50, 25, 12)  # 0: without a fit
HEAD = ["max_random", "bound of chi2", "pT > 0.5 GeV", "pT > 0.1 GeV", "purity"]
HEAD += ["fake rate", "foreign hits, %", "score"]


def foreign(event: exatrkx.Event, tracks: exatrkx.Tracks) -> np.ndarray:
    """Foreign hits and all hits of the tracks of a particle."""
    assert event.particle_ids is not None
    found = np.zeros(2, np.int64)
    for hits in tracks:
        ids, counts = np.unique(event.particle_ids[hits], return_counts=True)
        if len(hits) and ids[counts.argmax()] != 0 and 2 * counts.max() > len(hits):
            found += len(hits) - counts.max(), len(hits)
    return found


def line(events: Sequence[exatrkx.Event], tracks: Sequence[exatrkx.Tracks]) -> list[str]:
    hard, soft = (exatrkx.evaluate(events, tracks, min_pt=pt) for pt in (0.5, 0.1))
    wrong, n_hits = sum(map(foreign, events, tracks), np.zeros(2))
    return [
        f"{hard.technical_efficiency.value:.4f}",
        f"{soft.technical_efficiency.value:.4f}",
        f"{hard.purity.value:.4f}",
        f"{hard.fake_rate.value:.4f}",
        f"{100 * wrong / n_hits:.2f}",
        f"{hard.trackml_score:.4f}",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    given = event_options("cleaned", 2).parse_args(arguments)
    events = read_events(given.events, given.count)
    shipped, detector = exatrkx.Model.load(MODEL), exatrkx.Detector.load()
    rows = []
    for random in MAX_RANDOM:
        model = changed(shipped, {"completion.max_random": random})
        found = [exatrkx.find_tracks(model, event) for event in events]
        for bound in BOUNDS:
            options = replace(simulated_field(), max_hit_chi2=bound)
            fits = [
                exatrkx.fit_tracks(event, own, detector, options=options)
                for event, own in zip(events, found, strict=True)
            ]
            kept = [
                exatrkx.select_tracks(own, drop=fit.is_outlier)
                for own, fit in zip(found, fits, strict=True)
            ]
            rows.append([f"{random}", f"{bound or 'no fit'}", *line(events, kept)])
    sys.stdout.write(table(HEAD, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
