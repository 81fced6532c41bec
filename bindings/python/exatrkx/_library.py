"""_library -- find libexatrkx.so, load it, declare its functions.

Looked for in this order: the file that ETX_LIBRARY names; the library inside
this package (a wheel carries it); the one of the system. ctypes releases the
interpreter lock during every call.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import Any

from . import _declarations, _errors

SONAME = f"libexatrkx.so.{_declarations.ETX_VERSION_MAJOR}"
BUNDLED = Path(__file__).parent / "lib" / SONAME


def candidates() -> list[str]:
    """Paths to try: ETX_LIBRARY alone where it is set."""
    named = os.environ.get("ETX_LIBRARY")
    if named:
        return [named]
    return ([str(BUNDLED)] if BUNDLED.exists() else []) + [SONAME]


def load() -> ctypes.CDLL:
    """The library with its functions declared; ImportError says why not."""
    problems = []
    for path in candidates():
        try:
            found = ctypes.CDLL(path)
            return declare(found, path)
        except (OSError, ImportError) as error:
            problems.append(str(error))
    raise ImportError(
        "libexatrkx cannot be loaded: "
        + "; ".join(problems)
        + ". Install a wheel that carries it, install the library itself, or "
        "name its file in ETX_LIBRARY."
    )


def declare(library: ctypes.CDLL, path: str) -> ctypes.CDLL:
    """Set the types of every function; ImportError for another version."""
    for name, (result, arguments) in _declarations.FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(
                f"{path}: no function {name}; this package wants libexatrkx "
                f"{wanted_version()} or newer of the same major version"
            ) from None
        function.restype, function.argtypes = result, arguments
    major = version(library).split(".")[0]
    if int(major) != _declarations.ETX_VERSION_MAJOR:
        raise ImportError(
            f"{path}: version {version(library)}, "
            f"expected {wanted_version()}"
        )
    return library


def version(library: ctypes.CDLL) -> str:
    """ "MAJOR.MINOR.PATCH"."""
    found: bytes = library.etx_version()
    return found.decode()


def wanted_version() -> str:
    """Of the headers that the declarations were made from."""
    d = _declarations
    return f"{d.ETX_VERSION_MAJOR}.{d.ETX_VERSION_MINOR}.{d.ETX_VERSION_PATCH}"


library = load()


def call(name: str, *arguments: Any) -> None:
    """Call a function that returns a status; raise its error.

    TypeError for an object of another kind than the function takes,
    OverflowError for a whole number beyond its type.
    """
    try:
        status = getattr(library, name)(*arguments)
    except ctypes.ArgumentError as error:  # names the kind in its text alone
        is_beyond = OverflowError.__name__ in str(error)
        kind = OverflowError if is_beyond else TypeError
        raise kind(f"{name}: {error}") from None
    if status != _declarations.ETX_OK:
        raise problem(status)


def problem(status: int) -> _errors.Error:
    """The exception of a status, with the text of the last error."""
    text = library.etx_last_error().decode(errors="replace")
    return _errors.of_status(status, text)


def defaults(struct: type[ctypes.Structure], **fields: Any) -> ctypes.Structure:
    """An options struct as the library fills it, fields that are given set.

    A field whose value is None keeps the library's default. TypeError and
    ValueError name the field.
    """
    options = struct()
    size = ctypes.sizeof(struct)
    call(f"{struct.__name__}_init", ctypes.byref(options), size)
    for name, value in fields.items():
        if value is not None:
            try:
                setattr(options, name, value)
            except TypeError as error:
                raise TypeError(f"{name}: {value!r}: {error}") from None
            is_whole = hasattr(value, "__index__")
            if is_whole and getattr(options, name) != value:
                raise ValueError(f"{name}: {value} is out of bounds")
    return options


def file_name(path: str | bytes | os.PathLike[str] | None) -> bytes:
    """As the library takes it; ValueError for a name that C would cut short."""
    if path is None:
        raise _errors.ArgumentError("path: None, expected a file name")
    name = os.fsencode(path)
    if b"\0" in name:
        raise ValueError(f"{path!r}: a file name without null bytes is needed")
    return name
