"""Turns about fixed axes: the two small problems that a leg is solved by.

They are the first two subproblems of Paden and Kahan, the second one for axes at right
angles. Vectors are tuples of three components, each a number or an array of numbers:
one leg costs microseconds, and many go through at once by the same lines.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

Number: TypeAlias = Any  # a float, or an array of them
Vector: TypeAlias = tuple[Number, Number, Number]


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
