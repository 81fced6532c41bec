"""command_line -- what the commands that use the library have in common.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

from .._context import Context
from .._errors import Error
from .._model import Detector, Model
from ..files.trackml_csv import find_events


def parser(
    name: str,
    description: str,
    event: str = "PREFIX-hits.csv[.gz] and its siblings, or a folder; repeatable",
) -> argparse.ArgumentParser:
    """A command line with --event, and what its help says of that."""
    result = argparse.ArgumentParser(
        prog=f"exatrkx {name}", description=description
    )
    result.add_argument(
        "--event",
        action="append",
        required=True,
        metavar="PREFIX",
        help=event,
    )
    return result


def add_model(result: argparse.ArgumentParser) -> None:
    """What finding tracks needs."""
    add = result.add_argument
    add("--model", metavar="FILE", help="default: the one that ships")
    add("--detector", metavar="FILE", help="default: the TrackML detector")
    add(
        "--threads",
        type=int,
        default=0,
        metavar="N",
        help="0 = all cores (default)",
    )


def tools(
    args: argparse.Namespace,
) -> tuple[Model, Detector, Context]:
    """Model, detector and context of the arguments of add_model."""
    return (
        Model.load(args.model),
        Detector.load(args.detector),
        Context(args.threads or None),
    )


def events_of(args: argparse.Namespace) -> list[str]:
    """Prefixes of all events; FileNotFoundError for an empty folder."""
    found = []
    for path in args.event:
        prefixes = find_events(path)
        if not prefixes:
            raise FileNotFoundError(f"{path}: no *-hits.csv[.gz] in it")
        found += prefixes
    return found


def names_of(prefixes: list[str]) -> list[str]:
    """The names of files that belong to events; ValueError where two events
    would have the same name."""
    known: dict[str, str] = {}
    for prefix in prefixes:
        first = known.setdefault(os.path.basename(prefix), prefix)
        if os.path.realpath(first) != os.path.realpath(prefix):
            raise ValueError(f"events of the same name: {first} and {prefix}")
    return [os.path.basename(prefix) for prefix in prefixes]


def tracks_of(files: list[str], prefixes: list[str]) -> list[str]:
    """A file of tracks for each event; a folder holds NAME-tracks.csv[.gz]."""
    if len(files) == 1 and os.path.isdir(files[0]):
        plain = [
            os.path.join(files[0], name + "-tracks.csv")
            for name in names_of(prefixes)
        ]
        exists = os.path.exists
        return [p + ".gz" if exists(p + ".gz") and not exists(p) else p for p in plain]
    if len(files) != len(prefixes):
        raise ValueError(
            f"events: {len(prefixes)}, files of tracks: {len(files)}"
        )
    return files


def reported(name: str, work: Callable[[], None]) -> int:
    """Do the work; 1 and one line on stderr where it fails."""
    try:
        work()
    except ModuleNotFoundError as error:
        print(f"{name}: needs {error.name} (pip install {error.name})", file=sys.stderr)
        return 1
    except (Error, OSError, ValueError, ImportError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    return 0
