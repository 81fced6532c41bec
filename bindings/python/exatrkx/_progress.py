"""_progress -- bars of the package tqdm, where it is installed.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from typing import Any


class Bar:
    """A bar on stderr while that is a terminal; else nothing."""

    def __init__(self, total: int, unit: str, is_wanted: bool) -> None:
        self._bar: Any = None
        if not is_wanted:
            return
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return
        self._bar = tqdm(total=total, unit=unit, disable=None)

    def advance(self, done: int | None = None, text: str = "") -> None:
        """One more, or done in all; text stands behind the bar."""
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
