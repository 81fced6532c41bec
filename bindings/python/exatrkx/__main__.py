"""__main__ -- the command line: exatrkx COMMAND ...

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
from collections.abc import Sequence

from . import _programs

PROGRAMS = {
    "find-tracks": ("etx-find-tracks", "events to files of tracks"),
    "evaluate": ("etx-evaluate", "tracks against the truth"),
    "fit": ("etx-fit-tracks", "momentum, direction and impact parameters of tracks"),
    "train": ("etx-train", "one stage, from a JSON config"),
    "learn-completion": ("etx-learn-completion", "what true tracks tell, by counting"),
    "graph": ("etx-graph", "one stage at a time, its result as CSV"),
    "seeds": ("etx-seeds", "seeds of three hits"),
    "bench": ("etx-bench", "the time of every stage"),
}
MODULES = {
    "display": ("plotting.display_command", "an event as HTML or Phoenix JSON"),
    "plot": ("plotting", "figures of training, tracks and edges"),
    "learn-field": ("tools.learn_field", "a map of the magnetic field from true tracks"),
    "convert": ("conversion.convert", "model files from PyTorch networks"),
    "simulate": ("simulation.simulate", "events of the fast simulation of ACTS"),
    "acts-csv": ("tools.acts_csv", "events of the CSV files of ACTS as TrackML events"),
    "acts-root": ("tools.acts_root", "events of the ROOT files of ACTS as TrackML events"),
    "colliderml": ("tools.colliderml", "events of ColliderML's Parquet files as TrackML events"),
    "colliderml-tracks": ("tools.colliderml_tracks", "tracks for ColliderML's scorer"),
    "edm4hep": ("tools.edm4hep", "simulated hits of EDM4hep's files as TrackML events"),
    "compare-events": ("tools.compare_events", "two sets of events next to each other"),
    "adjust": ("tools.adjust", "other cuts, radius, bounds or labels for a model file"),
    "shrink": ("tools.shrink", "prune and quantise model files"),
    "widen": ("tools.widen", "a wider graph network from a trained one"),
    "adapt": ("adaptation.adapt", "from events of a detector to a model for it"),
    "serve": ("serving.serve", "a model as a service over REST and gRPC"),
    "population": ("tools.population", "train several models, which copy the best"),
}


def usage() -> str:
    """What the commands do."""
    lines = ["usage: exatrkx COMMAND ... (--help for each)", ""]
    commands = {**PROGRAMS, **MODULES}
    lines += [f"  {name:17} {text}" for name, (_, text) in commands.items()]
    return "\n".join(lines)


def run(given: Sequence[str]) -> int:
    """The exit status of a command. A program replaces this process."""
    if given and given[0] in ("-h", "--help"):
        print(usage())
        return 0
    if given == ["--version"]:
        from . import __version__

        print(__version__)
        return 0
    name = given[0] if given else ""
    if name not in (*PROGRAMS, *MODULES):
        print((f"exatrkx: no command {name}\n" if given else "") + usage(), file=sys.stderr)
        return 2
    if name in PROGRAMS:
        _programs.become(PROGRAMS[name][0], given[1:])
    command = importlib.import_module("." + MODULES[name][0], __package__)
    status: int = command.main(given[1:])
    return status


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command: 0 when done, 1 when it failed, 2 for wrong arguments,
    130 after Ctrl-C, 141 where its reader has gone."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    name = given[0] if given else "exatrkx"
    try:
        try:
            return run(given)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # as of `| head`; the interpreter flushes once more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except (ImportError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main())
