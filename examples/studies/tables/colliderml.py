"""colliderml -- tracks as the scorer of ColliderML counts them.

    python -m tables.colliderml --events DIR [--count 10] [--model NAME]

Events go through the files that ColliderML has: tracker_hits.parquet of each, tracks by
`exatrkx colliderml-tracks`, and from there to the scorer of its package. Needs colliderml
and pyarrow.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import io
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import exatrkx
import numpy as np
from exatrkx.tools import colliderml_tracks

from .events import event_options
from .markdown import table

MODELS = ("odd", "positions", "default")
EVENT = 1 << 32  # between the particles of events, whose ids the scorer takes together
SCORES = ("trackml_weighted_efficiency", "physics_eff_pt1", "fake_rate", "duplicate_rate")
HEAD = ["model", "trackml_eff", "physics_eff_pt1", "fake_rate", "duplicate_rate", "ms", "n_params"]


def particle_ids(event: exatrkx.Event, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Ids of the particles and of each hit's; noise is no particle."""
    assert event.particles is not None and event.particle_ids is not None
    rows = np.searchsorted(event.particles["id"], event.particle_ids)
    first = number * EVENT + 1
    of_hits = np.where(event.particle_ids == 0, 0, first + rows)
    return first + np.arange(len(event.particles)), of_hits


def tracker_hits(events: Sequence[exatrkx.Event]) -> dict[str, list[Any]]:
    """The columns of a file of tracker_hits: a list for each event."""
    columns: dict[str, list[Any]] = {"event_id": list(range(len(events)))}
    for number, event in enumerate(events):
        assert event.modules is not None
        one = dict(zip("xyz", event.positions.T, strict=True))
        one |= dict(zip(("volume_id", "layer_id", "surface_id"), event.modules, strict=True))
        one["particle_id"] = particle_ids(event, number)[1]
        for name, values in one.items():
            columns.setdefault(name, []).append(values)
    return columns


def truth(events: Sequence[exatrkx.Event]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Particles, and a row for each hit, as the scorer wants them."""
    hits: list[np.ndarray] = []
    particles: list[np.ndarray] = []
    for number, event in enumerate(events):
        assert event.particles is not None
        ids, of_hits = particle_ids(event, number)
        rows = np.arange(len(event))
        hits.append(np.stack([np.full(len(event), number), rows, of_hits]))
        momentum = event.particles["momentum"]
        particles.append(np.stack([ids.astype(float), momentum[:, 0], momentum[:, 1]]))
    event_id, hit_id, particle_id = np.concatenate(hits, axis=1)
    ids, px, py = np.concatenate(particles, axis=1)
    return (
        {"particle_id": ids.astype(np.int64), "px": px, "py": py},
        {"event_id": event_id, "hit_id": hit_id, "particle_id": particle_id},
    )


def line(model: str, hits: Path, tables: Sequence[Any], threads: int) -> list[str]:
    """What the scorer finds for the tracks of a model."""
    import pyarrow.parquet
    from colliderml.tasks.tracking import metrics

    tracks, latency = hits.with_name("tracks.parquet"), hits.with_name("latency.parquet")
    options = ["--model", model, "--out", str(tracks), "--truth", "--threads", str(threads)]
    with contextlib.redirect_stdout(io.StringIO()):
        if colliderml_tracks.main([str(hits), *options, "--latency", str(latency)]) != 0:
            raise RuntimeError(f"no tracks by {model}")
    found = pyarrow.parquet.read_table(tracks)
    particles, truth_hits = tables
    scores = [
        getattr(metrics, name)(found, particles if name == "physics_eff_pt1" else truth_hits)
        for name in SCORES
    ]
    times = pyarrow.parquet.read_table(latency).to_pydict()
    milliseconds = 1e3 * times["wallclock_s"][0] / times["n_events"][0]
    n_params = found.column("n_params")[0].as_py()
    return [model, *(f"{score:.4f}" for score in scores), f"{milliseconds:.0f}", str(n_params)]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = event_options("colliderml", count=10)
    parser.add_argument("--model", action="append", metavar="NAME", help="default: three")
    options = parser.parse_args(arguments)
    import pyarrow
    import pyarrow.parquet

    prefixes = exatrkx.Events(options.events).prefixes[: options.count]
    events = list(exatrkx.Events(prefixes))  # without cells, as such files are
    tables = [pyarrow.table(columns) for columns in truth(events)]
    with tempfile.TemporaryDirectory() as folder:
        hits = Path(folder) / "hits.parquet"
        pyarrow.parquet.write_table(pyarrow.table(tracker_hits(events)), hits)
        rows = [line(m, hits, tables, options.threads) for m in options.model or MODELS]
    print(table(HEAD, rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
