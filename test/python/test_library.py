"""test_library -- the Python interface of the library.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import threading
import unittest
from pathlib import Path
from unittest import mock

from support import BUILD, EVENT, LIBRARY, PACKAGE, LibraryCase

import exatrkx
import numpy as np
from exatrkx import _shipped

PROGRAM = BUILD / "examples" / "etx-find-tracks"


class TestPipeline(LibraryCase):
    def test_batch_is_single_calls(self) -> None:
        events = [self.event] * 3
        with exatrkx.Context(threads=2) as context:
            found = exatrkx.find_tracks_batch(self.model, events, context)
            self.assertEqual(exatrkx.find_tracks_batch(self.model, [], context), [])
        self.assertEqual(len(found), 3)
        for tracks in found:
            self.assertTrue(np.array_equal(tracks.labels, self.tracks.labels))
        with self.assertRaises(TypeError):
            exatrkx.find_tracks_batch(self.model, [self.model])
        bare = exatrkx.Event.from_arrays(self.event.positions)
        with self.assertWarnsRegex(UserWarning, "no modules"):
            exatrkx.find_tracks_batch(self.model, (one for one in [bare]), self.context)

    @unittest.skipUnless(PROGRAM.exists(), f"no {PROGRAM}: make programs")
    def test_same_as_program(self) -> None:
        ours, theirs = self.folder / "a.csv", self.folder / "b.csv"
        self.tracks.write_csv(ours, self.event)
        subprocess.run(
            [PROGRAM, "--event", EVENT, "--out", theirs, "--threads", "1"],
            check=True,
            capture_output=True,
            cwd=PACKAGE.parents[1],
        )
        self.assertEqual(ours.read_bytes(), theirs.read_bytes())
        again = exatrkx.Tracks.from_csv(theirs, self.event)
        self.assertTrue(np.array_equal(again.labels, self.tracks.labels))

    def test_tracks_by_mask(self) -> None:
        """As numpy's arrays: numbers from either end, or a mask of all."""
        tracks = self.tracks
        mask = np.diff(tracks.offsets) > 12
        self.assertTrue(0 < mask.sum() < len(tracks))
        for index in (mask, mask.tolist(), np.flatnonzero(mask), [0, -1]):
            some = np.arange(len(tracks))[index]
            found = tracks[index]
            self.assertEqual(len(found), len(some))
            for hits, t in zip(found, some, strict=True):
                np.testing.assert_array_equal(hits, tracks[int(t)])
        self.assertEqual(tracks[[]], [])
        with self.assertRaises(IndexError):
            tracks[mask[:-1]]
        with self.assertRaises(IndexError):
            tracks[[len(tracks)]]

    def test_shown(self) -> None:
        """What a notebook shows of objects that are no tables."""
        context = exatrkx.Context(2)
        events = exatrkx.Events(EVENT)
        start = self.model
        trainer = exatrkx.Trainer({"stage": "filter"}, start=start, context=context)
        for shown, found in (
            ("<exatrkx.Context on cpu, 2 threads>", context),
            (f"<exatrkx.Events: 1, the first {EVENT}>", events),
            (f"<exatrkx.Trainer: 0 of {trainer.n_steps} steps done>", trainer),
        ):
            self.assertEqual(repr(found), shown)
        for one in (trainer, context):
            one.close()
            self.assertEqual(repr(one), f"<exatrkx.{type(one).__name__} closed>")

    def test_particles_of_another_layout(self) -> None:
        """PARTICLE packed and in the other order of bytes, as files may have it."""
        event, kind = self.event, exatrkx.PARTICLE
        other = np.dtype([(name, kind[name]) for name in kind.names]).newbyteorder()
        made = exatrkx.Event.from_arrays(
            event.positions,
            particle_ids=event.particle_ids,
            particles=event.particles.astype(other),
        )
        np.testing.assert_array_equal(made.particles, event.particles)

    def test_tables_of_modules(self) -> None:
        modules, xyz = self.event.modules, self.event.positions
        names = ("volume", "layer", "module")
        for given in (
            modules.T,
            dict(zip(names, modules, strict=True)),
            dict(zip((f"{name}_id" for name in names), modules, strict=True)),
        ):
            made = exatrkx.Event.from_arrays(xyz, modules=given)
            np.testing.assert_array_equal(made.modules, modules)
        with self.assertRaisesRegex(ValueError, "modules: columns volume, sensor, exp"):
            exatrkx.Event.from_arrays(xyz, modules={"volume": 1, "sensor": 2})

    def test_detector_pickled(self) -> None:
        """As model and event: through any number of processes, without files."""
        path = self.folder / "detectors.csv.gz"
        path.write_bytes(_shipped.shipped("data", "detectors.csv.gz").read_bytes())
        detector = exatrkx.Detector.load(path)
        once = pickle.loads(pickle.dumps(detector))
        path.unlink()
        again = pickle.loads(pickle.dumps(once))
        self.assertEqual(again.n_modules, detector.n_modules)
        with self.assertRaisesRegex(FileNotFoundError, "detectors.csv.gz"):
            pickle.dumps(detector)

    def test_track_ids(self) -> None:
        """Tracks of a file keep their ids, also those selected from them."""
        path = self.folder / "ids.csv"
        path.write_text("hit_id,track_id\n1,8\n2,8\n3,5\n4,-1\n5,0\n")
        tracks = exatrkx.Tracks.from_csv(path, self.event)
        self.assertEqual(tracks.ids.tolist(), [8, 5, 0])
        some = exatrkx.select_tracks(tracks, keep=[0, 1, 1])
        self.assertEqual(some.ids.tolist(), [5, 0])
        self.assertEqual(exatrkx.Tracks.from_labels([0, -1, 1]).ids.tolist(), [1, 2])

    def test_stages(self) -> None:
        """One by one they give what find_tracks gives, where all tracks of its first
        pass are found without one."""
        model, event = exatrkx.Model.load("accurate"), self.event
        points = exatrkx.embed(model, event)
        self.assertEqual(points.shape, (len(event), 8))
        graph = exatrkx.build_graph(model, event)
        self.assertIsNone(graph.scores)
        passed = exatrkx.filter_graph(graph, model, event)
        before = passed.scores.copy()
        scored = exatrkx.score_graph(passed, model, event)
        self.assertTrue(np.array_equal(before, passed.scores))
        self.assertFalse(np.array_equal(before, scored.scores))
        tracks = exatrkx.build_tracks(scored, model.label_options, event=event)
        completed = exatrkx.complete_tracks(tracks, model, event)
        whole = exatrkx.find_tracks(model, event)
        self.assertTrue(np.array_equal(completed.labels, whole.labels))
        none = exatrkx.CompletionOptions(max_distance=0, max_join=0, max_random=0.3)
        same = exatrkx.complete_tracks(tracks, model, event, options=none)
        self.assertTrue(np.array_equal(same.labels, tracks.labels))
        again = exatrkx.learn_completion(model, [event], options=none)
        self.assertEqual(again.completion_options, none)
        fewer = exatrkx.build_tracks(scored, model.label_options, event=event, min_hits=10)
        self.assertLess(len(fewer), len(tracks))

    def test_module_map(self) -> None:
        event = self.event
        options = exatrkx.ModuleMapOptions(units="layers", use_triplets=True)
        mapped = exatrkx.learn_module_map(self.model, [event], options=options)
        self.assertIn("module_map", mapped.stages)
        layers = exatrkx.build_graph(mapped, event)
        mapped = exatrkx.learn_module_map(self.model, [event])
        modules = exatrkx.build_graph(mapped, event)
        self.assertLess(modules.n_edges, layers.n_edges)
        self.assertGreater(len(exatrkx.find_tracks(mapped, event)), 30)
        with self.assertRaises(ValueError):
            exatrkx.learn_module_map(
                self.model, [event], options=exatrkx.ModuleMapOptions(units="rings")
            )

    def test_first_pass(self) -> None:
        """Learned from an event with enough tracks."""
        event = exatrkx.Event.from_trackml(
            EVENT.with_name("event000000002"), detector=exatrkx.Detector.load()
        )
        options = exatrkx.FirstPassOptions(
            min_layers=8, min_pt=0.125, max_random=0.125, min_event_hits=0
        )
        both = exatrkx.learn_first_pass(self.model, [event], options=options)
        self.assertEqual(both.first_pass_options, options)
        self.assertEqual(both.stages[-1], "first_pass")
        long_tracks = exatrkx.find_long_tracks(both, event)
        self.assertGreater(len(long_tracks), 100)
        none = exatrkx.FirstPassOptions(max_distance=0)
        found = exatrkx.find_long_tracks(both, event, options=none)
        self.assertEqual(len(found), 0)
        self.assertGreater(len(exatrkx.find_tracks(both, event)), len(long_tracks))

    def test_crowded_modules(self) -> None:
        """A crowd of noise on some modules changes no track elsewhere."""
        event, rng = self.event, np.random.default_rng(3)
        assert event.modules is not None
        modules = np.stack(event.modules, axis=1)
        layers, first = np.unique(modules[:, :2], axis=0, return_index=True)
        crowded = first[np.isin(layers[:, 0], 8)][:3]  # the barrel of pixels
        noise = np.repeat(event.positions[crowded], 300, axis=0)
        noise += rng.uniform(-5, 5, noise.shape).astype(np.float32)
        noisy = exatrkx.Event.from_arrays(
            np.concatenate([event.positions, noise]),
            modules=np.concatenate([modules, np.repeat(modules[crowded], 300, axis=0)]).T,
        )
        bare = exatrkx.Event.from_arrays(event.positions, modules=event.modules)
        is_free = np.ones(len(event), bool)
        for k in crowded:
            is_free &= np.any(modules != modules[k], axis=1)
        for name in ("positions", "accurate"):
            model = exatrkx.Model.load(name)
            tracks, expected = (
                exatrkx.find_tracks(model, one, self.context) for one in (noisy, bare)
            )
            self.assertLessEqual(tracks.labels[len(event) :].max(), -1)
            self.assertAlmostEqual(len(tracks), len(expected), delta=1)
            is_found, was_found = tracks.labels[: len(event)] >= 0, expected.labels >= 0
            self.assertLess(np.count_nonzero((is_found != was_found)[is_free]), 5)

    def test_radius_is_build_graph(self) -> None:
        options = self.model.config["embedding"]["graph"]
        found = exatrkx.Graph.radius(
            exatrkx.embed(self.model, self.event),
            options["radius"],
            orientation=options["orientation"],
            max_neighbours=options.get("max_neighbours", 0),
            event=self.event,
        )
        graph = exatrkx.build_graph(self.model, self.event)
        self.assertTrue(np.array_equal(found.src, graph.src))
        self.assertTrue(np.array_equal(found.dst, graph.dst))

    def test_graph(self) -> None:
        graph = exatrkx.Graph.from_edges(4, [2, 0, 1], [3, 1, 3], [0.5, 0.25, 1])
        self.assertEqual(graph.src.tolist(), [0, 1, 2])
        self.assertEqual(graph.order.tolist(), [1, 2, 0])
        self.assertEqual(graph.scores.tolist(), [0.25, 1.0, 0.5])
        self.assertEqual(graph.offsets.tolist(), [0, 0, 1, 1, 3])
        triplets = graph.to_triplets()
        self.assertEqual((triplets.n_nodes, triplets.src.tolist()), (3, [0]))
        nearest = exatrkx.Graph.nearest([[0.0], [1.0], [5.0]], 1)
        self.assertEqual(nearest.n_edges, 3)

    def test_score_triplets(self) -> None:
        """Products of the scores of two edges; what was given stays."""
        passed = exatrkx.build_graph(self.model, self.event, self.context)
        passed = exatrkx.filter_graph(passed, self.model, self.event, self.context)
        triplets = passed.to_triplets(context=self.context)
        arguments = (self.model, self.event, self.context)
        with self.assertRaisesRegex(exatrkx.ArgumentError, "no scores"):
            bare = exatrkx.Graph.from_edges(passed.n_nodes, passed.src, passed.dst)
            exatrkx.score_triplets(triplets, bare, *arguments)
        graph = exatrkx.score_graph(passed, *arguments)
        scored = exatrkx.score_triplets(triplets, graph, *arguments)
        self.assertIsNone(triplets.scores)
        self.assertGreater(len(scored), 0)
        expected = graph.scores[scored.src] * graph.scores[scored.dst]
        self.assertTrue(np.array_equal(scored.scores, expected))

    def test_tracks(self) -> None:
        labels = np.array([1, -1, 0, 1, 0, 1], np.int32)
        tracks = exatrkx.Tracks.from_labels(labels)
        self.assertEqual([t.tolist() for t in tracks], [[0, 3, 5], [2, 4]])
        self.assertEqual(tracks[-1].tolist(), [2, 4])
        self.assertEqual(tracks.n_hits, 6)
        with self.assertRaises(IndexError):
            tracks[2]

    def test_model(self) -> None:
        stages = ("embedding", "filter", "gnn", "completion", "first_pass")
        self.assertEqual(self.model.stages, stages)
        path = self.folder / "m.safetensors"
        self.model.save(path)
        with exatrkx.Model.from_bytes(path.read_bytes()) as again:
            self.assertEqual(again.config, self.model.config)
        self.assertTrue(again.closed)
        with self.assertRaisesRegex(ValueError, "Model is closed"):
            exatrkx.find_tracks(again, self.event)

    def test_shipped_files(self) -> None:
        """ETX_DATA goes first, and what it lacks is looked for elsewhere."""
        (self.folder / "models").mkdir()
        path = self.folder / "models" / "default.safetensors"
        self.model.save(path)
        with mock.patch.dict(os.environ, {"ETX_DATA": str(self.folder)}):
            self.assertEqual(_shipped.shipped("models", path.name), path)
            detector = _shipped.shipped("data", "detectors.csv.gz")
            self.assertNotEqual(detector.parents[1], self.folder)
            with self.assertRaisesRegex(FileNotFoundError, str(self.folder)):
                _shipped.shipped("models", "none.safetensors")
        self.assertEqual(_shipped.config_file("gnn").parts[-2:], ("configs", "gnn.json"))
        for other in ("gnn.json", "gnm"):
            self.assertEqual(_shipped.config_file(other), Path(other))
        with mock.patch.dict(os.environ, {"ETX_DATA": str(path)}):
            with self.assertRaisesRegex(exatrkx.FileError, f"ETX_DATA={path}: no such"):
                exatrkx.Model.load("default")

    def test_shipped_with_a_short_path(self) -> None:
        """A package with few folders above it has fewer folders to search."""
        self.assertEqual(
            _shipped.data_roots(Path("/opt/py/exatrkx")),
            [Path("/opt/py/exatrkx"), Path("/examples")],
        )
        self.assertEqual(_shipped.data_roots(Path("/exatrkx")), [Path("/exatrkx")])
        (*_, installed) = _shipped.data_roots(
            Path("/usr/lib/python3/dist-packages/exatrkx")
        )
        self.assertEqual(installed, Path("/usr/share/exatrkx"))

    def test_evaluate(self) -> None:
        found = exatrkx.evaluate(self.event, self.tracks, min_pt=0.5)
        counts = found.counts
        self.assertGreater(found.technical_efficiency.value, 0.8)
        self.assertEqual(
            found.technical_efficiency.value,
            counts["n_reconstructable_matched"] / counts["n_particles_reconstructable"],
        )
        twice = exatrkx.evaluate([self.event] * 2, [self.tracks] * 2)
        self.assertEqual(twice.counts["n_events"], 2)
        total, matched = exatrkx.evaluate_binned(
            self.event, self.tracks, "pt", [0.5, 1e9]
        )
        self.assertEqual(total[0], counts["n_particles_reconstructable"])
        self.assertEqual(matched[0], counts["n_reconstructable_matched"])
        of_radius, _ = exatrkx.evaluate_binned(
            self.event, self.tracks, "radius", [0, 10, 1e9], min_pt=0.5
        )
        self.assertEqual(of_radius.sum(), counts["n_particles_reconstructable"])
        rows, is_found = exatrkx.match(self.event, self.tracks)
        self.assertEqual(len(rows), len(self.tracks))
        self.assertTrue(is_found[rows[rows >= 0]].all())
        for edges in ([], [1.0]):
            with self.assertRaisesRegex(ValueError, "edges: "):
                exatrkx.evaluate_binned(self.event, self.tracks, "pt", edges)
        with self.assertRaisesRegex(TypeError, "min_pT"):
            exatrkx.evaluate(self.event, self.tracks, min_pT=1)
        with self.assertRaisesRegex(TypeError, "min_pt: '1': must be real"):
            exatrkx.evaluate(self.event, self.tracks, min_pt="1")
        with self.assertRaisesRegex(ValueError, "tracks: 1, fewer than events"):
            exatrkx.evaluate([self.event] * 2, [self.tracks])
        with self.assertRaisesRegex(TypeError, "events: Tracks, expected exatrkx.Event"):
            exatrkx.evaluate(self.tracks, self.event)
        bare = exatrkx.Event.from_arrays(self.event.positions)
        bare.name = "event7"
        with self.assertRaisesRegex(exatrkx.ArgumentError, "event7: the event has no truth"):
            exatrkx.evaluate(bare, self.tracks)


class TestContext(LibraryCase):
    def test_threads_share_a_model(self) -> None:
        """Eight threads, one model, one event; one context each or all."""
        wrong = []
        shared = exatrkx.Context(threads=2)

        def work(context: exatrkx.Context | None) -> None:
            for _ in range(5):
                found = exatrkx.find_tracks(self.model, self.event, context)
                if not np.array_equal(found.labels, self.tracks.labels):
                    wrong.append(found)

        own = [exatrkx.Context(threads=1) for _ in range(4)]
        threads = [
            threading.Thread(target=work, args=(c,))
            for c in [*own, shared, shared, None, None]
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_lock_is_released(self) -> None:
        """While a call is inside the library, other threads run."""
        in_call, resume = threading.Event(), threading.Event()
        seen = []

        def cancel() -> bool:
            in_call.set()
            return not resume.wait(20)

        def other() -> None:
            seen.append(in_call.wait(20))
            resume.set()

        thread = threading.Thread(target=other)
        thread.start()
        context = exatrkx.Context(threads=1, cancel=cancel)
        exatrkx.find_tracks(self.model, self.event, context)
        thread.join()
        self.assertEqual(seen, [True])

    def test_lock_is_released_by_ctypes(self) -> None:
        """Every function is of a CDLL, which holds no interpreter lock."""
        import ctypes

        from exatrkx import _library

        self.assertIs(type(_library.library), ctypes.CDLL)

    def test_cancel(self) -> None:
        context = exatrkx.Context(threads=1, cancel=lambda: True)
        with self.assertRaises(exatrkx.CancelledError):
            exatrkx.find_tracks(self.model, self.event, context)

    def test_cancel_raises(self) -> None:
        def cancel() -> bool:
            raise KeyboardInterrupt

        context = exatrkx.Context(threads=1, cancel=cancel)
        with self.assertRaises(KeyboardInterrupt):
            exatrkx.find_tracks(self.model, self.event, context)

    def test_cancel_uses_its_own_context(self) -> None:
        """An error, and the call ends with it; the context goes on."""

        def cancel() -> bool:
            exatrkx.find_tracks(self.model, self.event, context)
            return False

        context = exatrkx.Context(threads=1, cancel=cancel)
        with self.assertRaisesRegex(exatrkx.ArgumentError, "in a call of this thread"):
            exatrkx.find_tracks(self.model, self.event, context)
        self.assertIn("gnn", context.timings)

    def test_timings(self) -> None:
        exatrkx.find_tracks(self.model, self.event, self.context)
        timings = self.context.timings
        self.assertEqual(list(timings)[0], "features")
        self.assertGreater(timings["gnn"].n_edges, 0)

    def test_options(self) -> None:
        for wrong in ({"threads": 0}, {"threads": 300}, {"device": "tpu"}):
            with self.subTest(wrong), self.assertRaises(ValueError):
                exatrkx.Context(**wrong)
        with self.assertRaisesRegex(exatrkx.ArgumentError, "device: None, expected"):
            exatrkx.Context(device=None)
        with self.assertRaisesRegex(TypeError, "n_threads: '2': "):
            exatrkx.Context("2")
        with self.assertRaisesRegex(TypeError, "context: str, expected exatrkx.Context"):
            exatrkx.find_tracks(self.model, self.event, "cpu")
        found = exatrkx.find_tracks(
            self.model, self.event, exatrkx.Context(1, cpu_level="ref")
        )
        self.assertGreater(len(found), 0)
        small = exatrkx.Context(threads=1, memory_limit=1000)
        with self.assertRaises(exatrkx.Error):
            exatrkx.find_tracks(self.model, self.event, small)


class TestViews(LibraryCase):
    def test_owner_lives_on(self) -> None:
        graph = exatrkx.build_graph(self.model, self.event)
        src, kept = graph.src, graph.src.copy()
        graph.close()
        del graph
        gc.collect()
        others = [exatrkx.build_graph(self.model, self.event) for _ in "abc"]
        self.assertTrue(np.array_equal(src, kept))
        self.assertFalse(src.flags.writeable)
        self.assertFalse(src.flags.owndata)
        self.assertEqual(len(others), 3)

    def test_freed_with_the_last_view(self) -> None:
        import weakref

        graph = exatrkx.build_graph(self.model, self.event)
        gone = weakref.ref(graph._pointer)
        view = graph.dst[10:20]
        graph.close()
        gc.collect()
        self.assertIsNotNone(gone())
        del view
        gc.collect()
        self.assertIsNone(gone())

    def test_no_copy(self) -> None:
        first, second = self.event.positions, self.event.positions
        self.assertEqual(first.ctypes.data, second.ctypes.data)

    def test_dlpack_out(self) -> None:
        graph = exatrkx.build_graph(self.model, self.event)
        try:
            shared = np.from_dlpack(graph.src)
        except BufferError:
            self.skipTest("this numpy exports no read-only arrays")
        self.assertEqual(shared.ctypes.data, graph.src.ctypes.data)


class TestErrors(LibraryCase):
    def test_mistaken(self) -> None:
        """Objects of another kind never reach the library, nor do values that
        C would cut short."""
        with self.assertRaisesRegex(TypeError, "model: Event, expected exatrkx.Model"):
            exatrkx.find_tracks(self.event, self.model, self.context)
        with self.assertRaisesRegex(TypeError, "tracks: Model, expected exatrkx.Tracks"):
            exatrkx.evaluate(self.event, [self.model])
        for wrong in (10**12, 2**32 + 1):
            with self.assertRaisesRegex(ValueError, "out of bounds"):
                exatrkx.Context(threads=wrong)
        self.check_whole_numbers()
        with self.assertRaisesRegex(TypeError, "no function"):
            exatrkx.Context(cancel="stop")
        with self.assertRaisesRegex(ValueError, "null bytes"):
            exatrkx.Model.load(f"{LIBRARY}\0.safetensors")
        with self.assertRaisesRegex(ValueError, "null bytes"):
            self.tracks.write_csv(self.folder / "a\0b", self.event)
        self.assertEqual(list(self.folder.iterdir()), [])
        with self.assertRaises(TypeError):
            exatrkx.Model.from_bytes("text")
        with self.assertRaises(TypeError):
            self.tracks["0"]

    def test_options_of_another_class(self) -> None:
        """Their structs would be read as the one that the function takes."""
        graph = exatrkx.Graph.from_edges(4, [0], [1], [0.9])
        of_event = (self.model, self.event, self.context)
        given, label = exatrkx.ModuleMapOptions(), exatrkx.LabelOptions()
        with self.assertRaisesRegex(TypeError, "positional"):
            exatrkx.CompletionOptions(64.0)
        for wanted, call in (
            ("FirstPass", lambda: exatrkx.find_long_tracks(*of_event, options=given)),
            ("Completion", lambda: exatrkx.complete_tracks(self.tracks, *of_event, options=given)),
            ("Completion", lambda: exatrkx.learn_completion(*of_event[:2], options=given)),
            ("FirstPass", lambda: exatrkx.learn_first_pass(*of_event[:2], options=given)),
            ("ModuleMap", lambda: exatrkx.learn_module_map(*of_event[:2], options=label)),
            ("Label", lambda: exatrkx.build_tracks(graph, given)),
            ("Fit", lambda: exatrkx.fit_tracks(self.event, self.tracks, self.detector, options=given)),
        ):
            text = f"options: .*Options, expected exatrkx.{wanted}Options"
            with self.subTest(wanted), self.assertRaisesRegex(TypeError, text):
                call()

    def check_whole_numbers(self) -> None:
        """Neither options nor arguments wrap around; numpy's are whole, too."""
        graph = exatrkx.Graph.from_edges(np.int32(4), [0], [1], [0.9])
        self.assertEqual(graph.n_nodes, 4)
        for wrong in (2**32 + 2, np.int64(2**32 + 2)):
            with self.assertRaisesRegex(ValueError, "min_hits"):
                exatrkx.build_tracks(graph, min_hits=wrong, context=self.context)
        for wrong in (2**64 + 4, -(2**63) - 1):
            with self.assertRaisesRegex(OverflowError, f"{wrong} .* 64 bits"):
                exatrkx.Graph.from_edges(wrong, [0], [1])
        with self.assertRaisesRegex(OverflowError, "64 bits"):
            graph.to_triplets(max_edges=2**64 + 9, context=self.context)
        with self.assertRaises(TypeError):
            exatrkx.Graph.from_edges(4.0, [0], [1])

    def test_kinds(self) -> None:
        """The exception of the status, with the library's text."""
        bad = self.folder / "bad.safetensors"
        bad.write_bytes(b"no model")
        with self.assertRaisesRegex(exatrkx.FileError, "/none"):
            exatrkx.Model.load("/none")
        with self.assertRaises(OSError):
            exatrkx.Detector.load("/none")
        with self.assertRaisesRegex(exatrkx.FormatError, "bad.safetensors"):
            exatrkx.Model.load(bad)
        with self.assertRaisesRegex(exatrkx.ArgumentError, "9"):
            exatrkx.Graph.from_edges(2, [0], [9])
        with self.assertRaises(exatrkx.ArgumentError) as caught:
            exatrkx.Event.from_arrays([[0.0, 0.0, float("nan")]])
        self.assertEqual(caught.exception.status, -1)
        with self.assertRaises((exatrkx.UnsupportedError, exatrkx.DeviceError)):
            exatrkx.Context(device="cuda", device_index=999)

    def test_missing_library(self) -> None:
        """A clear ImportError; what needs no library still works."""
        code = (
            "import exatrkx, exatrkx.files.safetensors\n"
            "try:\n    exatrkx.Model\n"
            "except ImportError as e:\n    print(e)\n"
        )
        environment = {"ETX_LIBRARY": "/none.so", "PYTHONPATH": str(PACKAGE)}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertIn("/none.so", done.stdout)
        self.assertIn("ETX_LIBRARY", done.stdout)

    def test_version(self) -> None:
        self.assertRegex(exatrkx.library_version(), r"^\d+\.\d+\.\d+$")
        self.assertTrue(LIBRARY.exists())
