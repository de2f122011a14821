"""What a pose would say if it were measured, and what one wants to know of the CoM."""

from __future__ import annotations

import numpy as np

from equipoise.arrays import Array
from equipoise.identification.level import USUAL_LEVEL, Level
from equipoise.identification.measuring.measured_poses import FEET, MeasuredPoses
from equipoise.identification.noise import SensorNoise, covariances
from equipoise.identification.prior import PriorBelief
from equipoise.identification.standing_frames import StandingFrames, standing_frames
from equipoise.identification.statics import (
    PER_LINK,
    WRENCH,
    link_columns,
    offset_columns,
    wrench_transform,
)
from equipoise.kinematics.com import com as centre_of_mass
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.model import Robot


def predicted_poses(
    robot: Robot, q: Array, belief: PriorBelief, samples: int
) -> MeasuredPoses:
    """Return what sensors without offsets would show in poses on both feet.

    How the feet share the load is not determined; each takes more the nearer the CoM
    is to it.

    Args:
        robot: The robot.
        q: Configurations, shape (n, nq).
        belief: Of its masses.
        samples: Independent samples of each pose.
    """
    frames = standing_frames(robot, q)
    unknowns = PER_LINK * len(belief.links)
    total = link_columns(frames) @ belief.mean[:unknowns]
    places = [sole_pose(robot, q, side)[:, :2, 3] for side in FEET]
    between = places[0] - places[1]
    offset = np.asarray(centre_of_mass(robot, q))[:, :2] - places[1]
    apart = np.sum(between**2, axis=1)
    along = np.sum(offset * between, axis=1)
    left = np.full(len(q), 0.5)  # where both are in one place
    np.divide(along, apart, out=left, where=apart > 0.0)
    left = np.clip(left, 0.0, 1.0)
    wrenches = {}
    for side, share in zip(FEET, (left, 1.0 - left), strict=True):
        transform = wrench_transform(
            frames.sole_rotation[side], frames.sole_position[side]
        )
        carried = (share[:, None] * total)[..., None]
        wrenches[side] = np.linalg.solve(transform, carried)[..., 0]
    return MeasuredPoses(robot, q, wrenches, np.array(samples))


def information_rows(
    poses: MeasuredPoses, noise: SensorNoise, belief: PriorBelief
) -> Array:
    """Return B with I + Σ BᵀB what is known of u after the poses, shape (n, 6, nx).

    Rows are in units of their noise, columns in those of the prior.
    """
    frames = standing_frames(poses.robot, poses.q)
    matrix = np.concatenate([link_columns(frames), offset_columns(frames)], axis=2)
    tilt = USUAL_LEVEL if noise.level is None else noise.level
    spread = covariances(frames, poses, noise)
    spread += Level(tilt, 0.0).covariances(frames, belief.mean)
    root = np.linalg.cholesky(spread)
    return np.asarray(np.linalg.solve(root, matrix) @ belief.root)


def com_functionals(frames: StandingFrames, belief: PriorBelief) -> Array:
    """Return how the CoM of poses changes with u [m], shape (n, 3, nx).

    With x = mean + root u, the CoM is c = Σ h_l / Σ m_l, so that
    dc = (Σ dh_l - c Σ dm_l) / m.
    """
    count, links = frames.link_position.shape[:2]
    unknowns = PER_LINK * links
    per_link = np.concatenate(
        [frames.link_position[..., None], frames.link_rotation], axis=3
    )
    moment = np.moveaxis(per_link, 1, 2).reshape(count, 3, unknowns)
    mass = np.tile([1.0, 0.0, 0.0, 0.0], links)
    total = float(mass @ belief.mean[:unknowns])
    com = moment @ belief.mean[:unknowns] / total
    change = np.zeros((count, 3, len(belief.mean)))
    change[..., :unknowns] = (moment - com[..., None] * mass) / total
    return np.asarray(change @ belief.root)


def reduced(rows: Array, functionals: Array) -> tuple[Array, Array]:
    """Return the same in fewer coordinates: those that rows or functionals see.

    Args:
        rows: Shape (n, 6, nx).
        functionals: Shape (m, 3, nx).

    Returns:
        Shapes (n, 6, d) and (r, d); of the functionals an equivalent, whose sum of
        squares is their mean square over m.
    """
    size = rows.shape[2]
    stacked = functionals.reshape(-1, size) / np.sqrt(len(functionals))
    seen = np.einsum("nai,naj->ij", rows, rows, optimize=True)
    wanted = stacked.T @ stacked
    both = seen / max(np.trace(seen), 1e-300) + wanted / max(np.trace(wanted), 1e-300)
    values, vectors = np.linalg.eigh(both)
    basis = vectors[:, values > 1e-13 * values[-1]]
    values, vectors = np.linalg.eigh(basis.T @ wanted @ basis)
    kept = values > 1e-12 * values[-1]
    few = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    turned = (rows.reshape(-1, size) @ basis).reshape(len(rows), WRENCH, -1)
    return turned, few
