"""test_results -- the tables of the docs and their stamps, on a page of its own.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess

import numpy as np
from support import ROOT, FolderCase

from exatrkx.files import safetensors

import results
from peers import catalogue

PAGE = """# Toy

Before.

| a |
| --- |
| old |

<!-- TABLE=toy -->

Between.

<!-- TABLE=toy -->
<!-- TABLE=other -->
"""
MADE = "\n".join(
    ["| a |", "| --- |", "| new |", "", "Text.", "| b |", "| --- |", "| 2 |"]
)


class Results(FolderCase):
    def setUp(self) -> None:
        super().setUp()
        (self.folder / "page.md").write_text(PAGE)
        (self.folder / "model").write_text("1")
        (self.folder / "code").mkdir()
        (self.folder / "code" / "a.c").write_text("int a;\n")
        (self.folder / "sets" / "small").mkdir(parents=True)
        (self.folder / "sets" / "small" / "event").write_text("hits")
        (self.folder / "made").write_text(MADE)
        self.table = results.Table(
            "page.md", "cat made", ("model",), ("small",), ("code",)
        )

    def make(self, command: str = "cat made") -> str:
        table = results.Table("page.md", command, ("model",), ("small",), ("code",))
        results.make("toy", table, self.folder, self.folder / "sets")
        return (self.folder / "page.md").read_text()

    def changes(self) -> list[str]:
        return results.changes("toy", self.table, self.folder, self.folder / "sets")

    def test_made_tables_replace_those_above_the_stamps(self) -> None:
        """All other lines stay; a second run changes nothing."""
        page = self.make()
        stamp = [line for line in page.splitlines() if "TABLE=toy" in line]
        self.assertEqual(len(set(stamp)), 1)
        self.assertRegex(
            stamp[0],
            r"<!-- TABLE=toy models \w{8} events \w{8} code \w{8} -->",
        )
        before = PAGE.replace("old", "new").replace(
            "Between.\n\n<", "Between.\n\n| b |\n| --- |\n| 2 |\n\n<"
        )
        self.assertEqual(page, before.replace("<!-- TABLE=toy -->", stamp[0]))
        self.assertEqual(self.make(), page)

    def test_stale_names_what_changed(self) -> None:
        self.assertEqual(self.changes(), ["stamp"])
        self.make()
        self.assertEqual(self.changes(), [])
        (self.folder / "model").write_text("2")
        self.assertEqual(self.changes(), ["models"])
        (self.folder / "code" / "b.c").write_text("int b;\n")
        self.assertEqual(self.changes(), ["models", "code"])
        self.make()
        (self.folder / "code" / "b.c").write_text("/* b\n */\nint  b;\n")
        (self.folder / "code" / "README.md").write_text("of b\n")
        self.assertEqual(self.changes(), [])
        (self.folder / "sets" / "small" / "event").write_text("other hits")
        self.assertEqual(self.changes(), ["events"])
        with contextlib.redirect_stdout(io.StringIO()) as out:
            n_stale = results.print_stale(
                {"toy": self.table}, self.folder, self.folder / "sets"
            )
        self.assertEqual(n_stale, 1)
        self.assertIn("page.md: toy: events\n", out.getvalue())

    def test_stages_of_a_model(self) -> None:
        """Options and tensors of other stages may change."""
        model = self.folder / "model.safetensors"

        def hash_of(value: float, **options: int) -> str | None:
            config = {stage: {"n": options.get(stage, 0)} for stage in ("a", "b")}
            tensors = {
                "a.weight": np.full((2, 3), value, np.float32),
                "b.weight": np.full(2, options.get("tensor", 0), np.float32),
            }
            metadata = {"etx.config": json.dumps(config)}
            safetensors.write(str(model), tensors, metadata)
            names = ("model.safetensors a",)
            return results.hash_of(results.contents(self.folder, names, None))

        first = hash_of(1.0)
        self.assertEqual(hash_of(1.0, b=1, tensor=1), first)
        self.assertNotEqual(hash_of(2.0), first)
        self.assertNotEqual(hash_of(1.0, a=1), first)

    def test_events_that_are_missing(self) -> None:
        """Nothing is made without them; a stamp is compared without them."""
        self.make()
        (self.folder / "sets" / "small" / "event").unlink()
        (self.folder / "sets" / "small").rmdir()
        self.assertEqual(self.changes(), [])
        with self.assertRaisesRegex(FileNotFoundError, "no small in EVENTS"):
            self.make()

    def test_a_command_that_fails_leaves_the_page(self) -> None:
        with self.assertRaises(subprocess.CalledProcessError):
            self.make("cat made; exit 3")
        with self.assertRaisesRegex(ValueError, "1 tables, 2 stamps"):
            self.make("head -n 3 made")
        with self.assertRaisesRegex(ValueError, "0 tables, 2 stamps"):
            self.make("echo nothing")
        self.assertEqual((self.folder / "page.md").read_text(), PAGE)

    def test_every_table_has_a_page_with_its_stamp(self) -> None:
        """And all that it is made from, but for the simulated events."""
        for name, table in results.TABLES.items():
            with self.subTest(name):
                page = (ROOT / table.page).read_text()
                self.assertTrue(results.stamps_in(page, name))
                results.stamp_of(table, ROOT, None)

    def test_what_the_list_of_the_papers_runs_exists(self) -> None:
        """Tables, suites, tests in Python, targets, sections, programs with their
        options, and stages of other software that it names."""
        text = papers()

        def named(pattern: str) -> set[str]:
            return {word for words in re.findall(pattern, text) for word in words.split()}

        tables = named(r'`TABLE="?([a-z -]+)') - {"x"}
        self.assertLessEqual(tables, set(results.TABLES))
        sources = {
            path.stem
            for folder in ("test", "examples/studies/test")
            for path in (ROOT / folder).rglob("test_*.*")
        }
        suites = named(r'`SUITE="?([a-z_ ]+)') - {"x"}
        modules = named(r"`(test_[a-z_]+)`") - {"test_x"}
        self.assertLessEqual({f"test_{name}" for name in suites} | modules, sources)
        self.assertGreater(min(len(tables), len(suites), len(modules)), 3)
        makefile = "".join(
            (ROOT / name).read_text() for name in ("Makefile", "test.mk", "studies.mk")
        )
        for target in named(r"`make ([a-z-]+)") - {"build"}:
            self.assertRegex(makefile, rf"(?m)^([a-z-]+ )*{target}( [a-z-]+)*:")
        check = (ROOT / "test" / "check.sh").read_text()
        for section in named(r"`test/check.sh build lib ([a-z]+)"):
            self.assertIn(f"\n    {section}) ", check)
        scaling = (ROOT / "examples" / "studies" / "scaling" / "__main__.py").read_text()
        for command in named(r"`scaling ([a-z]+)") - {"x"}:
            self.assertIn(f'    "{command}": run_{command},', scaling)
        stages = named(r"peers, `([a-z_]+)`") | named(r"--stages ([a-z_]+)")
        self.assertLessEqual(stages, set(catalogue.STAGES))
        for program, options in re.findall(r"`(etx-[a-z-]+)([^`]*)`", text):
            sources = ROOT / "examples" / f"{program}.c"
            code = sources.read_text() + (ROOT / "examples" / "program.c").read_text()
            for option in re.findall(r"--([a-z-]+)", options):
                self.assertIn(f'"{option}"', code)

    def test_lines_that_stay_partial_have_a_reason(self) -> None:
        """Each line of the list that is not a "yes" is in its last table, with why
        and what would close it; no other is."""
        partial = [
            line[2]
            for line in cells(papers())
            if len(line) == 6 and re.match("partly|no", line[3])
        ]
        text = papers()
        reasons = cells(text[text.index("## What stays partial") :])[2:]
        self.assertGreater(len(partial), 0)
        self.assertEqual([line[1] for line in reasons], partial)
        for line in reasons:
            self.assertGreater(min(map(len, line[1:4])), 3)


def papers() -> str:
    """The list of what the papers describe."""
    return (ROOT / "docs" / "papers.md").read_text()


def cells(text: str) -> list[list[str]]:
    """Of all lines of tables, with what is before the first and after the last."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.split("|")] for line in lines]
