"""test_shrink -- smaller models that the C library loads and runs.

Skipped without numpy; what needs the built programs is skipped without them.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import subprocess
import unittest
from pathlib import Path

from support import BUILD, EVENT, MODEL, ModelToolCase

PROGRAM = BUILD / "examples" / "etx-graph"

import numpy as np
from exatrkx import safetensors_file, shrink

TABLES = ("completion.", "first_pass.")


def is_weight(name: str, array: np.ndarray) -> bool:
    """A matrix of a network; learned tables stay as they are."""
    return array.ndim == 2 and not name.startswith(TABLES)


def sizes() -> tuple[int, int]:
    """Bytes of the model file, and of the learned tables in it."""
    tensors, _ = safetensors_file.read(str(MODEL))
    table = sum(a.nbytes for n, a in tensors.items() if n.startswith(TABLES))
    return MODEL.stat().st_size, table


class Shrink(ModelToolCase):
    def setUp(self) -> None:
        super().setUp()
        self.tool = shrink

    def pairs(self) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """Name, weight before and after, of every matrix; vectors are equal."""
        before, _ = safetensors_file.read(str(MODEL))
        after, _ = safetensors_file.read(str(self.out))
        for name in before:
            if not is_weight(name, before[name]):
                np.testing.assert_array_equal(before[name], after[name])
        names = [name for name in before if is_weight(name, before[name])]
        scales = {n: after.get(n + ".scale", np.ones(1, "f4"))[:, None] for n in names}
        return [(n, before[n], after[n].astype("f4") * scales[n]) for n in names]

    def test_prune_takes_the_smallest(self) -> None:
        self.assertEqual(self.run_main("--prune", "0.5")[0], 0)
        for name, before, after in self.pairs():
            with self.subTest(name):
                gone = after == 0
                self.assertEqual(gone.sum(), before.size // 2)
                np.testing.assert_array_equal(after[~gone], before[~gone])
                self.assertLess(np.abs(before[gone]).max(), np.abs(after[~gone]).min())

    def test_prune_of_equal_weights(self) -> None:
        weight = np.ones((4, 4), "f4")
        self.assertEqual((shrink.prune(weight, 0.5) == 0).sum(), 0)
        np.testing.assert_array_equal(shrink.prune(weight, 0.0), weight)

    def test_half_is_nearest(self) -> None:
        size, table = sizes()
        self.assertEqual(self.run_main("--quantise", "fp16")[0], 0)
        self.assertLess(self.out.stat().st_size - table, 0.55 * (size - table))
        for name, before, after in self.pairs():
            with self.subTest(name):
                bound = np.maximum(np.abs(before) * 2**-11, 2**-25)
                self.assertTrue((np.abs(after - before) <= bound).all())

    def test_bytes_within_half_a_step(self) -> None:
        size, table = sizes()
        self.assertEqual(self.run_main("--quantise", "int8")[0], 0)
        self.assertLess(self.out.stat().st_size - table, 0.33 * (size - table))
        for name, before, after in self.pairs():
            with self.subTest(name):
                step = np.abs(before).max(1, keepdims=True) / 127
                self.assertTrue((np.abs(after - before) <= 0.5001 * step).all())

    def test_row_of_zeros(self) -> None:
        weight = np.array([[0, 0], [1e-44, 0], [1, -2]], "f4")
        stored = shrink.to_bytes("w", weight)
        np.testing.assert_array_equal(stored["w"], [[0, 0], [0, 0], [64, -127]])
        self.assertTrue(np.isfinite(stored["w.scale"]).all())

    def test_refusals(self) -> None:
        self.assertEqual(self.run_main("--quantise", "int8")[0], 0)
        small = self.out.rename(self.out.with_name("once"))
        code, text = self.run_main("--quantise", "int8", model=small)
        self.assertEqual(code, 1)
        self.assertIn("not of dtype F32", text)
        code, text = self.run_main(model=Path(self.folder, "none"))
        self.assertEqual(code, 1)
        self.assertFalse(self.out.exists())
        with self.assertRaises(shrink.ShrinkError):
            shrink.to_half("w", np.array([[7e4]], "f4"))

    @unittest.skipUnless(PROGRAM.exists(), f"no {PROGRAM}: make programs")
    def test_library_reads_them_as_we_do(self) -> None:
        """The stored model gives what its values in 32 bits give, digit by
        digit, and something else than the model before."""
        scores = {}
        for bits in ("fp16", "int8"):
            self.assertEqual(self.run_main("--quantise", bits)[0], 0)
            scores[bits] = self.embed(self.out)
            tensors, metadata = safetensors_file.read(str(self.out))
            full = {n: w for n, w in tensors.items() if not n.endswith(".scale")}
            full.update({name: after for name, _, after in self.pairs()})
            wide = self.out.with_name("wide")
            safetensors_file.write(str(wide), full, metadata)
            self.assertEqual(scores[bits], self.embed(wide))
        self.assertEqual(len({*scores.values(), self.embed(MODEL)}), 3)

    def embed(self, model: Path) -> str:
        points = self.out.with_name("points.csv")
        subprocess.run(
            [str(PROGRAM), "--stage", "embed", "--model", str(model),
             "--event", str(EVENT), "--out", str(points), "--threads", "1",
             "--detector", str(EVENT.parent / "detectors.csv.gz")],
            check=True,
        )
        return points.read_text()
