"""Surroundings of a robot: the ground, walls and boxes, to look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from equipoise.arrays import Array
from equipoise.robot.mesh import Mesh


class Block(NamedTuple):
    """A block: its centre [m] and quaternion xyzw, (7,); edge lengths [m], (3,)."""

    pose: Array
    size: Array


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Surroundings of a robot.

    Attributes:
        ground: Ground around its path, in the world; None where it is not known.
        walls: Blocks that stay.
        boxes: Blocks that can be pushed, where they were at the start.
    """

    ground: Mesh | None = None
    walls: tuple[Block, ...] = field(default_factory=tuple)
    boxes: tuple[Block, ...] = field(default_factory=tuple)

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return bool(self.ground or self.walls or self.boxes)
