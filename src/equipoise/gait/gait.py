"""A gait: where CoM, ZMP and feet should be over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.errors import ShapeError
from equipoise.gait.com_motion import ComMotion, CorrectedMotion
from equipoise.gait.feet import FootMotion
from equipoise.gait.foot_attitude import (
    sole_accelerations,
    sole_transforms,
    sole_twists,
)
from equipoise.gait.footsteps import SIDES, Footsteps
from equipoise.gait.lipm import at_rest_at_both_ends
from equipoise.gait.parameters import GaitParameters
from equipoise.gait.table import GaitTable
from equipoise.gait.timing import SUPPORTS, Phase
from equipoise.gait.zmp import support_polygons, zmp_margins
from equipoise.robot.parts import Side


@dataclass(frozen=True, eq=False)
class Gait:
    """Everything about a walk over time; at rest before its start and after its end.

    Attributes:
        robot_name: Whose gait it is.
        footsteps: Where the feet stand.
        phases: When which foot stands on the ground.
        parameters: Every number, with its origin.
        motion: Of the centre of mass.
        feet: Motions of the soles by side.
        polygons: Corners of the soles in their frames [m], shape (k, 2) each.
    """

    robot_name: str
    footsteps: Footsteps
    phases: tuple[Phase, ...]
    parameters: GaitParameters
    motion: ComMotion
    feet: Mapping[Side, FootMotion]
    polygons: Mapping[Side, Array]

    def __post_init__(self) -> None:
        """Make the mappings read-only."""
        for name in ("feet", "polygons"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    def __reduce__(self) -> tuple[type[Gait], tuple[Any, ...]]:
        """Pickle and copy with plain mappings."""
        values = [getattr(self, name) for name in self.__dataclass_fields__]
        plain = (dict(v) if isinstance(v, MappingProxyType) else v for v in values)
        return Gait, tuple(plain)

    @property
    def duration(self) -> float:
        """How long it takes, holds at both ends included [s]."""
        return self.phases[-1].end

    def at(self, times: ArrayLike) -> GaitTable:
        """Return the gait at times [s], shape (n,), in any order.

        Raises:
            ShapeError: If times are not finite or have another shape.
        """
        time = np.array(times, dtype=np.float64)
        if time.ndim != 1 or not np.isfinite(time).all():
            raise ShapeError(
                f"times have shape {time.shape}; finite ones of shape (n,) are needed"
            )
        inside = np.clip(time, 0.0, self.duration)
        moving = (time == inside)[:, None]
        com = self.motion.at(inside)
        feet = {side: self.feet[side].at(inside) for side in SIDES}
        yaw = [feet[side].coordinates[:, 3] for side in SIDES]
        yaw_rate = [feet[side].rates[:, 3] for side in SIDES]
        starts = [phase.start for phase in self.phases]
        codes = np.array([SUPPORTS.index(p.support) for p in self.phases], np.int8)
        return GaitTable(
            time,
            com.com,
            com.velocity * moving,
            com.acceleration * moving,
            com.zmp,
            {side: sole_transforms(foot.coordinates) for side, foot in feet.items()},
            {side: sole_twists(*foot[:2]) for side, foot in feet.items()},
            {side: sole_accelerations(*foot) for side, foot in feet.items()},
            np.mean(yaw, axis=0),
            np.mean(yaw_rate, axis=0),
            codes[np.searchsorted(starts, inside, side="right") - 1],
        )

    def support_polygons(self, times: ArrayLike) -> tuple[Array, ...]:
        """Return the support polygon at each time, seen from above [m], (k, 2) each."""
        table = self.at(times)
        return support_polygons(table.soles, table.support, self.polygons)

    def zmp_margin(self, times: ArrayLike) -> Array:
        """Return how far inside the support polygon the ZMP is [m], shape (n,)."""
        return zmp_margins(self.at(times).zmp, self.support_polygons(times))

    def with_zmp_shift(self, times: ArrayLike, shift: ArrayLike) -> Gait:
        """Return the gait with a CoM whose pendulum has its ZMP moved.

        This is what a dynamics filter needs: where inverse dynamics finds the ZMP of
        the whole robot beside the planned one, move the pendulum's by the difference.
        The planned ZMP stays as it is, and so does rest at both ends.

        Args:
            times: Increasing, within the gait [s], shape (m,), m ≥ 2.
            shift: Of the ZMP at these times, linear in between and constant outside
                [m], shape (m, 2).

        Raises:
            ShapeError: If the shapes do not fit or values are not finite.
        """
        knots = np.asarray(times, dtype=np.float64)
        moved = np.asarray(shift, dtype=np.float64)
        if (
            knots.ndim != 1
            or moved.shape != (len(knots), 2)
            or len(knots) < 2
            or not (np.isfinite(knots).all() and np.isfinite(moved).all())
            or np.any(np.diff(knots) <= 0.0)
        ):
            raise ShapeError(
                f"times and shift have shapes {knots.shape} and {moved.shape}; "
                "increasing times (m,) and finite values (m, 2) are needed, m ≥ 2"
            )
        start = next(phase for phase in self.phases if phase.kind == "start")
        stop = next(phase for phase in self.phases if phase.kind == "stop")
        corners = [
            value
            for phase in (start, stop)
            for value in (phase.start, (phase.start + phase.end) / 2.0, phase.end)
        ]
        every = np.unique(np.concatenate([[0.0, self.duration], corners, knots]))
        every = every[(every >= 0.0) & (every <= self.duration)]
        points = np.zeros((len(every), 3))
        for axis in range(2):
            points[:, axis] = np.interp(every, knots, moved[:, axis])
        hats = [
            np.interp(every, corners[:3], [0.0, 1.0, 0.0]),
            np.interp(every, corners[3:], [0.0, 1.0, 0.0]),
        ]
        omega = self.parameters.omega
        added = at_rest_at_both_ends(every, points, np.array(hats), omega, 0.0)
        return replace(self, motion=CorrectedMotion(self.motion, added))
