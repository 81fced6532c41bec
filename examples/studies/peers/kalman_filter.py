"""kalman_filter -- ACTS: triplet seeds, combinatorial Kalman filter, ambiguity
resolution, in passes from hard tracks from the beam to soft and displaced ones,
each on the hits that those before it left.

Geometry, material and field are as in exatrkx simulate. Errors of hits are their
spread about the true crossing in the shipped events, by volume and size of the
cluster. Bounds were chosen on a simulated event of a seed of its own.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import acts
import acts.examples as ae
import numpy as np
from exatrkx.files import event_files, trackml_csv
from exatrkx.simulation import fatras, trackml_detector
from exatrkx.simulation.field import CENTRE_FIELD

from .stage import Run

CALIBRATION = str(Path(__file__).parents[3] / "examples" / "data")
QUIET = acts.logging.ERROR
GEV, MM, NS = acts.UnitConstants.GeV, acts.UnitConstants.mm, acts.UnitConstants.ns
DEGREE, TESLA = acts.UnitConstants.degree, acts.UnitConstants.T
LARGEST = 8  # cells along an axis; larger clusters count as these
PIXELS, SHORT, LONG = [7, 8, 9], [12, 13, 14], [16, 17, 18]


@dataclass(frozen=True)
class Pass:
    volumes: list[int]  # of seeds
    seeds: dict[str, float]  # of the triplet seeding
    n_measurements: int  # at least, of a track
    n_holes: int  # at most
    n_outliers: int = 1


PROMPT = {
    "cotThetaMax": 27.3,
    "collisionRegionMin": -250.0,
    "collisionRegionMax": 250.0,
    "rMin": 25.0,
    "rMax": 200.0,
    "rMinMiddle": 35.0,
    "rMaxMiddle": 160.0,
    "deltaRMin": 3.0,
    "deltaRMax": 150.0,
    "maxSeedsPerSpM": 3,
    "radLengthPerSeed": 0.01,
}
DISPLACED = PROMPT | {
    "minPt": 0.15 * GEV,
    "impactMax": 24.0,
    "cotThetaMax": 10.0,
    "collisionRegionMin": -1000.0,
    "collisionRegionMax": 1000.0,
    "rMax": 400.0,
    "rMinMiddle": 60.0,
    "rMaxMiddle": 300.0,
    "deltaRMin": 5.0,
    "deltaRMax": 200.0,
}
FAR = DISPLACED | {
    "minPt": 0.22 * GEV,
    "impactMax": 69.0,
    "cotThetaMax": 6.0,
    "collisionRegionMin": -2000.0,
    "collisionRegionMax": 2000.0,
    "rMin": 70.0,
    "rMax": 680.0,
    "rMinMiddle": 110.0,
    "rMaxMiddle": 560.0,
    "deltaRMin": 10.0,
    "deltaRMax": 250.0,
}
FARTHEST = FAR | {
    "minPt": 0.35 * GEV,
    "impactMax": 195.0,
    "rMin": 200.0,
    "rMax": 1050.0,
    "rMinMiddle": 300.0,
    "rMaxMiddle": 850.0,
    "deltaRMin": 20.0,
    "deltaRMax": 350.0,
}
PASSES = (
    Pass(PIXELS, PROMPT | {"minPt": 0.4 * GEV, "impactMax": 3.0}, 6, 1),
    Pass(PIXELS, PROMPT | {"minPt": 0.1 * GEV, "impactMax": 5.0}, 5, 0),
    Pass(PIXELS + SHORT, DISPLACED, 6, 1),
    Pass(PIXELS + SHORT, FAR, 6, 1),
    Pass(SHORT + LONG, FARTHEST, 6, 1),
)


# ------------------------------------------------------------- measurements --


@dataclass(frozen=True)
class Hits:
    """An event as ACTS needs it."""

    module: np.ndarray  # [n], row of the module
    local: np.ndarray  # [n, 2] mm
    size: np.ndarray  # [n, 2] cells along both axes
    residual: np.ndarray | None  # [n, 2] mm from the true crossing

    @staticmethod
    def read(prefix: str, modules: Any, with_truth: bool = False) -> Hits:
        hits = table(prefix, "hits")
        known = number(modules.volume_id, modules.layer_id, modules.module_id)
        order = np.argsort(known)
        wanted = number(hits["volume_id"], hits["layer_id"], hits["module_id"])
        module = order[np.searchsorted(known, wanted, sorter=order)]

        def local(x: str, y: str, z: str, rows: Any) -> np.ndarray:
            away = np.stack([rows[name] for name in (x, y, z)], 1)
            away = away - modules.centre[module]
            turned: np.ndarray = np.einsum("nji,nj->ni", modules.rotation[module], away)
            return turned[:, :2]

        found = local("x", "y", "z", hits)
        residual = None
        if with_truth:
            truth = table(prefix, "truth")
            residual = found - local("tx", "ty", "tz", truth)
            residual[truth["particle_id"] == 0] = np.nan
        sizes = cluster_sizes(hits["hit_id"], table(prefix, "cells"))
        return Hits(module, found, sizes, residual)


def table(prefix: str, kind: str) -> Any:
    return trackml_csv.read_table(trackml_csv.find_file(prefix, kind))


def number(volume: np.ndarray, layer: np.ndarray, module: np.ndarray) -> np.ndarray:
    return (volume << 40) | (layer << 20) | module


def cluster_sizes(hit_id: np.ndarray, cells: Any) -> np.ndarray:
    """[n, 2]; hits without cells have one."""
    order = np.argsort(hit_id)
    row = order[np.searchsorted(hit_id, cells["hit_id"], sorter=order)]
    sizes = np.ones((len(hit_id), 2), np.int64)
    for axis, name in enumerate(("ch0", "ch1")):
        low = np.full(len(hit_id), np.iinfo(np.int64).max)
        high = np.full(len(hit_id), -1)
        np.minimum.at(low, row, cells[name])
        np.maximum.at(high, row, cells[name])
        sizes[:, axis] = np.where(high < 0, 1, high - low + 1)
    return np.minimum(sizes, LARGEST)


def learn_errors(modules: Any) -> np.ndarray:
    """[volume, axis, size] mm, from the shipped events."""
    hits = [
        Hits.read(prefix, modules, with_truth=True)
        for prefix in event_files.find(CALIBRATION)
    ]
    volume = np.concatenate([modules.volume_id[one.module] for one in hits])
    size = np.concatenate([one.size for one in hits])
    known = [one.residual for one in hits if one.residual is not None]
    residual = np.concatenate(known)
    errors = np.zeros((LONG[-1] + 1, 2, LARGEST + 1))
    for v in PIXELS + SHORT + LONG:
        for axis in range(2):
            for s in range(1, LARGEST + 1):
                some = residual[(volume == v) & (size[:, axis] == s), axis]
                some = some[~np.isnan(some)]
                errors[v, axis, s] = (
                    max(core(some), 0.002)
                    if len(some) > 30
                    else errors[v, axis, s - 1]
                )
    return errors


def core(values: np.ndarray) -> float:
    """Standard deviation without what is five of them away."""
    for _ in range(3):
        values = values[np.abs(values) < 5 * values.std()]
    return float(values.std())


# ------------------------------------------------------------- the sequence --


@dataclass
class Idle:
    """Time spent on handing hits over, which is Python and not the finder."""

    wall: float = 0.0
    cpu: float = 0.0
    started: tuple[float, float] = (0.0, 0.0)

    def __enter__(self) -> None:
        self.started = (time.perf_counter(), time.process_time())

    def __exit__(self, *_: object) -> None:
        self.wall += time.perf_counter() - self.started[0]
        self.cpu += time.process_time() - self.started[1]


class Feed(ae.IReader):  # type: ignore[misc]
    """Hits as measurements, in the order of the file."""

    def __init__(self, events: list[Any], modules: Any, idle: Idle) -> None:
        ae.IReader.__init__(self, "Feed", QUIET)
        self.events, self.idle = events, idle
        self.ids = [acts.GeometryIdentifier(int(one)) for one in modules.geometry_id]
        self.all = ae.WriteDataHandle(self, ae.MeasurementContainer, "all")
        self.all.initialize("measurements")
        self.chosen = ae.WriteDataHandle(self, ae.MeasurementSubset, "chosen")
        self.chosen.initialize("left0")
        self.kept: list[Any] = []

    def availableEvents(self) -> tuple[int, int]:  # noqa: N802
        return (0, len(self.events))

    def read(self, context: Any) -> Any:
        with self.idle:
            module, local, variance = self.events[context.eventNumber]
            made = ae.MeasurementContainer()
            made.reserve(len(module))
            for m, at, var in zip(module, local, variance, strict=True):
                made.emplaceMeasurement(self.ids[m], [0, 1], at, var)
            subset = ae.MeasurementSubset(made, list(range(len(made))))
            self.kept = [made, subset]
            self.chosen(context, subset)
        return ae.ProcessCode.SUCCESS


class Take(ae.IAlgorithm):  # type: ignore[misc]
    """Tracks as lists of hits."""

    def __init__(self, key: str, found: dict[int, list[Any]], idle: Idle) -> None:
        ae.IAlgorithm.__init__(self, f"Take-{key}", QUIET)
        self.found, self.idle = found, idle
        self.tracks = ae.ReadDataHandle(self, ae.ConstTrackContainer, "tracks")
        self.tracks.initialize(key)

    def execute(self, context: Any) -> Any:
        link = ae.IndexSourceLink.fromSourceLink
        with self.idle:
            self.found.setdefault(context.eventNumber, []).extend(
                [
                    link(state.uncalibratedSourceLink).index()
                    for state in track.trackStatesReversed
                    if state.typeFlags.hasMeasurement
                ]
                for track in self.tracks(context.eventStore)
            )
        return ae.ProcessCode.SUCCESS


@dataclass
class Finder:
    """Everything that is prepared once."""

    geometry: Any
    field: Any
    modules: Any
    events: list[Any]
    n_threads: int
    idle: Idle = field(default_factory=Idle)

    def add_pass(self, loop: Any, k: int, chosen: Pass) -> None:
        """Reads the hits leftK, writes tracksK and leftK+1."""
        common = {"level": QUIET, "trackingGeometry": self.geometry}
        left, mine = f"left{k}", str(k)
        loop.addAlgorithm(
            ae.SpacePointMaker(
                **common,
                inputMeasurements=left,
                outputSpacePoints="points" + mine,
                geometrySelection=[
                    acts.GeometryIdentifier(volume=v) for v in chosen.volumes
                ],
            )
        )
        loop.addAlgorithm(
            ae.GridTripletSeedingAlgorithm(
                level=QUIET,
                inputSpacePoints="points" + mine,
                outputSeeds="triplets" + mine,
                bFieldInZ=CENTRE_FIELD * TESLA,
                **chosen.seeds,
            )
        )
        loop.addAlgorithm(
            ae.TrackParamsEstimationAlgorithm(
                **common,
                magneticField=self.field,
                inputSeeds="triplets" + mine,
                outputSeeds="seeds" + mine,
                outputTrackParameters="parameters" + mine,
                initialSigmas=[MM, MM, DEGREE, DEGREE, 0 / GEV, NS],
                initialSigmaQoverPt=0.1 / GEV,
                initialSigmaPtRel=0.1,
                initialVarInflation=[1.0] * 6,
                particleHypothesis=acts.ParticleHypothesis.pion,
            )
        )
        finders = (self.geometry, self.field, QUIET)
        algorithm = ae.TrackFindingAlgorithm
        loop.addAlgorithm(
            algorithm(
                **common,
                magneticField=self.field,
                inputMeasurements=left,
                inputSeeds="seeds" + mine,
                inputInitialTrackParameters="parameters" + mine,
                outputTracks="candidates" + mine,
                findTracks=algorithm.makeTrackFinderFunction(*finders),
                findTracksBrem=algorithm.makeBremTrackFinderFunction(*finders),
                measurementSelectorCfg=acts.MeasurementSelector.Config(
                    [(acts.GeometryIdentifier(), ([], [15.0], [25.0], [2]))]
                ),
                trackSelectorCfg=acts.TrackSelector.Config(
                    minMeasurements=chosen.n_measurements,
                    maxHoles=chosen.n_holes,
                    maxOutliers=chosen.n_outliers,
                ),
                twoWay=True,
                seedDeduplication=True,
                stayOnSeed=True,
            )
        )
        loop.addAlgorithm(
            ae.GreedyAmbiguityResolutionAlgorithm(
                level=QUIET,
                inputTracks="candidates" + mine,
                outputTracks="tracks" + mine,
                maximumSharedHits=2,
                nMeasurementsMin=5,
                maximumIterations=1000000,
            )
        )
        loop.addAlgorithm(
            ae.MeasurementFilterAlgorithm(
                level=QUIET,
                inputTracks="tracks" + mine,
                inputMeasurementSubset=left,
                outputMeasurementSubset=f"left{k + 1}",
            )
        )

    def call(self) -> dict[int, list[Any]]:
        self.idle = Idle()
        found: dict[int, list[Any]] = {}
        loop = ae.Sequencer(
            events=len(self.events),
            numThreads=self.n_threads,
            logLevel=QUIET,
            trackFpes=False,
        )
        loop.addReader(Feed(self.events, self.modules, self.idle))
        for k, chosen in enumerate(PASSES):
            self.add_pass(loop, k, chosen)
            loop.addAlgorithm(Take(f"tracks{k}", found, self.idle))
        loop.run()
        return found

    def labels(self, found: dict[int, list[Any]]) -> np.ndarray:
        """A hit of several tracks counts for the first."""
        labels = [np.full(len(event[0]), -1, np.int32) for event in self.events]
        for k, tracks in found.items():
            for track in reversed(range(len(tracks))):
                labels[k][tracks[track]] = track
        return np.concatenate(labels)


def prepare(prefixes: list[str], n_threads: int) -> Run:
    if n_threads != 1:
        raise RuntimeError("it runs events side by side, not one on several threads")
    with tempfile.TemporaryDirectory() as scratch:
        magnet = fatras.magnetic_field(scratch, "solenoid", CENTRE_FIELD, 0.0)
        detector = trackml_detector.build(scratch)
    modules = detector.modules
    errors = learn_errors(modules)

    def event(hits: Hits) -> tuple[Any, Any, Any]:
        volume = modules.volume_id[hits.module]
        sigma = errors[volume[:, None], [0, 1], hits.size]
        return hits.module.tolist(), hits.local.tolist(), (sigma**2).tolist()

    events = [event(Hits.read(prefix, modules)) for prefix in prefixes]
    finder = Finder(detector.geometry, magnet, modules, events, n_threads)

    def labels(found: dict[int, list[Any]]) -> np.ndarray:
        assert detector is not None  # kept as long as its geometry
        return finder.labels(found)

    return Run(
        finder.call,
        labels,
        idle=lambda: (finder.idle.wall, finder.idle.cpu),
    )
