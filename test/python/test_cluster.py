"""test_cluster -- events over dask: docs/howto/cluster.md, with a worker that dies.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from support import PACKAGE, ROOT, LibraryCase, needs

import exatrkx

N_EVENTS = int(os.environ.get("ETX_CLUSTER_EVENTS", "40"))
PAGE = ROOT / "docs" / "howto" / "cluster.md"
# As the page, but for the worker that gets the event in the middle first.
DRIVER = f'''
import os
import signal
import sys
from pathlib import Path

import cluster
import exatrkx
from distributed import Client


def find(prefix, model, detector, out):
    mark = out.with_name("killed")
    if prefix.endswith("{N_EVENTS // 2:09d}") and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return cluster.find(prefix, model, detector, out)


if __name__ == "__main__":
    folder, out = map(Path, sys.argv[1:])
    with Client(n_workers=2, threads_per_worker=1) as client:
        prefixes = exatrkx.Events(folder).prefixes
        load = (client.submit(kind.load) for kind in (exatrkx.Model, exatrkx.Detector))
        same = dict(zip(("model", "detector"), load), out=out)
        print("\\n".join(client.gather(client.map(find, prefixes, **same))))
'''


class Cluster(LibraryCase):
    def make_events(self) -> Path:
        """Copies of the shipped events under names of their own."""
        folder = self.folder / "events"
        folder.mkdir()
        for path in (ROOT / "examples" / "data").glob("event*"):
            first = int(path.name[5:14])
            for k in range(first, N_EVENTS, 3):
                shutil.copy(path, folder / f"event{k:09d}{path.name[14:]}")
        return folder

    @needs("distributed")
    def test_worker_dies(self) -> None:
        """Its events run again: all lines in order, all files as of one process."""
        events = self.make_events()
        found, expected = self.folder / "found", self.folder / "expected"
        found.mkdir()
        expected.mkdir()
        code = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
        assert code is not None
        (self.folder / "cluster.py").write_text(code[1])
        (self.folder / "driver.py").write_text(DRIVER)
        paths = os.pathsep.join([str(PACKAGE), str(self.folder)])
        done = subprocess.run(
            [sys.executable, "driver.py", str(events), str(found)],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": paths},
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.folder / "killed").exists())
        model, context = exatrkx.Model.load(), exatrkx.Context(1)
        lines = []
        for event in exatrkx.Events(events, detector=exatrkx.Detector.load()):
            tracks = exatrkx.find_tracks(model, event, context)
            tracks.write_csv(expected / f"{event.name}-tracks.csv", event)
            lines.append(f"{event.name}: {event.n_hits} hits, {len(tracks)} tracks")
        self.assertEqual(done.stdout.splitlines(), lines)
        self.assertEqual(len(lines), N_EVENTS)
        self.assertEqual(files(found), files(expected))


def files(folder: Path) -> dict[str, bytes]:
    """The bytes of each file by its name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


if __name__ == "__main__":
    unittest.main()
