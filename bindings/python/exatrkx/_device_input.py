"""_device_input -- arrays of other packages on a GPU, read there by the library.

By DLPack or else __cuda_array_interface__, without copying or importing a
package. This module never accesses the memory itself.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ._device_array import CUDA, KINDS, tensor_of

LEGACY_STREAM = 1  # the default stream, in both protocols and in CUDA


@dataclass
class DeviceInput:
    """Values on a device, written in the order of a stream (None: the default
    stream, which the library follows)."""

    where: int | None
    shape: tuple[int, ...]
    dtype: np.dtype
    strides: tuple[int, ...] | None  # in bytes; None: C-contiguous
    stream: int | None
    owner: object  # keeps the memory

    def check(self, name: str, dtype: DTypeLike, shape: tuple[int, ...]) -> None:
        """TypeError for another dtype, ValueError for another shape, -1 = any
        length: nothing is converted on a device."""
        wanted = ", ".join("n" if n < 0 else str(n) for n in shape)
        if self.dtype != np.dtype(dtype):
            raise TypeError(
                f"{name}: type {self.dtype} on a GPU, expected {np.dtype(dtype)}"
            )
        fits = len(shape) == len(self.shape) and all(
            one in (-1, n) for one, n in zip(shape, self.shape, strict=True)
        )
        if not fits:
            raise ValueError(
                f"{name}: shape {list(self.shape)}, expected [{wanted}]"
            )
        if self.strides not in (None, contiguous(self.shape, self.dtype)):
            raise ValueError(f"{name}: not C-contiguous, on a GPU")


def contiguous(shape: tuple[int, ...], dtype: np.dtype) -> tuple[int, ...]:
    """Strides in bytes of a C-contiguous array."""
    strides = []
    step = dtype.itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= n
    return tuple(reversed(strides))


def is_on_device(value: Any) -> bool:
    """Whether value says that it is on a GPU."""
    if hasattr(value, "__dlpack_device__"):
        try:
            return int(value.__dlpack_device__()[0]) == CUDA
        except ValueError:  # torch's way for what has no memory
            return False
    return hasattr(value, "__cuda_array_interface__")


def device_input(
    name: str, value: Any, context: object, dtype: DTypeLike, *shape: int
) -> DeviceInput | None:
    """value as the library reads it on its device; None where it is not on one,
    or there is no context to read it with."""
    if context is None or not is_on_device(value):
        return None
    # DLPack first: its producer orders the values itself, where version 2 of
    # the interface, which torch has, names no stream.
    found = of_capsule(value) if hasattr(value, "__dlpack__") else of_interface(value)
    found.check(name, dtype, shape)
    return found


def of_interface(value: Any) -> DeviceInput:
    """By __cuda_array_interface__."""
    fields = value.__cuda_array_interface__
    strides = fields.get("strides")
    return DeviceInput(
        where=fields["data"][0],
        shape=tuple(fields["shape"]),
        dtype=np.dtype(fields["typestr"]),
        strides=None if strides is None else tuple(strides),
        stream=fields.get("stream"),
        owner=value,
    )


def of_capsule(value: Any) -> DeviceInput:
    """By DLPack: the producer makes the default stream wait for the values, and
    the capsule keeps them."""
    capsule = value.__dlpack__(stream=LEGACY_STREAM)
    tensor = tensor_of(capsule)
    if tensor is None:
        raise TypeError(f"{type(value).__name__}: no capsule of DLPack before 1.0")
    kind = {code: letter for letter, code in KINDS.items()}.get(tensor.code)
    size = tensor.bits // 8
    shape = tuple(tensor.shape[: tensor.ndim])
    return DeviceInput(
        where=(tensor.data or 0) + tensor.byte_offset,
        shape=shape,
        dtype=np.dtype(f"{kind}{size}" if kind else "V1"),
        strides=tuple(size * n for n in tensor.strides[: tensor.ndim])
        if tensor.strides
        else None,
        stream=LEGACY_STREAM,
        owner=capsule,
    )
