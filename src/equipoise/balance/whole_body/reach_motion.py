"""Reaching over time: a reference for the body, and a task for the hand."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.balance.whole_body.controller import WholeBodyController
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.balance.whole_body.hands import add_hands
from equipoise.balance.whole_body.reaching import ReachPath
from equipoise.balance.whole_body.tasks import FrameTask
from equipoise.control.blocks import Controller
from equipoise.control.signals import Command, State, Target
from equipoise.gait.standing import standing_reference
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.robot.parts import Side

# Rate at which the hand follows its path, as a multiple of √(g / L), with the leg's
# length L; and its weight [per (m/s²)²].
HAND_RATE, HAND_WEIGHT = 4.0, 1.0
# Largest speeds along a path: of the hand and of the CoM as fractions of √(g L), of
# joints as a fraction of √(g / L); and how long a reach takes at least [s].
HAND_PACE, COM_PACE, JOINT_PACE, LEAST = 0.12, 0.03, 0.25, 1.5
# Speed at the middle of a path over the mean.
PEAK = 1.875


def reach_motion(path: ReachPath, before: float, after: float) -> ReachMotion:
    """Return a path over time, as fast as hand, CoM and joints should move.

    Args:
        path: Postures along the reach.
        before: How long the robot stands before it [s].
        after: How long it stays there [s].
    """
    leg = max(limb.length for limb in path.robot.legs.values())
    pace, rate = math.sqrt(STANDARD_GRAVITY * leg), math.sqrt(STANDARD_GRAVITY / leg)
    moved = [
        np.linalg.norm(np.diff(path.com, axis=0), axis=1) / (COM_PACE * pace),
        np.abs(np.diff(joint_positions(path.robot, path.q), axis=0)).max(axis=1)
        / (JOINT_PACE * rate),
        *(
            np.linalg.norm(np.diff(points, axis=0), axis=1) / (HAND_PACE * pace)
            for points in path.hands.values()
        ),
    ]
    times = np.maximum(np.max(moved, axis=0), 1e-6)
    at = np.concatenate([[0.0], np.cumsum(times)])
    lasts = max(LEAST, PEAK * float(at[-1]))
    return ReachMotion(path, at / at[-1], before, lasts, before + lasts + after)


@dataclass(frozen=True, eq=False)
class ReachMotion:
    """A robot that stands, reaches along a path and stays there; a reference.

    Attributes:
        path: Postures along the reach.
        parts: Which part of the way each of them is, from 0 to 1, shape (n,).
        start: When the hand begins to move [s].
        lasts: How long it moves [s].
        duration: How long all of it takes [s].
    """

    path: ReachPath
    parts: Array
    start: float
    lasts: float
    duration: float

    def reset(self) -> None:
        """Do nothing: it is the same each time."""

    def sample(self, time: float) -> Target:
        """Return what is wanted at a time [s]."""
        standing = self._standing
        joints, joint_rate, _ = self._at(self._joints, time)
        com, com_rate, com_rate_rate = self._at(self.path.com, time)
        assert standing.zmp is not None
        height = float(com[2] - standing.zmp[2])
        return replace(
            standing,
            position=joints,
            velocity=joint_rate,
            com=com,
            com_velocity=com_rate,
            com_acceleration=com_rate_rate,
            dcm=com + com_rate * math.sqrt(height / STANDARD_GRAVITY),
            zmp=np.array([com[0], com[1], standing.zmp[2]]),
            torso=self._torso(time),
        )

    def hand(self, side: Side, time: float) -> tuple[Array, Array, Array]:
        """Return where a hand is wanted [m], its velocity and its acceleration."""
        return self._at(self.path.hands[side], time)

    @cached_property
    def _standing(self) -> Target:
        return standing_reference(self.path.robot, self.path.q[0]).target

    @cached_property
    def _joints(self) -> Array:
        return joint_positions(self.path.robot, self.path.q)

    @cached_property
    def _torsos(self) -> Array:
        """Rotations of the torso against upright, shape (n, 3, 3)."""
        robot = self.path.robot
        torso = robot.limbs.get("torso")
        link = robot.description.root if torso is None else torso.end_link
        dynamics = Dynamics(robot)  # standing
        frame = dynamics.frame(link)
        upright = np.array(dynamics.pose(frame).rotation)
        still = np.zeros(robot.nv)
        turned = [
            np.array(dynamics.update(q, still).pose(frame).rotation)
            for q in self.path.q
        ]
        return np.asarray(np.array(turned) @ upright.T)

    def _torso(self, time: float) -> Array:
        row, part, _, _ = self._place(time)
        first, second = self._torsos[row], self._torsos[row + 1]
        return np.asarray(first @ pin.exp3(part * pin.log3(first.T @ second)))

    def _place(self, time: float) -> tuple[int, float, float, float]:
        """Return the row, the part of the way to the next, and its two derivatives."""
        s = min(max((time - self.start) / self.lasts, 0.0), 1.0)
        at = s**3 * (10.0 + s * (6.0 * s - 15.0))
        rate = 30.0 * (s * (1.0 - s)) ** 2 / self.lasts
        rate_rate = 60.0 * s * (1.0 - s) * (1.0 - 2.0 * s) / self.lasts**2
        row = int(np.searchsorted(self.parts, at, "right")) - 1
        row = min(max(row, 0), len(self.parts) - 2)
        gap = self.parts[row + 1] - self.parts[row]
        return row, (at - self.parts[row]) / gap, rate / gap, rate_rate / gap

    def _at(self, rows: Array, time: float) -> tuple[Array, Array, Array]:
        """Return a row of the path at a time, and its two derivatives."""
        row, part, rate, rate_rate = self._place(time)
        step = rows[row + 1] - rows[row]
        return rows[row] + part * step, rate * step, rate_rate * step


class ReachingController(Controller[State]):
    """Stands and reaches by whole-body torques.

    Args:
        controller: Makes torques; the hand's task is added to its tasks.
        motion: Where the hand is wanted.
    """

    def __init__(self, controller: WholeBodyController, motion: ReachMotion) -> None:
        self.controller, self.motion = controller, motion
        hands = add_hands(controller.dynamics)
        stiffness = (HAND_RATE * controller.feet.rate) ** 2
        self.tasks: dict[Side, FrameTask] = {
            side: FrameTask(
                hands[side].frame, HAND_WEIGHT, stiffness, directions=(0, 1, 2)
            )
            for side in motion.path.hands
        }
        controller.tasks.extend(self.tasks.values())

    def reset(self, start: State) -> None:
        """Begin in the state at the start."""
        self.controller.reset(start)

    def control(self, known: State, target: Target) -> Command:
        """Return a command for the next period."""
        time = known.time + self.controller.period
        for side, task in self.tasks.items():
            where, velocity, acceleration = self.motion.hand(side, time)
            # as seen from the feet, which may stand elsewhere than planned
            task.pose[:3, 3] = where + self.controller.feet.shift
            task.velocity[:3], task.acceleration[:3] = velocity, acceleration
        return self.controller.control(known, target)
