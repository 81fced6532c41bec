"""_model -- trained pipelines and module geometries, both immutable.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import dataclasses
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from . import _errors, _handle, _interrupt, _library
from ._options import CompletionOptions, FirstPassOptions, LabelOptions, Options
from ._shipped import model_file, shipped

STAGES = (
    "embedding",
    "module_map",
    "filter",
    "gnn",
    "completion",
    "first_pass",
)


def filled_of(options: Options, wanted: str) -> Any:
    """The options struct, by reference; TypeError for another class of options,
    whose struct the library would read as its own."""
    _errors.expect("options", options, wanted)
    return ctypes.byref(options._filled())


class Model(_handle.Immutable):
    """A trained pipeline, or any of its stages (docs/model_format.md).

    Immutable: any number of threads may use one concurrently.
    """

    @classmethod
    def load(cls, path: str | os.PathLike[str] | None = None) -> Model:
        """Read a model file, or one that ships by its name: "default", which
        None is too, "accurate", "positions", "chain", "pixels" or "odd". A file wins
        that has such a name with a folder before it, as "./accurate".

        Raises FileError or FormatError.
        """
        path = model_file("default" if path is None else path)
        return cls(_handle.make("model", "etx_model_load", _library.file_name(path)))

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        """The same from the bytes of a model file; not kept."""
        content = bytes(memoryview(data))
        return cls(
            _handle.make("model", "etx_model_load_memory", content, len(content))
        )

    def __reduce__(self) -> tuple[Any, ...]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.safetensors"
            self.save(path)
            return Model.from_bytes, (path.read_bytes(),)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file: a temporary one next to path, then renamed."""
        with _interrupt.stoppable():
            _library.call(
                "etx_model_save", self._pointer, _library.file_name(path)
            )

    @property
    def config(self) -> dict[str, Any]:
        """The model's etx.config: stages, networks, features, cuts."""
        found: dict[str, Any] = json.loads(self._get("etx_model_describe"))
        return found

    @property
    def stages(self) -> tuple[str, ...]:
        """The stages of the model, a subset of STAGES."""
        config = self.config
        return tuple(name for name in STAGES if name in config)

    def _options(self, kind: type[Options]) -> dict[str, Any]:
        """The values of a stage's options. A float32 is given by the fewest
        decimals that are read as it: 0.3, not 0.30000001192092896."""
        options = _library.defaults(kind._struct)
        stage = kind._struct.__name__.removeprefix("etx_")
        _library.call(f"etx_model_{stage}", ctypes.byref(options), self._pointer)
        values: dict[str, Any] = {
            field.name: getattr(options, field.name)
            for field in dataclasses.fields(kind)  # type: ignore[arg-type]
        }
        for name, table in kind._choices.items():
            values[name] = list(table)[list(table.values()).index(values[name])]
        return {
            name: float(str(np.float32(x))) if isinstance(x, float) else x
            for name, x in values.items()
        }

    @property
    def label_options(self) -> LabelOptions:
        """What find_tracks labels with."""
        values = self._options(LabelOptions)
        return LabelOptions(**values)

    @property
    def completion_options(self) -> CompletionOptions:
        """What find_tracks completes tracks with."""
        return CompletionOptions(**self._options(CompletionOptions))

    @property
    def first_pass_options(self) -> FirstPassOptions:
        """What find_tracks finds long tracks with."""
        return FirstPassOptions(**self._options(FirstPassOptions))

    def __repr__(self) -> str:
        if self.closed:
            return "<exatrkx.Model closed>"
        return f"<exatrkx.Model {' + '.join(self.stages)}>"


class Detector(_handle.Immutable):
    """Module geometry: rotations, thickness and pitches; immutable. Pickled with
    its file, which therefore has to be there still."""

    _path: str = ""
    _data: bytes | None = None  # of the file, where it came by pickle

    @classmethod
    def load(cls, path: str | os.PathLike[str] | None = None) -> Detector:
        """Read detectors.csv[.gz]; None is the TrackML detector."""
        if path is None:
            path = shipped("data", "detectors.csv.gz")
        made = cls(
            _handle.make("detector", "etx_detector_read", _library.file_name(path))
        )
        made._path = os.path.abspath(os.fsdecode(path))
        return made

    @classmethod
    def _of_bytes(cls, data: bytes) -> Detector:
        """Of a file that was detectors.csv[.gz]; the copy has none of its own."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "detectors.csv"
            path.write_bytes(data)
            made = cls.load(path)
        made._data = data
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        data = Path(self._path).read_bytes() if self._data is None else self._data
        return Detector._of_bytes, (data,)

    @property
    def n_modules(self) -> int:
        """Modules of the file."""
        return self._count("etx_detector_n_modules")

    def __repr__(self) -> str:
        if self.closed:
            return "<exatrkx.Detector closed>"
        return f"<exatrkx.Detector of {self.n_modules} modules>"
