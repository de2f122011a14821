"""The actuators of the joints: modes, gains, motors, gears, limits.

The second line of Eq. (1) of [Sariyildiz2015]: rotor inertia, friction, disturbance
torque; beside it what real actuators have: limits, stiction, delay.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, ShapeError
from equipoise.kinematics.com import com
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import sliding_degrees
from equipoise.robot.model import Robot
from equipoise.simulation.actuator_estimates import (
    estimate_limits,
    estimate_rotor_inertia,
    moved_inertia,
    spans,
)

Mode = Literal["torque", "servo", "position", "velocity"]
# As kernels number them.
MODES: tuple[Mode, ...] = ("torque", "servo", "position", "velocity")

BASE_DOF = 6
# Attributes that are not arrays of the joints.
ONE_FOR_ALL = ("delay", "assumptions")
# Bandwidth of the servos [Hz]: the natural frequency of a leg's joint with the inertia
# that it moves in stance, all of the robot but the leg below it; and that of any other
# joint with what hangs on it.
STANCE_BANDWIDTH = 3.0
LIMB_BANDWIDTH = 10.0
# Small robots topple faster, at the rate √(g / h): a leg's joint that carries the mass
# at the height h is at least this many times as stiff as m g h, by which gravity tilts
# it. That is 3 Hz at a height of 0.55 m. What servos give way by under unknown loads is
# in proportion to g / (2π f)²: for all robots below, the same fraction of their size.
LEAST_STIFFNESS_RATIO = 20.0
DAMPING_RATIO = 0.7
# Torque-controlled joints: damping over m L² √(g / L), or m √(g / L) if they slide.
TORQUE_DAMPING = 0.031
# Stiction and the speed at which it has all but gone, where a file gives neither.
STICTION_RATIO = 1.2
STRIBECK_SPEED = 0.05


@dataclass(frozen=True, eq=False)
class Actuation:
    """The actuator of each joint; arrays of shape (nv - 6,) in the order of v[6:].

    A joint in mode

    - ``"torque"`` gets the torque commanded;
    - ``"servo"`` gets kp (position commanded - position) + kd (velocity commanded -
      velocity) + torque commanded; a velocity servo has kp = 0;
    - ``"position"`` is at the position commanded, whatever torque that takes;
    - ``"velocity"`` likewise has the velocity commanded.

    Torque and servo modes know the limits of torque and speed.

    Attributes:
        mode: Index into :data:`MODES`.
        stiffness: kp [Nm/rad or N/m].
        damping: kd [Nm s/rad or N s/m].
        rotor_inertia: Seen at the joint, gear included [kg m² or kg].
        viscous_friction: [Nm s/rad or N s/m].
        coulomb_friction: While moving [Nm or N].
        static_friction: At rest (Stribeck) [Nm or N].
        stribeck_speed: At which friction has fallen halfway from static to Coulomb
            [rad/s or m/s].
        torque_limit: Largest torque or force of the actuator [Nm or N].
        velocity_limit: Speed above which the actuator no longer pushes [rad/s or m/s].
        lower: Lower stop [rad or m].
        upper: Upper stop [rad or m].
        disturbance: Torque or force added from outside the actuator [Nm or N].
        delay: Delay from command to actuator [s], one for all joints.
        assumptions: What the robot's file does not say and was estimated, in
            sentences.
    """

    mode: NDArray[np.int32]
    stiffness: Array
    damping: Array
    rotor_inertia: Array
    viscous_friction: Array
    coulomb_friction: Array
    static_friction: Array
    stribeck_speed: Array
    torque_limit: Array
    velocity_limit: Array
    lower: Array
    upper: Array
    disturbance: Array
    delay: float = 0.0
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Keep the arrays read-only and refuse impossible parameters."""
        count = np.size(self.mode)
        for item in fields(self):
            if item.name in ONE_FOR_ALL:
                continue
            values = np.asarray(getattr(self, item.name))
            if values.shape != (count,):
                raise ShapeError(
                    f"actuation: {item.name} has shape {values.shape}, "
                    f"mode has shape ({count},)"
                )
            if np.isnan(values).any():
                raise EquipoiseError(f"actuation: {item.name} holds NaN")
            free = item.name in ("mode", "lower", "upper", "disturbance")
            if not free and (values < 0.0).any():
                raise EquipoiseError(f"actuation: {item.name} is negative")
            if item.name in ("stiffness", "damping") and not np.isfinite(values).all():
                raise EquipoiseError(f"actuation: {item.name} is not finite")
            number = np.int32 if item.name == "mode" else np.float64
            frozen = np.array(values, dtype=number)
            frozen.flags.writeable = False
            object.__setattr__(self, item.name, frozen)
        if not np.isin(self.mode, range(len(MODES))).all():
            raise EquipoiseError(
                f"actuation: mode must be 0 to {len(MODES) - 1}: {', '.join(MODES)}"
            )
        if (self.lower > self.upper).any():
            raise EquipoiseError("actuation: a lower stop is above the upper one")
        if not (math.isfinite(self.delay) and 0.0 <= self.delay <= 1.0):
            raise EquipoiseError(
                f"actuation: a delay of {self.delay:g} s; it must be from 0 to 1 s"
            )

    def with_parameters(self, **parameters: Any) -> Actuation:
        """Return the same with other parameters, one for all joints or one each."""
        known = {item.name for item in fields(self)}
        unknown = sorted(set(parameters) - known)
        if unknown:
            raise EquipoiseError(
                f"actuation has no '{unknown[0]}'; it has: {', '.join(sorted(known))}"
            )
        mode = parameters.get("mode")
        if isinstance(mode, str):
            parameters["mode"] = mode_number(mode)
        changed: dict[str, Any] = {
            name: value
            if name in ONE_FOR_ALL
            else np.broadcast_to(value, np.shape(self.mode))
            for name, value in parameters.items()
        }
        return replace(self, **changed)

    @property
    def by_torque(self) -> bool:
        """Whether the joints are told torques: none has a stiffness of its own."""
        told = np.isin(self.mode, (MODES.index("torque"), MODES.index("servo")))
        return bool(told.all() and not self.stiffness.any())


def mode_number(mode: str) -> int:
    """Return the number of a mode.

    Raises:
        EquipoiseError: If there is no such mode.
    """
    if mode not in MODES:
        raise EquipoiseError(
            f"there is no actuation mode '{mode}'; the modes are: {', '.join(MODES)}"
        )
    return MODES.index(mode)


def actuation_of(
    robot: Robot,
    mode: Mode = "servo",
    *,
    bandwidth: float | None = None,
    **parameters: Any,
) -> Actuation:
    """Return a robot's actuators: limits of its file, gains from a bandwidth.

    The stiffness of a servo is J (2π f)² and its damping 2 ζ J 2π f with ζ = 0.7: f is
    the bandwidth, J the inertia that the joint moves, for a leg's joint in stance.
    Limits that the file does not have are estimated from the robot's weight and legs;
    ``assumptions`` says which.

    Args:
        robot: The robot.
        mode: Mode of all joints; those of three degrees of freedom are in torque mode.
        bandwidth: Of the legs' servos in stance [Hz], :func:`stance_bandwidth` unless
            given; those of other joints are faster in proportion, 10 Hz for 3 Hz.
        parameters: Attributes of :class:`Actuation` to use instead, one number for
            all joints or one each.

    Raises:
        EquipoiseError: If the bandwidth is not positive, or there is no such parameter.
    """
    if bandwidth is None:
        bandwidth = stance_bandwidth(robot)
    if not (math.isfinite(bandwidth) and bandwidth > 0.0):
        raise EquipoiseError(f"bandwidth is {bandwidth:g} Hz; it must be positive")
    count = robot.nv - BASE_DOF
    given = {actuator.joint: actuator for actuator in robot.actuators}
    values: dict[str, Any] = {
        name: np.full(count, neutral)
        for name, neutral in (
            ("rotor_inertia", 0.0),
            ("viscous_friction", 0.0),
            ("coulomb_friction", 0.0),
            ("torque_limit", math.inf),
            ("velocity_limit", math.inf),
            ("lower", -math.inf),
            ("upper", math.inf),
        )
    }
    modes = np.full(count, MODES.index("torque"), dtype=np.int32)
    driven = np.zeros(count, dtype=bool)
    for body in range(2, robot.model.njoints):
        joint = robot.model.joints[body]
        actuator = given.get(robot.model.names[body])
        if actuator is None or joint.nv != 1:
            continue
        at = joint.idx_v - BASE_DOF
        modes[at], driven[at] = mode_number(mode), True
        for name, column in values.items():
            of_file = "effort_limit" if name == "torque_limit" else name
            column[at] = getattr(actuator, of_file)
        if joint.nq == 2:  # turns without end
            values["lower"][at], values["upper"][at] = -math.inf, math.inf
    inertia, holding, in_leg = moved_inertia(robot)
    assumptions = estimate_limits(robot, values, driven, holding, in_leg)
    moved = inertia + values["rotor_inertia"]
    faster = np.where(in_leg, 1.0, LIMB_BANDWIDTH / STANCE_BANDWIDTH)
    rate = 2.0 * math.pi * bandwidth * faster
    actuation = Actuation(
        mode=modes,
        stiffness=moved * rate**2,
        damping=2.0 * DAMPING_RATIO * moved * rate,
        static_friction=STICTION_RATIO * values["coulomb_friction"],
        stribeck_speed=np.full(count, STRIBECK_SPEED),
        disturbance=np.zeros(count),
        assumptions=assumptions,
        **values,
    )
    return actuation.with_parameters(**parameters) if parameters else actuation


def torque_actuation(robot: Robot, **parameters: Any) -> Actuation:
    """Return the actuators of a robot whose joints are told torques.

    To the torque comes damping towards the velocity that is told, in proportion to the
    robot, m L² √(g / L) with the leg's length L, m √(g / L) if the joint slides. Rotor
    inertias that the file does not have are estimated from the joints' limits: without
    any, light feet chatter on stiff ground.

    Args:
        robot: The robot.
        parameters: As in :func:`actuation_of`.
    """
    usual = actuation_of(robot)
    leg, slides = robot.longest_leg, sliding_degrees(robot)
    inertia = robot.mass * np.where(slides, 1.0, leg**2)
    damping = TORQUE_DAMPING * inertia * math.sqrt(STANDARD_GRAVITY / leg)
    missing = usual.rotor_inertia <= 0.0
    estimated = estimate_rotor_inertia(robot, usual.torque_limit, usual.velocity_limit)
    rotor = np.where(missing, estimated, usual.rotor_inertia)
    assumptions = usual.assumptions
    if missing.any():
        found = spans(estimated, missing, slides, ("kg m²", "kg"), 2)
        assumptions += (
            f"rotor inertia of {missing.sum()} joints not in the file, estimated as "
            f"{found} from their limits of torque and speed",
        )
    given = {
        "stiffness": 0.0,
        "damping": damping,
        "rotor_inertia": rotor,
        "assumptions": assumptions,
    }
    return usual.with_parameters(**{**given, **parameters})


def stance_bandwidth(robot: Robot) -> float:
    """Return the bandwidth of a leg's servos in stance by default [Hz].

    3 Hz, or √(20 g / h) / 2π where the CoM stands lower than 0.55 m above the soles.
    """
    if not robot.soles:
        return STANCE_BANDWIDTH
    height = float(com(robot, robot.standing)[2])
    if height <= 0.0:  # a posture that does not stand
        return STANCE_BANDWIDTH
    rate = math.sqrt(LEAST_STIFFNESS_RATIO * STANDARD_GRAVITY / height)
    return max(STANCE_BANDWIDTH, rate / (2.0 * math.pi))
