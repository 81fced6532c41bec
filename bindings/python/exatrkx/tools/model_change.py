"""model_change -- what the commands that change model files have in common.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

from .._shipped import model_file
from ..files import safetensors, whole_file

Config = dict[str, Any]
Change = Callable[[Config, safetensors.Tensors], safetensors.Tensors]


def parser(name: str, description: str, result: str) -> argparse.ArgumentParser:
    """A command line with the model, and the file that is written."""
    found = argparse.ArgumentParser(
        allow_abbrev=False, prog=f"exatrkx {name}", description=description
    )
    found.add_argument(
        "model", metavar="MODEL", help="model file, or the name of a shipped one"
    )
    found.add_argument("--out", required=True, metavar="M", help=result)
    return found


def change_model(
    name: str, options: argparse.Namespace, change: Change
) -> tuple[Config, safetensors.Tensors, str] | None:
    """Write the changed model, which the library takes: its config and tensors, and
    the file that it was; None after a line on stderr."""
    from .._model import Model

    try:
        whole_file.check(options.out)
    except OSError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return None
    try:
        path = str(model_file(options.model))
        tensors, metadata = safetensors.read(path)
        config = safetensors.config_of(metadata)
        tensors = change(config, tensors)
        metadata[safetensors.CONFIG] = json.dumps(
            config, ensure_ascii=False, separators=(",", ":")
        )
        Model.from_bytes(safetensors.dump(tensors, metadata)).close()
        safetensors.write(options.out, tensors, metadata)
    except (OSError, ValueError) as error:
        print(f"{name}: {options.model}: {error}", file=sys.stderr)
        return None
    return config, tensors, path
