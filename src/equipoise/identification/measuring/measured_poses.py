"""What was measured of a robot that stood still: joints, and wrenches of the feet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError, ShapeError
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

FEET: tuple[Side, Side] = ("left", "right")


@dataclass(frozen=True, eq=False)
class MeasuredPoses:
    """Quasi-static poses of a robot on both feet; arrays are copied and read-only.

    Attributes:
        robot: The robot as its file describes it.
        q: Configurations, shape (n, nq). Where the base is does not matter: poses are
            seen from the soles.
        wrenches: Force and torque of the ground on each foot, about and in the sole's
            frame [N, Nm], by side, shape (n, 6) each; means over their samples.
        samples: How many independent samples each mean is of, shape (n,).
        start_s: When each began in the log [s], shape (n,); zeros where unknown.
    """

    robot: Robot
    q: Array
    wrenches: Mapping[Side, Array]
    samples: NDArray[np.int64]
    start_s: Array = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        """Check, copy and freeze.

        Raises:
            EquipoiseError: If a foot has no wrench, or the robot no sole for it.
            ShapeError: If shapes differ or numbers are not finite.
        """
        q = self.robot.check_q(np.atleast_2d(np.asarray(self.q, dtype=np.float64)))
        rows = len(q)
        wrenches = {}
        for side in FEET:
            if side not in self.robot.soles:
                raise EquipoiseError(f"{self.robot.name} has no {side} sole")
            if side not in self.wrenches:
                raise EquipoiseError(f"there is no wrench of the {side} foot")
            wrench = np.asarray(self.wrenches[side], dtype=np.float64)
            if wrench.shape != (rows, 6) or not np.isfinite(wrench).all():
                raise ShapeError(
                    f"the wrench of the {side} foot must be finite, of shape "
                    f"({rows}, 6); it has shape {wrench.shape}"
                )
            wrenches[side] = frozen_array(wrench)
        samples = np.array(np.broadcast_to(self.samples, rows), dtype=np.int64)
        if np.any(samples < 1):
            raise ShapeError("each pose needs at least one sample")
        samples.flags.writeable = False
        start = self.start_s if np.size(self.start_s) else np.zeros(rows)
        object.__setattr__(self, "q", frozen_array(q))
        object.__setattr__(self, "wrenches", MappingProxyType(wrenches))
        object.__setattr__(self, "samples", samples)
        object.__setattr__(self, "start_s", frozen_array(np.broadcast_to(start, rows)))

    def __len__(self) -> int:
        """How many poses there are."""
        return len(self.q)

    def take(self, rows: Sequence[int] | NDArray[np.int64]) -> MeasuredPoses:
        """Return some of the poses."""
        rows = np.asarray(rows, dtype=np.int64)
        return MeasuredPoses(
            self.robot,
            self.q[rows],
            {side: wrench[rows] for side, wrench in self.wrenches.items()},
            self.samples[rows],
            self.start_s[rows],
        )
