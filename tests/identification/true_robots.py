"""Robots whose parameters differ from their models, measured by exact statics."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.transform import Rotation

import equipoise as eq
from equipoise.arrays import Array
from equipoise.identification.noise import SensorNoise
from equipoise.identification.prior import Prior, PriorBelief, prior_belief
from equipoise.identification.statics import (
    FEET,
    MeasuredPoses,
    link_columns,
    standing_frames,
    total_com,
    wrench_transform,
)
from equipoise.kinematics.com_legs import solve_com
from equipoise.kinematics.com_targets import com_targets
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.joint_coordinates import configurations, joint_positions

# CoM errors up to 30 mm: three standard deviations.
PRIOR = Prior(
    com_std=0.01,
    mass_std_fraction=0.08,
    lateral_force_std=20.0,
    vertical_force_std=1.0,
    torque_std=1.0,
)
STEP = 2.0 * np.pi / 2**14
NOISE = SensorNoise(force=0.5, torque=0.02, joint=STEP / np.sqrt(12.0))


class TrueRobot(NamedTuple):
    """A robot that is not as its model says.

    Attributes:
        model: As its file describes it.
        values: Its true masses, first moments and sensors' offsets, shape (nx,).
    """

    model: eq.Robot
    values: Array


def random_truth(
    model: eq.Robot, rng: np.random.Generator, *, offsets: bool = True
) -> TrueRobot:
    """Return a robot whose parameters are drawn from the prior."""
    belief: PriorBelief = prior_belief(model, PRIOR)
    away = np.clip(rng.standard_normal(len(belief.mean)), -3.0, 3.0)
    if not offsets:
        away[-12:] = 0.0
    return TrueRobot(model, belief.mean + belief.root @ away)


def random_poses(model: eq.Robot, count: int, rng: np.random.Generator) -> Array:
    """Return configurations on both feet, as varied as they come, shape (count, nq)."""
    left, right = (sole_pose(model, model.standing, side) for side in FEET)
    middle = 0.5 * (left + right)[:2, 3]
    height = float(eq.com(model, model.standing)[2])
    chosen: list[Array] = []
    while sum(map(len, chosen)) < count:
        tries = 2 * count
        sway = rng.uniform(-1.0, 1.0, (tries, 2)) * [0.02, 0.04]
        com = np.column_stack([middle + sway, height * rng.uniform(0.85, 0.97, tries)])
        angles = rng.uniform(-1.0, 1.0, (tries, 3)) * [0.25, 0.35, 0.5]
        torso = Rotation.from_euler("xyz", angles).as_matrix()
        joints = joint_positions(model, np.tile(model.standing, (tries, 1)))
        joints = joints + rng.uniform(-0.8, 0.8, joints.shape)
        posture = configurations(model, np.tile(model.standing[:7], (tries, 1)), joints)
        found = solve_com(model, com_targets(com, left, right, torso), posture=posture)
        chosen.append(found.q[found.converged])
    return np.concatenate(chosen)[:count]


def measure(
    truth: TrueRobot,
    q: Array,
    rng: np.random.Generator,
    *,
    samples: int = 100,
    noisy: bool = True,
    tilt: Array | None = None,
    lateral: Array | None = None,
    **changes: Any,
) -> MeasuredPoses:
    """Return what sensors would show: statics, split at random between the feet.

    Args:
        truth: The robot.
        q: Its poses, shape (n, nq).
        rng: Random numbers.
        samples: Samples of each pose.
        noisy: Whether sensors are.
        tilt: Tilt of up against the soles, in x and y [rad], shape (n, 2).
        lateral: Lateral errors of the left sensor's force [N], shape (n, 2).
        **changes: Changes to the returned fields.
    """
    model = truth.model
    frames = standing_frames(model, q)
    links = 4 * len(frames.link_names)
    total = link_columns(frames) @ truth.values[:links]
    if tilt is not None:
        lean = total[:, 2:3] * np.column_stack([tilt, np.zeros(len(q))])
        total[:, :3] += lean
        total[:, 3:] += np.cross(total_com(frames, truth.values), lean)
    fraction = rng.uniform(0.3, 0.7, len(q))
    inner = rng.standard_normal((len(q), 6)) * [20, 20, 0, 5, 5, 5]
    wrenches = {}
    for at, side in enumerate(FEET):
        part = fraction if at == 0 else 1.0 - fraction
        # internal forces: feet push against each other, and the sum stays
        push = part[:, None] * total + (1 - 2 * at) * inner
        transform = wrench_transform(frames.sole_in_level[side])
        wrench = np.linalg.solve(transform, push[..., None])[..., 0]
        first = links + 6 * at
        wrench = wrench + truth.values[first : first + 6]
        if noisy:
            scatter = np.repeat([NOISE.force, NOISE.torque], 3) / np.sqrt(samples)
            wrench = wrench + scatter * rng.standard_normal((len(q), 6))
        if at == 0 and lateral is not None:
            wrench[:, :2] += lateral
        wrenches[side] = wrench
    shown = np.array(q)
    if noisy:
        shown[:, 7:] = np.round(shown[:, 7:] / STEP) * STEP
    fields: dict[str, Any] = {
        "robot": model,
        "q": shown,
        "wrenches": wrenches,
        "samples": np.full(len(q), samples),
    }
    return MeasuredPoses(**{**fields, **changes})
