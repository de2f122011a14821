"""The usual sensors of many robots, as arrays for the kernels.

They are those of :func:`~equipoise.simulation.feedback.usual_sensors`: encoders whose
velocities are differences, an IMU on the base, force and torque at the ankles.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.balance.skeleton import BASE_DOF, sole_placements
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.simulation.feedback import (
    ACCELEROMETER,
    DELAY,
    ENCODER,
    FORCE,
    GYROSCOPE,
)
from equipoise.simulation.noise import SAME_TIME
from equipoise.simulation.world import World
from equipoise.simulation.world_arrays import WorldArrays


def sensor_arrays(
    world: World,
    laid: WorldArrays,
    period: float,
    seeds: NDArray[np.int64],
    noise: Array,
) -> dict[str, Any]:
    """Return the usual sensors of n robots, of their own feet and weights.

    Args:
        world: The robot and all that it meets.
        laid: The same as arrays, with what differs between the robots.
        period: Time between two measurements [s].
        seeds: Seeds of the noise, whole numbers below 2³², shape (n,).
        noise: Noise over the usual, shape (n,).

    Returns:
        The struct ``Sensors`` of kernels by name.
    """
    from equipoise.kernels.bodies import CONTINUOUS

    robot, tree, model = world.robot, laid.tree, world.robot.model
    soles = sole_placements(robot)
    feet = [soles[side][0] for side in SIDES]
    poses = np.array([soles[side][1] for side in SIDES])
    parts = [set(model.subtrees[foot]) for foot in feet]
    bodies = sorted({1}.union(*parts, *(model.supports[foot] for foot in feet)) - {0})
    place = {body: number for number, body in enumerate(bodies)}
    foot_of = [
        next((n for n, part in enumerate(parts) if body in part), -1) for body in bodies
    ]
    own = laid.inertias
    mass, com, inertia = (
        (tree.mass[None], tree.com[None], tree.inertia[None]) if own is None else own
    )
    touched = [int(body) for body in laid.points.body[: len(world.contacts)]]
    on_feet = [n for n, body in enumerate(touched) if foot_of[place.get(body, 0)] >= 0]
    hinges = np.flatnonzero(tree.idx_v[: model.njoints] >= BASE_DOF)
    hinges = hinges[np.argsort(tree.idx_v[hinges])]
    weight = mass[:, 1 : model.njoints].sum(axis=1) * world.gravity
    arm = max(max(sole.size) for sole in robot.soles.values())
    usual = np.zeros((len(seeds), 5))
    usual[:, :3] = ENCODER, GYROSCOPE, ACCELEROMETER
    usual[:, 3] = FORCE * weight
    usual[:, 4] = FORCE * weight * 0.5 * arm
    imu = np.array(model.frames[robot.frame_id("base_link")].placement.homogeneous)
    return {
        "gravity": world.gravity,
        "period": period,
        "delay": math.ceil((DELAY - SAME_TIME) / period),
        "imu_rotation": imu[:3, :3],
        "imu_position": imu[:3, 3],
        "q_at": tree.idx_q[hinges],
        "endless": tree.kind[hinges] == CONTINUOUS,
        "body": bodies,
        "above": [place.get(int(tree.parent[body]), 0) for body in bodies],
        "foot_of": foot_of,
        "foot": [place[foot] for foot in feet],
        "sole_rotation": poses[:, :3, :3],
        "sole_position": poses[:, :3, 3],
        "contact": on_feet,
        "contact_at": [place[touched[n]] for n in on_feet],
        "contact_position": laid.points.position[on_feet],
        "mass": mass[:, bodies],
        "com": com[:, bodies],
        "inertia": inertia[:, bodies],
        "deviation": noise[:, None] * usual,
        "seed": seeds.astype(np.uint32).view(np.int32),
    }
