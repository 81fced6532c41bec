"""weights -- what the weights of the loss do to efficiency by momentum.

    python -m tables.weights --data DIR --validation DIR

TrackML: true edges weigh p times the mean of their hits' weights of the TrackML
score, which are 1 on average. Importance: true edges of particles below 1 GeV
weigh less. Secondaries: true edges of particles made 10 mm or more off the beam
line weigh nothing.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys

from .training import Variants, by_momentum, edges_and_tracks, main_of

VARIANTS: Variants = {
    "equal": {"truth": {"low_pt_weight": 1.0}},
    "TrackML, p = 1": {"truth": {"low_pt_weight": 1.0}, "loss": {"hit_weight": 1.0}},
    "TrackML, p = 4": {"truth": {"low_pt_weight": 1.0}, "loss": {"hit_weight": 4.0}},
    "0.3 below 1 GeV": {"truth": {"low_pt_weight": 0.3, "min_pt": 1.0}},
    "0.03 below 1 GeV": {"truth": {"low_pt_weight": 0.03, "min_pt": 1.0}},
    "secondaries 0": {"truth": {"low_pt_weight": 1.0, "displaced_weight": 0.0}},
}

main = main_of(
    "weights",
    VARIANTS,
    (edges_and_tracks, by_momentum),
    events=10,
    steps=600,
    edges=4000,
    seeds=3,
)

if __name__ == "__main__":
    sys.exit(main())
