"""Walks that joints can follow: shorter where they must be, and said."""

from __future__ import annotations

from pathlib import Path

import pytest

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.gait.fit import FRACTIONS, fit_walk
from equipoise.gait.footsteps import Footsteps
from equipoise.gait.motion import solve
from equipoise.gait.plan import plan_walk
from equipoise.gait.walks import standing_feet, walk
from equipoise.kinematics.terrain import Stairs
from equipoise.robot.catalogue import catalogue_names

TIGHT = ["icub", "romeo"]
WIDE = ["humanoid", "itu-biped", "mahru-1", "g1", "talos"]


@pytest.fixture
def tight(request: pytest.FixtureRequest) -> eq.Robot:
    """A robot whose joints do not allow the default step."""
    return eq.load(request.getfixturevalue(f"{request.param}_urdf"))


@pytest.mark.parametrize("tight", TIGHT, indirect=True)
def test_tight_joints_get_shorter_steps_and_say_so(tight: eq.Robot) -> None:
    """Length and clearance shrink by one fraction, and their origins tell why."""
    asked, fitted = plan_walk(tight, 3).parameters, fit_walk(tight, 3).parameters
    assert asked.length is not None
    assert fitted.length is not None
    fraction = fitted.length / asked.length
    assert 0.0 < fraction < 1.0
    assert any(fraction == pytest.approx(s) for s in FRACTIONS)
    assert fitted.clearance == pytest.approx(fraction * asked.clearance)
    for name in ("length", "clearance"):
        assert "joint limits" in fitted.origins[name]
        assert f"{fraction:.2g} of the default" in fitted.origins[name]
        assert asked.origins[name] in fitted.origins[name]
        assert fitted.origins[name] in str(fitted)
    for name in ("step_time", "width", "double_support", "com_height", "steps"):
        assert "joint limits" not in fitted.origins[name]


@pytest.mark.parametrize("tight", TIGHT, indirect=True)
def test_figures_that_were_asked_for_are_never_changed(tight: eq.Robot) -> None:
    """They are refused with the time and how far off, if joints cannot."""
    planned = plan_walk(tight, 3).parameters
    asked = {"length": 2.0 * (planned.length or 0.0), "clearance": planned.clearance}
    with pytest.raises(EquipoiseError, match=r"'\w+' is at its (lower|upper) limit"):
        fit_walk(tight, 3, **asked)


def test_a_length_that_joints_allow_is_kept(icub_urdf: Path) -> None:
    """A given length stays to the last digit, and so does a clearance."""
    robot = eq.load(icub_urdf)
    given = fit_walk(robot, 3, length=0.0512345).parameters
    assert given.length == 0.0512345
    assert given.origins["length"] == "given"
    both = fit_walk(robot, 3, length=0.05, clearance=0.012).parameters
    assert (both.length, both.clearance) == (0.05, 0.012)


@pytest.mark.parametrize("name", WIDE)
def test_where_joints_allow_it_nothing_changes(
    name: str, request: pytest.FixtureRequest
) -> None:
    """The defaults of the plan stay, with their origins."""
    known = name in catalogue_names()
    robot = eq.load(name if known else request.getfixturevalue(f"{name}_urdf"))
    planned, fitted = plan_walk(robot, 2).parameters, fit_walk(robot, 2).parameters
    assert fitted == planned


def test_footsteps_are_never_changed(icub_urdf: Path) -> None:
    """Given footsteps stay where they are, or are refused."""
    robot = eq.load(icub_urdf)
    feet = standing_feet(robot)
    short: Footsteps = walk(feet, 3, length=0.05)
    gait = fit_walk(robot, footsteps=short)
    assert gait.footsteps.steps == short.steps
    assert gait.parameters.steps == 3
    with pytest.raises(EquipoiseError, match="cannot follow"):
        fit_walk(robot, footsteps=walk(feet, 3, length=0.15))


def test_what_was_fitted_can_be_solved(romeo_urdf: Path) -> None:
    """All points of a fitted gait are reached, with the filter too."""
    robot = eq.load(romeo_urdf)
    motion = solve(robot, fit_walk(robot, 2))
    assert motion.solution.converged.all()


@pytest.mark.parametrize("steps", [0, -1])
def test_no_steps_are_refused(steps: int) -> None:
    """The number is in the error."""
    with pytest.raises(EquipoiseError, match=f"a walk of {steps} steps"):
        fit_walk(eq.load("itu-biped"), steps)


def test_a_leg_with_too_few_joints_is_refused() -> None:
    """Robots that cannot place a sole anyhow are told so."""
    with pytest.raises(EquipoiseError, match="1 moving joint; at least five"):
        fit_walk(eq.load("three-link"), 2)


def test_an_option_that_does_not_exist_is_named_with_the_nearest() -> None:
    """fit_walk names itself, the option and the one that was probably meant."""
    with pytest.raises(
        EquipoiseError, match=r"fit_walk has no option 'step_length' \(did you mean"
    ):
        fit_walk(eq.load("humanoid"), step_length=0.2)


@pytest.mark.parametrize("rise", [0.08, -0.08])
@pytest.mark.parametrize("engine", ["native", "mujoco"])
def test_up_and_down_stairs(rise: float, engine: str) -> None:
    """Soles come onto treads, and the walk over all of them works with servos."""
    robot = eq.load("humanoid")
    ground = Stairs(rise, 0.4, 2, 0.3)
    gait = fit_walk(robot, ground=ground)
    ends = gait.footsteps.feet_at_end
    assert {round(foot.z, 6) for foot in ends.values()} == {2 * rise}
    run = eq.walk(robot, solve(robot, gait), ground, engine=engine)
    assert run.summary["achieved"], run.summary["sentence"]


def test_stairs_that_need_heels_to_rise(g1_urdf: Path) -> None:
    """Ankles that bend too little get steps from toe to toe, and it says why."""
    robot = eq.load(g1_urdf)
    ground = Stairs(-0.08, 0.255, 2, 0.25)
    gait = fit_walk(robot, ground=ground)
    numbers = gait.parameters
    assert numbers.heel_off > 0.0
    assert numbers.toe_first > 0.0
    assert numbers.origins["heel_off"] == "ankles bend too little"
    run = eq.walk(robot, solve(robot, gait), ground)
    assert run.summary["achieved"], run.summary["sentence"]
    # feedback is for flat feet
    assert run.summary["feedback"] == "none"
    assert any("heels rise" in notice for notice in run.summary["notices"])


def test_what_stairs_decide_cannot_be_asked_for() -> None:
    """Turns and treads too short for a sole are refused, fewer steps are not."""
    robot = eq.load("humanoid")
    ground = Stairs(0.05, 0.4, 2, 0.3)
    assert len(fit_walk(robot, 3, ground=ground).footsteps.steps) == 3
    for asked in ({"turn": 0.1}, {"sideways": 0.05}, {"height": 0.1}):
        with pytest.raises(EquipoiseError, match="cannot be chosen on stairs"):
            fit_walk(robot, ground=ground, **asked)
    with pytest.raises(EquipoiseError, match="too short for soles of"):
        fit_walk(robot, ground=Stairs(0.05, 0.2, 2, 0.3))
