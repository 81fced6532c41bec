"""test_commands -- exatrkx COMMAND.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

from support import EVENT, PACKAGE, ROOT, LibraryCase, has

from exatrkx import _programs
from exatrkx.__main__ import MODULES, PROGRAMS, main
from exatrkx.files import event_files, trackml_csv

BUILT = ROOT / "build" / "examples"


def run(*arguments: object) -> tuple[int, str, str]:
    """Exit status, standard output and standard error."""
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        try:
            status = main([str(a) for a in arguments])
        except SystemExit as stop:
            status = int(stop.code or 0)
    return status, out.getvalue(), error.getvalue()


def run_process(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, which a program replaces."""
    return subprocess.run(
        [sys.executable, "-m", "exatrkx", *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
        capture_output=True,
        text=True,
    )


class TestCommands(LibraryCase):
    def test_help(self) -> None:
        text = run("--help")[1]
        for name in (*PROGRAMS, *MODULES):
            self.assertIn(f"\n  {name} ", text)
        self.assertRegex(run("--version")[1], r"^\d+\.\d+\.\d+\n$")
        for name in set(MODULES) - {"simulate"}:  # which needs pyacts
            with self.subTest(name):
                status, text, _ = run(name, "--help")
                self.assertEqual(status, 0)
                self.assertIn(f"usage: exatrkx {name}", text)
                # A name cut short would be another's once there are more options.
                self.assertEqual(run(name, "--hel")[0], 2)
                self.assertNotRegex(text, r"SPDX|\(default: None\)")
                # An argument alone on its line has its help on the next.
                self.assertNotRegex(text, r"(?m)^  \S+( \S+)*\n(?! {4})")
        for figure in re.findall(r"(?m)^    (\w+)\b", run("plot", "--help")[1]):
            with self.subTest(figure):
                self.assertEqual(run("plot", figure, "--help")[0], 0)
                self.assertEqual(run("plot", figure, "--hel")[0], 2)

    def test_reader_gone(self) -> None:
        """No traceback where, as of `head`, nobody reads the output."""
        for arguments in (["--help"], ["adjust", "--help"]):
            reader, writer = os.pipe()
            os.close(reader)
            done = subprocess.run(
                [sys.executable, "-m", "exatrkx", *arguments],
                env={**os.environ, "PYTHONPATH": str(PACKAGE)},
                stdout=writer,
                stderr=subprocess.PIPE,
            )
            os.close(writer)
            self.assertEqual(done.stderr, b"")

    def test_unknown(self) -> None:
        """The word and the list; the list alone where there is no word."""
        status, _, text = run("no-such")
        self.assertEqual(status, 2)
        self.assertEqual(text.splitlines()[0], "exatrkx: no command no-such")
        self.assertIn("find-tracks", text)
        status, _, text = run()
        self.assertEqual((status, text.splitlines()[0][:6]), (2, "usage:"))

    @unittest.skipUnless(BUILT.exists(), f"no {BUILT}: make programs")
    def test_programs(self) -> None:
        """Each is the program of that name, with its exit status and files."""
        for name, (program, _) in PROGRAMS.items():
            with self.subTest(name):
                done = run_process(name, "--help")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn(f"usage: {program}", done.stdout)
        out = self.folder / "tracks.csv"
        done = run_process("find-tracks", "--event", EVENT, "--out", out)
        self.assertEqual(done.returncode, 0, done.stderr)
        expected = self.folder / "expected.csv"
        self.tracks.write_csv(expected, self.event)
        self.assertEqual(out.read_bytes(), expected.read_bytes())
        done = run_process("evaluate", "--event", EVENT, "--tracks", "/none.csv")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))

    def test_program_is_missing(self) -> None:
        """One line that says where it was looked for."""
        elsewhere = mock.patch.object(_programs, "PACKAGE", self.folder / "a" / "b")
        with elsewhere, mock.patch.dict(os.environ, {"PATH": str(self.folder)}):
            status, _, text = run("find-tracks")
        self.assertEqual((status, text.count("\n")), (1, 1))
        self.assertIn("find-tracks: no program etx-find-tracks in ", text)
        self.assertIn(str(self.folder / "a" / "b" / "bin"), text)

    def test_programs_of_a_package(self) -> None:
        """They come before others, and find what the package carries."""
        program = self.folder / "bin" / "etx-train"
        program.parent.mkdir()
        program.touch(0o755)
        (self.folder / "models").mkdir()
        with mock.patch.object(_programs, "PACKAGE", self.folder):
            self.assertEqual(Path(_programs.find("etx-train")), program)
            with mock.patch.dict(os.environ, clear=True):
                self.assertEqual(_programs.environment()["ETX_DATA"], str(self.folder))
            with mock.patch.dict(os.environ, {"ETX_DATA": "/own"}):
                self.assertEqual(_programs.environment()["ETX_DATA"], "/own")

    def test_files_of_events(self) -> None:
        """The text before the compressed one, and nothing that merely has the
        name of an event in it."""
        for name in ("a-hits.csv", "a-hits.csv.gz", "b-hits.csv.gz"):
            (self.folder / name).touch()
        for name in ("old-hits.csv.bak", "c-hits.csv.part", "d-truth.csv"):
            (self.folder / name).touch()
        prefixes = event_files.find(str(self.folder))
        self.assertEqual(prefixes, [f"{self.folder}/a", f"{self.folder}/b"])
        files = [trackml_csv.find_file(prefix, "hits") for prefix in prefixes]
        self.assertEqual(
            files, [f"{self.folder}/a-hits.csv", f"{self.folder}/b-hits.csv.gz"]
        )

    def test_display(self) -> None:
        tracks = self.folder / "t.csv"
        self.tracks.write_csv(tracks, self.event)
        given = ["--event", EVENT, "--tracks", tracks]
        for name in ("a.html", "a.json"):
            out = self.folder / name
            self.assertEqual(run("display", *given, "--out", out)[0], 0)
            self.assertGreater(out.stat().st_size, 10000)
            found = self.folder / f"found-{name}"
            self.assertEqual(run("display", "--event", EVENT, "--out", found)[0], 0)
            self.assertEqual(out.read_bytes(), found.read_bytes())
            given[1] = f"{EVENT}-hits.csv.gz"
            self.assertEqual(run("display", *given, "--out", out)[0], 0)
            self.assertEqual(out.read_bytes(), found.read_bytes())
        status, _, log = run("display", *given, "--out", out, "--model", "none")
        self.assertEqual((status, "not with --tracks" in log), (2, True), log)
        self.assertEqual(run("display", "--event", EVENT, "--out", "a.bmp")[0], 2)

    def test_failures(self) -> None:
        """One line on stderr says what is wrong."""
        for wrong in (
            ("--event", "/none", "--out", self.folder / "x.html"),
            ("--event", EVENT, "--out", self.folder / "none" / "x.html"),
            ("--event", EVENT, "--tracks", "/none.csv", "--out", self.folder / "x.json"),
        ):
            with self.subTest(wrong):
                status, _, log = run("display", *wrong)
                self.assertEqual((status, log.count("\n")), (1, 1), log)
                self.assertNotIn("None", log)

    def test_outputs(self) -> None:
        """Where nothing can be written, that is told before anything is read."""
        (self.folder / "plain").touch()
        weights = ("--family", "mlp", "--weights", "/no.npz")
        for ending, *command in (
            ("csv", "learn-field", "/no"),
            ("safetensors", "convert", *weights),
            ("safetensors", "adjust", "/no.safetensors"),
            ("safetensors", "adapt", "/no"),
            ("parquet", "colliderml-tracks", "/no"),
            ("png", "plot", "training", "/no"),
            ("html", "display", "--event", "/no"),
        ):
            if command[0] == "plot" and not has("matplotlib"):
                continue
            folder = self.folder / f"a.{ending}"
            folder.mkdir(exist_ok=True)
            for out, error in (
                (folder, errno.EISDIR),
                (self.folder / "none" / folder.name, errno.ENOENT),
                (self.folder / "plain" / folder.name, errno.ENOTDIR),
            ):
                with self.subTest(command, out=out):
                    status, _, log = run(*command, "--out", out)
                    wrong = f"[Errno {error}] {os.strerror(error)}: '{out}'"
                    self.assertEqual((status, log), (1, f"{command[0]}: {wrong}\n"))
        latency = ("--latency", "/none/x", "--out", self.folder / "x")
        self.assertIn("'/none/x'", run("colliderml-tracks", "/no", *latency)[2])
