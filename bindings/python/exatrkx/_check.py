"""_check -- a converted model next to its original, on a random graph.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ._facts import ConvertError, Facts

N_NODES = 200
N_EDGES = 800
TOLERANCE = 1e-3  # of scores and points, float32 against float32

Note = Callable[[str], None]


class Original:
    """A network as its file says it, on arrays."""

    def __init__(self, n_inputs: int, run: Callable[..., np.ndarray]) -> None:
        self.n_inputs = n_inputs
        self.run = run


def check_loads(data: bytes, note: Note) -> None:
    """Refuse a model that the library, where it is found, refuses."""
    try:
        import exatrkx

        exatrkx.Model.from_bytes(data)
    except ImportError:
        note("libexatrkx is not found: it has not checked the model")
    except exatrkx.Error as error:
        raise ConvertError(f"the library refuses the model: {error}") from None


def compare(
    data: bytes, stage: str, path: str, facts: Facts, note: Note, required: bool
) -> None:
    """Refuse a model that computes something else than its file."""
    load = {"TorchScript": _load_torchscript, "ONNX": _load_onnx}.get(facts.origin)
    if load is None:
        reason = "the file has no code, only TorchScript and ONNX can be run"
    elif facts.notes:
        reason = "its export is in error"
    else:
        try:
            import exatrkx

            return _compare(exatrkx.Model.from_bytes(data), stage, load(path), note)
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

    from ._torchscript import load_module

    try:
        import torch_scatter  # noqa: F401
    except ImportError:
        _define_scatter(torch)
    module = load_module(path).eval()

    def run(*arrays: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            out = module(*(torch.from_numpy(array) for array in arrays))
        found: np.ndarray = out.float().numpy()
        return found

    return Original(len(list(module.graph.inputs())) - 1, run)


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

    return Original(len(names), run)


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


def _compare(model: Any, stage: str, original: Original, note: Note) -> None:
    import exatrkx

    config = model.config[stage]
    rng = np.random.default_rng(1)
    x = rng.normal(size=(N_NODES, len(config["node_features"]))).astype("f4")
    event = exatrkx.Event.from_arrays(np.zeros((N_NODES, 3)), features=x)
    if stage == "embedding":
        points = original.run(x)
        _report(exatrkx.embed(model, event), [points], "point", note)
        return
    pairs = rng.choice(N_NODES * (N_NODES - 1) // 2, N_EDGES, replace=False)
    edges = np.stack([end[pairs] for end in np.triu_indices(N_NODES, 1)])
    n_columns = len(config.get("edge_features", []))
    columns = rng.normal(size=(N_EDGES, n_columns)).astype("f4")
    given = {"features": columns} if n_columns else {}
    graph = exatrkx.Graph.from_edges(N_NODES, *edges, **given)
    run = exatrkx.filter_graph if stage == "filter" else exatrkx.score
    found = np.zeros(len(graph), "f4")
    found[graph.order] = run(graph, model, event, exatrkx.Context(1)).scores
    if config["options"].get("order") == "target_source":
        edges = edges[::-1].copy()
    if stage == "filter" and original.n_inputs == 1:
        rows = [x[edges[0]], x[edges[1]], columns]
        out = original.run(np.concatenate(rows, 1))
    else:
        out = original.run(x, edges.astype("i8"), *given.values())
    out = out.reshape(-1)
    # Some files end with the logits, others with the scores.
    _report(found, [1.0 / (1.0 + np.exp(-out)), out], "score", note)


def _report(
    found: np.ndarray, expected: list[np.ndarray], what: str, note: Note
) -> None:
    differences = [np.abs(found - values) for values in expected]
    best = min(range(len(expected)), key=lambda k: float(differences[k].max()))
    largest = float(differences[best].max())
    text = f"largest difference of a {what} from the original: {largest:.2g}"
    if what == "score":
        wrong = int(np.sum((found > 0.5) != (expected[best] > 0.5)))
        text += f" ({wrong} of {len(found)} decisions differ)"
    if not largest < TOLERANCE:
        raise ConvertError(f"--check: {text}; --no-check writes the file anyway")
    note(text)
