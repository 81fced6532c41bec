"""_graph -- edges between hits, and their scores.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import _declarations, _handle
from ._arrays import address, array, optional
from ._context import Context, choose, context_or_default
from ._device_array import CUDA, DeviceArray
from ._device_input import DeviceInput, device_input
from ._errors import ArgumentError
from ._event import Event
from ._library import call, defaults, library, problem

ORIENTATIONS = {
    "index": _declarations.ETX_ORIENT_INDEX,
    "outward": _declarations.ETX_ORIENT_OUTWARD,
    "both": _declarations.ETX_ORIENT_BOTH,
}
MAX_EDGES = 2**31 - 1


class Graph(_handle.Immutable):
    """Edges from src to dst, sorted by dst, then src.

    Does not change once made: scoring gives a new graph, so views stay what
    they were. order [n_edges] is the index of each edge in the arrays that
    from_edges was given, and None for other graphs.
    """

    order: NDArray[np.int64] | None = None

    @classmethod
    def from_edges(
        cls,
        n_nodes: int,
        src: Any,
        dst: Any,
        scores: Any = None,
        *,
        features: Any = None,
        context: Context | None = None,
    ) -> Graph:
        """Your own edges: src, dst [n_edges] rows in 0 .. n_nodes - 1.

        src, dst and scores may be on the GPU of context, and are sorted there.

        scores [n_edges] in [0, 1] or None; features [n_edges, k], at most 16
        columns, are the edge features own_0, own_1, ... of a model. All are
        copied and sorted; `order` says how. Raises ArgumentError or
        LimitError.
        """
        first = device_input("src", src, context, np.int32, -1)
        if first is not None and context is not None:
            graph, order = cls._of_device(n_nodes, first, dst, scores, context)
        else:
            graph, order = cls._of_host(n_nodes, src, dst, scores)
        graph.order = order
        columns = optional("features", features, np.float32, len(order), -1)
        if columns is not None:
            graph._set_features(columns[order])
        return graph

    @classmethod
    def _of_host(
        cls, n_nodes: int, src: Any, dst: Any, scores: Any
    ) -> tuple[Graph, NDArray[np.int64]]:
        first = array("src", src, np.int32, -1)
        second = array("dst", dst, np.int32, len(first))
        value = optional("scores", scores, np.float32, len(first))
        order = np.empty(len(first), np.int64)
        graph = cls(
            _handle.make(
                "graph",
                "etx_graph_from_edges",
                n_nodes,
                len(first),
                address(first),
                address(second),
                address(value),
                address(order),
            )
        )
        return graph, order

    @classmethod
    def _of_device(
        cls,
        n_nodes: int,
        first: DeviceInput,
        dst: Any,
        scores: Any,
        context: Context,
    ) -> tuple[Graph, NDArray[np.int64]]:
        n = first.shape[0]
        second = device_input("dst", dst, context, np.int32, n)
        value = device_input("scores", scores, context, np.float32, n)
        if second is None or (value is None and scores is not None):
            raise TypeError("src is on a GPU, dst and scores are not both")
        streams = {one.stream for one in (first, second, value) if one} - {None}
        if len(streams) > 1:
            raise ValueError("src, dst and scores: of several streams")
        order = np.empty(n, np.int64)
        with context._use() as used:
            made = _handle.make(
                "graph",
                "etx_graph_from_edges_device",
                used,
                n_nodes,
                n,
                first.where,
                second.where,
                None if value is None else value.where,
                address(order),
                streams.pop() if streams else None,
            )
        return cls(context._owned(made)), order

    def _set_features(self, columns: NDArray[np.float32]) -> None:
        """In the order of the graph."""
        call(
            "etx_graph_set_edge_features",
            self._pointer,
            columns.shape[1],
            address(np.ascontiguousarray(columns)),
        )

    @classmethod
    def radius(
        cls,
        points: Any,
        radius: float,
        *,
        max_neighbours: int = 0,
        orientation: str = "index",
        max_edges: int = MAX_EDGES,
        event: Event | None = None,
        context: Context | None = None,
    ) -> Graph:
        """Pairs of points [n_points, n_dim] not further apart than radius.

        max_neighbours keeps the nearest of each, 0 = all. orientation is
        "index", "outward" (needs event): each pair once; or "both": an edge
        from each point to its neighbours. Raises LimitError above max_edges.
        """
        return cls._neighbours(
            "radius",
            points,
            event,
            context,
            radius=radius,
            max_neighbours=max_neighbours,
            orientation=choose("orientation", orientation, ORIENTATIONS),
            max_edges=max_edges,
        )

    @classmethod
    def nearest(
        cls,
        points: Any,
        n_neighbours: int,
        *,
        orientation: str = "both",
        event: Event | None = None,
        context: Context | None = None,
    ) -> Graph:
        """The nearest of every point, however far; orientation as of radius."""
        return cls._neighbours(
            "knn",
            points,
            event,
            context,
            max_neighbours=n_neighbours,
            orientation=choose("orientation", orientation, ORIENTATIONS),
        )

    @classmethod
    def _neighbours(
        cls,
        method: str,
        points: Any,
        event: Event | None,
        context: Context | None,
        **fields: Any,
    ) -> Graph:
        coordinates = array("points", points, np.float32, -1, -1)
        options = defaults(_declarations.etx_graph_options, **fields)
        chosen = context_or_default(context)
        with chosen._use() as used:
            made = _handle.make(
                "graph",
                f"etx_graph_build_{method}",
                used,
                *coordinates.shape,
                address(coordinates),
                None if event is None else _handle.pointer("event", event),
                ctypes.byref(options),
            )
        return cls(chosen._owned(made))

    def to_triplets(
        self, *, max_edges: int = MAX_EDGES, context: Context | None = None
    ) -> Graph:
        """The line graph: its nodes are the edges of this graph.

        An edge of it joins two that meet at a hit, head to tail.
        """
        chosen = context_or_default(context)
        with chosen._use() as used:
            made = _handle.make(
                "graph",
                "etx_graph_to_triplets",
                self._pointer,
                used,
                max_edges,
            )
        return Graph(chosen._owned(made))

    @property
    def n_nodes(self) -> int:
        """Hits, or points."""
        return self._count("etx_graph_n_nodes")

    @property
    def n_edges(self) -> int:
        """Edges."""
        return self._count("etx_graph_n_edges")

    def __len__(self) -> int:
        return self.n_edges

    @property
    def src(self) -> NDArray[np.int32]:
        """[n_edges] int32, a view: the row each edge starts at.

        ArgumentError, also below, where keep_graphs 2 has it on a device alone.
        """
        return self._host_array("src", self.n_edges, np.int32)

    @property
    def dst(self) -> NDArray[np.int32]:
        """[n_edges] int32, a view: the row each edge ends at."""
        return self._host_array("dst", self.n_edges, np.int32)

    @property
    def edge_index(self) -> NDArray[np.int64]:
        """[2, n_edges] int64, src above dst, a new array: as PyTorch Geometric
        takes it."""
        return np.stack([self.src, self.dst]).astype(np.int64)

    @property
    def offsets(self) -> NDArray[np.int64]:
        """[n_nodes + 1] int64, a view: edges into node i are
        offsets[i] .. offsets[i + 1] - 1."""
        return self._host_array("offsets", self.n_nodes + 1, np.int64)

    @property
    def scores(self) -> NDArray[np.float32] | None:
        """[n_edges] float32 in [0, 1], a view; None before scoring."""
        if not self._get("etx_graph_scores"):
            self._host_array("src", self.n_edges, np.int32)  # is on the host?
            return None
        return self._view("etx_graph_scores", (self.n_edges,), np.float32)

    @property
    def features(self) -> NDArray[np.float32] | None:
        """[n_edges, k] float32 as from_edges was given them, in the order of
        the graph, a view; None without."""
        shape = (self.n_edges, self._get("etx_graph_n_edge_features"))
        if shape[1] == 0:
            return None
        return self._view("etx_graph_edge_features", shape, np.float32)

    @property
    def device_index(self) -> int | None:
        """The GPU that has the arrays too; None: the host alone."""
        index = self._get("etx_graph_device_index")
        return None if index < 0 else index

    @property
    def src_device(self) -> DeviceArray:
        """src on the device of a context with keep_graphs, without copying.

        ArgumentError, also below, for a graph in host memory.
        """
        return self._device_array("src", self.n_edges, np.int32)

    @property
    def dst_device(self) -> DeviceArray:
        """dst on the device."""
        return self._device_array("dst", self.n_edges, np.int32)

    @property
    def offsets_device(self) -> DeviceArray:
        """offsets on the device."""
        return self._device_array("offsets", self.n_nodes + 1, np.int64)

    @property
    def scores_device(self) -> DeviceArray:
        """scores on the device; ArgumentError before scoring, too."""
        return self._device_array("scores", self.n_edges, np.float32)

    def _host_array(self, name: str, n: int, dtype: DTypeLike) -> np.ndarray:
        if n and not self._get(f"etx_graph_{name}"):
            raise ArgumentError(
                f"{name}: the graph is on a device alone (keep_graphs 2)"
            )
        return self._view(f"etx_graph_{name}", (n,), dtype)

    def _device_array(
        self, name: str, n: int, dtype: DTypeLike
    ) -> DeviceArray:
        pointer = self._pointer
        where = getattr(library, f"etx_graph_{name}_device")(pointer)
        if not where:
            raise problem(_declarations.ETX_ERR_ARGUMENT)
        device = (CUDA, library.etx_graph_device_index(pointer))
        return DeviceArray(pointer, where, (n,), dtype, device)

    def __reduce__(self) -> tuple[Any, ...]:
        ends = (self.n_nodes, self.src, self.dst)
        values = (self.scores, self.order, self.features)
        return Graph._of_arrays, ends + values

    @classmethod
    def _of_arrays(
        cls,
        n_nodes: int,
        src: Any,
        dst: Any,
        scores: Any,
        order: Any,
        features: Any,
    ) -> Graph:
        """A graph as it was pickled: sorted, with the order it had."""
        graph = cls.from_edges(n_nodes, src, dst, scores, features=features)
        graph.order = order
        return graph

    def __repr__(self) -> str:
        if self.closed:
            return "<exatrkx.Graph closed>"
        names = ("etx_graph_scores", "etx_graph_scores_device")
        scored = "scored" if any(map(self._get, names)) else "not scored"
        return (
            f"<exatrkx.Graph of {self.n_nodes} nodes, {self.n_edges} edges, "
            f"{scored}>"
        )
