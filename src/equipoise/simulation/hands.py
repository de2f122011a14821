"""How well hands followed the motion of their arms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.gait.motion import Motion
from equipoise.kinematics.frames import frame_pose
from equipoise.log.run import Run
from equipoise.robot.model import Robot


class HandTracking(NamedTuple):
    """A hand against the motion of its arm.

    Attributes:
        error: RMS and largest distance from where the motion wants it [m].
        way: How far the motion takes it from where it begins, seen from the torso [m].
    """

    error: dict[str, float]
    way: float


def hand_tracking(run: Run, motion: Motion, until: float) -> HandTracking | None:
    """Return how well a hand followed the motion of its arm.

    The robot is taken as it truly was, with the arm's joints as the motion has them:
    errors of the rest of the body do not count.

    Args:
        run: What happened.
        motion: What was meant to happen.
        until: Later times do not count [s].

    Returns:
        Of several hands the one that is farthest off; None if no arm has a motion.
    """
    arms = motion.arms
    if arms is None:
        return None
    rows = np.flatnonzero(run.time <= until)
    robot, time = motion.robot, np.minimum(run.time[rows], arms.duration)
    true = run.q[rows]
    wanted = _with_joints(robot, true, arms.postures(robot, true[0], time), arms.joints)
    standing = arms.postures(robot, np.array(robot.standing), time)
    worst: HandTracking | None = None
    for arm in robot.arms.values():
        if not set(arm.joints) & set(arms.joints):
            continue
        off = np.linalg.norm(
            _hand(robot, true, arm.end_link) - _hand(robot, wanted, arm.end_link),
            axis=1,
        )
        path = _hand(robot, standing, arm.end_link)
        error = {"rms": float(np.sqrt(np.mean(off**2))), "max": float(off.max())}
        way = float(np.linalg.norm(path - path[0], axis=1).max())
        if worst is None or error["rms"] > worst.error["rms"]:
            worst = HandTracking(error, way)
    return worst


def _hand(robot: Robot, q: Array, link: str) -> Array:
    return np.asarray(frame_pose(robot, q, link)[..., :3, 3])


def _with_joints(
    robot: Robot, q: Array, moved: Array, joints: tuple[str, ...]
) -> Array:
    """Return configurations with some joints as in others, shape (n, nq)."""
    rows = np.array(q)
    for name in joints:
        joint = robot.model.joints[robot.joint_id(name)]
        own = slice(joint.idx_q, joint.idx_q + joint.nq)
        rows[:, own] = moved[:, own]
    return rows
