"""Tracks get parameters, and can be selected by them.

SPDX-License-Identifier: Apache-2.0
"""

import unittest

import numpy as np

import exatrkx


class Fit(unittest.TestCase):
    """The true tracks of the shipped event."""

    @classmethod
    def setUpClass(cls):
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
            self.model,
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
        chosen = exatrkx.select_tracks(self.tracks, keep, found.is_outlier)
        self.assertEqual(len(chosen), keep.sum())
        self.assertEqual(
            len(self.tracks.hits) - found.is_outlier.sum(),
            len(exatrkx.select_tracks(self.tracks, drop=found.is_outlier).hits),
        )
        self.assertEqual(found.n_outliers.sum(), found.is_outlier.sum())
        with self.assertRaises(ValueError):
            exatrkx.select_tracks(self.tracks, keep[:-1])
        for wide in (256 * keep, 0.5 * keep):
            self.assertEqual(len(exatrkx.select_tracks(self.tracks, wide)), keep.sum())

    def test_resolve(self):
        """Of tracks that are there twice, one stays; half tracks go."""
        again = exatrkx.Tracks.from_lists(
            self.tracks.n_hits,
            np.concatenate(
                [self.tracks.offsets, self.tracks.offsets[1:] + len(self.tracks.hits)]
            ),
            np.concatenate([self.tracks.hits, self.tracks.hits]),
        )
        fit = exatrkx.fit_tracks(self.event, again, self.detector, self.model)
        left = exatrkx.resolve_tracks(again, fit)
        self.assertEqual(len(left), len(self.tracks))
        self.assertTrue(np.array_equal(left.hits, self.tracks.hits))
        every = exatrkx.resolve_tracks(again, fit, max_shared=self.tracks.n_hits)
        self.assertEqual(len(every), 2 * len(self.tracks))
        with self.assertRaises(ValueError):
            exatrkx.resolve_tracks(self.tracks, fit)
        first = exatrkx.select_tracks(self.tracks, np.arange(len(self.tracks)) < 1)
        fit = exatrkx.fit_tracks(self.event, first, self.detector, self.model)
        n = len(self.tracks)
        with self.assertRaisesRegex(ValueError, f"of 1 tracks, there are {n}"):
            exatrkx.resolve_tracks(self.tracks, fit)

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
