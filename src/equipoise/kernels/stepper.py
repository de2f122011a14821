"""One step of a world: forces, accelerations, integration."""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.actuators import make_actuators
from equipoise.kernels.articulated import (
    ACCELERATION,
    BUSY,
    COMMAND,
    FORCE,
    HANDLE,
    HANDLE_TURN,
    JOINT,
    LINKS,
    MIDWAY_OMEGA,
    MIDWAY_VELOCITY,
    MOMENT,
    OMEGA,
    P_MODE,
    POSITION,
    QUATERNION,
    QUATERNION_W,
    SOLUTION,
    SPIN,
    V_AT,
    VELOCITY,
    make_articulated,
)
from equipoise.kernels.contact import LANE, ROOT_GROUP, make_contact
from equipoise.kernels.ground import make_ground
from equipoise.kernels.lane_state import make_lane_state
from equipoise.kernels.lanes import make_lane_matrices, make_lanes
from equipoise.kernels.once import once

# A step is tried again if contact would pull or an actuator go beyond its limit, but
# not more often than this.
TRIES = 6
BASE_DOF = 6


@once
def make_stepper(scalar: Any, width: int, effect: Any) -> SimpleNamespace:
    """Return the structs ``World``, ``Commands`` and ``Points``, and one step.

    - ``take_commands(program, commands, groups, block, done, robots, scratch, t)``:
      what joints are commanded in a step
    - ``step(program, world, points, ground, added, time, block, scratch, raw, work,
      t)``: do one step; return the sum of accelerations in each lane
    - ``drift(g, dt, scratch, t)``: move free bodies as they go
    - ``size_of(scratch, g, t)``: the size of free bodies' accelerations

    Args:
        scalar: Number type.
        width: How many lanes there are.
        effect: A Warp function of (time, joint, position, velocity) that returns a
            torque to add, or None.
    """
    lanes = make_lanes(scalar, width)
    Lanes, Lanes3 = lanes.Lanes, lanes.Lanes3
    scale, cross = lanes.scale, lanes.cross
    dot = make_lane_matrices(scalar, width).dot
    tree = make_articulated(scalar, width)
    Program, place, weigh, handle = tree.Program, tree.place, tree.weigh, tree.handle
    load_of, hand_down = tree.load_of, tree.hand_down
    solve_free, accelerate = tree.solve_free, tree.accelerate
    actuators = make_actuators(scalar, width)
    actuate, check_limits = actuators.actuate, actuators.check_limits
    integrate_joints, lead = actuators.integrate_joints, actuators.lead
    contact = make_contact(scalar, width)
    Points, predict, resolve = contact.Points, contact.predict, contact.resolve
    react, commit = contact.react, contact.commit
    arm_of, pull = contact.arm_of, contact.pull
    robot_of = make_lane_state(scalar, width).robot_of
    Ground = make_ground(scalar).Ground
    Rows = wp.types.vector(length=width, dtype=wp.int32)
    vec3 = wp.types.vector(length=3, dtype=scalar)
    busy_at, v_at = LINKS + BUSY * width, LINKS + V_AT * width
    one = scalar(1.0)
    half = scalar(0.5)

    @wp.func
    def nothing(time: scalar, joint: int, position: scalar, velocity: scalar) -> scalar:
        return scalar(0.0)

    unmodelled = nothing if effect is None else effect

    @wp.struct
    class World:
        dt: scalar
        gravity: scalar
        steps: int
        # steps that the command has held for before the first
        since: int
        every: int
        report: int
        first_block: int
        blocks: int
        robots: int
        contacts: int
        surfaces: int
        robot_groups: int
        tries: int
        # forces from outside: where, how much, from when to when
        pushes: int
        push_group: wp.array[int]
        push_lane: wp.array[int]
        push_point: wp.array[vec3]
        push_force: wp.array3d[vec3]
        push_time: wp.array3d[vec3]
        effects: int
        # whether the motion of any joint is prescribed
        prescribed: int

    @wp.struct
    class Commands:
        position: wp.array3d[scalar]
        velocity: wp.array3d[scalar]
        torque: wp.array3d[scalar]
        # a row holds for so many steps; which one holds first; late by so many steps
        hold: int
        first: wp.array[int]
        delay: wp.array[int]

    @wp.func
    def drift(g: int, dt: scalar, scratch: wp.array3d[Lanes3], t: int) -> None:
        """Move free bodies at the velocities that they have."""
        omega = scratch[g, OMEGA, t]
        scratch[g, POSITION, t] = scratch[g, POSITION, t] + dt * scratch[g, VELOCITY, t]
        square = dot(omega, omega)
        cosine = Lanes()
        sine = Lanes()
        for i in range(width):
            speed = wp.sqrt(square[i])
            angle = half * dt * speed
            cosine[i] = wp.cos(angle)
            sine[i] = wp.where(
                wp.abs(angle) > scalar(1e-8),
                wp.sin(angle) / wp.max(speed, scalar(1e-30)),
                half * dt,
            )
        vector = scratch[g, QUATERNION, t]
        real = scratch[g, QUATERNION_W, t][0]
        turn = scale(sine, omega)
        new_real = wp.cw_mul(cosine, real) - dot(turn, vector)
        vector = scale(cosine, vector) + scale(real, turn) + cross(turn, vector)
        length = wp.cw_mul(new_real, new_real) + dot(vector, vector)
        per = Lanes()
        for i in range(width):
            per[i] = one / wp.sqrt(length[i])
        scratch[g, QUATERNION, t] = scale(per, vector)
        real3 = scratch[g, QUATERNION_W, t]
        real3[0] = wp.cw_mul(per, new_real)
        scratch[g, QUATERNION_W, t] = real3

    @wp.func
    def integrate_free(g: int, dt: scalar, scratch: wp.array3d[Lanes3], t: int) -> None:
        """Move free bodies over a step, in world axes."""
        gained = scratch[g, ACCELERATION, t] + cross(
            scratch[g, MIDWAY_OMEGA, t], scratch[g, MIDWAY_VELOCITY, t]
        )
        spin = scratch[g, SPIN, t]
        velocity = scratch[g, VELOCITY, t] + dt * gained
        omega = scratch[g, OMEGA, t] + dt * spin
        scratch[g, VELOCITY, t] = velocity
        scratch[g, OMEGA, t] = omega
        scratch[g, MIDWAY_VELOCITY, t] = velocity + half * dt * gained
        scratch[g, MIDWAY_OMEGA, t] = omega + half * dt * spin
        drift(g, dt, scratch, t)

    @wp.func
    def size_of(scratch: wp.array3d[Lanes3], g: int, t: int) -> Lanes:
        """Return the size of free bodies' accelerations, linear plus angular."""
        linear = scratch[g, ACCELERATION, t]
        spin = scratch[g, SPIN, t]
        total = wp.abs(linear[0]) + wp.abs(linear[1]) + wp.abs(linear[2])
        return total + wp.abs(spin[0]) + wp.abs(spin[1]) + wp.abs(spin[2])

    @wp.func
    def terrain_of(program: Program, ground: Ground, block: int, lane: int) -> int:
        robot = robot_of(program, block, lane)
        return ground.terrain[wp.min(robot, ground.terrain.shape[0] - 1)]

    @wp.func
    def push(
        world: World, k: int, block: int, time: Lanes, raw: wp.array3d[scalar], t: int
    ) -> None:
        # a step that the push begins or ends in gets its share
        lane = world.push_lane[k]
        window = world.push_time[wp.min(block, world.push_time.shape[0] - 1), k, 0]
        begins = wp.max(window[0], time[lane])
        share = (wp.min(window[1], time[lane] + world.dt) - begins) / world.dt
        if share <= scalar(0.0):
            return
        g = world.push_group[k]
        arm = arm_of(raw, g, lane, t, world.push_point[k])
        force = world.push_force[wp.min(block, world.push_force.shape[0] - 1), k, 0]
        pull(raw, g, lane, t, arm, share * force)

    @wp.func
    def rows_now(
        program: Program, commands: Commands, block: int, done: int, robots: int
    ) -> Rows:
        """Return which row of commands each lane is told."""
        rows = Rows()
        count = commands.position.shape[0]
        for i in range(width):
            robot = wp.min(robot_of(program, block, i), robots - 1)
            late = done - commands.delay[wp.min(robot, commands.delay.shape[0] - 1)]
            row = commands.first[0]
            if late >= 0:
                row = row + late / commands.hold
            else:
                row = row - (commands.hold - 1 - late) / commands.hold
            rows[i] = (row + count) % count
        return rows

    @wp.func
    def take_commands(
        program: Program,
        commands: Commands,
        groups: int,
        block: int,
        done: int,
        robots: int,
        scratch: wp.array3d[Lanes3],
        t: int,
    ) -> None:
        """Take position, velocity and torque that joints are commanded in a step."""
        rows = rows_now(program, commands, block, done, robots)
        last = commands.position.shape[1] - 1
        for g in range(1, groups):
            command = Lanes3()
            for i in range(width):
                if program.table[g, busy_at + i] == 1:
                    joint = program.table[g, v_at + i] - BASE_DOF
                    robot = wp.min(robot_of(program, block, i), last)
                    command[0, i] = commands.position[rows[i], robot, joint]
                    command[1, i] = commands.velocity[rows[i], robot, joint]
                    command[2, i] = commands.torque[rows[i], robot, joint]
            scratch[g, COMMAND, t] = command

    @wp.func
    def step(
        program: Program,
        world: World,
        points: Points,
        ground: Ground,
        added: wp.array3d[Lanes3],
        time: Lanes,
        block: int,
        scratch: wp.array3d[Lanes3],
        raw: wp.array3d[scalar],
        work: wp.array3d[vec3],
        t: int,
    ) -> Lanes:
        """Do one step; return the sum of accelerations in each lane."""
        dt = world.dt
        b = wp.min(block, program.inertia.shape[0] - 1)
        d = wp.min(block, program.actuator.shape[0] - 1)
        e = wp.min(block, added.shape[0] - 1)
        if world.prescribed == 1:
            for g in range(1, world.robot_groups):
                lead(program, g, d, dt, scratch, t)
        for again in range(world.tries):
            for g in range(program.groups):
                place(program, g, dt, scratch, raw, t)
                weigh(program, g, b, world.gravity, scratch, t)
            scratch[0, FORCE, t] = scratch[0, FORCE, t] - added[e, 0, 0]
            scratch[0, MOMENT, t] = scratch[0, MOMENT, t] - added[e, 0, 1]
            for k in range(points.count):
                terrain = int(0)
                if ground.terrain.shape[0] > 1:
                    terrain = terrain_of(program, ground, block, points.number[k, LANE])
                predict(points, k, ground, terrain, dt, again, block, raw, work, t)
            for k in range(world.pushes):
                push(world, k, block, time, raw, t)
            for back in range(1, world.robot_groups):
                g = world.robot_groups - back
                inertia = handle(g, scratch, t)
                extra = added[e, g, 0][0]
                if world.effects == 1:
                    joint = scratch[g, JOINT, t]
                    # where it was at the beginning of the step
                    mode = program.actuator[d, g, P_MODE]
                    told = scratch[g, COMMAND, t]
                    since = wp.cw_mul(mode[0], told[0] - joint[0])
                    since = since + half * dt * wp.cw_mul(mode[1], told[1])
                    since = since + half * dt * wp.cw_mul(mode[2], joint[1])
                    for i in range(width):
                        if program.table[g, busy_at + i] == 1:
                            extra[i] = extra[i] + unmodelled(
                                time[i],
                                program.table[g, v_at + i] - BASE_DOF,
                                joint[0, i] - since[i],
                                joint[1, i],
                            )
                load = load_of(g, scratch, t)
                command = scratch[g, COMMAND, t]
                actuate(
                    program, g, d, inertia, load, extra, command, dt, again, scratch, t
                )
                hand_down(program, g, scratch, raw, t)
            solve_free(0, scratch, t)
            wrong = int(0)
            for g in range(1, world.robot_groups):
                rate = accelerate(program, g, scratch, raw, t)
                wrong = wrong + check_limits(program, g, d, rate, dt, again, scratch, t)
            for k in range(points.count):
                if points.number[k, ROOT_GROUP] == 0:
                    wrong = wrong + resolve(points, k, again, raw, work, t)
            if world.robot_groups < program.groups:
                # boxes, now that it is known how the robot pushes them
                for k in range(points.count):
                    react(points, k, raw, work, t)
                for g in range(world.robot_groups, program.groups):
                    solve_free(g, scratch, t)
                for k in range(points.count):
                    if points.number[k, ROOT_GROUP] != 0:
                        wrong = wrong + resolve(points, k, again, raw, work, t)
            if wrong == 0:
                break
        sizes = Lanes()
        for g in range(1, world.robot_groups):
            rate = scratch[g, SOLUTION, t][0]
            carried = dot(scratch[g, HANDLE, t], scratch[g, ACCELERATION, t])
            carried = carried + dot(scratch[g, HANDLE_TURN, t], scratch[g, SPIN, t])
            carried = carried + load_of(g, scratch, t)
            integrate_joints(program, g, d, rate, carried, dt, scratch, t)
            sizes = sizes + wp.abs(rate)
        sizes = sizes + size_of(scratch, 0, t)
        integrate_free(0, dt, scratch, t)
        for g in range(world.robot_groups, program.groups):
            sizes = sizes + size_of(scratch, g, t)
            integrate_free(g, dt, scratch, t)
        for k in range(points.count):
            commit(points, k, dt, block, work, t)
        return sizes

    return SimpleNamespace(
        World=World,
        Commands=Commands,
        Points=Points,
        step=step,
        take_commands=take_commands,
        drift=drift,
        size_of=size_of,
    )
