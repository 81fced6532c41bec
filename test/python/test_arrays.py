"""test_arrays -- events from the arrays of other packages.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import subprocess
import sys

from support import EVENT, PACKAGE, LibraryCase, needs

import exatrkx
import numpy as np
from exatrkx import _arrays
from exatrkx.files.trackml_csv import read_event


class Interface:
    """An array by __array_interface__ alone."""

    def __init__(self, values: object) -> None:
        self._values = values
        self.__array_interface__ = values.__array_interface__


class TestArrays(LibraryCase):
    def check(self, positions: object) -> None:
        event = exatrkx.Event.from_arrays(positions)
        found = event.positions
        self.assertTrue(np.array_equal(found, self.event.positions))

    def test_protocols(self) -> None:
        values = self.event.positions
        self.check(values)
        self.check(values.astype("f8"))
        self.check(np.asfortranarray(values))
        self.check(Interface(values))
        self.check(values.tolist())
        shifted = b".." + values.tobytes()  # numpy takes it as it lies
        self.check(np.frombuffer(shifted, "f4", offset=2).reshape(values.shape))

    @needs("torch")
    def test_torch(self) -> None:
        import torch

        tensor = torch.tensor(self.event.positions.copy())
        self.check(tensor)
        self.check(tensor.double().t().contiguous().t())
        with self.assertRaisesRegex(TypeError, "positions"):
            exatrkx.Event.from_arrays(tensor.to("meta"))
        with self.assertRaisesRegex(TypeError, "positions: .*requires grad"):
            exatrkx.Event.from_arrays(tensor.requires_grad_())
        shared = torch.from_dlpack(self.event.positions)
        self.assertEqual(shared.data_ptr(), self.event.positions.ctypes.data)

    @needs("pandas")
    def test_pandas(self) -> None:
        import pandas

        frame = pandas.DataFrame(self.event.positions, columns=list("xyz"))
        self.check(frame)
        event = exatrkx.Event.from_arrays(
            frame, hit_ids=pandas.Series(self.event.hit_ids)
        )
        self.assertTrue(np.array_equal(event.hit_ids, self.event.hit_ids))

    @needs("awkward")
    def test_awkward(self) -> None:
        import awkward

        self.check(awkward.from_numpy(self.event.positions))

    def test_whole_event(self) -> None:
        """From the columns of the files: the tracks of from_trackml."""
        tables = read_event(str(EVENT))
        hits, cells = tables["hits"], tables["cells"]
        event = exatrkx.Event.from_arrays(
            np.stack([hits[n] for n in "xyz"], axis=1),
            hit_ids=hits["hit_id"],
            modules=[hits[n + "_id"] for n in ("volume", "layer", "module")],
            cells=(
                np.searchsorted(hits["hit_id"], cells["hit_id"]),
                cells["ch0"],
                cells["ch1"],
                cells["value"],
            ),
            detector=self.detector,
            particle_ids=tables["truth"]["particle_id"],
            weights=tables["truth"]["weight"],
            particles=tables["particles"],
        )
        tracks = exatrkx.find_tracks(self.model, event, self.context)
        self.assertTrue(np.array_equal(tracks.labels, self.tracks.labels))
        for name in ("particle_ids", "cell_features", "particles"):
            same = getattr(event, name) == getattr(self.event, name)
            self.assertTrue(same.all(), name)
        self.assertEqual(
            exatrkx.evaluate(event, tracks), exatrkx.evaluate(self.event, self.tracks)
        )
        given = exatrkx.Event.from_arrays(
            self.event.positions, cell_features=self.event.cell_features
        )
        self.assertTrue((given.cell_features == event.cell_features).all())

    def test_refused(self) -> None:
        points = np.zeros((2, 3), "f4")
        make = exatrkx.Event.from_arrays
        for error, arguments in [
            (ValueError, {"positions": np.zeros((3, 2))}),
            (ValueError, {"positions": points, "hit_ids": [1, 2, 3]}),
            (TypeError, {"positions": points, "hit_ids": [1.5, 2.5]}),
            (TypeError, {"positions": np.array([["a"] * 3])}),
            (ValueError, {"positions": points, "modules": [[2**40, 1]] * 3}),
            (ValueError, {"positions": points, "particle_ids": [0, 0]}),
            (ValueError, {"positions": points, "weights": [0.5, 0.5]}),
            (ValueError, {"positions": points, "cells": ([0], [0], [0], [1.0])}),
            (exatrkx.ArgumentError, {"positions": points, "hit_ids": [1, 1]}),
        ]:
            with self.subTest(arguments), self.assertRaises(error):
                make(**arguments)
        with self.assertRaises(ValueError):
            exatrkx.Event.from_trackml()

    def test_refused_by_name(self) -> None:
        """The text names the argument."""
        points, truth = np.zeros((2, 3), "f4"), {"particle_ids": [0, 0]}
        cells = {"cells": ([0], [0], [0], [1.0]), "detector": self.detector}
        for error, text, arguments in [
            (ValueError, "modules: 2 arrays, expected volume, layer", {"modules": [[1, 1]] * 2}),
            (ValueError, "cells: 3 arrays", cells | {"cells": ([0], [0], [0])}),
            (ValueError, "cells and cell_features", cells | {"cell_features": np.zeros((2, 9))}),
            (ValueError, "shared_hits: 1 arrays", {"shared_hits": [[1]]}),
            (ValueError, "particles: no column vx", truth | {"particles": {"particle_id": []}}),
            (TypeError, "particles: no column", truth | {"particles": [1, 2]}),
            (ValueError, "hit_ids: setting an array", {"hit_ids": [[1], [1, 2]]}),
        ]:
            with self.subTest(text), self.assertRaisesRegex(error, text):
                exatrkx.Event.from_arrays(points, **arguments)

    def test_single_files(self) -> None:
        """With hits, files that need others are refused without them."""
        files = {
            kind: f"{EVENT}-{kind}.csv.gz"
            for kind in ("hits", "cells", "truth", "particles")
        }
        read = exatrkx.Event.from_trackml
        event = read(**files, detector=self.detector)
        self.assertTrue(event.has_truth)
        self.assertTrue((event.cell_features == self.event.cell_features).all())
        hits = files["hits"]
        self.assertFalse(read(hits=hits).has_truth)
        for kind in ("truth", "particles"):
            with self.assertRaisesRegex(ValueError, "truth and particles"):
                read(hits=hits, **{kind: files[kind]})
        with self.assertRaisesRegex(ValueError, "cells: need a detector"):
            read(hits=hits, cells=files["cells"])

    def test_device(self) -> None:
        """What lies on a GPU is refused by where it says it lies; its memory
        is not looked at, so a pointer to nowhere will do."""

        class ByDLPack:
            def __dlpack_device__(self) -> tuple[int, int]:
                return (2, 0)  # kDLCUDA, the first one

            def __dlpack__(self, **_: object) -> object:
                raise AssertionError("its memory was requested")

        class ByInterface:
            @property
            def __cuda_array_interface__(self) -> dict[str, object]:
                points = {"shape": (2, 3), "typestr": "<f4", "version": 3}
                return {**points, "data": (0xDEAD0000, True)}

        for array in (ByDLPack(), ByInterface()):
            with self.assertRaisesRegex(TypeError, "copy it to the CPU"):
                exatrkx.Event.from_arrays(array)

    def test_graph_on_host(self) -> None:
        """Edges of a graph say that they lie on the CPU."""
        graph = exatrkx.Graph.from_edges(3, [0, 1], [1, 2], [0.5, 0.9])
        for array in (graph.src, graph.dst, graph.offsets, graph.scores):
            self.assertEqual(array.__dlpack_device__()[0], 1)
            self.assertFalse(hasattr(array, "__cuda_array_interface__"))

    def test_masked(self) -> None:
        """A mask is not lost; without masked values it says nothing."""
        values = np.ma.masked_array(np.ones((2, 3)), mask=[[0, 0, 0], [0, 1, 0]])
        with self.assertRaisesRegex(ValueError, "positions: has masked values"):
            exatrkx.Event.from_arrays(values)
        whole = np.ma.masked_array(np.ones((2, 3)))
        self.assertEqual(len(exatrkx.Event.from_arrays(whole)), 2)

    def test_exact(self) -> None:
        """Numbers are converted only where they stay what they are."""
        large = np.array([2**63 + 5], "u8")
        with self.assertRaisesRegex(ValueError, "do not fit"):
            _arrays.array("ids", large, "i8", -1)
        kept = _arrays.array("ids", np.array([7], "u8"), "i8", -1)
        self.assertEqual(kept.tolist(), [7])
        value = np.arange(6, dtype="f4").reshape(2, 3)
        self.assertIs(_arrays.array("x", value, "f4", -1, 3), value)

    def test_imports_none_of_them(self) -> None:
        code = (
            f"import sys; sys.path.insert(0, {str(PACKAGE)!r});"
            "import exatrkx; exatrkx.Event.from_arrays([[0., 0., 1.]]);"
            "print([m for m in ('torch', 'pandas', 'awkward', 'matplotlib')"
            " if m in sys.modules])"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        self.assertEqual(done.stdout.strip(), "[]")
