"""test_recipes -- the recipes in docs/packaging have the form that they claim.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ast
import importlib.util
import re
import unittest
from pathlib import Path

PACKAGING = Path(__file__).resolve().parents[2] / "docs" / "packaging"
VERSION_H = Path(__file__).resolve().parents[2] / "include/exatrkx/version.h"
HAVE_YAML = all(map(importlib.util.find_spec, ("yaml", "jinja2")))


def version() -> str:
    """Of the library, as its header says."""
    return ".".join(re.findall(r"#define ETX_VERSION_\w+ (\d+)", VERSION_H.read_text()))


class Recipes(unittest.TestCase):
    def test_spack(self) -> None:
        tree = ast.parse((PACKAGING / "spack" / "package.py").read_text())
        classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        self.assertEqual([one.name for one in classes], ["Libexatrkx"])

    @unittest.skipUnless(HAVE_YAML, "yaml or jinja2 is not installed")
    def test_conda(self) -> None:
        import jinja2
        import yaml

        text = jinja2.Template((PACKAGING / "conda" / "meta.yaml").read_text()).render(
            compiler=lambda language: f"{language}-compiler",
            pin_subpackage=lambda name, **_: name,
        )
        recipe = yaml.safe_load(text)
        self.assertEqual(recipe["package"]["version"], version())
        self.assertIn("zlib", recipe["requirements"]["host"])

    def test_debian(self) -> None:
        changelog = (PACKAGING / "debian" / "changelog").read_text()
        self.assertTrue(changelog.startswith(f"libexatrkx ({version()}) "), changelog)
        control = (PACKAGING / "debian" / "control").read_text()
        for package in control.split("Package: ")[1:]:
            name = package.splitlines()[0]
            self.assertTrue((PACKAGING / "debian" / f"{name}.install").exists(), name)
