"""What a robot's file does not say of its actuators, estimated from the robot.

Limits of torque and speed follow from weight and legs, rotor inertias from these
limits: no number belongs to one robot. Joints that slide have forces where others have
torques.
"""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import degree_names, sliding_degrees
from equipoise.robot.model import Robot

BASE_DOF = 6
# Where a file has no limit of torque: a leg's joint has this fraction of weight × leg
# length, or of weight if it slides, any other joint this many times what holds its limb
# stretched out. No limit of speed: this many times √(g / leg length), or √(g × leg
# length) if it slides.
LEG_TORQUE = 0.6
LEG_FORCE = 3.0
LIMB_TORQUE = 4.0
SPEED = 3.0
# Time in which the largest torque of a motor brings its rotor alone to its largest
# speed [s]. No gear changes it: the rotor inertia seen at the joint is this time ×
# torque over speed. Published armatures, torques and speeds give 3.1 to 4.1 ms for
# Cassie and 3.6 to 5.3 ms for Unitree's G1. Files may have limits that stand for none,
# so the least and the largest estimate are over m L², or m if the joint slides.
ROTOR_TIME = 4e-3
ROTOR_INERTIA = (5.7e-4, 5.7e-3)
# A limit of more than this many times weight × leg length, or this speed [rad/s],
# stands for none.
ABSURD_TORQUE = 100.0
ABSURD_SPEED = 1e3
MOST_NAMED = 4
# Joints without anything on them move this fraction of the robot's mass × limb².
LEAST_INERTIA = 2.5e-6


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
    least = LEAST_INERTIA * robot.mass
    count = robot.nv - BASE_DOF
    inertia, holding = np.zeros(count), np.zeros(count)
    in_leg = np.zeros(count, dtype=bool)
    for body in range(2, model.njoints):
        joint = model.joints[body]
        below = data.oMi[body].act(data.Ycrb[body])
        slides = model.names[body] in robot.sliding_joints
        size = 1.0 if slides else robot.longest_limb**2
        for column in range(joint.idx_v, joint.idx_v + joint.nv):
            at, motion = column - BASE_DOF, pin.Motion(data.J[:, column])
            own = float(motion.vector @ (below * motion).vector)
            inertia[at], in_leg[at] = max(own, least * size), model.names[body] in legs
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


def estimate_limits(
    robot: Robot,
    values: dict[str, Array],
    driven: NDArray[np.bool_],
    holding: Array,
    in_leg: NDArray[np.bool_],
) -> tuple[str, ...]:
    """Put estimates where a file has no limits, or absurd ones; say what was done.

    Args:
        robot: The robot.
        values: Limits of the file by name, ``"torque_limit"`` and ``"velocity_limit"``,
            shape (n,) each; those with estimates are put in their place.
        driven: Whether a joint has an actuator, shape (n,).
        holding: Torque or force that holds what hangs on a joint [Nm or N], shape (n,).
        in_leg: Whether it is a leg's joint, shape (n,).

    Returns:
        A sentence for each limit that was estimated.
    """
    leg, slides = robot.longest_leg, sliding_degrees(robot)
    weight = robot.mass * STANDARD_GRAVITY
    names = np.array(degree_names(robot))
    lever = np.where(slides, 1.0, leg)
    of_leg = weight * np.where(slides, LEG_FORCE, LEG_TORQUE * leg)
    # a limb of no weight still has something to do
    limb = np.maximum(LIMB_TORQUE * holding, 1e-3 * weight * lever)
    estimates = {
        "torque_limit": np.where(in_leg, of_leg, limb),
        "velocity_limit": SPEED
        * math.sqrt(STANDARD_GRAVITY / leg)
        * np.where(slides, leg, 1.0),
    }
    absurd = {
        "torque_limit": ABSURD_TORQUE * weight * lever,
        "velocity_limit": np.full(len(limb), ABSURD_SPEED),
    }
    units = {"torque_limit": ("Nm", "N"), "velocity_limit": ("rad/s", "m/s")}
    said = []
    for name, estimate in estimates.items():
        own = values[name]
        missing = driven & ((own <= 0.0) | (own > absurd[name]))
        if missing.any():
            found = spans(estimate, missing, slides, units[name], 3)
            joints = list(names[missing][:MOST_NAMED])
            if missing.sum() > MOST_NAMED:
                joints.append(f"and {missing.sum() - MOST_NAMED} more")
            said.append(
                f"{name.replace('_', ' ')} of {missing.sum()} joints not in the file "
                f"(zero, missing or beyond any actuator), estimated as {found}: "
                f"{', '.join(joints)}"
            )
            values[name] = np.where(missing, estimate, own)
    return tuple(said)


def estimate_rotor_inertia(
    robot: Robot, torque_limit: Array, velocity_limit: Array
) -> Array:
    """Return rotor inertias as limits of torque and speed let expect.

    Args:
        robot: The robot.
        torque_limit: Of the joints [Nm or N], shape (n,).
        velocity_limit: Of the joints [rad/s or m/s], shape (n,).

    Returns:
        Seen at the joints, gears included [kg m² or kg], shape (n,).
    """
    slides = sliding_degrees(robot)
    inertia = robot.mass * np.where(slides, 1.0, robot.longest_leg**2)
    limited = np.isfinite(torque_limit) & (velocity_limit > 0.0)
    slowest = np.where(limited, velocity_limit, np.inf)
    torque = np.where(limited, torque_limit, 0.0)
    least, most = (part * inertia for part in ROTOR_INERTIA)
    return np.clip(ROTOR_TIME * torque / slowest, least, most)


def spans(
    values: Array,
    chosen: NDArray[np.bool_],
    slides: NDArray[np.bool_],
    units: tuple[str, str],
    digits: int,
) -> str:
    """Return from where to where numbers of joints go, those that slide apart."""
    texts = []
    for unit, joints in zip(units, (chosen & ~slides, chosen & slides), strict=True):
        if joints.any():
            least, most = values[joints].min(), values[joints].max()
            to = f" to {most:.{digits}g}" if most > least else ""
            texts.append(f"{least:.{digits}g}{to} {unit}")
    return " and ".join(texts)
