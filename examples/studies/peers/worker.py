"""worker -- the process of one implementation: prepares it, then runs it when
told to.

    python -m peers.worker STAGE IMPLEMENTATION FOLDER THREADS

A line on standard input is an order: a path runs once and writes the result
there, an empty line runs once and writes none. Every order, and the preparation
before the first, is answered by a line of JSON.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from .catalogue import STAGES

STATUS = Path("/proc/self/status")


def memory(name: str) -> float:
    """MiB of a line of the status of this process."""
    for line in STATUS.read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    raise KeyError(name)


def load_inputs(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as stored:
        return {name: stored[name] for name in stored.files}


def serve(answers: TextIO, arguments: list[str]) -> None:
    stage_name, name, inputs, n_threads = arguments
    chosen = {one.name: one for one in STAGES[stage_name].implementations}[name]

    def answer(**found: Any) -> None:
        print(json.dumps(found), file=answers, flush=True)

    try:
        run = chosen.prepare(load_inputs(Path(inputs)), int(n_threads))
        ctypes.CDLL(None).malloc_trim(0)
        before = memory("VmRSS")
        answer()
        for order in sys.stdin:
            Path("/proc/self/clear_refs").write_text("5")  # the peak begins again
            cpu, start = time.process_time(), time.perf_counter()
            value = run.call()
            seconds = time.perf_counter() - start
            cpu = time.process_time() - cpu
            idle = run.idle()
            peak = memory("VmHWM") - before
            if order.strip():
                np.save(order.strip(), run.result(value))
            del value
            answer(
                seconds=seconds - idle[0],
                cpu=cpu - idle[1],
                mebibytes=peak,
                facts=run.facts(),
            )
    except Exception as error:  # a peer that fails or is missing is a result
        traceback.print_exc()
        answer(error=f"{type(error).__name__}: {error}".splitlines()[0][:200])


def main() -> None:
    # What libraries print must not get between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    serve(answers, sys.argv[1:])


if __name__ == "__main__":
    main()
