"""Control ticks of many walking robots.

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
from equipoise.kernels.monitor import ENDED, RUNNING, WHEN, WHY
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


@once
def make_walking(scalar: Any) -> SimpleNamespace:
    """Return the structs ``Plan`` and ``Walk``, and the kernel ``control``: a tick."""
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
    sense = sensing_types.sense
    Sensing, Estimation = estimation_types.Sensing, estimation_types.Estimation
    estimate_robot = estimation_types.estimate_robot
    stabilise_robot = make_stabilise(scalar).stabilise_robot

    @wp.struct
    class Plan:
        # of each gait and tick, what is wanted at its end
        wanted: wp.array3d[vec3]
        wanted_rotations: wp.array3d[mat33]
        supports: wp.array2d[int]
        position: wp.array3d[scalar]
        velocity: wp.array3d[scalar]
        torque: wp.array3d[scalar]
        # of each robot: its gait, after how many steps it ends; gains of ``Legs``
        gait: wp.array[int]
        ends: wp.array[int]
        gains: wp.array2d[scalar]

    @wp.struct
    class Walk:
        # steps of a control period
        hold: int
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

    return SimpleNamespace(Plan=Plan, Walk=Walk, control=control)
