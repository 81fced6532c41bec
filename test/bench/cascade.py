"""cascade -- what the cascade of a model saves and what it loses.

    PYTHONPATH=bindings/python ETX_LIBRARY=lib/libexatrkx.so \\
        python3 test/bench/cascade.py MODEL PREFIX [PREFIX...]

Filters the candidates of each event with the model and with its copy without
cascade, on one thread. Prints for all events together: candidates, those that
reach the filter, processor seconds of the fastest of RUNS runs of each, and
the share of the signal pairs that the filter keeps which stay.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import exatrkx
import numpy as np
from exatrkx import _event_truth, safetensors_file

RUNS = 5
MIN_PT = 0.5  # GeV, of signal


def without_cascade(data: bytes) -> exatrkx.Model:
    """The model of a file, less its cascade."""
    tensors, metadata = safetensors_file.parse(data)
    config = json.loads(metadata["etx.config"])
    del config["cascade"]
    kept = {k: v for k, v in tensors.items() if not k.startswith("cascade.")}
    return with_config(kept, metadata, config)


def with_open_filter(data: bytes) -> exatrkx.Model:
    """The model of a file with a filter that drops nothing."""
    tensors, metadata = safetensors_file.parse(data)
    config = json.loads(metadata["etx.config"])
    config["filter"] |= {"cut": 0.0, "max_edges_per_hit": 0.0}
    return with_config(tensors, metadata, config)


def with_config(tensors: dict, metadata: dict, config: dict) -> exatrkx.Model:
    metadata = metadata | {"etx.config": json.dumps(config)}
    return exatrkx.Model.from_bytes(safetensors_file.dump(tensors, metadata))


def fastest(graph, model, event, context) -> tuple[exatrkx.Graph, float]:
    """The filtered graph and its processor seconds."""
    best = np.inf
    for _ in range(RUNS):
        start = time.process_time()
        found = exatrkx.filter_graph(graph, model, event, context)
        best = min(best, time.process_time() - start)
    return found, best


def main(path: str, prefixes: list[str]) -> None:
    """Sums over the events."""
    data = Path(path).read_bytes()
    cascaded = exatrkx.Model.from_bytes(data)
    alone, open_filter = without_cascade(data), with_open_filter(data)
    context = exatrkx.Context(threads=1)
    detector = exatrkx.Detector.load()
    sums = dict.fromkeys(("all", "left", "kept", "stay"), 0)
    seconds = {"alone": 0.0, "cascaded": 0.0}
    for prefix in prefixes:
        event = exatrkx.Event.from_trackml(prefix, detector=detector)
        truth = _event_truth.Event(prefix)
        graph = exatrkx.build_graph(cascaded, event, context)
        sums["all"] += graph.n_edges
        reached = exatrkx.filter_graph(graph, open_filter, event, context)
        sums["left"] += reached.n_edges
        for name, model in (("alone", alone), ("cascaded", cascaded)):
            found, best = fastest(graph, model, event, context)
            seconds[name] += best
            kinds = truth.pair_kind(found.src, found.dst, MIN_PT)
            n = int((kinds == _event_truth.SIGNAL).sum())
            sums["kept" if name == "alone" else "stay"] += n
    print(
        f"{sums['all']} candidates, {sums['left']} reach the filter"
        f" ({sums['left'] / sums['all']:.3f})\n"
        f"filter alone {seconds['alone']:.3f} s,"
        f" with the cascade {seconds['cascaded']:.3f} s\n"
        f"signal: {sums['stay']} of {sums['kept']}"
        f" ({sums['stay'] / sums['kept']:.5f})"
    )


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
