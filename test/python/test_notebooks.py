"""test_notebooks -- the notebooks of docs/notebooks run from top to bottom.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

from support import PACKAGE, ROOT, LibraryCase, needs

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


class TestNotebooks(LibraryCase):
    def environment(self) -> dict[str, str]:
        return os.environ | {"PYTHONPATH": str(PACKAGE), "HOME": str(self.folder)}

    def test_code(self) -> None:
        """The code cells one after the other, without a kernel."""
        self.assertEqual(len(NOTEBOOKS), 2)
        for path in NOTEBOOKS:
            cells = json.loads(path.read_text())["cells"]
            code = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
            done = subprocess.run(
                [sys.executable, "-c", "\n".join(code)],
                cwd=self.folder,
                env=self.environment(),
                capture_output=True,
                text=True,
            )
            self.assertEqual(done.returncode, 0, f"{path.name}\n{done.stderr}")

    def test_stored_without_results(self) -> None:
        for path in NOTEBOOKS:
            for cell in json.loads(path.read_text())["cells"]:
                self.assertFalse(cell.get("outputs"), path.name)

    @needs("nbclient")
    @needs("ipykernel")
    def test_kernel(self) -> None:
        """In a kernel, as Jupyter does: every table and display is made."""
        import nbclient
        import nbformat

        os.environ["PYTHONPATH"] = str(PACKAGE)
        for path in NOTEBOOKS:
            book = nbformat.read(path, 4)
            nbclient.NotebookClient(
                book, timeout=300, resources={"metadata": {"path": str(self.folder)}}
            ).execute()
            kinds = {
                kind
                for cell in book.cells
                for shown in cell.get("outputs", ())
                for kind in shown.get("data", ())
            }
            self.assertIn("text/html", kinds, path.name)
            texts = [
                shown["text"]
                for cell in book.cells
                for shown in cell.get("outputs", ())
                if shown.get("name") == "stderr"
            ]
            self.assertNotIn("Warning", "".join(texts), path.name)
