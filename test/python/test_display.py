"""test_display -- the HTML page and the Phoenix JSON of an event.

The page is opened in headless Chromium (Debian: chromium-headless-shell)
where there is one: errors on its console are counted, its picture is looked
at and a picked track is read off it.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import unittest
from pathlib import Path

from support import LibraryCase, needs

import exatrkx
import numpy as np

BROWSER = shutil.which("chromium-headless-shell")
VIVID = 0.001  # least share of coloured pixels in a view


def open_page(address: str, folder: Path, *options: str) -> tuple[str, str]:
    """Open a page in headless Chromium: standard output and log."""
    done = subprocess.run(
        [
            BROWSER,
            "--no-sandbox",
            "--disable-dev-shm-usage",
            "--use-angle=swiftshader",
            "--enable-unsafe-swiftshader",
            "--enable-logging=stderr",
            "--hide-scrollbars",
            "--window-size=1000,640",
            "--virtual-time-budget=1000",
            f"--user-data-dir={folder / 'profile'}",
            *options,
            address,
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout, done.stderr


def complaints(log: str) -> list[str]:
    """What the page wrote to its console."""
    return [line for line in log.splitlines() if "CONSOLE" in line]


@unittest.skipUnless(BROWSER, "chromium-headless-shell is not installed")
class TestPage(LibraryCase):
    def setUp(self) -> None:
        super().setUp()
        self.page = self.folder / "event.html"
        exatrkx.display(self.event, self.tracks, self.page, title="<One> & 2")

    def test_picked_track(self) -> None:
        """#track=3 lists the hits of that track; nothing complains."""
        text, log = open_page(f"file://{self.page}#track=3", self.folder, "--dump-dom")
        self.assertEqual(complaints(log), [])
        rows = re.findall(r"<tr><td>(\d+)</td>", text)
        wanted = self.event.hit_ids[self.tracks[3]]
        self.assertEqual(sorted(map(int, rows)), sorted(wanted.tolist()))
        self.assertIn(f"{len(self.event)} hits", text)
        self.assertIn("<h1>&lt;One&gt; &amp; 2</h1>", text)

    def test_picked_track_that_shares_hits(self) -> None:
        hits = self.tracks[3]
        both = exatrkx.Tracks.from_lists(
            len(self.event), np.arange(3) * len(hits), np.tile(hits, 2)
        )
        exatrkx.display(self.event, both, self.page)
        text, log = open_page(f"file://{self.page}#track=1", self.folder, "--dump-dom")
        self.assertEqual(complaints(log), [])
        self.assertIn(f"Track 1, track_id 2: {len(hits)} hits", text)
        self.assertEqual(len(re.findall(r"<tr><td>\d+</td>", text)), len(hits))

    def drive(self, script: str) -> list[str]:
        """What the script says with say() of the page that it works."""
        said = (
            "const say = (...words) => console.log(`SAID ${words.join(' ')} END`);"
            "const box = views[0].section.getBoundingClientRect();"
            "const mouse = (kind, x, y, more) => views[0].section.dispatchEvent("
            " new (kind === 'wheel' ? WheelEvent : PointerEvent)(kind, {"
            " clientX: box.left + x, clientY: box.top + y, pointerId: 1, ...more}));"
            "views[0].section.setPointerCapture = () => {};"
        )
        text = self.page.read_text()
        self.assertEqual(text.count("</body>"), 1)
        driver = f"<script>{said}{script}</script></body>"
        self.page.write_text(text.replace("</body>", driver))
        _, log = open_page(f"file://{self.page}", self.folder, "--dump-dom")
        spoken = re.findall(r"SAID (.*) END", log)
        self.assertEqual(len(complaints(log)), len(spoken), log)
        return spoken

    def test_mouse_moves(self) -> None:
        """A drag of 50 pixels moves x-y by as much; the point under the wheel
        stays where it is; a double click shows all again."""
        spoken = self.drive(
            "const v = views[0], start = [...v.centre];"
            "const at = (x) => v.centre[0] + (x - v.width / 2) / v.pixels[0];"
            "mouse('pointerdown', 100, 100); mouse('pointermove', 150, 100);"
            "mouse('pointerup', 150, 100);"
            "say((start[0] - v.centre[0]) * v.pixels[0], v.centre[1] - start[1]);"
            "const zoom = v.zoom, before = at(60);"
            "mouse('wheel', 60, 80, {deltaY: -500});"
            "say(v.zoom / zoom, (at(60) - before) * v.pixels[0]);"
            "mouse('dblclick', 60, 80);"
            "say(v.zoom - zoom, v.centre[0] - start[0]);"
        )
        moved, zoomed, reset = ([float(x) for x in s.split()] for s in spoken)
        np.testing.assert_allclose(moved, [50, 0], atol=1e-3)
        np.testing.assert_allclose(zoomed, [np.e, 0], atol=1e-3)
        np.testing.assert_allclose(reset, [0, 0], atol=1e-9)

    def test_mouse_picks(self) -> None:
        """A click on a hit picks its track, Escape clears it."""
        hit = self.tracks[3][-1]
        x, y, _ = self.event.positions[hit]
        spoken = self.drive(
            "const v = views[0]; v.zoom = 300;"
            f"v.centre[0] = {x}; v.centre[1] = {y}; v.draw(false);"
            "mouse('pointerdown', v.width / 2, v.height / 2);"
            "mouse('pointerup', v.width / 2, v.height / 2);"
            "say(state.picked, document.querySelectorAll('tbody tr').length);"
            "dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}));"
            "say(state.picked, document.querySelectorAll('tbody tr').length);"
        )
        self.assertEqual(spoken, [f"3 {len(self.tracks[3])}", "-1 0"])

    def test_match_and_filter(self) -> None:
        """Matches and fakes agree with the evaluation; pT and eta choose
        groups, and fakes have neither."""
        labels = self.tracks.labels
        for first, second in ((3, 4), (5, 6)):  # half and half: fakes
            for t in (first, second):
                labels[self.tracks[t][:5]] = len(self.tracks) + first
        used, labels = np.unique(labels, return_inverse=True)
        self.assertEqual(used[0], -1)
        mixed = exatrkx.Tracks.from_labels(labels - 1)
        exatrkx.display(self.event, mixed, self.page)
        spoken = self.drive(
            "const g = state.grouping;"
            "say(...Array.from(g.particle, (p, k) => g.isMatch[k] ? p : -1));"
            "say(...Array.from(g.particle, (p) => p < 0 ? 1 : 0));"
            "get('softest').value = 0.6; get('steepest').value = 2;"
            "say(...Array.from(g.particle, (p, k) => filter()(k) ? 1 : 0));"
            "get('colour').value = 'match';"
            "get('colour').dispatchEvent(new Event('change'));"
            "const fake = g.hitsOf(g.particle.indexOf(-1))[0];"
            "say(colours.slice(4 * fake, 4 * fake + 3));"
        )
        matched, fake, shown = (np.array(s.split(), int) for s in spoken[:3])
        rows, _ = exatrkx.match(self.event, mixed, min_track_hits=1)
        self.assertEqual(matched.tolist(), rows.tolist())
        self.assertEqual(fake.sum(), 2)
        x, y, z = self.event.particles["momentum"].astype(float).T
        pt = np.hypot(x, y)
        kept = (pt >= 0.6) & (np.abs(np.arcsinh(z / pt)) <= 2)
        self.assertTrue(0 < kept[rows[rows >= 0]].sum() < (rows >= 0).sum())
        self.assertTrue((kept[rows] == shown)[rows >= 0].all())
        self.assertTrue(shown[fake == 1].all())
        self.assertEqual(spoken[3], "255,70,70")

    def test_without_webgl(self) -> None:
        """A sentence instead of empty panels."""
        text, _ = open_page(f"file://{self.page}", self.folder, "--dump-dom", "--disable-3d-apis")
        self.assertIn("<p class=\"missing\">This page needs", text)

    def test_errors_are_seen(self) -> None:
        """A page with an error would not pass."""
        text = self.page.read_text().replace("readEvent();", "noSuchThing();")
        self.page.write_text(text)
        _, log = open_page(f"file://{self.page}", self.folder, "--dump-dom")
        self.assertGreater(len(complaints(log)), 0)

    @needs("matplotlib")
    def test_screenshot(self) -> None:
        """All three views hold many coloured pixels."""
        from matplotlib import image

        shot = self.folder / "shot.png"
        _, log = open_page(f"file://{self.page}", self.folder, f"--screenshot={shot}")
        self.assertEqual(complaints(log), [])
        pixels = image.imread(shot)[..., :3]
        self.assertEqual(pixels.shape, (640, 1000, 3))
        vivid = np.ptp(pixels, axis=2) > 0.3
        for name, rows, columns in (
            ("x-y", (60, 360), (10, 320)),
            ("3-D", (60, 360), (345, 650)),
            ("r-z", (400, 630), (10, 650)),
        ):
            panel = vivid[slice(*rows), slice(*columns)]
            with self.subTest(name):
                self.assertGreater(panel.mean(), VIVID)


class TestFiles(LibraryCase):
    def test_self_contained(self) -> None:
        path = self.folder / "event.html"
        exatrkx.display(self.event, self.tracks, path)
        text = path.read_text()
        self.assertNotRegex(text, r"https?://|<link|src=|@import")
        self.assertEqual(text.count("</script>"), 2)
        self.assertEqual(list(self.folder.iterdir()), [path])

    def test_without_tracks_or_truth(self) -> None:
        from exatrkx.plotting.display import contents

        bare = exatrkx.Event.from_arrays(self.event.positions)
        found = contents(bare, None)
        self.assertIsNone(found["track"])
        self.assertIsNone(found["particle"])
        exatrkx.display(bare, None, self.folder / "a.html")
        exatrkx.write_phoenix(bare, None, self.folder / "a.json")
        other = exatrkx.Tracks.from_labels([0, 0])
        with self.assertRaisesRegex(ValueError, "tracks of 2 hits"):
            exatrkx.display(bare, other, self.folder / "b.html")

    def test_shared_hits(self) -> None:
        """Tracks that share hits keep all of theirs."""
        from exatrkx.plotting.display import contents

        hits, offsets = [0, 1, 2, 1, 2, 3], [0, 3, 6]
        tracks = exatrkx.Tracks.from_lists(len(self.event), offsets, hits)
        found = contents(self.event, tracks)["track"]
        for name, wanted in (("hits", hits), ("offsets", offsets)):
            values = np.frombuffer(base64.b64decode(found[name]), "<i4")
            self.assertEqual(values.tolist(), wanted)
        with self.assertRaisesRegex(TypeError, "tracks: list, expected exatrkx.Tracks"):
            exatrkx.display(self.event, [1])

    def test_wide_ids(self) -> None:
        """Ids of hits have up to 63 bits and keep them."""
        from exatrkx.plotting.display import contents

        wide = [2**53 + 1, 2**63 - 1]
        event = exatrkx.Event.from_arrays(np.ones((2, 3)), hit_ids=wide)
        self.assertEqual(contents(event, None)["hit_id"], list(map(str, wide)))

    def test_phoenix(self) -> None:
        path = self.folder / "event.json"
        exatrkx.write_phoenix(self.event, self.tracks, path)
        event = json.loads(path.read_text())["event"]
        tracks = event["Tracks"]["exatrkx tracks"]
        self.assertEqual(len(tracks), len(self.tracks))
        numbers = [one["track_id"] for one in tracks]
        self.assertEqual(numbers, self.tracks.ids.tolist())
        for one, rows in zip(tracks, self.tracks, strict=True):
            ids = self.event.hit_ids[rows].tolist()
            self.assertEqual(sorted(one["hits"]), sorted(ids))
            self.assertEqual(len(one["pos"]), len(rows))
            out = np.linalg.norm(one["pos"], axis=1)
            self.assertTrue((np.diff(out) > -0.01).all())
        n_hits = sum(len(hits) for hits in event["Hits"].values())
        self.assertEqual(n_hits, len(self.event))
        particles = event["Tracks"]["particles"]
        owner = self.event.particle_ids
        first = particles[0]
        number = self.event.particles["id"][first["particle"]]
        wanted = self.event.hit_ids[owner == number].tolist()
        self.assertEqual(sorted(first["hits"]), sorted(wanted))
        self.assertGreater(first["pT"], 0.0)

    def test_tracks_of_another_event(self) -> None:
        other = exatrkx.Event.from_arrays([[1.0, 2.0, 3.0]])
        path = self.folder / "event.html"
        for write in (
            lambda: exatrkx.display(other, self.tracks, path),
            lambda: exatrkx.write_phoenix(other, self.tracks, path),
        ):
            with self.assertRaisesRegex(ValueError, "tracks of .* hits, event of 1"):
                write()
        for draw in (exatrkx.display, exatrkx.write_phoenix):
            with self.assertRaisesRegex(exatrkx.ArgumentError, "event: None"):
                draw(None, self.tracks, path)
        self.assertFalse(path.exists())
