"""What the stabiliser knows of a robot, and what it remembers from tick to tick."""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.once import once
from equipoise.kernels.skeleton import make_skeleton

# Vectors of what is wanted: CoM, its velocity and acceleration, ZMP; for each foot
# where its sole is, its velocity and its angular velocity.
(
    WANTED_COM,
    WANTED_COM_VELOCITY,
    WANTED_COM_ACCELERATION,
    WANTED_ZMP,
    WANTED_SOLE,
) = range(5)
WANTED_VELOCITY, WANTED_OMEGA, WANTED = 6, 8, 10
# Rotations of what is wanted: the soles, the torso.
WANTED_SOLES, WANTED_TORSO, WANTED_ROTATIONS = 0, 2, 3
# Vectors of the stabiliser's memory: shift and tilt of each sole against its plan; CoM
# and its velocity that joints are solved for; correction of the ZMP; shift of the plan;
# position of the base that joints were solved for.
SHIFTS, TILTS, COM, COM_VELOCITY, ZMP_LAG, PLAN, BASE_POSITION = 0, 2, 4, 5, 6, 7, 8
# Velocity and angular velocity wanted of each sole; its tilt, slowly followed; where
# its centre of pressure is wanted, from its middle.
MOVING, TURNING, BEHIND, PRESS, VECTORS = 9, 11, 13, 15, 16
# Numbers of its memory, for each foot: the speed at which it is lowered; how sure it is
# that it stands on the ground; whether it has come there since it last swung; the
# fraction of the load that it should carry. And whether the stabiliser has begun.
LOWERING, SURE, LANDED, WANTED_LOAD, BEGUN, NUMBERS = 0, 2, 4, 6, 8, 9
# What it says of itself: ZMP as planned and as wanted now, DCM error, shift of the
# plan, CoM and its velocity that joints were solved for, and (CoM error, sole error,
# damping) of that solution.
(
    SAID_ZMP_PLAN,
    SAID_ZMP,
    SAID_DCM,
    SAID_SHIFT,
    SAID_COM,
    SAID_COM_VELOCITY,
    SAID_SOLVED,
    SAID,
) = range(8)
# Numbers of ``Legs`` that gains set.
GAINS = (
    "dcm_gain",
    "zmp_rate",
    "zmp_most",
    "com_rate",
    "follow_rate",
    "follow_turn",
    "follow_height",
    "tilt_rate",
    "yaw_rate",
    "press_error",
    "press_load",
    "plan_rate",
    "relax_rate",
    "lowering_speed",
    "lowering_gain",
    "lowest",
    "touch",
    "sure_rate",
    "margin",
    "edge",
    "keep",
    "damping",
    "fastest",
)
MOST_UNKNOWNS = 18
MOST_ROWS = 18


@once
def make_types(scalar: Any) -> SimpleNamespace:
    """Return the structs of the stabiliser and small functions of the ground.

    - ``Legs``: gains and the robot's legs and soles
    - ``Given``: what is known (as the estimator tells it) and what is wanted
    - ``Memory``: what is kept from tick to tick, and room to work in
    - ``Commanded``: the command, and what the stabiliser says of itself
    - ``level(a)``: a vector without its height
    - ``load_on_left(point, left, right, support)``: the fraction of the load that the
      left foot carries for a ZMP
    """
    types = make_skeleton(scalar)
    vec3, mat33 = types.vec3, types.mat33
    zero, one = scalar(0.0), scalar(1.0)
    tiny = scalar(1e-12)

    @wp.struct
    class Legs:
        period: scalar
        gravity: scalar
        weight: scalar
        mass: scalar
        dcm_gain: scalar
        zmp_rate: scalar
        zmp_most: scalar
        com_rate: scalar
        follow_rate: scalar
        follow_turn: scalar
        follow_height: scalar
        tilt_rate: scalar
        yaw_rate: scalar
        press_error: scalar
        press_load: scalar
        half_size: wp.array[vec3]
        plan_rate: scalar
        relax_rate: scalar
        lowering_speed: scalar
        lowering_gain: scalar
        lowest: scalar
        touch: scalar
        sure_rate: scalar
        margin: scalar
        edge: scalar
        keep: scalar
        damping: scalar
        # largest speed that joints are told, over what they can at most
        fastest: scalar
        upright: mat33
        foot: wp.array[int]
        sole_rotation: wp.array[mat33]
        sole_position: wp.array[vec3]
        middle: wp.array[vec3]
        corners: wp.array2d[vec3]
        corner_counts: wp.array[int]
        joints: wp.array2d[int]
        joint_counts: wp.array[int]
        yaw_free: wp.array[int]
        unknown: wp.array[int]
        mass_below: wp.array[scalar]
        lower: wp.array[scalar]
        upper: wp.array[scalar]
        speed: wp.array[scalar]

    @wp.struct
    class Given:
        told: wp.array2d[vec3]
        told_rotations: wp.array2d[mat33]
        wanted: wp.array2d[vec3]
        wanted_rotations: wp.array2d[mat33]
        supports: wp.array[int]
        position: wp.array2d[scalar]
        velocity: wp.array2d[scalar]
        torque: wp.array2d[scalar]

    @wp.struct
    class Memory:
        vectors: wp.array2d[vec3]
        base: wp.array2d[mat33]
        numbers: wp.array2d[scalar]
        joints: wp.array2d[scalar]
        body_rotations: wp.array2d[mat33]
        body_origins: wp.array2d[vec3]
        moments: wp.array2d[vec3]
        rows: wp.array3d[scalar]
        solution: wp.array3d[scalar]
        corners: wp.array2d[vec3]

    @wp.struct
    class Commanded:
        position: wp.array2d[scalar]
        velocity: wp.array2d[scalar]
        torque: wp.array2d[scalar]
        said: wp.array2d[vec3]

    @wp.func
    def level(a: vec3) -> vec3:
        return vec3(a[0], a[1], zero)

    @wp.func
    def load_on_left(point: vec3, left: vec3, right: vec3, support: int) -> scalar:
        """Fraction of the load that the left foot carries for a ZMP."""
        between = level(left - right)
        fraction = wp.dot(level(point - right), between) / wp.max(
            wp.dot(between, between), tiny
        )
        if support == 1:
            fraction = one
        if support == 2:
            fraction = zero
        return wp.clamp(fraction, zero, one)

    return SimpleNamespace(
        Legs=Legs,
        Given=Given,
        Memory=Memory,
        Commanded=Commanded,
        level=level,
        load_on_left=load_on_left,
    )
