"""trackml_csv -- read and write TrackML CSV files with numpy only.

A table is a dict from column name to a one-dimensional array, in column
order. Files ending in .gz are compressed with a zero time stamp and no file
name in the header, so that equal tables give equal bytes.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterable, Mapping

import numpy as np

from . import whole_file

Table = dict[str, np.ndarray]

KINDS = ("hits", "cells", "particles", "truth")
GZIP_MAGIC = b"\x1f\x8b"
INTEGER_COLUMNS = frozenset(
    "hit_id volume_id layer_id module_id particle_id particle_type q nhits "
    "ch0 ch1 region layer_disk eta_module phi_module".split()
)


def event_path(folder: str, event: int, kind: str, compress: bool) -> str:
    """Path of one file of an event, e.g. event000000007-hits.csv.gz."""
    name = f"event{event:09d}-{kind}.csv"
    return os.path.join(folder, name + (".gz" if compress else ""))


def table_bytes(table: Mapping[str, np.ndarray]) -> bytes:
    """The CSV text of a table; floats with six significant digits."""
    columns = []
    for values in table.values():
        if np.issubdtype(values.dtype, np.integer):
            columns.append(values.astype(str).tolist())
        else:
            columns.append([f"{value:.6g}" for value in values.tolist()])
    rows = [",".join(table)]
    rows.extend(",".join(row) for row in zip(*columns, strict=True))
    return ("\n".join(rows) + "\n").encode("ascii")


def write_table(path: str, table: Mapping[str, np.ndarray]) -> None:
    """Write a table; the file appears under its name only when complete."""
    data = table_bytes(table)
    if path.endswith(".gz"):
        data = gzip.compress(data, compresslevel=6, mtime=0)
    whole_file.write(path, data)


def read_table(path: str, columns: Iterable[str] | None = None) -> Table:
    """Read a table; integer columns as int64, all others as float64."""
    with open(path, "rb") as file:
        data = file.read()
    try:
        return _parse(data, columns)
    except (ValueError, EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{path}: {error}") from None


def _parse(data: bytes, columns: Iterable[str] | None) -> Table:
    if data.startswith(GZIP_MAGIC):
        data = gzip.decompress(data)
    text = data.decode("utf-8-sig")
    head, _, rows = text.partition("\n")
    names = head.strip().split(",")
    wanted = list(columns) if columns is not None else [n for n in names if n]
    missing = [name for name in wanted if name not in names]
    if missing:
        raise ValueError(f"no column {', '.join(missing)}")
    table: Table = {}
    for kind in (np.int64, np.float64):
        whole = kind is np.int64
        group = [n for n in wanted if (n in INTEGER_COLUMNS) == whole]
        if not group:
            continue
        values = np.zeros((0, len(group)), kind)
        if rows.strip():  # else a warning
            values = np.loadtxt(
                io.StringIO(rows),
                delimiter=",",
                usecols=[names.index(name) for name in group],
                dtype=kind,
                ndmin=2,
            )
        for index, name in enumerate(group):
            table[name] = values[:, index]
    return {name: table[name] for name in wanted}


def find_file(prefix: str, kind: str) -> str:
    """The file of one kind of an event, as the library chooses it."""
    for ending in (".csv", ".csv.gz"):
        path = f"{prefix}-{kind}{ending}"
        if os.path.exists(path):
            return path
    raise FileNotFoundError(f"{prefix}-{kind}.csv[.gz]: not found")


def read_event(prefix: str) -> dict[str, Table]:
    """All four tables of one event."""
    return {kind: read_table(find_file(prefix, kind)) for kind in KINDS}


def lookup(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The first row of each wanted key, -1 where there is none."""
    if len(keys) == 0:
        return np.full(len(wanted), -1)
    order = np.argsort(keys, kind="stable")
    index = np.searchsorted(keys, wanted, sorter=order)
    row = order[np.minimum(index, len(keys) - 1)]
    return np.where(keys[row] == wanted, row, -1)


def aligned(truth: Table, hits: Table) -> Table:
    """The truth in the order of the hits."""
    row = lookup(truth["hit_id"], hits["hit_id"])
    if (row < 0).any():
        raise ValueError("a hit has no truth")
    return {name: values[row] for name, values in truth.items()}
