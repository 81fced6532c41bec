"""_options -- options of calls, as dataclasses.

Written by generate_declarations.py from include/exatrkx/*.h and
src/stage/options.c; change those.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

from . import _declarations, _library
from ._context import choose


class Options:
    """Fields of an options struct of the library."""

    _struct: ClassVar[type[ctypes.Structure]]
    _choices: ClassVar[dict[str, dict[str, int]]] = {}  # numbers by name

    def _filled(self) -> ctypes.Structure:
        values = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
        }
        for name, table in self._choices.items():
            values[name] = choose(name, values[name], table)
        return _library.defaults(self._struct, **values)


@dataclass(frozen=True, kw_only=True)
class LabelOptions(Options):
    """How tracks are built from a scored graph."""

    _struct = _declarations.etx_label_options
    _choices: ClassVar[dict[str, dict[str, int]]] = {
        "method": {
            "components": _declarations.ETX_LABEL_COMPONENTS,
            "mutual_best": _declarations.ETX_LABEL_MUTUAL_BEST,
            "walkthrough": _declarations.ETX_LABEL_WALKTHROUGH,
            "best_first": _declarations.ETX_LABEL_BEST_FIRST,
        }
    }

    # components, mutual_best, walkthrough or best_first
    method: str = "components"
    # edges with a score above it are used; in [0, 1] as the scores, default
    # 0.5
    cut: float = 0.5
    # smaller tracks are dropped; at least 1, default 3
    min_hits: int = 3
    # in [0, 1], default 0; raised to strong_cut if below
    sure_cut: float = 0.0
    # in [0, 1], default 0
    strong_cut: float = 0.0
    # at least 1; default 3
    support_hits: int = 3
    # 1/m, default 0
    max_curvature_change: float = 0.0
    # in [0, 1], default 0
    max_polar_change: float = 0.0


@dataclass(frozen=True, kw_only=True)
class CompletionOptions(Options):
    """How certain completion has to be that a hit belongs to a track, and
    which new tracks it finds. Distances are sums of squares of both residuals
    in units of their 68 % quantiles."""

    _struct = _declarations.etx_completion_options

    # of a hit from the helix; default 64
    max_distance: float = 64.0
    # of the end of another track from the helix, to join both; default 25, 0
    # joins none
    max_join: float = 25.0
    # expected number of unrelated hits at least as near as the hit; default
    # 0.3
    max_random: float = 0.3
    # of a new track, at most 20; default 5, 0: no new tracks
    min_layers: int = 5
    # GeV, about, of a new track; at least 0.01, default 0.3
    min_pt: float = 0.3
    # how often etx_find_tracks runs the networks and labels, again on the hits
    # that completion leaves; 1 to 8, default 1
    passes: int = 1


@dataclass(frozen=True, kw_only=True)
class FirstPassOptions(Options):
    """Which long tracks are found before the networks. Distances as in
    etx_completion_options."""

    _struct = _declarations.etx_first_pass_options

    # of a track, 3 to 20; default 7
    min_layers: int = 7
    # GeV, about; at least 0.01, default 0.18
    min_pt: float = 0.18
    # of a hit from the helix; default 20
    max_distance: float = 20.0
    # expected number of unrelated hits at least as near as the hit; default
    # 0.1
    max_random: float = 0.1
    # etx_find_tracks has no first pass in events of fewer hits; default 0
    min_event_hits: int = 0


@dataclass(frozen=True, kw_only=True)
class ModuleMapOptions(Options):
    """How a module map is learned."""

    _struct = _declarations.etx_module_map_options
    _choices: ClassVar[dict[str, dict[str, int]]] = {
        "units": {
            "modules": _declarations.ETX_MAP_MODULES,
            "layers": _declarations.ETX_MAP_LAYERS,
        }
    }

    # modules or layers
    units: str = "modules"
    # 1: an edge also needs one that continues it, at one of its ends; default
    # 0
    use_triplets: bool = False
    # GeV, of the tracks; default 0
    min_pt: float = 0.0
    # share of the values outside a window, at either of its ends; below 0.5,
    # default 0
    tail: float = 0.0
    # windows of n values are widened by margin / n of their length at either
    # end, or of the typical length if longer; 0 to 1000, default 10
    margin: float = 10.0


@dataclass(frozen=True, kw_only=True)
class FitOptions(Options):
    """What is assumed of detector and particle."""

    _struct = _declarations.etx_fit_options

    # T, along z and uniform; 0 (default): field_map, or the field that the
    # model's completion learned
    field: float = 0.0
    # radiation lengths, at normal incidence, of modules of which the
    # detector's file says nothing; default 0.02, 0: no scattering in any
    material: float = 0.02
    # GeV, for scattering and energy loss; default 0.13957, a pion
    mass: float = 0.13957
    # factor of the errors of hits; default 1
    resolution_scale: float = 1.0
    # a hit whose removal lowers chi2 by more is an outlier; default 12; 0:
    # none is
    max_hit_chi2: float = 12.0
    # [n_r, n_z, 2] T: components along the radius and z, at r from 0 to max_r
    # and z from -max_z to max_z in equal steps; borrowed; default NULL
    field_map: Any = None
    # mm, positive where there is a map
    max_r: float = 0.0
    # mm, positive where there is a map
    max_z: float = 0.0
    # GeV per radiation length of material; default 0.036, minimum ionisation
    # in silicon; 0: none
    energy_loss: float = 0.036
    # mm, the point where the map has r = 0 and z = 0; the axis of the map is
    # parallel to z; default 0
    map_x: float = 0.0
    # mm
    map_y: float = 0.0
    # mm
    map_z: float = 0.0
