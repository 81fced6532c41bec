"""test_results -- the tables of the docs and their stamps, on a page of its own.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
from unittest import mock

from support import ROOT, FolderCase

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
    """A page, and a command that prints what is in `made` and one line of `$EVENTS`."""

    def setUp(self) -> None:
        super().setUp()
        (self.folder / "page.md").write_text(PAGE)
        for name in ("sets", "sample"):
            (self.folder / name / "small").mkdir(parents=True)
            (self.folder / name / "small" / "event").write_text("hits")
        (self.folder / "made").write_text(MADE + "\n")
        self.table = self.table_of("cat made")
        sample = mock.patch("results.SAMPLE", self.folder / "sample")
        sample.start()
        self.addCleanup(sample.stop)

    def table_of(self, command: str, sample: str | None = "-") -> results.Table:
        """What it prints of the sample comes after that, from the standard input."""
        feed = 'cat "$EVENTS/small/event" | '
        return results.Table("page.md", feed + command, ("small",), sample)

    def make(self, command: str = "cat made") -> str:
        table = self.table_of(command)
        results.make("toy", table, self.folder, self.folder / "sets")
        return (self.folder / "page.md").read_text()

    def changes(self) -> list[str]:
        return results.changes("toy", self.table, self.folder, self.folder / "sets")

    def test_made_tables_replace_those_above_the_stamps(self) -> None:
        """All other lines stay; a second run changes nothing."""
        page = self.make()
        stamp = [line for line in page.splitlines() if "TABLE=toy" in line]
        self.assertEqual(len(set(stamp)), 1)
        self.assertRegex(stamp[0], r"<!-- TABLE=toy events \w{8} sample \w{8} -->")
        before = PAGE.replace("old", "new").replace(
            "Between.\n\n<", "Between.\n\n| b |\n| --- |\n| 2 |\n\n<"
        )
        self.assertEqual(page, before.replace("<!-- TABLE=toy -->", stamp[0]))
        self.assertEqual(self.make(), page)

    def test_stale_names_what_changed(self) -> None:
        self.assertEqual(self.changes(), ["events", "sample"])
        self.make()
        self.assertEqual(self.changes(), [])
        sample = self.folder / "sample" / "small" / "event"
        sample.write_text("hits of no table")
        self.assertEqual(self.changes(), [])
        sample.write_text("| c |\n| --- |\n| 3 |\n")
        self.assertEqual(self.changes(), ["sample"])
        self.make()
        self.assertEqual(self.changes(), [])
        (self.folder / "made").write_text(MADE.replace("new", "newer"))
        self.assertEqual(self.changes(), ["sample"])
        (self.folder / "sets" / "small" / "event").write_text("other hits")
        self.assertEqual(self.changes(), ["events", "sample"])
        with contextlib.redirect_stdout(io.StringIO()) as out:
            n_stale = results.print_stale(
                {"toy": self.table}, self.folder, self.folder / "sets"
            )
        self.assertEqual(n_stale, 1)
        self.assertIn("page.md: toy: events, sample\n", out.getvalue())
        self.table = self.table_of("false; cat made")
        self.assertEqual(self.changes(), ["its command fails on the sample"])

    def test_times_are_not_compared(self) -> None:
        """Nor anything of a table that has times alone."""
        head = "| a | CPU s | time, ms |\n| --- | --- | --- |\n"
        made = self.folder / "made"
        made.write_text(head + "| 1 | 2 | 3 |\n")
        text = PAGE.replace("<!-- TABLE=toy -->", "", 1)
        (self.folder / "page.md").write_text(text)
        self.make()
        made.write_text(head + "| 1 | 4 | 5 |\n")
        self.assertEqual(self.changes(), [])
        made.write_text(head + "| 2 | 4 | 5 |\n")
        self.assertEqual(self.changes(), ["sample"])
        self.table = self.table_of("false", None)
        self.assertEqual(self.changes(), [])
        bare = results.Table("page.md", "false", (), None)
        self.assertEqual(results.stamp_of(bare, self.folder, None), {})

    def test_sample(self) -> None:
        """Every set of every table is there, with four small events or two, of which
        the first is full."""
        sample = self.folder / "new"
        (sample / "full").mkdir(parents=True)
        (sample / "full" / "event000000000-hits.csv").write_text("full")
        results.make_sample(sample)
        results.make_sample(sample)
        for table in results.TABLES.values():
            for name in table.events:
                with self.subTest(name):
                    self.assertTrue(results.files_of(ROOT, name, sample))
        small, full = (
            len(list((sample / name).glob("*-hits.csv*")))
            for name in ("test-medium", "test-full")
        )
        self.assertEqual((small, full), (4, 2))
        first = sample / "test-full" / "event000000000-hits.csv"
        self.assertEqual(first.read_text(), "full")

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
        for name, table in results.TABLES.items():
            with self.subTest(name):
                page = (ROOT / table.page).read_text()
                self.assertTrue(results.stamps_in(page, name))

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
