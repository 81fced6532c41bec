"""check -- a converted model next to its original, on a random graph and on an
event.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .event_features import Hits, edge_matrix
from .facts import ConvertError, Facts

if TYPE_CHECKING:
    from .._event import Event
    from .._model import Model

N_NODES = 200
N_EDGES = 800
N_NEIGHBOURS = 8  # of a hit of an event, by direction from the origin
TOLERANCE = 1e-3  # of scores and points

Note = Callable[[str], None]


Run = Callable[..., np.ndarray]


class Original:
    """A network as its file says it, on arrays; run_exactly: in float64."""

    def __init__(self, n_inputs: int, run: Run, run_exactly: Run | None) -> None:
        self.n_inputs = n_inputs
        self.run = run
        self.run_exactly = run_exactly

    def results(self, call: Callable[[Run], np.ndarray]) -> tuple[np.ndarray, float]:
        """What call makes of run_exactly, and the largest difference that float32
        makes of it; of run, and 0, where the file is made for float32 alone."""
        found = call(self.run)
        try:
            if self.run_exactly is None:
                return found, 0.0
            exact = call(self.run_exactly)
        except RuntimeError:  # of torch: constants of the code stay float32
            return found, 0.0
        return exact, float(np.abs(found - exact).max())


def check_loads(data: bytes, note: Note) -> None:
    """Refuse a model that the library, where it is found, refuses."""
    try:
        import exatrkx

        exatrkx.Model.from_bytes(data)
    except ImportError:
        note("libexatrkx is not found: it has not checked the model")
    except exatrkx.Error as error:
        raise ConvertError(f"the library refuses the model: {error}") from None


@dataclass
class Sample:
    """What a network and its original are run on."""

    name: str
    event: Event
    x: np.ndarray  # [n_hits, n_node_features]
    edges: np.ndarray  # [2, n_edges]
    columns: np.ndarray  # [n_edges, n_edge_features]
    own: np.ndarray  # columns that the host gives to the model


def compare(
    models: dict[str, bytes],
    stage: str,
    path: str,
    facts: Facts,
    note: Note,
    required: bool,
) -> None:
    """Refuse a model that computes something else than its file. models: by the
    prefix of the event to run it on; "": on a random graph, which needs a model
    whose edge features are own ones."""
    load = {"TorchScript": _load_torchscript, "ONNX": _load_onnx}.get(facts.origin)
    if load is None:
        reason = "the file has no code, only TorchScript and ONNX can be run"
    elif facts.notes:
        reason = "its export is in error"
    else:
        try:
            import exatrkx

            original = load(path)
            for prefix, data in models.items():
                _compare(exatrkx.Model.from_bytes(data), stage, original, prefix, note)
            return
        except ConvertError:
            raise
        except Exception as error:  # of torch or onnx
            lines = str(error).splitlines() or [type(error).__name__]
            reason = f"it cannot be run: {lines[0]}"
    if required:
        raise ConvertError(f"--check: {path}: {reason}")
    if load is not None:
        note(f"not compared with the original: {reason}")


def _load_torchscript(path: str) -> Original:
    """torch_scatter's maximum, which public files call, is defined where that
    package is missing."""
    import torch

    from .torchscript import load_module

    try:
        import torch_scatter  # noqa: F401
    except ImportError:
        _define_scatter(torch)
    module = load_module(path).eval()
    double = load_module(path).eval().double()

    def run(*arrays: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            found: np.ndarray = module(*map(torch.from_numpy, arrays)).numpy()
        return found

    def run_exactly(*arrays: np.ndarray) -> np.ndarray:
        wide = (a.astype("f8") if a.dtype == "f4" else a for a in arrays)
        with torch.no_grad():
            found: np.ndarray = double(*map(torch.from_numpy, wide)).numpy()
        return found

    return Original(len(list(module.graph.inputs())) - 1, run, run_exactly)


def _load_onnx(path: str) -> Original:
    import onnx
    from onnx.reference import ReferenceEvaluator

    model = onnx.load(path, load_external_data=False)
    known = {tensor.name for tensor in model.graph.initializer}
    names = [i.name for i in model.graph.input if i.name not in known]
    norms = any(n.op_type == "BatchNormalization" for n in model.graph.node)
    if norms and model.opset_import[0].version < 14:
        raise NotImplementedError("onnx runs older batch norms in training mode")
    evaluator = ReferenceEvaluator(model)

    def run(*arrays: np.ndarray) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out: Any = evaluator.run(None, dict(zip(names, arrays, strict=True)))
        return np.asarray(out[0], "f4")

    return Original(len(names), run, None)


def _define_scatter(torch: Any) -> None:
    def scatter(kind: str) -> Any:
        def run(src: Any, index: Any, dim: int, out: Any, dim_size: Any) -> Any:
            if dim != 0 or out is not None:
                raise NotImplementedError("torch_scatter of another dimension")
            n = int(index.max()) + 1 if dim_size is None else dim_size
            rows = index.view(-1, *[1] * (src.dim() - 1)).expand_as(src)
            zeros = src.new_zeros(n, *src.shape[1:])
            found = zeros.scatter_reduce(0, rows, src, kind, include_self=False)
            return found, torch.zeros_like(found, dtype=torch.int64)

        return run

    if hasattr(torch.ops.torch_scatter, "scatter_max"):
        return
    library = torch.library.Library("torch_scatter", "DEF")
    _KEEP.append(library)
    for name, kind in (("scatter_max", "amax"), ("scatter_min", "amin")):
        library.define(
            f"{name}(Tensor src, Tensor index, int dim, Tensor? out, "
            "int? dim_size) -> (Tensor, Tensor)"
        )
        library.impl(name, scatter(kind), "CompositeExplicitAutograd")


_KEEP: list[Any] = []  # definitions end with their library object


def _random_sample(config: dict[str, Any]) -> Sample:
    import exatrkx

    rng = np.random.default_rng(1)
    x = rng.normal(size=(N_NODES, len(config["node_features"]))).astype("f4")
    event = exatrkx.Event.from_arrays(np.zeros((N_NODES, 3)), features=x)
    pairs = rng.choice(N_NODES * (N_NODES - 1) // 2, N_EDGES, replace=False)
    edges = np.stack([end[pairs] for end in np.triu_indices(N_NODES, 1)])
    n_columns = len(config.get("edge_features", []))
    columns = rng.normal(size=(N_EDGES, n_columns)).astype("f4")
    return Sample("a random graph", event, x, edges, columns, columns)


def _event_sample(config: dict[str, Any], prefix: str) -> Sample:
    """Features from the positions and cells, in numpy; edges outward between
    hits that lie close as seen from the origin."""
    import exatrkx

    event = exatrkx.Event.from_trackml(prefix, detector=exatrkx.Detector.load())
    hits = Hits(event)
    direction = event.positions / hits.column("R")[:, None]
    graph = exatrkx.Graph.nearest(
        direction, N_NEIGHBOURS, orientation="outward", event=event
    )
    edges = np.stack([graph.src, graph.dst]).astype("i8")
    features = config.get("edge_features", [])
    rng = np.random.default_rng(1)
    own = rng.normal(size=(len(graph), len(features))).astype("f4")
    columns = edge_matrix(hits, edges, features, own)
    x = hits.matrix(config["node_features"])
    return Sample(os.path.basename(prefix), event, x, edges, columns, own)


def _compare(
    model: Model, stage: str, original: Original, prefix: str, note: Note
) -> None:
    import exatrkx

    config = model.config[stage]
    sample = _event_sample(config, prefix) if prefix else _random_sample(config)
    if stage == "embedding":
        found = exatrkx.embed(model, sample.event)
        points, rounding = original.results(lambda run: run(sample.x))
        _report(found, points, rounding, "point", sample.name, note)
        return
    found = _scores(model, stage, sample)

    def scores(run: Run) -> np.ndarray:
        out = _original_scores(config, stage, run, original.n_inputs, sample)
        # Some files end with the logits, others with the scores.
        as_logits = 1.0 / (1.0 + np.exp(-out))
        worse = np.abs(found - as_logits).max() > np.abs(found - out).max()
        return out if worse else as_logits

    expected, rounding = original.results(scores)
    _report(found, expected, rounding, "score", sample.name, note)


def _scores(model: Model, stage: str, sample: Sample) -> np.ndarray:
    """Of the edges, in their order."""
    import exatrkx

    own = sample.own if sample.own.size else None
    graph = exatrkx.Graph.from_edges(len(sample.x), *sample.edges, features=own)
    run = exatrkx.filter_graph if stage == "filter" else exatrkx.score_graph
    found = np.zeros(len(graph), "f4")
    found[graph.order] = run(graph, model, sample.event, exatrkx.Context(1)).scores
    return found


def _original_scores(
    config: dict[str, Any], stage: str, run: Run, n_inputs: int, sample: Sample
) -> np.ndarray:
    x, edges, columns = sample.x, sample.edges, sample.columns
    if config["options"].get("order") == "target_source":
        edges = edges[::-1].copy()
    if stage == "filter" and n_inputs == 1:
        out = run(np.concatenate([x[edges[0]], x[edges[1]], columns], 1))
    else:
        given = [columns] if columns.size else []
        out = run(x, edges.astype("i8"), *given)
    return out.reshape(-1)


def _report(
    found: np.ndarray,
    expected: np.ndarray,
    rounding: float,
    what: str,
    where: str,
    note: Note,
) -> None:
    """rounding: of the original itself, in float32; a model may have as much."""
    largest = float(np.abs(found - expected).max())
    text = f"largest difference of a {what} from the original on {where}: {largest:.2g}"
    if rounding > 0.0:
        text += f", of the original in float32: {rounding:.2g}"
    if what == "score":
        wrong = int(np.sum((found > 0.5) != (expected > 0.5)))
        text += f" ({wrong} of {len(found)} decisions differ)"
    if not largest < max(TOLERANCE, rounding):
        raise ConvertError(f"--check: {text}; --no-check writes the file anyway")
    note(text)
