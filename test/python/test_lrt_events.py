"""test_lrt_events -- twenty events without truth against PyTorch.

The space points of each event are joined within a radius in feature space by
etx-graph, scored with the converted lrt_gnn and labelled. The scores of the
reference operators equal the TorchScript model's in float64 to 1e-4; the fast
operators' to 1e-4 plus what float32 costs PyTorch itself,
which on single edges of dense events is more than 1e-4.
Skipped without torch, the reference data or the built programs.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
from pathlib import Path

from support import BUILD, PACKAGE, REFERENCE, FolderCase, needs

PROGRAM = BUILD / "examples" / "etx-graph"
# Units of the files, and of the network: r, phi and z.
FILE_SCALES = (1000.0, 3.141592653589793, 1000.0)
NETWORK_SCALES = (3000.0, 3.141592653589793, 400.0)
RADIUS = "0.15"


def etx_graph(*arguments: object, cpu: str = "") -> None:
    subprocess.run(
        [str(PROGRAM), *map(str, arguments)],
        check=True, env=dict(os.environ, ETX_CPU=cpu),
    )


@needs("torch")
@unittest.skipUnless(REFERENCE.is_dir(), f"no {REFERENCE} (ETX_REFERENCE_DATA)")
@unittest.skipUnless(PROGRAM.exists(), f"no {PROGRAM}: make programs")
class LrtEvents(FolderCase):
    def setUp(self) -> None:
        super().setUp()
        self.out = self.folder
        models = REFERENCE / "exatrkx_models"
        self.weights = models / "lrt_gnn.torchscript.pt"
        environment = dict(os.environ, PYTHONPATH=str(PACKAGE))
        self.model = self.out / "lrt_gnn.safetensors"
        subprocess.run(
            [sys.executable, "-m", "exatrkx", "convert", "--family", "attention_gnn",
             "--weights", str(self.weights),
             "--hparams", str(models / "lrt_gnn.hparams.yaml"),
             "--node-features", "r:3000,phi:3.141592653589793,z:400",
             "--out", str(self.model)],
            check=True, env=environment, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def scores_of_event(self, event: Path):
        """Edges [m, 2], the features [n, 3], scores [m] of the fast and of the
        reference operators, labels [n]."""
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
        scored = []
        for cpu in ("ref", ""):
            etx_graph("--stage", "gnn", *common, "--edges", edges_csv, "--out", gnn_csv,
                      cpu=cpu)
            scored.append(np.loadtxt(gnn_csv, delimiter=",", skiprows=1, ndmin=2))
        reference, fast = scored
        etx_graph("--stage", "label", *common, "--edges", gnn_csv, "--cut", "0.75",
                  "--out", label_csv)
        labels = np.loadtxt(label_csv, delimiter=",", skiprows=1, ndmin=2)[:, 1]
        return (fast[:, :2].astype("i8"), features, fast[:, 2], reference[:, 2],
                labels)

    def test_scores_are_those_of_torch(self) -> None:
        import numpy as np
        import torch

        def scores(network, features):
            with torch.no_grad():
                logits = network(features, index)
            return torch.sigmoid(logits).reshape(-1).double().numpy()

        def load():
            return torch.jit.load(str(self.weights), map_location="cpu").eval()

        def distance(a, b):
            return np.abs(a - b).max(initial=0)

        network, exact_network = load(), load().double()
        events = sorted((REFERENCE / "lrt_events").glob("evt_*.csv"))
        self.assertEqual(len(events), 20)
        n_edges = 0
        worst = [0.0, 0.0, 0.0]
        for event in events:
            with self.subTest(event=event.name):
                edges, features, fast, reference, labels = self.scores_of_event(event)
                index = torch.from_numpy(edges.T.copy())
                torch32 = scores(network, torch.from_numpy(features))
                torch64 = scores(exact_network, torch.from_numpy(features).double())
                rounding = distance(torch32, torch64)
                self.assertLessEqual(distance(reference, torch64), 1e-4)
                # Two float32 programs are apart by the rounding of both.
                self.assertLessEqual(distance(fast, torch64), 1e-4 + rounding)
                self.assertEqual(len(labels), len(features))
                n_edges += len(edges)
                found = (distance(reference, torch64), distance(fast, torch64), rounding)
                worst = [max(pair) for pair in zip(worst, found)]
        self.assertGreater(n_edges, 10000)
        print(f"20 events, {n_edges} edges; largest difference of scores: reference - "
              f"torch float64 {worst[0]:.1e}, fast - torch float64 {worst[1]:.1e}, "
              f"torch float32 - float64 {worst[2]:.1e}")
