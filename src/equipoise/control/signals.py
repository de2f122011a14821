"""The signals of the control loop: state, measurement, target, command.

Joints are counted in the order of ``v[6:]``, one number for each degree of freedom as
in :func:`~equipoise.robot.joint_coordinates.joint_positions`. All that has no frame in
its name is in the world frame. Arrays are read-only by convention: a block that wants
to change one copies it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from equipoise.arrays import Array, frozen_array
from equipoise.robot.parts import Side

Support = Literal["both", "left", "right"]

# What an estimator does not know of a state.
UNKNOWN = frozen_array(np.zeros(0))
NO_POINTS = frozen_array(np.zeros((0, 3)))
NO_BOXES = frozen_array(np.zeros((0, 7)))


@dataclass(frozen=True, eq=False, slots=True)
class State:
    """The state of robot and world at one time, true or estimated.

    An engine fills in everything; an estimator gives time, q and v, and leaves empty
    what it does not know.

    Attributes:
        time: Time since the reset [s].
        q: Configuration of the robot, shape (nq,).
        v: Velocity, shape (nv,).
        a: Acceleration over the last time step, derivative of v, shape (nv,).
        torque: Torques (forces) of the actuators in the last time step [Nm or N],
            shape (nv - 6,).
        contact_position: Contact points in the world [m], shape (nc, 3).
        contact_force: Force of the world on each contact point, in world axes [N],
            shape (nc, 3).
        boxes: Pose of each box: position, quaternion xyzw, shape (nboxes, 7).
    """

    time: float
    q: Array
    v: Array
    a: Array = field(default_factory=lambda: UNKNOWN)
    torque: Array = field(default_factory=lambda: UNKNOWN)
    contact_position: Array = field(default_factory=lambda: NO_POINTS)
    contact_force: Array = field(default_factory=lambda: NO_POINTS)
    boxes: Array = field(default_factory=lambda: NO_BOXES)


class Wrench(NamedTuple):
    """Force and torque about the origin of a frame, in its axes.

    Attributes:
        force: Force [N], shape (…, 3).
        torque: Torque [Nm], shape (…, 3).
    """

    force: Array
    torque: Array


class ImuReading(NamedTuple):
    """What an IMU measures, in its own axes.

    Attributes:
        angular_velocity: Angular velocity [rad/s], shape (3,).
        specific_force: Acceleration less gravity: at rest g upwards, in free fall
            zero [m/s²], shape (3,).
        orientation: Orientation of the IMU in the world, quaternion xyzw with w ≥ 0,
            shape (4,).
    """

    angular_velocity: Array
    specific_force: Array
    orientation: Array


@dataclass(frozen=True, eq=False, slots=True)
class Measurement:
    """What the sensors measure at one time.

    Attributes:
        time: When it was taken [s]; what is measured is as old as its delay.
        position: Joint positions [rad or m], shape (nv - 6,).
        velocity: Joint velocities [rad/s or m/s], shape (nv - 6,).
        feet: Wrench of each foot by side.
        imu: What the IMU measures.
        hands: Force of the world on each hand that has a sensor, by side, in axes of
            the hand's link [N], shape (3,) each.
    """

    time: float
    position: Array
    velocity: Array
    feet: Mapping[Side, Wrench]
    imu: ImuReading
    hands: Mapping[Side, Array] = field(default_factory=dict)


class Command(NamedTuple):
    """What the actuators are told; arrays of shape (nv - 6,), or (n, nv - 6).

    Attributes:
        position: For servo and position mode [rad or m].
        velocity: For servo and velocity mode [rad/s or m/s].
        torque: Torque or force; in servo mode it is added [Nm or N].
    """

    position: Array
    velocity: Array
    torque: Array


class CheckedCommand(Command):
    """A command of the right shape and finite values: engines need not look again."""

    __slots__ = ()


@dataclass(frozen=True, eq=False, slots=True)
class Target:
    """What is wanted at one time; None is what nobody has planned.

    Attributes:
        position: Joint positions [rad or m], shape (nv - 6,).
        velocity: Joint velocities [rad/s or m/s], shape (nv - 6,).
        torque: Feed-forward torques (forces), beside what feedback adds [Nm or N],
            shape (nv - 6,).
        com: Centre of mass [m], shape (3,).
        com_velocity: Velocity of the CoM [m/s], shape (3,).
        com_acceleration: Acceleration of the CoM [m/s²], shape (3,).
        dcm: Divergent component of motion, com + com_velocity / ω [m], shape (3,).
        zmp: Zero-moment point [m], shape (3,).
        soles: Transforms from sole to world by side, shape (4, 4) each.
        sole_twists: Velocity of each sole frame's origin [m/s], then its angular
            velocity [rad/s], in world axes, by side, shape (6,) each.
        sole_accelerations: Time derivatives of these, shape (6,) each.
        support: Which feet carry the robot: ``"both"``, ``"left"`` or ``"right"``.
        torso: Rotation of the torso's upright frame to the world, shape (3, 3).
    """

    position: Array
    velocity: Array
    torque: Array
    com: Array | None = None
    com_velocity: Array | None = None
    com_acceleration: Array | None = None
    dcm: Array | None = None
    zmp: Array | None = None
    soles: Mapping[Side, Array] | None = None
    sole_twists: Mapping[Side, Array] | None = None
    sole_accelerations: Mapping[Side, Array] | None = None
    support: Support | None = None
    torso: Array | None = None
