"""How fast an upper body may swing that must be stopped again.

A swing gives the CoM a force only while it is accelerated. What it can do in all is as
much as the torso may turn: until it lies too low, or until a joint of hips or waist is
at its stop. Sideways this is soon: the legs stand apart on soles that stay flat, and
one hip comes to its inner stop. Knees do not count: where one is straight the torso
turns on, and the CoM is lower. Neither do ankles: feet that must stay flat are kept so
by their contacts.
"""

from __future__ import annotations

import math

import numpy as np

from equipoise.arrays import Array
from equipoise.balance.skeleton import BASE_DOF
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.balance.whole_body.limits import JointRange
from equipoise.balance.whole_body.swing_limits import hip_degrees
from equipoise.balance.whole_body.tasks import FrameTask
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.model import Robot
from equipoise.robot.parts import Limb

# Where the torso turns at more than this part of the rate at which it could still be
# stopped, the swing is made less.
NEARLY_TOO_FAST = 0.8
# Nothing, where it is divided by.
LEAST = 1e-9


class Swing:
    """The swing of an upper body, and how much of it is left.

    Args:
        dynamics: Dynamics of the robot; up to date when it is used.
        torso: The task of the torso's rotation.
        motion: Where the joints may be.

    Attributes:
        free_leg: Leg whose foot is lifted or carries little, 0 the left and 1 the
            right; or None. Its stops do not matter.
    """

    def __init__(
        self, dynamics: Dynamics, torso: FrameTask, motion: JointRange
    ) -> None:
        self.dynamics, self._torso = dynamics, torso
        robot = dynamics.robot
        hips = hip_degrees(robot)
        turning = [*hips[0], *hips[1], *degrees_of(robot, "torso")]
        self._turning = np.array(turning, dtype=int)
        self._lower = motion.lower[self._turning]
        self._upper = motion.upper[self._turning]
        self.free_leg: int | None = None
        self._others = [~np.isin(self._turning, hip) for hip in hips]

    def now(self, omega: float) -> Array:
        """Return ℓ = L / (m h ω), turned by a quarter [m], shape (2,).

        Args:
            omega: ω of the pendulum [1/s].
        """
        momentum = self.dynamics.momentum_matrix() @ self.dynamics.v
        per_metre = self.dynamics.robot.mass * STANDARD_GRAVITY / omega
        return np.array([momentum[1], -momentum[0]]) / per_metre

    def tilt(self) -> tuple[float, float]:
        """Return how far the torso is from where it is wanted [rad], and its rate."""
        error = self._torso.error(self.dynamics)
        angle = math.sqrt(float(error @ error))
        turning = self._torso.jacobian(self.dynamics) @ self.dynamics.v
        return angle, -float(error @ turning) / max(angle, LEAST)

    def way_back(self) -> Array:
        """Return the turn by which the torso comes back, turned as ℓ is [rad]."""
        error = self._torso.error(self.dynamics)
        return np.array([error[1], -error[0]])

    def spare(
        self, angle: float, rate: float, most_tilt: float, braking: float
    ) -> float:
        """Return which part of a swing is allowed, 0 to 1.

        Args:
            angle: Of the torso from where it is wanted [rad].
            rate: Of that angle [rad/s].
            most_tilt: Largest such angle [rad].
            braking: With which the torso can be stopped before [rad/s²].
        """
        room = max(min(most_tilt - angle, self._before_stops(rate)), 0.0)
        fastest = math.sqrt(2.0 * braking * room)
        spare = (1.0 - rate / max(fastest, LEAST)) / (1.0 - NEARLY_TOO_FAST)
        return min(max(spare, 0.0), 1.0)

    def _before_stops(self, rate: float) -> float:
        """Return how far the torso may turn on until a joint is at its stop [rad]."""
        if rate <= 0.0:
            return math.inf
        speed = self.dynamics.v[BASE_DOF:][self._turning]
        position = self.dynamics.joint_positions[self._turning]
        distance = np.where(speed > 0.0, self._upper - position, position - self._lower)
        times = distance / np.maximum(np.abs(speed), LEAST)
        if self.free_leg is not None:
            times = times[self._others[self.free_leg]]
        return rate * float(times.min(initial=math.inf))


def degrees_of(robot: Robot, kind: str) -> list[int]:
    """Return the degrees of freedom of limbs of a kind, in the order of v[6:]."""
    found: list[int] = []
    for limb in robot.limbs.values():
        if limb.kind == kind:
            found.extend(degrees_of_limb(robot, limb))
    return found


def degrees_of_limb(robot: Robot, limb: Limb) -> list[int]:
    """Return the degrees of freedom of a limb, in the order of v[6:]; hands' too."""
    found: list[int] = []
    for name in limb.subtree_joints if limb.kind == "arm" else limb.joints:
        joint = robot.model.joints[robot.model.getJointId(name)]
        first = joint.idx_v - BASE_DOF
        found.extend(range(first, first + joint.nv))
    return found
