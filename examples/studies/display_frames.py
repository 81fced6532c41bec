"""display_frames -- how fast the event display draws and picks.

    python3 examples/studies/display_frames.py PAGE.html [FRAMES]

Opens a page of `python -m exatrkx display` in chromium-headless-shell, which
draws in software, without a graphics card, and prints milliseconds: of a frame
of the turned view with and without lines, of finding the hit at a click, and
of new colours.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT = """
<script>
requestAnimationFrame(() => {
  const view = views[1], pixel = new Uint8Array(4), gl = view.gl;
  const wait = () =>
    gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
  const mean = (work) => {
    wait();
    const start = performance.now();
    for (let k = 0; k < FRAMES; k++) work();
    wait();
    return ((performance.now() - start) / FRAMES).toFixed(1);
  };
  const turned = (moving) => () => { view.yaw += 0.05; view.draw(moving); };
  const times = [mean(turned(true)), mean(turned(false)),
    mean(() => view.nearest(100, 100, colours)), mean(refresh)];
  document.title = "measured " + event_.count + " " + times.join(" ");
});
</script>
</body>"""

CHROMIUM = [
    "chromium-headless-shell",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--window-size=1500,900",
    "--virtual-time-budget=1000",
    "--dump-dom",
]


def main(page: str, frames: int) -> None:
    """Measure one page."""
    text = Path(page).read_text()
    script = SCRIPT.replace("FRAMES", str(frames))
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "page.html"
        copy.write_text(text.replace("</body>", script))
        profile = f"--user-data-dir={folder}/profile"
        found = subprocess.run(
            [*CHROMIUM, profile, f"file://{copy}"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    measured = re.search(r"<title>measured (.*?)</title>", found)
    if measured is None:
        raise SystemExit("the page did not report: no WebGL, or an error")
    hits, moving, resting, pick, colours = measured[1].split()
    print(
        f"{hits} hits: 3-D frame {moving} ms moving, {resting} ms at rest; "
        f"pick {pick} ms; new colours {colours} ms"
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5)
