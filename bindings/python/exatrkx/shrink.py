"""shrink -- a smaller model: small weights to zero, weights in fewer bits.

    python -m exatrkx.shrink MODEL --out M [--prune F] [--quantise fp16|int8]

Magnitude pruning (Han et al., arXiv:1506.02626) sets the fraction F of every
weight matrix that is smallest in magnitude to zero, at most: equal weights go
together or stay. Quantisation stores the matrices as IEEE binary16, or as
integers of eight bits with one scale a row, max |w| / 127 (symmetric, rounded
to the nearest). Biases and norms keep their 32 bits. The library computes in
float32 with the rounded weights. What it costs in physics is for
etx-find-tracks and etx-evaluate to say.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import json
import os
import sys

import numpy as np

from . import safetensors_file

CONFIG = "etx.config"
SCALE = ".scale"
TABLES = ("completion.", "first_pass.", "module_map.")  # no weights
LARGEST_INTEGER = 127
LARGEST_HALF = float(np.finfo(np.float16).max)


class ShrinkError(ValueError):
    """A model that cannot be made smaller as requested."""


def prune(weight: np.ndarray, fraction: float) -> np.ndarray:
    """The matrix with at most this fraction of its entries set to zero."""
    n = int(fraction * weight.size)
    if n == 0:
        return weight
    sizes = np.abs(weight)
    threshold = np.partition(sizes, n, axis=None)[n] if n < weight.size else np.inf
    return np.where(sizes < threshold, np.float32(0), weight)


def to_half(name: str, weight: np.ndarray) -> dict[str, np.ndarray]:
    if np.abs(weight).max(initial=0) > LARGEST_HALF:
        raise ShrinkError(f"{name}: a weight is beyond {LARGEST_HALF:g}")
    return {name: weight.astype(np.float16)}


def to_bytes(name: str, weight: np.ndarray) -> dict[str, np.ndarray]:
    scale = np.abs(weight).max(axis=1, initial=0) / np.float32(LARGEST_INTEGER)
    # Below this a row divided by its scale would not be finite.
    scale = np.where(scale < np.finfo(np.float32).tiny, 0, scale).astype(np.float32)
    divisor = np.where(scale > 0, scale, 1)[:, None]
    rounded = np.where(scale[:, None] > 0, np.rint(weight / divisor), 0)
    rounded = np.clip(rounded, -LARGEST_INTEGER, LARGEST_INTEGER)
    return {name: rounded.astype(np.int8), name + SCALE: scale}


QUANTISE = {"fp16": to_half, "int8": to_bytes}


def shrink(
    tensors: safetensors_file.Tensors, fraction: float, bits: str | None
) -> safetensors_file.Tensors:
    """The tensors of a model file, pruned and stored as requested."""
    out: safetensors_file.Tensors = {}
    for name, array in tensors.items():
        if name.startswith(TABLES):
            out[name] = array
            continue
        if array.dtype != np.float32:
            raise ShrinkError(f"{name}: not of dtype F32; is the model small already?")
        if array.ndim != 2:
            out[name] = array
            continue
        weight = prune(array, fraction)
        out.update(QUANTISE[bits](name, weight) if bits else {name: weight})
    return out


def describe(config: str, fraction: float, bits: str | None) -> str:
    """etx.config with what was done among its provenance."""
    parsed = json.loads(config)
    done = {"prune": fraction, "quantise": bits or "none"}
    parsed.setdefault("training", {})["shrink"] = done
    return json.dumps(parsed, ensure_ascii=False, separators=(",", ":"))


def parse_fraction(text: str) -> float:
    fraction = float(text)
    if not 0 <= fraction < 1:
        raise argparse.ArgumentTypeError(f"{text} is not in [0, 1)")
    return fraction


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m exatrkx.shrink", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("model", metavar="MODEL", help="model file")
    parser.add_argument("--out", required=True, metavar="M", help="the smaller one")
    parser.add_argument(
        "--prune", type=parse_fraction, default=0.0, metavar="F",
        help="set this fraction of every weight matrix to zero",
    )
    parser.add_argument(
        "--quantise", choices=sorted(QUANTISE), help="store weight matrices so"
    )
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse_arguments(arguments)
    try:
        tensors, metadata = safetensors_file.read(options.model)
        if CONFIG not in metadata:
            raise ShrinkError(f"no model file: its metadata lack {CONFIG}")
        tensors = shrink(tensors, options.prune, options.quantise)
        metadata[CONFIG] = describe(metadata[CONFIG], options.prune, options.quantise)
        safetensors_file.write(options.out, tensors, metadata)
    except (OSError, ValueError) as error:
        print(f"shrink: {options.model}: {error}", file=sys.stderr)
        return 1
    before, after = os.path.getsize(options.model), os.path.getsize(options.out)
    matrices = [
        array
        for name, array in tensors.items()
        if array.ndim == 2 and not name.startswith(TABLES)
    ]
    n_zero = sum(int((array == 0).sum()) for array in matrices)
    n = sum(array.size for array in matrices)
    print(f"{before} -> {after} bytes, {n_zero} of {n} weights are zero")
    return 0


if __name__ == "__main__":
    sys.exit(main())
