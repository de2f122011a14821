"""Feet that land and leave do not make torques jump."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import equipoise as eq
import equipoise.balance.whole_body.controller as controller
from equipoise.balance.whole_body.inverse_dynamics import Problem, Solution, solve_qp
from equipoise.simulation.feedback import whole_body_feedback
from equipoise.simulation.simulate import simulate
from equipoise.simulation.trials import trial_world

MOST = 0.05


def test_torques_are_continuous_at_contact_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Old and new contacts give torques within 5 % of the limits in the same state.

    The controller solves with both in the tick of a change, so that the frame can keep
    its acceleration; these are compared.
    """
    robot = eq.load("humanoid")
    world = trial_world(robot, None, "torque")
    feedback = whole_body_feedback(world)
    walk: Any = feedback.controller
    solved: list[tuple[int, Problem, Solution]] = []

    def keep(problem: Problem, *more: Any) -> Solution:
        solution = solve_qp(problem, *more)
        solved.append((walk.ticks, problem, solution))
        return solution

    monkeypatch.setattr(controller, "solve_qp", keep)
    run = simulate(
        world, eq.solve(robot, eq.fit_walk(robot, 2)), **feedback.blocks, dt=1e-3
    )
    assert run.summary["fell_at_s"] is None
    changes = []
    for (tick, before, old), (same, after, new) in itertools.pairwise(solved):
        if tick == same:
            jump = np.abs(new.torque - old.torque) / after.limits.torque
            changes.append((len(after.contacts) - len(before.contacts), jump.max()))
    assert {1, -1} == {step for step, _ in changes}
    assert len(changes) >= 4
    assert max(jump for _, jump in changes) <= MOST
