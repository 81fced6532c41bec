"""event_files -- which files are events, and of which form.

trackml: PREFIX-hits.csv and its siblings; acts: these with PREFIX-measurements.csv
or -spacepoint.csv; acorn: PREFIX-truth.csv without hits, or NAME.pyg; arrays:
NAME.npz. The CSV files may end in .gz.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from collections.abc import Iterable

ARRAYS = ".npz"
GRAPH = ".pyg"
# What is left of these names is a prefix; the first kind that is there counts.
NAMES = (("-hits.csv", "-hits.csv.gz"), ("-truth.csv", "-truth.csv.gz"), (ARRAYS,), (GRAPH,))
ACTS_KINDS = ("measurements", "spacepoint")


def find(path: str) -> list[str]:
    """The events of a folder, sorted, or the one of a prefix or file; of none, none."""
    if not os.path.isdir(path):
        prefix = prefix_of(path)
        is_found = os.path.exists(path) or has(prefix, "hits") or has(prefix, "truth")
        return [prefix] if is_found else []
    return [os.path.join(path, name) for name in prefixes_among(os.listdir(path))]


def prefixes_among(names: Iterable[str]) -> list[str]:
    """The events of names of files, sorted: their prefixes, or names of arrays."""
    known = list(names)
    for endings in NAMES:
        found = {prefix_of(name) for name in known if name.endswith(endings)}
        if found:
            return sorted(found)
    return []


def prefix_of(name: str) -> str:
    """Without the rest of the name of a file of hits or truth."""
    for ending in (ending for endings in NAMES[:2] for ending in endings):
        name = name.removesuffix(ending)
    return name


def has(prefix: str, kind: str) -> bool:
    """Whether an event has a file of a kind."""
    return any(os.path.exists(f"{prefix}-{kind}{end}") for end in (".csv", ".csv.gz"))


def form_of(prefix: str) -> str:
    """arrays, acts, acorn or trackml; also where there is no file."""
    if prefix.endswith(ARRAYS):
        return "arrays"
    if any(has(prefix, kind) for kind in ACTS_KINDS):
        return "acts"
    is_acorn = has(prefix, "truth") and not has(prefix, "hits")
    return "acorn" if is_acorn or prefix.endswith(GRAPH) else "trackml"
