"""What the compiled quadratic programme of whole-body torques reads and writes.

Sizes: nv accelerations, of which n_j = nv - 6 of joints; tasks with k rows together;
contacts, one of which, the main one, has forces that follow from the rest; n unknowns,
u of the other contacts and joint accelerations, and z of contacts whose limits count.
:mod:`equipoise.balance.whole_body.reduced_problem` has the equations.
"""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.once import once

# Kinds of tasks; those of one's own are given as rows.
COM, MOMENTUM, FRAME, OWN = range(4)
# Numbers of a posture, one a joint each.
WEIGHT, STIFFNESS, DAMPING, POSITION, VELOCITY, ACCELERATION, POSTURE = range(7)
# Where a joint may be and how fast: stops, speed, braking.
STOP_BELOW, STOP_ABOVE, SPEED, BRAKING, RANGE = range(5)
# Integers that kernels return: unknowns z, all unknowns, limits that count; limits that
# are violated and did not count; whether all numbers are finite.
FREE, UNKNOWNS, COUNTED, VIOLATED, FINITE, ANSWERS = range(6)
# Numbers of a pose in Pinocchio's memory: rotation by columns, translation.
POSE = 12
# Rows of the cost are worked on in fours.
BLOCK = 4


@once
def make_types(scalar: Any) -> SimpleNamespace:
    """Return structs of the programme, and functions over six-dimensional vectors.

    - ``Body``: the robot in one state, in Pinocchio's own memory
    - ``Layout``: which tasks and contacts there are
    - ``Given``: what these want in one tick, and limits
    - ``Parts``: what matrices are made of, and room to work in
    - ``Programme``: matrices for the solver
    - ``Answer``: what follows from its solution
    - ``upper(x)``, ``lower(x)``, ``join(a, b)``: linear and angular part, and both
    - ``turned(r, x)``: both parts turned
    - ``at_point(x, p)``: a twist about the origin as one about a point
    """
    vec3 = wp.types.vector(length=3, dtype=scalar)
    mat33 = wp.types.matrix(shape=(3, 3), dtype=scalar)
    vec6 = wp.types.vector(length=6, dtype=scalar)
    mat66 = wp.types.matrix(shape=(6, 6), dtype=scalar)
    block = wp.types.vector(length=BLOCK, dtype=scalar)

    @wp.struct
    class Body:
        mass_matrix: wp.array2d[scalar]
        columns: wp.array[vec6]
        poses: wp.array2d[scalar]
        bias: wp.array[scalar]
        joints: int
        mass: scalar
        gravity: scalar

    @wp.struct
    class Layout:
        frames: int
        frame_body: wp.array[int]
        frame_rotation: wp.array[mat33]
        frame_position: wp.array[vec3]
        chain_start: wp.array[int]
        chain_first: wp.array[int]
        chain_count: wp.array[int]
        tasks: int
        task_kind: wp.array[int]
        task_frame: wp.array[int]
        task_row: wp.array[int]
        direction: wp.array[int]
        postures: int
        contacts: int
        main: int
        contact_frame: wp.array[int]
        contact_column: wp.array[int]
        rank: wp.array[int]
        points: wp.array[int]
        cones: wp.array[int]
        wrench: wp.array3d[scalar]
        active: wp.array3d[scalar]
        free: wp.array3d[scalar]
        cone_active: wp.array3d[scalar]
        cone_free: wp.array3d[scalar]
        inverse: mat66
        others: int
        acceleration_cost: scalar
        force_cost: scalar
        unlimited: scalar
        near: scalar
        violated: scalar

    @wp.struct
    class Given:
        velocity: wp.array[scalar]
        bias: wp.array[scalar]
        position: wp.array[scalar]
        stiffness: wp.array[scalar]
        damping: wp.array[scalar]
        root_weight: wp.array[scalar]
        pose: wp.array2d[scalar]
        wanted_velocity: wp.array[vec6]
        wanted_acceleration: wp.array[vec6]
        leftover: wp.array[vec6]
        posture: wp.array3d[scalar]
        own_rows: wp.array2d[scalar]
        contact_damping: wp.array[scalar]
        most_force: wp.array[scalar]
        contact_leftover: wp.array[vec6]
        torque: wp.array[scalar]
        least: wp.array[scalar]
        most: wp.array[scalar]
        range: wp.array2d[scalar]
        range_time: wp.array[scalar]

    @wp.struct
    class Parts:
        rotation: wp.array[mat33]
        place: wp.array[vec3]
        twist: wp.array[vec6]
        drift: wp.array[vec6]
        jacobian: wp.array2d[vec6]
        contact_goal: wp.array[vec6]
        base: wp.array[vec6]
        inert: wp.array[vec6]
        wrench: wp.array[vec6]
        force: wp.array[vec6]
        task_goal: wp.array[vec6]
        cost: wp.array2d[scalar]
        cost_blocks: wp.array[block]

    @wp.struct
    class Programme:
        matrix: wp.array[scalar]
        vector: wp.array[scalar]
        rows: wp.array[scalar]
        lower: wp.array[scalar]
        upper: wp.array[scalar]
        working: wp.array[wp.uint8]
        answers: wp.array[int]

    @wp.struct
    class Answer:
        unknowns: wp.array[scalar]
        acceleration: wp.array[scalar]
        torque: wp.array[scalar]
        forces: wp.array2d[scalar]
        rotations: wp.array[mat33]
        near: wp.array[wp.uint8]

    @wp.func
    def upper(x: vec6) -> vec3:
        return vec3(x[0], x[1], x[2])

    @wp.func
    def lower(x: vec6) -> vec3:
        return vec3(x[3], x[4], x[5])

    @wp.func
    def join(a: vec3, b: vec3) -> vec6:
        return vec6(a[0], a[1], a[2], b[0], b[1], b[2])

    @wp.func
    def turned(r: mat33, x: vec6) -> vec6:
        return join(r @ upper(x), r @ lower(x))

    @wp.func
    def at_point(x: vec6, p: vec3) -> vec6:
        return join(upper(x) + wp.cross(lower(x), p), lower(x))

    return SimpleNamespace(
        vec3=vec3,
        mat33=mat33,
        vec6=vec6,
        mat66=mat66,
        block=block,
        Body=Body,
        Layout=Layout,
        Given=Given,
        Parts=Parts,
        Programme=Programme,
        Answer=Answer,
        upper=upper,
        lower=lower,
        join=join,
        turned=turned,
        at_point=at_point,
    )
