"""test_threads -- threads that share objects of the library, or have their own; with
a Python without the interpreter lock they run side by side (docs/python.md).

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import gc
import sys
import sysconfig
import threading
from collections.abc import Callable

from support import EVENT, LibraryCase
from test_training import CONFIG

import exatrkx
import numpy as np

N_THREADS = 8
N_ROUNDS = 3


class TestThreads(LibraryCase):
    def run_together(self, work: Callable[[int], object]) -> list[object]:
        """What work(k) gave on thread k, all of which begin together."""
        begin = threading.Barrier(N_THREADS)
        found: list[object] = [None] * N_THREADS
        errors: list[BaseException] = []

        def body(k: int) -> None:
            try:
                begin.wait(60)
                found[k] = work(k)
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=body, args=(k,)) for k in range(N_THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        return found

    def test_lock_stays_off(self) -> None:
        """The interpreter lock stays off when the package is imported."""
        if not sysconfig.get_config_var("Py_GIL_DISABLED"):
            self.skipTest("this Python has an interpreter lock")
        self.assertFalse(sys._is_gil_enabled())

    def test_stages(self) -> None:
        """Every second thread in one context; the graphs and labels of one thread."""
        shared = exatrkx.Context(threads=2)

        def stages(k: int) -> list[np.ndarray]:
            found = []
            for _ in range(N_ROUNDS):
                context = shared if k % 2 else exatrkx.Context(threads=1)
                built = exatrkx.build_graph(self.model, self.event, context)
                kept = exatrkx.filter_graph(built, self.model, self.event, context)
                scored = exatrkx.score_graph(kept, self.model, self.event, context)
                tracks = exatrkx.build_tracks(
                    scored, self.model.label_options, event=self.event, context=context
                )
                found += [built.src, kept.dst, scored.scores, tracks.labels]
            return found

        wanted = stages(0)
        for found in self.run_together(stages):
            for one, other in zip(wanted, found, strict=True):
                self.assertTrue(np.array_equal(one, other))

    def test_one_graph_is_read(self) -> None:
        """And tracks and the event, while cycles are collected."""
        context = exatrkx.Context(threads=1)
        graph = exatrkx.build_graph(self.model, self.event, context)

        def read(_k: int) -> tuple[int, float]:
            total = 0
            for _ in range(N_ROUNDS):
                total += int(graph.src.sum()) + int(self.tracks.labels.sum())
                gc.collect()
            rates = exatrkx.evaluate(self.event, self.tracks)
            return total, rates.trackml_score

        self.assertEqual(len(set(self.run_together(read))), 1)

    def test_close_during_calls(self) -> None:
        """By each thread, of the same objects: what runs ends well, what begins later
        says that they are closed, and views stay."""
        for _ in range(N_ROUNDS):
            event = exatrkx.Event.from_trackml(EVENT, detector=self.detector)
            tracks = exatrkx.find_tracks(self.model, event, self.context)

            def use(
                k: int, event: exatrkx.Event = event, tracks: exatrkx.Tracks = tracks
            ) -> bool:
                context = exatrkx.Context(threads=1)
                try:
                    labels = tracks.labels
                    found = exatrkx.find_tracks(self.model, event, context)
                    if k % 2:
                        event.close()
                        tracks.close()
                    return np.array_equal(found.labels, labels)
                except ValueError as error:
                    return "closed" in str(error)

            self.assertEqual(self.run_together(use), [True] * N_THREADS)

    def test_errors(self) -> None:
        """Each thread has the text of its own error."""

        def fail(k: int) -> bool:
            for _ in range(100):
                with self.assertRaises(exatrkx.FileError) as caught:
                    exatrkx.Model.load(f"/none/{k}.safetensors")
                if f"/none/{k}.safetensors" not in str(caught.exception):
                    return False
            return True

        self.assertEqual(self.run_together(fail), [True] * N_THREADS)

    def test_trainings(self) -> None:
        """One on each thread, of the same event: the same model."""

        def train(k: int) -> bytes:
            context = exatrkx.Context(threads=1)
            trained = exatrkx.train(CONFIG, self.event, context=context)
            path = self.folder / f"{k}.safetensors"
            trained.save(path)
            return path.read_bytes()

        self.assertEqual(len(set(self.run_together(train))), 1)
