"""Forward dynamics of a tree in one sweep out, one in and one out again.

The articulated-body algorithm (Table 7.1 of [Featherstone2008]) in world axes, about
the origin of the floating base as it is now: all bodies share one frame, so that
inertias and forces are handed down by adding them, without transforming them. 6-D
vectors are linear first.

What is known of a group of bodies lies in working memory, ``scratch[group, slot,
thread]``. Row ``program.groups`` is a place to gather things of other lanes.
"""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.lanes import make_lane_matrices, make_lanes
from equipoise.kernels.once import once
from equipoise.kernels.sincos import make_sincos

# Slots of working memory. First what children need of their parent: axes; origin from
# the base's; angular velocity; velocity of the point at the base's origin; both half a
# step later, as the last accelerations foretell.
X, Y, Z, ORIGIN, OMEGA, VELOCITY, MIDWAY_OMEGA, MIDWAY_VELOCITY = range(8)
# Motion of the joint for unit speed, and acceleration that speeds alone cause.
AXIS, TURN, BIAS, BIAS_TURN = range(8, 12)
# Articulated inertia: diagonal and off-diagonal of the linear block, rows of the mixed
# block, diagonal and off-diagonal of the angular block; and the force with it.
MASS, MASS_OFF, MIXED_X, MIXED_Y, MIXED_Z, INERTIA, INERTIA_OFF = range(12, 19)
FORCE, MOMENT = 19, 20
# Inertia × joint motion; spatial acceleration.
HANDLE, HANDLE_TURN, ACCELERATION, SPIN = range(21, 25)
# Rows: position, velocity, acceleration of the joint; inverse of its inertia, its
# generalised force, acceleration that is prescribed.
JOINT, SOLUTION = 25, 26
# Rows: torque of the actuator, its part that follows the acceleration, other torques;
# at which limit the actuator is held, part of others that follows the acceleration,
# damping of bristles that slip; friction, its part, torque of the actuator without
# limits; (friction's anchor, whether the joint is at a stop, -).
TORQUES, FORCED, SLIP, ANCHOR = range(27, 31)
# Free bodies: position, vector part, (scalar part, -, -) of the quaternion.
POSITION, QUATERNION, QUATERNION_W = range(31, 34)
# Position, velocity and torque that joints are commanded.
COMMAND = 34
SLOTS = 35

# What is known of a group for good, in three tables. Geometry, the same for all robots:
# columns of the rotation to the parent; place in the parent; (turn, slide, -).
P_X, P_Y, P_Z, P_TRANSLATION, P_MOTION = range(5)
GEOMETRY = 5
# Inertia: mass × centre of mass; inertia about the origin; (mass, -, -).
P_MOMENT, P_INERTIA, P_INERTIA_OFF, P_MASS = range(4)
INERTIAS = 4
# Actuators: (stiffness, damping, rotor inertia), (viscous friction, Coulomb friction,
# what stiction adds), (1/Stribeck speed², bristle stiffness, its inverse), (torque
# limit, velocity limit, disturbance), (lower, upper, -), (position prescribed, velocity
# prescribed, neither).
P_GAIN, P_FRICTION, P_BRISTLE, P_LIMIT, P_STOP, P_MODE = range(6)
ACTUATORS = 6

HINGE, FREE = range(2)

# Columns of the table of groups: what joints it has; the row of working memory with
# its parents, and whether they are there in the same lanes; then for each lane the
# group (-1: none) of the parent, its lane, whether there is a body in the lane at all,
# where the body is in q and in v, and whether it turns for ever. Few arrays make calls
# of functions cheap.
KIND, PARENT, ALIGNED, LINKS = range(4)
# Which columns of lanes these are: column n begins at LINKS + n × width.
PARENT_GROUP, PARENT_LANE, BUSY, Q_AT, V_AT, ENDLESS = range(6)


@once
def make_articulated(scalar: Any, width: int) -> SimpleNamespace:
    """Return the struct ``Program`` and the sweeps over its groups.

    - ``place(program, g, dt, scratch, raw, t)``: axes, origin, velocities, joint motion
    - ``weigh(program, g, b, gravity, scratch, t)``: inertia and force of the bodies
    - ``handle(g, scratch, t)``: inertia × joint motion, returns the joint's inertia
    - ``hand_down(program, g, u, scratch, raw, t)``: what is left of inertia and force
      after the joint has yielded, to the parent
    - ``solve_free(g, scratch, t)``: acceleration of free bodies
    - ``accelerate(program, g, scratch, raw, t)``: of the others, from their parents'

    ``b`` is the row of the table of inertias, ``raw`` the working memory number by
    number.
    """
    lanes = make_lanes(scalar, width)
    Lanes, Lanes3 = lanes.Lanes, lanes.Lanes3
    scale, cross, turned = lanes.scale, lanes.cross, lanes.turned
    m = make_lane_matrices(scalar, width)
    dot, times, rows_times = m.dot, m.times, m.rows_times
    symmetric_times, off, off_both = m.symmetric_times, m.off, m.off_both
    all_rows, invert = m.all_rows, m.invert
    sincos = make_sincos(scalar, width).function
    half = scalar(0.5)
    one = scalar(1.0)
    two = scalar(2.0)

    @wp.struct
    class Program:
        groups: int
        robots: int  # in a set of lanes: one, or one a lane
        table: wp.array2d[int]
        geometry: wp.array2d[Lanes3]
        inertia: wp.array3d[Lanes3]
        actuator: wp.array3d[Lanes3]

    @wp.func
    def gather(
        program: Program, g: int, first: int, last: int, raw: wp.array3d[scalar], t: int
    ) -> None:
        """Copy slots of the parents in their lanes to those of group g."""
        for i in range(width):
            parent = program.table[g, LINKS + i]
            lane = program.table[g, LINKS + width + i]
            if parent >= 0:
                for slot in range(first, last + 1):
                    source = parent * SLOTS + slot
                    target = program.groups * SLOTS + slot
                    for row in range(3):
                        raw[target, t, row * width + i] = raw[
                            source, t, row * width + lane
                        ]

    @wp.func
    def scatter(program: Program, g: int, raw: wp.array3d[scalar], t: int) -> None:
        """Add inertia and force that were gathered to the parents in their lanes."""
        for i in range(width):
            parent = program.table[g, LINKS + i]
            lane = program.table[g, LINKS + width + i]
            if parent >= 0:
                for slot in range(MASS, MOMENT + 1):
                    source = program.groups * SLOTS + slot
                    target = parent * SLOTS + slot
                    for row in range(3):
                        raw[target, t, row * width + lane] = (
                            raw[target, t, row * width + lane]
                            + raw[source, t, row * width + i]
                        )

    @wp.func
    def place_free(g: int, scratch: wp.array3d[Lanes3], t: int) -> None:
        ones = Lanes(one)
        none = Lanes()
        vector = scratch[g, QUATERNION, t]
        axes = turned(
            wp.matrix_from_rows(ones, none, none),
            wp.matrix_from_rows(none, ones, none),
            wp.matrix_from_rows(none, none, ones),
            vector[0],
            vector[1],
            vector[2],
            scratch[g, QUATERNION_W, t][0],
        )
        scratch[g, X, t] = axes.x
        scratch[g, Y, t] = axes.y
        scratch[g, Z, t] = axes.z
        scratch[g, ORIGIN, t] = Lanes3()

    @wp.func
    def place_hinge(
        program: Program, g: int, dt: scalar, scratch: wp.array3d[Lanes3], t: int
    ) -> None:
        parent = program.table[g, PARENT]
        x = scratch[parent, X, t]
        y = scratch[parent, Y, t]
        z = scratch[parent, Z, t]
        moves = program.geometry[g, P_MOTION]
        joint = scratch[g, JOINT, t]
        along = times(x, y, z, program.geometry[g, P_X])
        across = times(x, y, z, program.geometry[g, P_Y])
        axis = times(x, y, z, program.geometry[g, P_Z])
        shift = times(x, y, z, program.geometry[g, P_TRANSLATION])
        wave = sincos(wp.cw_mul(moves[0], joint[0]))
        scratch[g, X, t] = scale(wave.cos, along) + scale(wave.sin, across)
        scratch[g, Y, t] = scale(wave.cos, across) - scale(wave.sin, along)
        scratch[g, Z, t] = axis
        slide = scale(moves[1], axis)
        origin = scratch[parent, ORIGIN, t] + shift + scale(joint[0], slide)
        turn = scale(moves[0], axis)
        motion = cross(origin, turn) + slide
        scratch[g, ORIGIN, t] = origin
        scratch[g, OMEGA, t] = scratch[parent, OMEGA, t] + scale(joint[1], turn)
        velocity = scratch[parent, VELOCITY, t]
        scratch[g, VELOCITY, t] = velocity + scale(joint[1], motion)
        # forces that velocities cause are those midway through the step
        midway = joint[1] + half * dt * joint[2]
        omega = scratch[parent, MIDWAY_OMEGA, t]
        velocity = scratch[parent, MIDWAY_VELOCITY, t]
        rate = scale(midway, motion)
        spin = scale(midway, turn)
        scratch[g, MIDWAY_OMEGA, t] = omega + spin
        scratch[g, MIDWAY_VELOCITY, t] = velocity + rate
        scratch[g, AXIS, t] = motion
        scratch[g, TURN, t] = turn
        scratch[g, BIAS, t] = cross(omega, rate) + cross(velocity, spin)
        scratch[g, BIAS_TURN, t] = cross(omega, spin)

    @wp.func
    def place(
        program: Program,
        g: int,
        dt: scalar,
        scratch: wp.array3d[Lanes3],
        raw: wp.array3d[scalar],
        t: int,
    ) -> None:
        if program.table[g, KIND] == FREE:
            place_free(g, scratch, t)
            return
        if program.table[g, ALIGNED] == 0:
            gather(program, g, X, MIDWAY_VELOCITY, raw, t)
        place_hinge(program, g, dt, scratch, t)

    @wp.func
    def weigh(
        program: Program,
        g: int,
        b: int,
        gravity: scalar,
        scratch: wp.array3d[Lanes3],
        t: int,
    ) -> None:
        x = scratch[g, X, t]
        y = scratch[g, Y, t]
        z = scratch[g, Z, t]
        origin = scratch[g, ORIGIN, t]
        mass = program.inertia[b, g, P_MASS][0]
        diagonal = program.inertia[b, g, P_INERTIA]
        beside = program.inertia[b, g, P_INERTIA_OFF]
        ax = scale(diagonal[0], x) + scale(beside[2], y) + scale(beside[1], z)
        ay = scale(beside[2], x) + scale(diagonal[1], y) + scale(beside[0], z)
        az = scale(beside[1], x) + scale(beside[0], y) + scale(diagonal[2], z)
        arm = times(x, y, z, program.inertia[b, g, P_MOMENT])
        weighted = scale(mass, origin)
        h = weighted + arm
        # parallel axes: from the origin of the body to that of the base
        lever = weighted + two * arm
        square = dot(origin, lever)
        inertia = (
            wp.cw_mul(ax, x)
            + wp.cw_mul(ay, y)
            + wp.cw_mul(az, z)
            + all_rows(square)
            - wp.cw_mul(origin, lever)
        )
        inertia_off = (
            off(ax, x)
            + off(ay, y)
            + off(az, z)
            - off(weighted, origin)
            - off_both(arm, origin)
        )
        none = Lanes()
        scratch[g, MASS, t] = all_rows(mass)
        scratch[g, MASS_OFF, t] = Lanes3()
        scratch[g, MIXED_X, t] = wp.matrix_from_rows(none, h[2], -h[1])
        scratch[g, MIXED_Y, t] = wp.matrix_from_rows(-h[2], none, h[0])
        scratch[g, MIXED_Z, t] = wp.matrix_from_rows(h[1], -h[0], none)
        scratch[g, INERTIA, t] = inertia
        scratch[g, INERTIA_OFF, t] = inertia_off
        omega = scratch[g, MIDWAY_OMEGA, t]
        velocity = scratch[g, MIDWAY_VELOCITY, t]
        push = scale(mass, velocity) + cross(omega, h)
        spin = symmetric_times(inertia, inertia_off, omega) + cross(h, velocity)
        force = cross(omega, push)
        moment = cross(omega, spin) + cross(velocity, push)
        force[2] = force[2] + gravity * mass
        moment[0] = moment[0] + gravity * h[1]
        moment[1] = moment[1] - gravity * h[0]
        scratch[g, FORCE, t] = force
        scratch[g, MOMENT, t] = moment

    @wp.func
    def handle(g: int, scratch: wp.array3d[Lanes3], t: int) -> Lanes:
        axis = scratch[g, AXIS, t]
        turn = scratch[g, TURN, t]
        mx = scratch[g, MIXED_X, t]
        my = scratch[g, MIXED_Y, t]
        mz = scratch[g, MIXED_Z, t]
        linear = symmetric_times(scratch[g, MASS, t], scratch[g, MASS_OFF, t], axis)
        linear = linear + rows_times(mx, my, mz, turn)
        angular = symmetric_times(
            scratch[g, INERTIA, t], scratch[g, INERTIA_OFF, t], turn
        )
        angular = angular + times(mx, my, mz, axis)
        scratch[g, HANDLE, t] = linear
        scratch[g, HANDLE_TURN, t] = angular
        return dot(axis, linear) + dot(turn, angular)

    @wp.func
    def load_of(g: int, scratch: wp.array3d[Lanes3], t: int) -> Lanes:
        """Return the force along the joint that its bodies need to move as they do."""
        return dot(scratch[g, AXIS, t], scratch[g, FORCE, t]) + dot(
            scratch[g, TURN, t], scratch[g, MOMENT, t]
        )

    @wp.func
    def hand_down(
        program: Program,
        g: int,
        scratch: wp.array3d[Lanes3],
        raw: wp.array3d[scalar],
        t: int,
    ) -> None:
        solution = scratch[g, SOLUTION, t]
        u_lin = scratch[g, HANDLE, t]
        u_ang = scratch[g, HANDLE_TURN, t]
        w_lin = scale(solution[0], u_lin)
        w_ang = scale(solution[0], u_ang)
        mass = scratch[g, MASS, t] - wp.cw_mul(w_lin, u_lin)
        mass_off = scratch[g, MASS_OFF, t] - off(w_lin, u_lin)
        mixed_x = scratch[g, MIXED_X, t] - scale(w_lin[0], u_ang)
        mixed_y = scratch[g, MIXED_Y, t] - scale(w_lin[1], u_ang)
        mixed_z = scratch[g, MIXED_Z, t] - scale(w_lin[2], u_ang)
        inertia = scratch[g, INERTIA, t] - wp.cw_mul(w_ang, u_ang)
        inertia_off = scratch[g, INERTIA_OFF, t] - off(w_ang, u_ang)
        bias = scratch[g, BIAS, t] + scale(solution[2], scratch[g, AXIS, t])
        bias_turn = scratch[g, BIAS_TURN, t] + scale(solution[2], scratch[g, TURN, t])
        force = (
            scratch[g, FORCE, t]
            + symmetric_times(mass, mass_off, bias)
            + rows_times(mixed_x, mixed_y, mixed_z, bias_turn)
            + scale(solution[1], w_lin)
        )
        moment = (
            scratch[g, MOMENT, t]
            + symmetric_times(inertia, inertia_off, bias_turn)
            + times(mixed_x, mixed_y, mixed_z, bias)
            + scale(solution[1], w_ang)
        )
        parent = program.table[g, PARENT]
        if program.table[g, ALIGNED] == 0:
            scratch[parent, MASS, t] = mass
            scratch[parent, MASS_OFF, t] = mass_off
            scratch[parent, MIXED_X, t] = mixed_x
            scratch[parent, MIXED_Y, t] = mixed_y
            scratch[parent, MIXED_Z, t] = mixed_z
            scratch[parent, INERTIA, t] = inertia
            scratch[parent, INERTIA_OFF, t] = inertia_off
            scratch[parent, FORCE, t] = force
            scratch[parent, MOMENT, t] = moment
            scatter(program, g, raw, t)
        else:
            scratch[parent, MASS, t] = scratch[parent, MASS, t] + mass
            scratch[parent, MASS_OFF, t] = scratch[parent, MASS_OFF, t] + mass_off
            scratch[parent, MIXED_X, t] = scratch[parent, MIXED_X, t] + mixed_x
            scratch[parent, MIXED_Y, t] = scratch[parent, MIXED_Y, t] + mixed_y
            scratch[parent, MIXED_Z, t] = scratch[parent, MIXED_Z, t] + mixed_z
            scratch[parent, INERTIA, t] = scratch[parent, INERTIA, t] + inertia
            scratch[parent, INERTIA_OFF, t] = (
                scratch[parent, INERTIA_OFF, t] + inertia_off
            )
            scratch[parent, FORCE, t] = scratch[parent, FORCE, t] + force
            scratch[parent, MOMENT, t] = scratch[parent, MOMENT, t] + moment

    @wp.func
    def solve_free(g: int, scratch: wp.array3d[Lanes3], t: int) -> None:
        """Solve inertia × acceleration = -force by blocks."""
        mx = scratch[g, MIXED_X, t]
        my = scratch[g, MIXED_Y, t]
        mz = scratch[g, MIXED_Z, t]
        force = scratch[g, FORCE, t]
        per = invert(scratch[g, MASS, t], scratch[g, MASS_OFF, t])
        # columns of the mixed block, and inverse mass × them
        c0 = wp.matrix_from_rows(mx[0], my[0], mz[0])
        c1 = wp.matrix_from_rows(mx[1], my[1], mz[1])
        c2 = wp.matrix_from_rows(mx[2], my[2], mz[2])
        i0 = symmetric_times(per.diagonal, per.off, c0)
        i1 = symmetric_times(per.diagonal, per.off, c1)
        i2 = symmetric_times(per.diagonal, per.off, c2)
        fall = symmetric_times(per.diagonal, per.off, force)
        left = scratch[g, INERTIA, t] - wp.matrix_from_rows(
            dot(c0, i0), dot(c1, i1), dot(c2, i2)
        )
        left_off = scratch[g, INERTIA_OFF, t] - wp.matrix_from_rows(
            dot(c1, i2), dot(c0, i2), dot(c0, i1)
        )
        moment = scratch[g, MOMENT, t] - wp.matrix_from_rows(
            dot(c0, fall), dot(c1, fall), dot(c2, fall)
        )
        about = invert(left, left_off)
        spin = -symmetric_times(about.diagonal, about.off, moment)
        scratch[g, SPIN, t] = spin
        scratch[g, ACCELERATION, t] = -fall - times(i0, i1, i2, spin)

    @wp.func
    def accelerate(
        program: Program,
        g: int,
        scratch: wp.array3d[Lanes3],
        raw: wp.array3d[scalar],
        t: int,
    ) -> Lanes:
        """Return the acceleration of the joint; keep it, and that of its bodies."""
        if program.table[g, ALIGNED] == 0:
            gather(program, g, ACCELERATION, SPIN, raw, t)
        parent = program.table[g, PARENT]
        solution = scratch[g, SOLUTION, t]
        linear = scratch[parent, ACCELERATION, t] + scratch[g, BIAS, t]
        angular = scratch[parent, SPIN, t] + scratch[g, BIAS_TURN, t]
        taken = dot(scratch[g, HANDLE, t], linear)
        taken = taken + dot(scratch[g, HANDLE_TURN, t], angular)
        rate = wp.cw_mul(solution[0], solution[1] - taken) + solution[2]
        scratch[g, ACCELERATION, t] = linear + scale(rate, scratch[g, AXIS, t])
        scratch[g, SPIN, t] = angular + scale(rate, scratch[g, TURN, t])
        solution[0] = rate
        scratch[g, SOLUTION, t] = solution
        return rate

    return SimpleNamespace(
        Program=Program,
        place=place,
        weigh=weigh,
        handle=handle,
        load_of=load_of,
        hand_down=hand_down,
        solve_free=solve_free,
        accelerate=accelerate,
    )
