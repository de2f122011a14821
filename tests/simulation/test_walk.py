"""Walks in simulation, open loop: every robot does its steps, near its plan."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import equipoise as eq
from equipoise.control.blocks import Hold, OpenLoop
from equipoise.gait.fit import fit_walk
from equipoise.gait.motion import Motion, solve
from equipoise.gait.plan import plan_walk
from equipoise.kinematics.terrain import Flat, Slope
from equipoise.log.run import Run
from equipoise.robot.catalogue import catalogue_names
from equipoise.simulation.simulate import EngineName
from equipoise.simulation.trials import trial_world
from equipoise.simulation.walk import Actuators, walk
from equipoise.simulation.walk_summary import gait_parameters
from equipoise.simulation.world import with_payload

WALKERS = ["humanoid", "itu-biped", "mahru-1", "g1", "talos", "icub", "romeo"]
# Of the requirement: mean CoM error [m], and share of time with the ZMP inside.
MEAN_ERROR = 5e-3
INSIDE = 0.95


@cache
def planned(source: str, steps: int, *, filtered: bool = True) -> Motion:
    """Return a walk of a robot, solved once."""
    robot = eq.load(source)
    return solve(robot, fit_walk(robot, steps), dynamics_filter=filtered)


@cache
def simulated(
    source: str, steps: int, *, filtered: bool = True, engine: EngineName = "native"
) -> Run:
    """Return a walk of a robot on flat ground, simulated once."""
    motion = planned(source, steps, filtered=filtered)
    return walk(motion.robot, motion, Flat(), engine=engine, feedback=False)


@pytest.mark.parametrize("name", WALKERS)
def test_every_robot_walks(name: str, request: pytest.FixtureRequest) -> None:
    """No fall, all steps done, CoM within millimetres of its plan, ZMP in the soles."""
    known = name in catalogue_names()
    source = name if known else str(request.getfixturevalue(f"{name}_urdf"))
    steps = 6 if known else 4
    figures = simulated(source, steps).summary
    assert figures["achieved"] is True, figures["sentence"]
    assert figures["fell_at_s"] is None
    assert figures["steps_done"] == figures["steps_wanted"] == steps
    assert figures["com_error_m"]["mean"] <= MEAN_ERROR
    assert figures["zmp_inside_fraction"] >= INSIDE
    assert figures["solver"]["com_error_m"] <= 1e-9
    assert figures["solver"]["sole_error_m"] <= 1e-9
    assert all(check["passed"] for check in figures["checks"])


def test_mujoco_walks_the_same_gait() -> None:
    """The other engine agrees: it walks, and its CoM is where it is in ours."""
    native, other = (
        simulated("itu-biped", 6, engine=engine) for engine in ("native", "mujoco")
    )
    assert other.summary["engine"] == "mujoco"
    assert other.summary["achieved"] is True, other.summary["sentence"]
    assert other.summary["com_error_m"]["mean"] <= MEAN_ERROR
    assert other.summary["zmp_inside_fraction"] >= INSIDE
    assert np.abs(native.com - other.com).max() < 0.01


def test_it_ends_where_the_footsteps_end() -> None:
    """Feet and CoM travel as far as planned, over as much time."""
    run, motion = simulated("itu-biped", 6), planned("itu-biped", 6)
    length = motion.gait.parameters.length
    assert length is not None
    travelled = run.com[-1] - run.com[0]
    # the last of six steps brings the feet together
    assert travelled[0] == pytest.approx(5 * length, abs=5e-3)
    assert travelled[1] == pytest.approx(0.0, abs=5e-3)
    assert run.time[-1] == pytest.approx(motion.duration, abs=0.02)


def test_the_ground_carries_the_weight() -> None:
    """Averaged from rest to rest, forces add up to the weight and no push."""
    run = simulated("itu-biped", 6)
    mass = eq.load("itu-biped").mass
    force = run.contact_force.sum(axis=1).mean(axis=0)
    assert force[2] == pytest.approx(9.80665 * mass, rel=0.01)
    assert np.abs(force[:2]).max() < 0.01 * 9.80665 * mass


def test_feet_are_loaded_in_turn() -> None:
    """In single support the foot in the air carries nothing, the other all."""
    run, motion = simulated("itu-biped", 6), planned("itu-biped", 6)
    weight = 9.80665 * motion.robot.mass
    swings = [phase for phase in motion.gait.phases if phase.support != "both"]
    assert [phase.support for phase in swings] == ["left", "right"] * 3
    for phase in swings:
        middle = np.abs(run.time - (phase.start + phase.end) / 2.0).argmin()
        stance = phase.support
        swing = "left" if stance == "right" else "right"
        assert run.foot_wrench[swing][middle, 2] == 0.0
        assert run.foot_wrench[stance][middle, 2] == pytest.approx(weight, rel=0.3)


def test_the_zmp_is_where_it_was_meant() -> None:
    """The simulated ZMP follows the planned one to centimetres, where it is still."""
    run, motion = simulated("itu-biped", 6), planned("itu-biped", 6)
    meant = np.stack(
        [np.interp(run.time, motion.time, motion.zmp_planned[:, a]) for a in range(2)],
        axis=1,
    )
    off = np.linalg.norm(run.zmp[:, :2] - meant, axis=1)[run.supported]
    assert np.median(off) < 0.01
    assert np.quantile(off, 0.9) < 0.04


def test_a_fall_is_told_with_its_steps() -> None:
    """Fast, heavy legs without the filter: it falls on the way, and all is told."""
    robot = eq.load("itu-biped")
    gait = fit_walk(robot, 6, step_time=0.65)
    motion = solve(robot, gait, dynamics_filter=False)
    run = walk(robot, motion, feedback=False)
    figures = run.summary
    assert figures["achieved"] is False
    fell = figures["fell_at_s"]
    assert fell is not None
    assert 0 < figures["steps_done"] < figures["steps_wanted"] == 6
    told = f"fell at {fell:.2f} s, after {figures['steps_done']} of 6 steps"
    assert told in figures["sentence"]
    assert figures["solver"]["filter_passes"] == 0


def test_the_same_walk_twice_is_the_same_bytes() -> None:
    """Nothing is random: plan, joints and run are equal to the last bit."""
    runs = []
    for _ in range(2):
        robot = eq.load("mahru-1")
        motion = solve(robot, fit_walk(robot, 2))
        runs.append((motion, walk(robot, motion, Flat(), feedback=False)))
    (first, first_run), (second, second_run) = runs
    assert first.q.tobytes() == second.q.tobytes()
    assert first.com.tobytes() == second.com.tobytes()
    assert first_run.com.tobytes() == second_run.com.tobytes()
    assert first_run.contact_force.tobytes() == second_run.contact_force.tobytes()


@pytest.mark.parametrize("dt", [5e-4, 2e-3])
def test_the_time_step_does_not_decide(dt: float) -> None:
    """With half and twice the time step it walks just the same."""
    motion = planned("itu-biped", 2)
    run = walk(motion.robot, motion, Flat(), dt=dt, feedback=False)
    assert run.summary["achieved"] is True
    assert run.summary["dt_s"] == dt
    assert run.summary["duration_s"] == pytest.approx(motion.duration, abs=2 * dt)


def test_it_walks_up_a_slope() -> None:
    """Ground that the gait knows is walked on; the robot comes up with it."""
    robot, ground = eq.load("itu-biped"), Slope(0.05)
    motion = solve(robot, fit_walk(robot, 3, ground=ground))
    run = walk(robot, motion, ground, feedback=False)
    assert run.summary["achieved"] is True, run.summary["sentence"]
    travelled = run.com[-1] - run.com[0]
    rise = ground.height(float(travelled[0]), 0.0) - ground.height(0.0, 0.0)
    assert travelled[2] == pytest.approx(rise, abs=5e-3)
    assert abs(travelled[2]) > 0.01


def test_ideal_joints_are_nearer_to_the_plan() -> None:
    """Joints that follow exactly track better than servos; each says what it is."""
    motion = planned("mahru-1", 3)
    servo = walk(motion.robot, motion, feedback=False).summary
    ideal = walk(motion.robot, motion, actuators="ideal").summary
    assert ideal["com_error_m"]["mean"] < servo["com_error_m"]["mean"] <= MEAN_ERROR
    for summary, kind in ((servo, "servo"), (ideal, "ideal")):
        assert summary["actuators"]["kind"] == kind
        assert f"with {kind} actuators, open loop" in summary["sentence"]
    with pytest.raises(eq.EquipoiseError, match="servo, torque or ideal"):
        walk(motion.robot, motion, actuators="magic")  # type: ignore[arg-type]


@pytest.mark.parametrize("actuators", ["servo", "ideal"])
def test_a_load_beyond_the_knees_is_not_achieved(actuators: Actuators) -> None:
    """Bent knees under 20 kg need over 150 Nm: servos sag, ideal ones exceed."""
    robot = with_payload(eq.load("mahru-1"), {"waist": 20.0})
    motion = solve(robot, fit_walk(robot, 6, com_height=0.62))
    results = walk(robot, motion, actuators=actuators, feedback=False).summary
    assert results["achieved"] is False
    use = results["actuators"]
    assert "knee" in use["peak_torque_joint"]
    if actuators == "ideal":
        assert use["peak_torque_fraction"] > 1.1
        assert (
            f"torque over its limit ({use['peak_torque_joint']})" in results["sentence"]
        )
    else:
        assert use["peak_torque_fraction"] <= 1.0 + 1e-9
        assert use["at_limit_fraction"] > 0.05


def test_an_unknown_load_is_not_in_the_plan() -> None:
    """What planner and feed-forward do not know moves the CoM, the rest does not."""
    robot = eq.load("humanoid")
    loaded = with_payload(robot, {"torso": 3.0})
    world = trial_world(robot)
    world = replace(world, robot=loaded)
    known, unknown = (
        walk(world, model=model, feedback=False).summary for model in (loaded, robot)
    )
    errors = [summary["com_error_m"]["mean"] for summary in (known, unknown)]
    assert errors[0] < 2e-3
    assert errors[1] > 4.0 * errors[0]


def test_soft_servos_cannot_stand_open_loop() -> None:
    """Below 1.5 m g h the check fails, whatever this one run did."""
    robot = eq.load("humanoid")
    motion = planned("humanoid", 2)
    world = trial_world(robot, bandwidth=0.7)
    soft = walk(world, motion, feedback=False).summary
    assert soft["achieved"] is False
    failed = [check["name"] for check in soft["checks"] if not check["passed"]]
    assert "m g h over the stiffness of a leg on the ground" in failed


def test_footfalls_are_measured() -> None:
    """Each step has its touch-down, near its time and its place."""
    results = simulated("humanoid", 6).summary
    assert [step["side"] for step in results["footfalls"]] == ["right", "left"] * 3
    for step in results["footfalls"]:
        assert step["made"]
        assert step["touch_down_s"] == pytest.approx(step["planned_s"], abs=0.06)
        assert step["placement_error_m"] < 5e-3
        assert step["yaw_error_deg"] < 0.5
    assert results["zmp_error_m"]["single_support_rms"] < 5e-3


def test_figures_of_the_gait_are_plain() -> None:
    """Numbers with units in their names, as the plan has them."""
    gait = plan_walk(eq.load("itu-biped"), 2, step_time=1.0, first="left")
    figures = gait_parameters(gait.parameters)
    assert figures["step_time_s"] == 1.0
    assert figures["first"] == "left"
    assert figures["steps"] == 2
    assert figures["length_m"] == gait.parameters.length
    for value in figures.values():
        assert isinstance(value, (int, float, str))


def test_a_robot_alone_walks_as_it_stands() -> None:
    """Robot in, walk out: motion, ground and duration are chosen to fit."""
    robot = eq.load("itu-biped")
    run = eq.walk(robot)
    assert run.summary["achieved"]
    assert run.summary["steps_done"] == 6


def test_a_walk_takes_a_controller_and_pushes() -> None:
    """A controller is asked every step; a push that is too hard fells the robot."""

    class Counts(OpenLoop):
        asked = 0

        def control(self, known: eq.State, target: eq.Target) -> eq.Command:
            self.asked += 1
            return super().control(known, target)

    motion = planned("humanoid", 2)
    humanoid = motion.robot
    link = humanoid.description.root
    push = eq.Push(link, np.array([0.0, 4000.0, 0.0]), start=1.0, duration=0.2)
    run = eq.walk(humanoid, motion, pushes=[push])
    assert run.summary["fell_at_s"] is not None
    assert not run.summary["achieved"]
    controller = Counts()
    run = eq.walk(humanoid, motion, controller=controller)
    assert run.summary["achieved"]
    assert controller.asked == round(run.time[-1] / 1e-3)


def test_durations_come_from_the_reference() -> None:
    """A motion is simulated from its start to its end; what has no end must say so."""
    motion = planned("humanoid", 1)
    humanoid = motion.robot
    run = eq.simulate(humanoid, motion)
    assert run.time[-1] == pytest.approx(motion.duration, abs=1e-3)
    hold = Hold(eq.joint_positions(humanoid, humanoid.standing))
    with pytest.raises(eq.EquipoiseError, match="Hold has no duration"):
        eq.simulate(humanoid, hold)
