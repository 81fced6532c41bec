"""runtime -- a model as MLServer runs it: an event for each request.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from mlserver import MLModel
from mlserver.codecs import NumpyCodec
from mlserver.errors import InferenceError
from mlserver.types import (
    InferenceRequest,
    InferenceResponse,
    MetadataTensor,
    Parameters,
    RequestInput,
    ResponseOutput,
)

from .._context import Context
from .._event import Event
from .._model import Detector, Model
from .._stages import find_tracks

# What Event.from_arrays takes; -1 = any length.
INPUTS = {
    "positions": ("FP32", [-1, 3]),
    "modules": ("INT32", [-1, 3]),
    "cells": ("INT32", [-1, 3]),  # hit, channel0, channel1
    "cell_values": ("FP32", [-1]),
    "cell_features": ("FP32", [-1, 9]),
    "features": ("FP32", [-1, -1]),
    "cluster_positions": ("FP32", [-1, 2, 3]),
}
OF_THE_REQUEST = (OverflowError, TypeError, ValueError)  # not of the server


def decode(inputs: list[RequestInput]) -> dict[str, np.ndarray]:
    """Arrays by name; ValueError names what is wrong."""
    arrays: dict[str, np.ndarray] = {}
    for one in inputs:
        if one.name not in INPUTS or one.name in arrays:
            raise ValueError(f"input {one.name}: expected each once of {', '.join(INPUTS)}")
        try:
            arrays[one.name] = NumpyCodec.decode_input(one)
        except OF_THE_REQUEST as error:
            raise ValueError(f"{one.name}: {error}") from None
    return arrays


def event_of(arrays: dict[str, Any], detector: Detector) -> Event:
    """The event of the arrays of a request."""
    values = arrays.pop("cell_values", None)
    if ("cells" in arrays) != (values is not None):
        raise ValueError("cells and cell_values go together")
    if values is not None:
        arrays["cells"] = (*arrays["cells"].T, values)
    if "modules" in arrays:
        arrays["modules"] = tuple(arrays["modules"].T)
    return Event.from_arrays(
        arrays.pop("positions", None), **arrays, detector=detector
    )


class TrackFinder(MLModel):  # type: ignore[misc, unused-ignore]
    """Positions and more of the hits in, the track of each hit out. A process runs
    one request at a time."""

    async def load(self) -> bool:
        self.inputs = [
            MetadataTensor(name=name, datatype=kind, shape=shape)
            for name, (kind, shape) in INPUTS.items()
        ]
        self.outputs = [MetadataTensor(name="labels", datatype="INT32", shape=[-1])]
        given = self.settings.parameters.extra
        self.model = Model.load(given["model"])
        self.detector = Detector.load(given["detector"])
        self.context = Context(given["threads"], device=given["device"])
        return True

    async def predict(self, payload: InferenceRequest) -> InferenceResponse:
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                event = event_of(decode(payload.inputs), self.detector)
                labels = find_tracks(self.model, event, self.context).labels
        except OF_THE_REQUEST as error:
            raise InferenceError(str(error)) from None
        output = ResponseOutput(
            name="labels", datatype="INT32", shape=[len(labels)], data=labels.tolist()
        )
        text = "; ".join(str(one.message) for one in said)
        parameters = Parameters(warning=text) if text else None
        return InferenceResponse(
            model_name=self.name, outputs=[output], parameters=parameters
        )
