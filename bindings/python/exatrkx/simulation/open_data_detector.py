"""open_data_detector -- the tracker of the Open Data Detector, for ACTS.

Layers, modules and pitches as published (Open Data Detector,
doi:10.5281/zenodo.6445359), under the volume and layer numbers that ACTS gives
them. The wheel of pyacts lacks the plugin that builds this detector, so that it
is put together here, of planes in volumes. What is simpler than there: the
material of a module with its supports and services is one slab of silicon, and
there is no beam pipe.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .detector import Design, Detector, Modules, read_modules

# A hit of a strip knows one coordinate: a strip is as long as its sensor.
DESIGN = Design(
    sensors={
        16: (0.0625, 0.05, 0.05),
        17: (0.0625, 0.05, 0.05),
        18: (0.0625, 0.05, 0.05),
        23: (0.125, 0.08, 0.5),
        24: (0.1, 0.08, 0.5),
        25: (0.125, 0.08, 0.5),
        28: (0.125, 0.125, 156.0),
        29: (0.125, 0.1, 108.0),
        30: (0.125, 0.125, 156.0),
    },
    pixel_volumes=(16, 17, 18),
    barrel_volumes=(17, 24, 29),
    # Like the hits of particles.
    noise_share={
        16: 0.1,
        17: 0.29,
        18: 0.11,
        23: 0.07,
        24: 0.18,
        25: 0.08,
        28: 0.04,
        29: 0.09,
        30: 0.04,
    },
    radiation_lengths={
        **dict.fromkeys((16, 17, 18), 0.012),
        **dict.fromkeys((23, 24, 25), 0.015),
        **dict.fromkeys((28, 29, 30), 0.021),
    },
    stereo_volumes=(28, 29, 30),
)


@dataclass(frozen=True)
class Sensor:
    """Where a sensor lies in its module."""

    offset: float = 0.0  # mm, along the normal
    angle: float = 0.0  # rad, of its strips


@dataclass(frozen=True)
class Ring:
    """Trapezoids around the beam line, every other one further out in z."""

    radius: float  # mm
    n_modules: int
    offset: float  # mm, from the disc, towards the end of the detector
    gap: float  # mm, from the ring
    half_u: tuple[float, float]  # mm, at the inner and the outer end
    half_v: float = 78.0  # mm
    turn: float = 0.0  # rad, of the first module
    sensors: tuple[Sensor, ...] = (Sensor(),)


@dataclass(frozen=True)
class Part:
    """A barrel and its two end-caps."""

    volume: int  # of the end-cap at negative z; the next two are the others'
    radii: tuple[float, float]  # mm, of its volumes
    half_length: float  # mm, of the barrel's volumes
    layers: tuple[tuple[float, int], ...]  # radius in mm, number of staves
    tilt: float  # rad, of a stave
    n_modules: int  # of a stave
    step: float  # mm, between modules of a stave
    half_size: tuple[float, float]  # mm, of a sensor
    sensors: tuple[Sensor, ...]
    discs: tuple[float, ...]  # z in mm
    rings: tuple[Ring, ...]
    silicon: float  # mm for one sensor; 93.7 mm are a radiation length


PIXEL = Part(
    volume=16,
    radii=(24.0, 205.0),
    half_length=560.0,
    layers=((34.0, 16), (70.0, 32), (116.0, 52), (172.0, 78)),
    tilt=0.12,
    n_modules=14,
    step=72.5,
    half_size=(8.4, 36.0),
    sensors=(Sensor(-1.8),),
    discs=(620.0, 720.0, 840.0, 980.0, 1120.0, 1320.0, 1520.0),
    rings=(
        Ring(76.0, 24, -3.5, 0.6, (8.5, 14.5), 34.0),
        Ring(139.0, 36, 3.5, 0.6, (10.5, 16.5), 34.0),
    ),
    silicon=1.15,
)
SHORT_STRIP = Part(
    volume=23,
    radii=(205.0, 720.0),
    half_length=1215.0,
    layers=((260.0, 40), (360.0, 56), (500.0, 78), (660.0, 102)),
    tilt=-0.15,
    n_modules=21,
    step=108.5,
    half_size=(24.0, 54.0),
    sensors=(Sensor(),),
    discs=(1300.0, 1550.0, 1850.0, 2200.0, 2550.0, 2950.0),
    rings=(
        Ring(318.0, 42, -5.0, 2.5, (18.4, 32.2)),
        Ring(470.0, 42, 5.0, 2.5, (30.2, 44.0), turn=0.0748),
        Ring(622.0, 42, -5.0, 2.5, (40.8, 56.4)),
    ),
    silicon=1.4,
)
STEREO_DISC = (Sensor(2.5, 0.02), Sensor(-2.5, -0.02))
LONG_STRIP = Part(
    volume=28,
    radii=(720.0, 1100.0),
    half_length=1215.0,
    layers=((820.0, 60), (1020.0, 80)),
    tilt=-0.15,
    n_modules=21,
    step=108.5,
    half_size=(48.0, 54.0),
    sensors=(Sensor(-3.3, 0.04), Sensor(3.3)),
    discs=(1300.0, 1600.0, 1900.0, 2250.0, 2600.0, 3000.0),
    rings=(
        Ring(820.0, 48, -15.0, 8.0, (53.2, 58.6), sensors=STEREO_DISC),
        Ring(990.0, 48, 15.0, 8.0, (64.6, 70.0), sensors=STEREO_DISC),
    ),
    silicon=1.0,
)
PARTS = (PIXEL, SHORT_STRIP, LONG_STRIP)

ENVELOPE = 5.0  # mm around the modules of a layer
HALF_LENGTH = 3100.0  # mm, of the tracker
BORDER = 0.01  # mm, from a volume's turning surface to its end
Z_AXIS = np.array((0.0, 0.0, 1.0))
# As ACTS has it: radiation and nuclear interaction length in mm, A, Z, mol/mm3.
SILICON = (93.7, 465.2, 28.03, 14.0, 8.3e-5)


def build(scratch: str) -> Detector:
    """The detector with its material; scratch is a folder for a file."""
    import acts

    if not is_supported():
        raise RuntimeError("the Open Data Detector needs pyacts 48 or later")
    config = acts.Blueprint.Config()
    config.envelope = acts.ExtentEnvelope(z=[20.0, 20.0], r=[0.0, 20.0])
    root = acts.Blueprint(config)
    tracker = add_container(root, "tracker", "AxisR")
    length = (-HALF_LENGTH, HALF_LENGTH)
    add_volume(tracker, "beam", (0.0, PIXEL.radii[0]), length)
    planes = [plane for part in PARTS for plane in add_part(tracker, part)]
    context = acts.GeometryContext.dangerouslyDefaultConstruct()
    geometry = root.construct(acts.BlueprintOptions(), context, acts.logging.ERROR)
    modules = read_modules(geometry, DESIGN)
    add_material(planes, modules, os.path.join(scratch, "material.json"))
    return Detector(geometry, modules)


def is_supported() -> bool:
    """Whether this pyacts can put a detector together."""
    import acts

    return hasattr(acts.Surface, "assignIsSensitive")


def add_part(tracker: Any, part: Part) -> list[Any]:
    """Put a barrel and its end-caps in place; their planes."""
    along = add_container(tracker, str(part.volume), "AxisZ")
    return [
        *add_discs(along, part, -1),
        *add_barrel(along, part),
        *add_discs(along, part, 1),
    ]


def add_barrel(along: Any, part: Part) -> list[Any]:
    """Put layers and the gaps between them in place, from the inside; the planes."""
    half_u = part.half_size[0]
    reach = half_u * abs(np.sin(part.tilt)) + thickness(part.sensors)
    borders = [part.radii[0]]
    for radius, _ in part.layers:
        borders += [radius - reach, np.hypot(radius + reach, half_u)]
    borders.append(part.radii[1])
    layers = [barrel(part, k) for k in range(len(part.layers))]
    bins = [(n_staves, part.n_modules) for _, n_staves in part.layers]
    across = add_container(along, f"volume {part.volume + 1}", "AxisR")
    length = (-part.half_length, part.half_length)
    for i, radii in enumerate(itertools.pairwise(borders)):
        add_layer(across, part.volume + 1, i, radii, length, layers, bins)
    return [plane for planes in layers for plane in planes]


def add_discs(along: Any, part: Part, side: int) -> list[Any]:
    """The same of an end-cap, at positive (1) or negative z (-1), by growing z."""
    reach = max(
        abs(ring.offset) + ring.gap + thickness(ring.sensors) for ring in part.rings
    )
    volume = part.volume + 1 + side
    discs = [side * z for z in part.discs[::side]]
    ends = sorted((side * part.half_length, side * HALF_LENGTH))
    borders = [ends[0], *(z + way for z in discs for way in (-reach, reach)), ends[1]]
    layers = [disc(part, z, side) for z in discs]
    bins = [(len(part.rings), part.rings[0].n_modules)] * len(discs)
    across = add_container(along, f"volume {volume}", "AxisZ")
    for i, length in enumerate(itertools.pairwise(borders)):
        add_layer(across, volume, i, part.radii, length, layers, bins)
    return [plane for planes in layers for plane in planes]


def thickness(sensors: tuple[Sensor, ...]) -> float:
    """From the middle of a module to the end of its layer, in mm."""
    return max(abs(sensor.offset) for sensor in sensors) + ENVELOPE


def add_container(parent: Any, name: str, axis: str) -> Any:
    """A row of volumes, each of which begins where the one before it ends."""
    import acts

    container = parent.addCylinderContainer(name, getattr(acts.AxisDirection, axis))
    container.attachmentStrategy = acts.VolumeAttachmentStrategy.Second
    return container


def add_layer(
    parent: Any,
    volume: int,
    i: int,
    radii: tuple[float, float],
    length: tuple[float, float],
    layers: list[list[Any]],
    bins: list[tuple[int, int]],
) -> None:
    """Volume i of gap, layer, gap, ...; bins: to look for the planes of a layer in.

    Layers have even numbers, as in ACTS.
    """
    import acts

    identity = acts.GeometryIdentifierBlueprintNode()
    identity.setAllVolumeIdsTo(volume)
    identity.setLayerIdTo(i + 1)
    parent.addChild(identity)
    name = f"volume {volume}, {i + 1}"
    if i % 2 == 0:
        add_volume(identity, name, radii, length)
        return
    node = add_volume(identity, name, radii, length, layers[i // 2])
    kind = "Cylinder" if volume in DESIGN.barrel_volumes else "Disc"
    arrays = acts.SurfaceArrayNavigationPolicy
    look = arrays.Config()
    look.layerType = getattr(arrays.LayerType, kind)
    look.bins = bins[i // 2]
    node.layerType = getattr(acts.LayerBlueprintNode.LayerType, kind)
    node.navigationPolicyFactory = borders_only().add(arrays, look)


def add_volume(
    parent: Any,
    name: str,
    radii: tuple[float, float],
    length: tuple[float, float],
    planes: Sequence[Any] = (),
) -> Any:
    """A volume between radii, and between two z; planes: what it has.

    A particle that enters a volume from outside, meets nothing and leaves
    through the same surface would be lost: ACTS takes both crossings for one,
    unless another surface is crossed between them. So one lies next to it.
    """
    import acts

    cylinder = acts.CylinderBounds(
        radii[1] - BORDER, 0.5 * (length[1] - length[0]) - 2.0 * BORDER
    )
    middle = acts.Transform3(acts.Vector3(0.0, 0.0, 0.5 * (length[0] + length[1])))
    node = parent.addLayer(name)
    node.surfaces = [*planes, acts.Surface.createCylinder(middle, cylinder)]
    inner = 0.0 if planes else radii[1] - radii[0] - BORDER
    node.envelope = acts.ExtentEnvelope(z=[BORDER] * 2, r=[inner, 0.5 * BORDER])
    node.layerType = acts.LayerBlueprintNode.LayerType.Cylinder
    node.navigationPolicyFactory = borders_only()
    return node


def borders_only() -> Any:
    """How a particle finds its way out of a volume."""
    import acts

    borders = acts.TryAllNavigationPolicy.Config()
    borders.portals, borders.sensitives = True, False
    return acts.NavigationPolicyFactory.make().add(acts.TryAllNavigationPolicy, borders)


def barrel(part: Part, k: int) -> list[Any]:
    """The planes of a layer of a barrel."""
    import acts

    radius, n_staves = part.layers[k]
    bounds = acts.RectangleBounds(*part.half_size)
    planes = []
    for stave in range(n_staves):
        phi = 2.0 * np.pi * stave / n_staves
        normal = direction(phi + part.tilt)
        across = direction(phi + part.tilt + 0.5 * np.pi)
        for module in range(part.n_modules):
            z = (module - 0.5 * (part.n_modules - 1)) * part.step
            middle = radius * direction(phi) + z * Z_AXIS
            for sensor in part.sensors:
                axes = turned(across, Z_AXIS, sensor.angle)
                planes.append(plane(middle + sensor.offset * normal, axes, bounds))
    return planes


def disc(part: Part, z: float, side: int) -> list[Any]:
    """The planes of a disc at positive (1) or negative z (-1); every other module
    is turned over."""
    import acts

    planes = []
    for ring in part.rings:
        bounds = acts.TrapezoidBounds(*ring.half_u, ring.half_v, 0.0)
        for module in range(ring.n_modules):
            phi = ring.turn + 2.0 * np.pi * module / ring.n_modules
            outward = direction(phi)
            turn = -1.0 if module % 2 else 1.0
            middle = z + side * ring.offset + turn * ring.gap
            for sensor in ring.sensors:
                angle = side * turn * sensor.angle
                axes = turned(direction(phi - 0.5 * np.pi), outward, angle)
                height = (middle + turn * sensor.offset) * Z_AXIS
                planes.append(plane(ring.radius * outward + height, axes, bounds))
    return planes


def direction(phi: float) -> np.ndarray:
    """A unit vector across the beam line."""
    return np.array((np.cos(phi), np.sin(phi), 0.0))


def turned(
    u: np.ndarray, v: np.ndarray, angle: float
) -> tuple[np.ndarray, np.ndarray]:
    """The axes u and v, turned in their plane."""
    c, s = np.cos(angle), np.sin(angle)
    return c * u + s * v, c * v - s * u


def plane(
    centre: np.ndarray, axes: tuple[np.ndarray, np.ndarray], bounds: Any
) -> Any:
    """A sensitive plane with axes u and v."""
    import acts

    columns = (*axes, np.cross(*axes))
    rotation = acts.RotationMatrix3(*(acts.Vector3(*axis) for axis in columns))
    surface = acts.Surface.createPlane(
        acts.Transform3(acts.Vector3(*centre), rotation), bounds
    )
    surface.assignIsSensitive(True)
    return surface


def add_material(planes: list[Any], modules: Modules, path: str) -> None:
    """Give every plane its slab, by a file, the only way from Python."""
    import acts
    import acts.json

    slabs = {
        part.volume + i: {"material": SILICON, "thickness": part.silicon}
        for part in PARTS
        for i in range(3)
    }
    entries = [
        {
            "volume": volume,
            "layer": layer,
            "sensitive": number,
            "value": {
                "material": {
                    "type": "homogeneous",
                    "mapMaterial": True,
                    "mappingType": "Default",
                    "data": [[slabs[volume]]],
                }
            },
        }
        for volume, layer, number in zip(
            modules.volume_id.tolist(),
            modules.layer_id.tolist(),
            modules.acts_id.tolist(),
            strict=True,
        )
    ]
    content = {
        f"{kind}s": {
            "acts-geometry-hierarchy-map": {
                "format-version": 0,
                "value-identifier": f"Material {kind} Map",
            },
            "entries": entries if kind == "Surface" else [],
        }
        for kind in ("Surface", "Volume")
    }
    with open(path, "w", encoding="ascii") as file:
        json.dump(content, file)
    decorator = acts.json.JsonMaterialDecorator(
        acts.json.MaterialMapJsonConverter.Config(), path, acts.logging.ERROR
    )
    os.remove(path)
    for surface in planes:
        decorator.decorate(surface)
