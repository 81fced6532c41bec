"""lorentz -- hits as four-vectors against hits as features.

    python -m tables.lorentz --data DIR --validation DIR

An interaction network and the Lorentz network of the same width and iterations,
on positions alone and with more:

    positions   (R, x, y, z) of the hit and nothing else
    r, eta      features of the nodes next to them, which are no Lorentz scalars
    all         the node and edge features of the shipped graph network

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import sys
from typing import Any

from .training import CONFIGS, Variants, main_of

SIZE = {"hidden": 16, "n_iterations": 3}
SHIPPED = json.loads((CONFIGS / "gnn.json").read_text())["model"]
VECTOR = [{"name": name, "scale": 1000.0} for name in ("R", "x", "y", "z")]
CYLINDER = [{"name": "r", "scale": 1000.0}, {"name": "eta", "scale": 2.0}]
OTHERS = [x for x in SHIPPED["node_features"] if x["name"] != "z"]


def network(
    arch: str, nodes: list[dict[str, Any]], edges: list[dict[str, Any]]
) -> dict[str, Any]:
    """Rotated events; otherwise the config of all tables."""
    model = {"arch": arch, "options": SIZE}
    model |= {"node_features": nodes, "edge_features": edges}
    return {"model": model, "augmentation": {"rotate_phi": True}}


FEATURES = {
    "positions": (VECTOR, []),
    "r, eta": (VECTOR + CYLINDER, []),
    "all": (VECTOR + OTHERS, SHIPPED["edge_features"]),
}
VARIANTS: Variants = {
    f"`{arch}`, {name}": network(arch, *features)
    for name, features in FEATURES.items()
    for arch in ("interaction_network", "lorentz_network")
}

main = main_of("lorentz", VARIANTS, events=10, steps=600, edges=4000, seeds=3)

if __name__ == "__main__":
    sys.exit(main())
