"""test_peers -- the benchmark next to other software, on a tiny event.

Every implementation that needs no compiler gives the result of the first of its
stage. Untimed. Skipped, each by itself, where its package is missing.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import os
import re
import unittest
from unittest import mock

from support import BUILD, LIBRARY, ROOT, needs

HITS = 600
FEW_HITS = 150
N_THREADS = 1  # ONNX Runtime's sums at nodes are wrong by up to 4e-3 with two


@needs("scipy")
@unittest.skipUnless(LIBRARY.exists(), f"no {LIBRARY}: make lib")
class Peers(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        patch = mock.patch.dict(os.environ, {"ETX_NATIVE": str(BUILD / "bench")})
        patch.start()
        cls.addClassCleanup(patch.stop)

    def check(self, name: str) -> None:
        import exatrkx
        from peers.catalogue import STAGES

        stage = STAGES[name]
        inputs = stage.make(HITS)
        reference = None
        for one in stage.implementations:
            with self.subTest(implementation=one.name):
                if one.compiles:
                    continue
                try:
                    run = one.prepare(inputs, N_THREADS)
                except (ImportError, OSError, exatrkx.UnsupportedError) as error:
                    self.skipTest(str(error))
                result = run.result(run.call())
                if reference is None:
                    reference = result
                found = (one.compare or stage.compare)(inputs, reference, result)
                self.assertTrue(found.agrees, found.text)
        self.assertGreater(stage.n_items(inputs, reference), 0)

    def test_embedding(self) -> None:
        self.check("embedding")

    def test_radius_graphs(self) -> None:
        self.check("radius_tracks")
        self.check("radius_filled")

    def test_filter(self) -> None:
        self.check("filter")

    def test_graph_networks(self) -> None:
        self.check("gnn64")

    def test_components(self) -> None:
        self.check("components")
        self.check("components_of_edges")

    def test_instructions(self) -> None:
        """Contexts are held to ETX_CPU, which bfloat16 cannot be computed at."""
        import exatrkx
        from peers.library import make_context

        with mock.patch.dict(os.environ, {"ETX_CPU": "avx2"}):
            with self.assertRaises(exatrkx.UnsupportedError):
                make_context(N_THREADS, "bfloat16")

    def test_triplets(self) -> None:
        self.check("triplets")

    def test_linear(self) -> None:
        self.check("linear64")
        self.check("linear512")

    def test_training(self) -> None:
        self.check("train_embedding")
        self.check("train_gnn64")
        self.check("train_default_embedding")
        self.check("train_default_filter")
        self.check("train_default_gnn")

    def test_default_networks(self) -> None:
        self.check("default_embedding")
        self.check("default_filter")
        self.check("default_gnn")

    def test_whole_event(self) -> None:
        self.check("event")
        self.check("default_event")

    def test_precision(self) -> None:
        """A line for each precision that the processor has, and nearly the
        edges of float32."""
        from peers import precision

        text = io.StringIO()
        size = ["--hits", str(FEW_HITS), "--hidden", "128", "--rounds", "1"]
        with contextlib.redirect_stdout(text):
            self.assertEqual(precision.main(size), 0)
        rows = re.findall(r"\| \w+ \| (\w+) \| [\d.]+ \| [\d.]+ \| (\d+) \|", text.getvalue())
        edges = [int(n) for _, n in rows]
        self.assertEqual(len(rows), len(precision.contexts()))
        self.assertGreater(min(edges), 0.95 * max(edges))

    @needs("torch")
    def test_networks_of_a_device(self) -> None:
        """On the host, where all of them run as well, in float32; float16 there
        is slow, and of one stage alone."""
        from peers import device

        rows = []
        for stage in device.STAGES:
            if stage.name != "gnn64":
                stage = dataclasses.replace(stage, precisions=("float32",))
            with (
                mock.patch.object(device, "MIN_RUNS", 1),
                mock.patch.object(device, "WARM_UP", 1),
            ):
                rows += device.measure(stage, FEW_HITS, "cpu", 0.0)
        ran = {(row.stage, row.implementation) for row in rows if row.seconds}
        for stage in device.STAGES:
            wanted = {"PyTorch", "libexatrkx"} & set(stage.implementations)
            self.assertLessEqual({(stage.name, name) for name in wanted}, ran)
        for row in rows:
            with self.subTest(stage=row.stage, implementation=row.implementation):
                if row.seconds:
                    self.assertTrue(row.agrees, row.note)
        self.assertIn("gnn64", device.table(rows))
        self.assertGreater(rows[0].record()["median_s"], 0.0)
        self.assertIn("gnn", rows[-1].record()["facts"])


@unittest.skipUnless(LIBRARY.exists(), f"no {LIBRARY}: make lib")
class Trackers(unittest.TestCase):
    def test_trackers(self) -> None:
        """Those at hand find tracks, and the row says how good they are."""
        from peers.trackers import STAGE

        with mock.patch.dict(
            os.environ, {"PEERS_EVENTS": str(ROOT / "examples/data/event000000001")}
        ):
            inputs = STAGE.make(HITS)
        for one in STAGE.implementations:
            with self.subTest(implementation=one.name):
                try:
                    run = one.prepare(inputs, N_THREADS)
                except (ImportError, RuntimeError) as error:
                    self.skipTest(str(error))
                labels = run.result(run.call())
                text = STAGE.describe(inputs, labels)
                rates = [float(rate) for rate in re.findall(r"[01]\.\d{4}", text)]
                self.assertEqual(len(rates), 6, text)
                fakes = rates.pop(2)
                self.assertGreater(min(rates), 0.8, text)
                self.assertIn("by production radius, mm (0 1 30 100 1100): ", text)
