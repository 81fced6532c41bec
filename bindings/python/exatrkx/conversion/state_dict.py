"""state_dict -- weights of a PyTorch network as numpy arrays.

Reads .npz, zip archives of torch.save and TorchScript with numpy alone; older
checkpoints and frozen modules need torch, ONNX files the package onnx. No code
of a file is run.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..files.torch_archive import Archive, Inert
from .facts import ConvertError, Facts, Hparams, StateDict
from .onnx import read_onnx
from .torchscript import read_torchscript

POINTER = b"version https://git-lfs.github.com/spec/"


def read_weights(path: str) -> tuple[StateDict, Hparams, Facts]:
    """Arrays by name, the hyper-parameters of a checkpoint, and what the file
    says of its layers."""
    if not path.endswith((".npz", ".pt", ".pth", ".ckpt", ".onnx")):
        raise ConvertError(f"{path}: expected a .pt, .ckpt, .onnx or .npz file")
    with open(path, "rb") as file:
        if file.read(len(POINTER)) == POINTER:
            raise ConvertError(
                f"{path}: a Git LFS pointer and not the file itself: fetch it "
                "with `git lfs pull`"
            )
    hparams: Hparams = {}
    facts = Facts()
    if path.endswith(".npz"):
        state = _read_npz(path)
    elif path.endswith(".onnx"):
        state, facts = read_onnx(path)
    elif not zipfile.is_zipfile(path):
        state, hparams = _checkpoint(path, _load_torch(path))
    else:
        archive = Archive(path)
        if archive.is_torchscript:
            state, facts = read_torchscript(archive)
        else:
            state, hparams = _checkpoint(path, archive.load())
    return _as_floats(state), hparams, facts


def read_hparams(path: str | None) -> Hparams:
    """The top-level entries of a hparams file, YAML or JSON."""
    if path is None:
        return {}
    with open(path, encoding="utf-8") as file:
        try:
            text = file.read()
            found = json.loads(text) if path.endswith(".json") else parse_yaml(text)
        except ValueError as error:
            raise ConvertError(f"{path}: {error}") from None
    if not isinstance(found, dict) or (text.strip() and not found):
        raise ConvertError(f"{path}: expected settings by name")
    return found


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
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ConvertError(f"{path}: no .npz file: {error}") from None


def _load_torch(path: str) -> Any:
    """A checkpoint from before torch 1.6, which is no zip archive."""
    try:
        import torch
    except ImportError:
        raise ConvertError(
            f"{path}: no zip archive, so it needs torch (pip install torch), or "
            "its weights as .npz"
        ) from None
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises what pickle raises
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ConvertError(f"{path}: torch does not read it: {text}") from None


def _holds_arrays(value: Any) -> bool:
    return isinstance(value, Mapping) and any(
        hasattr(one, "detach") or isinstance(one, np.ndarray) for one in value.values()
    )


def _state_in(path: str, found: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """The state dict: what Lightning names so, the whole, or the one entry that
    has arrays, as the state of an optimizer next to it has not."""
    if "state_dict" in found:
        state: Mapping[Any, Any] = found["state_dict"]
        return state
    if _holds_arrays(found):
        return found
    names = [name for name, value in found.items() if _holds_arrays(value)]
    if len(names) > 1:
        listed = ", ".join(map(str, names))
        raise ConvertError(f"{path}: several entries hold arrays ({listed}): save one")
    return found[names[0]] if names else found


def _checkpoint(path: str, found: Any) -> tuple[StateDict, Hparams]:
    """The state dict and hyper-parameters of what torch.save saved."""
    if not isinstance(found, Mapping) or isinstance(found, Inert):
        raise ConvertError(f"{path}: expected a state_dict or a checkpoint")
    state = _state_in(path, found)
    hparams = found.get("hyper_parameters", {})
    if isinstance(hparams, Inert):  # of a class: its attributes and items
        hparams = hparams.state | hparams
    if not isinstance(hparams, Mapping) or state is found:
        hparams = {}
    arrays = {
        str(name): value.detach().numpy() if hasattr(value, "detach") else value
        for name, value in state.items()
    }
    return (
        {
            name: value
            for name, value in arrays.items()
            if isinstance(value, np.ndarray)
        },
        {str(key): value for key, value in hparams.items()},
    )


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
