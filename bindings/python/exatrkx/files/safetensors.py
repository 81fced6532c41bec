"""safetensors -- named arrays and text metadata in one file, numpy only.

The format of https://github.com/huggingface/safetensors, written as the C
library writes it: tensors sorted by name, the header filled with spaces to a
multiple of eight bytes. Equal content gives equal bytes.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import whole_file

DTYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "I8": np.dtype("i1"),
    "I64": np.dtype("<i8"),
    "U8": np.dtype("u1"),
}
METADATA = "__metadata__"
CONFIG = "etx.config"  # of a model file, in its metadata
NETWORKS = ("embedding", "filter", "gnn")
MAX_HEADER = 16 << 20

Tensors = dict[str, np.ndarray]


class FormatError(ValueError):
    """The bytes are no safetensors file, or one that we do not read."""


def dump(tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str]) -> bytes:
    """The bytes of a file."""
    names = sorted(tensors, key=lambda name: name.encode())
    header: dict[str, object] = {METADATA: dict(metadata)} if metadata else {}
    parts = []
    begin = 0
    for name in names:
        array = np.asarray(tensors[name])
        kind, dtype = _kind_of(name, array.dtype)
        data = np.ascontiguousarray(array, dtype).tobytes()
        header[name] = {
            "dtype": kind,
            "shape": list(array.shape),
            "data_offsets": [begin, begin + len(data)],
        }
        parts.append(data)
        begin += len(data)
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, *parts])


def parse(data: bytes) -> tuple[Tensors, dict[str, str]]:
    """Tensors and metadata of the bytes of a file."""
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > min(len(data) - 8, MAX_HEADER):
        raise FormatError("no safetensors file, or a truncated one")
    try:
        header = json.loads(data[8 : 8 + length].decode(), object_pairs_hook=_unique)
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise FormatError(f"the header is not valid JSON: {error}") from None
    if not isinstance(header, dict):
        raise FormatError("the header is no object")
    metadata = header.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(
        isinstance(value, str) for value in metadata.values()
    ):
        raise FormatError(f"{METADATA} is no object of texts")
    return _read_tensors(header, data[8 + length :]), metadata


def write(
    path: str, tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str]
) -> None:
    """Write a file; it appears under its name only when complete."""
    whole_file.write(path, dump(tensors, metadata))


def read(path: str) -> tuple[Tensors, dict[str, str]]:
    """Tensors and metadata of a file."""
    with open(path, "rb") as file:
        return parse(file.read())


def config_of(metadata: Mapping[str, str]) -> dict[str, Any]:
    """The parsed etx.config of a model file; FormatError."""
    if CONFIG not in metadata:
        raise FormatError(f"no model file: its metadata lack {CONFIG}")
    try:
        config = json.loads(metadata[CONFIG])
    except (json.JSONDecodeError, RecursionError) as error:
        raise FormatError(f"{CONFIG} is not valid JSON: {error}") from None
    if not isinstance(config, dict):
        raise FormatError(f"{CONFIG} is no object but {type(config).__name__}")
    for name in NETWORKS:
        if not isinstance(config.get(name, {}), dict):
            raise FormatError(f"{CONFIG}: {name} is no object but {config[name]!r}")
    return config


def _kind_of(name: str, dtype: np.dtype[Any]) -> tuple[str, np.dtype[Any]]:
    for kind, known in DTYPES.items():
        if dtype == known:
            return kind, known
    raise FormatError(f"tensor {name}: dtype {dtype}, expected {', '.join(DTYPES)}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise FormatError("the header has a key twice")
    return found


def _read_tensors(header: dict[str, Any], data: bytes) -> Tensors:
    tensors = {}
    ranges = []
    for name, entry in header.items():
        try:
            dtype = DTYPES[entry["dtype"]]
            shape = entry["shape"]
            begin, end = entry["data_offsets"]
            counts = [begin, end, *shape]
        except (KeyError, TypeError, ValueError):
            raise FormatError(f"tensor {name}: dtype, shape or offsets") from None
        if not all(type(count) is int and count >= 0 for count in counts):
            raise FormatError(f"tensor {name}: a size that is no count")
        if end > len(data):
            raise FormatError(f"tensor {name}: {end} is beyond the data")
        if end - begin != math.prod(shape) * dtype.itemsize:
            raise FormatError(f"tensor {name}: shape and offsets differ")
        ranges.append((begin, end, name))
        tensors[name] = np.frombuffer(data[begin:end], dtype).reshape(shape)
    filled = 0
    for begin, end, name in sorted(ranges):
        if begin != filled:
            raise FormatError(f"tensor {name}: an overlap or a gap")
        filled = end
    if filled != len(data):
        raise FormatError(f"{len(data) - filled} bytes follow the tensors")
    return dict(sorted(tensors.items()))
