"""library -- libexatrkx through ctypes: the functions that are timed.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Mapping
from ctypes import (
    POINTER,
    byref,
    c_char_p,
    c_double,
    c_float,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_void_p,
)
from typing import Any

import numpy as np
from exatrkx import safetensors_file

STAGES = ("features", "embedding", "graph", "filter", "gnn", "label")
LABEL_COMPONENTS = 0
DEVICES = {"cpu": 0, "cuda": 1}
PRECISIONS = {"best": 0, "float32": 1, "float16": 2}


class ContextOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("device", c_int32),
        ("device_index", c_int32),
        ("n_threads", c_int32),
        ("cpu_level", c_int32),
        ("reserved", c_int32),
        ("memory_limit", c_int64),
        ("stream", c_void_p),
        ("cancel", c_void_p),
        ("cancel_user", c_void_p),
        ("precision", c_int32),
        ("keep_graphs", c_int32),
    ]


class StageTiming(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_int32),
        ("seconds", c_double),
        ("gflop", c_double),
        ("peak_bytes", c_int64),
        ("n_edges", c_int64),
    ]


class GraphOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("radius", c_float),
        ("max_neighbours", c_int32),
        ("orientation", c_int32),
        ("max_edges", c_int64),
    ]


class LabelOptions(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("method", c_int32),
        ("cut", c_float),
        ("min_hits", c_int32),
    ]


class Particle(ctypes.Structure):
    _fields_ = [
        ("id", c_int64),
        ("vertex", c_float * 3),
        ("momentum", c_float * 3),
        ("charge", c_int32),
        ("n_hits", c_int32),
    ]


class TrainingReport(ctypes.Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("is_validation", c_int32),
        ("step", c_int64),
        ("n_steps", c_int64),
        *(
            (name, c_double)
            for name in (
                "loss",
                "learning_rate",
                "gradient_norm",
                "weight_norm",
                "n_edges",
                "efficiency",
                "purity",
                "auc",
                "threshold",
                "seconds",
            )
        ),
    ]


HANDLE, TO_HANDLE = c_void_p, POINTER(c_void_p)
FALLIBLE = {
    "etx_context_options_init": (POINTER(ContextOptions), c_size_t),
    "etx_context_create": (TO_HANDLE, POINTER(ContextOptions)),
    "etx_context_timing": (POINTER(StageTiming), HANDLE, c_int32),
    "etx_model_load_memory": (TO_HANDLE, c_void_p, c_size_t),
    "etx_event_create": (TO_HANDLE, c_int64, c_void_p, c_void_p),
    "etx_event_set_features": (HANDLE, c_int64, c_void_p),
    "etx_event_set_truth": (HANDLE, c_void_p, c_void_p, c_int64, POINTER(Particle)),
    "etx_embed": (POINTER(c_int64), c_void_p, c_int64, HANDLE, HANDLE, HANDLE),
    "etx_graph_build": (TO_HANDLE, HANDLE, HANDLE, HANDLE),
    "etx_graph_options_init": (POINTER(GraphOptions), c_size_t),
    "etx_graph_build_radius": (
        TO_HANDLE,
        HANDLE,
        c_int64,
        c_int64,
        c_void_p,
        HANDLE,
        POINTER(GraphOptions),
    ),
    "etx_graph_from_edges": (
        TO_HANDLE,
        c_int64,
        c_int64,
        c_void_p,
        c_void_p,
        c_void_p,
        c_void_p,
    ),
    "etx_graph_filter": (TO_HANDLE, HANDLE, HANDLE, HANDLE, HANDLE),
    "etx_graph_score": (HANDLE, HANDLE, HANDLE, HANDLE),
    "etx_graph_to_triplets": (TO_HANDLE, HANDLE, HANDLE, c_int64),
    "etx_label_options_init": (POINTER(LabelOptions), c_size_t),
    "etx_graph_label": (c_void_p, HANDLE, HANDLE, HANDLE, POINTER(LabelOptions)),
    "etx_find_tracks": (TO_HANDLE, HANDLE, HANDLE, HANDLE),
    "etx_trainer_create": (TO_HANDLE, HANDLE, c_char_p, HANDLE),
    "etx_trainer_add_event": (HANDLE, HANDLE, c_int32),
    "etx_trainer_step": (HANDLE, POINTER(TrainingReport)),
}
GETTERS = {
    "etx_graph_n_edges": c_int64,
    "etx_graph_src": POINTER(c_int32),
    "etx_graph_dst": POINTER(c_int32),
    "etx_graph_scores": POINTER(c_float),
    "etx_tracks_count": c_int64,
}
OBJECTS = ("context", "model", "event", "graph", "tracks", "trainer")


class LibraryError(RuntimeError):
    """A call of the library failed; its own words."""


def load() -> ctypes.CDLL:
    """The library that ETX_LIBRARY names, with its prototypes."""
    loaded = ctypes.CDLL(os.environ.get("ETX_LIBRARY", "lib/libexatrkx.so"))
    for name, arguments in FALLIBLE.items():
        function = getattr(loaded, name)
        function.argtypes, function.restype = arguments, c_int32
    for name, result in GETTERS.items():
        function = getattr(loaded, name)
        function.argtypes, function.restype = [HANDLE], result
    for name in OBJECTS:
        function = getattr(loaded, f"etx_{name}_free")
        function.argtypes, function.restype = [HANDLE], None
    loaded.etx_last_error.restype = c_char_p
    loaded.etx_version.restype = c_char_p
    return loaded


class Object:
    """An object of the library, freed with this one."""

    def __init__(self, library: Library, kind: str, handle: c_void_p) -> None:
        self.library, self.kind, self.handle = library, kind, handle

    def __del__(self) -> None:
        getattr(self.library.functions, f"etx_{self.kind}_free")(self.handle)


class Library:
    """The library, and one context with so many threads, or on a device."""

    def __init__(
        self,
        n_threads: int,
        device: int = DEVICES["cpu"],
        precision: int = PRECISIONS["best"],
        keep_graphs: bool = False,
    ) -> None:
        self.functions = load()
        options = ContextOptions()
        self.call("etx_context_options_init", byref(options), ctypes.sizeof(options))
        options.n_threads = n_threads
        options.device, options.precision = device, precision
        options.keep_graphs = keep_graphs
        self.context = self.make("context", "etx_context_create", byref(options))

    def call(self, name: str, *arguments: Any) -> None:
        if getattr(self.functions, name)(*arguments) != 0:
            raise LibraryError(self.functions.etx_last_error().decode())

    def make(self, kind: str, name: str, *arguments: Any) -> Object:
        handle = c_void_p()
        self.call(name, byref(handle), *arguments)
        return Object(self, kind, handle)

    def model(
        self, config: Mapping[str, Any], tensors: Mapping[str, np.ndarray]
    ) -> Object:
        """A model of a stage or more from what a model file would hold."""
        text = json.dumps({"schema": 1} | dict(config))
        data = safetensors_file.dump(tensors, {"etx.config": text})
        return self.make("model", "etx_model_load_memory", data, len(data))

    def event(self, position: np.ndarray, features: np.ndarray | None = None) -> Object:
        position = np.ascontiguousarray(position, np.float32)
        event = self.make(
            "event", "etx_event_create", len(position), None, position.ctypes.data
        )
        if features is not None:
            features = np.ascontiguousarray(features, np.float32)
            self.call(
                "etx_event_set_features",
                event.handle,
                features.shape[1],
                features.ctypes.data,
            )
        return event

    def embed(self, points: np.ndarray, model: Object, event: Object) -> None:
        self.call(
            "etx_embed",
            byref(c_int64()),
            points.ctypes.data,
            points.size,
            self.context.handle,
            model.handle,
            event.handle,
        )

    def graph_build(self, model: Object, event: Object) -> Object:
        return self.make(
            "graph", "etx_graph_build", self.context.handle, model.handle, event.handle
        )

    def graph_build_radius(self, points: np.ndarray, radius: float) -> Object:
        options = GraphOptions()
        self.call("etx_graph_options_init", byref(options), ctypes.sizeof(options))
        options.radius = radius
        return self.make(
            "graph",
            "etx_graph_build_radius",
            self.context.handle,
            *points.shape,
            points.ctypes.data,
            None,
            byref(options),
        )

    def graph_from_edges(self, n_nodes: int, edges: np.ndarray) -> Object:
        """edges [2, m] int32; every score is one."""
        edges = np.ascontiguousarray(edges, np.int32)
        scores = np.ones(edges.shape[1], np.float32)
        return self.make(
            "graph",
            "etx_graph_from_edges",
            n_nodes,
            edges.shape[1],
            edges[0].ctypes.data,
            edges[1].ctypes.data,
            scores.ctypes.data,
            None,
        )

    def graph_filter(self, graph: Object, model: Object, event: Object) -> Object:
        return self.make(
            "graph",
            "etx_graph_filter",
            graph.handle,
            self.context.handle,
            model.handle,
            event.handle,
        )

    def graph_score(self, graph: Object, model: Object, event: Object) -> None:
        self.call(
            "etx_graph_score",
            graph.handle,
            self.context.handle,
            model.handle,
            event.handle,
        )

    def graph_to_triplets(self, graph: Object, max_edges: int) -> Object:
        return self.make(
            "graph",
            "etx_graph_to_triplets",
            graph.handle,
            self.context.handle,
            c_int64(max_edges),
        )

    def graph_label(self, labels: np.ndarray, graph: Object) -> None:
        """Connected components, single hits too."""
        options = LabelOptions()
        self.call("etx_label_options_init", byref(options), ctypes.sizeof(options))
        options.method, options.min_hits = LABEL_COMPONENTS, 1
        self.call(
            "etx_graph_label",
            labels.ctypes.data,
            graph.handle,
            self.context.handle,
            None,
            byref(options),
        )

    def find_tracks(self, model: Object, event: Object) -> Object:
        return self.make(
            "tracks", "etx_find_tracks", self.context.handle, model.handle, event.handle
        )

    def timings(self) -> dict[str, StageTiming]:
        timings = {}
        for k, stage in enumerate(STAGES):
            one = StageTiming(struct_size=ctypes.sizeof(StageTiming))
            self.call("etx_context_timing", one, self.context.handle, k)
            timings[stage] = one
        return timings

    def edges(self, graph: Object) -> np.ndarray:
        """[2, m] int32, copied."""
        n = self.functions.etx_graph_n_edges(graph.handle)
        ends = (self.functions.etx_graph_src, self.functions.etx_graph_dst)
        return np.stack(
            [np.ctypeslib.as_array(end(graph.handle), (n,)) for end in ends]
        )

    def scores(self, graph: Object) -> np.ndarray:
        """[m] float32, copied."""
        n = self.functions.etx_graph_n_edges(graph.handle)
        scores = self.functions.etx_graph_scores(graph.handle)
        return np.ctypeslib.as_array(scores, (n,)).copy()
