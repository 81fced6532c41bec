"""runs -- measure trainings on several ranks, and read what they cost.

A folder of runs holds `sizes.json` (edges of a graph, graphs of a step, bytes
of the gradient, cores of the machine), `EDGES.jsonl`, the report of
etx-train, and `sums.jsonl`, all-reduces of several sizes.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from dist_group import MPIRUN

from .model import Run, Sum

SIZES = "sizes.json"
SUMS = "sums.jsonl"
FLOAT = 4  # bytes


@dataclass(frozen=True)
class Sizes:
    edges: list[int]  # of a graph, one report each
    graphs: int  # of a step
    gradient_bytes: int
    cores: int  # that the ranks shared


def training(
    program: Path, config: Path, folder: Path, name: str, data: Sequence[str]
) -> list[str]:
    """etx-train on one thread per rank, with a report of this name."""
    line = [program, "--threads", "1", "--config", config]
    line += ["--out", folder / "model.safetensors"]
    line += ["--scaling-report", folder / f"{name}.jsonl"]
    return [str(word) for word in line] + [w for d in data for w in ("--data", d)]


def last_line(report: Path) -> dict:
    """The last training of a scaling report."""
    return json.loads(report.read_text().splitlines()[-1])


def write_sizes(folder: Path, sizes: Sizes) -> None:
    (folder / SIZES).write_text(json.dumps(asdict(sizes)) + "\n")


def read_sizes(folder: Path) -> Sizes:
    return Sizes(**json.loads((folder / SIZES).read_text()))


def read_run(line: str, edges: int, graphs: int) -> Run:
    """A line of a scaling report, whose graphs have about `edges` edges."""
    fields = json.loads(line)
    step = fields["batch_seconds"]
    return Run(
        ranks=fields["ranks"],
        step_seconds=step,
        edges=float(edges),
        graphs=graphs,
        moving_seconds=step * fields.get("moving_share", 0.0),
        imbalance=fields.get("imbalance", 1.0),
    )


def read_runs(folder: Path) -> list[Run]:
    sizes = read_sizes(folder)
    runs = []
    for edges in sizes.edges:
        lines = (folder / f"{edges}.jsonl").read_text().splitlines()
        runs += [read_run(line, edges, sizes.graphs) for line in lines if line]
    return runs


def read_sums(folder: Path) -> list[Sum]:
    lines = (folder / SUMS).read_text().splitlines()
    return [Sum(**json.loads(line)) for line in lines]


def count_gradient(model: Path, prefix: str = "gnn.") -> int:
    """Bytes of the gradient of a stage, from the header of its model file."""
    with model.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    total = 0
    for name, tensor in header.items():
        if name.startswith(prefix):
            size = FLOAT
            for extent in tensor["shape"]:
                size *= extent
            total += size
    return total


@dataclass(frozen=True)
class Plan:
    """What is measured, and with what."""

    program: Path
    start: Path
    data: list[str]
    ranks: list[int]
    edges: list[int]
    graphs: int
    steps: int


def config(plan: Plan, edges: int) -> dict:
    return {
        "stage": "gnn",
        "seed": 1,
        "schedule": {"steps": plan.steps, "learning_rate": 1e-4},
        "sampling": {"hits": 0, "edges": edges, "graphs": plan.graphs},
    }


def train(plan: Plan, folder: Path, edges: int, ranks: int) -> None:
    path = folder / f"{edges}.json"
    path.write_text(json.dumps(config(plan, edges)))
    command = training(plan.program, path, folder, str(edges), plan.data)
    command += ["--ranks", str(ranks), "--start", str(plan.start)]
    command += ["--cache", str(folder)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def time_sums(program: Path) -> str:
    """Lines of all-reduces between two processes (sums.py)."""
    library = program.parents[2] / "lib" / "libexatrkx_dist.so"
    command = [*MPIRUN, "-n", "2", sys.executable, "-m", "scaling.sums", str(library)]
    run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return run.stdout


def measure(plan: Plan, folder: Path) -> None:
    """Every size on every number of ranks; reports of earlier runs go. A run
    that is not counted makes the graphs of the events."""
    folder.mkdir(parents=True, exist_ok=True)
    gradient = count_gradient(plan.start)
    cores = len(os.sched_getaffinity(0))
    write_sizes(folder, Sizes(plan.edges, plan.graphs, gradient, cores))
    train(plan, folder, plan.edges[0], max(plan.ranks))
    (folder / SUMS).write_text(time_sums(plan.program))
    for edges in plan.edges:
        (folder / f"{edges}.jsonl").unlink(missing_ok=True)
        for ranks in plan.ranks:
            train(plan, folder, edges, ranks)


def names(values: Sequence[Run]) -> list[int]:
    """Numbers of ranks that were measured, ascending."""
    return sorted({run.ranks for run in values})
