# Copyright libexatrkx developers. SPDX-License-Identifier: Apache-2.0
"""Recipe for Spack: copy it to a repository's packages/libexatrkx/."""

from spack_repo.builtin.build_systems.makefile import MakefilePackage

from spack.package import *


class Libexatrkx(MakefilePackage):
    """Track finding by machine learning at the LHC, as a C library."""

    homepage = "https://arxiv.org/abs/2103.06995"  # the method
    git = "https://example.org/libexatrkx.git"  # set it to your copy

    license("Apache-2.0")

    version("main", branch="main")

    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("zlib-api")

    build_targets = ["all"]

    @property
    def install_targets(self):
        return ["install", f"PREFIX={self.prefix}"]
