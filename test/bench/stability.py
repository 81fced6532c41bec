"""stability -- what keeps a distributed training steady: switches compared.

    python3 test/bench/stability.py [--build build] [--steps N] [--ranks N]

Trains a small interaction network on two shipped events, eight wedges a step
on two ranks, at a learning rate that is too high on purpose, once for every
line of the table: layer norm off, other weight decays, a bound on the gradient, an
auxiliary target (the momentum of the particle), mean over graphs, dealing in
turn, graphs of a size, going back at spikes. Same command, same table: the
trainings have the same bits on every run. Standard library only.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import copy
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

BASE: dict[str, Any] = {
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
    "schedule": {
        "learning_rate": 0.03,
        "warmup_steps": 5,
        "decay": "constant",
    },
    "optimiser": {"gradient_clip": 0.0},
    "sampling": {"edges": 1000, "graphs": 8},
}
CHANGES: dict[str, dict[str, Any]] = {
    "as it is": {},
    "no layer norm": {"model": {"options": {"norm": "none"}}},
    "weight decay 0": {"optimiser": {"weight_decay": 0.0}},
    "weight decay 0.1": {"optimiser": {"weight_decay": 0.1}},
    "gradient clip 1": {"optimiser": {"gradient_clip": 1.0}},
    "auxiliary target": {
        "model": {"options": {"pt_layers": 2}},
        "loss": {"pt_weight": 0.02},
    },
    "mean over graphs": {"loss": {"average": "graphs"}},
    "dealt in turn": {},
    "in buckets": {"sampling": {"order": "buckets"}},
    "back at spikes": {"stability": {"spike_factor": 1.5, "snapshot_every": 10}},
}


def merge(base: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    merged = copy.deepcopy(base)
    for key, value in change.items():
        if isinstance(value, dict):
            merged[key] = merge(merged.get(key, {}), value)
        else:
            merged[key] = value
    return merged


def train(name: str, options: argparse.Namespace, folder: Path) -> str:
    config = merge(BASE, CHANGES[name])
    config["schedule"]["steps"] = options.steps
    (folder / "config.json").write_text(json.dumps(config))
    log = folder / f"{name}.jsonl"
    data = "examples/data/event00000000"
    command = [
        f"{options.build}/examples/etx-train-distributed",
        *("--ranks", str(options.ranks), "--threads", "1"),
        *("--config", str(folder / "config.json")),
        *("--start", "examples/models/default.safetensors"),
        *("--data", data + "0", "--data", data + "1"),
        *("--validation", data + "1"),
        *("--validate-every", str(options.steps)),
        *("--deal", "turn" if name == "dealt in turn" else "balanced"),
        *("--deadline", "600", "--log", str(log), "--out", str(folder / "model")),
    ]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        return f"{name:18} {run.stderr.splitlines()[-1]}"
    return f"{name:18} {summary(log)}"


def summary(log: Path) -> str:
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    steps = [line for line in lines if "gradient_norm" in line]
    last = [line for line in lines if "validation" in line][-1]
    norms = sorted(line["gradient_norm"] for line in steps)
    return (
        f"{last['loss']:8.4f} {last['auc']:7.4f} {norms[len(norms) // 2]:9.3f} "
        f"{norms[-1]:9.3f} {steps[-1]['weight_norm']:8.2f} "
        f"{max(line['highest_loss_spread'] for line in steps):8.3f} "
        f"{sum(line['imbalance'] for line in steps) / len(steps):9.3f} "
        f"{sum(line['n_spikes'] for line in steps):7d} "
        f"{sum('rollback' in line for line in lines):5d}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--ranks", type=int, default=2)
    options = parser.parse_args()
    print(
        f"{'':18} {'loss':>8} {'auc':>7} {'gradient':>9} {'highest':>9} "
        f"{'weights':>8} {'spread':>8} {'imbalance':>9} {'spikes':>7} {'back':>5}"
    )
    with tempfile.TemporaryDirectory() as folder:
        for name in CHANGES:
            print(train(name, options, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
