"""layers -- how the layers of perceptrons are normalised and activated.

Said by the file (classes of TorchScript, nodes of ONNX) or by the settings of
the training, whose make_mlp builds

    Linear, LayerNorm, BatchNorm1d, activation, Dropout

each where its setting says so. The numbers of the linears in a Sequential
and the sizes of the arrays must agree with that.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .facts import ConvertError, StateDict
from .source import Block, Source

NORMS = {"LayerNorm": "layer", "BatchNorm1d": "batch"}
ACTIVATIONS = {
    "identity": "none",
    "none": "none",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
    "tanh": "tanh",
    "gelu": "gelu",
    "elu": "elu",
    "sigmoid": "sigmoid",
}
BATCH_EPS = 6e-5  # of acorn's make_mlp
LAYER_EPS = 1e-5


@dataclass
class Layer:
    """What follows a linear."""

    norm: str = "none"
    activation: str = "none"
    norm_last: bool = False


def put(tensors: StateDict, name: str, block: Block) -> None:
    for number, layer in enumerate(block.layers):
        for kind, value in layer.items():
            tensors[f"{name}.{number}.{kind}"] = value


def activation_name(text: object) -> str:
    name = str(text).lower()
    if name not in ACTIVATIONS:
        raise ConvertError(
            f"activation {text}: expected one of {', '.join(sorted(ACTIVATIONS))}"
        )
    return ACTIVATIONS[name]


def one_activation(source: Source, names: str, default: str, found: list[str]) -> str:
    """From the file, which a setting must not contradict, or the setting."""
    if "activation" in source.given:
        return activation_name(source.given["activation"])
    if not found:
        return activation_name(source.setting(names, default))
    name = activation_name(found[0])
    for key in names.split():
        stated = source.hparams.get(key)
        if stated is not None and activation_name(stated) != name:
            source.refuse(
                f"{key} is {stated}, but the {source.facts.origin} says {found[0]}",
                "activation",
            )
    return name


def layer_options(
    source: Source,
    blocks: list[Block],
    names: str,
    default: str,
    bare: tuple[Block, ...] = (),
    same_end: tuple[Block, ...] = (),
) -> dict[str, Any]:
    """The options on norms and activations. Of `bare` blocks the last linear
    has nothing after it, of `same_end` blocks what hidden layers have; of the
    others the options last_norm and last_activation tell."""
    if any(step is not None for block in blocks for step in block.after):
        hidden, last = _said_by_file(source, blocks, names, default, bare, same_end)
    else:
        hidden, last = _said_by_settings(source, blocks, names, default)
    if all(block in bare or block in same_end for block in blocks):
        last = Layer()  # output_activation is of other networks
    for block in bare:
        if "gain" in block.layers[-1]:
            raise ConvertError(
                f"{block.name}: the last layer has a norm, expected none"
            )
    options = _norm_options(source, blocks, hidden, last, bare, same_end)
    return {"activation": hidden.activation, **options}


def _parse(kinds: list[str], name: str) -> Layer:
    """A Layer of classes of torch.nn."""
    norms = [k for k, kind in enumerate(kinds) if kind in NORMS]
    others = [kind for kind in kinds if kind not in NORMS]
    if len(norms) > 1:
        raise ConvertError(
            f"{name}: {' and '.join(kinds[k] for k in norms)} (layernorm and "
            "batchnorm) after one linear cannot be represented"
        )
    if len(others) > 1:
        raise ConvertError(f"{name}: {' and '.join(others)} after one linear")
    return Layer(
        NORMS[kinds[norms[0]]] if norms else "none",
        activation_name(others[0]) if others else "none",
        bool(norms and others and kinds.index(others[0]) < norms[0]),
    )


def _same(found: dict[str, Layer], what: str) -> Layer:
    layers = list(found.values())
    names = list(found)
    for name, layer in found.items():
        if layer != layers[0]:
            raise ConvertError(
                f"the {what} differ: {names[0]} has {layers[0]}, {name} has {layer}"
            )
    return layers[0] if layers else Layer()


def _said_by_file(
    source: Source,
    blocks: list[Block],
    names: str,
    default: str,
    bare: tuple[Block, ...],
    same_end: tuple[Block, ...],
) -> tuple[Layer, Layer]:
    hidden: dict[str, Layer] = {}
    last: dict[str, Layer] = {}
    for block in blocks:
        if None in block.after:
            raise ConvertError(
                f"{block.name}: the {source.facts.origin} does not say what follows "
                "a linear"
            )
        parsed = [_parse(kinds or [], block.name) for kinds in block.after]
        n = len(parsed) - (0 if block in same_end else 1)
        hidden |= {f"{block.name} layer {k}": parsed[k] for k in range(n)}
        if block in bare and parsed[-1] != Layer():
            raise ConvertError(
                f"{block.name}: after the last linear comes {block.after[-1]}, "
                "expected nothing"
            )
        if block not in bare and block not in same_end:
            last[block.name] = parsed[-1]
    layer = _same(hidden, "hidden layers")
    end = _same(last, "last layers")
    if hidden and layer.activation == "none":
        source.refuse(
            f"{next(iter(hidden))}: the {source.facts.origin} has no activation that "
            "is known after it",
            "activation",
        )
    found = [layer.activation] if hidden else []
    layer.activation = one_activation(source, names, default, found)
    for key, norm in (("layernorm", "layer"), ("batchnorm", "batch")):
        stated = source.hparams.get(key)
        if stated is not None and bool(stated) != (layer.norm == norm):
            source.refuse(
                f"{key} is {stated}, but the {source.facts.origin} says norm "
                f"{layer.norm}",
                "norm",
            )
    if last and "output_activation" in source.hparams:
        stated = activation_name(source.hparams["output_activation"])
        if stated != end.activation:
            source.refuse(
                f"output_activation is {stated}, but the {source.facts.origin} "
                f"says {end.activation}",
                "last_activation",
            )
    if end.norm != "none" and end.norm_last != layer.norm_last:
        raise ConvertError("norm and activation change their order at the last layer")
    return layer, end


def _said_by_settings(
    source: Source, blocks: list[Block], names: str, default: str
) -> tuple[Layer, Layer]:
    hidden = Layer(_stated_norm(source, blocks))
    hidden.activation = one_activation(source, names, default, [])
    last = Layer()
    stated = source.hparams.get("output_activation")
    if stated is not None:
        last.activation = activation_name(stated)
        ends = any("gain" in block.layers[-1] for block in blocks)
        if source.hparams.get("output_batch_norm") and ends:
            last.norm = "batch"
        if source.hparams.get("output_layer_norm"):
            source.refuse(
                "output_layer_norm: versions of acorn differ in whether they read it",
                "last_norm",
            )
    return hidden, last


def _stated_norm(source: Source, blocks: list[Block]) -> str:
    """The norm of hidden layers by layernorm and batchnorm, checked against
    the numbers of the linears."""
    if "norm" in source.given:
        return "none"  # --options say it
    settings = source.hparams
    layer = settings.get("layernorm", settings.get("layer_norm"))
    batch = settings.get("batchnorm", settings.get("batch_norm"))
    inner = [layer for block in blocks for layer in block.layers[:-1]]
    affine = any("gain" in layer for layer in inner)
    steps = set().union(*(block.steps for block in blocks))
    if layer and batch:
        source.refuse(
            "layernorm and batchnorm are both True, which cannot be represented"
        )
    if any("mean" in layer for layer in inner):
        norm = "batch"
        if batch is False:
            raise ConvertError("batchnorm is False, but the weights have running means")
    elif batch:
        norm = "batch"
    elif layer is not None:
        norm = "layer" if layer else "none"
    else:
        norm = "layer" if affine or 3 in steps else "none"
        if norm == "layer":
            source.note("neither layernorm nor batchnorm given: taking layer norm")
    if norm == "batch" and inner and not affine:
        raise ConvertError("batchnorm is True, but the weights have no norms")
    if norm == "none" and affine:
        raise ConvertError(
            "layernorm and batchnorm are not True, but the weights have norms"
        )
    dropout = float(settings.get("hidden_dropout") or 0) > 0
    expected = 2 + (norm != "none") + dropout
    for block in blocks:
        if block.steps - {expected}:
            raise ConvertError(
                f"{block.name}: linears are {sorted(block.steps)} apart, but "
                f"layernorm {layer}, batchnorm {batch} and hidden_dropout "
                f"{settings.get('hidden_dropout', 0)} make it {expected}"
            )
        first = float(settings.get("input_dropout") or 0) > 0
        if block.numbers and block.numbers[0] != first and len(block.numbers) > 1:
            raise ConvertError(
                f"{block.name}: the first linear is number {block.numbers[0]}, but "
                f"input_dropout {settings.get('input_dropout', 0)} makes it {first:d}"
            )
    return norm


def _norm_options(
    source: Source,
    blocks: list[Block],
    hidden: Layer,
    last: Layer,
    bare: tuple[Block, ...],
    same_end: tuple[Block, ...],
) -> dict[str, Any]:
    """Fold what can be folded; the options of what is left."""
    normed: list[dict[str, np.ndarray]] = []
    for block in blocks:
        normed += block.layers[: None if block in same_end else -1]
    ends = [b.layers[-1] for b in blocks if b not in bare and b not in same_end]
    eps = {
        norm: _eps(source, kind, default)
        for kind, norm, default in (
            ("LayerNorm", "layer", LAYER_EPS),
            ("BatchNorm1d", "batch", BATCH_EPS),
        )
    }
    for layer, layers in ((hidden, normed), (last, ends)):
        running = ["mean" in entry for entry in layers]
        if not any(running):
            continue
        if not all(running) or layer.norm_last:
            raise ConvertError("running means of some batch norms cannot be folded")
        if not source.facts.eps.get("BatchNorm1d"):
            source.note(f"eps of the batch norm: taking acorn's {BATCH_EPS:g}")
        for entry in layers:
            _fold(entry, eps["batch"])
        layer.norm = "none"
    return _norms_left(source, normed, ends, hidden, last, eps)


def _norms_left(
    source: Source,
    normed: list[dict[str, np.ndarray]],
    ends: list[dict[str, np.ndarray]],
    hidden: Layer,
    last: Layer,
    eps: dict[str, float],
) -> dict[str, Any]:
    options: dict[str, Any] = {"norm": hidden.norm}
    layers = [entry for entry in normed if hidden.norm != "none"]
    layers += [entry for entry in ends if last.norm != "none"]
    if "norm" not in source.given:
        affine = {"gain" in entry for entry in layers}
        if len(affine) > 1:
            raise ConvertError("some norms have weights and some have none")
        if affine == {False}:
            options["norm_affine"] = False
        used = {eps[n] for n in (hidden.norm, last.norm) if n != "none"}
        if len(used) > 1:
            raise ConvertError(
                "output_batch_norm with layernorm: two eps cannot be represented"
            )
        if used and used != {LAYER_EPS}:
            options["norm_eps"] = used.pop()
    if hidden.norm_last:
        options["norm_last"] = True
    if last.norm != "none":
        options["last_norm"] = last.norm
    if last.activation != "none":
        options["last_activation"] = last.activation
    return options


def _eps(source: Source, kind: str, default: float) -> float:
    found = source.facts.eps.get(kind, {default})
    if len(found) > 1:
        raise ConvertError(f"{kind}: several eps, {sorted(found)}")
    return next(iter(found))


def _fold(layer: dict[str, np.ndarray], eps: float) -> None:
    """A batch norm of running statistics into its linear."""
    var, mean = (layer.pop(name).astype("f8") for name in ("var", "mean"))
    gain, shift = (layer.pop(name).astype("f8") for name in ("gain", "shift"))
    scale = gain / np.sqrt(var + eps)
    bias = (layer["bias"] - mean) * scale + shift
    layer["weight"] = (layer["weight"] * scale[:, None]).astype("f4")
    layer["bias"] = bias.astype("f4")
