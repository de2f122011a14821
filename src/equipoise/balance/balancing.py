"""The balancing controller of [Choi2007]: ZMP and CoM feedback, resolved by the legs.

It commands a velocity of the CoM from what is measured,

    u = ċ_d − k_p (p_d − p) + k_c (c_d − c)                              (Eq. 24)

horizontally, embeds it in the motion of all limbs (Eq. 33), resolves it for the joints
of both legs (Eq. 18 and 19) and integrates these to joint positions. CoM c and ZMP p
are measured with a delay τ, and both pass a low-pass filter of time constant T: with
any delay the ZMP, an acceleration, needs one of T > k_p / ω². Gains, delay and filter
together are those of :class:`~equipoise.control.certificate.Gains`, and are refused
unless they are stable.
"""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.balance.estimator import Estimate
from equipoise.balance.skeleton import sole_placements
from equipoise.control.blocks import Controller
from equipoise.control.certificate import Gains, nearest_stable
from equipoise.control.embedded_motion import resolve
from equipoise.control.signals import Command, State, Target
from equipoise.errors import EquipoiseError
from equipoise.kinematics.com import com
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import BASE_V, joint_positions
from equipoise.robot.model import Robot

# Gains over the pendulum's ω, and the filter's time constant over k_p / ω².
ZMP_GAIN, COM_GAIN, LAG = 0.2, 0.4, 2.0
# Rate at which commanded soles, body, CoM height and arms go back to what is wanted,
# where integration has left it [1/s].
DRIFT_RATE = 20.0


def balancing_gains(
    robot: Robot,
    delay: float,
    zmp_gain: float | None = None,
    com_gain: float | None = None,
    *,
    height: float | None = None,
) -> Gains:
    """Return gains for a robot, and the filter that goes with them; maybe not stable.

    Args:
        robot: The robot.
        delay: From what is measured to what is done about it [s]: that of the sensors
            and a control period.
        zmp_gain: k_p [1/s]; a multiple of ω unless given.
        com_gain: k_c [1/s]; likewise.
        height: Of the CoM over the soles [m]; that of standing unless given.
    """
    if height is None:
        height = float(com(robot, robot.standing)[2])
    omega = math.sqrt(STANDARD_GRAVITY / height)
    k_p = ZMP_GAIN * omega if zmp_gain is None else zmp_gain
    k_c = COM_GAIN * omega if com_gain is None else com_gain
    lag = LAG * max(k_p, 0.0) / omega**2 if math.isfinite(k_p) else 0.0
    return Gains(k_p, k_c, omega, delay, lag)


def check_stable(gains: Gains) -> None:
    """Refuse gains that are not stable.

    Raises:
        EquipoiseError: Which condition fails, and stable gains near to them.
    """
    if gains.stable:
        return
    near = nearest_stable(gains)
    exact = [c for c in gains.conditions if c.name.startswith("exact")]
    failed = next(condition for condition in exact if not condition.holds)
    lag = f", lag {near.lag:.4g} s" if near.lag != gains.lag else ""
    raise EquipoiseError(
        f"k_p = {gains.zmp_gain:g}/s, k_c = {gains.com_gain:g}/s are not stable: "
        f"{failed.text} does not hold; stable ones near to them are k_p = "
        f"{near.zmp_gain:.4g}/s, k_c = {near.com_gain:.4g}/s{lag}"
    )


class BalancingController(Controller[State]):
    """Keeps a robot that stands on both feet in balance by Eq. 33 of [Choi2007].

    Args:
        robot: The robot as it is known.
        period: Time between two ticks [s].
        gains: Gains, delay and filter; those of :func:`balancing_gains` with a delay of
            one period unless given.
        force: Whether gains may be unstable.

    Attributes:
        robot: The robot.
        period: Time between two ticks [s].
        gains: Its gains.
        q: Configuration that is commanded, shape (nq,).
        com_velocity: Velocity of the CoM that was commanded last [m/s], shape (3,).

    Raises:
        EquipoiseError: If the gains are not stable, or the robot has no two soles.
    """

    def __init__(
        self,
        robot: Robot,
        period: float,
        gains: Gains | None = None,
        *,
        force: bool = False,
    ) -> None:
        self.robot, self.period = robot, period
        self.gains = balancing_gains(robot, period) if gains is None else gains
        if not force:
            check_stable(self.gains)
        self._filter = -math.expm1(-period / self.gains.lag) if self.gains.lag else 1.0
        self._upright = _rotation(robot.standing)
        self.q: Array = np.array(robot.standing)
        self.com_velocity: Array = np.zeros(3)
        self._position: Array = joint_positions(robot, self.q)
        self._feedback = np.zeros(2)
        self._soles = sole_placements(robot)

    def reset(self, start: State) -> None:
        """Begin in the state at the start."""
        self.q = np.array(start.q)
        self._position = joint_positions(self.robot, self.q)
        self.com_velocity, self._feedback = np.zeros(3), np.zeros(2)

    def control(self, known: State, target: Target) -> Command:
        """Return a command for the next period.

        Args:
            known: An :class:`~equipoise.balance.estimator.Estimate`.
            target: What is wanted of a robot on both feet: a stance, a dance.

        Raises:
            EquipoiseError: If it is another state, or a target without CoM and soles,
                or with a foot off the ground.
        """
        if not isinstance(known, Estimate):
            raise EquipoiseError(
                "the balancing controller needs an Estimate: give simulate a "
                "ContactAidedEstimator with sensors"
            )
        if (
            target.com is None
            or target.com_velocity is None
            or target.zmp is None
            or target.soles is None
            or target.torso is None
            or target.support != "both"
        ):
            raise EquipoiseError(
                "the balancing controller needs a target with CoM, ZMP, soles and "
                "torso, on both feet"
            )
        robot, gains = self.robot, self.gains
        com_error = target.com[:2] - known.com[:2] - known.com_offset
        zmp_error = target.zmp[:2] - known.zmp[:2]
        fed_back = gains.com_gain * com_error - gains.zmp_gain * zmp_error
        self._feedback += self._filter * (fed_back - self._feedback)
        wanted = np.array(target.com_velocity)
        wanted[:2] += self._feedback  # Eq. (24), into Eq. (33)
        twists, turn, height = self._drift(target)
        wanted[2] += DRIFT_RATE * height
        arms = DRIFT_RATE * (target.position - self._position)
        moved = resolve(  # Eq. (18) and (19)
            robot,
            self.q,
            wanted,
            twists=twists,
            joint_velocity=target.velocity + arms,
            body_angular_velocity=turn,
            base="both",
        )
        self.q = pin.integrate(robot.model, self.q, self.period * moved.velocity)
        self.com_velocity = wanted
        self._position = joint_positions(robot, self.q)
        return Command(self._position, moved.velocity[BASE_V:], target.torque)

    def _drift(self, target: Target) -> tuple[dict[str, Array], Array, float]:
        """Return twists of the soles and turn of the body that undo drift.

        Returns:
            Twists by leg, shape (6,) each; angular velocity of the body [rad/s], (3,);
            and by how much the commanded CoM is too low [m].
        """
        robot = self.robot
        model, data = robot.model, robot.data
        assert target.soles is not None
        assert target.torso is not None
        assert target.com is not None
        height = target.com[2] - float(pin.centerOfMass(model, data, self.q)[2])
        twists = {}
        for side, (body, pose) in self._soles.items():
            sole = np.array(data.oMi[body].homogeneous) @ pose
            wanted = target.soles[side]
            off = np.concatenate(
                [wanted[:3, 3] - sole[:3, 3], _turn(wanted[:3, :3], sole[:3, :3])]
            )
            planned = np.zeros(6)
            if target.sole_twists is not None:
                planned = target.sole_twists[side]
            twists[robot.legs[side].name] = planned + DRIFT_RATE * off
        turn = _turn(target.torso @ self._upright, _rotation(self.q))
        return twists, DRIFT_RATE * turn, height


def _rotation(q: Array) -> Array:
    """Return the rotation of the base, shape (3, 3)."""
    return np.array(pin.Quaternion(np.array(q[3:7])).toRotationMatrix())


def _turn(wanted: Array, rotation: Array) -> Array:
    """Return the rotation vector from one orientation to another in world axes."""
    return np.array(pin.log3(wanted @ rotation.T))
