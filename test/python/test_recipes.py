"""test_recipes -- the recipes in docs/packaging have the form that they claim.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ast
import importlib.util
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "docs" / "packaging"
VERSION_H = ROOT / "include/exatrkx/version.h"
HAVE_RATTLER = importlib.util.find_spec("rattler_build")


def version() -> str:
    """Of the library, as its header says."""
    return ".".join(re.findall(r"#define ETX_VERSION_\w+ (\d+)", VERSION_H.read_text()))


class Recipes(unittest.TestCase):
    def test_spack(self) -> None:
        tree = ast.parse((PACKAGING / "spack" / "package.py").read_text())
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        self.assertEqual([one.name for one in classes], ["Libexatrkx"])
        # From Spack 1.0 on spack.package has no classes of build systems.
        imported = {
            alias.name
            for node in tree.body
            if isinstance(node, ast.ImportFrom) and node.module != "spack.package"
            for alias in node.names
        }
        bases = {ast.unparse(base) for one in classes for base in one.bases}
        self.assertLessEqual(bases, imported)

    @unittest.skipUnless(HAVE_RATTLER, "py-rattler-build is not installed")
    def test_conda(self) -> None:
        import rattler_build

        platform = rattler_build.PlatformConfig(target_platform="linux-64")
        (variant,) = rattler_build.Stage0Recipe.from_file(
            PACKAGING / "conda" / "recipe.yaml"
        ).render(
            rattler_build.VariantConfig(),
            rattler_build.RenderConfig(platform=platform),
        )
        recipe = variant.recipe.to_dict()
        self.assertEqual(recipe["package"]["version"], version())
        self.assertIn("zlib", recipe["requirements"]["host"])

    def test_debian(self) -> None:
        changelog = (PACKAGING / "debian" / "changelog").read_text()
        self.assertTrue(changelog.startswith(f"libexatrkx ({version()}) "), changelog)
        control = (PACKAGING / "debian" / "control").read_text()
        for package in control.split("Package: ")[1:]:
            name = package.splitlines()[0]
            self.assertTrue((PACKAGING / "debian" / f"{name}.install").exists(), name)

    def test_version(self) -> None:
        """version.sh sets it wherever it stands."""
        files = [
            *ROOT.glob("include/exatrkx/*.h"),
            *ROOT.glob("bindings/python/*.*"),
            PACKAGING / "conda/recipe.yaml",
            PACKAGING / "debian/changelog",
            ROOT / "bindings/python/exatrkx/_declarations.py",
            ROOT / "src/stage/options.c",
        ]
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder)
            for file in filter(Path.is_file, files):
                target = copy / file.relative_to(ROOT)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, target)
            changes = "# Changelog\n\n## Unreleased\n\n* one\n"
            (copy / "CHANGELOG.md").write_text(changes)
            command = [str(PACKAGING / "version.sh"), "12.34.56", "2027-01-31"]
            subprocess.run(command, cwd=copy, check=True)
            for name, line in {
                "include/exatrkx/version.h": "#define ETX_VERSION_PATCH 56",
                "bindings/python/exatrkx/_declarations.py": "ETX_VERSION_MINOR = 34",
                "bindings/python/pyproject.toml": 'version = "12.34.56"',
                "docs/packaging/conda/recipe.yaml": 'version: "12.34.56"',
                "docs/packaging/debian/changelog": "libexatrkx (12.34.56) unstable",
                "CHANGELOG.md": "## 12.34.56 (2027-01-31)\n\n* one",
            }.items():
                self.assertIn(line, (copy / name).read_text(), name)
            again = subprocess.run(command, cwd=copy, stderr=subprocess.PIPE, text=True)
            self.assertEqual(again.returncode, 1)
            self.assertIn("no section Unreleased", again.stderr)

    def test_python(self) -> None:
        project = (ROOT / "bindings/python/pyproject.toml").read_text()
        self.assertIn(f'\nversion = "{version()}"\n', project)
