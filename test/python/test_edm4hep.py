"""test_edm4hep -- events in the schema of EDM4hep, written by uproot.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Any

import numpy as np
from support import EventTablesCase, needs

from exatrkx.tools import edm4hep

ENCODING = "system:8,side:-2,layer:6,module:16,x:32:-16"


def cell(system: int, side: int, layer: int, module: int) -> int:
    """A cellID of ENCODING, with bits of a pixel that no id may have."""
    return system | (side & 3) << 8 | layer << 10 | module << 16 | 0xABC << 32


def columns() -> dict[str, list[list[float]]]:
    """Two events of two collections, the second as older files name it, and others
    that are no hits of a tracker."""
    found: dict[str, list[list[float]]] = {
        "Barrel.cellID": [[cell(3, 0, 2, 700), cell(3, 0, 4, 1)], []],
        "_Barrel_particle.index": [[1, 0], []],
        "Endcap.cellID": [[cell(4, -1, 2, 9)], [cell(4, 1, 2, 9)]],
        "_Endcap_MCParticle.index": [[1], [-1]],
        "Calorimeter.cellID": [[5], [6]],
        "_Contributions_particle.index": [[1], [0]],
        "MCParticles.charge": [[1, -1], [0]],
    }
    for k, axis in enumerate("xyz"):
        found[f"Barrel.position.{axis}"] = [[30 + k, 70 + k], []]
        found[f"Endcap.position.{axis}"] = [[500 + k], [-600 - k]]
        found[f"MCParticles.vertex.{axis}"] = [[0, 0.5], [1]]
        found[f"MCParticles.momentum.{axis}"] = [[0.25, 1.5], [2]]
    return found


def write(path: Any, table: dict[str, list[list[float]]], name: str = "events") -> None:
    import awkward
    import uproot

    def branch(key: str, values: list[list[float]]) -> Any:
        kind = np.uint64 if key.endswith("cellID") else np.int32 if "index" in key else np.float32
        return awkward.values_astype(awkward.Array(values), kind)

    arrays = {key: branch(key, values) for key, values in table.items()}
    with uproot.recreate(path) as file:
        types = {key: values.type.content for key, values in arrays.items()}
        file.mktree(name, types, counter_name=lambda counted: f"{counted}_n")
        file[name].extend(arrays)


@needs("uproot")
class Edm4hep(EventTablesCase):
    def setUp(self) -> None:
        super().setUp()
        self.columns = columns()

    def run_main(self, *options: str, encoding: str = ENCODING) -> tuple[int, str]:
        path = self.folder / "a.root"
        write(path, self.columns)
        return self.run_command(edm4hep.main, path, "--encoding", encoding, *options)

    def test_tables(self) -> None:
        code, text = self.run_main()
        self.assertEqual((code, text), (0, "event000000000: 3 hits\nevent000000001: 1 hits\n"))
        hits, truth, particles = (self.table(0, k) for k in ("hits", "truth", "particles"))
        np.testing.assert_array_equal(hits["y"], [31, 71, 501])
        np.testing.assert_array_equal(hits["volume_id"], [3, 3, 4 + (3 << 8)])
        np.testing.assert_array_equal(hits["layer_id"], [2, 4, 2])
        np.testing.assert_array_equal(hits["module_id"], [700, 1, 9])
        np.testing.assert_array_equal(truth["particle_id"], [2, 1, 2])
        np.testing.assert_array_equal(particles["pz"], [0.25, 1.5])
        np.testing.assert_array_equal(particles["q"], [1, -1])
        np.testing.assert_array_equal(particles["nhits"], [1, 2])
        self.assertEqual(self.table(1, "hits")["volume_id"].tolist(), [4 + (1 << 8)])
        self.assertEqual(self.table(1, "truth")["particle_id"].tolist(), [0])

    def test_options(self) -> None:
        """One collection, and other fields."""
        code, text = self.run_main("--collection", "Barrel", "--module", "layer,module")
        self.assertEqual(code, 0, text)
        modules = self.table(0, "hits")["module_id"].tolist()
        self.assertEqual(modules, [2 + (700 << 6), 4 + (1 << 6)])

    def rename(self, names: dict[str, str]) -> None:
        self.columns = {names.get(key, key): values for key, values in self.columns.items()}

    def test_particles(self) -> None:
        """By another name, as generators write them."""
        for name in list(self.columns):
            if name.startswith("MCParticles"):
                self.rename({name: name.replace("MCParticles", "Generated")})
        self.columns["Generated.generatorStatus"] = [[1, 1], [1]]
        self.assertEqual(self.run_main("--particles", "Generated")[0], 0)
        self.assertEqual(self.table(0, "particles")["q"].tolist(), [1, -1])
        self.refused("a.root: no particles MCParticles, but Generated")
        del self.columns["Generated.generatorStatus"]
        self.refused("a.root: no particles Other, but none", "--particles", "Other")

    def test_numbered_relations(self) -> None:
        """As the oldest files name them; calorimeters have such, too."""
        self.rename({"_Barrel_particle.index": "Barrel#0.index"})
        self.columns["Barrel.pathLength"] = [[0.3, 0.3], []]
        self.columns["Calorimeter#0.index"] = [[0], [0]]
        self.assertEqual(self.run_main()[0], 0)
        self.assertEqual(self.table(0, "truth")["particle_id"].tolist(), [2, 1, 2])

    def refused(self, said: str, *options: str, encoding: str = ENCODING) -> None:
        code, text = self.run_main(*options, encoding=encoding)
        self.assertEqual(code, 1, text)
        self.assertIn(said, text)

    def test_refused(self) -> None:
        for encoding, said in (
            ("system", "encoding: system: expected name:width"),
            ("system:a", "encoding: system:a: expected name:width"),
            ("system:8,layer:60", "layer:60: not within 64 bits"),
            ("system:0", "system:0: not within 64 bits"),
            ("a:1:2:3", "a:1:2:3: not within 64 bits"),
            ("system:8,layer:6", "module,sensor: 0 bits, expected 1 to 31"),
            ("system:8,layer:6,module:40", "module,sensor: 40 bits, expected 1 to 31"),
        ):
            with self.subTest(encoding):
                self.refused(said, encoding=encoding)
        self.refused("no simulated hits Other, but Barrel, Endcap", "--collection", "Other")
        del self.columns["Barrel.position.y"]
        self.refused("a.root: no branch Barrel.position.y")
        self.columns = columns()
        self.columns["_Endcap_MCParticle.index"] = [[2], [0]]
        self.refused("event 0: a hit of particle 2, MCParticles has 2")
        self.columns = {name: [[1]] for name in ("Calorimeter.cellID",)}
        self.refused("a.root: no collection of simulated hits")

    def test_no_events(self) -> None:
        path = self.folder / "b.root"
        write(path, {"x": [[1.0]]}, "other")
        with self.assertRaisesRegex(ValueError, "b.root: no tree events"):
            next(edm4hep.read_events(path, ENCODING))
