"""simulate -- TrackML events from the fast simulation of ACTS.

    exatrkx simulate --out DIR --events N --pileup P --seed S

writes event%09d-{hits,cells,particles,truth}.csv.gz in the form of the
TrackML challenge. Needs pyacts and numpy; docs/simulation.md says what is
simulated. The same arguments give the same bytes.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..files import weights, whole_file
from ..files.trackml_csv import Table, event_path, write_table
from . import (
    conversions,
    detector,
    fatras,
    faults,
    field,
    generator,
    guns,
    merge,
    noise,
    pythia,
    secondaries,
    space_points,
)
from .faults import Faults

SETS = {"small": 2, "medium": 20, "large": 60, "full": 200}
DISPLACED = 0.15
MAX_PILEUP = 2047  # the vertex field of particle_id in 63 bits
MAX_OFFSET = 1000.0  # mm


@dataclass(frozen=True)
class Options:
    """The parts of one event."""

    pileup: int  # collisions; with a process the mean number of further ones
    seed: int
    noise: float  # fraction of all hits
    displaced: float = 0.0  # fraction of all particles
    decays: float = 0.0  # fraction of displaced particles
    merge: bool = False  # clusters that touch
    beam: generator.Beam = generator.Beam()
    secondaries: bool = False  # of nuclear interactions
    faults: Faults = Faults()
    process: pythia.Collisions | None = None  # in place of the own collisions
    guns: tuple[guns.Gun, ...] = ()


def simulate_event(
    simulation: fatras.Fatras, event: int, options: Options
) -> dict[str, Table]:
    """The four tables of one event."""
    seeds = np.random.SeedSequence((options.seed, event))
    rng = np.random.default_rng(seeds.spawn(1)[0])
    particles = event_particles(rng, simulation.modules, options)
    acts_seed = int(seeds.generate_state(1, np.uint64)[0] >> 1)
    found, ends = simulation.run(particles, acts_seed)
    if options.secondaries:
        more = secondaries.generate(
            np.random.default_rng(seeds.spawn(1)[0]), particles, ends
        )
        hits, _ = simulation.run(more, acts_seed + 1)
        found = secondaries.joined_hits(found, hits, len(particles))
        particles = secondaries.joined(particles, more)
    hits = seen_hits(rng, simulation.modules, found, event, options)
    return event_tables(rng, simulation.modules, particles, hits)


def seen_hits(
    rng: np.random.Generator,
    modules: detector.Modules,
    found: fatras.Measurements,
    event: int,
    options: Options,
) -> fatras.Measurements:
    """The hits of particles as the detector writes them, with noise."""
    if options.merge:
        found = merge.merge(modules, found)
    n_noise = round(len(found.module) * options.noise / (1.0 - options.noise))
    noise_hits = noise.generate(rng, modules, n_noise)
    world = modules, options.faults, options.seed
    if options.faults != Faults():
        found = faults.lose_hits(found, options.faults, options.seed, event)
        found = faults.see(found, *world)
        noise_hits = faults.see(noise_hits, *world)
    hits = noise.joined(found, noise_hits)
    if options.faults.hot_modules:
        hot = faults.heat(*world, event)
        hits = noise.joined(hits, faults.see(hot, *world))
    if modules.design.stereo_volumes:
        hits = space_points.join(modules, hits)
    if options.faults.doubled:
        hits = faults.twice(hits, options.faults, options.seed, event)
    return hits


def event_particles(
    rng: np.random.Generator, modules: detector.Modules, options: Options
) -> generator.Particles:
    """The particles of collisions and guns."""
    if options.process is None:
        particles = generator.generate(
            rng, options.pileup, options.displaced, options.decays, options.beam
        )
    else:
        particles, photons = options.process.event(rng, options.pileup, options.beam)
        electrons = conversions.generate(rng, photons, modules)
        particles = secondaries.joined(particles, electrons)
    vertex = int((particles.particle_id >> generator.VERTEX_SHIFT).max(initial=0)) + 1
    for shot in guns.generate(rng, options.guns, vertex, options.beam):
        particles = secondaries.joined(particles, shot)
    return particles


def event_tables(
    rng: np.random.Generator,
    modules: detector.Modules,
    particles: generator.Particles,
    found: fatras.Measurements,
) -> dict[str, Table]:
    """The hits in TrackML form.

    Hits are numbered from 1 by volume, layer and module, in random order
    inside a module.
    """
    shuffled = rng.permutation(len(found.module))
    order = shuffled[np.argsort(found.module[shuffled], kind="stable")]
    module = found.module[order]
    hit_id = np.arange(1, len(order) + 1)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = hit_id
    hits = {
        "hit_id": hit_id,
        **columns(found.position[order], "x", "y", "z"),
        "volume_id": modules.volume_id[module],
        "layer_id": modules.layer_id[module],
        "module_id": modules.module_id[module],
    }
    return {
        "hits": hits,
        "cells": cell_table(number, found),
        "particles": particle_table(particles, found),
        "truth": truth_table(order, particles, found),
    }


def columns(values: np.ndarray, *names: str) -> Table:
    """The columns of a matrix by name."""
    return {name: values[:, i] for i, name in enumerate(names)}


def cell_table(number: np.ndarray, found: fatras.Measurements) -> Table:
    """cells.csv, sorted by hit; number is the hit_id of each hit."""
    hit_id, channel = number[found.cell_hit], found.cell_channel
    order = np.lexsort((channel[:, 1], channel[:, 0], hit_id))
    return {
        "hit_id": hit_id[order],
        **columns(channel[order], "ch0", "ch1"),
        "value": found.cell_value[order],
    }


def particle_table(
    particles: generator.Particles, found: fatras.Measurements
) -> Table:
    """particles.csv, with particles that left no hit."""
    owner = found.particle[found.particle >= 0]
    return {
        "particle_id": particles.particle_id,
        **columns(particles.position, "vx", "vy", "vz"),
        **columns(particles.momentum, "px", "py", "pz"),
        "q": particles.charge,
        "nhits": np.bincount(owner, minlength=len(particles)),
    }


def truth_table(
    order: np.ndarray,
    particles: generator.Particles,
    found: fatras.Measurements,
) -> Table:
    """truth.csv; noise has particle 0, momentum 0 and weight 0."""
    owner, position = found.particle[order], found.true_position[order]
    particle_id = np.where(owner >= 0, particles.particle_id[owner], 0)
    return {
        "hit_id": np.arange(1, len(order) + 1),
        "particle_id": particle_id,
        **columns(position, "tx", "ty", "tz"),
        **columns(found.true_momentum[order], "tpx", "tpy", "tpz"),
        "weight": weights.hit_weights(
            owner,
            position[:, 2],
            particles.position[:, 2],
            np.hypot(particles.momentum[:, 0], particles.momentum[:, 1]),
        ),
    }


def fraction(text: str) -> float:
    """A number from 0 up to, not including, 1."""
    value = float(text)
    if not 0.0 <= value < 1.0:
        raise argparse.ArgumentTypeError(f"{text} is not in [0, 1)")
    return value


def positive(text: str) -> float:
    """A finite number that is not negative."""
    value = float(text)
    if not 0.0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is negative or not finite")
    return value


def finite(text: str) -> float:
    """A finite number."""
    value = float(text)
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"{text} is not finite")
    return value


def offset(text: str) -> float:
    """A length in mm that is not beyond the detector."""
    value = float(text)
    if not abs(value) <= MAX_OFFSET:
        raise argparse.ArgumentTypeError(f"{text} is not within {MAX_OFFSET:g} mm")
    return value


def natural(text: str) -> int:
    """A whole number that is not negative."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return value


def parser() -> argparse.ArgumentParser:
    """The command line."""
    sets = ", ".join(f"{name} {pileup}" for name, pileup in SETS.items())
    result = argparse.ArgumentParser(
        allow_abbrev=False,
        prog="exatrkx simulate",
        description="Simulate events in TrackML form with ACTS (Fatras, geometric "
        "digitization).",
    )
    add = result.add_argument
    add("--out", metavar="DIR", help="folder of the events, made if missing")
    add("--events", type=natural, default=1, metavar="N", help="default 1")
    add(
        "--first-event",
        type=natural,
        default=0,
        metavar="K",
        help="number of the first event, default 0",
    )
    add("--pileup", type=natural, metavar="P", help="collisions in an event")
    add("--set", choices=SETS, help=f"pile-up by name: {sets}")
    add(
        "--process",
        choices=pythia.PROCESSES,
        help="collisions by Pythia 8: one of this process and further inelastic "
        "ones, as many on average as the pile-up",
    )
    add(
        "--gun",
        type=guns.parse,
        action="append",
        default=[],
        metavar="KIND[:KEY=VALUE,...]",
        help="particles to add to each event, may be repeated: "
        + ", ".join(guns.KINDS),
    )
    add("--seed", type=natural, default=1, metavar="S", help="default 1")
    add(
        "--detector",
        choices=fatras.DETECTORS,
        default="trackml",
        help="that of TrackML, the default, or the Open Data Detector",
    )
    add(
        "--noise",
        type=fraction,
        default=0.15,
        metavar="F",
        help="noise hits as a fraction of all hits, default 0.15",
    )
    add(
        "--displaced",
        type=fraction,
        metavar="F",
        help="particles born away from the beam line as a fraction of all "
        "particles, default 0.15",
    )
    add(
        "--decays",
        type=fraction,
        metavar="F",
        help="displaced particles that come in pairs from K0s, Lambda and "
        "photons as a fraction of the displaced ones, default 0",
    )
    add(
        "--merge",
        action="store_true",
        help="make one hit of clusters of different particles that touch",
    )
    add(
        "--secondaries",
        action="store_true",
        help="follow the particles that nuclear interactions make",
    )
    add(
        "--inefficiency",
        type=fraction,
        default=0.0,
        metavar="F",
        help="hits of particles that are not seen as a fraction of them, "
        "default 0",
    )
    add(
        "--dead-modules",
        type=fraction,
        default=0.0,
        metavar="F",
        help="modules without hits as a fraction of all, default 0; the same "
        "in all events of a seed",
    )
    add(
        "--dead-volumes",
        type=int,
        nargs="+",
        default=(),
        metavar="V",
        help="volumes without hits: 9 14 18 are the end-caps of TrackML at positive z",
    )
    add(
        "--hot-modules",
        type=natural,
        nargs=2,
        default=(0, 0),
        metavar=("N", "HITS"),
        help="N modules in line, one of each of the innermost layers of the "
        "barrels, have HITS noise hits more in every event",
    )
    add(
        "--doubled",
        type=fraction,
        default=0.0,
        metavar="F",
        help="hits that are written twice as a fraction of all, default 0",
    )
    add(
        "--misalign",
        type=positive,
        default=0.0,
        metavar="MM",
        help="modules are moved by normal random numbers of this sigma along "
        "x, y and z, default 0; the same in all events of a seed",
    )
    add(
        "--beam-spot",
        choices=generator.BEAM_SPOTS,
        default="long",
        help="collisions along the beam line: sigma 55 mm, the default; sigma "
        "5.5 mm as in TrackML; or uniform within 300 mm",
    )
    add(
        "--beam-offset",
        type=offset,
        nargs=3,
        default=(0.0, 0.0, 0.0),
        metavar=("X", "Y", "Z"),
        help="centre of the collisions in mm, default 0 0 0",
    )
    add(
        "--field",
        choices=fatras.FIELDS,
        default="solenoid",
        help="that of a solenoid, the default; of one whose middle is where the "
        "tracks of TrackML have it; or the same everywhere",
    )
    add(
        "--tesla",
        type=positive,
        default=field.CENTRE_FIELD,
        metavar="B",
        help="field at the centre, default 2",
    )
    add(
        "--coil-centre",
        type=finite,
        default=0.0,
        metavar="Z",
        help="of the solenoid along the beam in mm, default 0",
    )
    add(
        "--gzip",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="write .csv.gz, the default, or .csv",
    )
    add(
        "--write-detector",
        metavar="FILE",
        help="write the module table of the detector and make no events "
        "unless --out is given too",
    )
    return result


def checked(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parsed arguments with the pile-up filled in; exits with 2 if wrong."""
    command = parser()
    args = command.parse_args(arguments)
    if args.out is None and args.write_detector is None:
        command.error("--out or --write-detector is required")
    if args.out is not None and (args.pileup is None) == (args.set is None):
        command.error("give one of --pileup and --set")
    if args.set is not None:
        args.pileup = SETS[args.set]
    if args.out is not None:
        least = 0 if args.process is not None or args.gun else 1
        most = MAX_PILEUP if args.process is None else pythia.MAX_MEAN
        if not least <= args.pileup <= most:
            command.error(f"--pileup must be from {least} to {most}")
    if args.process is not None:
        for name in ("displaced", "decays"):
            if getattr(args, name) is not None:
                command.error(f"--{name} has no effect on --process")
    if args.coil_centre != 0.0 and args.field != "solenoid":
        command.error(f"--coil-centre has no effect on --field {args.field}")
    known = fatras.DETECTORS[args.detector].DESIGN.sensors
    if 0 < sum(args.hot_modules) and 0 in args.hot_modules:
        command.error("--hot-modules: N and HITS must both be 1 or more")
    for volume in sorted(set(args.dead_volumes) - set(known)):
        command.error(f"--dead-volumes {volume}: the detector has {sorted(known)}")
    return args


def make_events(simulation: fatras.Fatras, args: argparse.Namespace) -> None:
    """Simulate and write all requested events."""
    os.makedirs(args.out, exist_ok=True)
    options = Options(
        args.pileup,
        args.seed,
        args.noise,
        DISPLACED if args.displaced is None else args.displaced,
        args.decays or 0.0,
        args.merge,
        generator.Beam(args.beam_spot, tuple(args.beam_offset)),
        args.secondaries,
        Faults(
            args.inefficiency,
            args.dead_modules,
            args.misalign,
            tuple(args.dead_volumes),
            args.hot_modules[0],
            args.hot_modules[1],
            args.doubled,
        ),
        None if args.process is None else pythia.Collisions(args.process),
        tuple(args.gun),
    )
    for event in range(args.first_event, args.first_event + args.events):
        start = time.perf_counter()
        tables = simulate_event(simulation, event, options)
        for kind, table in tables.items():
            write_table(event_path(args.out, event, kind, args.gzip), table)
        seconds = time.perf_counter() - start
        print(
            f"event {event}: {len(tables['hits']['hit_id'])} hits, "
            f"{len(tables['particles']['q'])} particles, {seconds:.1f} s",
            flush=True,
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 when done, 1 when something failed."""
    args = checked(arguments)
    try:
        if args.write_detector is not None:
            whole_file.check(args.write_detector)
        with tempfile.TemporaryDirectory(prefix="exatrkx-") as scratch:
            simulation = fatras.Fatras(
                scratch, args.field, args.tesla, args.coil_centre, args.detector
            )
            if args.write_detector is not None:
                table = detector.module_table(simulation.modules)
                write_table(args.write_detector, table)
            if args.out is not None:
                make_events(simulation, args)
    except ImportError as error:
        package = "pythia8mc" if error.name == "pythia8mc" else "pyacts"
        print(f"simulate: {error}; try: pip install {package}", file=sys.stderr)
        return 1
    except (OSError, ValueError, RuntimeError) as error:
        print(f"simulate: {error}", file=sys.stderr)
        return 1
    return 0
