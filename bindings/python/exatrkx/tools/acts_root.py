"""acts_root -- events in the ROOT files of ACTS as TrackML events.

    exatrkx acts-root measurements.root --particles particles.root --out DIR

The tree measurements (RootMeasurementWriter, of September 2025 and later) has an entry
for each measurement: event_nr, volume_id, layer_id, surface_id, its position rec_gx,
rec_gy, rec_gz and true_z [mm], its particles (until November 2025 in one branch, first
as numbers, then as lists of five) and, with clusters, its cells. The tree
particles (RootParticleWriter) has one for each event. A measurement of several
particles is the first's, one whose particle is not in the file is noise. Without
particles there is no truth. Needs uproot.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..files import trackml_csv
from ..files.acts_csv import particle_ids, unpacked
from .event_tables import OUT, write_events
from .truth_tables import STATE, truth_tables

HITS = ("volume_id", "layer_id", "surface_id", "rec_gx", "rec_gy", "rec_gz", "true_z")
BARCODE = ("vertex_primary", "vertex_secondary", "particle", "generation", "sub_particle")
OWNERS = tuple(f"particles_{part}" for part in BARCODE)
OLDER_OWNERS = "particles"
CELLS = ("channel_loc0", "channel_loc1", "channel_value")


class ActsRootError(ValueError):
    """Files that lack something, or do not belong together."""


class Tree:
    """A tree of a file, whose branches are read a few entries at a time."""

    def __init__(self, path: Path, name: str, branches: Sequence[str]) -> None:
        import uproot

        self.path = path
        file = uproot.open(path)
        if name not in file.keys(cycle=False):
            raise ActsRootError(f"{path}: no tree {name}")
        self.tree = file[name]
        self.expect(branches)

    def expect(self, branches: Sequence[str]) -> None:
        missing = [one for one in branches if one not in self.tree.keys()]
        if missing:
            raise ActsRootError(f"{self.path}: no branch {', '.join(missing)}")

    def read(self, branches: Sequence[str], first: int, last: int) -> Any:
        return self.tree.arrays(list(branches), entry_start=first, entry_stop=last)

    def events(self, branch: str) -> dict[int, tuple[int, int]]:
        """The entries first .. last - 1 of each event."""
        number = self.tree[branch].array(library="np")
        first = np.flatnonzero(np.diff(number, prepend=-1))
        last = np.append(first[1:], len(number))
        found = dict(zip(number[first].tolist(), zip(first.tolist(), last.tolist())))
        if len(found) < len(first):
            raise ActsRootError(f"{self.path}: {branch}: entries of an event are not in a row")
        return found


def flat(values: Any) -> np.ndarray:
    import awkward

    return np.asarray(awkward.flatten(values, axis=None))


def counts(values: Any) -> np.ndarray:
    import awkward

    return np.asarray(awkward.num(values))


def read_events(
    measurements: Path, particles: Path | None
) -> Iterator[tuple[int, dict[str, trackml_csv.Table]]]:
    """The number and the tables of TrackML of each event."""
    hits = Tree(measurements, "measurements", ("event_nr", *HITS))
    owners = (OLDER_OWNERS,) if OLDER_OWNERS in hits.tree.keys() else OWNERS
    wanted = (*HITS, *(owners if particles else ()))
    hits.expect(wanted)
    has_cells = set(CELLS) <= set(hits.tree.keys())
    of_particles = ("event_id", *BARCODE, *STATE, "q")
    truth = Tree(particles, "particles", of_particles) if particles else None
    entries = truth.events("event_id") if truth else {}
    for event, rows in sorted(hits.events("event_nr").items()):
        found = hits.read((*wanted, *(CELLS if has_cells else ())), *rows)
        tables = {"hits": hits_table(found)}
        if has_cells:
            tables["cells"] = cells_table(found)
        if truth is not None:
            if event not in entries:
                raise ActsRootError(f"{truth.path}: no event_id {event}")
            tables |= truth_of(found, truth.read(of_particles, *entries[event]))
        yield event, tables


def hits_table(found: Any) -> trackml_csv.Table:
    position = {axis: np.asarray(found[f"rec_g{axis}"]) for axis in "xyz"}
    ids = {"volume_id": "volume_id", "layer_id": "layer_id", "module_id": "surface_id"}
    return {
        "hit_id": np.arange(1, len(found) + 1),
        **position,
        **{name: np.asarray(found[theirs], np.int64) for name, theirs in ids.items()},
    }


def cells_table(found: Any) -> trackml_csv.Table:
    ch0, ch1, value = (flat(found[name]) for name in CELLS)
    n_cells = counts(found["channel_value"])
    hit = np.repeat(np.arange(1, len(found) + 1), n_cells)
    return {"hit_id": hit, "ch0": ch0, "ch1": ch1, "value": value}


def owners_of(found: Any) -> tuple[np.ndarray, np.ndarray]:
    """The barcodes [n, 5] of the particles of all measurements, and how many each has."""
    if OLDER_OWNERS not in found.fields:
        codes = np.stack([flat(found[name]) for name in OWNERS], axis=1)
        return codes, counts(found[OWNERS[0]])
    values = found[OLDER_OWNERS]
    codes = flat(values)
    is_packed = values.ndim < 3  # else a barcode is a list
    codes = unpacked(codes) if is_packed else codes.reshape(-1, len(BARCODE))
    return codes, counts(values)


def truth_of(found: Any, event: Any) -> dict[str, trackml_csv.Table]:
    barcodes = np.stack([flat(event[name]).astype(np.uint64) for name in BARCODE], axis=1)
    known = {tuple(code): row for row, code in enumerate(barcodes.tolist())}
    codes, n_links = owners_of(found)
    links = codes.tolist()
    first = np.cumsum(n_links) - n_links
    owner = np.array(
        [known.get(tuple(links[k]), -1) if n else -1 for k, n in zip(first, n_links)], np.int64
    )
    state = {name: flat(event[name]) for name in STATE}
    tz = np.asarray(found["true_z"])
    return truth_tables(owner, tz, particle_ids(barcodes), state, flat(event["q"]))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        prog="exatrkx acts-root",
        description=__doc__.partition("\nSPDX")[0],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("measurements", type=Path, metavar="FILE", help="measurements.root, lengths in mm")
    text = "particles.root, in GeV and mm (default: no truth)"
    add("--particles", type=Path, metavar="FILE", help=text)
    add("--out", type=Path, required=True, metavar="DIR", help=OUT)
    options = parser.parse_args(arguments)
    found = read_events(options.measurements, options.particles)
    return write_events("acts-root", "uproot", options.out, found)
