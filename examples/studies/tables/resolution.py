"""resolution -- how well etx_fit_tracks knows the particles.

    python -m tables.resolution --events DIR [--count 10]
        [--learned-field | --learn DIR] [--max-hit-chi2 X] [--energy-loss X]
        [--detector FILE] [--plot FILE]

The true hits of prompt particles (at least 5 hits, produced within 0.1 mm of
the beam line) are fitted with the defaults, or another bound of a hit, loss of energy or
detector, and the field of the simulation, or that which the default model has learned, or what
exatrkx.learn_field finds in the events of a folder.
A resolution is the 68.27 % quantile of |fitted - true|, a pull the same in units
of the fit's own standard deviation.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import exatrkx
from exatrkx._field import true_tracks
from exatrkx.simulation import field

from .events import event_options, read_events
from .markdown import table

MODEL = (
    Path(__file__).parents[3] / "examples" / "models" / "default.safetensors"
)
ETA = (0.0, 1.0, 1.5, 2.0, 2.5, 4.0)
PT = (0.3, 0.5, 1.0, 20.0)  # GeV
NAMES = ("d0", "z0", "phi", "theta", "q_over_pt")
HEAD = (
    ["abs(eta)", "pT, GeV", "tracks", "fitted", "chi2 per degree"]
    + ["d0, mm", "z0, mm", "phi, mrad", "theta, mrad", "pT, %", "bias of pT, %"]
    + ["pull d0", "z0", "phi", "theta", "q/pT"]
)


def simulated_field() -> exatrkx.FitOptions:
    """The field map that exatrkx simulate gives to ACTS."""
    r = np.linspace(0.0, 1100.0, 45)
    z = np.linspace(-3100.0, 3100.0, 125)
    grid = np.broadcast_arrays(r[:, None], z[None, :])
    centre = field.solenoid(np.zeros(1), np.zeros(1))[1][0]
    field_map = np.stack(field.solenoid(*grid), axis=-1)
    field_map *= field.CENTRE_FIELD / centre
    return exatrkx.FitOptions(field_map=field_map, max_r=r[-1], max_z=z[-1])


def compare(
    event: exatrkx.Event, tracks: exatrkx.Tracks, fit: exatrkx.TrackParameters
) -> np.ndarray:
    """A row for each track of true hits: eta, pT, fitted, chi2 per degree, deviations
    [5], pulls [5]."""
    assert event.particles is not None and event.particle_ids is not None
    ids = event.particle_ids[tracks.hits[tracks.offsets[:-1]]]
    particle = event.particles[np.searchsorted(event.particles["id"], ids)]
    px, py, pz = particle["momentum"].T.astype(float)
    vx, vy, vz = particle["vertex"].T.astype(float)
    pt, phi = np.hypot(px, py), np.arctan2(py, px)
    along = -(vx * np.cos(phi) + vy * np.sin(phi))
    truth = (
        -vx * np.sin(phi) + vy * np.cos(phi),
        vz + along * pz / pt,
        phi,
        np.arctan2(pt, pz),
        particle["charge"] / pt,
    )
    deviation = np.stack(
        [getattr(fit, name) - true for name, true in zip(NAMES, truth)], axis=1
    )
    deviation[:, 2] = np.angle(np.exp(1j * deviation[:, 2]))
    sigma = np.sqrt(np.einsum("nii->ni", fit.covariance))
    fitted = fit.n_degrees > 0
    with np.errstate(divide="ignore", invalid="ignore"):
        pull = deviation / sigma
        chi2 = fit.chi2 / fit.n_degrees
    deviation[:, 4] *= pt / particle["charge"]  # relative
    eta = np.abs(np.arcsinh(pz / pt))
    return np.column_stack((eta, pt, fitted, chi2, deviation, pull))


def width(values: np.ndarray) -> float:
    return float(np.quantile(np.abs(values), 0.6827))


def line(rows: np.ndarray, name: tuple[str, str]) -> list[str]:
    good = rows[rows[:, 2] > 0]
    sizes = [width(good[:, 4 + k]) for k in range(5)]
    # The mean of q/pT too large is pT too small.
    return [
        *name,
        f"{len(rows)}",
        f"{rows[:, 2].mean():.3f}",
        f"{np.median(good[:, 3]):.2f}",
        f"{sizes[0]:.3f}",
        f"{sizes[1]:.3f}",
        f"{1e3 * sizes[2]:.2f}",
        f"{1e3 * sizes[3]:.2f}",
        f"{100 * sizes[4]:.1f}",
        f"{-100 * np.median(good[:, 8]):+.1f}",
        *(f"{width(good[:, 9 + k]):.2f}" for k in range(5)),
    ]


def plot(events: Sequence[exatrkx.Event], path: str) -> None:
    """The picture of the same tracks, in the field of the simulation."""
    from exatrkx import plotting

    detector, options = exatrkx.Detector.load(), simulated_field()
    tracks = [true_tracks(event)[0] for event in events]
    fits = [
        exatrkx.fit_tracks(event, own, detector, options=options)
        for own, event in zip(tracks, events, strict=True)
    ]
    plotting.resolution(events, tracks, fits).savefig(path, dpi=80)


def by_eta_and_pt(rows: np.ndarray) -> list[list[str]]:
    lines = []
    for low, high in zip(ETA, ETA[1:]):
        for least, most in zip(PT, PT[1:]):
            inside = (rows[:, 0] >= low) & (rows[:, 0] < high)
            inside &= (rows[:, 1] >= least) & (rows[:, 1] < most)
            name = (f"{low} to {high}", f"{least} to {most}")
            lines.append(line(rows[inside], name))
    return lines


def main() -> int:
    parser = event_options("resolution", 10)
    fields = parser.add_mutually_exclusive_group()
    fields.add_argument("--learned-field", action="store_true")
    fields.add_argument("--learn", type=Path, metavar="DIR", help="events of it")
    default = exatrkx.FitOptions()
    for name in ("max_hit_chi2", "energy_loss"):
        option = "--" + name.replace("_", "-")
        usual = getattr(default, name)
        parser.add_argument(option, type=float, default=usual, metavar="X")
    parser.add_argument("--detector", metavar="FILE", help="detectors.csv")
    parser.add_argument("--plot", metavar="FILE", help="png, svg or pdf")
    options = parser.parse_args()
    events = read_events(options.events, options.count)
    model = exatrkx.Model.load(MODEL) if options.learned_field else None
    chosen = exatrkx.FitOptions() if options.learned_field else simulated_field()
    detector = exatrkx.Detector.load(options.detector)
    if options.learn:
        learned = exatrkx.Events(options.learn, detector=detector)
        chosen = exatrkx.learn_field(learned, detector)
    chosen = replace(
        chosen, max_hit_chi2=options.max_hit_chi2, energy_loss=options.energy_loss
    )
    rows = []
    for event in events:
        tracks = true_tracks(event)[0]
        fit = exatrkx.fit_tracks(event, tracks, detector, model=model, options=chosen)
        rows.append(compare(event, tracks, fit))
    sys.stdout.write(table(HEAD, by_eta_and_pt(np.concatenate(rows))))
    if options.plot:
        plot(events, options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
