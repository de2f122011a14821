"""Torques of the legs for another ZMP than planned.

The ground's force passes through the ZMP and the CoM. Two feet share it by where the
ZMP lies between their middles, and what moment remains likewise, as the plan's own
torques do (:mod:`equipoise.gait.feedforward`); what differs from the plan's wrenches
goes through the legs.
"""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from typing import Any

import warp as wp

from equipoise.kernels.once import once
from equipoise.kernels.skeleton import make_skeleton
from equipoise.kernels.stabiliser.types import (
    PRESS,
    SURE,
    WANTED_COM_ACCELERATION,
    make_types,
)


@once
def make_add_torques(scalar: Any) -> Any:
    """Return the function ``add_torques``.

    Its arguments: skeleton, legs, given, memory, thread; middles of the left and right
    sole; ω²; CoM and ZMP as planned and shifted; CoM; ZMP wanted, and as corrected for
    what was measured; the command.
    """
    types, own_types = make_skeleton(scalar), make_types(scalar)
    Skeleton, vec3 = types.Skeleton, types.vec3
    Legs, Given, Memory = own_types.Legs, own_types.Given, own_types.Memory
    Commanded = own_types.Commanded
    level, load_on_left = own_types.level, own_types.load_on_left
    one = scalar(1.0)

    @wp.func
    def pull(mass: scalar, omega2: scalar, lift: scalar, com: vec3, zmp: vec3) -> vec3:
        """The ground's force on a pendulum."""
        along = mass * omega2 * level(com - zmp)
        return vec3(along[0], along[1], lift)

    @wp.func
    def add_torques(
        skeleton: Skeleton,
        legs: Legs,
        given: Given,
        own: Memory,
        t: int,
        left: vec3,
        right: vec3,
        omega2: scalar,
        com_plan: vec3,
        zmp_here: vec3,
        com: vec3,
        zmp: vec3,
        pushed: vec3,
        commanded: Commanded,
    ) -> None:
        support = given.supports[t]
        lift = legs.mass * (legs.gravity + given.wanted[t, WANTED_COM_ACCELERATION][2])
        fraction = load_on_left(pushed, left, right, support)
        if support == 0:
            # no more than a foot is sure to carry
            most = own.numbers[t, SURE]
            least = one - own.numbers[t, SURE + 1]
            if least < most:
                fraction = wp.clamp(fraction, least, most)
        fraction_plan = load_on_left(zmp_here, left, right, support)
        own.vectors[t, PRESS] = level(zmp - fraction * left - (one - fraction) * right)
        ground = fraction * left[2] + (one - fraction) * right[2]
        ground_plan = fraction_plan * left[2] + (one - fraction_plan) * right[2]
        force = pull(legs.mass, omega2, lift, com, pushed)
        force_plan = pull(legs.mass, omega2, lift, com_plan, zmp_here)
        point = vec3(pushed[0], pushed[1], ground)
        point_plan = vec3(zmp_here[0], zmp_here[1], ground_plan)
        rest = wp.cross(point - fraction * left - (one - fraction) * right, force)
        rest_plan = wp.cross(
            point_plan - fraction_plan * left - (one - fraction_plan) * right,
            force_plan,
        )
        for foot in range(2):
            own_fraction = fraction
            plan_fraction = fraction_plan
            at_sole = left
            if foot == 1:
                own_fraction = one - fraction
                plan_fraction = one - fraction_plan
                at_sole = right
            change = own_fraction * force - plan_fraction * force_plan
            # moment about the point where this sole is pressed
            moment = own_fraction * rest - plan_fraction * rest_plan
            for k in range(legs.joint_counts[foot]):
                joint = legs.joints[foot, k]
                degree = skeleton.degree[joint]
                axis = own.body_rotations[t, joint] @ skeleton.axis[joint]
                effect = wp.dot(axis, change)
                if skeleton.slides[joint] == 0:
                    arm = at_sole - own.body_origins[t, joint]
                    effect = wp.dot(axis, wp.cross(arm, change) + moment)
                commanded.torque[t, degree] = commanded.torque[t, degree] - effect

    return add_torques
