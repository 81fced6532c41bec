"""kalman_fit -- ACTS's Kalman filter and smoother on given tracks.

Geometry, material and field are as in exatrkx simulate, errors of hits as in
kalman_filter. It starts from parameters of another fit, with a hundred times their
variances.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import acts
import acts.examples as ae
import numpy as np
from exatrkx import Event, TrackParameters, Tracks
from exatrkx.simulation import fatras, trackml_detector
from exatrkx.simulation.field import CENTRE_FIELD

from .kalman_filter import QUIET, Hits, learn_errors

NAMES = ("d0", "z0", "phi", "theta", "qop")
LOOSER = 100.0  # variances of the start


class Give(ae.IReader):  # type: ignore[misc]
    """Hits as measurements, and tracks as lists of them."""

    def __init__(self, hits: list[Any], tracks: list[list[list[int]]], modules: Any) -> None:
        ae.IReader.__init__(self, "Give", QUIET)
        self.hits, self.tracks = hits, tracks
        self.ids = [acts.GeometryIdentifier(int(one)) for one in modules.geometry_id]
        self.all = ae.WriteDataHandle(self, ae.MeasurementContainer, "all")
        self.all.initialize("measurements")
        self.given = ae.WriteDataHandle(self, ae.ProtoTrackContainer, "given")
        self.given.initialize("given")
        self.kept: list[Any] = []

    def availableEvents(self) -> tuple[int, int]:  # noqa: N802
        return (0, len(self.hits))

    def read(self, context: Any) -> Any:
        made, tracks = ae.MeasurementContainer(), ae.ProtoTrackContainer()
        for m, at, var in zip(*self.hits[context.eventNumber], strict=True):
            made.emplaceMeasurement(self.ids[m], [0, 1], at, var)
        for track in self.tracks[context.eventNumber]:
            tracks.append(ae.ProtoTrack(track))
        self.kept += [made, tracks]
        self.all(context, made)
        self.given(context, tracks)
        return ae.ProcessCode.SUCCESS


class Take(ae.IAlgorithm):  # type: ignore[misc]
    """Of every fitted track a hit, its parameters and covariance, and chi2."""

    def __init__(self, found: dict[int, list[Any]]) -> None:
        ae.IAlgorithm.__init__(self, "Take", QUIET)
        self.found = found
        self.tracks = ae.ReadDataHandle(self, ae.ConstTrackContainer, "tracks")
        self.tracks.initialize("fitted")

    def execute(self, context: Any) -> Any:
        self.found[context.eventNumber] = [
            (
                first_hit(track),
                list(track.parameters)[:5],
                [[track.covariance[i, j] for j in range(5)] for i in range(5)],
                track.chi2,
            )
            for track in self.tracks(context.eventStore)
        ]
        return ae.ProcessCode.SUCCESS


def first_hit(track: Any) -> int:
    states = track.trackStatesReversed
    link = next(s.uncalibratedSourceLink for s in states if s.typeFlags.hasMeasurement)
    return int(ae.IndexSourceLink.fromSourceLink(link).index())


def write_start(path: Path, fit: TrackParameters) -> None:
    """The parameters that ACTS starts from."""
    sine = np.sin(fit.theta)
    variance = LOOSER * np.einsum("nii->ni", fit.covariance)
    variance[:, 4] *= sine**2
    pairs = [f"cov_{a}{b}" for a in NAMES for b in NAMES if a != b]
    names = ["trackId", *NAMES, *(f"var_{name}" for name in NAMES), *pairs]
    n = len(fit)
    values = (fit.d0, fit.z0, fit.phi, fit.theta, fit.q_over_pt * sine)
    table = np.column_stack((np.arange(n), *values, variance, np.zeros((n, len(pairs)))))
    np.savetxt(path, table, "%.9g", ",", header=",".join(names), comments="")


def parameters(tracks: Tracks, found: list[Any]) -> TrackParameters:
    """In the order of tracks; n_degrees 0 where ACTS has none."""
    n = len(tracks)
    owner = np.full(tracks.n_hits, -1)
    owner[tracks.hits] = np.repeat(np.arange(n), np.diff(tracks.offsets))
    value, covariance, chi2 = np.zeros((n, 5)), np.zeros((n, 5, 5)), np.zeros(n)
    n_degrees = np.zeros(n, np.int32)
    for hit, (*others, theta, qop), matrix, of_hits in found:
        if not math.isfinite(qop) or not 0.0 < theta < math.pi:
            continue
        t, sine = owner[hit], math.sin(theta)
        slope = np.eye(5)  # q/pT = (q/p) / sin(theta)
        slope[4, 3:] = -qop * math.cos(theta) / sine**2, 1.0 / sine
        value[t] = *others, theta, qop / sine
        covariance[t] = slope @ np.array(matrix) @ slope.T
        chi2[t], n_degrees[t] = of_hits, 2 * len(tracks[t]) - 5
    d0, z0, phi, theta, q_over_pt = value.T
    none = np.zeros(n, np.int32)
    outliers = np.zeros(len(tracks.hits), np.uint8)
    return TrackParameters(
        d0, z0, phi, theta, q_over_pt, covariance, chi2, n_degrees, none, none, outliers
    )


def fit_tracks(
    prefixes: Sequence[str],
    events: Sequence[Event],
    tracks: Sequence[Tracks],
    starts: Sequence[TrackParameters],
) -> list[TrackParameters]:
    """The tracks of each event that starts has, fitted by ACTS."""
    found: dict[int, list[Any]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        magnet = fatras.magnetic_field(scratch, "solenoid", CENTRE_FIELD, 0.0)
        detector = trackml_detector.build(scratch)
        modules = detector.modules
        errors = learn_errors(modules)
        hits, given = [], []
        for k, (prefix, event) in enumerate(zip(prefixes, events, strict=True)):
            own = Hits.read(prefix, modules)
            volume = modules.volume_id[own.module]
            sigma = errors[volume[:, None], [0, 1], own.size]
            hits.append((own.module.tolist(), own.local.tolist(), (sigma**2).tolist()))
            far = np.linalg.norm(event.positions, axis=1)
            given.append([hits_of[np.argsort(far[hits_of])].tolist() for hits_of in tracks[k]])
            write_start(Path(scratch) / f"event{k:09d}-start.csv", starts[k])
        loop = ae.Sequencer(
            events=len(events), numThreads=1, logLevel=QUIET, trackFpes=False
        )
        loop.addReader(Give(hits, given, modules))
        loop.addReader(
            ae.CsvTrackParameterReader(
                level=QUIET,
                inputDir=scratch,
                inputStem="start",
                outputTrackParameters="start",
                beamspot=[0.0, 0.0, 0.0],
            )
        )
        loop.addAlgorithm(filter_of(detector.geometry, magnet))
        loop.addAlgorithm(Take(found))
        loop.run()
    return [parameters(own, found[k]) for k, own in enumerate(tracks)]


def filter_of(geometry: Any, magnet: Any) -> Any:
    return ae.TrackFittingAlgorithm(
        level=QUIET,
        inputMeasurements="measurements",
        inputProtoTracks="given",
        inputInitialTrackParameters="start",
        inputClusters="",
        outputTracks="fitted",
        pickTrack=-1,
        fit=ae.makeKalmanFitterFunction(
            geometry,
            magnet,
            multipleScattering=True,
            energyLoss=True,
            reverseFilteringMomThreshold=0.0,
            reverseFilteringCovarianceScaling=100.0,
            freeToBoundCorrection=ae.FreeToBoundCorrection(False),
            level=acts.logging.FATAL,
            chi2Cut=math.inf,
            useJosephFormulation=False,
        ),
        calibrator=ae.makePassThroughCalibrator(),
        linkForward=False,
        referenceSurface=acts.Surface.createPerigee(acts.Vector3(0.0, 0.0, 0.0)),
    )
