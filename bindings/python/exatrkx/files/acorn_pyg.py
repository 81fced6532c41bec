"""acorn_pyg -- events in the graphs of acorn, without torch.

NAME.pyg is torch.save of a Data of PyTorch Geometric: a tensor for each property
of hits (hit_x), of edges and of the edges of true tracks (track_particle_id), in
older files without these prefixes. Properties of edges are not read. Of older files
with edges y is their truth: y of hits then comes from r and phi.

Of a particle there are pt, perhaps pdgId, eta and radius, and no more: its azimuth
is that of its innermost hit, its vertex on the line from there to the beam, and
eta and charge, where they are not known, are as of its hits in a field along z.
A particle of one hit has no edge: its hit is noise. pt of Athena's events is in
MeV, which their clusters tell.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import acorn_csv
from .torch_archive import Archive, ArchiveError, Inert

DATA = "torch_geometric.data.data.Data"
CLASSES = frozenset(
    (
        DATA,
        "torch_geometric.data.data.DataEdgeAttr",
        "torch_geometric.data.data.DataTensorAttr",
        "torch_geometric.data.storage.GlobalStorage",
    )
)
MODULE = ("volume_id", "layer_id", "module_id")
CELLS = ("cell_count", "cell_val", "leta", "lphi", "lx", "ly", "lz", "geta", "gphi")
SHORT = 1e-3  # mm, between two hits
# Numbers of particles whose positive one has the negative charge.
TURNED = (11, 13, 15, 3112, 3312, 3334)


class Graph:
    """The tensors of one file."""

    def __init__(self, path: str) -> None:
        self.path = path
        found = Archive(path).load(CLASSES)
        if not isinstance(found, Inert) or found.name != DATA:
            raise ArchiveError(f"{path}: expected a Data of PyTorch Geometric")
        state: Any = found.state
        if isinstance(state.get("_store"), Inert):
            state = state["_store"].state.get("_mapping")
        tensors = state.items() if isinstance(state, dict) else ()
        self.tensors = {
            str(name): value for name, value in tensors if isinstance(value, np.ndarray)
        }
        if "hit_id" not in self.tensors:
            raise ArchiveError(f"{path}: no hit_id among {sorted(self.tensors)}")
        self.n_hits = self.tensors["hit_id"].size
        edges = self.tensors.get("track_edges")
        self.n_true = 0 if edges is None or edges.ndim != 2 else edges.shape[1]

    def first(self, n: int, names: tuple[str, ...]) -> np.ndarray | None:
        """The first of these tensors that is there, [n]."""
        for name in names:
            value = self.tensors.get(name)
            if value is not None and value.shape != (n,):
                raise ArchiveError(
                    f"{self.path}: {name} has shape {value.shape}, expected {(n,)}"
                )
            if value is not None:
                return value
        return None

    def maybe_hits(self, name: str) -> np.ndarray | None:
        """A property of all hits, if it is there."""
        names: tuple[str, ...] = (f"hit_{name}", name)
        if name == "y" and "edge_index" in self.tensors:
            names = names[:1]
        return self.first(self.n_hits, names)

    def hits(self, name: str) -> np.ndarray:
        found = self.maybe_hits(name)
        if found is None:
            raise ArchiveError(f"{self.path}: no hit_{name}")
        return found

    def columns(self, names: tuple[str, ...]) -> dict[str, np.ndarray] | None:
        """Properties of hits by their names; None where one is missing."""
        if any(self.maybe_hits(name) is None for name in names):
            return None
        return {name: self.hits(name) for name in names}

    def true_edges(self, name: str, old: str) -> np.ndarray | None:
        """A property of the edges of true tracks, as newer and older files name it."""
        return self.first(self.n_true, (f"track_{name}", old))


def positions_of(graph: Graph) -> np.ndarray:
    """[n_hits, 3]."""
    found = graph.columns(("x", "y", "z"))
    if found is None:
        r, phi = graph.hits("r"), graph.hits("phi")
        found = {"x": r * np.cos(phi), "y": r * np.sin(phi), "z": graph.hits("z")}
    return acorn_csv.columns(found, ("x", "y", "z")).astype(np.float64)


def owners_of(graph: Graph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hit and particle, in this order a row for each pair of them, and a true edge of
    each of these particles."""
    edges = graph.tensors["track_edges"]
    if edges.shape != (2, graph.n_true):
        raise ArchiveError(
            f"{graph.path}: track_edges of shape {edges.shape}, expected (2, n)"
        )
    owner = graph.true_edges("particle_id", "particle_id")
    if owner is None:
        raise ArchiveError(f"{graph.path}: no track_particle_id")
    if edges.size and not -1 <= edges.min() <= edges.max() < graph.n_hits:
        raise ArchiveError(
            f"{graph.path}: track_edges from {edges.min()} to {edges.max()}, "
            f"there are {graph.n_hits} hits"
        )
    ends = np.stack((edges, np.broadcast_to(owner, edges.shape)), axis=-1)
    pairs = ends.reshape(-1, 2).astype(np.int64)
    # -1: a hit that a cut on regions left out.
    pairs = np.unique(pairs[(pairs[:, 0] >= 0) & (pairs[:, 1] > 0)], axis=0)
    ids, edge = np.unique(owner.astype(np.int64), return_index=True)
    return pairs[:, 0], pairs[:, 1], edge[np.searchsorted(ids, np.unique(pairs[:, 1]))]


def bending(first: np.ndarray, middle: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Charges, 1 or -1, of tracks through these points in a field along z."""
    a, b = middle - first, last - middle
    return np.where(a[:, 0] * b[:, 1] > a[:, 1] * b[:, 0], -1, 1)


def particles_of(
    graph: Graph, hit: np.ndarray, owner: np.ndarray, edge: np.ndarray, xyz: np.ndarray
) -> dict[str, np.ndarray]:
    """Columns of particles, of what owners_of found; xyz: of hits."""

    def known(name: str, old: str) -> np.ndarray | None:
        values = graph.true_edges(name, old)
        return None if values is None else values[edge]

    ids, row = np.unique(owner, return_inverse=True)
    order = np.lexsort((np.linalg.norm(xyz[hit], axis=1), row))
    end = np.cumsum(np.bincount(row, minlength=len(ids)))
    begin = np.append(0, end)[:-1]
    first, middle, last = (
        xyz[hit[order[k]]] for k in (begin, (begin + end) // 2, end - 1)
    )
    r, phi = np.hypot(first[:, 0], first[:, 1]), np.arctan2(first[:, 1], first[:, 0])
    pt, eta = known("particle_pt", "pt"), known("particle_eta", "eta_particle")
    radius, pdg = known("particle_radius", "radius"), known("particle_pdgId", "pdgId")
    if pt is None:
        raise ArchiveError(f"{graph.path}: no track_particle_pt")
    if "cluster_x_1" in graph.tensors or "hit_cluster_x_1" in graph.tensors:
        pt = pt * acorn_csv.MEV
    step = middle - first
    slope = step[:, 2] / np.maximum(np.hypot(step[:, 0], step[:, 1]), SHORT)
    slope = slope if eta is None else np.sinh(eta)
    radius = np.zeros(len(ids)) if radius is None else radius
    charge = bending(first, middle, last)
    if pdg is not None:
        charge = np.where((pdg < 0) != np.isin(np.abs(pdg), TURNED), -1, 1)
    return {
        "particle_id": ids,
        "vx": radius * np.cos(phi),
        "vy": radius * np.sin(phi),
        "vz": first[:, 2] - (r - radius) * slope,
        "px": pt * np.cos(phi),
        "py": pt * np.sin(phi),
        "pz": pt * slope,
        "q": charge,
        "nhits": end - begin,
    }


def truth_of(graph: Graph, xyz: np.ndarray) -> dict[str, Any]:
    """particle_ids, particles and shared_hits; a hit is the first one's of its
    particles by number."""
    hit, owner, edge = owners_of(graph)
    of_hit = np.zeros(graph.n_hits, np.int64)
    of_hit[hit[::-1]] = owner[::-1]
    is_further = owner != of_hit[hit]
    return {
        "particle_ids": of_hit,
        "particles": particles_of(graph, hit, owner, edge, xyz),
        "shared_hits": (hit[is_further], owner[is_further]),
    }


def read(path: str) -> dict[str, Any]:
    """Arguments of Event.from_arrays."""
    graph = Graph(path)
    xyz = positions_of(graph)
    arrays: dict[str, Any] = {
        "positions": xyz,
        "hit_ids": graph.hits("id").astype(np.int64) + 1,  # acorn's begin at 0
    }
    modules, region = graph.columns(MODULE), graph.columns(acorn_csv.MODULE)
    if modules is not None:
        arrays["modules"] = tuple(modules.values())
    elif region is not None:
        arrays["modules"] = acorn_csv.modules_of(region)
    clusters = graph.columns(acorn_csv.CLUSTERS)
    if clusters is not None:
        points = clusters | dict(zip("xyz", xyz.T)) | {"region": graph.hits("region")}
        arrays["cluster_positions"] = acorn_csv.cluster_positions(points)
    cells = graph.columns(CELLS)
    if cells is not None:
        arrays["cell_features"] = acorn_csv.columns(cells, CELLS)
    if "track_edges" in graph.tensors:
        arrays |= truth_of(graph, xyz) | {"weights": graph.maybe_hits("weight")}
    return arrays
