"""field_steps -- what the true momenta of particles say about the magnetic field.

Lengths in mm, momenta in GeV, fields in tesla.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from ..simulation.field import solenoid

LIGHT = 2.99792458e-4  # GeV per tesla and mm
MIN_PT = 0.4  # of the steps
MIN_DISTANCE = 25.0  # across the beam
MIN_STEPS = 10
ROUNDS = 12  # of the fits
# For the middle of the coil: steps where its field is not uniform, at most as many
# as its closed form takes seconds for.
FRINGE_Z = 1000.0
MAX_STEPS = 4000


@dataclass(frozen=True)
class Steps:
    """Pairs of neighbouring hits of stiff particles, one entry for each."""

    bending: np.ndarray  # the field that turns them across the beam
    tilting: np.ndarray  # and the one, across the beam and them, that tilts them
    slope: np.ndarray  # pz / pT
    azimuth: np.ndarray  # rad, of the momentum
    length: np.ndarray
    middle: np.ndarray  # [n, 3] between the hits

    def chosen(self, rows: np.ndarray) -> Steps:
        """Some of them: a mask or rows."""
        return Steps(*(getattr(self, field.name)[rows] for field in fields(Steps)))


def steps(
    owner: np.ndarray, charge: np.ndarray, point: np.ndarray, momentum: np.ndarray
) -> Steps:
    """Steps between hits that are sorted along their particles.

    owner, charge [n], point, momentum [n, 3]: of the particle of each hit and there.
    Across the beam B = -dphi pT / (q 0.3 ds), ds the distance across the beam: in
    forward direction the radial field has a part in it, with the opposite sign. The
    polar angle of a particle that leaves the beam line changes only where the field
    has a component across the beam and the particle: B = dtheta p / (q 0.3 dl).
    """
    px, py, pz = momentum.T
    phi, pt = np.arctan2(py, px), np.hypot(px, py)
    dphi = (np.diff(phi) + np.pi) % (2.0 * np.pi) - np.pi
    dtheta = np.diff(np.arctan2(pt, pz))
    step, middle = np.diff(point, axis=0), 0.5 * (point[1:] + point[:-1])
    across, length = np.hypot(step[:, 0], step[:, 1]), np.linalg.norm(step, axis=1)
    good = (owner[1:] == owner[:-1]) & (across > MIN_DISTANCE) & (pt[:-1] > MIN_PT)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = charge[:-1] * np.hypot(pt, pz)[:-1] / LIGHT
        found = Steps(
            bending=-dphi * charge[:-1] * pt[:-1] / (LIGHT * across),
            tilting=-dtheta * scale / length,
            slope=pz[:-1] / pt[:-1],
            azimuth=phi[:-1] + 0.5 * dphi,
            length=length,
            middle=middle,
        )
    return found.chosen(good)


def across_beam(found: Steps) -> tuple[float, float] | None:
    """The field along x and y that best fits the changes of the polar angles."""
    if len(found.length) < MIN_STEPS:
        return None
    matrix = np.stack((-np.sin(found.azimuth), np.cos(found.azimuth)), axis=1)
    field = np.zeros(2)
    for _ in range(ROUNDS):
        away = found.tilting - matrix @ field
        field = field + least_squares(matrix, away)
    return float(field[0]), float(field[1])


def middle_of_coil(found: Steps) -> np.ndarray | None:
    """The middle (x, y, z) of the solenoid of simulation/field.py that best turns
    the particles, and its field there: Gauss and Newton's method."""
    found = found.chosen(np.flatnonzero(np.abs(found.middle[:, 2]) > FRINGE_Z))
    found = found.chosen(np.arange(len(found.length))[:MAX_STEPS])
    if len(found.length) < 10 * MIN_STEPS:
        return None
    observed = np.stack((found.bending, found.tilting))
    # Scattering turns all steps of a momentum alike, so long ones say more.
    sine = 1.0 / np.hypot(1.0, found.slope)
    scale = found.length * np.stack((sine, np.ones_like(sine)))
    result = np.array((0.0, 0.0, 0.0, 2.0))
    for _ in range(ROUNDS):
        turned = turning(found, result)
        columns = []
        for axis, size in enumerate((1.0, 1.0, 1.0, 1e-3)):
            moved = result.copy()
            moved[axis] += size
            columns.append((scale * (turning(found, moved) - turned) / size).ravel())
        away = (scale * (observed - turned)).ravel()
        result = result + least_squares(np.stack(columns, axis=1), away)
    return result


def least_squares(matrix: np.ndarray, away: np.ndarray) -> np.ndarray:
    """The step that reduces what is away; more than twice the median counts less."""
    size = np.abs(away)
    weight = 1.0 / np.maximum(1.0, size / (2.0 * np.median(size) + 1e-12))
    scaled = matrix * weight[:, None]
    result: np.ndarray = np.linalg.solve(scaled.T @ matrix, scaled.T @ away)
    return result


def turning(found: Steps, coil: np.ndarray) -> np.ndarray:
    """Bending and tilting [2, n] by a solenoid: x, y, z of its middle, its field."""
    origin = np.zeros(1)
    x, y, z = (found.middle - coil[:3]).T
    radius = np.hypot(x, y)
    radial, axial = solenoid(radius, z)
    scale = coil[3] / solenoid(origin, origin)[1][0]
    outward = scale * radial / np.maximum(radius, 1.0)
    cosine, sine = np.cos(found.azimuth), np.sin(found.azimuth)
    along, across = x * cosine + y * sine, y * cosine - x * sine
    bending = scale * axial - found.slope * outward * along
    return np.stack((bending, outward * across))
