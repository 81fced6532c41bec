"""fatras -- particles through ACTS's fast simulation and digitization.

ACTS reads the particles of one event from a CSV file and leaves its hits,
measurements and cells in CSV files, all in a scratch folder; this file
writes the former and reads the latter.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..files.columns import Columns
from . import open_data_detector, trackml_detector
from .detector import digitization_config, read_out
from .field import CENTRE_FIELD, TRACKML_CENTRE, write_box_map, write_map
from .generator import Particles

FIELDS = ("solenoid", "trackml", "uniform")
DETECTORS = {"trackml": trackml_detector, "open-data": open_data_detector}
MIN_MOMENTUM = 0.05  # GeV; slower particles stop
PART_MAX = 60000  # particles under one vertex number; the field has 16 bits


@dataclass(frozen=True)
class Measurements:
    """Digitized hits of one event, and the cells of all hits."""

    particle: np.ndarray  # int64 [n], row of the particle, -1: noise
    module: np.ndarray  # int64 [n], row of the module
    position: np.ndarray  # [n, 3] mm, measured
    true_position: np.ndarray  # [n, 3] mm
    true_momentum: np.ndarray  # [n, 3] GeV
    cell_hit: np.ndarray  # int64 [m], row of the hit, ascending
    cell_channel: np.ndarray  # int64 [m, 2]
    cell_value: np.ndarray  # [m]


@dataclass(frozen=True)
class Ends:
    """Where hadrons interacted; every array has one entry per interaction."""

    particle: np.ndarray  # int64 [n], row of the hadron
    position: np.ndarray  # [n, 3] mm
    momentum: np.ndarray  # [n, 3] GeV, before the interaction


class Fatras:
    """The detector and its simulation, ready for any number of events."""

    def __init__(
        self,
        scratch: str,
        field: str = "solenoid",
        centre_field: float = CENTRE_FIELD,
        coil_centre: float = 0.0,
        detector: str = "trackml",
    ) -> None:
        """Build the detector; scratch is an empty folder for files.

        field: one of FIELDS; centre_field: in tesla, in the middle of the
        coil; coil_centre: its z, mm, of a solenoid; detector: one of DETECTORS.
        """
        import acts.examples.json

        self.scratch = scratch
        self.field = magnetic_field(scratch, field, centre_field, coil_centre)
        self.detector = DETECTORS[detector].build(scratch)
        self.modules = self.detector.modules
        path = os.path.join(scratch, "digitization.json")
        with open(path, "w", encoding="ascii") as file:
            json.dump(digitization_config(self.modules), file)
        self.digitization = acts.examples.json.readDigiConfigFromJson(path)

    def run(self, particles: Particles, seed: int) -> tuple[Measurements, Ends]:
        """Simulate one event: its hits, and where hadrons interacted."""
        write_particles(self.file("particles"), particles)
        self.sequencer(seed).run()
        found = self.read(particles.last_hit)
        for name in ("particles", "hits", "cells", "measurements"):
            os.remove(self.file(name))
        return found

    def file(self, name: str) -> str:
        """Path of a scratch file of the event in work."""
        return os.path.join(self.scratch, f"event000000000-{name}.csv")

    def sequencer(self, seed: int) -> Any:
        """ACTS's event loop for the one event in the scratch folder."""
        import acts
        import acts.examples as ae

        quiet = acts.logging.ERROR
        geometry = self.detector.geometry
        random = ae.RandomNumbers(seed=seed)
        # A radiated fraction that is too small for a float is 0: ACTS would
        # stop at the underflow.
        loop = ae.Sequencer(
            events=1, numThreads=1, logLevel=quiet, trackFpes=False
        )
        loop.addReader(
            ae.CsvParticleReader(
                level=quiet,
                inputDir=self.scratch,
                inputStem="particles",
                outputParticles="particles",
            )
        )
        loop.addAlgorithm(
            ae.FatrasSimulation(
                level=quiet,
                inputParticles="particles",
                outputParticles="particles_simulated",
                outputSimHits="simhits",
                randomNumbers=random,
                trackingGeometry=geometry,
                magneticField=self.field,
                generateHitsOnSensitive=True,
                emScattering=True,
                emEnergyLossIonisation=True,
                emEnergyLossRadiation=True,
                emPhotonConversion=False,
                pMin=MIN_MOMENTUM,
            )
        )
        digitizer = ae.DigitizationAlgorithm(
            ae.DigitizationAlgorithm.Config(
                digitizationConfigs=self.digitization,
                surfaceByIdentifier=geometry.geoIdSurfaceMap(),
                randomNumbers=random,
                doMerge=False,  # TrackML hits belong to one particle each
                inputSimHits="simhits",
                outputMeasurements="measurements",
                outputMeasurementParticlesMap="measurement_particles_map",
                outputMeasurementSimHitsMap="measurement_simhits_map",
                outputParticleMeasurementsMap="particle_measurements_map",
                outputSimHitMeasurementsMap="simhit_measurements_map",
            ),
            quiet,
        )
        loop.addAlgorithm(digitizer)
        loop.addWriter(
            ae.CsvSimHitWriter(
                level=quiet,
                inputSimHits="simhits",
                outputDir=self.scratch,
                outputStem="hits",
            )
        )
        loop.addWriter(
            ae.CsvMeasurementWriter(
                level=quiet,
                inputMeasurements="measurements",
                inputClusters=digitizer.config.outputClusters,
                inputMeasurementSimHitsMap="measurement_simhits_map",
                outputDir=self.scratch,
            )
        )
        return loop

    def read(self, last_hit: np.ndarray) -> tuple[Measurements, Ends]:
        """Read what ACTS wrote.

        Left out are hits of particles made on the way and those after the
        first last_hit [n_particles] hits of a particle, which interacts where
        the first of these would be.
        """
        hits = Columns(self.file("hits"))
        pv, part = hits.integers("particle_id_pv", "particle_id_part").T
        child = hits.integers(
            "particle_id_sv", "particle_id_gen", "particle_id_subpart"
        ).any(axis=1)
        owner = (pv - 1) * PART_MAX + part - 1
        found = Columns(self.file("measurements"))
        link = Columns(self.file("measurement-simhit-map"))
        pairs = link.integers("measurement_id", "hit_id")
        if not np.array_equal(pairs[:, 0], np.arange(len(pairs))):
            raise ValueError("ACTS merged or reordered measurements")
        hit = pairs[:, 1]
        index = hits.integers("index")[:, 0]
        lost = child | (index >= last_hit[owner])
        end = ~child & (index == last_hit[owner])
        keep = np.flatnonzero(~lost[hit])
        row = np.full(len(hit), -1)
        row[keep] = np.arange(len(keep))
        hit = hit[keep]
        identity = found.numbers(np.uint64, "geometry_id")[keep, 0]
        cells = Columns(self.file("cells"))
        cell_hit = row[cells.integers("measurement_id")[:, 0]]
        kept = np.flatnonzero(cell_hit >= 0)
        kept = kept[np.argsort(cell_hit[kept], kind="stable")]
        os.remove(self.file("measurement-simhit-map"))
        module = self.modules.rows(identity)
        channel = cells.integers("channel0", "channel1")[kept]
        value, position = read_out(
            self.modules,
            module,
            cell_hit[kept],
            channel,
            cells.floats("value")[kept, 0],
        )
        point = hits.floats("tx", "ty", "tz")
        momentum = hits.floats("tpx", "tpy", "tpz")
        measurements = Measurements(
            particle=owner[hit],
            module=module,
            position=position,
            true_position=point[hit],
            true_momentum=momentum[hit],
            cell_hit=cell_hit[kept],
            cell_channel=channel,
            cell_value=value,
        )
        return measurements, Ends(owner[end], point[end], momentum[end])


def magnetic_field(
    scratch: str, name: str, centre_field: float, coil_centre: float
) -> Any:
    """One of FIELDS; centre_field is in tesla, coil_centre the z of a solenoid."""
    import acts

    tesla = acts.UnitConstants.T
    if name == "uniform":
        strength = centre_field * tesla
        return acts.ConstantBField(acts.Vector3(0.0, 0.0, strength))
    path = os.path.join(scratch, "field.txt")
    if name == "trackml":
        write_box_map(path, centre_field, TRACKML_CENTRE)
        return acts.MagneticFieldMapXyz(path, lengthUnit=1.0, bFieldUnit=tesla)
    write_map(path, centre_field, coil_centre)
    return acts.MagneticFieldMapRz(path, lengthUnit=1.0, bFieldUnit=tesla)


def write_particles(path: str, particles: Particles) -> None:
    """Write the particle file that ACTS reads.

    The particle's row is the whole of its ACTS identifier: row / PART_MAX is
    the vertex number less one, the remainder the particle number less one.
    """
    lines = [
        "particle_id_pv,particle_id_sv,particle_id_part,particle_id_gen,"
        "particle_id_subpart,particle_type,process,vx,vy,vz,vt,px,py,pz,m,q"
    ]
    columns = zip(
        particles.pdg.tolist(),
        particles.position.tolist(),
        particles.momentum.tolist(),
        particles.mass.tolist(),
        particles.charge.tolist(),
        strict=True,
    )
    for row, (pdg, (x, y, z), (px, py, pz), mass, q) in enumerate(columns):
        pv, part = divmod(row, PART_MAX)
        lines.append(
            f"{pv + 1},0,{part + 1},0,0,{pdg},0,{x:.9g},{y:.9g},{z:.9g},0,"
            f"{px:.9g},{py:.9g},{pz:.9g},{mass:.9g},{q}"
        )
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")
