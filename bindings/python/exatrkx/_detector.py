"""_detector -- the TrackML detector as read from the ACTS Generic detector.

ACTS's Generic detector is the detector of the TrackML challenge: the same
18 728 modules under the same volume, layer and module numbers. This file
turns it into the module table of detectors.csv, into the digitization
configuration that ACTS reads, and repairs the density of its silicon.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._trackml_csv import Table

# Half thickness and pitches of the sensors in mm, by volume, as published
# with the TrackML data; the strip end-caps have shorter long strips.
PIXEL = (0.15, 0.05, 0.05625)
SHORT_STRIP = (0.25, 0.08, 1.2)
SENSORS = {
    7: PIXEL,
    8: PIXEL,
    9: PIXEL,
    12: SHORT_STRIP,
    13: SHORT_STRIP,
    14: SHORT_STRIP,
    16: (0.35, 0.12, 10.4),
    17: (0.35, 0.12, 10.8),
    18: (0.35, 0.12, 10.4),
}
PIXEL_VOLUMES = (7, 8, 9)
BARREL_VOLUMES = (8, 13, 17)

# The order in which TrackML numbers the modules of an end-cap disc: by bin
# in phi, then by ring, then by phi. Number of bins, and offset in bins, that
# reproduce the published numbers of all modules, by volume.
DISC_ORDER = {
    7: (40, 0.0),
    9: (40, 0.0),
    12: (270, 0.0),
    14: (270, 0.0),
    16: (247, 0.68),
    18: (247, 0.68),
}

# Silicon: 2.33 g/cm3 over 28.03 g/mol is 8.3e-5 mol/mm3.
SILICON_Z = 14.0
SILICON_MIN_DENSITY = 1e-5  # mol/mm3


@dataclass(frozen=True)
class Modules:
    """All modules, sorted by volume, layer and TrackML module number."""

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

    def rows(self, geometry_id: np.ndarray) -> np.ndarray:
        """Row of each ACTS identifier; all of them must be modules."""
        order = np.argsort(self.geometry_id)
        index = np.searchsorted(self.geometry_id, geometry_id, sorter=order)
        rows = order[np.minimum(index, len(order) - 1)]
        if not np.array_equal(self.geometry_id[rows], geometry_id):
            raise ValueError("a hit lies on no module of the detector")
        return rows


def build(scratch: str) -> tuple[Any, Modules]:
    """The ACTS detector with true silicon density, and its modules.

    The geometry is built twice: once to write its material to a file in the
    folder scratch, and once to read the corrected file back. The first value
    must be kept alive as long as its tracking geometry is in use.
    """
    import acts
    import acts.examples
    import acts.json

    level = acts.logging.ERROR
    plain = generic_detector()
    path = os.path.join(scratch, "material.json")
    changed = write_material(plain.trackingGeometry(), path)
    if not changed:
        return plain, read_modules(plain.trackingGeometry())
    decorator = acts.json.JsonMaterialDecorator(
        acts.json.MaterialMapJsonConverter.Config(), path, level
    )
    detector = generic_detector(materialDecorator=decorator)
    os.remove(path)
    return detector, read_modules(detector.trackingGeometry())


def generic_detector(**options: Any) -> Any:
    """ACTS's Generic detector, built without messages."""
    import acts
    import acts.examples

    config = acts.examples.GenericDetector.Config()
    for part in ("log", "surfaceLog", "layerLog", "volumeLog"):
        setattr(config, part + "Level", acts.logging.ERROR)
    for name, value in options.items():
        setattr(config, name, value)
    return acts.examples.GenericDetector(config)


def write_material(geometry: Any, path: str) -> int:
    """Write the surface materials, silicon corrected; count corrections.

    Some releases of ACTS give the silicon of this detector in g/cm3 without
    the unit, 1000 times too thin for the loss of energy by ionisation. The
    radiation length, which governs scattering, is right in all of them.
    """
    import acts
    import acts.examples.json
    import acts.json

    config = acts.json.MaterialMapJsonConverter.Config()
    writer = acts.examples.json.JsonMaterialWriter(
        converterCfg=config,
        fileName=os.path.splitext(path)[0],
        writeFormat=acts.examples.json.JsonFormat.Json,
        level=acts.logging.ERROR,
    )
    writer.write(geometry)
    with open(path, encoding="ascii") as file:
        content = json.load(file)
    changed = 0
    for entry in content["Surfaces"]["entries"]:
        for bins in entry["value"].get("material", {}).get("data") or []:
            changed += sum(correct_silicon(slab["material"]) for slab in bins)
    if changed:
        with open(path, "w", encoding="ascii") as file:
            json.dump(content, file)
    return changed


def correct_silicon(material: list[float]) -> bool:
    """Correct one material (X0, L0, A, Z, molar density in mol/mm3)."""
    if not material or material[3] != SILICON_Z:
        return False
    if material[4] >= SILICON_MIN_DENSITY:
        return False
    material[4] *= 1000.0
    return True


def read_modules(geometry: Any) -> Modules:
    """Collect the sensitive surfaces of a tracking geometry."""
    import acts

    context = acts.GeometryContext.dangerouslyDefaultConstruct()
    surfaces: list[Any] = []
    geometry.visitSurfaces(surfaces.append)
    identity, number, placement, size = [], [], [], []
    for surface in surfaces:
        gid = surface.geometryId
        if gid.sensitive == 0:
            continue
        identity.append(gid.value)
        number.append((gid.volume, gid.layer, gid.sensitive))
        transform = surface.localToGlobalTransform(context)
        axes = [transform.rotation[i, j] for i in range(3) for j in range(3)]
        placement.append(vector(surface.center(context)) + axes)
        size.append(half_sizes(surface.bounds.values()))
    acts_numbers = np.array(number, dtype=np.int64)
    placements: np.ndarray = np.array(placement)
    numbers = trackml_numbers(acts_numbers, placements[:, :3])
    order = np.lexsort(numbers.T[::-1])
    numbers = numbers[order]
    placements = placements[order]
    sizes = np.array(size)[order]
    sensor = np.array([SENSORS[volume] for volume in numbers[:, 0].tolist()])
    return Modules(
        geometry_id=np.array(identity, dtype=np.uint64)[order],
        volume_id=numbers[:, 0],
        layer_id=numbers[:, 1],
        module_id=numbers[:, 2],
        acts_id=acts_numbers[order, 2],
        centre=placements[:, :3],
        rotation=placements[:, 3:].reshape(-1, 3, 3),
        half_thickness=sensor[:, 0],
        min_half_u=sizes[:, 0],
        max_half_u=sizes[:, 1],
        half_v=sizes[:, 2],
        pitch_u=sensor[:, 1],
        pitch_v=sensor[:, 2],
    )


def trackml_numbers(numbers: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Volume, layer and module numbers of TrackML from ACTS numbers.

    Both number barrels alike; on the discs of the end-caps ACTS counts ring
    by ring and TrackML around the beam line. centre: [n, 3] mm.
    """
    result = numbers.copy()
    turn = (np.arctan2(centre[:, 1], centre[:, 0]) + np.pi) / (2.0 * np.pi)
    radius = np.round(np.hypot(centre[:, 0], centre[:, 1]))
    for volume, (n_bins, offset) in DISC_ORDER.items():
        for layer in np.unique(numbers[numbers[:, 0] == volume, 1]):
            in_layer = (numbers[:, 0] == volume) & (numbers[:, 1] == layer)
            disc = np.flatnonzero(in_layer)
            # Of the pixel centres on the edge of a bin, those at 1/8 and 5/8
            # of a turn belong to the upper bin, the others to the lower.
            edge = 1e-6 * np.sin(4.0 * np.pi * turn[disc])
            bins = np.floor(n_bins * turn[disc] - offset + edge)
            order = np.lexsort((turn[disc], radius[disc], bins))
            result[disc[order], 2] = np.arange(1, len(disc) + 1)
    return result


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
    """Depth in mm over which the charge of the modules is collected.

    Twice module_t in the end-caps and once in the barrels: the cluster sizes
    and the lengths of path in the pixel cells of TrackML say so.
    """
    barrel = np.isin(modules.volume_id[rows], BARREL_VOLUMES)
    depth: np.ndarray = modules.half_thickness[rows]
    return np.where(barrel, depth, 2.0 * depth)


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
    pixel = np.isin(modules.volume_id[module], PIXEL_VOLUMES)
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
        local[:, axis] = mean * pitch[module] - half[module]
    return value, to_global(modules, module, local)


def to_global(
    modules: Modules, module: np.ndarray, local: np.ndarray
) -> np.ndarray:
    """Global positions [n, 3] of local points (u, v) [n, 2], in mm."""
    axes = modules.rotation[module][:, :, :2]
    points: np.ndarray = np.einsum("nij,nj->ni", axes, local)
    points += modules.centre[module]
    return points


def axis_config(name: str, half: float, pitch: float) -> dict[str, Any]:
    """Cells of one local axis."""
    return {
        "bins": round(2.0 * half / pitch),
        "min": -float(half),
        "max": float(half),
        "option": "open",
        "type": "equidistant",
        "value": name,
    }
