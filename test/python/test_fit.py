"""Tracks get parameters, and can be selected by them.

SPDX-License-Identifier: Apache-2.0
"""

import dataclasses
import os
import tempfile
import unittest
from pathlib import Path

import numpy as np

import exatrkx
from exatrkx.simulation import field
from exatrkx.tools import learn_field


class Fit(unittest.TestCase):
    """The true tracks of the shipped event."""

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = scratch.name
        cls.detector = exatrkx.Detector.load()
        cls.model = exatrkx.Model.load()
        cls.event = exatrkx.Event.example()
        ids = cls.event.particles["id"]
        labels = np.searchsorted(ids, cls.event.particle_ids).astype(np.int32)
        labels[cls.event.particle_ids == 0] = -1
        n_hits = np.bincount(labels[labels >= 0], minlength=len(ids))
        labels[(labels >= 0) & (n_hits[labels] < 6)] = -1
        cls.tracks = exatrkx.Tracks.from_labels(labels)
        first = cls.tracks.hits[cls.tracks.offsets[:-1]]
        cls.particles = cls.event.particles[labels[first]]

    def fit(self, **options):
        return exatrkx.fit_tracks(
            self.event,
            self.tracks,
            self.detector,
            model=self.model,
            options=exatrkx.FitOptions(**options),
        )

    def test_momentum(self):
        found = self.fit()
        px, py, _ = self.particles["momentum"].T
        pt = np.hypot(px, py)
        vertex = np.hypot(*self.particles["vertex"].T[:2])
        good = (found.n_degrees > 0) & (vertex < 0.1) & (pt > 0.5)
        self.assertGreater(good.sum(), 20)
        charge = self.particles["charge"][good]
        ratio = found.q_over_pt[good] * pt[good] / charge
        self.assertLess(abs(np.median(ratio) - 1), 0.05)
        self.assertLess(np.median(np.abs(ratio - 1)), 0.08)
        self.assertLess(np.median(np.abs(found.d0[good])), 0.3)
        self.assertEqual(found.covariance.shape, (len(self.tracks), 5, 5))
        self.assertTrue(
            np.array_equal(found.covariance, found.covariance.swapaxes(1, 2))
        )

    def test_order_of_arguments(self):
        with self.assertRaisesRegex(TypeError, "event: Tracks, expected exatrkx.Event"):
            exatrkx.fit_tracks(self.tracks, self.event, self.detector)

    def test_select(self):
        found = self.fit(max_hit_chi2=20.0)
        keep = found.n_degrees > 0
        chosen = exatrkx.select_tracks(self.tracks, keep=keep, drop=found.is_outlier)
        self.assertEqual(len(chosen), keep.sum())
        self.assertEqual(
            len(self.tracks.hits) - found.is_outlier.sum(),
            len(exatrkx.select_tracks(self.tracks, drop=found.is_outlier).hits),
        )
        self.assertEqual(found.n_outliers.sum(), found.is_outlier.sum())
        self.assertEqual(
            len(self.tracks.hits[~found.is_outlier]),
            len(self.tracks.hits) - found.n_outliers.sum(),
        )
        with self.assertRaises(ValueError):
            exatrkx.select_tracks(self.tracks, keep=keep[:-1])
        for wide in (256 * keep, 0.5 * keep):
            self.assertEqual(len(exatrkx.select_tracks(self.tracks, keep=wide)), keep.sum())

    def test_resolve(self):
        """Of tracks that are there twice, one stays; half tracks go."""
        again = exatrkx.Tracks.from_lists(
            self.tracks.n_hits,
            np.concatenate(
                [self.tracks.offsets, self.tracks.offsets[1:] + len(self.tracks.hits)]
            ),
            np.concatenate([self.tracks.hits, self.tracks.hits]),
        )
        fit = exatrkx.fit_tracks(self.event, again, self.detector, model=self.model)
        left = exatrkx.resolve_tracks(again, fit)
        self.assertEqual(len(left), len(self.tracks))
        self.assertTrue(np.array_equal(left.hits, self.tracks.hits))
        every = exatrkx.resolve_tracks(again, fit, max_shared=self.tracks.n_hits)
        self.assertEqual(len(every), 2 * len(self.tracks))
        with self.assertRaisesRegex(exatrkx.ArgumentError, "min_hits 0 is below 1"):
            exatrkx.resolve_tracks(again, fit, min_hits=0)
        with self.assertRaises(ValueError):
            exatrkx.resolve_tracks(self.tracks, fit)
        first = exatrkx.select_tracks(
            self.tracks, keep=np.arange(len(self.tracks)) < 1
        )
        fit = exatrkx.fit_tracks(self.event, first, self.detector, model=self.model)
        n = len(self.tracks)
        with self.assertRaisesRegex(ValueError, f"of 1 tracks, there are {n}"):
            exatrkx.resolve_tracks(self.tracks, fit)

    def test_field_map(self):
        """A map of a uniform field in a file, its axis and middle elsewhere."""
        uniform = np.zeros((3, 5, 2))
        uniform[..., 1] = 2.0
        given = exatrkx.FitOptions(
            field_map=uniform, max_r=1200.0, max_z=3500.0, map_x=7.0, map_y=-9.0, map_z=80.0
        )
        for name in ("map.csv", "map.csv.gz"):
            path = os.path.join(self.folder, name)
            exatrkx.write_field_map(path, given)
            read = exatrkx.read_field_map(path, material=0.01)
            self.assertTrue(np.array_equal(read.field_map, uniform))
            self.assertEqual(dataclasses.replace(read, field_map=None, material=0.02),
                             dataclasses.replace(given, field_map=None))
        found = self.fit(**vars(given)).q_over_pt
        self.assertTrue(np.allclose(found, self.fit(field=2.0).q_over_pt, atol=1e-9))
        with self.assertRaisesRegex(ValueError, "have no field_map"):
            exatrkx.write_field_map(path, exatrkx.FitOptions())

    def test_refused_maps(self):
        path = os.path.join(self.folder, "bad.csv")
        grid = [f"{r},{z},0,2" for r in (0, 50) for z in (-10, 0, 10)]
        for error, lines in (
            ("columns r,z,b_z, expected", ["r,z,b_z", "0,0,1"]),
            ("no grid", ["r,z,b_r,b_z", *grid[1:]]),
            ("no grid", ["r,z,b_r,b_z", *grid[:-1], "50,11,0,2"]),
            ("no grid", ["r,z,b_r,b_z", *grid[:3]]),
            ("no grid", ["r,z,b_r,b_z", *grid[1:], grid[3]]),
            ("no grid", ["r,z,b_r,b_z", *(line.replace("0,", "1,", 1) for line in grid)]),
        ):
            Path(path).write_text("\n".join(lines) + "\n")
            with self.assertRaisesRegex(ValueError, error):
                exatrkx.read_field_map(path)

    def test_learn_field(self):
        """Of one event: nearer to the field of the simulation than the model's."""
        path = os.path.join(self.folder, "learned.csv")
        data = Path(__file__).parents[2] / "examples" / "data"
        self.assertEqual(learn_field.main([str(data), "--out", path]), 0)
        learned = exatrkx.read_field_map(path)
        r = np.linspace(0.0, learned.max_r, len(learned.field_map))
        z = learned.map_z + np.linspace(-1.0, 1.0, learned.field_map.shape[1]) * learned.max_z
        true = np.stack(field.solenoid(*np.broadcast_arrays(r[:, None], z)), axis=-1)
        true *= field.CENTRE_FIELD / true[0, :, 1].max()
        off = np.abs(learned.field_map - true)[r < 600][:, np.abs(z) < 1500]
        self.assertLess(off.max(), 0.1)
        with self.assertRaises(FileNotFoundError):
            learn_field.main([str(data / "none"), "--out", path])
        bare = exatrkx.Event.from_arrays(np.ones((3, 3)))
        with self.assertRaisesRegex(ValueError, "no truth"):
            exatrkx.learn_field([bare], self.detector)
        with self.assertRaisesRegex(ValueError, "^0 prompt particles"):
            exatrkx.learn_field([], self.detector)

    def test_refused(self):
        with self.assertRaisesRegex(exatrkx.ArgumentError, "material -1"):
            self.fit(material=-1.0)
        with self.assertRaisesRegex(exatrkx.ArgumentError, "field"):
            exatrkx.fit_tracks(self.event, self.tracks, self.detector)
        for text, options in (
            ("field 2.0 T and field_map", {"field": 2.0, "field_map": np.zeros((2, 2, 2))}),
            ("max_r 3.0 and max_z 0.0 mm: need a field_map", {"max_r": 3.0}),
        ):
            with self.assertRaisesRegex(ValueError, text):
                self.fit(**options)
        with self.assertRaisesRegex(TypeError, "material: 'x': must be real"):
            self.fit(material="x")


if __name__ == "__main__":
    unittest.main()
