"""_model -- trained pipelines and module geometries, both immutable.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import dataclasses
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import _declarations, _errors, _handle, _library

PACKAGE = Path(__file__).parent
STAGES = (
    "embedding",
    "module_map",
    "filter",
    "gnn",
    "completion",
    "first_pass",
)
SHIPPED = ("default", "accurate", "positions")
UNITS = ("modules", "layers")  # of a module map, as ETX_MAP_ numbers them
METHODS = {
    name.removeprefix("ETX_LABEL_").lower(): number
    for name, number in vars(_declarations).items()
    if name.startswith("ETX_LABEL_")
}


@dataclass(frozen=True)
class LabelOptions:
    """How the hits of a scored graph become tracks."""

    method: str = "components"  # or another of METHODS
    cut: float = 0.5  # an edge counts when its score is above
    min_hits: int = 3  # smaller tracks are dropped
    # Of best_first alone: see etx_label_options in include/exatrkx/exatrkx.h.
    sure_cut: float = 0.0
    strong_cut: float = 0.0
    support_hits: int = 3
    max_curvature_change: float = 0.0  # 1/m, 0 = any
    max_polar_change: float = 0.0  # sine, 0 = any


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


@dataclass(frozen=True)
class CompletionOptions:
    """How certain complete_tracks is that a hit belongs to a track, and which
    new tracks it finds; distances are sums of squares of residuals in units of
    their 68 % quantiles."""

    max_distance: float = 64.0  # of a hit from the helix
    max_join: float = 25.0  # of the end of another track; 0 joins none
    max_random: float = 0.3  # unrelated hits expected as near
    min_layers: int = 5  # of a new track; 0: no new tracks
    min_pt: float = 0.3  # GeV, about, of a new track

    def _filled(self) -> ctypes.Structure:
        return _library.defaults(
            _declarations.etx_completion_options, **dataclasses.asdict(self)
        )


@dataclass(frozen=True)
class FirstPassOptions:
    """Which long tracks find_long_tracks finds; distances as in
    CompletionOptions."""

    min_layers: int = 7  # of a track
    min_pt: float = 0.18  # GeV, about
    max_distance: float = 20.0  # of a hit from the helix
    max_random: float = 0.1  # unrelated hits expected as near
    min_hits: int = 0  # find_tracks has no first pass in smaller events

    def _filled(self) -> ctypes.Structure:
        return _library.defaults(
            _declarations.etx_first_pass_options, **dataclasses.asdict(self)
        )


@dataclass(frozen=True)
class ModuleMapOptions:
    """How learn_module_map learns which hits may be joined."""

    units: str = "modules"  # or "layers": what is known of a hit
    use_triplets: bool = False  # an edge needs one that continues it
    min_pt: float = 0.0  # GeV, of the tracks
    tail: float = 0.0  # share of the values outside a window, at either end
    margin: float = 10.0  # a window of n values is widened by margin / n of it

    def _filled(self) -> ctypes.Structure:
        values = dataclasses.asdict(self)
        if self.units not in UNITS:
            raise ValueError(f"units {self.units!r} is none of {UNITS}")
        values["units"] = UNITS.index(self.units)
        return _library.defaults(_declarations.etx_module_map_options, **values)


def filled_of(options: Any, wanted: str) -> Any:
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
        None is too, "accurate" or "positions". A file wins that has such a name
        with a folder before it, as "./accurate".

        Raises FileError or FormatError.
        """
        name = "default" if path is None else path
        if isinstance(name, str) and name.isidentifier():
            try:
                path = shipped("models", f"{name}.safetensors")
            except FileNotFoundError:
                if path is None:
                    raise
                if not os.path.exists(name):
                    raise _errors.FileError(
                        f"{name}: neither a file nor one of {', '.join(SHIPPED)}"
                    ) from None
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
        _library.call("etx_model_save", self._pointer, _library.file_name(path))

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

    def _options(self, kind: type, stage: str) -> dict[str, Any]:
        """The values of a stage's options. A float32 is given by the fewest
        decimals that are read as it: 0.3, not 0.30000001192092896."""
        name = f"etx_{stage}_options"
        options = _library.defaults(getattr(_declarations, name))
        _library.call(
            f"etx_model_{stage}_options", ctypes.byref(options), self._pointer
        )
        values = {
            field.name: getattr(options, field.name)
            for field in dataclasses.fields(kind)
        }
        return {
            name: float(str(np.float32(x))) if isinstance(x, float) else x
            for name, x in values.items()
        }

    @property
    def label_options(self) -> LabelOptions:
        """What find_tracks labels with."""
        values = self._options(LabelOptions, "label")
        names = {number: name for name, number in METHODS.items()}
        return LabelOptions(**values | {"method": names[values["method"]]})

    @property
    def completion_options(self) -> CompletionOptions:
        """What find_tracks completes tracks with."""
        return CompletionOptions(**self._options(CompletionOptions, "completion"))

    @property
    def first_pass_options(self) -> FirstPassOptions:
        """What find_tracks finds long tracks with."""
        return FirstPassOptions(**self._options(FirstPassOptions, "first_pass"))

    def __repr__(self) -> str:
        if self.closed:
            return "<exatrkx.Model closed>"
        return f"<exatrkx.Model {' + '.join(self.stages)}>"


class Detector(_handle.Immutable):
    """Module geometry: rotations, thickness and pitches; immutable."""

    @classmethod
    def load(cls, path: str | os.PathLike[str] | None = None) -> Detector:
        """Read detectors.csv[.gz]; None is the TrackML detector."""
        path = shipped("data", "detectors.csv.gz") if path is None else path
        return cls(
            _handle.make("detector", "etx_detector_read", _library.file_name(path))
        )

    @property
    def n_modules(self) -> int:
        """Modules of the file."""
        return self._count("etx_detector_n_modules")

    def __repr__(self) -> str:
        if self.closed:
            return "<exatrkx.Detector closed>"
        return f"<exatrkx.Detector of {self.n_modules} modules>"
