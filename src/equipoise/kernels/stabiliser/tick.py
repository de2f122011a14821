"""One tick of the stabiliser: what is wanted and what is known in, a command out.

1. Soles (:mod:`~equipoise.kernels.stabiliser.soles`), and the plan shifted with those
   that carry.
2. DCM feedback gives the ZMP that brings the DCM back to its plan, within the soles.
3. The CoM that joints are solved for goes along with the one measured, so that servos
   do not fight what the ZMP does.
4. Joints of the legs (:mod:`~equipoise.kernels.stabiliser.legs`).
5. Torques (:mod:`~equipoise.kernels.stabiliser.torques`).
"""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.estimation import (
    TOLD_COM,
    TOLD_COM_VELOCITY,
    TOLD_CONTACT,
    TOLD_OFFSET,
    TOLD_ZMP,
)
from equipoise.kernels.once import once
from equipoise.kernels.runtime import MODULE_OPTIONS
from equipoise.kernels.skeleton import make_skeleton
from equipoise.kernels.stabiliser.hull import make_nearest_in_hull
from equipoise.kernels.stabiliser.legs import make_step_legs
from equipoise.kernels.stabiliser.soles import make_step_soles
from equipoise.kernels.stabiliser.torques import make_add_torques
from equipoise.kernels.stabiliser.types import (
    BEGUN,
    COM,
    COM_VELOCITY,
    LANDED,
    PLAN,
    SAID_COM,
    SAID_COM_VELOCITY,
    SAID_DCM,
    SAID_SHIFT,
    SAID_SOLVED,
    SAID_ZMP,
    SAID_ZMP_PLAN,
    SHIFTS,
    SURE,
    WANTED_COM,
    WANTED_COM_ACCELERATION,
    WANTED_COM_VELOCITY,
    WANTED_LOAD,
    WANTED_SOLE,
    WANTED_SOLES,
    WANTED_TORSO,
    WANTED_ZMP,
    ZMP_LAG,
    make_types,
)


@once
def make_stabilise(scalar: Any) -> SimpleNamespace:
    """Return one tick, as a function and as a kernel.

    - ``stabilise_robot(skeleton, legs, t, given, own, commanded)``: that of robot t
    - ``stabilise``: a kernel of the same arguments but t, one robot a thread
    """
    types, own_types = make_skeleton(scalar), make_types(scalar)
    Skeleton = types.Skeleton
    Legs, Given, Memory = own_types.Legs, own_types.Given, own_types.Memory
    Commanded = own_types.Commanded
    level, load_on_left = own_types.level, own_types.load_on_left
    nearest_in_hull, step_soles = make_nearest_in_hull(scalar), make_step_soles(scalar)
    step_legs, add_torques = make_step_legs(scalar), make_add_torques(scalar)
    zero, half, one = scalar(0.0), scalar(0.5), scalar(1.0)
    tiny, observer_damping, absurd = scalar(1e-12), scalar(1.4), scalar(1e5)

    @wp.func
    def put_corners(
        legs: Legs, given: Given, own: Memory, t: int, margin: scalar
    ) -> int:
        """Put corners of the soles that stand into memory, drawn to their middles."""
        support = given.supports[t]
        count = int(0)
        for foot in range(2):
            stance = support == 0 or support == foot + 1
            # one that has landed may be loaded: it is not sure before it is
            carries = own.numbers[t, SURE + foot] > half or (
                own.numbers[t, LANDED + foot] > half
            )
            if stance and (carries or support == foot + 1):
                turned = given.wanted_rotations[t, WANTED_SOLES + foot]
                centre = (
                    given.wanted[t, WANTED_SOLE + foot] + own.vectors[t, SHIFTS + foot]
                )
                for k in range(legs.corner_counts[foot]):
                    corner = legs.middle[foot] + margin * (
                        legs.corners[foot, k] - legs.middle[foot]
                    )
                    own.corners[t, count] = level(centre + turned @ corner)
                    count = count + 1
        return count

    @wp.func
    def stabilise_robot(
        skeleton: Skeleton,
        legs: Legs,
        t: int,
        given: Given,
        own: Memory,
        commanded: Commanded,
    ) -> None:
        dt = legs.period
        support = given.supports[t]
        begun = own.numbers[t, BEGUN]
        step_soles(legs, given, own, t)
        left_plan = (
            given.wanted[t, WANTED_SOLE]
            + given.wanted_rotations[t, WANTED_SOLES] @ legs.middle[0]
        )
        right_plan = (
            given.wanted[t, WANTED_SOLE + 1]
            + given.wanted_rotations[t, WANTED_SOLES + 1] @ legs.middle[1]
        )
        left = left_plan + own.vectors[t, SHIFTS]
        right = right_plan + own.vectors[t, SHIFTS + 1]
        # ---- the plan, shifted with the feet that carry
        zmp_plan = given.wanted[t, WANTED_ZMP]
        fraction = load_on_left(zmp_plan, left_plan, right_plan, support)
        aim = (
            fraction * own.vectors[t, SHIFTS]
            + (one - fraction) * own.vectors[t, SHIFTS + 1]
        )
        plan = own.vectors[t, PLAN]
        if begun < half:
            plan = aim
        plan = plan + wp.min(dt * legs.plan_rate, one) * (aim - plan)
        own.vectors[t, PLAN] = plan
        com_plan = given.wanted[t, WANTED_COM] + plan
        height = given.wanted[t, WANTED_COM][2] - zmp_plan[2]
        omega2 = legs.gravity / wp.max(height, tiny)
        omega = wp.sqrt(omega2)
        # ---- DCM feedback
        com = given.told[t, TOLD_COM]
        offset = level(given.told[t, TOLD_OFFSET])
        com = com + offset
        com_velocity = given.told[t, TOLD_COM_VELOCITY]
        if begun < half:
            own.vectors[t, COM] = com
            own.vectors[t, COM_VELOCITY] = com_velocity
            own.base[t, 1] = given.wanted_rotations[t, WANTED_TORSO] @ legs.upright
            own.numbers[t, BEGUN] = one
        error = level(
            com
            + com_velocity / omega
            - com_plan
            - given.wanted[t, WANTED_COM_VELOCITY] / omega
        )
        zmp_here = level(zmp_plan + plan)
        zmp = zmp_here + (one + legs.dcm_gain) * error
        hoped = load_on_left(zmp, left, right, support)
        own.numbers[t, WANTED_LOAD] = hoped
        own.numbers[t, WANTED_LOAD + 1] = one - hoped
        # within the inner part of the soles, and nearer to their edges only if the DCM
        # is: on one corner a foot pivots
        count = put_corners(legs, given, own, t, legs.margin)
        if count > 2:
            inner = nearest_in_hull(zmp, own.corners[t], count)
            count = put_corners(legs, given, own, t, legs.edge)
            needed = zmp_here + (one + legs.keep) * error
            needed = nearest_in_hull(needed, own.corners[t], count)
            zmp = inner
            if wp.dot(needed - inner, error) > zero:
                zmp = needed
        lag = own.vectors[t, ZMP_LAG]
        load = given.told[t, TOLD_CONTACT][2]
        if load > half * legs.weight:
            lag = lag + dt * legs.zmp_rate * level(zmp - given.told[t, TOLD_ZMP])
            for i in range(2):
                lag[i] = wp.clamp(lag[i], -legs.zmp_most, legs.zmp_most)
            own.vectors[t, ZMP_LAG] = lag
        # ---- the CoM that joints are solved for
        acceleration = level(given.wanted[t, WANTED_COM_ACCELERATION]) + omega2 * (
            level(com - com_plan) - (zmp - zmp_here)
        )
        x = own.vectors[t, COM]
        xd = own.vectors[t, COM_VELOCITY]
        x = x + dt * xd + observer_damping * dt * legs.com_rate * (com - x)
        xd = xd + dt * acceleration + dt * legs.com_rate * level(com_velocity - xd)
        xd[2] = given.wanted[t, WANTED_COM_VELOCITY][2]
        x[2] = com_plan[2]
        own.vectors[t, COM] = x
        own.vectors[t, COM_VELOCITY] = xd
        for j in range(skeleton.joints):
            commanded.position[t, j] = given.position[t, j]
            commanded.velocity[t, j] = given.velocity[t, j]
            commanded.torque[t, j] = given.torque[t, j]
            if legs.unknown[j] == 0:
                own.joints[t, j] = given.position[t, j]
        solved = step_legs(skeleton, legs, given, own, t, x - offset, xd, commanded)
        add_torques(
            skeleton,
            legs,
            given,
            own,
            t,
            left,
            right,
            omega2,
            com_plan,
            zmp_here,
            com,
            zmp,
            zmp + lag,
            commanded,
        )
        # after a fall nothing is known any more: no more than the plan is told
        for j in range(skeleton.joints):
            fine = (
                wp.abs(commanded.position[t, j]) < absurd
                and wp.abs(commanded.velocity[t, j]) < absurd
                and wp.abs(commanded.torque[t, j]) < absurd
            )
            if not fine:
                commanded.position[t, j] = given.position[t, j]
                commanded.velocity[t, j] = zero
                commanded.torque[t, j] = given.torque[t, j]
                own.joints[t, j] = given.position[t, j]
        commanded.said[t, SAID_ZMP_PLAN] = zmp_here
        commanded.said[t, SAID_ZMP] = zmp
        commanded.said[t, SAID_DCM] = error
        commanded.said[t, SAID_SHIFT] = plan
        commanded.said[t, SAID_COM] = x
        commanded.said[t, SAID_COM_VELOCITY] = xd
        commanded.said[t, SAID_SOLVED] = solved

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def stabilise(
        skeleton: Skeleton,
        legs: Legs,
        given: Given,
        own: Memory,
        commanded: Commanded,
    ) -> None:
        stabilise_robot(skeleton, legs, wp.tid(), given, own, commanded)

    return SimpleNamespace(stabilise_robot=stabilise_robot, stabilise=stabilise)
