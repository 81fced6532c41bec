"""test_acorn_pyg -- events in the graphs of acorn.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import pickle
import unittest.mock
import zipfile

import numpy as np
import torch_file
from support import LibraryCase

import exatrkx
from exatrkx.files import acorn_pyg, torch_archive

HITS = np.array(
    [[30, 1, 10], [70, 3, 22], [115, 8, 37], [40, -30, 5], [80, -61, 10], [300, 9, 9]], "f8"
)
EDGES = np.array([[0, 1, 3], [1, 2, 4]])


def graph(prefix: bool = True) -> dict[str, object]:
    """Tensors of a graph with two particles, as acorn names them today or before."""
    hit, track = ("hit_", "track_particle_") if prefix else ("", "")
    tensors: dict[str, object] = {"hit_id": np.arange(6)}
    tensors |= {hit + axis: HITS[:, k].copy() for k, axis in enumerate("xyz")}
    tensors |= {
        hit + "r": np.hypot(HITS[:, 0], HITS[:, 1]),
        hit + "phi": np.arctan2(HITS[:, 1], HITS[:, 0]),
        "track_edges": EDGES,
        track + ("id" if prefix else "particle_id"): np.array([7, 7, 9]),
        track + "pt": np.array([0.8, 0.8, 2.0], "f4"),
        track + "pdgId": np.array([211, 211, 13]),
        "config": [{"feature_sets": {"hit_features": ["hit_id", "hit_x"]}}],
        "event_id": "000000001",
    }
    return tensors


class AcornPyg(LibraryCase):
    def setUp(self) -> None:
        super().setUp()
        self.file = self.folder / "event000000001-graph.pyg"

    def read(self, tensors: dict[str, object]) -> exatrkx.Event:
        torch_file.save(torch_file.data(tensors), self.file)
        return exatrkx.Event.from_acorn(self.file)

    def assert_refused(self, text: str, tensors: dict[str, object]) -> None:
        with self.assertRaisesRegex(ValueError, f"graph.pyg: .*{text}"):
            self.read(tensors)

    def test_hits(self) -> None:
        event = self.read(graph())
        self.assertEqual(event.name, "event000000001-graph")
        np.testing.assert_array_equal(event.positions, HITS.astype("f4"))
        self.assertEqual(event.hit_ids.tolist(), [1, 2, 3, 4, 5, 6])
        self.assertIsNone(event.modules)
        self.assertIsNone(event.cluster_positions)

    def test_truth(self) -> None:
        event = self.read(graph())
        self.assertEqual(event.particle_ids.tolist(), [7, 7, 7, 9, 9, 0])
        particles = event.particles
        self.assertEqual(particles["charge"].tolist(), [1, -1])
        pt = np.hypot(*particles["momentum"][:, :2].T)
        np.testing.assert_allclose(pt, [0.8, 2.0], rtol=1e-6)
        np.testing.assert_allclose(
            particles["momentum"][:, 1] / particles["momentum"][:, 0], [1 / 30, -0.75], rtol=1e-5
        )

    def test_charges(self) -> None:
        """Without pdgId of the bending: the first turns left in a field along z."""
        tensors = graph()
        del tensors["track_particle_pdgId"]
        self.assertEqual(self.read(tensors).particles["charge"].tolist()[0], -1)
        self.assertEqual(acorn_pyg.bending(*(HITS[None, k] * [1, -1, 1] for k in range(3))), 1)

    def test_vertices(self) -> None:
        """On the line from the innermost hit, at the radius that is known."""
        tensors = graph() | {
            "track_particle_eta": np.full(3, np.arcsinh(0.5)),
            "track_particle_radius": np.array([5.0, 5.0, 0.0]),
        }
        x, y, z = self.read(tensors).particles["vertex"].T
        np.testing.assert_allclose(np.hypot(x, y), [5, 0], atol=1e-5)
        np.testing.assert_allclose(z, [10 - (np.hypot(30, 1) - 5) / 2, -20], rtol=1e-6)

    def test_directions(self) -> None:
        """Without eta from the innermost to the middle hit."""
        tensors = graph() | {"hit_weight": np.arange(6.0)}
        event = self.read(tensors)
        slope = 12 / np.hypot(40, 2)
        np.testing.assert_allclose(event.particles["momentum"][0, 2], 0.8 * slope, rtol=1e-6)
        z = 10 - slope * np.hypot(30, 1)
        np.testing.assert_allclose(event.particles["vertex"][0, 2], z, rtol=1e-5)
        np.testing.assert_array_equal(event.weights, np.arange(6.0))

    def test_older(self) -> None:
        """Without prefixes; y is the truth of edges where there are edges."""
        new, old = self.read(graph()), self.read(graph(prefix=False))
        edges = {"edge_index": EDGES, "y": np.ones(3, bool), "scores": np.ones(3, "f4")}
        with_edges = self.read(graph(prefix=False) | edges)
        for event in (old, with_edges):
            np.testing.assert_allclose(event.positions, new.positions, rtol=1e-6)
            np.testing.assert_array_equal(event.particle_ids, new.particle_ids)
            np.testing.assert_array_equal(event.particles, new.particles)

    def test_oldest_data(self) -> None:
        """Data of PyTorch Geometric 1 has its tensors itself."""
        data = torch_file.DATA()
        for name, value in graph().items():
            is_array = isinstance(value, np.ndarray)
            setattr(data, name, torch_file.Tensor(value) if is_array else value)
        torch_file.save(data, self.file)
        np.testing.assert_array_equal(
            exatrkx.Event.from_acorn(self.file).particle_ids, [7, 7, 7, 9, 9, 0]
        )

    def test_athena(self) -> None:
        """Clusters, with the point of a strip endcap; momenta are in MeV."""
        tensors = graph() | {"hit_region": np.array([3, 3, 4, 4, 6, 2])}
        for k in (1, 2):
            tensors |= {f"hit_cluster_{a}_{k}": HITS[:, i] + k for i, a in enumerate("xyz")}
        event = self.read(tensors)
        np.testing.assert_allclose(event.cluster_positions[0], [HITS[0] + 1, HITS[0] + 2])
        np.testing.assert_allclose(event.cluster_positions[4], [HITS[4]] * 2)
        pt = np.hypot(*event.particles["momentum"][:, :2].T)
        np.testing.assert_allclose(pt, [0.8e-3, 2e-3], rtol=1e-6)

    def test_modules(self) -> None:
        ids = {f"hit_{name}_id": np.full(6, 3 + k) for k, name in enumerate(("volume", "layer"))}
        tensors = graph() | ids | {"hit_module_id": np.arange(6)}
        np.testing.assert_array_equal(
            self.read(tensors).modules, [[3] * 6, [4] * 6, range(6)]
        )
        names = ("region", "layer_disk", "eta_module", "phi_module")
        tensors = graph() | {f"hit_{name}": np.arange(6) for name in names}
        self.assertEqual(self.read(tensors).modules[1].tolist(), [0, 1, 2, 3, 4, 5])

    def test_cells(self) -> None:
        tensors = graph()
        for k, name in enumerate(acorn_pyg.CELLS):
            tensors["hit_" + name] = np.full(6, float(k))
        np.testing.assert_array_equal(self.read(tensors).cell_features[5], range(9))

    def test_shared(self) -> None:
        """A hit of two particles is the first one's; a hit that was cut has no row."""
        tensors = graph() | {
            "track_edges": np.array([[0, 1, 3, 2, -1], [1, 2, 4, 3, 5]]),
            "track_particle_id": np.array([7, 7, 9, 9, 0]),
            "track_particle_pt": np.ones(5),
            "track_particle_pdgId": np.full(5, 211),
        }
        event = self.read(tensors)
        self.assertEqual(event.particle_ids.tolist(), [7, 7, 7, 9, 9, 0])
        rows, ids = event.shared_hits
        self.assertEqual((rows.tolist(), ids.tolist()), ([2], [9]))

    def test_without_truth(self) -> None:
        tensors = graph()
        del tensors["track_edges"]
        self.assertFalse(self.read(tensors).has_truth)

    def test_folder(self) -> None:
        self.read(graph())
        for path in (self.folder, self.file):
            (event,) = exatrkx.Events(path)
            self.assertEqual(len(event), 6)

    def test_refused(self) -> None:
        whole = graph()
        self.assert_refused("no hit_id among", {"x": HITS})
        self.assert_refused("no hit_r", {"hit_id": np.arange(6)})
        self.assert_refused("hit_x has shape", whole | {"hit_x": np.zeros(5)})
        self.assert_refused("x has shape", graph(prefix=False) | {"x": HITS})
        self.assert_refused("track_edges from 2 to 6", whole | {"track_edges": EDGES + 2})
        self.assert_refused("track_edges of shape", whole | {"track_edges": EDGES[0]})
        self.assert_refused("track_particle_pt has shape", whole | {"track_particle_pt": HITS})
        for name in ("track_particle_id", "track_particle_pt"):
            self.assert_refused(name, {n: v for n, v in whole.items() if n != name})

    def test_classes(self) -> None:
        """What no such file needs is refused by name, and nothing runs."""
        mark = self.folder / "mark"

        class Hostile:
            def __reduce__(self) -> tuple:
                return os.mkdir, (str(mark),)

        self.assert_refused("names (posix|nt).mkdir", graph() | {"config": Hostile()})
        self.assertFalse(mark.exists())
        self.assert_refused("names pathlib", graph() | {"config": self.folder})
        torch_file.save({"hit_id": torch_file.Tensor(np.arange(3))}, self.file)
        with self.assertRaisesRegex(ValueError, "expected a Data"):
            exatrkx.Event.from_acorn(self.file)

    def write(self, data: bytes, kind: int = zipfile.ZIP_STORED) -> None:
        with zipfile.ZipFile(self.file, "w", kind) as archive:
            archive.writestr("a/data.pkl", data)

    def test_sizes(self) -> None:
        """What is read is no larger than the file says it is."""
        wide = torch_file.Tensor(np.zeros(1), (1 << 40,), (0,))
        self.assert_refused("larger than its storage", graph() | {"hit_x": wide})
        self.write(bytes(100001), zipfile.ZIP_DEFLATED)
        with unittest.mock.patch.object(torch_archive, "UNPACKED", 100000):
            with self.assertRaisesRegex(ValueError, "100001 bytes, more than 100000"):
                exatrkx.Event.from_acorn(self.file)

    def test_broken(self) -> None:
        far = b"\x80\x02]r\xff\xff\xff\xff."  # an index that needs 64 GiB
        for data in (b"", b"no pickle", pickle.dumps({})[:-1], far, pickle.dumps(3)):
            self.write(data)
            with self.assertRaisesRegex(ValueError, "graph.pyg"):
                exatrkx.Event.from_acorn(self.file)
        self.file.write_bytes(b"no zip")
        with self.assertRaisesRegex(ValueError, "no archive of torch"):
            exatrkx.Event.from_acorn(self.file)
