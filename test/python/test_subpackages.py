"""test_subpackages -- what works without the library, and without other subpackages.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import subprocess
import sys
import unittest

from support import PACKAGE, FolderCase, needs

# What the modules of a subpackage may import of the package.
ALLOWED = {
    "files": {"files"},
    "simulation": {"files", "simulation"},
    "conversion": {"files", "conversion"},
}
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


class Subpackages(FolderCase):
    def test_imports(self) -> None:
        for package, allowed in ALLOWED.items():
            with self.subTest(package):
                names = run("-c", IMPORT_ALL, package).split()
                loaded = {name.split(".")[1] for name in names}
                self.assertLessEqual(loaded, allowed)

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
