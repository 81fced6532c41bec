"""ranks -- training on one and two processes, next to PyTorch's DDP over gloo.

    python -m peers.ranks --hits 10000 --graphs 4 --steps 5 --rounds 3

(in examples/studies, with ETX_LIBRARY and PYTHONPATH as `make bench-peers` sets them,
or by `make bench-ranks`). Both train the interaction network of width 64 from the
same weights on the same graph, `graphs` times a step, distributed over the
processes; every process has one thread. Runs of the two alternate. The table
has the median time of a step with the fastest and the slowest, the
strong-scaling efficiency t1 / (2 t2), the same of two independent processes that
run at the same time, which is the upper bound on this machine, and, of
libexatrkx, the fractions of time spent communicating gradients and waiting.

A process of either kind is `python -m peers.ranks --rank KIND ...`: started by
mpirun, or with the environment of torch.distributed.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from statistics import median
from typing import Any

from dist_group import MPIRUN, Group

from .stage import OURS
from .training import GNN_SHARE, LEARNING_RATE, WEIGHT_DECAY, make_gnn, ours_gnn

DDP = "PyTorch DDP (gloo)"
WARMUP = 1
SEPARATE = 0  # instead of a number of processes: two, each with all of the work


def timed(step: Callable[[], Any], n_steps: int) -> list[float]:
    seconds = []
    for _ in range(WARMUP + n_steps):
        start = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - start)
    return seconds[WARMUP:]


def run_ours(options: argparse.Namespace) -> dict[str, Any] | None:
    group = Group(Path(os.environ["ETX_LIBRARY"]).with_name("libexatrkx_dist.so"))
    inputs = make_gnn(round(options.hits / GNN_SHARE))
    run = ours_gnn(inputs, 1, options.graphs, group.join)
    seconds, spent = [], []
    for _ in range(WARMUP + options.steps):
        start, before = time.perf_counter(), group.statistics()
        run.call()
        after = group.statistics()
        seconds.append(time.perf_counter() - start)
        waited = after.waiting_seconds - before.waiting_seconds
        spent.append((after.seconds - before.seconds, waited))
    moving, waiting = (sum(part) for part in zip(*spent[WARMUP:], strict=True))
    seconds = seconds[WARMUP:]
    found = {
        "seconds": seconds,
        "moving": moving / sum(seconds),
        "waiting": waiting / sum(seconds),
        "n_edges": int(inputs["edges"].shape[1]),
    }
    rank = group.rank
    del run
    group.close()
    return found if rank == 0 else None


def run_ddp(options: argparse.Namespace) -> dict[str, Any] | None:
    import torch
    from torch.nn.parallel import DistributedDataParallel

    from . import torch_networks

    torch_networks.use_threads(1)
    torch.distributed.init_process_group("gloo")
    rank = torch.distributed.get_rank()
    n_ranks = torch.distributed.get_world_size()
    inputs = make_gnn(round(options.hits / GNN_SHARE))
    network = DistributedDataParallel(torch_networks.InteractionNetwork(inputs))
    loss_of = torch_networks.edge_loss(inputs, network)
    n_mine = len(range(rank, options.graphs, n_ranks))
    optimiser = torch.optim.AdamW(
        network.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY
    )

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        for k in range(n_mine):
            # The backward pass of the last graph adds the gradients.
            with network.no_sync() if k < n_mine - 1 else nullcontext():
                (loss_of() * n_ranks / options.graphs).backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()

    seconds = timed(step, options.steps)
    torch.distributed.destroy_process_group()
    return {"seconds": seconds} if rank == 0 else None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def finish(processes: Sequence[subprocess.Popen[str]]) -> list[str]:
    """What they wrote."""
    texts = [process.communicate()[0] for process in processes]
    if any(process.returncode for process in processes):
        raise RuntimeError("a process failed")
    return texts


def start_ddp(command: list[str], n_ranks: int) -> list[subprocess.Popen[str]]:
    port = str(free_port())
    ranks = []
    for rank in range(n_ranks):
        settings = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        settings |= {"RANK": str(rank), "WORLD_SIZE": str(n_ranks)}
        environment = os.environ | settings | {"OMP_NUM_THREADS": "1"}
        ranks.append(
            subprocess.Popen(
                command, env=environment, stdout=subprocess.PIPE, text=True
            )
        )
    return ranks


def start_ours(command: list[str], n_ranks: int) -> list[subprocess.Popen[str]]:
    line = [*MPIRUN, "-n", str(n_ranks), *command]
    return [subprocess.Popen(line, stdout=subprocess.PIPE, text=True)]


def measure(options: argparse.Namespace, kind: str, n_ranks: int) -> dict[str, Any]:
    numbers = [
        f"--{name}={getattr(options, name)}" for name in ("hits", "graphs", "steps")
    ]
    command = [sys.executable, "-m", "peers.ranks", "--rank", kind, *numbers]
    start = start_ours if kind == OURS else start_ddp
    if n_ranks == SEPARATE:
        texts = finish(start(command, 1) + start(command, 1))
    else:
        texts = finish(start(command, n_ranks))[:1]
    runs = [json.loads(text.splitlines()[-1]) for text in texts]
    seconds = [step for run in runs for step in run["seconds"]]
    name = {1: "1 process", 2: "2 processes", SEPARATE: "2 side by side"}[n_ranks]
    print(f"{kind}, {name}: {median(seconds):.3f} s a step", file=sys.stderr)
    return runs[0] | {"seconds": seconds}


def describe(seconds: Sequence[float]) -> str:
    return f"{median(seconds):.3f} ({min(seconds):.3f}-{max(seconds):.3f})"


def report(found: dict[tuple[str, int], list[dict[str, Any]]]) -> None:
    print(
        f"{'':20} {'1 process':>22} {'2':>22} {'scaling':>8} {'machine':>8} "
        f"{'moving':>8} {'waiting':>8}"
    )
    for kind in (OURS, DDP):
        one, two, separate = (
            [s for run in found[kind, n] for s in run["seconds"]] for n in (1, 2, SEPARATE)
        )
        line = f"{kind:20} {describe(one):>22} {describe(two):>22}"
        line += f" {median(one) / (2 * median(two)):8.3f}"
        line += f" {median(one) / median(separate):8.3f}"
        for share in ("moving", "waiting"):
            if share in found[kind, 2][0]:
                middle = median(run[share] for run in found[kind, 2])
                line += f" {middle:8.3f}"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--hits", type=int, default=10000)
    parser.add_argument("--graphs", type=int, default=4)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rank", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank is not None:
        found = (run_ours if options.rank == OURS else run_ddp)(options)
        if found is not None:
            print(json.dumps(found))
        return
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for _ in range(options.rounds):
        for n_ranks in (1, 2, SEPARATE):
            for kind in (OURS, DDP):
                found.setdefault((kind, n_ranks), []).append(
                    measure(options, kind, n_ranks)
                )
    report(found)


if __name__ == "__main__":
    main()
