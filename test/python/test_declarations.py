"""test_declarations -- the ctypes declarations match the headers.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from support import PACKAGE, ROOT

CC = os.environ.get("CC", "cc").split()


def generator():
    """The script as a module."""
    path = PACKAGE / "generate_declarations.py"
    spec = importlib.util.spec_from_file_location("generator", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def layout_program(structs: tuple) -> str:
    """C that prints size of a struct, then offset and size of its fields."""
    lines = []
    for struct in structs:
        name = struct.__name__
        lines.append(f'printf("%zu\\n", sizeof({name}));')
        for field, *_ in struct._fields_:
            lines.append(
                f'printf("%zu %zu\\n", offsetof({name}, {field}), '
                f"sizeof((({name} *)0)->{field}));"
            )
    headers = sorted((ROOT / "include" / "exatrkx").glob("*.h"))
    includes = "".join(f"#include <exatrkx/{h.name}>\n" for h in headers)
    body = "\n".join(lines)
    return f"#include <stdio.h>\n{includes}int main(void){{\n{body}\n}}\n"


def ctypes_layout(structs: tuple) -> list[str]:
    """The same lines from ctypes."""
    lines = []
    for struct in structs:
        lines.append(str(ctypes.sizeof(struct)))
        for field, *_ in struct._fields_:
            member = getattr(struct, field)
            lines.append(f"{member.offset} {member.size}")
    return lines


class TestDeclarations(unittest.TestCase):
    def test_up_to_date(self) -> None:
        for name, text in (
            ("_declarations.py", generator().generate()),
            ("_options.py", generator().generate_options()),
        ):
            with self.subTest(name):
                path = PACKAGE / "exatrkx" / name
                self.assertEqual(text, path.read_text(), "run make declarations")

    def test_options(self) -> None:
        """The defaults of the dataclasses are the library's."""
        import exatrkx

        for name in generator().CLASSES:
            title = "".join(part.capitalize() for part in name.split("_"))
            options = getattr(exatrkx, f"{title}Options")()
            struct = type(options)._struct
            default = struct()
            size = ctypes.sizeof(struct)
            init = getattr(exatrkx._library.library, f"{struct.__name__}_init")
            self.assertEqual(init(ctypes.byref(default), size), 0)
            self.assertEqual(bytes(options._filled()), bytes(default), name)

    def test_every_symbol(self) -> None:
        from exatrkx import _declarations

        text = (ROOT / "lib" / "exatrkx.map").read_text()
        listed = {
            line.strip(" ;\n")
            for line in text.splitlines()
            if line.strip().startswith("etx_")
        }
        self.assertEqual(set(_declarations.FUNCTIONS), listed)

    @unittest.skipUnless(shutil.which(CC[0]), f"no {CC[0]}")
    def test_layout(self) -> None:
        from exatrkx._declarations import STRUCTS

        self.assertGreater(len(STRUCTS), 5)
        with tempfile.TemporaryDirectory() as folder:
            source, program = Path(folder) / "layout.c", Path(folder) / "layout"
            source.write_text(layout_program(STRUCTS))
            subprocess.run(
                [*CC, f"-I{ROOT / 'include'}", source, "-o", program], check=True
            )
            printed = subprocess.run(
                [program], check=True, capture_output=True, text=True
            ).stdout
        self.assertEqual(ctypes_layout(STRUCTS), printed.splitlines())

    def test_refused(self) -> None:
        """What the script does not understand is an error, never skipped."""
        module = generator()
        for text in (
            "typedef union etx_a { int32_t x; } etx_a;",
            "ETX_API long etx_f(void);",
            "ETX_API int32_t etx_f(etx_unknown *x);",
            "typedef struct etx_a { int32_t x : 3; } etx_a;",
            "int32_t etx_f(void);",
        ):
            with self.subTest(text), self.assertRaises(module.Unknown):
                module.Interface().read(text)
