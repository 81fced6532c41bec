"""results -- the tables of the docs, each made by one command.

    make results EVENTS=DIR                # all, one after another: hours
    make results EVENTS=DIR TABLE=losses   # one, or several: TABLE="losses labels"
    make results-stale EVENTS=DIR          # which are older than what they show: minutes

A table ends with its stamp, a comment in the page with short hashes of the events
that it was made with and of what its command printed on a sample, without times:

    <!-- TABLE=losses events 77aa01bc sample 3f2a91c0 -->

A command prints Markdown tables. The k-th one replaces the table above the k-th
stamp of that name; no other line of the page changes. To add a table, write an
entry of TABLES, and the head of the table and a stamp without hashes in the page.

Stale is a table whose command prints something else on the sample than when the table
was made, or whose events changed. So a change of code or models counts where it
changes results, and only there. The sample has the shipped events in place of every
set, in place of full ones one full event, and few trainings of few steps. Programs use
AVX2 there (ETX_CPU), studies in Python the best that the processor has: stamps are of
processors with AVX-512. Times are of no interest: tables that have nothing else have
no sample. EVENTS has the sets of docs/simulation.md by name; events that
are missing there are not compared.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEFAULT = "examples/models/default.safetensors"
BOTH = (DEFAULT, "examples/models/accurate.safetensors")
ALL = (*BOTH, "examples/models/positions.safetensors")
CHAIN = "examples/models/chain.safetensors"
DENSE = ("full-trackml", "jets", "taus", "cores", "top")
CLOSE = ("jets", "taus", "cores")
SHIPPED = " ".join(f"--model {path}" for path in ALL)
KINDS = ("events", "sample")
SAMPLE = ROOT / "build" / "sample"
CPU = "avx2" if platform.machine() == "x86_64" else ""  # of the sample
TIMES = re.compile(r"\bs\b|\bms\b|seconds|\btime|\bMi?B\b|CPU")  # heads of columns


@dataclass(frozen=True)
class Table:
    """A command for sh, run in the root of the sources."""

    page: str
    command: str
    events: tuple[str, ...] = ()  # of EVENTS or of the sources; * and ? as in sh
    # Further arguments of the run on the sample; None: the table has times alone.
    sample: str | None = ""


def study(
    page: str, name: str, arguments: str, *events: str, sample: str | None = "--count 1"
) -> Table:
    """A module of examples/studies/tables."""
    command = f"python3 -m tables.{name} {arguments}"
    return Table(f"docs/tables/{page}.md", command, events, sample)


HASHING = "make -s build/studies/hashed_pairs.so; "
TEN = "train-medium/event00000000?-*"
MEDIUM = "--events $EVENTS/test-medium --count 20"
CHANGED = "--count 1 --only 'without cells' --only 'modules moved by 50 um'"
FEW = "--steps 12 --edges 300 --seeds 1 --train-events 1 --validation-events 1"


def training(
    name: str, arguments: str = "", sets: str = "medium", sample: str = FEW
) -> Table:
    """Small trainings: a module of examples/studies/tables, on train-* and valid-*."""
    folders = f"--data $EVENTS/train-{sets} --validation $EVENTS/valid-{sets}"
    events = (TEN if sets == "medium" else f"train-{sets}", f"valid-{sets}")
    return study(name, name, f"{folders} {arguments}", *events, sample=sample)


def construction(events: str, count: int, more: str = "") -> Table:
    """Ways to candidate edges, learned from the full training events."""
    learn = ("train-full", "train-full-more")
    folders = " ".join(f"$EVENTS/{name}" for name in learn)
    command = (
        f"{HASHING}python3 -m tables.construction --hashed build/studies/hashed_pairs.so "
        f"--events $EVENTS/{events} --count {count} --learn {folders} {more}"
    )
    sample = "--count 1 --only modules"
    return Table("docs/tables/construction.md", command, (events, *learn), sample)


TABLES: dict[str, Table] = {
    "physics": study(
        "physics",
        "physics",
        "--set medium=$EVENTS/test-medium --set full=$EVENTS/test-full",
        *("test-medium", "test-full"),
        sample="",
    ),
    "challenge": study(
        "physics",
        "physics",
        "--set challenge=$EVENTS/trackml_event",
        "trackml_event",
        sample="",
    ),
    "losses": study("losses", "losses", "--events $EVENTS/test-full", "test-full"),
    "losses-chain": study(
        "losses",
        "losses",
        "--events $EVENTS/test-full-trackml --name chain",
        "test-full-trackml",
    ),
    "seeds": study(
        "seeds",
        "seeds",
        "--set medium=$EVENTS/valid-medium,$EVENTS/test-medium "
        "--set full=$EVENTS/valid-full,$EVENTS/test-full",
        *("valid-medium", "test-medium", "valid-full", "test-full"),
        sample="",
    ),
    "smaller": study(
        "smaller-models", "smaller", "--events $EVENTS/test-medium", "test-medium"
    ),
    "published": study(
        "physics",
        "published",
        "--events $EVENTS/test-full --events $EVENTS/test-full-trackml "
        + " ".join(f"--model {path}" for path in (*BOTH, CHAIN)),
        *("test-full", "test-full-trackml"),
    ),
    "colliderml": study(
        "colliderml", "colliderml", "--events $EVENTS/open-data-test", "open-data-test"
    ),
    "pixels": study(
        "pixels",
        "pixels",
        "--events $EVENTS/test-full-trackml --events $EVENTS/test-full "
        "--events $EVENTS/test-top",
        *("test-full-trackml", "test-full", "test-top"),
    ),
    "dense": study(
        "dense",
        "dense",
        " ".join(f"--events $EVENTS/test-{name}" for name in DENSE) + " --count 10",
        *(f"test-{name}" for name in DENSE),
    ),
    "dense-nearest": study(
        "dense",
        "dense",
        " ".join(f"--events $EVENTS/test-{name}" for name in CLOSE)
        + " --count 10 --nearest",
        *(f"test-{name}" for name in CLOSE),
        sample="--count 3",
    ),
    "robustness": study(
        "robustness",
        "robustness",
        f"{SHIPPED} --events $EVENTS/valid-medium --count 10 "
        "--simulate $EVENTS/robust-medium",
        "valid-medium",
        sample=CHANGED,
    ),
    "robustness-full": study(
        "robustness-full",
        "robustness",
        f"{SHIPPED} --events $EVENTS/valid-full --count 2 "
        "--simulate $EVENTS/robust-full --set full --seed 7000",
        "valid-full",
        sample=CHANGED,
    ),
    "cells": Table(
        "docs/tables/cells.md",
        "; echo; ".join(
            f"python3 -m tables.robustness {SHIPPED} --only 'without cells' "
            f"--events $EVENTS/{name} --count {count}"
            for name, count in (("test-full", 2), ("test-medium", 20))
        ),
        ("test-medium", "test-full"),
        "--count 1",
    ),
    "compared": Table(
        "docs/tables/compared.md",
        "python3 -m exatrkx compare-events --detector examples/data/detectors.csv.gz "
        "$EVENTS/trackml_event $EVENTS/test-medium $EVENTS/test-medium-trackml "
        "$EVENTS/test-medium-pythia",
        ("trackml_event", "test-medium", "test-medium-trackml", "test-medium-pythia"),
    ),
    "chain": study(
        "acts-files",
        "chain",
        "--data $EVENTS/acts-train --validation $EVENTS/acts",
        *("acts-train", "acts"),
        sample="--steps 12 --seeds 1 --train-events 2 --validation-events 1",
    ),
    "detector": study(
        "open-data",
        "detector",
        "--data $EVENTS/open-data-train $EVENTS/open-data-train-full "
        "--validation $EVENTS/open-data-valid "
        "--events $EVENTS/open-data-test $EVENTS/open-data-full "
        "--detector $EVENTS/open-data-detectors.csv.gz",
        *("open-data-train", "open-data-train-full", "open-data-valid"),
        *("open-data-test", "open-data-full", "open-data-detectors.csv.gz"),
        sample="--seeds 1",
    ),
    "acts": study(
        "acts-files", "physics", "--set ACTS=$EVENTS/acts", "acts", sample=""
    ),
    "sectors": Table(
        "docs/tables/sectors.md",
        "build/studies/sectors examples/models/default.safetensors "
        "examples/data/detectors.csv.gz "
        "$EVENTS/test-full/event000000000 $EVENTS/test-full/event000000001",
        ("test-full",),
    ),
    "labels": study("labels", "labels", "--events $EVENTS/test-full", "test-full"),
    "noise": study("noise", "noise", "--events $EVENTS/test-medium", "test-medium"),
    "noise-full": study(
        "noise", "noise", "--events $EVENTS/test-full --count 2", "test-full"
    ),
    "padding": study("padding", "padding", "--events $EVENTS/train-medium", TEN),
    "messages": Table(
        "docs/tables/messages.md",
        "make -s build/studies/messages; python3 -m tables.messages",
        sample=None,
    ),
    "construction": construction("valid-medium", 4),
    "construction-full": construction(
        "valid-full",
        1,
        "--only radius --only modules --only 'modules, margin 30' "
        "--only 'modules, triplets, margin 30'",
    ),
    "neighbours": Table(
        "docs/tables/neighbours.md",
        HASHING
        + "; echo; ".join(
            "python3 -m tables.neighbours --hashed build/studies/hashed_pairs.so "
            f"--events $EVENTS/{name} --count {count}"
            for name, count in (("valid-medium", 4), ("valid-full", 1))
        ),
        ("valid-medium", "valid-full"),
    ),
    "resolution": study(
        "resolution", "resolution", MEDIUM, "test-medium"
    ),
    "resolution-learned": study(
        "resolution",
        "resolution",
        MEDIUM + " --learn $EVENTS/valid-medium",
        *("test-medium", "valid-medium"),
    ),
    "resolution-real": study(
        "resolution",
        "resolution",
        "--events $EVENTS/trackml_event --count 1 --learn $EVENTS/trackml_event",
        "trackml_event",
    ),
    "nearest": study(
        "nearest", "nearest", "--events $EVENTS/test-full --count 1", "test-full"
    ),
    "cleaned": study("cleaned", "cleaned", "--events $EVENTS/test-full", "test-full"),
    "fits": study(
        "fits", "fits", MEDIUM, "test-medium"
    ),
    "union": study("union", "union", "--events $EVENTS/valid-full", "valid-full"),
    "reflections": training("reflections"),
    "reflections-offset": training("reflections", sets="offset"),
    "reflections-ends": training("reflections", sets="ends"),
    "sampling": study(
        "sampling",
        "sampling",
        "--data $EVENTS/train-medium "
        "--validation $EVENTS/valid-full --validation-events 1",
        *(TEN, "valid-full"),
        sample=FEW.replace("--edges 300 ", ""),
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
        "adapt",
        "adapted",
        "",
        sample="--events 4 --test-events 1 --time 0.1 --detector straws",
    ),
    "curve": study(
        "curve",
        "curve",
        "--data $EVENTS/curve-medium --validation $EVENTS/valid-medium "
        "--validation-events 10",
        *("curve-medium", "valid-medium"),
        sample=FEW,
    ),
    "spikes": training("spikes", "--steps 100 --validation-events 2"),
    "oneshot": training("oneshot"),
    "retrained": study(
        "retrained",
        "retrained",
        "--data $EVENTS/train-medium --events $EVENTS/test-medium",
        *(TEN, "test-medium"),
        sample="--steps 12 --edges 1000 --seeds 1 --train-events 2 --count 1",
    ),
    "costs": Table(
        "docs/tables/ranks-costs.md",
        "python3 -m scaling costs --out build/costs "
        '$(seq -f "--data $EVENTS/train-medium/event%09.0f" 0 9) '
        "--validation $EVENTS/valid-medium --graphs-of-training 2400",
        (TEN, "valid-medium"),
        sample=None,
    ),
    "balance": Table(
        "docs/tables/ranks-balance.md",
        "python3 -m scaling balance --out build/balance --ranks 2 --steps 9 "
        "--data $EVENTS/train-full "
        '$(seq -f "--data $EVENTS/train-medium/event%09.0f" 0 17)',
        ("train-full", "train-medium"),
        sample=None,
    ),
    "memory": Table(
        "docs/tables/training-memory.md",
        "python3 examples/studies/training.py memory build/memory --steps 60",
        ("examples/data",),
        sample=None,
    ),
    "switches": Table(
        "docs/tables/switches.md",
        "python3 examples/studies/training.py ranks build/switches --steps 12 --seeds 3",
        ("examples/data",),
        sample="--steps 4 --seeds 1",
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


def hash_of(found: Iterable[bytes]) -> str:
    """The first digits of a hash."""
    return hashlib.sha256(b"".join(found)).hexdigest()[:8]


def events_hash(table: Table, root: Path, events: Path | None) -> str | None:
    """Of the names and contents of events; None where they are missing."""
    try:
        files = [file for name in table.events for file in files_of(root, name, events)]
    except FileNotFoundError:
        return None
    return hash_of(f"{file.name} {hash_of([file.read_bytes()])}\n".encode() for file in files)


def make_sample(folder: Path) -> None:
    """The sample: in place of each set of TABLES the shipped events, the first again
    as the fourth, or in place of a full one a full event and the last shipped one."""
    shipped = [ROOT / f"examples/data/event00000000{k}" for k in (0, 1, 2, 0)]
    full = folder / "full" / "event000000000"
    if not full.parent.exists():
        part = folder / "part"
        command = "-m exatrkx simulate --set full --seed 1 --out".split()
        subprocess.run([sys.executable, *command, part], stdout=sys.stderr, check=True)
        part.rename(full.parent)
    for table in TABLES.values():
        for name in table.events:
            path = folder / name.split("/")[0]
            if path.exists() or (ROOT / name).exists():
                continue
            if name.endswith("detectors.csv.gz"):
                path.symlink_to(ROOT / "examples/data/detectors.csv.gz")
                continue
            path.mkdir()
            is_full = re.search("full|top", name)
            for k, prefix in enumerate([full, shipped[2]] if is_full else shipped):
                for file in prefix.parent.glob(f"{prefix.name}-*"):
                    end = file.name.partition("-")[2]
                    (path / f"event{k:09d}-{end}").symlink_to(file)


def without_times(printed: str) -> list[str]:
    """The lines of the tables, without the columns of times and memory."""
    lines = []
    for block in split_tables(printed):
        rows = [[cell.strip() for cell in line.split("|")] for line in block]
        kept = [k for k, head in enumerate(rows[0]) if not TIMES.search(head)]
        lines += ["|".join(row[k] for k in kept) for row in rows]
    return lines


def sample_hash(table: Table, root: Path) -> str | None:
    """Of what the command prints on the sample."""
    if table.sample is None:
        return None
    printed = run(f"{table.command} {table.sample}", root, SAMPLE, CPU)
    return hash_of(line.encode() + b"\n" for line in without_times(printed))


def run(command: str, root: Path, events: Path | None, cpu: str = "") -> str:
    """What a command prints."""
    variables = os.environ | {"EVENTS": str(events)} | ({"ETX_CPU": cpu} if cpu else {})
    line = ["sh", "-euc", command]
    return subprocess.run(
        line, cwd=root, env=variables, stdout=subprocess.PIPE, text=True, check=True
    ).stdout


def stamp_of(table: Table, root: Path, events: Path | None) -> dict[str, str]:
    """The hash of each kind; without one where its files are missing, or it has none."""
    of_events = events_hash(table, root, events) if table.events else None
    found = zip(KINDS, (of_events, sample_hash(table, root)))
    return {kind: value for kind, value in found if value is not None}


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
    if events_hash(table, root, events) is None:
        raise FileNotFoundError(f"{name}: no {' or no '.join(table.events)} in EVENTS")
    stamp = stamp_of(table, root, events)
    made = run(table.command, root, events)
    page = root / table.page
    page.write_text(replaced(page.read_text(), name, made, stamp))


def changes(name: str, table: Table, root: Path, events: Path | None) -> list[str]:
    """What of a table changed since it was made; "stamp" where it has none."""
    found = stamps_in((root / table.page).read_text(), name)
    try:
        now = stamp_of(table, root, events)
    except subprocess.CalledProcessError:
        return ["its command fails on the sample"]
    if not found:
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
    make_sample(SAMPLE)
    if options.stale:
        return 1 if print_stale(chosen, ROOT, events) else 0
    for name, table in chosen.items():
        print(f"{name}: {table.command}", file=sys.stderr, flush=True)
        make(name, table, ROOT, events)
    return 0


if __name__ == "__main__":
    sys.exit(main())
