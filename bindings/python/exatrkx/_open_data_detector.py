"""_open_data_detector -- the tracker of the Open Data Detector, for ACTS.

Layers, modules and pitches as published (Open Data Detector,
doi:10.5281/zenodo.6445359), under the volume and layer numbers that ACTS gives
them. The wheel of pyacts lacks the plugin that builds this detector, so that it
is put together here, of planes in volumes. What is simpler than there: the
material of a module with its supports and services is one slab of silicon, and
there is no beam pipe.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._detector import Design, Detector, Modules, read_modules

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
STEREO_DISC = (Sensor(-2.5, 0.02), Sensor(2.5, -0.02))
LONG_STRIP = Part(
    volume=28,
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
BEAM_HOLE = (24.0, 3100.0)  # radius and half length in mm
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
    tracker = root.addCylinderContainer("tracker", acts.AxisDirection.AxisR)
    middle = acts.Transform3(acts.Vector3(0.0, 0.0, 0.0))
    hole = acts.CylinderVolumeBounds(0.0, *BEAM_HOLE)
    tracker.addStaticVolume(middle, hole, "beam")
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
    import acts

    axis = acts.AxisDirection
    gap = acts.VolumeAttachmentStrategy.Gap
    along = tracker.addCylinderContainer(str(part.volume), axis.AxisZ)
    along.attachmentStrategy = gap
    added = []
    for side in (-1, 0, 1):
        volume = part.volume + 1 + side
        across = along.addCylinderContainer(
            f"volume {volume}", axis.AxisZ if side else axis.AxisR
        )
        across.attachmentStrategy = gap
        for k in range(len(part.discs if side else part.layers)):
            planes = disc(part, k, side) if side else barrel(part, k)
            bins = (
                (len(part.rings), part.rings[0].n_modules)
                if side
                else (part.layers[k][1], part.n_modules)
            )
            add_layer(across, volume, k, planes, bins)
            added += planes
    return added


def add_layer(
    parent: Any, volume: int, k: int, planes: list[Any], bins: tuple[int, int]
) -> None:
    """Make a layer of planes; bins: to look for them in."""
    import acts

    kind = "Cylinder" if volume in DESIGN.barrel_volumes else "Disc"
    arrays = acts.SurfaceArrayNavigationPolicy
    look = arrays.Config()
    look.layerType = getattr(arrays.LayerType, kind)
    look.bins = bins
    borders = acts.TryAllNavigationPolicy.Config()
    borders.portals, borders.sensitives = True, False
    identity = acts.GeometryIdentifierBlueprintNode()
    identity.setAllVolumeIdsTo(volume)
    identity.setLayerIdTo(2 * (k + 1))
    parent.addChild(identity)
    layer = identity.addLayer(f"layer {volume} {k}")
    layer.surfaces = planes
    layer.layerType = getattr(acts.LayerBlueprintNode.LayerType, kind)
    layer.envelope = acts.ExtentEnvelope(z=[ENVELOPE] * 2, r=[ENVELOPE] * 2)
    layer.navigationPolicyFactory = (
        acts.NavigationPolicyFactory.make()
        .add(acts.TryAllNavigationPolicy, borders)
        .add(arrays, look)
    )


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


def disc(part: Part, k: int, side: int) -> list[Any]:
    """The planes of a disc at positive (1) or negative z (-1), inner ones first
    in z as ACTS stacks them."""
    import acts

    z = side * (part.discs[k] if side > 0 else part.discs[-1 - k])
    planes = []
    for ring in part.rings:
        bounds = acts.TrapezoidBounds(*ring.half_u, ring.half_v, 0.0)
        for module in range(ring.n_modules):
            phi = ring.turn + 2.0 * np.pi * module / ring.n_modules
            outward = direction(phi)
            gap = -ring.gap if module % 2 else ring.gap
            middle = ring.radius * outward + (z + side * ring.offset + gap) * Z_AXIS
            for sensor in ring.sensors:
                axes = turned(direction(phi - 0.5 * np.pi), outward, sensor.angle)
                planes.append(plane(middle + sensor.offset * Z_AXIS, axes, bounds))
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
