"""How well many robots keep to their plans: CoM, footfalls, ZMP, speeds.

All of it is by the true state and, but for speeds, seen from the stance foot: a point
of the plan is moved and turned with the soles that were meant to carry. A step is made
if its foot leaves the ground and comes down again before the next step.
"""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.monitor import DIVERGED, LEAST_FORCE, WHY
from equipoise.kernels.once import once
from equipoise.kernels.runtime import MODULE_OPTIONS
from equipoise.kernels.sensing import BASE_DOF, make_sensing
from equipoise.kernels.skeleton import make_skeleton
from equipoise.kernels.stabiliser.hull import make_nearest_in_hull

# Numbers of a plan when a walk is assessed: headings of the soles [rad], and the
# fraction of the load that the left foot should carry.
LEFT_YAW, RIGHT_YAW, LEFT_LOAD, PLANNED = range(4)
# What belongs to a step at that time, of the step that may end then and of the one that
# may begin: its foot (-1: no step), whether a foot that is off the ground now left it
# late enough, whether one that is on it now has come down.
FOOT, LATE, DOWN, MARKS = range(4)
# After both the feet in support and the number of the step that ends then (-1: none).
SUPPORT, ENDS, ALL_MARKS = 2 * MARKS, 2 * MARKS + 1, 2 * MARKS + 2
# What is found of a robot: sum, largest and last distance of its CoM from its plan [m],
# how often it was taken; x, y and heading of its base; steps that were made, the
# largest error of their places [m] and turns [rad]; how often there was a ZMP, and how
# often within the soles; the largest speed of a joint over its limit.
ERROR_SUM, ERROR_MAX, ERROR_LAST, ERRORS, BASE_X, BASE_Y, BASE_YAW = range(7)
MADE, PLACED, TURNED, ZMPS, INSIDE, SPEED, FOUND = range(7, 14)
# Whether the foot that steps was off the ground late enough, and has come down since.
LEFT_GROUND, CAME_DOWN, FLAGS = range(3)


@once
def make_assessment(scalar: Any) -> SimpleNamespace:
    """Return the structs ``Course`` and ``Findings``, and the kernel ``assess``.

    ``assess(skeleton, sensors, course, truth, clock, status, moving, findings)`` looks
    at all robots, one a thread, after steps of which contact points and CoM were
    written.
    """
    types, sensing_types = make_skeleton(scalar), make_sensing(scalar)
    Skeleton, vec3, mat33 = types.Skeleton, types.vec3, types.mat33
    Sensors, Truth, Moving = (
        sensing_types.Sensors,
        sensing_types.Truth,
        sensing_types.Moving,
    )
    place_legs = sensing_types.place_legs
    nearest_in_hull = make_nearest_in_hull(scalar)
    zero, one, two = scalar(0.0), scalar(1.0), scalar(2.0)
    least_force, pi = scalar(LEAST_FORCE), scalar(wp.PI)

    @wp.struct
    class Course:
        # time steps between times at which walks are assessed
        every: int
        # of each gait and time: CoM; left and right sole; numbers and marks as above
        com: wp.array2d[vec3]
        soles: wp.array3d[vec3]
        numbers: wp.array3d[scalar]
        marks: wp.array3d[int]
        # of each gait and step: poses of left and right sole when it ends
        step_soles: wp.array3d[vec3]
        step_rotations: wp.array3d[mat33]
        # of each robot: its gait, after how many steps it ends, the load below which a
        # foot is off the ground
        gait: wp.array[int]
        ends: wp.array[int]
        least_load: wp.array[scalar]
        # corners of both soles, and the largest speed of joints (0: any)
        corners: wp.array2d[vec3]
        corner_counts: wp.array[int]
        speed: wp.array[scalar]

    @wp.struct
    class Findings:
        com: wp.array[vec3]
        position: wp.array2d[vec3]
        found: wp.array2d[scalar]
        flags: wp.array2d[int]
        corners: wp.array2d[vec3]

    @wp.func
    def heading(rotation: mat33) -> scalar:
        return wp.atan2(rotation[1, 0], rotation[0, 0])

    @wp.func
    def turned(a: vec3, angle: scalar) -> vec3:
        c = wp.cos(angle)
        s = wp.sin(angle)
        return vec3(c * a[0] - s * a[1], s * a[0] + c * a[1], a[2])

    @wp.func
    def put_soles(
        sensors: Sensors,
        course: Course,
        t: int,
        support: int,
        own: Moving,
        corners: wp.array2d[vec3],
    ) -> int:
        """Put corners of the soles that should carry into memory."""
        count = int(0)
        for foot in range(2):
            if support == 0 or support == foot + 1:
                k = sensors.foot[foot]
                rotation = own.rotation[t, k]
                sole = own.origin[t, k] + rotation @ sensors.sole_position[foot]
                rotation = rotation @ sensors.sole_rotation[foot]
                for i in range(course.corner_counts[foot]):
                    corner = sole + rotation @ course.corners[foot, i]
                    corners[t, count] = vec3(corner[0], corner[1], zero)
                    count = count + 1
        return count

    @wp.func
    def look_at_zmp(
        sensors: Sensors,
        course: Course,
        t: int,
        support: int,
        truth: Truth,
        own: Moving,
        findings: Findings,
    ) -> None:
        load = scalar(0.0)
        at = vec3(zero, zero, zero)
        for k in range(truth.force.shape[1]):
            force = truth.force[t, k]
            load = load + force[2]
            at = at + force[2] * findings.position[t, k]
        if load <= least_force:
            return
        at = at / load
        moment = vec3(zero, zero, zero)
        for k in range(truth.force.shape[1]):
            arm = findings.position[t, k] - at
            moment = moment + wp.cross(arm, truth.force[t, k])
        zmp = vec3(at[0] - moment[1] / load, at[1] + moment[0] / load, zero)
        count = put_soles(sensors, course, t, support, own, findings.corners)
        off = nearest_in_hull(zmp, findings.corners[t], count) - zmp
        findings.found[t, ZMPS] = findings.found[t, ZMPS] + one
        if wp.length(off) == zero:
            findings.found[t, INSIDE] = findings.found[t, INSIDE] + one

    @wp.func
    def load_of(
        sensors: Sensors, foot: int, t: int, truth: Truth, own: Moving
    ) -> scalar:
        """Force on a foot along the normal of its sole."""
        total = vec3(zero, zero, zero)
        for c in range(sensors.contact.shape[0]):
            if sensors.foot_of[sensors.contact_at[c]] == foot:
                total = total + truth.force[t, sensors.contact[c]]
        rotation = own.rotation[t, sensors.foot[foot]] @ sensors.sole_rotation[foot]
        return (wp.transpose(rotation) @ total)[2]

    @wp.func
    def step_on(
        course: Course,
        row: int,
        which: int,
        gait: int,
        t: int,
        load: scalar,
        flags: wp.array2d[int],
    ) -> None:
        """Note whether the foot of a step is off the ground, or down again."""
        at = which * MARKS
        if load < course.least_load[t]:
            flags[t, LEFT_GROUND] = course.marks[gait, row, at + LATE]
            flags[t, CAME_DOWN] = 0
        elif flags[t, LEFT_GROUND] == 1 and course.marks[gait, row, at + DOWN] == 1:
            flags[t, CAME_DOWN] = 1

    @wp.func
    def end_step(
        sensors: Sensors,
        course: Course,
        t: int,
        gait: int,
        step: int,
        foot: int,
        own: Moving,
        findings: Findings,
    ) -> None:
        """Count a step that was made, and see where its foot is."""
        if findings.flags[t, CAME_DOWN] == 0:
            return
        stance = 1 - foot
        k = sensors.foot[foot]
        rotation = own.rotation[t, k]
        sole = own.origin[t, k] + rotation @ sensors.sole_position[foot]
        rotation = rotation @ sensors.sole_rotation[foot]
        k = sensors.foot[stance]
        stands = own.rotation[t, k]
        stood = own.origin[t, k] + stands @ sensors.sole_position[stance]
        stands = stands @ sensors.sole_rotation[stance]
        turn = heading(wp.transpose(course.step_rotations[gait, step, foot]) @ rotation)
        stance_turn = heading(
            wp.transpose(course.step_rotations[gait, step, stance]) @ stands
        )
        stepped = turned(
            course.step_soles[gait, step, foot] - course.step_soles[gait, step, stance],
            stance_turn,
        )
        off = sole - stood - stepped
        placed = wp.sqrt(off[0] * off[0] + off[1] * off[1])
        angle = wp.abs(turn - stance_turn)
        angle = wp.min(angle, wp.abs(two * pi - angle))
        findings.found[t, MADE] = findings.found[t, MADE] + one
        findings.found[t, PLACED] = wp.max(findings.found[t, PLACED], placed)
        findings.found[t, TURNED] = wp.max(findings.found[t, TURNED], angle)

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def assess(
        skeleton: Skeleton,
        sensors: Sensors,
        course: Course,
        truth: Truth,
        clock: wp.array[int],
        status: wp.array2d[int],
        moving: Moving,
        findings: Findings,
    ) -> None:
        t = wp.tid()
        record = clock[t] / course.every
        found = findings.found
        # a robot that was stopped keeps its clock, and is not assessed again
        if status[t, WHY] == DIVERGED or record <= int(found[t, ERRORS]):
            return
        if clock[t] > course.ends[t]:
            return
        gait = course.gait[t]
        row = wp.min(record - 1, course.com.shape[1] - 1)
        place_legs(skeleton, sensors, t, truth.q, moving)
        executed = vec3(zero, zero, zero)
        for foot in range(2):
            k = sensors.foot[foot]
            rotation = moving.rotation[t, k]
            sole = moving.origin[t, k] + rotation @ sensors.sole_position[foot]
            turn = (
                heading(rotation @ sensors.sole_rotation[foot])
                - course.numbers[gait, row, LEFT_YAW + foot]
            )
            load = course.numbers[gait, row, LEFT_LOAD]
            if foot == 1:
                load = one - load
            lever = course.com[gait, row] - course.soles[gait, row, foot]
            executed = executed + load * (sole + turned(lever, turn))
        off = findings.com[t] - executed
        error = wp.sqrt(off[0] * off[0] + off[1] * off[1])
        found[t, ERROR_SUM] = found[t, ERROR_SUM] + error
        found[t, ERROR_MAX] = wp.max(found[t, ERROR_MAX], error)
        found[t, ERROR_LAST] = error
        found[t, ERRORS] = found[t, ERRORS] + one
        found[t, BASE_X] = truth.q[t, 0]
        found[t, BASE_Y] = truth.q[t, 1]
        found[t, BASE_YAW] = heading(moving.rotation[t, 0])
        for j in range(skeleton.joints):
            if course.speed[j] > zero:
                fraction = wp.abs(truth.v[t, BASE_DOF + j]) / course.speed[j]
                found[t, SPEED] = wp.max(found[t, SPEED], fraction)
        support = course.marks[gait, row, SUPPORT]
        look_at_zmp(sensors, course, t, support, truth, moving, findings)
        # the step that may end now, then the one that may begin
        foot = course.marks[gait, row, FOOT]
        if foot >= 0:
            load = load_of(sensors, foot, t, truth, moving)
            step_on(course, row, 0, gait, t, load, findings.flags)
            step = course.marks[gait, row, ENDS]
            if step >= 0:
                end_step(sensors, course, t, gait, step, foot, moving, findings)
                findings.flags[t, LEFT_GROUND] = 0
                findings.flags[t, CAME_DOWN] = 0
        foot = course.marks[gait, row, MARKS + FOOT]
        if foot >= 0:
            load = load_of(sensors, foot, t, truth, moving)
            step_on(course, row, 1, gait, t, load, findings.flags)

    return SimpleNamespace(Course=Course, Findings=Findings, assess=assess)
