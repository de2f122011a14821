"""Walking by a commanded velocity in simulation: stays up, goes where it should."""

from __future__ import annotations

import math

import pytest

import equipoise as eq
from equipoise.control.blocks import OpenLoop
from equipoise.control.signals import Command, State, Target
from equipoise.errors import EquipoiseError
from equipoise.gait.velocity_walk import VelocityWalk
from equipoise.kinematics.terrain import Slope
from equipoise.simulation.commanded_walk import walk_by_velocity
from equipoise.simulation.simulate import ENGINES, EngineName

TURN = math.radians(8.0)


@pytest.mark.parametrize("engine", ENGINES)
def test_it_walks_a_curve(engine: EngineName) -> None:
    """Open loop in both engines: no fall, all steps, velocity as planned."""
    run = walk_by_velocity(
        eq.load("humanoid"), (0.15, 0.0, TURN), 12.0, engine=engine, feedback=False
    )
    results = run.summary
    assert results["achieved"], results["sentence"]
    assert results["steps_done"] == results["steps_wanted"] >= 8
    assert results["com_error_from_stance_m"]["mean"] < 2e-3
    velocity, turning = results["velocity_mps"], results["yaw_rate_degps"]
    assert velocity["forward_commanded"] == pytest.approx(0.15)
    assert velocity["forward_achieved"] == pytest.approx(
        velocity["forward_planned"], abs=2e-3
    )
    # at rest at both ends
    assert 0.5 * 0.15 < velocity["forward_achieved"] < 0.15
    assert turning["achieved"] == pytest.approx(turning["planned"], abs=0.2)
    # steps less the last, which brings the feet together
    period = results["gait"]["step_time_s"]
    expected = (results["steps_done"] - 1) * 0.15 * period
    assert results["distance_m"] == pytest.approx(expected, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "engine"), [("humanoid", "native"), ("g1", "mujoco")])
def test_it_walks_for_a_minute(
    name: str, engine: EngineName, request: pytest.FixtureRequest
) -> None:
    """Forward, turning, sideways, backward, standing: a minute without a fall."""
    path = request.getfixturevalue("g1_urdf") if name == "g1" else name
    parts = ((0.2, 0, 0), (0.15, 0, 0.2), (0, 0.03, 0), (-0.1, 0, -0.1), (0, 0, 0))

    def command(time: float) -> tuple[float, float, float]:
        return parts[int(time / 6.0) % len(parts)]

    results = walk_by_velocity(eq.load(str(path)), command, 60.0, engine=engine).summary
    assert results["achieved"], results["sentence"]
    assert results["steps_done"] > 40
    assert results["com_error_from_stance_m"]["mean"] < 4e-3


def test_a_controller_has_its_say() -> None:
    """A controller is asked in each control period, and the summary says so."""
    asked = []

    class Counts(OpenLoop):
        def control(self, known: State, target: Target) -> Command:
            asked.append(known.time)
            return super().control(known, target)

    plan = VelocityWalk(eq.load("humanoid"), (0.1, 0.0, 0.0), 5.0)
    run = walk_by_velocity(plan.robot, plan, controller=Counts(), control_period=5e-3)
    assert len(asked) == 1000
    assert "closed loop" in run.summary["sentence"]
    assert run.summary["achieved"], run.summary["sentence"]


def test_what_cannot_be_is_refused() -> None:
    """Ground that is not flat, another robot, no end."""
    robot = eq.load("humanoid")
    sloping = eq.make_world(robot, terrain=Slope(0.1))
    with pytest.raises(EquipoiseError, match="flat ground"):
        walk_by_velocity(sloping, (0.1, 0.0, 0.0), 5.0)
    plan = VelocityWalk(robot, (0.1, 0.0, 0.0), 5.0)
    with pytest.raises(EquipoiseError, match="planned for humanoid"):
        walk_by_velocity(eq.load("mahru-1"), plan)
    with pytest.raises(EquipoiseError, match="has no duration"):
        walk_by_velocity(robot, VelocityWalk(robot, (0.1, 0.0, 0.0)))
