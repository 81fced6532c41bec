"""event_features -- features of hits and edges by name, in numpy.

Written from docs/model_format.md, apart from the library, so that a converted
model can be compared with its original on an event.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .facts import ConvertError

if TYPE_CHECKING:
    from .._event import Event

MIN_DR = 1e-6  # mm, of what is divided by
CELLS = "cell_count cell_val leta lphi lx ly lz geta gphi".split()


class Hits:
    """Coordinates of hits by name, float64 [n]."""

    def __init__(self, event: Event) -> None:
        x, y, z = np.asarray(event.positions, "f8").T
        r = np.hypot(x, y)
        self.cells = event.cell_features
        self.known: dict[str, np.ndarray] = {"x": x, "y": y, "z": z, "r": r}
        self.known |= {"phi": np.arctan2(y, x), "eta": np.arcsinh(z / r)}
        self.known |= {"cos_phi": x / r, "sin_phi": y / r, "R": np.hypot(r, z)}

    def column(self, name: str) -> np.ndarray:
        if name == "log_cell_count":
            return np.asarray(np.log1p(self.column("cell_count")))
        if name in CELLS and self.cells is not None:
            return np.asarray(self.cells[:, CELLS.index(name)], "f8")
        if name not in self.known:
            raise ConvertError(
                f"--check: node feature {name}: none of a TrackML event that the "
                "check computes; --check without EVENT compares on a random graph"
            )
        return self.known[name]

    def matrix(self, features: Sequence[dict[str, Any]]) -> np.ndarray:
        """[n_hits, n_features] of a list of etx.config, scaled, float32."""
        columns = [self.column(f["name"]) / f["scale"] for f in features]
        return np.stack(columns, 1).astype("f4")


def edge_matrix(
    hits: Hits, edges: np.ndarray, features: Sequence[dict[str, Any]], own: np.ndarray
) -> np.ndarray:
    """[n_edges, n_features] of edges [2, n_edges], scaled, float32; own_k
    is column k of own."""

    def difference(name: str) -> np.ndarray:
        start, end = hits.column(name)[edges]
        return np.asarray(end - start)

    dr, dz, deta = (difference(name) for name in ("r", "z", "eta"))
    dphi = (difference("phi") + np.pi) % (2.0 * np.pi) - np.pi
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.clip(dphi / np.pi / (dr / 1000.0), -100.0, 100.0)
    safe_dr = np.where(np.abs(dr) < MIN_DR, np.copysign(MIN_DR, dr), dr)
    r_start, z_start = (hits.column(name)[edges[0]] for name in ("r", "z"))
    mean_r = hits.column("r")[edges].mean(0) / 1000.0
    known = {"dr": dr, "dz": dz, "deta": deta, "dphi": dphi}
    known |= {"length": np.sqrt(sum(difference(name) ** 2 for name in "xyz"))}
    known |= {"theta": np.arctan2(dz, dr), "asinh_dzdr": np.arcsinh(dz / safe_dr)}
    known |= {"asinh_z0": np.arcsinh(z_start - r_start * dz / safe_dr)}
    known |= {"asinh_dphidr": np.arcsinh(1000.0 * dphi / safe_dr)}
    known |= {"phislope": slope, "rphislope": mean_r * slope}
    known |= {f"own_{k}": column for k, column in enumerate(own.T)}
    columns = [np.zeros((0, edges.shape[1]))]
    for feature in features:
        if feature["name"] not in known:
            name = feature["name"]
            raise ConvertError(
                f"--check: edge feature {name}: none that the check computes of an "
                "event; --check without EVENT compares on a random graph"
            )
        columns.append(known[feature["name"]][None] / feature["scale"])
    return np.concatenate(columns).T.astype("f4")
