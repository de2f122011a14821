"""What a robot met: the ground, walls and boxes, to look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from equipoise.arrays import Array
from equipoise.robot.mesh import Mesh


class Block(NamedTuple):
    """A block.

    Attributes:
        pose: Position of its centre [m] and quaternion xyzw, shape (7,).
        size: Edge lengths [m], shape (3,).
    """

    pose: Array
    size: Array


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What a robot met.

    Attributes:
        ground: Around where it went, in the world; None where it is not known.
        walls: Blocks that stay.
        boxes: Blocks that can be pushed, where they were at the start.
    """

    ground: Mesh | None = None
    walls: tuple[Block, ...] = field(default_factory=tuple)
    boxes: tuple[Block, ...] = field(default_factory=tuple)

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return bool(self.ground or self.walls or self.boxes)
