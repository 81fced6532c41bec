"""training -- small trainings of a graph network side by side.

    python3 test/bench/training.py TABLE OUT [--steps N] [--data DIR]
        [--validation DIR] [--seeds N]

TABLE is `stability` (layer norm, learning rate, weight decay), `memory` (how
latents are kept) or `momentum` (with and without a head for the momentum).
Everything else is equal and the gradient is not clipped. Trains with
build/examples/etx-train on the shipped event of 10 570 hits and validates on
a small one, unless folders of other events are given; configs and logs
go to the folder OUT. Columns: jumps (steps whose loss is above twice the mean
of the last ones, the newest weighing 1 / 20, as docs/training.md defines them),
the largest loss after the warm-up, the mean loss of the last tenth of the steps, the median and the largest norm
of the gradient after that, the norm of the weights in the end, loss and
AUC of the validation, error of the momentum head there and the spread of what it
is to say (nan without one), highest resident size and processor seconds of the
whole program.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import pathlib
import statistics
import subprocess
from typing import Any, Iterator

ROOT = pathlib.Path(__file__).resolve().parents[2]
TRAIN = ROOT / "build/examples/etx-train"
START = ROOT / "examples/models/default.safetensors"
DATA = ROOT / "examples/data"
WARMUP = 20
WINDOW = 20  # steps of the mean that a jump is compared with
JUMP = 2.0
COLUMNS = (
    "jumps", "largest loss", "loss", "median norm", "largest norm", "weights",
    "validation loss", "AUC", "pT error", "pT spread", "MiB", "s",
)


def make_config(steps: int, seed: int) -> dict[str, Any]:
    """The shipped config of the graph network, smaller."""
    config = json.loads((ROOT / "examples/configs/gnn.json").read_text())
    config["seed"] = seed
    config["model"]["options"] = {"hidden": 16, "n_iterations": 6}
    config["schedule"] = {
        "steps": steps, "learning_rate": 0.002, "warmup_steps": WARMUP,
        "decay": "constant",
    }
    config["optimiser"] = {"weight_decay": 0.01, "gradient_clip": 0.0}
    config["sampling"] = {"hits": 0, "edges": 3000}
    config["loss"], config["memory"] = {}, {}
    return config


def stability() -> Iterator[tuple[str, dict[str, Any]]]:
    """Norm, learning rate and decay."""
    for norm, rate, decay in itertools.product(
        ("layer", "none"), (0.002, 0.02, 0.1), (0.0, 0.01, 0.1)
    ):
        yield f"norm {norm}, rate {rate}, decay {decay}", {
            "options": {"norm": norm},
            "schedule": {"learning_rate": rate},
            "optimiser": {"weight_decay": decay},
        }


def memory() -> Iterator[tuple[str, dict[str, Any]]]:
    """How latents are kept."""
    for name, ways in (
        ("plain", {}),
        ("checkpointing", {"checkpointing": True}),
        ("bf16", {"precision": "bf16"}),
        ("both", {"checkpointing": True, "precision": "bf16"}),
    ):
        yield name, {
            "memory": ways,
            "options": {"hidden": 32, "n_iterations": 8},
            "sampling": {"edges": 20000},
        }


def momentum() -> Iterator[tuple[str, dict[str, Any]]]:
    """Weights of the loss of the momentum head."""
    yield "no head", {}
    for weight in (0.02, 0.2):
        yield f"head, weight {weight}", {
            "options": {"pt_layers": 2}, "loss": {"pt_weight": weight},
        }


TABLES = {"stability": stability, "memory": memory, "momentum": momentum}


def apply(config: dict[str, Any], changes: dict[str, Any]) -> None:
    """Lay the changes over the sections; "options" are the network's."""
    for section, values in changes.items():
        where = config["model"] if section == "options" else config
        where[section].update(values)


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
    """What a log says; null is no number."""
    return math.nan if value is None else value


def summarise(log: pathlib.Path) -> list[str]:
    """The columns of one training that come from its log."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    steps = [x for x in lines if "gradient_norm" in x]
    validations = [x for x in lines if "auc" in x]
    losses = [number(x["loss"]) for x in steps]
    norms = [number(x["gradient_norm"]) for x in steps[WARMUP:]]
    finite = [x for x in norms if math.isfinite(x)] or [math.nan]
    last = losses[-max(1, len(losses) // 10):]
    found = validations[-1] if validations else {}
    return [
        f"{count_jumps(losses)}", f"{max(losses[WARMUP:]):.3g}",
        f"{statistics.fmean(last):.4f}",
        f"{statistics.median(finite):.3g}", f"{max(finite):.3g}",
        f"{number(steps[-1]['weight_norm']):.1f}",
        *(f"{number(found.get(key)):.4f}"
          for key in ("loss", "auc", "pt_error", "pt_spread")),
    ]


def train(
    name: str, config: dict[str, Any], args: argparse.Namespace
) -> list[str]:
    """Run one; the columns, or why it ended."""
    stem = args.out / name.replace(" ", "-").replace(",", "")
    log = stem.with_name(stem.name + ".jsonl")
    text = stem.with_name(stem.name + ".json")
    text.write_text(json.dumps(config))
    log.unlink(missing_ok=True)
    running = subprocess.Popen(
        [TRAIN, "--config", text, "--start", START, "--data", args.data,
         "--validation", args.validation, "--out",
         stem.with_name(stem.name + ".safetensors"), "--log", log,
         "--validate-every", str(args.steps), "--threads", "1"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )
    said = running.stderr.read().strip()
    _, status, usage = os.wait4(running.pid, 0)
    if not log.exists():
        return [said]
    columns = summarise(log) + [
        f"{usage.ru_maxrss / 1024:.0f}",
        f"{usage.ru_utime + usage.ru_stime:.0f}",
    ]
    return columns if status == 0 else columns + [said.splitlines()[-1]]


def main() -> None:
    """One training after another."""
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("table", choices=TABLES)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--validation", type=pathlib.Path)
    args = parser.parse_args()
    args.out.mkdir(exist_ok=True)
    args.data = args.data or link_events(
        args.out / "data", "event000000002")
    args.validation = args.validation or link_events(
        args.out / "validation", "event000000001")
    print("| training | seed | " + " | ".join(COLUMNS) + " |")
    print("|---" * (len(COLUMNS) + 2) + "|")
    for seed in range(1, args.seeds + 1):
        for name, changes in TABLES[args.table]():
            config = make_config(args.steps, seed)
            apply(config, changes)
            columns = train(f"{name} {seed}", config, args)
            print(f"| {name} | {seed} | " + " | ".join(columns) + " |",
                  flush=True)


if __name__ == "__main__":
    main()
