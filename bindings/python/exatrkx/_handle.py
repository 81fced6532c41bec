"""_handle -- objects of the library and how long they live.

A handle owns a pointer; views of its memory refer to the same pointer. The
object is freed when the handle is closed or collected and no view is left.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _arrays, _declarations, _errors, _interrupt, _library

if TYPE_CHECKING:
    from numpy.typing import DTypeLike
    from typing_extensions import Self


class Pointer:
    """An object of the library; freed with the last reference.

    ctypes accepts it as an argument and keeps it while the call runs, so a
    handle may be closed by one thread while another is inside a call.
    """

    def __init__(self, kind: str, value: int) -> None:
        self._free = getattr(_library.library, f"etx_{kind}_free")
        self._as_parameter_ = getattr(_declarations, f"etx_{kind}")(value)
        self.borrowed: list[object] = []  # what has memory that the object reads
        self._needed: list[Pointer] = []
        self._users: set[int] = set()  # ids of those that need this one
        self._is_collected = False

    def keep(self, other: Pointer) -> None:
        """Free other after this one, even where both are of one cycle: the
        collector of cycles finalises objects in any order."""
        self._needed.append(other)
        other._users.add(id(self))

    def _release(self) -> None:
        """Free the object once it is collected and no other needs it."""
        if self._users or not self._is_collected:
            return
        self._free(self._as_parameter_)
        for other in self._needed:
            other._users.discard(id(self))
            other._release()
        self._needed.clear()

    def __del__(self) -> None:
        self._is_collected = True
        self._release()


def make(kind: str, function: str, *arguments: Any) -> Pointer:
    """What a function with `etx_<kind> **out` as first argument makes."""
    out = ctypes.c_void_p()
    with _interrupt.stoppable():
        _library.call(function, ctypes.byref(out), *arguments)
        assert out.value is not None
        return Pointer(kind, out.value)


def pointer(name: str, value: Any) -> Pointer:
    """Of an argument of that name, for calls; ArgumentError for None, TypeError
    for what is not of the class that the name tells."""
    if value is None:
        raise _errors.ArgumentError(f"{name}: None, expected an object")
    wanted = {"events": "Event", "start": "Model"}.get(name, name.capitalize())
    _errors.expect(name, value, wanted)
    found: Pointer = value._pointer
    return found


class Handle:
    """Base of the public classes; a context manager."""

    def __init__(self, pointer: Pointer) -> None:
        self._open: Pointer | None = pointer

    @property
    def _pointer(self) -> Pointer:
        """For calls; ValueError after close()."""
        if self._open is None:
            raise ValueError(f"{type(self).__name__} is closed")
        return self._open

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._open is None

    def close(self) -> None:
        """Free the object; views taken from it stay valid."""
        self._open = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _get(self, function: str) -> Any:
        """The value of a getter without further arguments."""
        return getattr(_library.library, function)(self._pointer)

    def _count(self, function: str) -> int:
        return int(self._get(function))

    def _view(
        self, function: str, shape: tuple[int, ...], dtype: DTypeLike
    ) -> np.ndarray:
        """What a getter points to, without copying."""
        where = self._get(function)
        return _arrays.view(self._pointer, where, shape, dtype)


class Immutable(Handle):
    """Base of those that do not change: a copy shares the object, and is
    closed on its own."""

    def __copy__(self) -> Self:
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __deepcopy__(self, _memo: object) -> Self:
        return self.__copy__()
