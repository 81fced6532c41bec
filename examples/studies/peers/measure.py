"""measure -- run the implementations of a stage in turn, a process for each.

The processes of a stage run at the same time and are called one after the other,
round after round, so that drift of the machine falls on all alike.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .stage import Agreement, Implementation, Stage

PATIENCE = 900.0  # seconds for one answer
# A call that keeps its threads busy for longer is not repeated: its first is its
# sample.
LONG = 12.0
# Large blocks stay with malloc, on huge pages where PyTorch requests them:
# otherwise every tensor of an edge network is mapped and faulted in again, and
# eager PyTorch runs at half its speed. All implementations get the same.
ALLOCATOR = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": "100000000000",
    "MALLOC_TOP_PAD_": "268435456",
    "THP_MEM_ALLOC_ENABLE": "1",
}
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass
class Row:
    """What was found of an implementation at a stage."""

    stage: str
    hits: int
    threads: int
    implementation: str
    share: float = 1.0
    rounds: bool = False
    seconds: list[float] = field(default_factory=list)  # of the whole stage
    cpu: list[float] = field(default_factory=list)  # of all threads together
    mebibytes: float = 0.0
    n_items: int = 0
    gflop: float | None = None
    facts: dict[str, Any] = field(default_factory=dict)  # of the median call
    agrees: bool | None = None
    note: str = ""

    @property
    def median(self) -> float:
        return float(np.median(self.seconds))

    @property
    def median_cpu(self) -> float:
        return float(np.median(self.cpu))

    def add(self, answer: dict[str, Any]) -> None:
        self.mebibytes = max(self.mebibytes, answer["mebibytes"])
        self.seconds.append(answer["seconds"] / self.share)
        self.cpu.append(answer["cpu"] / self.share)
        if self.seconds[-1] <= self.median:
            self.facts = answer["facts"]


class WorkerError(RuntimeError):
    """A worker answered with an error, or not at all."""


class Worker:
    """The process of an implementation."""

    def __init__(
        self,
        stage: Stage,
        chosen: Implementation,
        inputs: Path,
        n_threads: int,
        log: Path,
    ) -> None:
        environment = os.environ | ALLOCATOR
        environment |= dict.fromkeys(THREAD_VARIABLES, str(n_threads))
        with log.open("w") as errors:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    f"{__package__}.worker",
                    stage.name,
                    chosen.name,
                    str(inputs),
                    str(n_threads),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment,
            )
        self.log = log
        self.buffer = b""

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        end = time.monotonic() + PATIENCE
        while b"\n" not in self.buffer:
            left = max(0.0, end - time.monotonic())
            if not select.select([self.process.stdout], [], [], left)[0]:
                raise WorkerError(f"no answer in {PATIENCE:.0f} s")
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                raise WorkerError(
                    f"ended with status {self.process.wait()}: {self.last()}"
                )
            self.buffer += more
        line, _, self.buffer = self.buffer.partition(b"\n")
        found: dict[str, Any] = json.loads(line)
        if "error" in found:
            raise WorkerError(found["error"])
        return found

    def last(self) -> str:
        """The last line that the process complained with."""
        lines = self.log.read_text(errors="replace").splitlines() or [""]
        return lines[-1]

    def run(self, result: Path | None = None) -> dict[str, Any]:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{result or ''}\n".encode())
        self.process.stdin.flush()
        return self.answer()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()


def measure_stage(
    stage: Stage,
    hits: int,
    n_threads: int,
    rounds: int,
    folder: Path,
    tell: Callable[[str], None],
) -> list[Row]:
    """Every implementation of the stage at one size. folder is for files
    between the processes, and their logs."""
    inputs = stage.make(hits)
    stored = folder / "inputs.npz"
    np.savez(stored, **inputs)
    gflop = stage.flops(inputs) * 1e-9 if stage.flops else None
    rows: list[Row] = []
    workers: dict[str, Worker] = {}
    reference: np.ndarray | None = None
    n_items = 0
    try:
        for chosen in stage.implementations:
            about = (chosen.name, chosen.share, chosen.rounds)
            row = Row(stage.name, hits, n_threads, *about)
            rows.append(row)
            log = folder / f"{stage.name}-{chosen.name.replace(' ', '-')}.log"
            worker = Worker(stage, chosen, stored, n_threads, log)
            workers[chosen.name] = worker
            try:
                result = first_run(worker, row, folder, tell)
            except WorkerError as error:
                row.note = str(error)
                tell(f"{label(row)}: {error}")
                workers.pop(chosen.name).end()
                continue
            compare = chosen.compare or stage.compare
            if reference is None:
                reference, n_items = result, stage.n_items(inputs, result)
            elif compare:
                agreement: Agreement = compare(inputs, reference, result)
                row.agrees, row.note = agreement.agrees, agreement.text
            if stage.describe:
                row.note = stage.describe(inputs, result)
            row.n_items, row.gflop = n_items, gflop
        long = {row.implementation for row in rows if row.seconds}
        for k in range(rounds):
            for row in rows:
                if row.implementation in workers and row.implementation not in long:
                    repeat(workers, row, f"round {k + 1} of {rounds}", tell)
    finally:
        for worker in workers.values():
            worker.end()
    return rows


def label(row: Row) -> str:
    return f"{row.stage} {row.hits}: {row.implementation}"


def first_run(
    worker: Worker, row: Row, folder: Path, tell: Callable[[str], None]
) -> np.ndarray:
    """The run whose result is kept; if it is slow, also its time."""
    worker.answer()
    tell(f"{label(row)}: prepared")
    path = folder / "result.npy"
    answer = worker.run(path)
    tell(f"{label(row)}: first {answer['seconds']:.3f} s")
    if answer["cpu"] > LONG * row.threads:
        row.add(answer)
    result: np.ndarray = np.load(path)
    return result


def repeat(
    workers: dict[str, Worker], row: Row, which: str, tell: Callable[[str], None]
) -> None:
    try:
        row.add(workers[row.implementation].run())
    except WorkerError as error:
        row.note = str(error)
        tell(f"{label(row)}: {error}")
        workers.pop(row.implementation).end()
    else:
        tell(f"{label(row)}: {which} {row.seconds[-1] * row.share:.3f} s")
