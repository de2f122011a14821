"""What there is to see of a run or of a robot; viewer, report and film draw it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import cumulative_trapezoid

from equipoise.arrays import Array
from equipoise.kinematics.com import com
from equipoise.kinematics.stance import sole_pose
from equipoise.kinematics.support import support_polygon
from equipoise.log.run import Run
from equipoise.robot.anatomy.geometry import convex_hull
from equipoise.robot.description import STANDARD_GRAVITY, Colour
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side
from equipoise.show.palette import is_dashed, rgb
from equipoise.show.space.footprints import (
    Footprint,
    centre_of_pressure_in_sole,
    footprints,
    is_loaded,
    sole_corners,
)
from equipoise.show.space.solids import Body, joint_poses, on_plane, robot_bodies
from equipoise.simulation.measures import touching_polygon

# Length of the arrow of a force that is the whole weight, as a fraction of the longest
# limb.
ARROW_LENGTH = 0.6
# Smaller forces have no arrow, as a fraction of the weight.
LEAST_FORCE = 0.002
# The centre of mass is averaged over this long to follow it without its sway [s].
SMOOTHING_S = 1.2


class Arrow(NamedTuple):
    """A force, drawn from where it acts; both ends in the world [m], shape (3,)."""

    start: Array
    end: Array


class Path(NamedTuple):
    """A trajectory of CoM or ZMP.

    Attributes:
        label: What it is.
        points: Points in the world [m], shape (n, 3); NaN rows are gaps.
        style: Style as in :class:`~equipoise.show.charts.chart.Series`.
    """

    label: str
    points: Array
    style: str

    @property
    def colour(self) -> Colour:
        """Colour of the line."""
        return rgb(self.style.split()[0])

    @property
    def planned(self) -> bool:
        """Whether it is a reference: such lines are dashed."""
        return is_dashed(self.style)


def trajectories(run: Run) -> tuple[Path, ...]:
    """Return the paths of ZMP and CoM: first the planned ones, if there are any."""
    paths = [
        Path(f"{label}, planned", run.references[key], f"{style} dashed")
        for key, label, style in (("zmp", "ZMP", "c1"), ("com", "CoM", "c0"))
        if key in run.references
    ]
    if run.supported.any():
        paths.append(Path("ZMP", run.zmp, "c1"))
    return (*paths, Path("CoM", run.com, "c0"))


@dataclass(frozen=True, eq=False)
class Moment:
    """What there is to see at one time.

    Attributes:
        time: Time [s].
        joint_poses: Position [m] and quaternion xyzw of each joint's frame, by
            Pinocchio's index, shape (njoints, 7).
        com: Centre of mass [m], shape (3,).
        com_on_ground: Projection of the CoM on the ground [m], shape (3,).
        zmp: Zero-moment point [m], shape (3,); None where nothing carries the robot.
        support: Corners of the support polygon, counter-clockwise [m], shape (k, 3).
        forces: Forces of the ground on the robot.
        boxes: Position [m] and quaternion xyzw of each box, shape (nb, 7).
    """

    time: float
    joint_poses: Array
    com: Array
    com_on_ground: Array
    zmp: Array | None
    support: Array
    forces: tuple[Arrow, ...]
    boxes: Array


def posture_moment(robot: Robot, q: ArrayLike, tolerance: float) -> Moment:
    """Return what there is to see of a robot in a configuration, shape (nq,).

    The support polygon holds the corners of soles that are at most as high above the
    ground as the tolerance [m].
    """
    q = robot.check_q(q)
    centre = np.asarray(com(robot, q), dtype=np.float64)
    soles = [sole_corners(robot, q, side) for side in robot.soles]
    corners = np.concatenate([np.zeros((0, 3)), *soles])
    touching = corners[corners[:, 2] <= tolerance, :2]
    hull = convex_hull(touching) if len(touching) else touching
    poses, on_ground = joint_poses(robot, q), np.array([*centre[:2], 0.0])
    support = on_plane(hull, 0.0)
    return Moment(0.0, poses, centre, on_ground, None, support, (), np.zeros((0, 7)))


@dataclass(frozen=True, eq=False)
class RunScene:
    """A run, to be looked at row by row."""

    run: Run

    @cached_property
    def bodies(self) -> tuple[Body, ...]:
        """What moves."""
        return robot_bodies(self.run.robot)

    @cached_property
    def footprints(self) -> tuple[Footprint, ...]:
        """Where feet stood."""
        return footprints(self.run)

    @cached_property
    def paths(self) -> tuple[Path, ...]:
        """CoM and ZMP trajectories, planned and actual."""
        return tuple(p for p in trajectories(self.run) if p.points.shape[1] == 3)

    @cached_property
    def touches(self) -> bool:
        """Whether there ever are ground forces and a support polygon."""
        loaded = (loads.any() for loads in self._loaded.values())
        return bool(np.any(self.run.contact_force) or any(loaded))

    def row_at(self, time: float) -> int:
        """Return the row nearest to a time [s]."""
        return int(nearest_rows(self.run.time, np.array(time)))

    def moment(self, row: int) -> Moment:
        """Return what there is to see at a row of the run."""
        run = self.run
        support = self._support(row)
        supported = bool(run.supported[row])
        # the ground under the CoM is as high as what touches it
        level = float(support[:, 2].mean()) if len(support) else self._level
        return Moment(
            float(run.time[row]),
            joint_poses(run.robot, run.q[row]),
            run.com[row],
            np.array([*run.com[row, :2], level]),
            run.zmp[row] if supported else None,
            support,
            self._forces(row),
            run.boxes[row],
        )

    @cached_property
    def _level(self) -> float:
        heights = [
            pose[2] for print_ in self.footprints for pose in print_.polygon_in_world
        ]
        return float(np.median(heights)) if heights else 0.0

    @cached_property
    def _loaded(self) -> dict[Side, NDArray[np.bool_]]:
        return {side: is_loaded(self.run, side) for side in self.run.foot_wrench}

    def _support(self, row: int) -> Array:
        run = self.run
        if run.contact_names:
            points, forces = run.contact_position[row], run.contact_force[row]
            touching = np.any(forces != 0.0, axis=1)
            polygon = touching_polygon(points, forces)
            level = float(points[touching, 2].mean()) if touching.any() else 0.0
            return on_plane(polygon, level)
        feet: list[Side] = [side for side in self._loaded if self._loaded[side][row]]
        if not feet:
            return np.zeros((0, 3))
        corners = np.asarray(support_polygon(run.robot, run.q[row], feet))
        return on_plane(convex_hull(corners), self._level)

    def _forces(self, row: int) -> tuple[Arrow, ...]:
        run = self.run
        weight = run.robot.mass * STANDARD_GRAVITY
        scale = ARROW_LENGTH * run.robot.longest_limb / weight
        points, forces = run.contact_position[row], run.contact_force[row]
        if not run.contact_names:
            points, forces = self._foot_forces(row)
        large = np.linalg.norm(forces, axis=1) > LEAST_FORCE * weight
        return tuple(
            Arrow(point, point + scale * force)
            for point, force in zip(points[large], forces[large], strict=True)
        )

    @cached_property
    def _pressed(self) -> dict[Side, Array]:
        run = self.run
        return {side: centre_of_pressure_in_sole(run, side) for side in run.foot_wrench}

    def _foot_forces(self, row: int) -> tuple[Array, Array]:
        """Return where loaded feet are pressed, and the forces on them, (k, 3) each."""
        run = self.run
        points, forces = [np.zeros((0, 3))], [np.zeros((0, 3))]
        for side, loaded in self._loaded.items():
            if loaded[row]:
                pose = sole_pose(run.robot, run.q[row], side)
                pressed = np.array([*self._pressed[side][row], 0.0, 1.0])
                points.append((pose @ pressed)[None, :3])
                forces.append((pose[:3, :3] @ run.foot_wrench[side][row, :3])[None])
        return np.concatenate(points), np.concatenate(forces)


def smoothed(time: Array, path: Array) -> Array:
    """Return a path (n, k) without the sway of steps, for cameras that follow it.

    Each row is the mean over a while before and after its time [s].
    """
    if len(time) == 1:
        return path
    area = cumulative_trapezoid(path, time, axis=0, initial=0.0)
    low = np.maximum(time - 0.5 * SMOOTHING_S, time[0])
    high = np.minimum(time + 0.5 * SMOOTHING_S, time[-1])
    means = [
        (np.interp(high, time, total) - np.interp(low, time, total)) / (high - low)
        for total in area.T
    ]
    return np.stack(means, axis=1)


def nearest_rows(time: Array, wanted: Array) -> NDArray[np.intp]:
    """Return the rows of increasing times [s] that are nearest to some others."""
    after = np.clip(np.searchsorted(time, wanted), min(1, len(time) - 1), len(time) - 1)
    before = np.maximum(after - 1, 0)
    return np.where(wanted - time[before] < time[after] - wanted, before, after)
