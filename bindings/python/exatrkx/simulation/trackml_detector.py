"""trackml_detector -- the TrackML detector, from ACTS's Generic detector.

ACTS's Generic detector is the detector of the TrackML challenge: the same
18 728 modules under the same volume, layer and module numbers. This file has
what is published of its sensors, numbers the modules as the challenge does, and
repairs the density of its silicon.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from .detector import Design, Detector, read_modules

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


def build(scratch: str) -> Detector:
    """The ACTS detector with true silicon density, and its modules.

    The geometry is built twice: once to write its material to a file in the
    folder scratch, and once to read the corrected file back.
    """
    import acts
    import acts.examples
    import acts.json

    level = acts.logging.ERROR
    plain = generic_detector()
    path = os.path.join(scratch, "material.json")
    changed = write_material(plain.trackingGeometry(), path)
    if not changed:
        return with_modules(plain)
    decorator = acts.json.JsonMaterialDecorator(
        acts.json.MaterialMapJsonConverter.Config(), path, level
    )
    detector = generic_detector(materialDecorator=decorator)
    os.remove(path)
    return with_modules(detector)


def with_modules(owner: Any) -> Detector:
    """A Generic detector of ACTS, and its modules."""
    geometry = owner.trackingGeometry()
    return Detector(geometry, read_modules(geometry, DESIGN), owner)


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


def numbers_of_modules(numbers: np.ndarray, centre: np.ndarray) -> np.ndarray:
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


DESIGN = Design(
    sensors=SENSORS,
    pixel_volumes=(7, 8, 9),
    barrel_volumes=(8, 13, 17),
    # As often as in the TrackML events.
    noise_share={
        7: 0.042,
        8: 0.099,
        9: 0.042,
        12: 0.062,
        13: 0.297,
        14: 0.062,
        16: 0.037,
        17: 0.321,
        18: 0.038,
    },
    # As in ACTS's material of modules and their layers.
    radiation_lengths={
        **dict.fromkeys((7, 8, 9), 0.017),
        **dict.fromkeys((12, 13, 14), 0.029),
        **dict.fromkeys((16, 17, 18), 0.040),
    },
    # Twice module_t in the end-caps and once in the barrels: the cluster sizes
    # and the lengths of path in the pixel cells of TrackML say so.
    barrel_depth=1.0,
    # ACTS has most of the material on a surface of each layer, and Be on two
    # cylinders: the beam pipe and the support of the pixels.
    material_shift={
        **dict.fromkeys((7, 9, 12, 14, 16, 18), 0.0),
        8: 3.0,
        13: -5.0,
        17: -5.5,
    },
    tubes={
        **dict.fromkeys((7, 8, 9), (19.0, 0.0023)),
        **dict.fromkeys((12, 13, 14, 16, 17, 18), (200.0, 0.0051)),
    },
    numbers=numbers_of_modules,
)
