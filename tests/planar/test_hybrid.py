"""Simulated steps against an independent integration of an independent model."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from equipoise.errors import EquipoiseError
from equipoise.planar.classic import classic_gait
from equipoise.planar.gait import PlanarGait
from equipoise.planar.hybrid import simulate_walk, take_step
from equipoise.planar.poincare import walk_many
from equipoise.planar.touchdown import FootTouchdown, PhaseTouchdown
from equipoise.planar.virtual_constraints import FeedbackLinearisation


def independent_step(gait: PlanarGait, x: np.ndarray) -> np.ndarray:
    """Return the state and ∫ |u|² dt at touchdown, by other means in every part.

    The unpinned model with its foot held by multipliers, torques by the decoupling
    matrix, SciPy's integrator of eighth order, and its events.
    """
    free, model = gait.model.unpinned, gait.model

    def field(_: float, row: np.ndarray) -> np.ndarray:
        state = row[:6]
        y, dy = gait.constraints.outputs(state)
        v = np.asarray(gait.law(y, dy))
        u = np.linalg.solve(
            gait.constraints.decoupling_matrix(model, state),
            v - gait.constraints.drift(model, state),
        )
        q, dq = np.append(state[:3], [0.0, 0.0]), np.append(state[3:], [0.0, 0.0])
        hold = np.zeros((7, 7))
        hold[:5, :5] = free.D(q)
        hold[3:5, 5:], hold[5:, 3:5] = -np.eye(2), np.eye(2)
        pull = free.B @ u - free.C(q, dq) @ dq - free.G(q)
        ddq = np.linalg.solve(hold, np.append(pull, [0.0, 0.0]))[:3]
        return np.concatenate([state[3:], ddq, [u @ u]])

    def touchdown(_: float, row: np.ndarray) -> float:
        return float(row[0] - gait.stance_angle)

    touchdown.terminal = True  # type: ignore[attr-defined]
    run = solve_ivp(
        field,
        (0.0, 5.0),
        np.append(x, 0.0),
        method="DOP853",
        rtol=1e-9,
        atol=1e-10,
        events=touchdown,
    )
    return np.append(run.y[:, -1], run.t[-1])


def test_a_step_equals_an_independent_solution() -> None:
    """State, ∫ |u|² dt and time at touchdown of the classic walker, to 1e-6."""
    gait = classic_gait("optimised")
    step = take_step(
        gait.model, gait.controller, gait.touchdown, gait.start, tolerance=1e-9
    )
    found = independent_step(gait, gait.start)
    np.testing.assert_allclose(step.before, found[:6], atol=1e-6)
    assert step.torque_cost * step.length == pytest.approx(found[6], rel=1e-5)
    assert step.duration == pytest.approx(found[7], abs=1e-6)


def test_touchdown_is_exact(gait: PlanarGait) -> None:
    """The event function is zero to rounding, by phase and by the foot's height."""
    assert isinstance(gait.touchdown, FootTouchdown)
    for touchdown in (gait.touchdown, PhaseTouchdown(gait.stance_angle)):
        step = take_step(gait.model, gait.controller, touchdown, 1.05 * gait.start)
        assert abs(touchdown.value(step.before[:3])) < 1e-14
    assert abs(gait.walk(1).steps[0].rise) < 1e-14


def test_energy_of_a_step_is_accounted_for(gait: PlanarGait) -> None:
    """What the torques do is what the energy gains before the impact."""
    step = gait.walk(1, tolerance=1e-10).steps[0]
    rates = step.state[:, 3:]
    power = np.sum(step.torques * (rates[:, 2:] - rates[:, :2]), axis=-1)
    work = np.trapezoid(power, step.time)
    gain = np.diff(gait.model.energy(step.state[[0, -1]]))[0]
    assert work == pytest.approx(gain, rel=2e-3)


def test_many_at_once_walk_as_one_alone(gait: PlanarGait) -> None:
    """States after three steps are the same, and a fall is a fall."""
    starts = np.tile(gait.start, (3, 1))
    starts[0, 3:] *= 1.08
    starts[2, 3:] *= 0.2  # it does not get over the top
    made, last = walk_many(gait.model, gait.controller, gait.touchdown, starts, 3)
    assert made.tolist() == [3, 3, 0]
    for i in range(2):
        alone = gait.walk(3, starts[i])
        np.testing.assert_allclose(last[i], alone.steps[-1].after, atol=1e-6)


def test_a_walk_is_one_motion(gait: PlanarGait) -> None:
    """Time and stance foot go on from step to step, the foot to where the other was."""
    walk = gait.walk(3)
    assert not walk.fall
    assert (np.diff(walk.time) >= 0.0).all()
    places = walk.stance_foot
    foot = places + gait.model.swing_foot(walk.state[:, :3])
    ends = np.flatnonzero(np.diff(places[:, 0]) > 0.0)
    assert len(ends) == 2
    np.testing.assert_allclose(foot[ends], places[ends + 1], atol=1e-12)
    assert len(walk.torques) == len(walk.force) == len(walk.time)
    assert walk.speed == pytest.approx(0.8, rel=2e-3)


def test_falls_are_said(gait: PlanarGait) -> None:
    """A first step that fails is an error; a later one ends the walk, with a reason."""
    slow = gait.start * [1, 1, 1, 0.2, 0.2, 0.2]
    with pytest.raises(EquipoiseError, match="the biped falls backwards"):
        gait.walk(5, slow)
    with pytest.raises(EquipoiseError, match="six finite numbers"):
        gait.walk(5, [0.0, 1.0])
    limp = FeedbackLinearisation(gait.constraints, gait.law, torque_limit=12.0)
    walk = simulate_walk(gait.model, limp, gait.touchdown, gait.start, 50)
    assert walk.fall.startswith(f"in step {len(walk.steps) + 1}, the biped falls")
    with pytest.raises(EquipoiseError, match="at least one step, not 0"):
        gait.walk(0)
    with pytest.raises(EquipoiseError, match="the motion diverges"):
        gait.walk(1, 1e200 * gait.start)
