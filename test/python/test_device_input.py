"""Arrays on a GPU that the library reads: over its CPU emulation, or a GPU.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import unittest

import support

import exatrkx
import numpy as np
from exatrkx._device_array import CUDA, DeviceArray


class ByInterface:
    """What knows __cuda_array_interface__ only, and a stream."""

    def __init__(self, array: DeviceArray, **fields: object) -> None:
        self.array = array
        self.fields = fields

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        return self.array.__cuda_array_interface__ | self.fields


class ByCapsule:
    """What knows DLPack only."""

    def __init__(self, array: DeviceArray) -> None:
        self.array = array
        self.streams: list[object] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()

    def __dlpack__(self, *, stream: object = None) -> object:
        self.streams.append(stream)
        return self.array.__dlpack__()


class Pending:
    """Memory of the emulation's device 0, in which its default stream is still
    to write values."""

    def __init__(self, values: np.ndarray) -> None:
        self.cuda = ctypes.CDLL(str(support.LIBRARY))
        self.values = values  # read when the stream is waited for
        self.where = ctypes.c_void_p()
        size = ctypes.c_size_t(values.nbytes)
        to_device, legacy = 1, ctypes.c_void_p(1)
        source = ctypes.c_void_p(values.ctypes.data)
        if self.cuda.cudaMalloc(ctypes.byref(self.where), size) != 0:
            raise MemoryError
        self.cuda.cudaMemcpyAsync(self.where, source, size, to_device, legacy)

    def array(self) -> DeviceArray:
        shape, dtype = self.values.shape, self.values.dtype
        return DeviceArray(self, self.where.value or 0, shape, dtype, (CUDA, 0))

    def __del__(self) -> None:
        self.cuda.cudaFree(self.where)


class AsTorch(ByCapsule, ByInterface):
    """What a tensor of torch has: DLPack, and version 2 of the interface, which
    names no stream."""

    def __init__(self, array: DeviceArray) -> None:
        ByInterface.__init__(self, array, version=2)
        self.streams: list[object] = []

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        fields = super().__cuda_array_interface__
        del fields["stream"]
        return fields


class OfVersion2:
    """What knows version 2 of the interface only."""

    def __init__(self, array: DeviceArray) -> None:
        self.__cuda_array_interface__ = AsTorch(array).__cuda_array_interface__
        self.array = array


def no_device() -> str:
    """Why there is none; empty where there is one."""
    if not support.LIBRARY.exists():
        return f"no {support.LIBRARY}: make lib"
    try:
        exatrkx.Context(1, device="cuda").close()
    except exatrkx.Error as error:
        return str(error)
    return ""


@unittest.skipIf(no_device(), f"arrays on a GPU: {no_device()}")
class DeviceInputs(support.LibraryCase):
    """Of a graph that is on a device."""

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        cls.keeping = exatrkx.Context(1, device="cuda", keep_graphs=True)
        graph = exatrkx.build_graph(cls.model, cls.event, cls.keeping)
        cls.graph = exatrkx.filter_graph(graph, cls.model, cls.event, cls.keeping)

    def shaped(self, *shape: int) -> DeviceArray:
        """The first scores, in this shape."""
        scores = self.graph.scores_device
        return DeviceArray(scores, scores._where, shape, np.float32, (CUDA, 0))

    def test_edges(self) -> None:
        """By either protocol, sorted on the device and left there."""
        graph = self.graph
        for lend in (ByInterface, lambda array: array):
            found = exatrkx.Graph.from_edges(
                graph.n_nodes,
                lend(graph.dst_device),
                lend(graph.src_device),
                lend(graph.scores_device),
                context=self.keeping,
            )
            wanted = exatrkx.Graph.from_edges(
                graph.n_nodes, graph.dst, graph.src, graph.scores
            )
            for name in ("src", "dst", "scores", "order", "offsets"):
                np.testing.assert_array_equal(
                    getattr(found, name), getattr(wanted, name)
                )
            self.assertEqual(found.device_index, 0)

    def test_event(self) -> None:
        n = self.graph.n_edges // 3
        event = exatrkx.Event.from_arrays(
            self.shaped(n, 3),
            features=ByInterface(self.shaped(n, 2)),
            context=self.keeping,
        )
        scores = self.graph.scores
        np.testing.assert_array_equal(event.positions, scores[: 3 * n].reshape(n, 3))
        np.testing.assert_array_equal(event.features, scores[: 2 * n].reshape(n, 2))

    def test_pending(self) -> None:
        """Values that the default stream has not written yet are waited for."""
        if not hasattr(ctypes.CDLL(str(support.LIBRARY)), "cudaMalloc"):
            self.skipTest("a stream that is late: no emulation of CUDA")
        positions = np.arange(30, dtype=np.float32).reshape(10, 3)
        for lend in (AsTorch, OfVersion2, ByCapsule, ByInterface):
            pending = Pending(positions)
            event = exatrkx.Event.from_arrays(
                lend(pending.array()), context=self.keeping
            )
            np.testing.assert_array_equal(event.positions, positions)

    def test_tracks(self) -> None:
        """The same from a graph on the device as from one on the host."""
        graph = self.graph
        scored = exatrkx.score_graph(graph, self.model, self.event, self.keeping)
        found = exatrkx.Graph.from_edges(
            graph.n_nodes,
            graph.src_device,
            graph.dst_device,
            graph.scores_device,
            context=self.keeping,
        )
        again = exatrkx.score_graph(found, self.model, self.event, self.keeping)
        np.testing.assert_array_equal(again.scores, scored.scores)

    def test_refused(self) -> None:
        ends = self.graph.src_device
        n = self.graph.n_nodes
        for edges, error, text in (
            ((ends, self.graph.dst), TypeError, "src is on a GPU, dst"),
            ((ends, ends, self.graph.scores), TypeError, "src is on a GPU"),
            ((self.shaped(5), ends), TypeError, "src: type float32 on a GPU"),
            ((ends, self.graph.offsets_device), TypeError, "dst: type int64"),
            (
                (ByInterface(ends, strides=(8,)), ends),
                ValueError,
                "src: not C-contiguous",
            ),
            (
                (ends, ByInterface(ends, shape=(1,))),
                ValueError,
                r"dst: shape \[1\], expected",
            ),
        ):
            with self.assertRaisesRegex(error, text):
                exatrkx.Graph.from_edges(n, *edges, context=self.keeping)
        with self.assertRaisesRegex(exatrkx.ArgumentError, "the context is on the CPU"):
            exatrkx.Graph.from_edges(n, ends, ends, context=self.context)
        with self.assertRaisesRegex(
            exatrkx.ArgumentError, "src is in memory of the host"
        ):
            values = np.zeros(3, np.int32)
            host = DeviceArray(values, values.ctypes.data, (3,), np.int32, (CUDA, 0))
            exatrkx.Graph.from_edges(n, host, host, context=self.keeping)


class Capsules(unittest.TestCase):
    """What a capsule says, of an array that is nowhere."""

    def test_fields(self) -> None:
        from exatrkx._device_input import LEGACY_STREAM, device_input

        values = np.zeros((4, 3), np.float32)
        lender = ByCapsule(
            DeviceArray(values, values.ctypes.data, (4, 3), np.float32, (CUDA, 2))
        )
        found = device_input("x", lender, True, np.float32, -1, 3)
        self.assertEqual(found.where, values.ctypes.data)
        self.assertEqual((found.shape, found.strides), ((4, 3), None))
        self.assertEqual(found.stream, LEGACY_STREAM)
        self.assertEqual(lender.streams, [LEGACY_STREAM])

    def test_capsule_first(self) -> None:
        """Of two protocols DLPack, whose producer orders the values."""
        from exatrkx._device_input import LEGACY_STREAM, device_input

        values = np.zeros(4, np.float32)
        lender = AsTorch(
            DeviceArray(values, values.ctypes.data, (4,), np.float32, (CUDA, 2))
        )
        found = device_input("x", lender, True, np.float32, -1)
        self.assertEqual(found.stream, LEGACY_STREAM)
        self.assertEqual(lender.streams, [LEGACY_STREAM])

    def test_the_host(self) -> None:
        from exatrkx._device_input import device_input

        self.assertIsNone(device_input("x", np.zeros(3), True, np.float64, 3))
        self.assertIsNone(device_input("x", [1, 2], True, np.int64, 2))
