"""Configurations and velocities in lanes, and back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.kernels.joints import CONTINUOUS, FLOATING
from equipoise.kernels.program import Floats, LaneProgram

# Vectors that describe a group between launches. Joints: (position, velocity, -),
# (anchor of friction, -, -). Free bodies: position, vector part of the quaternion,
# (its scalar part, -, -), velocity, angular velocity, all in world axes.
STATES = 7
JOINT, ANCHOR, POSITION, QUATERNION, QUATERNION_W, VELOCITY, OMEGA = (
    slice(3 * slot, 3 * slot + 3) for slot in range(STATES)
)


class Motion(NamedTuple):
    """How n robots move at m times, in Pinocchio's layout.

    Attributes:
        q: Configurations, shape (m, n, nq).
        v: Velocities, shape (m, n, nv).
        a: Accelerations, shape (m, n, nv).
        effort: Of drives, zero for free bodies, shape (m, n, nv).
    """

    q: Floats
    v: Floats
    a: Floats
    effort: Floats


def state_in_lanes(program: LaneProgram, q: Floats, v: Floats) -> Floats:
    """Return states, shape (blocks, groups, STATES, 3, width).

    Args:
        program: The tree in lanes.
        q: Configurations, shape (n, nq).
        v: Velocities, shape (n, nv).
    """
    tree = program.tree
    table = np.zeros((len(q), len(tree.parent), STATES * 3))
    table[..., QUATERNION_W.start] = 1.0
    for body in np.flatnonzero(tree.kind == FLOATING)[1:]:
        at_q, at_v = tree.idx_q[body], tree.idx_v[body]
        xyzw = q[:, at_q + 3 : at_q + 7]
        turn = rotations(xyzw)
        table[:, body, POSITION] = q[:, at_q : at_q + 3]
        table[:, body, QUATERNION] = xyzw[:, :3]
        table[:, body, QUATERNION_W.start] = xyzw[:, 3]
        table[:, body, VELOCITY] = turned(turn, v[:, at_v : at_v + 3])
        table[:, body, OMEGA] = turned(turn, v[:, at_v + 3 : at_v + 6])
    hinges = np.flatnonzero(tree.kind != FLOATING)
    angle = q[:, tree.idx_q[hinges]]
    endless = tree.kind[hinges] == CONTINUOUS
    sine = q[:, tree.idx_q[hinges[endless]] + 1]
    angle[:, endless] = np.arctan2(sine, angle[:, endless])
    table[:, hinges, JOINT.start] = angle
    table[:, hinges, JOINT.start + 1] = v[:, tree.idx_v[hinges]]
    table[:, hinges, ANCHOR.start] = angle  # bristles are at rest
    laid = program.in_lanes(table)
    return laid.reshape(*laid.shape[:2], STATES, 3, program.width)


def read_motion(program: LaneProgram, record: Floats, robots: int, nq: int) -> Motion:
    """Return what a record in lanes says.

    Args:
        program: The tree in lanes.
        record: Shape (m, blocks, groups, 21, width). Joints: (position, velocity,
            acceleration), (effort, -, -). Free bodies: position, quaternion, velocity,
            angular velocity, and their derivatives, in world axes.
        robots: How many there are.
        nq: Length of a configuration.
    """
    tree = program.tree
    bodies = program.from_lanes(record, robots)
    shape = (len(record), robots)
    q = np.zeros((*shape, nq), record.dtype)
    v, a, effort = (np.zeros((*shape, tree.nv), record.dtype) for _ in range(3))
    for body in np.flatnonzero(tree.kind == FLOATING)[1:]:
        known = bodies[:, :, body]
        at_q, at_v = tree.idx_q[body], tree.idx_v[body]
        xyzw = known[..., 3:7]
        back = np.swapaxes(rotations(xyzw), -1, -2)
        q[..., at_q : at_q + 3] = known[..., 0:3]
        q[..., at_q + 3 : at_q + 7] = xyzw
        for first, values in ((9, v), (15, a)):
            values[..., at_v : at_v + 3] = turned(back, known[..., first : first + 3])
            angular = known[..., first + 3 : first + 6]
            values[..., at_v + 3 : at_v + 6] = turned(back, angular)
    hinges = np.flatnonzero(tree.kind != FLOATING)
    known = bodies[:, :, hinges]
    q[..., tree.idx_q[hinges]] = known[..., 0]
    for row, values in ((1, v), (2, a), (3, effort)):
        values[..., tree.idx_v[hinges]] = known[..., row]
    endless = tree.idx_q[tree.kind == CONTINUOUS]
    angle = q[..., endless]
    q[..., endless], q[..., endless + 1] = np.cos(angle), np.sin(angle)
    return Motion(q, v, a, effort)


def rotations(xyzw: Floats) -> Floats:
    """Return rotation matrices (…, 3, 3) of unit quaternions (…, 4)."""
    x, y, z, w = np.moveaxis(xyzw, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def turned(rotation: Floats, vector: Floats) -> Floats:
    """Return vectors (…, 3) turned by matrices (…, 3, 3)."""
    result: Floats = (rotation @ vector[..., None])[..., 0]
    return result
