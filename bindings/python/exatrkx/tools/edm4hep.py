"""edm4hep -- simulated hits of EDM4hep's ROOT files as TrackML events.

    exatrkx edm4hep events.root --encoding system:8,side:-2,layer:8,module:16 --out DIR

Hits come from all collections that name a particle for each hit (SimTrackerHit), or
from --collection; particles are MCParticles, or --particles. Hits lie where the
simulation has them, without a digitization; lengths are in mm, momenta in GeV.
--encoding is that of DD4hep for their cellID: fields from the lowest bit on,
name:width or name:offset:width. Volume, layer and module of TrackML are the bits of
fields: system and side, layer, module and sensor, unless --volume, --layer or --module
name others. Events are numbered as in the file. Needs uproot.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..files import trackml_csv
from .acts_root import flat
from .event_tables import OUT, write_events
from .truth_tables import truth_tables

FIELDS = {"volume": "system,side", "layer": "layer", "module": "module,sensor"}
PARTICLES = "MCParticles"
RELATIONS = ("_particle.index", "_MCParticle.index")  # the latter until 2024
NUMBERED = "#0.index"  # older still: of hits, and of whatever has a relation
OF_HITS, OF_PARTICLES = "pathLength", "generatorStatus"  # columns of no other kind
ID_BITS = 31  # of a volume, layer or module


class Edm4hepError(ValueError):
    """A file that lacks something, or fields that do not fit."""


def parse_encoding(text: str) -> dict[str, tuple[int, int]]:
    """Offset and width of each field of a cellID."""
    fields: dict[str, tuple[int, int]] = {}
    end = 0
    for one in text.split(","):
        name, *numbers = one.split(":")
        try:
            *given, width = (int(number) for number in numbers)
        except ValueError:
            raise Edm4hepError(f"encoding: {one}: expected name:width") from None
        offset = given[0] if given else end
        end = offset + abs(width)  # negative: a signed field
        if len(given) > 1 or width == 0 or not 0 <= offset < end <= 64:
            raise Edm4hepError(f"encoding: {one}: not within 64 bits")
        fields[name] = (offset, abs(width))
    return fields


def pack(
    cells: np.ndarray, fields: dict[str, tuple[int, int]], names: Sequence[str]
) -> np.ndarray:
    """The bits of these fields side by side; those that a detector lacks add none."""
    packed, n_bits = np.zeros(len(cells), np.uint64), 0
    for name in names:
        offset, width = fields.get(name, (0, 0))
        bits = (cells >> np.uint64(offset)) & np.uint64((1 << width) - 1)
        packed |= bits << np.uint64(n_bits)
        n_bits += width
    if not 0 < n_bits <= ID_BITS:
        raise Edm4hepError(
            f"encoding: {','.join(names)}: {n_bits} bits, expected 1 to {ID_BITS}"
        )
    return packed.astype(np.int64)


class File:
    """The tree of events of a file."""

    def __init__(self, path: Path, collections: Sequence[str], particles: str) -> None:
        import uproot

        self.path = path
        self.particles = particles
        file = uproot.open(path)
        if "events" not in file.keys(cycle=False):
            raise Edm4hepError(f"{path}: no tree events")
        tree = file["events"]
        self.n_events = tree.num_entries
        self.branches = {name.rsplit("/", 1)[-1]: tree[name] for name in tree.keys()}
        self.owners = {  # branches, by collection
            name[1:].removesuffix(relation): name
            for name in self.branches
            for relation in RELATIONS
            if name.endswith(relation)
        } | {
            name.removesuffix(NUMBERED): name
            for name in self.branches
            if name.endswith(NUMBERED)
            and f"{name.removesuffix(NUMBERED)}.{OF_HITS}" in self.branches
        }
        hits = sorted(name for name in self.owners if f"{name}.cellID" in self.branches)
        self.collections = list(collections) or hits
        for name in self.collections:
            if name not in hits:
                raise Edm4hepError(f"{path}: no simulated hits {name}, but {', '.join(hits)}")
        if not hits:
            raise Edm4hepError(f"{path}: no collection of simulated hits")
        if f"{particles}.charge" not in self.branches:
            ending = f".{OF_PARTICLES}"
            names = [n.removesuffix(ending) for n in self.branches if n.endswith(ending)]
            raise Edm4hepError(
                f"{path}: no particles {particles}, but {', '.join(sorted(names)) or 'none'}"
            )

    def column(self, name: str, event: int) -> np.ndarray:
        if name not in self.branches:
            raise Edm4hepError(f"{self.path}: no branch {name}")
        branch: Any = self.branches[name]
        return flat(branch.array(entry_start=event, entry_stop=event + 1))

    def of_hits(self, name: str, event: int) -> np.ndarray:
        """A column of all collections."""
        return self.joined([f"{one}.{name}" for one in self.collections], event)

    def joined(self, names: Sequence[str], event: int) -> np.ndarray:
        return np.concatenate([self.column(name, event) for name in names])


def convert(
    file: File, event: int, fields: dict[str, tuple[int, int]], ids: dict[str, list[str]]
) -> dict[str, trackml_csv.Table]:
    """The tables of TrackML of an event."""
    cells = file.of_hits("cellID", event).astype(np.uint64)
    position = {axis: file.of_hits(f"position.{axis}", event) for axis in "xyz"}
    state = {
        f"{short}{axis}": file.column(f"{file.particles}.{name}.{axis}", event)
        for short, name in (("v", "vertex"), ("p", "momentum"))
        for axis in "xyz"
    }
    owners = [file.owners[name] for name in file.collections]
    owner = file.joined(owners, event).astype(np.int64)
    n_particles = len(state["vx"])
    if (owner >= n_particles).any():
        raise Edm4hepError(
            f"{file.path}: event {event}: a hit of particle {owner.max()}, "
            f"{file.particles} has {n_particles}"
        )
    charge = file.column(f"{file.particles}.charge", event)
    number = np.arange(1, n_particles + 1)
    return {
        "hits": {
            "hit_id": np.arange(1, len(cells) + 1),
            **position,
            **{f"{name}_id": pack(cells, fields, names) for name, names in ids.items()},
        },
        **truth_tables(np.maximum(owner, -1), position["z"], number, state, charge),
    }


def read_events(
    path: Path,
    encoding: str,
    ids: dict[str, str] | None = None,
    collections: Sequence[str] = (),
    particles: str = PARTICLES,
) -> Iterator[tuple[int, dict[str, trackml_csv.Table]]]:
    """The number and the tables of each event; ids: fields, as FIELDS."""
    fields = parse_encoding(encoding)
    names = {name: text.split(",") for name, text in (FIELDS | (ids or {})).items()}
    file = File(path, collections, particles)
    for event in range(file.n_events):
        yield event, convert(file, event, fields, names)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        prog="exatrkx edm4hep",
        description=__doc__.partition("\nSPDX")[0],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("file", type=Path, metavar="FILE", help="ROOT file with the tree events")
    add(
        "--encoding", required=True, metavar="FIELDS",
        help="of the cellID: name:width,... from the lowest bit on",
    )
    add(
        "--collection", action="append", default=[], metavar="NAME",
        help="of simulated hits; repeatable (default: all)",
    )
    add(
        "--particles", default=PARTICLES, metavar="NAME",
        help=f"the collection of particles (default: {PARTICLES})",
    )
    for name, given in FIELDS.items():
        text = f"fields that make {name}_id (default: {given})"
        add(f"--{name}", default=given, metavar="FIELDS", help=text)
    add("--out", type=Path, required=True, metavar="DIR", help=OUT)
    options = parser.parse_args(arguments)
    ids = {name: getattr(options, name) for name in FIELDS}
    found = read_events(
        options.file, options.encoding, ids, options.collection, options.particles
    )
    return write_events("edm4hep", "uproot", options.out, found)
