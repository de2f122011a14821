"""Some robots begin anew on the device, while the others go on."""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any, NamedTuple

import warp as wp

from equipoise.kernels.contact import STATE
from equipoise.kernels.lane_state import STATES
from equipoise.kernels.lanes import make_lanes
from equipoise.kernels.monitor import MARGIN_MIN, RESULTS, make_monitor
from equipoise.kernels.once import once
from equipoise.kernels.runtime import MODULE_OPTIONS


class Start(NamedTuple):
    """Where robots begin, as arrays on the device, one row or lane each.

    Attributes:
        state: States in lanes, indexed [block, group, STATES].
        contact: States of contact points, indexed [block, point, STATE].
        command: What actuators are told until the next command, shape (n, 3 joints):
            positions, velocities, torques.
        upright: What a fall is measured against, shape (n, 4).
    """

    state: Any
    contact: Any
    command: Any
    upright: Any


@once
def make_restart(scalar: Any, width: int) -> SimpleNamespace:
    """Return two kernels, of one thread a robot.

    Both are told by ``source`` which robots begin anew, and as which row of what they
    are given: -1 for a robot that goes on.

    - ``begin(copies, groups, points, source, new …, state …)``: puts states, contacts
      and commands in place, and sets clock, status and results to zero
    - ``copy_rows(source, kept, outputs)``: copies what was known then
    """
    Lanes3 = make_lanes(scalar, width).Lanes3
    vec3 = wp.types.vector(length=3, dtype=scalar)
    watch = make_monitor(scalar, width)
    Monitor, Outputs = watch.Monitor, watch.Outputs

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def begin(
        copies: int,
        groups: int,
        points: int,
        source: wp.array[int],
        new_state: wp.array3d[Lanes3],
        new_contact: wp.array3d[vec3],
        new_command: wp.array2d[scalar],
        new_upright: wp.array2d[scalar],
        state: wp.array3d[Lanes3],
        contact: wp.array3d[vec3],
        position: wp.array3d[scalar],
        velocity: wp.array3d[scalar],
        torque: wp.array3d[scalar],
        monitor: Monitor,
    ) -> None:
        robot = wp.tid()
        row = source[robot]
        if row < 0:
            return
        block = robot / copies
        lane = robot - block * copies
        new_block = row / copies
        new_lane = row - new_block * copies
        for g in range(groups):
            for s in range(STATES):
                mixed = state[block, g, s]
                new = new_state[new_block, g, s]
                for axis in range(3):
                    if copies == 1:
                        for i in range(width):
                            mixed[axis, i] = new[axis, i]
                    else:
                        mixed[axis, lane] = new[axis, new_lane]
                state[block, g, s] = mixed
        for k in range(points):
            for s in range(STATE):
                contact[block, k * copies + lane, s] = new_contact[
                    new_block, k * copies + new_lane, s
                ]
        joints = position.shape[2]
        for before in range(position.shape[0]):
            for joint in range(joints):
                position[before, robot, joint] = new_command[row, joint]
                velocity[before, robot, joint] = new_command[row, joints + joint]
                torque[before, robot, joint] = new_command[row, 2 * joints + joint]
        monitor.clock[robot] = 0
        for column in range(3):
            monitor.status[robot, column] = 0
        for column in range(4):
            monitor.upright[robot, column] = new_upright[row, column]
        for column in range(RESULTS):
            monitor.result[robot, column] = scalar(0.0)
        monitor.result[robot, MARGIN_MIN] = scalar(wp.inf)

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def copy_rows(source: wp.array[int], kept: Outputs, outputs: Outputs) -> None:
        robot = wp.tid()
        row = source[robot]
        if row < 0:
            return
        for k in range(outputs.q.shape[2]):
            outputs.q[0, robot, k] = kept.q[0, row, k]
        for k in range(outputs.v.shape[2]):
            outputs.v[0, robot, k] = kept.v[0, row, k]
            outputs.a[0, robot, k] = kept.a[0, row, k]
        for k in range(outputs.torque.shape[2]):
            outputs.torque[0, robot, k] = kept.torque[0, row, k]
        for k in range(outputs.force.shape[2]):
            outputs.position[0, robot, k] = kept.position[0, row, k]
            outputs.force[0, robot, k] = kept.force[0, row, k]
        outputs.com[0, robot] = kept.com[0, row]
        outputs.com_velocity[0, robot] = kept.com_velocity[0, row]

    return SimpleNamespace(begin=begin, copy_rows=copy_rows)
