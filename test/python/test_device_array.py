"""Arrays of a device as other packages get them, as far as that goes without
one: over memory of the host.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import gc
import threading
import unittest
import unittest.mock
import weakref

import support

import exatrkx
import numpy as np
from exatrkx import _device_array
from exatrkx._device_array import CUDA, DeviceArray

CPU = 1  # of DLPack


class Owner:
    """Of memory."""

    def __init__(self) -> None:
        self.values = np.arange(5, dtype=np.int32)

    def lend(self, device: int, n: int = 5) -> DeviceArray:
        """The first n values, said to be on this device."""
        where = self.values.ctypes.data
        return DeviceArray(self, where, (n,), np.int32, (device, 3))


class HostGraph(support.LibraryCase):
    """A graph that is on no device."""

    def test_says_so(self) -> None:
        graph = exatrkx.Graph.from_edges(3, [0, 1], [1, 2], [0.5, 1.0])
        self.assertIsNone(graph.device_index)
        for name in ("src", "dst", "offsets", "scores"):
            with self.assertRaisesRegex(
                exatrkx.ArgumentError,
                f"etx_graph_{name}_device: the graph has no arrays on a device",
            ):
                getattr(graph, f"{name}_device")

    def test_context_of_the_cpu(self) -> None:
        with self.assertRaisesRegex(exatrkx.UnsupportedError, "keep_graphs"):
            exatrkx.Context(1, keep_graphs=True)
        with self.assertRaisesRegex(exatrkx.UnsupportedError, "keep_graphs 2"):
            exatrkx.Context(1, keep_graphs=2)

    def test_on_a_device_alone(self) -> None:
        """Arrays that are not on the host are no zeros."""
        graph = exatrkx.Graph.from_edges(3, [0, 1], [1, 2])
        with unittest.mock.patch.object(graph, "_get", return_value=0):
            with unittest.mock.patch.object(type(graph), "n_edges", 2):
                for name in ("src", "dst", "scores"):
                    with self.assertRaisesRegex(exatrkx.ArgumentError, "device alone"):
                        getattr(graph, name)

    def test_freed_when_the_context_is_idle(self) -> None:
        """Not by a thread that finds another in a call."""
        context = exatrkx.Context(1)
        pointer = exatrkx.Graph.from_edges(2, [0], [1])._pointer
        seen = weakref.ref(pointer)
        kept = exatrkx._context.KeptPointer(pointer, context)
        del pointer
        holder = [kept]
        del kept
        with context._use():
            thread = threading.Thread(target=holder.clear)
            thread.start()
            thread.join()
            self.assertIsNotNone(seen())
        self.assertIsNone(seen())

    def test_freed_after_a_call_of_the_same_thread(self) -> None:
        context = exatrkx.Context(1)
        pointer = exatrkx.Graph.from_edges(2, [0], [1])._pointer
        seen = weakref.ref(pointer)
        kept = exatrkx._context.KeptPointer(pointer, context)
        del pointer
        with context._use():
            del kept
            self.assertIsNotNone(seen())
        self.assertIsNone(seen())


class Interface(unittest.TestCase):
    """__cuda_array_interface__."""

    def test_fields(self) -> None:
        owner = Owner()
        array = owner.lend(CUDA)
        self.assertEqual(
            array.__cuda_array_interface__,
            {
                "version": 3,
                "shape": (5,),
                "typestr": "<i4",
                "data": (owner.values.ctypes.data, False),
                "strides": None,
                "stream": None,
            },
        )
        self.assertEqual(len(array), 5)
        self.assertEqual(array.device_index, 3)
        self.assertIn("GPU 3", repr(array))

    @support.needs("torch")
    def test_torch(self) -> None:
        """Torch takes what the interface says, and goes to the device."""
        import torch

        if torch.version.cuda is None or torch.cuda.is_available():
            self.skipTest("torch with CUDA where there is no driver")
        with self.assertRaisesRegex(RuntimeError, "driver"):
            torch.as_tensor(Owner().lend(CUDA), device="cuda")

    def test_empty(self) -> None:
        """The address of no values is 0."""
        found = Owner().lend(CUDA, 0).__cuda_array_interface__
        self.assertEqual(found["data"], (0, False))

    def test_the_library_reads_none(self) -> None:
        """Where values of the host are wanted."""
        with self.assertRaisesRegex(TypeError, "src: lies on device"):
            exatrkx.Graph.from_edges(9, Owner().lend(CUDA), [1] * 5)


class Dlpack(unittest.TestCase):
    """__dlpack__, by an importer that knows the host alone."""

    def test_values(self) -> None:
        """The owner's values, and it lives as long as the importer's array."""
        owner = Owner()
        where = owner.values.ctypes.data
        seen = weakref.ref(owner)
        found = np.from_dlpack(owner.lend(CPU))
        self.assertEqual(found.ctypes.data, where)
        self.assertEqual(found.tolist(), [0, 1, 2, 3, 4])
        self.assertEqual(found.dtype, np.int32)
        del owner
        gc.collect()
        self.assertIsNotNone(seen())
        del found
        gc.collect()
        self.assertIsNone(seen())
        self.assertEqual(_device_array._exported, {})

    def test_types(self) -> None:
        """Of graphs: whole numbers of 64 bits, and scores."""
        for dtype in (np.int64, np.float32):
            values = np.array([1, 2, 3], dtype)
            found = np.from_dlpack(
                DeviceArray(values, values.ctypes.data, (3,), dtype, (CPU, 0))
            )
            self.assertEqual(found.dtype, dtype)
            np.testing.assert_array_equal(found, values)

    def test_capsule_that_nobody_takes(self) -> None:
        owner = Owner()
        seen = weakref.ref(owner)
        capsule = owner.lend(CUDA).__dlpack__(stream=1, max_version=(1, 0))
        self.assertIn("dltensor", repr(capsule))
        del owner
        gc.collect()
        self.assertIsNotNone(seen())
        del capsule
        gc.collect()
        self.assertIsNone(seen())
        self.assertEqual(_device_array._exported, {})

    def test_device(self) -> None:
        """Told before the capsule is requested, and not changed."""
        array = Owner().lend(CUDA)
        self.assertEqual(array.__dlpack_device__(), (CUDA, 3))
        with self.assertRaises(BufferError):
            array.__dlpack__(copy=True)
        with self.assertRaises(BufferError):
            array.__dlpack__(dl_device=(CPU, 0))

    @support.needs("torch")
    def test_torch(self) -> None:
        import torch

        found = torch.from_dlpack(Owner().lend(CPU))
        self.assertEqual(found.tolist(), [0, 1, 2, 3, 4])
