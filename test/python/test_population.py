"""test_population -- population-based training on two of the shipped events.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import io
import json
import unittest
from pathlib import Path

from support import BUILD, ROOT, FolderCase

import numpy as np

from exatrkx.tools import population
from exatrkx.tools.population import Member

PROGRAM = BUILD / "examples" / "etx-train"
DATA = ROOT / "examples" / "data"
CONFIG = {
    "stage": "gnn",
    "model": {
        "arch": "interaction_network",
        "options": {"hidden": 4, "n_iterations": 1},
        "node_features": [{"name": "r", "scale": 1000.0}],
        "edge_features": [{"name": "dphi", "scale": 0.3}],
    },
    "schedule": {"learning_rate": 0.01, "warmup_steps": 1},
    "sampling": {"hits": 0, "edges": 300},
    "loss": {"positive_weight": 1.0},
}
VARIED = ["--vary", "schedule.learning_rate", "--vary", "loss.positive_weight"]


@unittest.skipUnless(PROGRAM.exists(), f"no {PROGRAM}: make programs")
class Population(FolderCase):
    def command(self, out: str, *more: str, program: Path = PROGRAM) -> list[str]:
        config = self.folder / "config.json"
        config.write_text(json.dumps(CONFIG))
        line = ["--config", config, "--start", "default", "--out", self.folder / out]
        line += ["--data", DATA / "event000000000", "--program", program]
        line += ["--validation", DATA / "event000000001", *VARIED]
        line += ["--members", 4, "--generations", 3, "--steps", 4, *more]
        return [str(word) for word in line]

    def test_help(self) -> None:
        """Each option that has a default says it."""
        text = io.StringIO()
        with contextlib.redirect_stdout(text), self.assertRaises(SystemExit):
            population.main(["--help"])
        said = " ".join(text.getvalue().split())
        needed = [*"--data d --validation v --out o --vary v --config".split(), "gnn"]
        names = "members workers generations steps spread criterion seed threads"
        for name in names.split():
            value = str(getattr(population.parse(needed), name)).removesuffix(".0")
            self.assertRegex(said, rf"--{name} [^-]*default {value}\b")

    def run_main(self, *arguments: str, **other: Path) -> tuple[int, str]:
        text = io.StringIO()
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            code = population.main(self.command(*arguments, **other))
        return code, text.getvalue()

    def failing_program(self, n_good: int) -> Path:
        """etx-train that fails from the n-th training on."""
        path, count = self.folder / "failing", self.folder / "count"
        path.write_text(
            f'#!/bin/sh\necho >>{count}\n[ "$(wc -l <{count})" -le {n_good} ] '
            f'&& exec {PROGRAM} "$@"\necho "no more" >&2\nexit 1\n'
        )
        path.chmod(0o755)
        return path

    def test_continues_where_it_ended(self) -> None:
        """Stopped within the second generation and run again: the bytes of an
        uninterrupted run, without training anything twice."""
        code, text = self.run_main("whole")
        self.assertEqual(code, 0, text)
        code, text = self.run_main("parts", program=self.failing_program(6))
        self.assertEqual(code, 1)
        self.assertIn("no more", text)
        code, text = self.run_main("parts", program=self.failing_program(1000))
        self.assertEqual(code, 0, text)
        for name in ("population.jsonl", "best.safetensors"):
            whole = (self.folder / "whole" / name).read_bytes()
            self.assertEqual(whole, (self.folder / "parts" / name).read_bytes())
        n_runs = len((self.folder / "count").read_text().splitlines())
        self.assertLessEqual(n_runs, 12 + 2)

    def test_the_best_are_copied(self) -> None:
        """Each generation: the worst member has the best as its parent, its
        options times a factor; the others go on with their own."""
        code, text = self.run_main("out")
        self.assertEqual(code, 0, text)
        path = self.folder / "out" / "population.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        self.assertEqual(len(lines), 3)
        for before, now in zip(lines, lines[1:]):
            old = [Member(**member) for member in before["members"]]
            order = population.ranked(old, "loss")
            for k, member in enumerate(now["members"]):
                parent = order[0] if k == order[-1] else k
                self.assertEqual(member["parent"], parent)
                for name, value in member["options"].items():
                    ratio = value / old[parent].options[name]
                    known = population.FACTORS if k == order[-1] else (1.0,)
                    self.assertIn(round(ratio, 6), known)

    def test_refused(self) -> None:
        code, text = self.run_main("out", "--vary", "loss.nothing")
        self.assertEqual(code, 1)
        self.assertIn("no loss.nothing to vary", text)
        code, text = self.run_main("out", "--vary", "model.arch")
        self.assertIn("model.arch: 'interaction_network', expected a number", text)
        (self.folder / "out" / "population.jsonl").write_text(
            '{"population": "another", "members": []}\n'
        )
        code, text = self.run_main("out")
        self.assertEqual(code, 1)
        self.assertIn("of another config or other options", text)

    def test_score_that_is_not_finite(self) -> None:
        """etx-train leaves it out of the log: the worst score."""
        args = population.parse(self.command("out"))
        training = population.Training(args, 0, 0, Member({}, None))
        training.model.write_bytes(b"")
        training.log.write_text('{"step": 4, "validation": true}\n')
        self.assertTrue(np.isnan(training.score()))

    def test_options_that_are_refused(self) -> None:
        for spread in ("0", "-1", "nan"):
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
                population.parse(self.command("out", "--spread", spread))
        args = population.parse(self.command("out", "--criterion", "auc"))
        args.config.write_text(json.dumps({**CONFIG, "stage": "embedding"}))
        with self.assertRaisesRegex(population.PopulationError, "no such score"):
            population.train(args)

    def test_whole_numbers(self) -> None:
        """An option that is whole in the config stays whole, and 1 or more."""
        config = {"model": {"hidden": 4}, "loss": {"weight": 1.0}}
        for drawn, hidden in ((3.4, 3), (0.2, 1)):
            options = {"model.hidden": drawn, "loss.weight": drawn}
            made = population.with_options(config, options)
            self.assertIs(type(made["model"]["hidden"]), int)
            self.assertEqual(made["model"]["hidden"], hidden)
            self.assertEqual(made["loss"]["weight"], drawn)

    def test_marks_of_other_populations(self) -> None:
        args = population.parse(self.command("out"))
        args.start = self.folder / "start"
        args.start.write_bytes(b"1")
        marks = {population.fingerprint(args)}
        args.start.write_bytes(b"2")
        marks.add(population.fingerprint(args))
        args.validation = ["other"]
        marks.add(population.fingerprint(args))
        self.assertEqual(len(marks), 3)

    def test_order(self) -> None:
        """The best first by the criterion; what is no number comes last."""
        scores = [0.2, float("nan"), 0.1, None, 0.3]
        members = [Member({}, None, score) for score in scores]
        self.assertEqual(population.ranked(members, "loss"), [2, 0, 4, 1, 3])
        self.assertEqual(population.ranked(members, "auc"), [4, 0, 2, 1, 3])
