"""costs -- what trainings on several ranks find and cost: two tables from logs.

Strong scaling: the graphs of a step stay and are divided among the ranks. Weak
scaling: every rank has as many, so a step has more, and the learning rate grows
with them. All trainings see the same number of graphs.

    total purity   true edges among those above the cut
    target purity  the same, without true edges of particles that are no signal
    utilisation    share of the time in which ranks work on graphs and networks,
                   and neither move gradients nor wait
    J, $           joules from /sys/class/powercap where it can be read, else
                   watts times core seconds; dollars per core and hour

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tables.markdown import table

from .runs import last_line

CONFIG = Path(__file__).resolve().parents[3] / "examples" / "configs" / "gnn.json"
KEPT = 0.95  # of the signal pairs, by the cut
MIN_PT = 0.5  # GeV, of signal
FINDS = ("efficiency", "target purity", "total purity", "AUC", "loss")
COSTS = ("epoch s", "step s", "speed-up", "scaling", "utilisation")
COSTS += ("moving", "waiting", "MiB", "J per epoch", "$ per epoch")


@dataclass(frozen=True)
class Prices:
    """Of a core: watts that it needs, dollars an hour."""

    watts: float
    dollars: float


@dataclass(frozen=True)
class Trainings:
    """Trainings of etx-train to measure."""

    program: Path
    start: Path
    data: Sequence[str]
    validation: Sequence[str]
    ranks: Sequence[int]
    graphs: int  # of a step, strong; of a step of the fewest ranks, weak
    n_graphs: int  # of a training
    edges: int  # of a graph
    folder: Path


def config(work: Trainings, kind: str, ranks: int) -> dict[str, Any]:
    """The narrow graph network of the small tables."""
    made = json.loads(CONFIG.read_text())
    graphs = work.graphs * (ranks // min(work.ranks) if kind == "weak" else 1)
    steps = max(work.n_graphs // graphs, 1)
    made["model"]["options"] = {"hidden": 16, "n_iterations": 3}
    made["schedule"] = {"steps": steps, "learning_rate": 0.003}
    made["schedule"]["warmup_steps"] = steps // 12
    if kind == "weak":
        base = work.graphs
        made["schedule"]["learning_rate"] /= base
        made["schedule"]["scale_learning_rate"] = "linear"
    made["sampling"].update(edges=work.edges, graphs=graphs, order="epochs")
    made["validation"] = {"target_efficiency": KEPT}
    return made


def measure(work: Trainings) -> None:
    """One training for each kind of scaling and number of ranks."""
    work.folder.mkdir(parents=True, exist_ok=True)
    for kind in ("strong", "weak"):
        for ranks in work.ranks:
            stem = work.folder / f"{kind}-{ranks}"
            made = config(work, kind, ranks)
            Path(f"{stem}.json").write_text(json.dumps(made))
            steps = made["schedule"]["steps"]
            line = [*command(work, stem, ranks), "--validate-every", str(steps)]
            subprocess.run(line, check=True, stdout=subprocess.DEVNULL)


def command(work: Trainings, stem: Path, ranks: int) -> list[str]:
    line = [work.program, "--ranks", ranks, "--threads", 1, "--deadline", 600]
    line += ["--start", work.start, "--config", f"{stem}.json"]
    line += ["--out", f"{stem}.safetensors", "--scaling-report", f"{stem}.jsonl"]
    line += ["--log", f"{stem}.log"]
    for option, paths in (("--data", work.data), ("--validation", work.validation)):
        line += [word for path in paths for word in (option, path)]
    return [str(word) for word in line]


def purities(model: Path, validation: Sequence[str], cut: float) -> tuple[float, float]:
    """Target and total purity of the edges above the cut."""
    import exatrkx
    from tables.construction import codes, true_edges

    loaded = exatrkx.Model.load(model)
    detector = exatrkx.Detector.load()
    kept = true = target = 0
    folders = [exatrkx.Events(path, detector=detector) for path in validation]
    for event in (event for events in folders for event in events):
        graph = exatrkx.build_graph(loaded, event)
        graph = exatrkx.score_graph(
            exatrkx.filter_graph(graph, loaded, event), loaded, event
        )
        above = graph.scores >= cut
        edges = codes(graph.src[above], graph.dst[above], event.n_hits)
        kept += len(edges)
        true += int(np.isin(edges, true_edges(event, 0.0)).sum())
        target += int(np.isin(edges, true_edges(event, MIN_PT)).sum())
    return target / max(kept - true + target, 1), true / max(kept, 1)


def last_threshold(log: Path) -> float:
    """The cut that the last validation found."""
    found = [json.loads(line) for line in log.read_text().splitlines()]
    return float([x["threshold"] for x in found if x.get("validation")][-1])


def read(work: Trainings, kind: str, ranks: int) -> dict[str, Any]:
    """The report of one training, with its graphs a step and purities."""
    stem = work.folder / f"{kind}-{ranks}"
    found = last_line(Path(f"{stem}.jsonl"))
    made = json.loads(Path(f"{stem}.json").read_text())
    found["graphs"] = made["sampling"]["graphs"]
    cut = last_threshold(Path(f"{stem}.log"))
    target, total = purities(Path(f"{stem}.safetensors"), work.validation, cut)
    return found | {"target": target, "total": total}


def finds(run: Mapping[str, Any]) -> list[str]:
    """The columns FINDS."""
    keys = ("efficiency", "target", "total", "auc", "loss")
    return [f"{run[key]:.4f}" for key in keys]


def joules(run: Mapping[str, Any], prices: Prices) -> float:
    """Measured, or of the model."""
    modelled = prices.watts * run["ranks"] * run["epoch_seconds"]
    return float(run.get("epoch_joules", modelled))


def costs(
    run: Mapping[str, Any], first: Mapping[str, Any], kind: str, prices: Prices
) -> list[str]:
    """The columns COSTS; first is the run on the fewest ranks."""
    more = run["ranks"] / first["ranks"]
    speed_up = first["epoch_seconds"] / run["epoch_seconds"]
    same_work = first["batch_seconds"] / run["batch_seconds"]
    scaling = same_work if kind == "weak" else speed_up / more
    busy = run["graphs_share"] + run["network_share"]
    dollars = prices.dollars * run["ranks"] * run["epoch_seconds"] / 3600
    return [
        f"{run['epoch_seconds']:.4f}",
        f"{run['batch_seconds']:.4f}",
        f"{speed_up:.2f}",
        f"{scaling:.2f}",
        f"{busy:.3f}",
        f"{run['moving_share']:.3f}",
        f"{run['waiting_share']:.3f}",
        f"{run['peak_mib']:.0f}",
        f"{joules(run, prices):.2f}",
        f"{dollars:.2g}",
    ]


def describe(runs: Mapping[str, Sequence[Mapping[str, Any]]], prices: Prices) -> str:
    """What the trainings found, and what they cost: two tables."""
    physics, money = [], []
    for kind, of_kind in runs.items():
        for run in of_kind:
            name = [kind, str(run["ranks"]), str(run["graphs"])]
            physics.append(name + finds(run))
            money.append(name + costs(run, of_kind[0], kind, prices))
    head = ("scaling", "ranks", "graphs a step")
    return table((*head, *FINDS), physics) + "\n" + table((*head, *COSTS), money)
