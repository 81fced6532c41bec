"""chart -- speed-ups as an SVG or PNG: measured, predicted, published.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PUBLISHED = {1: 1.0, 2: 1.67, 4: 3.52, 8: 6.31, 16: 11.86, 32: 22.26}


@dataclass(frozen=True)
class Curve:
    label: str
    ranks: list[int]
    speed_up: list[float]
    style: str  # of matplotlib


def draw(path: Path, curves: Sequence[Curve]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "scaling"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 5))
    for curve in curves:
        axes.plot(curve.ranks, curve.speed_up, curve.style, label=curve.label)
    n_max = max(max(curve.ranks) for curve in curves)
    axes.plot([1, n_max], [1, n_max], "k:", linewidth=0.8, label="ideal")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xlabel("ranks")
    axes.set_ylabel("speed-up over one rank")
    axes.legend()
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)
