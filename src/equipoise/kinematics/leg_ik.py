"""Joint angles of a leg from the poses of base and sole, in closed form.

The leg of [Sanliturk2024] and all legs like it: three hip axes through one point, a
knee, two ankle axes through one point, in any order. With E_k the turn of joint k and
M the sole's pose with all joints at zero,

    T = E₁ E₂ E₃ E₄ E₅ E₆ M                                               Eq. (11)

1.  E₅ and E₆ leave the ankle a where it is, E₁ to E₃ the hip h. So the distance from
    hip to ankle is that of E₄ a to h, and depends on the knee alone:      Eq. (5)
2.  E₆⁻¹ E₅⁻¹ (E₄⁻¹ h) = M T⁻¹ h: two turns that take one known vector to another,
    which gives the ankle:                                                 Eq. (6), (7)
3.  R₁ R₂ R₃ is then a known rotation R. As R₃ leaves its own axis s₃ where it is,
    R₁ R₂ s₃ = R s₃ is again two turns, and R₃ is what remains:            Eq. (8)–(10)

Turns of one vector to another are the first two subproblems of Paden and Kahan, the
second one for axes at right angles. Equations (5), (8), (9) and (10) are corrected as
docs/errata.md says. Joint limits are not looked at.

Vectors are tuples of three components, each a number or an array of numbers: one leg
costs microseconds, and many go through at once by the same lines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, NameNotFoundError, ShapeError
from equipoise.kinematics.leg_geometry import Knee, LegGeometry, Number, Vector
from equipoise.kinematics.pose_arrays import check_poses

# Gaps below this are rounding [m].
REACHED = 1e-12
SMALLEST = 1e-300
TURN = 2.0 * math.pi


class Arithmetic(NamedTuple):
    """The functions of one kind of number."""

    sin: Callable[..., Number]
    cos: Callable[..., Number]
    sqrt: Callable[..., Number]
    atan2: Callable[..., Number]
    rint: Callable[..., Number]
    larger: Callable[..., Number]
    smaller: Callable[..., Number]


FLOATS = Arithmetic(math.sin, math.cos, math.sqrt, math.atan2, round, max, min)
ARRAYS = Arithmetic(
    np.sin, np.cos, np.sqrt, np.arctan2, np.rint, np.maximum, np.minimum
)


class TwoTurns(NamedTuple):
    """Two turns, and how far they leave a vector from another.

    Attributes:
        first: Angle about the first axis [rad].
        second: Angle about the second axis [rad].
        miss: Distance between the turned vector and its image [their unit].
    """

    first: Number
    second: Number
    miss: Number


def dot(one: Vector, other: Vector) -> Number:
    """Return the scalar product."""
    return one[0] * other[0] + one[1] * other[1] + one[2] * other[2]


def cross(one: Vector, other: Vector) -> Vector:
    """Return the vector product."""
    (a, b, c), (x, y, z) = one, other
    return b * z - c * y, c * x - a * z, a * y - b * x


def across(axis: Vector, vector: Vector) -> Vector:
    """Return a vector less its part along an axis."""
    (a, b, c), (x, y, z) = axis, vector
    along = a * x + b * y + c * z
    return x - along * a, y - along * b, z - along * c


def turn(axis: Vector, sine: Number, cosine: Number, vector: Vector) -> Vector:
    """Return a vector turned about an axis, by Rodrigues' formula."""
    (a, b, c), (x, y, z) = axis, vector
    along = (a * x + b * y + c * z) * (1.0 - cosine)
    return (
        x * cosine + (b * z - c * y) * sine + a * along,
        y * cosine + (c * x - a * z) * sine + b * along,
        z * cosine + (a * y - b * x) * sine + c * along,
    )


def angle_about(
    axis: Vector, start: Vector, end: Vector, arithmetic: Arithmetic
) -> Number:
    """Return the turn [rad] from one vector to another, both seen along the axis."""
    start, end = across(axis, start), across(axis, end)  # first: they may be short
    return arithmetic.atan2(dot(axis, cross(start, end)), dot(start, end))


def two_turns(
    first: Vector,
    second: Vector,
    vector: Vector,
    image: Vector,
    branch: float,
    arithmetic: Arithmetic,
) -> TwoTurns:
    """Return angles with R(first) R(second) vector = image.

    Between the turns, at z = R(second) vector, the part along the second axis is still
    the vector's and the part along the first is already the image's. The length gives
    the rest up to a sign.

    Args:
        first: Axis of the turn that is made last.
        second: Axis of the turn that is made first, at right angles to the other.
        vector: What is turned.
        image: What it becomes, of the same length.
        branch: Sign of z along first × second, 1 or -1.
        arithmetic: Arithmetic of the numbers.
    """
    larger, sqrt = arithmetic.larger, arithmetic.sqrt
    s, t = dot(vector, second), dot(image, first)
    (a, b, c), (d, e, f), (g, h, i) = first, second, cross(first, second)
    image_across = across(first, image)
    square = dot(image_across, image_across)  # |z|² - t²
    rest = square - s * s
    u = branch * sqrt(larger(rest, 0.0))
    z = (t * a + s * d + u * g, t * b + s * e + u * h, t * c + s * f + u * i)
    # Without such a z both parts are on one circle, but at different places of it.
    far = abs(t) - sqrt(larger(square + t * t - s * s, 0.0))
    wide = abs(s) - sqrt(square)
    return TwoTurns(
        angle_about(first, z, image, arithmetic),
        angle_about(second, vector, z, arithmetic),
        sqrt(far * far + wide * wide) * (rest < 0.0),
    )


class OutOfReachError(EquipoiseError):
    """A sole is farther from the hip than the leg is long, or nearer than it folds.

    Attributes:
        gap: How far the nearest posture leaves the sole from its place [m].
        row: Which of the poses it is.
    """

    def __init__(self, message: str, gap: float, row: int) -> None:
        super().__init__(message)
        self.gap = gap
        self.row = row


class LegAngles(NamedTuple):
    """Joint angles of a leg.

    Attributes:
        angles: From hip to foot [rad], shape (6,) or (n, 6).
        gap: How far the sole is from its place with these angles [m], zero where it
            is within reach, shape () or (n,).
    """

    angles: Array
    gap: Array


def leg_angles(
    leg: LegGeometry,
    transform_base_to_world: ArrayLike,
    transform_sole_to_world: ArrayLike,
    knee: Knee = "forward",
) -> Array:
    """Return the joint angles that put a sole in its place.

    Args:
        leg: From :func:`~equipoise.kinematics.leg_geometry.leg_geometry`.
        transform_base_to_world: Pose of the base, shape (4, 4) or (n, 4, 4).
        transform_sole_to_world: Pose of the sole, shape (4, 4) or (n, 4, 4).
        knee: Side to which the knee bends.

    Returns:
        Angles from hip to foot [rad], shape (6,) or (n, 6).

    Raises:
        OutOfReachError: If the leg is too short or cannot fold so far; the message
            says which pose, and by how much.
        ShapeError: If a pose is none.
        NameNotFoundError: If the knee is to bend to no such side.
    """
    found = nearest_leg_angles(
        leg, transform_base_to_world, transform_sole_to_world, knee
    )
    row = int(np.argmax(found.gap))
    gap = float(np.ravel(found.gap)[row])
    if gap > 0.0:
        where = f" at pose {row}" if found.gap.ndim else ""
        raise OutOfReachError(
            f"the {leg.side} sole is out of reach{where}: the nearest posture leaves "
            f"it {gap:.6g} m from its place; hip and ankle can be "
            f"{leg.reach[0]:.4g} m to {leg.reach[1]:.4g} m apart",
            gap,
            row,
        )
    return found.angles


def nearest_leg_angles(
    leg: LegGeometry,
    transform_base_to_world: ArrayLike,
    transform_sole_to_world: ArrayLike,
    knee: Knee = "forward",
) -> LegAngles:
    """Return joint angles, and how far off the sole is where it is out of reach.

    A leg that is too short is stretched towards the sole's place, one that cannot fold
    so far is folded; the sole's attitude is right in any case. Arguments and errors
    are those of :func:`leg_angles`, but for ``OutOfReachError``.
    """
    base = check_poses(transform_base_to_world, "transform_base_to_world")
    sole = check_poses(transform_sole_to_world, "transform_sole_to_world")
    try:
        to_base = np.swapaxes(base[..., :3, :3], -1, -2)
        rotation = to_base @ sole[..., :3, :3]
        position = (to_base @ (sole[..., :3, 3:] - base[..., :3, 3:]))[..., 0]
    except ValueError as error:
        raise ShapeError(
            f"poses of base and sole have shapes {base.shape} and {sole.shape}: "
            "both must be one or equally many"
        ) from error
    zero = leg.transform_sole_to_base
    moved = rotation @ zero[:3, :3].T
    to_ankle = position + moved @ (leg.ankle - zero[:3, 3]) - leg.hip
    return solve_legs(leg, moved, to_ankle, knee_sense(leg, knee))


def solve_legs(
    leg: LegGeometry, moved: Array, to_ankle: Array, sense: float
) -> LegAngles:
    """Return the angles of :func:`solve_leg` from arrays, without any check.

    Args:
        leg: The leg.
        moved: As there, shape (3, 3) or (n, 3, 3).
        to_ankle: As there [m], shape (3,) or (n, 3).
        sense: From :func:`knee_sense`.
    """
    if to_ankle.size == 3:  # plain numbers are faster
        one = moved.ravel().tolist(), to_ankle.ravel().tolist()
        angles_and_gap = solve_leg(leg, *one, sense)
    else:
        rows = moved.reshape(-1, 9).T
        angles_and_gap = solve_leg(leg, rows, to_ankle.T, sense, ARRAYS)
    shape = to_ankle.shape[:-1]
    *angles, gap = angles_and_gap
    return LegAngles(
        np.array(angles).T.reshape(*shape, 6), np.array(gap).reshape(shape)
    )


def knee_sense(leg: LegGeometry, knee: Knee) -> float:
    """Return which sign of the knee's angle bends it to a side."""
    senses = {"forward": leg.forward_sense, "backward": -leg.forward_sense}
    if knee not in senses:
        raise NameNotFoundError("knee direction", knee, senses, f"the {leg.side} leg")
    return senses[knee]


def solve_leg(
    leg: LegGeometry,
    moved: Iterable[Number],
    to_ankle: Iterable[Number],
    sense: float,
    arithmetic: Arithmetic = FLOATS,
) -> tuple[Number, ...]:
    """Return six angles [rad] and the sole's gap [m], without any check.

    Args:
        leg: The leg.
        moved: Rotation of T M⁻¹, that of the foot from joints at zero to its place,
            in base axes: nine numbers, row by row.
        to_ankle: From the hip to the ankle's place, in base axes [m].
        sense: From :func:`knee_sense`.
        arithmetic: Arithmetic of the numbers: floats, or arrays of shape (n,).
    """
    sin, cos, sqrt, atan2, rint, larger, smaller = arithmetic
    s1, s2, s3, s4, s5, s6 = leg.axis_tuples
    a, b, c, d, e, f, g, h, i = moved
    x, y, z = to_ankle
    distance = sqrt(x * x + y * y + z * z)

    # Eq. (5), corrected
    square = leg.lateral**2 + leg.thigh**2 + leg.shank**2
    cosine = (distance * distance - square) / (2.0 * leg.thigh * leg.shank)
    cosine = larger(smaller(cosine, 1.0), -1.0)
    bend = atan2(sqrt((1.0 - cosine) * (1.0 + cosine)), cosine)
    q4 = leg.straight + sense * bend

    # Eq. (6), (7): R₆⁻¹ R₅⁻¹ takes the hip as the shank sees it to where the foot does
    sine4, cosine4 = sin(q4), cos(q4)
    p, q, r = turn(s4, -sine4, cosine4, leg.knee_to_hip)
    u, v, w = leg.ankle_to_knee
    hip_in_shank = (p + u, q + v, r + w)
    length = sqrt(dot(hip_in_shank, hip_in_shank))
    scale = -length / larger(distance, SMALLEST)
    hip_in_foot = (
        (a * x + d * y + g * z) * scale,
        (b * x + e * y + h * z) * scale,
        (c * x + f * y + i * z) * scale,
    )
    branch = leg.ankle_branch
    minus_q6, minus_q5, miss = two_turns(
        s6, s5, hip_in_shank, hip_in_foot, branch, arithmetic
    )
    gap = abs(distance - length) + miss

    # Eq. (8), (9): R₁ R₂ s₃ = R s₃ with R = moved R₆⁻¹ R₅⁻¹ R₄⁻¹
    sine5, cosine5, sine6, cosine6 = (
        sin(minus_q5),
        cos(minus_q5),
        sin(minus_q6),
        cos(minus_q6),
    )

    def hip_turned(axis: Vector) -> Vector:
        axis = turn(s5, sine5, cosine5, turn(s4, -sine4, cosine4, axis))
        p, q, r = turn(s6, sine6, cosine6, axis)
        return (a * p + b * q + c * r, d * p + e * q + f * r, g * p + h * q + i * r)

    q1, q2, _ = two_turns(s1, s2, s3, hip_turned(s3), leg.hip_branch, arithmetic)

    # Eq. (10): what is left is R₃; s₂, at right angles to s₃, shows how far it turns
    image = turn(s1, -sin(q1), cos(q1), hip_turned(s2))
    image = turn(s2, -sin(q2), cos(q2), image)
    q3 = angle_about(s3, s2, image, arithmetic)

    angles = (q1, q2, q3, q4, -minus_q5, -minus_q6)
    nearest = (
        angle - TURN * rint((angle - standing) / TURN)
        for angle, standing in zip(angles, leg.standing_tuple, strict=True)
    )
    return (*nearest, gap * (gap > REACHED))
