"""facts -- what a file says of a network besides its weights.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

StateDict = dict[str, np.ndarray]
Hparams = dict[str, Any]


SETTINGS = {  # of activations: name and the value that the library has
    "ELU": ("alpha", 1.0),
    "GELU": ("approximate", "none"),
}


class ConvertError(ValueError):
    """What was given cannot be converted; the text says why."""


def with_setting(kind: str, value: Any) -> str:
    """The class of an activation, with its setting where the library has another,
    which no name of an activation is; None: not given."""
    name, known = SETTINGS[kind]
    return kind if value in (None, known) else f"{kind}({name}={value})"


@dataclass
class Facts:
    """Empty where the file has weights alone."""

    origin: str = ""  # "TorchScript" or "ONNX"
    # After a linear, by its name: the classes of torch.nn that follow it.
    after: dict[str, list[str]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)  # class of each module
    eps: dict[str, set[float]] = field(default_factory=dict)  # by class of norm
    settings: Hparams = field(default_factory=dict)  # numbers the module keeps
    code: str = ""  # of the outermost module
    counts: dict[str, int] = field(default_factory=dict)  # calls of a module
    notes: list[str] = field(default_factory=list)

    def calls(self, module: str) -> int:
        """How often the graph or the code calls a module; 0 where unknown."""
        call = rf"\b{module}\)?\.forward\d*\("
        return self.counts.get(module, len(re.findall(call, self.code)))
