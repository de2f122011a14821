"""The classic walker of [Grizzle2001], with its two gaits.

Its outputs are polynomials of θ₁: a torso at a constant lean with mirrored legs, θ₂ =
−θ₁, or eight coefficients that were optimised for low torques. A finite-time controller
imposes them, and the impact happens at θ₁ = π/8.

Neither gait is invariant under impact: the impact leaves outputs that are not zero, and
the controller needs a part of each step to bring them back. The full model and the zero
dynamics, which know nothing of that part, therefore have different fixed points, step
times and costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import NameNotFoundError
from equipoise.planar.gait import PlanarGait
from equipoise.planar.parameters import ThreeLinkParameters, walkers
from equipoise.planar.three_link import ThreeLink
from equipoise.planar.touchdown import PhaseTouchdown
from equipoise.planar.virtual_constraints import (
    FiniteTime,
    OutputLaw,
    VirtualConstraints,
    polynomial,
)


@dataclass(frozen=True)
class GaitResults:
    """A periodic gait in numbers.

    Attributes:
        rate: Fixed point of the Poincaré map, θ̇₁ before the impact [rad/s].
        momentum: σ there, the angular momentum about the stance foot [kg m²/s].
        step_time: Duration of a step [s].
        step_length: From foot to foot [m].
        speed: Mean speed [m/s].
        slope: Slope of the Poincaré map at the fixed point; by the full model, its
            largest eigenvalue.
        torque_cost: ∫ ‖u‖² dt over a step, divided by its length [N² m s].
        cost_of_transport: Absolute work of the torques by weight and length.
        largest_torque: Of either actuator [Nm].
        friction: Coefficient of friction that the swing phase needs.
    """

    rate: float
    momentum: float
    step_time: float
    step_length: float
    speed: float
    slope: float
    torque_cost: float
    cost_of_transport: float
    largest_torque: float
    friction: float


@dataclass(frozen=True, eq=False)
class ClassicGait:
    """One of the classic gaits, with its results by both ways.

    Attributes:
        name: ``"constant-torso"`` or ``"optimised"``.
        gait: The gait.
        full_model: Results of the full model with its controller.
        zero_dynamics: Results of the zero dynamics.
        output_error: y = (θ₂ − h₂, θ₃ − h₃) after the impact of the full model [rad].
        output_rate_error: ẏ there [rad/s].
    """

    name: str
    gait: PlanarGait
    full_model: GaitResults
    zero_dynamics: GaitResults
    output_error: Array
    output_rate_error: Array

    @property
    def note(self) -> str:
        """Why the two results differ, in a sentence."""
        if self.gait.zero_dynamics.invariant:
            return "The outputs are invariant under impact: both ways agree."
        # adding zero takes the sign from a minus zero
        y = np.round(self.output_error, 3) + 0.0
        dy = np.round(self.output_rate_error, 2) + 0.0
        return (
            "The outputs are not invariant under impact: it leaves "
            f"y = ({y[0]:.3f}, {y[1]:.3f}) rad and "
            f"ẏ = ({dy[0]:.2f}, {dy[1]:.2f}) rad/s, which the controller brings to "
            "zero during the step; the zero dynamics leave this out."
        )


def classic(law: OutputLaw | None = None) -> list[ClassicGait]:
    """Return both gaits of the classic walker, by the full model and zero dynamics.

    Args:
        law: What brings the outputs to zero; the finite-time law of [Grizzle2001] by
            default.
    """
    names = walkers()["classic"]["gaits"]
    return [_analyse(name, classic_gait(name, law)) for name in names]


def classic_gait(name: str, law: OutputLaw | None = None) -> PlanarGait:
    """Return a gait of the classic walker.

    Args:
        name: ``"constant-torso"`` or ``"optimised"``.
        law: What brings the outputs to zero; the finite-time law by default.

    Raises:
        NameNotFoundError: If there is no gait of that name.
    """
    data: dict[str, Any] = walkers()["classic"]
    if name not in data["gaits"]:
        raise NameNotFoundError("gait", name, data["gaits"], "the classic walker")
    given = data["gaits"][name]
    end = float(given["stance_angle_at_impact"])
    # h₂ = −θ₁ + (a₅ + a₆ θ₁ + a₇ θ₁² + a₈ θ₁³)(θ₁² − θ₁d²)
    swing = np.polynomial.Polynomial(given["swing"])
    swing = swing * np.polynomial.Polynomial([-(end**2), 0.0, 1.0])
    swing = swing - np.polynomial.Polynomial([0.0, 1.0])
    constraints = VirtualConstraints(polynomial(swing.coef), polynomial(given["torso"]))
    return PlanarGait(
        ThreeLink(ThreeLinkParameters.named("classic")),
        constraints,
        end,
        PhaseTouchdown(end),
        law or FiniteTime(**data["controller"]),
    )


def _analyse(name: str, gait: PlanarGait) -> ClassicGait:
    zero, poincare = gait.zero_dynamics, gait.poincare
    step = poincare.step
    errors = gait.constraints.outputs(step.after)
    orbit_friction = np.abs(zero.orbit.force[:, 0]) / zero.orbit.force[:, 1]
    return ClassicGait(
        name=name,
        gait=gait,
        full_model=GaitResults(
            rate=float(poincare.fixed_point[3]),
            momentum=float(gait.model.angular_momentum(poincare.fixed_point)),
            step_time=step.duration,
            step_length=step.length,
            speed=step.speed,
            slope=float(poincare.eigenvalues[0].real),
            torque_cost=step.torque_cost,
            cost_of_transport=step.cost_of_transport,
            largest_torque=float(np.abs(step.torques).max()),
            friction=step.friction,
        ),
        zero_dynamics=GaitResults(
            rate=zero.impact_rate,
            momentum=float(np.sqrt(2.0 * zero.fixed_point)),
            step_time=zero.step_time,
            step_length=zero.step_length,
            speed=zero.speed,
            slope=zero.slope,
            torque_cost=zero.torque_cost,
            cost_of_transport=zero.cost_of_transport,
            largest_torque=float(np.abs(zero.orbit.torques).max()),
            friction=float(orbit_friction.max()),
        ),
        output_error=errors[0],
        output_rate_error=errors[1],
    )
