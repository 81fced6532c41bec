"""_state_dict -- weights of a PyTorch network as numpy arrays.

Reads .npz with numpy alone; TorchScript archives and Lightning checkpoints
need torch, which loads them without running any code of theirs.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import contextlib
import json
import warnings
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._torchscript import frozen_state

StateDict = dict[str, np.ndarray]
Hparams = dict[str, Any]


class ConvertError(ValueError):
    """What was given cannot be converted; the text says why."""


def read_weights(path: str) -> tuple[StateDict, Hparams]:
    """Arrays by name, and the hyper-parameters of a checkpoint."""
    if path.endswith(".npz"):
        return _as_floats(_read_npz(path)), {}
    if path.endswith((".pt", ".pth", ".ckpt")):
        state, hparams = _read_torch(path)
        return _as_floats(state), hparams
    if path.endswith(".onnx"):
        raise ConvertError(
            f"{path}: ONNX exports rename and fold weights; convert the "
            "TorchScript file or the checkpoint that it was made from"
        )
    raise ConvertError(f"{path}: expected a .pt, .ckpt or .npz file")


def read_hparams(path: str | None) -> Hparams:
    """The top-level entries of a hparams file, YAML or JSON."""
    if path is None:
        return {}
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if path.endswith(".json"):
        found = json.loads(text)
        if not isinstance(found, dict):
            raise ConvertError(f"{path}: expected an object")
        return found
    return parse_yaml(text)


def parse_yaml(text: str) -> Hparams:
    """`key: value` lines and lists of scalars; deeper nesting is ignored. Lightning
    writes the settings that matter here in this form."""
    found: Hparams = {}
    key = ""
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        if stripped.startswith("- ") and isinstance(found.get(key), list):
            found[key].append(_scalar(stripped[2:]))
        elif not line.startswith((" ", "-")) and ":" in line:
            key, _, value = line.partition(":")
            found[key] = _scalar(value.strip()) if value.strip() else []
    return found


def _scalar(text: str) -> Any:
    text = text.split(" #")[0].strip().strip("'\"")
    if text.startswith("[") and text.endswith("]"):
        return [_scalar(part) for part in text[1:-1].split(",") if part.strip()]
    named = {"true": True, "false": False, "null": None, "~": None}
    if text.lower() in named:
        return named[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _read_npz(path: str) -> StateDict:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except (ValueError, zipfile.BadZipFile) as error:
        raise ConvertError(f"{path}: no .npz file: {error}") from None


def _is_torchscript(path: str) -> bool:
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any("/code/" in name for name in archive.namelist())


class _Inert:
    """Stand-in for a class that a checkpoint names: accepts anything, does
    nothing. So no code but torch's own runs while a file is read."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        pass


def _load_torch(torch: Any, path: str) -> Any:
    """torch.load with weights_only; other classes of the file are inert."""
    names: list[str] = []
    with contextlib.suppress(AttributeError, ValueError, RuntimeError):
        names = torch.serialization.get_unsafe_globals_in_checkpoint(path)
    guard: Any = contextlib.nullcontext()
    if names:
        stubs = [(type("Inert", (_Inert,), {}), name) for name in names]
        guard = torch.serialization.safe_globals(stubs)
    with guard:
        return torch.load(path, map_location="cpu", weights_only=True)


def _read_torch(path: str) -> tuple[StateDict, Hparams]:
    try:
        import torch
    except ImportError:
        raise ConvertError(
            f"{path}: needs torch (pip install torch), or its weights as .npz"
        ) from None
    if _is_torchscript(path):
        with warnings.catch_warnings():  # that TorchScript is no longer grown
            warnings.simplefilter("ignore", FutureWarning)
            module = torch.jit.load(path, map_location="cpu")
        return _to_numpy(module.state_dict() or frozen_state(module)), {}
    try:
        found = _load_torch(torch, path)
    except OSError:
        raise
    except Exception as error:  # torch raises what pickle raises
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ConvertError(f"{path}: torch does not read it: {text}") from None
    if not isinstance(found, Mapping):
        raise ConvertError(f"{path}: expected a state_dict or a checkpoint")
    state = found.get("state_dict", found)
    hparams = found.get("hyper_parameters", {})
    if not isinstance(hparams, Mapping) or "state_dict" not in found:
        hparams = {}
    return _to_numpy(state), {str(key): value for key, value in hparams.items()}


def _to_numpy(state: Mapping[str, Any]) -> StateDict:
    return {
        str(name): (
            value.detach().cpu().double().numpy()
            if value.is_floating_point()
            else value.detach().cpu().numpy()
        )
        for name, value in state.items()
        if hasattr(value, "detach")
    }


def _as_floats(state: StateDict) -> StateDict:
    """float32; the counters of batch norms are left out."""
    floats = {
        name: np.asarray(value, np.float32)
        for name, value in state.items()
        if np.issubdtype(value.dtype, np.floating)
    }
    if not floats:
        raise ConvertError("the file holds no floating-point arrays")
    for name, value in floats.items():
        if not np.isfinite(value).all():
            raise ConvertError(f"{name}: a value is not a finite float32")
    return floats
