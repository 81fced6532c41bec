"""test_tables -- the small tables of docs/tables, on the shipped events.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import io
import math
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import exatrkx
import numpy as np
from support import BUILD, ROOT, LibraryCase, has

from tables import (
    adapted,
    batch,
    chain,
    cleaned,
    colliderml,
    construction,
    curve,
    embedded,
    families,
    filters,
    hough,
    iterations,
    lorentz,
    made_detectors,
    messages,
    momentum,
    nearest,
    neighbours,
    nodetypes,
    noise,
    oneshot,
    order,
    pooling,
    padding,
    physics,
    pixels,
    published,
    reflections,
    retrained,
    robustness,
    sampling,
    seeds,
    smaller,
    spikes,
    triplets,
    union,
    weights,
    windows,
)
from tables.events import read_events

DATA = ROOT / "examples" / "data"


def printed(run: object, *arguments: str) -> list[list[str]]:
    """The cells of the table that a module prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        assert run(list(arguments)) == 0
    lines = out.getvalue().splitlines()
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


class Noise(LibraryCase):
    def test_table(self) -> None:
        """Five levels; the first one is what the others are relative to."""
        rows = printed(noise.main, "--events", str(DATA), "--count", "2")[2:]
        self.assertEqual(
            [row[0] for row in rows], ["0 %", "5 %", "10 %", "15 %", "20 %"]
        )
        self.assertEqual(rows[0][2], "1.0000 +- 0.0000")
        for row in rows:
            self.assertGreater(float(row[2].split()[0]), 0.9)

    def test_overlaid(self) -> None:
        """Hits of particles stay; noise is as much as requested."""
        events = read_events(DATA, 2)
        pool = noise.pools(events, np.random.default_rng(1))
        for level in (0.0, 0.1, 0.2):
            made = noise.overlaid(events[0], pool[0], level)
            is_noise = made.particle_ids == 0
            self.assertAlmostEqual(is_noise.mean(), level, delta=0.001)
            np.testing.assert_array_equal(
                made.positions[~is_noise],
                events[0].positions[events[0].particle_ids != 0],
            )

    def test_ratio(self) -> None:
        """Half as many, none of them new: 0.5, with the error of a share."""
        without = np.ones(100)
        found = (np.arange(100) % 2).astype(float)
        value, error = noise.ratio(found, without)
        self.assertAlmostEqual(value, 0.5)
        self.assertAlmostEqual(error, 0.05)
        self.assertEqual(noise.ratio(without, without), (1.0, 0.0))


class Robustness(LibraryCase):
    def test_default_model(self) -> None:
        """Three lines on the shipped events that must not get worse: as
        measured, less what one particle in fifty weighs."""
        least = {
            "10 % of the hits missing": 0.95,
            "2 % of the modules dead": 0.97,
            "modules moved by 50 um": 0.97,
        }
        model = ROOT / "examples" / "models" / "default.safetensors"
        options = ["--events", str(DATA), "--count", "3", "--model", str(model)]
        for name in least:
            options += ["--only", name]
        rows = printed(robustness.main, *options)[2:]
        self.assertEqual([row[0] for row in rows], list(least))
        for row in rows:
            self.assertGreater(float(row[2].split()[0]), least[row[0]], row)

    def test_simulated(self) -> None:
        """Events that are there are read, not simulated again."""
        model = ROOT / "examples" / "models" / "default.safetensors"
        options = ["--events", str(DATA), "--count", "1", "--model", str(model)]
        name = "collisions at 4, -3, 0 mm"
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "beam-offset_4_-3_0").symlink_to(DATA)
            options += ["--simulate", folder, "--only", name, "--only", "nominal"]
            rows = printed(robustness.main, *options)[2:]
        self.assertEqual([row[0] for row in rows], [name, "nominal"])
        self.assertEqual(rows[0][1:], rows[1][1:])

    def test_changes(self) -> None:
        """Each change alters what it names, and nothing else."""
        event = read_events(DATA, 1)[0]
        rng = np.random.default_rng(1)
        fewer = robustness.missing(0.1)(event, rng)
        self.assertAlmostEqual(fewer.n_hits / event.n_hits, 0.9, delta=0.02)
        n_modules, module = robustness.modules(event)
        alive = robustness.dead(0.2)(event, rng)
        self.assertAlmostEqual(
            robustness.modules(alive)[0] / n_modules, 0.8, delta=0.03
        )
        moved = robustness.moved(0.1)(event, rng)
        shift = moved.positions - event.positions
        self.assertAlmostEqual(shift.std(), 0.1, delta=0.01)
        first = np.unique(module, return_index=True)[1]
        np.testing.assert_allclose(shift, shift[first][module], atol=1e-3)
        bare = robustness.CHANGES["without cells"](event, rng)
        self.assertEqual(np.abs(bare.cell_features).max(), 0.0)
        np.testing.assert_array_equal(bare.positions, event.positions)


class Models(LibraryCase):
    """Tables of the shipped models, on the shipped events."""

    def test_physics(self) -> None:
        """A column for each model; the interval is around the rate."""
        rows = printed(physics.main, "--set", f"small={DATA}")
        self.assertEqual(rows[0][1:], ["small, default", "small, accurate"])
        for cell in rows[2][1:]:
            value, low, high = (
                float(word) for word in re.findall(r"[0-9.]*[0-9]", cell)
            )
            self.assertGreater(value, 0.98)
            self.assertTrue(low <= value <= high)

    def test_seeds(self) -> None:
        """As etx-seeds on the same events; all momenta have seeds."""
        rows = printed(seeds.main, "--set", f"small={DATA},{DATA}")
        program = BUILD / "examples" / "etx-seeds"
        if program.exists():
            line = [program, "--event", DATA, "--cut", "0", "--purity", "0.991"]
            said = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True)
            fields = dict(re.findall(r"^(\w+) +([0-9.e-]+)", said.stdout, re.M))
            self.assertAlmostEqual(float(rows[2][2]), float(fields["cut"]), 4)
            self.assertAlmostEqual(
                float(rows[2][4].split()[0]), float(fields["purity"]), 3
            )
        for cell in rows[2][5:]:
            self.assertGreater(float(cell.split()[0]), 0.9)

    def test_smaller(self) -> None:
        """Eight bits take less space than sixteen, and find about as much."""
        rows = printed(smaller.main, "--events", str(DATA), "--count", "1")[2:]
        size = {row[0]: int(row[1].replace(" ", "")) for row in rows}
        self.assertLess(size["`--quantise int8`"], size["`--quantise fp16`"])
        self.assertLess(size["`--quantise fp16`"], size["none"])
        self.assertGreater(float(rows[2][2].split()[0]), 0.9)


class Definitions(LibraryCase):
    def test_published(self) -> None:
        """Two lines of all hits; pixels alone find as much above 0.9 GeV."""
        model = ROOT / "examples" / "models" / "default.safetensors"
        options = ["--events", str(DATA), "--count", "3", "--model", str(model)]
        rows = printed(published.main, *options)[2:]
        self.assertEqual(
            [row[2:4] for row in rows],
            [["all", "0.5"], ["all", "0.1"], ["pixels", "0.9"]],
        )
        for row in rows:
            self.assertGreater(float(row[4].split()[0]), 0.9, row)

    def test_pixels(self) -> None:
        """The model for pixels finds most with them, default next to nothing of 3 hits."""
        rows = printed(pixels.main, "--events", str(DATA), "--count", "3")[2:]
        self.assertEqual([row[1] for row in rows], list(pixels.models()))
        found = [float(row[2].split()[0]) for row in rows]
        self.assertGreater(found[-1], 0.97)
        self.assertGreater(found[-1], found[0] + 0.02)

    @unittest.skipUnless(has("colliderml"), "colliderml is not installed")
    def test_colliderml(self) -> None:
        """The scorer finds the tracks of a model right, and none of another's truth."""
        events = ["--events", str(DATA), "--count", "2"]
        rows = printed(colliderml.main, *events, "--model", "default")[2:]
        (name, efficiency, physics, fakes, *_, n_params) = rows[0]
        self.assertEqual((name, n_params), ("default", "98570"))
        self.assertGreater(float(efficiency), 0.9)
        self.assertGreater(float(physics), 0.8)
        self.assertLess(float(fakes), 0.02)

    def test_colliderml_truth(self) -> None:
        """Ids differ from event to event; noise is no particle."""
        (event,) = exatrkx.Events([DATA / "event000000001"])
        particles, hits = colliderml.truth([event, event])
        self.assertEqual(len(set(particles["particle_id"])), 2 * len(event.particles))
        owner = hits["particle_id"].reshape(2, -1)
        np.testing.assert_array_equal(owner[1] == 0, event.particle_ids == 0)
        rows = np.searchsorted(particles["particle_id"], owner[1][owner[1] > 0])
        momenta = event.particles["momentum"][rows - len(event.particles)]
        np.testing.assert_array_equal(particles["px"][rows], momenta[:, 0])
        want = event.particle_ids[event.particle_ids != 0]
        found = event.particles["id"][rows - len(event.particles)]
        np.testing.assert_array_equal(found, want)
        columns = colliderml.tracker_hits([event, event])
        np.testing.assert_array_equal(columns["particle_id"][1], owner[1])
        np.testing.assert_array_equal(columns["x"][0], event.positions[:, 0])

    def test_union(self) -> None:
        """A model twice: half of all tracks are duplicates, none of the rest."""
        model = str(ROOT / "examples" / "models" / "default.safetensors")
        options = ["--events", str(DATA), "--count", "2", "--model", model]
        rows = printed(union.main, *options, "--model", model)[2:]
        self.assertEqual(
            [row[0] for row in rows], ["default", "default", "all tracks", "resolved"]
        )
        self.assertEqual([row[-1] for row in rows[:2]], ["0.0000"] * 2)
        self.assertAlmostEqual(float(rows[2][-1]), 0.5, delta=0.05)
        self.assertEqual(rows[3][-1], "0.0000")
        self.assertAlmostEqual(float(rows[3][1].split()[0]), float(rows[0][1].split()[0]), delta=0.02)


    def test_cleaned(self) -> None:
        """A lower bound leaves fewer foreign hits."""
        rows = printed(cleaned.main, "--events", str(DATA), "--count", "3")[2:]
        wrong = [float(row[6]) for row in rows[: len(cleaned.BOUNDS)]]
        self.assertEqual(wrong, sorted(wrong, reverse=True))
        self.assertLess(wrong[-1], wrong[0])

    def test_nearest(self) -> None:
        """More of the nearest points are more candidates."""
        rows = printed(nearest.main, "--events", str(DATA))[2:7]
        n_edges = [float(row[2]) for row in rows[1:]]
        self.assertEqual(n_edges, sorted(n_edges))
        self.assertEqual([row[0] for row in rows], ["default"] * 5)

    @unittest.skipUnless(has("acts"), "acts is not installed")
    def test_fits(self) -> None:
        """The library and ACTS know pT of the same tracks nearly as well."""
        from tables import fits

        rows = printed(fits.main, "--events", str(DATA), "--count", "3")[2:]
        self.assertEqual(len(rows), 15)
        for row in rows:
            own, acts = (row[9].split(", ") * 2)[:2]
            self.assertLess(abs(np.log(float(own) / float(acts))), 0.6, row)


class Trainings(LibraryCase):
    def test_tables(self) -> None:
        """Two steps of every line; losses are numbers."""
        few = ["--steps", "2", "--edges", "300", "--seeds", "1"]
        few += ["--train-events", "1", "--validation-events", "1"]
        few += ["--data", str(DATA), "--validation", str(DATA)]
        for module in (hough, lorentz, reflections, triplets):
            rows = printed(module.main, *few)[2:]
            self.assertEqual([row[0] for row in rows], list(module.VARIANTS))
            for row in rows:
                self.assertGreater(float(row[2]), 0.0)

    def test_one_line(self) -> None:
        """The same for one line of the longer tables."""
        few = ["--steps", "16", "--edges", "300", "--seeds", "1"]
        few += ["--train-events", "1", "--validation-events", "1"]
        few += ["--data", str(DATA), "--validation", str(DATA)]
        for module, line in (
            (batch, "8, linear"),
            (embedded, "with the learned points"),
            (families, "`graph_convolution`"),
            (filters, "64, 64, ReLU, without extents"),
            (iterations, "2"),
            (momentum, "`pt_weight` 0.2"),
            (nodetypes, "encoders by type"),
            (order, "buckets"),
            (pooling, "`edge_pooling`, above 0.9"),
            (spikes, "a tenth of the rate"),
            (triplets, "doublets: `interaction_network`"),
            (weights, "secondaries 0"),
            (windows, "4 of 10 000"),
        ):
            more = ["--barrel"] if module is triplets else []
            with self.subTest(module.__name__):
                rows = printed(module.main, *few, *more, "--only", line)
                self.assertEqual([row[0] for row in rows[2:]], [line])
                cells = dict(zip(rows[0], rows[2]))
                self.assertGreater(float(cells["validation loss"]), 0.0)
                self.assertLess(float(cells["validation loss"]), 2.0)

    def test_adapted(self) -> None:
        """The shipped models and the adapted ones; each detector has tracks to find."""
        few = ["--events", "2", "--test-events", "1", "--time", "0.1"]
        for name in made_detectors.DETECTORS:
            one = made_detectors.event(name, 1)
            counts = np.bincount(np.asarray(one.particle_ids))
            self.assertGreater(np.sum(counts[1:] >= 3), 20, name)
        rows = printed(adapted.main, *few, "--detector", "straws")
        models = ["default", "accurate", "adapted, 2 events"]
        self.assertEqual([row[1] for row in rows[2:]], models)
        self.assertGreaterEqual(float(rows[-1][2]), 0.9)

    def test_curve(self) -> None:
        """A line for each number of events that are there, and for each width."""
        few = ["--steps", "4", "--edges", "300", "--seeds", "1"]
        few += ["--train-events", "1", "--validation-events", "1"]
        rows = printed(curve.main, *few, "--data", str(DATA), "--validation", str(DATA))
        widths = [f"1 events, width {width}" for width in (32, 16, 64)]
        self.assertEqual([row[0] for row in rows[2:]], widths)

    def test_momentum(self) -> None:
        """Without a head there is no error; with one it is next to the spread."""
        few = ["--steps", "24", "--edges", "300", "--seeds", "1"]
        few += ["--train-events", "1", "--validation-events", "1"]
        few += ["--data", str(DATA), "--validation", str(DATA)]
        rows = printed(momentum.main, *few)
        self.assertEqual(rows[2][-2:], ["", ""])
        for row in rows[3:]:
            error, spread = map(float, row[-2:])
            self.assertLess(error, 2 * spread)

    def test_chain(self) -> None:
        """Three stages from initial values find tracks of an event they saw."""
        few = ["--steps", "120", "--seeds", "1"]
        few += ["--train-events", "2", "--validation-events", "1"]
        few += ["--data", str(DATA), "--validation", str(DATA)]
        rows = printed(chain.main, *few)
        self.assertEqual([row[0] for row in rows[2:]], ["trained", "`positions`"])
        trained, shipped = (float(row[1]) for row in rows[2:])
        self.assertGreater(trained, 0.6)
        self.assertGreater(shipped, 0.95)

    def test_sampling(self) -> None:
        """The radius keeps the signal pairs that it is chosen for."""
        few = ["--steps", "20", "--seeds", "1", "--only", "40 nearest within 1"]
        few += ["--train-events", "1", "--validation-events", "1"]
        few += ["--data", str(DATA), "--validation", str(DATA)]
        rows = printed(sampling.main, *few)
        efficiency, radius, edges = map(float, rows[2][1:4])
        self.assertGreaterEqual(efficiency, 0.99)
        self.assertGreater(min(radius, edges), 0.1)

    def test_retrained(self) -> None:
        """Half the units find nearly nothing until they are trained on."""
        few = ["--steps", "24", "--edges", "1000", "--seeds", "1", "--count", "1"]
        few += ["--train-events", "2", "--data", str(DATA), "--events", str(DATA)]
        rows = printed(retrained.main, *few, "--only", retrained.NEW)
        self.assertEqual(len(rows), 2 + 3)
        efficiency = [float(row[2]) for row in rows[2:]]
        self.assertGreater(efficiency[1], efficiency[0] + 0.1)
        self.assertGreater(efficiency[1], efficiency[2])

    def test_types(self) -> None:
        """Every hit is of one kind; only strips have features of their type."""
        event = read_events(DATA, 1)[0]
        kinds, types = nodetypes.kinds(event), nodetypes.types(event)
        np.testing.assert_array_equal(kinds.sum(1), 1)
        pixels = kinds[:, 0] | kinds[:, 3]
        self.assertEqual(np.abs(types[pixels]).max(), 0)
        np.testing.assert_array_equal(types[~pixels, 0], 1)

    def test_jumps(self) -> None:
        """Losses above twice the mean of those before them."""
        calm = [1.0] * 30
        self.assertEqual(spikes.jumps(calm), 0)
        self.assertEqual(spikes.jumps([*calm, 2.5, 1.0, math.inf, 1.9]), 2)
        self.assertEqual(spikes.jumps([1.0, 9.0, 1.0]), 0)

    def test_one_network_to_tracks(self) -> None:
        """A line for each network and way to group."""
        few = ["--steps", "16", "--edges", "500", "--seeds", "1"]
        few += ["--train-events", "1", "--validation-events", "1"]
        rows = printed(
            oneshot.main, *few, "--data", str(DATA), "--validation", str(DATA)
        )
        self.assertEqual(len(rows), 2 + 4)
        for row in rows[2:]:
            self.assertGreater(float(row[2]), 0.3)

    def test_dbscan(self) -> None:
        """A hit between two groups joins the nearest core and links no cores."""
        x = np.array([-0.3, -0.2, -0.1, 0.0, 0.45, 0.93, 1.03, 1.13, 1.23])
        pairs = np.array(
            [(i, j) for i in range(9) for j in range(i) if abs(x[i] - x[j]) <= 0.5]
        ).T
        distance = np.abs(x[pairs[0]] - x[pairs[1]])
        both = oneshot.components(pairs, distance, 9)
        self.assertEqual(len(set(zip(*both))), 6 + 6 + 2)
        src, dst = oneshot.dbscan(pairs, distance, 9)
        of_middle = {frozenset(pair) - {4} for pair in zip(src, dst) if 4 in pair}
        self.assertEqual(len(src), 6 + 6 + 1)
        self.assertEqual(of_middle, {frozenset({3})})

    def test_principal_axes(self) -> None:
        """They keep the directions in which the points spread."""
        rng = np.random.default_rng(1)
        sizes = np.array([5.0, 4.0, 3.0, 2.0, 1.0, 0.5, 1e-3, 1e-4])
        points = rng.normal(size=(2000, 8)) * sizes
        axes, share = embedded.principal_axes(points)
        self.assertEqual(axes.shape, (8, 6))
        self.assertGreater(share, 0.9999)
        self.assertLess(np.abs(axes[6:]).max(), 0.01)


class Neighbours(LibraryCase):
    def test_table(self) -> None:
        """The exact search finds all pairs, and nearly all true edges."""
        rows = printed(neighbours.main, "--events", str(DATA), "--count", "1")[2:]
        self.assertEqual(rows[0][:2], ["exact", "1.000"])
        self.assertGreater(float(rows[0][2]), 0.99)


class Construction(LibraryCase):
    def test_table(self) -> None:
        """Modules seen in the event itself have nearly all its true edges; a search
        of FAISS that misses little nearly as many."""
        rows = printed(
            construction.main,
            *("--events", str(DATA), "--count", "1", "--learn", str(DATA)),
            *("--only", "radius", "--only", "modules"),
        )[2:]
        radius, modules, *approximate = rows
        self.assertGreater(float(radius[1]), 0.99)
        self.assertGreater(float(modules[1]), 0.99)
        if has("faiss"):
            self.assertEqual(approximate[0][0], "radius, inverted file, nearest 16")
            self.assertGreater(float(approximate[0][1]), float(radius[1]) - 0.02)
        else:
            self.assertEqual(approximate, [])


class Padding(LibraryCase):
    def test_table(self) -> None:
        """Filled graphs have as many edges as the largest, and the same scores."""
        rows = printed(padding.main, "--events", str(DATA), "--count", "2")[2:]
        self.assertEqual(rows[0][1:], ["as they are", "1.000", "1.000"])
        self.assertGreater(float(rows[1][2]), 1.05)
        self.assertEqual(rows[2][1:3], ["2 shapes", "1.000"])


class Messages(LibraryCase):
    def test_ways(self) -> None:
        """All that are installed agree on the sums and on both gradients."""
        problem = messages.Problem(40, 150, 5)
        m = np.zeros_like(problem.x)
        rows = problem.w[:, None] * problem.x[problem.src]
        np.add.at(m, problem.dst, rows)
        np.add.at(m, problem.src, problem.w[:, None] * problem.x[problem.dst])
        first = None
        for module, way in messages.WAYS.values():
            if not has(module):
                continue
            forward, backward = way(problem)
            result = forward()
            gradients = [np.asarray(d) for d in backward(result)]
            if not isinstance(result, np.ndarray):
                result = result.detach().numpy()
            np.testing.assert_allclose(result, m, atol=1e-5)
            first = first or gradients
            for one, other in zip(first, gradients, strict=True):
                np.testing.assert_allclose(one, other, atol=1e-5)
