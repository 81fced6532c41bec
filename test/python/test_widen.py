"""test_widen -- wider graph networks that give the scores of the narrow ones.

Skipped without numpy and the built library.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import io
import subprocess
import unittest
from pathlib import Path

from support import BUILD, EVENT, MODEL, ModelToolCase

PROGRAM = BUILD / "examples" / "etx-graph"

import numpy as np
from exatrkx.files import safetensors
from exatrkx.tools import shrink, widen


@unittest.skipUnless(PROGRAM.exists(), f"no {PROGRAM}: make programs")
class Widen(ModelToolCase):
    def setUp(self) -> None:
        super().setUp()
        self.tool = widen

    def scores(self, model: Path) -> np.ndarray:
        out = Path(self.folder, "scores.csv")
        subprocess.run(
            [PROGRAM, "--stage", "gnn", "--model", model, "--event", EVENT,
             "--out", out], check=True, capture_output=True, timeout=120,
        )
        return np.loadtxt(out, delimiter=",", skiprows=1)

    def test_same_scores(self) -> None:
        before = self.scores(MODEL)
        for arguments in (
            ("--factor", "2"),
            ("--factor", "3", "--seed", "5"),
            ("--factor", "1", "--node-feature", "R=1000", "--node-feature", "x=500"),
            ("--node-feature", "R=1000"),
        ):
            with self.subTest(arguments):
                code, text = self.run_main(*arguments)
                self.assertEqual(code, 0, text)
                after = self.scores(self.out)
                np.testing.assert_array_equal(after[:, :2], before[:, :2])
                np.testing.assert_allclose(after[:, 2], before[:, 2], atol=5e-5)

    def test_copies_differ(self) -> None:
        """Or they would stay copies in training."""
        self.assertEqual(self.run_main("--factor", "2")[0], 0)
        tensors, _ = safetensors.read(str(self.out))
        weight = tensors["gnn.decoder.0.weight"]
        hidden = weight.shape[0] // 2
        np.testing.assert_array_equal(weight[:hidden], weight[hidden:])
        self.assertGreater(
            np.abs(weight[:, :hidden] - weight[:, hidden : 2 * hidden]).min(), 0
        )

    def test_new_features_have_no_weight(self) -> None:
        self.assertEqual(
            self.run_main("--factor", "1", "--node-feature", "R=1000")[0], 0
        )
        before, _ = safetensors.read(str(MODEL))
        after, _ = safetensors.read(str(self.out))
        name = "gnn.edge_encoder.0.weight"
        n = before["gnn.node_encoder.0.weight"].shape[1]
        self.assertTrue((after[name][:, [n, 2 * n + 1]] == 0).all())
        np.testing.assert_array_equal(
            np.delete(after[name], [n, 2 * n + 1], axis=1), before[name]
        )

    def test_refusals(self) -> None:
        code, text = self.run_main("--node-feature", "z=1")
        self.assertEqual(code, 1)
        self.assertIn("has node feature z already", text)
        code, text = self.run_main(model=Path(self.folder, "none"))
        self.assertEqual(code, 1)
        self.assertFalse(self.out.exists())
        for bad in (("--factor", "0"), ("--node-feature", "x"), ("--node-feature", "x=-1")):
            with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
                widen.main([str(MODEL), "--out", str(self.out), *bad])
        small = Path(self.folder, "small")
        with contextlib.redirect_stdout(io.StringIO()):
            shrink.main([str(MODEL), "--out", str(small), "--quantise", "int8"])
        code, text = self.run_main(model=small)
        self.assertEqual(code, 1)
        self.assertIn("weight.scale: weights are quantised already", text)
        with contextlib.redirect_stderr(io.StringIO()) as refused:
            line = [str(small), "--out", str(self.out), "--narrow", "0.5"]
            self.assertEqual(shrink.main(line), 1)
        self.assertIn("weight.scale: weights are quantised already", refused.getvalue())
        code, text = self.run_main("--factor", "1", "--node-feature", "unknown=1")
        self.assertEqual(code, 1)
        self.assertIn("unknown", text)
        self.assertFalse(self.out.exists())
        with self.assertRaises(widen.WidenError):
            widen.find_network({"gnn": {"arch": "triplet_gnn"}})
        with self.assertRaises(widen.WidenError):
            widen.find_network({})
