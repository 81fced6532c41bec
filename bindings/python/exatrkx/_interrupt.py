"""_interrupt -- Ctrl-C while the library computes.

Python runs its signal handlers on the main thread between two bytecodes, so
not before a call of the library is over. During a call a handler of our own
only notes the signal; the cancel callback of the context or of the thread, which
the library polls, sees the note and ends the call; KeyboardInterrupt is raised after it.
Nothing is raised inside a callback, where ctypes would drop it.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from . import _library
from ._declarations import FUNCTIONS

CANCEL: Any = FUNCTIONS["etx_set_cancel"][1][0]


def on_main_thread() -> bool:
    """Whether this thread is the one that receives signals."""
    return threading.current_thread() is threading.main_thread()


def is_default() -> bool:
    """Whether Ctrl-C raises KeyboardInterrupt on this thread; handlers of the
    host run as ever, after the call."""
    handler = signal.getsignal(signal.SIGINT)
    return on_main_thread() and handler is signal.default_int_handler


class Polls:
    """The cancel callback of a context, or of a thread."""

    def __init__(self, cancel: Callable[[], object] | None) -> None:
        self.cancel = cancel
        self.signals: list[int] = []  # that came during the call
        self.raised: BaseException | None = None  # by cancel

    def poll(self, _user: object) -> int:
        """The callback: 1 ends the call."""
        if self.signals:
            return 1
        if self.cancel is None:
            return 0
        try:
            return 1 if self.cancel() else 0
        except BaseException as error:
            self.raised = error
            return 1

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Around a call: note Ctrl-C, and raise KeyboardInterrupt at the end
        for one that came."""
        if not is_default():
            yield
            return
        signals = self.signals = []
        signal.signal(signal.SIGINT, lambda number, _: signals.append(number))
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self.signals = []
            if signals:
                raise KeyboardInterrupt from None


_polls = Polls(None)  # of calls without a context
_watched: list[object] = []  # what the library calls, once it is told


@contextmanager
def stoppable() -> Iterator[None]:
    """Around calls that have no context, such as reading a file: Ctrl-C ends
    them, with KeyboardInterrupt at the end."""
    if not is_default():
        yield
        return
    if not _watched:
        _watched.append(CANCEL(_polls.poll))
        _library.library.etx_set_cancel(_watched[0], None)
    with _polls.noting():
        yield
