r"""Virtual constraints, and the feedback that imposes them.

Swing leg and torso follow the stance leg as if gears connected them: the outputs

    y = (θ₂ − h₂(θ₁), θ₃ − h₃(θ₁))

are to be zero, h being polynomials or Bézier curves of the phase θ₁. The outputs have
relative degree two, ÿ = L_f²h + L_gL_fh u, and u = (L_gL_fh)⁻¹ (v − L_f²h) makes them
two double integrators ÿ = v, which a law v(y, ẏ) brings to zero: the PD law of
[Westervelt2003] exponentially, that of Bernstein and Bhat [Bhat1998] within a finite
time.

The decoupling matrix L_gL_fh need not be inverted. The torques act between links, so
that the rows of D θ̈ + C θ̇ + G = B u add up to an equation without u, the rate of the
angular momentum about the stance foot; with θ̈₂ and θ̈₃ from ÿ = v it gives θ̈₁, and
two rows then give u. What divides is the inertia that θ₁ moves,

    I = Σᵢ (Dᵢ₁ + h₂′ Dᵢ₂ + h₃′ Dᵢ₃),   det L_gL_fh = I / det D,

and so the decoupling matrix is singular just where I is zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import comb
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.errors import ShapeError
from equipoise.planar.parameters import PlanarModelError
from equipoise.planar.three_link import ThreeLink

# Of the stance leg's own inertia D₁₁: below it the decoupling matrix counts as
# singular.
SINGULAR = 1e-9

# Normalised phases between which Bézier curves are followed, 0 and 1 being their ends.
REACH = (-0.15, 1.15)

# A float, or an array with one entry for each of many states: the same lines of code
# serve for one state, where floats are fast, and for thousands.
Scalar = Any


class CurvePoint(NamedTuple):
    """A curve at a phase.

    Attributes:
        value: h [rad].
        slope: dh/dθ₁.
        curvature: d²h/dθ₁² [1/rad].
    """

    value: Scalar
    slope: Scalar
    curvature: Scalar


@dataclass(frozen=True)
class Curve:
    """A polynomial h of the normalised phase s = (θ₁ − origin) / scale.

    Attributes:
        coefficients: Of s⁰, s¹, …
        origin: θ₁ at s = 0 [rad].
        scale: Change of θ₁ from s = 0 to s = 1 [rad].
        reach: s between which the polynomial holds; beyond, the curve goes on straight.
    """

    coefficients: tuple[float, ...]
    origin: float = 0.0
    scale: float = 1.0
    reach: tuple[float, float] = (-math.inf, math.inf)

    def at(self, phase: Scalar) -> CurvePoint:
        """Return value, slope and curvature at θ₁, a float or an array [rad]."""
        asked = (phase - self.origin) / self.scale
        if isinstance(asked, float):
            s = min(max(asked, self.reach[0]), self.reach[1])
        else:
            s = np.clip(asked, *self.reach)
        value = slope = half_curvature = 0.0 * s
        for coefficient in reversed(self.coefficients):  # Horner, three times at once
            half_curvature = half_curvature * s + slope
            slope = slope * s + value
            value = value * s + coefficient
        value = value + slope * (asked - s)
        curvature = 2.0 * half_curvature * (asked == s) / self.scale**2
        return CurvePoint(value, slope / self.scale, curvature)


def polynomial(coefficients: ArrayLike) -> Curve:
    """Return the curve of the coefficients a₀, a₁, a₂, … of powers of θ₁."""
    return Curve(_numbers(coefficients))


def bezier(coefficients: ArrayLike, start: float, end: float) -> Curve:
    """Return the Bézier curve of control points over θ₁ from start to end [rad].

    Its ends are the first and the last control point; its slopes there are those of the
    first and the last leg of the control polygon. A little beyond the ends it goes on
    straight, since a biped that stumbles should not be sent after a polynomial.
    """
    if start == end:
        raise PlanarModelError("a Bézier curve needs two phases, not twice the same")
    points = _numbers(coefficients)
    degree = len(points) - 1
    powers = []
    for j in range(degree + 1):
        signed = sum((-1) ** (i + j) * comb(j, i) * points[i] for i in range(j + 1))
        powers.append(comb(degree, j) * signed)
    return Curve(tuple(powers), start, end - start, REACH)


def _numbers(values: ArrayLike) -> tuple[float, ...]:
    array = np.atleast_1d(np.asarray(values, dtype=np.float64))
    if array.ndim != 1 or array.size == 0 or not np.isfinite(array).all():
        raise ShapeError(
            f"coefficients are a row of finite numbers, not of shape {array.shape}"
        )
    return tuple(array.tolist())


class ConstraintPath(NamedTuple):
    """A path through the configurations, each part of shape (…, 3).

    Attributes:
        configuration: θ [rad].
        tangent: dθ/dθ₁ = (1, h₂′, h₃′).
        bend: d²θ/dθ₁² = (0, h₂″, h₃″) [1/rad].
    """

    configuration: Array
    tangent: Array
    bend: Array


@dataclass(frozen=True)
class VirtualConstraints:
    """h₂ of the swing leg and h₃ of the torso, over the stance leg's angle.

    Attributes:
        swing: θ₂ as a function of θ₁.
        torso: θ₃ as a function of θ₁.
    """

    swing: Curve
    torso: Curve

    def path(self, phase: ArrayLike) -> ConstraintPath:
        """Return θ and its derivatives by θ₁ on the constraints at θ₁ [rad]."""
        angle = np.asarray(phase, dtype=np.float64)
        swing, torso = self.swing.at(angle), self.torso.at(angle)
        path = np.zeros((3, *angle.shape, 3))
        path[0, ..., 0], path[1, ..., 0] = angle, 1.0
        for i in range(3):
            path[i, ..., 1], path[i, ..., 2] = swing[i], torso[i]
        return ConstraintPath(*path)

    def configuration(self, phase: ArrayLike) -> Array:
        """Return θ on the constraints at θ₁ [rad], shape (…, 3)."""
        return self.path(phase).configuration

    def tangent(self, phase: ArrayLike) -> Array:
        """Return dθ/dθ₁ = (1, h₂′, h₃′) on the constraints, shape (…, 3)."""
        return self.path(phase).tangent

    def state(self, phase: ArrayLike, rate: ArrayLike) -> Array:
        """Return the state on the constraints at θ₁ [rad] and θ̇₁ [rad/s], (…, 6)."""
        path = self.path(phase)
        rates = np.asarray(rate, dtype=np.float64)[..., None] * path.tangent
        angles = np.broadcast_to(path.configuration, rates.shape)
        return np.concatenate([angles, rates], axis=-1)

    def outputs(self, x: ArrayLike) -> tuple[Array, Array]:
        """Return y [rad] and ẏ [rad/s] of states, each of shape (…, 2)."""
        state = np.asarray(x, dtype=np.float64)
        theta, rate = state[..., :3], state[..., 3:]
        path = self.path(theta[..., 0])
        y = theta - path.configuration
        dy = rate - rate[..., :1] * path.tangent
        return y[..., 1:], dy[..., 1:]

    def decoupling_matrix(self, model: ThreeLink, x: ArrayLike) -> Array:
        """Return L_gL_fh, shape (…, 2, 2)."""
        state = np.asarray(x, dtype=np.float64)
        return np.asarray(self._gradient(state[..., 0]) @ model.g(state)[..., 3:, :])

    def drift(self, model: ThreeLink, x: ArrayLike) -> Array:
        """Return L_f²h, ÿ without torques, shape (…, 2)."""
        state = np.asarray(x, dtype=np.float64)
        phase, rate = state[..., 0], state[..., 3]
        along = self._gradient(phase) @ model.f(state)[..., 3:, None]
        bend = self.path(phase).bend[..., 1:] * rate[..., None] ** 2
        return np.asarray(along[..., 0] - bend)

    def _gradient(self, phase: Array) -> Array:
        """Return ∂h/∂θ, shape (…, 2, 3)."""
        rows = np.zeros((*phase.shape, 2, 3))
        rows[..., 0] = -self.tangent(phase)[..., 1:]
        rows[..., 0, 1] = rows[..., 1, 2] = 1.0
        return rows


class OutputLaw(Protocol):
    """A law v(y, ẏ) that brings one double integrator ÿ = v to zero."""

    def __call__(self, y: Scalar, dy: Scalar) -> Scalar:
        """Return v [rad/s²] of an output [rad] and its rate [rad/s]."""
        ...


@dataclass(frozen=True)
class PD:
    """v = −(k_p y / ε² + k_d ẏ / ε): exponential, with time constants around ε.

    Attributes:
        time_scale: ε [s].
        stiffness: k_p.
        damping: k_d; 2 √k_p is critical.
    """

    time_scale: float
    stiffness: float = 1.0
    damping: float = 2.0

    def __post_init__(self) -> None:
        _check_time_scale(self.time_scale)

    def __call__(self, y: Scalar, dy: Scalar) -> Scalar:
        """Return v [rad/s²]."""
        fast = self.time_scale
        return -(self.stiffness * y / fast + self.damping * dy) / fast


@dataclass(frozen=True)
class FiniteTime:
    """v = ψ(y, ε ẏ) / ε² of [Bhat1998]: zero within a finite time, without sliding.

    With sign-preserving powers, ψ = −(ε ẏ)^α − φ^(α/(2−α)) and
    φ = y + (ε ẏ)^(2−α) / (2 − α).

    Attributes:
        time_scale: ε [s].
        exponent: α, between 0 and 1.
    """

    time_scale: float
    exponent: float = 0.9

    def __post_init__(self) -> None:
        _check_time_scale(self.time_scale)
        if not 0.0 < self.exponent < 1.0:
            raise PlanarModelError(
                f"the exponent of a finite-time law lies between 0 and 1, not at "
                f"{self.exponent:g}"
            )

    def __call__(self, y: Scalar, dy: Scalar) -> Scalar:
        """Return v [rad/s²]."""
        alpha, scaled = self.exponent, self.time_scale * dy
        phi = y + signed_power(scaled, 2.0 - alpha) / (2.0 - alpha)
        psi = -signed_power(scaled, alpha) - signed_power(phi, alpha / (2.0 - alpha))
        return psi / self.time_scale**2


def _check_time_scale(seconds: float) -> None:
    if not (math.isfinite(seconds) and seconds > 0.0):
        raise PlanarModelError(f"a time scale is positive, not {seconds:g} s")


def signed_power(value: Scalar, exponent: float) -> Scalar:
    """Return sign(a) abs(a)^b."""
    if isinstance(value, float):
        return math.copysign(abs(value) ** exponent, value)
    return np.copysign(np.abs(value) ** exponent, value)


class SwingTerms(NamedTuple):
    """Entries of D and of C θ̇ + G at a state, as the equations of motion have them."""

    D11: Scalar
    D12: Scalar
    D13: Scalar
    D21: Scalar
    D22: Scalar
    D23: Scalar
    D31: Scalar
    D32: Scalar
    D33: Scalar
    bias1: Scalar
    bias2: Scalar
    bias3: Scalar


class Controller(Protocol):
    """Torques of a state; a class of yours may take the place of those here."""

    def __call__(self, x: Any, terms: SwingTerms) -> tuple[Scalar, Scalar]:
        """Return u₁ and u₂ [Nm].

        Args:
            x: θ and θ̇, six floats, or six arrays with an entry for each of many
            states.
            terms: The model there.
        """
        ...


@dataclass(frozen=True)
class FeedbackLinearisation:
    """Torques that make ÿ = v(y, ẏ), exactly.

    Attributes:
        constraints: The virtual constraints.
        law: What brings the outputs to zero.
        torque_limit: Larger torques are cut off [Nm].
    """

    constraints: VirtualConstraints
    law: OutputLaw
    torque_limit: float = math.inf

    def __call__(self, x: Any, terms: SwingTerms) -> tuple[Scalar, Scalar]:
        """Return u₁ and u₂ [Nm]."""
        theta_1, theta_2, theta_3, rate_1, rate_2, rate_3 = x
        swing = self.constraints.swing.at(theta_1)
        torso = self.constraints.torso.at(theta_1)
        square = rate_1 * rate_1
        # θ̈₂ = h₂′ θ̈₁ + b₂ makes ÿ₂ = v₂, and so for θ₃.
        b_2 = swing.curvature * square + self.law(
            theta_2 - swing.value, rate_2 - swing.slope * rate_1
        )
        b_3 = torso.curvature * square + self.law(
            theta_3 - torso.value, rate_3 - torso.slope * rate_1
        )
        D11, D12, D13, D21, D22, D23, D31, D32, D33, bias1, bias2, bias3 = terms
        column_2, column_3 = D12 + D22 + D32, D13 + D23 + D33
        inertia = D11 + D21 + D31 + swing.slope * column_2 + torso.slope * column_3
        if isinstance(inertia, float) and abs(inertia) < SINGULAR * D11:
            raise PlanarModelError(
                f"the decoupling matrix is singular at θ₁ = {theta_1:.4f} rad: there "
                "the stance leg cannot be accelerated"
            )
        a_1 = -(bias1 + bias2 + bias3 + column_2 * b_2 + column_3 * b_3) / inertia
        a_2, a_3 = swing.slope * a_1 + b_2, torso.slope * a_1 + b_3
        u_1 = -(D11 * a_1 + D12 * a_2 + D13 * a_3 + bias1)
        u_2 = -(D21 * a_1 + D22 * a_2 + D23 * a_3 + bias2)
        return self._limited(u_1), self._limited(u_2)

    def _limited(self, torque: Scalar) -> Scalar:
        if self.torque_limit == math.inf:
            return torque
        if isinstance(torque, float):
            return min(max(torque, -self.torque_limit), self.torque_limit)
        return np.clip(torque, -self.torque_limit, self.torque_limit)
