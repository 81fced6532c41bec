"""scaling -- measure trainings, fit the model, predict; README.md.

    python -m scaling measure --out DIR --data EVENTS... --start MODEL
    python -m scaling predict --out DIR
    python -m scaling strong --out DIR --data EVENTS... --start MODEL
    python -m scaling balance --out DIR --data EVENTS... --ranks N
    python -m scaling costs --out DIR --data EVENTS... --validation EVENTS...

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from .balance import describe as describe_balance
from .balance import measure as measure_balance
from .chart import PUBLISHED, Curve, draw
from .costs import Prices, Trainings
from .costs import describe as describe_costs
from .costs import measure as measure_costs
from .costs import read as read_costs
from .model import Model, Run, fit, leave_out_largest, on_network, speed_up
from .runs import Plan, measure, names, read_runs, read_sizes, read_sums
from .strong import Work
from .strong import describe as describe_strong
from .strong import measure as measure_strong

PREDICTED = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
SHOWN = [64, 1024]


def counts(text: str) -> list[int]:
    values = [int(part) for part in text.split(",")]
    if min(values) < 1:
        raise ValueError(text)
    return values


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m scaling", description="How training scales on many ranks."
    )
    add = parser.add_argument
    add("what", choices=list(COMMANDS))
    add("--out", type=Path, required=True, metavar="DIR", help="of the runs")
    add("--program", type=Path, default=Path("build/examples/etx-train"))
    add("--start", type=Path, default=Path("examples/models/default.safetensors"))
    add("--data", action="append", default=[], metavar="EVENTS", help="repeatable")
    add("--ranks", type=counts, default=[1, 2, 4], metavar="N,...")
    add("--edges", type=counts, default=[5000, 20000], metavar="N,...")
    add("--graphs", type=int, default=8, help="of a step while measuring")
    add("--steps", type=int, default=6, help="of a measured training")
    add("--batch", type=int, default=1024, help="graphs of a step, predicted")
    add("--latency", type=float, default=1e-5, help="s a message between GPUs")
    add("--bandwidth", type=float, default=2e10, help="bytes/s between GPUs")
    add("--compute", type=float, default=0.002, help="of a GPU, fraction of the measured time")
    add("--config", type=Path, default=Path("examples/studies/strong_scaling.json"))
    add("--rounds", type=int, default=3, help="of strong")
    text = "of costs, repeatable"
    add("--validation", action="append", default=[], metavar="EVENTS", help=text)
    add("--graphs-of-training", type=int, default=960, metavar="N", help="of costs")
    add("--watts", type=float, default=8.0, help="of a core, where no counter is")
    add("--dollars", type=float, default=0.04, help="of a core and hour")
    add("--chart", type=Path, help="default DIR/scaling.svg")
    return parser.parse_args(arguments)


def describe(model: Model) -> str:
    return (
        f"a graph takes {model.fixed:.3g} s and {model.per_edge:.3g} s per edge; "
        f"{100 * model.kappa:.1f} % more for every further rank of the machine\n"
        f"all-reduce of {model.bytes:.0f} bytes: {model.alpha:.3g} s a message, "
        f"{model.beta:.3g} s a byte"
    )


def measured_curve(runs: Sequence[Run]) -> Curve:
    """Of the largest graphs."""
    edges = max(run.edges for run in runs)
    of_size = [run for run in runs if run.edges == edges]
    alone = [run.step_seconds for run in of_size if run.ranks == 1][0]
    pairs = sorted((run.ranks, alone / run.step_seconds) for run in of_size)
    return Curve(
        "measured on this machine",
        [ranks for ranks, _ in pairs],
        [value for _, value in pairs],
        "o",
    )


def predicted_curve(
    label: str, model: Model, edges: float, graphs: int, style: str
) -> Curve:
    values = [speed_up(model, ranks, edges, graphs) for ranks in PREDICTED]
    return Curve(label, PREDICTED, values, style)


def make_curves(arguments: argparse.Namespace, runs: list[Run]) -> list[Curve]:
    sizes = read_sizes(arguments.out)
    sums = read_sums(arguments.out)
    model = fit(runs, sums, sizes.gradient_bytes, sizes.cores)
    gpus = on_network(model, arguments.latency, arguments.bandwidth, arguments.compute)
    edges = float(max(sizes.edges))
    local = [n for n in PREDICTED if n <= max(names(runs))]
    fitted = Curve(
        "model of this machine",
        local,
        [speed_up(model, n, edges, sizes.graphs) for n in local],
        "-",
    )
    return [
        measured_curve(runs),
        fitted,
        predicted_curve("predicted for GPUs", gpus, edges, arguments.batch, "--"),
        Curve("published, 1-32 A100", list(PUBLISHED), list(PUBLISHED.values()), "s"),
    ]


def predict(arguments: argparse.Namespace) -> None:
    sizes = read_sizes(arguments.out)
    runs = read_runs(arguments.out)
    data = (read_sums(arguments.out), sizes.gradient_bytes, sizes.cores)
    print("measured and fitted:")
    print(describe(fit(runs, *data)))
    if len(names(runs)) > 2:
        for check in leave_out_largest(runs, *data):
            print(
                f"check: {check.ranks} ranks left out of the fit: predicted "
                f"{check.predicted:.4g} s, measured {check.measured:.4g} s "
                f"({100 * check.error:+.1f} %)"
            )
    curves = make_curves(arguments, runs)
    print("predicted speed-up, not measured:")
    for ranks, value in zip(curves[2].ranks, curves[2].speed_up):
        note = f"; published {PUBLISHED[ranks]:.4g}" if ranks in PUBLISHED else ""
        if ranks in SHOWN or note:
            print(
                f"  {ranks} GPUs: {value:.4g}, efficiency {value / ranks:.3f}{note}"
            )
    if importlib.util.find_spec("matplotlib") is None:
        print("no chart: matplotlib is not installed")
        return
    chart = arguments.chart or arguments.out / "scaling.svg"
    draw(chart, curves)
    print(f"chart: {chart}")


def run_measure(arguments: argparse.Namespace) -> None:
    plan = Plan(
        arguments.program,
        arguments.start,
        arguments.data,
        arguments.ranks,
        arguments.edges,
        arguments.graphs,
        arguments.steps,
    )
    measure(plan, arguments.out)


def run_strong(arguments: argparse.Namespace) -> None:
    work = Work(
        arguments.program,
        arguments.start,
        arguments.config,
        arguments.data,
        arguments.out,
    )
    print(describe_strong(measure_strong(work, arguments.rounds)))


def run_balance(arguments: argparse.Namespace) -> None:
    assignments = measure_balance(
        arguments.program,
        arguments.out,
        arguments.data,
        max(arguments.ranks),
        arguments.graphs,
        arguments.steps,
    )
    print(describe_balance(assignments), end="")


def run_costs(arguments: argparse.Namespace) -> None:
    work = Trainings(
        arguments.program,
        arguments.start,
        arguments.data,
        arguments.validation,
        arguments.ranks,
        arguments.graphs,
        arguments.graphs_of_training,
        min(arguments.edges),
        arguments.out,
    )
    measure_costs(work)
    runs = {
        kind: [read_costs(work, kind, ranks) for ranks in work.ranks]
        for kind in ("strong", "weak")
    }
    print(describe_costs(runs, Prices(arguments.watts, arguments.dollars)), end="")


COMMANDS = {
    "measure": run_measure,
    "predict": predict,
    "strong": run_strong,
    "balance": run_balance,
    "costs": run_costs,
}


def main(arguments: Sequence[str] | None = None) -> int:
    parsed = parse_arguments(arguments)
    if parsed.what != "predict" and not parsed.data:
        print(f"{parsed.what} needs --data", file=sys.stderr)
        return 2
    if parsed.what == "costs" and not parsed.validation:
        print("costs needs --validation", file=sys.stderr)
        return 2
    COMMANDS[parsed.what](parsed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
