"""exatrkx -- track finding by machine learning, and the tools around it.

    import exatrkx

    model = exatrkx.Model.load()
    event = exatrkx.Event.from_trackml("examples/data/event000000001", detector=exatrkx.Detector.load())
    tracks = exatrkx.find_tracks(model, event)

The library (libexatrkx.so) and numpy are loaded when a name of theirs is
first used; the modules convert, simulate and plots do without the library.
docs/python.md is the reference.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._context import Context, StageTiming
    from ._device_array import DeviceArray
    from ._display import display
    from ._errors import (
        ArgumentError,
        CancelledError,
        DeviceError,
        Error,
        FileError,
        FormatError,
        LimitError,
        OutOfMemoryError,
        UnsupportedError,
    )
    from ._evaluation import (
        Evaluation,
        Rate,
        evaluate,
        evaluate_binned,
        match,
    )
    from ._event import PARTICLE, Event
    from ._graph import Graph
    from ._model import CompletionOptions, Detector, LabelOptions, Model
    from ._phoenix import write_phoenix
    from ._picture import picture
    from ._stages import (
        build_graph,
        complete_tracks,
        embed,
        filter_graph,
        find_tracks,
        label,
        score,
        score_triplets,
    )
    from ._tracks import Tracks
    from ._training import Report, Trainer, learn_completion, train

_NAMES_OF = {
    "_context": "Context StageTiming",
    "_device_array": "DeviceArray",
    "_display": "display",
    "_errors": "ArgumentError CancelledError DeviceError Error FileError "
    "FormatError LimitError OutOfMemoryError UnsupportedError",
    "_evaluation": "Evaluation Rate evaluate evaluate_binned match",
    "_event": "PARTICLE Event",
    "_graph": "Graph",
    "_model": "CompletionOptions Detector LabelOptions Model",
    "_phoenix": "write_phoenix",
    "_picture": "picture",
    "_stages": "build_graph complete_tracks embed filter_graph find_tracks label score "
    "score_triplets",
    "_tracks": "Tracks",
    "_training": "Report Trainer learn_completion train",
}
_MODULE_OF = {
    name: module for module, names in _NAMES_OF.items() for name in names.split()
}

__all__ = sorted(_MODULE_OF)  # noqa: PLE0605


def library_version() -> str:
    """ "MAJOR.MINOR.PATCH" of the library that is loaded."""
    from . import _library

    return _library.library.etx_version().decode()


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(
        importlib.import_module("." + _MODULE_OF[name], __name__), name
    )
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
