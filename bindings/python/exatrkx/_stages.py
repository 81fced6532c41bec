"""_stages -- the pipeline, as a whole and stage by stage.

Every function takes a context and uses one of the calling thread on all cores
where none is given. Errors of the library are raised as exatrkx.Error.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import dataclasses
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _declarations, _errors, _handle, _library
from ._arrays import address
from ._context import Context, context_or_default
from ._event import Event
from ._graph import Graph
from ._model import Model, filled_of
from ._options import CompletionOptions, FirstPassOptions, LabelOptions
from ._tracks import Tracks


def find_tracks(
    model: Model, event: Event, context: Context | None = None
) -> Tracks:
    """The whole pipeline: every stage of the model and the labels.

    Of an event with modules the first pass of the model comes before, and the
    next stages get the hits that it leaves; completion comes last. A warning
    of what does not fit the model (Event.check).
    """
    with context_or_default(context)._use() as used:
        found = Tracks(
            _handle.make(
                "tracks",
                "etx_find_tracks",
                used,
                _handle.pointer("model", model),
                _handle.pointer("event", event),
            )
        )
    warn_of(model, [event])
    return found


def warn_of(model: Model, events: Sequence[Event]) -> None:
    """A warning of what does not fit the model, of the first such event."""
    for event in events:
        doubt = event.check(model=model)
        if doubt:
            warnings.warn(f"{event.name}: {doubt}".removeprefix(": "), stacklevel=3)
            return


def find_tracks_batch(
    model: Model, events: Iterable[Event], context: Context | None = None
) -> list[Tracks]:
    """The tracks of each event, as find_tracks gives them, with its warning; on
    the CPU each thread of the context runs an event, which is faster as a whole
    and takes the memory of as many."""
    events = list(events)
    pointers = [_handle.pointer("events", one) for one in events]
    event = (_declarations.etx_event * len(pointers))(
        *(one._as_parameter_ for one in pointers)
    )
    found = (ctypes.c_void_p * len(pointers))()
    with context_or_default(context)._use() as used:
        _library.call(
            "etx_find_tracks_batch",
            found,
            used,
            _handle.pointer("model", model),
            len(pointers),
            event,
        )
    warn_of(model, events)
    return [Tracks(_handle.Pointer("tracks", one)) for one in found if one]


def embed(
    model: Model, event: Event, context: Context | None = None
) -> NDArray[np.float32]:
    """Points of the learned space, [n_hits, n_dim] float32, a new array.

    ArgumentError when the model has no embedding.
    """
    n_dim = ctypes.c_int64()
    size = ctypes.byref(n_dim)
    arguments = (_handle.pointer("model", model), _handle.pointer("event", event))
    with context_or_default(context)._use() as used:
        _library.call("etx_embed", size, None, 0, used, *arguments)
        points = np.empty((event.n_hits, n_dim.value), np.float32)
        where = address(points)
        _library.call("etx_embed", size, where, points.size, used, *arguments)
    return points


def build_graph(
    model: Model, event: Event, context: Context | None = None
) -> Graph:
    """The candidate edges, by the module map of the model where it has one, else
    by its embedding and radius; without scores."""
    chosen = context_or_default(context)
    with chosen._use() as used:
        made = _handle.make(
            "graph",
            "etx_graph_build",
            used,
            _handle.pointer("model", model),
            _handle.pointer("event", event),
        )
    return Graph(chosen._owned(made))


def filter_graph(
    graph: Graph, model: Model, event: Event, context: Context | None = None
) -> Graph:
    """A new graph of the edges whose filter score is above the model's cut."""
    chosen = context_or_default(context)
    with chosen._use() as used:
        made = _handle.make(
            "graph",
            "etx_graph_filter",
            _handle.pointer("graph", graph),
            used,
            _handle.pointer("model", model),
            _handle.pointer("event", event),
        )
    return Graph(chosen._owned(made))


def score_graph(
    graph: Graph, model: Model, event: Event, context: Context | None = None
) -> Graph:
    """A new graph: the same edges with the scores of the model's graph neural
    network."""
    chosen = context_or_default(context)
    scored = copy_of(graph, chosen)
    with chosen._use() as used:
        _library.call(
            "etx_graph_score",
            scored._pointer,
            used,
            _handle.pointer("model", model),
            _handle.pointer("event", event),
        )
    return scored


def score_triplets(
    triplets: Graph,
    graph: Graph,
    model: Model,
    event: Event,
    context: Context | None = None,
) -> Graph:
    """A new graph: triplets, which is graph.to_triplets(), with scores.

    Scores of the model's network where it scores triplets (triplet_gnn), else
    products of the scores of both edges of graph, which must have some
    (ArgumentError).
    """
    chosen = context_or_default(context)
    scored = copy_of(triplets, chosen)
    with chosen._use() as used:
        _library.call(
            "etx_graph_score_triplets",
            scored._pointer,
            _handle.pointer("graph", graph),
            used,
            _handle.pointer("model", model),
            _handle.pointer("event", event),
        )
    return scored


def copy_of(graph: Graph, context: Context) -> Graph:
    """The same edges, scores and features, to be scored in a context."""
    make, arrays = graph.__reduce__()
    made: Graph = make(*arrays)
    made._open = context._owned(made._pointer)
    return made


def build_tracks(
    graph: Graph,
    options: LabelOptions | None = None,
    *,
    event: Event | None = None,
    context: Context | None = None,
    **changes: Any,
) -> Tracks:
    """Group the hits of a scored graph into tracks.

    options: model.label_options of a model, or the defaults; changes
    replace its fields, as cut=0.3. event gives the positions that the methods
    "walkthrough" and "best_first" need.
    """
    options = LabelOptions() if options is None else options
    _errors.expect("options", options, "LabelOptions")
    chosen = dataclasses.replace(options, **changes)
    filled = chosen._filled()
    with context_or_default(context)._use() as used:
        return Tracks(
            _handle.make(
                "tracks",
                "etx_graph_tracks",
                _handle.pointer("graph", graph),
                used,
                None if event is None else _handle.pointer("event", event),
                ctypes.byref(filled),
            )
        )


def find_long_tracks(
    model: Model,
    event: Event,
    context: Context | None = None,
    *,
    options: FirstPassOptions | None = None,
) -> Tracks:
    """Long tracks from the beam line, found without a network.

    model must have a first pass (learn_first_pass), and event modules.
    find_tracks begins with this for such a model. options:
    model.first_pass_options, unless given.
    """
    filled = None if options is None else filled_of(options, "FirstPassOptions")
    with context_or_default(context)._use() as used:
        return Tracks(
            _handle.make(
                "tracks",
                "etx_find_long_tracks",
                used,
                _handle.pointer("model", model),
                _handle.pointer("event", event),
                filled,
            )
        )


def complete_tracks(
    tracks: Tracks,
    model: Model,
    event: Event,
    context: Context | None = None,
    *,
    options: CompletionOptions | None = None,
) -> Tracks:
    """New tracks with the hits that the given ones lack.

    model must have a completion (learn_completion), and event modules.
    find_tracks does this with such a model. options: model.completion_options,
    unless given.
    """
    filled = None if options is None else filled_of(options, "CompletionOptions")
    with context_or_default(context)._use() as used:
        return Tracks(
            _handle.make(
                "tracks",
                "etx_complete_tracks",
                _handle.pointer("tracks", tracks),
                used,
                _handle.pointer("model", model),
                _handle.pointer("event", event),
                filled,
            )
        )
