"""detector -- the modules of a detector that ACTS simulates.

This file turns a tracking geometry of ACTS, and the design of its sensors, into
the module table of detectors.csv and into the digitization configuration that
ACTS reads, and reads hits out of cells.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..files.trackml_csv import Table


def acts_numbers(numbers: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Volume, layer and module numbers as ACTS has them."""
    del centre
    return numbers


@dataclass(frozen=True)
class Design:
    """What a tracking geometry does not say; all of it by volume."""

    # Half thickness and pitches along u and v of the sensors, mm.
    sensors: dict[int, tuple[float, float, float]]
    pixel_volumes: tuple[int, ...]  # their cells know the charge
    barrel_volumes: tuple[int, ...]
    noise_share: dict[int, float]  # of the noise hits
    radiation_lengths: dict[int, float]  # of a layer, crossed straight on
    # Depth over which charge is collected in the barrels, in half thicknesses;
    # in the end-caps it is 2.
    barrel_depth: float = 2.0
    # Where the material of a layer lies, mm from the middle of its modules: outward
    # in barrels, along z in end-caps. Other volumes have it in each module.
    material_shift: dict[int, float] = field(default_factory=dict)
    # Cylinders around the beam inside of a volume: radius in mm, radiation lengths.
    tubes: dict[int, tuple[float, float]] = field(default_factory=dict)
    # Modules follow one another in pairs, of strips that cross at an angle.
    stereo_volumes: tuple[int, ...] = ()
    # The numbers of modules, from ACTS's numbers and centres [n, 3] in mm.
    numbers: Callable[[np.ndarray, np.ndarray], np.ndarray] = acts_numbers


@dataclass(frozen=True)
class Modules:
    """All modules, sorted by volume, layer and module number."""

    design: Design
    geometry_id: np.ndarray  # uint64 [n], the ACTS identifier
    volume_id: np.ndarray  # int64 [n]
    layer_id: np.ndarray
    module_id: np.ndarray
    acts_id: np.ndarray  # int64 [n], the module number in ACTS
    centre: np.ndarray  # [n, 3] mm
    rotation: np.ndarray  # [n, 3, 3], columns are the local axes u, v, w
    half_thickness: np.ndarray  # [n] mm
    min_half_u: np.ndarray  # [n] mm, at the lower end of v
    max_half_u: np.ndarray  # [n] mm, at the upper end of v
    half_v: np.ndarray  # [n] mm
    pitch_u: np.ndarray  # [n] mm
    pitch_v: np.ndarray  # [n] mm

    @property
    def radiation_lengths(self) -> np.ndarray:
        """[n], of a module and what its layer has there, crossed straight on."""
        return np.array([self.design.radiation_lengths[v] for v in self.volume_id])

    @property
    def material_offset(self) -> np.ndarray:
        """[n] mm along w, from a module to the material of its layer; 0: its own."""
        offset = np.zeros(len(self.volume_id))
        radius = np.hypot(self.centre[:, 0], self.centre[:, 1])
        outward = self.centre * [1.0, 1.0, 0.0] / radius[:, None]
        for volume, shift in self.design.material_shift.items():
            barrel = volume in self.design.barrel_volumes
            at = radius if barrel else self.centre[:, 2]
            axis = outward if barrel else np.array([[0.0, 0.0, 1.0]])
            along = np.sum(axis * self.rotation[:, :, 2], axis=1)
            inside = self.volume_id == volume
            for layer in np.unique(self.layer_id[inside]):
                some = inside & (self.layer_id == layer)
                middle = 0.5 * (at[some].min() + at[some].max())
                offset[some] = (middle + shift - at[some]) / along[some]
        return offset

    def rows(self, geometry_id: np.ndarray) -> np.ndarray:
        """Row of each ACTS identifier; all of them must be modules."""
        order = np.argsort(self.geometry_id)
        index = np.searchsorted(self.geometry_id, geometry_id, sorter=order)
        rows = order[np.minimum(index, len(order) - 1)]
        if not np.array_equal(self.geometry_id[rows], geometry_id):
            raise ValueError("a hit lies on no module of the detector")
        return rows


@dataclass(frozen=True)
class Detector:
    """A detector that is ready to be simulated."""

    geometry: Any  # the tracking geometry
    modules: Modules
    owner: Any = None  # what must live as long as the geometry


def read_modules(geometry: Any, design: Design) -> Modules:
    """Collect the sensitive surfaces of a tracking geometry."""
    import acts

    context = acts.GeometryContext.dangerouslyDefaultConstruct()
    surfaces: list[Any] = []
    geometry.visitSurfaces(surfaces.append)
    identity, number, placement, size = [], [], [], []
    for surface in surfaces:
        gid = surface.geometryId
        if gid.sensitive == 0 or surface.type != acts.SurfaceType.Plane:
            continue
        identity.append(gid.value)
        number.append((gid.volume, gid.layer, gid.sensitive))
        transform = surface.localToGlobalTransform(context)
        axes = [transform.rotation[i, j] for i in range(3) for j in range(3)]
        placement.append(vector(surface.center(context)) + axes)
        size.append(half_sizes(surface.bounds.values()))
    found = np.array(number, dtype=np.int64)
    placements: np.ndarray = np.array(placement)
    numbers = design.numbers(found, placements[:, :3])
    order = np.lexsort(numbers.T[::-1])
    numbers = numbers[order]
    placements = placements[order]
    sizes = np.array(size)[order]
    sensor = np.array([design.sensors[v] for v in numbers[:, 0].tolist()])
    return Modules(
        design=design,
        geometry_id=np.array(identity, dtype=np.uint64)[order],
        volume_id=numbers[:, 0],
        layer_id=numbers[:, 1],
        module_id=numbers[:, 2],
        acts_id=found[order, 2],
        centre=placements[:, :3],
        rotation=placements[:, 3:].reshape(-1, 3, 3),
        half_thickness=sensor[:, 0],
        min_half_u=sizes[:, 0],
        max_half_u=sizes[:, 1],
        half_v=sizes[:, 2],
        pitch_u=sensor[:, 1],
        pitch_v=sensor[:, 2],
    )


def vector(value: Any) -> list[float]:
    """The three components of an ACTS vector."""
    return [value[0], value[1], value[2]]


def half_sizes(bounds: list[float]) -> tuple[float, float, float]:
    """Half width at the lower and upper end of v, and half length, in mm.

    A rectangle has the bounds (min u, min v, max u, max v), a trapezoid
    (half u at min v, half u at max v, half v, rotation angle).
    """
    if bounds[0] < 0.0:
        return bounds[2], bounds[2], bounds[3]
    if bounds[3] != 0.0:
        raise ValueError("rotated trapezoids are not supported")
    return bounds[0], bounds[1], bounds[2]


def module_table(modules: Modules) -> Table:
    """The columns of detectors.csv."""
    table: Table = {
        "volume_id": modules.volume_id,
        "layer_id": modules.layer_id,
        "module_id": modules.module_id,
    }
    for column, name in enumerate("xyz"):
        table["c" + name] = modules.centre[:, column]
    for row, name in enumerate("xyz"):
        for column, axis in enumerate("uvw"):
            table[f"rot_{name}{axis}"] = modules.rotation[:, row, column]
    table["module_t"] = modules.half_thickness
    table["module_minhu"] = modules.min_half_u
    table["module_maxhu"] = modules.max_half_u
    table["module_hv"] = modules.half_v
    table["pitch_u"] = modules.pitch_u
    table["pitch_v"] = modules.pitch_v
    table["radiation_lengths"] = modules.radiation_lengths
    table["depth"] = drift_depth(modules, np.arange(len(modules.volume_id)))
    table["material_offset"] = np.round(modules.material_offset, 3)
    tubes = [modules.design.tubes.get(v, (0.0, 0.0)) for v in modules.volume_id.tolist()]
    table["tube_r"], table["tube_radiation_lengths"] = np.array(tubes).T
    # Rounding noise such as 1e-17 and -0.0 says nothing.
    for name, values in table.items():
        if values.dtype == np.float64:
            table[name] = np.where(np.abs(values) < 1e-9, 0.0, values)
    return table


def digitization_config(modules: Modules) -> dict[str, Any]:
    """ACTS's geometric digitization of all modules, as its JSON object.

    One entry for each volume of equal modules, and one for each module of
    the strip end-caps, whose trapezoids differ from ring to ring.
    """
    entries = []
    for volume in np.unique(modules.volume_id).tolist():
        rows = np.flatnonzero(modules.volume_id == volume)
        if np.ptp(modules.max_half_u[rows]) == 0.0:
            value = sensor_config(modules, rows[0])
            entries.append({"volume": volume, "value": value})
            continue
        for row in rows.tolist():
            entries.append(
                {
                    "volume": volume,
                    "layer": int(modules.layer_id[row]),
                    "sensitive": int(modules.acts_id[row]),
                    "value": sensor_config(modules, row),
                }
            )
    header = {
        "format-version": 0,
        "value-identifier": "digitization-configuration",
    }
    return {"acts-geometry-hierarchy-map": header, "entries": entries}


def drift_depth(modules: Modules, rows: np.ndarray) -> np.ndarray:
    """Depth in mm over which the charge of the modules is collected."""
    design = modules.design
    barrel = np.isin(modules.volume_id[rows], design.barrel_volumes)
    factor: np.ndarray = np.where(barrel, design.barrel_depth, 2.0)
    depth: np.ndarray = factor * modules.half_thickness[rows]
    return depth


def sensor_config(modules: Modules, row: int) -> dict[str, Any]:
    """The digitization of one module."""
    axes = [
        axis_config("binX", modules.max_half_u[row], modules.pitch_u[row]),
        axis_config("binY", modules.half_v[row], modules.pitch_v[row]),
    ]
    return {
        "geometric": {
            "digital": False,
            "indices": [0, 1],
            "segmentation": {"binningdata": axes},
            "thickness": float(drift_depth(modules, np.array(row))),
            "threshold": 0.0,
        }
    }


def read_out(
    modules: Modules,
    module: np.ndarray,
    cell_hit: np.ndarray,
    cell_channel: np.ndarray,
    cell_value: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Cell values as read out [m], and positions of the hits [n, 3] in mm.

    module [n]: row of each hit's module; cell_hit [m]: the hit of each cell;
    cell_value [m]: length of path in mm. Strips give 1 for every cell. The
    position is the mean of the centres of the cells weighted by value.
    """
    pixel = np.isin(modules.volume_id[module], modules.design.pixel_volumes)
    value = np.where(pixel[cell_hit], cell_value, 1.0)
    total = np.bincount(cell_hit, value, minlength=len(module))
    local = np.empty((len(module), 2))
    axes = (
        (modules.pitch_u, modules.max_half_u),
        (modules.pitch_v, modules.half_v),
    )
    for axis, (pitch, half) in enumerate(axes):
        weighted = value * (cell_channel[:, axis] + 0.5)
        mean = np.bincount(cell_hit, weighted, minlength=len(module)) / total
        begin = cells_along(half, pitch)[1]
        local[:, axis] = mean * pitch[module] - begin[module]
    return value, to_global(modules, module, local)


def to_global(
    modules: Modules, module: np.ndarray, local: np.ndarray
) -> np.ndarray:
    """Global positions [n, 3] of local points (u, v) [n, 2], in mm."""
    axes = modules.rotation[module][:, :, :2]
    points: np.ndarray = np.einsum("nij,nj->ni", axes, local)
    points += modules.centre[module]
    return points


def cells_along(half: np.ndarray, pitch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How many cells an axis has, and how far from the middle they begin, in mm.

    The outer two may be longer than the sensor.
    """
    count: np.ndarray = np.ceil(np.round(2.0 * half / pitch, 6))
    return count, half + np.round(0.5 * count * pitch - half, 6)


def axis_config(name: str, half: np.ndarray, pitch: np.ndarray) -> dict[str, Any]:
    """Cells of one local axis."""
    count, begin = cells_along(half, pitch)
    return {
        "bins": int(count),
        "min": -float(begin),
        "max": float(begin),
        "option": "open",
        "type": "equidistant",
        "value": name,
    }
