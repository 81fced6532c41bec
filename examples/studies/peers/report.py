"""report -- what was measured as a table and as JSON.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator
from dataclasses import asdict
from importlib import metadata
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from . import library, whole_event
from .catalogue import STAGES
from .measure import Row
from .stage import OURS

PACKAGES = (
    "numpy",
    "scipy",
    "torch",
    "torch_geometric",
    "onnx",
    "onnxruntime",
    "faiss-cpu",
    "hnswlib",
    "igraph",
)
# Each with a fastest peer of its own: on a busy machine they may differ.
TIMES = {"median": "wall time", "median_cpu": "CPU time"}
HEADER = (
    f"{'':30s} {'median s':>10s} {'10 %':>9s} {'90 %':>9s} {'cpu s':>9s} {'runs':>4s} "
    f"{'ns/item':>9s} {'GFLOP/s':>8s} {'of peak':>8s} {'MiB':>7s}  result"
)


def machine() -> dict[str, Any]:
    """The processor and the versions of everything that was timed."""
    model = ""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = "missing"
    versions[OURS] = library.version()
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "instructions": os.environ.get("ETX_CPU", "best"),
        "versions": versions,
    }


def fastest(rows: list[Row], time: str, is_ours: bool) -> Row | None:
    """Of ours or of the others, those that agree, by "median" or "median_cpu"."""
    some = [
        row
        for row in rows
        if row.seconds
        and row.implementation.startswith(OURS) == is_ours
        and row.agrees is not False
    ]
    return min(some, key=attrgetter(time), default=None)


def best_peer(rows: list[Row], time: str = "median") -> Row | None:
    """The fastest other in float32."""
    return fastest([row for row in rows if not row.rounds], time, is_ours=False)


def speedups(rows: list[Row]) -> Iterator[dict[str, Any]]:
    """Ours against the fastest peer, by each time: all in float32, then, where a peer
    rounds, the fastest of ours against it."""
    for rounds in (False, True):
        some = [row for row in rows if row.rounds == rounds]
        for time, unit in TIMES.items():
            peer = fastest(some, time, is_ours=False)
            mine = fastest(some, time, is_ours=True) if rounds else own(rows)
            if peer is None or mine is None:
                continue
            seconds, ours = getattr(peer, time), getattr(mine, time)
            yield {
                "time": time,
                "unit": unit,
                "own": mine.implementation,
                "peer": peer.implementation,
                "peer_seconds": seconds,
                "seconds": ours,
                "speedup": seconds / ours,
            }


def own(rows: list[Row]) -> Row | None:
    return next(
        (row for row in rows if row.implementation == OURS and row.seconds), None
    )


def by_stage(rows: list[Row]) -> Iterator[tuple[str, int, list[Row]]]:
    """The rows of each stage and size."""
    for stage, hits in dict.fromkeys((row.stage, row.hits) for row in rows):
        yield (
            stage,
            hits,
            [row for row in rows if row.stage == stage and row.hits == hits],
        )


def as_json(rows: list[Row], limits: dict[str, float]) -> dict[str, Any]:
    return {
        "machine": machine(),
        "limits": limits,
        "rows": [
            asdict(row)
            | (
                {"median": row.median, "median_cpu": row.median_cpu}
                if row.seconds
                else {}
            )
            for row in rows
        ],
        "speedups": [
            {"stage": stage, "hits": hits} | found
            for stage, hits, some in by_stage(rows)
            for found in speedups(some)
        ],
        "event": [
            part
            for _, hits, some in by_stage(rows)
            if some[0].stage == whole_event.STAGE.name
            for part in event_parts(rows, hits)
        ],
    }


def table(rows: list[Row], limits: dict[str, float], n_threads: int) -> str:
    about = machine()
    lines = [
        f"{about['processor']}, {n_threads} of {about['cores']} cores, "
        f"{about['instructions']} instructions; float32 peak "
        f"{limits['peak_gflops']:.0f} GFLOP/s, STREAM triad "
        f"{limits['triad_gbytes']:.1f} GB/s",
        ", ".join(f"{name} {version}" for name, version in about["versions"].items()),
    ]
    for stage, hits, some in by_stage(rows):
        lines += ["", *stage_lines(stage, hits, some, limits)]
        if stage == whole_event.STAGE.name:
            lines += event_lines(event_parts(rows, hits))
    return "\n".join(lines) + "\n"


def stage_lines(
    name: str, hits: int, rows: list[Row], limits: dict[str, float]
) -> Iterator[str]:
    stage = STAGES[name]
    n_items = max(row.n_items for row in rows)
    sizes = f"{hits} hits, {n_items} {stage.item}s"
    if stage.item == "hit":
        sizes = f"{n_items} hits"
    gflop = next((row.gflop for row in rows if row.gflop), None)
    work = f", {gflop:.0f} GFLOP" if gflop else ""
    yield f"{name}: {stage.title}; {sizes}{work}"
    yield HEADER
    yield from (row_line(row, limits) for row in rows)
    for found in speedups(rows):
        yield (
            f"{found['own']} is {found['speedup']:.2f} times as fast as "
            f"{found['peer']} by {found['unit']}"
        )


def row_line(row: Row, limits: dict[str, float]) -> str:
    if not row.seconds:
        return f"{row.implementation:30s} {'-':>10s}  {row.note}"
    low, high = np.quantile(row.seconds, (0.1, 0.9))
    rate = share = ""
    if row.gflop:
        rate = f"{row.gflop / row.median:.1f}"
        share = f"{row.gflop / row.median / limits['peak_gflops']:.0%}"
    verdict = {None: "the reference", True: "agrees", False: "DIFFERS"}[row.agrees]
    note = f"{verdict}: {row.note}" if row.note else verdict
    if row.agrees is None and row.note:
        note = row.note
    if row.share < 1:
        note += f"; measured on {row.share:.0%} and scaled"
    each = row.median / row.n_items * 1e9
    return (
        f"{row.implementation:30s} {row.median:10.4f} {low:9.4f} {high:9.4f} "
        f"{row.median_cpu:9.4f} {len(row.seconds):4d} {each:9.1f} "
        f"{rate:>8s} {share:>8s} {row.mebibytes:7.0f}  {note}"
    )


def event_parts(rows: list[Row], hits: int) -> list[dict[str, Any]]:
    """The stages of the whole event, each with the fastest peer at the stage
    of its own, scaled by the number of items."""
    stages = {name: some for name, size, some in by_stage(rows) if size == hits}
    mine = own(stages[whole_event.STAGE.name])
    parts = []
    n_edges = 0
    for part, facts in (mine.facts if mine else {}).items():
        name = whole_event.PARTS.get(part)
        n_items = hits if part == "embedding" else n_edges
        n_edges = facts["edges"] or n_edges
        if part == "graph":
            n_items = n_edges
        peer = best_peer(stages.get(name, [])) if name else None
        parts.append(
            {
                "part": part,
                "items": n_items,
                "seconds": facts["seconds"],
                "peer": peer.implementation if peer else None,
                "peer_seconds": peer.median / peer.n_items * n_items if peer else None,
            }
        )
    return parts


def event_lines(parts: list[dict[str, Any]]) -> Iterator[str]:
    yield f"  {'stage by stage':28s} {OURS:>10s} {'items':>10s} {'peer':>10s}"
    for part in parts:
        peer = part["peer_seconds"]
        yield (
            f"  {part['part']:28s} {part['seconds']:10.4f} {part['items']:10d} "
            + (f"{peer:10.4f}  {part['peer']}, scaled" if peer else f"{'-':>10s}")
        )
    known = [part for part in parts if part["peer_seconds"]]
    mine = sum(part["seconds"] for part in parts)
    peers = sum(part["peer_seconds"] for part in known)
    missing = set(whole_event.PARTS) - {part["part"] for part in known}
    yield f"  {'sum':28s} {mine:10.4f} {'':10s} {peers:10.4f}" + (
        f"  without {', '.join(sorted(missing))}" if missing else ""
    )
    if mine and not missing:
        yield f"{OURS} is {peers / mine:.2f} times as fast as the sum of the best peers"


def write(
    folder: Path, rows: list[Row], limits: dict[str, float], n_threads: int
) -> str:
    """peers.txt and peers.json in the folder; the text."""
    text = table(rows, limits, n_threads)
    (folder / "peers.txt").write_text(text)
    data = json.dumps(as_json(rows, limits), indent=1)
    (folder / "peers.json").write_text(data + "\n")
    return text
