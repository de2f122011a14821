"""Feet that land and leave do not make torques jump."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import equipoise as eq
from equipoise.balance.whole_body.compiled import CompiledProblem
from equipoise.balance.whole_body.inverse_dynamics import Contact, Solution
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
    solved: list[tuple[int, int, Solution]] = []
    solve = CompiledProblem.solve

    def keep(
        self: CompiledProblem, tasks: Any, contacts: list[Contact], *more: Any
    ) -> Solution | None:
        solution = solve(self, tasks, contacts, *more)
        assert solution is not None
        solved.append((walk.ticks, len(contacts), solution))
        return solution

    monkeypatch.setattr(CompiledProblem, "solve", keep)
    run = simulate(
        world, eq.solve(robot, eq.fit_walk(robot, 2)), **feedback.blocks, dt=1e-3
    )
    assert run.summary["fell_at_s"] is None
    changes = []
    limit = walk.gains.torque * walk.joints.torque
    for (tick, before, old), (same, after, new) in itertools.pairwise(solved):
        if tick == same:
            jump = np.abs(new.torque - old.torque) / limit
            changes.append((after - before, jump.max()))
    assert {1, -1} == {step for step, _ in changes}
    assert len(changes) >= 4
    assert max(jump for _, jump in changes) <= MOST
