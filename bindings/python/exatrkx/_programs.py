"""_programs -- the programs of the library, which a wheel carries.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

PACKAGE = Path(__file__).parent


def find(name: str) -> str:
    """The file of a program: of the package, of the repository that holds it, or on
    the PATH; FileNotFoundError says where it was looked for."""
    folders = [PACKAGE / "bin"]
    folders += [above / "build" / "examples" for above in PACKAGE.parents[2:3]]
    for folder in folders:
        if os.access(folder / name, os.X_OK):
            return str(folder / name)
    on_path = shutil.which(name)
    if on_path is None:
        looked = ", ".join(map(str, folders))
        raise FileNotFoundError(f"no program {name} in {looked} or on the PATH")
    return on_path


def environment() -> dict[str, str]:
    """Of a program: with models and detector of the package, unless ETX_DATA
    names others."""
    carried = {"ETX_DATA": str(PACKAGE)} if (PACKAGE / "models").is_dir() else {}
    return carried | os.environ


def become(name: str, arguments: Sequence[str]) -> None:
    """Run a program in place of this process; returns only by an OSError."""
    file = find(name)
    sys.stdout.flush()
    os.execve(file, [name, *arguments], environment())
