"""test_subpackages -- what works without the library, and without other subpackages.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import unittest
from pathlib import Path

from support import PACKAGE, FolderCase, needs

# What the modules of each may import of the others; binding is exatrkx itself.
LAW = {
    "files": set(),
    "simulation": {"files"},
    "binding": {"files"},
    "conversion": {"files", "binding"},
    "plotting": {"files", "binding"},
    "tools": {"files", "simulation", "binding"},
    "adaptation": {"files", "tools", "binding"},
    "serving": {"files", "binding"},
}
WITHOUT_LIBRARY = ("files", "simulation", "conversion")
IMPORT_ALL = """
import importlib, pkgutil, sys
import exatrkx
package = importlib.import_module("exatrkx." + sys.argv[1])
for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
    importlib.import_module(module.name)
print(*(name for name in sys.modules if name.startswith("exatrkx.")))
"""


def run(*arguments: str) -> str:
    """What Python prints where the library cannot be found."""
    environment = {"ETX_LIBRARY": "/none.so", "PYTHONPATH": str(PACKAGE)}
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


def house(parts: tuple[str, ...]) -> str:
    """The subpackage of a module, ("exatrkx", "files", "safetensors"), or binding."""
    return parts[1] if len(parts) > 1 and parts[1] in LAW else "binding"


def imported(path: Path) -> set[str]:
    """The houses of all that a file imports by relative imports."""
    package = path.relative_to(PACKAGE).parent.parts
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level > 0:
            base = package[: len(package) - node.level + 1]
            base += tuple(node.module.split(".")) if node.module else ()
            found |= {house((*base, alias.name)) for alias in node.names}
    return found


class Subpackages(FolderCase):
    def test_law(self) -> None:
        for path in sorted((PACKAGE / "exatrkx").rglob("*.py")):
            where = house(path.relative_to(PACKAGE).with_suffix("").parts)
            if path.name in ("__init__.py", "__main__.py") and where == "binding":
                continue  # they load the others when they are used
            with self.subTest(str(path)):
                self.assertLessEqual(imported(path) - {where}, LAW[where])

    def test_imports(self) -> None:
        for package in WITHOUT_LIBRARY:
            with self.subTest(package):
                names = run("-c", IMPORT_ALL, package).split()
                loaded = {name.split(".")[1] for name in names}
                self.assertLessEqual(loaded, {package, "files"})

    def test_library_is_not_found(self) -> None:
        with self.assertRaisesRegex(AssertionError, "/none.so"):
            run("-c", "import exatrkx; exatrkx.Model")

    @needs("acts")
    def test_simulation(self) -> None:
        """Events are simulated where there is no library."""
        out = str(self.folder / "events")
        text = run("-m", "exatrkx", "simulate", "--pileup", "1", "--out", out)
        self.assertIn("event 0: ", text)
        self.assertEqual(len(os.listdir(out)), 4)


if __name__ == "__main__":
    unittest.main()
