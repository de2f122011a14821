"""Control ticks of many walking robots, and how well they keep to their plans.

A robot's tick is all of a control period but the simulation: sensors, estimator, what
the plan wants now, stabiliser, and the command that the simulation is told. Which tick
it is a robot's own clock says, so that a launch is the same each time.
"""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.estimation import make_estimation
from equipoise.kernels.monitor import DIVERGED, ENDED, RUNNING, WHEN, WHY
from equipoise.kernels.once import once
from equipoise.kernels.runtime import MODULE_OPTIONS
from equipoise.kernels.sensing import make_sensing
from equipoise.kernels.skeleton import make_skeleton
from equipoise.kernels.stabiliser.tick import make_stabilise
from equipoise.kernels.stabiliser.types import (
    WANTED,
    WANTED_ROTATIONS,
    make_types,
)

# Numbers of a plan when a walk is assessed: headings of the soles [rad], and the
# fraction of the load that the left foot should carry.
LEFT_YAW, RIGHT_YAW, LEFT_LOAD, PLANNED = range(4)
# What is found of a robot: sum, largest and last distance of its CoM from its plan,
# seen from the stance foot [m], how often it was taken; x, y and heading of its base.
ERROR_SUM, ERROR_MAX, ERROR_LAST, ERRORS, BASE_X, BASE_Y, BASE_YAW, FOUND = range(8)


@once
def make_walking(scalar: Any) -> SimpleNamespace:
    """Return the structs ``Plan`` and ``Walk``, and kernels, one robot a thread.

    - ``control(truth_skeleton, skeleton, sensors, sensing, legs, plan, truth, walk,
      moving, estimation, given, memory, commanded)``: a tick
    - ``assess(truth_skeleton, sensors, plan, truth, com, walk, moving)``: CoM error
    """
    types, own_types = make_skeleton(scalar), make_types(scalar)
    Skeleton, vec3, mat33 = types.Skeleton, types.vec3, types.mat33
    Legs, Given, Memory = own_types.Legs, own_types.Given, own_types.Memory
    Commanded = own_types.Commanded
    sensing_types, estimation_types = make_sensing(scalar), make_estimation(scalar)
    Sensors, Truth, Moving = (
        sensing_types.Sensors,
        sensing_types.Truth,
        sensing_types.Moving,
    )
    sense, place_legs = sensing_types.sense, sensing_types.place_legs
    Sensing, Estimation = estimation_types.Sensing, estimation_types.Estimation
    estimate_robot = estimation_types.estimate_robot
    stabilise_robot = make_stabilise(scalar).stabilise_robot
    zero, one, two = scalar(0.0), scalar(1.0), scalar(2.0)

    @wp.struct
    class Plan:
        # of each gait and tick, what is wanted at its end
        wanted: wp.array3d[vec3]
        wanted_rotations: wp.array3d[mat33]
        supports: wp.array2d[int]
        position: wp.array3d[scalar]
        velocity: wp.array3d[scalar]
        torque: wp.array3d[scalar]
        # of each gait and time that it is assessed at: CoM; left and right sole; the
        # numbers above
        com: wp.array2d[vec3]
        soles: wp.array3d[vec3]
        numbers: wp.array3d[scalar]
        # of each robot: its gait, after how many steps it ends; gains of ``Legs``
        gait: wp.array[int]
        ends: wp.array[int]
        gains: wp.array2d[scalar]

    @wp.struct
    class Walk:
        # steps of a control period, and between times that are assessed
        hold: int
        every: int
        # as the simulation has them
        clock: wp.array[int]
        status: wp.array2d[int]
        command_position: wp.array3d[scalar]
        command_velocity: wp.array3d[scalar]
        command_torque: wp.array3d[scalar]
        command_row: wp.array[int]
        # the last measurements, [tick, robot, …]
        position: wp.array3d[scalar]
        measured: wp.array3d[scalar]
        found: wp.array2d[scalar]

    @wp.func
    def with_gains(legs: Legs, gains: wp.array2d[scalar], robot: int) -> Legs:
        own = legs
        row = wp.min(robot, gains.shape[0] - 1)
        own.dcm_gain = gains[row, 0]
        own.zmp_rate = gains[row, 1]
        own.zmp_most = gains[row, 2]
        own.com_rate = gains[row, 3]
        own.follow_rate = gains[row, 4]
        own.follow_turn = gains[row, 5]
        own.follow_height = gains[row, 6]
        own.tilt_rate = gains[row, 7]
        own.yaw_rate = gains[row, 8]
        own.press_error = gains[row, 9]
        own.press_load = gains[row, 10]
        own.plan_rate = gains[row, 11]
        own.relax_rate = gains[row, 12]
        own.lowering_speed = gains[row, 13]
        own.lowering_gain = gains[row, 14]
        own.lowest = gains[row, 15]
        own.touch = gains[row, 16]
        own.sure_rate = gains[row, 17]
        own.margin = gains[row, 18]
        own.edge = gains[row, 19]
        own.keep = gains[row, 20]
        own.damping = gains[row, 21]
        own.fastest = gains[row, 22]
        return own

    @wp.func
    def want(plan: Plan, tick: int, joints: int, t: int, given: Given) -> None:
        """Hand a robot what its plan wants."""
        gait = plan.gait[t]
        row = wp.min(tick, plan.supports.shape[1] - 1)
        for k in range(WANTED):
            given.wanted[t, k] = plan.wanted[gait, row, k]
        for k in range(WANTED_ROTATIONS):
            given.wanted_rotations[t, k] = plan.wanted_rotations[gait, row, k]
        for j in range(joints):
            given.position[t, j] = plan.position[gait, row, j]
            given.velocity[t, j] = plan.velocity[gait, row, j]
            given.torque[t, j] = plan.torque[gait, row, j]
        given.supports[t] = plan.supports[gait, row]

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def control(
        truth_skeleton: Skeleton,
        skeleton: Skeleton,
        sensors: Sensors,
        sensing: Sensing,
        legs: Legs,
        plan: Plan,
        truth: Truth,
        walk: Walk,
        moving: Moving,
        estimation: Estimation,
        given: Given,
        memory: Memory,
        commanded: Commanded,
    ) -> None:
        t = wp.tid()
        if walk.status[t, WHY] != RUNNING:
            return
        clock = walk.clock[t]
        if clock >= plan.ends[t]:
            walk.status[t, WHY] = ENDED
            walk.status[t, WHEN] = clock
            return
        tick = clock / walk.hold
        kept = walk.position.shape[0]
        sense(
            truth_skeleton,
            sensors,
            t,
            tick,
            truth,
            moving,
            walk.position[(tick + kept - 1) % kept],
            walk.position[tick % kept],
            walk.measured[tick % kept],
        )
        seen = wp.max(tick - sensors.delay, 0) % kept
        estimate_robot(
            skeleton,
            sensing,
            t,
            walk.measured[seen],
            walk.position[seen],
            commanded.velocity,
            estimation,
            given.told,
            given.told_rotations,
        )
        want(plan, tick, skeleton.joints, t, given)
        stabilise_robot(
            skeleton, with_gains(legs, plan.gains, t), t, given, memory, commanded
        )
        row = walk.command_row[0]
        for j in range(skeleton.joints):
            walk.command_position[row, t, j] = commanded.position[t, j]
            walk.command_velocity[row, t, j] = commanded.velocity[t, j]
            walk.command_torque[row, t, j] = commanded.torque[t, j]

    @wp.func
    def beside(
        point: vec3, planned_sole: vec3, planned_yaw: scalar, sole: vec3, yaw: scalar
    ) -> vec3:
        """A point of the plan, moved and turned with a sole."""
        turn = yaw - planned_yaw
        c = wp.cos(turn)
        s = wp.sin(turn)
        lever = point - planned_sole
        return sole + vec3(
            c * lever[0] - s * lever[1], s * lever[0] + c * lever[1], lever[2]
        )

    @wp.kernel(module="unique", module_options=MODULE_OPTIONS)
    def assess(
        truth_skeleton: Skeleton,
        sensors: Sensors,
        plan: Plan,
        truth: Truth,
        com: wp.array[vec3],
        walk: Walk,
        moving: Moving,
    ) -> None:
        t = wp.tid()
        record = walk.clock[t] / walk.every
        taken = walk.found[t, ERRORS]
        # a robot that was stopped keeps its clock, and is not assessed again
        if walk.status[t, WHY] == DIVERGED or record <= int(taken):
            return
        if walk.clock[t] > plan.ends[t]:
            return
        gait = plan.gait[t]
        row = wp.min(record - 1, plan.com.shape[1] - 1)
        place_legs(truth_skeleton, sensors, t, truth.q, moving)
        executed = vec3(zero, zero, zero)
        for foot in range(2):
            k = sensors.foot[foot]
            turned = moving.rotation[t, k]
            sole = moving.origin[t, k] + turned @ sensors.sole_position[foot]
            turned = turned @ sensors.sole_rotation[foot]
            load = plan.numbers[gait, row, LEFT_LOAD]
            if foot == 1:
                load = one - load
            executed = executed + load * beside(
                plan.com[gait, row],
                plan.soles[gait, row, foot],
                plan.numbers[gait, row, LEFT_YAW + foot],
                sole,
                wp.atan2(turned[1, 0], turned[0, 0]),
            )
        off = com[t] - executed
        error = wp.sqrt(off[0] * off[0] + off[1] * off[1])
        walk.found[t, ERROR_SUM] = walk.found[t, ERROR_SUM] + error
        walk.found[t, ERROR_MAX] = wp.max(walk.found[t, ERROR_MAX], error)
        walk.found[t, ERROR_LAST] = error
        walk.found[t, ERRORS] = taken + one
        walk.found[t, BASE_X] = truth.q[t, 0]
        walk.found[t, BASE_Y] = truth.q[t, 1]
        x = truth.q[t, 3]
        y = truth.q[t, 4]
        z = truth.q[t, 5]
        w = truth.q[t, 6]
        walk.found[t, BASE_YAW] = wp.atan2(
            two * (w * z + x * y), one - two * (y * y + z * z)
        )

    return SimpleNamespace(Plan=Plan, Walk=Walk, control=control, assess=assess)
