"""_check -- a converted model next to its original, on a random graph.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._facts import ConvertError, Facts

N_NODES = 200
N_EDGES = 800
TOLERANCE = 1e-3  # of scores and points, float32 against float32

Note = Callable[[str], None]


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
    """Refuse a model that computes something else than a TorchScript file."""
    reason = "only a TorchScript file can be run"
    if facts.origin == "TorchScript":
        try:
            import exatrkx

            return _compare(exatrkx.Model.from_bytes(data), stage, _load(path), note)
        except ConvertError:
            raise
        except Exception as error:  # of torch
            reason = f"torch does not run it: {str(error).splitlines()[:1]}"
    if required:
        raise ConvertError(f"--check: {path}: {reason}")
    if facts.origin == "TorchScript":
        note(f"not compared with the original: {reason}")


def _load(path: str) -> Any:
    """The module of a TorchScript file; torch_scatter's maximum, which public
    files call, is defined where that package is missing."""
    import torch

    from ._torchscript import load_module

    try:
        import torch_scatter  # noqa: F401
    except ImportError:
        _define_scatter(torch)
    return load_module(path).eval()


def _define_scatter(torch: Any) -> None:
    def scatter(kind: str) -> Any:
        def run(src: Any, index: Any, dim: int, out: Any, dim_size: Any) -> Any:
            assert dim == 0 and out is None
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


def _compare(model: Any, stage: str, original: Any, note: Note) -> None:
    import torch

    import exatrkx

    config = model.config[stage]
    if config.get("edge_features"):
        raise RuntimeError("it reads edge features")
    n_features = len(config["node_features"])
    rng = np.random.default_rng(1)
    x = rng.normal(size=(N_NODES, n_features)).astype("f4")
    event = exatrkx.Event.from_arrays(np.zeros((N_NODES, 3)), features=x)
    pairs = rng.choice(N_NODES * (N_NODES - 1) // 2, N_EDGES, replace=False)
    src, dst = (end[pairs] for end in np.triu_indices(N_NODES, 1))
    with torch.no_grad():
        if stage == "embedding":
            expected = original(torch.from_numpy(x)).numpy()
            _report(exatrkx.embed(model, event), [expected], "point", note)
            return
        first, second = (src, dst)
        if config["options"].get("order") == "target_source":
            first, second = (dst, src)
        reads_pairs = stage == "filter" and _n_arguments(original) == 1
        if reads_pairs:
            ends = np.concatenate([x[first], x[second]], 1)
            logit = original(torch.from_numpy(ends))
        else:
            edges = torch.from_numpy(np.stack([first, second]).astype("i8"))
            logit = original(torch.from_numpy(x), edges)
        logit = logit.reshape(-1).float()
    graph = exatrkx.Graph.from_edges(N_NODES, src, dst)
    run = exatrkx.filter_graph if stage == "filter" else exatrkx.score
    found = np.zeros(len(graph), "f4")
    found[graph.order] = run(graph, model, event, exatrkx.Context(1)).scores
    # Some files end with the logits, others with the scores.
    expected = [torch.sigmoid(logit).numpy(), logit.numpy()]
    _report(found, expected, "score", note)


def _n_arguments(original: Any) -> int:
    return len(list(original.graph.inputs())) - 1


def _report(
    found: np.ndarray, expected: list[np.ndarray], what: str, note: Note
) -> None:
    differences = [np.abs(found - values) for values in expected]
    best = min(range(len(expected)), key=lambda k: differences[k].max())
    largest = float(differences[best].max())
    text = f"largest difference of a {what} from the original: {largest:.2g}"
    if what == "score":
        wrong = int(np.sum((found > 0.5) != (expected[best] > 0.5)))
        text += f" ({wrong} of {len(found)} decisions differ)"
    if not largest < TOLERANCE:
        raise ConvertError(f"--check: {text}; --no-check writes the file anyway")
    note(text)
