"""_html -- small tables for notebooks (the _repr_html_ of objects).

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

CAPTION = 'style="white-space:nowrap"'
CELL = 'style="text-align:left"'


def number(value: object) -> str:
    """A value as a table shows it."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def row(tag: str, cells: Iterable[object]) -> str:
    """One row of cells."""
    texts = (html.escape(number(cell)) for cell in cells)
    return "".join(["<tr>", *(f"<{tag} {CELL}>{t}</{tag}>" for t in texts)])


def table(
    title: str, rows: Iterable[Sequence[object]], head: Sequence[str] = ()
) -> str:
    """A table with a title; head names the columns."""
    lines = [f"<table><caption {CAPTION}>{html.escape(title)}</caption>"]
    lines += [row("th", head)] if head else []
    lines += [row("td", cells) for cells in rows]
    return "\n".join([*lines, "</table>"])
