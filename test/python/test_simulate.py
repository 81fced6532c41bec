"""test_simulate -- event simulation, hit weights and TrackML files.

What needs pyacts is skipped where it is missing.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import shutil
import sys
import tempfile
import unittest
import warnings
from unittest import mock
from pathlib import Path
from typing import Any

from support import REFERENCE, ROOT, needs

DATA = str(ROOT / "examples" / "data")
DETECTORS = os.path.join(DATA, "detectors.csv.gz")
REAL_EVENT = str(REFERENCE / "trackml_event" / "event000000001")
NO_REFERENCE = f"no {REAL_EVENT}-truth.csv.gz (ETX_REFERENCE_DATA)"

import numpy as np
from exatrkx.files import trackml_csv, weights
from exatrkx.simulation import (
    decays,
    detector,
    fatras,
    faults,
    field,
    generator,
    merge,
    noise,
    open_data_detector,
    secondaries,
    simulate,
    space_points,
    trackml_detector,
)
from exatrkx.tools import compare_events


def module_rows(
    design: detector.Design = trackml_detector.DESIGN, **columns: list[float]
) -> detector.Modules:
    """Modules of which only the given columns matter."""
    n = len(next(iter(columns.values())))
    names = detector.Modules.__dataclass_fields__
    filled: dict[str, Any] = {name: np.zeros(n) for name in names}
    filled["design"] = design
    filled["centre"] = np.zeros((n, 3))
    filled["rotation"] = np.tile(np.eye(3), (n, 1, 1))
    filled |= {name: np.array(values) for name, values in columns.items()}
    return detector.Modules(**filled)


def strip_and_pixel() -> detector.Modules:
    """One pixel barrel module and one strip end-cap module."""
    return module_rows(
        volume_id=[8, 12],
        half_thickness=[0.15, 0.25],
        min_half_u=[8.4, 16.4],
        max_half_u=[8.4, 24.2],
        half_v=[36.0, 78.0],
        pitch_u=[0.05, 0.08],
        pitch_v=[0.05625, 1.2],
    )


class Weights(unittest.TestCase):
    def test_order_factors_nine_hits(self) -> None:
        expected = np.array([10, 8, 6, 5, 3, 3, 3, 5, 6]) / 49.0
        np.testing.assert_allclose(weights.order_factors(9), expected)

    def test_order_factors_short_and_long(self) -> None:
        self.assertEqual(weights.order_factors(3).sum(), 0.0)
        self.assertAlmostEqual(weights.order_factors(4).sum(), 1.0)
        long = weights.order_factors(25)
        self.assertAlmostEqual(long.sum(), 1.0)
        self.assertEqual(long[20:].sum(), 0.0)

    def test_pt_factors(self) -> None:
        pt = np.array([0.04, 0.1, 0.5, 1.75, 3.0, 30.0])
        expected = [0.0, 0.2, 0.2, 0.6, 1.0, 1.0]
        np.testing.assert_allclose(weights.pt_factors(pt), expected)

    def test_hit_weights_ignore_noise(self) -> None:
        owner = np.array([0, -1, 0, 0, 0])
        tz = np.array([40.0, 1.0, 10.0, 30.0, 20.0])
        found = weights.hit_weights(owner, tz, np.zeros(1), np.array([1.0]))
        self.assertEqual(found[1], 0.0)
        self.assertAlmostEqual(found.sum(), 1.0)
        order = weights.order_factors(4)
        np.testing.assert_allclose(found[[2, 4, 3, 0]], order)

    def test_hit_weights_none(self) -> None:
        found = weights.hit_weights(
            np.array([-1, -1]), np.zeros(2), np.zeros(0), np.zeros(0)
        )
        self.assertEqual(found.tolist(), [0.0, 0.0])

    @unittest.skipUnless(os.path.exists(REAL_EVENT + "-truth.csv.gz"), NO_REFERENCE)
    def test_hit_weights_real_event(self) -> None:
        """Equal to the published weights but for one common factor."""
        event = trackml_csv.read_event(REAL_EVENT)
        particles, truth = event["particles"], event["truth"]
        owner = trackml_csv.lookup(particles["particle_id"], truth["particle_id"])
        found = weights.hit_weights(
            owner,
            truth["tz"],
            particles["vz"],
            np.hypot(particles["px"], particles["py"]),
        )
        # This file gives no weight to secondaries, generation 1 and up.
        used = truth["weight"] > 0.0
        ratio = found[used] / truth["weight"][used]
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-5)
        generation = (truth["particle_id"] >> 24) & 0xFFF
        self.assertTrue(((found > 0.0) <= (used | (generation > 0))).all())


class Files(unittest.TestCase):
    def test_round_trip_and_equal_bytes(self) -> None:
        table = {
            "hit_id": np.arange(1, 4),
            "particle_id": np.array([0, 2**62 + 1, 4505867370102784]),
            "x": np.array([-1502.5, 0.0784591, 1e-7]),
        }
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, f"{i}.csv.gz") for i in "ab"]
            for path in paths:
                trackml_csv.write_table(path, table)
            first, second = (Path(path).read_bytes() for path in paths)
            self.assertEqual(first, second)
            read = trackml_csv.read_table(paths[0])
        self.assertEqual(list(read), list(table))
        for name, values in table.items():
            np.testing.assert_array_equal(read[name], values)
        text = gzip.decompress(first).decode()
        self.assertEqual(text.split("\n")[1], "1,0,-1502.5")

    def test_missing_column(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "hits.csv")
            trackml_csv.write_table(path, {"hit_id": np.arange(2)})
            with self.assertRaisesRegex(ValueError, "no column x"):
                trackml_csv.read_table(path, ["hit_id", "x"])

    def test_any_text(self) -> None:
        """As the library reads it: by content, with a byte order mark."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "t.csv")
            for text in (b"\xef\xbb\xbfhit_id\n7\n", gzip.compress(b"hit_id\n7\n")):
                Path(path).write_bytes(text)
                self.assertEqual(trackml_csv.read_table(path)["hit_id"].tolist(), [7])
            for text in (b"hit_id\n\xff\n", b"\x1f\x8bx", b"hit_id\na\n"):
                Path(path).write_bytes(text)
                with self.assertRaisesRegex(ValueError, f"^{path}: "):
                    trackml_csv.read_table(path)


class Generator(unittest.TestCase):
    def test_particle_id(self) -> None:
        one = np.array([1])
        packed = generator.pack_particle_id(2047 * one, 65535 * one, one, one)
        self.assertGreater(packed[0], 0)
        self.assertEqual(packed[0] >> 52, 2047)
        self.assertEqual((packed[0] >> 36) & 0xFFFF, 65535)
        self.assertEqual((packed[0] >> 24) & 0xFFF, 1)

    def test_event_is_within_bounds(self) -> None:
        rng = np.random.default_rng(3)
        particles = generator.generate(rng, 50, 0.2)
        self.assertEqual(len(np.unique(particles.particle_id)), len(particles))
        pt = np.hypot(particles.momentum[:, 0], particles.momentum[:, 1])
        eta = np.arcsinh(particles.momentum[:, 2] / pt)
        self.assertGreaterEqual(pt.min(), 0.1 * (1.0 - 1e-12))
        self.assertLessEqual(np.abs(eta).max(), 4.0 + 1e-9)
        radius = np.hypot(particles.position[:, 0], particles.position[:, 1])
        away = radius > 0.5
        self.assertAlmostEqual(away.mean(), 0.2, delta=0.04)
        generation = (particles.particle_id >> 24) & 0xFFF
        np.testing.assert_array_equal(generation, away.astype(int))
        self.assertLess(np.abs(particles.position[:, 2]).max(), 3000.1)
        self.assertEqual(set(particles.charge.tolist()), {-1, 1})

    def test_same_seed_same_event(self) -> None:
        first, second = (
            generator.generate(np.random.default_rng(5), 3, 0.1) for _ in range(2)
        )
        np.testing.assert_array_equal(first.momentum, second.momentum)
        np.testing.assert_array_equal(first.position, second.position)


    def test_beam_spots(self) -> None:
        """Along the beam as long as named; the first numbers stay the same."""
        z = {}
        for spot in generator.BEAM_SPOTS:
            beam = generator.Beam(spot)
            rng = np.random.default_rng(6)
            z[spot] = generator.vertices(rng, 2000, beam)[:, 2]
        np.testing.assert_allclose(z["trackml"] / z["long"], 0.1)
        self.assertAlmostEqual(z["long"].std(), 55.0, delta=3.0)
        self.assertLessEqual(np.abs(z["flat"]).max(), 300.0)
        self.assertAlmostEqual(z["flat"].std(), 300.0 / 3.0**0.5, delta=6.0)

    def test_beam_offset(self) -> None:
        beam = generator.Beam("long", (4.0, -3.0, 100.0))
        centred, aside = (
            generator.generate(np.random.default_rng(5), 3, 0.1, 0.0, one)
            for one in (generator.Beam(), beam)
        )
        prompt = (centred.particle_id >> 24) & 0xFFF == 0
        moved = aside.position[prompt] - centred.position[prompt]
        np.testing.assert_allclose(moved - beam.offset, 0.0, atol=1e-9)
        np.testing.assert_array_equal(aside.momentum, centred.momentum)


class Secondaries(unittest.TestCase):
    def test_generation_and_bounds(self) -> None:
        rng = np.random.default_rng(3)
        particles = generator.generate(rng, 60, 0.2)
        n = len(particles)
        ends = fatras.Ends(
            np.arange(n), particles.position + 50.0, particles.momentum
        )
        made = secondaries.generate(rng, particles, ends)
        both = secondaries.joined(particles, made)
        self.assertEqual(len(np.unique(both.particle_id)), n + len(made))
        self.assertGreater(len(made), n // 3)
        parent = secondaries.identities(particles.particle_id, np.arange(n))
        mask = ~np.int64(0xFFF << 12)
        self.assertLessEqual(
            set((made.particle_id & mask).tolist()), set((parent & mask).tolist())
        )
        self.assertGreater(np.hypot(*made.momentum[:, :2].T).min(), 0.1)
        self.assertEqual(set(np.abs(made.charge).tolist()), {1})
        distance = np.linalg.norm(
            made.position[:, None] - ends.position[None, :], axis=2
        ).min(axis=1)
        self.assertLessEqual(distance.max(), secondaries.STEP + 1e-9)


class Compared(unittest.TestCase):
    def test_set_without_hits(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for kind in trackml_csv.KINDS:
                source = trackml_csv.find_file(os.path.join(DATA, "event000000000"), kind)
                table = trackml_csv.read_table(source)
                path = trackml_csv.event_path(folder, 1, kind, False)
                empty = {name: values[:0] for name, values in table.items()}
                trackml_csv.write_table(path, empty)
            with contextlib.redirect_stdout(io.StringIO()) as out:
                with warnings.catch_warnings(action="error"):
                    self.assertEqual(compare_events.main([folder]), 0)
            self.assertIn("| hits per event | 0 |", out.getvalue())

    def test_detectors_of_another_file(self) -> None:
        event = os.path.join(DATA, "event000000000")
        hits = trackml_csv.find_file(event, "hits")
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(compare_events.main([event, "--detector", hits]), 1)
        self.assertIn(f"{hits}: no column cx", said.getvalue())

    def test_truth_of_ids_alone(self) -> None:
        """The library needs no more; here the true positions are missing."""
        with tempfile.TemporaryDirectory() as folder:
            prefix = shutil.copytree(DATA, f"{folder}/data") + "/event000000000"
            source = trackml_csv.find_file(prefix, "truth")
            table = trackml_csv.read_table(source, ("hit_id", "particle_id", "weight"))
            trackml_csv.write_table(f"{prefix}-truth.csv", table)
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertEqual(compare_events.main([prefix]), 1)
            self.assertIn("-truth.csv: no column tx, ty, tz", said.getvalue())

    def test_truth_of_several_particles(self) -> None:
        """The first line of a hit counts, as in the library."""
        hits = {"hit_id": np.random.default_rng(1).permutation(100) + 1}
        own = np.tile(hits["hit_id"], 3)
        truth = {"hit_id": own, "particle_id": np.repeat([7, 8, 9], 100) + 10 * own}
        found = trackml_csv.aligned(truth, hits)["particle_id"]
        self.assertEqual(found.tolist(), (7 + 10 * hits["hit_id"]).tolist())

    def test_close_hits(self) -> None:
        """The ones of all pairs, but not of one particle or of two events."""
        prefix = os.path.join(DATA, "event000000000")
        sample = compare_events.Sample(prefix)
        point = np.stack([sample.hits[axis] for axis in "xyz"], axis=1)
        away = np.linalg.norm(point[:, None] - point, axis=2)
        both = (sample.owner >= 0) & (sample.owner[:, None] >= 0)
        both &= sample.owner != sample.owner[:, None]
        near = (both & (away <= 20.0)).any(axis=1)
        self.assertTrue(0.02 < near.mean() < 0.9, near.mean())
        np.testing.assert_array_equal(compare_events.close(sample, 20.0), near)
        sample.event = np.arange(sample.n_hits)
        self.assertFalse(compare_events.close(sample, 20.0).any())

    def test_table(self) -> None:
        """A column for each set, of as many properties."""
        sets = [os.path.join(DATA, f"event00000000{k}") for k in range(3)]
        with contextlib.redirect_stdout(io.StringIO()) as out:
            self.assertEqual(compare_events.main([*sets, "--detector", DETECTORS]), 0)
        rows = [line.split(" | ") for line in out.getvalue().splitlines()]
        self.assertEqual(len(rows[0]), 1 + len(sets))
        self.assertEqual({len(row) for row in rows[2:]}, {1 + len(sets)})
        hits = next(row for row in rows if row[0] == "| hits per event")
        self.assertEqual(hits[1:], ["1094", "892", "10569 |"])

    def test_other_detector(self) -> None:
        """Its volumes have rows; it has no cells."""
        with tempfile.TemporaryDirectory() as folder:
            for kind in ("hits", "truth", "particles"):
                source = trackml_csv.find_file(os.path.join(DATA, "event000000000"), kind)
                table = trackml_csv.read_table(source)
                if kind == "hits":
                    table["volume_id"] += 100
                path = trackml_csv.event_path(folder, 1, kind, False)
                trackml_csv.write_table(path, table)
            with contextlib.redirect_stdout(io.StringIO()) as out:
                with warnings.catch_warnings(action="error"):
                    self.assertEqual(compare_events.main([folder, DATA]), 0)
        rows = {line.split(" | ")[0]: line.split(" | ")[1:] for line in out.getvalue().splitlines()}
        other, shipped = rows["| hits of particles in volume 108"]
        self.assertEqual(shipped, "0.0 % |")
        self.assertNotEqual(other, "0.0 %")
        self.assertEqual(rows["| hits of particles in barrel layer 8/2"][0], "0.0 %")
        self.assertEqual(rows["| cells per hit"][0], "-")


class Faults(unittest.TestCase):
    def noise(self, n_modules: int) -> noise.Noise:
        """Two hits on every module, of one and of two cells."""
        module = np.repeat(np.arange(n_modules), 2)
        hits = np.arange(2 * n_modules)
        cell_hit = np.repeat(hits, 1 + hits % 2)
        return noise.Noise(
            module=module,
            position=np.zeros((len(hits), 3)),
            point=np.zeros((len(hits), 3)),
            cell_hit=cell_hit,
            cell_channel=np.stack((cell_hit, cell_hit), axis=1),
            cell_value=cell_hit.astype(float),
        )

    def test_dead_modules(self) -> None:
        modules = module_rows(volume_id=[8] * 1000)
        lost = faults.Faults(dead_modules=0.1)
        before = self.noise(1000)
        dead = lost.dead(modules, 5)
        seen = faults.see(before, modules, lost, 5)
        self.assertAlmostEqual(dead.mean(), 0.1, delta=0.04)
        self.assertEqual(len(seen.module), 2 * (~dead).sum())
        self.assertFalse(dead[seen.module].any())
        # Cells still are of their hits.
        np.testing.assert_array_equal(
            seen.cell_channel[:, 0] // 2, seen.module[seen.cell_hit]
        )
        self.assertFalse(np.array_equal(dead, lost.dead(modules, 6)))

    def test_dead_volumes(self) -> None:
        """All modules of these volumes, and no other."""
        modules = module_rows(volume_id=[7, 8, 9, 9])
        options = simulate.parser().parse_args(
            ["--out", "x", "--dead-volumes", "9", "14"]
        )
        lost = faults.Faults(dead_volumes=tuple(options.dead_volumes))
        np.testing.assert_array_equal(lost.dead(modules, 5), [False, False, True, True])

    def test_misalignment(self) -> None:
        modules = module_rows(volume_id=[8] * 1000)
        lost = faults.Faults(misalignment=0.05)
        seen = faults.see(self.noise(1000), modules, lost, 5)
        np.testing.assert_array_equal(seen.position[::2], seen.position[1::2])
        self.assertAlmostEqual(seen.position.std(), 0.05, delta=0.004)

    def test_inefficiency(self) -> None:
        n = 3000
        found = fatras.Measurements(
            particle=np.arange(n),
            module=np.zeros(n, dtype=np.int64),
            position=np.zeros((n, 3)),
            true_position=np.zeros((n, 3)),
            true_momentum=np.zeros((n, 3)),
            cell_hit=np.arange(n),
            cell_channel=np.zeros((n, 2), dtype=np.int64),
            cell_value=np.arange(float(n)),
        )
        lost = faults.Faults(inefficiency=0.1)
        seen, again, other = (
            faults.lose_hits(found, lost, 5, event) for event in (1, 1, 2)
        )
        self.assertAlmostEqual(len(seen.particle) / n, 0.9, delta=0.03)
        np.testing.assert_array_equal(seen.particle, again.particle)
        self.assertNotEqual(len(seen.particle), len(other.particle))
        np.testing.assert_array_equal(seen.cell_value, seen.particle)
        np.testing.assert_array_equal(seen.cell_hit, np.arange(len(seen.particle)))


class Decays(unittest.TestCase):
    def test_pairs_make_their_parent(self) -> None:
        """Momenta add up, and masses are of K0s, Lambda or nothing."""
        rng = np.random.default_rng(7)
        parent = generator.prompt_momenta(rng, 500)
        kind = rng.integers(0, len(decays.PARENTS), size=500)
        both = decays.daughters(rng, kind, parent)
        np.testing.assert_allclose(both.sum(axis=1), parent, atol=1e-9)
        mass = np.array([p.masses for p in decays.PARENTS])[kind]
        energy = np.sqrt(mass**2 + (both**2).sum(axis=2)).sum(axis=1)
        found = np.sqrt(np.maximum(energy**2 - (parent**2).sum(axis=1), 0.0))
        wanted = np.array([p.mass for p in decays.PARENTS])[kind]
        heavy = wanted > 0.0
        np.testing.assert_allclose(found[heavy], wanted[heavy], rtol=1e-6)
        self.assertLess(found[~heavy].max(), 0.1)

    def test_proper_length(self) -> None:
        rng = np.random.default_rng(8)
        n = 20000
        momentum = generator.prompt_momenta(rng, n)
        for kind in (0, 1):
            parent = decays.PARENTS[kind]
            point = decays.production_points(
                rng, np.full(n, kind), np.zeros((n, 3)), momentum
            )
            size = np.linalg.norm(point, axis=1)
            proper = size * parent.mass / np.linalg.norm(momentum, axis=1)
            self.assertAlmostEqual(
                proper.mean() / parent.proper_length, 1.0, delta=0.04
            )

    def test_photons_convert_in_layers(self) -> None:
        rng = np.random.default_rng(9)
        n = 1000
        point = decays.production_points(
            rng, np.full(n, 3), np.zeros((n, 3)), generator.prompt_momenta(rng, n)
        )
        radius = np.hypot(point[:, 0], point[:, 1])
        away = np.abs(radius[:, None] - decays.LAYER_RADII).min(axis=1)
        self.assertLess(away.max(), decays.LAYER_HALF_WIDTH + 1e-9)

    def test_event_with_pairs(self) -> None:
        """As many particles as without, half of the displaced in pairs."""
        plain, paired = (
            generator.generate(np.random.default_rng(4), 60, 0.3, share)
            for share in (0.0, 0.5)
        )
        self.assertEqual(len(plain), len(paired))
        point, count = np.unique(paired.position, axis=0, return_counts=True)
        pairs = (count == 2) & (np.hypot(point[:, 0], point[:, 1]) > 0.9)
        generation = (paired.particle_id >> 24) & 0xFFF
        self.assertAlmostEqual(2 * pairs.sum() / generation.sum(), 0.5, delta=0.02)
        for vertex_point in point[pairs][:20]:
            rows = np.flatnonzero((paired.position == vertex_point).all(axis=1))
            self.assertEqual(paired.charge[rows].sum(), 0)
            vertex = paired.particle_id[rows] >> 52
            self.assertEqual(vertex[0], vertex[1])
        radius = np.hypot(paired.position[:, 0], paired.position[:, 1])
        self.assertLess(radius.max(), 1100.0)


class Merge(unittest.TestCase):
    def hits(
        self, module: list[int], cells: list[tuple[int, int, int, float]]
    ) -> fatras.Measurements:
        """Hits of particles 0, 1, ... with cells (hit, channels, value)."""
        n = len(module)
        table = np.array(cells, dtype=float)
        return fatras.Measurements(
            particle=np.arange(n),
            module=np.array(module),
            position=np.zeros((n, 3)),
            true_position=np.arange(3.0 * n).reshape(n, 3),
            true_momentum=np.zeros((n, 3)),
            cell_hit=table[:, 0].astype(np.int64),
            cell_channel=table[:, 1:3].astype(np.int64),
            cell_value=table[:, 3],
        )

    def test_touching_pixels(self) -> None:
        """A corner and a shared cell join; a gap and another module do not."""
        found = self.hits(
            [0, 0, 0, 0, 1],
            [
                (0, 10, 10, 0.1),
                (0, 11, 10, 0.1),
                (1, 12, 11, 0.3),
                (1, 13, 11, 0.1),
                (2, 13, 11, 0.2),
                (3, 15, 13, 0.2),
                (4, 12, 11, 1.0),
            ],
        )
        merged = merge.merge(strip_and_pixel(), found)
        self.assertEqual(merged.particle.tolist(), [1, 3, 4])
        self.assertEqual(merged.module.tolist(), [0, 0, 1])
        self.assertEqual(merged.cell_hit.tolist(), [0, 0, 0, 0, 1, 2])
        np.testing.assert_allclose(merged.cell_value[:4], [0.1, 0.1, 0.3, 0.3])
        np.testing.assert_array_equal(
            merged.true_position, found.true_position[[1, 3, 4]]
        )
        # The mean of the cells 10.5, 11.5, 12.5, 13.5 by value, in mm.
        mean = (0.1 * 10.5 + 0.1 * 11.5 + 0.3 * 12.5 + 0.3 * 13.5) / 0.8
        self.assertAlmostEqual(merged.position[0, 0], mean * 0.05 - 8.4)

    def test_nothing_touches(self) -> None:
        cells = [(0, 5, 5, 0.2), (1, 7, 5, 0.4), (2, 5, 5, 1.0)]
        found = self.hits([0, 0, 1], cells)
        merged = merge.merge(strip_and_pixel(), found)
        for name in ("particle", "module", "cell_hit", "cell_channel"):
            np.testing.assert_array_equal(getattr(merged, name), getattr(found, name))
        np.testing.assert_array_equal(merged.cell_value, found.cell_value)

    def test_order_of_hits_is_free(self) -> None:
        """A chain of hits that join only through the last one."""
        cells = [(0, 1, 1, 0.1), (1, 5, 1, 0.1), (2, 2, 1, 0.1)]
        cells += [(2, 3, 1, 0.1), (2, 4, 1, 0.1)]
        merged = merge.merge(strip_and_pixel(), self.hits([0, 0, 0], cells))
        self.assertEqual(merged.particle.tolist(), [2])
        self.assertEqual(len(merged.cell_hit), 5)


class SpacePoints(unittest.TestCase):
    """Two sensors at x = 1000 mm, 5 mm apart, with strips that cross at 0.04 rad,
    and a module of pixels."""

    def setUp(self) -> None:
        self.modules = module_rows(
            open_data_detector.DESIGN,
            volume_id=[17, 29, 29],
            acts_id=[1, 1, 2],
            half_v=[36.0, 54.0, 54.0],
        )
        for row, angle in ((1, 0.04), (2, 0.0)):
            c, s = np.cos(angle), np.sin(angle)
            axes = ((0.0, c, s), (0.0, -s, c), (1.0, 0.0, 0.0))
            self.modules.rotation[row] = np.transpose(axes)
            self.modules.centre[row] = (1000.0 + 5.0 * row, 0.0, 0.0)

    def crossing(self, row: int, y: float, z: float) -> np.ndarray:
        """What the sensor measures of a line from the origin: its strip's middle."""
        centre, axes = self.modules.centre[row], self.modules.rotation[row]
        point = np.array((1.0, y, z)) * centre[0]
        u = (point - centre) @ axes[:, 0]
        return centre + u * axes[:, 0]

    def hits(self, rows: list[tuple[int, int, float, float]]) -> fatras.Measurements:
        """Hits (particle, module, slopes in y and z), each with two cells."""
        n = len(rows)
        positions = [self.crossing(m, y, z) for _, m, y, z in rows]
        truth = [np.array((1.0, y, z)) * self.modules.centre[m, 0] for _, m, y, z in rows]
        return fatras.Measurements(
            particle=np.array([row[0] for row in rows]),
            module=np.array([row[1] for row in rows]),
            position=np.array(positions),
            true_position=np.array(truth),
            true_momentum=np.ones((n, 3)),
            cell_hit=np.repeat(np.arange(n), 2),
            cell_channel=np.arange(4 * n).reshape(2 * n, 2),
            cell_value=np.arange(2.0 * n),
        )

    def test_points_of_lines(self) -> None:
        """A point is where the line crossed the first sensor; others stay."""
        found = self.hits([(0, 0, 0.0, 0.0), (4, 2, 0.01, 0.03), (4, 1, 0.01, 0.03)])
        joined = space_points.join(self.modules, found)
        self.assertEqual(joined.particle.tolist(), [0, 4])
        self.assertEqual(joined.module.tolist(), [0, 1])
        np.testing.assert_allclose(joined.position[1], found.true_position[2], atol=1e-6)
        np.testing.assert_array_equal(joined.true_position[1], found.true_position[2])
        self.assertEqual(joined.cell_hit.tolist(), [0, 0, 1, 1])
        self.assertEqual(joined.cell_value.tolist(), [0.0, 1.0, 4.0, 5.0])

    def test_ghosts(self) -> None:
        """Strips of two particles that cross make points of none."""
        lines = [(1, 0.0, 0.0), (2, 0.0005, 0.02)]
        found = self.hits([(p, m, y, z) for p, y, z in lines for m in (1, 2)])
        joined = space_points.join(self.modules, found)
        self.assertEqual(sorted(joined.particle.tolist()), [-1, -1, 1, 2])
        ghost = joined.particle < 0
        np.testing.assert_array_equal(
            joined.true_position[ghost], joined.position[ghost]
        )
        self.assertEqual(np.abs(joined.true_momentum[ghost]).max(), 0.0)
        self.assertEqual(len(joined.cell_value), 8)

    def test_strips_that_do_not_cross(self) -> None:
        """Too far apart, on one sensor alone, or of noise."""
        found = self.hits([(1, 1, 0.0, 0.0), (2, 2, 0.02, 0.0), (-1, 2, 0.001, 0.01)])
        joined = space_points.join(self.modules, found)
        self.assertEqual(joined.particle.tolist(), [-1])
        alone = space_points.join(self.modules, self.hits([(1, 1, 0.0, 0.0)]))
        self.assertEqual(len(alone.particle), 0)


class Noise(unittest.TestCase):
    def test_cells_share_the_path(self) -> None:
        rng = np.random.default_rng(1)
        modules = strip_and_pixel()
        for row in (0, 1):
            for _ in range(50):
                slope = rng.normal(scale=2.0, size=2)
                point = rng.uniform(-5.0, 5.0, size=2)
                channel, path = noise.cells_under(modules, row, 0.3, point, slope)
                length = 0.3 * np.sqrt(1.0 + slope @ slope)
                self.assertAlmostEqual(path.sum(), length)
                steps = np.abs(np.diff(channel, axis=0)).sum(axis=1)
                np.testing.assert_array_equal(steps, 1)

    def test_straight_crossing_is_one_cell(self) -> None:
        channel, path = noise.cells_under(
            strip_and_pixel(), 0, 0.3, np.array((0.01, 0.01)), np.zeros(2)
        )
        self.assertEqual(channel.tolist(), [[168, 640]])
        self.assertAlmostEqual(path[0], 0.3)

    def test_points_fill_the_trapezoid(self) -> None:
        rng = np.random.default_rng(2)
        module = np.ones(4000, dtype=np.int64)
        point = noise.random_points(rng, strip_and_pixel(), module)
        half_u = 20.3 + point[:, 1] / 78.0 * 3.9
        self.assertTrue((np.abs(point[:, 0]) <= half_u + 1e-9).all())
        self.assertLessEqual(np.abs(point[:, 1]).max(), 78.0)
        # Centre of mass of the trapezoid: hv/3 * (b - a) / (b + a).
        self.assertAlmostEqual(point[:, 1].mean(), 4.99, delta=2.5)


class Field(unittest.TestCase):
    def test_on_axis(self) -> None:
        z = np.array([0.0, 1000.0, 2650.0, -3000.0])
        radial, axial = field.solenoid(np.zeros(4), z)
        ends = [z + field.COIL_HALF_LENGTH, z - field.COIL_HALF_LENGTH]
        sines = [end / np.hypot(end, field.COIL_RADIUS) for end in ends]
        np.testing.assert_allclose(radial, 0.0, atol=1e-12)
        expected = 0.5 * np.pi * (sines[0] - sines[1])
        np.testing.assert_allclose(axial, expected, rtol=1e-9)

    def test_no_divergence_no_curl(self) -> None:
        r = np.array([200.0, 500.0, 900.0])
        z = np.array([2800.0, 1500.0, -2300.0])
        up, down = field.solenoid(r, z + 1.0), field.solenoid(r, z - 1.0)
        out, back = field.solenoid(r + 1.0, z), field.solenoid(r - 1.0, z)
        divergence = ((r + 1.0) * out[0] - (r - 1.0) * back[0]) / r
        divergence += up[1] - down[1]
        curl = (up[0] - down[0]) - (out[1] - back[1])
        np.testing.assert_allclose(divergence, 0.0, atol=1e-7)
        np.testing.assert_allclose(curl, 0.0, atol=1e-7)

    def test_map_of_a_coil_off_centre(self) -> None:
        """The field in the middle of the coil is the one that was requested, and
        that of a coil at the origin is the same 1000 mm further down."""
        z = np.arange(-2000.0, 2001.0, 500.0)
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(
            field, "MAP_Z", z
        ):
            maps = []
            for centre in (0.0, 1000.0):
                path = os.path.join(folder, "field.txt")
                field.write_map(path, 1.5, centre)
                maps.append(np.loadtxt(path))
        still, moved = maps
        axis = (moved[:, 0] == 0.0) & (moved[:, 1] == 1000.0)
        np.testing.assert_allclose(moved[axis, 3], 1.5, rtol=1e-8)
        shifted = {(r, z + 1000.0): b for r, z, _, b in still.tolist()}
        common = [(b, shifted[r, z]) for r, z, _, b in moved.tolist() if (r, z) in shifted]
        self.assertGreater(len(common), 0.5 * len(moved))
        np.testing.assert_allclose(*np.transpose(common), rtol=1e-7)

    def test_box_map(self) -> None:
        """The map in x, y, z is the map in r, z around another centre."""
        centre = (80.0, -160.0, 240.0)
        xy, z = np.arange(-400.0, 401.0, 80.0), np.arange(-2640.0, 2641.0, 480.0)
        with tempfile.TemporaryDirectory() as folder, mock.patch.multiple(
            field, BOX_XY=xy, BOX_Z=z
        ):
            path = os.path.join(folder, "field.txt")
            field.write_box_map(path, 1.5, centre)
            values = np.loadtxt(path)
        self.assertEqual(len(values), len(xy) ** 2 * len(z))
        self.assertEqual((np.diff(values[:, 2]) > 0.0).mean().round(1), 0.9)
        x, y, z = (values[:, :3] - centre).T
        radius = np.hypot(x, y)
        radial, axial = field.solenoid(radius, z)
        scale = 1.5 / field.solenoid(np.zeros(1), np.zeros(1))[1][0]
        np.testing.assert_allclose(values[:, 5], scale * axial, rtol=1e-6)
        across = (values[:, 3] * x + values[:, 4] * y) / np.maximum(radius, 1.0)
        np.testing.assert_allclose(across, scale * radial, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(values[:, 3] * y, values[:, 4] * x, atol=1e-4)


@needs("acts")
class Simulation(unittest.TestCase):
    folder: tempfile.TemporaryDirectory[str]

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory()
        cls.detectors = os.path.join(cls.folder.name, "detectors.csv.gz")
        cls.outs = [os.path.join(cls.folder.name, name) for name in "ab"]
        common = ["--set", "small", "--seed", "11", "--events"]
        first = [*common, "2", "--out", cls.outs[0]]
        assert simulate.main([*first, "--write-detector", cls.detectors]) == 0
        second = [*common, "1", "--first-event", "1", "--out", cls.outs[1]]
        scratch = os.path.join(cls.folder.name, "scratch")
        os.mkdir(scratch)
        cls.fatras = fatras.Fatras(scratch)
        simulate.make_events(cls.fatras, simulate.checked(second))
        cls.prefix = os.path.join(cls.outs[0], "event000000001")
        cls.event = trackml_csv.read_event(cls.prefix)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.folder.cleanup()

    def test_same_event_same_bytes(self) -> None:
        """Also when the event is made on its own."""
        for kind in trackml_csv.KINDS:
            name = f"event000000001-{kind}.csv.gz"
            first, second = (Path(out, name).read_bytes() for out in self.outs)
            self.assertEqual(first, second)

    def test_tables_agree(self) -> None:
        hits, truth = self.event["hits"], self.event["truth"]
        n_hits = len(hits["hit_id"])
        np.testing.assert_array_equal(hits["hit_id"], np.arange(1, n_hits + 1))
        np.testing.assert_array_equal(hits["hit_id"], truth["hit_id"])
        cells = np.unique(self.event["cells"]["hit_id"])
        np.testing.assert_array_equal(cells, hits["hit_id"])
        particles = self.event["particles"]
        owner = trackml_csv.lookup(particles["particle_id"], truth["particle_id"])
        count = np.bincount(owner[owner >= 0], minlength=len(particles["q"]))
        np.testing.assert_array_equal(count, particles["nhits"])
        noise = truth["particle_id"] == 0
        np.testing.assert_array_equal(noise, owner < 0)
        self.assertAlmostEqual(noise.mean(), 0.15, delta=0.01)
        self.assertAlmostEqual(truth["weight"].sum(), 1.0, places=4)
        self.assertEqual(truth["weight"][noise].sum(), 0.0)
        self.assertTrue(600 < n_hits < 1600, n_hits)

    def test_hits_lie_on_their_modules(self) -> None:
        sample = compare_events.Sample(self.outs[0])
        table = trackml_csv.read_table(self.detectors)
        module = trackml_csv.lookup(
            compare_events.module_key(table), compare_events.module_key(sample.hits)
        )
        self.assertTrue((module >= 0).all())
        u, v, w = compare_events.to_local(sample, table, module)
        self.assertLess(np.abs(w).max(), 0.02)
        mean_u, mean_v = compare_events.cell_centres(sample, table, module)
        self.assertLess(np.abs(u - mean_u).max(), 0.01)
        self.assertLess(np.abs(v - mean_v).max(), 0.01)

    def test_worse_detector(self) -> None:
        """Secondaries leave hits; a fault-free event has all hits that one with
        faults has, at most moved."""
        out = os.path.join(self.folder.name, "worse")
        worse = ["--inefficiency", "0.1", "--dead-modules", "0.05", "--misalign", "0.1"]
        common = ["--set", "small", "--seed", "11", "--secondaries", "--out", out]
        events = []
        for options in ([], worse):
            simulate.make_events(self.fatras, simulate.checked([*common, *options]))
            prefix = os.path.join(out, "event000000000")
            events.append(trackml_csv.read_event(prefix))
        whole, worse_event = (event["truth"] for event in events)
        generation = (whole["particle_id"] >> 24) & 0xFFF
        secondary = (whole["particle_id"] >> 12) & 0xFFF
        self.assertGreater((generation > 0).sum(), 20)
        self.assertGreater(((generation > 0) & (secondary > 1)).sum(), 0)
        n_whole, n_left = len(whole["hit_id"]), len(worse_event["hit_id"])
        self.assertAlmostEqual(n_left / n_whole, 0.87, delta=0.04)
        known = set(zip(*(whole[name].tolist() for name in ("tx", "ty", "tz"))))
        left = set(zip(*(worse_event[name].tolist() for name in ("tx", "ty", "tz"))))
        self.assertLessEqual(left, known)

    def test_curvature_is_against_the_charge(self) -> None:
        sample = compare_events.Sample(self.outs[0])
        order = compare_events.track_order(sample)
        sense, curvature = compare_events.bending(sample, order)
        self.assertGreater(len(sense), 20)
        self.assertGreater((sense < 0).mean(), 0.95)
        # 0.3 B / 2 in GeV/m, with B = 2 T and less in forward direction.
        self.assertAlmostEqual(1e3 * np.median(curvature), -0.3, delta=0.03)

    def test_shipped_detector_is_this_one(self) -> None:
        first = trackml_csv.read_table(self.detectors)
        second = trackml_csv.read_table(DETECTORS)
        self.assertEqual(len(first["cx"]), 18728)
        for name, values in second.items():
            np.testing.assert_allclose(first[name], values, atol=1e-4)

    def test_silicon_is_dense(self) -> None:
        """Muons lose 0.4 MeV in a mm of silicon; a barrel has about 20 mm."""
        n = 200
        zero = np.zeros(n)
        particles = generator.Particles(
            particle_id=np.arange(1, n + 1),
            pdg=np.full(n, -13),
            mass=np.full(n, 0.1056584),
            charge=np.ones(n, dtype=np.int64),
            position=np.zeros((n, 3)),
            momentum=generator.momenta(
                zero + 1.0, np.linspace(-3.0, 3.0, n), zero + 0.1
            ),
            last_hit=np.full(n, 100),
        )
        found, _ = self.fatras.run(particles, 1)
        last = np.linalg.norm(found.true_position[:, :2], axis=1) > 1000.0
        momentum = np.linalg.norm(found.true_momentum[last], axis=1)
        start = np.linalg.norm(particles.momentum[0])
        loss = np.median(start - momentum)
        self.assertTrue(0.005 < loss < 0.015, loss)

    def test_electrons_radiate(self) -> None:
        """Radiated fractions are often too small for a float."""
        n = 300
        zero = np.zeros(n)
        electrons = generator.Particles(
            particle_id=np.arange(1, n + 1),
            pdg=np.full(n, 11),
            mass=np.full(n, 0.000511),
            charge=np.full(n, -1, dtype=np.int64),
            position=np.zeros((n, 3)),
            momentum=generator.momenta(
                zero + 0.5, np.linspace(-3.0, 3.0, n), zero + 0.1
            ),
            last_hit=np.full(n, 100),
        )
        for seed in range(1, 7):
            found, _ = self.fatras.run(electrons, seed)
            self.assertGreater(len(found.module), 4 * n)

    def test_merged_event(self) -> None:
        """Fewer hits, each with cells of its own, of the same particles."""
        out = os.path.join(self.folder.name, "merged")
        more = ["--set", "small", "--seed", "11", "--first-event", "1"]
        more += ["--merge", "--decays", "0.5", "--noise", "0", "--out", out]
        simulate.make_events(self.fatras, simulate.checked(more))
        event = trackml_csv.read_event(os.path.join(out, "event000000001"))
        cells = event["cells"]
        self.assertTrue((event["truth"]["particle_id"] > 0).all())
        np.testing.assert_array_equal(
            np.unique(cells["hit_id"]), event["hits"]["hit_id"]
        )
        cell = np.stack([cells[n] for n in ("hit_id", "ch0", "ch1")], axis=1)
        self.assertEqual(len(np.unique(cell, axis=0)), len(cell))
        self.assertEqual(
            event["particles"]["nhits"].sum(), len(event["hits"]["hit_id"])
        )

    def test_command_line_errors(self) -> None:
        small = ["--out", "x", "--set", "small"]
        for wrong in (
            [],
            ["--out", "x"],
            ["--out", "x", "--pileup", "9999"],
            [*small, "--coil-centre", "inf"],
            [*small, "--coil-centre", "10", "--field", "trackml"],
            [*small, "--beam-offset", "0", "nan", "0"],
            [*small, "--beam-offset", "0", "0", "1001"],
        ):
            with self.assertRaises(SystemExit) as raised:
                with open(os.devnull, "w") as null:
                    stderr, sys.stderr = sys.stderr, null
                    try:
                        simulate.main(wrong)
                    finally:
                        sys.stderr = stderr
            self.assertEqual(raised.exception.code, 2)
