"""test_acts_root -- events in the schema of ACTS's ROOT files, written by uproot.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np
from support import EventTablesCase, needs

from exatrkx.tools import acts_root

# Two events, the later first: of the first three measurements one is of two
# particles, one of a particle that is in no file, and one of none.
MEASUREMENTS: dict[str, Any] = {
    "event_nr": [9, 9, 9, 4],
    "volume_id": [16, 16, 17, 16],
    "layer_id": [2, 4, 2, 2],
    "surface_id": [101, 102, 1040000, 103],
    "rec_gx": [31.5, 72.25, 115.5, 32.5],
    "rec_gy": [0.0, 1.0, 2.0, -4.0],
    "rec_gz": [5.0, 10.0, 15.0, -20.0],
    "true_z": [5.0, 10.0, 15.0, -20.0],
    "particles_vertex_primary": [[1, 1], [7], [], [1]],
    "particles_vertex_secondary": [[0, 0], [0], [], [0]],
    "particles_particle": [[3, 2], [2], [], [2]],
    "particles_generation": [[1, 0], [0], [], [0]],
    "particles_sub_particle": [[0, 0], [0], [], [0]],
    "channel_loc0": [[7, 8], [9], [], [1]],
    "channel_loc1": [[70, 71], [72], [], [2]],
    "channel_value": [[0.5, 0.25], [1.0], [], [2.0]],
}
PARTICLES: dict[str, Any] = {
    "event_id": [4, 9],
    "vertex_primary": [[1], [1, 1]],
    "vertex_secondary": [[0], [0, 0]],
    "particle": [[2], [2, 3]],
    "generation": [[0], [0, 1]],
    "sub_particle": [[0], [0, 0]],
    "q": [[1.0], [1.0, -1.0]],
    **{f"v{axis}": [[1.0], [0.0, 0.5]] for axis in "xyz"},
    **{f"p{axis}": [[2.0], [0.25, 1.5]] for axis in "xyz"},
}
INTEGERS = ("channel_loc", "particle", "vertex", "generation", "sub_", "event", "volume")


def write(path: Any, name: str, table: dict[str, Any]) -> None:
    """A tree of branches, some of which are vectors."""
    import awkward
    import uproot

    def branch(name: str, values: list[Any]) -> Any:
        whole = name.startswith((*INTEGERS, "layer", "surface"))
        kind = np.uint64 if name == "particles" else np.int32 if whole else np.float32
        array = awkward.values_astype(awkward.Array(values), kind)
        return array if isinstance(values[0], list) else np.asarray(array)

    columns = {key: branch(key, values) for key, values in table.items()}
    types = {
        key: values.dtype if isinstance(values, np.ndarray) else values.type.content
        for key, values in columns.items()
    }
    with uproot.recreate(path) as file:
        file.mktree(name, types)
        file[name].extend(columns)


@needs("uproot")
class ActsRoot(EventTablesCase):
    def setUp(self) -> None:
        super().setUp()
        self.measurements, self.particles = MEASUREMENTS.copy(), PARTICLES.copy()

    def run_main(self, truth: bool = True) -> tuple[int, str]:
        paths = [self.folder / f"{name}.root" for name in ("measurements", "particles")]
        write(paths[0], "measurements", self.measurements)
        write(paths[1], "particles", self.particles)
        given = ["--particles", paths[1]] if truth else []
        return self.run_command(acts_root.main, paths[0], *given)

    def test_tables(self) -> None:
        """The first particle of a measurement; none and an unknown one are noise."""
        code, text = self.run_main()
        self.assertEqual((code, text), (0, "event000000004: 1 hits\nevent000000009: 3 hits\n"))
        hits, truth, particles = (self.table(9, k) for k in ("hits", "truth", "particles"))
        np.testing.assert_array_equal(hits["x"], MEASUREMENTS["rec_gx"][:3])
        np.testing.assert_array_equal(hits["volume_id"], [16, 16, 17])
        np.testing.assert_array_equal(hits["module_id"], [101, 102, 1040000])
        second = particles["particle_id"][1]
        self.assertEqual(second >> 24, 1)  # its generation
        np.testing.assert_array_equal(truth["particle_id"], [second, 0, 0])
        np.testing.assert_array_equal(particles["q"], [1, -1])
        np.testing.assert_array_equal(particles["nhits"], [0, 1])
        np.testing.assert_array_equal(particles["pz"], [0.25, 1.5])
        self.assertEqual(self.table(4, "truth")["particle_id"].tolist(), [1])

    def of_older(self, codes: list[list[Any]]) -> list[int]:
        """The particles of event 9 by one branch of barcodes."""
        import awkward

        table = {n: v for n, v in self.measurements.items() if not n.startswith("particles_")}
        found = awkward.Array({name: values[:3] for name, values in table.items()})
        found["particles"] = awkward.Array(codes)
        event = awkward.Array({name: values[1:] for name, values in PARTICLES.items()})
        ids: list[int] = acts_root.truth_of(found, event)["truth"]["particle_id"].tolist()
        return ids

    def test_older_owners(self) -> None:
        """Barcodes as lists of five and as one number."""
        self.run_main()
        want = self.table(9, "truth")["particle_id"].tolist()
        lists = [[[1, 0, 3, 1, 0], [1, 0, 2, 0, 0]], [[7, 0, 2, 0, 0]], []]
        numbers = [
            [pv << 52 | sv << 40 | part << 24 | gen << 16 | sub for pv, sv, part, gen, sub in one]
            for one in lists
        ]
        self.assertEqual(self.of_older(lists), want)
        self.assertEqual(self.of_older(numbers), want)
        for name in list(self.measurements):
            if name.startswith("particles_"):
                del self.measurements[name]
        self.measurements["particles"] = [*numbers, [1 << 52 | 2 << 24]]
        self.assertEqual(self.run_main()[0], 0)
        self.assertEqual(self.table(9, "truth")["particle_id"].tolist(), want)
        self.assertEqual(self.table(4, "truth")["particle_id"].tolist(), [1])

    def test_cells(self) -> None:
        self.run_main()
        cells = self.table(9, "cells")
        found = [cells[name].tolist() for name in ("hit_id", "ch0", "ch1", "value")]
        self.assertEqual(found, [[1, 1, 2], [7, 8, 9], [70, 71, 72], [0.5, 0.25, 1]])

    def test_hits_alone(self) -> None:
        """Without particles and clusters."""
        for name in list(self.measurements):
            if name.startswith(("particles_", "channel_")):
                del self.measurements[name]
        self.assertEqual(self.run_main(truth=False)[0], 0)
        names = {path.name for path in self.folder.glob("*.csv.gz")}
        self.assertEqual(names, {f"event00000000{k}-hits.csv.gz" for k in (4, 9)})

    def refused(self, text: str) -> None:
        code, said = self.run_main()
        self.assertEqual(code, 1, said)
        self.assertIn(text, said)

    def test_refused(self) -> None:
        """Each of these files has one fault."""
        self.particles["event_id"] = [4, 8]
        self.refused("particles.root: no event_id 9")
        self.particles = PARTICLES.copy()
        del self.particles["q"]
        self.refused("particles.root: no branch q")
        self.measurements["event_nr"] = [9, 9, 4, 9]
        self.particles = PARTICLES
        self.refused("event_nr: entries of an event are not in a row")
        del self.measurements["rec_gx"]
        self.refused("measurements.root: no branch rec_gx")

    def test_other_files(self) -> None:
        path = self.folder / "a.root"
        write(path, "hits", {"event_id": [1]})
        text = io.StringIO()
        other = self.folder / "b.root"
        other.write_text("no file of ROOT")
        for name, said in ((path, "no tree measurements"), (other, "acts-root: "), ("c", "c")):
            with contextlib.redirect_stderr(text):
                self.assertEqual(acts_root.main([str(name), "--out", str(self.folder)]), 1)
            self.assertIn(said, text.getvalue())
