"""Things in the world beside the ground: fixed walls, and boxes that can be pushed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError


@dataclass(frozen=True, eq=False)
class Wall:
    """A block that stays where it is.

    Attributes:
        centre: In the world [m], shape (3,).
        size: Edge lengths along its own x, y, z [m], shape (3,).
        yaw: Turn about the world's z [rad].
    """

    centre: Array
    size: Array
    yaw: float = 0.0

    def __post_init__(self) -> None:
        """Keep the arrays read-only, and refuse blocks without volume."""
        _check_block(self, "wall")


@dataclass(frozen=True, eq=False)
class Box:
    """A solid block that stands on the ground and can be pushed.

    Attributes:
        centre: In the world at the start [m], shape (3,).
        size: Edge lengths along its own x, y, z [m], shape (3,).
        mass: [kg].
        yaw: Turn about the world's z at the start [rad].
    """

    centre: Array
    size: Array
    mass: float
    yaw: float = 0.0

    def __post_init__(self) -> None:
        """Keep the arrays read-only, and refuse boxes without volume or mass."""
        _check_block(self, "box")
        if not (np.isfinite(self.mass) and self.mass > 0.0):
            raise EquipoiseError(
                f"a box of {self.mass:g} kg: its mass must be positive"
            )

    @property
    def inertia(self) -> Array:
        """About the centre, in box axes [kg m²], shape (3, 3)."""
        square = self.size**2
        return np.diag(self.mass / 12.0 * (square.sum() - square))

    @property
    def corners(self) -> Array:
        """In box axes, about the centre [m], shape (8, 3)."""
        signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, 8).T
        return 0.5 * signs * self.size


def _check_block(block: Wall | Box, kind: str) -> None:
    for name in ("centre", "size"):
        values = np.asarray(getattr(block, name), dtype=np.float64)
        if values.shape != (3,) or not np.isfinite(values).all():
            raise EquipoiseError(f"the {name} of a {kind} must be three finite numbers")
        object.__setattr__(block, name, frozen_array(values))
    if block.size.min() <= 0.0:
        raise EquipoiseError(f"the edges of a {kind} must be longer than zero")
    if not np.isfinite(block.yaw):
        raise EquipoiseError(f"the yaw of a {kind} must be finite")
