"""test_wheel -- the package as pip installs it.

The wheel is built from the repository, installed into an environment of its
own next to this numpy, and finds tracks there with what it carries.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from support import BUILD, EVENT, LIBRARY, PACKAGE, REFERENCE, ROOT, has

NEWEST_GLIBC = (2, 34)
TEN_LINES = f"""
import exatrkx
from exatrkx import _library
assert "site-packages" in _library.library._name, _library.library._name
model, detector = exatrkx.Model.load(), exatrkx.Detector.load()
event = exatrkx.Event.from_trackml({str(EVENT)!r}, detector=detector)
tracks = exatrkx.find_tracks(model, event)
tracks.write_csv("tracks.csv", event)
exatrkx.display(event, tracks, "event.html")
assert len(exatrkx.find_tracks(exatrkx.Model.load("accurate"), event)) > 0
assert len(exatrkx.Event.example()) == len(event)
"""
REAL_EVENT = REFERENCE / "trackml_event" / "event000000001"
REAL_LINES = f"""
event = exatrkx.Event.from_trackml({str(REAL_EVENT)!r}, detector=detector)
exatrkx.find_tracks(model, event).write_csv("real.csv", event)
"""
PROGRAM = BUILD / "examples" / "etx-find-tracks"


def setuptools_version() -> int:
    """Its major version, 0 where there is none."""
    if not (has("setuptools") and has("pip")):
        return 0
    return int(importlib.metadata.version("setuptools").split(".")[0])


def no_setuptools() -> dict[str, Any]:
    """Modules with the names that setup.py takes from setuptools, for its
    functions and constants alone: they need no setuptools."""
    modules: dict[str, Any] = {
        "setuptools": SimpleNamespace(Distribution=object, setup=dict),
        "setuptools.command": SimpleNamespace(),
    }
    for name in ("bdist_wheel", "build_py", "sdist"):
        command = SimpleNamespace(**{name: object})
        modules[f"setuptools.command.{name}"] = command
    return modules


def needed_glibc(library: Path) -> tuple[int, ...]:
    """The newest version of glibc that a symbol needs."""
    text = subprocess.run(
        ["objdump", "-T", library], check=True, capture_output=True, text=True
    ).stdout
    found = re.findall(r"GLIBC_(\d+(?:\.\d+)+)", text)
    return max(tuple(map(int, one.split("."))) for one in found)


@unittest.skipUnless(LIBRARY.exists(), f"no {LIBRARY}: make lib")
class TestWheel(unittest.TestCase):
    @unittest.skipUnless(
        setuptools_version() >= 77, "no pip with setuptools 77 or later"
    )
    @unittest.skipUnless(has("numpy"), "numpy is not installed")
    def test_install(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            wheel = self.build(folder)
            self.check_contents(wheel)
            self.run_installed(folder, wheel)

    def test_source_distribution(self) -> None:
        """What it carries is enough for make to know how to build."""
        self.check_build("0", ("-o lib/libexatrkx.so", "-o build/wheel/etx-train"))

    def test_source_distribution_cuda(self) -> None:
        """cuBLASLt is looked for where PyPI's nvidia-cublas puts it."""
        library, nearby = "-o build/cuda/lib/libexatrkx.so", "/nvidia/cu13/lib"
        self.check_build("1", (library, nearby, "-o build/cuda/wheel/etx-train"))

    @mock.patch.dict(os.environ)
    def check_build(self, cuda: str, built: tuple[str, ...]) -> None:
        """What make would do has all of built."""
        os.environ["CUDA"] = cuda
        with mock.patch.dict(sys.modules, no_setuptools()):
            carried = runpy.run_path(str(PACKAGE / "setup.py"))
        with tempfile.TemporaryDirectory() as name:
            tree = Path(name)
            for part in carried["sources"](ROOT):
                (tree / part).parent.mkdir(parents=True, exist_ok=True)
                (tree / part).symlink_to(ROOT / part)
            with mock.patch("subprocess.run") as run:
                carried["build_native"](tree)
            (command,) = run.call_args.args
            done = subprocess.run(
                [*command, "-n"], capture_output=True, text=True, env=self.clean()
            )
        self.assertEqual(done.returncode, 0, done.stderr)
        for one in built:
            self.assertIn(one, done.stdout)

    def build(self, folder: Path) -> Path:
        """The wheel; the sources are copied so that pip leaves no trace."""
        tree = folder / "tree"
        package = tree / "bindings" / "python"
        shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("build"))
        for part in ("Makefile", "src", "include", "examples", "lib", "build"):
            (tree / part).symlink_to(ROOT / part)
        command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps"]
        command += ["--no-build-isolation", "--no-index", "-w", folder, package]
        done = subprocess.run(command, capture_output=True, text=True, env=self.clean())
        self.assertEqual(done.returncode, 0, done.stderr)
        (wheel,) = folder.glob("*.whl")
        self.assertRegex(wheel.name, r"-py3-none-linux_\w+\.whl$")
        return wheel

    def check_contents(self, wheel: Path) -> None:
        names = zipfile.ZipFile(wheel).namelist()
        for wanted in (
            "exatrkx/lib/libexatrkx.so.0",
            "exatrkx/bin/etx-find-tracks",
            "exatrkx/bin/etx-train",
            "exatrkx/models/accurate.safetensors",
            "exatrkx/models/default.safetensors",
            "exatrkx/models/positions.safetensors",
            "exatrkx/configs/gnn_further.json",
            "exatrkx/data/detectors.csv.gz",
            "exatrkx/data/event000000001-hits.csv.gz",
            "exatrkx/plotting/page/page.html",
            "exatrkx/py.typed",
        ):
            self.assertIn(wanted, names)
        self.assertTrue(any(name.endswith("/LICENSE") for name in names), names)

    def run_installed(self, folder: Path, wheel: Path) -> None:
        """Ten lines give what the C program gives."""
        import numpy

        venv = folder / "venv"
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", venv], check=True
        )
        python = venv / "bin" / "python"
        (packages,) = venv.glob("lib/python*/site-packages")
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps"]
        command += ["--no-index", "--target", packages, wheel]
        subprocess.run(command, check=True, env=self.clean())
        numpy_folder = Path(numpy.__file__).parents[1]
        (packages / "numpy.pth").write_text(f"{numpy_folder}\n")
        events = {"tracks.csv": EVENT}
        lines = TEN_LINES
        if Path(f"{REAL_EVENT}-hits.csv.gz").exists():
            events["real.csv"] = REAL_EVENT
            lines += REAL_LINES
        subprocess.run([python, "-c", lines], check=True, cwd=folder, env=self.clean())
        # Its programs: the same tracks, with nothing of the repository.
        script = [python, packages / "bin" / "exatrkx"]
        line = ["find-tracks", "--event", EVENT, "--out", "program.csv"]
        environment = {**self.clean(), "PATH": "/usr/bin:/bin"}
        subprocess.run([*script, *line], check=True, cwd=folder, env=environment)
        tracks = [(folder / name).read_bytes() for name in ("program.csv", "tracks.csv")]
        self.assertEqual(*tracks)
        line = ["train", "--help"]
        done = subprocess.run([*script, *line], capture_output=True, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        for name, prefix in events.items():
            self.check_tracks(folder / name, prefix)
        self.assertGreater((folder / "event.html").stat().st_size, 10000)

    def check_tracks(self, found: Path, prefix: Path) -> None:
        """The file is the one that the C program writes."""
        if not PROGRAM.exists():
            self.skipTest(f"no {PROGRAM}: make programs")
        expected = found.with_suffix(".program.csv")
        command = [PROGRAM, "--event", prefix, "--out", expected]
        subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
        self.assertEqual(found.read_bytes(), expected.read_bytes())

    def clean(self) -> dict[str, str]:
        """The environment without what points at the repository."""
        hidden = ("ETX_LIBRARY", "PYTHONPATH", "ETX_BUILD", "MAKEFLAGS")
        return {k: v for k, v in os.environ.items() if k not in hidden}

    @unittest.skipUnless(shutil.which("objdump"), "no objdump (binutils)")
    def test_glibc(self) -> None:
        if not sys.platform.startswith("linux"):
            self.skipTest("not Linux")
        programs = sorted((BUILD / "wheel").glob("etx-*"))
        for file in (LIBRARY, *programs):
            with self.subTest(file.name):
                self.assertLessEqual(needed_glibc(file), NEWEST_GLIBC)
