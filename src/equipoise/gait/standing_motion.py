"""A robot on both feet whose arms move: legs that keep its CoM, or do not.

With the arms' motion embedded ([Choi2007], Section 3.3) the legs hold the CoM at one
point. Their joints are solved exactly at each time, which is what Eq. (18) and (19)
come to when they are integrated without error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from equipoise.arrays import Array, frozen_array
from equipoise.control.signals import Target
from equipoise.errors import EquipoiseError
from equipoise.gait.arm_motion import (
    LONGEST_DANCE,
    ArmMotion,
    built_in_dance,
    check_arm_motion,
)
from equipoise.gait.com_plan import EXTENSION, leg_reaches
from equipoise.gait.feedforward import feedforward_torques
from equipoise.gait.motion import DT, check_reached, check_smooth, check_speeds
from equipoise.gait.parameters import SUPPORTS
from equipoise.gait.target_table import TargetTable, standing_table
from equipoise.gait.zmp import true_zmp
from equipoise.kinematics.com import com
from equipoise.kinematics.com_legs import solve_com
from equipoise.kinematics.com_targets import com_targets
from equipoise.kinematics.frames import velocities
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.anatomy.leg_problems import leg_problems
from equipoise.robot.joint_coordinates import degree_names, joint_positions
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# A posture of this name is where a paper's experiment begins.
PAPER = "paper"
# The dance is tried at these extents, until feed-forward torques are below a fraction
# of their limits.
EXTENTS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)
STRONG = 0.9
# A CoM height that was found is cut to whole millimetres: the same on all machines.
HEIGHTS_PER_METRE = 1000.0


@dataclass(frozen=True, eq=False)
class StandingMotion:
    """Joints over time with both feet in place; a reference for simulation.

    Attributes:
        robot: The robot.
        arms: What the arms do.
        embedded: Whether the legs keep the CoM; else they are held as at the start.
        time: Equally spaced times from 0 [s], shape (n,).
        q: Configurations, shape (n, nq).
        v: Velocities, shape (n, nv).
        com: Where the CoM is wanted at all times [m], shape (3,).
        com_error: Distance of these joints' CoM from it [m], shape (n,).
        zmp: ZMP of these joints' motion, all inertia included [m], shape (n, 2).
    """

    robot: Robot
    arms: ArmMotion
    embedded: bool
    time: Array
    q: Array
    v: Array
    com: Array
    com_error: Array
    zmp: Array

    @property
    def duration(self) -> float:
        """How long it takes [s]."""
        return float(self.time[-1])

    @property
    def dt(self) -> float:
        """Distance of two points [s]."""
        return float(self.time[1] - self.time[0])

    @cached_property
    def joint_torque(self) -> Array:
        """Feed-forward torques, in the order of v[6:] [Nm or N], shape (n, nv - 6)."""
        acceleration = np.gradient(self.v, self.dt, axis=0)
        support = np.full(len(self.time), SUPPORTS.index("both"), np.int8)
        torques = feedforward_torques(self.robot, self.q, self.v, acceleration, support)
        return frozen_array(torques)

    def reset(self) -> None:
        """Do nothing: a motion is the same each time."""

    def sample(self, time: float) -> Target:
        """Return the motion at a time [s], linear between points, at rest outside.

        The CoM is wanted where it is held, whether these joints keep it there or not;
        the ZMP is that of these joints' motion. Arrays are read-only.
        """
        return self._targets.at(time)

    @cached_property
    def _targets(self) -> TargetTable:
        soles: dict[Side, Array] = {
            side: sole_pose(self.robot, self.q[0], side) for side in SIDES
        }
        ground = np.mean([pose[2, 3] for pose in soles.values()])
        zmp = np.column_stack([self.zmp, np.full(len(self.time), ground)])
        position = joint_positions(self.robot, self.q)
        joints = (position, self.v[:, 6:], self.joint_torque)
        return standing_table(self.time, self.com, zmp, soles, joints)


def dancing_posture(robot: Robot) -> Array:
    """Return the posture of a dance: that of a paper where there is one, or standing.

    Raises:
        EquipoiseError: If the robot cannot stand on two feet.
    """
    problems = leg_problems(robot)
    if problems:
        raise EquipoiseError(f"{robot.name} cannot stand on its legs: {problems[0]}")
    return robot.postures.get(PAPER, robot.standing)


def held_com(robot: Robot, posture: Array) -> Array:
    """Return where to hold the CoM of a posture [m], shape (3,).

    That is where the posture has it, or lower where its legs would be straight.
    """
    centre = np.array(com(robot, posture), dtype=np.float64)
    highest = math.inf
    for side, reach in leg_reaches(robot).items():
        pose = sole_pose(robot, posture, side)
        ankle = pose[:3, :3] @ reach.ankle_in_sole + pose[:3, 3]
        hip = centre + reach.hip_from_com
        away = float(np.linalg.norm((hip - ankle)[:2]))
        allowed = EXTENSION * reach.longest
        up = math.sqrt(max(allowed**2 - away**2, 0.0))
        highest = min(highest, float(ankle[2]) + up - float(reach.hip_from_com[2]))
    if highest < centre[2]:
        centre[2] = math.floor(highest * HEIGHTS_PER_METRE) / HEIGHTS_PER_METRE
    return frozen_array(centre)


def bent_stance(robot: Robot, posture: Array) -> Array:
    """Return a posture with legs that are not straight, its CoM as in another or lower.

    A straight leg cannot give way. Where legs cannot bend so, the posture is returned.

    Args:
        robot: The robot, on both feet.
        posture: Configuration to begin with, shape (nq,).
    """
    centre = held_com(robot, posture)
    if centre[2] >= com(robot, posture)[2]:
        return posture
    soles = [sole_pose(robot, posture, side) for side in SIDES]
    # the torso as it is there, against that of standing
    turned = [
        pin.Quaternion(q[3:7]).toRotationMatrix() for q in (posture, robot.standing)
    ]
    left, right = soles
    targets = com_targets(centre, left, right, turned[0] @ turned[1].T)
    found = solve_com(robot, targets, posture=posture)
    return np.array(found.q[0]) if found.converged[0] else posture


def embed(
    robot: Robot,
    arms: ArmMotion,
    *,
    posture: ArrayLike | None = None,
    com_in_world: ArrayLike | None = None,
    where: str = "",
) -> StandingMotion:
    """Return the motion in which the legs hold the CoM while the arms move.

    Args:
        robot: The robot, on both feet.
        arms: What the arms do.
        posture: Configuration of all other joints, shape (nq,), its soles where they
            stay; :func:`dancing_posture` unless given.
        com_in_world: Where the CoM is held [m], shape (3,); :func:`held_com` unless
            given.
        where: How messages on the arms begin: a file, for example.

    Raises:
        EquipoiseError: If arms are beyond their limits, or legs cannot hold the CoM:
            which joint and when.
    """
    time = _times(arms)
    check_arm_motion(robot, arms, time, where)
    stood = dancing_posture(robot) if posture is None else robot.check_q(posture)
    centre = held_com(robot, stood) if com_in_world is None else com_in_world
    wanted = np.tile(np.asarray(centre, dtype=np.float64), (len(time), 1))
    soles = [sole_pose(robot, stood, side) for side in SIDES]
    targets = com_targets(wanted, *soles)
    found = solve_com(robot, targets, posture=arms.postures(robot, stood, time))
    check_reached(robot, found, time, targets, "the arms")
    check_smooth(robot, found.q, time)
    motion = _motion(robot, arms, time, found.q, wanted[0], embedded=True)
    check_speeds(robot, motion.v, time, "slower arms")
    return motion


def fit_dance(
    robot: Robot,
    *,
    posture: ArrayLike | None = None,
    com_in_world: ArrayLike | None = None,
) -> StandingMotion:
    """Return the dance that is built in, with the legs holding the CoM.

    Arms whose actuators are too weak for it swing less far, and so more slowly.

    Args:
        robot: The robot, on both feet.
        posture: As for :func:`embed`.
        com_in_world: As for :func:`embed`.

    Raises:
        EquipoiseError: If the robot has no arms, or legs cannot hold the CoM.
    """
    stood = dancing_posture(robot) if posture is None else robot.check_q(posture)
    problem: EquipoiseError | None = None
    for extent in EXTENTS:
        arms = built_in_dance(robot, stood, extent)
        try:
            motion = embed(robot, arms, posture=stood, com_in_world=com_in_world)
        except EquipoiseError as error:
            problem = problem or error
            continue
        if torque_fraction(motion) <= STRONG:
            return motion
        problem = None
    if problem is not None:
        raise problem
    return motion


def torque_fraction(motion: StandingMotion) -> float:
    """Return the largest feed-forward torque of a joint over its limit."""
    limits = {a.joint: a.effort_limit for a in motion.robot.actuators}
    most = np.abs(motion.joint_torque).max(axis=0)
    return max(
        (
            float(torque) / limits[name]
            for name, torque in zip(degree_names(motion.robot), most, strict=True)
            if 0.0 < limits.get(name, 0.0) < np.inf
        ),
        default=0.0,
    )


def hold_legs(motion: StandingMotion) -> StandingMotion:
    """Return the same motion of the arms with the legs held as at its start."""
    robot, arms = motion.robot, motion.arms
    q = arms.postures(robot, motion.q[0], motion.time)
    return _motion(robot, arms, motion.time, q, motion.com, embedded=False)


def _times(arms: ArmMotion) -> Array:
    """Return the points of a motion [s]."""
    if arms.duration > LONGEST_DANCE:
        raise EquipoiseError(
            f"a motion of {arms.duration:.0f} s; at most {LONGEST_DANCE:g} s are "
            "solved at once"
        )
    return DT * np.arange(max(int(arms.duration / DT + 1e-6), 1) + 1, dtype=np.float64)


def _motion(
    robot: Robot, arms: ArmMotion, time: Array, q: Array, centre: Array, embedded: bool
) -> StandingMotion:
    ground = np.mean([sole_pose(robot, q[0], side)[2, 3] for side in SIDES])
    off = np.linalg.norm(np.asarray(com(robot, q)) - centre, axis=1)
    return StandingMotion(
        robot,
        arms,
        embedded,
        frozen_array(time),
        frozen_array(q),
        frozen_array(velocities(robot, q, DT)),
        frozen_array(centre),
        frozen_array(off),
        frozen_array(true_zmp(robot, q, DT, np.full(len(time), ground))),
    )
