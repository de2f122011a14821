"""A gait: where CoM, ZMP and feet should be over time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.arrays import Array
from equipoise.errors import ShapeError
from equipoise.gait.feet import FootMotion
from equipoise.gait.footsteps import (
    SIDES,
    Footsteps,
    sole_accelerations,
    sole_transforms,
    sole_twists,
)
from equipoise.gait.lipm import ComMotion, CorrectedMotion, at_rest_at_both_ends
from equipoise.gait.parameters import SUPPORTS, GaitParameters, Phase
from equipoise.gait.zmp import support_polygons, toe_corners, zmp_margins
from equipoise.notebook import html_table
from equipoise.robot.parts import Side


@dataclass(frozen=True, eq=False)
class GaitTable:
    """A gait at n times; arrays are read-only.

    Attributes:
        time: [s], shape (n,).
        com: Centre of mass in the world [m], shape (n, 3).
        com_velocity: [m/s], shape (n, 3).
        com_acceleration: [m/s²], shape (n, 3).
        zmp: Where the zero-moment point is meant to be [m], shape (n, 3).
        soles: Transforms from sole to world by side, shape (n, 4, 4) each.
        sole_twists: Velocities of the sole frames' origins [m/s], then angular ones
            [rad/s], in world axes, by side, shape (n, 6) each.
        sole_accelerations: Time derivatives of these [m/s², rad/s²], shape (n, 6) each.
        heading: Heading of the body: mean yaw of the soles, not wrapped [rad], shape
            (n,).
        heading_rate: [rad/s], shape (n,).
        support: What stands on the ground, index into
            :data:`~equipoise.gait.parameters.SUPPORTS`, shape (n,): 0 both, 1 left, 2
            right.
        torso_pitch: How far the torso leans forward [rad].
    """

    time: Array
    com: Array
    com_velocity: Array
    com_acceleration: Array
    zmp: Array
    soles: Mapping[Side, Array]
    sole_twists: Mapping[Side, Array]
    sole_accelerations: Mapping[Side, Array]
    heading: Array
    heading_rate: Array
    support: NDArray[np.int8]
    torso_pitch: float

    def __post_init__(self) -> None:
        """Make arrays and mappings read-only."""
        for name, value in list(vars(self).items()):
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
                continue
            if isinstance(value, float):
                continue
            for array in value.values():
                array.flags.writeable = False
            object.__setattr__(self, name, MappingProxyType(dict(value)))

    @property
    def torso(self) -> Array:
        """Rotations of the torso, along the heading and leaning, shape (n, 3, 3)."""
        turn = np.zeros((len(self.time), 3, 3))
        turn[:, 0, 0] = turn[:, 1, 1] = np.cos(self.heading)
        turn[:, 1, 0] = np.sin(self.heading)
        turn[:, 0, 1] = -turn[:, 1, 0]
        turn[:, 2, 2] = 1.0
        c, s = math.cos(self.torso_pitch), math.sin(self.torso_pitch)
        leaning: Array = turn @ np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
        leaning.flags.writeable = False
        return leaning


@dataclass(frozen=True, eq=False)
class Gait:
    """Everything about a walk over time; at rest before its start and after its end.

    Attributes:
        robot_name: Whose gait it is.
        footsteps: Where the feet stand.
        phases: When which foot stands on the ground.
        parameters: Every number, with its origin.
        motion: Motion of the centre of mass.
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

    def __repr__(self) -> str:
        """Return a line, not all numbers: those are in ``parameters``."""
        steps = len(self.footsteps.steps)
        return f"Gait({self.robot_name!r}, {steps} steps in {self.duration:.2f} s)"

    def _repr_html_(self) -> str:
        numbers = self.parameters
        rows: dict[str, object] = {
            "steps": len(self.footsteps.steps),
            "duration": f"{self.duration:.2f} s",
            "step time": f"{numbers.step_time:.3f} s",
            "CoM height": f"{numbers.com_height:.3f} m",
            "method": numbers.method,
        }
        if numbers.length is not None:
            rows["step length"] = f"{numbers.length:.3f} m"
        return html_table(f"Gait of {self.robot_name}", rows)

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
            self.parameters.torso_pitch,
        )

    def support_polygons(self, times: ArrayLike) -> tuple[Array, ...]:
        """Return the support polygon at each time, seen from above [m], (k, 2) each."""
        table = self.at(times)
        on_toes = {side: foot.on_toe(table.time) for side, foot in self.feet.items()}
        return support_polygons(table.soles, table.support, self.polygons, on_toes)

    def pressed_in_sole(self, side: Side, times: Array, point: Array) -> Array:
        """Return where a sole is pressed over time, in its frame [m], shape (n, 2).

        Args:
            side: Which foot.
            times: [s], shape (n,).
            point: Where it is while the foot stands flat, shape (2,). Before its heel
                rises, in double support, it goes on to the middle of the toe's edge,
                and after a landing on the toe back from there.
        """
        polygon = self.polygons[side]
        edge = polygon[toe_corners(polygon)].mean(axis=0)
        double = {p.start: p.end for p in self.phases if p.kind == "double"}
        start_of = {end: start for start, end in double.items()}
        gone = np.zeros(len(times))
        for swing in self.feet[side].swings:
            if swing.pitch and swing.heel_off:
                ends = [start_of[swing.lift_off], swing.lift_off - swing.heel_off]
                on = (times >= ends[0]) & (times <= swing.lift_off)
                gone = np.where(on, np.interp(times, ends, [0.0, 1.0]), gone)
            if swing.pitch and swing.heel_down:
                ends = [swing.touch_down + swing.heel_down, double[swing.touch_down]]
                on = (times >= swing.touch_down) & (times <= ends[1])
                gone = np.where(on, np.interp(times, ends, [1.0, 0.0]), gone)
        return np.asarray(point + gone[:, None] * (edge - point))

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
            shift: Shift of the ZMP at these times, linear in between and constant
                outside [m], shape (m, 2).

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
