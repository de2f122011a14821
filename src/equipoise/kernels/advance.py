"""Many steps of many worlds in one launch, watched, and written out in plain layout."""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, call-overload, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.articulated import (
    AXIS,
    BIAS,
    BIAS_TURN,
    FREE,
    HANDLE,
    JOINT,
    KIND,
    P_MODE,
    POSITION,
    QUATERNION,
    QUATERNION_W,
    make_articulated,
)
from equipoise.kernels.contact import (
    CONTACT_FORCE,
    GROUP,
    LANE,
    LOCAL,
    ROOT_GROUP,
    ROOT_LANE,
    make_contact,
)
from equipoise.kernels.ground import make_ground
from equipoise.kernels.lane_state import make_lane_state
from equipoise.kernels.lanes import make_lanes
from equipoise.kernels.monitor import (
    FELL,
    RUNNING,
    TORQUE,
    WHEN,
    WHY,
    make_monitor,
)
from equipoise.kernels.once import once
from equipoise.kernels.runtime import MODULE_OPTIONS
from equipoise.kernels.stepper import make_stepper
from equipoise.kernels.stopping import LARGEST_ACCELERATION, make_stopping

# What is written at the end of a row of steps: joints and base, or also contact forces,
# or also contact points, CoM and what the monitor measures. Before the first step: all
# of robots at time zero.
START, MOTION, FORCES, ALL = range(4)


@once
def make_advance(scalar: Any, width: int, effect: Any) -> SimpleNamespace:
    """Return the kernel ``advance`` and the structs that it takes.

    Args:
        scalar: Number type.
        width: How many lanes there are.
        effect: A Warp function of (time, joint, position, velocity) that returns a
            torque to add, or None.
    """
    lanes = make_lanes(scalar, width)
    Lanes, Lanes3 = lanes.Lanes, lanes.Lanes3
    tree = make_articulated(scalar, width)
    Program, place = tree.Program, tree.place
    stepper = make_stepper(scalar, width, effect)
    World, Commands, Points = stepper.World, stepper.Commands, stepper.Points
    step, drift = stepper.step, stepper.drift
    take_commands = stepper.take_commands
    contact = make_contact(scalar, width)
    arm_of, get = contact.arm_of, contact.get
    states = make_lane_state(scalar, width)
    load_state, store_state = states.load_state, states.store_state
    load_lane = states.load_lane
    robot_of, Mask = states.robot_of, states.Mask
    write_motion, write_acceleration = states.write_motion, states.write_acceleration
    watch = make_monitor(scalar, width)
    Outputs, Monitor = watch.Outputs, watch.Monitor
    write_com, has_fallen = watch.write_com, watch.has_fallen
    measure, torque_fraction = watch.measure, watch.torque_fraction
    Ground = make_ground(scalar).Ground
    vec3 = wp.types.vector(length=3, dtype=scalar)
    stopping = make_stopping(scalar, width, effect)
    stop, stop_diverged = stopping.stop, stopping.stop_diverged
    largest = scalar(LARGEST_ACCELERATION)

    @wp.func
    def is_written(world: World, monitor: Monitor, robot: int) -> bool:
        if robot >= world.robots:
            return False
        return world.report != START or monitor.clock[robot] == 0

    @wp.func
    def is_whole(world: World) -> bool:
        """Whether contact points and CoM are written."""
        return world.report == START or world.report == ALL

    @wp.func
    def write_row(
        program: Program,
        world: World,
        points: Points,
        monitor: Monitor,
        outputs: Outputs,
        row: int,
        block: int,
        scratch: wp.array3d[Lanes3],
        raw: wp.array3d[scalar],
        t: int,
    ) -> None:
        """Write states; with them, if asked for, contacts and CoM."""
        # half a step back, where velocities are
        back = scalar(-0.5) * world.dt
        d = wp.min(block, program.actuator.shape[0] - 1)
        for g in range(program.groups):
            if program.table[g, KIND] == FREE:
                scratch[g, AXIS, t] = scratch[g, POSITION, t]
                scratch[g, BIAS, t] = scratch[g, QUATERNION, t]
                scratch[g, BIAS_TURN, t] = scratch[g, QUATERNION_W, t]
                drift(g, back, scratch, t)
            else:
                motion = scratch[g, JOINT, t]
                scratch[g, HANDLE, t] = motion
                free = program.actuator[d, g, P_MODE][2]
                motion[0] = motion[0] + back * wp.cw_mul(free, motion[1])
                scratch[g, JOINT, t] = motion
            if is_whole(world) or program.table[g, KIND] == FREE:
                place(program, g, world.dt, scratch, raw, t)
        written = Mask()
        for i in range(width):
            if is_written(world, monitor, robot_of(program, block, i)):
                written[i] = 1
        for g in range(program.groups):
            write_motion(
                program,
                g,
                outputs.q,
                outputs.v,
                outputs.torque,
                row,
                block,
                written,
                scratch,
                t,
            )
            write_acceleration(program, g, outputs.a, row, block, written, scratch, t)
        b = wp.min(block, program.inertia.shape[0] - 1)
        p = wp.min(block, points.figure.shape[0] - 1)
        copies = program.robots
        for r in range(copies):
            robot = block * copies + r
            if is_written(world, monitor, robot):
                if is_whole(world):
                    write_com(
                        program,
                        b,
                        r,
                        outputs,
                        row,
                        robot,
                        world.robot_groups,
                        scratch,
                        t,
                    )
                    for k in range(world.contacts):
                        n = k * copies + r
                        g = points.number[n, GROUP]
                        lane = points.number[n, LANE]
                        root = points.number[n, ROOT_GROUP]
                        root_lane = points.number[n, ROOT_LANE]
                        arm = arm_of(raw, g, lane, t, points.figure[p, n, LOCAL])
                        outputs.position[row, robot, k] = arm + get(
                            raw, root, POSITION, root_lane, t
                        )
                if world.report != MOTION:
                    for k in range(world.contacts):
                        force = vec3()
                        for surface in range(world.surfaces):
                            on = (surface * world.contacts + k) * copies + r
                            force = force + points.state[block, on, CONTACT_FORCE]
                        outputs.force[row, robot, k] = force
                if world.report == START or monitor.status[robot, WHY] != RUNNING:
                    for axis in range(outputs.a.shape[2]):
                        outputs.a[row, robot, axis] = scalar(0.0)
                    for joint in range(outputs.torque.shape[2]):
                        outputs.torque[row, robot, joint] = scalar(0.0)
                    for k in range(outputs.force.shape[2]):
                        outputs.force[row, robot, k] = vec3()
        for g in range(program.groups):
            if program.table[g, KIND] == FREE:
                scratch[g, POSITION, t] = scratch[g, AXIS, t]
                scratch[g, QUATERNION, t] = scratch[g, BIAS, t]
                scratch[g, QUATERNION_W, t] = scratch[g, BIAS_TURN, t]
            else:
                scratch[g, JOINT, t] = scratch[g, HANDLE, t]

    @wp.func
    def assess_row(
        program: Program,
        world: World,
        ground: Ground,
        monitor: Monitor,
        outputs: Outputs,
        row: int,
        done: int,
        block: int,
        scratch: wp.array3d[Lanes3],
        t: int,
    ) -> int:
        """Measure, and stop who fell; return how many did."""
        copies = program.robots
        stopped = int(0)
        for r in range(copies):
            robot = block * copies + r
            if robot < world.robots and monitor.status[robot, WHY] == RUNNING:
                if monitor.results == 1:
                    measure(monitor, outputs, row, robot, done)
                if monitor.falls == 1 and has_fallen(
                    monitor, outputs, ground, row, robot, r, scratch, t
                ):
                    stopped = stopped + stop(
                        program, monitor, robot, r, FELL, done, scratch, t
                    )
        return stopped

    @wp.func
    def hold_stopped(
        program: Program,
        world: World,
        monitor: Monitor,
        block: int,
        state: wp.array3d[Lanes3],
        scratch: wp.array3d[Lanes3],
        t: int,
    ) -> None:
        """Put robots that were stopped back to where the last row says they were."""
        for i in range(width):
            robot = wp.min(robot_of(program, block, i), world.robots - 1)
            if monitor.status[robot, WHY] != RUNNING:
                for g in range(program.groups):
                    load_lane(program, state, block, g, i, scratch, t)

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def advance(
        program: Program,
        world: World,
        points: Points,
        ground: Ground,
        commands: Commands,
        added: wp.array3d[Lanes3],
        state: wp.array3d[Lanes3],
        scratch: wp.array3d[Lanes3],
        raw: wp.array3d[scalar],
        work: wp.array3d[vec3],
        outputs: Outputs,
        monitor: Monitor,
    ) -> None:
        t = wp.tid()
        copies = program.robots
        for block in range(world.first_block + t, world.blocks, scratch.shape[2]):
            owned = wp.min(copies, world.robots - block * copies)
            stopped = int(0)
            start = Lanes()
            for i in range(width):
                robot = wp.min(robot_of(program, block, i), world.robots - 1)
                start[i] = scalar(monitor.clock[robot])
            for r in range(owned):
                if monitor.status[block * copies + r, WHY] != RUNNING:
                    stopped = stopped + 1
            for g in range(program.groups):
                load_state(program, state, block, g, scratch, t)
            if world.report == START:
                write_row(
                    program, world, points, monitor, outputs, 0, block, scratch, raw, t
                )
            peak = Lanes()
            for done in range(world.steps):
                if stopped < owned:
                    if done == 0 or commands.position.shape[0] > 1:
                        take_commands(
                            program,
                            commands,
                            world.robot_groups,
                            block,
                            world.since + done,
                            world.robots,
                            scratch,
                            t,
                        )
                    sizes = step(
                        program,
                        world,
                        points,
                        ground,
                        added,
                        world.dt * (start + Lanes(scalar(done))),
                        block,
                        scratch,
                        raw,
                        work,
                        t,
                    )
                    total = scalar(0.0)
                    for i in range(width):
                        total = total + sizes[i]
                    if not (total < largest):
                        stopped = stopped + stop_diverged(
                            program,
                            world,
                            added,
                            monitor,
                            sizes,
                            world.dt * (start + Lanes(scalar(done))),
                            done + 1,
                            block,
                            scratch,
                            work,
                            t,
                        )
                    if monitor.results == 1:
                        d = wp.min(block, program.actuator.shape[0] - 1)
                        now = torque_fraction(
                            program, d, world.robot_groups, scratch, t
                        )
                        for i in range(width):
                            robot = robot_of(program, block, i)
                            robot = wp.min(robot, world.robots - 1)
                            runs = monitor.status[robot, WHY] == RUNNING
                            if runs and sizes[i] < largest:
                                peak[i] = wp.max(peak[i], now[i])
                    if stopped > 0:
                        hold_stopped(program, world, monitor, block, state, scratch, t)
                if (done + 1) % world.every == 0:
                    row = done / world.every
                    write_row(
                        program,
                        world,
                        points,
                        monitor,
                        outputs,
                        row,
                        block,
                        scratch,
                        raw,
                        t,
                    )
                    for g in range(program.groups):
                        store_state(program, state, block, g, scratch, t)
                    if world.report == ALL:
                        stopped = stopped + assess_row(
                            program,
                            world,
                            ground,
                            monitor,
                            outputs,
                            row,
                            done + 1,
                            block,
                            scratch,
                            t,
                        )
            for r in range(owned):
                robot = block * copies + r
                if monitor.results == 1:
                    most = monitor.result[robot, TORQUE]
                    for i in range(width):
                        if copies == 1 or i == r:
                            most = wp.max(most, peak[i])
                    monitor.result[robot, TORQUE] = most
                if monitor.status[robot, WHY] == RUNNING:
                    monitor.clock[robot] = monitor.clock[robot] + world.steps
                else:
                    monitor.clock[robot] = monitor.status[robot, WHEN]

    return SimpleNamespace(
        World=World,
        Commands=Commands,
        Outputs=Outputs,
        Monitor=Monitor,
        Points=Points,
        advance=advance,
        vec3=vec3,
    )
