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

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError, ShapeError
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.model import Robot

Mode = Literal["torque", "servo", "position", "velocity"]
# As kernels number them.
MODES: tuple[Mode, ...] = ("torque", "servo", "position", "velocity")

BASE_DOF = 6
# A servo sags by at most one over this under the weight that it may have to hold,
# as an angle or, for sliding joints, as a fraction of the leg's length.
STIFFNESS_OVER_WEIGHT = 100.0
DAMPING_RATIO = 0.7
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

    def __post_init__(self) -> None:
        """Keep the arrays read-only and refuse impossible parameters."""
        count = np.size(self.mode)
        for item in fields(self):
            if item.name == "delay":
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
            if name == "delay"
            else np.broadcast_to(value, np.shape(self.mode))
            for name, value in parameters.items()
        }
        return replace(self, **changed)


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


def actuation_of(robot: Robot, mode: Mode = "servo", **parameters: Any) -> Actuation:
    """Return a robot's actuators: limits of its file, gains from its weight.

    Args:
        robot: The robot.
        mode: Mode of all joints; those of three degrees of freedom are in torque mode.
        parameters: Attributes of :class:`Actuation` to use instead, one number for
            all joints or one each.
    """
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
    for body in range(2, robot.model.njoints):
        joint = robot.model.joints[body]
        actuator = given.get(robot.model.names[body])
        if actuator is None or joint.nv != 1:
            continue
        at = joint.idx_v - BASE_DOF
        modes[at] = mode_number(mode)
        for name, column in values.items():
            of_file = "effort_limit" if name == "torque_limit" else name
            column[at] = getattr(actuator, of_file)
        if joint.nq == 2:  # turns without end
            values["lower"][at], values["upper"][at] = -math.inf, math.inf
    stiffness, damping = default_gains(robot, values["rotor_inertia"])
    actuation = Actuation(
        mode=modes,
        stiffness=stiffness,
        damping=damping,
        static_friction=STICTION_RATIO * values["coulomb_friction"],
        stribeck_speed=np.full(count, STRIBECK_SPEED),
        disturbance=np.zeros(count),
        **values,
    )
    return actuation.with_parameters(**parameters) if parameters else actuation


def default_gains(robot: Robot, rotor_inertia: Array) -> tuple[Array, Array]:
    """Return stiffness and damping of servos, from what each joint may have to carry.

    A leg's joint carries the whole robot on it, another joint what hangs on it. The
    stiffness is a multiple of the largest gravity torque; the damping is a fraction of
    critical for the inertia that the joint moves.
    """
    model = robot.model
    data = pin.Data(model)
    inertia_below = np.diag(pin.crba(model, data, robot.standing))[BASE_DOF:].copy()
    pin.forwardKinematics(model, data, robot.standing)
    pin.computeSubtreeMasses(model, data)
    pin.centerOfMass(model, data, robot.standing)
    in_leg = {
        name
        for limb in robot.limbs.values()
        if limb.kind == "leg"
        for name in limb.joints
    }
    stiffness = np.zeros(robot.nv - BASE_DOF)
    damping = np.zeros(robot.nv - BASE_DOF)
    size = robot.longest_limb
    for body in range(2, model.njoints):
        joint = model.joints[body]
        at = joint.idx_v - BASE_DOF
        reach = max(_reach(model, data, body), 0.05 * size)
        mass = data.mass[body]
        inertia = float(inertia_below[at : at + joint.nv].max())
        if model.names[body] in in_leg:
            com_in_world = data.com[0]
            above = np.linalg.norm(com_in_world - data.oMi[body].translation)
            reach, mass = max(reach, float(above)), robot.mass
            inertia = max(inertia, robot.mass * float(above) ** 2)
        torque = max(mass, 1e-3 * robot.mass) * STANDARD_GRAVITY * reach
        slides = joint.nv == 1 and joint.shortname().startswith("JointModelP")
        if slides:
            torque /= reach * size
        gain = STIFFNESS_OVER_WEIGHT * torque
        moved = inertia + rotor_inertia[at]
        stiffness[at : at + joint.nv] = gain
        damping[at : at + joint.nv] = 2.0 * DAMPING_RATIO * math.sqrt(gain * moved)
    return frozen_array(stiffness), frozen_array(damping)


def _reach(model: pin.Model, data: pin.Data, body: int) -> float:
    """Return the distance from a joint to the centre of mass that hangs on it [m]."""
    if data.mass[body] <= 0.0:  # Pinocchio divides by it
        return 0.0
    return float(np.linalg.norm(data.com[body]))
