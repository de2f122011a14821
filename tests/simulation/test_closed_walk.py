"""Walks with sensors and feedback: payload and floor that nobody planned for."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import equipoise as eq
from equipoise.control.blocks import OpenLoop
from equipoise.gait.fit import fit_walk
from equipoise.gait.motion import Motion, solve
from equipoise.gait.velocity_walk import VelocityWalk
from equipoise.kinematics.stance import sole_pose
from equipoise.kinematics.terrain import Slope
from equipoise.log.run import Run
from equipoise.simulation.executed_plan import (
    SIDES,
    MovedPlan,
    com_error_from_stance,
    planned_loads,
    planned_soles,
    true_soles,
    turned,
)
from equipoise.simulation.feedback import balance_feedback
from equipoise.simulation.simulate import ENGINES, EngineName
from equipoise.simulation.terrain_names import terrain_named
from equipoise.simulation.trials import trial_world
from equipoise.simulation.world import World, with_payload

# Of the requirement: CoM error from the stance foot, and errors of the estimator.
LOADED, UNLOADED = 10e-3, 4e-3
ESTIMATED_COM, ESTIMATED_VELOCITY = 5e-3, 20e-3


@cache
def planned(name: str, steps: int) -> Motion:
    """Return a walk of a robot, solved once."""
    robot = eq.load(name)
    return solve(robot, fit_walk(robot, steps))


def loaded(robot: eq.Robot) -> World:
    """Return a world in which a robot is 8 % heavier than it is known to be."""
    torso = robot.limbs.get("torso")
    link = robot.description.root if torso is None else torso.end_link
    payload = with_payload(robot, {link: 0.08 * robot.mass})
    return replace(trial_world(robot), robot=payload)


@cache
def walked(
    name: str, steps: int, engine: EngineName = "native", *, hard: bool = True
) -> Run:
    """Return a walk with sensors and feedback, on an unknown floor if it is hard."""
    motion = planned(name, steps)
    robot = motion.robot
    if not hard:
        return eq.walk(robot, motion, engine=engine)
    floor = terrain_named("rough:0.01", robot, 1)
    return eq.walk(
        loaded(robot),
        motion,
        model=robot,
        unknown_terrain=floor,
        engine=engine,
        seed=1,
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["humanoid", "mahru-1"])
def test_it_walks_with_a_payload_on_an_unknown_floor(
    name: str, engine: EngineName
) -> None:
    """All steps, near the plan as the stance foot sees it; the estimator is right."""
    results = walked(name, 4 if engine == "native" else 2, engine).summary
    assert results["achieved"], results["sentence"]
    assert results["feedback"] == "sensors"
    assert "with sensors and feedback" in results["sentence"]
    assert results["planned_terrain"] == "flat ground"
    assert "rough ground" in results["terrain"]
    assert results["com_error_from_stance_m"]["mean"] <= LOADED
    assert results["zmp_inside_feet_fraction"] >= 0.95
    estimator = results["estimator"]
    assert estimator["com_rms_m"] <= ESTIMATED_COM
    assert estimator["com_velocity_rms_mps"] <= ESTIMATED_VELOCITY
    assert results["odometry_drift_m"] < 0.02


def test_it_walks_closer_to_its_plan_on_flat_ground() -> None:
    """Nothing is unknown: the CoM error of the requirement."""
    results = walked("mahru-1", 2, hard=False).summary
    assert results["achieved"], results["sentence"]
    assert results["com_error_from_stance_m"]["mean"] <= UNLOADED
    assert not any("m g h" in check["name"] for check in results["checks"])


def test_the_offset_of_the_com_is_found() -> None:
    """A load in front moves the CoM by millimetres: true, found and error agree."""
    estimator = walked("mahru-1", 4).summary["estimator"]
    assert estimator["com_offset_true_m"] > 2e-3
    assert estimator["com_offset_error_m"] < 3e-3


def test_a_seed_says_it_all() -> None:
    """The same seed gives the same run to the last bit, another seed another one."""
    motion = planned("mahru-1", 1)
    first, again, other = (
        eq.walk(motion.robot, motion, seed=seed).q for seed in (1, 1, 2)
    )
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != other.tobytes()


def test_results_are_true_not_believed() -> None:
    """CoM error and drift, computed anew from true states and plan alone."""
    run, motion = walked("humanoid", 4), planned("humanoid", 4)
    support = run.references["support"]
    single = np.flatnonzero(support > 0)
    sides = [SIDES[int(support[row]) - 1] for row in single]
    off = []
    for row, side in zip(single, sides, strict=True):
        plan = motion.gait.at(run.time[row : row + 1])
        where, meant = sole_pose(run.robot, run.q[row], side), plan.soles[side][0]
        true = run.com[row] - where[:3, 3]
        wanted = motion.sample(float(run.time[row])).com
        assert wanted is not None
        turn = where[:3, :3] @ meant[:3, :3].T
        yaw = np.array([np.arctan2(turn[1, 0], turn[0, 0])])
        lever = turned((wanted - meant[:3, 3])[None], yaw)[0]
        off.append(np.linalg.norm((true - lever)[:2]))
    soles = planned_soles(run)
    executed = MovedPlan(soles, true_soles(run), planned_loads(run, soles))
    ours = com_error_from_stance(run, executed, np.inf)
    assert ours[single] == pytest.approx(off, abs=1e-5)
    assert run.summary["com_error_from_stance_m"]["mean"] == pytest.approx(
        ours.mean(), abs=1e-5
    )
    drift = np.linalg.norm(run.estimates["q"][-1, :2] - run.q[-1, :2])
    assert run.summary["odometry_drift_m"] == pytest.approx(drift)


def test_a_plan_goes_with_its_feet() -> None:
    """A robot that was carried elsewhere and turned is still on its plan."""
    run = walked("humanoid", 4)
    planned = planned_soles(run)
    angle, shift = np.full(len(run.time), 0.3), np.array([1.0, -2.0, 0.1])
    carried = {}
    for side in SIDES:
        pose = planned[side].copy()
        pose[:, :3, 3] = turned(pose[:, :3, 3], angle) + shift
        c, s = np.cos(0.3), np.sin(0.3)
        pose[:, :3, :3] = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]) @ pose[:, :3, :3]
        carried[side] = pose
    moved = MovedPlan(planned, carried, planned_loads(run, planned))
    points = run.references["com"]
    assert moved.points(points) == pytest.approx(
        turned(points, angle) + shift, abs=1e-9
    )
    assert moved.turn() == pytest.approx(angle)


def test_open_loop_is_asked_for() -> None:
    """Without feedback nothing is measured or estimated, and the world judges."""
    motion = planned("mahru-1", 1)
    run = eq.walk(motion.robot, motion, feedback=False)
    assert run.summary["feedback"] == "none"
    assert run.summary["estimator"] is None
    assert run.summary["odometry_drift_m"] is None
    assert run.measured is None
    assert "open loop" in run.summary["sentence"]
    assert "mean CoM error" in [check["name"] for check in run.summary["checks"]]
    wanted = np.array([motion.sample(float(t)).position for t in run.time])
    assert run.commands["position"] == pytest.approx(wanted, abs=1e-12)
    ideal = eq.walk(motion.robot, motion, actuators="ideal").summary
    assert ideal["feedback"] == "none"


def test_feedback_of_ones_own_and_the_true_state() -> None:
    """Both close the loop and say so, at any time step."""
    motion = planned("mahru-1", 1)
    world = trial_world(motion.robot)
    own = balance_feedback(world, seed=1)
    run = eq.walk(world, motion, feedback=own)
    assert run.q.tobytes() == eq.walk(world, motion, seed=1).q.tobytes()
    true = eq.walk(world, motion, true_state=True, dt=5e-4).summary
    assert true["feedback"] == "true state"
    assert "feedback of the true state" in true["sentence"]
    assert true["achieved"], true["sentence"]


def test_contradictions_are_refused() -> None:
    """One line each: what belongs to feedback is not for what has none."""
    motion = planned("mahru-1", 1)
    robot = motion.robot
    with pytest.raises(eq.EquipoiseError, match="true_state is for feedback of ours"):
        eq.walk(robot, motion, feedback=False, true_state=True)
    with pytest.raises(eq.EquipoiseError, match="servo actuators"):
        eq.walk(robot, motion, actuators="ideal", true_state=True)
    own = balance_feedback(trial_world(robot))
    with pytest.raises(eq.EquipoiseError, match="give controller or feedback"):
        eq.walk(robot, motion, controller=OpenLoop(), feedback=own)
    with pytest.raises(eq.EquipoiseError, match="is in the ground"):
        eq.walk(robot, motion, unknown_terrain=Slope(0.1))


def test_it_walks_by_velocity_on_an_unknown_floor() -> None:
    """A curve with a payload, planned online on flat ground that is not flat."""
    robot = eq.load("humanoid")
    plan = VelocityWalk(robot, (0.15, 0.0, 0.1), 5.0)
    floor = terrain_named("rough:0.01", robot, 1)
    results = eq.walk_by_velocity(loaded(robot), plan, unknown_terrain=floor).summary
    assert results["achieved"], results["sentence"]
    assert results["feedback"] == "sensors"
    assert results["com_error_from_stance_m"]["mean"] <= LOADED
    assert results["estimator"]["com_rms_m"] <= ESTIMATED_COM
    assert "(planned: flat ground)" in results["sentence"]
    assert results["drift_over_distance_fraction"] < 0.05


def test_torques_need_feedback() -> None:
    """Joints that are told torques do not hold a robot by themselves."""
    robot = eq.load("humanoid")
    motion = eq.solve(robot, eq.fit_walk(robot, 2))
    with pytest.raises(eq.EquipoiseError, match="need feedback"):
        eq.walk(robot, motion, actuators="torque", feedback=False)


def test_robots_that_are_told_torques_walk_by_them(tmp_path: Path) -> None:
    """The file decides unless the user does, and says so in the sentence."""
    path = tmp_path / "humanoid.xml"
    eq.export_robot(eq.load("humanoid"), path)
    robot = eq.load(path)
    motion = eq.solve(robot, eq.fit_walk(robot, 2))
    results = eq.walk(robot, motion).summary
    assert results["achieved"], results["sentence"]
    assert "with torque actuators, with sensors" in results["sentence"]
    results = eq.walk(robot, motion, feedback=False).summary
    assert "with servo actuators" in results["sentence"]


def test_whole_body_torques_know_the_friction_of_the_joints() -> None:
    """As large as Apollo's, a hundred times our humanoid's, it takes nothing away."""
    motion = planned("humanoid", 2)
    world = trial_world(motion.robot, None, "torque")
    viscous = 100.0 * world.actuation.viscous_friction
    stiff = replace(world.actuation, viscous_friction=viscous)
    results = eq.walk(replace(world, actuation=stiff), motion).summary
    assert results["achieved"], results["sentence"]
    assert results["com_error_from_stance_m"]["mean"] < UNLOADED
