"""colliderml -- events of ColliderML's Parquet files as TrackML events.

    exatrkx colliderml tracker_hits.parquet --particles particles.parquet --out DIR

ColliderML publishes such files, ACTS writes them (ParquetWriter); a folder stands for
all of its files. Each has a row for each event, whose columns are lists: of tracker_hits x, y,
z, true_z [mm], volume_id, layer_id, surface_id and particle_id, of particles
particle_id, vx, vy, vz [mm], px, py, pz [GeV] and charge. Rows of both files are
matched by event_id. Hits keep their order, so that hit_id - 1 is the hit of
ColliderML; particles are numbered from 1 in theirs. A hit whose particle is not in
the file is noise. Without particles there is no truth. Needs pyarrow.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..files import trackml_csv
from .event_tables import OUT, write_events
from .truth_tables import STATE, truth_tables

HITS = ("x", "y", "z", "volume_id", "layer_id", "surface_id")
TRUTH = ("particle_id", "true_z")
PARTICLES = ("particle_id", *STATE, "charge")
AT_ONCE = 8  # events in memory: one of pile-up 200 has 10^5 hits


class ColliderMlError(ValueError):
    """Files that lack something, or do not belong together."""


def read_rows(
    path: Path, columns: Sequence[str]
) -> Iterator[tuple[int, trackml_csv.Table]]:
    """event_id and these columns of each event of a file or folder."""
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files:
        raise ColliderMlError(f"{path}: no *.parquet")
    for file in files:
        yield from read_file(file, columns)


def read_file(
    path: Path, columns: Sequence[str]
) -> Iterator[tuple[int, trackml_csv.Table]]:
    import pyarrow
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            missing = [n for n in ("event_id", *columns) if n not in file.schema_arrow.names]
            if missing:
                raise ColliderMlError(f"{path}: no column {', '.join(missing)}")
            check_types(path, file.schema_arrow, columns)
            for batch in file.iter_batches(AT_ONCE, columns=["event_id", *columns]):
                for row in range(batch.num_rows):
                    event = batch.column("event_id")[row].as_py()
                    if event is None:
                        raise ColliderMlError(f"{path}: event_id has no value")
                    yield event, row_table(path, event, batch, row, columns)
    except ColliderMlError:
        raise
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ColliderMlError(f"{path}: {' '.join(str(error).split())}") from None


def check_types(path: Path, schema: Any, columns: Sequence[str]) -> None:
    """event_id is an integer, a column a list of numbers, one of ids of integers."""
    from pyarrow import types

    for name in ("event_id", *columns):
        kind = schema.field(name).type
        values = kind.value_type if types.is_list(kind) or types.is_large_list(kind) else None
        whole = name.endswith("_id")
        found = kind if name == "event_id" else values
        if found is None or not (
            types.is_integer(found) or types.is_floating(found) and not whole
        ):
            wanted = "integer" if whole else "number"
            wanted = wanted if name == "event_id" else f"list of {wanted}s"
            raise ColliderMlError(f"{path}: {name} is {kind}, expected {wanted}")


def row_table(
    path: Path, event: int, batch: Any, row: int, columns: Sequence[str]
) -> trackml_csv.Table:
    """The lists of an event, which have the same length."""
    table: trackml_csv.Table = {}
    for name in columns:
        values = batch.column(name)[row].values
        if values is None or values.null_count:
            raise ColliderMlError(f"{path}: event_id {event}: {name} has no value")
        table[name] = values.to_numpy(zero_copy_only=False)
    lengths = {name: len(values) for name, values in table.items()}
    if len(set(lengths.values())) > 1:
        raise ColliderMlError(f"{path}: event_id {event}: lengths differ: {lengths}")
    return table


def read_events(
    hits: Path, particles: Path | None
) -> Iterator[tuple[int, dict[str, trackml_csv.Table]]]:
    """event_id and the tables of TrackML of each event."""
    if particles is None:
        for event, found in read_rows(hits, HITS):
            yield event, {"hits": hits_table(found)}
        return
    rows = read_rows(particles, PARTICLES)
    for event, found in read_rows(hits, (*HITS, *TRUTH)):
        other, state = next(rows, (None, {}))
        if other != event:
            raise ColliderMlError(f"{particles}: event_id {other}, expected {event} of {hits}")
        owner = trackml_csv.lookup(state["particle_id"], found["particle_id"])
        number = np.arange(1, len(state["particle_id"]) + 1)
        truth = truth_tables(owner, found["true_z"], number, state, state["charge"])
        yield event, {"hits": hits_table(found), **truth}


def hits_table(hits: trackml_csv.Table) -> trackml_csv.Table:
    ids = {"volume_id": "volume_id", "layer_id": "layer_id", "module_id": "surface_id"}
    return {
        "hit_id": np.arange(1, len(hits["x"]) + 1),
        **{axis: hits[axis] for axis in "xyz"},
        **{name: hits[theirs].astype(np.int64) for name, theirs in ids.items()},
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        prog="exatrkx colliderml",
        description=__doc__.partition("\nSPDX")[0],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("hits", type=Path, metavar="PATH", help="file or folder of tracker_hits, in mm")
    text = "file or folder of particles, in GeV and mm (default: no truth)"
    add("--particles", type=Path, metavar="PATH", help=text)
    add("--out", type=Path, required=True, metavar="DIR", help=OUT)
    options = parser.parse_args(arguments)
    found = read_events(options.hits, options.particles)
    return write_events("colliderml", "pyarrow", options.out, found)
