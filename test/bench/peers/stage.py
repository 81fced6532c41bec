"""stage -- what a stage and an implementation of it are, and when results agree.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Inputs = dict[str, np.ndarray]
OURS = "libexatrkx"


@dataclass(frozen=True)
class Run:
    """A prepared implementation: call is timed; result brings what call gave
    into the form that is compared; facts are what else it can tell."""

    call: Callable[[], Any]
    result: Callable[[Any], np.ndarray]
    facts: Callable[[], dict[str, Any]] = dict


@dataclass(frozen=True)
class Agreement:
    agrees: bool
    text: str


Compare = Callable[[Inputs, np.ndarray, np.ndarray], Agreement]


@dataclass(frozen=True)
class Implementation:
    """Something that does a stage."""

    name: str
    prepare: Callable[[Inputs, int], Run]  # inputs, number of threads
    compiles: bool = False  # takes long to prepare
    share: float = 1.0  # of the work that it does; its time is divided by this
    compare: Compare | None = None  # in the place of the stage's


@dataclass(frozen=True)
class Stage:
    """A stage, its inputs, and those who do it; the results of the others are
    compared with that of the first."""

    name: str
    title: str
    item: str  # what is counted: hits, edges, pairs
    make: Callable[[int], Inputs]  # from a number of hits
    implementations: tuple[Implementation, ...]
    compare: Compare
    n_items: Callable[[Inputs, np.ndarray], int]  # of the inputs and the result
    flops: Callable[[Inputs], float] | None = None  # of the network as written


def within(tolerance: float) -> Compare:
    """Values agree when no difference is above tolerance times the largest."""

    def compare(_: Inputs, reference: np.ndarray, result: np.ndarray) -> Agreement:
        if reference.shape != result.shape:
            return Agreement(False, f"shape {result.shape}, not {reference.shape}")
        largest = float(np.abs(reference).max(initial=1e-30))
        difference = float(np.abs(result - reference).max(initial=0)) / largest
        text = f"differs by {difference:.0e} of the largest, allowed {tolerance:.0e}"
        return Agreement(difference <= tolerance, text)

    return compare


def tensors_of(inputs: Inputs, prefix: str) -> Inputs:
    """The weights among the inputs, under their names in a model file."""
    return {name: value for name, value in inputs.items() if name.startswith(prefix)}
