"""trackers -- whole events in TrackML's form, tracks out: libexatrkx as it ships
and track finders that learn nothing, or nothing by networks.

PEERS_EVENTS is a folder of events with truth (default: the shipped ones),
PEERS_FASTRACK a built checkout of FASTrack. Reading files is not timed. There
is no common answer to agree with: efficiency, fakes and score are in the table.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import exatrkx
import numpy as np
from exatrkx.files import event_files, trackml_csv

from .library import make_context
from .stage import OURS, Implementation, Inputs, Run, Stage

SHIPPED = "examples/data"
MIN_PT = (0.5, 0.1)  # GeV
MAX_ETA, MIN_HITS = 4.0, 5
BINS: dict[str, tuple[float, ...]] = {
    "pT, GeV": (0.5, 1.0, 2.0, 50.0),
    "abs(eta)": (0.0, 1.0, 2.0, 3.0, 4.0),
    "production radius, mm": (0.0, 1.0, 30.0, 100.0, 1100.0),
    "abs(vertex z), mm": (0.0, 55.0, 110.0, 165.0, 3000.0),
}
INTEGERS = ("hit_id", "volume_id", "layer_id", "module_id")


def make(_: int) -> Inputs:
    """The events of the folder, whatever number of hits is wanted."""
    folder = os.environ.get("PEERS_EVENTS") or SHIPPED
    return {"events": np.array(event_files.find(folder))}


def read_events(inputs: Inputs) -> list[exatrkx.Event]:
    detector = exatrkx.Detector.load()
    return [
        exatrkx.Event.from_trackml(str(prefix), detector=detector)
        for prefix in inputs["events"]
    ]


def ours(inputs: Inputs, n_threads: int, model: str = "default") -> Run:
    events = read_events(inputs)
    context = make_context(n_threads)
    loaded = exatrkx.Model.load(model)

    def call() -> list[exatrkx.Tracks]:
        return [exatrkx.find_tracks(loaded, event, context) for event in events]

    def labels(found: list[exatrkx.Tracks]) -> np.ndarray:
        return np.concatenate([tracks.labels for tracks in found])

    return Run(call, labels)


def acts_filter(inputs: Inputs, n_threads: int) -> Run:
    from . import kalman_filter

    return kalman_filter.prepare([str(one) for one in inputs["events"]], n_threads)


def fastrack(inputs: Inputs, n_threads: int) -> Run:
    """Its number of threads is N_THREADS of its lib/DataStructures.h."""
    home = os.environ.get("PEERS_FASTRACK")
    if not home:
        raise RuntimeError("PEERS_FASTRACK names no checkout of FASTrack")
    header = (Path(home) / "lib/DataStructures.h").read_text()
    if f"#define N_THREADS {n_threads}\n" not in header:
        raise RuntimeError(f"it was not built with N_THREADS {n_threads}")
    # Its Makefile names libgomp where the linker leaves it out.
    ctypes.CDLL("libgomp.so.1", ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(str(Path(home) / "lib/libModel.so"))
    library.createModel.restype = ctypes.c_void_p
    files = [
        str(Path(home) / "submission" / name).encode()
        for name in ("geometry.bin", "connections.bin")
    ]
    model = ctypes.c_void_p(
        library.createModel(files[0], len(files[0]), files[1], len(files[1]))
    )
    events = [columns(str(prefix)) for prefix in inputs["events"]]

    def find(hits: dict[str, np.ndarray], cells: dict[str, np.ndarray]) -> np.ndarray:
        labels = np.zeros(len(hits["x"]), np.int32)
        names = ("hit_id", "x", "y", "z", "volume_id", "layer_id", "module_id")
        given = [hits[name].ctypes.data_as(ctypes.c_void_p) for name in names]
        library.importHits(model, len(labels), *given)
        names = ("hit_id", "ch0", "ch1")
        given = [cells[name].ctypes.data_as(ctypes.c_void_p) for name in names]
        library.importCells(model, len(cells["ch0"]), *given)
        library.findTracks(model, labels.ctypes.data_as(ctypes.c_void_p))
        return labels

    def call() -> np.ndarray:
        return np.concatenate([find(*event) for event in events])

    return Run(call, lambda found: np.where(found > 0, found, -1))


def columns(prefix: str) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Hits and cells; hits are numbered from 1 on."""
    hits = trackml_csv.read_table(trackml_csv.find_file(prefix, "hits"))
    cells = trackml_csv.read_table(trackml_csv.find_file(prefix, "cells"))
    number = np.argsort(hits["hit_id"])
    cells["hit_id"] = (
        1 + number[np.searchsorted(hits["hit_id"], cells["hit_id"], sorter=number)]
    )
    hits["hit_id"] = 1 + np.arange(len(number))

    def narrow(table: dict[str, Any], integers: tuple[str, ...]) -> dict[str, Any]:
        return {
            name: np.ascontiguousarray(
                values, np.int32 if name in integers else np.float32
            )
            for name, values in table.items()
        }

    return narrow(hits, INTEGERS), narrow(cells, ("hit_id", "ch0", "ch1"))


def columns_of(
    event: exatrkx.Event, tracks: exatrkx.Tracks
) -> tuple[np.ndarray, np.ndarray]:
    """Of reconstructable particles above 0.5 GeV the quantities of BINS, [n, 4],
    and which are found."""
    particles, found = event.particles, exatrkx.match(event, tracks)[1]
    if particles is None or event.particle_ids is None:
        raise ValueError("an event has no truth")
    px, py, pz = particles["momentum"].T.astype(float)
    pt, eta = np.hypot(px, py), np.arcsinh(pz / np.hypot(px, py))
    rows = np.searchsorted(particles["id"], event.particle_ids[event.particle_ids > 0])
    use = np.bincount(rows, minlength=len(particles)) >= MIN_HITS
    use &= (particles["charge"] != 0) & (pt > MIN_PT[0]) & (np.abs(eta) < MAX_ETA)
    x, y, z = particles["vertex"].T.astype(float)
    values = np.stack((pt, np.abs(eta), np.hypot(x, y), np.abs(z)), axis=1)
    return values[use], found[use]


def by_bins(events: list[exatrkx.Event], tracks: list[exatrkx.Tracks]) -> str:
    """The technical efficiency above 0.5 GeV by each quantity of BINS; by z of
    the vertex only for particles from within 1 mm of the beam line."""
    pairs = [columns_of(*pair) for pair in zip(events, tracks, strict=True)]
    values, found = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
    text = []
    for k, (name, edges) in enumerate(BINS.items()):
        use = values[:, 2] <= 1.0 if "vertex" in name else np.full(len(found), True)
        whole = np.histogram(values[use, k], edges)[0]
        part = np.histogram(values[use & found, k], edges)[0]
        rates = [f"{a / b:.3f}" if b else "-" for a, b in zip(part, whole, strict=True)]
        bounds = " ".join(f"{edge:g}" for edge in edges)
        text.append(f"by {name} ({bounds}): {' '.join(rates)}")
    return "; ".join(text)


def describe(inputs: Inputs, labels: np.ndarray) -> str:
    """Rates over all events."""
    events = read_events(inputs)
    ends = np.cumsum([len(event) for event in events])[:-1]
    tracks = [exatrkx.Tracks.from_labels(one) for one in np.split(labels, ends)]
    hard, all_pt = (exatrkx.evaluate(events, tracks, min_pt=cut) for cut in MIN_PT)
    return (
        f"technical efficiency {hard.technical_efficiency.value:.4f} above "
        f"{MIN_PT[0]} GeV, {all_pt.technical_efficiency.value:.4f} above "
        f"{MIN_PT[1]}, fakes {hard.fake_rate.value:.4f}, "
        f"score {hard.trackml_score:.4f}, generation 0 {hard.primary_score:.4f}, "
        f"purity {hard.purity.value:.4f}; {by_bins(events, tracks)}"
    )


def n_hits(_: Inputs, labels: np.ndarray) -> int:
    return len(labels)


def with_model(name: str) -> Callable[[Inputs, int], Run]:
    return partial(ours, model=name)


STAGE = Stage(
    name="tracks",
    title="whole events of PEERS_EVENTS, tracks out",
    item="hit",
    make=make,
    implementations=(
        Implementation(OURS, with_model("default")),
        Implementation(f"{OURS} accurate", with_model("accurate")),
        Implementation("FASTrack", fastrack),
        Implementation("ACTS Kalman filter", acts_filter),
    ),
    describe=describe,
    n_items=n_hits,
)
