"""Frames and centre-of-mass Jacobian of one DH limb, after [Choi2007].

This is the paper's own recursion (Eq. 9–10 and App. 9.3), written on DH tables and
without any model library; the general tree Jacobians must equal it. All results are
in the frame of the link that carries the limb: the paper's body centre, marked °.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array, frozen_array
from equipoise.errors import ShapeError
from equipoise.robot.formats.dh import Convention, DhLimb, DhParameters, DhRow


@dataclass(frozen=True, eq=False)
class LimbFrames:
    """DH frames 0 to n of a limb of n joints.

    Attributes:
        positions: Origins °r_k [m], shape (n + 1, 3).
        rotations: Axes °R_k, shape (n + 1, 3, 3).
    """

    positions: Array
    rotations: Array


@dataclass(frozen=True, eq=False)
class LimbCom:
    """What a limb adds to the robot's centre of mass.

    Attributes:
        link_coms: Centre of mass °c_{i,k} of each link [m], shape (n, 3).
        contribution: °c_i = Σ_k μ_{i,k} °c_{i,k} [m], shape (3,): what the limb adds
            to the robot's centre of mass, not the limb's own centre.
        jacobian: °J_{c_i}, derivative of ``contribution`` by the limb's joint positions
            [m/rad, or 1 for prismatic joints], shape (3, n).
    """

    link_coms: Array
    contribution: Array
    jacobian: Array


def dh_matrix(parameters: DhParameters, convention: Convention = "standard") -> Array:
    """Return the transform from frame k to frame k−1, shape (4, 4).

    Standard: Eq. (3) of [Sanliturk2024]. Modified: Craig's, with α and a of the
    same row.
    """
    a, d = parameters.a, parameters.d
    ct, st = np.cos(parameters.theta), np.sin(parameters.theta)
    ca, sa = np.cos(parameters.alpha), np.sin(parameters.alpha)
    if convention == "standard":
        return np.array(
            [
                [ct, -st * ca, st * sa, a * ct],
                [st, ct * ca, -ct * sa, a * st],
                [0.0, sa, ca, d],
                [0.0, 0.0, 0.0, 1.0],
            ]
        )
    return np.array(
        [
            [ct, -st, 0.0, a],
            [st * ca, ct * ca, -sa, -sa * d],
            [st * sa, ct * sa, ca, ca * d],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


def limb_frames(limb: DhLimb, q: ArrayLike) -> LimbFrames:
    """Return the DH frames of a limb.

    Args:
        limb: The limb.
        q: Joint positions [rad or m], shape (n,), without the offsets θ and d.

    Raises:
        ShapeError: If q has the wrong length or is not finite.
    """
    pose = limb.transform_limb_to_parent
    poses = [pose]
    for row, position in zip(limb.rows, _check_q(limb, q), strict=True):
        pose = pose @ dh_matrix(_moved(row, position), limb.convention)
        poses.append(pose)
    stack = np.array(poses)
    return LimbFrames(frozen_array(stack[:, :3, 3]), frozen_array(stack[:, :3, :3]))


def dh_limb_com(limb: DhLimb, q: ArrayLike, robot_mass: float) -> LimbCom:
    """Return what a limb adds to the centre of mass, and its Jacobian.

    Results are in the frame of the link that the limb is fixed to. Where that is the
    base for all limbs, their contributions and the base's add up to the robot's centre
    of mass in the base's frame; a limb on a moving torso must be carried over first
    (:func:`~equipoise.kinematics.limb_com.limb_com_contribution` does so). The paper's
    Eq. (10) divides by the mass of the limbs alone; the base must be counted too, or
    the sum is not the centre of mass.

    Args:
        limb: The limb.
        q: Joint positions [rad or m], shape (n,).
        robot_mass: Mass of the whole robot, base included [kg].

    Raises:
        ShapeError: If q has the wrong length or is not finite, or the robot is
            lighter than the limb.
    """
    if not (np.isfinite(robot_mass) and robot_mass > 0.0) or (
        robot_mass < limb.mass * (1.0 - 1e-12)
    ):
        raise ShapeError(
            f"robot_mass is {robot_mass:g} kg, but limb '{limb.name}' alone has "
            f"{limb.mass:g} kg"
        )
    positions = _check_q(limb, q)
    frames = limb_frames(limb, positions)
    count = len(limb.rows)
    link_coms = np.array([_link_com(limb, frames, positions, k) for k in range(count)])
    fractions = np.array([row.mass for row in limb.rows]) / robot_mass  # Eq. (10)
    jacobian = np.empty((3, count))
    for k, row in enumerate(limb.rows):
        # joint k + 1 moves about z of frame k (standard) or k + 1 (modified)
        frame = k if limb.convention == "standard" else k + 1
        axis = frames.rotations[frame, :, 2]
        if row.kind == "prismatic":
            jacobian[:, k] = fractions[k:].sum() * axis
        else:  # j_k of App. 9.3
            levers = link_coms[k:] - frames.positions[frame]
            jacobian[:, k] = fractions[k:] @ np.cross(axis, levers)
    return LimbCom(
        frozen_array(link_coms),
        frozen_array(fractions @ link_coms),
        frozen_array(jacobian),
    )


def _link_com(limb: DhLimb, frames: LimbFrames, q: Array, k: int) -> Array:
    row = limb.rows[k]
    if row.centroid_frame == "distal":  # Eq. (18) of [Sanliturk2024]
        origin = frames.positions[k + 1]
    else:
        origin = frames.positions[k]
        if row.kind == "prismatic":
            origin = origin + q[k] * frames.rotations[k, :, 2]
    if row.centroid_frame == "proximal":
        # App. 9.3 of [Choi2007]: r_{k-1} + R_{k-1} Rz(q_k) σ_k
        turn = 0.0 if row.kind == "prismatic" else q[k]
        com: Array = origin + frames.rotations[k] @ _about_z(turn, row.centroid)
    else:
        com = origin + frames.rotations[k + 1] @ row.centroid
    return com


def _about_z(angle: float, vector: Array) -> Array:
    cosine, sine = np.cos(angle), np.sin(angle)
    x, y, z = vector
    return np.array([cosine * x - sine * y, sine * x + cosine * y, z])


def _moved(row: DhRow, position: float) -> DhParameters:
    line = row.parameters
    if row.kind == "prismatic":
        return DhParameters(line.alpha, line.a, line.d + position, line.theta)
    return DhParameters(line.alpha, line.a, line.d, line.theta + position)


def _check_q(limb: DhLimb, q: ArrayLike) -> Array:
    positions = np.asarray(q, dtype=np.float64)
    if positions.shape != (len(limb.rows),):
        raise ShapeError(
            f"q has shape {positions.shape}; limb '{limb.name}' needs "
            f"({len(limb.rows)},)"
        )
    if not np.isfinite(positions).all():
        raise ShapeError("q holds values that are not finite")
    return positions
