"""_event -- the hits of one collision, with optional cells and truth.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import os
import warnings
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _handle, _html, _library
from ._arrays import address, array, columns_of, optional
from ._context import Context
from ._declarations import etx_particle
from ._device_input import device_input
from ._model import Detector, Model
from ._shipped import shipped
from .files import acorn_csv, acorn_pyg, acts_csv, event_files

if TYPE_CHECKING:
    import pandas

PARTICLE = np.dtype(etx_particle)
COLUMNS = {
    "vx": ("vertex", 0),
    "vy": ("vertex", 1),
    "vz": ("vertex", 2),
    "px": ("momentum", 0),
    "py": ("momentum", 1),
    "pz": ("momentum", 2),
}
Path = str | os.PathLike[str]


def particle_column(particles: Any, name: str) -> Any:
    """A column of particles by its name; ValueError where there is none."""
    try:
        return particles[name]
    except (IndexError, KeyError, TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"particles: no column {name}: {error}") from None


def particle_table(particles: Any) -> np.ndarray:
    """Particles as the library takes them.

    Either an array of dtype exatrkx.PARTICLE or anything that gives columns
    by name: particle_id, vx, vy, vz [mm], px, py, pz [GeV], q and, when
    there, nhits (a mapping, a structured array, a data frame, ...).
    """
    if getattr(getattr(particles, "dtype", None), "names", None) == PARTICLE.names:
        return np.ascontiguousarray(particles, PARTICLE)
    ids = array("particle_id", particle_column(particles, "particle_id"), np.int64, -1)
    table = np.zeros(len(ids), PARTICLE)
    table["id"] = ids
    for name, (field, k) in COLUMNS.items():
        values = particle_column(particles, name)
        table[field][:, k] = array(name, values, np.float32, len(ids))
    table["charge"] = array("q", particle_column(particles, "q"), np.int32, len(ids))
    try:
        n_hits = particles["nhits"]
    except (KeyError, ValueError, IndexError):
        n_hits = None  # nothing but etx_particle.n_hits comes from it
    if n_hits is not None:
        table["n_hits"] = array("nhits", n_hits, np.int32, len(ids))
    return table


def module_columns(modules: Any) -> Any:
    """volume, layer and module of a table by these names or TrackML's, or of an
    array [n_hits, 3]."""
    if hasattr(modules, "keys"):
        names = list(modules.keys())
        for wanted in (("volume_id", "layer_id", "module_id"), ("volume", "layer", "module")):
            if all(name in names for name in wanted):
                return [modules[name] for name in wanted]
        raise ValueError(
            f"modules: columns {', '.join(map(str, names))}, expected volume_id, "
            "layer_id and module_id, or volume, layer and module"
        )
    shape: tuple[int, ...] = getattr(modules, "shape", ())
    return modules.T if len(shape) == 2 and shape[1] == 3 != shape[0] else modules


class Event(_handle.Immutable):
    """Hits and their properties. Does not change once made, so several
    threads may read one concurrently."""

    name: str = ""  # of the files that it was read from, without their folder

    @classmethod
    def from_arrays(
        cls,
        positions: Any,
        *,
        hit_ids: Any = None,
        features: Any = None,
        modules: Any = None,
        cells: Any = None,
        detector: Detector | None = None,
        cell_features: Any = None,
        cluster_positions: Any = None,
        particle_ids: Any = None,
        weights: Any = None,
        particles: Any = None,
        shared_hits: Any = None,
        context: Context | None = None,
    ) -> Event:
        """An event of arrays; everything is copied.

        positions and features may be on the GPU of context. They are copied to
        the host and, besides, read where they are: do not change them while the
        event is in use.

        positions      [n_hits, 3] x, y, z in mm
        hit_ids        [n_hits], unique and positive; default 1 .. n_hits
        features       [n_hits, n_features] as the model wants them, scaled;
                       they replace those that are computed from the hits
        modules        (volume, layer, module), each [n_hits]; or an array
                       [n_hits, 3] (3 hits: [3, n_hits]), or a table with these
                       names or volume_id, layer_id, module_id
        cells          (hit, channel0, channel1, value), each [n_cells]; hit
                       is the row of the hit; needs modules and detector
        cell_features  [n_hits, 9] instead of cells, in the order of
                       etx_event_cell_features
        cluster_positions
                       [n_hits, 2, 3] x, y, z in mm of the two clusters of a
                       strip space point; of one cluster, the same twice
        particle_ids   [n_hits], 0 = noise; needs particles
        weights        [n_hits] of hits in the TrackML score; default equal;
                       need particle_ids
        particles      see particle_table: by column name, mm and GeV
        shared_hits    (hit, particle_id), each [n_shared]: further particles
                       of hits; hit is the row of the hit

        Raises ArgumentError for values that the library refuses, ValueError
        and TypeError for arrays of a wrong shape or type.
        """
        event = cls._of_positions(positions, hit_ids, context)
        event._set_features(features, context)
        event._set_modules(modules)
        event._set_cells(cells, detector, cell_features)
        event._set_cluster_positions(cluster_positions)
        event._set_truth(particle_ids, weights, particles)
        event._set_shared_hits(shared_hits)
        if detector is not None:
            event._warn_of(detector)
        return event

    @classmethod
    def _of_positions(
        cls, positions: Any, hit_ids: Any, context: Context | None
    ) -> Event:
        borrowed = device_input(
            "positions", positions, context, np.float32, -1, 3
        )
        if borrowed is None or context is None:
            xyz = array("positions", positions, np.float32, -1, 3)
            ids = optional("hit_ids", hit_ids, np.int64, len(xyz))
            return cls(
                _handle.make(
                    "event",
                    "etx_event_create",
                    len(xyz),
                    address(ids),
                    address(xyz),
                )
            )
        ids = optional("hit_ids", hit_ids, np.int64, borrowed.shape[0])
        with context._use() as used:
            event = cls(
                _handle.make(
                    "event",
                    "etx_event_create_device",
                    used,
                    borrowed.shape[0],
                    address(ids),
                    borrowed.where,
                    borrowed.stream,
                )
            )
        event._pointer.borrowed.append(borrowed.owner)
        return event

    @classmethod
    def from_trackml(
        cls,
        prefix: Path | None = None,
        *,
        hits: Path | None = None,
        cells: Path | None = None,
        truth: Path | None = None,
        particles: Path | None = None,
        detector: Detector | None = None,
    ) -> Event:
        """Read PREFIX-hits.csv[.gz] and its siblings, or single files.

        prefix may be the name of that file, too. Of a prefix, cells are read with a detector only, truth and particles
        where both files are. Cells also need a detector, and truth and
        particles go together (ValueError). A warning of what does not fit (check).
        Raises FileError or FormatError.
        """
        if (prefix is None) == (hits is None):
            raise ValueError("give either a prefix or hits")
        if prefix is not None and (cells or truth or particles):
            raise ValueError("cells, truth and particles go with hits")
        if (truth is None) != (particles is None):
            raise ValueError("truth and particles go together")
        if cells is not None and detector is None:
            raise ValueError("cells: need a detector")
        geometry = None
        if detector is not None:
            geometry = _handle.pointer("detector", detector)
        if prefix is not None:
            name = _library.file_name(event_files.prefix_of(os.fsdecode(prefix)))
            event = cls._read("etx_event_read_trackml", name, geometry)
            event.name = os.path.basename(os.fsdecode(name))
            event._warn_of(detector)
            return event
        files = [
            None if path is None else _library.file_name(path)
            for path in (hits, cells, truth, particles)
        ]
        event = cls._read("etx_event_read_trackml_files", *files, geometry)
        event._warn_of(detector)
        return event

    @classmethod
    def from_files(cls, prefix: Path, *, detector: Detector | None = None) -> Event:
        """Read an event in the form that its files have: of from_trackml, from_acts,
        from_acorn or, where prefix ends in .npz, from_npz."""
        form = event_files.form_of(event_files.prefix_of(os.fspath(prefix)))
        if form == "acorn":
            return cls.from_acorn(prefix)
        read = {"acts": cls.from_acts, "arrays": cls.from_npz}.get(form, cls.from_trackml)
        return read(prefix, detector=detector)

    @classmethod
    def from_npz(cls, path: Path, *, detector: Detector | None = None) -> Event:
        """Read a file of numpy.savez: arrays by the names of from_arrays, particles
        as a structured array; cells need a detector. ValueError, OSError."""
        name = os.fspath(path)
        try:
            with np.load(name) as arrays:
                event = cls.from_arrays(**arrays, detector=detector)
        except (AttributeError, TypeError, ValueError, zipfile.BadZipFile) as error:
            raise ValueError(f"{name}: {error}") from None
        event.name = os.path.basename(name).removesuffix(event_files.ARRAYS)
        return event

    @classmethod
    def from_acts(cls, prefix: Path, *, detector: Detector | None = None) -> Event:
        """Read the CSV files of the examples of ACTS: measurements or space points,
        modules, truth and, with a detector, cells (files.acts_csv). ValueError,
        FileNotFoundError."""
        name = event_files.prefix_of(os.fspath(prefix))
        arrays = acts_csv.read(name, with_cells=detector is not None)
        event = cls.from_arrays(**arrays, detector=detector)
        event.name = os.path.basename(name)
        return event

    @classmethod
    def from_acorn(cls, prefix: Path) -> Event:
        """Read PREFIX-truth.csv[.gz] and PREFIX-particles.csv[.gz] as acorn
        makes them of ITk dumps: space points, their clusters, modules, all their
        particles; or NAME.pyg, one of its graphs, of whose particles little is
        known (files.acorn_pyg) and whose edges are not read.

        Volumes are acorn's regions. ValueError, FileNotFoundError.
        """
        name = event_files.prefix_of(os.fspath(prefix))
        read = acorn_pyg.read if name.endswith(event_files.GRAPH) else acorn_csv.read
        event = cls.from_arrays(**read(name))
        event.name = os.path.basename(name).removesuffix(event_files.GRAPH)
        return event

    @classmethod
    def example(cls) -> Event:
        """The event that ships, with cells and truth: of a simulation."""
        hits = shipped("data", "event000000001-hits.csv.gz")
        prefix = str(hits).removesuffix("-hits.csv.gz")
        return cls.from_trackml(prefix, detector=Detector.load())

    @classmethod
    def from_features(cls, path: Path, scales: Any) -> Event:
        """Read a headerless file of scaled features, the first r, phi and z.

        scales [3]: mm, rad, mm per unit; they give the positions.
        """
        units = array("scales", scales, np.float32, 3)
        name = _library.file_name(path)
        return cls._read("etx_event_read_features", name, address(units))

    @classmethod
    def _read(cls, function: str, *arguments: Any) -> Event:
        """What a function makes of files."""
        return cls(_handle.make("event", function, *arguments))

    def _set_features(self, features: Any, context: Context | None) -> None:
        shape = (self.n_hits, -1)
        borrowed = device_input("features", features, context, np.float32, *shape)
        if borrowed is not None and context is not None:
            with context._use() as used:
                _library.call(
                    "etx_event_set_features_device",
                    self._pointer,
                    used,
                    borrowed.shape[1],
                    borrowed.where,
                    borrowed.stream,
                )
            self._pointer.borrowed.append(borrowed.owner)
            return
        values = optional("features", features, np.float32, self.n_hits, -1)
        if values is not None:
            self._set("etx_event_set_features", values.shape[1], values)

    def _set_modules(self, modules: Any) -> None:
        if modules is None:
            return
        names = ("volume", "layer", "module")
        columns = columns_of("modules", module_columns(modules), *names)
        self._set(
            "etx_event_set_modules",
            *(
                array(name, values, np.int32, self.n_hits)
                for name, values in zip(names, columns, strict=True)
            ),
        )

    def _set_cells(
        self, cells: Any, detector: Detector | None, features: Any
    ) -> None:
        if cells is not None:
            if detector is None:
                raise ValueError("cells: need a detector")
            if features is not None:
                raise ValueError("cells and cell_features: give one of them")
            names = ("hit", "channel0", "channel1", "value")
            hit, first, second, value = columns_of("cells", cells, *names)
            row = array("hit", hit, np.int32, -1)
            self._set(
                "etx_event_set_cells",
                len(row),
                row,
                array("channel0", first, np.int32, len(row)),
                array("channel1", second, np.int32, len(row)),
                array("value", value, np.float32, len(row)),
                _handle.pointer("detector", detector),
            )
        nine = optional("cell_features", features, np.float32, self.n_hits, 9)
        if nine is not None:
            self._set("etx_event_set_cell_features", nine)

    def _set_cluster_positions(self, positions: Any) -> None:
        name = "cluster_positions"
        values = optional(name, positions, np.float32, self.n_hits, 2, 3)
        if values is not None:
            self._set("etx_event_set_cluster_positions", values)

    def _set_truth(self, ids: Any, weights: Any, particles: Any) -> None:
        if (ids is None) != (particles is None):
            raise ValueError("particle_ids and particles go together")
        if ids is None and weights is not None:
            raise ValueError("weights: need particle_ids and particles")
        if ids is None:
            return
        table = particle_table(particles)
        self._set(
            "etx_event_set_truth",
            array("particle_ids", ids, np.int64, self.n_hits),
            optional("weights", weights, np.float32, self.n_hits),
            len(table),
            table,
        )

    def _set_shared_hits(self, shared_hits: Any) -> None:
        if shared_hits is None:
            return
        rows, ids = columns_of("shared_hits", shared_hits, "hit", "particle_id")
        hits = array("hit", rows, np.int32, -1)
        ids = array("particle_id", ids, np.int64, len(hits))
        self._set("etx_event_set_shared_hits", len(hits), hits, ids)

    def _set(self, name: str, *arguments: Any) -> None:
        values = [
            address(one) if isinstance(one, np.ndarray) else one
            for one in arguments
        ]
        _library.call(name, self._pointer, *values)

    def check(
        self, detector: Detector | None = None, model: Model | None = None
    ) -> str:
        """What does not fit, as a line of text, "" where all does: lengths in
        another unit and repeated cells; with a detector hits that are not on
        their modules, modules that it lacks, a module with a crowd of hits;
        with a model layers that it does not know, true tracks that bend as in
        another field, and stages that lack modules."""
        text = ctypes.create_string_buffer(1024)
        _library.call(
            "etx_event_check",
            text,
            len(text),
            self._pointer,
            None if detector is None else _handle.pointer("detector", detector),
            None if model is None else _handle.pointer("model", model),
        )
        return text.value.decode()

    def _warn_of(self, detector: Detector | None) -> None:
        doubt = self.check(detector)
        if doubt:
            warnings.warn(f"{self.name}: {doubt}".removeprefix(": "), stacklevel=3)

    @property
    def n_hits(self) -> int:
        """Hits of the event."""
        return self._count("etx_event_n_hits")

    def __len__(self) -> int:
        return self.n_hits

    @property
    def hit_ids(self) -> NDArray[np.int64]:
        """[n_hits] int64, a view."""
        return self._view("etx_event_hit_ids", (self.n_hits,), np.int64)

    @property
    def positions(self) -> NDArray[np.float32]:
        """[n_hits, 3] float32 x, y, z in mm, a view."""
        return self._view("etx_event_positions", (self.n_hits, 3), np.float32)

    @property
    def has_truth(self) -> bool:
        """Whether particle_ids and particles are known."""
        return bool(self._get("etx_event_particle_ids"))

    @property
    def particle_ids(self) -> NDArray[np.int64] | None:
        """[n_hits] int64, 0 = noise, a view; None without truth."""
        if not self.has_truth:
            return None
        return self._view("etx_event_particle_ids", (self.n_hits,), np.int64)

    @property
    def particles(self) -> NDArray[np.void] | None:
        """[n_particles] of dtype PARTICLE sorted by id, a view: id, vertex
        [3] in mm, momentum [3] in GeV, charge, n_hits; None without truth."""
        if not self.has_truth:
            return None
        shape = (self._get("etx_event_n_particles"),)
        return self._view("etx_event_particles", shape, PARTICLE)

    @property
    def cell_features(self) -> NDArray[np.float32] | None:
        """[n_hits, 9] float32, a view; None where cells are not known."""
        if not self._get("etx_event_cell_features"):
            return None
        shape = (self.n_hits, 9)
        return self._view("etx_event_cell_features", shape, np.float32)

    @property
    def cluster_positions(self) -> NDArray[np.float32] | None:
        """[n_hits, 2, 3] float32 x, y, z in mm, a view; None where they are
        not known."""
        if not self._get("etx_event_cluster_positions"):
            return None
        shape = (self.n_hits, 2, 3)
        return self._view("etx_event_cluster_positions", shape, np.float32)

    @property
    def modules(self) -> NDArray[np.int32] | None:
        """[3, n_hits] volume, layer and module, a new array; None where they
        are not known."""
        if not self._get("etx_event_volume_ids"):
            return None
        names = ("volume_ids", "layer_ids", "module_ids")
        shape = (self.n_hits,)
        return np.stack(
            [self._view(f"etx_event_{n}", shape, np.int32) for n in names]
        )

    @property
    def weights(self) -> NDArray[np.float32] | None:
        """[n_hits] of hits in the TrackML score, a view; None without truth."""
        if not self.has_truth:
            return None
        return self._view("etx_event_weights", (self.n_hits,), np.float32)

    @property
    def shared_hits(self) -> tuple[NDArray[np.int32], NDArray[np.int64]] | None:
        """Further particles of hits: row of the hit and particle id, each
        [n_shared], views; None where no hit is shared."""
        shape = (self._get("etx_event_n_shared_hits"),)
        if shape[0] == 0:
            return None
        return (
            self._view("etx_event_shared_hits", shape, np.int32),
            self._view("etx_event_shared_particle_ids", shape, np.int64),
        )

    @property
    def features(self) -> NDArray[np.float32] | None:
        """[n_hits, n_features] as from_arrays was given them, a view; None
        where they are computed from the hits."""
        shape = (self.n_hits, self._get("etx_event_n_features"))
        if shape[1] == 0:
            return None
        return self._view("etx_event_features", shape, np.float32)

    def to_pandas(self) -> pandas.DataFrame:
        """A row for each hit: hit_id, x, y, z [mm] and, where known,
        volume_id, layer_id, module_id, particle_id and weight. Needs pandas."""
        import pandas

        columns: dict[str, Any] = {"hit_id": self.hit_ids}
        columns |= dict(zip("xyz", self.positions.T, strict=True))
        if self.modules is not None:
            names = ("volume_id", "layer_id", "module_id")
            columns |= dict(zip(names, self.modules, strict=True))
        if self.has_truth:
            columns["particle_id"] = self.particle_ids
            columns["weight"] = self.weights
        return pandas.DataFrame(columns)

    def particles_to_pandas(self) -> pandas.DataFrame:
        """A row for each particle, by the column names of TrackML:
        particle_id, vx, vy, vz [mm], px, py, pz [GeV], q and nhits.
        ValueError without truth."""
        import pandas

        table = self.particles
        if table is None:
            raise ValueError("the event has no truth")
        columns: dict[str, Any] = {"particle_id": table["id"]}
        columns |= {n: table[field][:, k] for n, (field, k) in COLUMNS.items()}
        columns |= {"q": table["charge"], "nhits": table["n_hits"]}
        return pandas.DataFrame(columns)

    def __reduce__(self) -> tuple[Any, ...]:
        names = (
            "positions hit_ids features modules cell_features "
            "cluster_positions particle_ids weights particles shared_hits"
        )
        arrays = {name: getattr(self, name) for name in names.split()}
        return Event._of_arrays, (self.name, arrays)

    @classmethod
    def _of_arrays(cls, name: str, arrays: dict[str, Any]) -> Event:
        """An event as it was pickled."""
        event = cls.from_arrays(**arrays)
        event.name = name
        return event

    def _repr_html_(self) -> str:
        particles = self.particles
        rows = [
            ("hits", self.n_hits),
            ("particles", "unknown" if particles is None else len(particles)),
            ("modules", "unknown" if self.modules is None else "known"),
            ("cells", "unknown" if self.cell_features is None else "known"),
        ]
        return _html.table(f"Event {self.name}".rstrip(), rows)

    def __repr__(self) -> str:
        if self.closed:
            return "<exatrkx.Event closed>"
        truth = "with" if self.has_truth else "without"
        return f"<exatrkx.Event of {self.n_hits} hits, {truth} truth>"
