"""losses -- where the shipped models lose particles.

    python -m tables.losses --events DIR [--count 2]

What is left of the truth after each stage: all edges between hits of one
particle score 1, all others 0, and the connected hits are the tracks, those of
fewer hits than the model asks for dropped. So the line of a stage is what
perfect stages behind it would find; the last line is what the model finds.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import exatrkx

from .events import read_events
from .markdown import table

MODELS = Path(__file__).parents[3] / "examples" / "models"
NAMES = ("default", "accurate")
MIN_PT = (0.5, 0.1)  # GeV
MIN_HITS = 4  # of a track, as the models' labels ask

Row = list[str]


def perfect(graph: exatrkx.Graph, event: exatrkx.Event) -> exatrkx.Tracks:
    """The tracks that a perfect network makes of the edges."""
    owner = event.particle_ids
    is_true = (owner[graph.src] == owner[graph.dst]) & (owner[graph.src] != 0)
    src, dst = graph.src[is_true], graph.dst[is_true]
    scores = np.ones(len(src), np.float32)
    kept = exatrkx.Graph.from_edges(graph.n_nodes, src, dst, scores)
    return exatrkx.label(kept, method="components", cut=0.5, min_hits=MIN_HITS)


def lines(
    name: str, events: Sequence[exatrkx.Event], context: exatrkx.Context
) -> list[Row]:
    """The lines of one model."""
    model = exatrkx.Model.load(MODELS / f"{name}.safetensors")
    tracks: dict[str, list[exatrkx.Tracks]] = {"radius": [], "filter": [], "found": []}
    n_edges = {"radius": 0, "filter": 0}
    for event in events:
        candidates = exatrkx.build_graph(model, event, context)
        filtered = exatrkx.filter_graph(candidates, model, event, context)
        for stage, graph in (("radius", candidates), ("filter", filtered)):
            n_edges[stage] += graph.n_edges
            tracks[stage].append(perfect(graph, event))
        tracks["found"].append(exatrkx.find_tracks(model, event, context))
    n_hits = sum(event.n_hits for event in events)
    rows = []
    for stage, of_events in tracks.items():
        cells = [name, stage]
        cells.append(f"{n_edges[stage] / n_hits:.1f}" if stage in n_edges else "")
        for min_pt in MIN_PT:
            rates = exatrkx.evaluate(events, of_events, min_pt=min_pt)
            cells.append(f"{rates.technical_efficiency.value:.4f}")
        rows.append(cells)
    return rows


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tables.losses")
    add = parser.add_argument
    add("--events", type=Path, required=True, metavar="DIR", help="with truth")
    add("--count", type=int, default=2, metavar="N", help="events, default 2")
    add("--threads", type=int, default=1, metavar="N")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    context = exatrkx.Context(options.threads)
    events = read_events(options.events, options.count)
    rows = [row for name in NAMES for row in lines(name, events, context)]
    head = [f"technical efficiency, pT > {min_pt} GeV" for min_pt in MIN_PT]
    print(table(["model", "after", "edges a hit", *head], rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
