"""test_colliderml -- events in the schema of ColliderML's Parquet files.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import io
import tempfile
from random import Random
from typing import Any

import numpy as np
from support import EVENT, EventTablesCase, FolderCase, LibraryCase, needs

import exatrkx
from exatrkx.files import trackml_csv
from exatrkx.tools import colliderml, colliderml_tracks

HITS: dict[str, list[Any]] = {
    "event_id": [7, 9],
    "x": [[31.5, 72.25, 115.5, 32.5], [33.0]],
    "y": [[0.0, 1.0, 2.0, -4.0], [0.5]],
    "z": [[5.0, 10.0, 15.0, -20.0], [2.0]],
    "true_z": [[5.0, 10.0, 15.0, -20.0], [2.0]],
    "time": [[0.0] * 4, [0.0]],
    "volume_id": [[16, 16, 17, 16], [16]],
    "layer_id": [[2, 4, 2, 2], [2]],
    "surface_id": [[101, 102, 65000, 103], [104]],
    "particle_id": [[4503599627370497, 4503599627370497, 4503599627370497, 5], [3]],
}
PARTICLES: dict[str, list[Any]] = {
    "event_id": [7, 9],
    "particle_id": [[3, 4503599627370497], [3]],
    "charge": [[1.0, -1.0], [0.0]],
    **{f"v{axis}": [[0.0, 0.5], [1.0]] for axis in "xyz"},
    **{f"p{axis}": [[0.25, 1.5], [2.0]] for axis in "xyz"},
}
TYPES = {
    "event_id": "uint32",
    "volume_id": "uint8",
    "layer_id": "uint16",
    "surface_id": "uint32",
    "particle_id": "uint64",
}


def write(path: Any, table: dict[str, list[Any]], **other: list[Any]) -> None:
    """A file with the types of ColliderML, but for other columns."""
    import pyarrow
    import pyarrow.parquet

    def column(name: str, values: list[Any]) -> Any:
        kind = pyarrow.type_for_alias(TYPES.get(name, "float"))
        return pyarrow.array(values, kind if name == "event_id" else pyarrow.list_(kind))

    columns = {name: column(name, values) for name, values in table.items()}
    columns |= {name: pyarrow.array(values) for name, values in other.items()}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


def hostile(random: Random) -> list[Any]:
    """A column of two events, of any type."""
    numbers = (0, -1, 2**63 - 1, -(2**63)), (0.5, -1e300, float("nan")), ("a",), ([1.0],)
    values = random.choice((*numbers, (True,), ({"a": 1},), (None,)))
    if random.random() < 0.5:
        return [random.choice(values) for _ in range(2)]
    return [[random.choice(values) for _ in range(n)] for n in (4, random.choice((0, 1)))]


@needs("pyarrow")
class ColliderMl(EventTablesCase):
    def setUp(self) -> None:
        super().setUp()
        self.hits, self.particles = HITS.copy(), PARTICLES.copy()

    def run_main(self, truth: bool = True) -> tuple[int, str]:
        hits, particles = self.folder / "hits.parquet", self.folder / "particles.parquet"
        write(hits, self.hits)
        write(particles, self.particles)
        given = ["--particles", particles] if truth else []
        return self.run_command(colliderml.main, hits, *given)

    def test_tables(self) -> None:
        """Rows keep their order; what has no particle in the file is noise."""
        code, text = self.run_main()
        self.assertEqual((code, text), (0, "event000000007: 4 hits\nevent000000009: 1 hits\n"))
        hits, truth, particles = (self.table(7, k) for k in ("hits", "truth", "particles"))
        np.testing.assert_array_equal(hits["x"], HITS["x"][0])
        np.testing.assert_array_equal(hits["module_id"], HITS["surface_id"][0])
        np.testing.assert_array_equal(truth["particle_id"], [2, 2, 2, 0])
        np.testing.assert_array_equal(particles["q"], [1, -1])
        np.testing.assert_array_equal(particles["nhits"], [0, 3])
        np.testing.assert_array_equal(particles["px"], [0.25, 1.5])
        np.testing.assert_array_equal(self.table(9, "truth")["particle_id"], [1])

    def test_nowhere(self) -> None:
        """A hit without a position is named, and its event not written."""
        self.hits["y"] = [[0.0, float("nan"), 2.0, float("inf")], [0.5]]
        code, text = self.run_main()
        self.assertEqual(code, 1)
        self.assertIn("event 7: hit 2: y is nan; 2 such hits", text)
        self.assertEqual(list(self.folder.glob("event*")), [])

    def test_without_particles(self) -> None:
        self.assertEqual(self.run_main(truth=False)[0], 0)
        names = {path.name for path in self.folder.glob("*.csv.gz")}
        self.assertEqual(names, {f"event00000000{k}-hits.csv.gz" for k in (7, 9)})

    def refused(self, text: str) -> None:
        code, said = self.run_main()
        self.assertEqual(code, 1, said)
        self.assertIn(text, said)

    def test_refused(self) -> None:
        """Each of these files has one fault."""
        self.hits["y"] = [[0.0], [0.5]]
        self.refused("hits.parquet: event_id 7: lengths differ")
        self.hits["y"] = [[0.0, None, 2.0, 3.0], [0.5]]
        self.refused("hits.parquet: event_id 7: y has no value")
        self.hits["y"] = [None, [0.5]]
        self.refused("hits.parquet: event_id 7: y has no value")
        del self.hits["y"]
        self.refused("hits.parquet: no column y")
        self.hits = HITS
        self.particles["event_id"] = [7, 8]
        self.refused("particles.parquet: event_id 8, expected 9 of")
        self.particles = {name: values[:1] for name, values in PARTICLES.items()}
        self.refused("particles.parquet: event_id None, expected 9 of")

    def test_folders(self) -> None:
        """Files in the order of their names."""
        for kind, table in (("hits", HITS), ("particles", PARTICLES)):
            (self.folder / kind).mkdir()
            for k in range(2):
                shard = {name: values[k : k + 1] for name, values in table.items()}
                write(self.folder / kind / f"train-{k}.parquet", shard)
        paths = (self.folder / "hits", self.folder / "particles")
        self.assertEqual([event for event, _ in colliderml.read_events(*paths)], [7, 9])
        with self.assertRaisesRegex(ValueError, "no \\*.parquet"):
            next(colliderml.read_rows(self.folder, ["x"]))

    def test_damaged(self) -> None:
        path = self.folder / "none.parquet"
        text = io.StringIO()
        for content, said in ((None, "No such file"), (b"PAR1", "none.parquet: ")):
            if content is not None:
                path.write_bytes(content)
            with contextlib.redirect_stderr(text):
                self.assertEqual(colliderml.main([str(path), "--out", str(self.folder)]), 1)
            self.assertIn(said, text.getvalue())

    def test_types(self) -> None:
        """What is no list of numbers, of ids of integers."""
        path = self.folder / "hits.parquet"
        for name, values, said in (
            ("event_id", ["7", "9"], "event_id is string, expected integer"),
            ("event_id", [7, None], "event_id has no value"),
            ("x", [1.0, 2.0], "x is double, expected list of numbers"),
            ("layer_id", [[2.5], [1.5]], "<element: double>, expected list of integers"),
        ):
            with self.subTest(said):
                write(path, HITS, **{name: values})
                code, text = self.run_command(colliderml.main, path)
                self.assertEqual(code, 1, text)
                self.assertIn(said, text)
                self.assertIn("hits.parquet: ", text)

    def test_hostile(self) -> None:
        """A column of any type and bytes that are changed: events, or one line."""
        hits, particles = self.folder / "hits.parquet", self.folder / "particles.parquet"
        refused = 0
        for seed in range(150):
            random = Random(seed)
            tables = [HITS, PARTICLES]
            for k, path in enumerate((hits, particles)):
                other = {random.choice(list(tables[k])): hostile(random)}
                write(path, tables[k], **(other if random.random() < 0.5 else {}))
            content = bytearray(hits.read_bytes())
            for _ in range(random.choice((0, 0, 1, 3))):
                content[random.randrange(len(content))] = random.randrange(256)
            hits.write_bytes(content)
            with self.subTest(seed):
                code, text = self.run_command(colliderml.main, hits, "--particles", particles)
                lines = [one for one in text.splitlines() if not one.startswith("event")]
                self.assertEqual(len(lines), code, text)
                refused += code
        self.assertTrue(50 < refused < 150, refused)


@needs("pyarrow")
class WholeEvent(LibraryCase):
    """An event that ships, twice."""

    def setUp(self) -> None:
        super().setUp()
        self.hits = trackml_csv.read_table(f"{EVENT}-hits.csv.gz")
        self.hits["surface_id"] = self.hits.pop("module_id")
        truth = trackml_csv.read_table(f"{EVENT}-truth.csv.gz")
        particles = trackml_csv.read_table(f"{EVENT}-particles.csv.gz")
        self.hits |= {"true_z": truth["tz"], "particle_id": truth["particle_id"]}
        particles["charge"] = particles.pop("q")
        for name, table in (("hits", self.hits), ("particles", particles)):
            rows = {key: [values.tolist()] * 2 for key, values in table.items()}
            write(self.folder / f"{name}.parquet", {"event_id": [1, 4], **rows})

    def test_tracks(self) -> None:
        """The same tracks from both formats."""
        paths = (self.folder / "hits.parquet", self.folder / "particles.parquet")
        (number, tables), _ = colliderml.read_events(*paths)
        self.assertEqual(number, 1)
        for kind, table in tables.items():
            trackml_csv.write_table(f"{self.folder}/a-{kind}.csv", table)
        event = exatrkx.Event.from_trackml(self.folder / "a")
        want = exatrkx.Event.from_trackml(EVENT)
        np.testing.assert_array_equal(event.positions, want.positions)
        np.testing.assert_array_equal(event.modules, want.modules)
        np.testing.assert_allclose(event.weights, want.weights, atol=1e-6)
        np.testing.assert_array_equal(
            exatrkx.find_tracks(self.model, event, self.context).labels,
            exatrkx.find_tracks(self.model, want, self.context).labels,
        )

    def run_main(self, hits: str, *options: object) -> tuple[int, str]:
        text = io.StringIO()
        out = ["--out", self.folder / "tracks.parquet", *options]
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            code = colliderml_tracks.main([str(self.folder / hits), *map(str, out)])
        return code, text.getvalue()

    def test_predictions(self) -> None:
        """A row for each hit in a track, with the particle of most hits there."""
        import pyarrow.parquet

        latency = self.folder / "latency.parquet"
        code, text = self.run_main("hits.parquet", "--truth", "--latency", latency)
        self.assertEqual(code, 0, text)
        self.assertRegex(text, r"^2 events, \d+\.\d{3} s\n$")
        positions = np.stack([self.hits[axis] for axis in "xyz"], axis=1)
        modules = [self.hits[name] for name in ("volume_id", "layer_id", "surface_id")]
        event = exatrkx.Event.from_arrays(positions, modules=tuple(modules))
        labels = exatrkx.find_tracks(self.model, event, self.context).labels
        (rows,) = np.nonzero(labels >= 0)
        owners = [self.hits["particle_id"][labels == track].tolist() for track in range(labels.max() + 1)]
        most = np.array([max(sorted(set(one)), key=one.count) for one in owners])
        found = pyarrow.parquet.read_table(self.folder / "tracks.parquet").to_pydict()
        want = {
            "event_id": np.repeat([1, 4], len(rows)),
            "hit_id": np.tile(rows, 2),
            "track_id": np.tile(labels[rows], 2),
            "majority_particle_id": np.tile(most[labels[rows]], 2),
            "n_params": np.full(2 * len(rows), 98570),
        }
        self.assertEqual(list(found), list(want))
        for name, values in want.items():
            np.testing.assert_array_equal(found[name], values, name)
        times = pyarrow.parquet.read_table(latency).to_pydict()
        self.assertEqual(times["n_events"], [2])
        self.assertGreater(times["wallclock_s"][0], 0)

    def test_predictions_refused(self) -> None:
        (self.folder / "empty").mkdir()
        rows: dict[str, list[Any]] = {name: [] for name in ("event_id", *colliderml.HITS)}
        write(self.folder / "none.parquet", rows)
        for hits, options, said in (
            ("absent.parquet", (), "No such file"),
            ("empty", (), "no *.parquet"),
            ("none.parquet", (), "none.parquet: no events"),
            ("particles.parquet", (), "no column x, y, z"),
            ("none.parquet", ("--truth",), "no column particle_id"),
            ("hits.parquet", ("--model", "nosuch"), "nosuch: neither a file nor one of"),
        ):
            with self.subTest(hits):
                code, text = self.run_main(hits, *options)
                self.assertEqual(code, 1, text)
                self.assertIn(said, text)
        self.assertFalse((self.folder / "tracks.parquet").exists())

    def test_majority(self) -> None:
        """Of as many hits the least; ids of 64 bits."""
        big = 2**64 - 1
        owner = np.array([7, big, 3, big, 7, 5], np.uint64)
        labels = np.array([2, 0, 2, 0, 0, 2], np.int32)
        found = colliderml_tracks.majority(labels, owner)
        self.assertEqual(found.tolist(), [3, big, 3, big, big, 3])


@needs("pyarrow")
@needs("acts")
class FilesOfActs(FolderCase):
    def test_same_event(self) -> None:
        """What ACTS's own writers make of an event, as its CSV files tell it."""
        from acts_files import parquet_sequencer

        from exatrkx.files import acts_csv
        from exatrkx.simulation import fatras, generator

        with tempfile.TemporaryDirectory() as scratch:
            simulation = fatras.Fatras(scratch)
            particles = generator.generate(np.random.default_rng(1), 2, 0.15)
            fatras.write_particles(simulation.file("particles"), particles)
            parquet_sequencer(simulation, 5, self.folder).run()
        (self.folder / "event000000000-spacepoint.csv").unlink()
        want = acts_csv.convert(acts_csv.Event(self.folder / "event000000000"))
        paths = (self.folder / "tracker_hits", self.folder / "particles")
        ((_, found),) = colliderml.read_events(*paths)
        self.assertEqual(self.hits_of(found), self.hits_of(want))
        self.assertGreater(len(self.hits_of(want)), 1000)

    def hits_of(self, tables: dict[str, Any]) -> list[Any]:
        """Module, position and momentum of the particle of each hit, sorted."""
        hits, particles = tables["hits"], tables["particles"]
        row = trackml_csv.lookup(
            particles["particle_id"], tables["truth"]["particle_id"]
        )
        columns = [hits[name] for name in ("volume_id", "layer_id", "module_id")]
        columns += [hits[axis].astype(float).round(2) for axis in "xyz"]
        columns += [np.where(row >= 0, particles["px"][row], 0).astype(float).round(4)]
        return sorted(zip(*(column.tolist() for column in columns)))
