"""test_package -- what a user of the package meets: names, types, values.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import copy
import fcntl
import io
import os
import pickle
import re
import shutil
import struct
import subprocess
import sys
import termios
import unittest
import warnings
import zipfile

import exatrkx
import numpy as np
from support import EVENT, MODEL, PACKAGE, ROOT, LibraryCase, needs

from exatrkx.files import trackml_csv

NO_MATPLOTLIB = """
import inspect, pydoc, sys
sys.modules["matplotlib"] = None
import exatrkx
names = {name for name, _ in inspect.getmembers(exatrkx)}
assert {"Model", "display", "__version__"} <= names, names
assert not {"Any", "importlib"} & set(dir(exatrkx))
assert "find_tracks" in pydoc.render_doc(exatrkx)
"""
USER = """
import exatrkx
import numpy as np
from numpy.typing import NDArray


def longest(tracks: exatrkx.Tracks) -> NDArray[np.int32]:
    return max(tracks, key=len)


model = exatrkx.Model.load("accurate")
context = exatrkx.Context(threads=2)
for event in exatrkx.Events("folder", detector=exatrkx.Detector.load()):
    tracks: exatrkx.Tracks = exatrkx.find_tracks(model, event, context)
    first: list[NDArray[np.int32]] = tracks[0:2]
    rate: exatrkx.Rate = exatrkx.evaluate(event, tracks).fake_rate
    seconds: float = context.timings["gnn"].seconds
    page: exatrkx.Page = exatrkx.display(event, tracks)
    edges: NDArray[np.int64] = exatrkx.build_graph(model, event).edge_index
    print(exatrkx.__version__, rate.value, seconds, page, edges, first)
    print(longest(tracks), exatrkx.library_version())
"""


class TestNames(LibraryCase):
    def test_help_without_matplotlib(self) -> None:
        done = subprocess.run(
            [sys.executable, "-c", NO_MATPLOTLIB],
            env={**os.environ, "PYTHONPATH": str(PACKAGE)},
            capture_output=True,
            text=True,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_version(self) -> None:
        text = (PACKAGE / "pyproject.toml").read_text()
        (version,) = re.findall(r'^version = "(.*)"', text, re.M)
        self.assertEqual(exatrkx.__version__, version)

    def test_reference_has_every_name(self) -> None:
        text = (ROOT / "docs" / "python.md").read_text()
        known = set(re.findall(r"\w+", text.partition("\n## Reference\n")[2]))
        self.assertEqual(set(exatrkx.__all__) - known, set())

    @needs("mypy")
    @needs("matplotlib")
    def test_types(self) -> None:
        """mypy --strict finds the names, and only those that exist; it has
        nothing to say about the package."""
        path = self.folder / "user.py"
        settings = ["--config-file", str(PACKAGE / "pyproject.toml")]
        settings += ["--cache-dir", str(self.folder / "cache")]
        for code, expected in ((USER, 0), (USER + "exatrkx.no_such_name\n", 1)):
            path.write_text(code)
            command = [sys.executable, "-m", "mypy", "--strict", *settings]
            done = subprocess.run(
                [*command, "-p", "exatrkx", "-m", "user"],
                env={**os.environ, "MYPYPATH": f"{PACKAGE}:{self.folder}"},
                cwd=self.folder,
                capture_output=True,
                text=True,
            )
            self.assertEqual(done.returncode, expected, done.stdout + done.stderr)

    def test_none(self) -> None:
        """Named, whatever takes it."""
        graph = exatrkx.Graph.from_edges(2, [0], [1])
        for name, call in (
            ("model", lambda: exatrkx.find_tracks(None, self.event)),
            ("event", lambda: exatrkx.find_tracks(self.model, None)),
            ("graph", lambda: exatrkx.build_tracks(None)),
            ("event", lambda: exatrkx.score_graph(graph, self.model, None)),
            ("positions", lambda: exatrkx.Event.from_arrays(None)),
            ("src", lambda: exatrkx.Graph.from_edges(2, None, [1])),
            ("labels", lambda: exatrkx.Tracks.from_labels(None)),
            ("tracks", lambda: exatrkx.evaluate(self.event, None)),
            ("tracks", lambda: exatrkx.match(self.event, None)),
            ("event", lambda: exatrkx.display(None)),
            ("path", lambda: self.model.save(None)),
        ):
            with (
                self.subTest(name),
                self.assertRaisesRegex(exatrkx.ArgumentError, f"^{name}: None"),
            ):
                call()
        with self.assertRaisesRegex(TypeError, "model: int"):
            exatrkx.find_tracks(3, self.event)
        with self.assertRaisesRegex(TypeError, "model: Event, expected exatrkx.Model"):
            exatrkx.find_tracks(self.event, self.model)

    def test_shipped_by_name(self) -> None:
        for name in ("default", "accurate", "positions", "chain", "pixels", "odd"):
            with self.subTest(name):
                path = MODEL.with_stem(name)
                expected = exatrkx.Model.load(path).config
                self.assertEqual(exatrkx.Model.load(name).config, expected)
        with self.assertRaisesRegex(exatrkx.FileError, "one of default, accurate"):
            exatrkx.Model.load("nothing")
        event = exatrkx.Event.example()
        self.assertTrue(np.array_equal(event.hit_ids, self.event.hit_ids))


class TestValues(LibraryCase):
    def again(self, value: object) -> list:
        """A value after pickle and as copies, which close on their own."""
        with copy.copy(value), copy.deepcopy(value):
            pass
        self.assertFalse(value.closed)
        return [pickle.loads(pickle.dumps(value)), copy.deepcopy(value)]

    def test_model(self) -> None:
        for model in self.again(self.model):
            found = exatrkx.find_tracks(model, self.event, self.context)
            self.assertTrue(np.array_equal(found.labels, self.tracks.labels))

    def test_event(self) -> None:
        own = exatrkx.Event.from_arrays(
            [[1.0, 2, 3]],
            features=[[4.0, 5]],
            cluster_positions=[[[1.0, 2, 2], [1, 2, 4]]],
            particle_ids=[5],
            particles={n: [5, 7] for n in "particle_id vx vy vz px py pz q".split()},
            shared_hits=([0], [7]),
        )
        self.assertEqual([list(column) for column in own.shared_hits], [[0], [7]])
        self.assertIsNone(self.event.shared_hits)
        self.assertEqual(own.cluster_positions[0, 1].tolist(), [1, 2, 4])
        arrays = "hit_ids positions features modules weights cell_features"
        names = [*arrays.split(), "cluster_positions", "particle_ids", "particles"]
        names.append("shared_hits")
        for event in (self.event, own):
            for made in self.again(event):
                self.assertEqual(made.name, event.name)
                for name in names:
                    found, expected = getattr(made, name), getattr(event, name)
                    self.assertEqual(found is None, expected is None, name)
                    self.assertTrue(np.array_equal(found, expected), name)
        self.assertEqual(self.event.name, EVENT.name)
        self.assertEqual(self.event.modules.shape, (3, len(self.event)))
        self.assertAlmostEqual(self.event.weights.sum(), 1.0, 3)

    def test_graph(self) -> None:
        graph = exatrkx.Graph.from_edges(
            4, [2, 0, 1], [3, 1, 3], [0.5, 0.25, 1], features=[[5, 0], [6, 0], [7, 1]]
        )
        self.assertEqual(graph.features.tolist(), [[6, 0], [7, 1], [5, 0]])
        self.assertEqual(graph.edge_index.tolist(), [[0, 1, 2], [1, 3, 3]])
        self.assertEqual(graph.edge_index.dtype, np.int64)
        for made in self.again(graph):
            self.assertEqual(made.n_nodes, 4)
            for name in ("src", "dst", "scores", "order", "features"):
                expected = getattr(graph, name)
                self.assertTrue(np.array_equal(getattr(made, name), expected))

    def test_tracks(self) -> None:
        shared = exatrkx.Tracks.from_lists(9, [0, 2, 2, 5], [7, 1, 0, 1, 8])
        self.assertEqual(shared.labels.tolist(), [2, 0] + 5 * [-1] + [0, 2])
        with self.assertRaisesRegex(ValueError, "offsets"):
            exatrkx.Tracks.from_lists(9, [], [])
        named = exatrkx.Tracks.from_lists(9, [0, 2, 3], [7, 1, 0], [5, 3])
        self.assertEqual(named.ids.tolist(), [5, 3])
        with self.assertRaisesRegex(exatrkx.ArgumentError, "ids 0 and 1 are both 5"):
            exatrkx.Tracks.from_lists(9, [0, 2, 3], [7, 1, 0], [5, 5])
        for tracks in (self.tracks, shared, named):
            for made in self.again(tracks):
                self.assertEqual(made.n_hits, tracks.n_hits)
                self.assertTrue(np.array_equal(made.ids, tracks.ids))
                self.assertTrue(np.array_equal(made.offsets, tracks.offsets))
                self.assertTrue(np.array_equal(made.hits, tracks.hits))
        for some in (slice(0, 2), slice(-2, None), slice(None, None, -3)):
            found = self.tracks[some]
            expected = list(self.tracks)[some]
            self.assertEqual(len(found), len(expected))
            self.assertTrue(all(map(np.array_equal, found, expected)))

    @needs("pandas")
    def test_pandas(self) -> None:
        hits, particles = self.event.to_pandas(), self.event.particles_to_pandas()
        self.assertEqual(len(hits), len(self.event))
        self.assertTrue(np.array_equal(hits["particle_id"], self.event.particle_ids))
        self.assertTrue({"volume_id", "weight", "z"} <= set(hits.columns))
        self.assertEqual(len(particles), len(self.event.particles))
        again = exatrkx.Event.from_arrays(
            hits[["x", "y", "z"]],
            particle_ids=hits["particle_id"],
            particles=particles,
        )
        self.assertTrue(np.array_equal(again.particles, self.event.particles))
        bare = exatrkx.Event.from_arrays([[1.0, 2, 3]])
        self.assertEqual(list(bare.to_pandas()), ["hit_id", "x", "y", "z"])
        with self.assertRaisesRegex(ValueError, "truth"):
            bare.particles_to_pandas()
        other = exatrkx.Event.from_arrays([[1.0, 2.0, 3.0]])
        with self.assertRaisesRegex(ValueError, "tracks of .* hits, event of 1"):
            self.tracks.to_pandas(other)
        table = self.tracks.to_pandas(self.event)
        first = table[table["track"] == 0]
        self.assertTrue(np.array_equal(first["hit"], self.tracks[0]))
        self.assertTrue(
            np.array_equal(first["hit_id"], self.event.hit_ids[self.tracks[0]])
        )

    def test_html(self) -> None:
        fields = exatrkx.TrainingReport.__dataclass_fields__
        values = [
            self.event,
            self.tracks,
            exatrkx.evaluate(self.event, self.tracks),
            self.context.timings,
            exatrkx.TrainingReport(**dict.fromkeys(fields, 1)),
        ]
        for value in values:
            with self.subTest(type(value).__name__):
                text = value._repr_html_()
                self.assertRegex(text, r"(?s)^<table>.*<td.*</table>$")
        self.assertIn(str(len(self.event)), self.event._repr_html_())
        empty = exatrkx.Tracks.from_labels([-1])
        self.assertIn("0 tracks", empty._repr_html_())

    def test_display_inline(self) -> None:
        page = exatrkx.display(self.event, self.tracks)
        text = page._repr_html_()
        self.assertTrue(text.startswith('<iframe srcdoc="&lt;!'))
        self.assertIn(EVENT.name, page.text)
        self.assertNotIn("<script", text)
        path = self.folder / "a.html"
        page.save(path)
        exatrkx.display(self.event, self.tracks, self.folder / "b.html", title=EVENT.name)
        self.assertEqual(path.read_bytes(), (self.folder / "b.html").read_bytes())


class TestWarnings(LibraryCase):
    def test_no_modules(self) -> None:
        bare = exatrkx.Event.from_arrays(
            self.event.positions, cell_features=self.event.cell_features
        )
        with self.assertWarnsRegex(UserWarning, "not completed: .* no modules"):
            exatrkx.find_tracks(exatrkx.Model.load(), bare, self.context)
        with self.assertWarnsRegex(UserWarning, "not completed: .* no modules"):
            exatrkx.find_tracks_batch(exatrkx.Model.load(), [bare], self.context)

    def test_wrong_worlds(self) -> None:
        """Said where the event is made with its detector, and by the model."""
        arrays = {"modules": self.event.modules, "cells": ([0], [1], [2], [3.0])}
        with self.assertWarnsRegex(UserWarning, "hits reach to 296 mm"):
            exatrkx.Event.from_arrays(
                self.event.positions / 10, detector=self.detector, **arrays
            )
        strange = exatrkx.Event.from_arrays(
            self.event.positions, modules=self.event.modules + 100
        )
        with self.assertWarnsRegex(UserWarning, "layers that the model does not know"):
            exatrkx.find_tracks(self.model, strange, self.context)
        shutil.copy(f"{EVENT}-hits.csv.gz", self.folder / "a-hits.csv.gz")
        cells = trackml_csv.read_table(f"{EVENT}-cells.csv.gz")
        twice = {name: np.tile(values, 2) for name, values in cells.items()}
        trackml_csv.write_table(str(self.folder / "a-cells.csv"), twice)
        with self.assertWarnsRegex(UserWarning, "^a: 3114 cells are repeated"):
            exatrkx.Event.from_trackml(self.folder / "a", detector=self.detector)

    def test_wrong_files(self) -> None:
        """Of files without their detector, too."""
        for kind in ("hits", "truth", "particles"):
            table = trackml_csv.read_table(f"{EVENT}-{kind}.csv.gz")
            for name in {"px", "py", "pz"} & set(table):
                table[name] *= 1000
            trackml_csv.write_table(f"{self.folder}/a-{kind}.csv", table)
        with self.assertWarnsRegex(UserWarning, "^a: .* momenta are wanted in GeV"):
            exatrkx.Event.from_trackml(self.folder / "a")

    def test_right_worlds(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            exatrkx.find_tracks(self.model, exatrkx.Event.example(), self.context)
        self.assertEqual(self.event.check(self.detector, self.model), "")


class TestEvents(LibraryCase):
    def setUp(self) -> None:
        super().setUp()
        self.events = self.folder / "events"
        self.events.mkdir()
        for k in (2, 0, 1):
            for file in EVENT.parent.glob(f"{EVENT.name}-*"):
                name = file.name.replace(EVENT.name, f"event{k}")
                (self.events / name).symlink_to(file)

    def check(self, path: object) -> None:
        events = exatrkx.Events(path, detector=self.detector)
        self.assertEqual(len(events), 3)
        self.assertEqual([n for n in dir(events) if not n.startswith("_")], ["prefixes"])
        prefixes = [os.path.basename(prefix) for prefix in events.prefixes]
        self.assertEqual(prefixes, ["event0", "event1", "event2"])
        for _ in range(2):
            found = list(events)
            names = [event.name for event in found]
            self.assertEqual(names, ["event0", "event1", "event2"])
            for event in found:
                cells = self.event.cell_features
                self.assertTrue(np.array_equal(event.cell_features, cells))
        self.assertEqual(next(iter(events)).name, "event0")  # and no more

    def test_folder(self) -> None:
        self.check(self.events)

    def test_zip(self) -> None:
        path = self.folder / "events.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for file in self.events.iterdir():
                archive.write(file, f"some/folder/{file.name}")
        self.check(path)

    def test_arrays(self) -> None:
        """Files of numpy.savez, in a folder, in a zip file and alone."""
        names = ("positions", "modules", "cell_features", "particle_ids", "particles")
        arrays = {name: getattr(self.event, name) for name in names}
        folder = self.folder / "arrays"
        folder.mkdir()
        np.savez(folder / "event7.npz", **arrays)
        zipped = shutil.make_archive(str(folder), "zip", folder)
        for path in (folder, zipped, folder / "event7.npz"):
            with self.subTest(path):
                (event,) = exatrkx.Events(path)
                self.assertEqual(event.name, "event7")
                for name, values in arrays.items():
                    np.testing.assert_array_equal(getattr(event, name), values)
        np.savez(folder / "event7.npz", positions=arrays["positions"], colour=[1])
        with self.assertRaisesRegex(ValueError, "event7.npz: .*colour"):
            list(exatrkx.Events(folder))

    def test_prefix(self) -> None:
        """Or the name of its file of hits."""
        for name in (EVENT, f"{EVENT}-hits.csv.gz"):
            (event,) = exatrkx.Events(name)
            self.assertEqual((len(event), event.name), (len(self.event), EVENT.name))
        event = exatrkx.Event.from_trackml(f"{EVENT}-hits.csv.gz")
        self.assertEqual((event.name, event.has_truth), (EVENT.name, True))

    def test_progress(self) -> None:
        """Bars are seen by nobody where stderr is no terminal."""
        events = exatrkx.Events([EVENT, EVENT], detector=self.detector, progress=True)
        with contextlib.redirect_stderr(io.StringIO()) as shown:
            self.assertEqual([event.name for event in events], [EVENT.name] * 2)
        self.assertEqual(shown.getvalue(), "")

    @needs("tqdm")
    def test_progress_on_a_terminal(self) -> None:
        code = "import sys, exatrkx; list(exatrkx.Events(sys.argv[1], progress=True))"
        self.assertRegex(self.terminal("-c", code, self.events), r"3/3 \[.*event/s")

    def terminal(self, *arguments: object) -> str:
        """What a terminal of 100 columns shows of a Python; a line that is replaced is
        followed by what replaces it."""
        ours, theirs = os.openpty()
        size = struct.pack("HHHH", 30, 100, 0, 0)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, size)
        command = [sys.executable, *map(str, arguments)]
        running = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # of a terminal that is closed
            while part := os.read(ours, 4096):
                shown += part
        os.close(ours)
        self.assertEqual(running.wait(), 0, shown)
        return shown.decode().replace("\r", "\n")

    def test_refused(self) -> None:
        empty = self.folder / "empty"
        empty.mkdir()
        for nothing in (empty, self.folder / "typo", self.folder / "typo.npz"):
            with self.assertRaisesRegex(FileNotFoundError, f"{nothing}: no .*hits.csv"):
                exatrkx.Events(nothing)
        with self.assertRaisesRegex(ValueError, "ahead 0"):
            exatrkx.Events(self.events, ahead=0)
        (self.events / "event1-hits.csv.gz").unlink()
        (self.events / "event1-hits.csv").write_text("no hits")
        found = iter(exatrkx.Events(self.events))
        self.assertEqual(next(found).name, "event0")
        with self.assertRaises(exatrkx.FormatError):
            next(found)


if __name__ == "__main__":
    unittest.main()
