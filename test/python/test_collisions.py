"""test_collisions -- events of Pythia, guns, and hits that a detector adds.

What needs pyacts or pythia8mc is skipped where it is missing.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

from support import PACKAGE, FolderCase, needs

from exatrkx.files import trackml_csv
from exatrkx.simulation import (
    conversions,
    detector,
    fatras,
    faults,
    generator,
    guns,
    noise,
    pythia,
    simulate,
    trackml_detector,
)


def cylinder(radii: tuple[float, ...], n: int = 40) -> detector.Modules:
    """One ring of modules of volume 8 at each radius."""
    phi = np.tile(2.0 * np.pi * np.arange(n) / n, len(radii))
    radius = np.repeat(np.array(radii), n)
    size = len(phi)
    names = detector.Modules.__dataclass_fields__
    columns = {name: np.zeros(size) for name in names}
    turn = np.zeros((size, 3, 3))
    turn[:, :, 0] = np.stack((-np.sin(phi), np.cos(phi), 0.0 * phi), axis=1)
    turn[:, 2, 1] = 1.0
    columns |= {
        "design": trackml_detector.DESIGN,
        "volume_id": np.full(size, 8),
        "layer_id": np.repeat(2 * np.arange(1, len(radii) + 1), n),
        "module_id": np.tile(np.arange(n), len(radii)),
        "centre": np.stack((radius * np.cos(phi), radius * np.sin(phi), 0.0 * phi), 1),
        "rotation": turn,
        "half_thickness": np.full(size, 0.15),
        "min_half_u": np.full(size, 8.0),
        "max_half_u": np.full(size, 8.0),
        "half_v": np.full(size, 36.0),
        "pitch_u": np.full(size, 0.05),
        "pitch_v": np.full(size, 0.05625),
    }
    return detector.Modules(**columns)


class Guns(unittest.TestCase):
    def shoot(self, text: str, vertex: int = 7) -> generator.Particles:
        """The particles of one gun."""
        rng = np.random.default_rng(3)
        (found,) = guns.generate(rng, (guns.parse(text),), vertex, generator.Beam())
        return found

    def test_refused(self) -> None:
        for text in (
            "pion",
            "jet:cone",
            "jet:kind=tau",
            "jet:width=1",
            "jet:n=0",
            "jet:low=5,high=2",
            "jet:low=nan",
            "tau:radius=-1",
            "cosmic:cone=1",
        ):
            with self.subTest(text), self.assertRaises(argparse.ArgumentTypeError):
                guns.parse(text)

    def test_jets_stay_in_their_cones(self) -> None:
        found = self.shoot("jet:n=30,particles=20,cone=0.05,low=2,high=9,radius=50")
        self.assertEqual(len(found), 600)
        self.assertEqual(len(np.unique(found.particle_id)), 600)
        vertex = found.particle_id >> 52
        np.testing.assert_array_equal(np.unique(vertex), np.arange(7, 37))
        px, py, pz = found.momentum.T
        pt = np.hypot(px, py)
        self.assertTrue((pt >= 2.0).all() and (pt <= 9.0).all())
        eta, phi = np.arcsinh(pz / pt), np.arctan2(py, px)
        for jet in np.unique(vertex):
            inside = vertex == jet
            turn = phi[inside] - phi[inside][0]
            turn = (turn + np.pi) % (2.0 * np.pi) - np.pi
            self.assertLess(np.ptp(eta[inside]), 0.1 + 1e-9)
            self.assertLess(np.ptp(turn), 0.1 + 1e-9)
        radius = np.hypot(found.position[:, 0], found.position[:, 1])
        np.testing.assert_allclose(radius, 50.0, atol=0.1)

    def test_cores_are_normal(self) -> None:
        found = self.shoot("core:n=200,cone=0.012")
        eta = np.arcsinh(found.momentum[:, 2] / np.hypot(*found.momentum[:, :2].T))
        inner = eta.reshape(200, 20)
        spread = (inner - inner.mean(axis=1, keepdims=True)).std() / np.sqrt(0.95)
        self.assertAlmostEqual(spread, 0.012, delta=0.0006)

    def test_cosmic_muons_come_down_through_the_detector(self) -> None:
        found = self.shoot("cosmic:n=4000,low=5,high=50")
        self.assertEqual(set(np.abs(found.pdg).tolist()), {13})
        np.testing.assert_array_equal(np.sign(found.pdg), -found.charge)
        x, y, z = found.position.T
        self.assertLess(np.hypot(x, y).max(), 1028.0)
        length = np.linalg.norm(found.momentum, axis=1)
        down = -found.momentum[:, 1] / length
        self.assertTrue((down > 0.0).all())
        self.assertAlmostEqual(down.mean(), 0.75, delta=0.01)  # of 3 cos^2
        at_middle = x + y / down * found.momentum[:, 0] / length
        self.assertLess(np.abs(at_middle).max(), 900.0 + 1e-6)

    def test_halo_flies_along_the_beam(self) -> None:
        found = self.shoot("halo:n=500")
        self.assertLess((found.position[:, 2] * found.momentum[:, 2]).max(), 0.0)
        slope = np.hypot(*found.momentum[:, :2].T) / np.abs(found.momentum[:, 2])
        self.assertLess(slope.max(), 0.01)


class Conversions(unittest.TestCase):
    def photons(self, n: int, slope: float) -> conversions.Photons:
        """n photons from the middle with this pz / pT."""
        phi = np.linspace(-np.pi, np.pi, n)
        momentum = np.stack((np.cos(phi), np.sin(phi), slope + 0.0 * phi), axis=1)
        vertex = np.arange(n) * 5 // max(n, 1) + 1
        return conversions.Photons(vertex, np.zeros((n, 3)), momentum)

    def test_chance_by_radiation_lengths(self) -> None:
        modules = cylinder((32.0,))
        for slope in (0.0, 1.0):
            n = 40000
            rng = np.random.default_rng(1)
            found = conversions.generate(rng, self.photons(n, slope), modules)
            expected = 1.0 - np.exp(-7.0 / 9.0 * 0.017 * np.hypot(1.0, slope))
            pairs = (found.charge > 0).sum()
            error = np.sqrt(n * expected)
            # A twentieth of the pairs lose their positron to the bound on pT.
            self.assertAlmostEqual(pairs, 0.95 * n * expected, delta=4.0 * error)

    def test_pairs_share_the_photon_behind_a_layer(self) -> None:
        photons = self.photons(20000, 0.5)
        modules = cylinder((32.0, 72.0))
        found = conversions.generate(np.random.default_rng(1), photons, modules)
        radius = np.hypot(*found.position[:, :2].T)
        layer = np.where(radius < 50.0, 32.0, 72.0)
        beyond = conversions.BEYOND / np.hypot(1.0, 0.5)
        np.testing.assert_allclose(radius - layer, beyond, atol=1e-9)
        self.assertGreater((layer == 72.0).mean(), 0.4)
        self.assertEqual(len(np.unique(found.particle_id)), len(found))
        np.testing.assert_array_equal(found.pdg, -11 * found.charge)
        point = {}
        for row, where in enumerate(map(tuple, found.position.tolist())):
            point.setdefault(where, []).append(row)
        whole = [rows for rows in point.values() if len(rows) == 2]
        self.assertGreater(len(whole), 100)
        for rows in whole:
            total = found.momentum[rows].sum(axis=0)
            self.assertAlmostEqual(np.hypot(total[0], total[1]), 1.0, places=9)
            self.assertAlmostEqual(total[2], 0.5, places=9)

    def test_no_photons(self) -> None:
        rng, modules = np.random.default_rng(1), cylinder((32.0,))
        found = conversions.generate(rng, self.photons(0, 0.0), modules)
        self.assertEqual(len(found), 0)


class AddedHits(unittest.TestCase):
    def test_hot_modules_lie_in_line(self) -> None:
        modules = cylinder((116.0, 32.0, 72.0))
        hot = faults.Faults(hot_modules=2, hot_hits=30)
        rows = hot.hot(modules, 5)
        radius = np.hypot(*modules.centre[rows, :2].T)
        np.testing.assert_allclose(radius, (32.0, 72.0))
        phi = np.arctan2(*modules.centre[rows, 1::-1].T)
        turn = (phi[1] - phi[0] + np.pi) % (2.0 * np.pi) - np.pi
        self.assertLessEqual(abs(turn), 2.0 * np.pi / 40 + 1e-9)
        first, again = (faults.heat(modules, hot, 5, event) for event in (0, 1))
        for hits in (first, again):
            np.testing.assert_array_equal(hits.module, np.repeat(rows, 30))
        self.assertFalse(np.array_equal(first.point, again.point))
        self.assertFalse(np.array_equal(rows, hot.hot(modules, 6)))

    def test_doubled_hits_have_the_same_cells(self) -> None:
        modules = cylinder((32.0,))
        nothing = fatras.Measurements(
            *(np.zeros(0, dtype=int),) * 2, *(np.zeros((0, 3)),) * 3,
            np.zeros(0, dtype=int), np.zeros((0, 2), dtype=int), np.zeros(0),
        )  # fmt: skip
        rng = np.random.default_rng(2)
        hits = noise.joined(
            nothing, noise.on_modules(rng, modules, np.arange(2000) % 40)
        )
        found = faults.twice(hits, faults.Faults(doubled=0.1), 5, 0)
        more = len(found.module) - 2000
        self.assertAlmostEqual(more / 2000, 0.1, delta=0.03)
        np.testing.assert_array_equal(found.position[:2000], hits.position)
        self.assertTrue((np.diff(found.cell_hit) >= 0).all())
        for row in range(2000, len(found.module)):
            (same,) = np.flatnonzero((hits.position == found.position[row]).all(axis=1))
            for name in ("cell_channel", "cell_value"):
                np.testing.assert_array_equal(
                    getattr(found, name)[found.cell_hit == row],
                    getattr(hits, name)[hits.cell_hit == same],
                )


# Starts Pythia for a process; prints the momenta of an event.
START = """
import sys
import numpy as np
from exatrkx.simulation import generator, pythia
collisions = pythia.Collisions(sys.argv[1])
found, _ = collisions.event(np.random.default_rng(4), 2, generator.Beam())
print(found.momentum.tolist())
"""


CACHE = tempfile.TemporaryDirectory(prefix="a cache")


def setUpModule() -> None:
    patch = mock.patch.dict(os.environ, {"XDG_CACHE_HOME": CACHE.name})
    patch.start()
    unittest.addModuleCleanup(patch.stop)


def tearDownModule() -> None:
    CACHE.cleanup()


@needs("pythia8mc")
class Pythia(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.collisions = pythia.Collisions("z-mumu")

    def event(self, seed: int, mean: float = 3.0) -> generator.Particles:
        """An event of Z bosons."""
        rng = np.random.default_rng(seed)
        return self.collisions.event(rng, mean, generator.Beam("trackml"))[0]

    def test_event_depends_on_its_random_numbers_alone(self) -> None:
        first, other, again = (self.event(seed) for seed in (1, 2, 1))
        for name in generator.Particles.__dataclass_fields__:
            np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
        self.assertFalse(np.array_equal(first.momentum[:5], other.momentum[:5]))
        self.assertEqual(len(np.unique(first.particle_id)), len(first))
        self.assertEqual(set(np.abs(first.charge).tolist()), {1})

    def test_muons_of_z_bosons(self) -> None:
        """Both muons of the hard collision make the mass of a Z."""
        masses = []
        for seed in range(40):
            found = self.event(seed, 0.0)
            hard = (np.abs(found.pdg) == 13) & (np.hypot(*found.momentum.T[:2]) > 10.0)
            if hard.sum() == 2:
                energy = np.sqrt((found.momentum[hard] ** 2).sum(axis=1)).sum()
                total = found.momentum[hard].sum(axis=0)
                masses.append(np.sqrt(energy**2 - total @ total))
        self.assertGreater(len(masses), 15)
        self.assertAlmostEqual(np.median(masses), 91.2, delta=2.0)

    def test_multiplicity_of_inelastic_collisions(self) -> None:
        """About 6 charged particles in a unit of pseudorapidity at 14 TeV, a tenth
        and more of them from decays away from the beam line."""
        count, away = 0, 0
        for seed in range(10):
            found = self.event(seed, 20.0)
            pileup = (found.particle_id >> 52) > 1
            pt = np.hypot(*found.momentum.T[:2])
            central = np.abs(np.arcsinh(found.momentum[:, 2] / pt)) < 1.0
            count += (pileup & central).sum() / 20.0
            away += ((found.particle_id >> 24) & 0xFFF > 0).mean()
        self.assertAlmostEqual(count / 10 / 2.0, 6.0, delta=1.5)
        self.assertTrue(0.05 < away / 10 < 0.25, away)

    def test_initialisation_is_kept(self) -> None:
        files = [
            Path(pythia.saved_initialisation(commands))
            for commands in (pythia.INELASTIC, pythia.PROCESSES["z-mumu"])
        ]
        before = [file.stat().st_mtime_ns for file in files]
        again = pythia.Collisions("z-mumu")
        rng = np.random.default_rng(1)
        found = again.event(rng, 3.0, generator.Beam("trackml"))[0]
        np.testing.assert_array_equal(found.momentum, self.event(1).momentum)
        self.assertEqual([file.stat().st_mtime_ns for file in files], before)

    def test_damaged_initialisation_is_named(self) -> None:
        path = pythia.saved_initialisation(pythia.PROCESSES["z-mumu"])
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder, "damaged.txt")
            copy.write_text(Path(path).read_text()[:100])
            with self.assertRaisesRegex(RuntimeError, "damaged.txt"):
                pythia.initialised(pythia.PROCESSES["z-mumu"], str(copy), make=False)

    def test_two_processes_start_at_once(self) -> None:
        """Each makes the file that is missing, and both make the same event."""
        with tempfile.TemporaryDirectory() as folder:
            inelastic = pythia.saved_initialisation(pythia.INELASTIC)
            kept = Path(folder, "exatrkx", Path(inelastic).name)
            kept.parent.mkdir()
            kept.write_bytes(Path(inelastic).read_bytes())
            world = os.environ | {"XDG_CACHE_HOME": folder, "PYTHONPATH": str(PACKAGE)}
            running = [
                subprocess.Popen(
                    [sys.executable, "-c", START, "z-tautau"],
                    env=world,
                    stdout=subprocess.PIPE,
                )
                for _ in range(2)
            ]
            said = [child.communicate()[0] for child in running]
            self.assertEqual([child.returncode for child in running], [0, 0])
            self.assertEqual(said[0], said[1])
            self.assertGreater(len(said[0]), 100)
            self.assertEqual(len(list(kept.parent.iterdir())), 2)

    def test_long_lived_particles_decay_in_the_detector(self) -> None:
        collisions = pythia.Collisions("long-lived")
        radius = []
        for seed in range(20):
            rng = np.random.default_rng(seed)
            found, _ = collisions.event(rng, 0.0, generator.Beam())
            radius += np.hypot(*found.position.T[:2]).tolist()
        self.assertGreater((np.array(radius) > 20.0).mean(), 0.1)


@needs("pythia8mc")
@needs("acts")
class Events(FolderCase):
    def test_event_of_a_process(self) -> None:
        """The same bytes again; photons convert; a gun adds to it."""
        common = ["--process", "minimum-bias", "--pileup", "3", "--gun", "jet"]
        common += ["--secondaries", "--merge", "--seed", "8", "--no-gzip"]
        for name, events in (("a", ["2"]), ("b", ["1", "--first-event", "1"])):
            out = str(self.folder / name)
            with contextlib.redirect_stdout(io.StringIO()):
                code = simulate.main([*common, "--out", out, "--events", *events])
            self.assertEqual(code, 0)
        for kind in trackml_csv.KINDS:
            name = f"event000000001-{kind}.csv"
            first, second = (
                (self.folder / folder / name).read_bytes() for folder in "ab"
            )
            self.assertEqual(first, second)
        event = trackml_csv.read_event(str(self.folder / "b" / "event000000001"))
        identity = event["particles"]["particle_id"]
        self.assertEqual(len(np.unique(identity)), len(identity))
        jet = identity >> 52 == (identity >> 52).max()
        self.assertEqual(jet.sum(), 20)
        self.assertGreater(event["particles"]["nhits"][jet].mean(), 5.0)
        generation = (identity >> 24) & 0xFFF
        self.assertGreater((generation == conversions.GENERATION).sum(), 4)


class CommandLine(unittest.TestCase):
    def test_refused(self) -> None:
        small = ["--out", "x", "--pileup", "3"]
        for arguments in (
            [*small, "--process", "higgs"],
            [*small, "--process", "dijets", "--displaced", "0.1"],
            [*small, "--process", "dijets", "--decays", "0.1"],
            ["--out", "x", "--process", "dijets", "--pileup", "1501"],
            ["--out", "x", "--pileup", "0"],
            [*small, "--gun", "pion"],
            [*small, "--hot-modules", "3", "0"],
            [*small, "--doubled", "1"],
        ):
            with self.subTest(arguments), contextlib.redirect_stderr(io.StringIO()):
                with self.assertRaises(SystemExit) as stopped:
                    simulate.checked(arguments)
                self.assertEqual(stopped.exception.code, 2)
        for arguments in (
            ["--out", "x", "--process", "dijets", "--pileup", "0"],
            ["--out", "x", "--gun", "jet", "--pileup", "0"],
        ):
            simulate.checked(arguments)


if __name__ == "__main__":
    unittest.main()
