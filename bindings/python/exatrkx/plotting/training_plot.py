"""training_plot -- what etx-train --log wrote, against the step.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .style import COLOURS, log_axis, panels

Record = dict[str, Any]
SMOOTHING = 0.02  # of the records: half the window of the moving mean

TRAINING = {
    "loss": "loss",
    "gradient_norm": "gradient norm",
    "learning_rate": "learning rate",
    "weight_norm": "weight norm",
}
VALIDATION = {
    "efficiency": "efficiency, validation",
    "purity": "purity, validation",
    "auc": "area under the ROC curve, validation",
    "threshold": "threshold, validation",
    "pt_error": "error of the momentum head (dashed: spread of the truth)",
}


class Log:
    """Records of one run; of a step that was done again the last counts."""

    def __init__(self, path: str) -> None:
        """Read the log; raises ValueError where a line is no JSON object."""
        self.name = os.path.basename(path).removesuffix(".jsonl")
        training: dict[int, Record] = {}
        validation: dict[int, Record] = {}
        self.rollbacks: list[int] = []  # steps gone back to
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
                step = int(record["step"])
            except (ValueError, KeyError, TypeError):
                if number == len(lines):
                    continue  # a run that was killed while it wrote
                raise ValueError(f"{path}:{number}: not a log line") from None
            if record.get("rollback"):
                self.rollbacks.append(step)
            elif record.get("validation"):
                validation[step] = record
            elif not record.get("skipped"):
                training[step] = record
        if not training and not validation:
            raise ValueError(f"{path}: no steps in it")
        self.training = [training[step] for step in sorted(training)]
        self.validation = [validation[step] for step in sorted(validation)]

    def series(
        self, name: str, validation: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Steps and values of one quantity, where it is given."""
        records = self.validation if validation else self.training
        found = [r for r in records if r.get(name) is not None]
        step = np.array([r["step"] for r in found], dtype=np.float64)
        return step, np.array([r[name] for r in found], dtype=np.float64)


def smooth(values: np.ndarray) -> np.ndarray:
    """Moving mean; its window is cut at the end and shrinks to the start."""
    n = len(values)
    half = int(round(SMOOTHING * n))
    at = np.arange(n)
    reach = np.minimum(half, at)
    first, end = at - reach, np.minimum(at + reach + 1, n)
    total = np.concatenate([[0.0], np.cumsum(values)])
    mean: np.ndarray = (total[end] - total[first]) / (end - first)
    return mean


def draw(
    paths: Sequence[str], given: Sequence[Axes] | None = None
) -> Figure:
    """A panel for each quantity in the logs, a colour for each log."""
    logs = [Log(path) for path in paths]
    if not logs:
        raise ValueError("there are no logs to draw")
    wanted = [(name, title, False) for name, title in TRAINING.items()]
    wanted += [(name, title, True) for name, title in VALIDATION.items()]
    shown = [
        (name, title, validation)
        for name, title, validation in wanted
        if any(len(log.series(name, validation)[0]) for log in logs)
    ]
    figure, axes = panels(len(shown), 4, given=given)
    for (name, title, validation), axis in zip(shown, axes, strict=True):
        for number, log in enumerate(logs):
            colour = COLOURS[number % len(COLOURS)]
            step, value = log.series(name, validation)
            if validation:
                axis.plot(step, value, "o-", color=colour, markersize=3.5)
            elif name in ("learning_rate", "weight_norm"):
                axis.plot(step, value, color=colour)
            else:
                axis.plot(step, value, color=colour, alpha=0.25, linewidth=0.7)
                axis.plot(step, smooth(value), color=colour)
            if name == "loss" and not validation:
                _mark_loss(axis, log, colour)
            if name == "pt_error":
                step, value = log.series("pt_spread", True)
                axis.plot(step, value, "--", color=colour, linewidth=1.0)
        axis.set_xlabel("step")
        axis.set_title(title)
        axis.set_xlim(left=0)
        if name in ("loss", "gradient_norm"):
            data = [log.series(name)[1] for log in logs]
            _log_if_positive(axis, np.concatenate(data))
    first = given[0] if given is not None else figure.axes[0]
    lines = _legend_lines(first, logs)
    if given is not None:
        first.legend(handles=lines)
    else:
        n_columns = min(len(lines), 8)
        figure.legend(
            handles=lines, loc="outside upper center", ncols=n_columns
        )
    return cast(Figure, figure)


def _mark_loss(axis: Axes, log: Log, colour: str) -> None:
    """Losses of validations, and lines at the steps gone back to."""
    step, value = log.series("loss", True)
    axis.plot(
        step, value, "D", color=colour, markersize=4,
        markeredgecolor="white", markeredgewidth=0.6,
    )  # fmt: skip
    for back in log.rollbacks:
        axis.axvline(back, color=colour, linewidth=0.8, linestyle=":")


def _log_if_positive(axis: Axes, values: np.ndarray) -> None:
    positive = values[values > 0]
    if len(positive):
        log_axis(axis.yaxis, positive.max() < 1e3 * positive.min())


def _legend_lines(axis: Axes, logs: list[Log]) -> list[Any]:
    """Names of the logs and meaning of the lines."""
    lines: list[Any] = []
    for number, log in enumerate(logs):
        colour = COLOURS[number % len(COLOURS)]
        lines += axis.plot([], [], color=colour, label=log.name)
    grey: Record = {"color": "#555555"}
    lines += axis.plot([], [], **grey, label="moving mean")
    lines += axis.plot(
        [], [], **grey, alpha=0.35, linewidth=0.9, label="as logged"
    )
    if any(len(log.series("loss", True)[0]) for log in logs):
        lines += axis.plot(
            [], [], "D", **grey, markersize=4, label="validation loss"
        )
    if any(log.rollbacks for log in logs):
        lines += axis.plot(
            [], [], ":", **grey, linewidth=0.8, label="gone back to"
        )
    return lines
