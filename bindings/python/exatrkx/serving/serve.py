"""serve -- a model as a service over REST and gRPC, in the V2 inference protocol.

    exatrkx serve --model default --port 8080 --grpc-port 8081

Needs mlserver. docs/howto/service.md has the protocol.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .._context import Context, n_cores
from .._errors import Error
from .._model import Detector, Model

RUNTIME = "exatrkx.serving.runtime.TrackFinder"
OF_WORKERS = ("model", "detector", "device", "threads")


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        prog="exatrkx serve", description=__doc__.partition("\n")[0]
    )
    add = parser.add_argument
    add("--model", default="default", help="a file, or one that ships by its name (%(default)s)")
    add("--name", help="of the model in requests (default: that of its file)")
    add("--detector", metavar="FILE", help="modules, for cells (default: TrackML's)")
    add("--device", default="cpu", help="cpu (default), cuda or cuda:N")
    add("--workers", type=int, default=n_cores(), help="one event at a time each (%(default)s)")
    add("--threads", type=int, default=1, help="of each worker (%(default)s)")
    add("--host", default="127.0.0.1", help="to listen on; 0.0.0.0 = any (%(default)s)")
    add("--port", type=int, default=8080, help="of REST (%(default)s)")
    add("--grpc-port", type=int, default=8081, help="of gRPC (%(default)s)")
    add("--metrics-port", type=int, default=8082, help="of Prometheus (%(default)s)")
    return parser.parse_args(arguments)


async def serve(options: argparse.Namespace, scratch: str) -> None:
    """Answer requests until SIGINT or SIGTERM. Files of the server go to scratch."""
    from mlserver import MLServer, ModelSettings, Settings
    from mlserver.settings import ModelParameters

    given = {name: getattr(options, name) for name in OF_WORKERS}
    model = ModelSettings(
        name=options.name or Path(options.model).stem,
        implementation=RUNTIME,
        parameters=ModelParameters(extra=given),
        max_batch_size=0,  # MLServer would join the hits of several events
    )
    settings = Settings(
        debug=False,
        host=options.host,
        http_port=options.port,
        grpc_port=options.grpc_port,
        metrics_port=options.metrics_port,
        metrics_dir=scratch,
        environments_dir=scratch,
        model_repository_root=scratch,
        parallel_workers=options.workers,
    )
    await MLServer(settings).start([model])


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    try:
        Model.load(options.model)  # or MLServer ends with a trace
        Detector.load(options.detector)
        Context(options.threads, device=options.device)
        with tempfile.TemporaryDirectory() as scratch:
            asyncio.run(serve(options, scratch))
    except (Error, OSError) as error:
        print(f"serve: {error}", file=sys.stderr)
        return 1
    # A request to a worker that was killed is never read from its queue, whose thread
    # would be waited for.
    sys.stdout.flush()
    os._exit(0)
