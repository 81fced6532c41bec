"""test_plots -- the numbers of the figures of exatrkx.plotting.

What needs matplotlib or the built programs is skipped where they are missing.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import unittest
from unittest import mock

import numpy as np
from support import BUILD, LIBRARY, MODEL, ROOT, FolderCase, needs

from exatrkx import plotting
from exatrkx.plotting import (
    edges_plot,
    embedding_plot,
    event_truth,
    radius_plot,
    rates,
    resolution_plot,
    tracks_plot,
    training_plot,
)

PROGRAMS = [
    BUILD / "examples" / name
    for name in ("etx-evaluate", "etx-find-tracks", "etx-graph")
]
HAVE_PROGRAMS = all(program.exists() for program in PROGRAMS)
EVENTS = [str(ROOT / f"examples/data/event00000000{n}") for n in (0, 1)]

ONE_SIGMA_TAIL = 0.15865525393145707  # of a normal distribution

# Two particles and noise: hits 0 to 3 of the first lie along x in the order
# 2, 0, 1, 3 from its vertex; 4 and 5 are of the second; 6 is noise.
HITS = """hit_id,x,y,z,volume_id,layer_id,module_id
10,20,0,0,8,2,1
11,30,0,0,8,2,1
12,10,0,0,8,2,1
13,40,0,0,8,2,1
14,0,20,0,8,2,1
15,0,10,0,8,2,1
16,0,0,9,8,2,1
"""
TRUTH = """hit_id,particle_id,weight
16,0,0
15,7,0
14,7,0
13,5,0
12,5,0
11,5,0
10,5,0
"""
PARTICLES = """particle_id,vx,vy,vz,px,py,pz,q,nhits
7,0,0,0,0,0.3,0.1,-1,2
5,0,0,0,2,0,1,1,4
"""


def run_program(name: str, *arguments: str) -> str:
    """Standard output of a built program."""
    command = [str(BUILD / "examples" / name), *arguments]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout


def run_plots(*arguments: str) -> tuple[int, str]:
    """Exit status and standard error of the command line."""
    error = io.StringIO()
    with contextlib.redirect_stderr(error):
        try:
            status = plotting.main(arguments)
        except SystemExit as leave:
            status = int(leave.code or 0)
    return status, error.getvalue()


@unittest.skipUnless(LIBRARY.exists(), f"no {LIBRARY}: make lib")
class InFolder(FolderCase):
    """A test with a folder of its own that holds the small event."""

    def setUp(self) -> None:
        super().setUp()
        self.event = self.write("event-hits.csv", HITS)[: -len("-hits.csv")]
        self.write("event-truth.csv", TRUTH)
        self.write("event-particles.csv", PARTICLES)

    def path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def write(self, name: str, text: str) -> str:
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)
        return self.path(name)


class CommandLine(unittest.TestCase):
    def test_missing_module_is_named(self) -> None:
        with mock.patch("importlib.util.find_spec", return_value=None):
            status, error = run_plots("training", "x.jsonl", "--out", "x.png")
        self.assertEqual(status, 1)
        self.assertIn("numpy is not installed", error)

    def test_usage(self) -> None:
        status, error = run_plots("training", "x.jsonl", "--out", "x.txt")
        self.assertEqual(status, 2)
        self.assertIn("x.txt", error)
        status, error = run_plots(
            *"edges --event a --event b --edges c --out x.png".split()
        )
        self.assertEqual(status, 2)
        self.assertIn("2 events and 1 files", error)

    @needs("matplotlib")
    def test_missing_file(self) -> None:
        status, error = run_plots("training", "no.jsonl", "--out", "x.png")
        self.assertEqual(status, 1)
        self.assertIn("no.jsonl", error)


@unittest.skipUnless(LIBRARY.exists(), f"no {LIBRARY}: make lib")
class Rates(unittest.TestCase):
    def test_clopper_pearson_by_hand(self) -> None:
        tail = ONE_SIGMA_TAIL
        low, high = rates.clopper_pearson(
            np.array([0, 1, 1, 7, 0]), np.array([3, 1, 2, 7, 0])
        )
        np.testing.assert_allclose(
            low, [0, tail, 1 - (1 - tail) ** 0.5, tail ** (1 / 7), 0]
        )
        np.testing.assert_allclose(
            high, [1 - tail ** (1 / 3), 1, (1 - tail) ** 0.5, 1, 1]
        )

    def test_clopper_pearson_tails(self) -> None:
        """At either end the binomial tail has one sigma's probability."""
        low, high = rates.clopper_pearson(np.array([13]), np.array([40]))
        n, tail = 40, ONE_SIGMA_TAIL

        def term(k: int, p: float) -> float:
            ways = np.prod([(n - i) / (i + 1) for i in range(k)])
            return float(ways * p**k * (1 - p) ** (n - k))

        above = sum(term(k, low[0]) for k in range(13, n + 1))
        below = sum(term(k, high[0]) for k in range(14))
        self.assertAlmostEqual(above, tail, places=10)
        self.assertAlmostEqual(below, tail, places=10)

    def test_area_is_share_of_ordered_pairs(self) -> None:
        generator = np.random.default_rng(5)
        score = generator.integers(0, 20, 300) / 20.0  # many ties
        is_true = generator.random(300) < 0.2 + 0.6 * score
        false, true, area = rates.roc(score, is_true)
        margin = score[is_true][:, None] - score[~is_true][None, :]
        expected = (margin > 0).mean() + 0.5 * (margin == 0).mean()
        self.assertAlmostEqual(area, expected, places=12)
        self.assertEqual((false[0], true[0]), (0.0, 0.0))
        self.assertEqual((false[-1], true[-1]), (1.0, 1.0))

    def test_cut_keeps_its_share(self) -> None:
        score = np.float32(np.arange(1, 101) / 100.0).astype(np.float64)
        cut = rates.cut_that_keeps(score, 0.98)
        self.assertEqual((score > cut).sum(), 98)
        self.assertEqual(rates.count_above(score, np.array([cut]))[0], 98)


@needs("matplotlib")
class Truth(InFolder):
    def test_true_pairs_follow_distance(self) -> None:
        event = event_truth.Event(self.event)
        pairs = sorted(np.transpose(event.true_pairs()).tolist())
        self.assertEqual(pairs, [[0, 1], [1, 3], [2, 0], [5, 4]])

    def test_kinds(self) -> None:
        event = event_truth.Event(self.event)
        a, b = np.array([[0, 2], [2, 1], [4, 5], [6, 6], [0, 4]]).T
        kind = event.pair_kind(a, b, 0.5).tolist()
        t = event_truth
        self.assertEqual(kind, [t.SIGNAL, t.SAME, t.LOW_PT, t.FALSE, t.FALSE])


@needs("matplotlib")
class Figures(InFolder):
    def test_edges_by_hand(self) -> None:
        edges = self.write(
            "edges.csv",
            "src,dst,score\n"
            "0,2,0.9\n2,0,0.7\n0,1,0.4\n5,4,0.8\n2,1,0.6\n6,5,0.5\n0,4,0.1\n",
        )
        found = edges_plot.load(self.event, edges, 0.5)
        cuts = np.array([0.0, 0.45, 0.85])
        expected = np.array([2, 1, 1]) / 3.0  # 1 to 3 has no edge
        np.testing.assert_allclose(found.efficiency(cuts), expected)
        np.testing.assert_allclose(found.purity(cuts), [4 / 7, 3 / 5, 1.0])
        self.assertAlmostEqual(found.roc()[2], 7 / 8)
        # By pT of the inner hit's particle: 0.3, noise, five times 2 GeV.
        bins = np.array([0.1, 1.0, 10.0])
        part, whole = edges_plot.binned_purity(found, found.pt, bins, 0.05)
        self.assertEqual((part.tolist(), whole.tolist()), ([1, 3], [1, 5]))
        self.check_files("edges", "--edges", edges)

    def test_edges_without_scores(self) -> None:
        edges = self.write("edges.csv", "src,dst,score\n0,2,\n0,1,\n0,4,\n")
        found = edges_plot.load(self.event, edges, 0.5)
        self.assertFalse(found.has_scores)
        every = np.array([-np.inf])
        self.assertAlmostEqual(found.efficiency(every)[0], 2 / 3)
        self.assertAlmostEqual(found.purity(every)[0], 2 / 3)
        self.check_files("edges", "--edges", edges)

    def test_graph_sizes(self) -> None:
        """Two events of one plot keep their edges apart."""
        first = self.write("a.csv", "src,dst,score\n0,2,0.9\n0,1,0.4\n")
        second = self.write("b.csv", "src,dst,score\n0,4,0.1\n")
        both = edges_plot.load_all([self.event, self.event], [first, second], 0.5)
        every, kept = edges_plot.graph_sizes(both, 0.3)
        self.assertEqual(every.tolist(), [2, 1])
        self.assertEqual(kept.tolist(), [2, 0])
        self.assertEqual(both.n_hits.tolist(), [7, 7])
        self.assertTrue(np.isfinite(both.eta).all())

    def test_edge_outside_event(self) -> None:
        edges = self.write("edges.csv", "src,dst,score\n0,7,0.5\n")
        status, error = run_plots(
            "edges", "--event", self.event, "--edges", edges,
            "--out", self.path("x.png"),
        )  # fmt: skip
        self.assertEqual(status, 1)
        self.assertIn("row 7 of an event of 7 hits", error)

    def test_radius_by_hand(self) -> None:
        points = np.array([0.0, 1.0, 0.5, 3.0, 9.0, 9.1, 1.2])[:, None]
        radius = np.array([0.0, 0.15, 0.5, 1.0, 2.0, 20.0])
        counted = radius_plot.count_pairs(points, radius)
        distance = np.abs(points - points.T)[np.triu_indices(7, 1)]
        expected = [(distance <= r).sum() for r in radius]
        self.assertEqual(counted.tolist(), expected)
        event = event_truth.Event(self.event)
        found = radius_plot.measure([event], [points], 0.5, 2.0)
        self.assertEqual(found.n_signal_all, 3)
        self.assertEqual(found.efficiency[-1], 1.0)
        self.assertAlmostEqual(found.radius_for(0.6), 1.0)
        self.assertEqual(found.n_true[-1], 4)
        text = "\n".join(f"{value},0" for value in points[:, 0])
        self.check_files("radius", "--points", self.write("p.csv", text), "pdf")

    def test_embedding_by_hand(self) -> None:
        """Around hit 0, between 2 and 1 on its particle."""
        points = np.array([0.0, 1.0, 0.5, 0.3, 0.2, 9.1, 1.2])[:, None]
        event = event_truth.Event(self.event)
        found = embedding_plot.around(event, points, 0, 0.6)
        self.assertEqual(found.true.tolist(), [2])
        self.assertEqual(found.same.tolist(), [3])
        self.assertEqual(found.false.tolist(), [4])
        self.assertEqual(found.missed.tolist(), [1])
        self.assertEqual(embedding_plot.choose(event, points, 0.6, 0.5), 0)
        self.assertEqual(embedding_plot.choose(event, points, 0.8, 0.5), 0)
        line = np.array([[0.0, 0.0], [3.0, 3.0], [1.0, 1.1]])
        along = embedding_plot.principal(line)[:, 0]
        self.assertAlmostEqual(abs(along[0] / along[1]), 1.0, places=1)
        text = "\n".join(f"{value},0" for value in points[:, 0])
        file = self.write("p.csv", text)
        more = ("--radius", "0.6")
        self.check_files("embedding", "--points", file, "pdf", options=more)
        status, error = run_plots(
            "embedding", "--event", self.event, "--points", file, *more,
            "--hit", "99", "--out", self.path("x.png"),
        )  # fmt: skip
        self.assertEqual(status, 1)
        self.assertIn("there is no hit 99", error)

    def test_tracks_by_hand(self) -> None:
        """Three of four hits match; noise and both particles do not."""
        tracks = self.write(
            "tracks.csv", "hit_id,track_id\n10,1\n11,1\n12,1\n16,1\n13,2\n14,2\n15,0\n"
        )
        cuts = tracks_plot.Cuts(min_hits=2, min_track_hits=2)
        found = tracks_plot.match(event_truth.Event(self.event), tracks, cuts)
        self.assertEqual(found.technical_efficiency, 0.5)
        self.assertEqual(found.track_hits.tolist(), [4, 2])
        self.assertEqual(found.track_matches.tolist(), [True, False])
        self.assertEqual(found.track_is_fake.tolist(), [False, True])
        for counts in (found.by_radius, found.by_nearest):
            self.assertEqual(counts.sum(axis=(0, 2)).tolist(), [2, 1])
        self.check_files("tracks", "--tracks", tracks, "svg")

    def test_resolution_by_hand(self) -> None:
        """The truth of both particles, and known deviations from it; the second
        track is not fitted, the third has no majority."""
        tracks = self.write(
            "tracks.csv",
            "hit_id,track_id\n10,1\n11,1\n16,1\n12,2\n13,5\n16,5\n14,7\n15,7\n",
        )
        head = "track_id,n_degrees,d0,z0,phi,theta,q_over_pt\n"
        theta = np.arctan2([2.0, 0.3], [1.0, 0.1])
        rows = [
            f"1,1,0.5,-1,-3.1,{theta[0]},0.45",
            "2,0,0,0,0,0,0",
            "5,1,0,0,0,0,0.5",
            f"7,1,0,0,{np.pi / 2 + 0.01},{theta[1] - 0.02},{-1 / 0.3}",
        ]
        fits = self.write("fits.csv", head + "\n".join(rows) + "\n")
        found = resolution_plot.deviations(
            event_truth.Event(self.event), tracks, fits
        )
        expected = [
            [2.0, np.arcsinh(0.5), 0.5, -1.0, -3.1, 0.0, -0.1],
            [0.3, np.arcsinh(1 / 3), 0.0, 0.0, 0.01, -0.02, 0.0],
        ]
        np.testing.assert_allclose(found, expected, atol=1e-7)
        fewer = self.write("fewer.csv", head + rows[0] + "\n")
        options = ("--event", self.event, "--tracks", tracks, "--parameters")
        out = self.path("r.png")
        status, error = run_plots("resolution", *options, fewer, "--out", out)
        self.assertEqual(status, 1)
        self.assertIn("parameters of 1 tracks, there are 4", error)
        more = self.write("more.csv", head + "\n".join([*rows, "8" + rows[3][1:]]))
        error = run_plots("resolution", *options, more, "--out", out)[1]
        self.assertIn("parameters of 5 tracks, there are 4", error)
        other = self.write("other.csv", head + "\n".join(rows[::-1]))
        error = run_plots("resolution", *options, other, "--out", out)[1]
        self.assertIn("parameters: track_id 7 where the tracks have 1", error)
        both = (fits, "--parameters", fits)
        error = run_plots("resolution", *options, *both, "--out", out)[1]
        self.assertIn("events and tracks: 1, fewer than parameters", error)
        self.assertEqual(run_plots("resolution", *options, fits, "--out", out)[0], 0)
        self.assertTrue(os.path.getsize(out) > 0)

    def test_resolution_of_normal_values(self) -> None:
        values = np.random.default_rng(1).normal(scale=2.0, size=20_000)
        size, error = resolution_plot.resolution(values)
        self.assertAlmostEqual(size, 2.0, delta=0.05)
        self.assertLess(error, 0.03)
        self.assertGreater(error, 0.005)

    def test_refused(self) -> None:
        points = ("--event", self.event, "--points", self.write("p.csv", "1,2\n" * 7))
        out = ("--out", self.path("p.png"))
        for arguments, reason in (
            (("radius", *points, "--max-radius", "-1"), "max_radius -1.0: expected"),
            (("embedding", *points, "--radius", "nan"), "radius nan: expected"),
        ):
            status, error = run_plots(*arguments, *out)
            self.assertEqual(status, 1)
            self.assertIn(reason, error)
        with self.assertRaisesRegex(ValueError, "no logs"):
            plotting.training([])

    def test_graph_of_another_event(self) -> None:
        import exatrkx

        graph = exatrkx.Graph.from_edges(5, [0], [1], [0.5])
        with self.assertRaisesRegex(ValueError, "graph of 5 hits, event of 7"):
            plotting.edges(self.event, graph)

    def test_edges_without_header(self) -> None:
        """The first edge is not taken for one."""
        edges = self.write("edges.csv", "0,1,0.5\n1,2,0.5\n")
        with self.assertRaisesRegex(ValueError, "line 1 is '0,1,0.5', expected src,dst"):
            edges_plot.read_edges(edges)

    def test_save_is_whole(self) -> None:
        """A figure that cannot be drawn leaves the file of before."""
        from exatrkx.plotting import style

        figure, _ = style.panels(1, 1)
        path = self.write("a.svg", "before")
        with mock.patch.object(figure, "savefig") as savefig:
            savefig.side_effect = lambda file, **_: file.write(b"half") / 0
            with self.assertRaises(ZeroDivisionError):
                style.save(figure, path)
        self.assertFalse([name for name in os.listdir(self.folder) if "tmp" in name])
        with open(path) as file:
            self.assertEqual(file.read(), "before")

    def test_no_tracks(self) -> None:
        empty = self.write("tracks.csv", "hit_id,track_id\n10,0\n")
        self.check_files("tracks", "--tracks", empty)

    def test_training_log(self) -> None:
        """A repeated step counts once, a cut last line not at all."""
        rows: list[dict[str, object]] = [
            {"step": s, "loss": 1.0 / s, "learning_rate": 0.1} for s in (1, 2)
        ]
        rows += [{"step": 2, "loss": 0.25, "learning_rate": 0.1}]
        rows += [{"step": 2, "validation": True, "auc": None, "purity": 0.5}]
        text = "\n".join(json.dumps(row) for row in rows) + '\n{"step": 3, "l'
        log = training_plot.Log(self.write("run.jsonl", text))
        step, loss = log.series("loss")
        self.assertEqual(step.tolist(), [1, 2])
        self.assertEqual(loss.tolist(), [1.0, 0.25])
        self.assertEqual(len(log.series("auc", True)[0]), 0)
        self.assertEqual(log.series("purity", True)[1].tolist(), [0.5])
        figure = training_plot.draw([self.path("run.jsonl")])
        titles = [axes.get_title() for axes in figure.axes]
        self.assertEqual(titles, ["loss", "learning rate", "purity, validation"])

    def test_rollbacks(self) -> None:
        """A jump of the loss is no value of the step that it leads back to."""
        rows = [
            {"step": 1, "loss": 0.5},
            {"step": 2, "loss": 0.4},
            {"rollback": True, "step": 1, "loss": 9.0, "n_rollbacks": 1},
            {"skipped": True, "step": 1, "loss": 8.0, "n_skipped": 1},
            {"step": 2, "loss": 0.3},
            {"validation": True, "step": 2, "pt_error": 0.5, "pt_spread": 0.6},
        ]
        text = "\n".join(json.dumps(row) for row in rows)
        log = training_plot.Log(self.write("run.jsonl", text))
        self.assertEqual(log.series("loss")[1].tolist(), [0.5, 0.3])
        self.assertEqual(log.rollbacks, [1])
        figure = training_plot.draw([self.path("run.jsonl")])
        drawn = [line.get_ydata() for line in figure.axes[1].get_lines()]
        self.assertEqual([list(y) for y in drawn], [[0.5], [0.6]])

    def test_times(self) -> None:
        """Medians against hits; stages that take no time are left out."""
        rows = [
            {
                "stage": stage,
                "n_hits": hits,
                "threads": 2,
                "device": "cpu",
                "median_s": share * hits,
                "p10_s": 0.9 * share * hits,
                "p90_s": 1.2 * share * hits,
            }
            for hits in (3000, 1000)
            for stage, share in {"event": 1e-3, "gnn": 5e-4, "label": 1e-6}.items()
        ]
        path = self.write("default.json", json.dumps(rows))
        (axes,) = plotting.times(path).axes
        self.assertEqual(axes.get_title(), "default, 2 threads, cpu")
        self.assertEqual([text.get_text() for text in axes.get_xticklabels()], ["1", "3"])
        drawn = {line.get_label(): line.get_xydata() for line in axes.get_lines()}
        self.assertEqual(list(drawn), ["whole event", "graph network"])
        event = np.array([[1000.0, 1.0], [3000.0, 3.0]])
        np.testing.assert_array_equal(drawn["whole event"], event)
        np.testing.assert_array_equal(drawn["graph network"], event * [1.0, 0.5])
        for text in ("[]", '[{"stage": "event"}]', "{", '{"a": 1}'):
            path = self.write("wrong.json", text)
            with self.assertRaisesRegex(ValueError, "wrong.json: n"):
                plotting.times(path)

    def test_moving_mean(self) -> None:
        values = np.arange(200.0)
        smooth = training_plot.smooth(values)
        np.testing.assert_allclose(smooth[:-4], values[:-4])
        self.assertEqual(smooth[-1], values[-5:].mean())

    def check_files(
        self, command: str, option: str, file: str, *more: str, options: tuple = ()
    ) -> None:
        """A PNG and more formats are written; SVG with the same bytes."""
        starts = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
        for ending in ("png", *more):
            data = []
            for _ in range(2 if ending == "svg" else 1):
                out = self.path("figure." + ending)
                status, error = run_plots(
                    command, "--event", self.event, option, file, "--out", out,
                    *options,
                )  # fmt: skip
                self.assertEqual((status, error), (0, ""))
                with open(out, "rb") as figure:
                    data.append(figure.read())
                os.remove(out)
            self.assertTrue(data[0].startswith(starts[ending]))
            self.assertEqual(data[0], data[-1])


@needs("matplotlib")
@unittest.skipUnless(HAVE_PROGRAMS, "no programs: make programs")
class ShippedEvents(InFolder):
    """The plots and the programs have the same numbers."""

    def test_evaluation(self) -> None:
        files = []
        for number, event in enumerate(EVENTS):
            files.append(self.path(f"tracks{number}.csv"))
            run_program(
                "etx-find-tracks", "--model", MODEL, "--event", event,
                "--threads", "1", "--out", files[-1],
            )  # fmt: skip
        for cuts, options in (
            (tracks_plot.Cuts(), ()),
            (
                tracks_plot.Cuts(0.5, 2.0, 7, 4, 0.75),
                "--min-pt 0.5 --max-eta 2 --min-hits 7 --min-track-hits 4 "
                "--fraction 0.75".split(),
            ),
        ):
            arguments = ["--json", *options]
            for event, file in zip(EVENTS, files, strict=True):
                arguments += ["--event", event, "--tracks", file]
            judge = json.loads(run_program("etx-evaluate", *arguments))
            found = tracks_plot.match_all(EVENTS, files, cuts)
            self.compare(found, judge)

    def compare(self, found: tracks_plot.Matched, judge: dict) -> None:
        n = len(found.is_found)
        self.assertGreater(n, 20)
        self.assertEqual(n, judge["n_particles_reconstructable"])
        self.assertEqual(found.is_found.sum(), judge["n_reconstructable_matched"])
        expected = [n, found.is_found.sum()]
        for counts in (found.by_radius, found.by_nearest):
            self.assertEqual(counts.sum(axis=(0, 2)).tolist(), expected)
        self.assertEqual(len(found.track_hits), judge["n_tracks"])
        self.assertEqual(found.track_matches.sum(), judge["n_tracks_matched"])
        self.assertEqual(found.track_is_fake.sum(), judge["n_tracks_fake"])
        low, high = rates.clopper_pearson(found.is_found.sum(), n)
        for value, name in (
            (found.technical_efficiency, "technical_efficiency"),
            (low[0], "technical_efficiency_low"),
            (high[0], "technical_efficiency_high"),
        ):
            self.assertAlmostEqual(value, judge[name], places=6)

    def test_objects(self) -> None:
        """Objects draw what their files draw, on given axes, too."""
        import exatrkx
        from matplotlib.figure import Figure

        event = exatrkx.Event.from_trackml(EVENTS[1], detector=exatrkx.Detector.load())
        model = exatrkx.Model.load(str(MODEL))
        tracks = exatrkx.find_tracks(model, event)
        file = self.path("t.csv")
        tracks.write_csv(file, event)
        cuts = tracks_plot.Cuts()
        expected = tracks_plot.match_all([EVENTS[1]], [file], cuts)
        found = tracks_plot.match_all([event], [tracks], cuts)
        for name, values in vars(expected).items():
            self.assertTrue(np.allclose(getattr(found, name), values), name)
        graph = exatrkx.build_graph(model, event)
        for draw, value, n in (
            (plotting.tracks, tracks, 6),
            (plotting.edges, graph, 5),
            (plotting.radius, exatrkx.embed(model, event), 3),
        ):
            figure = draw(event, value)
            axes = list(Figure().subplots(1, n))
            self.assertTrue(all(a.has_data() for a in figure.axes[:n]))
            self.assertIs(draw([event], [value], axes=axes), axes[0].figure)
            self.assertTrue(all(a.has_data() for a in axes))
            with self.assertRaisesRegex(ValueError, f"there are {n} panels"):
                draw(event, value, axes=axes[: n - 1])
        fit = exatrkx.fit_tracks(event, tracks, exatrkx.Detector.load(), model=model)
        # Often enough that no panel has too few tracks.
        figure = plotting.resolution([event] * 9, [tracks] * 9, [fit] * 9)
        self.assertEqual(len(figure.axes), 10)
        self.assertTrue(all(a.has_data() for a in figure.axes))
        bare = exatrkx.Event.from_arrays(event.positions)
        with self.assertRaisesRegex(ValueError, "need the truth"):
            plotting.tracks(bare, tracks)
        with self.assertRaisesRegex(ValueError, "tracks of"):
            plotting.tracks(EVENTS[0], tracks)
        cuts = {"min_particle_hits": 7, "min_track_hits": 4, "matching_fraction": 0.75}
        figure = plotting.tracks(event, tracks, **cuts)  # names of evaluate
        rate = exatrkx.evaluate(event, tracks, **cuts).technical_efficiency
        (text,) = figure.texts
        self.assertIn(f"efficiency {100 * rate.value:.1f}", text.get_text())
        for draw, kind, one in (
            (plotting.tracks, "Tracks", tracks),
            (plotting.edges, "Graph", graph),
        ):
            with self.assertRaisesRegex(TypeError, f"NoneType, expected exatrkx.{kind}"):
                draw(event, None)
            with self.assertRaisesRegex(ValueError, "1, fewer than events"):
                draw([event, event], [one])
        noise = exatrkx.Event.from_arrays(
            event.positions,
            particle_ids=np.zeros(len(event), int),
            particles=event.particles[:0],
        )
        self.assertEqual(len(plotting.tracks(noise, tracks).axes), 6)
        self.assertEqual(len(plotting.resolution(noise, tracks, fit).axes), 10)

    def test_graph_and_radius_agree(self) -> None:
        """The graph of a radius has the pairs that the points tell."""
        event, points = EVENTS[1], self.path("points.csv")
        graph = self.path("graph.csv")
        run_program(
            "etx-graph", "--stage", "embedding", "--model", MODEL, "--event",
            event, "--threads", "1", "--out", points,
        )  # fmt: skip
        run_program(
            "etx-graph", "--stage", "graph", "--points", points, "--radius",
            "0.3", "--threads", "1", "--out", graph,
        )  # fmt: skip
        edges = edges_plot.load(event, graph, 0.5)
        found = radius_plot.measure(
            [event_truth.Event(event)], [radius_plot.read_points(points)], 0.5, 0.3
        )
        # Single precision may put a pair at the very radius on either side.
        self.assertGreater(len(edges.score), 1000)
        self.assertLessEqual(abs(len(edges.score) - found.n_pairs[-1]), 1)
        every = np.array([-np.inf])
        self.assertAlmostEqual(
            edges.efficiency(every)[0], found.efficiency[-1], places=2
        )
        self.assertAlmostEqual(edges.purity(every)[0], found.purity[-1], places=3)
