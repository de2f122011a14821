"""A walking gait: virtual constraints with a periodic orbit, and all that follows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.planar.hybrid import TOLERANCE, Walk, simulate_walk
from equipoise.planar.poincare import (
    Basin,
    PoincareMap,
    basin_of_attraction,
    poincare_map,
    return_map,
)
from equipoise.planar.three_link import ThreeLink
from equipoise.planar.touchdown import FootTouchdown, PhaseTouchdown
from equipoise.planar.virtual_constraints import (
    FeedbackLinearisation,
    OutputLaw,
    VirtualConstraints,
)
from equipoise.planar.zero_dynamics import ZeroDynamics


@dataclass(frozen=True, eq=False)
class PlanarGait:
    """Virtual constraints with a periodic orbit, and how they are imposed.

    Attributes:
        model: The biped.
        constraints: The virtual constraints.
        stance_angle: θ₁ at the impact [rad].
        touchdown: When a swing phase ends in simulation.
        law: What brings the outputs to zero.
    """

    model: ThreeLink
    constraints: VirtualConstraints
    stance_angle: float
    touchdown: FootTouchdown | PhaseTouchdown
    law: OutputLaw

    @cached_property
    def zero_dynamics(self) -> ZeroDynamics:
        """The zero dynamics, with the periodic orbit, its speed and its cost."""
        return ZeroDynamics(self.model, self.constraints, self.stance_angle)

    @property
    def controller(self) -> FeedbackLinearisation:
        """Feedback linearisation with the gait's law."""
        return FeedbackLinearisation(self.constraints, self.law)

    @property
    def start(self) -> Array:
        """The state of the zero dynamics' periodic orbit after the impact, (6,)."""
        return self.zero_dynamics.impact.state

    def walk(
        self, steps: int = 20, x: ArrayLike | None = None, tolerance: float = TOLERANCE
    ) -> Walk:
        """Simulate steps of the full model.

        Args:
            steps: How many.
            x: State at the start, after an impact; the periodic orbit's by default.
            tolerance: Error of an integration step.
        """
        start = self.start if x is None else x
        return simulate_walk(
            self.model,
            self.controller,
            self.touchdown,
            start,
            steps,
            tolerance=tolerance,
        )

    @cached_property
    def poincare(self) -> PoincareMap:
        """The Poincaré map of the full model at its fixed point."""
        guess = self.zero_dynamics.state_before_impact
        return poincare_map(self.model, self.controller, self.touchdown, guess)

    def return_map(self, rates: ArrayLike) -> Array:
        """Return θ̇₁ before the next impact for θ̇₁ before this one, by the full model.

        The outputs are zero before this impact; ``zero_dynamics.next_rate`` is the same
        in closed form.

        Args:
            rates: θ̇₁ before the impact [rad/s], shape (n,).

        Returns:
            Shape (n,); NaN where the biped falls.
        """
        return return_map(
            self.model,
            self.controller,
            self.touchdown,
            self.constraints.state(self.stance_angle, rates),
        )

    def basin(
        self,
        *,
        rate_change: ArrayLike | None = None,
        torso_change: ArrayLike | None = None,
        steps: int = 10,
    ) -> Basin:
        """Return what becomes of starts on a grid around the periodic step."""
        return basin_of_attraction(
            self.model,
            self.controller,
            self.touchdown,
            self.poincare.step.after,
            rate_change=rate_change,
            torso_change=torso_change,
            steps=steps,
        )
