"""population -- train several models together, each with options of its own.

    exatrkx population --config gnn.json --start M --data DIR
        --validation DIR --out FOLDER --vary schedule.learning_rate
        [--members 4] [--workers 2] [--generations 5] [--steps 200]

Population-based training (Jaderberg et al., arXiv:1711.09846) with etx-train. The
options that are named are drawn for every member, within a factor of --spread of
the config's value. All members train for --steps. Then each of the worst quarter
continues from the model of a random member of the best quarter (exploit) with its
options times 0.8 or 1.25 (explore); and so on. An option that is a whole number in
the config is rounded where it is used, to 1 or more. The moments of the optimiser start
again with each generation, and so does the schedule of the learning rate.

FOLDER/population.jsonl has a line per generation, FOLDER/best.safetensors is the
best model of the last one. The same command again continues where it ended, also
in the middle of a generation, with the result of an uninterrupted run.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import math
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .. import _programs
from .._errors import Error
from .._shipped import config_file, model_file

FACTORS = (0.8, 1.25)  # of an option that is explored
HIGHER_IS_BETTER = ("auc", "efficiency", "purity")


class PopulationError(RuntimeError):
    """A training that failed, or a folder of another population."""


@dataclass
class Member:
    """One model of a generation."""

    options: dict[str, float]  # by path in the config
    parent: int | None  # the member of the generation before; None = --start
    score: float | None = None  # of the last validation


def value_of(config: dict[str, Any], path: str) -> float:
    """The option at a path such as loss.positive_weight."""
    found: Any = config
    for name in path.split("."):
        if not isinstance(found, dict) or name not in found:
            raise PopulationError(f"the config has no {path} to vary")
        found = found[name]
    if isinstance(found, bool) or not isinstance(found, (int, float)) or found == 0:
        raise PopulationError(f"{path}: {found!r}, expected a number that is not 0")
    return float(found)


def with_options(config: dict[str, Any], options: dict[str, float]) -> dict[str, Any]:
    """A config with these values at these paths."""
    made = copy.deepcopy(config)
    for path, value in options.items():
        *folders, name = path.split(".")
        section = made
        for folder in folders:
            section = section[folder]
        is_whole = isinstance(section[name], int)
        section[name] = max(round(value), 1) if is_whole else value
    return made


def first_generation(config: dict[str, Any], args: argparse.Namespace) -> list[Member]:
    """Options within the spread, evenly in the logarithm; member 0 keeps its own."""
    own = {path: value_of(config, path) for path in args.vary}
    rng = random.Random(f"{args.seed} first")
    members = [Member(own, None)]
    for _ in range(1, args.members):
        drawn = {p: v * args.spread ** rng.uniform(-1, 1) for p, v in own.items()}
        members.append(Member(drawn, None))
    return members


def next_generation(
    members: Sequence[Member], generation: int, args: argparse.Namespace
) -> list[Member]:
    """Exploit and explore: the worst quarter, at least one, becomes a copy of
    the best quarter with other options."""
    rng = random.Random(f"{args.seed} {generation}")
    order = ranked(members, args.criterion)
    n_moved = max(len(members) // 4, 1)
    made = [Member(member.options, k) for k, member in enumerate(members)]
    for k in order[-n_moved:]:
        parent = rng.choice(order[:n_moved])
        options = {
            path: value * rng.choice(FACTORS)
            for path, value in sorted(members[parent].options.items())
        }
        made[k] = Member(options, parent)
    return made


def ranked(members: Sequence[Member], criterion: str) -> list[int]:
    """The rows of members, the best first; a score that is no number is worst."""
    sign = -1.0 if criterion in HIGHER_IS_BETTER else 1.0

    def key(k: int) -> tuple[bool, float, int]:
        score = members[k].score
        if score is None or score != score:
            return (True, 0.0, k)
        return (False, sign * score, k)

    return sorted(range(len(members)), key=key)


class Training:
    """The training of one member in one generation."""

    def __init__(
        self, args: argparse.Namespace, generation: int, k: int, member: Member
    ) -> None:
        folder = args.out / f"generation-{generation:03d}"
        self.stem = folder / f"member-{k}"
        self.model = self.stem.with_suffix(".safetensors")
        self.log = self.stem.with_suffix(".jsonl")
        self.steps = args.steps
        self.criterion = args.criterion
        self.args = args
        self.start = args.start
        if member.parent is not None:
            before = args.out / f"generation-{generation - 1:03d}"
            self.start = before / f"member-{member.parent}.safetensors"
        self.config = self.write_config(generation, k, member)

    def write_config(self, generation: int, k: int, member: Member) -> Path:
        config = with_options(json.loads(self.args.config.read_text()), member.options)
        if member.parent is not None:
            config.pop("model", None)
        config["seed"] = self.args.seed + generation * self.args.members + k
        config.setdefault("schedule", {})["steps"] = self.steps
        self.stem.parent.mkdir(parents=True, exist_ok=True)
        path: Path = self.stem.with_suffix(".json")
        path.write_text(json.dumps(config, indent=1) + "\n")
        return path

    def score(self) -> float | None:
        """The criterion in the validation after the last step; None before it."""
        if not (self.log.exists() and self.model.exists()):
            return None
        found = None
        for line in self.log.read_text().splitlines():
            fields = json.loads(line)
            if fields.get("validation") and fields["step"] == self.steps:
                found = fields.get(self.criterion)  # absent where not finite
                found = float("nan") if found is None else float(found)
        return found

    def command(self) -> list[str]:
        args = self.args
        line = [args.program, "--config", self.config, "--out", self.model]
        line += ["--log", self.log, "--threads", args.threads]
        line += ["--validate-every", self.steps]
        if self.start is not None:
            line += ["--start", self.start]
        for option in ("data", "validation"):
            for path in getattr(args, option):
                line += [f"--{option}", path]
        if Path(f"{self.model}.checkpoint").exists():
            line.append("--resume")
        else:
            self.log.unlink(missing_ok=True)
        return [str(word) for word in line]


def run_all(trainings: Sequence[Training], workers: int) -> None:
    """Run what has no score yet, a few at a time; ends them if one fails."""
    waiting = [training for training in trainings if training.score() is None]
    running: list[tuple[Training, subprocess.Popen[str]]] = []
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                training = waiting.pop(0)
                running.append((training, start(training.command())))
            time.sleep(0.02)
            for pair in [pair for pair in running if pair[1].poll() is not None]:
                running.remove(pair)
                finish(*pair)
    finally:
        for _, process in running:
            process.terminate()
            process.wait()


def start(command: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        env=_programs.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(training: Training, process: subprocess.Popen[str]) -> None:
    """Check how a training ended."""
    said = (process.communicate()[1] or "").strip().splitlines()
    if process.returncode != 0 or training.score() is None:
        reason = said[-1] if said else f"exit status {process.returncode}"
        raise PopulationError(f"{training.stem}: {reason}")


def fingerprint(args: argparse.Namespace) -> str:
    """Of all that decides the result."""
    names = ("seed", "members", "steps", "spread", "criterion", "vary")
    words = [repr(getattr(args, name)) for name in names]
    words += [args.config.read_text(), str(args.start), *map(str, args.data)]
    words += ["validation", *map(str, args.validation)]
    if args.start is not None:
        words.append(hashlib.sha256(args.start.read_bytes()).hexdigest())
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]


def read_history(path: Path, mark: str) -> list[list[Member]]:
    """The generations that are complete."""
    if not path.exists():
        return []
    found = []
    for line in path.read_text().splitlines():
        fields = json.loads(line)
        if fields["population"] != mark:
            raise PopulationError(f"{path}: of another config or other options")
        found.append([Member(**member) for member in fields["members"]])
    return found


def train(args: argparse.Namespace) -> Path:
    """All generations that are still to run; the best model."""
    config = json.loads(args.config.read_text())
    if config.get("stage") == "embedding" and args.criterion == "auc":
        raise PopulationError("--criterion auc: an embedding has no such score")
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / "population.jsonl"
    mark = fingerprint(args)
    history = read_history(path, mark)
    for generation in range(len(history), args.generations):
        if generation == 0:
            members = first_generation(config, args)
        else:
            members = next_generation(history[-1], generation, args)
        trainings = [
            Training(args, generation, k, member) for k, member in enumerate(members)
        ]
        run_all(trainings, args.workers)
        for member, training in zip(members, trainings):
            member.score = training.score()
        line = {"population": mark, "members": [asdict(member) for member in members]}
        with path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        history.append(members)
        print_generation(generation, members, args.criterion)
    best = ranked(history[-1], args.criterion)[0]
    last = args.out / f"generation-{len(history) - 1:03d}"
    copy: Path = args.out / "best.safetensors"
    shutil.copyfile(last / f"member-{best}.safetensors", copy)
    return copy


def print_generation(generation: int, members: list[Member], criterion: str) -> None:
    for k in ranked(members, criterion):
        member = members[k]
        options = ", ".join(f"{p} {v:.4g}" for p, v in member.options.items())
        parent = "" if member.parent in (None, k) else f", from member {member.parent}"
        print(
            f"generation {generation}, member {k}: {criterion} {member.score:.5g}, "
            f"{options}{parent}",
            flush=True,
        )


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        prog="exatrkx population", description=__doc__.partition("\n")[0]
    )
    add = parser.add_argument
    add(
        "--config",
        type=config_file,
        required=True,
        help="of etx-train: a file, or one that ships by its name",
    )
    add("--start", help="model of the stages before: a file, or one that ships by its name")
    add("--data", action="append", required=True, metavar="DIR", help="training events; repeatable")
    add("--validation", action="append", required=True, metavar="DIR", help="other events; repeatable")
    add("--out", type=Path, required=True, metavar="FOLDER", help="new or to go on with")
    add("--vary", action="append", required=True, metavar="PATH", help="key of the config; repeatable")
    add("--members", type=int, default=4, metavar="N", help="models (default 4)")
    add("--workers", type=int, default=2, metavar="N", help="trainings at a time (default 2)")
    add("--generations", type=int, default=5, metavar="N", help="default 5")
    add("--steps", type=int, default=200, metavar="N", help="of a generation (default 200)")
    add("--spread", type=float, default=3.0, metavar="F", help="factor that first options vary by (default 3)")
    add("--criterion", default="loss", choices=("loss", *HIGHER_IS_BETTER), help="default loss")
    add("--seed", type=int, default=1, metavar="S", help="default 1")
    add("--threads", type=int, default=1, metavar="N", help="of a training (default 1)")
    add("--program", metavar="FILE", help="default: the etx-train of this package")
    args = parser.parse_args(arguments)
    for name, least in (("members", 2), ("workers", 1), ("generations", 1), ("steps", 1), ("spread", 1)):
        if not least <= getattr(args, name) < math.inf:
            parser.error(f"--{name}: {getattr(args, name)}, expected {least} or more")
    return args


def interrupt(_signal: int, _frame: object) -> None:
    raise KeyboardInterrupt


def main(arguments: Sequence[str] | None = None) -> int:
    args = parse(arguments)
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        args.program = args.program or _programs.find("etx-train")
        if args.start is not None:
            args.start = Path(model_file(args.start))
        print(train(args))
    except KeyboardInterrupt:
        print("population: stopped; the same command continues", file=sys.stderr)
        return 1
    except (Error, OSError, ValueError, PopulationError) as error:
        print(f"population: {error}", file=sys.stderr)
        return 1
    finally:
        signal.signal(signal.SIGTERM, before)
    return 0
