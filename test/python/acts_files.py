"""acts_files -- events in the CSV files that ACTS itself writes.

    python test/python/acts_files.py --out DIR [--events 4] [--pileup 20] [--seed 1]

The collisions of exatrkx simulate without noise, with every hit, through ACTS's
own digitization, space points (of one measurement each) and writers.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bindings/python"))

from exatrkx.simulation import fatras, generator

VOLUMES = (7, 8, 9, 12, 13, 14, 16, 17, 18)


def sequencer(simulation: fatras.Fatras, seed: int, out: Path) -> Any:
    """The loop of the simulation, which also writes all files to out."""
    import acts
    import acts.examples as ae

    loop, quiet = simulation.sequencer(seed), acts.logging.ERROR
    volumes = [acts.GeometryIdentifier(volume=v) for v in VOLUMES]
    loop.addAlgorithm(
        ae.SpacePointMaker(
            level=quiet,
            inputMeasurements="measurement_subset",
            outputSpacePoints="spacepoints",
            trackingGeometry=simulation.detector.geometry,
            geometrySelection=volumes,
        )
    )
    writers = (
        (ae.CsvSpacePointWriter, {"inputSpacePoints": "spacepoints"}),
        (ae.CsvSimHitWriter, {"inputSimHits": "simhits", "outputStem": "hits"}),
        (
            ae.CsvParticleWriter,
            {"inputParticles": "particles_simulated"}
            | {"outputStem": "particles_simulated"},
        ),
        (
            ae.CsvMeasurementWriter,
            {"inputMeasurements": "measurements", "inputClusters": "clusters"}
            | {"inputMeasurementSimHitsMap": "measurement_simhits_map"},
        ),
    )
    for writer, names in writers:
        loop.addWriter(writer(level=quiet, outputDir=str(out), **names))
    return loop


def parquet_sequencer(simulation: fatras.Fatras, seed: int, out: Path) -> Any:
    """The same with files of the kind of ColliderML, which its reader takes."""
    import acts.arrow
    import acts.examples.arrow as arrow

    loop, quiet = sequencer(simulation, seed, out), acts.logging.ERROR
    loop.addAlgorithm(
        arrow.ArrowParticleOutputConverter(
            level=quiet, inputParticles="particles_simulated", outputTable="table"
        )
    )
    loop.addAlgorithm(
        arrow.ArrowSimHitOutputConverter(
            level=quiet,
            inputSimHits="simhits",
            inputParticles="particles_simulated",
            inputClusters="clusters",
            inputSimHitMeasurementsMap="simhit_measurements_map",
            outputTable="hits_table",
        )
    )
    schemas = {"table": acts.arrow.particleSchema(), "hits_table": acts.arrow.simHitSchema()}
    loop.addWriter(
        arrow.ParquetWriter(
            level=quiet,
            outputDir=str(out),
            collections={"table": "particles", "hits_table": "tracker_hits"},
            expectedSchemas=schemas,
        )
    )
    return loop


def write_event(
    simulation: fatras.Fatras, pileup: int, seed: int, event: int, out: Path
) -> None:
    """One event under its number."""
    rng = np.random.default_rng((seed, event))
    particles = generator.generate(rng, pileup, 0.15)
    with tempfile.TemporaryDirectory() as folder:
        fatras.write_particles(simulation.file("particles"), particles)
        sequencer(simulation, int(rng.integers(2**31)), Path(folder)).run()
        for path in Path(folder).iterdir():
            name = path.name.replace("event000000000", f"event{event:09d}")
            (out / name).write_bytes(path.read_bytes())


def main() -> int:
    parser = argparse.ArgumentParser(prog="acts_files.py")
    add = parser.add_argument
    add("--out", type=Path, required=True, metavar="DIR")
    for name, default in (("events", 4), ("pileup", 20), ("seed", 1)):
        add(f"--{name}", type=int, default=default, metavar="N")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        simulation = fatras.Fatras(scratch)
        for event in range(options.events):
            write_event(simulation, options.pileup, options.seed, event, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
