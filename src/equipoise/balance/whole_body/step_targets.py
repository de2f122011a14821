"""Targets of steps that are changed: a swing foot elsewhere, another DCM, a turn."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from equipoise.arrays import Array
from equipoise.balance.whole_body.swing_path import SwingPath
from equipoise.control.signals import Target
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.parts import Side


def omega_of(target: Target) -> float:
    """Return ω of the pendulum, √(g / h) with the CoM's height above the ZMP [1/s]."""
    assert target.com is not None
    assert target.zmp is not None
    return math.sqrt(STANDARD_GRAVITY / float(target.com[2] - target.zmp[2]))


def with_swing_foot(
    target: Target, side: Side, rate: float, path: SwingPath, shift: Array
) -> Target:
    """Return a target whose swing foot is on another path, and passes it at a rate.

    Args:
        target: The plan, of which height and rotation of the foot are.
        side: Which foot swings.
        rate: How many times as fast as planned.
        path: Where the foot is horizontally.
        shift: How far the plan is shifted with the feet [m], shape (2,).
    """
    assert target.soles is not None
    assert target.sole_twists is not None
    assert target.sole_accelerations is not None
    sole = np.array(target.soles[side])
    twist = rate * target.sole_twists[side]
    acceleration = rate**2 * target.sole_accelerations[side]
    sole[:2, 3] = path.place - shift
    twist[:2] = path.velocity
    acceleration[:2] = path.acceleration
    return replace(
        target,
        velocity=rate * target.velocity,
        soles={**target.soles, side: sole},
        sole_twists={**target.sole_twists, side: twist},
        sole_accelerations={**target.sole_accelerations, side: acceleration},
    )


def with_lowered_foot(target: Target, side: Side, depth: float, speed: float) -> Target:
    """Return a target whose swing foot should be on the ground, and is lowered to it.

    Args:
        target: With soles and their twists.
        side: Which foot.
        depth: How much lower than planned [m].
        speed: How fast it is lowered [m/s].
    """
    assert target.soles is not None
    assert target.sole_twists is not None
    sole, twist = np.array(target.soles[side]), np.array(target.sole_twists[side])
    sole[2, 3] -= depth
    twist[2] -= speed
    return replace(
        target,
        soles={**target.soles, side: sole},
        sole_twists={**target.sole_twists, side: twist},
        support="both",
    )


def with_dcm(
    target: Target, com: Array, shift: Array, at_end: Array, time_left: float
) -> Target:
    """Return a target whose DCM arrives at a point when the foot comes down.

    The CoM may be anywhere: with it where it is measured, what feeds it back feeds back
    the DCM alone.

    Args:
        target: The plan.
        com: Where the CoM is measured, horizontally [m], shape (2,).
        shift: How far the plan is shifted with the feet [m], shape (2,).
        at_end: Where the DCM is to arrive [m], shape (2,).
        time_left: Time until then [s].
    """
    assert target.com is not None
    assert target.zmp is not None
    assert target.dcm is not None
    assert target.com_velocity is not None
    assert target.com_acceleration is not None
    omega = omega_of(target)
    zmp = target.zmp[:2] + shift
    dcm = zmp + (at_end - zmp) * math.exp(-omega * time_left)
    rate = omega * (dcm - com)
    return replace(
        target,
        com=np.array([*(com - shift), target.com[2]]),
        com_velocity=np.array([*rate, target.com_velocity[2]]),
        com_acceleration=np.array(
            [*(omega**2 * (com - zmp)), target.com_acceleration[2]]
        ),
        dcm=np.array([*(dcm - shift), target.dcm[2]]),
    )


def turned(target: Target, angle: float) -> Target:
    """Return a target turned about the world's z.

    Args:
        target: With CoM, ZMP, DCM, soles and torso.
        angle: [rad].
    """
    c, s = math.cos(angle), math.sin(angle)
    turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    pose = np.eye(4)
    pose[:3, :3] = turn
    assert target.soles is not None
    assert target.sole_twists is not None
    assert target.sole_accelerations is not None

    def vector(values: Array | None) -> Array | None:
        return None if values is None else turn @ values

    def twist(values: Array) -> Array:
        return np.concatenate((turn @ values[:3], turn @ values[3:]))

    return replace(
        target,
        com=vector(target.com),
        com_velocity=vector(target.com_velocity),
        com_acceleration=vector(target.com_acceleration),
        dcm=vector(target.dcm),
        zmp=vector(target.zmp),
        soles={side: pose @ sole for side, sole in target.soles.items()},
        sole_twists={side: twist(x) for side, x in target.sole_twists.items()},
        sole_accelerations={
            side: twist(x) for side, x in target.sole_accelerations.items()
        },
        torso=vector(target.torso),
    )
