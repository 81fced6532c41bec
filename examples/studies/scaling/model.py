"""model -- time of a training step on N ranks, and how it is fitted.

A step works on G graphs of n edges on average; a rank has ceil(G / N) of them,
and waits for the slowest. Compute time of a graph is linear in its edges, with
a part of its own: that of the hits. An
all-reduce of B bytes costs alpha for each of 2 log2 N messages and beta for each
of 2 (N - 1) / N B bytes (Rabenseifner's, in Thakur, Rabenseifner, Gropp,
doi:10.1177/1094342005051521). The slowing of ranks on one machine by each
other, memory bandwidth above all, is a factor 1 + kappa (M - 1) on the compute time,
where M = min(N, C) of the C cores are busy; more ranks than cores take turns.

    t(N) = (fixed + per_edge n) ceil(G / N) imbalance(N)
           (1 + kappa (M - 1)) max(1, N / C)
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
class Sum:
    """One measured all-reduce."""

    ranks: int
    bytes: float
    seconds: float


@dataclass(frozen=True)
class Model:
    fixed: float  # s a graph, whatever its edges
    per_edge: float  # s
    kappa: float  # slowing by every further rank of a machine
    alpha: float  # s a message
    beta: float  # s a byte
    bytes: float  # of the gradient
    cores: float = math.inf  # common to the ranks of a machine

    def compute(
        self, ranks: int, edges: float, graphs: int, imbalance: float = 1.0
    ) -> float:
        """Seconds of the slowest rank. A mean rank has graphs / ranks."""
        share = max(graphs / ranks * imbalance, 1.0)
        slowing = 1.0 + self.kappa * (min(ranks, self.cores) - 1)
        turns = max(1.0, ranks / self.cores)
        return (self.fixed + self.per_edge * edges) * share * slowing * turns

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
    columns = [
        [float(run.graphs) for run in alone],
        [run.edges * run.graphs for run in alone],
    ]
    fixed, per_edge = least_squares(
        columns, [run.step_seconds - run.moving_seconds for run in alone]
    )
    return float(fixed), float(per_edge)


def fit_network(sums: Sequence[Sum]) -> tuple[float, float]:
    """alpha and beta, of sums of several sizes."""
    if len({(one.ranks, one.bytes) for one in sums if one.ranks > 1}) < 2:
        raise ValueError("no sums of several sizes on several ranks")
    messages = [2.0 * math.log2(one.ranks) for one in sums]
    sizes = [2.0 * (one.ranks - 1) / one.ranks * one.bytes for one in sums]
    alpha, beta = least_squares([messages, sizes], [one.seconds for one in sums])
    return float(alpha), float(beta)


def fit(
    runs: Sequence[Run], sums: Sequence[Sum], size: float, cores: float = math.inf
) -> Model:
    """The model of these runs, whose gradient has `size` bytes, on a machine of
    `cores` cores, and of these sums."""
    fixed, per_edge = fit_compute(runs)
    if not any(run.ranks > 1 for run in runs):
        raise ValueError("no run on several ranks")
    alpha, beta = fit_network(sums)
    model = Model(fixed, per_edge, 0.0, alpha, beta, size, cores)
    slowing = [
        (
            (run.step_seconds - model.communicate(run.ranks))
            / model.compute(run.ranks, run.edges, run.graphs, run.imbalance)
            - 1.0
        )
        / (min(run.ranks, cores) - 1)
        for run in runs
        if min(run.ranks, cores) > 1
    ]
    kappa = float(np.mean(slowing)) if slowing else 0.0
    return replace(model, kappa=max(kappa, 0.0))


@dataclass(frozen=True)
class Check:
    """The largest number of ranks, predicted from all others."""

    ranks: int
    measured: float
    predicted: float

    @property
    def error(self) -> float:
        return self.predicted / self.measured - 1.0


def leave_out_largest(
    runs: Sequence[Run], sums: Sequence[Sum], size: float, cores: float = math.inf
) -> list[Check]:
    largest = max(run.ranks for run in runs)
    model = fit([run for run in runs if run.ranks < largest], sums, size, cores)
    return [
        Check(
            largest,
            run.step_seconds,
            model.step(largest, run.edges, run.graphs, run.imbalance),
        )
        for run in runs
        if run.ranks == largest
    ]


def speed_up(model: Model, ranks: int, edges: float, graphs: int) -> float:
    """Of an epoch of `graphs` graphs a step for every rank: strong scaling."""
    return model.step(1, edges, graphs) / model.step(ranks, edges, graphs)


def on_network(model: Model, latency: float, bandwidth: float, compute: float) -> Model:
    """The same on other machines: s a message, bytes/s, and a compute time that
    is this share of the measured one; every rank has a machine of its own."""
    if min(latency, bandwidth, compute) <= 0.0 or not math.isfinite(bandwidth):
        raise ValueError("latency, bandwidth and compute must be above 0")
    return replace(
        model,
        fixed=model.fixed * compute,
        per_edge=model.per_edge * compute,
        kappa=0.0,
        cores=math.inf,
        alpha=latency,
        beta=1.0 / bandwidth,
    )
