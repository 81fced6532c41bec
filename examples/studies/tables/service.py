"""service -- events per second and latency of `exatrkx serve`, next to one process.

    python -m tables.service --events DIR [--count 10] [--rounds 3]

Clients over gRPC, each with one request at a time, to a service of two workers with
one thread each; in turn with etx-find-tracks on one thread, which reads and writes
files. Needs mlserver and tritonclient[grpc].

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import exatrkx
import numpy as np

from .events import event_options, read_events
from .markdown import table

ROOT = Path(__file__).resolve().parents[3]
CLIENTS = (1, 2, 4, 8)
SECONDS_TO_START = 60
REQUESTS = 40  # of all clients together, in a round
KINDS = {"f": "FP32", "i": "INT32"}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def service() -> Iterator[str]:
    """The address of a service that ends with the block."""
    import tritonclient.grpc as triton

    ports = [str(free_port()) for _ in range(3)]
    names = ("--port", "--grpc-port", "--metrics-port")
    options = [word for pair in zip(names, ports, strict=True) for word in pair]
    command = [sys.executable, "-m", "exatrkx", "serve", "--workers", "2", *options]
    address = f"127.0.0.1:{ports[1]}"
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(SECONDS_TO_START):
            time.sleep(1)
            with contextlib.suppress(triton.InferenceServerException):
                if triton.InferenceServerClient(address).is_model_ready("default"):
                    break
        yield address
    finally:
        process.terminate()
        process.wait()


def request(event: exatrkx.Event) -> list[Any]:
    """The inputs of an event."""
    import tritonclient.grpc as triton

    assert event.modules is not None
    arrays = {"positions": event.positions, "modules": np.stack(event.modules, axis=1)}
    if event.cell_features is not None:
        arrays["cell_features"] = event.cell_features
    inputs = []
    for name, array in arrays.items():
        inputs.append(triton.InferInput(name, list(array.shape), KINDS[array.dtype.kind]))
        inputs[-1].set_data_from_numpy(array)
    return inputs


def send(address: str, requests: Sequence[list[Any]], n_clients: int) -> tuple[float, list[float]]:
    """Requests per second, and the seconds of each."""
    import tritonclient.grpc as triton

    def one(inputs: list[Any]) -> float:
        begin = time.perf_counter()
        client.infer("default", inputs)
        return time.perf_counter() - begin

    with triton.InferenceServerClient(address) as client, ThreadPoolExecutor(n_clients) as pool:
        begin = time.perf_counter()
        latencies = list(pool.map(one, islice(cycle(requests), REQUESTS)))
        return REQUESTS / (time.perf_counter() - begin), latencies


def one_process(folder: Path, events: Sequence[exatrkx.Event], out: str) -> float:
    """Events per second of etx-find-tracks."""
    command: list[str | Path] = [ROOT / "build/examples/etx-find-tracks", "--threads", "1"]
    for event in events:
        command += ["--event", folder / str(event.name)]
    begin = time.perf_counter()
    subprocess.run([*command, "--out", out], check=True, stdout=subprocess.DEVNULL)
    return len(events) / (time.perf_counter() - begin)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = event_options("service", count=10)
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    options = parser.parse_args(arguments)
    events = read_events(options.events, options.count)
    requests = [request(event) for event in events]
    rates: dict[str, list[float]] = {}
    latencies: dict[str, list[float]] = {}
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    with service() as address, tempfile.TemporaryDirectory() as out:
        send(address, requests, max(CLIENTS))
        for _ in range(options.rounds):
            for n in CLIENTS:
                rate, seconds = send(address, requests, n)
                rates.setdefault(f"service, {n} clients", []).append(rate)
                latencies.setdefault(f"service, {n} clients", []).extend(seconds)
            rate = one_process(options.events, events, out)
            rates.setdefault("etx-find-tracks, one thread", []).append(rate)
    rows = []
    for name, found in rates.items():
        ms = [1000 * seconds for seconds in latencies.get(name, [])]
        times = [f"{np.median(ms):.1f}", f"{np.quantile(ms, 0.95):.1f}"] if ms else ["", ""]
        spread = f"{np.median(found):.1f} ({min(found):.1f} .. {max(found):.1f})"
        rows.append([name, spread, *times])
    print(table(["", "events per second", "median, ms", "95 %, ms"], rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
