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
import struct
import sys
import time

import exatrkx
import numpy as np
from exatrkx import _event_truth

RUNS = 5
MIN_PT = 0.5  # GeV, of signal


def edit(data: bytes, change: str) -> exatrkx.Model:
    """The model of a file without its cascade, or with a filter that drops
    nothing."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    config = json.loads(header["__metadata__"]["etx.config"])
    values = data[8 + length :]
    if change == "no cascade":
        del config["cascade"]
        header, values = without(header, values, "cascade.")
    else:
        config["filter"]["cut"] = 0.0
        config["filter"]["max_edges_per_hit"] = 0.0
    header["__metadata__"]["etx.config"] = json.dumps(config)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return exatrkx.Model.from_bytes(struct.pack("<Q", len(text)) + text + values)


def without(header: dict, values: bytes, prefix: str) -> tuple[dict, bytes]:
    """Header and values of a file less the tensors of a prefix."""
    made, kept = {"__metadata__": header["__metadata__"]}, b""
    for name, tensor in header.items():
        if name == "__metadata__" or name.startswith(prefix):
            continue
        begin, end = tensor["data_offsets"]
        place = [len(kept), len(kept) + end - begin]
        made[name] = {**tensor, "data_offsets": place}
        kept += values[begin:end]
    return made, kept


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
    with open(path, "rb") as file:
        data = file.read()
    cascaded = exatrkx.Model.from_bytes(data)
    alone, open_filter = edit(data, "no cascade"), edit(data, "no filter")
    context = exatrkx.Context(threads=1)
    detector = exatrkx.Detector.load()
    sums = dict.fromkeys(("all", "left", "kept", "stay"), 0)
    seconds = {"alone": 0.0, "cascaded": 0.0}
    for prefix in prefixes:
        event = exatrkx.Event.from_trackml(prefix, detector=detector)
        truth = _event_truth.Event(prefix)
        graph = exatrkx.build_graph(cascaded, event, context)
        sums["all"] += graph.n_edges
        sums["left"] += exatrkx.filter_graph(
            graph, open_filter, event, context
        ).n_edges
        for name, model in (("alone", alone), ("cascaded", cascaded)):
            found, least = fastest(graph, model, event, context)
            seconds[name] += least
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
