"""test_safetensors_file -- the files of models, written and read in Python.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os

import numpy as np
from convert_case import ConvertCase

from exatrkx import safetensors_file


class TestSafetensors(ConvertCase):
    def test_round_trip(self) -> None:
        tensors = {
            "b": np.arange(6, dtype="f4").reshape(2, 3),
            "a": np.array([1, 2], "u1"),
            "c": np.array(7, "i8"),
            "none": np.zeros((0, 4), "f4"),
        }
        path = self.path("t")
        safetensors_file.write(path, tensors, {"key": 'caf\u00e9 "\\'})
        found, metadata = safetensors_file.read(path)
        self.assertEqual(list(found), sorted(tensors))
        for name, value in tensors.items():
            self.assertTrue(np.array_equal(found[name], value))
            self.assertEqual(found[name].dtype, value.dtype)
            self.assertEqual(found[name].shape, value.shape)
        self.assertEqual(metadata, {"key": 'caf\u00e9 "\\'})
        self.assertEqual(os.listdir(self.folder), ["t"])

    def test_every_prefix_is_refused(self) -> None:
        data = safetensors_file.dump({"a": np.ones(3, "f4")}, {"k": "v"})
        for n in range(len(data)):
            with self.assertRaises(safetensors_file.FormatError):
                safetensors_file.parse(data[:n])

    def test_refused(self) -> None:
        entry = '"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'
        for header, n_data in [
            ("[]", 0),
            ("{" + entry + "," + entry + "}", 4),
            ("{" + entry + "}", 5),
            ("{" + entry.replace("F32", "F16") + "}", 4),
            ("{" + entry.replace("[1]", "[-1]") + "}", 4),
            ("{" + entry.replace("[1]", "[2]") + "}", 4),
            ("{" + entry.replace("[0,4]", "[0]") + "}", 4),
            ("{" + entry.replace("[0,4]", "[4,8]") + "}", 8),
            ('{"__metadata__":{"a":1}}', 0),
        ]:
            data = len(header).to_bytes(8, "little") + header.encode()
            with self.subTest(header), self.assertRaises(safetensors_file.FormatError):
                safetensors_file.parse(data + bytes(n_data))

    def test_dtype(self) -> None:
        with self.assertRaises(safetensors_file.FormatError):
            safetensors_file.dump({"a": np.zeros(1, "f8")}, {})
