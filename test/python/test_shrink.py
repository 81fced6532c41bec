"""test_shrink -- smaller models that the C library loads and runs.

Skipped without numpy; what needs the built programs is skipped without them.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import subprocess
import unittest
from pathlib import Path
from unittest import mock

from support import BUILD, EVENT, MODEL, ModelToolCase

PROGRAM = BUILD / "examples" / "etx-graph"

import numpy as np
from exatrkx.files import safetensors
from exatrkx.tools import shrink, widen

TABLES = ("completion.", "first_pass.")


def is_weight(name: str, array: np.ndarray) -> bool:
    """A matrix of a network; learned tables stay as they are."""
    return array.ndim == 2 and not name.startswith(TABLES)


def sizes() -> tuple[int, int]:
    """Bytes of the model file, and of the learned tables in it."""
    tensors, _ = safetensors.read(str(MODEL))
    table = sum(a.nbytes for n, a in tensors.items() if n.startswith(TABLES))
    return MODEL.stat().st_size, table


class Shrink(ModelToolCase):
    def setUp(self) -> None:
        super().setUp()
        self.tool = shrink

    def pairs(self) -> list[tuple[str, np.ndarray, np.ndarray]]:
        """Name, weight before and after, of every matrix; vectors are equal."""
        before, _ = safetensors.read(str(MODEL))
        after, _ = safetensors.read(str(self.out))
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

    def test_narrow_removes_copies_that_nothing_reads(self) -> None:
        """What widen added comes off, bit for bit, if its copies have no share."""

        def all_to_the_first(
            factor: int, shape: tuple[int, ...], random: object
        ) -> np.ndarray:
            shares = np.zeros((factor, *shape))
            shares[0] = 1
            return shares

        wide = self.folder / "wide.safetensors"
        with mock.patch.object(widen, "draw_shares", all_to_the_first):
            self.assertEqual(widen.main([str(MODEL), "--out", str(wide)]), 0)
        self.assertEqual(self.run_main("--narrow", "0.5", model=wide)[0], 0)
        before, metadata = safetensors.read(str(MODEL))
        after, narrowed = safetensors.read(str(self.out))
        self.assertEqual(before.keys(), after.keys())
        for name in before:
            if not name.startswith("filter."):
                with self.subTest(name):
                    np.testing.assert_array_equal(before[name], after[name])
        configs = [json.loads(m[safetensors.CONFIG]) for m in (metadata, narrowed)]
        self.assertEqual(*(config["gnn"]["options"]["hidden"] for config in configs))

    @unittest.skipUnless(PROGRAM.exists(), f"no {PROGRAM}: make programs")
    def test_narrow_keeps_the_units_of_largest_worth(self) -> None:
        """Rows of the filter and the columns that read them; the library loads it."""
        self.assertEqual(self.run_main("--narrow", "0.25")[0], 0)
        before, _ = safetensors.read(str(MODEL))
        after, _ = safetensors.read(str(self.out))
        layer, reader = "filter.layers.0", "filter.layers.1.weight"
        given = before[layer + ".gain"] ** 2 + before[layer + ".shift"] ** 2
        worth = given * (before[reader] ** 2).sum(0)
        stays = worth > np.sort(worth)[15]
        self.assertEqual(stays.sum(), 48)
        np.testing.assert_array_equal(
            before[layer + ".weight"][stays], after[layer + ".weight"]
        )
        columns = before[reader][:, stays]
        rows = [row.tobytes() for row in columns]
        self.assertTrue(all(row.tobytes() in rows for row in after[reader]))
        self.assertEqual(self.embed(MODEL), self.embed(self.out))

    def test_narrow_refuses_other_networks(self) -> None:
        tensors, metadata = safetensors.read(str(MODEL))
        for stage, key, value in (
            ("filter", "arch", "mlp"),
            ("gnn", "options", {"hidden": 32, "edge_update": "old"}),
        ):
            config = json.loads(metadata[safetensors.CONFIG])
            config[stage][key] = value
            with self.subTest(key), self.assertRaisesRegex(ValueError, "--narrow"):
                shrink.narrow(tensors, config, 0.5)

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
            tensors, metadata = safetensors.read(str(self.out))
            full = {n: w for n, w in tensors.items() if not n.endswith(".scale")}
            full.update({name: after for name, _, after in self.pairs()})
            wide = self.out.with_name("wide")
            safetensors.write(str(wide), full, metadata)
            self.assertEqual(scores[bits], self.embed(wide))
        self.assertEqual(len({*scores.values(), self.embed(MODEL)}), 3)

    def embed(self, model: Path) -> str:
        points = self.out.with_name("points.csv")
        subprocess.run(
            [str(PROGRAM), "--stage", "embedding", "--model", str(model),
             "--event", str(EVENT), "--out", str(points), "--threads", "1",
             "--detector", str(EVENT.parent / "detectors.csv.gz")],
            check=True,
        )
        return points.read_text()
