"""_fit -- momentum, direction and impact parameters of tracks.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _declarations, _errors, _handle, _library
from ._arrays import address, array
from ._context import Context, context_or_default
from ._event import Event
from ._model import Detector, Model
from ._options import FitOptions
from ._tracks import Tracks

NAMES = ("d0", "z0", "phi", "theta", "q_over_pt")


def filled(options: FitOptions) -> tuple[ctypes.Structure, Any]:
    """The options struct, and the map that it points to."""
    found = options.field_map
    if options.field and found is not None:
        raise ValueError(f"field {options.field} T and field_map: give one of them")
    if (options.max_r or options.max_z) and found is None:
        raise ValueError(
            f"max_r {options.max_r} and max_z {options.max_z} mm: need a field_map"
        )
    struct = dataclasses.replace(options, field_map=None)._filled()
    if found is not None:
        found = array("field_map", found, np.float32, -1, -1, 2)
        struct.field_map = address(found)
        struct.n_r, struct.n_z, _ = found.shape
    return struct, found


@dataclass(frozen=True)
class TrackParameters:
    """Tracks at their points of closest approach to the z axis, one row for
    each; all numbers are 0 where the fit failed (n_degrees 0)."""

    d0: NDArray[np.float64]  # mm
    z0: NDArray[np.float64]  # mm
    phi: NDArray[np.float64]  # rad
    theta: NDArray[np.float64]  # rad
    q_over_pt: NDArray[np.float64]  # 1/GeV
    covariance: NDArray[np.float64]  # [n, 5, 5] in the order above
    chi2: NDArray[np.float64]
    n_degrees: NDArray[np.int32]  # of freedom; 0: not fitted
    n_holes: NDArray[np.int32]  # layers crossed without a hit
    n_outliers: NDArray[np.int32]
    is_outlier: NDArray[np.bool_]  # for each of tracks.hits

    def __len__(self) -> int:
        return len(self.d0)


def fit_tracks(
    event: Event,
    tracks: Tracks,
    detector: Detector,
    *,
    model: Model | None = None,
    context: Context | None = None,
    options: FitOptions | None = None,
) -> TrackParameters:
    """Fit every track of 3 to 64 hits by weighted least squares, with
    multiple scattering. event needs modules. Without a field in options
    model needs a completion, which knows it."""
    declared = _declarations.etx_track_parameters
    hits_of = _handle.pointer("event", event)
    fitted = _handle.pointer("tracks", tracks)
    out = np.zeros(len(tracks), declared)
    outlier = np.zeros(int(tracks.offsets[-1]), np.uint8)
    chosen = FitOptions() if options is None else options
    _errors.expect("options", chosen, "FitOptions")
    options_struct, _borrowed = filled(chosen)
    with context_or_default(context)._use() as used:
        _library.call(
            "etx_fit_tracks",
            address(out),
            address(outlier),
            fitted,
            used,
            None if model is None else _handle.pointer("model", model),
            hits_of,
            _handle.pointer("detector", detector),
            ctypes.byref(options_struct),
        )
    columns: dict[str, Any] = {
        field.name: np.ascontiguousarray(out[field.name])
        for field in dataclasses.fields(TrackParameters)
        if field.name != "is_outlier"
    }
    columns["covariance"] = columns["covariance"].reshape(-1, 5, 5)
    return TrackParameters(**columns, is_outlier=outlier.view(np.bool_))


def select_tracks(
    tracks: Tracks, *, keep: Any = None, drop: Any = None
) -> Tracks:
    """The tracks where keep [len(tracks)] is true, without the hits where drop
    [len(tracks.hits)] is: for example is_outlier of a fit."""
    masks = [
        None
        if mask is None
        else array(name, np.asarray(mask).astype(bool).view(np.uint8), np.uint8, size)
        for name, mask, size in (
            ("keep", keep, len(tracks)),
            ("drop", drop, int(tracks.offsets[-1])),
        )
    ]
    return Tracks(
        _handle.make(
            "tracks",
            "etx_tracks_select",
            _handle.pointer("tracks", tracks),
            *(None if mask is None else address(mask) for mask in masks),
        )
    )


def resolve_tracks(
    tracks: Tracks,
    parameters: TrackParameters,
    *,
    max_shared: int = 0,
    min_hits: int = 4,
) -> Tracks:
    """Of tracks that share hits the better ones, by parameters of fit_tracks.

    A track loses the hits of better ones when it has more than max_shared of
    them, and goes when fewer than min_hits are left."""
    if len(parameters) != len(tracks):
        raise ValueError(
            f"parameters of {len(parameters)} tracks, there are {len(tracks)}"
        )
    options = _library.defaults(
        _declarations.etx_resolve_options, max_shared=max_shared, min_hits=min_hits
    )
    rows = np.zeros(len(tracks), _declarations.etx_track_parameters)
    for name in ("chi2", "n_degrees", "n_holes"):
        rows[name] = getattr(parameters, name)
    return Tracks(
        _handle.make(
            "tracks",
            "etx_tracks_resolve",
            _handle.pointer("tracks", tracks),
            address(rows),
            ctypes.byref(options),
        )
    )
