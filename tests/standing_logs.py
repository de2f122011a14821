"""Recordings made to order: a robot that goes from pose to pose on both feet."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from equipoise.arrays import Array
from equipoise.identification.measuring.balance_series import sole_views
from equipoise.identification.statics import FEET
from equipoise.kinematics.com import com
from equipoise.kinematics.stance import find_stance, sole_pose
from equipoise.log.recordings.recording import MeasuredWrench, Recording
from equipoise.robot.joint_coordinates import (
    configurations,
    degree_names,
    joint_positions,
)
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

GRAVITY = 9.80665
AT_ORIGIN = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
FRAMES: dict[Side, str] = {"left": "l_sole", "right": "r_sole"}


@dataclass(frozen=True)
class Standing:
    """A made-up log and what is true of it."""

    recording: Recording
    positions: Array  # of the poses, without noise, (n, nj)
    wrenches: dict[Side, Array]  # of the poses, without noise, (n, 6)
    spans: list[tuple[float, float]]  # when each pose was held [s]


def poses_of(robot: Robot, count: int, seed: int) -> Array:
    """Return balanced poses with the feet as in the posture standing, (n, nj)."""
    rng = np.random.default_rng(seed)
    soles = {side: sole_pose(robot, robot.standing, side) for side in FEET}
    centre = np.asarray(com(robot, robot.standing))
    legs = {joint for leg in robot.legs.values() for joint in leg.joints}
    names = degree_names(robot)
    free = np.array([name not in legs for name in names])
    found = []
    while len(found) < count:
        start = joint_positions(robot, robot.standing)
        start[free] += rng.uniform(-0.4, 0.4, free.sum())
        q = configurations(robot, robot.standing[None, :7], start[None])[0]
        wanted = centre + rng.uniform([-0.02, -0.03, -0.02], [0.02, 0.03, 0.0])
        stance = find_stance(robot, q, soles, wanted, legs)
        if stance.error < 1e-8:
            found.append(joint_positions(robot, stance.q))
    return np.array(found)


def balanced(robot: Robot, positions: Array, acceleration: Array) -> dict[Side, Array]:
    """Return wrenches about and in the soles that hold a robot up, (n, 6) each.

    Args:
        robot: The robot.
        positions: Of its joints, shape (n, nj).
        acceleration: Of the CoM in the level frame [m/s²], shape (n, 3).
    """
    q = configurations(robot, np.tile(AT_ORIGIN, (len(positions), 1)), positions)
    views = sole_views(robot, q)
    weight = robot.mass * GRAVITY
    centre = views.com_in_level
    zmp = centre[:, :2] - acceleration[:, :2] * centre[:, 2:] / GRAVITY
    moment = weight * np.column_stack([zmp[:, 1], -zmp[:, 0], np.zeros(len(q))])
    at = {side: views.sole_in_level[side][:, :3, 3] for side in FEET}
    width = at["left"][:, 1] - at["right"][:, 1]
    left = np.clip((zmp[:, 1] - at["right"][:, 1]) / width, 0.1, 0.9)
    push = {"left": left * weight, "right": (1.0 - left) * weight}
    force = {s: np.column_stack([0 * push[s], 0 * push[s], push[s]]) for s in FEET}
    rest = moment - sum(np.cross(at[side], force[side]) for side in FEET)
    found = {}
    for side in FEET:
        back = np.swapaxes(views.sole_in_level[side][:, :3, :3], 1, 2)
        parts = [np.einsum("nij,nj->ni", back, v) for v in (force[side], 0.5 * rest)]
        found[side] = np.hstack(parts)
    return found


def standing_log(
    robot: Robot,
    poses: Array,
    *,
    seed: int = 0,
    rate: float = 100.0,
    hold_s: float = 2.0,
    move_s: float = 1.5,
    force: float = 0.5,
    torque: float = 0.02,
    step: float = 0.0,
    late_s: float = 0.0,
    lost: float = 0.0,
) -> Standing:
    """Return a log of a robot that holds poses and moves smoothly between them.

    Args:
        robot: The robot.
        poses: Joint positions, shape (n, nj).
        seed: Of the noise.
        rate: Rows a second [Hz].
        hold_s: How long each pose is held [s].
        move_s: How long each move takes [s].
        force: Noise of forces [N].
        torque: Noise of torques [Nm].
        step: Of the encoders [rad]; 0 for none.
        late_s: How late the wrenches are stamped [s].
        lost: Share of rows that are dropped.
    """
    rng = np.random.default_rng(seed)
    period = hold_s + move_s
    rows = round((len(poses) * period - move_s) * rate) + 1
    time = np.arange(rows) / rate

    def at(times: Array) -> Array:
        times = np.clip(times, 0.0, time[-1])
        number = np.minimum((times / period).astype(int), len(poses) - 1)
        s = np.clip((times - number * period - hold_s) / move_s, 0.0, 1.0)
        blend = (s**3 * (10.0 - 15.0 * s + 6.0 * s**2))[:, None]
        after = np.minimum(number + 1, len(poses) - 1)
        return np.asarray(poses[number] * (1.0 - blend) + poses[after] * blend)

    def centre(times: Array) -> Array:
        positions = at(times)
        q = configurations(robot, np.tile(AT_ORIGIN, (len(positions), 1)), positions)
        return sole_views(robot, q).com_in_level

    h = 0.02
    acceleration = (centre(time + h) - 2.0 * centre(time) + centre(time - h)) / h**2
    positions = at(time)
    true = balanced(robot, positions, acceleration)
    if step > 0.0:
        positions = step * np.round(positions / step)
    noise = np.repeat([force, torque], 3)
    kept = rng.uniform(size=rows) >= lost
    kept[0] = True
    wrenches = {
        FRAMES[side]: MeasuredWrench(
            FRAMES[side],
            time[kept] + late_s,
            (own + noise * rng.standard_normal(own.shape))[kept],
        )
        for side, own in true.items()
    }
    recording = Recording(
        source=Path("made_up.csv"),
        time=time[kept],
        joints=dict(zip(degree_names(robot), positions[kept].T, strict=True)),
        velocity={},
        effort={},
        wrenches=wrenches,
        base_pose=None,
        base_source="",
        base_frame="",
        static_frames={},
        urdf=None,
        settings=None,
        notices=(),
    )
    spans = [(n * period, n * period + hold_s) for n in range(len(poses))]
    still = balanced(robot, poses, np.zeros((len(poses), 3)))
    return Standing(recording, poses, still, spans)


def with_wrenches(recording: Recording, change: dict[str, Array]) -> Recording:
    """Return a recording with other numbers in its wrenches, by name."""
    wrenches = {
        name: own._replace(values=change.get(name, own.values))
        for name, own in recording.wrenches.items()
    }
    return replace(recording, wrenches=wrenches)
