"""test_walkthrough -- the Python of the documents runs.

The blocks of docs/python.md run one after the other, and so do the blocks of
README.md, in a folder that holds nothing but the examples.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import io
import os
import re

from support import ROOT, LibraryCase


def blocks(document: str) -> list[str]:
    """The blocks of Python of a Markdown file."""
    text = (ROOT / document).read_text()
    return re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


class TestWalkthrough(LibraryCase):
    def run_blocks(self, document: str, event: str = "event000000001") -> str:
        """What the blocks print, of this event."""
        if not (self.folder / "examples").exists():
            (self.folder / "examples").symlink_to(ROOT / "examples")
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        found = blocks(document)
        self.assertGreater(len(found), 0)
        space: dict[str, object] = {}
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            for number, block in enumerate(found):
                block = block.replace("event000000001", event)
                exec(compile(block, f"{document}, block {number}", "exec"), space)
        return printed.getvalue()

    def test_docs(self) -> None:
        text = self.run_blocks("docs/python.md")
        self.assertIn(f"{len(self.tracks)} tracks", text)
        self.assertIn("no-such-file", text)
        self.assertTrue((self.folder / "event.html").exists())
        for event in ("event000000000", "event000000002"):
            self.run_blocks("docs/python.md", event)

    def test_readme(self) -> None:
        text = self.run_blocks("README.md")
        self.assertIn(f"{len(self.tracks)} tracks", text)
        program = next(b for b in blocks("README.md") if "find_tracks" in b)
        self.assertLessEqual(program.count("\n"), 10)
