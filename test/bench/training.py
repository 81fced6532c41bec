"""training -- small trainings of a graph network side by side.

    python3 test/bench/training.py TABLE OUT [--steps N] [--data DIR]
        [--validation DIR] [--seeds N]
    python3 test/bench/training.py ranks OUT [--steps N] [--ranks N]

TABLE is `memory` (how latents are stored) or `momentum` (with and without a head
for the momentum).
Everything else is equal and the gradient is not clipped. Trains with
build/examples/etx-train on the shipped event of 10 570 hits and validates on
a small one, unless folders of other events are given; configs and logs
go to the folder OUT. Columns: jumps (steps whose loss is above twice the mean
of the last ones, the newest weighing 1 / 20, as docs/training.md defines them),
the largest loss after the warm-up, the mean loss of the last tenth of the steps,
the median and the largest norm of the gradient after the warm-up, the norm of the
weights in the end, loss and AUC of the validation, error of the momentum head
there and the standard deviation of its target (nan without one), highest resident
size and processor seconds of the whole program.

`ranks` compares what keeps a distributed training stable, with
build/examples/etx-train-distributed on two shipped events: eight sectors per step
on two ranks, at a learning rate that is too high on purpose. The trainings have
the same bits on every run of one kind of processor. Standard library only.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import os
import pathlib
import statistics
import subprocess
from typing import Any, Iterator

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "build/examples"
START = ROOT / "examples/models/default.safetensors"
DATA = ROOT / "examples/data"
WARMUP = 20
WINDOW = 20  # steps of the mean that a jump is compared with
JUMP = 2.0
COLUMNS = "jumps|largest loss|loss|median norm|largest norm|weights|validation loss"
COLUMNS += "|AUC|pT error|pT spread|MiB|s"
RANK_COLUMNS = "loss|AUC|gradient|highest|weights|spread|imbalance|spikes|rollbacks"

Config = dict[str, Any]
Variants = Iterator[tuple[str, Config]]


def merged(base: Config, change: Config) -> Config:
    """base with the change laid over it, section by section."""
    result = copy.deepcopy(base)
    for key, value in change.items():
        is_section = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if is_section else value
    return result


def base_config(steps: int, seed: int) -> Config:
    """The shipped config of the graph network, smaller."""
    config = json.loads((ROOT / "examples/configs/gnn.json").read_text())
    schedule = {"steps": steps, "learning_rate": 0.002, "warmup_steps": WARMUP}
    config["model"]["options"] = {"hidden": 16, "n_iterations": 6}
    return config | {
        "seed": seed,
        "schedule": schedule | {"decay": "constant"},
        "optimiser": {"weight_decay": 0.01, "gradient_clip": 0.0},
        "sampling": {"hits": 0, "edges": 3000},
        "loss": {},
        "memory": {},
    }


def memory() -> Variants:
    """How latents are stored."""
    size = {
        "model": {"options": {"hidden": 32, "n_iterations": 8}},
        "sampling": {"edges": 20000},
    }
    checkpointing, half = {"checkpointing": True}, {"precision": "bf16"}
    yield "plain", size
    yield "checkpointing", size | {"memory": checkpointing}
    yield "bf16", size | {"memory": half}
    yield "both", size | {"memory": checkpointing | half}


def momentum() -> Variants:
    """Weights of the loss of the momentum head."""
    head = {"model": {"options": {"pt_layers": 2}}}
    yield "no head", {}
    for weight in (0.02, 0.2):
        yield f"head, weight {weight}", head | {"loss": {"pt_weight": weight}}


def ranks() -> Variants:
    """What keeps a distributed training stable."""
    yield "as it is", {}
    yield "no layer norm", {"model": {"options": {"norm": "none"}}}
    yield "weight decay 0", {"optimiser": {"weight_decay": 0.0}}
    yield "weight decay 0.1", {"optimiser": {"weight_decay": 0.1}}
    yield "gradient clip 1", {"optimiser": {"gradient_clip": 1.0}}
    head = {"model": {"options": {"pt_layers": 2}}}
    yield "auxiliary target", head | {"loss": {"pt_weight": 0.02}}
    yield "mean over graphs", {"loss": {"average": "graphs"}}
    yield "assigned in turn", {}
    yield "in buckets", {"sampling": {"order": "buckets"}}
    spikes = {"spike_factor": 1.5, "snapshot_every": 10}
    yield "back at spikes", {"stability": spikes}


RANKS_BASE: Config = {
    "stage": "gnn",
    "seed": 1,
    "model": {
        "arch": "interaction_network",
        "options": {"hidden": 16, "n_iterations": 4},
        "node_features": [{"name": "r", "scale": 1000.0}, {"name": "z", "scale": 1e3}],
        "edge_features": [
            {"name": "dphi", "scale": 0.3},
            {"name": "deta", "scale": 1.0},
        ],
    },
    "schedule": {"learning_rate": 0.03, "warmup_steps": 5, "decay": "constant"},
    "optimiser": {"gradient_clip": 0.0},
    "sampling": {"edges": 1000, "graphs": 8},
}
TABLES = {"memory": memory, "momentum": momentum}
TABLES["ranks"] = ranks


def link_events(folder: pathlib.Path, *events: str) -> pathlib.Path:
    """A folder of these shipped events."""
    folder.mkdir(exist_ok=True)
    for file in (f for e in events for f in DATA.glob(e + "-*")):
        if not (folder / file.name).exists():
            (folder / file.name).symlink_to(file)
    return folder


def count_jumps(losses: list[float]) -> int:
    """Steps whose loss is above JUMP times the running mean of the others."""
    mean, n, jumps = 0.0, 0, 0
    for loss in losses:
        if not math.isfinite(loss) or (n >= WINDOW and loss > JUMP * mean):
            jumps += 1
            continue
        n = min(n + 1, WINDOW)
        mean += (loss - mean) / n
    return jumps


def number(value: float | None) -> float:
    """A number of a log, where null is not a number."""
    return math.nan if value is None else value


def summarise(lines: list[Config]) -> list[str]:
    """The columns of one training that come from its log."""
    steps = [x for x in lines if "gradient_norm" in x]
    losses = [number(x["loss"]) for x in steps]
    norms = [number(x["gradient_norm"]) for x in steps[WARMUP:]]
    finite = [x for x in norms if math.isfinite(x)] or [math.nan]
    found = ([x for x in lines if "auc" in x] or [{}])[-1]
    return [
        f"{count_jumps(losses)}",
        f"{max(losses[WARMUP:]):.3g}",
        f"{statistics.fmean(losses[-max(1, len(losses) // 10) :]):.4f}",
        f"{statistics.median(finite):.3g}",
        f"{max(finite):.3g}",
        f"{number(steps[-1]['weight_norm']):.1f}",
        *(
            f"{number(found.get(k)):.4f}"
            for k in ("loss", "auc", "pt_error", "pt_spread")
        ),
    ]


def summarise_ranks(lines: list[Config]) -> list[str]:
    steps = [line for line in lines if "gradient_norm" in line]
    last = [line for line in lines if "validation" in line][-1]
    norms = sorted(line["gradient_norm"] for line in steps)
    return [
        f"{last['loss']:.4f}",
        f"{last['auc']:.4f}",
        f"{norms[len(norms) // 2]:.3f}",
        f"{norms[-1]:.3f}",
        f"{steps[-1]['weight_norm']:.2f}",
        f"{max(line['highest_loss_spread'] for line in steps):.3f}",
        f"{sum(line['imbalance'] for line in steps) / len(steps):.3f}",
        f"{sum(line['n_spikes'] for line in steps)}",
        f"{sum('rollback' in line for line in lines)}",
    ]


def program(name: str, args: argparse.Namespace) -> list[Any]:
    """What trains, and on what."""
    if args.table != "ranks":
        data = ["--data", args.data, "--validation", args.validation]
        return [PROGRAMS / "etx-train", *data, "--threads", "1"]
    first, second = DATA / "event000000000", DATA / "event000000001"
    rule = "turn" if name == "assigned in turn" else "balanced"
    return [
        *(PROGRAMS / "etx-train-distributed", "--ranks", str(args.ranks)),
        *("--threads", "1", "--deal", rule, "--deadline", "600"),
        *("--data", first, "--data", second, "--validation", second),
    ]


def train(name: str, seed: int, config: Config, args: argparse.Namespace) -> list[str]:
    """Run one; the columns, or why it ended."""
    stem = f"{name} {seed}".replace(" ", "-").replace(",", "")
    log, text, out = (args.out / (stem + end) for end in (".jsonl", ".json", ".out"))
    text.write_text(json.dumps(config))
    log.unlink(missing_ok=True)
    command = [*program(name, args), "--config", text, "--start", START]
    command += ["--out", out, "--log", log, "--validate-every", str(args.steps)]
    running = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    said = running.stderr.read().strip()
    _, status, usage = os.wait4(running.pid, 0)
    if not log.exists() or (status != 0 and args.table == "ranks"):
        return [said.splitlines()[-1]]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    if args.table == "ranks":
        return summarise_ranks(lines)
    seconds = usage.ru_utime + usage.ru_stime
    columns = [*summarise(lines), f"{usage.ru_maxrss / 1024:.0f}", f"{seconds:.0f}"]
    return columns if status == 0 else [*columns, said.splitlines()[-1]]


def main() -> None:
    """One training after another."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--steps", type=int, help="default 300, of ranks 60")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--validation", type=pathlib.Path)
    args = parser.parse_args()
    is_ranks = args.table == "ranks"
    args.steps = args.steps or (60 if is_ranks else 300)
    args.out.mkdir(exist_ok=True)
    args.data = args.data or link_events(args.out / "data", "event000000002")
    args.validation = args.validation or link_events(
        args.out / "validation", "event000000001"
    )
    head = ["training", "seed", *(RANK_COLUMNS if is_ranks else COLUMNS).split("|")]
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for seed in range(1, args.seeds + 1):
        base = merged(RANKS_BASE, {"seed": seed, "schedule": {"steps": args.steps}})
        base = base if is_ranks else base_config(args.steps, seed)
        for name, changes in TABLES[args.table]():
            columns = train(name, seed, merged(base, changes), args)
            print(f"| {name} | {seed} | " + " | ".join(columns) + " |", flush=True)


if __name__ == "__main__":
    main()
