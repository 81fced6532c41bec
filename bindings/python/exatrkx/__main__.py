"""__main__ -- the command line: exatrkx COMMAND ...

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import importlib
import signal
import sys
from collections.abc import Sequence

MODULES = {
    "find-tracks": ("tools.find_tracks", "events to files of tracks"),
    "evaluate": ("tools.evaluate", "tracks against the truth"),
    "display": ("plotting.display_command", "an event as HTML, Phoenix JSON, picture"),
    "convert": ("conversion.convert", "model files from PyTorch networks"),
    "simulate": ("simulation.simulate", "events of the fast simulation of ACTS"),
    "plot": ("plotting", "figures of training, tracks and edges"),
    "adjust": ("tools.adjust", "other cuts, radius, bounds or labels for a model file"),
    "shrink": ("tools.shrink", "prune and quantise model files"),
    "widen": ("tools.widen", "a wider graph network from a trained one"),
    "population": ("tools.population", "train several models, which copy the best"),
    "acts-csv": ("tools.acts_csv", "events of the CSV files of ACTS as TrackML events"),
    "compare-events": ("tools.compare_events", "two sets of events next to each other"),
}


def usage() -> str:
    """What the commands do."""
    lines = ["usage: exatrkx COMMAND ... (--help for each)", ""]
    lines += [f"  {name:14} {text}" for name, (_, text) in MODULES.items()]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command: 0 when done, 1 when it failed, 2 for wrong arguments,
    130 after Ctrl-C."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and given[0] in ("-h", "--help"):
        print(usage())
        return 0
    if given == ["--version"]:
        from . import __version__

        print(__version__)
        return 0
    if not given or given[0] not in MODULES:
        print(usage(), file=sys.stderr)
        return 2
    name, (module, _) = given[0], MODULES[given[0]]
    try:
        command = importlib.import_module("." + module, __package__)
        status: int = command.main(given[1:])
        return status
    except ImportError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT


if __name__ == "__main__":
    sys.exit(main())
