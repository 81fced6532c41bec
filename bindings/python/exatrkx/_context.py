"""_context -- where and how work runs.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from . import _declarations, _errors, _handle, _html, _interrupt, _library
from ._declarations import etx_context_options, etx_stage_timing


def numbers(prefix: str) -> dict[str, int]:
    """The constants of the library that begin so, by the rest of their names."""
    return {
        name.removeprefix(prefix).lower(): number
        for name, number in vars(_declarations).items()
        if name.startswith(prefix)
    }


DEVICES = numbers("ETX_DEVICE_")
CPU_LEVELS = numbers("ETX_CPU_")
PRECISIONS = numbers("ETX_PRECISION_")
MAX_THREADS = 256
INTERRUPT_INTERVAL = 50  # ms between two looks for Ctrl-C, which take the lock


@dataclass(frozen=True)
class StageTiming:
    """What a stage took."""

    seconds: float  # wall time
    gflop: float  # 1e9 multiply and add operations of its networks
    peak_bytes: int  # highest memory use of the library during the stage
    n_edges: int  # that left the stage, 0 where it has none


class Timings(dict[str, StageTiming]):
    """StageTiming by the name of the stage."""

    def _repr_html_(self) -> str:
        rows = [(name, *vars(one).values()) for name, one in self.items()]
        head = ("stage", "seconds", "GFLOP", "peak bytes", "edges")
        return _html.table("Timings", rows, head)


def choose(name: str, value: str, table: dict[str, int]) -> int:
    """The number of a name; ArgumentError lists the valid names."""
    if value not in table:
        raise _errors.ArgumentError(
            f"{name}: {value!r}, expected one of {list(table)}"
        )
    return table[value]


def n_cores() -> int:
    """Cores that this process may use."""
    return min(len(os.sched_getaffinity(0)), MAX_THREADS)


class Context(_handle.Handle):
    """Device, threads and scratch memory; used by one call at a time.

    A second thread that uses a context waits for the first; for calls side by
    side give each thread a context of its own. Results have the same bits for
    any number of threads.
    """

    def __init__(
        self,
        threads: int | None = None,
        *,
        device: str = "cpu",
        device_index: int = 0,
        cpu_level: str = "best",
        precision: str = "best",
        memory_limit: int = 0,
        keep_graphs: bool | int = False,
        cancel: Callable[[], object] | None = None,
    ) -> None:
        """threads: 1..256, None = all cores that the process may use.

        device is "cpu", "cuda" or, as with device_index 1, "cuda:1"; cpu_level
        the highest instruction set:
        "best", "ref", "avx2", "avx512" or "neon"; precision "best", which is "float32"
        on the CPU and "float16" on a device, or one of these, or "tf32" on a
        device, "bfloat16" on a CPU with AVX512_BF16 or "int16" with AVX2 or AVX512_VNNI;
        memory_limit in
        bytes of scratch, 0 = none. keep_graphs, of a context on a device, leaves
        a copy of its graphs on the device, for Graph.src_device and the like; 2:
        they are there alone, and ArgumentError where the host's are needed.
        cancel is polled often during a call, on its thread: a true result ends
        the call with CancelledError, an exception ends it and is raised by the
        call. Ctrl-C ends a call of the main thread with KeyboardInterrupt.
        Raises UnsupportedError for a device that does not exist.
        """
        if cancel is not None and not callable(cancel):
            raise TypeError(f"cancel: {cancel!r} is no function")
        name, _, index = str(device).partition(":")
        if name == "cuda" and index.isdecimal():
            device, device_index = name, int(index)
        self._lock = threading.Lock()
        self._caller: int | None = None  # the thread that has the lock
        self._polls = _interrupt.Polls(cancel)
        is_polled = cancel is not None or _interrupt.on_main_thread()
        poll = [self._polls.poll] if is_polled else []
        self._cancel = _interrupt.CANCEL(*poll)
        self._threads = n_cores() if threads is None else threads
        self._device = f"cuda:{device_index}" if device == "cuda" else device
        self._keep_graphs = bool(keep_graphs)
        self._late: list[_handle.Pointer] = []
        options = _library.defaults(
            etx_context_options,
            device=choose("device", device, DEVICES),
            device_index=device_index,
            n_threads=self._threads,
            cpu_level=choose("cpu_level", cpu_level, CPU_LEVELS),
            precision=choose("precision", precision, PRECISIONS),
            memory_limit=memory_limit,
            keep_graphs=int(keep_graphs),
            cancel=self._cancel,
            cancel_interval=0 if cancel is not None else INTERRUPT_INTERVAL,
        )
        super().__init__(
            _handle.make("context", "etx_context_create", ctypes.byref(options))
        )

    @contextmanager
    def _use(self) -> Iterator[_handle.Pointer]:
        """The pointer for one call, which nobody else uses meanwhile."""
        polls = self._polls
        caller = threading.get_ident()
        if self._caller == caller:
            raise _errors.ArgumentError(
                "context: in a call of this thread already, which polls cancel"
            )
        with self._lock, polls.noting():
            self._caller = caller
            polls.raised = None  # of a call that ended otherwise
            try:
                yield self._pointer
            except _errors.CancelledError:
                raised, polls.raised = polls.raised, None
                if raised is not None:
                    raise raised from None
                raise
            finally:
                self._late.clear()
                self._caller = None

    def _owned(self, graph: _handle.Pointer) -> _handle.Pointer:
        """A graph that was made in this context, as its handle has it."""
        return KeptPointer(graph, self) if self._keep_graphs else graph

    def _free(self, graph: list[_handle.Pointer]) -> None:
        """Remove a graph from its list and free it when no call uses the
        context."""
        self._late.extend(graph)
        graph.clear()
        if self._lock.acquire(blocking=False):
            try:
                self._late.clear()
            finally:
                self._lock.release()

    def __repr__(self) -> str:
        if self.closed:
            return "<exatrkx.Context closed>"
        plural = "" if self._threads == 1 else "s"
        return f"<exatrkx.Context on {self._device}, {self._threads} thread{plural}>"

    @property
    def timings(self) -> Timings:
        """By stage, since the last embed, build_graph or find_tracks began.

        A stage that did not run is all zero.
        """
        found = Timings()
        one = etx_stage_timing(struct_size=ctypes.sizeof(etx_stage_timing))
        with self._use() as pointer:
            for k in range(_declarations.ETX_N_STAGES):
                _library.call(
                    "etx_context_timing", ctypes.byref(one), pointer, k
                )
                name = _library.library.etx_stage_name(k).decode()
                found[name] = StageTiming(
                    one.seconds, one.gflop, one.peak_bytes, one.n_edges
                )
        return found


class KeptPointer(_handle.Pointer):
    """A graph with arrays in the memory of a context's device.

    To free it is a use of that context, which another thread may be using;
    the context is not freed before.
    """

    def __init__(self, graph: _handle.Pointer, context: Context) -> None:
        self._graph = [graph]
        self._as_parameter_ = graph._as_parameter_
        self._context = context
        graph.keep(context._pointer)

    def __del__(self) -> None:
        self._context._free(self._graph)


class _Thread(threading.local):
    context: Context | None = None


_thread = _Thread()


def context_or_default(context: Context | None) -> Context:
    """The context given, or this thread's own on all cores."""
    if context is not None:
        _errors.expect("context", context, "Context")
        return context
    if _thread.context is None:
        _thread.context = Context()
    return _thread.context
