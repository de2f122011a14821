"""When robots are stopped: who diverged, which body was worst, and what acted on it."""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, call-overload, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.articulated import (
    BUSY,
    COMMAND,
    FREE,
    JOINT,
    KIND,
    LINKS,
    OMEGA,
    P_GAIN,
    P_LIMIT,
    P_MODE,
    SOLUTION,
    SPIN,
    V_AT,
    make_articulated,
)
from equipoise.kernels.contact import EXPLICIT, OPEN, STATUS
from equipoise.kernels.lane_state import make_lane_state
from equipoise.kernels.lanes import make_lanes
from equipoise.kernels.monitor import (
    BY_BASE,
    BY_CONTACT,
    BY_EFFECT,
    BY_MOTION,
    BY_PUSH,
    BY_SPEED,
    BY_TORQUE,
    CAUSES,
    DIVERGED,
    RUNNING,
    WHEN,
    WHICH,
    WHY,
    make_monitor,
)
from equipoise.kernels.once import once
from equipoise.kernels.stepper import BASE_DOF, make_stepper

# Accelerations above this are no motion [rad/s² or m/s²].
LARGEST_ACCELERATION = 1e9


@once
def make_stopping(scalar: Any, width: int, effect: Any) -> SimpleNamespace:
    """Return what notes that robots are stopped.

    - ``stop(program, monitor, robot, lane, why, done, scratch, t)``: note why and when
    - ``stop_diverged(program, world, added, monitor, sizes, time, done, block, scratch,
      work, t)``: stop those whose accelerations are no motion, with what acted on them

    Args:
        scalar: Number type.
        width: How many lanes there are.
        effect: As for :func:`~equipoise.kernels.advance.make_advance`.
    """
    lanes = make_lanes(scalar, width)
    Lanes, Lanes3 = lanes.Lanes, lanes.Lanes3
    Program = make_articulated(scalar, width).Program
    stepper = make_stepper(scalar, width, effect)
    World, size_of = stepper.World, stepper.size_of
    robot_of = make_lane_state(scalar, width).robot_of
    Monitor = make_monitor(scalar, width).Monitor
    vec3 = wp.types.vector(length=3, dtype=scalar)
    busy_at, v_at = LINKS + BUSY * width, LINKS + V_AT * width
    largest = scalar(LARGEST_ACCELERATION)

    @wp.func
    def worst_group(
        program: Program, lane: int, scratch: wp.array3d[Lanes3], t: int
    ) -> wp.vec2i:
        """Return group and lane of the robot's body that accelerates most."""
        found = wp.vec2i(0, 0)
        most = scalar(-1.0)
        for g in range(program.groups):
            sizes = wp.abs(scratch[g, JOINT, t][2])
            if program.table[g, KIND] == FREE:
                sizes = size_of(scratch, g, t)
            for i in range(width):
                own = program.robots == 1 or i == lane
                busy = program.table[g, busy_at + i] == 1
                if own and busy and not (sizes[i] <= most):
                    found = wp.vec2i(g, i)
                    most = sizes[i]
                    if most != most:
                        return found  # no number: nothing is worse
        return found

    @wp.func
    def stop(
        program: Program,
        monitor: Monitor,
        robot: int,
        lane: int,
        why: int,
        done: int,
        scratch: wp.array3d[Lanes3],
        t: int,
    ) -> int:
        """Note why and when a robot was stopped; return whether it still ran."""
        if monitor.status[robot, WHY] != RUNNING:
            return 0
        monitor.status[robot, WHY] = why
        monitor.status[robot, WHEN] = monitor.clock[robot] + done
        monitor.status[robot, WHICH] = -1
        if why == DIVERGED:
            where = worst_group(program, lane, scratch, t)
            monitor.status[robot, WHICH] = where[0] * width + where[1]
        return 1

    @wp.func
    def keep(
        monitor: Monitor, robot: int, cause: int, size: scalar, which: int
    ) -> None:
        """Keep the largest of a cause; what is no number is larger than all."""
        most = monitor.cause[robot, cause, 0]
        if most == most and not (size <= most):
            monitor.cause[robot, cause, 0] = size
            monitor.cause[robot, cause, 1] = scalar(which)

    @wp.func
    def keep_causes(
        program: Program,
        world: World,
        added: wp.array3d[Lanes3],
        monitor: Monitor,
        robot: int,
        lane: int,
        time: Lanes,
        block: int,
        scratch: wp.array3d[Lanes3],
        work: wp.array3d[vec3],
        t: int,
    ) -> None:
        """Keep what acted on a robot at the beginning of the step that it diverged in.

        What follows from the accelerations, like the forces that resulted, is no cause.
        """
        dt = world.dt
        copies = program.robots
        d = wp.min(block, program.actuator.shape[0] - 1)
        e = wp.min(block, added.shape[0] - 1)
        for cause in range(CAUSES):
            monitor.cause[robot, cause, 0] = scalar(0.0)
            monitor.cause[robot, cause, 1] = scalar(0.0)
        for g in range(world.robot_groups):
            linear = added[e, g, 0]
            angular = added[e, g, 1]
            for i in range(width):
                own = copies == 1 or i == lane
                if own and program.table[g, busy_at + i] == 1:
                    which = program.table[g, v_at + i] - BASE_DOF
                    for row in range(3):
                        keep(monitor, robot, BY_EFFECT, wp.abs(linear[row, i]), which)
                        keep(monitor, robot, BY_EFFECT, wp.abs(angular[row, i]), which)
                    if g == 0:
                        omega = scratch[g, OMEGA, t] - dt * scratch[g, SPIN, t]
                        speed = wp.length(vec3(omega[0, i], omega[1, i], omega[2, i]))
                        if speed == speed:
                            keep(monitor, robot, BY_BASE, speed, which)
                    else:
                        joint = scratch[g, JOINT, t]
                        told = scratch[g, COMMAND, t]
                        gain = program.actuator[d, g, P_GAIN]
                        limit = program.actuator[d, g, P_LIMIT][0, i]
                        speed = joint[1, i] - dt * joint[2, i]
                        bend = told[0, i] - joint[0, i] + dt * joint[1, i]
                        size = wp.abs(
                            told[2, i]
                            + gain[0, i] * bend
                            + gain[1, i] * (told[1, i] - speed)
                        )
                        if size != size:
                            # without what has become no number
                            size = wp.abs(told[2, i]) + gain[0, i] * wp.abs(told[0, i])
                            size = size + gain[1, i] * wp.abs(told[1, i])
                        if speed == speed:
                            keep(monitor, robot, BY_SPEED, wp.abs(speed), which)
                        if program.actuator[d, g, P_MODE][2, i] == scalar(0.0):
                            size = wp.abs(scratch[g, SOLUTION, t][2, i])
                            keep(monitor, robot, BY_MOTION, size, which)
                        else:
                            if size > limit:
                                size = limit
                            keep(monitor, robot, BY_TORQUE, size, which)
        for n in range(world.contacts * world.surfaces * copies):
            if n % copies == lane % copies and work[n, STATUS, t][0] != scalar(OPEN):
                size = wp.length(work[n, EXPLICIT, t])
                keep(monitor, robot, BY_CONTACT, size, (n / copies) % world.contacts)
        for k in range(world.pushes):
            if k % copies == lane % copies:
                window = world.push_time[
                    wp.min(block, world.push_time.shape[0] - 1), k, 0
                ]
                force = world.push_force[
                    wp.min(block, world.push_force.shape[0] - 1), k, 0
                ]
                if window[0] < time[lane] + dt and window[1] > time[lane]:
                    keep(monitor, robot, BY_PUSH, wp.length(force), k / copies)

    @wp.func
    def stop_diverged(
        program: Program,
        world: World,
        added: wp.array3d[Lanes3],
        monitor: Monitor,
        sizes: Lanes,
        time: Lanes,
        done: int,
        block: int,
        scratch: wp.array3d[Lanes3],
        work: wp.array3d[vec3],
        t: int,
    ) -> int:
        """Stop robots whose accelerations are no motion; return how many."""
        stopped = int(0)
        for i in range(width):
            robot = robot_of(program, block, i)
            if robot < world.robots and not (sizes[i] < largest):
                new = stop(program, monitor, robot, i, DIVERGED, done, scratch, t)
                if new == 1:
                    keep_causes(
                        program,
                        world,
                        added,
                        monitor,
                        robot,
                        i,
                        time,
                        block,
                        scratch,
                        work,
                        t,
                    )
                stopped = stopped + new
        return stopped

    return SimpleNamespace(stop=stop, stop_diverged=stop_diverged)
