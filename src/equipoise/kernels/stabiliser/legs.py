"""Joints of the legs for CoM, soles and torso: one Newton step, and their velocities.

The unknowns are the base and the joints of both legs; all other joints move as they are
wanted to, and what that does to the CoM is embedded in the equations (Eq. 18–20 of
[Choi2007], with the body's motion solved along instead of eliminated). The same
equations give the velocities of the joints. Least squares are damped, so that straight
legs do no harm.
"""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from typing import Any

import warp as wp

from equipoise.kernels.once import once
from equipoise.kernels.skeleton import make_skeleton
from equipoise.kernels.stabiliser.types import (
    BASE_POSITION,
    MOST_ROWS,
    MOST_UNKNOWNS,
    MOVING,
    SHIFTS,
    TILTS,
    TURNING,
    WANTED_SOLE,
    WANTED_SOLES,
    WANTED_TORSO,
    make_types,
)


@once
def make_step_legs(scalar: Any) -> Any:
    """Return the function ``step_legs``.

    ``step_legs(skeleton, legs, given, own, t, aim, velocity, commanded)`` takes the CoM
    and its velocity that are wanted and returns (error of the CoM, of the soles,
    damping) before the step.
    """
    types, own_types = make_skeleton(scalar), make_types(scalar)
    Skeleton, vec3 = types.Skeleton, types.vec3
    rotation_of, vector_of, place = types.rotation_of, types.vector_of, types.place
    Legs, Given, Memory = own_types.Legs, own_types.Given, own_types.Memory
    Commanded = own_types.Commanded
    solve = _make_solve(scalar)
    zero, one = scalar(0.0), scalar(1.0)
    largest_step = scalar(0.05)

    @wp.func
    def put(rows: wp.array2d[scalar], row: int, column: int, value: vec3) -> None:
        for i in range(3):
            rows[row + i, column] = value[i]

    @wp.func
    def put_base(rows: wp.array2d[scalar], row: int, arm: vec3) -> None:
        """How the base moves a point: it goes along, and a turn w adds w × arm."""
        for i in range(3):
            rows[row + i, i] = one
        rows[row, 4] = arm[2]
        rows[row, 5] = -arm[1]
        rows[row + 1, 3] = -arm[2]
        rows[row + 1, 5] = arm[0]
        rows[row + 2, 3] = arm[1]
        rows[row + 2, 4] = -arm[0]

    @wp.func
    def embed(
        skeleton: Skeleton, legs: Legs, given: Given, own: Memory, t: int
    ) -> vec3:
        """Sum up masses × places, and return how the other joints move the CoM."""
        for body in range(1, skeleton.bodies):
            lever = own.body_rotations[t, body] @ skeleton.com_in_body[body]
            own.moments[t, body] = skeleton.mass[body] * (
                own.body_origins[t, body] + lever
            )
        embedded = vec3(zero, zero, zero)
        for back in range(skeleton.bodies - 2):
            body = skeleton.bodies - 1 - back
            parent = skeleton.parent[body]
            own.moments[t, parent] = own.moments[t, parent] + own.moments[t, body]
            degree = skeleton.degree[body]
            if degree >= 0:  # noqa: SIM102 (kernels evaluate both sides)
                if legs.unknown[degree] == 0:
                    axis = own.body_rotations[t, body] @ skeleton.axis[body]
                    below = legs.mass_below[body]
                    moves = below * axis
                    if skeleton.slides[body] == 0:
                        moves = wp.cross(
                            axis,
                            own.moments[t, body] - below * own.body_origins[t, body],
                        )
                    embedded = (
                        embedded
                        + (given.velocity[t, degree] / skeleton.total_mass) * moves
                    )
        return embedded

    @wp.func
    def step_legs(
        skeleton: Skeleton,
        legs: Legs,
        given: Given,
        own: Memory,
        t: int,
        aim: vec3,
        velocity: vec3,
        commanded: Commanded,
    ) -> vec3:
        base_position = own.vectors[t, BASE_POSITION]
        base_rotation = own.base[t, 0]
        place(
            skeleton,
            t,
            base_rotation,
            base_position,
            own.joints,
            own.body_rotations,
            own.body_origins,
        )
        embedded = embed(skeleton, legs, given, own, t)
        centre = own.moments[t, 1] / skeleton.total_mass
        rows = own.rows[t]
        solution = own.solution[t]
        unknowns = 6 + legs.joint_counts[0] + legs.joint_counts[1]
        for i in range(MOST_ROWS):
            for k in range(unknowns + 2):
                rows[i, k] = zero
        put_base(rows, 0, centre - base_position)
        put(rows, 0, unknowns, aim - centre)
        put(rows, 0, unknowns + 1, velocity - embedded)
        row = int(3)
        column = int(6)
        sole_error = zero
        for foot in range(2):
            body = legs.foot[foot]
            turned = own.body_rotations[t, body] @ legs.sole_rotation[foot]
            sole = (
                own.body_origins[t, body]
                + own.body_rotations[t, body] @ legs.sole_position[foot]
            )
            aim_rotation = (
                rotation_of(own.vectors[t, TILTS + foot])
                @ given.wanted_rotations[t, WANTED_SOLES + foot]
            )
            aim_position = (
                given.wanted[t, WANTED_SOLE + foot] + own.vectors[t, SHIFTS + foot]
            )
            put_base(rows, row, sole - base_position)
            turns = int(3)
            if legs.yaw_free[foot] == 1:
                turns = 2
            for i in range(turns):
                rows[row + 3 + i, 3 + i] = one
            off = aim_position - sole
            leaning = vector_of(aim_rotation @ wp.transpose(turned))
            sole_error = wp.max(sole_error, wp.max(wp.length(off), wp.length(leaning)))
            moving = own.vectors[t, MOVING + foot]
            turning = own.vectors[t, TURNING + foot]
            put(rows, row, unknowns, off)
            put(rows, row, unknowns + 1, moving)
            for i in range(turns):
                rows[row + 3 + i, unknowns] = leaning[i]
                rows[row + 3 + i, unknowns + 1] = turning[i]
            for k in range(legs.joint_counts[foot]):
                joint = legs.joints[foot, k]
                axis = own.body_rotations[t, joint] @ skeleton.axis[joint]
                origin = own.body_origins[t, joint]
                below = legs.mass_below[joint]
                linear = axis
                angular = vec3(zero, zero, zero)
                moves = below * axis
                if skeleton.slides[joint] == 0:
                    linear = wp.cross(axis, sole - origin)
                    angular = axis
                    moves = wp.cross(axis, own.moments[t, joint] - below * origin)
                put(rows, 0, column, moves / skeleton.total_mass)
                put(rows, row, column, linear)
                for i in range(turns):
                    rows[row + 3 + i, column] = angular[i]
                column = column + 1
            row = row + 3 + turns
        torso = given.wanted_rotations[t, WANTED_TORSO] @ legs.upright
        leaning = vector_of(torso @ wp.transpose(base_rotation))
        for i in range(3):
            rows[row + i, 3 + i] = one
        put(rows, row, unknowns, leaning)
        put(
            rows,
            row,
            unknowns + 1,
            vector_of(torso @ wp.transpose(own.base[t, 1])) / legs.period,
        )
        own.base[t, 1] = torso
        row = row + 3
        added = solve(rows, row, unknowns, legs.damping, solution)
        largest = largest_step
        for i in range(unknowns):
            largest = wp.max(largest, wp.abs(solution[i, 0]))
        scale = largest_step / largest
        own.vectors[t, BASE_POSITION] = base_position + scale * vec3(
            solution[0, 0], solution[1, 0], solution[2, 0]
        )
        own.base[t, 0] = (
            rotation_of(scale * vec3(solution[3, 0], solution[4, 0], solution[5, 0]))
            @ base_rotation
        )
        column = int(6)
        for foot in range(2):
            for k in range(legs.joint_counts[foot]):
                degree = skeleton.degree[legs.joints[foot, k]]
                angle = own.joints[t, degree] + scale * solution[column, 0]
                angle = wp.clamp(angle, legs.lower[degree], legs.upper[degree])
                own.joints[t, degree] = angle
                commanded.position[t, degree] = angle
                fastest = legs.fastest * legs.speed[degree]
                commanded.velocity[t, degree] = wp.clamp(
                    solution[column, 1], -fastest, fastest
                )
                column = column + 1
        return vec3(wp.length(aim - centre), sole_error, added)

    return step_legs


@once
def _make_solve(scalar: Any) -> Any:
    """Return ``solve(rows, equations, unknowns, damping, solution)``.

    Damped least squares with two right-hand sides, by Cholesky's method; returns the
    damping. The matrix has a fixed size: of one whose size it does not know, the
    compiler makes slow code.
    """
    size, width = MOST_UNKNOWNS, MOST_UNKNOWNS + 2
    Line = wp.types.vector(length=width, dtype=scalar)
    Table = wp.types.matrix(shape=(size, width), dtype=scalar)
    zero, one, tiny = scalar(0.0), scalar(1.0), scalar(1e-12)

    @wp.func
    def solve(
        rows: wp.array2d[scalar],
        equations: int,
        unknowns: int,
        damping: scalar,
        solution: wp.array2d[scalar],
    ) -> scalar:
        normal = Table()
        for row in range(equations):
            line = Line()
            for c in range(unknowns):
                line[c] = rows[row, c]
            line[size] = rows[row, unknowns]
            line[size + 1] = rows[row, unknowns + 1]
            for i in range(unknowns):
                factor = line[i]
                if factor != zero:
                    normal[i] = normal[i] + factor * line
        trace = zero
        for i in range(unknowns):
            trace = trace + normal[i][i]
        added = damping * trace
        for k in range(unknowns):
            pivot = one / wp.sqrt(wp.max(normal[k][k] + added, tiny * trace))
            top = pivot * normal[k]
            top[k] = pivot
            normal[k] = top
            for i in range(k + 1, unknowns):
                normal[i] = normal[i] - top[i] * top
        for back in range(unknowns):
            i = unknowns - 1 - back
            top = normal[i]
            first = top[size]
            second = top[size + 1]
            for k in range(i + 1, unknowns):
                first = first - top[k] * solution[k, 0]
                second = second - top[k] * solution[k, 1]
            solution[i, 0] = first * top[i]
            solution[i, 1] = second * top[i]
        return added

    return solve
