"""One tick of the stabiliser: what is wanted and what is known in, a command out.

1. Soles: one that carries is where it is measured; one that should and does not is
   lowered; one that swings goes back to its plan as it comes down.
2. DCM feedback gives the ZMP that brings the DCM back to its plan, within the soles.
3. The CoM that joints are solved for goes along with the one measured, so that servos
   do not fight what the ZMP does.
4. Joints of the legs: one Newton step for CoM, soles and torso, all other motion
   embedded, and the joint velocities of the same tasks.
5. Torques: those of the plan, and what the change of the ground's forces takes.
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
    TOLD_FORCE,
    TOLD_OFFSET,
    TOLD_PRESSURE,
    TOLD_SOLE,
    TOLD_SOLES,
    TOLD_ZMP,
)
from equipoise.kernels.once import once
from equipoise.kernels.runtime import MODULE_OPTIONS
from equipoise.kernels.skeleton import make_skeleton

# Vectors of what is wanted: CoM, its velocity and acceleration, ZMP; for each foot where
# its sole is, its velocity and its angular velocity.
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
# Velocity and angular velocity wanted of each sole.
MOVING, TURNING, BEHIND, PRESS, VECTORS = 9, 11, 13, 15, 16
# Numbers of its memory: speed at which each foot is lowered; how sure it is that it
# stands on the ground; whether it has come there since it last swung; whether it began.
# Fraction of the load that each foot should carry.
LOWERING, SURE, LANDED, WANTED_LOAD, BEGUN, NUMBERS = 0, 2, 4, 6, 8, 9
# What it says of itself: ZMP as planned and as wanted now, DCM error, shift of the plan,
# CoM that joints were solved for, and (CoM error, sole error, damping) of that solution.
SAID_ZMP_PLAN, SAID_ZMP, SAID_DCM, SAID_SHIFT, SAID_COM, SAID_SOLVED, SAID = range(7)
MOST_UNKNOWNS = 18
MOST_ROWS = 18


@once
def make_stabilising(scalar: Any) -> SimpleNamespace:
    """Return the structs ``Legs``, ``Stabiliser`` and the kernel ``stabilise``."""
    types = make_skeleton(scalar)
    Skeleton, vec3, mat33 = types.Skeleton, types.vec3, types.mat33
    rotation_of, vector_of, place = types.rotation_of, types.vector_of, types.place
    zero, half, one = scalar(0.0), scalar(0.5), scalar(1.0)
    far = scalar(1e30)
    tiny = scalar(1e-12)
    largest_tilt = scalar(0.3)
    largest_step = scalar(0.05)
    observer_damping = scalar(1.4)

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
        follow_velocity: scalar
        follow_height: scalar
        tilt_rate: scalar
        yaw_rate: scalar
        press_error: scalar
        much: scalar
        half_size: wp.array[vec3]
        plan_rate: scalar
        relax_rate: scalar
        lowering_speed: scalar
        lowering_gain: scalar
        lowest: scalar
        touch: scalar
        sure_rate: scalar
        margin: scalar
        damping: scalar
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

    @wp.struct
    class Stabiliser:
        vectors: wp.array2d[vec3]
        base: wp.array2d[mat33]
        numbers: wp.array2d[scalar]
        joints: wp.array2d[scalar]
        body_rotations: wp.array2d[mat33]
        body_origins: wp.array2d[vec3]
        moments: wp.array2d[vec3]
        rows: wp.array3d[scalar]
        normal: wp.array3d[scalar]
        corners: wp.array2d[vec3]

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

    @wp.func
    def wrench_force(
        fraction: scalar, mass: scalar, omega2: scalar, lift: scalar, com: vec3, p: vec3
    ) -> vec3:
        pull = mass * omega2 * level(com - p)
        return fraction * vec3(pull[0], pull[1], lift)

    @wp.func
    def nearest_in_hull(point: vec3, corners: wp.array[vec3], count: int) -> vec3:
        """The point of the convex hull of some corners that is nearest to a point."""
        first = int(0)
        for i in range(count):
            lower = corners[i][1] < corners[first][1]
            level_with = corners[i][1] == corners[first][1]
            if lower or (level_with and corners[i][0] < corners[first][0]):
                first = i
        best = point
        nearest = far
        outside = int(0)
        at = first
        for _edge in range(count):
            # the next corner counter-clockwise: none lies to the right of it
            next_one = at
            for i in range(count):
                if i != at:
                    if next_one == at:
                        next_one = i
                    else:
                        a = corners[next_one] - corners[at]
                        b = corners[i] - corners[at]
                        side = a[0] * b[1] - a[1] * b[0]
                        if side < zero or (
                            side == zero and wp.dot(b, b) > wp.dot(a, a)
                        ):
                            next_one = i
            along = corners[next_one] - corners[at]
            off = point - corners[at]
            if along[0] * off[1] - along[1] * off[0] < zero:
                outside = 1
            fraction = wp.clamp(
                wp.dot(off, along) / wp.max(wp.dot(along, along), tiny), zero, one
            )
            candidate = corners[at] + fraction * along
            away = wp.length(point - candidate)
            if away < nearest:
                nearest = away
                best = candidate
            at = next_one
            if at == first:
                break
        result = point
        if outside == 1:
            result = best
        return result

    @wp.func
    def put(rows: wp.array2d[scalar], row: int, column: int, value: vec3) -> None:
        for i in range(3):
            rows[row + i, column] = value[i]

    @wp.func
    def solve(
        rows: wp.array2d[scalar],
        normal: wp.array2d[scalar],
        equations: int,
        unknowns: int,
        damping: scalar,
    ) -> scalar:
        """Damped least squares with two right-hand sides, into the last columns."""
        trace = zero
        for i in range(unknowns):
            for c in range(i + 1):
                total = zero
                for row in range(equations):
                    total = total + rows[row, i] * rows[row, c]
                normal[i, c] = total
            trace = trace + normal[i, i]
            for side in range(2):
                total = zero
                for row in range(equations):
                    total = total + rows[row, i] * rows[row, unknowns + side]
                normal[i, unknowns + side] = total
        added = damping * trace
        for i in range(unknowns):
            normal[i, i] = normal[i, i] + added
        for i in range(unknowns):
            for c in range(i + 1):
                total = normal[i, c]
                for k in range(c):
                    total = total - normal[i, k] * normal[c, k]
                if i == c:
                    normal[i, i] = wp.sqrt(wp.max(total, tiny * trace))
                else:
                    normal[i, c] = total / normal[c, c]
        for side in range(2):
            column = unknowns + side
            for i in range(unknowns):
                total = normal[i, column]
                for k in range(i):
                    total = total - normal[i, k] * normal[k, column]
                normal[i, column] = total / normal[i, i]
            for back in range(unknowns):
                i = unknowns - 1 - back
                total = normal[i, column]
                for k in range(i + 1, unknowns):
                    total = total - normal[k, i] * normal[k, column]
                normal[i, column] = total / normal[i, i]
        return added

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def stabilise(
        skeleton: Skeleton,
        legs: Legs,
        told: wp.array2d[vec3],
        told_rotations: wp.array2d[mat33],
        wanted: wp.array2d[vec3],
        wanted_rotations: wp.array2d[mat33],
        supports: wp.array[int],
        wanted_position: wp.array2d[scalar],
        wanted_velocity: wp.array2d[scalar],
        wanted_torque: wp.array2d[scalar],
        own: Stabiliser,
        position: wp.array2d[scalar],
        velocity: wp.array2d[scalar],
        torque: wp.array2d[scalar],
        said: wp.array2d[vec3],
    ) -> None:
        t = wp.tid()
        dt = legs.period
        support = supports[t]
        touching = told[t, TOLD_CONTACT]
        begun = own.numbers[t, BEGUN]
        # ---- soles
        for foot in range(2):
            stance = support == 0 or support == foot + 1
            plan_velocity = wanted[t, WANTED_VELOCITY + foot]
            load = told[t, TOLD_FORCE + foot][2] / legs.weight
            pressed = wp.clamp(load / legs.touch, zero, one)
            sure = own.numbers[t, SURE + foot]
            landed = own.numbers[t, LANDED + foot]
            if begun < half:
                pressed = one
                sure = one
                landed = one
            sure = sure + wp.min(dt * legs.sure_rate, one) * (pressed - sure)
            if not stance and plan_velocity[2] > zero:
                landed = zero
            descends = plan_velocity[2] <= zero and wp.length(plan_velocity) > tiny
            if load > legs.touch and (stance or descends):
                landed = one
            shift = own.vectors[t, SHIFTS + foot]
            tilt = own.vectors[t, TILTS + foot]
            turned = told_rotations[t, TOLD_SOLES + foot]
            moving = plan_velocity
            turning = wanted[t, WANTED_OMEGA + foot]
            speed = zero
            if landed > half:
                # it is where it is measured, as far as it is pressed
                shift = shift - dt * plan_velocity
                off = told[t, TOLD_SOLE + foot] - wanted[t, WANTED_SOLE + foot] - shift
                lean = vector_of(
                    turned @ wp.transpose(wanted_rotations[t, WANTED_SOLES + foot])
                )
                gain = sure * wp.min(dt * legs.follow_rate, one)
                # one that hardly touches may lag behind: that is no slip
                stuck = wp.clamp(sure + sure - one, zero, one)
                slip = stuck * wp.min(dt * legs.follow_rate, one)
                shift = shift + vec3(slip * off[0], slip * off[1], gain * off[2])
                # it may turn the way its centre of pressure is wanted, and only so
                middle = told[t, TOLD_SOLE + foot] + turned @ legs.middle[foot]
                error = middle + own.vectors[t, PRESS] - told[t, TOLD_PRESSURE + foot]
                half_size = legs.half_size[foot]
                drive = vec3(-error[1] / half_size[1], error[0] / half_size[0], zero)
                behind = own.vectors[t, BEHIND + foot]
                turning = vec3(zero, zero, zero)
                carries_much = sure * wp.clamp(load / legs.much, zero, one)
                for i in range(2):
                    yields = carries_much * wp.clamp(
                        wp.abs(drive[i]) / legs.press_error - one, zero, one
                    )
                    if drive[i] * (lean[i] - tilt[i]) > zero:
                        tilt[i] = tilt[i] + yields * wp.min(
                            dt * legs.tilt_rate, one
                        ) * (lean[i] - tilt[i])
                    rate = legs.follow_rate * (lean[i] - behind[i])
                    if drive[i] * rate > zero:
                        turning[i] = yields * legs.follow_velocity * rate
                tilt[2] = tilt[2] + stuck * wp.min(dt * legs.yaw_rate, one) * (
                    lean[2] - tilt[2]
                )
                angle = wp.length(tilt)
                if angle > largest_tilt:
                    tilt = (largest_tilt / angle) * tilt
                moving = vec3(
                    zero, zero, sure * legs.follow_height * legs.follow_rate * off[2]
                )
                own.vectors[t, BEHIND + foot] = behind + wp.min(
                    dt * legs.follow_rate, one
                ) * (lean - behind)
            else:
                own.vectors[t, BEHIND + foot] = tilt
            if stance:
                # a foot that should carry and finds no ground is lowered
                other = own.numbers[t, SURE + 1 - foot] > half
                wanted_load = own.numbers[t, WANTED_LOAD + foot] > legs.touch
                needed = landed < half or wanted_load
                if other and needed and shift[2] > -legs.lowest:
                    speed = wp.min(
                        own.numbers[t, LOWERING + foot]
                        + dt * legs.lowering_gain * legs.lowering_speed,
                        legs.lowering_speed * (one - sure),
                    )
                shift[2] = shift[2] - dt * speed
                if landed < half:
                    moving = vec3(zero, zero, zero)
                    turning = vec3(zero, zero, zero)
                moving[2] = moving[2] - speed
            elif landed < half and plan_velocity[2] <= zero:
                # as far off its plan as the foot that carries, and flat
                gain = wp.min(dt * legs.relax_rate, one)
                aside = shift - own.vectors[t, SHIFTS + 1 - foot]
                lean = tilt
                lean[2] = lean[2] - own.vectors[t, TILTS + 1 - foot][2]
                moving = moving - legs.relax_rate * aside
                turning = turning - legs.relax_rate * lean
                shift = shift - gain * aside
                tilt = tilt - gain * lean
            own.numbers[t, LOWERING + foot] = speed
            own.numbers[t, SURE + foot] = sure
            own.numbers[t, LANDED + foot] = landed
            own.vectors[t, SHIFTS + foot] = shift
            own.vectors[t, TILTS + foot] = tilt
            own.vectors[t, MOVING + foot] = moving
            own.vectors[t, TURNING + foot] = turning
        left_plan = (
            wanted[t, WANTED_SOLE] + wanted_rotations[t, WANTED_SOLES] @ legs.middle[0]
        )
        right_plan = (
            wanted[t, WANTED_SOLE + 1]
            + wanted_rotations[t, WANTED_SOLES + 1] @ legs.middle[1]
        )
        left = left_plan + own.vectors[t, SHIFTS]
        right = right_plan + own.vectors[t, SHIFTS + 1]
        # ---- the plan, shifted with the feet that carry
        zmp_plan = wanted[t, WANTED_ZMP]
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
        com_plan = wanted[t, WANTED_COM] + plan
        height = wanted[t, WANTED_COM][2] - zmp_plan[2]
        omega2 = legs.gravity / wp.max(height, tiny)
        omega = wp.sqrt(omega2)
        # ---- DCM feedback
        com = told[t, TOLD_COM]
        offset = level(told[t, TOLD_OFFSET])
        com = com + offset
        com_velocity = told[t, TOLD_COM_VELOCITY]
        if begun < half:
            own.vectors[t, COM] = com
            own.vectors[t, COM_VELOCITY] = com_velocity
            own.numbers[t, BEGUN] = one
        error = level(
            com
            + com_velocity / omega
            - com_plan
            - wanted[t, WANTED_COM_VELOCITY] / omega
        )
        zmp_here = level(zmp_plan + plan)
        zmp = zmp_here + (one + legs.dcm_gain) * error
        hoped = load_on_left(zmp, left, right, support)
        own.numbers[t, WANTED_LOAD] = hoped
        own.numbers[t, WANTED_LOAD + 1] = one - hoped
        count = int(0)
        for foot in range(2):
            stance = support == 0 or support == foot + 1
            carries = own.numbers[t, SURE + foot] > half
            if stance and (carries or support == foot + 1):
                turned = wanted_rotations[t, WANTED_SOLES + foot]
                centre = wanted[t, WANTED_SOLE + foot] + own.vectors[t, SHIFTS + foot]
                for k in range(legs.corner_counts[foot]):
                    corner = legs.middle[foot] + legs.margin * (
                        legs.corners[foot, k] - legs.middle[foot]
                    )
                    own.corners[t, count] = level(centre + turned @ corner)
                    count = count + 1
        if count > 2:
            zmp = nearest_in_hull(zmp, own.corners[t], count)
        lag = own.vectors[t, ZMP_LAG]
        load = touching[2]
        if load > half * legs.weight:
            lag = lag + dt * legs.zmp_rate * level(zmp - told[t, TOLD_ZMP])
            for i in range(2):
                lag[i] = wp.clamp(lag[i], -legs.zmp_most, legs.zmp_most)
            own.vectors[t, ZMP_LAG] = lag
        # ---- the CoM that joints are solved for
        acceleration = level(wanted[t, WANTED_COM_ACCELERATION]) + omega2 * (
            level(com - com_plan) - (zmp - zmp_here)
        )
        x = own.vectors[t, COM]
        xd = own.vectors[t, COM_VELOCITY]
        x = x + dt * xd + observer_damping * dt * legs.com_rate * (com - x)
        xd = xd + dt * acceleration + dt * legs.com_rate * level(com_velocity - xd)
        xd[2] = wanted[t, WANTED_COM_VELOCITY][2]
        x[2] = com_plan[2]
        own.vectors[t, COM] = x
        own.vectors[t, COM_VELOCITY] = xd
        com_aim = x - offset
        # ---- joints
        for j in range(skeleton.joints):
            position[t, j] = wanted_position[t, j]
            velocity[t, j] = wanted_velocity[t, j]
            torque[t, j] = wanted_torque[t, j]
            if legs.unknown[j] == 0:
                own.joints[t, j] = wanted_position[t, j]
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
            if degree >= 0:
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
                        + (wanted_velocity[t, degree] / skeleton.total_mass) * moves
                    )
        centre = own.moments[t, 1] / skeleton.total_mass
        rows = own.rows[t]
        normal = own.normal[t]
        unknowns = 6 + legs.joint_counts[0] + legs.joint_counts[1]
        for i in range(MOST_ROWS):
            for k in range(unknowns + 2):
                rows[i, k] = zero
        arm = centre - base_position
        for i in range(3):
            rows[i, i] = one
        # a turn w of the base moves the CoM by w × arm
        rows[0, 4] = arm[2]
        rows[0, 5] = -arm[1]
        rows[1, 3] = -arm[2]
        rows[1, 5] = arm[0]
        rows[2, 3] = arm[1]
        rows[2, 4] = -arm[0]
        put(rows, 0, unknowns, com_aim - centre)
        put(rows, 0, unknowns + 1, xd - embedded)
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
                @ wanted_rotations[t, WANTED_SOLES + foot]
            )
            aim_position = wanted[t, WANTED_SOLE + foot] + own.vectors[t, SHIFTS + foot]
            arm = sole - base_position
            for i in range(3):
                rows[row + i, i] = one
            rows[row, 4] = arm[2]
            rows[row, 5] = -arm[1]
            rows[row + 1, 3] = -arm[2]
            rows[row + 1, 5] = arm[0]
            rows[row + 2, 3] = arm[1]
            rows[row + 2, 4] = -arm[0]
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
        aim_torso = wanted_rotations[t, WANTED_TORSO] @ legs.upright
        leaning = vector_of(aim_torso @ wp.transpose(base_rotation))
        for i in range(3):
            rows[row + i, 3 + i] = one
        put(rows, row, unknowns, leaning)
        row = row + 3
        added = solve(rows, normal, row, unknowns, legs.damping)
        largest = largest_step
        for i in range(unknowns):
            largest = wp.max(largest, wp.abs(normal[i, unknowns]))
        scale = largest_step / largest
        own.vectors[t, BASE_POSITION] = base_position + scale * vec3(
            normal[0, unknowns], normal[1, unknowns], normal[2, unknowns]
        )
        own.base[t, 0] = (
            rotation_of(
                scale
                * vec3(normal[3, unknowns], normal[4, unknowns], normal[5, unknowns])
            )
            @ base_rotation
        )
        # ---- torques: the change of the ground's wrenches, through the legs
        lift = legs.mass * (legs.gravity + wanted[t, WANTED_COM_ACCELERATION][2])
        pushed = zmp + lag
        share = load_on_left(pushed, left, right, support)
        if support == 0:
            # no more than a foot is sure to carry
            most = own.numbers[t, SURE]
            least = one - own.numbers[t, SURE + 1]
            if least < most:
                share = wp.clamp(share, least, most)
        share_plan = load_on_left(zmp_here, left, right, support)
        own.vectors[t, PRESS] = level(zmp - share * left - (one - share) * right)
        ground = share * left[2] + (one - share) * right[2]
        ground_plan = share_plan * left[2] + (one - share_plan) * right[2]
        force = wrench_force(one, legs.mass, omega2, lift, com, pushed)
        force_plan = wrench_force(one, legs.mass, omega2, lift, com_plan, zmp_here)
        point = vec3(pushed[0], pushed[1], ground)
        point_plan = vec3(zmp_here[0], zmp_here[1], ground_plan)
        rest = wp.cross(point - share * left - (one - share) * right, force)
        rest_plan = wp.cross(
            point_plan - share_plan * left - (one - share_plan) * right, force_plan
        )
        column = int(6)
        for foot in range(2):
            own_share = share
            plan_share = share_plan
            at_sole = left
            if foot == 1:
                own_share = one - share
                plan_share = one - share_plan
                at_sole = right
            change = own_share * force - plan_share * force_plan
            # moment about the point where this sole is pressed
            moment = own_share * rest - plan_share * rest_plan
            for k in range(legs.joint_counts[foot]):
                joint = legs.joints[foot, k]
                degree = skeleton.degree[joint]
                axis = own.body_rotations[t, joint] @ skeleton.axis[joint]
                effect = wp.dot(axis, change)
                if skeleton.slides[joint] == 0:
                    arm = at_sole - own.body_origins[t, joint]
                    effect = wp.dot(axis, wp.cross(arm, change) + moment)
                torque[t, degree] = torque[t, degree] - effect
                angle = own.joints[t, degree] + scale * normal[column, unknowns]
                angle = wp.clamp(angle, legs.lower[degree], legs.upper[degree])
                own.joints[t, degree] = angle
                position[t, degree] = angle
                velocity[t, degree] = normal[column, unknowns + 1]
                column = column + 1
        said[t, SAID_ZMP_PLAN] = zmp_here
        said[t, SAID_ZMP] = zmp
        said[t, SAID_DCM] = error
        said[t, SAID_SHIFT] = plan
        said[t, SAID_COM] = x
        said[t, SAID_SOLVED] = vec3(wp.length(com_aim - centre), sole_error, added)

    return SimpleNamespace(Legs=Legs, Stabiliser=Stabiliser, stabilise=stabilise)
