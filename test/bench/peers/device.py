"""device -- the networks on a GPU, beside others that run there.

    python -m peers.device --out FOLDER [--device cuda] [--hits N] [--seconds S]

Embedding, filter, interaction network and a step of its training by libexatrkx,
PyTorch, PyTorch Geometric and ONNX Runtime, in float32 and in float16, the same
weights for all. What a peer reads lies on the device beforehand; libexatrkx is
given hits on the host and, of graphs, what its context kept there. FOLDER gets
peers.json and peers.txt; what is not installed stands there with the reason.
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

import numpy as np

from . import networks, training
from .event import filtered_edges, make_event
from .library import (
    DEVICES,
    PRECISIONS,
    Library,
    LibraryError,
)
from .stage import OURS, Inputs, Run, tensors_of

WARM_UP, MOST_RUNS, LEAST_RUNS = 2, 30, 3
GNN_HIDDEN = 64
BATCH = 1 << 18  # edges of the filter at once in PyTorch
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


# ----------------------------------------------------------------- inputs --


def make_embedding(n_hits: int) -> Inputs:
    event = make_event(n_hits)
    features = event.features(networks.EMBEDDING_WIDTHS[0])
    return {
        "position": event.position,
        "features": features,
    } | networks.embedding_weights()


def make_filter(n_hits: int) -> Inputs:
    event = make_event(n_hits)
    return {
        "position": event.position,
        "features": event.features(networks.FILTER_WIDTHS[0] // 2),
        "edges": filtered_edges(event, 50 * n_hits),
    } | networks.filter_weights()


def make_gnn(n_hits: int) -> Inputs:
    event = make_event(n_hits)
    return {
        "position": event.position,
        "features": event.features(networks.GNN_FEATURES),
        "edges": filtered_edges(event, 10 * n_hits),
    } | networks.gnn_weights(GNN_HIDDEN)


# ---------------------------------------------------------------- PyTorch --


def torch_run(
    network_of: Callable[[Inputs], Any],
    inputs: Inputs,
    device: str,
    precision: str,
    names: tuple[str, ...],
) -> Run:
    """A network on the device; `names` of the inputs, each in batches of one."""
    import torch

    from . import torch_networks

    torch_networks.use_threads(1)
    kind = torch.float16 if precision == "float16" else torch.float32
    network = network_of(inputs).eval().to(device, kind)
    features = torch.from_numpy(inputs["features"]).to(device, kind)
    edges = [
        torch.from_numpy(end.astype(np.int64)).to(device)
        for end in inputs.get("edges", ())
    ]

    @torch.no_grad()
    def call() -> Any:
        if names == ("pairs",):
            found = torch.cat(
                [
                    network(torch.cat([features[src], features[dst]], 1))
                    for src, dst in zip(*(end.split(BATCH) for end in edges))
                ]
            )
        elif names == ("graph",):
            found = torch.sigmoid(network(features, *edges))
        else:
            found = network(features)
        wait(device)
        return found

    return Run(call, lambda found: found.float().cpu().numpy())


def wait(device: str) -> None:
    import torch

    if device != "cpu":
        torch.cuda.synchronize()


def torch_embedding(inputs: Inputs, device: str, precision: str) -> Run:
    from . import torch_networks

    return torch_run(torch_networks.embedding, inputs, device, precision, ("hits",))


def torch_filter(inputs: Inputs, device: str, precision: str) -> Run:
    from . import torch_networks

    return torch_run(torch_networks.Filter, inputs, device, precision, ("pairs",))


def torch_gnn(
    inputs: Inputs, device: str, precision: str, is_geometric: bool = False
) -> Run:
    from . import torch_networks

    sum_at = torch_networks.sum_by_index
    if is_geometric:
        from torch_geometric.utils import scatter

        def sum_at(e: Any, index: Any, n: int) -> Any:
            return scatter(e, index, dim=0, dim_size=n, reduce="sum")

    def network_of(tensors: Inputs) -> Any:
        return torch_networks.InteractionNetwork(tensors, False, sum_at)

    return torch_run(network_of, inputs, device, precision, ("graph",))


def torch_step(inputs: Inputs, device: str, _: str) -> Run:
    import torch

    from . import torch_networks

    torch_networks.use_threads(1)
    network = torch_networks.InteractionNetwork(inputs).to(device)
    features = torch.from_numpy(inputs["features"]).to(device)
    src, dst = torch.from_numpy(inputs["edges"]).to(device)
    target = torch.from_numpy(inputs["is_true"].astype(np.float32)).to(device)

    def loss_of() -> torch.Tensor:
        logits = network(features, src, dst)
        return torch.nn.functional.binary_cross_entropy_with_logits(logits, target)

    return training.pytorch(network, loss_of)


# ----------------------------------------------------------- ONNX Runtime --


def onnx_run(name: str, inputs: Inputs, device: str, precision: str) -> Run:
    import onnxruntime

    from . import onnx_networks

    if precision != "float32":
        raise LibraryError("the graphs of ONNX Runtime are float32")
    provider = "CPUExecutionProvider" if device == "cpu" else "CUDAExecutionProvider"
    if provider not in onnxruntime.get_available_providers():
        raise LibraryError(f"ONNX Runtime has no {provider}")
    session = getattr(onnx_networks, name)(inputs, 1, (provider,))
    if session.get_providers()[0] != provider:
        raise LibraryError(f"ONNX Runtime does not start its {provider}")
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


def our_library(device: str, precision: str) -> Library:
    is_device = device != "cpu"
    return Library(
        1,
        device=DEVICES[device],
        precision=PRECISIONS[precision] if is_device else PRECISIONS["best"],
        keep_graphs=is_device,
    )


def our_embedding(inputs: Inputs, device: str, precision: str) -> Run:
    library = our_library(device, precision)
    model = library.model(
        {"embedding": networks.embedding_config(1.0)}, tensors_of(inputs, "embedding.")
    )
    event = library.event(inputs["position"], inputs["features"])
    points = np.empty(
        (len(inputs["features"]), networks.EMBEDDING_WIDTHS[-1]), np.float32
    )

    def call() -> np.ndarray:
        library.embed(points, model, event)
        return points

    return Run(call, lambda found: found)


def our_filter(inputs: Inputs, device: str, precision: str) -> Run:
    library = our_library(device, precision)
    model = library.model(
        {"filter": networks.filter_config(0.0)}, tensors_of(inputs, "filter.")
    )
    event = library.event(inputs["position"], inputs["features"])
    graph = library.graph_from_edges(len(inputs["features"]), inputs["edges"])
    return Run(lambda: library.graph_filter(graph, model, event), library.scores)


def our_gnn(inputs: Inputs, device: str, precision: str) -> Run:
    library = our_library(device, precision)
    model = library.model(
        {"gnn": networks.gnn_config(GNN_HIDDEN)}, tensors_of(inputs, "gnn.")
    )
    event = library.event(inputs["position"], inputs["features"])
    graph = library.graph_from_edges(len(inputs["features"]), inputs["edges"])

    def call() -> Any:
        library.graph_score(graph, model, event)
        return graph

    return Run(call, library.scores)


def our_step(inputs: Inputs, device: str, _: str) -> Run:
    return training.ours_gnn(
        inputs, 1, library=Library(1, device=DEVICES[device])
    )


STAGES = (
    Stage(
        "gnn64",
        make_gnn,
        lambda inputs: inputs["edges"].shape[1],
        {
            "PyTorch": torch_gnn,
            "PyTorch Geometric": partial(torch_gnn, is_geometric=True),
            "ONNX Runtime": partial(onnx_run, "interaction_network"),
            OURS: our_gnn,
        },
    ),
    Stage(
        "filter",
        make_filter,
        lambda inputs: inputs["edges"].shape[1],
        {
            "PyTorch": torch_filter,
            "ONNX Runtime": partial(onnx_run, "edge_filter"),
            OURS: our_filter,
        },
    ),
    Stage(
        "embedding",
        make_embedding,
        lambda inputs: len(inputs["features"]),
        {
            "PyTorch": torch_embedding,
            "ONNX Runtime": partial(onnx_run, "embedding"),
            OURS: our_embedding,
        },
        ("float32",),
    ),
    Stage(
        "train_gnn64",
        training.make_gnn,
        lambda inputs: inputs["edges"].shape[1],
        {"PyTorch": torch_step, OURS: our_step},
        ("float32",),
    ),
)


# ---------------------------------------------------------------- measure --


def agreement(stage: Stage, precision: str, a: np.ndarray, b: np.ndarray) -> str:
    """Nothing, or how b differs from a by more than allowed."""
    if a.shape != b.shape:
        return f"shape {b.shape}, not {a.shape}"
    if stage.name.startswith("train"):
        difference, most = float(np.abs(b / a - 1).max()), TRAINING_TOLERANCE
    else:
        difference = float(np.abs(a - b).max() / np.abs(a).max())
        most = TOLERANCE[precision]
    return "" if difference <= most else f"differs by {difference:.0e}"


def run_one(row: Row, run: Run, deadline: float) -> np.ndarray:
    """The first result; times of more calls go to the row."""
    result = run.result(run.call())
    for _ in range(WARM_UP - 1):
        run.call()
    while len(row.seconds) < MOST_RUNS and (
        len(row.seconds) < LEAST_RUNS or time.monotonic() < deadline
    ):
        start = time.perf_counter()
        run.call()
        row.seconds.append(time.perf_counter() - start)
    return result


def measure(
    stage: Stage, n_hits: int, device: str, seconds: float
) -> Iterator[Row]:
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
        except Exception as error:  # missing or failing: a finding
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
    parser.add_argument("--device", choices=sorted(DEVICES), default="cuda")
    parser.add_argument("--hits", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=60.0, help="in all")
    options = parser.parse_args()
    rows: list[Row] = []
    for stage in STAGES:
        share = options.seconds / len(STAGES)
        for row in measure(stage, options.hits, options.device, share):
            rows.append(row)
            # What is measured stays, should the time be over.
            text = json.dumps([one.record() for one in rows], indent=1)
            (options.out / "peers.json").write_text(text + "\n")
            (options.out / "peers.txt").write_text(table(rows))
    print(table(rows), end="")
    return int(any(row.agrees is False for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
