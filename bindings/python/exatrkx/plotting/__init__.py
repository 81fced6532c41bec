"""plots -- figures of training, graphs and tracks.

    exatrkx plot training embedding.jsonl gnn.jsonl --out loss.png
    exatrkx plot tracks --event PREFIX --tracks T.csv --out t.png
    exatrkx plot resolution --event PREFIX --tracks T.csv --parameters P.csv --out p.png
    exatrkx plot edges --event PREFIX --edges E.csv --out e.png
    exatrkx plot radius --event PREFIX --points P.csv --out r.png
    exatrkx plot times default.json --out times.png

The ending of --out says the format: png, svg or pdf. Needs matplotlib.
docs/plots.md says what the panels show.

The functions draw the same of objects and return the matplotlib figure:

    figure = exatrkx.plotting.tracks(event, tracks)
    figure.savefig("tracks.pdf")

An event is an exatrkx.Event or the PREFIX of files; one or a list of them, with
as many tracks, graphs or points. With axes, matplotlib's, one for each panel,
they draw there and leave style and title to the caller.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")


def _several(one_or_more: Any) -> list[Any]:
    """A list of what was given alone or as a list or tuple."""
    is_many = isinstance(one_or_more, (list, tuple))
    return list(one_or_more) if is_many else [one_or_more]


def _check_length(name: str, value: float) -> None:
    if not 0.0 < value < math.inf:
        raise ValueError(f"{name} {value}: expected a number above 0")


def tracks(
    event: Any,
    tracks: Any,
    *,
    min_pt: float = 0.1,
    max_eta: float = 4.0,
    min_particle_hits: int = 5,
    min_track_hits: int = 3,
    matching_fraction: float = 0.5,
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Efficiency against pT, eta, production radius and distance to the nearest
    particle; purity, lengths: six panels.

    tracks: Tracks, or a file of hit_id,track_id. The cuts are as in evaluate;
    min_pt in GeV.
    """
    from . import tracks_plot

    cuts = tracks_plot.Cuts(
        min_pt, max_eta, min_particle_hits, min_track_hits, matching_fraction
    )
    return tracks_plot.draw(_several(event), _several(tracks), cuts, axes)


def resolution(
    event: Any,
    tracks: Any,
    parameters: Any,
    *,
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Five parameters of tracks against pT and eta: ten panels.

    found: Tracks, or a file of hit_id,track_id; parameters: of fit_tracks, or a
    file of etx-fit-tracks.
    """
    from . import resolution_plot

    return resolution_plot.draw(
        _several(event), _several(tracks), _several(parameters), axes
    )


def edges(
    event: Any,
    graph: Any,
    *,
    min_pt: float = 0.5,
    cut: float | None = None,
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Scores, ROC, efficiency and purity: eight panels, five without scores.

    graph: Graph, or a file of src,dst[,score]. Pairs above min_pt (GeV) are the
    signal; cut: default what keeps 98 % of them.
    """
    from . import edges_plot

    return edges_plot.draw(_several(event), _several(graph), min_pt, cut, axes)


def radius(
    event: Any,
    points: Any,
    *,
    min_pt: float = 0.5,
    max_radius: float | None = None,
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """Efficiency, purity and edges per hit against the radius: three panels.

    points: [n_hits, n_dim] of exatrkx.embed, or a file of them.
    """
    from . import radius_plot

    if max_radius is not None:
        _check_length("max_radius", max_radius)
    own = points if isinstance(points, (list, tuple)) else [points]
    return radius_plot.draw(_several(event), own, min_pt, max_radius, axes)


def embedding(
    event: Any,
    points: Any,
    *,
    radius: float,
    hit_id: int | None = None,
    min_pt: float = 0.5,
    axes: Sequence[Axes] | None = None,
) -> Figure:
    """All hits in two dimensions, and one with its neighbours: two panels.

    points as in radius(). hit_id: default one of a particle with pT above
    min_pt (GeV) that misses the next hit.
    """
    from . import embedding_plot

    _check_length("radius", radius)
    return embedding_plot.draw(event, points, radius, hit_id, min_pt, axes)


def training(logs: Any, *, axes: Sequence[Axes] | None = None) -> Figure:
    """A panel for each quantity in the logs of etx-train, by file name."""
    from . import training_plot

    return training_plot.draw(_several(logs), axes)


def times(files: Any, *, axes: Sequence[Axes] | None = None) -> Figure:
    """Seconds of events and stages against hits, a panel for each file of
    etx-bench --out."""
    from . import times_plot

    return times_plot.draw(_several(files), axes)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = argparse.ArgumentParser(
        allow_abbrev=False,
        prog="exatrkx plot",
        description="Draw training logs, times, tracks, fits, edges and embeddings.",
    )
    commands = result.add_subparsers(
        dest="command", required=True, metavar="COMMAND"
    )
    about = "loss, gradient norm, validation against the step"
    logs = commands.add_parser("training", help=about, allow_abbrev=False)
    logs.add_argument(
        "logs", nargs="+", metavar="LOG.jsonl", help="of etx-train --log"
    )
    about = "time of events and their stages against the number of hits"
    of_bench = commands.add_parser("times", help=about, allow_abbrev=False)
    of_bench.add_argument(
        "files", nargs="+", metavar="FILE.json", help="of etx-bench --out"
    )
    about = "efficiency against pT and eta, purity, lengths of tracks"
    of_tracks = commands.add_parser("tracks", help=about, allow_abbrev=False)
    _add_events(of_tracks, "--tracks", "hit_id,track_id of etx-find-tracks")
    add = of_tracks.add_argument
    add("--min-pt", type=float, default=0.1, help="GeV, of particles (0.1)")
    add("--max-eta", type=float, default=4.0, help="of particles (4)")
    add(
        "--min-hits",
        type=int,
        default=5,
        dest="min_particle_hits",
        metavar="MIN_HITS",
        help="of particles (5)",
    )
    add("--min-track-hits", type=int, default=3, help="of tracks (3)")
    add(
        "--fraction",
        type=float,
        default=0.5,
        dest="matching_fraction",
        metavar="FRACTION",
        help="of matching (0.5)",
    )
    about = "resolution of the fitted parameters against pT and eta"
    of_fits = commands.add_parser("resolution", help=about, allow_abbrev=False)
    _add_events(of_fits, "--tracks", "hit_id,track_id of etx-find-tracks")
    of_fits.add_argument(
        "--parameters",
        action="append",
        required=True,
        metavar="FILE",
        help="of etx-fit-tracks; one for each --event",
    )
    about = "scores, ROC, efficiency and purity of edges"
    of_edges = commands.add_parser("edges", help=about, allow_abbrev=False)
    _add_events(of_edges, "--edges", "src,dst[,score] of etx-graph")
    _add_signal(of_edges)
    of_edges.add_argument(
        "--cut",
        type=float,
        help="keep scores above; default: what keeps 98 %% of the signal",
    )
    about = "neighbours in the embedding against the radius"
    of_points = commands.add_parser("radius", help=about, allow_abbrev=False)
    _add_events(of_points, "--points", "points of etx-graph --stage embedding")
    _add_signal(of_points)
    of_points.add_argument(
        "--max-radius", type=float, help="of the axis; default: fits the data"
    )
    about = "the embedding in two dimensions, one hit and its neighbours"
    one = commands.add_parser("embedding", help=about, allow_abbrev=False)
    _add_events(one, "--points", "points of etx-graph --stage embedding")
    _add_signal(one)
    one.add_argument(
        "--radius", type=float, required=True, help="of the neighbourhood"
    )
    one.add_argument(
        "--hit", type=int, help="hit_id; default: one that misses its next hit"
    )
    for command in commands.choices.values():
        command.add_argument(
            "--out", required=True, metavar="FILE", help="png, svg or pdf"
        )
    return result


def _add_events(
    command: argparse.ArgumentParser, option: str, text: str
) -> None:
    """--event and the file that belongs to each."""
    command.add_argument(
        "--event",
        action="append",
        required=True,
        metavar="PREFIX",
        help="PREFIX-hits.csv[.gz], -truth and -particles; repeatable",
    )
    command.add_argument(
        option,
        action="append",
        required=True,
        metavar="FILE",
        dest="files",
        help=f"{text}; one for each --event",
    )


def _add_signal(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--min-pt", type=float, default=0.5, help="GeV, of signal (0.5)"
    )


def draw(args: argparse.Namespace) -> None:
    """Draw the requested plot; loads numpy and matplotlib."""
    from ..files import whole_file
    from . import style

    whole_file.check(args.out)
    if args.command == "training":
        figure = training(args.logs)
    elif args.command == "times":
        figure = times(args.files)
    elif args.command == "embedding":
        if len(args.event) > 1:
            raise ValueError("embedding: one event at a time")
        figure = embedding(
            args.event[0],
            args.files[0],
            radius=args.radius,
            hit_id=args.hit,
            min_pt=args.min_pt,
        )
    else:
        given = vars(args).copy()
        names = ("event", "files", "parameters")
        of_all = [given.pop(name) for name in names if name in given]
        draw_panels: Any = {
            "tracks": tracks,
            "edges": edges,
            "radius": radius,
            "resolution": resolution,
        }
        command = draw_panels[given.pop("command")]
        given.pop("out")
        figure = command(*of_all, **given)
    style.save(figure, args.out)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 when done, 1 when something failed."""
    command_line = parser()
    args = command_line.parse_args(arguments)
    if not args.out.lower().endswith(FORMATS):
        command_line.error(f"--out {args.out}: not {', '.join(FORMATS)}")
    has_events = args.command not in ("training", "times")
    if has_events and len(args.event) != len(args.files):
        command_line.error(
            f"{len(args.event)} events and {len(args.files)} files for them"
        )
    for module in ("numpy", "matplotlib"):
        if importlib.util.find_spec(module) is None:
            print(
                f"plot: {module} is not installed (pip install {module})",
                file=sys.stderr,
            )
            return 1
    try:
        draw(args)
    except (OSError, ValueError) as error:
        print(f"plot: {error}", file=sys.stderr)
        return 1
    return 0
