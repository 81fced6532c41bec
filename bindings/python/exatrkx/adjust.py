"""adjust -- other options for a model file: radius, cuts, bounds, labels.

    python -m exatrkx.adjust MODEL --out M filter.cut=0.01 label.min_hits=5

A key is a path in etx.config (docs/model_format.md), its value JSON or a word.
Weights and learned tables stay. The library checks the result.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any

from . import safetensors_file
from ._model import Model

CONFIG = "etx.config"


class AdjustError(ValueError):
    """A change that the model file cannot take."""


def parse_change(text: str) -> tuple[list[str], Any]:
    """The path and the value of KEY=VALUE."""
    key, found, value = text.partition("=")
    if not key or not found:
        raise argparse.ArgumentTypeError(f"{text}: not KEY=VALUE")
    try:
        return key.split("."), json.loads(value)
    except json.JSONDecodeError:
        return key.split("."), value


def adjust(config: dict[str, Any], path: list[str], value: Any) -> None:
    """Set one value of etx.config."""
    inner = config
    for name in path[:-1]:
        if not isinstance(inner.get(name), dict):
            raise AdjustError(f"etx.config has no object {name} for {'.'.join(path)}")
        inner = inner[name]
    inner[path[-1]] = value


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m exatrkx.adjust", description=__doc__.partition("\n")[0]
    )
    add = parser.add_argument
    add("model", metavar="MODEL", help="model file")
    add("--out", required=True, metavar="M", help="the changed one")
    add("changes", nargs="+", type=parse_change, metavar="KEY=VALUE")
    options = parser.parse_args(arguments)
    part = f"{options.out}.part"
    try:
        tensors, metadata = safetensors_file.read(options.model)
        if CONFIG not in metadata:
            raise AdjustError(f"no model file: its metadata lack {CONFIG}")
        config = json.loads(metadata[CONFIG])
        for path, value in options.changes:
            adjust(config, path, value)
        metadata[CONFIG] = json.dumps(config)
        safetensors_file.write(part, tensors, metadata)
        try:
            Model.load(part).close()
            os.replace(part, options.out)
        finally:
            if os.path.exists(part):
                os.remove(part)
    except (OSError, ValueError) as error:
        print(f"adjust: {options.model}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
