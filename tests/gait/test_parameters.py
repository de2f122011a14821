"""Phases of a walk."""

from __future__ import annotations

import itertools
import math

import pytest
from gait.pendulum import FEET

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.gait.parameters import walk_phases
from equipoise.gait.plan import plan_walk
from equipoise.gait.walks import walk


def test_phases_follow_each_other_without_gaps() -> None:
    """Each phase begins where the one before ends, and the total is as it should."""
    footsteps = walk(FEET, 4, length=0.1)
    phases = walk_phases(footsteps, 0.8, 0.25, 1.0, 1.2, 0.4)
    assert phases[0].start == 0.0
    for before, after in itertools.pairwise(phases):
        assert before.end == after.start
        assert after.duration > 0.0
    total = 0.4 + 1.0 + 4 * 0.6 + 3 * 0.2 + 1.2 + 0.4
    assert phases[-1].end == pytest.approx(total)
    kinds = [phase.kind for phase in phases]
    assert kinds == [
        "hold",
        "start",
        *["swing", "double"] * 3,
        "swing",
        "stop",
        "hold",
    ]
    supports = [phase.support for phase in phases if phase.kind == "swing"]
    assert supports == ["left", "right", "left", "right"]
    assert [phase.step for phase in phases] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4]


def test_phases_without_time_are_left_out() -> None:
    """No double support and no hold: swings follow each other directly."""
    phases = walk_phases(walk(FEET, 3, length=0.1), 0.8, 0.0, 1.0, 1.0)
    assert [p.kind for p in phases] == ["start", "swing", "swing", "swing", "stop"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"step_time": 0.0}, "step_time is 0 s; it must be more than 0 s"),
        ({"step_time": -1.0}, "step_time is -1 s"),
        ({"start_time": math.nan}, "start_time is nan s; it must be finite"),
        ({"stop_time": 0.0}, "stop_time is 0 s"),
        ({"hold": -0.1}, "hold is -0.1 s; it must be at least 0 s"),
        ({"double_support": 1.0}, "double_support is 1 of a step"),
        ({"double_support": -0.1}, "at least 0 and less than 1"),
    ],
)
def test_times_that_do_not_pass(changes: dict[str, float], message: str) -> None:
    """Zero, negative and unknown times are refused by name."""
    with pytest.raises(EquipoiseError, match=message):
        plan_walk(eq.load("mahru-1"), **changes)
