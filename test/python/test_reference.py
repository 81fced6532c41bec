"""test_reference -- public trained networks, converted and run from Python.

The logits are those that the networks' own code gave (the reference data's
README). Skipped without the reference data.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import io
import subprocess
import unittest

from support import BUILD, REFERENCE, ROOT, LibraryCase

PROGRAM = BUILD / "examples" / "etx-find-tracks"

MODELS = REFERENCE / "exatrkx_models"
CHAIN = REFERENCE / "exatrkx_chain"
TRACKML = REFERENCE / "trackml_event"
HAVE_DATA = MODELS.is_dir() and CHAIN.is_dir() and TRACKML.is_dir()

import exatrkx
import numpy as np
from exatrkx.conversion import convert


def sigmoid(logits: np.ndarray) -> np.ndarray:
    """In double precision."""
    return 1.0 / (1.0 + np.exp(-logits.astype("f8")))


@unittest.skipUnless(HAVE_DATA, f"no {REFERENCE} (ETX_REFERENCE_DATA)")
class TestReference(LibraryCase):
    def converted(self, family: str, weights: str, *more: str) -> object:
        """The model of a file of weights."""
        out = str(self.folder / "model.safetensors")
        arguments = ["--family", family, "--weights", str(MODELS / weights)]
        with contextlib.redirect_stderr(io.StringIO()) as text:
            status = convert.main([*arguments, "--out", out, *more])
        self.assertEqual(status, 0, text.getvalue())
        return exatrkx.Model.load(out)

    def event_of(self, features: np.ndarray) -> object:
        """An event of given features; its positions are not used."""
        positions = np.zeros((len(features), 3), "f4")
        return exatrkx.Event.from_arrays(positions, features=features)

    def check(self, found: np.ndarray, logits: np.ndarray) -> None:
        """Scores against logits in double precision."""
        self.assertGreater(len(logits), 500)
        self.assertLess(np.abs(found - sigmoid(logits)).max(), 1e-5)

    def test_gnn(self) -> None:
        model = self.converted(
            "attention_gnn",
            "weights_lrt_gnn.npz",
            "--hparams",
            str(MODELS / "lrt_gnn.hparams.yaml"),
        )
        with np.load(MODELS / "lrt_gnn_in_e.npz") as data:
            x, (src, dst) = data["lrt_x"], data["lrt_edges"]
            logits = data["lrt_logit_f64"]
        graph = exatrkx.Graph.from_edges(len(x), src, dst)
        scored = exatrkx.score_graph(graph, model, self.event_of(x), self.context)
        self.check(scored.scores, logits[scored.order])

    def test_filter(self) -> None:
        model = self.converted(
            "edge_filter", "weights_trackml_filter.npz", "--cut", "0"
        )
        name = "features12_event000000001_upstream_code.npz"
        with np.load(MODELS / name) as data:
            features = data["F"]
        with np.load(MODELS / "trackml_filter_event000000001.npz") as data:
            (src, dst), logits = data["edges"], data["logit_f64"]
        graph = exatrkx.Graph.from_edges(len(features), src, dst)
        passed = exatrkx.filter_graph(
            graph, model, self.event_of(features), self.context
        )
        self.assertEqual(passed.n_edges, graph.n_edges)
        self.check(passed.scores, logits[graph.order])

    def test_chain(self) -> None:
        """Radius graph and labels of what the Exa.TrkX service recorded."""

        def read(name: str) -> np.ndarray:
            return np.loadtxt(CHAIN / f"{name}.csv", delimiter=",")

        points, (src, dst) = read("embedding"), read("edges").astype("i4")
        graph = exatrkx.Graph.radius(points, 1.6, context=self.context)
        found = set(zip(graph.src.tolist(), graph.dst.tolist(), strict=True))
        self.assertEqual(len(found), 2334)
        self.assertEqual(found, set(zip(dst.tolist(), src.tolist(), strict=True)))
        src, dst = read("filtered_edges").astype("i4")
        scores = sigmoid(read("gnn_logits")).astype("f4")
        scored = exatrkx.Graph.from_edges(len(points), src, dst, scores)
        labels = exatrkx.build_tracks(scored, cut=0.75, min_hits=1).labels
        recorded = read("labels").astype("i4").tolist()
        ours = labels[: len(recorded)].tolist()  # they left out the last hit
        n_same = len(set(zip(ours, recorded, strict=True)))
        self.assertGreater(n_same, 30)
        self.assertEqual(n_same, len(set(recorded)))
        self.assertEqual(n_same, len(set(ours)))

    def test_real_event(self) -> None:
        """The real TrackML event: the tracks of the C program."""
        prefix = TRACKML / "event000000001"
        detector = exatrkx.Detector.load(TRACKML / "detectors.csv.gz")
        event = exatrkx.Event.from_trackml(prefix, detector=detector)
        tracks = exatrkx.find_tracks(self.model, event, self.context)
        self.assertGreater(len(tracks), 100)
        ours, theirs = self.folder / "a.csv", self.folder / "b.csv"
        tracks.write_csv(ours, event)
        if not PROGRAM.exists():
            self.skipTest(f"no {PROGRAM}: make programs")
        command = [PROGRAM, "--event", prefix, "--out", theirs]
        command += ["--detector", TRACKML / "detectors.csv.gz"]
        subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
        self.assertEqual(ours.read_bytes(), theirs.read_bytes())
