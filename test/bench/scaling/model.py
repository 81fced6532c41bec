"""model -- time of a training step on N ranks, and how it is fitted.

A step works on G graphs of n edges on average; a rank has ceil(G / N) of them,
and waits for the slowest. Compute time of a graph is linear in its edges. An
all-reduce of B bytes costs alpha for each of 2 log2 N messages and beta for each
of 2 (N - 1) / N B bytes (Rabenseifner's, in Thakur, Rabenseifner, Gropp,
doi:10.1177/1094342005051521). What ranks on one machine take from each other,
memory bandwidth above all, is a factor 1 + kappa (N - 1) on the compute time.

    t(N) = (fixed + per_edge n ceil(G / N)) imbalance(N) (1 + kappa (N - 1))
           + 2 log2(N) alpha + 2 (N - 1) / N B beta

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Run:
    """One measured training."""

    ranks: int
    step_seconds: float
    edges: float  # of a graph, mean
    graphs: int  # of a step
    moving_seconds: float  # of a step: adding gradients, not waiting
    imbalance: float  # largest work of a rank over the mean


@dataclass(frozen=True)
class Model:
    fixed: float  # s a step, whatever it works on
    per_edge: float  # s
    kappa: float  # slowing by every further rank of a machine
    alpha: float  # s a message
    beta: float  # s a byte
    bytes: float  # of the gradient

    def compute(
        self, ranks: int, edges: float, graphs: int, imbalance: float = 1.0
    ) -> float:
        """Seconds of the slowest rank. A mean rank has graphs / ranks."""
        share = max(graphs / ranks * imbalance, 1.0)
        slowing = 1.0 + self.kappa * (ranks - 1)
        return (self.fixed + self.per_edge * edges * share) * slowing

    def communicate(self, ranks: int) -> float:
        """Seconds of one all-reduce of the gradient."""
        latency = 2 * math.log2(ranks) * self.alpha
        return latency + 2 * (ranks - 1) / ranks * self.bytes * self.beta

    def step(
        self, ranks: int, edges: float, graphs: int, imbalance: float = 1.0
    ) -> float:
        return self.compute(ranks, edges, graphs, imbalance) + self.communicate(ranks)


def least_squares(
    columns: Sequence[Sequence[float]], values: Sequence[float]
) -> np.ndarray:
    """Coefficients >= 0 that minimise the relative error: columns that would get
    a negative one are left out, the worst first."""
    matrix = np.array(columns, dtype=float).T / np.array(values)[:, None]
    kept = list(range(matrix.shape[1]))
    solution = np.zeros(matrix.shape[1])
    while kept:
        part = np.linalg.lstsq(matrix[:, kept], np.ones(len(values)), rcond=None)[0]
        if part.min() >= 0.0:
            solution[kept] = part
            break
        kept.pop(int(part.argmin()))
    return solution


def fit_compute(runs: Sequence[Run]) -> tuple[float, float]:
    """fixed and per_edge, of runs on one rank."""
    alone = [run for run in runs if run.ranks == 1]
    if not alone:
        raise ValueError("no run on one rank")
    columns = [[1.0] * len(alone), [run.edges * run.graphs for run in alone]]
    fixed, per_edge = least_squares(
        columns, [run.step_seconds - run.moving_seconds for run in alone]
    )
    return float(fixed), float(per_edge)


def fit_network(runs: Sequence[Run], size: float) -> tuple[float, float]:
    """alpha and beta, of the time that runs on several ranks spent moving data.
    One number of ranks cannot tell them apart: then all of it is beta."""
    many = [run for run in runs if run.ranks > 1 and run.moving_seconds > 0.0]
    if not many:
        raise ValueError("no run on several ranks")
    messages = [2.0 * math.log2(run.ranks) for run in many]
    sizes = [2.0 * (run.ranks - 1) / run.ranks * size for run in many]
    moving = [run.moving_seconds for run in many]
    if len({run.ranks for run in many}) == 1:
        return 0.0, float(least_squares([sizes], moving)[0])
    alpha, beta = least_squares([messages, sizes], moving)
    return float(alpha), float(beta)


def fit(runs: Sequence[Run], size: float) -> Model:
    """The model of these runs, whose gradient has so many bytes."""
    fixed, per_edge = fit_compute(runs)
    alpha, beta = fit_network(runs, size)
    model = Model(fixed, per_edge, 0.0, alpha, beta, size)
    slowing = [
        ((run.step_seconds - model.communicate(run.ranks))
         / model.compute(run.ranks, run.edges, run.graphs, run.imbalance) - 1.0)
        / (run.ranks - 1)
        for run in runs
        if run.ranks > 1
    ]
    return replace(model, kappa=max(float(np.mean(slowing)), 0.0))


@dataclass(frozen=True)
class Check:
    """The largest number of ranks, predicted from all others."""

    ranks: int
    measured: float
    predicted: float

    @property
    def error(self) -> float:
        return self.predicted / self.measured - 1.0


def leave_out_largest(runs: Sequence[Run], size: float) -> list[Check]:
    most = max(run.ranks for run in runs)
    model = fit([run for run in runs if run.ranks < most], size)
    return [
        Check(
            most,
            run.step_seconds,
            model.step(most, run.edges, run.graphs, run.imbalance),
        )
        for run in runs
        if run.ranks == most
    ]


def speed_up(model: Model, ranks: int, edges: float, graphs: int) -> float:
    """Of an epoch of `graphs` graphs a step for every rank: strong scaling."""
    return model.step(1, edges, graphs) / model.step(ranks, edges, graphs)


def on_network(
    model: Model, latency: float, bandwidth: float, compute: float
) -> Model:
    """The same on other machines: s a message, bytes/s, and a compute time that
    is this share of the measured one; every rank has a machine of its own."""
    if min(latency, bandwidth, compute) <= 0.0 or not math.isfinite(bandwidth):
        raise ValueError("latency, bandwidth and compute must be above 0")
    return replace(
        model,
        fixed=model.fixed * compute,
        per_edge=model.per_edge * compute,
        kappa=0.0,
        alpha=latency,
        beta=1.0 / bandwidth,
    )
