"""_arrays -- arrays of other packages in, views of the library's memory out.

In: whatever speaks __array__, __array_interface__ or __dlpack__ (numpy,
torch on the CPU, pandas, awkward), or a sequence; none of those packages is
imported. Nothing is copied where type and layout are already right.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ._errors import ArgumentError

END = object()
CPU = (1, 3)  # DLPack devices whose memory the host reads: CPU, pinned


def array(name: str, value: Any, dtype: DTypeLike, *shape: int) -> np.ndarray:
    """value as a C-contiguous array of dtype and shape, -1 = any length.

    TypeError for an object that is no array or is on a device, ValueError for a wrong
    shape, or for values that dtype cannot hold.
    """
    if value is None:
        raise ArgumentError(f"{name}: None, expected an array")
    found = convert(name, exchange(name, value), np.dtype(dtype))
    wrong = found.ndim != len(shape) or any(
        wanted not in (-1, n)
        for wanted, n in zip(shape, found.shape, strict=False)
    )
    if wrong:
        wanted = ", ".join("n" if n < 0 else str(n) for n in shape)
        raise ValueError(
            f"{name}: shape {list(found.shape)}, expected [{wanted}]"
        )
    return np.require(found, requirements=["C", "A"])


def exchange(name: str, value: Any) -> np.ndarray:
    """value as numpy sees it, without copying where its package allows."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError(f"{name}: has masked values")
    if hasattr(value, "__dlpack_device__"):
        try:
            device = tuple(map(int, value.__dlpack_device__()))
        except ValueError as error:  # torch's way for what has no memory
            raise TypeError(f"{name}: {error}") from None
        if device[0] not in CPU:
            raise TypeError(
                f"{name}: lies on device {device} (DLPack); copy it to the "
                "CPU first"
            )
    elif hasattr(value, "__cuda_array_interface__"):
        raise TypeError(
            f"{name}: lies on a GPU (__cuda_array_interface__); copy it to "
            "the CPU first"
        )
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        try:
            return np.from_dlpack(value)
        except (BufferError, RuntimeError, TypeError):
            pass  # types that DLPack lacks; __array__ may know them
    try:
        return np.asarray(value)
    except (RuntimeError, TypeError, ValueError) as error:  # RuntimeError: torch
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(f"{name}: {error}") from None


def convert(name: str, found: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """found as dtype; whole numbers stay exact, NaN and inf are let through
    for the library to name the hit."""
    if found.dtype == dtype:
        return found
    is_whole = found.dtype.kind in "iu" and dtype.kind in "iu"
    fits = is_whole or np.can_cast(found.dtype, dtype, "same_kind")
    if found.size and not fits:
        raise TypeError(f"{name}: type {found.dtype}, expected {dtype}")
    if found.size and is_whole:
        bound = np.iinfo(dtype)
        low, high = int(found.min()), int(found.max())
        if low < bound.min or high > bound.max:
            raise ValueError(
                f"{name}: values {low} .. {high} do not fit in {dtype}"
            )
    with np.errstate(over="ignore"):
        return found.astype(dtype)


def optional(
    name: str, value: Any, dtype: DTypeLike, *shape: int
) -> np.ndarray | None:
    """The same, or None for None."""
    return None if value is None else array(name, value, dtype, *shape)


def columns_of(name: str, value: Any, *parts: str) -> list[Any]:
    """The arrays of an argument that is several; ValueError for fewer or more."""
    found = list(value)
    if len(found) != len(parts):
        raise ValueError(f"{name}: {len(found)} arrays, expected {', '.join(parts)}")
    return found


def together(**lists: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """zip of lists that have to be of one length; ValueError names the shorter."""
    for n, row in enumerate(zip_longest(*lists.values(), fillvalue=END)):
        short = [name for name, one in zip(lists, row, strict=True) if one is END]
        if short:
            longer = " and ".join(name for name in lists if name not in short)
            raise ValueError(f"{' and '.join(short)}: {n}, fewer than {longer}")
        yield row


def address(found: np.ndarray | None) -> int | None:
    """Where the values are; None for no array. The caller keeps the array."""
    return None if found is None else found.ctypes.data


class _Memory:
    """Memory of the library as numpy's array interface describes it.

    The array that numpy makes of it refers to this object and so keeps the
    owner of the memory alive.
    """

    def __init__(
        self, owner: object, where: int, shape: tuple[int, ...], type_: str
    ) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": type_,
            "data": (where, True),
        }


def view(
    owner: object, where: int | None, shape: tuple[int, ...], dtype: DTypeLike
) -> np.ndarray:
    """A read-only array over memory of owner, kept alive by the array."""
    kind = np.dtype(dtype)
    if not where or 0 in shape:
        return np.zeros(shape, kind)
    if kind.names is None:
        return np.asarray(_Memory(owner, where, shape, kind.str))
    n_bytes = (shape[0] * kind.itemsize,)
    return np.asarray(_Memory(owner, where, n_bytes, "|u1")).view(kind)
