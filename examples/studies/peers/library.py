"""library -- libexatrkx through its Python package.

C functions are called directly where the package does more than the function
that is timed.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Mapping
from typing import Any

import exatrkx
import numpy as np
from exatrkx import _declarations, _handle, _library
from exatrkx.files import safetensors


def version() -> str:
    return str(_library.library.etx_version().decode())


def make_context(n_threads: int, precision: str = "float32") -> exatrkx.Context:
    """At the level that ETX_CPU names, as the programs have it."""
    level = os.environ.get("ETX_CPU", "best")
    return exatrkx.Context(n_threads, precision=precision, cpu_level=level)


def make_model(
    config: Mapping[str, Any], tensors: Mapping[str, np.ndarray]
) -> exatrkx.Model:
    """A model of one or more stages from the content of a model file."""
    text = json.dumps({"schema": 1} | dict(config))
    data = safetensors.dump(tensors, {"etx.config": text})
    return exatrkx.Model.from_bytes(data)


def graph_from_edges(
    n_nodes: int, edges: np.ndarray, context: exatrkx.Context
) -> exatrkx.Graph:
    """edges [2, m] int32; every score is one."""
    edges = np.ascontiguousarray(edges, np.int32)
    scores = np.ones(edges.shape[1], np.float32)
    addresses = [array.ctypes.data for array in (*edges, scores)]
    sizes = (n_nodes, edges.shape[1])
    made = _handle.make("graph", "etx_graph_from_edges", *sizes, *addresses, None)
    return exatrkx.Graph(context._owned(made))


def score(
    graph: exatrkx.Graph,
    model: exatrkx.Model,
    event: exatrkx.Event,
    context: exatrkx.Context,
) -> exatrkx.Graph:
    """The same graph, scored in place."""
    handles = [one._pointer for one in (graph, context, model, event)]
    _library.call("etx_graph_score", *handles)
    return graph


def label_components(graph: exatrkx.Graph, context: exatrkx.Context) -> np.ndarray:
    """[n_nodes] int32 labels of connected components, single hits included."""
    options = _library.defaults(
        _declarations.etx_label_options,
        method=_declarations.ETX_LABEL_COMPONENTS,
        min_hits=1,
    )
    labels = np.empty(graph.n_nodes, np.int32)
    handles = (graph._pointer, context._pointer, None)
    _library.call(
        "etx_graph_label", labels.ctypes.data, *handles, ctypes.byref(options)
    )
    return labels
