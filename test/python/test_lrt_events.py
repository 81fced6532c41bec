"""test_lrt_events -- twenty events without truth against PyTorch.

The space points of each event are joined within a radius in feature space by
etx-graph, scored with the converted lrt_gnn and labelled; the scores are those
of the TorchScript model to 1e-4. Skipped without torch, the reference data or
the built programs.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = Path(os.environ.get("ETX_REFERENCE_DATA", ROOT / ".." / "shared" / "data"))
PROGRAM = ROOT / os.environ.get("ETX_BUILD", "build") / "examples" / "etx-graph"
HAVE_TORCH = importlib.util.find_spec("torch") is not None
# Units of the files, and of the network: r, phi and z.
FILE_SCALES = (1000.0, 3.141592653589793, 1000.0)
NETWORK_SCALES = (3000.0, 3.141592653589793, 400.0)
RADIUS = "0.15"


def etx_graph(*arguments: object) -> None:
    subprocess.run([str(PROGRAM), *map(str, arguments)], check=True)


@unittest.skipUnless(HAVE_TORCH, "torch is not installed")
@unittest.skipUnless(REFERENCE.is_dir(), f"no {REFERENCE} (ETX_REFERENCE_DATA)")
@unittest.skipUnless(PROGRAM.exists(), f"no {PROGRAM}: make programs")
class LrtEvents(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.out = Path(self.folder.name)
        models = REFERENCE / "exatrkx_models"
        self.weights = models / "lrt_gnn.torchscript.pt"
        environment = dict(os.environ, PYTHONPATH=str(ROOT / "bindings" / "python"))
        self.model = self.out / "lrt_gnn.safetensors"
        subprocess.run(
            [sys.executable, "-m", "exatrkx.convert", "--family", "attention_gnn",
             "--weights", str(self.weights),
             "--hparams", str(models / "lrt_gnn.hparams.yaml"),
             "--node-features", "r:3000,phi:3.141592653589793,z:400",
             "--out", str(self.model)],
            check=True, env=environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def scores_of_event(self, event: Path):
        """Edges [m, 2], our scores [m], the features [n, 3], labels [n]."""
        import numpy as np

        ratio = np.array(FILE_SCALES) / np.array(NETWORK_SCALES)
        features = (np.loadtxt(event, delimiter=",", ndmin=2) * ratio).astype("f4")
        features_csv = self.out / "features.csv"
        np.savetxt(features_csv, features, delimiter=",", fmt="%.9g")
        scales = ",".join(f"{scale:.9g}" for scale in NETWORK_SCALES)
        edges_csv, gnn_csv, label_csv = (
            self.out / name for name in ("edges.csv", "gnn.csv", "label.csv")
        )
        etx_graph("--stage", "graph", "--points", features_csv, "--radius", RADIUS,
                  "--out", edges_csv)
        edges = np.loadtxt(edges_csv, delimiter=",", skiprows=1, usecols=(0, 1),
                           ndmin=2)
        np.savetxt(edges_csv, edges, delimiter=",", fmt="%d")
        common = ("--features", features_csv, "--scales", scales, "--model", self.model)
        etx_graph("--stage", "gnn", *common, "--edges", edges_csv, "--out", gnn_csv)
        scored = np.loadtxt(gnn_csv, delimiter=",", skiprows=1, ndmin=2)
        etx_graph("--stage", "label", *common, "--edges", gnn_csv, "--cut", "0.75",
                  "--out", label_csv)
        labels = np.loadtxt(label_csv, delimiter=",", skiprows=1, ndmin=2)[:, 1]
        return scored[:, :2].astype("i8"), scored[:, 2], features, labels

    def test_scores_are_those_of_torch(self) -> None:
        import numpy as np
        import torch

        network = torch.jit.load(str(self.weights), map_location="cpu").eval()
        events = sorted((REFERENCE / "lrt_events").glob("evt_*.csv"))
        self.assertEqual(len(events), 20)
        n_edges = 0
        for event in events:
            with self.subTest(event=event.name):
                edges, scores, features, labels = self.scores_of_event(event)
                with torch.no_grad():
                    logits = network(
                        torch.from_numpy(features), torch.from_numpy(edges.T.copy())
                    )
                wanted = torch.sigmoid(logits).reshape(-1).numpy()
                self.assertEqual(len(wanted), len(scores))
                self.assertLessEqual(np.abs(wanted - scores).max(initial=0), 1e-4)
                self.assertEqual(len(labels), len(features))
                n_edges += len(edges)
        self.assertGreater(n_edges, 10000)


if __name__ == "__main__":
    unittest.main()
