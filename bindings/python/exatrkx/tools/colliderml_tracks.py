"""colliderml_tracks -- tracks of ColliderML's Parquet files, for its scorer.

    exatrkx colliderml-tracks tracker_hits.parquet --out tracks.parquet

A row for each hit that is in a track: event_id, hit_id (the row of the hit in its
event, from 0), track_id, n_params (of the networks, which tracking_small reads) and, with
--truth, majority_particle_id, the particle of most hits of the track in the file of hits,
by which the scorer counts particles above 1 GeV. A hit in no track has no row. --latency
writes what tracking_latency reads: the seconds from arrays of hits to tracks, and the
number of events. Needs pyarrow.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._context import Context
from .._event import Event
from .._model import Model
from .._shipped import model_file
from .._stages import find_tracks
from ..files import safetensors, whole_file
from .colliderml import HITS, ColliderMlError, hits_table, read_rows

Columns = dict[str, np.ndarray]
OWNER = "particle_id"


def n_params(model: str) -> int:
    """The parameters of the networks of a model file."""
    tensors, _ = safetensors.read(str(model_file(model)))
    networks = tuple(f"{name}." for name in safetensors.NETWORKS)
    return sum(array.size for name, array in tensors.items() if name.startswith(networks))


def majority(labels: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """The particle of most hits of the track of each hit; of equals the least."""
    particles, index = np.unique(owner, return_inverse=True)
    pairs, count = np.unique(np.stack((labels, index)), axis=1, return_counts=True)
    best = np.lexsort((-count, pairs[0]))
    tracks, first = np.unique(pairs[0, best], return_index=True)
    owners: np.ndarray = particles[pairs[1, best[first]][np.searchsorted(tracks, labels)]]
    return owners


class Finder:
    """Finds tracks, and counts events and seconds."""

    def __init__(self, model: str, threads: int | None) -> None:
        self.model, self.context = Model.load(model), Context(threads)
        self.n_events, self.seconds = 0, 0.0

    def labels(self, hits: Columns) -> np.ndarray:
        """The track of each hit, -1: none."""
        begin = time.perf_counter()
        positions = np.stack([hits[axis] for axis in "xyz"], axis=1)
        modules = tuple(hits[f"{kind}_id"] for kind in ("volume", "layer", "module"))
        event = Event.from_arrays(positions, modules=modules)
        labels = find_tracks(self.model, event, self.context).labels
        self.seconds += time.perf_counter() - begin
        self.n_events += 1
        return np.asarray(labels)


def read_tracks(hits: Path, finder: Finder, truth: bool) -> Iterator[Columns]:
    """The rows of each event."""
    for number, found in read_rows(hits, (*HITS, OWNER) if truth else HITS):
        labels = finder.labels(hits_table(found))
        rows = np.flatnonzero(labels >= 0)
        table = {"event_id": np.full(len(rows), number), "hit_id": rows, "track_id": labels[rows]}
        if truth:
            table["majority_particle_id"] = majority(labels[rows], found[OWNER][rows])
        yield table


def write(path: Path, columns: dict[str, Any]) -> None:
    """A file that appears when complete."""
    import pyarrow
    import pyarrow.parquet

    content = pyarrow.BufferOutputStream()
    pyarrow.parquet.write_table(pyarrow.table(columns), content)
    whole_file.write(path, content.getvalue().to_pybytes())


def run(options: argparse.Namespace) -> None:
    for path in filter(None, (options.out, options.latency)):
        whole_file.check(path)
    finder = Finder(options.model, options.threads)
    tables = list(read_tracks(options.hits, finder, options.truth))
    if not tables:
        raise ColliderMlError(f"{options.hits}: no events")
    columns = {name: np.concatenate([one[name] for one in tables]) for name in tables[0]}
    columns["n_params"] = np.full(len(columns["hit_id"]), n_params(options.model))
    write(options.out, columns)
    if options.latency:
        times = {"wallclock_s": [finder.seconds], "n_events": [finder.n_events]}
        write(options.latency, times)
    print(f"{finder.n_events} events, {finder.seconds:.3f} s")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        prog="exatrkx colliderml-tracks",
        description=__doc__.partition("\nSPDX")[0],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("hits", type=Path, metavar="PATH", help="file or folder of tracker_hits, in mm")
    add(
        "--model", default="default", metavar="MODEL",
        help="model file, or the name of a shipped one (default: default)",
    )
    add("--out", type=Path, required=True, metavar="FILE", help="tracks, .parquet")
    add("--truth", action="store_true", help="write majority_particle_id, too")
    add("--latency", type=Path, metavar="FILE", help="seconds and events, .parquet")
    add("--threads", type=int, metavar="N", help="default: all cores")
    options = parser.parse_args(arguments)
    try:
        run(options)
    except ImportError as error:
        print(f"colliderml-tracks: {error}; try: pip install pyarrow", file=sys.stderr)
        return 1
    except (OSError, ValueError) as error:
        print(f"colliderml-tracks: {error}", file=sys.stderr)
        return 1
    return 0
