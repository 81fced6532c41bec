"""test_open_data_detector -- its modules, and what particles leave there.

Skipped without pyacts 48 or later.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import unittest

import numpy as np
from exatrkx.files import trackml_csv
from exatrkx.simulation import (
    fatras,
    generator,
    open_data_detector,
    simulate,
    space_points,
)
from support import needs

MUON_MASS = 0.1056584  # GeV


@needs("acts")
class OpenDataDetector(unittest.TestCase):
    folder: tempfile.TemporaryDirectory[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        if not open_data_detector.is_supported():
            out = ["--detector", "open-data", "--set", "small", "--out", cls.folder.name]
            text = io.StringIO()
            with contextlib.redirect_stderr(text):
                assert simulate.main(out) == 1
            assert "needs pyacts 48 or later" in text.getvalue()
            raise unittest.SkipTest("pyacts before 48")
        cls.fatras = fatras.Fatras(cls.folder.name, detector="open-data")
        cls.modules = cls.fatras.modules
        rng = np.random.default_rng(1)
        cls.eta = rng.uniform(-3.0, 3.0, 4000)
        cls.found = cls.muons(10.0, rng.uniform(-np.pi, np.pi, 4000), cls.eta)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()

    @classmethod
    def muons(
        cls,
        pt: float,
        phi: np.ndarray,
        eta: np.ndarray,
        position: np.ndarray | None = None,
    ) -> fatras.Measurements:
        """What muons leave that start from position, or the origin."""
        n = len(phi)
        muons = generator.Particles(
            particle_id=np.arange(1, n + 1),
            pdg=np.full(n, -13),
            mass=np.full(n, MUON_MASS),
            charge=np.ones(n, dtype=np.int64),
            position=np.zeros((n, 3)) if position is None else position,
            momentum=generator.momenta(np.full(n, pt), phi, eta),
            last_hit=np.full(n, 10**6),
        )
        found, _ = cls.fatras.run(muons, 1)
        return found

    def rows(self, found: fatras.Measurements, *volumes: int) -> np.ndarray:
        """Whether hits are in one of the volumes."""
        return np.isin(self.modules.volume_id[found.module], volumes)

    def test_modules(self) -> None:
        """As many sensors as are published, in reach of one another."""
        modules = self.modules
        volumes, count = np.unique(modules.volume_id, return_counts=True)
        self.assertEqual(
            dict(zip(volumes.tolist(), count.tolist())),
            {16: 420, 17: 2492, 18: 420, 23: 756, 24: 5796, 25: 756}
            | {28: 1152, 29: 5880, 30: 1152},
        )
        self.assertAlmostEqual(np.abs(modules.centre[:, 2]).max(), 3025.5)
        stereo = np.isin(modules.volume_id, modules.design.stereo_volumes)
        first = np.flatnonzero(stereo)[::2]
        self.assertTrue((modules.acts_id[first] % 2 == 1).all())
        apart = np.linalg.norm(modules.centre[first] - modules.centre[first + 1], axis=1)
        self.assertEqual(set(apart.round(3).tolist()), {5.0, 6.6})

    def test_strips_of_both_ends_mirror_each_other(self) -> None:
        """Strips of the sensor further out are turned by 0.02, of the other by -0.02."""
        modules = self.modules
        x, y, z = modules.centre.T
        across = np.stack((-y, x, 0.0 * z), axis=1) / np.hypot(x, y)[:, np.newaxis]
        turn = (modules.rotation[:, :, 1] * across).sum(1)
        for volume in (28, 30):
            first = np.flatnonzero(modules.volume_id == volume)[::2]
            is_outside = np.abs(z[first]) > np.abs(z[first + 1])
            outside = np.where(is_outside, first, first + 1)
            inside = np.where(is_outside, first + 1, first)
            np.testing.assert_allclose(turn[outside], np.sin(0.02), atol=1e-6)
            np.testing.assert_allclose(turn[inside], -np.sin(0.02), atol=1e-6)

    def test_layers_have_numbers_by_radius_or_z(self) -> None:
        modules = self.modules
        radius = np.hypot(modules.centre[:, 0], modules.centre[:, 1])
        for volume in np.unique(modules.volume_id).tolist():
            inside = modules.volume_id == volume
            layers = np.unique(modules.layer_id[inside])
            along = radius if volume in modules.design.barrel_volumes else modules.centre[:, 2]
            means = [along[inside & (modules.layer_id == k)].mean() for k in layers]
            self.assertEqual(layers.tolist(), list(range(2, 2 * len(layers) + 2, 2)))
            self.assertEqual(means, sorted(means))

    def test_every_layer_has_a_hit_of_what_crosses_it(self) -> None:
        """Muons that are nearly straight, off the ends of barrels and discs."""
        modules, slope = self.modules, np.sinh(self.eta)
        radius = np.hypot(modules.centre[:, 0], modules.centre[:, 1])
        key = 100 * modules.volume_id + modules.layer_id
        for layer in np.unique(key):
            rows = key == layer
            z = modules.centre[rows, 2]
            if layer // 100 in modules.design.barrel_volumes:
                end = (np.abs(z) + modules.half_v[rows]).max() - 15.0
                inside = np.abs(radius[rows].mean() * slope) < end
            else:
                crossed = z.mean() / slope
                inner = (radius[rows] - modules.half_v[rows]).min() + 8.0
                outer = (radius[rows] + modules.half_v[rows]).max() - 8.0
                inside = (crossed > inner) & (crossed < outer)
            hit = np.zeros(len(slope), dtype=bool)
            hit[self.found.particle[key[self.found.module] == layer]] = True
            self.assertGreater(inside.sum(), 50)
            self.assertGreater(hit[inside].mean(), 0.97, layer)

    def test_every_system_has_material(self) -> None:
        """A muon of 10 GeV loses about 0.4 MeV in a millimetre of silicon."""
        momentum = np.linalg.norm(self.found.true_momentum, axis=1)
        for part in open_data_detector.PARTS:
            hits = self.rows(self.found, part.volume, part.volume + 1, part.volume + 2)
            particle = self.found.particle[hits]
            count = np.bincount(particle, minlength=len(self.eta))
            first = np.zeros(len(self.eta))
            last = np.full(len(self.eta), np.inf)
            np.maximum.at(first, particle, momentum[hits])
            np.minimum.at(last, particle, momentum[hits])
            several = count > 2
            loss = (first - last)[several] / (count[several] - 1) / part.silicon
            self.assertGreater(several.sum(), 500)
            self.assertTrue(0.0003 < np.median(loss) < 0.001, np.median(loss))

    def test_particles_that_fly_inward(self) -> None:
        """They come out again on the other side, and are followed there."""
        n, rng = 500, np.random.default_rng(3)
        radius, phi = rng.uniform(30.0, 600.0, n), rng.uniform(-np.pi, np.pi, n)
        start = np.stack((radius * np.cos(phi), radius * np.sin(phi), np.full(n, 5.0)), 1)
        eta = rng.uniform(-2.0, 2.0, n)
        for pt in (0.3, 1.0, 10.0):
            for impact in (0.0, rng.uniform(-0.95, 0.95, n)):
                way = phi + np.pi - np.arcsin(impact)
                found = self.muons(pt, way, eta, start)
                count = np.bincount(found.particle, minlength=n)
                self.assertLess((count < 2).mean(), 0.01)
                self.assertGreater(count.mean(), 10.0)

    def test_hits_are_not_shifted(self) -> None:
        """Across the strips, or the columns of pixels, of every kind of sensor."""
        modules, found = self.modules, self.found
        axis = modules.rotation[found.module][:, :, 0]
        away = ((found.position - found.true_position) * axis).sum(1)
        volume, half = modules.volume_id[found.module], modules.max_half_u[found.module]
        kinds = set(zip(modules.volume_id.tolist(), modules.max_half_u.tolist()))
        self.assertEqual(len(kinds), 17)
        for kind in kinds:
            chosen = away[(volume == kind[0]) & (half == kind[1])]
            error = chosen.std() / np.sqrt(len(chosen))
            self.assertLess(error, 0.0015)
            self.assertLess(abs(chosen.mean()), 4.0 * error, kind)

    def test_points_of_crossing_strips(self) -> None:
        """The softer the particle, the further they are off, and the fewer."""
        rng = np.random.default_rng(2)
        for pt, share in ((1.0, (0.5, 0.65)), (2.0, (0.7, 0.85)), (5.0, (0.85, 0.95))):
            phi, eta = rng.uniform(-np.pi, np.pi, 1000), rng.uniform(-0.8, 0.8, 1000)
            found = self.muons(pt, phi, eta)
            points = space_points.join(self.modules, found)
            inner = self.rows(points, 29) & (self.modules.layer_id[points.module] == 2)
            inner &= points.particle >= 0
            found_share = len(np.unique(points.particle[inner])) / 1000
            self.assertTrue(share[0] < found_share < share[1], found_share)
            away = np.linalg.norm(points.position - points.true_position, axis=1)[inner]
            self.assertTrue(35.0 < pt * np.median(away) < 50.0, np.median(away))
            self.assertLess(pt * away.max(), 60.0)

    def test_event(self) -> None:
        """Pixels and short strips lie where the particles were; twice the same."""
        arguments = ["--detector", "open-data", "--set", "small", "--seed", "5"]
        events = []
        for name in "ab":
            out = os.path.join(self.folder.name, name)
            simulate.make_events(self.fatras, simulate.checked([*arguments, "--out", out]))
            events.append(trackml_csv.read_event(os.path.join(out, "event000000000")))
        for table in ("hits", "truth", "particles", "cells"):
            for column, values in events[0][table].items():
                np.testing.assert_array_equal(values, events[1][table][column])
        hits, truth = events[0]["hits"], events[0]["truth"]
        away = np.sqrt(sum((hits[k] - truth["t" + k]) ** 2 for k in "xyz"))
        for volumes, bound in (((16, 17, 18), 0.05), ((23, 24, 25), 0.4)):
            chosen = np.isin(hits["volume_id"], volumes) & (truth["particle_id"] > 0)
            self.assertGreater(chosen.sum(), 100)
            self.assertLess(away[chosen].max(), bound)

    def test_dead_volumes_of_another(self) -> None:
        out = os.path.join(self.folder.name, "none")
        wrong = ["--detector", "open-data", "--set", "small", "--dead-volumes", "8"]
        text = io.StringIO()
        with contextlib.redirect_stderr(text), self.assertRaises(SystemExit) as exit:
            simulate.main([*wrong, "--out", out])
        self.assertEqual(exit.exception.code, 2)
        self.assertIn("--dead-volumes 8: the detector has [16, 17", text.getvalue())


if __name__ == "__main__":
    unittest.main()
