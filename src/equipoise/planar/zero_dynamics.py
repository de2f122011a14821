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

import numpy as np
from numpy.polynomial.legendre import Legendre, leggauss, legvander

from equipoise.arrays import Array, frozen_array
from equipoise.planar.impact import Impact, impact, impact_matrix
from equipoise.planar.parameters import PlanarModelError
from equipoise.planar.three_link import ThreeLink
from equipoise.planar.virtual_constraints import VirtualConstraints

# Gauss–Legendre nodes over a step. Integrands are smooth, and 40 nodes leave rounding.
NODES = 40


@cache
def gauss_nodes(count: int) -> tuple[Array, Array]:
    """Return nodes and weights of the quadrature over −1 to 1."""
    nodes, weights = leggauss(count)
    return frozen_array(nodes), frozen_array(weights)


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

    @cached_property
    def start(self) -> float:
        """θ₁⁺, after the impact: where the swing leg was before it [rad]."""
        return float(self.constraints.swing.at(self.end).value)

    @cached_property
    def impact_rates(self) -> Array:
        """θ̇⁺ of the impact for θ̇₁⁻ = 1 rad/s on the constraints, shape (3,)."""
        before = self.constraints.configuration(self.end)
        tangent = self.constraints.tangent(self.end)
        return np.asarray(impact_matrix(self.model, before) @ tangent)

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
        rows = self.model.D(self.constraints.configuration(phase)).sum(axis=-2)
        return np.asarray(np.sum(rows * self.constraints.tangent(phase), axis=-1))

    def gravity_moment(self, phase: Array) -> Array:
        """Return σ̇ = M g x_cm at θ₁ [Nm]."""
        return np.asarray(-self.model.G(self.constraints.configuration(phase)).sum(-1))

    @cached_property
    def _quadrature(self) -> tuple[Array, Array]:
        """Nodes over the step and their weights; the ends are among them, with none."""
        roots, weights = gauss_nodes(self.nodes)
        half = (self.end - self.start) / 2.0
        phase = self.start + half * (roots + 1.0)
        ends = (self.start, self.end)
        return np.array([ends[0], *phase, ends[1]]), half * np.array([0, *weights, 0])

    @cached_property
    def _node_inertia(self) -> Array:
        return self.inertia(self._quadrature[0])

    @cached_property
    def _potential(self) -> Legendre:
        """V as a Legendre series, the integral of the one through the nodes."""
        phase, weights = self._quadrature
        rate = -self._node_inertia * self.gravity_moment(phase)
        half = (self.end - self.start) / 2.0
        orders = np.arange(self.nodes)
        values = legvander((phase - self.start) / half - 1.0, self.nodes - 1)
        series = (orders + 0.5) * (values.T @ (weights * rate)) / half
        return Legendre(series, domain=[self.start, self.end]).integ(lbnd=self.start)

    def potential(self, phase: Array) -> Array:
        """Return V at θ₁ of the step, shape (…) [kg² m⁴/s²]."""
        return np.asarray(self._potential(phase))

    @cached_property
    def step_potential(self) -> float:
        """V_zero, V at the end of the step."""
        return float(self._potential(self.end))

    @cached_property
    def highest_potential(self) -> float:
        """V_max, the largest V of the step."""
        grid = np.linspace(self.start, self.end, 4 * self.nodes + 1)
        return float(self.potential(grid).max())

    def poincare_map(self, zeta: float) -> float:
        """Return ρ(ζ⁻), ζ before the next impact."""
        return self.impact_ratio**2 * zeta - self.step_potential

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
        phase, weights = self._quadrature
        before = zeta + self.step_potential - self.potential(phase)
        rate = np.sqrt(2.0 * np.maximum(before, least)) / self._node_inertia
        state = self.constraints.state(phase, rate)
        # u makes ÿ = 0 on the constraints.
        decoupling = self.constraints.decoupling_matrix(self.model, state)
        drift = self.constraints.drift(self.model, state)
        torques = np.asarray(-np.linalg.solve(decoupling, drift[..., None])[..., 0])
        return Orbit(
            phase=phase,
            state=state,
            torques=torques.astype(np.float64),
            force=self.model.ground_force(state, torques),
            time_weights=weights / rate,
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
        """∫ |u|² dt over a step by its length [N² m s], as in [Grizzle2001]."""
        squares = np.sum(self.orbit.torques**2, axis=-1)
        return float(squares @ self.orbit.time_weights / self.step_length)

    @property
    def cost_of_transport(self) -> float:
        """∫ Σ |uᵢ · joint rate| dt over a step, divided by weight and length."""
        work = np.abs(self.orbit.joint_power).sum(axis=-1) @ self.orbit.time_weights
        p = self.model.parameters
        return float(work / (p.total_mass * p.gravity * self.step_length))
