r"""Hybrid zero dynamics: what walks on when the outputs are zero.

On the virtual constraints the biped has one degree of freedom. With σ, its angular
momentum about the stance foot, the swing phase is

    θ̇₁ = σ / I(θ₁),   σ̇ = M g x_cm(θ₁),

I being the inertia Σᵢ (Dᵢ₁ + h₂′ Dᵢ₂ + h₃′ Dᵢ₃) and M g x_cm = −Σᵢ Gᵢ. So ζ = σ²/2 only
depends on θ₁, as the kinetic energy of a particle does on its place:

    ζ(θ₁) = ζ⁺ − V(θ₁),   V(θ₁) = −∫ I M g x_cm dθ₁  from θ₁⁺,

and the impact multiplies σ by δ_zero. The restricted Poincaré map, from one impact to
the next, is therefore the straight line of Theorem 3 of [Westervelt2003],

    ρ(ζ⁻) = δ_zero² ζ⁻ − V_zero,   V_zero = V(θ₁⁻),

with the fixed point ζ* = −V_zero / (1 − δ_zero²). A gait exists if δ_zero² ζ* is larger
than V_max, so that the biped gets over the top; it is exponentially stable if
0 < δ_zero < 1.

This describes the biped if its outputs are zero after the impact, too, when they were
before (hybrid invariance). If they are not, the map is that of a biped that jumps onto
its constraints at θ₁⁺ with the angular momentum that the impact leaves it: a limit that
feedback approaches only as far as the outputs' positions agree.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import Legendre, leggauss, legvander
from numpy.typing import ArrayLike

from equipoise.arrays import Array, frozen_array
from equipoise.planar.impact import Impact, impact, impact_matrix
from equipoise.planar.parameters import PlanarModelError
from equipoise.planar.three_link import ThreeLink
from equipoise.planar.virtual_constraints import ConstraintPath, VirtualConstraints

# Gauss–Legendre nodes over a step. Integrands are smooth, and 40 nodes leave rounding.
NODES = 40


class Quadrature(NamedTuple):
    """Gauss–Legendre quadrature over −1 to 1; both ends are nodes too, without weight.

    Attributes:
        nodes: Shape (n + 2,).
        weights: Of the integral over all, shape (n + 2,).
        series: Maps values at the nodes to their Legendre series, shape (n, n + 2).
        integrals: Maps values to the integrals from −1 to each node, (n + 2, n + 2).
    """

    nodes: Array
    weights: Array
    series: Array
    integrals: Array


@cache
def quadrature(count: int) -> Quadrature:
    """Return the quadrature with a number of inner nodes."""
    inner, inner_weights = leggauss(count)
    nodes, weights = np.array([-1, *inner, 1]), np.array([0, *inner_weights, 0])
    P = legvander(nodes, count)
    orders = np.arange(count)
    series = (orders[:, None] + 0.5) * P[:, :-1].T * weights
    # ∫ P_k = (P_k+1 − P_k−1) / (2k + 1), and x + 1 for the first.
    rising = np.empty((count + 2, count))
    rising[:, 0] = nodes + 1.0
    rising[:, 1:] = (P[:, 2:] - P[:, :-2]) / (2.0 * orders[1:] + 1.0)
    return Quadrature(*map(frozen_array, (nodes, weights, series, rising @ series)))


@dataclass(frozen=True, eq=False)
class Orbit:
    """A step on the constraints, at the nodes of a quadrature over θ₁.

    Attributes:
        phase: θ₁, increasing, both ends of the step included [rad], shape (n,).
        state: θ and θ̇, shape (n, 6).
        torques: u [Nm], shape (n, 2).
        force: (F_x, F_z) of the ground [N], shape (n, 2).
        time_weights: What a sum over the nodes becomes an integral over time with [s].
    """

    phase: Array
    state: Array
    torques: Array
    force: Array
    time_weights: Array

    @property
    def joint_power(self) -> Array:
        """Power of each torque [W], shape (n, 2)."""
        rates = self.state[:, 3:]
        return self.torques * (rates[:, 2:] - rates[:, :2])


@dataclass(frozen=True, eq=False)
class ZeroDynamics:
    """The zero dynamics of constraints over one step.

    Attributes:
        model: The biped.
        constraints: The virtual constraints.
        end: θ₁⁻, at the impact [rad].
        nodes: Nodes of the quadrature over θ₁.
    """

    model: ThreeLink
    constraints: VirtualConstraints
    end: float
    nodes: int = NODES

    def __post_init__(self) -> None:
        self.model.require_absolute()

    @cached_property
    def start(self) -> float:
        """θ₁⁺, after the impact: where the swing leg was before it [rad]."""
        return float(self.constraints.swing.at(self.end).value)

    @cached_property
    def impact_rates(self) -> Array:
        """θ̇⁺ of the impact for θ̇₁⁻ = 1 rad/s on the constraints, shape (3,)."""
        path = self.constraints.path(self.end)
        matrix = impact_matrix(self.model, path.configuration)
        return np.asarray(matrix @ path.tangent)

    @cached_property
    def impact_ratio(self) -> float:
        """δ_zero = σ⁺ / σ⁻."""
        before = self.constraints.configuration(self.end)
        after = before[[1, 0, 2]]
        sigma_after = self.model.D(after).sum(axis=-2) @ self.impact_rates
        return float(sigma_after / self.inertia(np.array(self.end)))

    @cached_property
    def impact_errors(self) -> tuple[Array, Array]:
        """Y [rad] and dy/dθ₁ after an impact on the constraints, each of shape (2,).

        Zero if the constraints are invariant under impact, to rounding.
        """
        after = self.constraints.configuration(self.end)[[1, 0, 2]]
        rates = self.impact_rates / self.impact_rates[0]
        return self.constraints.outputs(np.concatenate([after, rates]))

    @property
    def invariant(self) -> bool:
        """Whether an impact on the constraints leads to a state on them."""
        return all(bool(np.abs(error).max() < 1e-8) for error in self.impact_errors)

    def inertia(self, phase: Array) -> Array:
        """Return I at θ₁ [kg m²]."""
        path = self.constraints.path(phase)
        rows = self.model.D(path.configuration).sum(axis=-2)
        return np.asarray(np.sum(rows * path.tangent, axis=-1))

    def gravity_moment(self, phase: Array) -> Array:
        """Return σ̇ = M g x_cm at θ₁ [Nm]."""
        return np.asarray(-self.model.G(self.constraints.configuration(phase)).sum(-1))

    @property
    def _half(self) -> float:
        return (self.end - self.start) / 2.0

    @cached_property
    def _nodes(self) -> Array:
        """θ₁ at the nodes of the quadrature over the step."""
        return self.start + self._half * (quadrature(self.nodes).nodes + 1.0)

    @cached_property
    def _node_path(self) -> ConstraintPath:
        return self.constraints.path(self._nodes)

    @cached_property
    def _node_inertia(self) -> Array:
        path = self._node_path
        rows = self.model.D(path.configuration).sum(axis=-2)
        return np.asarray(np.sum(rows * path.tangent, axis=-1))

    @cached_property
    def _node_potential_rate(self) -> Array:
        """dV/dθ₁ at the nodes."""
        gravity = self.model.G(self._node_path.configuration).sum(axis=-1)
        return np.asarray(self._node_inertia * gravity)

    @cached_property
    def _node_potential(self) -> Array:
        """V at the nodes."""
        rate = self._node_potential_rate
        return np.asarray(self._half * (quadrature(self.nodes).integrals @ rate))

    def potential(self, phase: ArrayLike) -> Array:
        """Return V at θ₁ of the step, shape (…) [kg² m⁴/s²]."""
        series = quadrature(self.nodes).series @ self._node_potential_rate
        rate = Legendre(series, domain=[self.start, self.end])
        return np.asarray(rate.integ(lbnd=self.start)(np.asarray(phase)))

    @property
    def step_potential(self) -> float:
        """V_zero, V at the end of the step."""
        return float(self._node_potential[-1])

    @property
    def highest_potential(self) -> float:
        """V_max, the largest V of the step, by its nodes."""
        return float(self._node_potential.max())

    def poincare_map(self, zeta: float) -> float:
        """Return ρ(ζ⁻), ζ before the next impact."""
        return self.impact_ratio**2 * zeta - self.step_potential

    def next_rate(self, rate: ArrayLike) -> Array:
        """Return θ̇₁ before the next impact for θ̇₁ before this one [rad/s].

        NaN where the biped does not get over the top.
        """
        inertia = float(self.inertia(np.array(self.end)))
        left = self.slope * (inertia * np.asarray(rate, dtype=np.float64)) ** 2 / 2.0
        over = left > self.highest_potential
        after = np.where(over, left - self.step_potential, np.nan)
        return np.asarray(np.sqrt(2.0 * after) / inertia)

    @property
    def slope(self) -> float:
        """δ_zero², the eigenvalue of the restricted Poincaré map."""
        return self.impact_ratio**2

    @cached_property
    def fixed_point(self) -> float:
        """ζ*, before the impact [kg² m⁴/s²].

        Raises:
            PlanarModelError: If there is no periodic orbit, with the reason.
        """
        if self.start >= self.end:
            raise PlanarModelError(
                f"the step does not go forwards: θ₁ begins at {self.start:.3f} rad and "
                f"ends at {self.end:.3f} rad"
            )
        if self.inertia(np.linspace(self.start, self.end, 101)).min() <= 0.0:
            raise PlanarModelError(
                "the decoupling matrix is singular on the constraints: the inertia "
                "that the stance leg moves is not positive all the way"
            )
        if not 0.0 < self.impact_ratio < 1.0:
            raise PlanarModelError(
                f"no stable gait: the impact multiplies the angular momentum by "
                f"{self.impact_ratio:.3f}, which must lie between 0 and 1"
            )
        zeta = -self.step_potential / (1.0 - self.slope)
        if self.slope * zeta <= self.highest_potential:
            raise PlanarModelError(
                "no gait: the biped does not get over the top "
                f"(δ²ζ* = {self.slope * zeta:.4g}, V_max = "
                f"{self.highest_potential:.4g} kg² m⁴/s²)"
            )
        return zeta

    @property
    def exists(self) -> bool:
        """Whether there is a periodic orbit, and it is stable."""
        try:
            return self.fixed_point > 0.0
        except PlanarModelError:
            return False

    @property
    def impact_rate(self) -> float:
        """θ̇₁ before the impact on the periodic orbit [rad/s]."""
        inertia = self.inertia(np.array(self.end))
        return float(np.sqrt(2.0 * self.fixed_point) / inertia)

    @property
    def state_before_impact(self) -> Array:
        """The state of the periodic orbit before the impact, shape (6,)."""
        return self.constraints.state(self.end, self.impact_rate)

    @property
    def impact(self) -> Impact:
        """The impact of the periodic orbit."""
        return impact(self.model, self.state_before_impact)

    def motion(self, zeta: float, least: float = 0.0) -> Orbit:
        """Return the step that ends with ζ⁻, periodic or not.

        Args:
            zeta: ζ⁻, before the impact.
            least: Where ζ would fall below this, it is this: so an optimiser can look
                at motions that do not get over the top.
        """
        before = zeta + self.step_potential - self._node_potential
        rate = np.sqrt(2.0 * np.maximum(before, least)) / self._node_inertia
        theta, tangent, bends = self._node_path
        rates = rate[:, None] * tangent
        # θ̈ = tangent · θ̈₁ + bend: θ̈₁ from the sum of the rows of D θ̈ + C θ̇ + G = B
        # u, in which the torques cancel, and the torques from the first two rows.
        bend = bends * rate[:, None] ** 2
        D, bias = self.model.D(theta), self.model.bias(theta, rates)
        moved = np.sum(D.sum(axis=-2) * bend, axis=-1) + bias.sum(axis=-1)
        acceleration = bend - tangent * (moved / self._node_inertia)[:, None]
        rows = (D @ acceleration[..., None])[..., 0] + bias
        return Orbit(
            phase=self._nodes,
            state=np.concatenate([theta, rates], axis=-1),
            torques=-rows[:, :2],
            force=self.model.force_of_motion(theta, rates, acceleration),
            time_weights=self._half * quadrature(self.nodes).weights / rate,
        )

    @cached_property
    def orbit(self) -> Orbit:
        """The periodic orbit, with its torques and ground forces."""
        return self.motion(self.fixed_point)

    @property
    def step_time(self) -> float:
        """Duration of a step of the periodic orbit [s]."""
        return float(self.orbit.time_weights.sum())

    @property
    def step_length(self) -> float:
        """Distance from foot to foot at the impact [m]."""
        before = self.constraints.configuration(self.end)
        return float(self.model.swing_foot(before)[0])

    @property
    def speed(self) -> float:
        """Mean walking speed [m/s]."""
        return self.step_length / self.step_time

    @property
    def torque_cost(self) -> float:
        """∫ ‖u‖² dt over a step by its length [N² m s], as in [Grizzle2001]."""
        squares = np.sum(self.orbit.torques**2, axis=-1)
        return float(squares @ self.orbit.time_weights / self.step_length)

    @property
    def cost_of_transport(self) -> float:
        """∫ Σ abs(uᵢ · joint rate) dt over a step, divided by weight and length."""
        work = np.abs(self.orbit.joint_power).sum(axis=-1) @ self.orbit.time_weights
        p = self.model.parameters
        return float(work / (p.total_mass * p.gravity * self.step_length))
