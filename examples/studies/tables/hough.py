"""hough -- what the edges know at the start: nothing, a helix, votes.

    python -m tables.hough --data DIR --validation DIR

Nodes have r, phi and z alone. Edge latents start from the features of the edge
and nothing else:

    null        no edge latents at all: the attention network, whose edges are
                nothing but a weight
    zeros       edge latents that start equal for all edges
    parameters  curvature, phi0, asinh z0 and eta of the helix through the beam
                line and both hits
    votes       the same and the logarithm of the edges in its Hough cell

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
from typing import Any

from .training import Variants, main_of

NODES = [
    {"name": "r", "scale": 1000.0},
    {"name": "phi", "scale": 3.1415927},
    {"name": "z", "scale": 1000.0},
]
ZERO = [{"name": "dr", "scale": 1e30}]  # a feature divided by so much is none
HELIX = [
    {"name": "helix_curvature", "scale": 2.0},
    {"name": "helix_phi0", "scale": 3.1415927},
    {"name": "asinh_helix_z0", "scale": 5.0},
    {"name": "helix_eta", "scale": 2.0},
]
VOTES = [{"name": "log_hough_votes", "scale": 1.0}]
SIZE = {"hidden": 16, "n_iterations": 3}


def with_edges(features: list[dict[str, Any]]) -> dict[str, Any]:
    """An interaction network whose edges start from these features."""
    options = {**SIZE, "edge_from_nodes": False}
    return {
        "model": {
            "arch": "interaction_network",
            "options": options,
            "node_features": NODES,
            "edge_features": features,
        },
        "augmentation": {"rotate_phi": True},
    }


VARIANTS: Variants = {
    "null": {
        "model": {
            "arch": "attention_gnn",
            "options": SIZE,
            "node_features": NODES,
            "edge_features": [],
        },
        "augmentation": {"rotate_phi": True},
    },
    "zeros": with_edges(ZERO),
    "parameters": with_edges(HELIX),
    "parameters and votes": with_edges(HELIX + VOTES),
}

main = main_of("hough", VARIANTS, events=10, steps=1000, edges=4000, seeds=3)

if __name__ == "__main__":
    sys.exit(main())
