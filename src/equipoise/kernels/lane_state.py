"""States in lanes: laid out from configurations, kept between launches, read out again.

Between launches a group is described by nine vectors. Joints: (position, velocity,
acceleration), (anchor of friction, -, -). Free bodies: position, vector part of the
quaternion, (its scalar part, -, -), velocity, angular velocity, and both as they are
expected midway through the next step, all in world axes.

Free bodies and joints are kept half a step ahead of their velocities, and put back
where they are read out: so a step is a drift by half of it, a change of velocity, and a
drift by the other half, which keeps energy and momentum (leapfrog, of second order in
flight). Joints whose motion is prescribed are kept where they are told to be, and are
half of the way further during a step.
"""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import numpy as np
import warp as wp

from equipoise.kernels.articulated import (
    ACCELERATION,
    ANCHOR,
    BUSY,
    ENDLESS,
    FREE,
    JOINT,
    KIND,
    LINKS,
    MIDWAY_OMEGA,
    MIDWAY_VELOCITY,
    OMEGA,
    POSITION,
    Q_AT,
    QUATERNION,
    QUATERNION_W,
    SPIN,
    TORQUES,
    V_AT,
    VELOCITY,
    X,
    Y,
    Z,
    make_articulated,
)
from equipoise.kernels.bodies import CONTINUOUS, FLOATING
from equipoise.kernels.lanes import make_lane_matrices, make_lanes
from equipoise.kernels.once import once
from equipoise.kernels.program import Floats, LaneProgram

STATES = 9
(
    S_JOINT,
    S_ANCHOR,
    S_POSITION,
    S_QUATERNION,
    S_QUATERNION_W,
    S_VELOCITY,
    S_OMEGA,
    S_MIDWAY_VELOCITY,
    S_MIDWAY_OMEGA,
) = range(STATES)


def state_in_lanes(program: LaneProgram, q: Floats, v: Floats, dt: float) -> Floats:
    """Return states, shape (blocks, groups, STATES × 3, width).

    Args:
        program: The tree in lanes.
        q: Configurations, shape (n, nq).
        v: Velocities, shape (n, nv).
        dt: Time step [s].
    """
    tree = program.tree
    table = np.zeros((len(q), len(tree.parent), STATES, 3))
    table[..., S_QUATERNION_W, 0] = 1.0
    for body in np.flatnonzero(tree.kind == FLOATING)[1:]:
        at_q, at_v = tree.idx_q[body], tree.idx_v[body]
        xyzw = q[:, at_q + 3 : at_q + 7]
        turn = rotations(xyzw)
        velocity = turned(turn, v[:, at_v : at_v + 3])
        omega = turned(turn, v[:, at_v + 3 : at_v + 6])
        ahead = turned_on(xyzw, 0.5 * dt * omega)
        table[:, body, S_POSITION] = q[:, at_q : at_q + 3] + 0.5 * dt * velocity
        table[:, body, S_QUATERNION] = ahead[:, :3]
        table[:, body, S_QUATERNION_W, 0] = ahead[:, 3]
        table[:, body, S_VELOCITY] = table[:, body, S_MIDWAY_VELOCITY] = velocity
        table[:, body, S_OMEGA] = table[:, body, S_MIDWAY_OMEGA] = omega
    hinges = np.flatnonzero(tree.kind != FLOATING)
    angle = q[:, tree.idx_q[hinges]]
    endless = tree.kind[hinges] == CONTINUOUS
    sine = q[:, tree.idx_q[hinges[endless]] + 1]
    angle[:, endless] = np.arctan2(sine, angle[:, endless])
    speed = v[:, tree.idx_v[hinges]]
    angle += np.where(program.prescribed[hinges], 0.0, 0.5 * dt) * speed
    table[:, hinges, S_JOINT, 0] = angle
    table[:, hinges, S_JOINT, 1] = speed
    table[:, hinges, S_ANCHOR, 0] = angle  # bristles are at rest
    return program.in_lanes(table.reshape(*table.shape[:2], -1))


def rotations(xyzw: Floats) -> Floats:
    """Return rotation matrices (…, 3, 3) of unit quaternions (…, 4)."""
    x, y, z, w = np.moveaxis(xyzw, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def turned_on(xyzw: Floats, angle: Floats) -> Floats:
    """Return unit quaternions (n, 4) turned on by rotation vectors (n, 3) [rad]."""
    size = np.linalg.norm(0.5 * angle, axis=1, keepdims=True)
    x, w = 0.5 * angle * np.sinc(size / np.pi), np.cos(size)
    vector, real = xyzw[:, :3], xyzw[:, 3:]
    turned_vector = w * vector + real * x + np.cross(x, vector)
    turned_real = w * real - (x * vector).sum(axis=1, keepdims=True)
    return np.concatenate([turned_vector, turned_real], axis=1)


def turned(rotation: Floats, vector: Floats) -> Floats:
    """Return vectors (…, 3) turned by matrices (…, 3, 3)."""
    result: Floats = (rotation @ vector[..., None])[..., 0]
    return result


@once
def make_lane_state(scalar: Any, width: int) -> SimpleNamespace:
    """Return what is done with states of groups.

    - ``robot_of(program, block, lane)``: whose lane it is
    - ``load_state(program, state, block, g, scratch, t)`` and ``store_state(…)``:
      between launches
    - ``load_lane(program, state, block, g, lane, scratch, t)``: the same for one lane
    - ``write_motion(program, g, q, v, torque, row, block, written, scratch, t)``: what
      a group says, in Pinocchio's layout; of free bodies after ``place``. Lanes whose
      entry of ``written``, a ``Mask``, is 0 are left out
    - ``write_acceleration(program, g, a, row, block, written, scratch, t)``: likewise
    """
    Lanes3 = make_lanes(scalar, width).Lanes3
    Program = make_articulated(scalar, width).Program
    rows_times = make_lane_matrices(scalar, width).rows_times
    Mask = wp.types.vector(length=width, dtype=wp.int32)
    busy_at, q_at = LINKS + BUSY * width, LINKS + Q_AT * width
    v_at, endless_at = LINKS + V_AT * width, LINKS + ENDLESS * width

    @wp.func
    def robot_of(program: Program, block: int, lane: int) -> int:
        """Return whose lane it is."""
        if program.robots == 1:
            return block
        return block * program.robots + lane

    @wp.func
    def load_state(
        program: Program,
        state: wp.array3d[Lanes3],
        block: int,
        g: int,
        scratch: wp.array3d[Lanes3],
        t: int,
    ) -> None:
        if program.table[g, KIND] == FREE:
            scratch[g, POSITION, t] = state[block, g, S_POSITION]
            scratch[g, QUATERNION, t] = state[block, g, S_QUATERNION]
            scratch[g, QUATERNION_W, t] = state[block, g, S_QUATERNION_W]
            scratch[g, VELOCITY, t] = state[block, g, S_VELOCITY]
            scratch[g, OMEGA, t] = state[block, g, S_OMEGA]
            scratch[g, MIDWAY_VELOCITY, t] = state[block, g, S_MIDWAY_VELOCITY]
            scratch[g, MIDWAY_OMEGA, t] = state[block, g, S_MIDWAY_OMEGA]
        else:
            scratch[g, JOINT, t] = state[block, g, S_JOINT]
            scratch[g, ANCHOR, t] = state[block, g, S_ANCHOR]

    @wp.func
    def store_state(
        program: Program,
        state: wp.array3d[Lanes3],
        block: int,
        g: int,
        scratch: wp.array3d[Lanes3],
        t: int,
    ) -> None:
        if program.table[g, KIND] == FREE:
            state[block, g, S_POSITION] = scratch[g, POSITION, t]
            state[block, g, S_QUATERNION] = scratch[g, QUATERNION, t]
            state[block, g, S_QUATERNION_W] = scratch[g, QUATERNION_W, t]
            state[block, g, S_VELOCITY] = scratch[g, VELOCITY, t]
            state[block, g, S_OMEGA] = scratch[g, OMEGA, t]
            state[block, g, S_MIDWAY_VELOCITY] = scratch[g, MIDWAY_VELOCITY, t]
            state[block, g, S_MIDWAY_OMEGA] = scratch[g, MIDWAY_OMEGA, t]
        else:
            state[block, g, S_JOINT] = scratch[g, JOINT, t]
            state[block, g, S_ANCHOR] = scratch[g, ANCHOR, t]

    @wp.func
    def in_lane(target: Lanes3, source: Lanes3, lane: int) -> Lanes3:
        """Return a vector of which one lane comes from another."""
        mixed = target
        for row in range(3):
            mixed[row, lane] = source[row, lane]
        return mixed

    @wp.func
    def load_lane(
        program: Program,
        state: wp.array3d[Lanes3],
        block: int,
        g: int,
        lane: int,
        scratch: wp.array3d[Lanes3],
        t: int,
    ) -> None:
        if program.table[g, KIND] == FREE:
            scratch[g, POSITION, t] = in_lane(
                scratch[g, POSITION, t], state[block, g, S_POSITION], lane
            )
            scratch[g, QUATERNION, t] = in_lane(
                scratch[g, QUATERNION, t], state[block, g, S_QUATERNION], lane
            )
            scratch[g, QUATERNION_W, t] = in_lane(
                scratch[g, QUATERNION_W, t], state[block, g, S_QUATERNION_W], lane
            )
            scratch[g, VELOCITY, t] = in_lane(
                scratch[g, VELOCITY, t], state[block, g, S_VELOCITY], lane
            )
            scratch[g, OMEGA, t] = in_lane(
                scratch[g, OMEGA, t], state[block, g, S_OMEGA], lane
            )
            scratch[g, MIDWAY_VELOCITY, t] = in_lane(
                scratch[g, MIDWAY_VELOCITY, t], state[block, g, S_MIDWAY_VELOCITY], lane
            )
            scratch[g, MIDWAY_OMEGA, t] = in_lane(
                scratch[g, MIDWAY_OMEGA, t], state[block, g, S_MIDWAY_OMEGA], lane
            )
        else:
            scratch[g, JOINT, t] = in_lane(
                scratch[g, JOINT, t], state[block, g, S_JOINT], lane
            )
            scratch[g, ANCHOR, t] = in_lane(
                scratch[g, ANCHOR, t], state[block, g, S_ANCHOR], lane
            )

    @wp.func
    def write_acceleration(
        program: Program,
        g: int,
        a: wp.array3d[scalar],
        row: int,
        block: int,
        written: Mask,
        scratch: wp.array3d[Lanes3],
        t: int,
    ) -> None:
        if program.table[g, KIND] == FREE:
            x = scratch[g, X, t]
            y = scratch[g, Y, t]
            z = scratch[g, Z, t]
            linear = rows_times(x, y, z, scratch[g, ACCELERATION, t])
            angular = rows_times(x, y, z, scratch[g, SPIN, t])
            for i in range(width):
                robot = robot_of(program, block, i)
                if program.table[g, busy_at + i] == 1 and written[i] == 1:
                    first = program.table[g, v_at + i]
                    for axis in range(3):
                        a[row, robot, first + axis] = linear[axis, i]
                        a[row, robot, first + 3 + axis] = angular[axis, i]
            return
        joint = scratch[g, JOINT, t]
        for i in range(width):
            robot = robot_of(program, block, i)
            if program.table[g, busy_at + i] == 1 and written[i] == 1:
                a[row, robot, program.table[g, v_at + i]] = joint[2, i]

    @wp.func
    def write_motion(
        program: Program,
        g: int,
        q: wp.array3d[scalar],
        v: wp.array3d[scalar],
        torque: wp.array3d[scalar],
        row: int,
        block: int,
        written: Mask,
        scratch: wp.array3d[Lanes3],
        t: int,
    ) -> None:
        if program.table[g, KIND] == FREE:
            x = scratch[g, X, t]
            y = scratch[g, Y, t]
            z = scratch[g, Z, t]
            position = scratch[g, POSITION, t]
            quaternion = scratch[g, QUATERNION, t]
            real = scratch[g, QUATERNION_W, t]
            linear = rows_times(x, y, z, scratch[g, VELOCITY, t])
            angular = rows_times(x, y, z, scratch[g, OMEGA, t])
            for i in range(width):
                robot = robot_of(program, block, i)
                if program.table[g, busy_at + i] == 1 and written[i] == 1:
                    at = program.table[g, q_at + i]
                    first = program.table[g, v_at + i]
                    for axis in range(3):
                        q[row, robot, at + axis] = position[axis, i]
                        q[row, robot, at + 3 + axis] = quaternion[axis, i]
                        v[row, robot, first + axis] = linear[axis, i]
                        v[row, robot, first + 3 + axis] = angular[axis, i]
                    q[row, robot, at + 6] = real[0, i]
            return
        joint = scratch[g, JOINT, t]
        given = scratch[g, TORQUES, t]
        for i in range(width):
            robot = robot_of(program, block, i)
            if program.table[g, busy_at + i] == 1 and written[i] == 1:
                at = program.table[g, q_at + i]
                first = program.table[g, v_at + i]
                if program.table[g, endless_at + i] == 1:
                    q[row, robot, at] = wp.cos(joint[0, i])
                    q[row, robot, at + 1] = wp.sin(joint[0, i])
                else:
                    q[row, robot, at] = joint[0, i]
                v[row, robot, first] = joint[1, i]
                torque[row, robot, first - 6] = given[0, i]

    return SimpleNamespace(
        Mask=Mask,
        robot_of=robot_of,
        load_state=load_state,
        store_state=store_state,
        load_lane=load_lane,
        write_motion=write_motion,
        write_acceleration=write_acceleration,
    )
