"""Many steps of many worlds in one launch."""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.articulated import (
    ACCELERATION,
    FORCE,
    FREE,
    HANDLE,
    HANDLE_TURN,
    JOINT,
    KIND,
    LINKS,
    MOMENT,
    OMEGA,
    POSITION,
    QUATERNION,
    QUATERNION_W,
    SOLUTION,
    SPIN,
    VELOCITY,
    make_articulated,
)
from equipoise.kernels.drives import make_drives
from equipoise.kernels.ground import make_ground
from equipoise.kernels.lane_matrices import make_lane_matrices
from equipoise.kernels.lane_memory import make_lane_memory
from equipoise.kernels.lanes import make_lanes
from equipoise.kernels.once import once
from equipoise.kernels.runtime import MODULE_OPTIONS
from equipoise.kernels.touch import PRESSURE, ROOT_GROUP, make_touch

# Accelerations above this are no motion [rad/s² or m/s²].
WILDEST = 1e9
# A step is tried again if contact would pull or a drive go beyond its limit, but not
# more often than this.
TRIES = 4


@once
def make_stepper(scalar: Any, width: int, effect: Any) -> SimpleNamespace:
    """Return the struct ``World`` and the kernel ``advance``.

    Args:
        scalar: Number type.
        width: How many lanes there are.
        effect: A Warp function of (time, joint, position, velocity) that returns an
            effort to add, or None.
    """
    lanes = make_lanes(scalar, width)
    Lanes, Lanes3 = lanes.Lanes, lanes.Lanes3
    scale, cross = lanes.scale, lanes.cross
    dot = make_lane_matrices(scalar, width).dot
    tree = make_articulated(scalar, width)
    Program, place, weigh, handle = tree.Program, tree.place, tree.weigh, tree.handle
    load_of, hand_down = tree.load_of, tree.hand_down
    solve_free, accelerate = tree.solve_free, tree.accelerate
    drives = make_drives(scalar, width)
    drive, strain, move = drives.drive, drives.strain, drives.move
    touch = make_touch(scalar, width)
    Points, press, feel = touch.Points, touch.press, touch.feel
    react, settle = touch.react, touch.settle
    arm_of, pull = touch.arm_of, touch.pull
    memory = make_lane_memory(scalar, width)
    load_state, store_state, keep = memory.load_state, memory.store_state, memory.keep
    Ground = make_ground(scalar).Ground
    vec3 = wp.types.vector(length=3, dtype=scalar)
    one = scalar(1.0)
    half = scalar(0.5)
    wildest = scalar(WILDEST)

    @wp.func
    def nothing(time: scalar, joint: int, position: scalar, velocity: scalar) -> scalar:
        return scalar(0.0)

    unmodelled = nothing if effect is None else effect

    @wp.struct
    class World:
        dt: scalar
        gravity: scalar
        start: int
        steps: int
        every: int
        first_block: int
        blocks: int
        robot_groups: int
        tries: int
        # forces from outside: where, how much, from when to when
        pushes: int
        push_group: wp.array[int]
        push_lane: wp.array[int]
        push_point: wp.array[vec3]
        push_force: wp.array[vec3]
        push_time: wp.array[vec3]
        joint_of: wp.array2d[int]
        effects: int

    @wp.func
    def integrate_free(g: int, dt: scalar, scratch: wp.array3d[Lanes3], t: int) -> None:
        """Move free bodies over a step, in world axes."""
        omega = scratch[g, OMEGA, t]
        velocity = scratch[g, VELOCITY, t]
        gained = scratch[g, ACCELERATION, t] + cross(omega, velocity)
        velocity = velocity + dt * gained
        omega = omega + dt * scratch[g, SPIN, t]
        scratch[g, VELOCITY, t] = velocity
        scratch[g, OMEGA, t] = omega
        scratch[g, POSITION, t] = scratch[g, POSITION, t] + dt * velocity
        square = dot(omega, omega)
        cosine = Lanes()
        sine = Lanes()
        for i in range(width):
            speed = wp.sqrt(square[i])
            angle = half * dt * speed
            cosine[i] = wp.cos(angle)
            sine[i] = wp.where(
                angle > scalar(1e-8),
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
    def size_of(scratch: wp.array3d[Lanes3], g: int, t: int) -> Lanes:
        """Return the size of free bodies' accelerations, linear plus angular."""
        linear = scratch[g, ACCELERATION, t]
        spin = scratch[g, SPIN, t]
        total = wp.abs(linear[0]) + wp.abs(linear[1]) + wp.abs(linear[2])
        return total + wp.abs(spin[0]) + wp.abs(spin[1]) + wp.abs(spin[2])

    @wp.func
    def push(
        world: World, k: int, time: scalar, raw: wp.array3d[scalar], t: int
    ) -> None:
        # a step that the push begins or ends in gets its share
        window = world.push_time[k]
        begins = wp.max(window[0], time)
        share = (wp.min(window[1], time + world.dt) - begins) / world.dt
        if share <= scalar(0.0):
            return
        g = world.push_group[k]
        lane = world.push_lane[k]
        arm = arm_of(raw, g, lane, t, world.push_point[k])
        pull(raw, g, lane, t, arm, share * world.push_force[k])

    @wp.func
    def step(
        program: Program,
        world: World,
        points: Points,
        ground: Ground,
        commands: wp.array3d[Lanes3],
        added: wp.array3d[Lanes3],
        at: int,
        time: scalar,
        block: int,
        scratch: wp.array3d[Lanes3],
        raw: wp.array3d[scalar],
        work: wp.array3d[vec3],
        t: int,
    ) -> scalar:
        """Do one step; return how wild it was, for finding out about divergence."""
        dt = world.dt
        b = wp.min(block, program.parameters.shape[0] - 1)
        c = wp.min(block, commands.shape[1] - 1)
        e = wp.min(block, added.shape[0] - 1)
        for again in range(world.tries):
            for g in range(program.groups):
                place(program, g, b, scratch, raw, t)
                weigh(program, g, b, world.gravity, scratch, t)
            scratch[0, FORCE, t] = scratch[0, FORCE, t] - added[e, 0, 0]
            scratch[0, MOMENT, t] = scratch[0, MOMENT, t] - added[e, 0, 1]
            for k in range(points.count):
                press(points, k, ground, dt, again, block, raw, work, t)
            for k in range(world.pushes):
                push(world, k, time, raw, t)
            for back in range(1, world.robot_groups):
                g = world.robot_groups - back
                inertia = handle(g, scratch, t)
                extra = added[e, g, 0][0]
                if world.effects == 1:
                    joint = scratch[g, JOINT, t]
                    for i in range(width):
                        if world.joint_of[g, i] >= 0:
                            extra[i] = extra[i] + unmodelled(
                                time, world.joint_of[g, i], joint[0, i], joint[1, i]
                            )
                load = load_of(g, scratch, t)
                told = commands[at, c, g]
                drive(program, g, b, inertia, load, extra, told, dt, again, scratch, t)
                hand_down(program, g, scratch, raw, t)
            solve_free(0, scratch, t)
            wrong = int(0)
            for g in range(1, world.robot_groups):
                rate = accelerate(program, g, scratch, raw, t)
                wrong = wrong + strain(program, g, b, rate, scratch, t)
            for k in range(points.count):
                if points.number[k, ROOT_GROUP] == 0:
                    wrong = wrong + feel(points, k, raw, work, t)
            if wrong == 0:
                break
        wild = Lanes()
        for g in range(1, world.robot_groups):
            rate = scratch[g, SOLUTION, t][0]
            carried = dot(scratch[g, HANDLE, t], scratch[g, ACCELERATION, t])
            carried = carried + dot(scratch[g, HANDLE_TURN, t], scratch[g, SPIN, t])
            carried = carried + load_of(g, scratch, t)
            move(program, g, b, rate, carried, dt, scratch, t)
            wild = wild + wp.abs(rate)
        wild = wild + size_of(scratch, 0, t)
        integrate_free(0, dt, scratch, t)
        for k in range(points.count):
            react(points, k, raw, work, t)
        for g in range(world.robot_groups, program.groups):
            solve_free(g, scratch, t)
            wild = wild + size_of(scratch, g, t)
            integrate_free(g, dt, scratch, t)
        for k in range(points.count):
            if points.number[k, ROOT_GROUP] != 0:
                feel(points, k, raw, work, t)
            settle(points, k, dt, block, work, t)
        total = scalar(0.0)
        for i in range(width):
            total = total + wild[i]
        return total

    @wp.func
    def wildest_lane(program: Program, scratch: wp.array3d[Lanes3], t: int) -> wp.vec2i:
        """Return group and lane of the body that went wrong most."""
        found = wp.vec2i(0, 0)
        most = scalar(-1.0)
        for g in range(program.groups):
            sizes = wp.abs(scratch[g, JOINT, t][2])
            if program.table[g, KIND] == FREE:
                sizes = size_of(scratch, g, t)
            for i in range(width):
                busy = program.table[g, LINKS + 2 * width + i] == 1
                if busy and not (sizes[i] <= most):
                    found = wp.vec2i(g, i)
                    most = sizes[i]
                    if most != most:
                        return found  # no number: nothing is worse
        return found

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def advance(
        program: Program,
        world: World,
        points: Points,
        ground: Ground,
        commands: wp.array3d[Lanes3],
        added: wp.array3d[Lanes3],
        state: wp.array3d[Lanes3],
        scratch: wp.array3d[Lanes3],
        raw: wp.array3d[scalar],
        work: wp.array3d[vec3],
        record: wp.array3d[Lanes3],
        touched: wp.array2d[vec3],
        failure: wp.array2d[int],
    ) -> None:
        t = wp.tid()
        for block in range(world.first_block + t, world.blocks, scratch.shape[2]):
            for g in range(program.groups):
                load_state(state, block, g, scratch, t)
            for done in range(world.steps):
                at = wp.min(done, commands.shape[0] - 1)
                time = scalar(world.start + done) * world.dt
                wild = step(
                    program,
                    world,
                    points,
                    ground,
                    commands,
                    added,
                    at,
                    time,
                    block,
                    scratch,
                    raw,
                    work,
                    t,
                )
                if not (wild < wildest):
                    where = wildest_lane(program, scratch, t)
                    failure[block, 0] = done + 1
                    failure[block, 1] = where[0]
                    failure[block, 2] = where[1]
                    break
                if (done + 1) % world.every == 0:
                    row = done / world.every * state.shape[0] + block
                    for g in range(program.groups):
                        keep(program, record, row, g, scratch, t)
                    for k in range(points.count):
                        touched[row, k] = points.state[block, k, PRESSURE]
            for g in range(program.groups):
                store_state(state, block, g, scratch, t)

    return SimpleNamespace(
        World=World,
        advance=advance,
        Points=Points,
        vec3=vec3,
    )
