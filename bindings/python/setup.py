"""setup -- a wheel that carries the library, the model and the detector.

`make lib/libexatrkx.so.0` builds the library, so the C sources must be at
hand: in the repository around this folder, or the copy in native/ of a
source distribution. Everything else is in pyproject.toml.

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
LIBRARY = "libexatrkx.so.0"
SOURCES = (
    "Makefile",
    "LICENSE",
    "include",
    "src",
    "lib/exatrkx.map",
    "lib/glibc_names.c",
)
CARRIED = {
    "models": "examples/models/default.safetensors",
    "data": "examples/data/detectors.csv.gz",
}


def repository() -> Path:
    """Where the C sources are."""
    for folder in (NATIVE, HERE.parents[1]):
        if (folder / "Makefile").exists() and (folder / "src").is_dir():
            return folder
    raise SystemExit(
        f"no C sources in {NATIVE} or {HERE.parents[1]}: build from the "
        "repository or from a source distribution"
    )


def build_library(root: Path) -> Path:
    """Run make; it does nothing where the library is up to date."""
    jobs = os.environ.get("ETX_JOBS", str(len(os.sched_getaffinity(0))))
    target = f"lib/{LIBRARY}"
    subprocess.run(["make", "-C", str(root), f"-j{jobs}", target], check=True)
    return root / target


class BuildWithLibrary(build_py):
    """Adds the library and its data to the package that is built."""

    def run(self) -> None:
        super().run()
        root = repository()
        package = Path(self.build_lib) / "exatrkx"
        carried = {"lib": build_library(root)}
        carried |= {where: root / file for where, file in CARRIED.items()}
        for where, file in carried.items():
            (package / where).mkdir(parents=True, exist_ok=True)
            shutil.copy(file, package / where / file.name)


class SourceWithLibrary(sdist):
    """Adds what build_library needs, as native/."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        root, native = repository(), Path(base_dir) / "native"
        for name in (*SOURCES, *CARRIED.values()):
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
