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
from ._tracks import Tracks

NAMES = ("d0", "z0", "phi", "theta", "q_over_pt")


@dataclass(frozen=True)
class FitOptions:
    """What fit_tracks assumes of detector and particle."""

    field: float = 0.0  # T along z; 0: field_map, or what the model learned
    material: float = 0.02  # radiation lengths of a module
    mass: float = 0.13957  # GeV, for scattering and energy loss
    resolution_scale: float = 1.0  # in units of pitch / sqrt(12)
    max_hit_chi2: float = 0.0  # of an outlier; 0: none
    field_map: Any = None  # [n_r, n_z, 2] T: along the radius, along z
    max_r: float = 0.0  # mm: the map has r from 0 to max_r
    max_z: float = 0.0  # mm: and z from -max_z to max_z
    energy_loss: float = 0.036  # GeV per radiation length; 0: none

    def _filled(self) -> tuple[ctypes.Structure, Any]:
        """The options struct, and the map that it points to."""
        fields = {
            one.name: getattr(self, one.name) for one in dataclasses.fields(self)
        }
        if self.field and self.field_map is not None:
            raise ValueError(f"field {self.field} T and field_map: give one of them")
        if (self.max_r or self.max_z) and self.field_map is None:
            raise ValueError(
                f"max_r {self.max_r} and max_z {self.max_z} mm: need a field_map"
            )
        if self.field_map is not None:
            found = array("field_map", self.field_map, np.float32, -1, -1, 2)
            n_r, n_z, _ = found.shape
            fields |= {"field_map": address(found), "n_r": n_r, "n_z": n_z}
        else:
            found = fields.pop("field_map")
        return (
            _library.defaults(_declarations.etx_fit_options, **fields),
            found,
        )


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
    is_outlier: NDArray[np.uint8]  # for each of tracks.hits

    def __len__(self) -> int:
        return len(self.d0)


def fit_tracks(
    tracks: Tracks,
    event: Event,
    detector: Detector,
    model: Model | None = None,
    context: Context | None = None,
    options: FitOptions | None = None,
) -> TrackParameters:
    """Fit every track of 3 to 64 hits by weighted least squares, with
    multiple scattering. event needs modules. Without a field in options
    model needs a completion, which knows it."""
    declared = _declarations.etx_track_parameters
    fitted = _handle.pointer("tracks", tracks)
    out = np.zeros(len(tracks), declared)
    outlier = np.zeros(int(tracks.offsets[-1]), np.uint8)
    chosen = FitOptions() if options is None else options
    _errors.expect("options", chosen, "FitOptions")
    filled, _borrowed = chosen._filled()
    with context_or_default(context)._use() as used:
        _library.call(
            "etx_fit_tracks",
            address(out),
            address(outlier),
            fitted,
            used,
            _handle.pointer("event", event),
            _handle.pointer("detector", detector),
            None if model is None else _handle.pointer("model", model),
            ctypes.byref(filled),
        )
    columns: dict[str, Any] = {
        field.name: np.ascontiguousarray(out[field.name])
        for field in dataclasses.fields(TrackParameters)
        if field.name != "is_outlier"
    }
    columns["covariance"] = columns["covariance"].reshape(-1, 5, 5)
    return TrackParameters(**columns, is_outlier=outlier)


def select_tracks(
    tracks: Tracks, keep: Any = None, drop: Any = None
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
    rows = np.zeros(len(tracks), _declarations.etx_track_parameters)
    for name in ("chi2", "n_degrees", "n_holes"):
        rows[name] = getattr(parameters, name)
    return Tracks(
        _handle.make(
            "tracks",
            "etx_tracks_resolve",
            _handle.pointer("tracks", tracks),
            address(rows),
            max_shared,
            min_hits,
        )
    )
