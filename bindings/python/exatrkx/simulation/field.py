"""field -- the magnetic field of a thin solenoid, as a map for ACTS.

The field of the TrackML events is that of a solenoid: 2 T in its middle, weaker
and with a radial part towards the ends. The turning of the tracks of those events
agrees with a coil of 1.2 m radius and 5.3 m length. Closed form: Derby and Olbert,
"Cylindrical magnets and ideal solenoids", Am. J. Phys. 78 (2010) 229, equations 6 to 8.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import numpy as np

CENTRE_FIELD = 2.0  # tesla
COIL_RADIUS = 1200.0  # mm
COIL_HALF_LENGTH = 2650.0  # mm
# Where the tracks of the TrackML events have its middle: not where the detector has
# its own. There the field has no axis in common with the detector.
TRACKML_CENTRE = (-150.0, -150.0, -150.0)  # mm
# Particles on their way out go beyond the coil. Its radius is no grid point.
MAP_RADIUS = np.arange(0.0, 3000.0, 26.0)  # mm
MAP_Z = np.arange(-5000.0, 5001.0, 25.0)  # mm
BOX_XY = np.arange(-2400.0, 2401.0, 80.0)  # mm, points of the map in x, y, z
BOX_Z = np.arange(-4400.0, 4401.0, 80.0)  # mm
N_STEPS = 512  # the midpoint rule converges exponentially here


def elliptic(
    kc: np.ndarray, p: np.ndarray, c: np.ndarray, s: np.ndarray
) -> np.ndarray:
    """Bulirsch's general complete elliptic integral cel(kc, p, c, s)."""
    angle = (np.arange(N_STEPS) + 0.5) * (0.5 * np.pi / N_STEPS)
    cos2, sin2 = np.cos(angle) ** 2, np.sin(angle) ** 2
    kc, p, c, s = (np.asarray(value)[..., None] for value in (kc, p, c, s))
    top = c * cos2 + s * sin2
    bottom = (cos2 + p * sin2) * np.sqrt(cos2 + kc**2 * sin2)
    result: np.ndarray = (top / bottom).mean(axis=-1) * (0.5 * np.pi)
    return result


def solenoid(r: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """B_r and B_z in tesla, in units in which the current sheet is 1.

    r, z: radius and position along the axis in mm, of equal shape.
    """
    one = np.ones_like(r)
    gamma = (COIL_RADIUS - r) / (COIL_RADIUS + r)
    radial, axial = np.zeros_like(r), np.zeros_like(r)
    for sign in (1.0, -1.0):
        end = z + sign * COIL_HALF_LENGTH
        far = np.hypot(end, COIL_RADIUS + r)
        k = np.hypot(end, COIL_RADIUS - r) / far
        radial += sign * COIL_RADIUS / far * elliptic(k, one, one, -one)
        axial += sign * end / far * elliptic(k, gamma**2, one, gamma)
    return radial, axial * COIL_RADIUS / (COIL_RADIUS + r)


def write_map(
    path: str, centre_field: float = CENTRE_FIELD, centre: float = 0.0
) -> None:
    """Write lines of r, z in mm and B_r, B_z in tesla, r running first.

    centre_field: in the middle of the coil, which is at z = centre mm; in tesla.
    """
    origin = np.zeros(1)
    scale = centre_field / solenoid(origin, origin)[1][0]
    rows = []
    for z in MAP_Z.tolist():
        axis_z = np.full_like(MAP_RADIUS, z)
        radial, axial = solenoid(MAP_RADIUS, axis_z - centre)
        rows += [np.stack((MAP_RADIUS, axis_z, radial * scale, axial * scale))]
    np.savetxt(path, np.concatenate(rows, axis=1).T, fmt="%.9g")


def write_box_map(
    path: str, centre_field: float, centre: tuple[float, float, float]
) -> None:
    """Write lines of x, y, z in mm and B in tesla, z running first.

    The field of write_map around any centre, in mm.
    """
    origin = np.zeros(1)
    scale = centre_field / solenoid(origin, origin)[1][0]
    x, y = np.meshgrid(BOX_XY - centre[0], BOX_XY - centre[1], indexing="ij")
    radius, where = np.unique(np.hypot(x, y), return_inverse=True)
    where = where.reshape(x.shape)
    outward = (x / np.maximum(radius, 1.0)[where], y / np.maximum(radius, 1.0)[where])
    values = np.empty((*x.shape, len(BOX_Z), 3))
    for k, z in enumerate(BOX_Z.tolist()):
        radial, axial = solenoid(radius, np.full_like(radius, z - centre[2]))
        for axis in (0, 1):
            values[:, :, k, axis] = scale * radial[where] * outward[axis]
        values[:, :, k, 2] = scale * axial[where]
    points = np.stack(np.meshgrid(BOX_XY, BOX_XY, BOX_Z, indexing="ij"), axis=-1)
    rows = np.concatenate((points, values), axis=-1).reshape(-1, 6)
    np.savetxt(path, rows, fmt="%.7g")
