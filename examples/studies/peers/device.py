"""device -- the networks on a GPU, next to other software that runs there.

    python -m peers.device --out FOLDER [--device cuda] [--hits N] [--seconds S]
        [--stages NAME,NAME] [--name NAME]

Embedding, filter, interaction network and a step of its training by libexatrkx,
PyTorch, PyTorch Geometric and ONNX Runtime, in float32 and in float16, the same
weights for all, and a whole event by libexatrkx at the sizes of the reference
networks, with the seconds of its stages. What a peer reads lies on the device
beforehand; libexatrkx is given hits on the host and, of graphs, the copies that its
context has on the device. FOLDER gets peers.json and peers-table.txt, or files of another
NAME; what is not installed is listed with the reason.
With --device cpu, which is for the test of this file, all run on the host.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import exatrkx
import numpy as np

from . import edge_filter, embedding, graph_network, training, whole_event
from .stage import OURS, Inputs, Run, n_edges, n_hits

WARM_UP, MAX_RUNS, MIN_RUNS = 2, 30, 3
GNN_HIDDEN = 64
REFERENCE_HIDDEN = 128  # of the interaction network of Exa.TrkX
BATCH = 1 << 18  # edges of the filter per call in PyTorch
# Of the largest value; float16 keeps 11 bits, and eight iterations add up.
TOLERANCE = {"float32": 1e-3, "float16": 5e-2}
TRAINING_TOLERANCE = 1e-3


@dataclass
class Row:
    """What was found of an implementation of a stage."""

    stage: str
    implementation: str
    precision: str
    device: str
    n_items: int
    seconds: list[float] = field(default_factory=list)
    agrees: bool | None = None
    note: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def median(self) -> float:
        return float(np.median(self.seconds)) if self.seconds else float("nan")

    def record(self) -> dict[str, Any]:
        found = asdict(self)
        del found["seconds"]
        if self.seconds:
            low, middle, high = np.percentile(self.seconds, (10, 50, 90))
            found |= {"median_s": middle, "p10_s": low, "p90_s": high}
        return found | {"runs": len(self.seconds)}


Prepare = Callable[[Inputs, str, str], Run]  # inputs, device, precision


@dataclass(frozen=True)
class Stage:
    name: str
    make: Callable[[int], Inputs]
    n_items: Callable[[Inputs], int]
    implementations: dict[str, Prepare]
    precisions: tuple[str, ...] = ("float32", "float16")


# ---------------------------------------------------------------- PyTorch --


def torch_run(
    network: Any, forward: Callable[..., Any], inputs: Inputs, device: str, kind: str
) -> Run:
    """forward(network, features, edges), on the device."""
    import torch

    from . import torch_networks

    dtype = getattr(torch, kind)
    network = torch_networks.ready(network, 1).to(device, dtype)
    features = torch.from_numpy(inputs["features"]).to(device, dtype)
    edges = [
        torch.from_numpy(end.astype(np.int64)).to(device)
        for end in inputs.get("edges", ())
    ]
    return torch_networks.inference(
        lambda: forward(network, features, edges), device=device
    )


def torch_embedding(inputs: Inputs, device: str, precision: str) -> Run:
    from . import torch_networks

    def forward(network: Any, features: Any, _: Any) -> Any:
        return network(features)

    network = torch_networks.embedding(inputs)
    return torch_run(network, forward, inputs, device, precision)


def torch_filter(inputs: Inputs, device: str, precision: str) -> Run:
    import torch

    from . import torch_networks

    def forward(network: Any, features: Any, edges: Any) -> Any:
        batches = zip(*(end.split(BATCH) for end in edges), strict=True)
        pairs = (torch.cat([features[src], features[dst]], 1) for src, dst in batches)
        return torch.cat([network(pair) for pair in pairs])

    network = torch_networks.Filter(inputs)
    return torch_run(network, forward, inputs, device, precision)


def torch_gnn(
    inputs: Inputs, device: str, precision: str, is_geometric: bool = False
) -> Run:
    import torch

    from . import torch_networks

    def forward(network: Any, features: Any, edges: Any) -> Any:
        return torch.sigmoid(network(features, *edges))

    network = torch_networks.InteractionNetwork(inputs, is_geometric=is_geometric)
    return torch_run(network, forward, inputs, device, precision)


def torch_step(inputs: Inputs, device: str, _: str) -> Run:
    return training.pytorch_edges(inputs, 1, device)


# ----------------------------------------------------------- ONNX Runtime --


def onnx_run(name: str, inputs: Inputs, device: str, precision: str) -> Run:
    import onnxruntime

    from . import onnx_networks

    if precision != "float32":
        raise RuntimeError("the graphs of ONNX Runtime are float32")
    provider = "CPUExecutionProvider" if device == "cpu" else "CUDAExecutionProvider"
    if provider not in onnxruntime.get_available_providers():
        raise RuntimeError(f"ONNX Runtime has no {provider}")
    session = getattr(onnx_networks, name)(inputs, 1, (provider,))
    if session.get_providers()[0] != provider:
        raise RuntimeError(f"ONNX Runtime does not start its {provider}")
    binding = session.io_binding()
    arrays = {"x": inputs["features"]}
    for end, rows in zip(("src", "dst"), inputs.get("edges", ())):
        arrays[end] = rows.astype(np.int64)
    for key, values in arrays.items():
        value = onnxruntime.OrtValue.ortvalue_from_numpy(values, device, 0)
        binding.bind_ortvalue_input(key, value)
    binding.bind_output(session.get_outputs()[0].name, device)

    def call() -> Any:
        session.run_with_iobinding(binding)
        binding.synchronize_outputs()
        return binding

    return Run(call, lambda found: found.copy_outputs_to_cpu()[0])


# ------------------------------------------------------------------- ours --


def ours_on(prepare: Callable[..., Run]) -> Prepare:
    """An implementation of the host in a context of the device."""

    def on_device(inputs: Inputs, device: str, precision: str) -> Run:
        options: dict[str, Any] = {"device": device}
        if device != "cpu":
            options |= {"precision": precision, "keep_graphs": True}
        return prepare(inputs, 1, context=exatrkx.Context(1, **options))

    return on_device


def our_step(inputs: Inputs, device: str, _: str) -> Run:
    return training.ours_gnn(inputs, 1, context=exatrkx.Context(1, device=device))


STAGES = (
    Stage(
        "gnn64",
        partial(graph_network.make, hidden=GNN_HIDDEN, edges_per_hit=10),
        n_edges,
        {
            "PyTorch": torch_gnn,
            "PyTorch Geometric": partial(torch_gnn, is_geometric=True),
            "ONNX Runtime": partial(onnx_run, "interaction_network"),
            OURS: ours_on(partial(graph_network.ours, hidden=GNN_HIDDEN)),
        },
    ),
    Stage(
        "filter",
        partial(edge_filter.make, edges_per_hit=50),
        n_edges,
        {
            "PyTorch": torch_filter,
            "ONNX Runtime": partial(onnx_run, "edge_filter"),
            OURS: ours_on(edge_filter.ours),
        },
    ),
    Stage(
        "embedding",
        embedding.make,
        n_hits,
        {
            "PyTorch": torch_embedding,
            "ONNX Runtime": partial(onnx_run, "embedding"),
            OURS: ours_on(embedding.ours),
        },
        ("float32",),
    ),
    Stage(
        "train_gnn64",
        training.make_gnn,
        n_edges,
        {"PyTorch": torch_step, OURS: our_step},
        ("float32",),
    ),
    Stage(
        "event",
        partial(whole_event.make, hidden=REFERENCE_HIDDEN),
        n_hits,
        {OURS: ours_on(partial(whole_event.ours, hidden=REFERENCE_HIDDEN))},
    ),
)


# ---------------------------------------------------------------- measure --


def agreement(stage: Stage, precision: str, a: np.ndarray, b: np.ndarray) -> str:
    """Nothing, or how b differs from a by more than allowed."""
    if a.shape != b.shape:
        return f"shape {b.shape}, not {a.shape}"
    if stage.name.startswith("train"):
        difference, allowed = float(np.abs(b / a - 1).max()), TRAINING_TOLERANCE
    else:
        difference = float(np.abs(a - b).max() / max(np.abs(a).max(), 1e-30))
        allowed = TOLERANCE[precision]
    return "" if difference <= allowed else f"differs by {difference:.0e}"


def run_one(row: Row, run: Run, deadline: float) -> np.ndarray:
    """The first result; times of more calls go to the row."""
    result = run.result(run.call())
    for _ in range(WARM_UP - 1):
        run.call()
    while len(row.seconds) < MAX_RUNS and (
        len(row.seconds) < MIN_RUNS or time.monotonic() < deadline
    ):
        start = time.perf_counter()
        run.call()
        row.seconds.append(time.perf_counter() - start)
    row.facts = run.facts()
    return result


def measure(stage: Stage, n_hits: int, device: str, seconds: float) -> Iterator[Row]:
    """Every implementation and precision in turn; float32 of the first that
    runs is what the others are compared with."""
    inputs = stage.make(n_hits)
    reference: np.ndarray | None = None
    cases = [(p, name) for p in stage.precisions for name in stage.implementations]
    for precision, name in cases:
        row = Row(stage.name, name, precision, device, stage.n_items(inputs))
        deadline = time.monotonic() + seconds / len(cases)
        try:
            run = stage.implementations[name](inputs, device, precision)
            result = run_one(row, run, deadline)
        except Exception as error:  # missing or failing: a result
            row.note = f"{type(error).__name__}: {error}".splitlines()[0][:200]
            yield row
            continue
        if reference is None:
            reference = result
        row.note = agreement(stage, precision, reference, result)
        row.agrees = not row.note
        yield row


def table(rows: list[Row]) -> str:
    """One line a row, with the ratio of the fastest peer of the same stage and
    precision to it."""
    lines = [
        f"{'stage':12} {'implementation':18} {'precision':9} {'items':>9} "
        f"{'median ms':>10}  best peer / this"
    ]
    for row in rows:
        peers = [
            other.median
            for other in rows
            if (other.stage, other.precision) == (row.stage, row.precision)
            and other.implementation != OURS
            and other.seconds
        ]
        ratio = min(peers) / row.median if peers and row.seconds else float("nan")
        lines.append(
            f"{row.stage:12} {row.implementation:18} {row.precision:9} "
            f"{row.n_items:9d} {1e3 * row.median:10.3f}  {ratio:.2f}  {row.note}"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="peers.device", description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cuda")
    parser.add_argument("--hits", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=60.0, help="in all")
    parser.add_argument("--stages", default=",".join(one.name for one in STAGES))
    parser.add_argument("--name", default="peers", help="of the files")
    options = parser.parse_args()
    stages = [one for one in STAGES if one.name in options.stages.split(",")]
    rows: list[Row] = []
    for stage in stages:
        share = options.seconds / len(stages)
        for row in measure(stage, options.hits, options.device, share):
            rows.append(row)
            # What is measured stays, should the time be over.
            text = json.dumps([one.record() for one in rows], indent=1)
            (options.out / f"{options.name}.json").write_text(text + "\n")
            (options.out / f"{options.name}-table.txt").write_text(table(rows))
    print(table(rows), end="")
    return int(any(row.agrees is False for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
