"""convert_case -- weights of small networks, and a test case that converts them.

Its tests are skipped without numpy; what the built library would check is not
checked where it is missing.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import json
import os
import tempfile
import unittest
from pathlib import Path

from support import LIBRARY, has, needs

if has("numpy"):
    import numpy as np
    from exatrkx import convert, safetensors_file


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


class Library:
    """What is needed of the built library, through ctypes."""

    def __init__(self) -> None:
        self.c = ctypes.CDLL(str(LIBRARY))
        self.c.etx_last_error.restype = ctypes.c_char_p
        self.c.etx_graph_scores.restype = ctypes.POINTER(ctypes.c_float)

    def call(self, name: str, *arguments: object) -> None:
        if getattr(self.c, name)(*arguments) != 0:
            raise AssertionError(self.c.etx_last_error().decode())

    def make(self, name: str, *arguments: object) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        self.call(name, ctypes.byref(made), *arguments)
        return made

    def rewrite(self, path: str, out: str) -> None:
        model = self.make("etx_model_load", path.encode())
        self.call("etx_model_save", model, out.encode())
        self.c.etx_model_free(model)

    def score(
        self, path: str, stage: str, x: np.ndarray, edges: np.ndarray
    ) -> np.ndarray:
        """Scores of the edges by the stage of the model, in their order."""

        def pointer(array: np.ndarray) -> ctypes.c_void_p:
            return array.ctypes.data_as(ctypes.c_void_p)

        n = ctypes.c_int64
        model = self.make("etx_model_load", path.encode())
        context = self.make("etx_context_create", None)
        positions = np.zeros((len(x), 3), "f4")
        event = self.make("etx_event_create", n(len(x)), None, pointer(positions))
        features = np.ascontiguousarray(x, "f4")
        self.call("etx_event_set_features", event, n(x.shape[1]), pointer(features))
        order = np.zeros(edges.shape[1], "i8")
        ends = np.ascontiguousarray(edges, "i4")
        graph = self.make(
            "etx_graph_from_edges",
            n(len(x)),
            n(edges.shape[1]),
            pointer(ends[0]),
            pointer(ends[1]),
            None,
            pointer(order),
        )
        if stage == "filter":
            # The library numbers edges anew, and a cut of 0 keeps them all.
            whole = graph
            graph = self.make("etx_graph_filter", whole, context, model, event)
            self.c.etx_graph_free(whole)
        else:
            self.call("etx_graph_score", graph, context, model, event)
        found = np.zeros(len(order), "f4")
        found[order] = self.c.etx_graph_scores(graph)[: len(order)]
        self.c.etx_graph_free(graph)
        self.c.etx_event_free(event)
        self.c.etx_context_free(context)
        self.c.etx_model_free(model)
        return found


@needs("numpy")
class ConvertCase(unittest.TestCase):
    """A folder, and what to do with a model file in it."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def run_convert(self, *arguments: str) -> tuple[int, str]:
        """Exit status and what went to stderr."""
        text = io.StringIO()
        with contextlib.redirect_stderr(text):
            status = convert.main(arguments)
        return status, text.getvalue()

    def convert_state(self, family: str, state: dict, *arguments: str) -> dict:
        """Convert arrays; the stage of etx.config, which the library loads."""
        np.savez(self.path("w.npz"), **state)
        out = self.path("m.safetensors")
        status, text = self.run_convert(
            "--family",
            family,
            "--weights",
            self.path("w.npz"),
            "--out",
            out,
            *arguments,
        )
        self.assertEqual(status, 0, text)
        self.check_loads(out)
        _, metadata = safetensors_file.read(out)
        return json.loads(metadata["etx.config"])[convert.STAGES[family]]

    def check_loads(self, path: str) -> None:
        """The library loads the file and saves the same bytes."""
        if not LIBRARY.exists():
            return
        again = self.path("again.safetensors")
        Library().rewrite(path, again)
        self.assertEqual(Path(path).read_bytes(), Path(again).read_bytes())
