"""torch_archive -- the zip files of torch.save and TorchScript, without torch.

A restricted unpickler builds arrays, containers of Python and inert stand-ins
for classes, all or only those that the reader names, so nothing that a file
names is imported or run. Entries are as long as they are in the file, tensors
no longer than their storage: what is read needs no more memory than the file.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import collections
import io
import math
import os
import pickle
import zipfile
import zlib
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

UNPACKED = 1 << 28  # bytes of an entry, where the file has fewer

STORAGES = {
    "DoubleStorage": "<f8",
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "BFloat16Storage": "<u2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "<i1",
    "ByteStorage": "<u1",
    "BoolStorage": "?",
}


class ArchiveError(ValueError):
    """What a file holds cannot be read; the text says why."""


class Inert(dict[Any, Any]):
    """Stand-in for a class that a file names: keeps its items and state, does
    nothing."""

    name = ""  # the class it stands for
    state: dict[str, Any] = {}

    def __init__(self, *arguments: Any, **named: Any) -> None:
        pass

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __setstate__(self, state: Any) -> None:
        self.state = state if isinstance(state, dict) else {}

    def extend(self, values: Any) -> None:
        pass

    append = extend


class Archive:
    """A zip file whose entries are in one folder."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self.file = zipfile.ZipFile(path)
        except zipfile.BadZipFile as error:
            raise ArchiveError(f"{path}: no archive of torch: {error}") from None
        self.bound = max(UNPACKED, os.path.getsize(path))
        found = [n for n in self.file.namelist() if n.endswith("/data.pkl")]
        if not found:
            raise ArchiveError(f"{path}: no archive of torch: it lacks data.pkl")
        self.folder = found[0].removesuffix("data.pkl")

    def has(self, name: str) -> bool:
        return self.folder + name in self.file.namelist()

    def read(self, name: str) -> bytes:
        try:
            size = self.file.getinfo(self.folder + name).file_size
            if size > self.bound:
                raise ArchiveError(
                    f"{self.path}: {name}: {size} bytes, more than {self.bound}"
                )
            return self.file.read(self.folder + name)
        except (KeyError, NotImplementedError, RuntimeError, OSError) as error:
            raise ArchiveError(f"{self.path}: {name}: {error}") from None
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise ArchiveError(f"{self.path}: {name}: {error}") from None

    @property
    def is_torchscript(self) -> bool:
        return any(
            name.startswith(self.folder + "code/") for name in self.file.namelist()
        )

    def code(self) -> dict[str, str]:
        """Text of each module of code, by its dotted name."""
        head = self.folder + "code/"
        return {
            name.removeprefix(head).removesuffix(".py").replace("/", "."): (
                self.file.read(name).decode(errors="replace")
            )
            for name in self.file.namelist()
            if name.startswith(head) and name.endswith(".py")
        }

    def load(self, classes: Collection[str] | None = None) -> Any:
        """What data.pkl holds. classes: the full names that it may have, tensors
        apart; None: any."""
        if self.has("byteorder") and self.read("byteorder") != b"little":
            raise ArchiveError(f"{self.path}: not in little-endian byte order")
        try:
            return _Unpickler(self, classes).load()
        except ArchiveError:
            raise
        except Exception as error:  # a pickle can raise anything
            raise ArchiveError(f"{self.path}: data.pkl: {error}") from None


class _Unpickler(pickle._Unpickler):
    """The one in Python: the one in C allocates as far as an index says."""

    def __init__(self, archive: Archive, classes: Collection[str] | None) -> None:
        super().__init__(io.BytesIO(archive.read("data.pkl")))
        self.archive = archive
        self.classes = classes
        self.storages: dict[Any, np.ndarray] = {}

    def find_class(self, module: str, name: str) -> Any:
        known: dict[tuple[str, str], Callable[..., Any]] = {
            ("collections", "OrderedDict"): collections.OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2"): _tensor,
            ("torch._utils", "_rebuild_parameter"): _first,
            ("torch.jit._pickle", "restore_type_tag"): _first,
            ("torch.jit._pickle", "build_intlist"): _first,
            ("torch.jit._pickle", "build_doublelist"): _first,
            ("torch.jit._pickle", "build_boollist"): _first,
        }
        if (module, name) in known:
            return known[module, name]
        if module == "torch" and name in STORAGES:
            return name
        full = f"{module}.{name}"
        if self.classes is not None and full not in self.classes:
            raise ArchiveError(
                f"{self.archive.path}: data.pkl names {full}, which is not read"
            )
        return type("Inert", (Inert,), {"name": full})

    def persistent_load(self, pid: Any) -> np.ndarray:
        kind, storage, key, _, count = pid
        if kind != "storage" or storage not in STORAGES:
            raise ArchiveError(f"{self.archive.path}: a tensor of type {storage}")
        if (storage, key) in self.storages:
            return self.storages[storage, key]
        data = self.archive.read(f"data/{key}")
        values = np.frombuffer(data, STORAGES[storage])
        if len(values) < count:
            raise ArchiveError(f"{self.archive.path}: data/{key} is truncated")
        if storage == "BFloat16Storage":
            values = (values.astype("<u4") << 16).view("<f4")
        self.storages[storage, key] = values
        return values


def _first(value: Any, *rest: Any) -> Any:
    return value


def _tensor(
    storage: np.ndarray, offset: int, shape: Any, strides: Any, *rest: Any
) -> np.ndarray:
    """A view into a storage, in order; a copy where it is in another order."""
    if len(shape) != len(strides) or min([0, offset, *shape, *strides]) < 0:
        raise ValueError(f"a tensor of shape {shape} with strides {strides}")
    if 0 in shape:
        return np.zeros(shape, storage.dtype)
    last = sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    if offset + last >= len(storage) or math.prod(shape) > len(storage):
        raise ValueError(f"a tensor of shape {shape} is larger than its storage")
    strides = [step * storage.itemsize for step in strides]
    view = np.lib.stride_tricks.as_strided(storage[offset:], shape, strides)
    return np.asarray(view, order="C")
