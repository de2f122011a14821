"""Friction of joints that torques make up for.

It is taken at planned speeds: at measured ones, which are late, compensating it would
feed back. But a robot that recovers from a push does not move as planned: then it is
viscous friction at measured speeds. Afterwards arms are elsewhere than planned, where
dry friction holds them against the little that their posture asks for; it is then made
up for at the speed k (q_planned - q) at which they are to come back.
"""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Array
from equipoise.balance.whole_body.limits import Joints
from equipoise.balance.whole_body.swing import degrees_of
from equipoise.robot.model import Robot


class FrictionCompensation:
    """Torques of the joints' friction.

    Args:
        robot: The robot as it is known.
        joints: What its actuators can do.
        change: How much measured speeds count more or less after a tick, at most.
        return_rate: k, the rate at which arms come back to their plan [1/s].
    """

    def __init__(
        self, robot: Robot, joints: Joints, change: float, return_rate: float
    ) -> None:
        self.joints, self._change, self._return_rate = joints, change, return_rate
        self._arms = degrees_of(robot, "arm")
        self.reset()

    def reset(self) -> None:
        """Begin on the plan."""
        self._off_plan = 0.0

    def torque(
        self, off_plan: float, planned: Array, measured: Array, away: Array | None
    ) -> Array | float:
        """Return what friction takes [Nm or N], shape (n,).

        Args:
            off_plan: How much of a push is recovered from, 0 to 1.
            planned: Planned speeds [rad/s or m/s], shape (n,).
            measured: Measured speeds.
            away: How far joints are from their plan, q_planned - q, while arms come
                back [rad or m]; else None.
        """
        joints = self.joints
        if not joints.has_friction:
            return 0.0
        off = off_plan - self._off_plan
        self._off_plan += min(max(off, -self._change), self._change)
        speed = planned + self._off_plan * (measured - planned)
        friction = joints.viscous_friction * speed
        if away is not None:
            planned = np.array(planned)
            planned[self._arms] += self._return_rate * away[self._arms]
        friction += (1.0 - self._off_plan) * joints.dry_friction(planned)
        return np.asarray(friction)
