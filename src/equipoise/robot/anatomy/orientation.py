"""Which way is up and which way forward, in the axes of the root link."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import RobotFileError
from equipoise.robot.anatomy.skeleton import Path, Skeleton
from equipoise.robot.parts import Side

# A direction this near to an axis of the root link is meant to be that axis: hips
# of real files are a hair out of line.
SNAP = np.cos(np.radians(10.0))
COINCIDE = 1e-6


@dataclass(frozen=True, eq=False)
class Orientation:
    """Directions in base axes, unit vectors of shape (3,), at right angles."""

    up: Array
    forward: Array

    @property
    def left(self) -> Array:
        """The direction to the left."""
        return np.cross(self.up, self.forward)

    @property
    def rotation_base_to_world(self) -> Array:
        """Attitude of a base that is upright and faces x, shape (3, 3)."""
        return np.array([self.forward, self.left, self.up])


def find_orientation(
    skeleton: Skeleton,
    legs: Mapping[Side, Path],
    given_forward: Array | None,
    source: str,
) -> Orientation:
    """Return up, as the skeleton has it, and the walking direction.

    Forward is what is given, or across the line from hip to hip, or the level axis
    of the root link that comes first.

    Args:
        skeleton: The tree, with its direction of up.
        legs: Path of each leg.
        given_forward: Forward in base axes, or None.
        source: Where that was given, for messages.

    Raises:
        RobotFileError: If the given direction is along up.
    """
    up = skeleton.up
    if given_forward is not None:
        forward = given_forward - up * float(given_forward @ up)
        if np.linalg.norm(forward) < COINCIDE:
            raise RobotFileError(
                f"{source}: orientation.forward must not point along up"
            )
    else:
        forward = _across_the_hips(skeleton, legs)
    return Orientation(up, np.asarray(forward / np.linalg.norm(forward)))


def _across_the_hips(skeleton: Skeleton, legs: Mapping[Side, Path]) -> Array:
    first_level_axis = np.eye(3)[sorted(skeleton.level_axes())[0]]
    if len(legs) != 2:
        return np.asarray(first_level_axis)
    hips = [skeleton.positions[legs[side][0]] for side in ("left", "right")]
    forward = np.cross(hips[0] - hips[1], skeleton.up)
    if np.linalg.norm(forward) < COINCIDE:  # one hip above the other, or planar
        return np.asarray(first_level_axis)
    forward /= np.linalg.norm(forward)
    axis = np.round(forward)
    return np.asarray(axis if float(forward @ axis) > SNAP else forward)
