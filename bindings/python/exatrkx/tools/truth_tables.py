"""truth_tables -- truth and particles of TrackML, as readers of other formats make
them.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import numpy as np

from ..files.trackml_csv import Table
from ..files.weights import hit_weights

STATE = ("vx", "vy", "vz", "px", "py", "pz")


def truth_tables(
    owner: np.ndarray,
    tz: np.ndarray,
    particle_id: np.ndarray,
    particles: Table,
    charge: np.ndarray,
) -> dict[str, Table]:
    """owner [n_hits]: row of the particle, -1 = noise; tz [n_hits]: true z, mm;
    particle_id, charge and STATE (mm, GeV) of each particle."""
    pt = np.hypot(particles["px"], particles["py"])
    return {
        "truth": {
            "hit_id": np.arange(1, len(owner) + 1),
            "particle_id": np.append(particle_id, 0)[owner],
            "weight": hit_weights(owner, tz, particles["vz"], pt),
        },
        "particles": {
            "particle_id": particle_id,
            **{name: particles[name] for name in STATE},
            "q": np.rint(charge).astype(np.int64),
            "nhits": np.bincount(owner[owner >= 0], minlength=len(particle_id)),
        },
    }
