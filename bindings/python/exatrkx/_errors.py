"""_errors -- an exception for each status of the library.

Each is also the built-in exception that a Python programmer would expect, so
`except ValueError` works as well as `except exatrkx.ArgumentError`.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Any

from . import _declarations


class Error(Exception):
    """A call of the library failed; the text is the library's own."""

    status = 0  # one of the ETX_ERR_ values


class ArgumentError(Error, ValueError):
    """An argument is wrong (ETX_ERR_ARGUMENT)."""

    status = _declarations.ETX_ERR_ARGUMENT


class OutOfMemoryError(Error, MemoryError):
    """An allocation failed (ETX_ERR_MEMORY)."""

    status = _declarations.ETX_ERR_MEMORY


class FileError(Error, OSError):
    """The operating system refused (ETX_ERR_IO)."""

    status = _declarations.ETX_ERR_IO


class FormatError(Error, ValueError):
    """The content of a file is wrong (ETX_ERR_FORMAT)."""

    status = _declarations.ETX_ERR_FORMAT


class UnsupportedError(Error, NotImplementedError):
    """Valid, but not supported by this build (ETX_ERR_UNSUPPORTED)."""

    status = _declarations.ETX_ERR_UNSUPPORTED


class DeviceError(Error, RuntimeError):
    """The device or its driver failed (ETX_ERR_DEVICE)."""

    status = _declarations.ETX_ERR_DEVICE


class LimitError(Error, OverflowError):
    """Larger than a stated bound (ETX_ERR_LIMIT)."""

    status = _declarations.ETX_ERR_LIMIT


class CancelledError(Error):
    """The cancel function of the context ended the call."""

    status = _declarations.ETX_ERR_CANCELLED


class RankError(Error):
    """Another rank of a training failed (ETX_ERR_RANK)."""

    status = _declarations.ETX_ERR_RANK


BY_STATUS = {kind.status: kind for kind in Error.__subclasses__()}
for kind in (Error, *BY_STATUS.values()):
    kind.__module__ = "exatrkx"  # where users import it from


def expect(name: str, value: Any, wanted: str) -> None:
    """TypeError for an argument that is not of the class exatrkx.wanted."""
    if wanted not in (kind.__name__ for kind in type(value).__mro__):
        kind = type(value).__name__
        raise TypeError(f"{name}: {kind}, expected exatrkx.{wanted}")


def of_status(status: int, text: str) -> Error:
    """The exception of a status of a failed call."""
    error = BY_STATUS.get(status, Error)(text)
    error.status = status
    return error
