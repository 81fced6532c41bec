"""test_field_steps -- the field that true momenta tell.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import unittest

import support  # noqa: F401  the path of the package

import numpy as np
from exatrkx.simulation import field
from exatrkx.tools import field_steps


def random_steps(rng: np.random.Generator, n: int) -> field_steps.Steps:
    """Steps of particles from the origin, with nothing measured."""
    azimuth, slope = rng.uniform(-np.pi, np.pi, n), rng.uniform(-5.0, 5.0, n)
    across = rng.uniform(100.0, 500.0, n)
    middle = np.stack((np.cos(azimuth), np.sin(azimuth), slope), 1) * across[:, None]
    length = rng.uniform(50.0, 300.0, n)
    nothing = np.zeros(n)
    return field_steps.Steps(nothing, nothing, slope, azimuth, length, middle)


def measured(steps: field_steps.Steps, turning: np.ndarray) -> field_steps.Steps:
    """The same steps with bending and tilting."""
    rest = (steps.slope, steps.azimuth, steps.length, steps.middle)
    return field_steps.Steps(turning[0], turning[1], *rest)


class FieldSteps(unittest.TestCase):
    def test_helix(self) -> None:
        """In a uniform field everything bends by it and nothing tilts."""
        pt, pz, strength = 1.0, 2.0, 1.5
        for charge in (-1, 1):
            turn = -charge * np.linspace(0.0, 0.6, 7)
            radius = pt / (field_steps.LIGHT * strength)
            x, y = radius * np.sin(turn) * -charge, charge * radius * (np.cos(turn) - 1.0)
            z = radius * np.abs(turn) * pz / pt
            momentum = np.stack((np.cos(turn), np.sin(turn), 0.0 * turn + pz), axis=1)
            point = np.stack((x, y, z), axis=1)
            owner, charges = np.zeros(7, dtype=int), np.full(7, charge)
            found = field_steps.steps(owner, charges, point, momentum)
            self.assertEqual(len(found.length), 6)
            # A chord is shorter than its arc.
            np.testing.assert_allclose(found.bending, strength, rtol=1e-3)
            np.testing.assert_allclose(found.tilting, 0.0, atol=1e-12)

    def test_steps_are_of_one_particle_and_stiff(self) -> None:
        point = np.cumsum(np.full((6, 3), 30.0), axis=0)
        momentum = np.full((6, 3), 1.0)
        momentum[4] = 0.1
        owner = np.array([0, 0, 1, 1, 1, 1])
        found = field_steps.steps(owner, np.ones(6, dtype=int), point, momentum)
        np.testing.assert_allclose(found.middle[:, 0], (45.0, 105.0, 135.0))

    def test_middle_of_a_coil(self) -> None:
        """Found again where scattering hides it, and not at the origin."""
        rng = np.random.default_rng(1)
        steps = random_steps(rng, 3000)
        coil = np.array((-150.0, 70.0, 200.0, 1.9))
        turning = field_steps.turning(steps, coil)
        turning += rng.normal(scale=0.01, size=turning.shape)
        turning[:, ::20] += rng.normal(scale=2.0, size=turning[:, ::20].shape)
        found = field_steps.middle_of_coil(measured(steps, turning))
        assert found is not None
        np.testing.assert_allclose(found[:3], coil[:3], atol=12.0)
        self.assertAlmostEqual(found[3], 1.9, delta=0.02)

    def test_turning_is_the_field(self) -> None:
        """Of particles on the way out from the axis of the coil."""
        steps = random_steps(np.random.default_rng(2), 50)
        bending, tilting = field_steps.turning(steps, np.array((0.0, 0.0, 0.0, 2.0)))
        radial, axial = field.solenoid(
            np.hypot(*steps.middle[:, :2].T), steps.middle[:, 2]
        )
        scale = 2.0 / field.solenoid(np.zeros(1), np.zeros(1))[1][0]
        np.testing.assert_allclose(bending, scale * (axial - steps.slope * radial))
        np.testing.assert_allclose(tilting, 0.0, atol=1e-12)

    def test_field_across_the_beam(self) -> None:
        rng = np.random.default_rng(3)
        steps = random_steps(rng, 500)
        tilting = 0.04 * np.cos(steps.azimuth) + 0.03 * np.sin(steps.azimuth)
        tilting += rng.normal(scale=0.01, size=500)
        found = field_steps.across_beam(measured(steps, np.stack((tilting, tilting))))
        np.testing.assert_allclose(found, (-0.03, 0.04), atol=0.003)

    def test_too_few(self) -> None:
        steps = random_steps(np.random.default_rng(4), 9)
        self.assertIsNone(field_steps.across_beam(steps))
        self.assertIsNone(field_steps.middle_of_coil(steps))


if __name__ == "__main__":
    unittest.main()
