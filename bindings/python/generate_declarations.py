"""generate_declarations -- exatrkx/_declarations.py from the public headers.

    python3 bindings/python/generate_declarations.py > \\
        bindings/python/exatrkx/_declarations.py

(`make declarations`). Reads the small part of C that include/exatrkx/*.h are
written in and refuses anything else, so a declaration is either translated or
an error. The tests compare the result with the file in the repository, and
its structs with what the compiler makes of the headers.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

INCLUDE = Path(__file__).resolve().parents[2] / "include" / "exatrkx"
FIRST = ("version.h", "exatrkx.h")  # what the other headers include
OTHERS = ("dist.h",)  # of libraries that the package does not load

# C types of the interface; pointers to data travel as addresses.
SCALARS = {
    "void": "None",
    "char": "c.c_char",
    "float": "c.c_float",
    "double": "c.c_double",
    "size_t": "c.c_size_t",
    "etx_status": "c.c_int32",
    **{
        f"{sign}int{bits}_t": f"c.c_{sign}int{bits}"
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
}

# Of arguments, which ctypes would cut to their width without a word.
CHECKED = {f"c.c_int{bits}": f"Int{bits}" for bits in (32, 64)}

HEAD = '''"""_declarations -- the C interface of libexatrkx for ctypes.

Made by generate_declarations.py from include/exatrkx/*.h; change those.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes as c
import operator
from typing import Any


class Opaque(c.c_void_p):
    """An object of the library; calls take none of another kind for it."""

    @classmethod
    def from_param(cls, value: Any) -> Any:
        given = getattr(value, "_as_parameter_", value)
        if given is None or isinstance(given, cls):
            return given
        raise TypeError(
            f"expected an {cls.__name__}, not {type(given).__name__}"
        )


def whole(value: Any, bits: int) -> int:
    """value as int; OverflowError where that many bits do not hold it."""
    number = operator.index(value)
    if not -(2 ** (bits - 1)) <= number < 2 ** (bits - 1):
        raise OverflowError(f"{number} does not fit in {bits} bits")
    return number


class Int32(c.c_int32):
    """An argument: any whole number that 32 bits hold."""

    @classmethod
    def from_param(cls, value: Any) -> Any:
        return cls(whole(value, 32))


class Int64(c.c_int64):
    """An argument: any whole number that 64 bits hold."""

    @classmethod
    def from_param(cls, value: Any) -> Any:
        return cls(whole(value, 64))


'''


class Unknown(Exception):
    """A declaration that this script does not understand."""


class Interface:
    """What the headers declare, as lines of Python."""

    def __init__(self) -> None:
        self.constants: list[str] = []
        self.structs: dict[str, list[str]] = {}
        self.functions: list[str] = []
        self.opaque: set[str] = set()

    def read(self, text: str) -> None:
        """Add the declarations of one header."""
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
        self.constants += constants(text)
        text = re.sub(r"^\s*#.*(\\\n.*)*$", "", text, flags=re.MULTILINE)
        text = re.sub(r'extern "C" \{|\bETX_MUST_CHECK\b', " ", text)
        for statement in statements(text):
            self.declare(" ".join(statement.split()))

    def declare(self, statement: str) -> None:
        """Add one typedef or function."""
        if found := re.fullmatch(r"typedef struct (\w+) \1", statement):
            self.opaque.add(found[1])
        elif found := re.fullmatch(
            r"typedef struct (\w+) \{(.*)\} \1", statement
        ):
            self.structs[found[1]] = self.fields(found[2])
        elif found := re.fullmatch(r"ETX_API (.*?)(\w+)\((.*)\)", statement):
            result, name, parameters = found.groups()
            types = [self.type_of(p, True) for p in parameter_list(parameters)]
            types = [CHECKED.get(one, one) for one in types]
            result_type = self.type_of(result + " f", True)
            self.functions += wrapped(name, result_type, types)
        elif statement not in ("}", "typedef int32_t etx_status"):
            raise Unknown(statement)

    def fields(self, body: str) -> list[str]:
        """Lines of _fields_ of a struct."""
        lines = []
        for field in filter(None, (part.strip() for part in body.split(";"))):
            first, *others = field.split(", ") if "(" not in field else [field]
            for name in (first, *others):
                whole = name if name is first else base_of(first) + name
                label = re.search(r"(\w+)\s*(?:\[\w+\]|\)\(.*\))?$", whole)
                if label is None:
                    raise Unknown(whole)
                kind = self.type_of(whole, False)
                lines.append(f'        ("{label[1]}", {kind}),')
        return lines

    def type_of(self, declaration: str, is_parameter: bool) -> str:
        """The ctypes type of `const int32_t *name`, `float name[3]`, ..."""
        text = re.sub(r"\bconst\b", " ", declaration).strip()
        if found := re.fullmatch(r"(.*?)\(\*\w+\)\((.*)\)", text):
            types = [found[1] + " f", *parameter_list(found[2])]
            inner = ", ".join(self.type_of(t, True) for t in types)
            return f"c.CFUNCTYPE({inner})"
        found = re.fullmatch(
            r"(\w+)\s*(\*[*\s]*)?(\w+)?\s*(?:\[(\w+)\])?", text
        )
        if found is None:
            raise Unknown(declaration)
        base, stars, _, size = found.groups()
        if base not in SCALARS and base not in self.structs | dict.fromkeys(
            self.opaque
        ):
            raise Unknown(declaration)
        if stars or (size and is_parameter):
            if base in self.opaque and stars.strip() == "*" and is_parameter:
                return base
            is_text = base == "char" and stars.strip() == "*"
            return "c.c_char_p" if is_text else "c.c_void_p"
        return SCALARS.get(base, base) + (f" * {size}" if size else "")

    def text(self) -> str:
        """The module."""
        lines = [HEAD + "\n".join(self.constants)]
        for name in sorted(self.opaque):
            lines += ["", "", f"class {name}(Opaque):", "    pass"]
        for name, fields in self.structs.items():
            lines += ["", "", f"class {name}(c.Structure):"]
            lines += ["    _fields_ = [", *fields, "    ]"]
        lines += ["", "", "STRUCTS = ("]
        lines += [f"    {name}," for name in self.structs]
        lines += [
            ")",
            "",
            "# Name: type of the result, types of the arguments.",
        ]
        lines += ["FUNCTIONS = {", *self.functions, "}", ""]
        return "\n".join(lines)


def wrapped(name: str, result: str, arguments: list[str]) -> list[str]:
    """An entry of FUNCTIONS in lines of 80."""
    line = f'    "{name}": ({result}, [{", ".join(arguments)}]),'
    if len(line) < 80:
        return [line]
    inside = textwrap.fill(
        ", ".join(arguments) + ",",
        79,
        initial_indent=" " * 8,
        subsequent_indent=" " * 8,
    )
    return [f'    "{name}": ({result}, [', inside, "    ]),"]


def base_of(declaration: str) -> str:
    """The type in front of the first of several names."""
    return declaration.split()[0] + " "


def constants(text: str) -> list[str]:
    """NAME = value of the macros that are numbers."""
    found = re.findall(
        r"^#define (ETX_\w+) +(?:\((-?\d+)\)|(-?\d+))\s*$", text, re.MULTILINE
    )
    return [f"{name} = {inside or plain}" for name, inside, plain in found]


def statements(text: str) -> list[str]:
    """What ends with a semicolon outside of braces."""
    found, depth, current = [], 0, ""
    for letter in text:
        depth += (letter == "{") - (letter == "}")
        if letter == ";" and depth <= 0:
            found.append(current.strip(" \n"))
            current = ""
        else:
            current += letter
    return [s for s in [*found, current.strip()] if s]


def parameter_list(text: str) -> list[str]:
    """Split at the commas outside of parentheses; none for void."""
    if text.strip() in ("", "void"):
        return []
    return [p.strip() for p in re.split(r",(?![^(]*\))", text)]


def generate(include: Path = INCLUDE) -> str:
    """The text of _declarations.py."""
    interface = Interface()
    others = {path.name for path in include.glob("*.h")} - set(FIRST + OTHERS)
    for name in (*FIRST, *sorted(others)):
        interface.read((include / name).read_text())
    return interface.text()


if __name__ == "__main__":
    sys.stdout.write(generate())
