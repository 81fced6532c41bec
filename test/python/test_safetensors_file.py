"""test_safetensors_file -- the files of models, written and read in Python.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from convert_case import ConvertCase

from exatrkx.files import safetensors


class TestSafetensors(ConvertCase):
    def test_round_trip(self) -> None:
        tensors = {
            "b": np.arange(6, dtype="f4").reshape(2, 3),
            "a": np.array([1, 2], "u1"),
            "c": np.array(7, "i8"),
            "none": np.zeros((0, 4), "f4"),
        }
        path = self.path("t")
        safetensors.write(path, tensors, {"key": 'caf\u00e9 "\\'})
        found, metadata = safetensors.read(path)
        self.assertEqual(list(found), sorted(tensors))
        for name, value in tensors.items():
            self.assertTrue(np.array_equal(found[name], value))
            self.assertEqual(found[name].dtype, value.dtype)
            self.assertEqual(found[name].shape, value.shape)
        self.assertEqual(metadata, {"key": 'caf\u00e9 "\\'})
        self.assertEqual(os.listdir(self.folder), ["t"])

    def test_every_prefix_is_refused(self) -> None:
        data = safetensors.dump({"a": np.ones(3, "f4")}, {"k": "v"})
        for n in range(len(data)):
            with self.assertRaises(safetensors.FormatError):
                safetensors.parse(data[:n])

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
            with self.subTest(header), self.assertRaises(safetensors.FormatError):
                safetensors.parse(data + bytes(n_data))

    def test_writing_keeps_links_and_pipes(self) -> None:
        """What a link names is replaced; a pipe is written to."""
        tensors = {"a": np.ones(3, "f4")}
        expected = safetensors.dump(tensors, {})
        target, link, pipe = (Path(self.folder, n) for n in ("to", "link", "pipe"))
        link.symlink_to(target)
        for _ in range(2):  # a link to nothing, and to a file
            safetensors.write(str(link), tensors, {})
            self.assertTrue(link.is_symlink())
            self.assertEqual(target.read_bytes(), expected)
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        safetensors.write(str(pipe), tensors, {})
        self.assertTrue(pipe.is_fifo())
        self.assertEqual(os.read(reader, 1000), expected)
        self.assertEqual(len(os.listdir(self.folder)), 3)
        with self.assertRaises(OSError) as raised:
            safetensors.write(str(Path(self.folder, "no", "file")), tensors, {})
        self.assertIn("file", str(raised.exception))

    def test_dtype(self) -> None:
        with self.assertRaises(safetensors.FormatError):
            safetensors.dump({"a": np.zeros(1, "f8")}, {})
