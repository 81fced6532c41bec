"""dist_group -- libexatrkx_dist over MPI through ctypes, and how MPI is started.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import exatrkx

MPIRUN = ["mpirun", "--oversubscribe", "--mca", "btl", "vader,self"]
MPIRUN += ["--mca", "mpi_yield_when_idle", "1"]
MPIRUN += ["--allow-run-as-root"] if os.geteuid() == 0 else []


class Statistics(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("reserved", ctypes.c_int32),
        ("seconds", ctypes.c_double),
        ("waiting_seconds", ctypes.c_double),
        ("n_calls", ctypes.c_int64),
        ("n_bytes", ctypes.c_int64),
    ]


class Group:
    """The ranks that mpirun started."""

    def __init__(self, path: str | Path) -> None:
        self.functions = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
        self.functions.etx_dist_close.restype = None
        self.handle = ctypes.c_void_p()
        self.call("etx_dist_open_mpi", ctypes.byref(self.handle), None)
        self.rank = int(self.functions.etx_dist_rank(self.handle))
        self.n_ranks = int(self.functions.etx_dist_n_ranks(self.handle))

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self.functions, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name}: status {status}")

    def join(self, trainer: exatrkx.Trainer) -> None:
        """Make the trainer one of the ranks."""
        from exatrkx import _declarations, _library

        team = _declarations.etx_team()
        team.struct_size = ctypes.sizeof(team)
        self.call("etx_dist_team", ctypes.byref(team), self.handle)
        _library.call("etx_trainer_set_team", trainer._pointer, ctypes.byref(team))

    def sum(self, values: ctypes.Array[ctypes.c_double]) -> None:
        """All-reduce in place."""
        self.call("etx_dist_sum", self.handle, values, ctypes.c_int64(len(values)))

    def statistics(self) -> Statistics:
        found = Statistics(struct_size=ctypes.sizeof(Statistics))
        self.call("etx_dist_get_statistics", ctypes.byref(found), self.handle)
        return found

    def close(self) -> None:
        self.functions.etx_dist_close(self.handle)
