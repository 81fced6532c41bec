"""torch_file -- files of torch.save, written without torch.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import collections
import io
import pickle
import sys
import types
import unittest.mock
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

NAMES = {
    "f8": "DoubleStorage",
    "f4": "FloatStorage",
    "i8": "LongStorage",
    "i4": "IntStorage",
    "b1": "BoolStorage",
}


def stand_in(module: str, name: str) -> type:
    """A class that pickle knows by a name of another package."""
    return type(name, (), {"__module__": module, "__qualname__": name})


def _rebuild_tensor_v2(*arguments: Any) -> None:
    pass


_rebuild_tensor_v2.__module__ = "torch._utils"
STORAGES = {kind: stand_in("torch", name) for kind, name in NAMES.items()}
DATA = stand_in("torch_geometric.data.data", "Data")
EDGE_ATTR = stand_in("torch_geometric.data.data", "DataEdgeAttr")
STORE = stand_in("torch_geometric.data.storage", "GlobalStorage")
CLASSES = (_rebuild_tensor_v2, DATA, EDGE_ATTR, STORE, *STORAGES.values())


class Tensor:
    """A whole storage, or what shape and strides, in elements, see of it."""

    def __init__(self, array: np.ndarray, shape: tuple = (), strides: tuple = ()) -> None:
        self.array = np.ascontiguousarray(array)
        self.shape = shape or array.shape
        self.strides = strides or tuple(s // array.itemsize for s in self.array.strides)

    def __reduce__(self) -> tuple:
        hooks = collections.OrderedDict()
        view = (Storage(self.array), 0, self.shape, self.strides, False, hooks)
        return _rebuild_tensor_v2, view


class Storage:
    def __init__(self, array: np.ndarray) -> None:
        self.array = array


class Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=2)
        self.entries: list[bytes] = []

    def persistent_id(self, value: Any) -> Any:
        if not isinstance(value, Storage):
            return None
        self.entries.append(value.array.tobytes())
        kind = STORAGES[value.array.dtype.str[1:]]
        return "storage", kind, str(len(self.entries) - 1), "cpu", value.array.size


def modules(*classes: Any) -> dict[str, types.ModuleType]:
    """Where pickle looks for the classes."""
    found: dict[str, types.ModuleType] = {}
    for one in classes:
        head = ""
        for part in one.__module__.split("."):
            head = f"{head}.{part}".lstrip(".")
            found.setdefault(head, types.ModuleType(head))
        setattr(found[one.__module__], one.__name__, one)
    return found


def save(value: Any, path: Path, *classes: Any) -> None:
    """classes: further ones that value has objects of."""
    file = io.BytesIO()
    pickler = Pickler(file)
    with unittest.mock.patch.dict(sys.modules, modules(*CLASSES, *classes)):
        pickler.dump(value)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", file.getvalue())
        archive.writestr("archive/byteorder", "little")
        for number, entry in enumerate(pickler.entries):
            archive.writestr(f"archive/data/{number}", entry)


def data(tensors: dict[str, Any]) -> Any:
    """A Data of PyTorch Geometric: arrays become tensors."""
    store = STORE()
    store.__dict__ |= {
        "_mapping": {
            name: Tensor(value) if isinstance(value, np.ndarray) else value
            for name, value in tensors.items()
        },
        "_parent": None,
    }
    found = DATA()
    found.__dict__ |= {"_edge_attr_cls": EDGE_ATTR, "_store": store}
    return found
