"""support -- what the tests of the Python interface have in common.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "bindings" / "python"
BUILD = ROOT / os.environ.get("ETX_BUILD", "build")
EVENT = ROOT / "examples" / "data" / "event000000001"
MODEL = ROOT / "examples" / "models" / "default.safetensors"
REFERENCE = Path(os.environ.get("ETX_REFERENCE_DATA", ROOT.parent / "shared" / "data"))
LIBRARY = Path(
    os.environ.setdefault("ETX_LIBRARY", str(ROOT / "lib" / "libexatrkx.so"))
)
sys.path[:0] = [str(PACKAGE), str(ROOT / "examples" / "studies")]


def has(module: str) -> bool:
    """Whether a module can be imported."""
    return importlib.util.find_spec(module) is not None


def needs(module: str):
    """Skip where a module is missing, and say so."""
    return unittest.skipUnless(has(module), f"{module} is not installed")


class FolderCase(unittest.TestCase):
    """A test with a folder."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


class EventTablesCase(FolderCase):
    """A command that writes TrackML events to the folder."""

    def run_command(self, main, *arguments) -> tuple[int, str]:
        """Status and output."""
        text = io.StringIO()
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            code = main([*map(str, arguments), "--out", str(self.folder)])
        return code, text.getvalue()

    def table(self, event: int, kind: str):
        from exatrkx.files import trackml_csv

        path = trackml_csv.event_path(str(self.folder), event, kind, True)
        return trackml_csv.read_table(path)


@unittest.skipUnless(LIBRARY.exists(), f"no {LIBRARY}: make lib")
class LibraryCase(FolderCase):
    """The model and an event that ship, and a folder."""

    @classmethod
    def setUpClass(cls) -> None:
        import exatrkx

        cls.model = exatrkx.Model.load()
        cls.detector = exatrkx.Detector.load()
        cls.event = exatrkx.Event.from_trackml(EVENT, detector=cls.detector)
        cls.context = exatrkx.Context(threads=1)
        cls.tracks = exatrkx.find_tracks(cls.model, cls.event, cls.context)


class ModelToolCase(FolderCase):
    """A module whose main makes a model file of another: its tests set tool."""

    tool = None

    def setUp(self) -> None:
        super().setUp()
        self.out = self.folder / "made.safetensors"

    def run_main(self, *arguments: str, model: Path = MODEL) -> tuple[int, str]:
        """Exit status and what was printed."""
        text = io.StringIO()
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            code = self.tool.main([str(model), "--out", str(self.out), *arguments])
        return code, text.getvalue()
