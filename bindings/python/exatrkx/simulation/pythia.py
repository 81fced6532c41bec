"""pythia -- collisions by Pythia 8: one of a chosen process, and pile-up.

Pythia decides what is made, in which numbers, and how it decays; jets, tau
leptons, resonances and decay vertices are therefore as in nature. The field and
the material are not its matter: charged particles reach the detector where they
were made, photons convert in conversions.py. Needs pythia8mc. Lengths in mm,
momenta in GeV.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from typing import Any

import numpy as np

from . import generator
from .conversions import Photons
from .generator import Beam, Particles

ENERGY = 14000.0  # GeV, of both protons
# Mean proper length beyond which a particle counts as stable: charged pions and
# kaons, muons, K0L and neutrons reach the detector.
STABLE_LENGTH = 1000.0
MIN_PT = 0.05
MAX_ETA = 4.5
PROMPT_RADIUS = 0.1  # of production; further out is the next generation
MAX_RADIUS, MAX_Z = 1020.0, 2990.0  # of production: inside of the detector
MAX_MEAN = 1500  # pile-up: collisions have 2047 numbers
CHARGED_LEPTONS = (11, 13)
PHOTON = 22

ALWAYS = (
    "Print:quiet = on",
    f"Beams:eCM = {ENERGY}",
    "Random:setSeed = on",
    "Random:seed = 1",  # of the initialisation; events have seeds of their own
    "ParticleDecays:limitTau0 = on",
    f"ParticleDecays:tau0Max = {STABLE_LENGTH}",
)
INELASTIC = ("SoftQCD:inelastic = on",)
Z_BOSONS = ("WeakSingleBoson:ffbar2gmZ = on", "WeakZ0:gmZmode = 2", "23:onMode = off")
PROCESSES: dict[str, tuple[str, ...]] = {
    "minimum-bias": INELASTIC,
    "top-pairs": ("Top:gg2ttbar = on", "Top:qqbar2ttbar = on"),
    "dijets": ("HardQCD:all = on", "PhaseSpace:pTHatMin = 200."),
    "z-mumu": (*Z_BOSONS, "23:onIfAny = 13"),
    "z-tautau": (*Z_BOSONS, "23:onIfAny = 15"),
    # A Higgs boson to two scalars of 40 GeV that live 100 mm and decay to b bbar.
    "long-lived": (
        "HiggsSM:gg2H = on",
        "9000006:new = S void 1 0 0 40. 0. 0. 0. 100.",
        "9000006:isResonance = false",
        "9000006:mayDecay = true",
        "9000006:addChannel = 1 1. 0 5 -5",
        "25:onMode = off",
        "25:addChannel = 1 1. 100 9000006 9000006",
    ),
}


class Collisions:
    """Pythia, ready for any number of events of one process."""

    def __init__(self, process: str) -> None:
        """Initialise the process (one of PROCESSES) and the pile-up."""
        self.pileup = started(INELASTIC)
        self.hard = self.pileup
        if PROCESSES[process] != INELASTIC:
            self.hard = started(PROCESSES[process])

    def event(
        self, rng: np.random.Generator, mean: float, beam: Beam
    ) -> tuple[Particles, Photons]:
        """One collision of the process and others, `mean` on average.

        The event depends on rng alone, not on earlier ones.
        """
        for instance in (self.hard, self.pileup):
            instance.rndm.init(int(rng.integers(1, 900_000_000)))
        origin = generator.vertices(rng, 1 + int(rng.poisson(mean)), beam)
        charged: list[tuple[float, ...]] = []
        photons: list[tuple[float, ...]] = []
        for number in range(len(origin)):
            instance = self.pileup if number else self.hard
            collide(instance)
            read(instance.event, number, charged, photons)
        return particles(rng, charged, origin), photons_of(photons, origin)


def started(commands: tuple[str, ...]) -> Any:
    """A Pythia that is ready to make events.

    Most of its initialisation is the integration of multiparton interactions,
    10 to 100 s. It is done once and read from a file from then on, so that all
    events come from the same numbers.
    """
    path = saved_initialisation(commands)
    return initialised(commands, path, make=False)


def saved_initialisation(commands: tuple[str, ...]) -> str:
    """The file with the initialisation for these commands; made if missing.

    Of two processes that make it concurrently each writes its own, and one of two
    equal files stays.
    """
    root = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.join(root, "exatrkx")
    path = os.path.join(folder, f"pythia-{version()}-{digest(commands)}.txt")
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix="pythia-") as part:
            made = os.path.join(part, "initialisation.txt")
            initialised(commands, made, make=True)
            os.replace(made, path)
    return path


def digest(commands: tuple[str, ...]) -> str:
    """A short name for what a generator is told."""
    text = "\n".join(ALWAYS + commands)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:12]


def version() -> str:
    """That of Pythia, such as 8.317."""
    import pythia8mc

    return f"{pythia8mc.Pythia('', False).parm('Pythia:versionNumber'):.3f}"


def initialised(commands: tuple[str, ...], path: str, make: bool) -> Any:
    """A Pythia whose initialisation is written to path (make) or read from it."""
    import pythia8mc

    result = pythia8mc.Pythia("", False)
    for command in ALWAYS + commands:
        if not result.readString(command):
            raise ValueError(f"Pythia does not know {command!r}")
    result.settings.mode("MultipartonInteractions:reuseInit", 1 if make else 2)
    result.settings.word("MultipartonInteractions:initFile", path)
    if not result.init():
        raise RuntimeError(f"Pythia does not start with {path}; delete it")
    return result


def collide(instance: Any) -> None:
    """The next collision; Pythia gives up on some and says so by False."""
    for _ in range(1000):
        if instance.next():
            return
    raise RuntimeError("Pythia made no collision in 1000 attempts")


def read(
    event: Any,
    number: int,
    charged: list[tuple[float, ...]],
    photons: list[tuple[float, ...]],
) -> None:
    """Append what reaches the detector: charged particles and photons.

    number: of the collision. A row is number, PDG code, mass, charge, point of
    production and momentum.
    """
    for q in event:
        if not q.isFinal() or not (q.isCharged() or q.id() == PHOTON):
            continue
        if q.pT() < MIN_PT or abs(q.eta()) > MAX_ETA:
            continue
        x, y, z = q.xProd(), q.yProd(), q.zProd()
        if x * x + y * y > MAX_RADIUS**2 or abs(z) > MAX_Z:
            continue
        rows = charged if q.isCharged() else photons
        rows.append(
            (number, q.id(), q.m(), q.charge(), x, y, z, q.px(), q.py(), q.pz())
        )


def table(rows: list[tuple[float, ...]]) -> np.ndarray:
    """The rows as an array [n, 10]."""
    return np.array(rows, dtype=np.float64).reshape(-1, 10)


def particles(
    rng: np.random.Generator, rows: list[tuple[float, ...]], origin: np.ndarray
) -> Particles:
    """Charged particles; origin [n_collisions, 3] mm, where collisions are."""
    values = table(rows)
    number, pdg = values[:, 0].astype(np.int64), values[:, 1].astype(np.int64)
    primary = np.arange(len(number)) - np.searchsorted(number, number) + 1
    away = np.hypot(values[:, 4], values[:, 5]) > PROMPT_RADIUS
    generation = away.astype(np.int64)
    last_hit = rng.geometric(generator.INTERACTION, size=len(number)) - 1
    last_hit[np.isin(np.abs(pdg), CHARGED_LEPTONS)] = np.iinfo(np.int64).max
    return Particles(
        particle_id=generator.pack_particle_id(
            number + 1, primary, generation, generation
        ),
        pdg=pdg,
        mass=values[:, 2],
        charge=values[:, 3].astype(np.int64),
        position=values[:, 4:7] + origin[number],
        momentum=values[:, 7:10],
        last_hit=last_hit,
    )


def photons_of(rows: list[tuple[float, ...]], origin: np.ndarray) -> Photons:
    """The photons of all collisions."""
    values = table(rows)
    number = values[:, 0].astype(np.int64)
    return Photons(number + 1, values[:, 4:7] + origin[number], values[:, 7:10])
