"""whole_file -- files that appear under their name only when complete.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import errno
import os
import tempfile


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file: a symbolic link is followed; a device, a pipe and the file of
    the standard output are written directly, at their end."""
    try:
        if _is_direct(path):
            with open(path, "ab") as file:
                file.write(data)
        else:
            _replace(os.path.realpath(path), data)
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None


def check(path: str | os.PathLike[str]) -> None:
    """OSError, before what takes long, where write could not write this file."""
    refused = None
    if os.path.isdir(path):
        refused = errno.EISDIR
    elif _is_direct(path):
        refused = None if os.access(path, os.W_OK) else errno.EACCES
    else:
        try:
            with tempfile.TemporaryFile(dir=os.path.dirname(os.path.realpath(path))):
                pass
        except OSError as error:
            refused = error.errno
    if refused is not None:
        raise OSError(refused, os.strerror(refused), os.fspath(path))


def _is_direct(path: str | os.PathLike[str]) -> bool:
    if not os.path.isfile(path):
        return os.path.exists(path)
    try:
        return os.path.samestat(os.stat(path), os.fstat(1))
    except OSError:
        return False


def _replace(path: str, data: bytes) -> None:
    folder, name = os.path.split(path)
    descriptor, partial = tempfile.mkstemp(".tmp", name + ".", folder)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(partial, 0o666 & ~_umask())
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
