"""Joint velocities of the legs that move the CoM as wanted, whatever other limbs do.

Sections 3.2 and 3.3 of [Choi2007]: the CoM Jacobian with embedded motion. Motions of
all limbs but the base limb are embedded in one equation for the CoM, whose only unknown
is the base limb's joint velocities,

    ċ = ṙ_1 + ω_1 × r_c1 + Σ J_ci J_i⁺ (ẋ_i − X_i1 ẋ_1) + J_em q̇_1      (Eq. 13)
    J_em = −J_v1 + r_c1 × J_ω1 + J_c1 + Σ J_ci J_i⁺ X_i1 J_1,

with r_c1 = c − r_1 and the sums over the limbs whose ends have a wanted twist: all of
them (fully specified), or the other leg (partially specified, while the arms' joint
velocities are given).

With both legs as base limb neither foot is preferred: the body's twist is the mean of
what both legs say, the compatibility condition makes six more equations, and all are
solved by least squares over both legs. Where the equations can be solved exactly, it
does not matter which limb is the base limb.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from equipoise.arrays import Array, frozen_array
from equipoise.control.limbs_on_body import (
    SINGULAR,
    BodyAt,
    DampedInverse,
    LimbAt,
    body_at,
    body_twist,
    cross_matrix,
    damped_inverse,
    limb_inverse,
    limb_rates,
    limb_to_body,
    limb_to_limb,
    twist_scale,
)
from equipoise.errors import EquipoiseError, NameNotFoundError, ShapeError
from equipoise.kinematics.leg_freedom import SIDES
from equipoise.robot.joint_coordinates import BASE_V
from equipoise.robot.model import Robot

BaseLimb = Literal["left", "right", "both"]
# Name of the base limb's own matrix among those that may be damped.
BASE = "base"
# In place of J_1⁺, which no equation needs.
NOT_INVERTED = DampedInverse(np.zeros((0, 6)), np.zeros((0, 0)), 0.0)


@dataclass(frozen=True, eq=False)
class EmbeddedMotion:
    """Joint velocities, resolved.

    Attributes:
        velocity: Velocity of base and joints, shape (nv,).
        body_twist: Twist of the body centre ẋ_o in world axes, shape (6,).
        damping: Damping of each matrix that was inverted, zero where none was needed:
            by limb for J_i⁺, ``"base"`` for that of Eq. (16) or (18). It has no unit:
            lengths are measured in limb lengths.
    """

    velocity: Array
    body_twist: Array
    damping: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Embedded:
    """A limb other than the base limb with the wanted twist of its end.

    Attributes:
        limb: The limb.
        inverse: J_i⁺ and its null space.
        twist: Wanted twist of its end ẋ_i, less what joints that are given do to it,
            shape (6,).
        null_rates: Joint velocities that it would like, shape (n,).
    """

    limb: LimbAt
    inverse: DampedInverse
    twist: Array
    null_rates: Array


def com_velocity_by_base(
    body: BodyAt,
    base: LimbAt,
    base_twist: Array,
    base_rates: Array,
    others: Sequence[Embedded],
    given_com_velocity: Array,
) -> Array:
    """Return the CoM's velocity with a base foot that may move: Eq. (13), shape (3,).

    Args:
        body: The robot.
        base: The base limb.
        base_twist: Twist of its end ẋ_1, shape (6,).
        base_rates: Velocities of its joints q̇_1, shape (n_1,).
        others: Limbs whose ends have a wanted twist.
        given_com_velocity: What joints that are given add, Σ J_ci q̇_i, shape (3,).
    """
    jacobian = embedded_com_jacobian(body, base, others)
    rest = embedded_com_velocity(body, base, base_twist, others, given_com_velocity)
    return np.asarray(jacobian @ base_rates + rest)


def embedded_com_jacobian(
    body: BodyAt, base: LimbAt, others: Sequence[Embedded]
) -> Array:
    """Return J_fsem of Eq. (14), or J_psem of Eq. (20), shape (3, n_1).

    −J_v1 + r_c1 × J_ω1 + J_c1 + Σ J_ci J_i⁺ X_i1 J_1: what the body, the base limb and
    the limbs that make up for it do to the CoM. It is J_fsem where ``others`` are all
    other limbs, J_psem where they are the other leg.
    """
    com_from_base = body.com - body.position - base.lever  # r_c1
    linear, angular = base.jacobian[:3], base.jacobian[3:]
    found = -linear + cross_matrix(com_from_base) @ angular + base.com_jacobian
    for other in others:
        carried = limb_to_limb(other.limb.lever, base.lever) @ base.jacobian
        found = found + other.limb.com_jacobian @ other.inverse.inverse @ carried
    return np.asarray(found)


def embedded_com_velocity(
    body: BodyAt,
    base: LimbAt,
    base_twist: Array,
    others: Sequence[Embedded],
    given_com_velocity: Array,
) -> Array:
    """Return what moves the CoM beside the base limb's joints, shape (3,).

    The terms of Eq. (13) without q̇_1: base foot, limbs with a wanted twist, joints
    that are given. With the base foot at rest it is what Eq. (15), (17) and (20)
    subtract from ċ.
    """
    com_from_base = body.com - body.position - base.lever
    moved = base_twist[:3] + cross_matrix(base_twist[3:]) @ com_from_base
    moved = moved + given_com_velocity
    for other in others:
        relative = other.twist - limb_to_limb(other.limb.lever, base.lever) @ base_twist
        rates = other.inverse.inverse @ relative
        rates = rates + other.inverse.null_space @ other.null_rates
        moved = moved + other.limb.com_jacobian @ rates
    return np.asarray(moved)


def base_limb_rates(
    body: BodyAt,
    base: LimbAt,
    base_twist: Array,
    others: Sequence[Embedded],
    given_com_velocity: Array,
    wanted: Array,
    null_rates: Array,
    smallest: float = SINGULAR,
) -> tuple[Array, float]:
    """Return the base limb's joint velocities, Eq. (16) or (18), and the damping.

    [J_em; −J_ω1] q̇_1 = [ċ_d − (what else moves the CoM); ω_o,d − ω_1].

    Args:
        body: The robot.
        base: The base limb.
        base_twist: Twist of its end ẋ_1, shape (6,).
        others: Limbs whose ends have a wanted twist.
        given_com_velocity: What joints that are given add to ċ, shape (3,).
        wanted: Wanted velocity of the CoM ċ_d, then the body's wanted angular velocity
            ω_o,d, shape (6,).
        null_rates: Joint velocities that a redundant base limb would like, (n_1,).
        smallest: Singular value below which the matrix is damped.
    """
    rest = embedded_com_velocity(body, base, base_twist, others, given_com_velocity)
    matrix = np.vstack([embedded_com_jacobian(body, base, others), -base.jacobian[3:]])
    inverse = damped_inverse(matrix, twist_scale(base.length), smallest)
    right_side = wanted - np.concatenate([rest, base_twist[3:]])
    rates = inverse.inverse @ right_side + inverse.null_space @ null_rates
    return np.asarray(rates), inverse.damping


def both_legs_rates(
    body: BodyAt,
    legs: tuple[LimbAt, LimbAt],
    twists: tuple[Array, Array],
    others: Sequence[Embedded],
    given_com_velocity: Array,
    wanted: Array,
    null_rates: Array,
    smallest: float = SINGULAR,
) -> tuple[Array, float]:
    """Return joint velocities of both legs as base limbs, and the damping.

    Eq. (13) and ω_o for the mean of both legs' say on the body's twist, and Eq. (6)
    for its difference: twelve equations for the joints of both legs.

    Args:
        body: The robot.
        legs: Both legs.
        twists: Twists of their soles, shape (6,) each.
        others: Limbs whose ends have a wanted twist, without the legs.
        given_com_velocity: As for :func:`base_limb_rates`.
        wanted: As for :func:`base_limb_rates`.
        null_rates: For both legs, shape (n_1 + n_2,).
        smallest: Singular value below which the matrix is damped.
    """
    means, gaps = [], []
    rest = wanted.copy()
    gap = np.zeros(6)
    # Eq. (13) is linear in q̇_1 and ẋ_1: half of it by each leg, what both embed once
    shared = embedded_com_velocity(
        body, legs[0], np.zeros(6), others, given_com_velocity
    )
    rest[:3] -= shared
    for leg, twist, sign in zip(legs, twists, (1.0, -1.0), strict=True):
        own = embedded_com_velocity(body, leg, twist, others, given_com_velocity)
        rest[:3] -= 0.5 * (own - shared)
        rest[3:] -= 0.5 * twist[3:]
        jacobian = embedded_com_jacobian(body, leg, others) - leg.com_jacobian
        whole = np.vstack([0.5 * jacobian + leg.com_jacobian, -0.5 * leg.jacobian[3:]])
        means.append(whole)
        to_body = limb_to_body(leg.lever)
        gaps.append(sign * to_body @ leg.jacobian)
        gap += sign * to_body @ twist
    matrix = np.vstack([np.hstack(means), np.hstack(gaps)])
    scale = np.tile(twist_scale(0.5 * (legs[0].length + legs[1].length)), 2)
    inverse = damped_inverse(matrix, scale, smallest)
    rates = inverse.inverse @ np.concatenate([rest, gap])
    return np.asarray(rates + inverse.null_space @ null_rates), inverse.damping


def resolve(
    robot: Robot,
    q: ArrayLike,
    com_velocity: ArrayLike,
    *,
    twists: Mapping[str, ArrayLike] | None = None,
    joint_velocity: ArrayLike | None = None,
    body_angular_velocity: ArrayLike = (0.0, 0.0, 0.0),
    base: BaseLimb = "left",
    joints: Mapping[str, Sequence[str]] | None = None,
    posture: ArrayLike | None = None,
    posture_gain: float = 1.0,
    smallest: float = SINGULAR,
) -> EmbeddedMotion:
    """Return joint velocities with the wanted velocity of the CoM.

    Limbs named in ``twists``, and both legs in any case, are resolved by their ends;
    all other joints move as ``joint_velocity`` says. With all limbs named, motion is
    fully specified, Eq. (16) and (17) of [Choi2007]; otherwise partially, Eq. (18) to
    (20).

    Args:
        robot: The robot.
        q: Configuration, shape (nq,).
        com_velocity: Wanted velocity of the CoM [m/s], shape (3,).
        twists: Wanted twists of limbs' ends by limb, in world axes, shape (6,) each:
            of a leg that of its sole, else that of its end link. A leg that is not
            named stands still.
        joint_velocity: Velocities of the joints [rad/s or m/s], shape (nv - 6,); those
            of joints that are resolved are ignored. All at rest unless given.
        body_angular_velocity: Wanted angular velocity of the body centre in world axes
            [rad/s], shape (3,).
        base: The base limb: the leg on one side, or both.
        joints: Joints that are resolved by limb, where not those of
            :meth:`~equipoise.control.limbs_on_body.BodyAt.limb`: all of a redundant
            leg, for example.
        posture: Configuration that redundant limbs go to in their null space, shape
            (nq,); none unless given.
        posture_gain: Rate at which they do [1/s].
        smallest: Singular value below which a matrix is damped, lengths measured in
            limb lengths.

    Raises:
        NameNotFoundError: If there is no such limb, joint or base.
        ShapeError: If an array has a wrong shape.
        EquipoiseError: If the robot has no two legs.
    """
    if base not in ("left", "right", "both"):
        raise NameNotFoundError("base limb", base, ("left", "right", "both"), "resolve")
    body = body_at(robot, q)
    ends = {robot.legs[side].name: np.zeros(6) for side in SIDES}
    ends |= {
        name: _vector(twist, 6, f"twists['{name}']")
        for name, twist in (twists or {}).items()
    }
    limbs = {name: body.limb(name, (joints or {}).get(name)) for name in ends}
    _check_separate(robot, limbs)
    count = robot.nv - BASE_V
    given = np.zeros(count)
    if joint_velocity is not None:
        given = _vector(joint_velocity, count, "joint_velocity").copy()
    liked = np.zeros(count)
    if posture is not None:
        step = pin.difference(robot.model, body.q, robot.check_q(posture))
        liked = posture_gain * np.asarray(step)[BASE_V:]
    for limb in limbs.values():
        given[limb.degrees] = 0.0
    wanted = np.concatenate(
        [
            _vector(com_velocity, 3, "com_velocity"),
            _vector(body_angular_velocity, 3, "body_angular_velocity"),
        ]
    )
    given_com = body.com_jacobian @ given
    base_names = [robot.legs[side].name for side in SIDES if base in (side, "both")]
    embedded = {
        name: Embedded(
            limb,
            NOT_INVERTED if name in base_names else limb_inverse(limb, smallest),
            ends[name] - body.twist_of_others(limb, given),
            _padded(limb, liked),
        )
        for name, limb in limbs.items()
    }
    legs = [embedded.pop(name) for name in base_names]
    others = list(embedded.values())
    rest = (others, given_com, wanted)
    if len(legs) == 1:
        rates, damping = base_limb_rates(
            body, legs[0].limb, legs[0].twist, *rest, legs[0].null_rates, smallest
        )
        of_legs = [rates]
    else:
        one, two = legs
        rates, damping = both_legs_rates(
            body,
            (one.limb, two.limb),
            (one.twist, two.twist),
            *rest,
            np.concatenate([one.null_rates, two.null_rates]),
            smallest,
        )
        of_legs = np.split(rates, [one.limb.jacobian.shape[1]])
    says = [
        body_twist(leg.limb, leg.twist, own)
        for leg, own in zip(legs, of_legs, strict=True)
    ]
    moved = np.mean(says, axis=0)
    found = given.copy()
    for leg, own in zip(legs, of_legs, strict=True):
        found[leg.limb.degrees] = own[: len(leg.limb.degrees)]
    for other in others:
        own = limb_rates(
            other.limb, other.inverse, other.twist, moved, other.null_rates
        )
        found[other.limb.degrees] = own[: len(other.limb.degrees)]
    in_body = np.concatenate([body.rotation.T @ part for part in np.split(moved, 2)])
    return EmbeddedMotion(
        frozen_array(np.concatenate([in_body, found])),
        frozen_array(moved),
        {
            BASE: damping,
            **{name: item.inverse.damping for name, item in embedded.items()},
        },
    )


def _padded(limb: LimbAt, liked: Array) -> Array:
    """Return velocities of a limb's joints, zero for a free turn of its sole."""
    rates = np.zeros(limb.jacobian.shape[1])
    rates[: len(limb.degrees)] = liked[limb.degrees]
    return rates


def _vector(values: ArrayLike, count: int, name: str) -> Array:
    vector = np.asarray(values, dtype=np.float64)
    if vector.shape != (count,) or not np.isfinite(vector).all():
        raise ShapeError(f"{name} must be {count} finite numbers")
    return vector


def _check_separate(robot: Robot, limbs: Mapping[str, LimbAt]) -> None:
    """Refuse limbs of which one hangs on another one's joints."""
    for name, limb in limbs.items():
        own = {joint for joint in robot.limb(name).joints}
        for other in limbs:
            if other == name:
                continue
            first = robot.joint_id(robot.limb(other).joints[0])
            above = {robot.model.names[body] for body in robot.model.supports[first]}
            if own & above and len(limb.degrees):
                raise EquipoiseError(
                    f"{robot.name}: limb '{other}' hangs on limb '{name}'; the ends of "
                    "both cannot be specified: give the joint velocities of one"
                )
