"""results -- the tables of the docs, each made by one command.

    make results EVENTS=DIR                # all, one after another: hours
    make results EVENTS=DIR TABLE=losses   # one, or several: TABLE="losses labels"
    make results-stale EVENTS=DIR          # which are older than what they show

A table ends with its stamp, a comment in the page with short hashes of the models,
events and code that it was made with:

    <!-- TABLE=losses models 3f2a91c0 events 77aa01bc code 1122aabb -->

A command prints Markdown tables. The k-th one replaces the table above the k-th
stamp of that name; no other line of the page changes. To add a table, write an
entry of TABLES, and the head of the table and a stamp without hashes in the page.

Stale is a table whose stamp differs from the files as they are. Code is the folders
and files that a table depends on, in C without comments and spaces; another change
counts also where it keeps all results. Operators are left out: tests hold each to
its reference. A model with names of stages counts by the options and the tensors of
these stages alone: what trainings start from. DIR has the sets of docs/simulation.md by name; events that are
missing there are not compared.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NETWORKS = (
    "src/arch",
    "src/data",
    "src/eval",
    "src/stage/edge_classification",
    "src/stage/node_features.c",
)
PIPELINE = (
    *NETWORKS,
    *("src/stage/graph_construction", "src/stage/track_building"),
    *(f"src/stage/{name}" for name in ("helix", "first_pass", "completion")),
    *(f"src/stage/{name}.c" for name in ("classical", "hits_left", "pipeline")),
)
RADIUS = ("bounded_radius", "build", "embedding", "neighbours", "triplets")
TRAINING = (  # without module maps and completion
    *NETWORKS,
    *(f"src/stage/graph_construction/{name}.c" for name in RADIUS),
    "src/stage/track_building",
    *(f"src/train/{name}" for name in ("graphs", "objective", "sampling", "state")),
    "src/train/validation",
    *(f"src/train/{name}.c" for name in ("draw_batch", "schedule", "training_step")),
    "examples/configs/gnn.json",
)
FITTED = (*PIPELINE, "src/stage/track_fitting")
FITS = ("src/stage/track_fitting", "bindings/python/exatrkx/_field.py")
DEFAULT = "examples/models/default.safetensors"
BOTH = (DEFAULT, "examples/models/accurate.safetensors")
ALL = (*BOTH, "examples/models/positions.safetensors")
CHAIN = "examples/models/chain.safetensors"
ODD = "examples/models/odd.safetensors"
PIXELS = "examples/models/pixels.safetensors"
DENSE = ("full-trackml", "jets", "taus", "cores", "top")
CLOSE = ("jets", "taus", "cores")
SHIPPED = " ".join(f"--model {path}" for path in ALL)
CANDIDATES = (f"{DEFAULT} embedding filter",)
KINDS = ("models", "events", "code")


@dataclass(frozen=True)
class Table:
    """A command for sh, run in the root of the sources, and what it depends on."""

    page: str
    command: str
    models: tuple[str, ...] = BOTH  # files, with stages or whole
    events: tuple[str, ...] = ()  # of EVENTS or of the sources; * and ? as in sh
    code: tuple[str, ...] = PIPELINE


def study(
    page: str,
    name: str,
    arguments: str,
    events: Sequence[str],
    code: Sequence[str] = PIPELINE,
    models: tuple[str, ...] = BOTH,
) -> Table:
    """A module of examples/studies/tables."""
    command = f"python3 -m tables.{name} {arguments}"
    code = (*code, f"examples/studies/tables/{name}.py")
    return Table(page, command, models, tuple(events), code)


PAGES = "docs/tables"
HASHED = "examples/studies/tables/hashed_pairs"
HASHING = "make -s build/studies/hashed_pairs.so; "
TEN = "train-medium/event00000000?-*"


def training(name: str, arguments: str = "", sets: str = "medium") -> Table:
    """Small trainings: a module of examples/studies/tables, on train-* and valid-*."""
    folders = f"--data $EVENTS/train-{sets} --validation $EVENTS/valid-{sets}"
    events = (TEN if sets == "medium" else f"train-{sets}", f"valid-{sets}")
    code = (*TRAINING, "examples/studies/tables/training.py")
    page = f"{PAGES}/{name}.md"
    return study(page, name, f"{folders} {arguments}", events, code, CANDIDATES)


def construction(events: str, count: int, more: str = "") -> Table:
    """Ways to candidate edges, learned from the full training events."""
    learn = ("train-full", "train-full-more")
    folders = " ".join(f"$EVENTS/{name}" for name in learn)
    command = (
        f"{HASHING}python3 -m tables.construction --hashed build/studies/hashed_pairs.so "
        f"--events $EVENTS/{events} --count {count} --learn {folders} {more}"
    )
    names = ("construction", "neighbours")
    modules = (f"examples/studies/tables/{name}.py" for name in names)
    code = (*PIPELINE, "src/learn", f"{HASHED}.c", *modules)
    return Table(f"{PAGES}/construction.md", command, (DEFAULT,), (events, *learn), code)


TABLES: dict[str, Table] = {
    "physics": study(
        f"{PAGES}/physics.md",
        "physics",
        "--set medium=$EVENTS/test-medium --set full=$EVENTS/test-full",
        ["test-medium", "test-full"],
    ),
    "challenge": study(
        f"{PAGES}/physics.md",
        "physics",
        "--set challenge=$EVENTS/trackml_event",
        ["trackml_event"],
    ),
    "losses": study(f"{PAGES}/losses.md", "losses", "--events $EVENTS/test-full", ["test-full"]),
    "losses-chain": study(
        f"{PAGES}/losses.md",
        "losses",
        "--events $EVENTS/test-full-trackml --name chain",
        ["test-full-trackml"],
        models=(CHAIN,),
    ),
    "seeds": study(
        f"{PAGES}/seeds.md",
        "seeds",
        "--set medium=$EVENTS/valid-medium,$EVENTS/test-medium "
        "--set full=$EVENTS/valid-full,$EVENTS/test-full",
        ["valid-medium", "test-medium", "valid-full", "test-full"],
    ),
    "smaller": study(
        f"{PAGES}/smaller-models.md",
        "smaller",
        "--events $EVENTS/test-medium",
        ["test-medium"],
        models=(DEFAULT,),
    ),
    "published": study(
        f"{PAGES}/physics.md",
        "published",
        "--events $EVENTS/test-full --events $EVENTS/test-full-trackml "
        + " ".join(f"--model {path}" for path in (*BOTH, CHAIN)),
        ["test-full", "test-full-trackml"],
        models=(*BOTH, CHAIN),
    ),
    "colliderml": study(
        f"{PAGES}/colliderml.md",
        "colliderml",
        "--events $EVENTS/open-data-test",
        ["open-data-test"],
        code=(*PIPELINE, "bindings/python/exatrkx/tools/colliderml_tracks.py"),
        models=(*ALL, ODD),
    ),
    "pixels": study(
        f"{PAGES}/pixels.md",
        "pixels",
        "--events $EVENTS/test-full-trackml --events $EVENTS/test-full "
        "--events $EVENTS/test-top",
        ["test-full-trackml", "test-full", "test-top"],
        code=(*PIPELINE, "examples/studies/tables/published.py"),
        models=(*BOTH, PIXELS),
    ),
    "dense": study(
        f"{PAGES}/dense.md",
        "dense",
        " ".join(f"--events $EVENTS/test-{name}" for name in DENSE) + " --count 10",
        [f"test-{name}" for name in DENSE],
        models=(*ALL, CHAIN),
    ),
    "dense-nearest": study(
        f"{PAGES}/dense.md",
        "dense",
        " ".join(f"--events $EVENTS/test-{name}" for name in CLOSE)
        + " --count 10 --nearest",
        [f"test-{name}" for name in CLOSE],
        models=(*ALL, CHAIN),
    ),
    "robustness": study(
        f"{PAGES}/robustness.md",
        "robustness",
        f"{SHIPPED} --events $EVENTS/valid-medium --count 10 "
        "--simulate $EVENTS/robust-medium",
        ["valid-medium"],
        models=ALL,
    ),
    "robustness-full": study(
        f"{PAGES}/robustness-full.md",
        "robustness",
        f"{SHIPPED} --events $EVENTS/valid-full --count 2 "
        "--simulate $EVENTS/robust-full --set full --seed 7000",
        ["valid-full"],
        models=ALL,
    ),
    "cells": Table(
        f"{PAGES}/cells.md",
        "; echo; ".join(
            f"python3 -m tables.robustness {SHIPPED} --only 'without cells' "
            f"--events $EVENTS/{name} --count {count}"
            for name, count in (("test-medium", 20), ("test-full", 2))
        ),
        ALL,
        ("test-medium", "test-full"),
        (*PIPELINE, "examples/studies/tables/robustness.py"),
    ),
    "compared": Table(
        f"{PAGES}/compared.md",
        "python3 -m exatrkx compare-events --detectors examples/data/detectors.csv.gz "
        "$EVENTS/trackml_event $EVENTS/test-medium $EVENTS/test-medium-trackml "
        "$EVENTS/test-medium-pythia",
        (),
        ("trackml_event", "test-medium", "test-medium-trackml", "test-medium-pythia"),
        (
            "bindings/python/exatrkx/tools/compare_events.py",
            "bindings/python/exatrkx/tools/field_steps.py",
        ),
    ),
    "chain": study(
        f"{PAGES}/acts-files.md",
        "chain",
        "--data $EVENTS/acts-train --validation $EVENTS/acts",
        ["acts-train", "acts"],
        (*PIPELINE, *TRAINING),
        (ALL[2],),
    ),
    "detector": study(
        f"{PAGES}/open-data.md",
        "detector",
        "--data $EVENTS/open-data-train $EVENTS/open-data-train-full "
        "--validation $EVENTS/open-data-valid "
        "--events $EVENTS/open-data-test $EVENTS/open-data-full "
        "--detector $EVENTS/open-data-detectors.csv.gz",
        [
            "open-data-train",
            "open-data-train-full",
            "open-data-valid",
            "open-data-test",
            "open-data-full",
            "open-data-detectors.csv.gz",
        ],
        (*PIPELINE, *TRAINING),
        (DEFAULT,),
    ),
    "acts": study(f"{PAGES}/acts-files.md", "physics", "--set ACTS=$EVENTS/acts", ["acts"]),
    "sectors": Table(
        f"{PAGES}/sectors.md",
        "build/studies/sectors examples/models/default.safetensors "
        "examples/data/detectors.csv.gz "
        "$EVENTS/test-full/event000000000 $EVENTS/test-full/event000000001",
        (DEFAULT,),
        ("test-full",),
        (*PIPELINE, "examples/studies/sectors.c"),
    ),
    "labels": study(f"{PAGES}/labels.md", "labels", "--events $EVENTS/test-full", ["test-full"]),
    "noise": study(
        f"{PAGES}/noise.md",
        "noise",
        "--events $EVENTS/test-medium",
        ["test-medium"],
        models=(DEFAULT,),
    ),
    "noise-full": study(
        f"{PAGES}/noise.md",
        "noise",
        "--events $EVENTS/test-full --count 2",
        ["test-full"],
        models=(DEFAULT,),
    ),
    "padding": study(
        f"{PAGES}/padding.md",
        "padding",
        "--events $EVENTS/train-medium",
        [TEN],
        models=(DEFAULT,),
    ),
    "messages": Table(
        f"{PAGES}/messages.md",
        "make -s build/studies/messages; python3 -m tables.messages",
        (),
        (),
        ("src/op/simd/kernels/segment_reduce.c", "examples/studies/messages.c", "examples/studies/tables/messages.py"),
    ),
    "construction": construction("valid-medium", 4),
    "construction-full": construction(
        "valid-full",
        1,
        "--only radius --only modules --only 'modules, margin 30' "
        "--only 'modules, triplets, margin 30'",
    ),
    "neighbours": Table(
        f"{PAGES}/neighbours.md",
        HASHING
        + "; echo; ".join(
            "python3 -m tables.neighbours --hashed build/studies/hashed_pairs.so "
            f"--events $EVENTS/{name} --count {count}"
            for name, count in (("valid-medium", 4), ("valid-full", 1))
        ),
        (f"{DEFAULT} embedding",),
        ("valid-medium", "valid-full"),
        (
            "src/stage/graph_construction",
            "src/stage/node_features.c",
            f"{HASHED}.c",
            "examples/studies/tables/neighbours.py",
        ),
    ),
    "resolution": study(
        f"{PAGES}/resolution.md",
        "resolution",
        "--events $EVENTS/test-medium --count 20",
        ["test-medium"],
        FITS,
        (),
    ),
    "resolution-learned": study(
        f"{PAGES}/resolution.md",
        "resolution",
        "--events $EVENTS/test-medium --count 20 --learn $EVENTS/valid-medium",
        ["test-medium", "valid-medium"],
        FITS,
        (),
    ),
    "resolution-real": study(
        f"{PAGES}/resolution.md",
        "resolution",
        "--events $EVENTS/trackml_event --count 1 --learn $EVENTS/trackml_event",
        ["trackml_event"],
        FITS,
        (),
    ),
    "nearest": study(
        f"{PAGES}/nearest.md",
        "nearest",
        "--events $EVENTS/test-full --count 1",
        ["test-full"],
        models=(*BOTH, CHAIN),
    ),
    "cleaned": study(
        f"{PAGES}/cleaned.md",
        "cleaned",
        "--events $EVENTS/test-full",
        ["test-full"],
        FITTED,
        (DEFAULT,),
    ),
    "fits": study(
        f"{PAGES}/fits.md",
        "fits",
        "--events $EVENTS/test-medium --count 20",
        ["test-medium"],
        (*FITS, "examples/studies/peers/kalman_fit.py"),
        (),
    ),
    "union": study(
        f"{PAGES}/union.md", "union", "--events $EVENTS/valid-full", ["valid-full"], FITTED
    ),
    "reflections": training("reflections"),
    "reflections-offset": training("reflections", sets="offset"),
    "reflections-ends": training("reflections", sets="ends"),
    "sampling": study(
        f"{PAGES}/sampling.md",
        "sampling",
        "--data $EVENTS/train-medium "
        "--validation $EVENTS/valid-full --validation-events 1",
        [TEN, "valid-full"],
        (*TRAINING, "examples/studies/tables/training.py"),
        (),
    ),
    "filters": training("filters"),
    "families": training("families"),
    "momentum": training("momentum"),
    "triplets": training("triplets"),
    "triplets-barrel": training("triplets", "--barrel"),
    "hough": training("hough"),
    "weights": training("weights"),
    "lorentz": training("lorentz"),
    "pooling": training("pooling"),
    "embedded": training("embedded"),
    "nodetypes": training("nodetypes"),
    "batch": training("batch"),
    "order": training("order", "--validation-events 4", "mixed"),
    "iterations": training("iterations"),
    "windows": training("windows"),
    "adapted": study(
        f"{PAGES}/adapt.md",
        "adapted",
        "",
        [],
        (
            *PIPELINE,
            "src/learn",
            "bindings/python/exatrkx/adaptation",
            "examples/studies/tables/made_detectors.py",
        ),
        models=("examples/models/*.safetensors",),
    ),
    "curve": study(
        f"{PAGES}/curve.md",
        "curve",
        "--data $EVENTS/curve-medium --validation $EVENTS/valid-medium "
        "--validation-events 10",
        ["curve-medium", "valid-medium"],
        (*TRAINING, "examples/studies/tables/training.py"),
        CANDIDATES,
    ),
    "spikes": training("spikes", "--steps 100 --validation-events 2"),
    "oneshot": training("oneshot"),
    "retrained": study(
        f"{PAGES}/retrained.md",
        "retrained",
        "--data $EVENTS/train-medium --events $EVENTS/test-medium",
        [TEN, "test-medium"],
        (*PIPELINE, *TRAINING, "bindings/python/exatrkx/tools/shrink.py"),
        (DEFAULT,),
    ),
    "costs": Table(
        f"{PAGES}/ranks-costs.md",
        "python3 -m scaling costs --out build/costs "
        '$(seq -f "--data $EVENTS/train-medium/event%09.0f" 0 9) '
        "--validation $EVENTS/valid-medium --graphs-of-training 2400",
        CANDIDATES,
        (TEN, "valid-medium"),
        (*TRAINING, "src/train/ranks", "src/dist", "examples/studies/scaling/costs.py"),
    ),
    "balance": Table(
        f"{PAGES}/ranks-balance.md",
        "python3 -m scaling balance --out build/balance --ranks 2 --steps 9 "
        "--data $EVENTS/train-full "
        '$(seq -f "--data $EVENTS/train-medium/event%09.0f" 0 17)',
        (),
        ("train-full", "train-medium"),
        (*TRAINING, "src/train/ranks", "examples/studies/scaling/balance.py"),
    ),
    "memory": Table(
        f"{PAGES}/training-memory.md",
        "python3 examples/studies/training.py memory build/memory --steps 60",
        CANDIDATES,
        ("examples/data",),
        (*TRAINING, "examples/studies/training.py"),
    ),
    "switches": Table(
        f"{PAGES}/switches.md",
        "python3 examples/studies/training.py ranks build/switches --steps 12 --seeds 3",
        CANDIDATES,
        ("examples/data",),
        (*TRAINING, "src/train/ranks", "src/dist", "examples/studies/training.py"),
    ),
}


def files_of(root: Path, name: str, events: Path | None) -> list[Path]:
    """The files of files or folders, of the sources or of the events."""
    found = list(root.glob(name)) or (list(events.glob(name)) if events else [])
    if not found:
        raise FileNotFoundError((events or root) / name)
    inside = [file for path in found for file in path.rglob("*")]
    return [
        path
        for path in sorted(found + inside)
        if path.is_file()
        and path.suffix not in (".pyc", ".md")
        and not path.name.startswith(".")
    ]


def content_of(path: Path) -> bytes:
    """The bytes of a file; of sources in C those without comments and spaces."""
    content = path.read_bytes()
    if path.suffix in (".c", ".h"):
        content = b"".join(re.sub(rb"(?s)/\*.*?\*/", b"", content).split())
    return content


def stages_of(path: Path, stages: Sequence[str]) -> bytes:
    """Of a model in safetensors the options and tensors of these stages."""
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    options = json.loads(header.pop("__metadata__")["etx.config"])
    found = [json.dumps([options[stage] for stage in stages], sort_keys=True).encode()]
    for name in sorted(header):
        if name.split(".")[0] in stages:
            first, last = header[name].pop("data_offsets")
            found.append(json.dumps([name, header[name]], sort_keys=True).encode())
            found.append(content[start + first : start + last])
    return b"".join(found)


def contents(
    root: Path, names: Iterable[str], events: Path | None
) -> Iterator[tuple[str, bytes]]:
    """Names and contents of all that a table depends on."""
    for name in names:
        path, *stages = name.split()
        for file in files_of(root, path, events):
            yield file.name, stages_of(file, stages) if stages else content_of(file)


def hash_of(found: Iterable[tuple[str, bytes]]) -> str | None:
    """The first digits of a hash of names and contents; None of nothing."""
    lines = [f"{name} {hashlib.sha256(data).hexdigest()}\n" for name, data in found]
    return hashlib.sha256("".join(lines).encode()).hexdigest()[:8] if lines else None


def stamp_of(table: Table, root: Path, events: Path | None) -> dict[str, str]:
    """The hash of each kind; without one where its files are missing."""
    stamp = {}
    for kind in KINDS:
        names = getattr(table, kind)
        try:
            found = contents(root, names, events if kind == "events" else None)
            value = hash_of(found)
        except FileNotFoundError:
            if kind != "events":
                raise
            continue
        if value is not None:
            stamp[kind] = value
    return stamp


def stamp_pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"<!-- TABLE={re.escape(name)}((?: \w+ \w+)*) -->")


def stamps_in(text: str, name: str) -> list[dict[str, str]]:
    """The hashes of all stamps of a table."""
    found = []
    for match in stamp_pattern(name).finditer(text):
        words = match[1].split()
        found.append(dict(zip(words[::2], words[1::2])))
    return found


def split_tables(text: str) -> list[list[str]]:
    """The Markdown tables of a text, as lines."""
    blocks: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.startswith("|"):
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block]


def replaced(text: str, name: str, made: str, stamp: Mapping[str, str]) -> str:
    """The page with the tables that were made, and their stamps."""
    tables = split_tables(made)
    pattern = stamp_pattern(name)
    lines: list[str] = []
    n_stamps = 0
    for line in text.splitlines():
        if pattern.fullmatch(line):
            if n_stamps < len(tables):
                while lines and (not lines[-1] or lines[-1].startswith("|")):
                    lines.pop()
                lines += ["", *tables[n_stamps], ""]
            words = "".join(f" {kind} {value}" for kind, value in stamp.items())
            line = f"<!-- TABLE={name}{words} -->"
            n_stamps += 1
        lines.append(line)
    if n_stamps != len(tables) or not tables:
        raise ValueError(f"{name}: {len(tables)} tables, {n_stamps} stamps in its page")
    return "\n".join(lines) + "\n"


def make(name: str, table: Table, root: Path, events: Path | None) -> None:
    """Run the command of a table and write its page."""
    stamp = stamp_of(table, root, events)
    if table.events and "events" not in stamp:
        raise FileNotFoundError(f"{name}: no {' or no '.join(table.events)} in EVENTS")
    command = ["sh", "-euc", table.command]
    made = subprocess.run(
        command, cwd=root, stdout=subprocess.PIPE, text=True, check=True
    )
    page = root / table.page
    page.write_text(replaced(page.read_text(), name, made.stdout, stamp))


def changes(name: str, table: Table, root: Path, events: Path | None) -> list[str]:
    """What of a table changed since it was made; "stamp" where it has none."""
    found = stamps_in((root / table.page).read_text(), name)
    now = stamp_of(table, root, events)
    if not found or not all(found):
        return ["stamp"]
    return [
        kind
        for kind in KINDS
        if kind in now and any(stamp.get(kind) != now[kind] for stamp in found)
    ]


def print_stale(tables: Mapping[str, Table], root: Path, events: Path | None) -> int:
    """A line for each stale table; their number."""
    n_stale = 0
    for name, table in tables.items():
        changed = changes(name, table, root, events)
        if changed:
            print(f"{table.page}: {name}: {', '.join(changed)}")
        n_stale += bool(changed)
    print(f"{n_stale} of {len(tables)} tables are older than what they show")
    return n_stale


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="results.py")
    add = parser.add_argument
    add("tables", nargs="*", metavar="TABLE", help=f"of {', '.join(TABLES)}")
    add("--stale", action="store_true", help="print what is stale")
    options = parser.parse_args(arguments)
    unknown = set(options.tables) - set(TABLES)
    if unknown:
        parser.error(f"no table {', '.join(sorted(unknown))}")
    chosen = {name: TABLES[name] for name in options.tables or TABLES}
    events = Path(os.environ["EVENTS"]) if os.environ.get("EVENTS") else None
    if options.stale:
        return 1 if print_stale(chosen, ROOT, events) else 0
    for name, table in chosen.items():
        print(f"{name}: {table.command}", file=sys.stderr, flush=True)
        make(name, table, ROOT, events)
    return 0


if __name__ == "__main__":
    sys.exit(main())
