"""_shipped -- the files that ship: models, the detector and an event.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from . import _errors

PACKAGE = Path(__file__).parent
MODELS = ("default", "accurate", "positions", "chain", "pixels", "odd")


def data_roots(package: Path) -> list[Path]:
    """Where the files that ship with a package may be: in it, in the
    repository that holds it, or under PREFIX of
    PREFIX/lib/python3*/*-packages/exatrkx; few folders may be above it."""
    above = package.parents
    roots = [package]
    roots += [folder / "examples" for folder in above[2:3]]
    return roots + [folder / "share" / "exatrkx" for folder in above[3:4]]


def shipped(folder: str, name: str) -> Path:
    """A file of the folder that ETX_DATA names, of the package, of the
    repository, or of the programs installed next to the package."""
    named = os.environ.get("ETX_DATA")
    if named and not os.path.isdir(named):
        raise _errors.FileError(f"ETX_DATA={named}: no such folder")
    roots = [Path(named)] if named else []
    roots += data_roots(PACKAGE)
    paths = [root / folder / name for root in roots]
    for path in paths:
        if path.exists():
            return path
    raise FileNotFoundError(f"{name}: in none of {[str(p) for p in paths]}")


def model_file(name: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """The file of a model that ships by this name, or the name, which is a path;
    FileError where it is neither."""
    if not (isinstance(name, str) and name.isidentifier()):
        return name
    try:
        return shipped("models", f"{name}.safetensors")
    except FileNotFoundError:
        if os.path.exists(name):
            return name
        raise _errors.FileError(
            f"{name}: neither a file nor one of {', '.join(MODELS)}"
        ) from None


def config_file(name: str) -> Path:
    """The file of a config of a training that ships by this name, or the name, which
    is a path."""
    if name.isidentifier() and not os.path.exists(name):
        with contextlib.suppress(FileNotFoundError):
            return shipped("configs", f"{name}.json")
    return Path(name)
