"""test_acts_csv -- events of ACTS's CSV files, written by hand.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import gzip
import io
from collections.abc import Callable
from pathlib import Path

import exatrkx
import numpy as np
from support import FolderCase, needs

from exatrkx.files import acts_csv as reader
from exatrkx.files import trackml_csv
from exatrkx.simulation import fatras
from exatrkx.tools import acts_csv

NONE = 2**64 - 1
PIXEL = (8 << 56) + (2 << 36) + (17 << 8)
STRIP = (23 << 56) + (14 << 36) + (300 << 8) + 5
BARCODE = "particle_id_pv,particle_id_sv,particle_id_part,particle_id_gen,particle_id_subpart"
FILES = {
    "particles_simulated": f"""{BARCODE},vx,vy,vz,px,py,pz,q
1,0,7,0,0,0,0,5,1,0,1,1
1,0,7,2,1,30,0,6,0,0.5,1,-1
""",
    "hits": f"""{BARCODE},tx,ty,tz,tpx,tpy,tpz
1,0,7,0,0,31,0,10,1,0,0.9
1,0,7,2,1,60,1,20,0,0.4,1
1,0,7,0,0,61,0,30,0.9,0,0.8
1,0,7,0,0,62,0,31,0.9,0,0.8
9,9,9,9,9,70,0,32,0,0,0
""",
    "measurements": f"""measurement_id,geometry_id,global_x,global_y,global_z
0,{PIXEL},31.1,0.1,10.1
1,{STRIP},60.1,1.1,20.1
2,{STRIP},61.1,0.1,30.1
3,{STRIP},62.1,0.1,31.1
4,{PIXEL},70.1,0.1,32.1
""",
    "measurement-simhit-map": "measurement_id,hit_id\n0,0\n0,1\n1,1\n2,2\n3,3\n4,4\n",
}
SPACE_POINTS = f"""measurement_id_1,measurement_id_2,geometry_id_1,geometry_id_2,x,y,z
0,{NONE},{PIXEL},0,31.2,0.2,10.2
2,3,{STRIP},{STRIP},61.2,0.2,30.2
1,3,{STRIP},{STRIP},60.2,0.7,25.2
"""


class ActsCsv(FolderCase):
    def setUp(self) -> None:
        super().setUp()
        self.out = self.folder / "out"
        self.options: list[str] = []
        for kind, text in FILES.items():
            (self.folder / f"event000000003-{kind}.csv").write_text(text)

    def run_main(self) -> tuple[int, str]:
        text = io.StringIO()
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            code = acts_csv.main(
                [str(self.folder), "--out", str(self.out), *self.options]
            )
        return code, text.getvalue()

    def tables(self) -> dict[str, dict[str, np.ndarray]]:
        code, text = self.run_main()
        self.assertEqual(code, 0, text)
        prefix = self.out / "event000000003"
        kinds = ("hits", "truth", "particles")
        return {k: trackml_csv.read_table(f"{prefix}-{k}.csv.gz") for k in kinds}

    def test_measurements(self) -> None:
        """The first particle of a measurement; an unknown one is noise."""
        tables = self.tables()
        hits, truth, particles = (tables[k] for k in ("hits", "truth", "particles"))
        np.testing.assert_array_equal(hits["volume_id"], [8, 23, 23, 23, 8])
        np.testing.assert_array_equal(hits["layer_id"], [2, 14, 14, 14, 2])
        np.testing.assert_array_equal(hits["module_id"], [17, 300, 300, 300, 17])
        np.testing.assert_allclose(hits["x"], [31.1, 60.1, 61.1, 62.1, 70.1])
        first, second = particles["particle_id"]
        np.testing.assert_array_equal(
            truth["particle_id"], [first, second, first, first, 0]
        )
        np.testing.assert_array_equal(particles["particle_id"] >> 24 & 0xFFF, [0, 2])
        np.testing.assert_array_equal(particles["nhits"], [3, 1])
        np.testing.assert_allclose(truth["tz"], [10, 20, 30, 31, 0])

    def test_event(self) -> None:
        """Read directly, an event is what its TrackML files hold."""
        self.tables()
        converted = exatrkx.Event.from_trackml(self.out / "event000000003")
        (event,) = exatrkx.Events(self.folder)
        np.testing.assert_array_equal(event.particles, converted.particles)
        for name in ("positions", "modules", "particle_ids", "weights"):
            found, expected = getattr(event, name), getattr(converted, name)
            np.testing.assert_allclose(found, expected, rtol=1e-5)
        with self.assertRaisesRegex(FileNotFoundError, "none-measurements"):
            exatrkx.Event.from_acts(self.folder / "none")

    def test_space_points(self) -> None:
        """Two measurements of one particle; of two particles it is noise."""
        path = self.folder / "event000000003-spacepoint.csv"
        path.write_text(SPACE_POINTS)
        tables = self.tables()
        np.testing.assert_allclose(tables["hits"]["x"], [31.2, 61.2, 60.2])
        first = tables["particles"]["particle_id"][0]
        np.testing.assert_array_equal(tables["truth"]["particle_id"], [first, first, 0])

    def test_old_space_points(self) -> None:
        """Of one measurement each, as the first versions wrote them."""
        path = self.folder / "event000000003-spacepoint.csv"
        path.write_text(
            "measurement_id,geometry_id,x,y,z,var_r,var_z\n"
            f"1,{STRIP},60.2,1.2,20.2,0.1,0.1\n4,{PIXEL},70.1,0.1,32.1,0.1,0.1\n"
        )
        tables = self.tables()
        np.testing.assert_allclose(tables["hits"]["x"], [60.2, 70.1])
        np.testing.assert_array_equal(tables["hits"]["volume_id"], [23, 8])
        second = tables["particles"]["particle_id"][1]
        np.testing.assert_array_equal(tables["truth"]["particle_id"], [second, 0])

    def test_local_positions(self) -> None:
        """Turned by the modules, as before versions had global ones."""
        event = self.folder / "event000000003"
        rows = f"0,{PIXEL},1,2\n1,{STRIP},3,0\n"
        Path(f"{event}-measurements.csv").write_text(
            "measurement_id,geometry_id,local0,local1\n" + rows
        )
        turned = "rot_xu,rot_xv,rot_xw,rot_yu,rot_yv,rot_yw,rot_zu,rot_zv,rot_zw"
        detector = self.folder / "detectors.csv"
        detector.write_text(
            f"volume_id,layer_id,module_id,cx,cy,cz,{turned}\n"
            "23,14,300,50,0,-7,0.6,0.8,0,0.8,-0.6,0,0,0,-1\n"
            "8,2,17,31,5,10,0,0,1,1,0,0,0,1,0\n"
        )
        self.options = ["--detector", str(detector)]
        hits = self.tables()["hits"]
        found = np.stack([hits[name] for name in "xyz"], axis=1)
        np.testing.assert_allclose(found, [[31, 6, 12], [51.8, 2.4, -7]], rtol=1e-5)
        detector.write_text(detector.read_text().replace("8,2,17", "8,2,18"))
        code, text = self.run_main()
        self.assertEqual(code, 1)
        self.assertIn(f"detectors.csv: no module of geometry_id {PIXEL}", text)

    def test_cells(self) -> None:
        """Of each hit's first measurement, whichever name its column has."""
        event = self.folder / "event000000003"
        Path(f"{event}-spacepoint.csv").write_text(
            SPACE_POINTS + f"2,4,{STRIP},{STRIP},1,2,3\n"
        )
        rows = f"{STRIP},2,7,8,0,0.5\n{PIXEL},0,1,2,0,0.25\n{STRIP},2,7,9,0,1\n"
        for owner in ("measurement_id", "hit_id"):
            Path(f"{event}-cells.csv").write_text(
                f"geometry_id,{owner},channel0,channel1,timestamp,value\n" + rows
            )
            self.tables()
            cells = trackml_csv.read_table(str(self.out / f"{event.name}-cells.csv.gz"))
            np.testing.assert_array_equal(cells["hit_id"], [1, 2, 2, 4, 4])
            np.testing.assert_array_equal(cells["ch0"], [1, 7, 7, 7, 7])
            np.testing.assert_array_equal(cells["ch1"], [2, 8, 9, 8, 9])
            np.testing.assert_array_equal(cells["value"], [0.25, 0.5, 1, 0.5, 1])

    def same_of_older(self, change: Callable[[str, str], tuple[str, str]]) -> None:
        """The tables stay where change gives each file another name and text."""
        expected = self.tables()
        for kind, text in FILES.items():
            (self.folder / f"event000000003-{kind}.csv").unlink()
            name, text = change(kind, text)
            data = text.encode()
            path = self.folder / f"event000000003-{name}"
            path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        for kind, table in self.tables().items():
            for name, values in table.items():
                np.testing.assert_array_equal(values, expected[kind][name], name)

    def test_particle_id_in_one_column(self) -> None:
        """As ACTS wrote it until version 43."""

        def change(kind: str, text: str) -> tuple[str, str]:
            if not text.startswith(BARCODE):
                return f"{kind}.csv", text
            lines = [text.splitlines()[0].replace(BARCODE, "particle_id")]
            for line in text.splitlines()[1:]:
                pv, sv, part, gen, subpart, *rest = line.split(",")
                code = int(pv) << 52 | int(sv) << 40 | int(part) << 24
                code |= int(gen) << 16 | int(subpart)
                lines.append(",".join([str(code), *rest]))
            return f"{kind}.csv", "\n".join(lines) + "\n"

        self.same_of_older(change)

    def test_other_names(self) -> None:
        """Packed, and each name that the file of particles has had."""
        for name in ("particles", "particles_selected", "particles_initial"):
            with self.subTest(name):
                self.setUp()
                names = {"particles_simulated": name}
                self.same_of_older(
                    lambda kind, text, names=names: (
                        f"{names.get(kind, kind)}.csv.gz",
                        text,
                    )
                )

    def test_hit_out_of_range(self) -> None:
        path = self.folder / "event000000003-measurement-simhit-map.csv"
        path.write_text("measurement_id,hit_id\n0,0\n1,5\n")
        code, text = self.run_main()
        self.assertEqual(code, 1)
        self.assertIn("simhit-map.csv: hit_id 5, there are 5 hits", text)

    def test_refused(self) -> None:
        path = self.folder / "event000000003-measurements.csv"
        path.write_text(FILES["measurements"].replace("global_x", "local0"))
        code, text = self.run_main()
        self.assertEqual(code, 1)
        self.assertIn("event000000003-measurements.csv: no column global_x", text)
        path.write_text("")
        self.assertIn("measurements.csv: no column global_x", self.run_main()[1])
        path.unlink()
        self.assertIn("measurements.csv[.gz]: not found", self.run_main()[1])
        (self.folder / "event000000003-hits.csv").unlink()
        self.assertIn("no event*-hits.csv", self.run_main()[1])


@needs("acts")
class FromActs(FolderCase):
    """Files that ACTS writes."""

    def test_hits_are_near_the_truth(self) -> None:
        """All measurements become hits, half of them within 50 um of the true
        point, all on its module; every particle has its simulated hits."""
        import acts_files

        (self.folder / "scratch").mkdir()
        simulation = fatras.Fatras(str(self.folder / "scratch"))
        acts_files.write_event(simulation, 1, 3, 0, self.folder)
        tables = reader.convert(reader.Event(self.folder / "event000000000"))
        hits, truth = tables["hits"], tables["truth"]
        found = np.stack([hits[name] for name in "xyz"], axis=1)
        true = np.stack([truth[f"t{name}"] for name in "xyz"], axis=1)
        away = np.linalg.norm(found - true, axis=1)
        self.assertGreater(len(found), 100)
        self.assertLess(np.median(away), 0.05)
        self.assertLess(away.max(), 80.0)
        self.assertTrue((truth["particle_id"] != 0).all())
        ids, counts = np.unique(truth["particle_id"], return_counts=True)
        expected = dict(
            zip(tables["particles"]["particle_id"], tables["particles"]["nhits"])
        )
        self.assertEqual([expected[one] for one in ids], counts.tolist())
