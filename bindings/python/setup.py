"""setup -- a wheel with library, programs, models, configs, a detector and an event.

`make wheel` builds library and programs, so the C sources must be at hand: in the
repository around this folder, or the copy in native/ of a source distribution. Everything else is in pyproject.toml.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

HERE = Path(__file__).resolve().parent
NATIVE = HERE / "native"
CUDA = os.environ.get("CUDA") == "1"  # read by make, too
LIBRARY = "build/cuda/lib/libexatrkx.so.0" if CUDA else "lib/libexatrkx.so.0"
PROGRAMS = "build/cuda/wheel" if CUDA else "build/wheel"
SOURCES = (
    "Makefile",
    "LICENSE",
    "include",
    "src",
    "cuda",
    "lib/exatrkx.map",
    "lib/glibc_names.c",
)
EVENT = "examples/data/event000000001"
CARRIED = {
    "models": [
        f"examples/models/{name}.safetensors"
        for name in ("default", "accurate", "positions", "chain", "pixels", "odd")
    ],
    "configs": [
        f"examples/configs/{name}.json"
        for name in ("embedding", "filter", "gnn", "filter_further", "gnn_further")
    ],
    "data": [
        "examples/data/detectors.csv.gz",
        *(
            f"{EVENT}-{kind}.csv.gz"
            for kind in ("hits", "cells", "truth", "particles")
        ),
    ],
}
NEEDED = "a C compiler, make, and the headers of zlib (README.md)"
NEEDED += ", and the CUDA 13 toolkit" if CUDA else ""


def repository() -> Path:
    """Where the C sources are."""
    for folder in (NATIVE, HERE.parents[1]):
        if (folder / "Makefile").exists() and (folder / "src").is_dir():
            return folder
    raise SystemExit(
        f"no C sources in {NATIVE} or {HERE.parents[1]}: build from the "
        "repository or from a source distribution"
    )


def sources(root: Path) -> list[str]:
    """What `make wheel` needs, and what is carried, in the folder of the sources."""
    programs = sorted(root.glob("examples/*.[ch]"))
    names = [str(path.relative_to(root)) for path in programs]
    return [*SOURCES, *names, *(path for some in CARRIED.values() for path in some)]


def build_native(root: Path) -> None:
    """Run make; it does nothing where library and programs are up to date."""
    jobs = os.environ.get("ETX_JOBS", str(len(os.sched_getaffinity(0))))
    command = ["make", "-C", str(root), f"-j{jobs}", "wheel"]
    try:
        subprocess.run(command, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        reason = f"{str(error).rstrip('.')}. Building the library needs {NEEDED}"
        raise SystemExit(f"exatrkx: {reason}") from None


def strip(files: list[Path]) -> None:
    """Without the symbols of debuggers, a ninth of the size."""
    program = os.environ.get("STRIP", "strip")
    if shutil.which(program):
        subprocess.run([program, "--strip-unneeded", *files], check=True)


class BuildWithLibrary(build_py):
    """Adds library, programs and their data to the package that is built."""

    def run(self) -> None:
        super().run()
        root = repository()
        build_native(root)
        package = Path(self.build_lib) / "exatrkx"
        names = sorted(path.stem for path in root.glob("examples/etx-*.c"))
        programs = [f"{PROGRAMS}/{name}" for name in names]
        carried = {"lib": [LIBRARY], "bin": programs, **CARRIED}
        for where, files in carried.items():
            (package / where).mkdir(parents=True, exist_ok=True)
            for file in files:
                shutil.copy(root / file, package / where)
        strip([*package.glob("lib/*"), *package.glob("bin/*")])


class SourceWithLibrary(sdist):
    """Adds what build_native needs, as native/."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        root, native = repository(), Path(base_dir) / "native"
        for name in sources(root):
            source, target = root / name, native / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target)
            else:
                shutil.copy(source, target)


class PlatformWheel(bdist_wheel):
    """py3-none-linux_x86_64: compiled code, but none that is Python's."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self) -> tuple[str, str, str]:
        return ("py3", "none", super().get_tag()[2])


class WithLibrary(Distribution):
    """Has compiled code, so it goes where compiled code goes."""

    def has_ext_modules(self) -> bool:
        return True


setup(
    distclass=WithLibrary,
    cmdclass={
        "bdist_wheel": PlatformWheel,
        "build_py": BuildWithLibrary,
        "sdist": SourceWithLibrary,
    },
)
