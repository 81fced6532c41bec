"""reflections -- training with mirrored events against training without.

    python -m tables.reflections --data DIR --validation DIR

A reflection in x or y turns a track into one of the opposite charge in the same
field, one in z is a symmetry of the detector (docs/training.md). Few events
are trained on, so that what mirroring adds can show.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .training import Variants, parse, run


def reflections(*axes: str) -> dict[str, dict[str, bool]]:
    """The augmentation of these axes and no other."""
    return {"augmentation": {f"reflect_{axis}": axis in axes for axis in "xyz"}}


VARIANTS: Variants = {
    "none": reflections(),
    "x": reflections("x"),
    "y": reflections("y"),
    "z": reflections("z"),
    "x, y, z": reflections("x", "y", "z"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(
        arguments, "reflections", events=1, steps=1000, edges=3000, seeds=2
    )
    print(run(options, VARIANTS), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
