"""Walking as a hybrid system: swing phases, ended by impacts.

During a swing phase the stance foot is a pivot; the step ends at the touchdown, with an
impact. That the stance foot neither slips nor leaves the ground is assumed: the forces
that this takes are in the result. Scuffing of the swing foot is ignored.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.errors import ShapeError
from equipoise.planar.equations import compiled
from equipoise.planar.impact import impact
from equipoise.planar.integration import AdaptiveSteps, Field, step_to_event
from equipoise.planar.parameters import PlanarModelError
from equipoise.planar.three_link import ThreeLink
from equipoise.planar.touchdown import Touchdown
from equipoise.planar.virtual_constraints import Controller, SwingTerms

# Rows of what is integrated: θ and θ̇, then ∫ ‖u‖² dt, ∫ Σ abs(power) dt and time.
ROWS = 9
STATE, SQUARES, WORK, TIME = slice(0, 6), 6, 7, 8
# A stance leg that leans more than this has fallen [rad].
FALLEN = math.pi / 3
# The longest step that is waited for, in periods √(r/g) of the leg.
LONGEST_STEP_PERIODS = 30.0
# The longest integration step, for the sake of pictures, in the same periods.
LONGEST_INTEGRATION_PERIODS = 0.06
TOLERANCE = 1e-8


def closed_loop(model: ThreeLink, controller: Controller, *, scalar: bool) -> Field:
    """Return the vector field of the biped with its controller, in ``ROWS`` rows.

    Args:
        model: The biped.
        controller: Its torques.
        scalar: Whether for one state, shape (9,), with floats, or for many, (9, n).
    """
    model.require_absolute()
    terms = compiled("D bias", scalar=scalar)
    constants = model.parameters.values()

    def field(rows: Array) -> Array:
        state = rows[STATE].tolist() if scalar else rows[STATE]
        model_terms = SwingTerms(*terms(*state, *constants))
        u_1, u_2 = controller(state, model_terms)
        a_1, a_2, a_3 = accelerations(model_terms, u_1, u_2)
        _, _, _, rate_1, rate_2, rate_3 = state
        power = abs(u_1 * (rate_3 - rate_1)) + abs(u_2 * (rate_3 - rate_2))
        squares = u_1 * u_1 + u_2 * u_2
        if scalar:
            return np.array(
                [rate_1, rate_2, rate_3, a_1, a_2, a_3, squares, power, 1.0]
            )
        one = np.ones_like(a_1)
        return np.stack([rate_1, rate_2, rate_3, a_1, a_2, a_3, squares, power, one])

    return field


def accelerations(
    terms: SwingTerms, u_1: float, u_2: float
) -> tuple[float, float, float]:
    """Return θ̈ of D θ̈ = B u − C θ̇ − G, for floats or arrays.

    Swing leg and torso only meet at the hip, D₂₃ = 0: they are eliminated one by one.
    """
    force_1, force_2 = -u_1 - terms.bias1, -u_2 - terms.bias2
    force_3 = u_1 + u_2 - terms.bias3
    by_swing, by_torso = terms.D12 / terms.D22, terms.D13 / terms.D33
    inertia = terms.D11 - by_swing * terms.D12 - by_torso * terms.D13
    a_1 = (force_1 - by_swing * force_2 - by_torso * force_3) / inertia
    a_2 = (force_2 - terms.D12 * a_1) / terms.D22
    a_3 = (force_3 - terms.D13 * a_1) / terms.D33
    return a_1, a_2, a_3


@dataclass(frozen=True, eq=False)
class Step:
    """One swing phase and the impact that ends it.

    Attributes:
        time: From the step's start [s], shape (n,); the last is the touchdown.
        state: θ and θ̇, shape (n, 6).
        torques: u [Nm], shape (n, 2).
        force: (F_x, F_z) of the ground on the stance foot [N], shape (n, 2).
        after: State after the impact, legs exchanged, shape (6,).
        impulse: (x, z) of the impact [Ns].
        lift_off: Velocity of the old stance foot after it [m/s].
        length: From the stance foot to the swing foot at touchdown [m].
        rise: Height of the swing foot at touchdown [m]; zero but for a touchdown by
            phase with outputs that are not zero.
        torque_cost: ∫ ‖u‖² dt / length [N² m s].
        cost_of_transport: ∫ Σ abs(uᵢ · joint rate) dt over weight and length.
    """

    time: Array
    state: Array
    torques: Array
    force: Array
    after: Array
    impulse: Array
    lift_off: Array
    length: float
    rise: float
    torque_cost: float
    cost_of_transport: float

    @property
    def before(self) -> Array:
        """State before the impact, shape (6,)."""
        return np.asarray(self.state[-1])

    @property
    def duration(self) -> float:
        """Duration [s]."""
        return float(self.time[-1])

    @property
    def speed(self) -> float:
        """Mean speed [m/s]."""
        return self.length / self.duration

    @property
    def friction(self) -> float:
        """Coefficient of friction that the swing phase needs; infinite if pulled."""
        if self.force[:, 1].min() <= 0.0:
            return math.inf
        return float(np.max(np.abs(self.force[:, 0]) / self.force[:, 1]))


@dataclass(frozen=True, eq=False)
class Walk:
    """Steps, one after the other.

    Attributes:
        model: The biped.
        steps: The steps that ended with a touchdown.
        fall: Why there are not as many as there should be; empty if there are.
    """

    model: ThreeLink
    steps: tuple[Step, ...]
    fall: str

    @property
    def time(self) -> Array:
        """Time from the start [s], shape (n,); twice the same at an impact."""
        starts = np.cumsum([0.0, *(step.duration for step in self.steps)])
        pairs = zip(starts, self.steps, strict=False)
        return np.concatenate([start + step.time for start, step in pairs])

    @property
    def stance_foot(self) -> Array:
        """Position of the stance foot in the world [m], shape (n, 2)."""
        place, rows = np.zeros(2), []
        for step in self.steps:
            rows.append(np.tile(place, (len(step.time), 1)))
            place = place + np.array([step.length, step.rise])
        return np.concatenate(rows)

    @property
    def state(self) -> Array:
        """θ and θ̇, legs exchanged at each impact, shape (n, 6)."""
        return np.concatenate([step.state for step in self.steps])

    @property
    def torques(self) -> Array:
        """U [Nm], shape (n, 2)."""
        return np.concatenate([step.torques for step in self.steps])

    @property
    def force(self) -> Array:
        """(F_x, F_z) of the ground [N], shape (n, 2)."""
        return np.concatenate([step.force for step in self.steps])

    @property
    def speed(self) -> float:
        """Mean speed of all steps [m/s]."""
        length = sum(step.length for step in self.steps)
        return length / sum(step.duration for step in self.steps)


def take_step(
    model: ThreeLink,
    controller: Controller,
    touchdown: Touchdown,
    x: ArrayLike,
    *,
    tolerance: float = TOLERANCE,
) -> Step:
    """Simulate one swing phase from a state after an impact, and the next impact.

    Args:
        model: The biped.
        controller: Its torques.
        touchdown: When the swing phase ends.
        x: State at the start, shape (6,).
        tolerance: Error of an integration step, absolute and relative.

    Raises:
        PlanarModelError: If the biped falls, with how and when.
    """
    start = np.asarray(x, dtype=np.float64)
    if start.shape != (6,) or not np.isfinite(start).all():
        raise ShapeError(f"a state is six finite numbers, not of shape {start.shape}")
    try:
        rows = _swing(model, controller, touchdown, start, tolerance)
    except (OverflowError, ZeroDivisionError) as error:
        raise PlanarModelError("the motion diverges during the step") from error
    return _finish(model, controller, rows)


def _swing(
    model: ThreeLink,
    controller: Controller,
    touchdown: Touchdown,
    start: Array,
    tolerance: float,
) -> Array:
    """Integrate a swing phase up to the touchdown; return its rows, shape (n, 9)."""
    p = model.parameters
    period = math.sqrt(p.leg_length / p.gravity)
    field = closed_loop(model, controller, scalar=True)
    rows = np.zeros(ROWS)
    rows[STATE] = start
    steps = AdaptiveSteps(
        field, rows, 6, tolerance, LONGEST_INTEGRATION_PERIODS * period
    )
    taken = [rows]
    while True:
        depth = float(touchdown.value(steps.x[:3]))
        steps.advance()
        new = steps.x
        if depth < 0.0 <= touchdown.value(new[:3]) and touchdown.armed(new[:3]):
            taken.append(step_to_event(field, *event_of(touchdown), new))
            return np.array(taken)
        taken.append(new)
        fall = _fall(new, LONGEST_STEP_PERIODS * period)
        if fall:
            raise PlanarModelError(fall)


def event_of(
    touchdown: Touchdown,
) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    """Return e and ė of a touchdown as functions of the integrated rows."""
    return (
        lambda rows: touchdown.value(rows[:3]),
        lambda rows: touchdown.rate(rows[:3], rows[3:6]),
    )


def _fall(rows: Array, longest: float) -> str:
    """Say how a biped has fallen; nothing if it has not."""
    theta_1, time = float(rows[0]), float(rows[TIME])
    if not math.isfinite(theta_1):
        return f"the motion diverges {time:.2f} s into the step"
    if abs(theta_1) > FALLEN:
        way = "forwards" if theta_1 > 0.0 else "backwards"
        return f"the biped falls {way} {time:.2f} s into the step"
    if time > longest:
        return f"there is no touchdown within {longest:.1f} s"
    return ""


def _finish(model: ThreeLink, controller: Controller, rows: Array) -> Step:
    """Return the step of integrated rows, shape (n, 9), with the impact at its end."""
    state = rows[:, STATE]
    values = compiled("D bias")(*state.T, *model.parameters.values())
    terms = SwingTerms(*(np.broadcast_to(value, len(state)) for value in values))
    torques = np.stack(controller(state.T, terms), axis=-1)
    end = impact(model, state[-1])
    foot = model.swing_foot(state[-1, :3])
    length, p = float(foot[0]), model.parameters
    return Step(
        time=rows[:, TIME],
        state=state,
        torques=torques,
        force=model.ground_force(state, torques),
        after=end.state,
        impulse=end.impulse,
        lift_off=end.lift_off,
        length=length,
        rise=float(foot[1]),
        torque_cost=float(rows[-1, SQUARES]) / length,
        cost_of_transport=float(rows[-1, WORK]) / (p.total_mass * p.gravity * length),
    )


def simulate_walk(
    model: ThreeLink,
    controller: Controller,
    touchdown: Touchdown,
    x: ArrayLike,
    steps: int,
    *,
    tolerance: float = TOLERANCE,
) -> Walk:
    """Simulate steps; a fall ends the walk and is said in the result.

    Args:
        model: The biped.
        controller: Its torques.
        touchdown: When a swing phase ends.
        x: State at the start, just after an impact, shape (6,).
        steps: How many.
        tolerance: Error of an integration step, absolute and relative.

    Raises:
        PlanarModelError: If not even one step is made, with how the biped falls.
    """
    if steps < 1:
        raise PlanarModelError(f"a walk has at least one step, not {steps}")
    done: list[Step] = []
    state = np.asarray(x, dtype=np.float64)
    fall = ""
    for i in range(steps):
        try:
            step = take_step(model, controller, touchdown, state, tolerance=tolerance)
        except PlanarModelError as error:
            if not done:
                raise
            fall = f"in step {i + 1}, {error}"
            break
        done.append(step)
        state = step.after
    return Walk(model, tuple(done), fall)
