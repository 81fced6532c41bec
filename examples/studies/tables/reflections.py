"""reflections -- training with mirrored events against training without.

    python -m tables.reflections --data DIR --validation DIR

A reflection in x or y turns a track into one of the opposite charge in the same
field, one in z is a symmetry of the detector (docs/training.md). Few events
are trained on, so that what mirroring adds can show.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import sys

from .training import Variants, main_of


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

main = main_of("reflections", VARIANTS, events=1, steps=1000, edges=3000, seeds=3)

if __name__ == "__main__":
    sys.exit(main())
