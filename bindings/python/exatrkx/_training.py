"""_training -- train a stage of a pipeline (docs/training.md).

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from . import _errors, _handle, _html, _library, _progress
from ._context import Context
from ._declarations import etx_training_report
from ._event import Event
from ._model import Model, filled_of
from ._options import CompletionOptions, FirstPassOptions, ModuleMapOptions


@dataclass(frozen=True)
class TrainingReport:
    """What a step or a validation found; nan where it does not apply."""

    is_validation: bool
    step: int  # optimiser steps so far
    n_steps: int  # of the whole schedule
    loss: float
    learning_rate: float
    gradient_norm: float
    weight_norm: float
    n_edges: float
    efficiency: float  # true edges kept
    purity: float  # true among kept edges
    auc: float  # of edge scores
    threshold: float  # that keeps the wanted efficiency
    seconds: float  # since the trainer was made
    graphs_seconds: float  # of the step: reading or building graphs, sampling
    network_seconds: float  # of the step: forward, loss, backward
    pt_error: float  # of the momentum head, root mean square over true edges
    pt_spread: float  # standard deviation of the truth over them
    loss_scale: float  # of the step, with loss_scaling
    is_skipped: bool  # the gradient was not finite under that scale
    n_skipped: int  # such steps so far
    is_rollback: bool  # the loss jumped: back at step; loss is that of the jump
    n_rollbacks: int  # so far
    is_best: bool  # of validations, the best so far
    is_finished: bool  # as Trainer.is_finished

    def _repr_html_(self) -> str:
        rows = [
            (name.replace("_", " "), value)
            for name, value in vars(self).items()
            if value == value  # not nan
        ]
        kind = "Validation" if self.is_validation else "Training"
        return _html.table(f"{kind} at step {self.step}", rows)


class Trainer(_handle.Handle):
    """A model, its optimiser and events; keeps what it refers to alive."""

    def __init__(
        self,
        config: str | Mapping[str, Any],
        *,
        start: Model | None = None,
        context: Context | None = None,
    ) -> None:
        """config: JSON text or the same as a mapping (docs/training.md).

        start has the stages that the config does not describe. The
        context must not be used by others while a step runs.
        """
        text = config if isinstance(config, str) else json.dumps(config)
        self._context = Context() if context is None else context
        _errors.expect("context", self._context, "Context")
        with self._context._use() as used:
            super().__init__(
                _handle.make(
                    "trainer",
                    "etx_trainer_create",
                    used,
                    text.encode(),
                    None if start is None else _handle.pointer("start", start),
                )
            )
            self._pointer.keep(used)

    def add(self, event: Event, *, validation: bool = False) -> None:
        """Add an event with truth to train on, or to validate on."""
        pointer = _handle.pointer("event", event)
        self._pointer.keep(pointer)
        with self._context._use():
            _library.call(
                "etx_trainer_add_event", self._pointer, pointer, int(validation)
            )

    def set_cache(self, folder: str | os.PathLike[str]) -> None:
        """Keep the graphs that reach the stage as files in an existing folder.

        Later trainings on the same stages before it find them again, and the
        next step's are read ahead on a thread: after fork the child must not
        use the trainer. An embedding has no such graphs. FormatError, at the
        step that needs it, for a damaged file.
        """
        _library.call(
            "etx_trainer_set_cache", self._pointer, _library.file_name(folder)
        )

    @property
    def is_finished(self) -> bool:
        """Whether the schedule is over, or validation.patience validations in
        a row were not better."""
        return bool(self._get("etx_trainer_is_finished"))

    @property
    def steps_done(self) -> int:
        """Optimiser steps so far."""
        return self._count("etx_trainer_steps_done")

    @property
    def n_steps(self) -> int:
        """Of the whole schedule."""
        return self._count("etx_trainer_n_steps")

    def __repr__(self) -> str:
        if self.closed:
            return "<exatrkx.Trainer closed>"
        return f"<exatrkx.Trainer: {self.steps_done} of {self.n_steps} steps done>"

    def step(self) -> TrainingReport:
        """One optimiser step; ArgumentError after the last one."""
        return self._run("etx_trainer_step")

    def validate(self) -> TrainingReport:
        """Run the validation events; may set a radius or cut of the model."""
        return self._run("etx_trainer_validate")

    def _run(self, name: str) -> TrainingReport:
        report = etx_training_report(
            struct_size=ctypes.sizeof(etx_training_report)
        )
        with self._context._use():
            _library.call(name, ctypes.byref(report), self._pointer)
        values = {
            field: getattr(report, field)
            for field in TrainingReport.__dataclass_fields__
        }
        flags = {
            field: bool(value)
            for field, value in values.items()
            if field.startswith("is_")
        }
        return TrainingReport(**values | flags)

    def save_checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Everything to go on bit for bit; written atomically."""
        with self._context._use():
            _library.call(
                "etx_trainer_save_checkpoint",
                self._pointer,
                _library.file_name(path),
            )

    def load_checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Go on from a checkpoint of the same config."""
        with self._context._use():
            _library.call(
                "etx_trainer_load_checkpoint",
                self._pointer,
                _library.file_name(path),
            )

    def model(self) -> Model:
        """The model as trained so far."""
        return Model(_handle.make("model", "etx_trainer_model", self._pointer))


def several(events: Event | Iterable[Event]) -> Iterable[Event]:
    """One event or more of them."""
    if events is None:
        raise _errors.ArgumentError("events: None, expected an object")
    return [events] if isinstance(events, Event) else events


def train(
    config: str | Mapping[str, Any],
    events: Event | Iterable[Event],
    validation: Event | Iterable[Event] = (),
    *,
    start: Model | None = None,
    context: Context | None = None,
    report: Callable[[TrainingReport], object] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Model:
    """Train to the end of the schedule, validate, return the model.

    events carry truth; validation are others, which decide radius or cuts
    when the config sets a target efficiency. report is called with the
    TrainingReport of every step and of the validation. checkpoint is a file
    that is written when the training ends early, by Ctrl-C or any other
    exception; where it exists the training goes on from it, with the same
    config and events.
    progress: a bar on a terminal or in a notebook, where the package tqdm is
    installed.
    """
    with Trainer(config, start=start, context=context) as trainer:
        for event in several(events):
            trainer.add(event)
        others = list(several(validation))
        for event in others:
            trainer.add(event, validation=True)
        if checkpoint is not None and os.path.exists(checkpoint):
            trainer.load_checkpoint(checkpoint)
        try:
            with _progress.Bar(trainer.n_steps, "step", progress) as bar:
                while trainer.steps_done < trainer.n_steps:
                    found = trainer.step()
                    bar.advance(found.step, f"loss {found.loss:.4f}")
                    if report is not None:
                        report(found)
            if others:
                found = trainer.validate()
                if report is not None:
                    report(found)
        except BaseException:
            if checkpoint is not None:
                trainer.save_checkpoint(checkpoint)
            raise
        return trainer.model()


def _learn(
    function: str,
    model: Model,
    events: Event | Iterable[Event],
    options: CompletionOptions | FirstPassOptions | ModuleMapOptions,
    wanted: str,
) -> Model:
    kept = [_handle.pointer("events", event) for event in several(events)]
    pointers = (ctypes.c_void_p * len(kept))(
        *(one._as_parameter_.value for one in kept)
    )
    return Model(
        _handle.make(
            "model",
            function,
            _handle.pointer("model", model),
            len(kept),
            pointers,
            filled_of(options, wanted),
        )
    )


def learn_completion(
    model: Model,
    events: Event | Iterable[Event],
    *,
    options: CompletionOptions | None = None,
) -> Model:
    """A copy of model whose find_tracks also completes tracks.

    Learned from the true tracks of events with truth and modules: one full
    event or ten small ones are enough.
    """
    used = CompletionOptions() if options is None else options
    return _learn(
        "etx_model_learn_completion", model, events, used, "CompletionOptions"
    )


def learn_first_pass(
    model: Model,
    events: Event | Iterable[Event],
    *,
    options: FirstPassOptions | None = None,
) -> Model:
    """A copy of model, which has a completion, whose find_tracks begins with
    long tracks. Learned as learn_completion does."""
    used = FirstPassOptions() if options is None else options
    return _learn(
        "etx_model_learn_first_pass", model, events, used, "FirstPassOptions"
    )


def learn_module_map(
    model: Model,
    events: Event | Iterable[Event],
    *,
    options: ModuleMapOptions | None = None,
) -> Model:
    """A copy of model whose candidate edges come from a map of the modules, or
    layers, that true tracks of events cross after each other."""
    used = ModuleMapOptions() if options is None else options
    return _learn(
        "etx_model_learn_module_map", model, events, used, "ModuleMapOptions"
    )
