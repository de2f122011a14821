"""What is watched while robots move: falls, divergence, CoM error, ZMP, torques.

All of it stays on the device. A robot that falls or diverges is stopped: why and when
is kept in ``status``, and from then on it stays where it is.
"""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.articulated import (
    BUSY,
    LINKS,
    OMEGA,
    ORIGIN,
    P_LIMIT,
    P_MASS,
    P_MOMENT,
    POSITION,
    TORQUES,
    VELOCITY,
    X,
    Y,
    Z,
    make_articulated,
)
from equipoise.kernels.ground import make_ground
from equipoise.kernels.lanes import make_lane_matrices, make_lanes
from equipoise.kernels.once import once

# Why a robot was stopped; the last has come to the end of what it was to do.
RUNNING, FELL, DIVERGED, ENDED = range(4)
# Columns of the status of a robot: why it was stopped, after how many steps, and which
# body was worst (-1: none).
WHY, WHEN, WHICH = range(3)
# What may have caused a divergence, largest of each kind at the beginning of the step,
# and of which joint, contact point or push: torque that an actuator wants to give
# [Nm or N]; acceleration that a prescribed motion takes; speed of a joint, and of the
# base [rad/s]; force of a contact point as it is met [N]; of a push [N]; of an effect.
BY_TORQUE, BY_MOTION, BY_SPEED, BY_BASE, BY_CONTACT, BY_PUSH, BY_EFFECT = range(7)
CAUSES = 7
# Columns of a robot's results: sum and largest CoM error, and how often it was taken;
# sum and smallest ZMP margin, and how often; largest torque over its limit.
ERROR_SUM, ERROR_MAX, ERRORS, MARGIN_SUM, MARGIN_MIN, MARGINS, TORQUE = range(7)
RESULTS = 7
# Columns of what a fall is measured against: the world's vertical in the base's axes
# when upright, and the height below which the CoM has fallen [m].
UP_X, UP_Y, UP_Z, LOWEST = range(4)
# A force below this is rounding, not touching [N].
LEAST_FORCE = 1e-6
# Points nearer than this are one [m]: what is beyond rounding in each number type.
SAME_POINT = {wp.float64: 1e-9, wp.float32: 1e-5}
# Farther than anything is [m].
FAR = 1e30


@once
def make_monitor(scalar: Any, width: int) -> SimpleNamespace:
    """Return the structs ``Outputs`` and ``Monitor``, and what is measured with them.

    - ``write_com(program, b, lane, outputs, row, robot, groups, scratch, t)``: CoM and
      its velocity, after ``place``
    - ``has_fallen(monitor, outputs, ground, row, robot, lane, scratch, t)``
    - ``measure(monitor, outputs, row, robot, done)``: CoM error and ZMP margin
    - ``torque_fraction(program, b, groups, scratch, t)``: largest torque over its limit
    """
    lanes = make_lanes(scalar, width)
    Lanes, Lanes3 = lanes.Lanes, lanes.Lanes3
    scale, cross = lanes.scale, lanes.cross
    times = make_lane_matrices(scalar, width).times
    Program = make_articulated(scalar, width).Program
    busy_at = LINKS + BUSY * width
    ground_types = make_ground(scalar)
    Ground, surface = ground_types.Ground, ground_types.surface
    vec3 = wp.types.vector(length=3, dtype=scalar)
    zero = scalar(0.0)
    one = scalar(1.0)
    least_force = scalar(LEAST_FORCE)
    same_point = scalar(SAME_POINT[scalar])

    @wp.struct
    class Outputs:
        q: wp.array3d[scalar]
        v: wp.array3d[scalar]
        a: wp.array3d[scalar]
        torque: wp.array3d[scalar]
        position: wp.array3d[vec3]
        force: wp.array3d[vec3]
        com: wp.array2d[vec3]
        com_velocity: wp.array2d[vec3]

    @wp.struct
    class Monitor:
        falls: int
        results: int
        clock: wp.array[int]
        status: wp.array2d[int]
        upright: wp.array2d[scalar]
        lowest_cosine: scalar
        reference: wp.array2d[vec3]
        reference_steps: int
        result: wp.array2d[scalar]
        # (size, of which) of each cause
        cause: wp.array3d[scalar]

    @wp.func
    def write_com(
        program: Program,
        b: int,
        lane: int,
        outputs: Outputs,
        row: int,
        robot: int,
        groups: int,
        scratch: wp.array3d[Lanes3],
        t: int,
    ) -> None:
        moment = Lanes3()
        momentum = Lanes3()
        total = Lanes()
        for g in range(groups):
            mass = program.inertia[b, g, P_MASS][0]
            for i in range(width):
                if program.table[g, busy_at + i] == 0:
                    mass[i] = zero
            h = scale(mass, scratch[g, ORIGIN, t]) + times(
                scratch[g, X, t],
                scratch[g, Y, t],
                scratch[g, Z, t],
                program.inertia[b, g, P_MOMENT],
            )
            moment = moment + h
            momentum = momentum + scale(mass, scratch[g, VELOCITY, t])
            momentum = momentum + cross(scratch[g, OMEGA, t], h)
            total = total + mass
        base = scratch[0, POSITION, t]
        at = vec3()
        going = vec3()
        mass_of = scalar(0.0)
        if program.robots == 1:
            for i in range(width):
                at = at + vec3(moment[0, i], moment[1, i], moment[2, i])
                going = going + vec3(momentum[0, i], momentum[1, i], momentum[2, i])
                mass_of = mass_of + total[i]
        else:
            at = vec3(moment[0, lane], moment[1, lane], moment[2, lane])
            going = vec3(momentum[0, lane], momentum[1, lane], momentum[2, lane])
            mass_of = total[lane]
        outputs.com[row, robot] = at / mass_of + vec3(
            base[0, lane], base[1, lane], base[2, lane]
        )
        outputs.com_velocity[row, robot] = going / mass_of

    @wp.func
    def has_fallen(
        monitor: Monitor,
        outputs: Outputs,
        ground: Ground,
        row: int,
        robot: int,
        lane: int,
        scratch: wp.array3d[Lanes3],
        t: int,
    ) -> bool:
        upright = (
            monitor.upright[robot, UP_X] * scratch[0, X, t][2, lane]
            + monitor.upright[robot, UP_Y] * scratch[0, Y, t][2, lane]
            + monitor.upright[robot, UP_Z] * scratch[0, Z, t][2, lane]
        )
        terrain = ground.terrain[wp.min(robot, ground.terrain.shape[0] - 1)]
        touch = surface(ground, terrain, outputs.com[row, robot])
        height = -touch.depth / wp.max(touch.normal[2], scalar(1e-6))
        low = height < monitor.upright[robot, LOWEST]
        return low or upright < monitor.lowest_cosine

    @wp.func
    def zmp(outputs: Outputs, row: int, robot: int) -> vec3:
        """Return x, y of the zero-moment point, and whether anything is touched."""
        load = scalar(0.0)
        at = vec3()
        for k in range(outputs.force.shape[2]):
            force = outputs.force[row, robot, k]
            load = load + force[2]
            at = at + force[2] * outputs.position[row, robot, k]
        if load <= least_force:
            return vec3()
        at = at / load
        moment = vec3()
        for k in range(outputs.force.shape[2]):
            arm = outputs.position[row, robot, k] - at
            moment = moment + wp.cross(arm, outputs.force[row, robot, k])
        # the point about which the moment is vertical: c + n × M / F
        return vec3(at[0] - moment[1] / load, at[1] + moment[0] / load, one)

    @wp.func
    def margin(outputs: Outputs, row: int, robot: int, point: vec3) -> scalar:
        """Return how far inside the hull of the points that touch a point is."""
        count = outputs.force.shape[2]
        nearest = scalar(FAR)
        found = bool(False)
        flat = bool(False)
        for i in range(count):
            if wp.length(outputs.force[row, robot, i]) <= least_force:
                continue
            a = outputs.position[row, robot, i]
            for j in range(count):
                if wp.length(outputs.force[row, robot, j]) <= least_force:
                    continue
                b = outputs.position[row, robot, j]
                x = b[0] - a[0]
                y = b[1] - a[1]
                length = wp.sqrt(x * x + y * y)
                if length <= same_point:
                    continue
                least = scalar(0.0)
                most = scalar(0.0)
                for k in range(count):
                    if wp.length(outputs.force[row, robot, k]) > least_force:
                        c = outputs.position[row, robot, k]
                        left = (x * (c[1] - a[1]) - y * (c[0] - a[0])) / length
                        least = wp.min(least, left)
                        most = wp.max(most, left)
                if least >= -same_point:
                    # all others are left of it: an edge
                    inside = (x * (point[1] - a[1]) - y * (point[0] - a[0])) / length
                    nearest = wp.min(nearest, inside)
                    found = True
                    if most <= same_point:
                        flat = True
        # a flag: Warp takes a named constant that is used twice for the variable that
        # it was assigned to, so that nearest would always equal it
        if not found:
            return zero
        if flat:
            return wp.min(nearest, zero)
        return nearest

    @wp.func
    def measure(
        monitor: Monitor, outputs: Outputs, row: int, robot: int, done: int
    ) -> None:
        steps = monitor.clock[robot] + done
        if monitor.reference_steps > 0:
            at = wp.min(steps / monitor.reference_steps, monitor.reference.shape[0] - 1)
            who = wp.min(robot, monitor.reference.shape[1] - 1)
            error = wp.length(outputs.com[row, robot] - monitor.reference[at, who])
            sum_before = monitor.result[robot, ERROR_SUM]
            monitor.result[robot, ERROR_SUM] = sum_before + error
            most = monitor.result[robot, ERROR_MAX]
            monitor.result[robot, ERROR_MAX] = wp.max(most, error)
            monitor.result[robot, ERRORS] = monitor.result[robot, ERRORS] + one
        point = zmp(outputs, row, robot)
        if point[2] > zero:
            inside = margin(outputs, row, robot, point)
            sum_before = monitor.result[robot, MARGIN_SUM]
            monitor.result[robot, MARGIN_SUM] = sum_before + inside
            least = monitor.result[robot, MARGIN_MIN]
            monitor.result[robot, MARGIN_MIN] = wp.min(least, inside)
            monitor.result[robot, MARGINS] = monitor.result[robot, MARGINS] + one

    @wp.func
    def torque_fraction(
        program: Program, b: int, groups: int, scratch: wp.array3d[Lanes3], t: int
    ) -> Lanes:
        most = Lanes()
        for g in range(1, groups):
            torque = scratch[g, TORQUES, t][0]
            limit = program.actuator[b, g, P_LIMIT][0]
            for i in range(width):
                fraction = wp.abs(torque[i]) / wp.max(limit[i], least_force)
                most[i] = wp.max(most[i], fraction)
        return most

    return SimpleNamespace(
        Outputs=Outputs,
        Monitor=Monitor,
        write_com=write_com,
        has_fallen=has_fallen,
        measure=measure,
        torque_fraction=torque_fraction,
    )
