"""stage -- what a stage and an implementation of it are, and when results agree.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

Inputs = dict[str, np.ndarray]
OURS = "libexatrkx"


def unchanged(value: Any) -> Any:
    return value


def no_time() -> tuple[float, float]:
    return (0.0, 0.0)


@dataclass(frozen=True)
class Run:
    """A prepared implementation: call is timed, less the wall and CPU seconds of
    idle; result converts what call returned to the form that is compared; facts
    are further results."""

    call: Callable[[], Any]
    result: Callable[[Any], np.ndarray] = unchanged
    facts: Callable[[], dict[str, Any]] = dict
    idle: Callable[[], tuple[float, float]] = no_time


@dataclass(frozen=True)
class Agreement:
    agrees: bool
    text: str


Compare = Callable[[Inputs, np.ndarray, np.ndarray], Agreement]
Prepare = Callable[[Inputs, int], Run]  # inputs, number of threads


@dataclass(frozen=True)
class Implementation:
    """One way to compute a stage."""

    name: str
    prepare: Prepare
    compiles: bool = False  # takes long to prepare
    rounds: bool = False  # to fewer bits than float32: timed apart from the others
    share: float = 1.0  # of the work that it does; its time is divided by this
    compare: Compare | None = None  # instead of the stage's


@dataclass(frozen=True)
class Stage:
    """A stage, its inputs and its implementations; the results of the others
    are compared with that of the first, or each is described."""

    name: str
    title: str
    item: str  # what is counted: hits, edges, pairs
    make: Callable[[int], Inputs]  # from a number of hits
    implementations: tuple[Implementation, ...]
    n_items: Callable[[Inputs, np.ndarray], int]  # of the inputs and the result
    compare: Compare | None = None
    describe: Callable[[Inputs, np.ndarray], str] | None = None
    flops: Callable[[Inputs], float] | None = None  # of the network as written


def of_torch(
    pytorch: Callable[..., Run], compiled: str = "PyTorch compiled"
) -> tuple[Implementation, ...]:
    """PyTorch as it is written, and compiled under this name."""
    return (
        Implementation("PyTorch", pytorch),
        Implementation(compiled, partial(pytorch, is_compiled=True), compiles=True),
    )


def of_network(
    pytorch: Callable[..., Run],
    onnx_runtime: Callable[..., Run],
    ours: Callable[..., Run],
) -> tuple[Implementation, ...]:
    """The implementations of a perceptron, also with rounded products."""
    int8 = partial(onnx_runtime, is_int8=True)
    return (
        *of_torch(pytorch),
        Implementation("ONNX Runtime", onnx_runtime),
        Implementation(OURS, ours),
        Implementation("ONNX Runtime int8", int8, rounds=True, compare=ROUNDED),
        *(
            Implementation(
                f"{OURS} {precision}",
                partial(ours, precision=precision),
                rounds=True,
                compare=ROUNDED,
            )
            for precision in ("int16", "bfloat16")
        ),
    )


def n_hits(inputs: Inputs, _: np.ndarray | None = None) -> int:
    return len(inputs["features"])


def n_edges(inputs: Inputs, _: np.ndarray | None = None) -> int:
    return int(inputs["edges"].shape[1])


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


# Rounded products are close to the others, and the row says how close.
ROUNDED = within(0.1)


def tensors_of(inputs: Inputs, prefix: str) -> Inputs:
    """The weights among the inputs, under their names in a model file."""
    return {name: value for name, value in inputs.items() if name.startswith(prefix)}
