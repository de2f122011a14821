"""The Poincaré map of the walking biped by its full model, and its basin.

The section is the touchdown: the map takes a state before an impact to the state before
the next one, P(x⁻) = φ(Δ(x⁻)). A periodic gait is a fixed point of P, exponentially
stable if all eigenvalues of its derivative there lie inside the unit circle. P is also
defined beside the section, as the impact needs no touchdown, so that its derivative is
a matter of differences along a basis of the section's tangent space.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.arrays import Array
from equipoise.planar.hybrid import (
    FALLEN,
    LONGEST_INTEGRATION_PERIODS,
    LONGEST_STEP_PERIODS,
    ROWS,
    STATE,
    TIME,
    Step,
    closed_loop,
    event_of,
    take_step,
)
from equipoise.planar.impact import impact
from equipoise.planar.integration import runge_kutta_step, step_to_event
from equipoise.planar.parameters import PlanarModelError
from equipoise.planar.three_link import ThreeLink
from equipoise.planar.touchdown import Touchdown
from equipoise.planar.virtual_constraints import Controller

# Of the integration behind a derivative, and the difference that it is taken over.
TOLERANCE = 1e-9
DIFFERENCE = 1e-3
# Newton steps to the fixed point, and how near to it is enough.
NEWTON_STEPS = 12
FIXED = 1e-8


@dataclass(frozen=True, eq=False)
class PoincareMap:
    """A fixed point of the Poincaré map, and the derivative of the map there.

    Attributes:
        fixed_point: x⁻, before the impact, shape (6,).
        basis: Orthonormal directions in the section, shape (6, 5).
        jacobian: Derivative of the map along them, shape (5, 5).
        step: The periodic step.
    """

    fixed_point: Array
    basis: Array
    jacobian: Array
    step: Step

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """All five, the largest first, shape (5,)."""
        values = np.linalg.eigvals(self.jacobian).astype(np.complex128)
        return np.asarray(values[np.argsort(-np.abs(values))])

    @property
    def largest_eigenvalue(self) -> float:
        """Magnitude of the largest; below one the gait is exponentially stable."""
        return float(np.abs(self.eigenvalues[0]))


def poincare_map(
    model: ThreeLink,
    controller: Controller,
    touchdown: Touchdown,
    guess: ArrayLike,
    *,
    tolerance: float = TOLERANCE,
) -> PoincareMap:
    """Find the fixed point near a guess by Newton's method, and the derivative there.

    Args:
        model: The biped.
        controller: Its torques.
        touchdown: The section.
        guess: State before an impact, shape (6,).
        tolerance: Error of an integration step.

    Raises:
        PlanarModelError: If the biped falls, or if there is no fixed point nearby.
    """

    def step_from(x: Array) -> Step:
        start = impact(model, x).state
        return take_step(model, controller, touchdown, start, tolerance=tolerance)

    def derivative(x: Array, basis: Array) -> Array:
        columns = []
        for direction in basis.T:
            ahead = step_from(x + DIFFERENCE * direction).before
            behind = step_from(x - DIFFERENCE * direction).before
            columns.append(basis.T @ (ahead - behind) / (2.0 * DIFFERENCE))
        return np.stack(columns, axis=-1)

    x = np.asarray(step_from(np.asarray(guess, dtype=np.float64)).before)
    jacobian = None
    for _ in range(NEWTON_STEPS):
        basis = section_basis(touchdown, x)
        step = step_from(x)
        change = step.before - x
        if np.abs(change).max() < FIXED:
            return PoincareMap(x, basis, derivative(x, basis), step)
        if jacobian is None:  # near the fixed point it hardly changes
            jacobian = derivative(x, basis)
        x = x + basis @ np.linalg.solve(np.eye(5) - jacobian, basis.T @ change)
    raise PlanarModelError(
        "no periodic gait near the given state: after "
        f"{NEWTON_STEPS} Newton steps a step still changes it by "
        f"{np.abs(change).max():.2g}"
    )


def section_basis(touchdown: Touchdown, x: Array) -> Array:
    """Return an orthonormal basis of the section's tangent space, shape (6, 5)."""
    # ė = ∇e · θ̇, so that unit rates give the gradient.
    gradient = [float(touchdown.rate(x[:3], unit)) for unit in np.eye(3)]
    normal = np.array([*gradient, 0.0, 0.0, 0.0])
    _, _, rows = np.linalg.svd(normal[None, :])
    return np.asarray(rows[1:].T)


def return_map(
    model: ThreeLink, controller: Controller, touchdown: Touchdown, before: ArrayLike
) -> Array:
    """Return θ̇₁ before the next impact for states before this one.

    Args:
        model: The biped.
        controller: Its torques.
        touchdown: The section.
        before: States before an impact, shape (n, 6).

    Returns:
        θ̇₁ before the next [rad/s], shape (n,); NaN where the biped falls.
    """
    found = []
    for start in impact(model, before).state:
        try:
            found.append(take_step(model, controller, touchdown, start).before[3])
        except PlanarModelError:
            found.append(math.nan)
    return np.array(found)


@dataclass(frozen=True, eq=False)
class Basin:
    """What became of starts on a grid around the periodic gait.

    Attributes:
        rate_change: Changes of all rates, as a fraction of each, shape (m,).
        torso_change: Changes of the torso's angle [rad], shape (n,).
        steps: Steps that each start made, at most those asked for, shape (m, n).
        distance: Largest difference from the fixed point after the last of them, in rad
            and rad/s; infinite after a fall, shape (m, n).
        asked: How many steps were to be made.
    """

    rate_change: Array
    torso_change: Array
    steps: NDArray[np.int64]
    distance: Array
    asked: int

    @property
    def walks(self) -> NDArray[np.bool_]:
        """Which starts made all their steps, shape (m, n)."""
        return np.asarray(self.steps >= self.asked)

    @property
    def fraction(self) -> float:
        """The fraction of starts that made all their steps."""
        return float(np.mean(self.walks))


def basin_of_attraction(
    model: ThreeLink,
    controller: Controller,
    touchdown: Touchdown,
    start: ArrayLike,
    *,
    rate_change: ArrayLike | None = None,
    torso_change: ArrayLike | None = None,
    steps: int = 10,
) -> Basin:
    """Walk from many starts at once: changed rates, and a torso that leans otherwise.

    Args:
        model: The biped.
        controller: Its torques.
        touchdown: When a swing phase ends.
        start: State of the periodic gait after the impact, shape (6,).
        rate_change: Changes of all rates as a fraction, shape (m,); from −60 % to +60 %
            by default.
        torso_change: Changes of the torso's angle [rad], shape (n,); to ±0.6 by
            default.
        steps: How many steps a start must make.
    """
    first = np.linspace(-0.6, 0.6, 41) if rate_change is None else rate_change
    second = np.linspace(-0.6, 0.6, 41) if torso_change is None else torso_change
    rates, torsos = (np.asarray(a, dtype=np.float64) for a in (first, second))
    fixed = np.asarray(start, dtype=np.float64)
    starts = np.tile(fixed, (len(rates), len(torsos), 1))
    starts[..., 3:] *= 1.0 + rates[:, None, None]
    starts[..., 2] += torsos
    made, last = walk_many(model, controller, touchdown, starts.reshape(-1, 6), steps)
    distance = np.where(made >= steps, np.abs(last - fixed).max(axis=-1), np.inf)
    shape = (len(rates), len(torsos))
    return Basin(rates, torsos, made.reshape(shape), distance.reshape(shape), steps)


def walk_many(
    model: ThreeLink,
    controller: Controller,
    touchdown: Touchdown,
    starts: Array,
    steps: int,
) -> tuple[NDArray[np.int64], Array]:
    """Walk from many states at once, with integration steps of one length.

    Args:
        model: The biped.
        controller: Its torques.
        touchdown: When a swing phase ends.
        starts: States after an impact, shape (n, 6).
        steps: How many steps each makes, unless it falls.

    Returns:
        Steps that each made, shape (n,), and its state after the last impact, (n, 6).
    """
    p = model.parameters
    period = math.sqrt(p.leg_length / p.gravity)
    h, longest = LONGEST_INTEGRATION_PERIODS * period / 2, LONGEST_STEP_PERIODS * period
    field = closed_loop(model, controller, scalar=False)
    event = event_of(touchdown)
    made = np.zeros(len(starts), dtype=np.int64)
    last = starts.copy()
    walking = np.arange(len(starts))
    rows = np.zeros((ROWS, len(starts)))
    rows[STATE] = starts.T
    with np.errstate(all="ignore"):  # those that fall may overflow, and are left out
        slope = field(rows)
        while len(walking):
            depth = touchdown.value(rows[:3])
            rows, slope, _ = runge_kutta_step(field, rows, slope, h)
            below = (depth < 0.0) & (touchdown.value(rows[:3]) >= 0.0)
            landed = np.flatnonzero(below & touchdown.armed(rows[:3]))
            if len(landed):
                at_impact = step_to_event(field, *event, rows[:, landed])
                after = impact(model, at_impact[STATE].T).state
                rows[:, landed] = 0.0
                rows[STATE, landed] = after.T
                slope[:, landed] = field(rows[:, landed])
                made[walking[landed]] += 1
                last[walking[landed]] = after
            upright = np.abs(rows[0]) < FALLEN
            sound = upright & np.isfinite(rows).all(axis=0) & (rows[TIME] < longest)
            kept = sound & (made[walking] < steps)
            if not kept.all():
                walking, rows, slope = walking[kept], rows[:, kept], slope[:, kept]
    return made, last
