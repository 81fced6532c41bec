"""convert_case -- weights of small networks, and a test case that converts them.

Its tests are skipped without numpy; what the built library would check is not
checked where it is missing.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from pathlib import Path

import numpy as np
from support import LIBRARY, FolderCase

from exatrkx.conversion import convert
from exatrkx.files import safetensors


def sequential(name: str, widths: list[int], norm: str = "affine") -> dict:
    """Weights of torch.nn.Sequential: linears, norms but after the last."""
    rng = np.random.default_rng(len(name))
    state = {}
    step = 2 if norm == "none" else 3
    for k in range(len(widths) - 1):
        shape = (widths[k + 1], widths[k])
        state[f"{name}.{k * step}.weight"] = rng.normal(size=shape).astype("f4")
        state[f"{name}.{k * step}.bias"] = np.zeros(widths[k + 1], "f4")
        if norm == "affine" and k < len(widths) - 2:
            state[f"{name}.{k * step + 1}.weight"] = np.ones(widths[k + 1], "f4")
            state[f"{name}.{k * step + 1}.bias"] = np.zeros(widths[k + 1], "f4")
    return state


def attention() -> dict:
    """Weights of a ResAGNN of width 8."""
    h = 8
    return {
        **sequential("node_encoder", [3, h, h]),
        "node_encoder.4.weight": np.full(h, 1.5, "f4"),
        "node_encoder.4.bias": np.full(h, 0.25, "f4"),
        **sequential("edge_network", [2 * (h + 3), h, 1]),
        **sequential("node_network", [2 * (h + 3), h, h]),
    }


def interaction(message: int, edge: int = 3, norm: str = "affine") -> dict:
    """Weights of an interaction network of width 8."""
    h = 8
    return {
        **sequential("node_encoder", [3, h, h, h], norm),
        **sequential("edge_encoder", [2 * h, h, h, h], norm),
        **sequential("node_network", [message * h, h, h, h], norm),
        **sequential("edge_network", [edge * h, h, h, h], norm),
        **sequential("output_edge_classifier", [3 * h, h, h, h, 1], norm),
    }


def score(path: str, stage: str, x: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Scores of the edges by the stage of the model, in their order."""
    import exatrkx

    model = exatrkx.Model.load(path)
    event = exatrkx.Event.from_arrays(np.zeros((len(x), 3)), features=x.astype("f4"))
    graph = exatrkx.Graph.from_edges(len(x), *edges)
    # A cut of 0 keeps all edges.
    compute = exatrkx.filter_graph if stage == "filter" else exatrkx.score_graph
    found = np.zeros(len(graph), "f4")
    found[graph.order] = compute(graph, model, event, exatrkx.Context(1)).scores
    return found


class ConvertCase(FolderCase):
    """A folder, and what to do with a model file in it."""

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def convert(
        self, family: str, weights: str, *arguments: str, out: str = "m.safetensors"
    ) -> tuple[int, str]:
        """Exit status and what went to stderr; paths in the folder, or whole."""
        given = ("--family", family, "--weights", self.path(weights))
        text = io.StringIO()
        with contextlib.redirect_stderr(text):
            status = convert.main((*given, "--out", self.path(out), *arguments))
        return status, text.getvalue()

    def convert_well(self, family: str, weights: str, *arguments: str) -> str:
        """Path of a model file that the library loads."""
        status, text = self.convert(family, weights, *arguments)
        self.assertEqual(status, 0, text)
        self.check_loads(self.path("m.safetensors"))
        return self.path("m.safetensors")

    def convert_state(self, family: str, state: dict, *arguments: str) -> dict:
        """Convert arrays; the stage of etx.config."""
        np.savez(self.path("w.npz"), **state)
        _, metadata = safetensors.read(
            self.convert_well(family, "w.npz", *arguments)
        )
        return json.loads(metadata["etx.config"])[convert.STAGES[family]]

    def check_loads(self, path: str) -> None:
        """The library loads the file and saves the same bytes."""
        if not LIBRARY.exists():
            return
        import exatrkx

        again = self.path("again.safetensors")
        exatrkx.Model.load(path).save(again)
        self.assertEqual(Path(path).read_bytes(), Path(again).read_bytes())
