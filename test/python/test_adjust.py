"""test_adjust -- options of a model file that are changed.

Skipped without numpy and the built library.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import io
import json
import unittest
import warnings
from pathlib import Path

from support import EVENT, MODEL, ModelToolCase

import numpy as np
import exatrkx
from exatrkx.conversion import convert
from exatrkx.files import safetensors
from exatrkx.tools import adjust, shrink, widen


class Adjust(ModelToolCase):
    def setUp(self) -> None:
        super().setUp()
        self.tool = adjust

    def test_changes(self) -> None:
        code, text = self.run_main(
            "filter.cut=0.25", "label.min_hits=7", "label.method=walkthrough",
            "embedding.graph.radius=0.375",
        )
        self.assertEqual(code, 0, text)
        config = exatrkx.Model.load(self.out).config
        self.assertEqual(config["filter"]["cut"], 0.25)
        self.assertEqual(config["label"]["min_hits"], 7)
        self.assertEqual(config["label"]["method"], "walkthrough")
        self.assertEqual(config["embedding"]["graph"]["radius"], 0.375)
        before, _ = safetensors.read(str(MODEL))
        after, _ = safetensors.read(str(self.out))
        self.assertEqual(before.keys(), after.keys())
        for name, values in before.items():
            np.testing.assert_array_equal(values, after[name])

    def test_without_cells(self) -> None:
        code, text = self.run_main("--without-cells")
        self.assertEqual(code, 0, text)
        model = exatrkx.Model.load(self.out)
        for stage in ("embedding", "filter", "gnn"):
            names = {f["name"] for f in model.config[stage]["node_features"]}
            self.assertFalse(names & set(adjust.CELL_FEATURES))
        positions = exatrkx.Event.from_trackml(EVENT).positions
        event = exatrkx.Event.from_arrays(positions)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of tracks that are not completed
            before, after = (
                exatrkx.find_tracks(m, event).labels
                for m in (exatrkx.Model.load(MODEL), model)
            )
        # Sums are in another order.
        self.assertGreater(np.mean(before == after), 0.995)

    def test_shipped_model(self) -> None:
        """By its name, as etx-find-tracks takes it."""
        files = []
        for model in ("default", str(MODEL)):
            line = [model, "--out", str(self.out), "filter.cut=0.25"]
            self.assertEqual(adjust.main(line), 0)
            files.append(Path(self.out).read_bytes())
        self.assertEqual(*files)
        with contextlib.redirect_stderr(io.StringIO()) as text:
            self.assertEqual(adjust.main(["defalt", "--out", str(self.out)]), 1)
        self.assertIn("neither a file nor one of default, accurate", text.getvalue())

    def test_networks_only(self) -> None:
        """Without first pass and completion, with the networks as they were."""
        code, text = self.run_main("--networks-only", "label.method=components")
        self.assertEqual(code, 0, text)
        config = exatrkx.Model.load(self.out).config
        for part in (config, config["training"]):
            self.assertFalse({"first_pass", "completion"} & set(part))
        before, _ = safetensors.read(str(MODEL))
        after, _ = safetensors.read(str(self.out))
        stages = {name.partition(".")[0] for name in before.keys() - after.keys()}
        self.assertEqual(stages, {"first_pass", "completion"})
        for name, values in after.items():
            np.testing.assert_array_equal(values, before[name])

    def test_refused(self) -> None:
        for change, message in (
            ("filter.cut=2", "cut"),
            ("filter.cutt=0.5", "cutt"),
            ("nothing.cut=0.5", "no object nothing"),
        ):
            with self.subTest(change):
                code, text = self.run_main(change)
                self.assertEqual(code, 1)
                self.assertIn(message, text)
                self.assertFalse(Path(self.out).exists())
                self.assertFalse(Path(f"{self.out}.part").exists())

    def test_broken_config(self) -> None:
        """A line, from every tool that reads a model file."""
        tensors, metadata = safetensors.read(str(MODEL))
        for text, said in (("{", "not valid JSON"), ("[]", "no object but list"), ('{"gnn": 3}', "gnn is no object")):
            path = self.folder / "broken.safetensors"
            safetensors.write(str(path), tensors, {"etx.config": text})
            for tool, options in ((adjust, ["--without-cells"]), (shrink, []), (widen, [])):
                self.tool = tool
                with self.subTest(text, tool=tool.__name__):
                    code, printed = self.run_main(*options, model=path)
                    self.assertEqual(code, 1)
                    self.assertIn(said, printed)
            with self.assertRaisesRegex(ValueError, f"{path}: .*{said}"):
                convert.read_model(str(path))
        self.tool = shrink
        config = json.loads(metadata["etx.config"]) | {"training": "mine"}
        safetensors.write(str(path), tensors, {"etx.config": json.dumps(config)})
        self.assertEqual(self.run_main("--prune", "0.5", model=path)[0], 0)
        done = exatrkx.Model.load(self.out).config["training"]
        self.assertEqual(done, {"shrink": {"prune": 0.5, "quantise": "none"}})

    def test_without_edge_features(self) -> None:
        tensors, metadata = safetensors.read(str(MODEL))
        config = json.loads(metadata["etx.config"])
        n = len(config["filter"]["node_features"])
        del config["filter"]["edge_features"]
        weight = tensors["filter.layers.0.weight"][:, : 2 * n]
        tensors["filter.layers.0.weight"] = np.ascontiguousarray(weight)
        path = self.folder / "m.safetensors"
        safetensors.write(str(path), tensors, {"etx.config": json.dumps(config)})
        code, text = self.run_main("--without-cells", model=path)
        self.assertEqual(code, 0, text)


if __name__ == "__main__":
    unittest.main()
