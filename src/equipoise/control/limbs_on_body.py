"""Limbs on a floating body, and what they do to the centre of mass.

Section 3.1 of [Choi2007] and its CoM Jacobians, Eq. (5) to (12). The body centre is the
robot's root link, at r_o with axes R_o. Twists are linear velocity of a point [m/s],
then angular velocity [rad/s], in world axes. A limb is described at one configuration
by :class:`LimbAt`: where its end is, and what its own joints do to end and CoM, seen
from the body.

Joints that belong to no limb that is resolved (a waist, a head, fingers) move as they
are told, or are fixed to the body centre. They may carry a limb; its end then moves by
so much more, and the equations hold for the rest of its twist:
:meth:`BodyAt.twist_of_others`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike, NDArray

from equipoise.arrays import Array
from equipoise.kinematics.leg_freedom import leg_freedom
from equipoise.robot.anatomy.soles import placement_in_body
from equipoise.robot.joint_coordinates import BASE_V
from equipoise.robot.model import Robot
from equipoise.robot.parts import Limb

BODY_CENTRE = 1
# Lengths are measured in limb lengths for singular values. Below this one a Jacobian is
# damped, by as much where it is singular and by nothing where it reaches it.
SINGULAR = 0.02


@dataclass(frozen=True, eq=False)
class LimbAt:
    """A limb at a configuration, in world axes, seen from the body centre.

    Attributes:
        name: Name of the limb.
        degrees: Its joints, as places in v[6:], shape (n,).
        lever: From the body centre to the end of the limb, R_o °r_i [m], shape (3,).
        jacobian: Twist of the end for its joints' velocities, J_i = X_o °J_i of
            Eq. (5), shape (6, n); or (6, n + 1): the last column is the turn of a sole
            about its normal that a leg without such a joint leaves free.
        com_jacobian: Velocity of the robot's CoM for them, J_ci = R_o °J_ci of Eq. (8),
            as many columns; that of a free turn is zero.
        length: Length of the limb [m].
    """

    name: str
    degrees: NDArray[np.int64]
    lever: Array
    jacobian: Array
    com_jacobian: Array
    length: float


@dataclass(frozen=True, eq=False)
class BodyAt:
    """A robot at a configuration.

    Attributes:
        robot: The robot.
        q: Configuration, shape (nq,).
        position: Body centre r_o [m], shape (3,).
        rotation: Its axes R_o, shape (3, 3).
        com: Centre of mass c [m], shape (3,).
        com_jacobian: Velocity of the CoM for the velocity of each joint while the body
            centre is at rest, in world axes, shape (3, nv - 6).
        joint_jacobians: What each joint does to the point of its body at the world's
            origin, linear part first, shape (6, nv - 6).
    """

    robot: Robot
    q: Array
    position: Array
    rotation: Array
    com: Array
    com_jacobian: Array
    joint_jacobians: Array
    _placements: dict[int, pin.SE3]

    def limb(self, name: str, joints: Sequence[str] | None = None) -> LimbAt:
        """Return a limb.

        Args:
            name: Its name.
            joints: Those of its joints that are resolved. All of them unless given; of
                a leg those that place its sole,
                :func:`~equipoise.kinematics.leg_freedom.leg_freedom`.

        Raises:
            NameNotFoundError: If there is no such limb or joint.
        """
        robot = self.robot
        limb = robot.limb(name)
        free_turn = False
        chosen = limb.joints if joints is None else tuple(joints)
        if limb.kind == "leg" and limb.side is not None:
            freedom = leg_freedom(robot)[limb.side]
            free_turn = freedom.yaw_free
            chosen = freedom.moved if joints is None else chosen
        degrees = np.array(
            [
                int(joint.idx_v) - BASE_V + part
                for joint in (robot.model.joints[robot.joint_id(x)] for x in chosen)
                for part in range(joint.nv)
            ],
            dtype=np.int64,
        )
        end, whole = self._end(limb)
        jacobian, com = whole[:, degrees], self.com_jacobian[:, degrees]
        if free_turn:
            # the foot may turn about its normal: its twist less that turn is wanted
            turn = np.concatenate([np.zeros(3), -end.rotation[:, 2]])
            jacobian = np.column_stack([jacobian, turn])
            com = np.column_stack([com, np.zeros(3)])
        lever = end.translation - self.position
        length = limb.length or robot.longest_limb
        return LimbAt(name, degrees, lever, jacobian, com, length)

    def twist_of_others(self, limb: LimbAt, joint_velocity: Array) -> Array:
        """Return the twist of a limb's end that joints beside its own cause, (6,).

        Args:
            limb: The limb.
            joint_velocity: Velocities of all joints, shape (nv - 6,); the limb's own
                are left out.
        """
        _, whole = self._end(self.robot.limb(limb.name))
        others = np.array(joint_velocity, dtype=np.float64)
        others[limb.degrees] = 0.0
        return np.asarray(whole @ others)

    def _end(self, limb: Limb) -> tuple[pin.SE3, Array]:
        """Return the pose of a limb's end, and its Jacobian for all joints."""
        model = self.robot.model
        sole = None
        if limb.kind == "leg" and limb.side is not None:
            sole = self.robot.soles.get(limb.side)
        if sole is not None:
            body, pose = placement_in_body(model, sole)
        else:
            frame = model.frames[self.robot.frame_id(limb.end_link)]
            body, pose = int(frame.parentJoint), frame.placement
        end = self._placements[body] * pose
        above = _degrees_above(self.robot, body)
        whole = np.where(above, self.joint_jacobians, 0.0)
        whole[:3] -= cross_matrix(end.translation) @ whole[3:]
        return end, whole


def body_at(robot: Robot, q: ArrayLike) -> BodyAt:
    """Return a robot at a configuration, shape (nq,).

    The columns of its CoM Jacobian are Eq. (9) of [Choi2007], each weighted as
    Eq. (10), in world axes: what hangs on a limb counts with it, so that they hold
    for limbs on limbs too. :func:`~equipoise.kinematics.limb_com.limb_com_jacobian`
    has those of one limb's own bodies.
    """
    q = robot.check_q(q)
    model, data = robot.model, robot.data
    com_jacobian = np.array(pin.jacobianCenterOfMass(model, data, q, False))
    com = np.array(data.com[0])
    jacobians = np.array(pin.computeJointJacobians(model, data, q))
    centre = data.oMi[BODY_CENTRE]
    return BodyAt(
        robot,
        q,
        np.array(centre.translation),
        np.array(centre.rotation),
        com,
        com_jacobian[:, BASE_V:],
        jacobians[:, BASE_V:],
        {body: data.oMi[body].copy() for body in range(BODY_CENTRE, model.njoints)},
    )


def cross_matrix(vector: Array) -> Array:
    """Return [a×], the matrix with [a×] b = a × b = −[b×] a, shape (3, 3)."""
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def limb_to_body(lever: Array) -> Array:
    """Return X_i of Eq. (5), from a limb's end to the body centre, shape (6, 6).

    X_i = [I, [R_o °r_i ×]; 0, I] takes the twist of the end of a rigid limb to that of
    the body centre.

    Args:
        lever: R_o °r_i [m], shape (3,).
    """
    transform = np.eye(6)
    transform[:3, 3:] = cross_matrix(lever)
    return transform


def limb_to_limb(lever: Array, base_lever: Array) -> Array:
    """Return X_i1 = X_i⁻¹ X_1 of Eq. (7), from the base limb's end to that of limb i.

    Args:
        lever: R_o °r_i [m], shape (3,).
        base_lever: R_o °r_1 [m], shape (3,).
    """
    return limb_to_body(base_lever - lever)


def limb_twist(limb: LimbAt, body_twist: Array, rates: Array) -> Array:
    """Return the twist of a limb's end, ẋ_i = X_i⁻¹ ẋ_o + J_i q̇_i: Eq. (5).

    Args:
        limb: The limb.
        body_twist: Twist of the body centre ẋ_o, shape (6,).
        rates: Velocities of the limb's joints q̇_i, shape (n,).
    """
    return np.asarray(limb_to_body(-limb.lever) @ body_twist + limb.jacobian @ rates)


def body_twist(limb: LimbAt, twist: Array, rates: Array) -> Array:
    """Return the body's twist from the base limb, ẋ_o = X_1 (ẋ_1 − J_1 q̇_1): Eq. (11).

    Args:
        limb: The base limb.
        twist: Twist of its end ẋ_1, shape (6,).
        rates: Velocities of its joints q̇_1, shape (n,).
    """
    return np.asarray(limb_to_body(limb.lever) @ (twist - limb.jacobian @ rates))


def compatibility_gap(
    limbs: tuple[LimbAt, LimbAt],
    twists: tuple[Array, Array],
    rates: tuple[Array, Array],
) -> Array:
    """Return by how much two limbs disagree on the body's twist, shape (6,).

    Zero is the compatibility condition X_i (ẋ_i − J_i q̇_i) = X_j (ẋ_j − J_j q̇_j),
    Eq. (6).
    """
    one, other = (
        body_twist(limb, twist, rate)
        for limb, twist, rate in zip(limbs, twists, rates, strict=True)
    )
    return one - other


def limb_rates(
    limb: LimbAt,
    inverse: DampedInverse,
    twist: Array,
    twist_of_body: Array,
    null_rates: Array,
) -> Array:
    """Return q̇_i = J_i⁺ ẋ_i − J_i⁺ X_i1 (ẋ_1 − J_1 q̇_1) + N_i q̇_0: Eq. (7), (19).

    X_i1 (ẋ_1 − J_1 q̇_1), what the base limb does to this one's end, is X_i⁻¹ ẋ_o by
    Eq. (11), so that the body's twist is enough.

    Args:
        limb: The limb i.
        inverse: J_i⁺ and N_i, from :func:`limb_inverse`.
        twist: Twist of its end ẋ_i, shape (6,).
        twist_of_body: Twist of the body centre ẋ_o, from :func:`body_twist`, (6,).
        null_rates: Velocities q̇_0 that a redundant limb would like, shape (n,); N_i
            keeps what of them does not move the limb's end.
    """
    carried = limb_to_body(-limb.lever) @ twist_of_body
    return np.asarray(
        inverse.inverse @ (twist - carried) + inverse.null_space @ null_rates
    )


def com_velocity(
    body: BodyAt, twist_of_body: Array, limbs: Sequence[LimbAt], rates: Sequence[Array]
) -> Array:
    """Return ċ = ṙ_o + ω_o × (c − r_o) + Σ J_ci q̇_i: Eq. (8), shape (3,).

    Args:
        body: The robot.
        twist_of_body: ẋ_o = (ṙ_o, ω_o), shape (6,).
        limbs: Limbs that move.
        rates: Velocities of their joints.
    """
    linear, angular = twist_of_body[:3], twist_of_body[3:]
    moved = linear + np.cross(angular, body.com - body.position)
    for limb, rate in zip(limbs, rates, strict=True):
        moved = moved + limb.com_jacobian @ rate
    return np.asarray(moved)


class DampedInverse(NamedTuple):
    """A pseudo-inverse, and how it was damped.

    Attributes:
        inverse: Pseudo-inverse, shape (n, m).
        null_space: Projection onto the null space, shape (n, n).
        damping: Damping λ, zero where the matrix is far from singular.
    """

    inverse: Array
    null_space: Array
    damping: float


def damped_inverse(
    matrix: Array, scale: Array, smallest: float = SINGULAR
) -> DampedInverse:
    """Return the pseudo-inverse of a matrix, damped near singularities.

    Each singular value σ is inverted as σ / (σ² + λ²), with
    λ² = ε² (1 − (σ_min / ε)²) where the smallest one is below ε, else 0: then it is
    the Moore–Penrose inverse of the scaled matrix. A direction that is damped is not
    given to the null space.

    Args:
        matrix: Shape (m, n).
        scale: Factors of its rows that make them comparable, shape (m,).
        smallest: ε, for the scaled matrix.
    """
    left, values, right = np.linalg.svd(scale[:, None] * matrix, full_matrices=False)
    least = float(values.min(initial=np.inf))
    damping = np.sqrt(max(smallest**2 - least**2, 0.0))
    inverted = values / (values**2 + damping**2)
    inverse = right.T @ (inverted[:, None] * left.T) * scale
    null_space = np.eye(matrix.shape[1]) - right.T @ right
    return DampedInverse(inverse, null_space, float(damping))


def twist_scale(length: float) -> Array:
    """Return factors of the rows of a twist: lengths in limb lengths, shape (6,)."""
    return np.repeat([1.0 / length, 1.0], 3)


def limb_inverse(limb: LimbAt, smallest: float = SINGULAR) -> DampedInverse:
    """Return J_i⁺ of Eq. (7), damped near singularities."""
    return damped_inverse(limb.jacobian, twist_scale(limb.length), smallest)


def _degrees_above(robot: Robot, body: int) -> NDArray[np.bool_]:
    """Return which joints move a body, shape (nv - 6,)."""
    above = np.zeros(robot.nv - BASE_V, dtype=bool)
    for parent in list(robot.model.supports[body])[2:]:  # the world, the base
        joint = robot.model.joints[parent]
        above[joint.idx_v - BASE_V : joint.idx_v - BASE_V + joint.nv] = True
    return above
