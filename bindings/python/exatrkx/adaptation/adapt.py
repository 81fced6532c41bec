"""adapt -- from events of a detector to a model for it.

    exatrkx adapt EVENTS --out model.safetensors [--time 200]

Looks at the events, takes the shipped model that finds most of their tracks,
learns what its first pass and completion know of the layers, trains the networks
further and sets radius, cuts, bounds and labels. Every step is kept only if the
tracks of validation events, a fifth of all, get better by it, the trainings of ten
events or more also if they stay as good; so the result is never worse than the model
it began with, on them. --from-scratch: new weights, whatever they find.

Killed or stopped, the same command goes on, and makes the same bytes as if it had
not been: what is done stands in OUT.work, which goes when all is.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import _errors
from .._context import Context
from .._event import Event
from .._events import Events
from .._model import Detector, Model
from .._options import FirstPassOptions
from .._shipped import MODELS, model_file
from .._training import TrainingReport, learn_completion, learn_first_pass
from ..files import whole_file
from ..tools.adjust import BESIDES
from . import report as reports
from .choices import Chooser, changed, kept_pairs
from .facts import MANY_EVENTS, UNITS, Facts, in_unit, look, with_momenta, with_particles
from .stages import STAGES, Curve, steps_of, train, training

VALIDATION_PART = 5  # one event in five
MAX_VALIDATION = 12
MAX_VALIDATION_HITS = 300000  # of all of them: each trial finds their tracks
MIN_KEPT_PAIRS = 0.97  # of true edges, by the embedding
FIRST_PASS_LAYERS = (7, 5, 4)
FIRST_PASS_PT, MIN_FIRST_PASS_PT = 0.36, 0.01  # of the least pT of the efficiency; GeV
# Factors: the radius that a training sets keeps nearly all pairs of hits, and tracks of
# many hits still break where one of their pairs is missing.
RADIUS_GRID = {"embedding.graph.radius": (0.7, 1.2, 1.4, 1.9)}
GRAPH_GRID: dict[str, Sequence[Any]] = {
    "filter.cut": (0.001, 0.003, 0.01),
    "filter.max_edges_per_hit": (6, 8, 12, 16, 24),
}
LABELS = {
    "best_first": (0.01, 0.02, 0.05, 0.1, 0.2, 0.4),
    "walkthrough": (0.02, 0.05, 0.1, 0.3, 0.5, 0.7),
    "components": (0.1, 0.3, 0.5, 0.7, 0.9),
}  # methods and their cuts
LABEL_GRID: dict[str, Sequence[Any]] = {
    "label.strong_cut": (0.3, 0.45, 0.6),
    "label.max_curvature_change": (1.0, 1.5, 3.0),
    "label.max_polar_change": (0.05, 0.1, 0.2),
    "label.min_hits": (3, 4, 5),
    "completion.max_random": (0.1, 0.3),
    "completion.min_layers": (4, 5, 6),
    "completion.min_pt": (0.15, 0.3),
    "completion.passes": (1, 2),
    "first_pass.min_layers": (4, 5, 6, 7, 8),
}


class Adaptation:
    """Events, the model so far, and what led to it."""

    def __init__(
        self,
        events: Sequence[Event],
        work: Path,
        seconds: float,
        context: Context,
        say: Callable[[str], None],
    ) -> None:
        some = with_particles(events)
        self.facts: Facts = look(some)
        if len(some) < len(events):
            without = f"{len(events) - len(some)} of {len(events)} events"
            self.facts.warnings.append(f"{without} have no true particle: left out")
        self.training, self.validation = split(with_momenta(some))
        self.work = work
        self.seconds = seconds
        self.context = context
        self.say = say
        self.chooser = Chooser(self.validation, context, self.facts.wanted)
        self.curves: dict[str, Curve] = {}
        self._n_said = 0

    def tell(self) -> None:
        """What was chosen since the last call."""
        for what, _, kept in self.chooser.steps[self._n_said :]:
            if kept is not None:
                self.say(f"{what}: {kept.name}; {kept.quality}")
        self._n_said = len(self.chooser.steps)

    def start(self, names: Sequence[str]) -> None:
        """The shipped model that suits the events best, whole or its networks."""
        self.chooser.choose("start", self._starts(names))
        self.tell()

    def _starts(self, names: Sequence[str]) -> Iterator[tuple[str, Model]]:
        for name in names:
            model = Model.load(name)
            fitting = self._fitting(model)
            if fitting is model:
                yield name, model
            if "first_pass" in model.stages or "completion" in model.stages:
                yield f"{name}, networks alone", changed(model, {}, without=BESIDES)

    def _fitting(self, model: Model) -> Model:
        """The model; its networks alone, where it has tables of other layers or of
        another field: events would be warned of what does nothing for them."""
        bare = changed(model, {}, without=BESIDES)
        fits = all(
            event.check(model=model) == event.check(model=bare) for event in self.validation
        )
        return model if fits else bare

    def learn_tables(self, models: Mapping[str, Model]) -> None:
        """Completion and first pass of this detector's layers, in the best of models."""
        if self.facts.n_layers:
            self.chooser.choose("tables", self._tables(models))
            self.tell()

    def _completions(self, model: Model) -> Iterator[tuple[str, Model]]:
        """Kept where they lose nothing: their options may gain more."""
        try:
            options = model.completion_options
            yield "learned", learn_completion(model, self.training, options=options)
        except _errors.Error as error:
            self.say(f"completion: {error}")

    def _tables(self, models: Mapping[str, Model]) -> Iterator[tuple[str, Model]]:
        try:
            for name, model in models.items():
                completed = learn_completion(
                    self._fitting(model), self.training, options=model.completion_options
                )
                yield f"{name}, completion", completed
                for n in FIRST_PASS_LAYERS:
                    yield (
                        f"{name}, completion and first pass of {n} layers",
                        self._with_first_pass(completed, n),
                    )
        except _errors.Error as error:
            self.say(f"tables: {error}")

    def _with_first_pass(self, model: Model, n_layers: int) -> Model:
        min_pt = max(FIRST_PASS_PT * self.facts.wanted.min_pt, MIN_FIRST_PASS_PT)
        options = FirstPassOptions(min_layers=n_layers, min_pt=min_pt)
        return learn_first_pass(model, self.training, options=options)

    def _to_train(self, model: Model) -> Model:
        """The model with a first pass, if this detector can have one: networks learn
        from what it leaves, too, or it would find them unprepared."""
        if not self.facts.n_layers or "first_pass" in model.stages:
            return model
        completed = model
        try:
            if "completion" not in model.stages:
                completed = learn_completion(
                    model, self.training, options=model.completion_options
                )
            return self._with_first_pass(completed, FIRST_PASS_LAYERS[0])
        except _errors.Error as error:
            self.say(f"training without a first pass: {error}")
            return model

    def options(self) -> None:
        """Radius, cuts, bounds and labels."""
        self.chooser.sweep(RADIUS_GRID, is_relative=True)
        self.chooser.sweep(GRAPH_GRID)
        self.chooser.choose("labels", labelled(self.chooser.best()[0]))
        self.chooser.sweep(LABEL_GRID)
        self.tell()

    def train(self, from_scratch: bool) -> None:
        """Train the networks, choose tables and options for them, and keep them if they
        are better then; from scratch in any case."""
        before = self.chooser.best()
        if not from_scratch and before[1].is_best:
            self.say("no training: it could gain nothing on these events")
            return
        trained = self._train_networks(before[0], from_scratch)
        had = () if from_scratch else before[0].stages
        added = [name for name in BESIDES if name in trained.stages and name not in had]
        self.chooser.forget()
        self.chooser.choose("training", labelled(trained, added))
        self.tell()
        self.learn_tables({"trained": self.chooser.best()[0]})
        model, _ = self.chooser.best()
        if self.facts.n_layers and "completion" not in model.stages:
            self.chooser.choose("completion", self._completions(model), is_even=True)
            self.tell()
        self.options()
        if not from_scratch:
            is_even = self.facts.n_events >= MANY_EVENTS
            self.chooser.compare("before training", *before, is_even=is_even)
            self.tell()

    def _train_networks(self, model: Model, from_scratch: bool) -> Model:
        """Train the stages one after the other. The embedding of a shipped model is kept
        where it joins the hits of particles."""
        kept = kept_pairs(model, self.validation, self.context, self.facts.wanted.min_pt)
        self.say(f"candidate edges: {kept:.4f} of the true ones")
        is_enough = kept >= MIN_KEPT_PAIRS and not from_scratch
        stages = [name for name in STAGES[is_enough:] if name in model.stages]
        start = changed(model, {}, without=BESIDES) if from_scratch else model
        trained = begin = self._to_train(start)
        for stage in stages:
            n = steps_of(stage, model, self.facts, self.seconds, stages)
            config = training(stage, begin, self.facts, n, from_scratch)
            trained = self.trained(config, trained)
        return trained

    def trained(self, config: dict[str, Any], start: Model) -> Model:
        """The training of a config, or its result where it was done before."""
        stage = config["stage"]
        path = self.work / f"{stage}.safetensors"
        log = self.work / f"{stage}.curve"
        curve = Curve.load(log)
        self.curves[stage] = curve
        if not path.exists():

            def progress(found: TrainingReport) -> None:
                if found.is_validation:
                    curve.add(found)
                    curve.save(log)
                    self.say(f"{stage}: step {found.step} of {found.n_steps}")

            model = train(
                config,
                start,
                (self.training, self.validation),
                self.context,
                self.work / f"{stage}.checkpoint",
                progress,
            )
            model.save(path)
        return Model.load(path)


def labelled(model: Model, extra: Sequence[str] = ()) -> Iterator[tuple[str, Model]]:
    """The model with each method of labels, and cuts of it; also without extra stages."""
    models = {"": model}
    if extra:
        models[f", without {' and '.join(extra)}"] = changed(model, {}, without=extra)
    for name, one in models.items():
        for method, cuts in LABELS.items():
            for cut in cuts:
                options = {"label.method": method, "label.cut": cut}
                yield f"{method} {cut}{name}", changed(one, options)


def split(events: Sequence[Event]) -> tuple[list[Event], list[Event]]:
    """Training and validation events: every fifth, at most twelve, and no more hits
    than trials can afford."""
    if len(events) < 2:
        raise _errors.ArgumentError(
            f"{len(events)} event: one to train on and one to validate are the least"
        )
    every = max(VALIDATION_PART, len(events) // MAX_VALIDATION)
    n_hits = np.cumsum([len(event) for event in events[1::every]])
    n_chosen = max(int(np.sum(n_hits <= MAX_VALIDATION_HITS)), 1)
    chosen = set(range(1, len(events), every)[:n_chosen])
    return (
        [event for k, event in enumerate(events) if k not in chosen],
        [event for k, event in enumerate(events) if k in chosen],
    )


def digest_of(events: Sequence[Event], settings: Sequence[Any]) -> str:
    """Of all that trainings and choices depend on."""
    digest = hashlib.sha256(repr(settings).encode())
    for event in events:
        for array in (
            event.positions,
            event.features,
            event.modules,
            event.cell_features,
            event.cluster_positions,
            event.particle_ids,
            event.particles,
            event.weights,
            *(event.shared_hits or ()),
        ):
            found = np.asarray(array if array is not None else [])
            digest.update(f"{found.shape} {found.dtype}".encode() + found.tobytes())
    return digest.hexdigest()


def same_inputs(events: Sequence[Event], settings: Sequence[Any], work: Path) -> None:
    """OUT.work is of these events and settings; FileError. What has no stamp was about
    to be removed, and where nothing else is, nothing was done."""
    digest = digest_of(events, settings)
    stamp = work / "inputs"
    if not stamp.exists() or len(list(work.iterdir())) == 1:
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        whole_file.write(str(stamp), digest.encode())
    elif stamp.read_bytes() != digest.encode():
        raise _errors.FileError(
            f"{work}: of other events or settings; remove it to begin again"
        )


def adapt(
    events: Sequence[Event],
    out: str,
    *,
    seconds: float = 200.0,
    from_scratch: bool = False,
    start: str | None = None,
    context: Context | None = None,
    say: Callable[[str], None] = lambda text: None,
    command: str = "exatrkx adapt EVENTS",
) -> dict[str, Any]:
    """Write a model for the detector of events, which have truth, and a report next to
    it (OUT.json, OUT.html); return the report.

    seconds are of a core of the tables; searches of options come on top. start: a
    model to begin with in place of the best shipped one. say is called with each line
    of progress. command: how the line begins that the report gives to go on.
    """
    used = Context() if context is None else context
    target = os.path.realpath(out)
    work = Path(target + ".work")
    first = None if start is None else Path(model_file(start))
    if first is not None and os.path.realpath(first) == target:
        raise _errors.ArgumentError(f"{out}: the model to begin with; give another name")
    if os.path.isdir(target):
        raise _errors.FileError(f"{out}: is a folder; name the file of the model")
    begin = None if first is None else hashlib.sha256(first.read_bytes()).hexdigest()
    job = Adaptation(events, work, seconds, used, say)
    same_inputs(events, [seconds, from_scratch, begin], work)
    for name, value in job.facts.lines():
        say(f"{name}: {value}")
    for doubt in job.facts.warnings:
        say(f"warning: {doubt}")
    names = [start] if start else MODELS
    job.start(names)
    at_start = job.chooser.best()[1]
    if not from_scratch:  # which keeps none of it
        # What a model knows of another detector's layers says little about its networks:
        # the best with this detector's tables may be another one.
        job.learn_tables({name: Model.load(name) for name in names})
        job.options()
    job.train(from_scratch)
    model, _ = job.chooser.best()
    found = reports.report(job.facts, job.chooser, at_start, model, job.validation, used)
    found["more"] = reports.more(
        model, job.training[: len(job.validation)], job.chooser, job.curves, used
    )
    root, end = os.path.splitext(out)
    files = f"--start {shlex.quote(out)} --out {shlex.quote(f'{root}-more{end}')}"
    found["continue"] = f"{command} {files} --time {2 * seconds:g}"
    result = work / "result"
    model.save(result)
    text = json.dumps(reports.as_json(found), indent=1, allow_nan=False)
    whole_file.write(f"{result}.json", text.encode())
    whole_file.write(f"{result}.html", reports.page(found).encode())
    for end in ("", ".json", ".html"):  # nothing half written, wherever it is killed
        os.replace(f"{result}{end}", target + end)
    shutil.rmtree(work)
    return found


def command_of(options: argparse.Namespace) -> str:
    """Of the same events, read in the same way."""
    words = ["exatrkx", "adapt", options.events]
    if options.detector:
        words += ["--detector", options.detector]
    if options.unit != "mm":
        words += ["--unit", options.unit]
    return shlex.join(words)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        prog="exatrkx adapt", description=__doc__.partition("\n")[0]
    )
    add = parser.add_argument
    add("events", metavar="EVENTS", help="folder or zip of events with truth")
    add("--out", required=True, metavar="M", help="model file; M.json, M.html: report")
    add("--detector", metavar="FILE", help="detectors.csv, for cells (default: TrackML's)")
    add("--unit", choices=UNITS, default="mm", help="of lengths in the files (default: mm)")
    add(
        "--time", type=float, default=200.0, metavar="S",
        help="of trainings, CPU seconds (default: %(default)g)",
    )
    add("--start", metavar="MODEL", help="model to begin with (default: the best shipped)")
    add("--from-scratch", action="store_true", help="train new weights")
    add("--threads", type=int, metavar="N", help="default: all cores")
    options = parser.parse_args(arguments)

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    try:
        whole_file.check(options.out)
        with warnings.catch_warnings(record=True) as doubts:
            warnings.simplefilter("always")
            detector = Detector.load(options.detector)
            read = Events(options.events, detector=detector)
            events = [in_unit(event, options.unit) for event in read]
        if doubts and (options.detector or events[0].cell_features is not None):
            say(f"warning: {doubts[0].message}; {len(doubts)} such events")
        found = adapt(
            events,
            options.out,
            seconds=options.time,
            from_scratch=options.from_scratch,
            start=options.start,
            context=Context(options.threads),
            say=say,
            command=command_of(options),
        )
    except (OSError, ValueError, _errors.Error) as error:
        print(f"adapt: {error}", file=sys.stderr)
        return 1
    print(reports.text(found))
    return 0
