"""From a gait to joints: a motion whose centre of mass is exact."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array, frozen_array
from equipoise.control.signals import Target
from equipoise.errors import EquipoiseError
from equipoise.gait.arm_motion import ArmMotion, check_arm_motion
from equipoise.gait.feedforward import feedforward_torques
from equipoise.gait.gait import Gait
from equipoise.gait.parameters import SUPPORTS
from equipoise.gait.target_table import TargetTable, target_table
from equipoise.gait.zmp import true_zmp
from equipoise.kinematics.com_legs import solve_com
from equipoise.kinematics.com_targets import ComSolution, ComTargets, com_targets
from equipoise.kinematics.frames import velocities
from equipoise.kinematics.leg_freedom import leg_freedom
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.joint_coordinates import degree_names, joint_positions
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

DT = 1e-3
# The dynamics filter moves the pendulum's ZMP at most this often, and only until the
# true one is this close to the planned one [m].
PASSES = 5
CLOSE = 1e-3
# Knots of the filter's correction [s].
KNOT = 0.02
# A pass of the filter must be better than the one before by this factor.
BETTER = 0.95
SHORTEST_DT, LONGEST_DT = 1e-4, 0.02
LONGEST_WALK = 600.0
# A joint this near to its limit is at it [rad or m].
AT_LIMIT = 1e-4
# A foot whose heading is free is this far off it at most [rad].
HEADING_OFF = np.radians(3.0)
# From one point to the next a joint moves by less than this [rad or m].
LARGEST_JUMP = 0.2


@dataclass(frozen=True, eq=False)
class Motion:
    """Joints over time that follow a gait; a reference for simulation.

    Attributes:
        robot: The robot.
        gait: What it follows, corrected by the dynamics filter where that was used.
        time: Equally spaced times [s], shape (n,).
        q: Configurations, shape (n, nq).
        v: Velocities, shape (n, nv).
        com: Where the centre of mass is meant to be [m], shape (n, 3).
        zmp: Where the ZMP truly is, all inertia included [m], shape (n, 2).
        zmp_planned: Where it was meant to be [m], shape (n, 2).
        solution: Errors and iterations at each point.
        passes: How often the filter corrected the gait.
        arms: What joints beside the legs' do meanwhile, if they move.
    """

    robot: Robot
    gait: Gait
    time: Array
    q: Array
    v: Array
    com: Array
    zmp: Array
    zmp_planned: Array
    solution: ComSolution
    passes: int
    arms: ArmMotion | None = None

    @cached_property
    def joint_position(self) -> Array:
        """Joint positions, in the order of v[6:] [rad or m], shape (n, nv - 6)."""
        return frozen_array(joint_positions(self.robot, self.q))

    @cached_property
    def joint_torque(self) -> Array:
        """Feed-forward torques, in the order of v[6:] [Nm or N], shape (n, nv - 6).

        :func:`~equipoise.gait.feedforward.feedforward_torques` of the motion.
        """
        table = self.gait.at(self.time)
        pressed: dict[Side, Array] = {}
        for side in self.robot.soles:
            alone = np.flatnonzero(table.support == SUPPORTS.index(side))
            if len(alone):  # where the gait puts the ZMP under this sole
                row = alone[len(alone) // 2]
                pose, zmp = table.soles[side][row], table.zmp[row].copy()
                zmp[:2] = self.zmp_planned[row]
                point = (pose[:3, :3].T @ (zmp - pose[:3, 3]))[:2]
                pressed[side] = self.gait.pressed_in_sole(side, self.time, point)
        acceleration = np.gradient(self.v, self.dt, axis=0)
        return frozen_array(
            feedforward_torques(
                self.robot, self.q, self.v, acceleration, table.support, pressed
            )
        )

    @property
    def duration(self) -> float:
        """How long it takes [s]."""
        return float(self.time[-1])

    @property
    def dt(self) -> float:
        """Distance of two points [s]."""
        return float(self.time[1] - self.time[0])

    def reset(self) -> None:
        """Do nothing: a motion is the same each time."""

    def sample(self, time: float) -> Target:
        """Return the motion at a time [s], linear between points, at rest outside.

        Arrays are read-only. The first call builds a table of the whole motion.
        """
        return self._targets.at(time)

    @cached_property
    def _targets(self) -> TargetTable:
        return target_table(
            self.gait,
            self.time,
            self.joint_position,
            self.v[:, 6:],
            self.joint_torque,
        )


def solve(
    robot: Robot,
    gait: Gait,
    *,
    dt: float = DT,
    posture: ArrayLike | None = None,
    arms: ArmMotion | None = None,
    dynamics_filter: bool = True,
) -> Motion:
    """Return joints that put CoM and soles exactly where a gait wants them.

    With the dynamics filter the CoM is then moved until the ZMP of the whole motion,
    which the pendulum of the gait does not know, is where the gait meant it.

    Args:
        robot: The robot; legs have six joints or more, or five and feet whose heading
            is free.
        gait: From :func:`~equipoise.gait.plan.plan_walk`.
        dt: Distance of points [s].
        posture: Posture of all joints but the legs', shape (nq,); standing unless
            given.
        arms: What joints beside the legs' do meanwhile, as
            :func:`~equipoise.gait.waving.waving`; where it ends they stay.
        dynamics_filter: Whether to correct the CoM for what the pendulum leaves out.

    Raises:
        EquipoiseError: If a point cannot be reached: when, which foot, how far off; or
            if a joint would be faster than it can be.
    """
    if gait.robot_name != robot.name:
        raise EquipoiseError(
            f"the gait was planned for {gait.robot_name}, not for {robot.name}"
        )
    if not SHORTEST_DT <= dt <= LONGEST_DT:
        raise EquipoiseError(
            f"points every {dt:g} s; {SHORTEST_DT:g} to {LONGEST_DT:g} s is possible"
        )
    if gait.duration > LONGEST_WALK:
        raise EquipoiseError(
            f"a walk of {gait.duration:.0f} s; at most {LONGEST_WALK:g} s are solved "
            "at once: fewer or faster steps"
        )
    time: Array = dt * np.arange(round(gait.duration / dt) + 1, dtype=np.float64)
    planned = np.array(gait.at(time).zmp)
    if arms is not None:
        check_arm_motion(robot, arms, time[time <= arms.duration])
        held = robot.check_q(robot.standing if posture is None else posture)
        posture = arms.postures(robot, held, np.minimum(time, arms.duration))
    best = _followed(robot, gait, time, planned, posture)
    knots = np.append(np.arange(0.0, gait.duration - 0.5 * KNOT, KNOT), gait.duration)
    shift, passes = np.zeros((len(knots), 2)), 0
    while dynamics_filter and passes < PASSES and best.worst > CLOSE:
        off = best.zmp - planned[:, :2]
        moved = shift - np.stack(
            [np.interp(knots, time, off[:, axis]) for axis in range(2)], axis=1
        )
        try:
            corrected = gait.with_zmp_shift(knots, moved)
            tried = _followed(robot, corrected, time, planned, posture)
        except EquipoiseError:  # the correction asks for too much: keep what there is
            break
        if tried.worst > BETTER * best.worst:
            break
        best, shift, passes = tried, moved, passes + 1
    found = best.solution
    v = velocities(robot, found.q, dt)
    check_speeds(robot, v, time)
    check_smooth(robot, found.q, time)
    return Motion(
        robot,
        best.gait,
        frozen_array(time),
        found.q,
        frozen_array(v),
        best.targets.com,
        frozen_array(best.zmp),
        frozen_array(planned[:, :2]),
        found,
        passes,
        arms,
    )


class _Followed(NamedTuple):
    """A gait, the joints that follow it, and where the ZMP then is."""

    gait: Gait
    targets: ComTargets
    solution: ComSolution
    zmp: Array
    worst: float


def _followed(
    robot: Robot, gait: Gait, time: Array, planned: Array, posture: ArrayLike | None
) -> _Followed:
    targets = targets_of(gait, time)
    found = solve_com(robot, targets, posture=posture)
    check_reached(robot, found, time, targets)
    actual = true_zmp(robot, found.q, float(time[1] - time[0]), planned[:, 2])
    worst = float(np.abs(actual - planned[:, :2]).max())
    return _Followed(gait, targets, found, actual, worst)


def targets_of(gait: Gait, time: Array) -> ComTargets:
    """Return CoM, soles and torso of a gait at times; the torso faces the heading."""
    table = gait.at(time)
    soles = table.soles
    return com_targets(table.com, soles["left"], soles["right"], table.torso)


def check_reached(
    robot: Robot,
    found: ComSolution,
    time: Array,
    targets: ComTargets,
    what: str = "the gait",
) -> None:
    """Refuse a motion with points that were not reached, or feet that turn away.

    Args:
        robot: The robot.
        found: Joints.
        time: Times of the points [s], shape (n,).
        targets: What was wanted.
        what: What is followed, in words.

    Raises:
        EquipoiseError: When, which joint is at its limit, which foot, how far off.
    """
    missed = np.flatnonzero(~found.converged)
    if len(missed) == 0:
        _check_headings(robot, found, time, targets)
        return
    first = int(missed[0])
    worst = missed[np.argmax(np.maximum(found.com_error, found.foot_gap)[missed])]
    wanted: dict[Side, Array] = {"left": targets.left, "right": targets.right}
    off = {}
    for side, poses in wanted.items():
        gap = sole_pose(robot, found.q[worst], side) - poses[worst]
        off[side] = float(np.linalg.norm(gap[:3, 3]))
    foot = max(off, key=lambda side: off[side])
    stopped = _at_limits(robot, found.q[worst])
    why = f"the {foot} leg is stretched out"
    if stopped:
        why = " and ".join(stopped)
    raise EquipoiseError(
        f"{robot.name} cannot follow {what} at {time[first]:.3f} s: {why}; at "
        f"{time[worst]:.3f} s the {foot} foot stays {1e3 * off[foot]:.1f} mm and the "
        f"CoM {1e3 * found.com_error[worst]:.1f} mm off ({len(missed)} of {len(time)} "
        "points)"
    )


def _check_headings(
    robot: Robot, found: ComSolution, time: Array, targets: ComTargets
) -> None:
    """Refuse feet far from the heading that they should have, where that is free.

    Raises:
        EquipoiseError: When, which foot and how far.
    """
    wanted: dict[Side, Array] = {"left": targets.left, "right": targets.right}
    for side, freedom in leg_freedom(robot).items():
        if not freedom.yaw_free:
            continue
        turned = (
            wanted[side][:, :3, :3].swapaxes(1, 2)
            @ sole_pose(robot, found.q, side)[:, :3, :3]
        )
        off = np.abs(np.arctan2(turned[:, 1, 0], turned[:, 0, 0]))
        row = int(off.argmax())
        if off[row] > HEADING_OFF:
            raise EquipoiseError(
                f"{robot.name} cannot keep its {side} foot along its heading: no joint "
                "of that leg turns it about the vertical, and it would be "
                f"{np.degrees(off[row]):.0f}° off at {time[row]:.2f} s"
            )


def _at_limits(robot: Robot, q: Array) -> list[str]:
    """Return which joints of the legs are at which limit, in words."""
    values = joint_positions(robot, q)
    limits = {actuator.joint: actuator for actuator in robot.actuators}
    legs = robot.leg_joints
    found = []
    for name, value in zip(degree_names(robot), values, strict=True):
        own = limits.get(name)
        if own is None or name not in legs:
            continue
        for words, limit in (("lower", own.lower), ("upper", own.upper)):
            if abs(value - limit) < AT_LIMIT:
                found.append(f"'{name}' is at its {words} limit, {limit:.3f}")
    return found


def check_smooth(robot: Robot, q: Array, time: Array) -> None:
    """Refuse a motion in which a joint jumps: a knee that snaps through.

    Raises:
        EquipoiseError: Which joint, when and how far.
    """
    jumps = np.abs(np.diff(joint_positions(robot, q), axis=0))
    row, joint = np.unravel_index(int(jumps.argmax()), jumps.shape)
    if jumps[row, joint] > LARGEST_JUMP:
        raise EquipoiseError(
            f"{robot.name}: joint '{degree_names(robot)[joint]}' would jump by "
            f"{jumps[row, joint]:.2f} at {time[row]:.3f} s; a lower CoM may help"
        )


def check_speeds(
    robot: Robot, v: Array, time: Array, advice: str = "slower or shorter steps"
) -> None:
    """Refuse a motion with joints faster than they can be.

    Args:
        robot: The robot.
        v: Velocities, shape (n, nv).
        time: Their times [s], shape (n,).
        advice: What may help, in words.

    Raises:
        EquipoiseError: Which joint, when and how fast.
    """
    names = degree_names(robot)
    limits = {actuator.joint: actuator.velocity_limit for actuator in robot.actuators}
    most = np.array([limits.get(name, np.inf) for name in names])
    fraction = np.abs(v[:, 6:]) / np.where(most > 0.0, most, np.inf)
    row, joint = np.unravel_index(int(fraction.argmax()), fraction.shape)
    if fraction[row, joint] > 1.0:
        raise EquipoiseError(
            f"{robot.name}: joint '{names[joint]}' would turn at "
            f"{abs(v[row, 6 + joint]):.2f} rad/s at {time[row]:.3f} s; its limit is "
            f"{most[joint]:.2f} rad/s; {advice} may help"
        )
