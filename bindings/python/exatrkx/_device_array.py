"""_device_array -- arrays on a GPU, for packages that compute there.

They go to CuPy, torch, numba and others by __cuda_array_interface__ (version
3) or DLPack, without copying. This module never accesses the memory itself.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

CUDA = 2  # device type, code of DLPack
KINDS = {"i": 0, "u": 1, "f": 2}  # type codes of DLPack
NAME = b"dltensor"


class _Tensor(ctypes.Structure):
    """DLTensor of dlpack.h; strides NULL: C-contiguous."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    """DLManagedTensor of dlpack.h."""

    _fields_ = [
        ("tensor", _Tensor),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ]


# By address: what an importer still has, and the array it is of.
_exported: dict[int, tuple[_Managed, object]] = {}


def _release(where: int) -> None:
    _exported.pop(where, None)


def _destroy(capsule: int) -> None:
    """Of a capsule that nobody has taken; importers rename theirs."""
    if _is_valid(capsule, NAME):
        _release(_get_pointer(capsule, NAME))


_deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_delete = _deleter(_release)
_destroy_capsule = _deleter(_destroy)

_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype = ctypes.c_int
_is_valid.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.restype = ctypes.c_void_p
_get_pointer.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def tensor_of(capsule: object) -> _Tensor | None:
    """What a capsule of another package describes; None for one of DLPack 1.0
    or later."""
    where = ctypes.c_void_p(id(capsule))
    if not _is_valid(where, NAME):
        return None
    found: _Tensor = _Managed.from_address(_get_pointer(where, NAME)).tensor
    return found


class DeviceArray:
    """Values on a device, to be read only; keeps their owner alive.

    `cupy.asarray(array)`, `torch.as_tensor(array, device="cuda")` and
    `cupy.from_dlpack(array)` copy nothing. The values are complete: any stream
    may read them without waiting. A reader on a stream has to be done with them
    when the last reference goes.
    """

    def __init__(
        self,
        owner: object,
        where: int,
        shape: tuple[int, ...],
        dtype: DTypeLike,
        device: tuple[int, int],
    ) -> None:
        """device is that of DLPack: (type, index)."""
        self._owner = owner
        self._where = where
        self._device = device
        self.shape = shape
        self.dtype = np.dtype(dtype)

    @property
    def device_index(self) -> int:
        """Which GPU."""
        return self._device[1]

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3. stream None: there is nothing to wait for. Torch takes no
        arrays that say that they are read only, so none does."""
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (0 if 0 in self.shape else self._where, False),
            "strides": None,
            "stream": None,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device

    def __dlpack__(
        self,
        *,
        stream: object = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """A capsule of before DLPack 1.0, which cannot say "read only".

        stream and max_version may be anything: the values are complete, and
        importers take older capsules. BufferError for another device or a copy.
        """
        if copy or dl_device not in (None, self._device):
            raise BufferError("the array is shared without a copy only")
        managed = _Managed()
        shape = (ctypes.c_int64 * len(self.shape))(*self.shape)
        managed.tensor = _Tensor(
            data=self._where,
            device_type=self._device[0],
            device_id=self._device[1],
            ndim=len(self.shape),
            code=KINDS[self.dtype.kind],
            bits=8 * self.dtype.itemsize,
            lanes=1,
            shape=shape,
        )
        managed.deleter = _delete
        where = ctypes.addressof(managed)
        _exported[where] = (managed, self)
        return _new_capsule(where, NAME, _destroy_capsule)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return (
            f"<exatrkx.DeviceArray {list(self.shape)} {self.dtype} "
            f"on GPU {self.device_index}>"
        )
