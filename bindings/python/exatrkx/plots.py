"""plots -- figures of training, graphs and tracks.

    python -m exatrkx.plots training embedding.jsonl gnn.jsonl --out loss.png
    python -m exatrkx.plots tracks --event PREFIX --tracks T.csv --out t.png
    python -m exatrkx.plots edges --event PREFIX --edges E.csv --out e.png
    python -m exatrkx.plots radius --event PREFIX --points P.csv --out r.png

The ending of --out says the format: png, svg or pdf. Needs numpy and
matplotlib. docs/plots.md says what the panels show.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Sequence

FORMATS = (".png", ".svg", ".pdf")


def parser() -> argparse.ArgumentParser:
    """The command line."""
    result = argparse.ArgumentParser(
        prog="python -m exatrkx.plots",
        description="Draw training logs, tracks, edges and embeddings.",
    )
    commands = result.add_subparsers(
        dest="command", required=True, metavar="COMMAND"
    )
    about = "loss, gradient norm, validation against the step"
    training = commands.add_parser("training", help=about)
    training.add_argument(
        "logs", nargs="+", metavar="LOG.jsonl", help="of etx-train --log"
    )
    about = "efficiency against pT and eta, purity, lengths of tracks"
    tracks = commands.add_parser("tracks", help=about)
    _add_events(tracks, "--tracks", "hit_id,track_id of etx-find-tracks")
    add = tracks.add_argument
    add("--min-pt", type=float, default=0.1, help="GeV, of particles (0.1)")
    add("--max-eta", type=float, default=4.0, help="of particles (4)")
    add("--min-hits", type=int, default=5, help="of particles (5)")
    add("--min-track-hits", type=int, default=3, help="of tracks (3)")
    add("--fraction", type=float, default=0.5, help="of matching (0.5)")
    about = "scores, ROC, efficiency and purity of edges"
    edges = commands.add_parser("edges", help=about)
    _add_events(edges, "--edges", "src,dst[,score] of etx-graph")
    _add_signal(edges)
    edges.add_argument(
        "--cut",
        type=float,
        help="keep scores above; default: what keeps 98 %% of the signal",
    )
    about = "neighbours in the embedding against the radius"
    radius = commands.add_parser("radius", help=about)
    _add_events(radius, "--points", "points of etx-graph --stage embed")
    _add_signal(radius)
    radius.add_argument(
        "--max-radius", type=float, help="of the axis; default: fits the data"
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
    from . import _plot_style

    if args.command == "training":
        from . import _training_plot

        figure = _training_plot.draw(args.logs)
    elif args.command == "tracks":
        from . import _tracks_plot

        cuts = _tracks_plot.Cuts(
            args.min_pt,
            args.max_eta,
            args.min_hits,
            args.min_track_hits,
            args.fraction,
        )
        figure = _tracks_plot.draw(args.event, args.files, cuts)
    elif args.command == "edges":
        from . import _edges_plot

        figure = _edges_plot.draw(
            args.event, args.files, args.min_pt, args.cut
        )
    else:
        from . import _radius_plot

        figure = _radius_plot.draw(
            args.event, args.files, args.min_pt, args.max_radius
        )
    _plot_style.save(figure, args.out)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 when done, 1 when something failed."""
    command_line = parser()
    args = command_line.parse_args(arguments)
    if not args.out.lower().endswith(FORMATS):
        command_line.error(f"--out {args.out}: not {', '.join(FORMATS)}")
    if args.command != "training" and len(args.event) != len(args.files):
        command_line.error(
            f"{len(args.event)} events and {len(args.files)} files for them"
        )
    for module in ("numpy", "matplotlib"):
        if importlib.util.find_spec(module) is None:
            print(
                f"plots: {module} is not installed (pip install {module})",
                file=sys.stderr,
            )
            return 1
    try:
        draw(args)
    except (OSError, ValueError) as error:
        print(f"plots: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
