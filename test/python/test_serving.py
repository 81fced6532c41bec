"""test_serving -- exatrkx serve, called over REST and gRPC by tritonclient.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

import exatrkx
import numpy as np
from support import EVENT, PACKAGE, LibraryCase, needs

EVENTS = [EVENT.with_name(f"event00000000{k}") for k in range(3)]
TYPES = {"f": "FP32", "i": "INT32"}
SECONDS = 120  # for the server to start, and a worker to start again


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Server:
    """A process of exatrkx serve with two workers, and a client of each protocol."""

    def __init__(self, log: Path) -> None:
        import tritonclient.grpc
        import tritonclient.http

        self.log = log
        self.ports = [free_port() for _ in range(3)]
        self.modules = {"REST": tritonclient.http, "gRPC": tritonclient.grpc}

    def start(self) -> None:
        names = ("--port", "--grpc-port", "--metrics-port")
        ports = [str(word) for pair in zip(names, self.ports) for word in pair]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "exatrkx", "serve", "--workers", "2", *ports],
                env={**os.environ, "PYTHONPATH": str(PACKAGE)},
                stdout=log,
                stderr=log,
            )
        self.wait_for(lambda: self.client("REST").is_model_ready("default"))

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(SECONDS)

    def wait_for(self, condition: Any) -> None:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            try:
                if condition():
                    return
            except Exception:
                pass  # it does not listen, or has no worker yet
            time.sleep(0.2)
        raise AssertionError(self.log.read_text())

    def workers(self) -> list[int]:
        """The processes of the pool."""
        pid = self.process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        commands = {int(k): Path(f"/proc/{k}/cmdline").read_bytes() for k in children}
        return [k for k, command in commands.items() if b"spawn_main" in command]

    def client(self, protocol: str) -> Any:
        port = self.ports[0 if protocol == "REST" else 1]
        return self.modules[protocol].InferenceServerClient(f"127.0.0.1:{port}")

    def find(self, protocol: str, **arrays: np.ndarray) -> Any:
        """The result of a request with these inputs, by a client of its own."""
        module, is_json = self.modules[protocol], protocol == "REST"
        more = {"binary_data": False} if is_json else {}
        inputs = []
        for name, array in arrays.items():
            kind = TYPES[array.dtype.kind]
            inputs.append(module.InferInput(name, list(array.shape), kind))
            inputs[-1].set_data_from_numpy(array, **more)
        outputs = [module.InferRequestedOutput("labels", **more)]
        return self.client(protocol).infer("default", inputs, outputs=outputs)


def inputs_of(event: exatrkx.Event) -> dict[str, np.ndarray]:
    return {
        "positions": event.positions,
        "modules": np.stack(event.modules, axis=1),
        "cell_features": event.cell_features,
    }


@needs("mlserver")
@needs("tritonclient")
class Serving(LibraryCase):
    server: Server

    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        read = exatrkx.Event.from_trackml
        events = [read(prefix, detector=cls.detector) for prefix in EVENTS]
        cls.inputs = [inputs_of(event) for event in events]
        cls.labels = [
            exatrkx.find_tracks(cls.model, event, cls.context).labels for event in events
        ]
        log = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.server = Server(Path(log) / "log")
        cls.server.start()
        cls.addClassCleanup(cls.server.stop)

    def refused(self, protocol: str, text: str, **arrays: np.ndarray) -> None:
        """As wrong arguments, with the text."""
        from tritonclient.utils import InferenceServerException

        status = {"REST": "400", "gRPC": "StatusCode.INVALID_ARGUMENT"}[protocol]
        with self.assertRaises(InferenceServerException) as caught:
            self.server.find(protocol, **arrays)
        self.assertEqual(caught.exception.status(), status)
        self.assertIn(text, caught.exception.message())

    def check(self, k: int, protocol: str) -> None:
        found = self.server.find(protocol, **self.inputs[k])
        np.testing.assert_array_equal(found.as_numpy("labels"), self.labels[k])

    def test_bad_requests(self) -> None:
        """Each with the text that the library has, and the next one is answered."""
        good = self.inputs[1]
        positions, modules = good["positions"], good["modules"]
        infinite = np.where(np.arange(len(positions))[:, None] == 7, np.inf, positions)
        cells = np.zeros((1, 3), np.int32)
        for text, arrays in {
            "row 7 column 0 is not finite": {"positions": infinite.astype("f4")},
            "shape [892, 2], expected [n, 3]": {"positions": positions[:, :2]},
            "positions: None": {"modules": modules},
            "volume: shape [5], expected [892]": {**good, "modules": modules[:5]},
            "modules: 2 arrays": {**good, "modules": modules[:, :2]},
            "cells and cell_values go together": {**good, "cells": cells},
            "input truth: expected": {**good, "truth": positions},
        }.items():
            for protocol in ("REST", "gRPC"):
                if np.inf in arrays.get("positions", ()) and protocol == "REST":
                    continue  # not in JSON
                with self.subTest(text, protocol=protocol):
                    self.refused(protocol, text, **arrays)
                    self.check(1, protocol)

    def test_cells(self) -> None:
        """Cells with the detector, and a warning where there are no modules."""
        cells = np.array([[0, 1, 2], [0, 1, 3], [5, 4, 4]], np.int32)
        values = np.array([0.5, 0.25, 1], np.float32)
        hits = {name: self.inputs[1][name] for name in ("positions", "modules")}
        event = exatrkx.Event.from_arrays(
            hits["positions"],
            modules=tuple(hits["modules"].T),
            cells=(*cells.T, values),
            detector=self.detector,
        )
        labels = exatrkx.find_tracks(self.model, event, self.context).labels
        for protocol in ("REST", "gRPC"):
            found = self.server.find(protocol, **hits, cells=cells, cell_values=values)
            np.testing.assert_array_equal(found.as_numpy("labels"), labels)
            found = self.server.find(protocol, positions=hits["positions"])
            self.assertIn("the event has no modules", str(found.get_response()))

    def test_concurrent(self) -> None:
        """Each request gets the tracks of its own event, also next to bad ones."""
        jobs = [(k, p) for _ in range(4) for k in range(3) for p in ("REST", "gRPC")]
        with ThreadPoolExecutor(8) as pool:
            bad = {"positions": self.inputs[0]["positions"][:, :2]}
            wrong = [
                pool.submit(self.refused, p, "expected [n, 3]", **bad) for _, p in jobs
            ]
            for done in [pool.submit(self.check, *job) for job in jobs] + wrong:
                done.result()

    def test_killed_worker(self) -> None:
        """A request of it fails and says so; another worker replaces it."""
        before = self.server.workers()
        self.assertEqual(len(before), 2)
        with ThreadPoolExecutor(4) as pool:
            jobs = [pool.submit(self.check, 2, "gRPC") for _ in range(8)]
            time.sleep(0.3)
            os.kill(before[0], signal.SIGKILL)
            errors = [error for job in jobs if (error := job.exception())]
        for error in errors:
            self.assertIn("Worker process stopped unexpectedly", str(error))
        self.assertLess(len(errors), len(jobs))
        self.server.wait_for(lambda: len(self.server.workers()) == 2)
        self.assertNotIn(before[0], self.server.workers())
        self.test_concurrent()

    def test_restart(self) -> None:
        """It ends by SIGTERM, and a server at the same ports answers the same."""
        self.assertEqual(self.server.stop(), 0)
        self.server.start()
        self.check(1, "REST")

    def test_wrong_options(self) -> None:
        """One line, before anything listens."""
        for wrong in (("--model", "none"), ("--detector", "/none"), ("--threads", "0")):
            done = subprocess.run(
                [sys.executable, "-m", "exatrkx", "serve", *wrong],
                env={**os.environ, "PYTHONPATH": str(PACKAGE)},
                capture_output=True,
                text=True,
            )
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))


SIZES = (-5, -1, 0, 1, 2, 3, 9, 29, 30, 2**31, 2**62)
KINDS = ("BOOL", "BYTES", "FP16", "FP32", "FP64", "INT8", "INT64", "UINT8", "UINT64")
VALUES = (float("nan"), float("inf"), 1e39, 2**31, 2**70, -1, "a", None, True, [1.0], {"a": 1})


def change(random: Random, one: dict[str, Any]) -> None:
    """An input of a request, with something wrong, mostly."""
    what = random.choice(("name", "shape", "datatype", "data", "values", "parameters"))
    if what == "name":
        one["name"] = random.choice(("positions", "modules", "cells", "truth", ""))
    elif what == "shape":
        one["shape"] = random.choices(SIZES, k=random.randrange(5))
    elif what == "datatype":
        one["datatype"] = random.choice(KINDS)
    elif what == "data":
        one["data"] = random.choice(([], "", "abc", [[]], [one["data"]], one["data"][:5], 3))
    elif what == "values":
        for k in random.choices(range(len(one["data"])), k=2):
            one["data"][k] = random.choice(VALUES)
    else:
        one["parameters"] = {"content_type": random.choice(("np", "str", "pd", "x"))}


def answers(good: dict[str, np.ndarray]) -> list[str]:
    """Of hostile requests, as MLServer gives them to the model, without the server:
    "labels", "refused", or what is wrong with the answer."""
    from exatrkx.serving.runtime import INPUTS, TrackFinder
    from mlserver import ModelSettings
    from mlserver.errors import InferenceError
    from mlserver.settings import ModelParameters
    from mlserver.types import InferenceRequest
    from pydantic import ValidationError

    given = {"model": "default", "detector": None, "device": "cpu", "threads": 1}
    parameters = ModelParameters(extra=given)
    finder = TrackFinder(
        ModelSettings(name="default", implementation=TrackFinder, parameters=parameters)
    )
    asyncio.run(finder.load())
    found = []
    for seed in range(400):
        random = Random(seed)
        names = {"positions", *random.sample(list(good), random.randrange(4))}
        inputs = []
        for name in sorted(names):
            one = {"name": name, "datatype": INPUTS[name][0]}
            one |= {"shape": good[name].shape, "data": good[name].ravel().tolist()}
            if random.random() < 0.5:
                change(random, one)
            inputs.append(one)
        try:
            request = InferenceRequest.model_validate({"inputs": inputs})
            (labels,) = asyncio.run(finder.predict(request)).outputs
            is_whole = labels.shape == [len(labels.data.root)]
            found.append("labels" if is_whole else f"{seed}: {labels.shape}")
        except (InferenceError, ValidationError) as error:
            found.append("refused" if str(error) else f"{seed}: no text")
        except Exception as error:
            found.append(f"{seed}: {error!r}")
    return found


@needs("mlserver")
class HostileRequests(LibraryCase):
    def test_answers(self) -> None:
        """Labels of all hits, or what is wrong with the request; no other error.
        In a process of its own: mlserver and tritonclient have the same messages,
        which protobuf takes from one of them only."""
        good = {name: array[:30] for name, array in inputs_of(self.event).items()}
        good |= {"cells": np.zeros((3, 3), int), "cell_values": np.ones(3)}
        good |= {"cluster_positions": np.zeros((30, 2, 3)), "features": np.zeros((30, 14))}
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            found = pool.submit(answers, good).result()
        self.assertEqual(set(found), {"labels", "refused"})
        self.assertGreater(min(found.count("labels"), found.count("refused")), 50)


if __name__ == "__main__":
    unittest.main()
