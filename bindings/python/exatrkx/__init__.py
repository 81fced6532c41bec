"""exatrkx -- track finding by machine learning, and the tools around it.

    import exatrkx

    model = exatrkx.Model.load()
    event = exatrkx.Event.example()  # or from_trackml, from_arrays
    tracks = exatrkx.find_tracks(model, event)
    print(exatrkx.evaluate(event, tracks))

The library (libexatrkx.so) and numpy are loaded when a name of theirs is
first used; conversion and simulation do without the library.
docs/python.md is the reference.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._context import Context as Context
    from ._context import StageTiming as StageTiming
    from ._context import Timings as Timings
    from ._device_array import DeviceArray as DeviceArray
    from ._errors import ArgumentError as ArgumentError
    from ._errors import CancelledError as CancelledError
    from ._errors import DeviceError as DeviceError
    from ._errors import Error as Error
    from ._errors import FileError as FileError
    from ._errors import FormatError as FormatError
    from ._errors import LimitError as LimitError
    from ._errors import OutOfMemoryError as OutOfMemoryError
    from ._errors import RankError as RankError
    from ._errors import UnsupportedError as UnsupportedError
    from ._evaluation import Evaluation as Evaluation
    from ._evaluation import Rate as Rate
    from ._evaluation import evaluate as evaluate
    from ._evaluation import evaluate_binned as evaluate_binned
    from ._evaluation import match as match
    from ._event import PARTICLE as PARTICLE
    from ._event import Event as Event
    from ._events import Events as Events
    from ._field import learn_field as learn_field
    from ._field import read_field_map as read_field_map
    from ._field import write_field_map as write_field_map
    from ._fit import TrackParameters as TrackParameters
    from ._fit import fit_tracks as fit_tracks
    from ._fit import resolve_tracks as resolve_tracks
    from ._fit import select_tracks as select_tracks
    from ._graph import Graph as Graph
    from ._model import Detector as Detector
    from ._model import Model as Model
    from ._options import CompletionOptions as CompletionOptions
    from ._options import FirstPassOptions as FirstPassOptions
    from ._options import FitOptions as FitOptions
    from ._options import LabelOptions as LabelOptions
    from ._options import ModuleMapOptions as ModuleMapOptions
    from ._stages import build_graph as build_graph
    from ._stages import build_tracks as build_tracks
    from ._stages import complete_tracks as complete_tracks
    from ._stages import embed as embed
    from ._stages import filter_graph as filter_graph
    from ._stages import find_long_tracks as find_long_tracks
    from ._stages import find_tracks as find_tracks
    from ._stages import find_tracks_batch as find_tracks_batch
    from ._stages import score_graph as score_graph
    from ._stages import score_triplets as score_triplets
    from ._tracks import Tracks as Tracks
    from ._training import Trainer as Trainer
    from ._training import TrainingReport as TrainingReport
    from ._training import learn_completion as learn_completion
    from ._training import learn_first_pass as learn_first_pass
    from ._training import learn_module_map as learn_module_map
    from ._training import train as train
    from .plotting.display import Page as Page
    from .plotting.display import display as display
    from .plotting.phoenix import write_phoenix as write_phoenix

    __version__: str

_NAMES_OF = {
    "_context": "Context StageTiming Timings",
    "_device_array": "DeviceArray",
    "plotting.display": "Page display",
    "_errors": "ArgumentError CancelledError DeviceError Error FileError "
    "FormatError LimitError OutOfMemoryError RankError UnsupportedError",
    "_evaluation": "Evaluation Rate evaluate evaluate_binned match",
    "_event": "PARTICLE Event",
    "_events": "Events",
    "_field": "learn_field read_field_map write_field_map",
    "_fit": "TrackParameters fit_tracks resolve_tracks select_tracks",
    "_graph": "Graph",
    "_model": "Detector Model",
    "_options": "CompletionOptions FirstPassOptions FitOptions LabelOptions "
    "ModuleMapOptions",
    "plotting.phoenix": "write_phoenix",
    "_stages": "build_graph build_tracks complete_tracks embed filter_graph "
    "find_long_tracks find_tracks find_tracks_batch score_graph score_triplets",
    "_tracks": "Tracks",
    "_training": "Trainer TrainingReport learn_completion learn_first_pass "
    "learn_module_map train",
}
_MODULE_OF = {
    name: module for module, names in _NAMES_OF.items() for name in names.split()
}

__all__ = sorted([*_MODULE_OF, "library_version"])  # noqa: PLE0605


def library_version() -> str:
    """ "MAJOR.MINOR.PATCH" of the library that is loaded."""
    from . import _library

    return _library.version(_library.library)


if not TYPE_CHECKING:  # to a checker every name would be an attribute

    def __getattr__(name: str) -> Any:
        if name == "__version__":
            from . import _declarations as d

            version = d.ETX_VERSION_MAJOR, d.ETX_VERSION_MINOR, d.ETX_VERSION_PATCH
            return ".".join(map(str, version))
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(
            importlib.import_module("." + _MODULE_OF[name], __name__), name
        )
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    own = [name for name in globals() if name.startswith("__")]
    return sorted({*own, *__all__, "__version__"})
