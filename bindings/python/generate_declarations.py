"""generate_declarations -- the interface of C for Python.

    python3 bindings/python/generate_declarations.py

(`make declarations`) writes exatrkx/_declarations.py from the public headers,
and exatrkx/_options.py, the dataclasses of options, from them and the defaults
in src/stage/options.c. Reads the small part of C that these files are written
in and refuses anything else, so a declaration is either translated or an
error. The tests compare the results with the files in the repository, and the
structs with what the compiler makes of the headers.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include" / "exatrkx"
OPTIONS_C = HERE.parents[1] / "src" / "stage" / "options.c"
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

Written by generate_declarations.py from include/exatrkx/*.h; change those.

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


OPTIONS_HEAD = '''"""_options -- options of calls, as dataclasses.

Written by generate_declarations.py from include/exatrkx/*.h and
src/stage/options.c; change those.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import ctypes
import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar

from . import _declarations, _library
from ._context import choose


class Options:
    """Fields of an options struct of the library."""

    _struct: ClassVar[type[ctypes.Structure]]
    _choices: ClassVar[dict[str, dict[str, int]]] = {}  # numbers by name

    def _filled(self) -> ctypes.Structure:
        values = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)  # type: ignore[arg-type]
        }
        for name, table in self._choices.items():
            values[name] = choose(name, values[name], table)
        return _library.defaults(self._struct, **values)
'''

# Structs that Python has as a class; the others are arguments of functions.
CLASSES = ("label", "completion", "first_pass", "module_map", "fit")
# Not fields of the class: the shape of an array is of the array.
SHAPES = ("n_r", "n_z", "reserved")


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
        lines += ["FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {", *self.functions, "}", ""]
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


def presets(text: str) -> dict[str, dict[str, tuple[str, str, str]]]:
    """By struct and field: default, lowest and highest value, as options.c has
    them."""
    found: dict[str, dict[str, tuple[str, str, str]]] = {}
    for block in re.findall(
        r"^#define S (.*?)^#undef S", text, re.MULTILINE | re.DOTALL
    ):
        struct, body = block.split("\n", 1)
        found[struct] = {}
        for name, rest in re.findall(
            r"\w*FIELD\w*\(S, (\w+),\s*([^()]*?)\)", body, re.DOTALL
        ):
            preset, low, high = re.split(r",\s*", rest)[:3]
            found[struct][name] = preset, low, high
    return found


def commented(
    text: str, struct: str
) -> tuple[str, list[tuple[str, str, str]]]:
    """The comment of a struct, and type, name and comment of its fields."""
    found = re.search(
        r"/\*((?:(?!\*/).)*)\*/\s*typedef struct " + struct + r" \{(.*?)\}",
        text,
        re.DOTALL,
    )
    if found is None:
        raise Unknown(struct)
    body = re.sub(
        r"^\s*/\*.*?\*/", "", found[2], flags=re.MULTILINE | re.DOTALL
    )
    fields = re.findall(
        r"([\w ]+[ *]+)(\w+);[ \n]*(?:/\*(.*?)\*/)?", body, re.DOTALL
    )
    return plain(found[1]), [(t.strip(), n, plain(c)) for t, n, c in fields]


def plain(comment: str) -> str:
    """The text of a comment of several lines."""
    return " ".join(comment.replace("\n *", "\n").replace("*", "").split())


def options_field(
    kind: str,
    comment: str,
    preset: tuple[str, str, str],
    names: dict[str, str],
) -> tuple[str, str, str]:
    """Type and default in Python, and the prefix of its constants or ''."""
    if kind.endswith("*"):
        return "Any", "None", ""
    if found := re.match(r"(ETX_\w+_);", comment):
        name = preset[0].removeprefix(found[1]).lower()
        return "str", f'"{name}"', found[1]
    if kind == "float":
        return "float", str(float(preset[0].rstrip("f"))), ""
    if preset[1:] == ("0", "1"):
        return "bool", str(preset[0] == "1"), ""
    return "int", names.get(preset[0], preset[0]), ""


def options_class(
    name: str,
    text: str,
    table: dict[str, tuple[str, str, str]],
    numbers: list[str],
) -> list[str]:
    """The lines of a dataclass."""
    struct = f"etx_{name}_options"
    about, fields = commented(text, struct)
    if [field for _, field, _ in fields[1:]] != list(table):
        raise Unknown(f"{struct}: other fields than in {OPTIONS_C.name}")
    title = "".join(part.capitalize() for part in name.split("_"))
    names = dict(one.split(" = ") for one in numbers)
    lines = [
        "",
        "",
        "@dataclass(frozen=True, kw_only=True)",
        f"class {title}Options(Options):",
    ]
    lines += textwrap.wrap(
        f'"""{about}"""', 79, initial_indent="    ", subsequent_indent="    "
    )
    lines += ["", f"    _struct = _declarations.{struct}"]
    body = []
    for kind, field, comment in fields[1:]:
        if field in SHAPES:
            continue
        python, value, prefix = options_field(
            kind, comment, table[field], names
        )
        if prefix:
            chosen = [n for n in names if n.startswith(prefix)]
            keys = [n.removeprefix(prefix).lower() for n in chosen]
            comment = f"{', '.join(keys[:-1])} or {keys[-1]}"
            lines += ["    _choices: ClassVar[dict[str, dict[str, int]]] = {", f'        "{field}": {{']
            lines += [
                f'            "{key}": _declarations.{n},'
                for key, n in zip(keys, chosen)
            ]
            lines += ["        }", "    }"]
        body += textwrap.wrap(
            comment, 79, initial_indent="    # ", subsequent_indent="    # "
        )
        body.append(f"    {field}: {python} = {value}")
    return [*lines, "", *body]


def generate_options(include: Path = INCLUDE, table: Path = OPTIONS_C) -> str:
    """The text of _options.py."""
    text = "\n".join(path.read_text() for path in sorted(include.glob("*.h")))
    found = presets(table.read_text())
    lines = [OPTIONS_HEAD.rstrip("\n")]
    for name in CLASSES:
        lines += options_class(
            name, text, found[f"etx_{name}_options"], constants_of(text)
        )
    return "\n".join(lines) + "\n"


def constants_of(text: str) -> list[str]:
    """constants, of a text with comments."""
    return constants(re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL))


def generate(include: Path = INCLUDE) -> str:
    """The text of _declarations.py."""
    interface = Interface()
    others = {path.name for path in include.glob("*.h")} - set(FIRST + OTHERS)
    for name in (*FIRST, *sorted(others)):
        interface.read((include / name).read_text())
    return interface.text()


if __name__ == "__main__":
    package = HERE / "exatrkx"
    (package / "_declarations.py").write_text(generate())
    (package / "_options.py").write_text(generate_options())
