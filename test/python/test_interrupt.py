"""test_interrupt -- Ctrl-C ends calls, and loses no training.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import threading
import time
from unittest import mock

from support import EVENT, LibraryCase
from test_training import CONFIG

import exatrkx
import numpy as np
from exatrkx import __main__


def press() -> None:
    """Ctrl-C."""
    os.kill(os.getpid(), signal.SIGINT)


class TestInterrupt(LibraryCase):
    def setUp(self) -> None:
        super().setUp()
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)

    def test_during_a_call(self) -> None:
        """At the first poll: no other follows, and the context is as before."""
        polls = []

        def cancel() -> None:
            polls.append(0)
            press()

        context = exatrkx.Context(threads=1, cancel=cancel)
        with self.assertRaises(KeyboardInterrupt):
            exatrkx.find_tracks(self.model, self.event, context)
        self.assertEqual(len(polls), 1)
        self.assertIs(
            signal.getsignal(signal.SIGINT), signal.default_int_handler
        )
        context._polls.cancel = None
        found = exatrkx.find_tracks(self.model, self.event, context)
        self.assertTrue(np.array_equal(found.labels, self.tracks.labels))

    def test_without_cancel(self) -> None:
        """Of any context of the main thread, and of none: within 0.1 s of processor
        time, and 5 ms for each thread more."""
        for threads in (None, 1, 2, 16):
            context = threads and exatrkx.Context(threads)
            pressed: list[float] = []

            def later(times: list[float] = pressed) -> None:
                times.append(time.process_time())
                press()

            timer = threading.Timer(0.05, later)
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                while True:
                    exatrkx.find_tracks_batch(self.model, [self.event] * 100, context)
            late = time.process_time() - pressed[0]
            self.assertLess(late, 0.1 + 5e-3 * (threads or 1))
            timer.join()

    def test_handler_of_the_host(self) -> None:
        """It runs as without the library, and no call is ended."""
        came = []
        signal.signal(signal.SIGINT, lambda *_: came.append(0))
        context = exatrkx.Context(threads=1, cancel=press)
        exatrkx.find_tracks(self.model, self.event, context)
        self.assertGreater(len(came), 1)

    def test_command(self) -> None:
        """One line instead of a traceback, and the status of shells."""
        text = io.StringIO()
        with (
            mock.patch("exatrkx.plotting.display_command.main", side_effect=KeyboardInterrupt),
            contextlib.redirect_stderr(text),
        ):
            self.assertEqual(__main__.main(["display"]), 130)
        self.assertEqual(text.getvalue(), "display: interrupted\n")

    def test_reading(self) -> None:
        """Ctrl-C ends the reading of a file; errors are the call's."""
        path = self.folder / "features.csv"
        path.write_text("0.1,0.2,0.3,0.4\n" * 4_000_000)
        begin = time.process_time()
        self.assertEqual(len(exatrkx.Event.from_features(path, [1, 1, 1])), 4_000_000)
        whole = time.process_time() - begin
        for share in (0.1, 0.5):
            timer = threading.Timer(share * whole, press)
            timer.start()
            begin = time.process_time()
            with self.assertRaises(KeyboardInterrupt):
                while True:
                    exatrkx.Event.from_features(path, [1, 1, 1])
            self.assertLess(time.process_time() - begin, (share + 0.3) * whole + 0.1)
            timer.join()
        with self.assertRaises(exatrkx.FileError):
            exatrkx.Event.from_trackml(self.folder / "none")
        self.assertEqual(len(exatrkx.Event.from_trackml(EVENT)), len(self.event))

    def test_training(self) -> None:
        """Within a step: the checkpoint is that of the step before, and the
        training goes on from it to the same model."""
        path = self.folder / "checkpoint"
        expected = exatrkx.train(CONFIG, [self.event], context=self.context)
        context = exatrkx.Context(threads=1, cancel=lambda: False)

        def report(found: exatrkx.TrainingReport) -> None:
            if found.step == 3:
                context._polls.cancel = press

        with self.assertRaises(KeyboardInterrupt):
            exatrkx.train(
                CONFIG,
                [self.event],
                context=context,
                report=report,
                checkpoint=path,
            )
        steps: list[int] = []
        model = exatrkx.train(
            CONFIG,
            [self.event],
            context=self.context,
            report=lambda found: steps.append(found.step),
            checkpoint=path,
        )
        self.assertEqual(steps, [4, 5, 6])
        points = [exatrkx.embed(m, self.event) for m in (model, expected)]
        self.assertTrue(np.array_equal(*points))
