"""test_commands -- python -m exatrkx.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import unittest
from unittest import mock

from support import BUILD, EVENT, ROOT, LibraryCase, needs

import exatrkx
from exatrkx.files import trackml_csv
from exatrkx.__main__ import MODULES, main

EVALUATE = BUILD / "examples" / "etx-evaluate"


def run(*arguments: object) -> tuple[int, str, str]:
    """Exit status, standard output and standard error."""
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        try:
            status = main([str(a) for a in arguments])
        except SystemExit as stop:
            status = int(stop.code or 0)
    return status, out.getvalue(), error.getvalue()


class TestCommands(LibraryCase):
    def test_help(self) -> None:
        self.assertEqual(run("--help")[0], 0)
        self.assertRegex(run("--version")[1], r"^\d+\.\d+\.\d+\n$")
        for wrong in ((), ("no-such",)):
            self.assertEqual(run(*wrong)[0], 2)
        for name in set(MODULES) - {"simulate"}:  # which needs pyacts
            with self.subTest(name):
                status, text, _ = run(name, "--help")
                self.assertEqual(status, 0)
                self.assertIn("usage", text)

    @unittest.skipUnless(EVALUATE.exists(), f"no {EVALUATE}: make programs")
    def test_find_and_evaluate(self) -> None:
        out = self.folder / "tracks.csv"
        status, text, log = run(
            "find-tracks", "--event", EVENT, "--out", out, "--timing"
        )
        self.assertEqual((status, "gnn" in log), (0, True), log)
        self.assertIn(f"{len(self.tracks)} tracks", text)
        options = ["--event", EVENT, "--tracks", out, "--min-pt", "0.5"]
        ours = run("evaluate", *options, "--json")
        theirs = subprocess.run(
            [EVALUATE, *options, "--json"],
            check=True,
            capture_output=True,
            text=True,
            cwd=ROOT,
        )
        found, wanted = json.loads(ours[1]), json.loads(theirs.stdout)
        for key, value in found.items():
            with self.subTest(key):
                if isinstance(value, float):
                    self.assertAlmostEqual(value, wanted[key], 6)
                else:
                    self.assertEqual(value, wanted[key])
        self.assertEqual(found.keys(), wanted.keys())
        again = run("evaluate", *options)[1]
        text = str(exatrkx.evaluate(self.event, self.tracks, min_pt=0.5))
        self.assertIn("technical efficiency", again)
        self.assertEqual(again, text + "\n")

    def test_folder(self) -> None:
        out = self.folder / "all"
        first, second = EVENT, EVENT.parent / "event000000000"
        pair = ["--event", first, "--event", second]
        self.assertEqual(run("find-tracks", *pair, "--out", out)[0], 0)
        self.assertEqual(len(list(out.iterdir())), 2)
        again = self.folder / "one"
        single = ["--at-once", "1", "--out", again]
        self.assertEqual(run("find-tracks", *pair, *single)[0], 0)
        for file in out.iterdir():
            self.assertEqual(file.read_bytes(), (again / file.name).read_bytes())
        for wrong in (["--at-once", "0"], ["--at-once", "2", "--timing"]):
            status, _, log = run("find-tracks", *pair, *wrong, "--out", out)
            self.assertEqual((status, "--at-once" in log), (2, True), log)
        self.assertEqual(run("evaluate", *pair, "--tracks", out)[0], 0)
        (out / "event000000001-tracks.csv.gz").write_text("of before")
        self.assertEqual(run("evaluate", *pair, "--tracks", out)[0], 0)
        one = out / "event000000001-tracks.csv"
        self.assertEqual(run("evaluate", *pair, "--tracks", one)[0], 1)

    def test_same_name(self) -> None:
        """Of two events of one name neither replaces the other."""
        out, copies = self.folder / "out", self.folder / "copies"
        copies.mkdir()
        for file in EVENT.parent.glob(f"{EVENT.name}-*"):
            (copies / file.name).write_bytes(file.read_bytes())
        pair = ["--event", EVENT, "--event", copies / EVENT.name]
        for arguments in (
            ("find-tracks", *pair, "--out", out),
            ("evaluate", *pair, "--tracks", copies),
        ):
            with self.subTest(arguments[0]):
                status, _, log = run(*arguments)
                self.assertEqual(status, 1)
                self.assertIn(str(EVENT), log)
                self.assertIn(str(copies / EVENT.name), log)
        self.assertFalse(out.exists())
        tracks = self.folder / "t.csv"
        self.tracks.write_csv(tracks, self.event)
        given = ["--tracks", tracks, "--tracks", tracks]
        self.assertEqual(run("evaluate", *pair, *given)[0], 0)

    def test_files_of_events(self) -> None:
        """The text before the compressed one, and nothing that merely has the
        name of an event in it."""
        for name in ("a-hits.csv", "a-hits.csv.gz", "b-hits.csv.gz"):
            (self.folder / name).touch()
        for name in ("old-hits.csv.bak", "c-hits.csv.part", "d-truth.csv"):
            (self.folder / name).touch()
        prefixes = trackml_csv.find_events(str(self.folder))
        self.assertEqual(prefixes, [f"{self.folder}/a", f"{self.folder}/b"])
        files = [trackml_csv.find_file(prefix, "hits") for prefix in prefixes]
        self.assertEqual(
            files, [f"{self.folder}/a-hits.csv", f"{self.folder}/b-hits.csv.gz"]
        )

    @needs("matplotlib")
    def test_display(self) -> None:
        tracks = self.folder / "t.csv"
        self.tracks.write_csv(tracks, self.event)
        for name in ("a.html", "a.json", "a.png"):
            out = self.folder / name
            given = ["--event", EVENT, "--tracks", tracks, "--out", out]
            self.assertEqual(run("display", *given)[0], 0)
            self.assertGreater(out.stat().st_size, 10000)
        status, _, log = run("display", *given, "--model", "none")
        self.assertEqual((status, "not with --tracks" in log), (2, True), log)
        self.assertNotIn("folder", run("display", "--help")[1])
        wrong = ["display", "--event", EVENT, "--out", "a.bmp"]
        self.assertEqual(run(*wrong)[0], 2)

    def test_failures(self) -> None:
        """One line on stderr says what is wrong."""
        for arguments in (
            ("find-tracks", "--event", "/none", "--out", self.folder / "x"),
            ("find-tracks", "--event", self.folder, "--out", "x.csv"),
            ("evaluate", "--event", EVENT, "--tracks", "/none.csv"),
            ("display", "--event", "/none", "--out", self.folder / "x.html"),
            ("display", "--event", EVENT, "--out", self.folder / "none" / "x.html"),
        ):
            with self.subTest(arguments[0]):
                status, _, log = run(*arguments)
                self.assertEqual((status, log.count("\n")), (1, 1), log)
                self.assertNotIn(".part", log)
                self.assertNotIn("None", log)
        out = ["--out", self.folder / "x.png"]
        with mock.patch.dict("sys.modules", matplotlib=None):
            status, _, log = run("display", "--event", EVENT, *out)
        self.assertEqual(log, "display: needs matplotlib (pip install matplotlib)\n")
