"""columns -- columns of CSV files by name, as numbers of any type.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import gzip
import io
from typing import Any

import numpy as np


class Columns:
    """Columns of one CSV file by name."""

    def __init__(self, path: str) -> None:
        opened = gzip.open if path.endswith(".gz") else open
        with opened(path, "rt", encoding="ascii") as file:
            self.text = file.read()
        self.names = self.text.partition("\n")[0].split(",")

    def numbers(self, kind: Any, *names: str) -> np.ndarray:
        """The named columns, [n_rows, n_names]."""
        if self.text.count("\n") < 2:
            return np.zeros((0, len(names)), dtype=kind)
        return np.loadtxt(
            io.StringIO(self.text),
            delimiter=",",
            skiprows=1,
            usecols=[self.names.index(name) for name in names],
            dtype=kind,
            ndmin=2,
        )

    def integers(self, *names: str) -> np.ndarray:
        """The named columns as int64."""
        return self.numbers(np.int64, *names)

    def floats(self, *names: str) -> np.ndarray:
        """The named columns as float64."""
        return self.numbers(np.float64, *names)
