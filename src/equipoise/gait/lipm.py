r"""The linear inverted pendulum in closed form, over a whole walk.

With ω² = g / z the pendulum obeys, in all three axes,

    c̈ = ω² (c − p − h),   h = (0, 0, g / ω²),

Eq. (12)–(13) of [Sanliturk2024] with the ZMP p written out. It assumes a constant ω and
no angular momentum about the centre of mass c. On level ground its height above the
ground is then the constant z. On stairs p_z rises from foot to foot and c_z follows
smoothly; contact force and gravity then still add up to m c̈ with the force's line
through p exactly, so that nothing is left out for a point mass. (With the height held
by other means and ω kept, as is often done, the ZMP would be off.)

Where p moves linearly, c − p − h = A exp(ω(t − t₁)) + B exp(−ω(t − t₀)). The growing
part follows from the end backwards (ξ = c + ċ/ω, the divergent component of motion),
the decaying part from the start forwards (η = c − ċ/ω); both are well conditioned for
any number of steps. A constant p gives Eq. (53) of [Sariyildiz2015].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from equipoise.arrays import Array, frozen_array


@dataclass(frozen=True, eq=False)
class LipmMotion:
    """A pendulum over a piecewise linear ZMP; the CoM is C² where the ZMP is C⁰.

    Attributes:
        omega: Natural frequency ω [1/s].
        height: Height of the CoM above the ZMP at rest, g / ω² [m].
        times: Knots, increasing [s], shape (m,); twice the same is a jump of the ZMP,
            where the CoM is C¹.
        zmp: ZMP at the knots [m], shape (m, 3).
        dcm: ξ at the knots [m], shape (m, 3).
        stable: η at the knots [m], shape (m, 3).
    """

    omega: float
    height: float
    times: Array
    zmp: Array
    dcm: Array
    stable: Array

    def at(self, times: Array) -> ComTable:
        """Return the motion at times within it [s], shape (n,)."""
        last = len(self.times) - 1
        k = np.clip(np.searchsorted(self.times, times, side="right"), 1, last)
        start, end = self.times[k - 1], self.times[k]
        duration = end - start
        fraction = np.divide(
            times - start, duration, out=np.zeros_like(times), where=duration > 0.0
        )[:, None]
        p0, p1 = self.zmp[k - 1], self.zmp[k]
        zmp = p0 + fraction * (p1 - p0)
        slope = np.divide(
            p1 - p0,
            duration[:, None],
            out=np.zeros_like(p0),
            where=duration[:, None] > 0.0,
        )
        up = np.array([0.0, 0.0, self.height])
        rate = slope / self.omega
        growing = (self.dcm[k] - p1 - up - rate) / 2.0
        growing *= np.exp(self.omega * (times - end))[:, None]
        decaying = (self.stable[k - 1] - p0 - up + rate) / 2.0
        decaying *= np.exp(-self.omega * (times - start))[:, None]
        return ComTable(
            com=zmp + up + growing + decaying,
            velocity=slope + self.omega * (growing - decaying),
            acceleration=self.omega**2 * (growing + decaying),
            zmp=zmp,
        )


def at_rest_at_both_ends(
    times: Array, zmp: Array, shapes: Array, omega: float, height: float
) -> LipmMotion:
    """Return the pendulum that starts and ends at rest above the ZMP.

    At rest at both ends are two conditions more than a pendulum can meet over a given
    ZMP. So the ZMP may change a little at its start and its end: by what is found
    here, times two shapes. A robot does the same: its weight goes towards the foot
    that will swing before it goes to the other one.

    Args:
        times: Knots, increasing [s], shape (m,).
        zmp: ZMP at the knots [m], shape (m, 3).
        shapes: Two shapes of change of the ZMP, at the knots, shape (2, m); zero at
            the first and the last.
        omega: Natural frequency ω [1/s].
        height: Height of the CoM above the ZMP at rest [m].
    """
    up = np.array([0.0, 0.0, height])
    start = LipmState(zmp[0] + up, np.zeros(3))
    return at_rest_at_the_end(times, zmp, shapes, omega, height, start)


class LipmState(NamedTuple):
    """A pendulum at one time.

    Attributes:
        com: Position of the centre of mass [m], shape (3,).
        velocity: Its velocity [m/s], shape (3,).
    """

    com: Array
    velocity: Array


def at_rest_at_the_end(
    times: Array,
    zmp: Array,
    shapes: Array,
    omega: float,
    height: float,
    start: LipmState,
) -> LipmMotion:
    """Return the pendulum that begins in a state and ends at rest above the ZMP.

    Args:
        times: Knots, increasing [s], shape (m,).
        zmp: ZMP at the knots [m], shape (m, 3).
        shapes: Two shapes of change of the ZMP, at the knots, shape (2, m), as of
            :func:`at_rest_at_both_ends`; what the state at the start asks for comes
            out of the first, rest at the end mostly out of the second.
        omega: Natural frequency ω [1/s].
        height: Height of the CoM above the ZMP at rest [m].
        start: State at the first knot.
    """
    up = np.array([0.0, 0.0, height])
    forwards, backwards = _weights(times, omega)
    to_start = _from_end(forwards, np.eye(len(times)))[0]
    to_end = _from_start(backwards, np.eye(len(times)))[-1]
    # in excess of rest above the first ZMP, which fades
    fades = np.exp(-omega * (times - times[0]))[:, None]
    dcm = start.com + start.velocity / omega - up
    stable = start.com - start.velocity / omega - up
    # ξ at the start is given, η at the end must be the ZMP: two equations an axis; the
    # shapes are zero at the first knot
    lasting = fades * (stable - zmp[0])
    missing = np.stack([dcm - to_start @ zmp, zmp[-1] - to_end @ zmp - lasting[-1]])
    effect = np.stack([shapes @ to_start, shapes @ to_end])
    moved = zmp + shapes.T @ np.linalg.solve(effect, missing)
    return LipmMotion(
        float(omega),
        float(height),
        frozen_array(times),
        frozen_array(moved),
        frozen_array(_from_end(forwards, moved) + up),
        frozen_array(_from_start(backwards, moved) + lasting + up),
    )


def _weights(times: Array, omega: float) -> tuple[Array, Array]:
    """Return what ξ at a knot, and η at the next, take of p₀, p₁ and their neighbour.

    ξ(t₀) = ∫ ω exp(−ωs) p ds + exp(−ωT) ξ(t₁) with p linear; η is its mirror image.
    """
    span = omega * np.diff(times)
    fade = np.exp(-span)
    # (1 − e⁻ˢ(1 + s)) / s; below, its series, where the difference would be rounding
    far = np.where(
        span > 1e-4,
        (1.0 - fade * (1.0 + span)) / np.where(span > 1e-4, span, 1.0),
        span / 2.0 - span**2 / 3.0,
    )
    near = -np.expm1(-span) - far
    return np.stack([near, far, fade], axis=1), np.stack([far, near, fade], axis=1)


def _from_end(weights: Array, points: Array) -> Array:
    """Return ξ (without h) at the knots, from rest at the last."""
    dcm = np.array(points, dtype=np.float64)
    for k in range(len(points) - 2, -1, -1):
        near, far, fade = weights[k]
        dcm[k] = near * points[k] + far * points[k + 1] + fade * dcm[k + 1]
    return dcm


def _from_start(weights: Array, points: Array) -> Array:
    """Return η (without h) at the knots, from rest at the first."""
    stable = np.array(points, dtype=np.float64)
    for k in range(1, len(points)):
        far, near, fade = weights[k - 1]
        stable[k] = far * points[k - 1] + near * points[k] + fade * stable[k - 1]
    return stable


class ComTable(NamedTuple):
    """A motion of the centre of mass at n times.

    Attributes:
        com: Position in the world [m], shape (n, 3).
        velocity: [m/s], shape (n, 3).
        acceleration: [m/s²], shape (n, 3).
        zmp: Where the zero-moment point is meant to be [m], shape (n, 3).
    """

    com: Array
    velocity: Array
    acceleration: Array
    zmp: Array


class ComMotion(Protocol):
    """A motion of the centre of mass over time."""

    def at(self, times: Array) -> ComTable:
        """Return the motion at times within it [s], shape (n,)."""
        ...


@dataclass(frozen=True)
class CorrectedMotion:
    """A motion of the centre of mass with a small one on top.

    The ZMP stays that of the first: the second is there to bring it about.

    Attributes:
        planned: What is corrected.
        correction: What is added to position, velocity and acceleration.
    """

    planned: ComMotion
    correction: ComMotion

    def at(self, times: Array) -> ComTable:
        """Return the motion at times within it [s], shape (n,)."""
        planned, added = self.planned.at(times), self.correction.at(times)
        return ComTable(
            planned.com + added.com,
            planned.velocity + added.velocity,
            planned.acceleration + added.acceleration,
            planned.zmp,
        )


@dataclass(frozen=True, eq=False)
class ShiftedMotion:
    """A pendulum whose ZMP is shifted to bring about another one.

    The whole robot has its ZMP beside the pendulum's. Where that is known, the
    pendulum's is shifted the other way, and the one that is meant comes out.

    Attributes:
        pendulum: The pendulum, over the ZMP that is meant and the shift.
        times: Knots of the shift, increasing [s], shape (m,).
        shift: The shift, linear in between and constant outside [m], shape (m, 3).
    """

    pendulum: LipmMotion
    times: Array
    shift: Array

    def at(self, times: Array) -> ComTable:
        """Return the motion at times within it [s], shape (n,); its ZMP as meant."""
        moved = self.pendulum.at(times)
        return moved._replace(zmp=moved.zmp - self.shift_at(times))

    def shift_at(self, times: Array) -> Array:
        """Return the shift at times [s], shape (n, 3)."""
        return between(times, self.times, self.shift)


def between(times: Array, knots: Array, values: Array) -> Array:
    """Return values at times, linear between knots and constant outside, shape (n, k).

    Args:
        times: Shape (n,) [s].
        knots: Increasing, shape (m,) [s].
        values: At the knots, shape (m, k).
    """
    return np.stack([np.interp(times, knots, axis) for axis in values.T], axis=1)
