"""test_scaling -- the model of training time, on runs whose truth is known.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

from support import BUILD, MODEL, ROOT, FolderCase, needs

from scaling.__main__ import main
from scaling.costs import Prices
from scaling.costs import describe as describe_costs
from scaling.model import Model, Run, Sum, fit, leave_out_largest, on_network, speed_up
from scaling.runs import Sizes, count_gradient, write_sizes
from scaling.strong import describe

GRADIENT = 200000
EDGES = [5000, 20000]
GRAPHS = 8
PROGRAM = BUILD / "examples" / "etx-train"


class Scaling(unittest.TestCase):
    def truth(self):
        return Model(2e-3, 4e-7, 0.03, 2e-5, 5e-10, GRADIENT)

    def runs(self, ranks):
        truth = self.truth()
        return [
            Run(
                n, truth.step(n, e, GRAPHS, 1.05), e, GRAPHS, truth.communicate(n), 1.05
            )
            if n > 1
            else Run(1, truth.step(1, e, GRAPHS), e, GRAPHS, 0.0, 1.0)
            for e in EDGES
            for n in ranks
        ]

    def sums(self):
        return [
            Sum(n, size, replace(self.truth(), bytes=size).communicate(n))
            for n in (2, 4)
            for size in (8, 128, 32768, 8388608)
        ]

    def test_fit_finds_the_truth(self) -> None:
        truth = self.truth()
        found = fit(self.runs([1, 2, 4, 8]), self.sums(), GRADIENT)
        for name in ("fixed", "per_edge", "kappa", "alpha", "beta"):
            with self.subTest(name):
                expected = getattr(truth, name)
                self.assertAlmostEqual(getattr(found, name) / expected, 1.0, 6)

    def test_largest_left_out_is_predicted(self) -> None:
        checks = leave_out_largest(self.runs([1, 2, 4, 8]), self.sums(), GRADIENT)
        self.assertEqual([check.ranks for check in checks], [8, 8])
        for check in checks:
            self.assertLess(abs(check.error), 1e-6)

    def test_more_ranks_than_cores_take_turns(self) -> None:
        truth = replace(self.truth(), cores=2)
        alone, two, four = (truth.compute(n, 1e4, GRAPHS) for n in (1, 2, 4))
        self.assertLess(two, alone)
        self.assertAlmostEqual(four / two, 1.0, 6)

    def test_table_of_two_processes(self) -> None:
        shares = {
            f"{name}_share": 0.25 for name in ("graphs", "network", "moving", "waiting")
        }
        found = {
            kind: [{"batch_seconds": value} | shares for value in seconds]
            for kind, seconds in {
                "one": [4.0, 5.0, 3.0],
                "two": [2.5, 2.4, 2.9],
                "separate": [4.5, 5.5, 5.0],
            }.items()
        }
        lines = describe(found).splitlines()[1:]
        self.assertEqual(
            [line.split()[:5] for line in lines],
            [
                ["one", "4.000", "3.000", "5.000", "1.000"],
                ["two", "2.500", "2.400", "2.900", "0.800"],
                ["separate", "5.000", "4.500", "5.500", "0.800"],
            ],
        )

    def test_a_wrong_prediction_shows(self) -> None:
        runs = [
            replace(run, step_seconds=2 * run.step_seconds) if run.ranks == 8 else run
            for run in self.runs([1, 2, 4, 8])
        ]
        for check in leave_out_largest(runs, self.sums(), GRADIENT):
            self.assertAlmostEqual(check.error, -0.5, 6)

    def test_network_never_beats_ideal(self) -> None:
        gpus = on_network(self.truth(), 1e-5, 2e10, 0.01)
        before = 0.0
        for ranks in (1, 2, 32, 64, 1024):
            value = speed_up(gpus, ranks, 20000.0, 1024)
            self.assertLessEqual(value, ranks * (1 + 1e-9))
            self.assertGreater(value, before)
            before = value
        with self.assertRaises(ValueError):
            on_network(self.truth(), 1e-5, 0.0, 0.01)

    def test_needs_one_rank_and_several(self) -> None:
        with self.assertRaisesRegex(ValueError, "one rank"):
            fit(self.runs([2, 4]), self.sums(), GRADIENT)
        with self.assertRaisesRegex(ValueError, "several ranks"):
            fit(self.runs([1]), self.sums(), GRADIENT)
        with self.assertRaisesRegex(ValueError, "several sizes"):
            fit(self.runs([1, 2]), self.sums()[:1], GRADIENT)

    def test_gradient_of_the_shipped_model(self) -> None:
        size = count_gradient(MODEL)
        self.assertGreater(size, 10000)
        self.assertEqual(size % 4, 0)
        self.assertEqual(count_gradient(MODEL, "nothing."), 0)

    def write_runs(self, folder: Path) -> None:
        write_sizes(folder, Sizes(EDGES, GRAPHS, GRADIENT, 8))
        (folder / "sums.jsonl").write_text(
            "".join(json.dumps(vars(one)) + "\n" for one in self.sums())
        )
        for edges in EDGES:
            lines = [
                {
                    "ranks": run.ranks,
                    "batch_seconds": run.step_seconds,
                    "moving_share": run.moving_seconds / run.step_seconds,
                    "imbalance": run.imbalance,
                }
                for run in self.runs([1, 2, 4])
                if run.edges == edges
            ]
            text = "".join(json.dumps(line) + "\n" for line in lines)
            (folder / f"{edges}.jsonl").write_text(text)

    @needs("matplotlib")
    def test_predicts_and_draws_the_same_twice(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.write_runs(folder)
            charts = []
            for _ in range(2):
                out = io.StringIO()
                with contextlib.redirect_stdout(out):
                    self.assertEqual(main(["predict", "--out", name]), 0)
                charts.append((folder / "scaling.svg").read_bytes())
            self.assertIn("4 ranks left out", out.getvalue())
            self.assertIn("1024 GPUs", out.getvalue())
            self.assertEqual(charts[0], charts[1])
            self.assertIn(b"published", charts[0].replace(b"<!-- ", b""))


class Costs(FolderCase):
    """What trainings on several ranks find and cost, from logs of known runs."""

    def run_of(self, ranks: int, seconds: float, **other: float) -> dict[str, float]:
        shares = {"graphs_share": 0.25, "network_share": 0.5, "moving_share": 0.125}
        run = {"ranks": ranks, "graphs": 4, "epoch_seconds": seconds, "total": 0.5}
        run |= {"batch_seconds": seconds / 10, "peak_mib": 100.0, "target": 0.25}
        run |= {"efficiency": 0.95, "auc": 0.9, "loss": 0.1, "waiting_share": 0.125}
        return run | shares | other

    def test_table(self) -> None:
        runs = {
            "strong": [self.run_of(1, 36.0), self.run_of(2, 20.0)],
            "weak": [self.run_of(1, 36.0), self.run_of(2, 40.0, epoch_joules=7.0)],
        }
        made = describe_costs(runs, Prices(watts=10.0, dollars=1.0))
        lines = [line.split("|")[1:-1] for line in made.splitlines() if line]
        rows = [dict(zip(lines[6], line)) for line in lines[8:]]
        rows = [{k.strip(): v.strip() for k, v in row.items()} for row in rows]
        self.assertEqual([row["speed-up"] for row in rows[:2]], ["1.00", "1.80"])
        self.assertEqual([row["scaling"] for row in rows], ["1.00", "0.90"] * 2)
        self.assertEqual(rows[1]["utilisation"], "0.750")
        self.assertEqual(
            [row["J per epoch"] for row in rows], ["360.00", "400.00", "360.00", "7.00"]
        )
        self.assertEqual([row["$ per epoch"] for row in rows[:2]], ["0.01", "0.011"])

    @unittest.skipUnless(PROGRAM.exists(), f"no {PROGRAM}: make programs")
    def test_measures(self) -> None:
        """Two ranks find what one finds; target purity is below total purity."""
        data = ROOT / "examples" / "data" / "event000000000"
        line = ["costs", "--out", self.folder, "--program", PROGRAM, "--ranks", "1,2"]
        line += ["--graphs", 2, "--graphs-of-training", 8, "--edges", 300]
        line += ["--start", MODEL, "--data", data, "--validation", data]
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            self.assertEqual(main([str(word) for word in line]), 0)
        lines = [line.split("|")[1:-1] for line in out.getvalue().splitlines() if line]
        one, two = lines[2:4]
        self.assertEqual(one[2:], two[2:])
        self.assertLess(float(one[4]), float(one[5]))
