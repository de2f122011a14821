"""The actuators of the joints: modes, gains, motors, gears, limits.

The second line of Eq. (1) of [Sariyildiz2015]: rotor inertia, friction, disturbance
torque; beside it what real actuators have: limits, stiction, delay.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, ShapeError
from equipoise.kinematics.com import com
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import degree_names
from equipoise.robot.model import Robot

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
# Where a file has no limit of torque: a leg's joint has this fraction of weight × leg
# length, any other joint this many times what holds its limb stretched out. No limit of
# speed: this many times √(g / leg length).
LEG_TORQUE = 0.6
LIMB_TORQUE = 4.0
SPEED = 3.0
# Torque-controlled joints: damping over m L² √(g / L).
TORQUE_DAMPING = 0.031
# Time in which the largest torque of a motor brings its rotor alone to its largest
# speed [s]. No gear changes it: the rotor inertia seen at the joint is this time ×
# torque over speed. Published armatures, torques and speeds give 3.1 to 4.1 ms for
# Cassie and 3.6 to 5.3 ms for Unitree's G1. Files may have limits that stand for none,
# so the least and the largest estimate are over m L².
ROTOR_TIME = 4e-3
ROTOR_INERTIA = (5.7e-4, 5.7e-3)
# A limit of more than this many times weight × leg length, or this speed [rad/s],
# stands for none.
ABSURD_TORQUE = 100.0
ABSURD_SPEED = 1e3
MOST_NAMED = 4
# Joints without anything on them move this fraction of the robot's mass × limb².
LEAST_INERTIA = 2.5e-6
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
    assumptions = _estimate_limits(robot, values, driven, holding, in_leg)
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
    robot, m L² √(g / L) with the leg's length L. Rotor inertias that the file does not
    have are estimated from the joints' limits: without any, light feet chatter on
    stiff ground.

    Args:
        robot: The robot.
        parameters: As in :func:`actuation_of`.
    """
    usual = actuation_of(robot)
    legs = [limb.length for limb in robot.limbs.values() if limb.kind == "leg"]
    leg = max(legs, default=robot.longest_limb)
    inertia = robot.mass * leg**2
    damping = TORQUE_DAMPING * inertia * math.sqrt(STANDARD_GRAVITY / leg)
    missing = usual.rotor_inertia <= 0.0
    estimated = _rotor_inertia(usual, inertia)
    rotor = np.where(missing, estimated, usual.rotor_inertia)
    assumptions = usual.assumptions
    if missing.any():
        low, high = estimated[missing].min(), estimated[missing].max()
        assumptions += (
            f"rotor inertia of {missing.sum()} joints not in the file, estimated as "
            f"{low:.2g} to {high:.2g} kg m² from their limits of torque and speed",
        )
    given = {
        "stiffness": 0.0,
        "damping": damping,
        "rotor_inertia": rotor,
        "assumptions": assumptions,
    }
    return usual.with_parameters(**{**given, **parameters})


def _rotor_inertia(actuation: Actuation, inertia: float) -> Array:
    """Return rotor inertias as limits of torque and speed let expect, shape (n,).

    Args:
        actuation: Actuators with their limits.
        inertia: m L² of the robot [kg m²].
    """
    limited = np.isfinite(actuation.torque_limit) & (actuation.velocity_limit > 0.0)
    slowest = np.where(limited, actuation.velocity_limit, np.inf)
    torque = np.where(limited, actuation.torque_limit, 0.0)
    least, most = (part * inertia for part in ROTOR_INERTIA)
    return np.clip(ROTOR_TIME * torque / slowest, least, most)


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


def moved_inertia(robot: Robot) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Return what each joint moves, in the order of v[6:], standing.

    Returns:
        Inertia [kg m² or kg]: of a leg's joint that of all but what hangs on it, as the
        foot stands still, if that is more; of other joints that of what hangs on them.
        Torque or force that holds what hangs on a joint stretched out [Nm or N].
        Whether it is a leg's joint. Shape (nv - 6,) each.
    """
    model, data, q = robot.model, robot.model.createData(), robot.standing
    pin.crba(model, data, q)
    pin.computeSubtreeMasses(model, data)
    pin.centerOfMass(model, data, q)
    pin.computeJointJacobians(model, data, q)
    whole = data.oMi[1].act(data.Ycrb[1])
    legs = robot.leg_joints
    least = LEAST_INERTIA * robot.mass * robot.longest_limb**2
    count = robot.nv - BASE_DOF
    inertia, holding = np.zeros(count), np.zeros(count)
    in_leg = np.zeros(count, dtype=bool)
    for body in range(2, model.njoints):
        joint = model.joints[body]
        below = data.oMi[body].act(data.Ycrb[body])
        slides = joint.shortname().startswith("JointModelP")
        for column in range(joint.idx_v, joint.idx_v + joint.nv):
            at, motion = column - BASE_DOF, pin.Motion(data.J[:, column])
            own = float(motion.vector @ (below * motion).vector)
            inertia[at], in_leg[at] = max(own, least), model.names[body] in legs
            if in_leg[at]:
                others = float(motion.vector @ (whole * motion).vector) - own
                inertia[at] = max(own, others)
            arm = 1.0 if slides else _reach(data, body)
            holding[at] = data.mass[body] * STANDARD_GRAVITY * arm
    return inertia, holding, in_leg


def _reach(data: pin.Data, body: int) -> float:
    """Return the distance from a joint to the centre of mass that hangs on it [m]."""
    if data.mass[body] <= 0.0:  # Pinocchio divides by it
        return 0.0
    return float(np.linalg.norm(data.com[body]))


def _estimate_limits(
    robot: Robot,
    values: dict[str, Array],
    driven: NDArray[np.bool_],
    holding: Array,
    in_leg: NDArray[np.bool_],
) -> tuple[str, ...]:
    """Put estimates where a file has no limits, or absurd ones; say what was done."""
    legs = [limb.length for limb in robot.limbs.values() if limb.kind == "leg"]
    leg = max(legs, default=robot.longest_limb)
    weight = robot.mass * STANDARD_GRAVITY
    names = np.array(degree_names(robot))
    # a limb of no weight still has something to do
    limb = np.maximum(LIMB_TORQUE * holding, 1e-3 * weight * leg)
    estimates = {
        "torque_limit": np.where(in_leg, LEG_TORQUE * weight * leg, limb),
        "velocity_limit": SPEED
        * math.sqrt(STANDARD_GRAVITY / leg)
        * np.ones(len(limb)),
    }
    absurd = {
        "torque_limit": ABSURD_TORQUE * weight * leg,
        "velocity_limit": ABSURD_SPEED,
    }
    said = []
    for name, estimate in estimates.items():
        own = values[name]
        missing = driven & ((own <= 0.0) | (own > absurd[name]))
        if missing.any():
            least, most = estimate[missing].min(), estimate[missing].max()
            unit = "Nm" if name == "torque_limit" else "rad/s"
            span = f"{least:.3g}" + (f" to {most:.3g}" if most > least else "")
            joints = list(names[missing][:MOST_NAMED])
            if missing.sum() > MOST_NAMED:
                joints.append(f"and {missing.sum() - MOST_NAMED} more")
            said.append(
                f"{name.replace('_', ' ')} of {missing.sum()} joints not in the file "
                f"(zero, missing or beyond any actuator), estimated as {span} {unit}: "
                f"{', '.join(joints)}"
            )
            values[name] = np.where(missing, estimate, own)
    return tuple(said)
