"""_progress -- bars of the package tqdm, where it is installed.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
import warnings
from typing import Any


def is_seen() -> bool:
    """Whether stderr is a terminal or the output of a notebook."""
    in_notebook = type(sys.stderr).__module__.startswith("ipykernel")
    return in_notebook or sys.stderr.isatty()


class Bar:
    """A bar on stderr while that is a terminal or in a notebook; else nothing."""

    def __init__(self, total: int, unit: str, is_wanted: bool) -> None:
        self._bar: Any = None
        if not (is_wanted and is_seen()):
            return
        try:
            with warnings.catch_warnings():  # a notebook without ipywidgets
                warnings.simplefilter("ignore")
                from tqdm.auto import tqdm
        except ImportError:
            return
        self._bar = tqdm(total=total, unit=unit)

    def advance(self, done: int | None = None, text: str = "") -> None:
        """One more, or done in all; text stands after the bar."""
        if self._bar is None:
            return
        self._bar.update(1 if done is None else done - self._bar.n)
        if text:
            self._bar.set_postfix_str(text, refresh=False)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
