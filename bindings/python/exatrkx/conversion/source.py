"""source -- the weights and settings that a network is converted from.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .facts import ConvertError, Facts, Hparams, StateDict

WRAPPERS = ("model.", "module.", "_orig_mod.", "gnn.", "net_module.")


@dataclass(eq=False)
class Block:
    """A perceptron: its layers, and what the file says of them."""

    name: str = ""
    layers: list[dict[str, np.ndarray]] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)  # of the linears
    after: list[list[str] | None] = field(default_factory=list)

    @property
    def widths(self) -> list[int]:
        return [layer["weight"].shape[0] for layer in self.layers]

    @property
    def n_in(self) -> int:
        return int(self.layers[0]["weight"].shape[1])

    @property
    def steps(self) -> set[int]:
        """Of torch's numbering from one linear to the next."""
        pairs = zip(self.numbers, self.numbers[1:], strict=False)
        return {b - a for a, b in pairs}


class Source:
    """The weights and settings to convert; every array is taken once."""

    def __init__(
        self,
        state: StateDict,
        hparams: Hparams,
        note: Callable[[str], None],
        n_edge_features: int = 0,
        facts: Facts | None = None,
        given: Mapping[str, Any] | None = None,
    ) -> None:
        self.state, self.head = _unwrap(state)
        self.hparams = hparams
        self.note = note
        self.n_edge_features = n_edge_features
        self.facts = facts or Facts()
        self.given = given or {}  # --options
        for text in self.facts.notes:
            note(text)

    def setting(self, names: str, default: Any) -> Any:
        """The first of these hyper-parameters, or the default with a note."""
        for name in names.split():
            if self.hparams.get(name) is not None:
                return self.hparams[name]
        self.note(f"no {names.split()[0]} given: taking {default!r}")
        return default

    def refuse(self, text: str, *options: str) -> None:
        """An error, unless --options say what is to be taken instead."""
        if not set(self.given) & set(options):
            advice = " or ".join(f'"{name}"' for name in options)
            raise ConvertError(
                text + (f"; --options can state {advice}" if options else "")
            )

    def after(self, linear: str) -> list[str] | None:
        """What the file says comes after a linear; None: nothing."""
        if not self.facts.after:
            return None
        found = self.facts.after.get(self.head + linear)
        return found and [k for k in found if k not in ("Dropout", "Identity")]

    def has(self, prefix: str) -> bool:
        return any(name.startswith(prefix + ".") for name in self.state)

    def block(self, *prefixes: str) -> Block:
        """The torch.nn.Sequential under the first of these names."""
        for prefix in prefixes:
            for inner in ("", ".network", ".net"):
                for first in (0, 1):  # 1: a dropout of the input comes first
                    if f"{prefix}{inner}.{first}.weight" in self.state:
                        return self._pop_sequential(f"{prefix}{inner}.")
        raise ConvertError(f"there are no weights {prefixes[0]}.0.weight")

    def blocks(self, *names: str) -> tuple[list[Block], bool]:
        """One Sequential, or one for every iteration in a ModuleList; whether
        all iterations share one."""
        for name in names:
            found: list[Block] = []
            while self.has(f"{name}.{len(found)}.0"):
                found.append(self._pop_sequential(f"{name}.{len(found)}."))
            if found:
                return found, False
        return [self.block(names[0])], True

    def only_block(self) -> Block:
        """The one Sequential of the network, whatever it is called."""
        heads = {
            name[: match.start()]
            for name in self.state
            if (match := re.search(r"\d+\.(weight|bias|running_\w+)$", name))
        }
        if len(heads) != 1:
            raise ConvertError(
                f"expected one sequence of layers, found {sorted(heads) or 'none'}"
            )
        return self._pop_sequential(heads.pop())

    def pop(self, name: str) -> np.ndarray:
        if name not in self.state:
            raise ConvertError(f"there are no weights {name}")
        return self.state.pop(name)

    def drop(self, name: str, why: str) -> None:
        """Leave weights out that the network does not use, with a note."""
        found = [n for n in self.state if n.startswith(name + ".")]
        for n in found:
            del self.state[n]
        if found:
            self.note(f"{name} is in the file and {why}")

    def finish(self) -> None:
        """Refuse unused weights: the network would compute something else."""
        if self.state:
            raise ConvertError(
                "weights that this family does not use: "
                + ", ".join(sorted(self.state)[:5])
            )

    def _pop_sequential(self, head: str) -> Block:
        numbers = sorted(
            {
                int(match.group(1))
                for name in self.state
                if (match := re.match(re.escape(head) + r"(\d+)\.", name))
            }
        )
        block = Block(head[:-1])
        for number in numbers:
            weight = self.pop(f"{head}{number}.weight")
            bias = self.pop(f"{head}{number}.bias")
            if weight.ndim == 2:
                block.layers.append({"weight": weight, "bias": bias})
                block.numbers.append(number)
                block.after.append(self.after(f"{head}{number}"))
            elif block.layers and "gain" not in block.layers[-1]:
                block.layers[-1] |= {"gain": weight, "shift": bias}
                for kind in ("mean", "var"):
                    name = f"{head}{number}.running_{kind}"
                    if name in self.state:
                        block.layers[-1][kind] = self.pop(name)
            else:
                raise ConvertError(f"{head}{number} is neither linear nor norm")
        if not block.layers:
            raise ConvertError(f"there is no linear layer in {head[:-1]}")
        return block


def _unwrap(state: StateDict) -> tuple[StateDict, str]:
    """Without what all names begin with, and that."""
    state = dict(state)
    head = ""
    while True:
        shared = [
            wrapper
            for wrapper in WRAPPERS
            if all(name.startswith(wrapper) for name in state)
        ]
        if not shared:
            return state, head
        head += shared[0]
        state = {name[len(shared[0]) :]: value for name, value in state.items()}
