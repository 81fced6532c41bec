"""strong -- the same training on one and on two processes, and what the machine
lets two do.

Runs of three kinds alternate: the training on one core; the same distributed
over two cores; and on two cores twice, by independent processes. The last tells what memory and clock leave of two cores: no way of sharing
out the work gets beyond it.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from dist_group import MPIRUN

from .runs import last_line, training

SHARES = ["graphs", "network", "moving", "waiting"]
ALONE, SHARED, SEPARATE = "one", "two", "separate"


@dataclass(frozen=True)
class Work:
    """A training, of etx-train."""

    program: Path
    start: Path
    config: Path
    data: list[str]
    folder: Path  # of graphs, models and reports


def command(work: Work, name: str, ranks: int, cores: str) -> list[str]:
    line = [*MPIRUN, "-n", str(ranks), "--cpu-set", cores, "--bind-to", "core"]
    line += training(work.program, work.config, work.folder, name, work.data)
    return [*line, "--start", str(work.start), "--cache", str(work.folder)]


def run(work: Work, kind: str, cores: Sequence[str]) -> list[dict]:
    """The reports of one turn, one for each training that ran."""
    lines = {
        ALONE: [command(work, kind, 1, cores[0])],
        SHARED: [command(work, kind, 2, ",".join(cores))],
        SEPARATE: [command(work, f"{kind}{core}", 1, core) for core in cores],
    }[kind]
    processes = [subprocess.Popen(line, stdout=subprocess.DEVNULL) for line in lines]
    if any([process.wait() for process in processes]):
        raise RuntimeError(f"a training failed: {' '.join(lines[0])}")
    names = [kind] if len(lines) == 1 else [f"{kind}{core}" for core in cores]
    return [last_line(work.folder / f"{name}.jsonl") for name in names]


def measure(work: Work, rounds: int) -> dict[str, list[dict]]:
    """Reports by kind of run; the first turn makes the graphs and is dropped."""
    work.folder.mkdir(parents=True, exist_ok=True)
    cores = [str(core) for core in sorted(os.sched_getaffinity(0))[:2]]
    if len(cores) < 2:
        raise RuntimeError("two cores are needed")
    run(work, ALONE, cores)
    found: dict[str, list[dict]] = {ALONE: [], SHARED: [], SEPARATE: []}
    for _ in range(rounds):
        for kind, reports in found.items():
            reports += run(work, kind, cores)
    return found


def describe(found: dict[str, list[dict]]) -> str:
    """The table: medians, fastest and slowest, efficiency t1 / (2 t2)."""
    lines = [
        f"{'':8} {'step s':>7} {'fastest':>8} {'slowest':>8} {'scaling':>8} "
        + " ".join(f"{share:>8}" for share in SHARES)
    ]
    alone = median(run["batch_seconds"] for run in found[ALONE])
    for kind, reports in found.items():
        seconds = [run["batch_seconds"] for run in reports]
        share_of_work = 2 if kind == SHARED else 1
        efficiency = alone / (share_of_work * median(seconds))
        lines.append(
            f"{kind:8} {median(seconds):7.3f} {min(seconds):8.3f} "
            f"{max(seconds):8.3f} {efficiency:8.3f} "
            + " ".join(
                f"{median(run[f'{share}_share'] for run in reports):8.3f}"
                for share in SHARES
            )
        )
    return "\n".join(lines)
