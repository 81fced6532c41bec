"""test_training -- train from Python: a few steps of a small network.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from typing import Any

from support import EVENT, PACKAGE, LibraryCase

import exatrkx
import numpy as np

CONFIG = {
    "stage": "embedding",
    "seed": 7,
    "model": {
        "arch": "mlp",
        "options": {"hidden": [16], "n_out": 4, "activation": "silu"},
        "node_features": [
            {"name": "r", "scale": 1000.0},
            {"name": "phi", "scale": 3.1415927},
            {"name": "z", "scale": 1000.0},
        ],
        "graph": {"radius": 0.5, "orientation": "outward"},
    },
    "schedule": {"steps": 6, "warmup_steps": 1},
    "sampling": {"hits": 300},
    "validation": {"target_efficiency": 0.9},
}


FILTER = {
    "stage": "filter",
    "seed": 7,
    "model": {
        "arch": "edge_filter",
        "options": {"hidden": [8], "activation": "silu"},
        "node_features": [{"name": "r", "scale": 1000.0}],
        "edge_features": [{"name": "dr", "scale": 1000.0}],
        "cut": 0.01,
    },
    "schedule": {"steps": 2, "warmup_steps": 1},
}


class TestTraining(LibraryCase):
    def test_train(self) -> None:
        """Reports of every step; the model is that of any thread count."""
        found = []
        for threads in (1, 2):
            reports: list[exatrkx.TrainingReport] = []
            model = exatrkx.train(
                CONFIG,
                self.event,
                [self.event],
                context=exatrkx.Context(threads),
                report=reports.append,
            )
            self.assertEqual([r.step for r in reports], [1, 2, 3, 4, 5, 6, 6])
            self.assertTrue(reports[-1].is_validation)
            self.assertGreater(reports[-1].threshold, 0.0)
            self.assertTrue(all(np.isfinite(r.loss) for r in reports[:-1]))
            self.assertEqual(model.stages, ("embedding",))
            found.append(exatrkx.embed(model, self.event, self.context))
        self.assertTrue(np.array_equal(*found))

    def test_resume(self) -> None:
        """From a checkpoint it goes on as if never stopped."""
        path = self.folder / "checkpoint"
        losses = []
        with exatrkx.Trainer(CONFIG, context=self.context) as trainer:
            trainer.add(self.event)
            for _ in range(3):
                trainer.step()
            trainer.save_checkpoint(path)
            losses.append(trainer.step().loss)
        with exatrkx.Trainer(CONFIG, context=self.context) as trainer:
            trainer.add(self.event)
            trainer.load_checkpoint(path)
            self.assertEqual(trainer.steps_done, 3)
            losses.append(trainer.step().loss)
        self.assertEqual(losses[0], losses[1])

    def test_learns_of_events_alone(self) -> None:
        for learn in (
            exatrkx.learn_completion,
            exatrkx.learn_first_pass,
            exatrkx.learn_module_map,
        ):
            with self.assertRaisesRegex(TypeError, "events: Detector, expected"):
                learn(self.model, [self.event, self.detector])
            with self.assertRaisesRegex(exatrkx.ArgumentError, "events: None"):
                learn(self.model, None)

    def test_keeps_what_it_needs(self) -> None:
        """Events and context that nobody else holds outlive the trainer."""
        trainer = exatrkx.Trainer(CONFIG)
        trainer.add(exatrkx.Event.from_trackml(EVENT))
        gc.collect()
        self.assertEqual(trainer.step().step, 1)

    def test_freed_before_what_it_needs(self) -> None:
        """Collected instead of closed, alone, in a cycle and at the end of the
        program: by a process of its own, where freed memory is overwritten."""
        code = (
            "import gc, sys, exatrkx\n"
            "def made():\n"
            f"    trainer = exatrkx.Trainer({CONFIG!r})\n"
            f"    trainer.add(exatrkx.Event.from_trackml({str(EVENT)!r}))\n"
            "    return trainer\n"
            "trainer = made()\n"
            "del trainer\n"
            "trainer = made()\n"
            "trainer.itself = trainer\n"
            "del trainer\n"
            "gc.collect()\n"
            "trainer = made()\n"
            "trainer.itself = trainer\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "MALLOC_PERTURB_": "165", "PYTHONPATH": str(PACKAGE)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_order_of_freeing(self) -> None:
        """An object that another needs goes after it, in a cycle as well."""
        freed: list[str] = []
        for is_cycle in (False, True):
            with self.subTest(is_cycle=is_cycle):
                freed.clear()
                needed, user = (
                    exatrkx.Event.from_arrays(np.zeros((1, 3)))._pointer
                    for _ in range(2)
                )
                for name, one in (("needed", needed), ("user", user)):
                    self.note_freeing(freed, name, one)
                user.keep(needed)
                if is_cycle:
                    needed.itself, user.itself = needed, user
                del needed, user, one
                gc.collect()
                self.assertEqual(freed, ["user", "needed"])

    def note_freeing(self, freed: list[str], name: str, one: Any) -> None:
        """Have one write its name down when it is freed."""
        free = one._free

        def noted(parameter: Any) -> None:
            freed.append(name)
            free(parameter)

        one._free = noted

    def test_patience(self) -> None:
        """A second validation of the same model is not better."""
        config = {**CONFIG, "validation": {"patience": 1}}
        with exatrkx.Trainer(config, context=self.context) as trainer:
            trainer.add(self.event)
            trainer.add(self.event, validation=True)
            reports = [trainer.step(), trainer.validate()]
            self.assertFalse(trainer.is_finished)
            reports.append(trainer.validate())
            self.assertTrue(trainer.is_finished)
        self.assertEqual([r.is_best for r in reports], [False, True, False])
        self.assertEqual([r.is_finished for r in reports], [False, False, True])

    def test_rollback(self) -> None:
        """Where any loss above that of the step before is a jump."""
        config = {
            **CONFIG,
            "schedule": {"steps": 60, "warmup_steps": 1},
            "stability": {"spike_factor": 1.0001, "spike_window": 1},
        }
        reports = []
        with exatrkx.Trainer(config, context=self.context) as trainer:
            trainer.add(self.event)
            while not reports or not reports[-1].is_rollback:
                reports.append(trainer.step())
        found = [r.n_rollbacks for r in reports]
        self.assertEqual(found, [0] * (len(reports) - 1) + [1])
        self.assertGreater(reports[-1].loss, reports[-2].loss)

    def test_cache(self) -> None:
        """Graphs are kept in the folder and give the same steps."""
        losses = []
        for folder in (None, self.folder, self.folder):
            with exatrkx.Trainer(
                FILTER, start=self.model, context=self.context
            ) as trainer:
                trainer.add(self.event)
                if folder is not None:
                    trainer.set_cache(folder)
                losses.append([trainer.step().loss for _ in range(2)])
        self.assertEqual(losses[1:], losses[:1] * 2)
        self.assertEqual(len(list(self.folder.iterdir())), 1)

    def test_refused(self) -> None:
        with self.assertRaisesRegex(exatrkx.Error, "no_such"):
            exatrkx.Trainer({**CONFIG, "no_such": 1})
        with exatrkx.Trainer(CONFIG) as trainer:
            bare = exatrkx.Event.from_arrays(self.event.positions)
            with self.assertRaises(exatrkx.ArgumentError):
                trainer.add(bare)
                trainer.step()
