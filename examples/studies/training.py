"""training -- small trainings of a graph network side by side.

    python3 examples/studies/training.py memory OUT [--steps N] [--seeds N]
    python3 examples/studies/training.py ranks OUT [--steps N] [--ranks N]

Everything but what a line says is equal; configs and logs go to the folder OUT.

`memory`: how latents are stored, and weights of the loss. build/examples/etx-train, on the shipped event of
10 570 hits, validated on a small one. Columns: the mean loss of the last tenth of the
steps, loss and AUC of the validation, highest resident size of the whole program.

`ranks`: what keeps a distributed training stable. build/examples/etx-train
on two shipped events: eight sectors per step on two ranks, at a learning rate that is
too high on purpose. The trainings have the same bits on every run of one kind of
processor. Standard library only.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import copy
import json
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
# Columns, and their digits after the point.
COLUMNS = {"loss": 4, "validation loss": 4, "AUC": 4, "MiB": 0}
RANK_COLUMNS = {"loss": 4, "AUC": 4, "gradient": 3, "highest": 3, "weights": 2}
RANK_COLUMNS |= {"spread": 3, "imbalance": 3, "spikes": 1, "rollbacks": 1}

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
    """How latents are stored, and weights of the loss."""
    size = {
        "model": {"options": {"hidden": 32, "n_iterations": 8}},
        "sampling": {"edges": 20000},
    }
    checkpointing, half = {"checkpointing": True}, {"precision": "bf16"}
    yield "plain", size
    yield "checkpointing", size | {"memory": checkpointing}
    yield "bf16", size | {"memory": half}
    yield "both", size | {"memory": checkpointing | half}
    yield "TrackML weights", size | {"loss": {"hit_weight": 1.0}}
    yield "secondaries 0", size | {"truth": {"displaced_weight": 0.0}}


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
TABLES = {"memory": memory, "ranks": ranks}


def summarise(lines: list[Config]) -> list[float]:
    """The columns of one training that come from its log."""
    losses = [line["loss"] for line in lines if "gradient_norm" in line]
    found = [line for line in lines if "auc" in line][-1]
    last = statistics.fmean(losses[-max(1, len(losses) // 10) :])
    return [last, found["loss"], found["auc"]]


def summarise_ranks(lines: list[Config]) -> list[float]:
    steps = [line for line in lines if "gradient_norm" in line]
    last = [line for line in lines if "validation" in line][-1]
    norms = sorted(line["gradient_norm"] for line in steps)
    return [
        last["loss"],
        last["auc"],
        norms[len(norms) // 2],
        norms[-1],
        steps[-1]["weight_norm"],
        max(line["highest_loss_spread"] for line in steps),
        sum(line["imbalance"] for line in steps) / len(steps),
        sum(line["n_spikes"] for line in steps),
        sum("rollback" in line for line in lines),
    ]


def mean_and_spread(values: tuple[float, ...], digits: int) -> str:
    """Mean over seeds and, with more than one, their standard deviation."""
    text = f"{statistics.fmean(values):.{digits}f}"
    if len(values) > 1:
        text += f" +- {statistics.stdev(values):.{digits}f}"
    return text


def program(name: str, args: argparse.Namespace) -> list[Any]:
    """What trains, and on what."""
    if args.table != "ranks":
        data = ["--data", DATA / "event000000002", "--validation", DATA / "event000000001"]
        return [PROGRAMS / "etx-train", *data, "--threads", "1"]
    first, second = DATA / "event000000000", DATA / "event000000001"
    rule = "turn" if name == "assigned in turn" else "balanced"
    return [
        *(PROGRAMS / "etx-train", "--ranks", str(args.ranks)),
        *("--threads", "1", "--assign", rule, "--deadline", "600"),
        *("--data", first, "--data", second, "--validation", second),
    ]


def train(
    name: str, seed: int, config: Config, args: argparse.Namespace
) -> list[float]:
    """Run one; its columns."""
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
    if status != 0:
        raise RuntimeError(f"{name}: {said.splitlines()[-1]}")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    if args.table == "ranks":
        return summarise_ranks(lines)
    return [*summarise(lines), usage.ru_maxrss / 1024]


def main() -> None:
    """One training after another."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--steps", type=int, help="default 300, of ranks 60")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=2)
    args = parser.parse_args()
    is_ranks = args.table == "ranks"
    args.steps = args.steps or (60 if is_ranks else 300)
    args.out.mkdir(exist_ok=True)
    columns = RANK_COLUMNS if is_ranks else COLUMNS
    print("| " + " | ".join(["training", *columns]) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for name, changes in TABLES[args.table]():
        found = []
        for seed in range(1, args.seeds + 1):
            base = merged(RANKS_BASE, {"seed": seed, "schedule": {"steps": args.steps}})
            base = base if is_ranks else base_config(args.steps, seed)
            found.append(train(name, seed, merged(base, changes), args))
        cells = map(mean_and_spread, zip(*found), columns.values())
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
