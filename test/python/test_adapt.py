"""test_adapt -- from events to a model: what it sees, chooses, keeps and refuses.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import signal
import sys
import time
import unittest
import warnings
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from support import ROOT, FolderCase

import numpy as np

import exatrkx
from exatrkx.adaptation import adapt as adaptation
from exatrkx.adaptation import choices, facts, report, stages
from exatrkx.adaptation.adapt import adapt, main, split

DATA = ROOT / "examples" / "data"


def events() -> list[exatrkx.Event]:
    return list(exatrkx.Events(DATA, detector=exatrkx.Detector.load()))


def copy_of(event: exatrkx.Event, **changes: Any) -> exatrkx.Event:
    """With positions, modules and truth, but for changes."""
    arrays: dict[str, Any] = {
        "positions": event.positions,
        "modules": event.modules,
        "particle_ids": event.particle_ids,
        "particles": event.particles,
    }
    return exatrkx.Event.from_arrays(**arrays | changes)


def hostile(random: Random) -> exatrkx.Event:
    """Of few particles on lines, each of its properties as nobody expects it."""
    rng = np.random.default_rng(random.randrange(2**32))
    n_layers, n = random.choice((1, 3, 5, 9)), random.choice((1, 3, 10, 30))
    n_noise, step = random.choice((0, 0, 1, 20)), random.choice((0.1, 30.0, 30.0, 300.0))
    direction = rng.normal(size=(n, 3))
    hits = direction[:, None] * np.arange(1, n_layers + 1)[None, :, None] * step
    hits = np.concatenate([hits.reshape(-1, 3), rng.normal(0, 100, (n_noise, 3))])
    ids = np.append(np.repeat(np.arange(1, n + 1), n_layers), np.zeros(n_noise, int))
    if random.random() < 0.2:
        ids[rng.random(len(ids)) < 0.5] = 0
    if random.random() < 0.1:
        hits[:] = hits[0]
    layer = np.append(np.tile(np.arange(n_layers), n), rng.integers(0, 3, n_noise))
    particles = np.zeros(n, exatrkx.PARTICLE)
    particles["id"], particles["charge"] = np.arange(1, n + 1), rng.choice((-1, 0, 1), n)
    particles["momentum"] = direction * random.choice((0, 1e-44, 1e-3, 1, 1e3, 1e30))
    particles["vertex"] = rng.normal(size=(n, 3)) * random.choice((0, 1, 1e5, 1e20))
    return exatrkx.Event.from_arrays(
        hits.astype(np.float32),
        modules=np.stack([layer * 0, layer, layer]) if random.random() < 0.6 else None,
        weights=np.full(len(ids), random.choice((0, 1, 1e30))),
        particle_ids=ids,
        particles=particles,
    )


class Facts(unittest.TestCase):
    def test_shipped_events(self) -> None:
        found = facts.look(events())
        self.assertEqual(found.n_events, 3)
        self.assertTrue(found.has_cells and found.has_helices and found.is_symmetric)
        self.assertAlmostEqual(found.field, 1.9, delta=0.1)
        self.assertGreater(found.n_layers, 30)
        self.assertAlmostEqual(found.radius, 1020, delta=20)
        self.assertEqual(len(found.warnings), 1)  # three events are few

    def test_wanted(self) -> None:
        """A detector of soft particles, or of short tracks, is judged by its own."""
        self.assertEqual(facts.look(events()).wanted, facts.Wanted(0.5, 0.1, 5))
        rng = np.random.default_rng(1)
        for n_layers, pt, pz, wanted in (
            (10, 2.0, 0.0, facts.Wanted(0.5, 0.1, 5)),
            (4, 2.0, 0.0, facts.Wanted(0.5, 0.1, 3)),
            (10, 0.04, 0.0, facts.Wanted(0.04, 0.008, 5)),
            (10, 2.0, 100.0, facts.Wanted(max_eta=facts.ANY_ETA)),
            (10, 0.0, 100.0, facts.Wanted(0.0, 0.0, max_eta=facts.ANY_ETA)),
            (2, 0.04, 0.0, facts.Wanted()),
        ):
            particles = np.zeros(20, exatrkx.PARTICLE)
            particles["id"], particles["momentum"] = np.arange(1, 21), [pt, 0, pz]
            event = exatrkx.Event.from_arrays(
                rng.normal(0, 100, (20 * n_layers, 3)).astype(np.float32),
                particle_ids=np.repeat(particles["id"], n_layers),
                particles=particles,
            )
            self.assertEqual(facts.wanted_of([event]), wanted)

    def test_doubts(self) -> None:
        """Each kind of wrong truth has a line of its own."""
        event = events()[0]
        assert event.particles is not None and event.particle_ids is not None
        heavy, bare, moved = (event.particles.copy() for _ in range(3))
        heavy["momentum"] *= 1000
        bare["momentum"] = 0
        moved["vertex"] += 0, 0, 5000
        away = {"particles": moved, "positions": event.positions + np.float32([0, 0, 5000])}
        shuffled = np.random.default_rng(1).permutation(event.particle_ids)
        twice = {
            "positions": np.concatenate([event.positions] * 2),
            "particle_ids": np.concatenate([event.particle_ids] * 2),
            "modules": None,
        }
        changes: dict[str, dict[str, Any]] = {
            "bend as in [0-9]{4} T: momenta are wanted in GeV": {"particles": heavy},
            "momenta or charges of the true particles are missing": {"particles": bare},
            "go back and forth": {"particle_ids": shuffled},
            "[456]. % of the true tracks come nearer to the origin": away,
            "50.0 % of the hits are where another one is": twice,
        }
        for text in changes:
            self.assertNotRegex("\n".join(facts.look([event]).warnings), text)
        for text, change in changes.items():
            found = facts.look([copy_of(event, **change)])
            self.assertRegex("\n".join(found.warnings), text)

    def lines(self, bent: float, across: float = 1.0) -> facts.Facts:
        """Of events of lines that turn in x with pz, as beyond a magnet; across: z is 1."""
        rng = np.random.default_rng(1)
        direction = rng.normal(size=(20, 3)) * [across, across, 1.0]
        away = np.arange(1, 9)[None, :, None] * 100.0
        hits = direction[:, None] * away
        hits[:, :, 0] += bent * np.maximum(away[:, :, 0] - 400, 0)
        particles = np.zeros(20, exatrkx.PARTICLE)
        particles["id"], particles["charge"] = np.arange(1, 21), 1
        particles["momentum"] = direction
        hits = hits.reshape(-1, 3)
        event = exatrkx.Event.from_arrays(
            hits + rng.normal(0, 0.01, hits.shape),
            particle_ids=np.repeat(particles["id"], 8),
            particles=particles,
        )
        return facts.look([event])

    def test_straight_tracks(self) -> None:
        """They are helices without a field; hits without layers have a warning."""
        found = self.lines(0.0)
        self.assertTrue(found.has_helices)
        self.assertAlmostEqual(found.field, 0.0, delta=0.05)
        self.assertNotIn("no helices", "".join(found.warnings))
        self.assertIn("no layers", "".join(found.warnings))
        forward = self.lines(0.0, across=1e-3)
        self.assertFalse(forward.has_helices)
        self.assertIn("true tracks are straight", "".join(forward.warnings))
        self.assertNotIn("no helices", "".join(forward.warnings))

    def test_one_layer(self) -> None:
        """Modules that are all the same are none."""
        event = events()[0]
        same = copy_of(event, modules=np.zeros((3, len(event)), np.int32))
        self.assertEqual(facts.look([same]).n_layers, 0)

    def test_other_field(self) -> None:
        found = self.lines(0.5)
        self.assertFalse(found.has_helices)
        self.assertIn("no helices about z", "".join(found.warnings))

    def test_unit(self) -> None:
        event = events()[0]
        small = copy_of(event, positions=event.positions / 1000)
        with self.assertRaisesRegex(exatrkx.ArgumentError, "--unit m"):
            facts.look([small])
        again = facts.in_unit(small, "m")
        np.testing.assert_allclose(again.positions, event.positions, rtol=1e-6)
        assert again.modules is not None and event.modules is not None
        np.testing.assert_array_equal(again.modules, event.modules)

    def test_unit_of_clusters(self) -> None:
        """Clusters are scaled; hits of several particles, and features, stay theirs."""
        event = events()[0]
        assert event.particles is not None
        clusters = np.stack([event.positions, event.positions + 1], axis=1)
        shared = np.array([0], np.int32), event.particles["id"][:1]
        features = event.positions[:, :2]
        given = copy_of(
            event, cluster_positions=clusters, shared_hits=shared, features=features
        )
        found = facts.in_unit(given, "cm")
        assert found.features is not None
        np.testing.assert_array_equal(found.features, features)
        assert found.cluster_positions is not None and found.shared_hits is not None
        np.testing.assert_allclose(found.cluster_positions, 10 * clusters, rtol=1e-6)
        np.testing.assert_array_equal(found.shared_hits, given.shared_hits)

    def test_no_truth(self) -> None:
        """What measured nothing is left out; what lacks truth is refused."""
        whole = events()[0]
        noise = copy_of(whole, particle_ids=np.zeros(len(whole), np.int64))
        empty = copy_of(
            whole, positions=np.zeros((0, 3)), modules=np.zeros((3, 0)), particle_ids=[]
        )
        some = [empty, whole, noise, whole]
        self.assertEqual(facts.with_particles(some), [whole, whole])
        job = adaptation.Adaptation(
            some, Path("none"), 0.0, exatrkx.Context(1), lambda text: None
        )
        self.assertEqual((job.training, job.validation), ([whole], [whole]))
        self.assertIn("2 of 4 events have no true particle", "".join(job.facts.warnings))
        for others, text in (
            ([exatrkx.Event.from_arrays(whole.positions), whole], "no truth to learn from"),
            ([empty, noise], "2 events: no hit has a true particle"),
        ):
            with self.assertRaisesRegex(exatrkx.ArgumentError, text):
                facts.with_particles(others)

    def test_no_momenta(self) -> None:
        """Particles count, whatever is not known of all of them."""
        whole = events()[0]
        for names, text in (
            (["momentum"], "particles with 5 hits or more"),
            (["charge"], "particles with pT > 0.5"),
            (["momentum", "charge"], "particles with 5 hits or more"),
        ):
            particles = np.array(whole.particles)
            for name in names:
                particles[name] = 0
            some = [copy_of(whole, particles=particles)] * 2
            found = facts.look(some)
            self.assertIn(text, dict(found.lines())["judged by"])
            self.assertIn("momenta or charges", "".join(found.warnings))
            quality = choices.measure(
                exatrkx.Model.load(), facts.with_momenta(some), exatrkx.Context(1), found.wanted
            )
            self.assertGreater(quality.soft_efficiency.value, 0.9)
        self.assertEqual(facts.with_momenta([whole]), [whole])


class Choices(unittest.TestCase):
    def test_true_edges(self) -> None:
        """As many as hits of a particle less one, all between its hits."""
        event = events()[0]
        edges = choices.true_edges(event, 0.0)
        ids = np.asarray(event.particle_ids)
        self.assertTrue(np.all(ids[edges[:, 0]] == ids[edges[:, 1]]))
        counts = np.unique(ids[ids != 0], return_counts=True)[1]
        self.assertEqual(len(edges), np.sum(counts - 1))
        self.assertLess(len(choices.true_edges(event, 0.5)), len(edges))

    def test_worse_is_refused(self) -> None:
        model = exatrkx.Model.load()
        chooser = choices.Chooser(events()[:1], exatrkx.Context(1))
        chooser.choose("start", [("default", model)])
        before = chooser.best()[1]
        chooser.sweep({"embedding.graph.radius": [0.01], "gnn.no": [], "no.such": [1]})
        self.assertEqual(chooser.best(), (model, before))
        self.assertEqual([kept is None for _, _, kept in chooser.steps], [False, True, True])

    def test_relative(self) -> None:
        """A radius that loses pairs of hits becomes a wider one, of the model's scale."""
        narrow = choices.changed(
            exatrkx.Model.load("chain"), {"embedding.graph.radius": 0.25}
        )
        chooser = choices.Chooser(events()[:1], exatrkx.Context(1))
        chooser.choose("start", [("narrow", narrow)])
        chooser.sweep({"embedding.no": [2.0], **adaptation.RADIUS_GRID}, is_relative=True)
        self.assertEqual(len(chooser.steps), 2)
        trials = [trial.name for trial in chooser.steps[1][1]]
        self.assertEqual(trials, ["0.175", "0.3", "0.35", "0.475"])
        found = chooser.best()[0].config["embedding"]["graph"]["radius"]
        self.assertAlmostEqual(found, 0.475)

    def test_even(self) -> None:
        """What is as good is taken where that is wanted."""
        model, other = exatrkx.Model.load(), exatrkx.Model.load()
        chooser = choices.Chooser(events()[:1], exatrkx.Context(1))
        chooser.choose("start", [("default", model)])
        self.assertFalse(chooser.choose("same", [("other", other)]))
        self.assertIs(chooser.best()[0], model)
        self.assertTrue(chooser.choose("same", [("other", other)], is_even=True))
        self.assertIs(chooser.best()[0], other)
        before = chooser.best()[1]
        for is_even, kept in ((True, other), (False, model)):
            chooser.compare("before", model, before, is_even=is_even)
            self.assertIs(chooser.best()[0], kept)
        bad = choices.changed(model, {"embedding.graph.radius": 0.01}, without=adaptation.BESIDES)
        self.assertFalse(chooser.choose("worse", [("bad", bad)], is_even=True))

    def test_gain_and_loss(self) -> None:
        """A gain is none within the margin, nor where one rate loses more than it."""

        def quality(*values: float) -> choices.Quality:
            return choices.Quality(*(exatrkx.Rate(v, v, v) for v in values), 10000)

        start = quality(0.98, 0.90, 0.97, 0.02)
        self.assertTrue(start.is_better(None))
        self.assertFalse(start.is_better(start))
        self.assertFalse(quality(0.98, 0.903, 0.97, 0.02).is_better(start))  # + 0.001 of 0.0015
        self.assertTrue(quality(0.98, 0.91, 0.97, 0.02).is_better(start))
        self.assertTrue(quality(0.98, 0.90, 0.97, 0.01).is_better(start))
        self.assertTrue(quality(0.98, 0.895, 0.97, 0.01).is_better(start))
        self.assertFalse(quality(0.98, 0.885, 0.97, 0.01).is_better(start))  # + 0.005 - 0.015
        self.assertFalse(quality(0.99, 0.97, 0.97, 0.05).is_better(start))
        self.assertFalse(quality(1.0, 1.0, 0.9999, 0.0).is_best)
        self.assertTrue(quality(1.0, 1.0, 1.0, 0.0).is_best)

    def test_refused_by_the_library(self) -> None:
        """A candidate that the library refuses is a trial with a reason."""
        bare = exatrkx.Event.from_arrays(np.zeros((0, 3), np.float32))
        chooser = choices.Chooser([bare], exatrkx.Context(1))
        chooser.choose("start", [("default", exatrkx.Model.load())])
        with self.assertRaisesRegex(ValueError, "no truth"):
            chooser.best()

    def test_split(self) -> None:
        some = events()
        for n, n_validation in ((2, 1), (3, 1), (7, 2), (60, 12), (600, 12)):
            train, validation = split([some[0]] * n)
            self.assertEqual((len(train) + len(validation), len(validation)), (n, n_validation))
        with self.assertRaisesRegex(exatrkx.ArgumentError, "1 event"):
            split(some[:1])
        for most, n_validation in ((1, 1), (2 * len(some[0]), 2)):
            with mock.patch.object(adaptation, "MAX_VALIDATION_HITS", most):
                self.assertEqual(len(split([some[0]] * 60)[1]), n_validation)

    def test_steps(self) -> None:
        found = facts.look(events())
        model = exatrkx.Model.load()
        short, long = (
            stages.steps_of("gnn", model, found, seconds, stages.STAGES)
            for seconds in (10.0, 1000.0)
        )
        self.assertLess(short, long)
        wide = exatrkx.Model.load("accurate")
        self.assertLess(stages.steps_of("gnn", wide, found, 1000.0, stages.STAGES), long)


class Stop(Exception):
    """Ends an adaptation in its middle."""


class Adapt(FolderCase):
    def adapt(self, name: str, stop: str = "", **more: Any) -> dict[str, Any]:
        """Of the shipped events, with few steps; ends after a line with stop."""

        def say(text: str) -> None:
            if stop and stop in text:
                raise Stop(text)

        out = str(self.folder / name)
        context = exatrkx.Context(1)
        return adapt(events(), out, seconds=0.2, context=context, say=say, **more)

    def use_few_trials(self) -> None:
        """The trainings are what takes time then."""
        few: dict[str, dict[str, Any]] = {"GRAPH_GRID": {"filter.cut": (0.01,)}}
        few["LABEL_GRID"] = few["RADIUS_GRID"] = {}
        few["LABELS"] = {"best_first": (0.02, 0.1)}
        for name, values in few.items():
            patch = mock.patch.dict(vars(adaptation)[name], values, clear=True)
            patch.start()
            self.addCleanup(patch.stop)

    def test_result(self) -> None:
        found = self.adapt("model", start="default", from_scratch=True)
        model = exatrkx.Model.load(self.folder / "model")
        for name in stages.STAGES:  # from what a first pass leaves, too
            config = json.loads(model.config["training"][name]["config"])
            self.assertEqual(config["augmentation"]["first_pass"], 0.8)
        text = (self.folder / "model.json").read_text()
        self.assertNotIn("NaN", text)  # no JSON
        self.assertEqual(json.loads(text), report.as_json(found))
        page = (self.folder / "model.html").read_text()
        by = "Efficiency by pt", "Efficiency by nearest"
        for word in ("<h1>", *by, "label.min_hits", "training", "more events"):
            self.assertIn(word, page)
        rows = found["efficiency_by"]["nearest"]["rows"]
        self.assertEqual(
            sum(n for _, _, n, *_ in rows),
            sum(n for _, _, n, *_ in found["efficiency_by"]["radius"]["rows"]),
        )
        for curve in found["more"]["curves"].values():
            self.assertEqual(len(curve), stages.N_VALIDATIONS)
        self.assertFalse((self.folder / "model.work").exists())

    def test_tables_of_all(self) -> None:
        """The model that goes on may be another one than is best without tables; those
        of layers that the events lack are none."""
        self.use_few_trials()
        names = "default", "odd"
        with mock.patch.object(adaptation, "MODELS", names):
            found = self.adapt("any")
        start, tables = found["choices"][:2]
        self.assertEqual(
            [trial["name"] for trial in start["trials"]],
            ["default", "default, networks alone", "odd, networks alone"],
        )
        for name in names:
            self.assertIn(f"{name}, completion", [trial["name"] for trial in tables["trials"]])

    def test_training_that_gains_nothing(self) -> None:
        """It gets tables and options of its own before it is compared; then the model
        of before is kept, with its quality."""
        self.use_few_trials()
        options = {"filter.max_edges_per_hit": 0.2}
        poor = choices.changed(exatrkx.Model.load("chain"), options)
        with mock.patch.object(adaptation.Adaptation, "_train_networks", return_value=poor):
            found = self.adapt("model", start="chain")
        steps = [step["what"] for step in found["choices"]]
        after = found["choices"][steps.index("training") :]
        self.assertIn("tables", [step["what"] for step in after])
        self.assertEqual(after[-1]["what"], "result")
        self.assertEqual(after[-1]["kept"], "before training")
        self.assertEqual(
            [step["what"] for step in report.of_result(found)],
            [step["what"] for step in found["choices"][: steps.index("training")] if step["kept"]],
        )
        self.assertGreaterEqual(found["result"]["value"], found["start"]["value"])

    def test_trained_with_tables(self) -> None:
        """Labels are tried with the tables that networks were trained with, too, where
        the model before them has none."""
        self.use_few_trials()
        bare = choices.changed(exatrkx.Model.load("default"), {}, without=adaptation.BESIDES)
        bare.save(self.folder / "bare")
        trained = exatrkx.Model.load("default")
        with mock.patch.object(adaptation.Adaptation, "_train_networks", return_value=trained):
            found = self.adapt("model", start=str(self.folder / "bare"), from_scratch=True)
        (step,) = (one for one in found["choices"] if one["what"] == "training")
        names = [trial["name"] for trial in step["trials"]]
        end = ", without first_pass and completion"
        self.assertEqual(names, [f"best_first {cut}{e}" for e in ("", end) for cut in (0.02, 0.1)])

    def test_nothing_to_gain(self) -> None:
        """No training where each particle has its track, and no other hit."""
        found = self.adapt("best", start="default")
        self.assertEqual((found["start"]["value"], found["more"]["curves"]), (1.0, {}))
        self.assertEqual(found["result"], found["start"])

    def test_without_modules(self) -> None:
        """Networks alone, whatever the shipped models have."""
        self.use_few_trials()
        bare = [copy_of(event, modules=None) for event in events()]
        with mock.patch(f"{__name__}.events", lambda: bare):
            found = self.adapt("bare", start="positions", from_scratch=True)
        self.assertIn("hits have no layers", "".join(found["warnings"]))
        self.assertIn("gnn", found["more"]["curves"])
        config = exatrkx.Model.load(self.folder / "bare").config["training"]["gnn"]["config"]
        self.assertNotIn("first_pass", json.loads(config)["augmentation"])

    def test_stopped(self) -> None:
        """Stopped in each training and called again: the same bytes."""
        self.use_few_trials()
        self.adapt("whole", start="default", from_scratch=True)
        for stop in ("filter: step", "gnn: step"):
            with self.assertRaises(Stop):
                self.adapt("stopped", stop, start="default", from_scratch=True)
        with self.assertRaisesRegex(exatrkx.FileError, "other events or settings"):
            self.adapt("stopped", start="positions")
        self.adapt("stopped", start="default", from_scratch=True)
        whole, stopped = (
            (self.folder / name).read_bytes() for name in ("whole", "stopped")
        )
        self.assertEqual(whole, stopped)
        whole, stopped = (
            json.loads((self.folder / name).read_bytes())
            for name in ("whole.json", "stopped.json")
        )
        self.assertNotEqual(whole.pop("continue"), stopped.pop("continue"))
        self.assertEqual(whole, stopped)

    def fork(self, name: str, point: int = -1, seconds: float = 0.0) -> tuple[int, float]:
        """An adaptation on two threads in a child, that kills itself at a point, a step
        of a training or a change of a file, or is killed after seconds. How the
        child ended, 0 where it was done, and its seconds."""
        begin = time.monotonic()
        child = os.fork()
        if child == 0:
            left = [point]

            def pass_point(*_: object) -> None:
                left[0] -= 1
                if left[0] == -1:
                    os.kill(os.getpid(), signal.SIGKILL)

            def hook(event: str, arguments: tuple[Any, ...]) -> None:
                if event.startswith("os.") and str(self.folder / name) in str(arguments):
                    pass_point()

            sys.addaudithook(hook)
            step = exatrkx.Trainer.step
            with mock.patch.object(
                exatrkx.Trainer, "step", lambda trainer: (pass_point(), step(trainer))[1]
            ):
                out = str(self.folder / name)
                adapt(
                    events()[:2],
                    out,
                    seconds=1.0,
                    from_scratch=True,
                    start="default",
                    context=exatrkx.Context(2),
                )
            os._exit(0)
        if seconds:
            time.sleep(seconds)
            os.kill(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return code, time.monotonic() - begin

    def test_killed(self) -> None:
        """Killed at any step and at any change of a file, or at any time, and called
        again: the same bytes, and nothing else is left."""
        self.use_few_trials()
        few = dict.fromkeys(stages.STAGES, 4)
        for name, value in ("MIN_STEPS", 4), ("MAX_STEPS", few), ("CHECKPOINT_SECONDS", 0.0):
            patch = mock.patch.object(stages, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        whole, seconds = self.fork("whole")
        self.assertEqual(whole, 0)
        for point in range(1000):
            name = f"killed{point}"
            code, _ = self.fork(name, point)
            if code == 0:
                break
            self.assertEqual((code, self.fork(name)[0]), (-signal.SIGKILL, 0))
            self.assert_same_files(name)
        self.assertGreater(point, 20)
        codes = [self.fork("timed", seconds=k * seconds / 8)[0] for k in range(1, 8)]
        self.assertIn(-signal.SIGKILL, codes)
        self.assertEqual(self.fork("timed")[0], 0)
        self.assert_same_files("timed")

    def assert_same_files(self, name: str) -> None:
        for end in ("", ".json", ".html"):
            whole, other = (
                (self.folder / (one + end)).read_bytes().replace(one.encode(), b"")
                for one in ("whole", name)
            )
            self.assertEqual(whole, other, name + end)
        self.assertEqual(len(list(self.folder.glob(name + "*"))), 3)

    def test_hostile(self) -> None:
        """Few hits, all at one position, any momenta and vertices: a model and a report,
        or what is wrong with the events, and no warning of numpy."""
        self.use_few_trials()
        for name, few in ("MIN_STEPS", 2), ("MAX_STEPS", dict.fromkeys(stages.STAGES, 2)):
            patch = mock.patch.object(stages, name, few)
            patch.start()
            self.addCleanup(patch.stop)
        n_done = 0
        for seed in range(100):
            random = Random(seed)
            some = [hostile(random) for _ in range(random.choice((2, 3)))]
            start = random.choice(("default", "positions", "odd"))
            with self.subTest(seed), warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                try:
                    adapt(
                        some,
                        str(self.folder / "m"),
                        start=start,
                        from_scratch=random.random() < 0.5,
                        context=exatrkx.Context(1),
                    )
                    n_done += 1
                except exatrkx.ArgumentError as error:
                    self.assertRegex(str(error), "no hit (has a true particle|is 20 mm)|1 event")
        self.assertGreater(n_done, 50)

    def test_damaged_work(self) -> None:
        """What is not as it was written is named, or other inputs."""
        event, work = events()[0], self.folder / "work"
        adaptation.same_inputs([event], [0], work)
        curve = work / "gnn.curve"
        for text in (b"", b"[1]", b'{"a": 1}', b'{"1": [2]}', b"\xff"):
            curve.write_bytes(text)
            with self.assertRaisesRegex(exatrkx.FileError, "gnn.curve: not what"):
                stages.Curve.load(curve)
        (work / "inputs").write_bytes(b"\xff")
        with self.assertRaisesRegex(exatrkx.FileError, "other events or settings"):
            adaptation.same_inputs([event], [0], work)

    def test_other_inputs(self) -> None:
        """Work of other events is refused; what was about to be removed is none."""
        event, work = events()[0], self.folder / "work"
        adaptation.same_inputs([event], [0], work)
        adaptation.same_inputs([event], [1], work)  # nothing was done
        (work / "gnn.curve").touch()
        adaptation.same_inputs([event], [1], work)
        bare = exatrkx.Event.from_arrays(
            event.positions, particle_ids=event.particle_ids, particles=event.particles
        )
        for others, settings in (([bare], [1]), ([event], [2]), ([event, event], [1])):
            with self.assertRaisesRegex(exatrkx.FileError, "other events or settings"):
                adaptation.same_inputs(others, settings, work)
        (work / "gnn.safetensors").touch()
        (work / "inputs").unlink()
        adaptation.same_inputs([bare], [2], work)
        self.assertEqual([path.name for path in work.iterdir()], ["inputs"])

    def run_main(self, *arguments: object) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(word) for word in arguments])
        return code, out.getvalue(), err.getvalue()

    def test_command(self) -> None:
        self.use_few_trials()
        line = ["--out", self.folder / "m", "--time", "0.2", "--start", "positions"]
        line += ["--from-scratch", "--threads", "1"]
        line += ["--detector", ROOT / "examples" / "data" / "detectors.csv.gz"]
        code, out, err = self.run_main(DATA, *line)
        self.assertEqual(code, 0, err)
        self.assertIn("Tracks of 1 validation events", out)
        go_on = f"exatrkx adapt {DATA} --detector {line[-1]} --start {self.folder / 'm'}"
        self.assertIn(f"{go_on} --out {self.folder / 'm'}-more --time 0.4", out)
        gain = re.search("([0-9.]+) on events .*, ([0-9.]+) on others; .* gain ([0-9.]+)", out)
        assert gain is not None
        seen, others, more = map(float, gain.groups())
        self.assertAlmostEqual(more, max(seen - others, 0), delta=0.00011)
        self.assertIn("field along z: 1.9", err)
        self.assertEqual((out + err).count("3 events are few"), 1)

    def test_command_refuses(self) -> None:
        code, _, err = self.run_main(self.folder, "--out", self.folder / "m")
        self.assertEqual(code, 1)
        self.assertIn("no *-hits.csv", err)
        with self.assertRaisesRegex(exatrkx.ArgumentError, "give another name"):
            self.adapt("m", start=str(self.folder / "m"))
        (self.folder / "made").mkdir()
        with self.assertRaisesRegex(exatrkx.FileError, "made: is a folder"):
            self.adapt("made")


if __name__ == "__main__":
    unittest.main()
