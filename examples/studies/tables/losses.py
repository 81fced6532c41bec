"""losses -- where the shipped models lose particles.

    python -m tables.losses --events DIR [--count 2] [--name NAME ...]

What is left of the truth after each stage: all edges between hits of one
particle score 1, all others 0, and the connected hits are the tracks, without
tracks of fewer hits than the model requires. So the line of a stage is what
perfect stages after it would find; the last line is what the model finds. The
second table has the same by the distance from the beam line at which particles
were made.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import exatrkx

from .events import event_options, read_events
from .markdown import table

MODELS = Path(__file__).parents[3] / "examples" / "models"
NAMES = ("default", "accurate")
MIN_PT = (0.5, 0.1)  # GeV
MIN_HITS = 4  # of a track, required by the models' labels
RADII = (0, 1, 30, 100, 1100)  # mm

Row = list[str]
Events = Sequence[exatrkx.Event]


def perfect(graph: exatrkx.Graph, event: exatrkx.Event) -> exatrkx.Tracks:
    """The tracks that a perfect network makes of the edges."""
    owner = event.particle_ids
    is_true = (owner[graph.src] == owner[graph.dst]) & (owner[graph.src] != 0)
    src, dst = graph.src[is_true], graph.dst[is_true]
    scores = np.ones(len(src), np.float32)
    kept = exatrkx.Graph.from_edges(graph.n_nodes, src, dst, scores)
    return exatrkx.build_tracks(kept, method="components", cut=0.5, min_hits=MIN_HITS)


@dataclass
class Stages:
    """Tracks of every event, and edges, after each stage of a model."""

    tracks: dict[str, list[exatrkx.Tracks]] = field(
        default_factory=lambda: {"radius": [], "filter": [], "found": []}
    )
    n_edges: dict[str, int] = field(default_factory=lambda: {"radius": 0, "filter": 0})


def run(name: str, events: Events, context: exatrkx.Context) -> Stages:
    """One model over all events."""
    model = exatrkx.Model.load(MODELS / f"{name}.safetensors")
    stages = Stages()
    for event in events:
        candidates = exatrkx.build_graph(model, event, context)
        filtered = exatrkx.filter_graph(candidates, model, event, context)
        for stage, graph in (("radius", candidates), ("filter", filtered)):
            stages.n_edges[stage] += graph.n_edges
            stages.tracks[stage].append(perfect(graph, event))
        stages.tracks["found"].append(exatrkx.find_tracks(model, event, context))
    return stages


def lines(name: str, stages: Stages, events: Events) -> list[Row]:
    """The lines of one model."""
    n_hits = sum(event.n_hits for event in events)
    rows = []
    for stage, tracks in stages.tracks.items():
        cells = [name, stage]
        n_edges = stages.n_edges.get(stage)
        cells.append("" if n_edges is None else f"{n_edges / n_hits:.1f}")
        for min_pt in MIN_PT:
            rates = exatrkx.evaluate(events, tracks, min_pt=min_pt)
            cells.append(f"{rates.technical_efficiency.value:.4f}")
        rows.append(cells)
    return rows


def binned(events: Events, tracks: Sequence[exatrkx.Tracks]) -> np.ndarray:
    """Particles and found ones [2, n_bins] by the radius of production."""
    counts = [
        exatrkx.evaluate_binned(event, found, "radius", RADII, min_pt=MIN_PT[0])
        for event, found in zip(events, tracks, strict=True)
    ]
    return np.sum(counts, axis=0)


def lines_by_radius(name: str, stages: Stages, events: Events) -> list[Row]:
    """The particles of one model above the first MIN_PT, bin by bin."""
    counts = {stage: binned(events, tracks) for stage, tracks in stages.tracks.items()}
    total = counts["found"][0]
    rows = []
    for k in range(len(total)):
        share = total[k] / total.sum()
        cells = [name, f"{RADII[k]:g} .. {RADII[k + 1]:g}", f"{share:.3f}"]
        cells += [f"{of[1][k] / total[k]:.3f}" for of in counts.values()]
        rows.append(cells)
    return rows


def main(arguments: Sequence[str] | None = None) -> int:
    parser = event_options("losses", count=2)
    parser.add_argument("--name", action="append", help="a shipped model; repeatable")
    options = parser.parse_args(arguments)
    context = exatrkx.Context(options.threads)
    events = read_events(options.events, options.count)
    names = options.name or NAMES
    stages = {name: run(name, events, context) for name in names}
    rows = [row for name in names for row in lines(name, stages[name], events)]
    head = [f"technical efficiency, pT > {min_pt} GeV" for min_pt in MIN_PT]
    print(table(["model", "after", "edges per hit", *head], rows))
    rows = [
        row for name in names for row in lines_by_radius(name, stages[name], events)
    ]
    head = [f"after {stage}" for stage in ("radius", "filter")]
    head = ["model", "production radius, mm", "share", *head, "found"]
    print(table(head, rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
