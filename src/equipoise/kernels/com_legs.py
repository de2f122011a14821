"""Legs that put soles and centre of mass where they should be, at many points.

Newton's method on the position of the base and the angles of both legs. With leg i's
joints written as dθ = Jᵀ y, where J moves the sole, what is left is 3 × 3 for the base:

    J Jᵀ y + B dp = e           the sole's error, B = (1; 0)
    dp + Σ C Jᵀ y = e_com       the error of the centre of mass

Where a leg cannot turn its foot about the sole's normal, J and e leave that turn out.

Lanes hold pieces of one path; along its piece each lane begins where it was at the
point before.
"""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, type-var, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.lanes import make_lane_matrices, make_lanes
from equipoise.kernels.once import once
from equipoise.kernels.runtime import MODULE_OPTIONS
from equipoise.kernels.sincos import make_sincos

# Slots of a joint: axis; origin from the base's; mass × place of its body; columns
# of the sole's linear and angular velocity, and of the CoM's; (angle, weight, -).
AXIS, ORIGIN, MOMENT, LINEAR, ANGULAR, COM, ANGLE = range(7)
SLOTS = 7

# Slots of a target: CoM; axes of the base; mass × place of all but the legs, from the
# base; axes and place of the left and the right sole.
TARGET_COM, BASE_X, BASE_Y, BASE_Z, REST, LEFT_X, RIGHT_X = 0, 1, 2, 3, 4, 5, 9
TARGETS = 13

# Numbers of a leg in working memory: J Jᵀ and its factor; C Jᵀ; A⁻¹ e; A⁻¹ B.
FACTOR, MIXED, ERROR, SHIFT = 0, 21, 39, 45
NUMBERS = 63

# Results of a point beside joints: base; (CoM error, sole error, steps).
BASE, QUALITY = range(2)

# Fraction of the trace of J Jᵀ that keeps it regular at straight knees.
REGULAR = 1e-12
# A step turns no joint by more than this [rad or m].
LONGEST = 0.3


@once
def make_com_legs(scalar: Any, width: int) -> SimpleNamespace:
    """Return the struct ``Legs`` and the kernel ``solve``."""
    lanes = make_lanes(scalar, width)
    Lanes, Lanes3 = lanes.Lanes, lanes.Lanes3
    scale, cross, combine = lanes.scale, lanes.cross, lanes.combine
    dot = make_lane_matrices(scalar, width).dot
    sincos = make_sincos(scalar, width).function
    vec3 = wp.types.vector(length=3, dtype=scalar)
    mat33 = wp.types.matrix(shape=(3, 3), dtype=scalar)
    Lanes6 = wp.types.matrix(shape=(6, width), dtype=scalar)
    zero = scalar(0.0)
    one = scalar(1.0)
    half = scalar(0.5)
    regular = scalar(REGULAR)
    longest = scalar(LONGEST)
    tiny = scalar(1e-30)

    @wp.struct
    class Legs:
        joints: int
        # of each joint of the left, then of the right leg
        rotation: wp.array[mat33]
        translation: wp.array[vec3]
        # (turn, slide, mass), mass × centre of mass, (lower, upper, -)
        constants: wp.array[vec3]
        moment: wp.array[vec3]
        limits: wp.array[vec3]
        sole_rotation: wp.array[mat33]
        sole_translation: wp.array[vec3]
        # of each leg: 1 if the turn of the sole about its normal is free
        yaw_free: wp.array[scalar]
        per_mass: scalar

    @wp.func
    def stacked(linear: Lanes3, angular: Lanes3) -> Lanes6:
        both = Lanes6()
        for i in range(3):
            both[i] = linear[i]
            both[3 + i] = angular[i]
        return both

    @wp.func
    def column(r: mat33, c: int) -> vec3:
        return vec3(r[0, c], r[1, c], r[2, c])

    @wp.func
    def root(a: Lanes) -> Lanes:
        result = Lanes()
        for i in range(width):
            result[i] = wp.sqrt(wp.max(a[i], tiny))
        return result

    @wp.func
    def factorise(numbers: wp.array2d[Lanes], first: int, t: int) -> None:
        """Turn a symmetric 6 × 6 matrix into its Cholesky factor, pivots inverted."""
        for j in range(6):
            pivot = numbers[first + j * (j + 1) // 2 + j, t]
            for k in range(j):
                entry = numbers[first + j * (j + 1) // 2 + k, t]
                pivot = pivot - wp.cw_mul(entry, entry)
            per = wp.cw_div(Lanes(one), root(pivot))
            numbers[first + j * (j + 1) // 2 + j, t] = per
            for i in range(j + 1, 6):
                value = numbers[first + i * (i + 1) // 2 + j, t]
                for k in range(j):
                    value = value - wp.cw_mul(
                        numbers[first + i * (i + 1) // 2 + k, t],
                        numbers[first + j * (j + 1) // 2 + k, t],
                    )
                numbers[first + i * (i + 1) // 2 + j, t] = wp.cw_mul(value, per)

    @wp.func
    def substitute(
        numbers: wp.array2d[Lanes], first: int, at: int, stride: int, t: int
    ) -> None:
        """Solve for a column of six numbers in place."""
        for i in range(6):
            value = numbers[at + i * stride, t]
            for k in range(i):
                value = value - wp.cw_mul(
                    numbers[first + i * (i + 1) // 2 + k, t],
                    numbers[at + k * stride, t],
                )
            numbers[at + i * stride, t] = wp.cw_mul(
                value, numbers[first + i * (i + 1) // 2 + i, t]
            )
        for back in range(6):
            i = 5 - back
            value = numbers[at + i * stride, t]
            for k in range(i + 1, 6):
                value = value - wp.cw_mul(
                    numbers[first + k * (k + 1) // 2 + i, t],
                    numbers[at + k * stride, t],
                )
            numbers[at + i * stride, t] = wp.cw_mul(
                value, numbers[first + i * (i + 1) // 2 + i, t]
            )

    @wp.func
    def stretch(
        legs: Legs,
        leg: int,
        targets: wp.array2d[Lanes3],
        point: int,
        base: Lanes3,
        scratch: wp.array3d[Lanes3],
        numbers: wp.array2d[Lanes],
        t: int,
    ) -> Lanes3:
        """Place a leg, set up its equations; return its mass × place from the base."""
        x = targets[point, BASE_X]
        y = targets[point, BASE_Y]
        z = targets[point, BASE_Z]
        origin = Lanes3()
        start = leg * legs.joints
        for k in range(legs.joints):
            j = start + k
            constants = legs.constants[j]
            r = legs.rotation[j]
            along = combine(x, y, z, column(r, 0))
            across = combine(x, y, z, column(r, 1))
            axis = combine(x, y, z, column(r, 2))
            angle = scratch[j, ANGLE, t][0]
            origin = origin + combine(x, y, z, legs.translation[j])
            origin = origin + scale(constants[1] * angle, axis)
            turned = sincos(constants[0] * angle)
            x = scale(turned.cos, along) + scale(turned.sin, across)
            y = scale(turned.cos, across) - scale(turned.sin, along)
            z = axis
            scratch[j, AXIS, t] = axis
            scratch[j, ORIGIN, t] = origin
            scratch[j, MOMENT, t] = constants[2] * origin + combine(
                x, y, z, legs.moment[j]
            )
        sole = legs.sole_rotation[leg]
        place = origin + combine(x, y, z, legs.sole_translation[leg])
        wanted = LEFT_X + 4 * leg
        turn = half * (
            cross(combine(x, y, z, column(sole, 0)), targets[point, wanted])
            + cross(combine(x, y, z, column(sole, 1)), targets[point, wanted + 1])
            + cross(combine(x, y, z, column(sole, 2)), targets[point, wanted + 2])
        )
        normal = targets[point, wanted + 2]
        free = legs.yaw_free[leg]
        turn = turn - free * scale(dot(normal, turn), normal)
        shift = targets[point, wanted + 3] - base - place
        at = leg * NUMBERS
        for i in range(NUMBERS):
            numbers[at + i, t] = Lanes()
        for i in range(3):
            numbers[at + ERROR + i, t] = shift[i]
            numbers[at + ERROR + 3 + i, t] = turn[i]
            numbers[at + SHIFT + 4 * i, t] = Lanes(one)
            # a turn that is free has no equation but y = 0
            for c in range(i + 1):
                slot = at + FACTOR + (3 + i) * (4 + i) // 2 + 3 + c
                numbers[slot, t] = free * wp.cw_mul(normal[i], normal[c])
        mass = zero
        moment = Lanes3()
        for back in range(legs.joints):
            j = start + legs.joints - 1 - back
            constants = legs.constants[j]
            mass = mass + constants[2]
            moment = moment + scratch[j, MOMENT, t]
            axis = scratch[j, AXIS, t]
            o = scratch[j, ORIGIN, t]
            linear = constants[0] * cross(axis, place - o) + constants[1] * axis
            angular = constants[0] * axis
            angular = angular - free * scale(dot(normal, angular), normal)
            com = constants[0] * cross(axis, moment - mass * o)
            com = legs.per_mass * (com + (constants[1] * mass) * axis)
            scratch[j, LINEAR, t] = linear
            scratch[j, ANGULAR, t] = angular
            scratch[j, COM, t] = com
            weight = scratch[j, ANGLE, t][1]
            both = stacked(linear, angular)
            for row in range(6):
                value = wp.cw_mul(weight, both[row])
                for c in range(row + 1):
                    slot = at + FACTOR + row * (row + 1) // 2 + c
                    numbers[slot, t] = numbers[slot, t] + wp.cw_mul(value, both[c])
                for c in range(3):
                    slot = at + MIXED + c * 6 + row
                    numbers[slot, t] = numbers[slot, t] + wp.cw_mul(value, com[c])
        return moment

    @wp.func
    def eliminate(leg: int, numbers: wp.array2d[Lanes], t: int) -> None:
        """Solve a leg's equations for its error and for a shift of the base."""
        at = leg * NUMBERS
        trace = Lanes()
        for i in range(6):
            trace = trace + numbers[at + FACTOR + i * (i + 1) // 2 + i, t]
        for i in range(6):
            slot = at + FACTOR + i * (i + 1) // 2 + i
            numbers[slot, t] = numbers[slot, t] + regular * trace
        factorise(numbers, at + FACTOR, t)
        substitute(numbers, at + FACTOR, at + ERROR, 1, t)
        for c in range(3):
            substitute(numbers, at + FACTOR, at + SHIFT + c, 3, t)

    @wp.func
    def mixed_times(
        leg: int, row: int, at: int, stride: int, numbers: wp.array2d[Lanes], t: int
    ) -> Lanes:
        total = Lanes()
        for k in range(6):
            total = total + wp.cw_mul(
                numbers[leg * NUMBERS + MIXED + row * 6 + k, t],
                numbers[at + k * stride, t],
            )
        return total

    @wp.func
    def base_shift(left_over: Lanes3, numbers: wp.array2d[Lanes], t: int) -> Lanes3:
        """Return how far the base must go."""
        r0 = Lanes3()
        r1 = Lanes3()
        r2 = Lanes3()
        wanted = left_over
        for leg in range(2):
            error = leg * NUMBERS + ERROR
            for row in range(3):
                wanted[row] = wanted[row] - mixed_times(leg, row, error, 1, numbers, t)
            for c in range(3):
                shift = leg * NUMBERS + SHIFT + c
                r0[c] = r0[c] - mixed_times(leg, 0, shift, 3, numbers, t)
                r1[c] = r1[c] - mixed_times(leg, 1, shift, 3, numbers, t)
                r2[c] = r2[c] - mixed_times(leg, 2, shift, 3, numbers, t)
        r0[0] = r0[0] + Lanes(one)
        r1[1] = r1[1] + Lanes(one)
        r2[2] = r2[2] + Lanes(one)
        c0 = cross(r1, r2)
        c1 = cross(r2, r0)
        c2 = cross(r0, r1)
        determinant = dot(r0, c0)
        for i in range(width):
            if wp.abs(determinant[i]) < tiny:
                determinant[i] = one
        per = wp.cw_div(Lanes(one), determinant)
        result = scale(wanted[0], c0) + scale(wanted[1], c1) + scale(wanted[2], c2)
        return scale(per, result)

    @wp.func
    def joint_step(
        leg: int,
        linear: Lanes3,
        angular: Lanes3,
        shift: Lanes3,
        numbers: wp.array2d[Lanes],
        t: int,
    ) -> Lanes:
        """Return how far a joint must go."""
        both = stacked(linear, angular)
        total = Lanes()
        for i in range(6):
            y = numbers[leg * NUMBERS + ERROR + i, t]
            for c in range(3):
                y = y - wp.cw_mul(
                    numbers[leg * NUMBERS + SHIFT + 3 * i + c, t], shift[c]
                )
            total = total + wp.cw_mul(both[i], y)
        return total

    @wp.func
    def largest(a: Lanes3) -> Lanes:
        result = Lanes()
        for i in range(width):
            result[i] = wp.max(
                wp.abs(a[0, i]), wp.max(wp.abs(a[1, i]), wp.abs(a[2, i]))
            )
        return result

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def solve(
        legs: Legs,
        tolerance: scalar,
        most: int,
        targets: wp.array3d[Lanes3],
        base_start: wp.array[Lanes3],
        angle_start: wp.array2d[Lanes],
        scratch: wp.array3d[Lanes3],
        numbers: wp.array2d[Lanes],
        joints: wp.array3d[Lanes],
        results: wp.array3d[Lanes3],
    ) -> None:
        t = wp.tid()
        count = 2 * legs.joints
        base = base_start[t]
        for j in range(count):
            scratch[j, ANGLE, t] = wp.matrix_from_rows(
                angle_start[t, j], Lanes(one), Lanes()
            )
        for point in range(targets.shape[1]):
            here = targets[t]
            for j in range(count):
                scratch[j, ANGLE, t] = wp.matrix_from_rows(
                    scratch[j, ANGLE, t][0], Lanes(one), Lanes()
                )
            steps = Lanes()
            com_error = Lanes()
            sole_error = Lanes()
            for _step in range(most + 1):
                moment = here[point, REST]
                sole_error = Lanes()
                for leg in range(2):
                    moment = moment + stretch(
                        legs, leg, here, point, base, scratch, numbers, t
                    )
                    at = leg * NUMBERS + ERROR
                    linear = wp.matrix_from_rows(
                        numbers[at, t], numbers[at + 1, t], numbers[at + 2, t]
                    )
                    angular = wp.matrix_from_rows(
                        numbers[at + 3, t], numbers[at + 4, t], numbers[at + 5, t]
                    )
                    sole_error = wp.max(sole_error, largest(linear))
                    sole_error = wp.max(sole_error, largest(angular))
                error = here[point, TARGET_COM] - base - legs.per_mass * moment
                com_error = largest(error)
                worst = zero
                for i in range(width):
                    off = wp.max(com_error[i], sole_error[i])
                    worst = wp.max(worst, off)
                    if off > tolerance:
                        steps[i] = steps[i] + one
                if worst <= tolerance or _step == most:
                    break
                for leg in range(2):
                    eliminate(leg, numbers, t)
                shift = base_shift(error, numbers, t)
                furthest = largest(shift)
                for j in range(count):
                    step = joint_step(
                        j / legs.joints,
                        scratch[j, LINEAR, t],
                        scratch[j, ANGULAR, t],
                        shift,
                        numbers,
                        t,
                    )
                    known = scratch[j, ANGLE, t]
                    step = wp.cw_mul(step, known[1])
                    furthest = wp.max(furthest, wp.abs(step))
                    scratch[j, ANGLE, t] = wp.matrix_from_rows(known[0], known[1], step)
                fraction = Lanes()
                for i in range(width):
                    fraction[i] = wp.min(one, longest / wp.max(furthest[i], tiny))
                base = base + scale(fraction, shift)
                for j in range(count):
                    known = scratch[j, ANGLE, t]
                    angle = known[0] + wp.cw_mul(fraction, known[2])
                    weight = known[1]
                    limits = legs.limits[j]
                    for i in range(width):
                        inside = wp.min(wp.max(angle[i], limits[0]), limits[1])
                        # a joint that comes to its limit stays there for a step
                        weight[i] = wp.where(inside == angle[i], one, zero)
                        angle[i] = inside
                    scratch[j, ANGLE, t] = wp.matrix_from_rows(angle, weight, Lanes())
            for j in range(count):
                joints[t, point, j] = scratch[j, ANGLE, t][0]
            results[t, point, BASE] = base
            results[t, point, QUALITY] = wp.matrix_from_rows(
                com_error, sole_error, steps
            )

    return SimpleNamespace(Legs=Legs, solve=solve, vec3=vec3, mat33=mat33)
