"""Closed-loop walks of many robots: equal to walks one by one, and independent."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
import warp as wp
from example_robots import example_robot

import equipoise as eq
from equipoise.arrays import Array
from equipoise.balance.estimator import ContactAidedEstimator
from equipoise.balance.stabiliser import Stabiliser, StabiliserGains
from equipoise.errors import EquipoiseError
from equipoise.gait.fit import fit_walk
from equipoise.gait.motion import Motion, solve
from equipoise.kernels.walks import Walks
from equipoise.kinematics.stance import sole_pose
from equipoise.log.run import Run
from equipoise.robot.inertias import Inertial
from equipoise.simulation.executed_plan import (
    SIDES,
    MovedPlan,
    com_error_from_stance,
    planned_loads,
    true_soles,
)
from equipoise.simulation.feedback import DELAY, PERIOD, Feedback
from equipoise.simulation.noise import Noise
from equipoise.simulation.planned_walks import PlannedWalks
from equipoise.simulation.sensors import Encoders, FootSensors, Imu, SensorSuite
from equipoise.simulation.trials import trial_world
from equipoise.simulation.variation import Variation
from equipoise.simulation.walking_fleet import WalkedTogether, walk_together
from equipoise.simulation.world import World

RECORD = 5  # time steps


@cache
def planned(name: str, steps: int = 2) -> Motion:
    """Return a walk of a robot, solved once."""
    robot = eq.load(name)
    return solve(robot, fit_walk(robot, steps))


@cache
def world_of(name: str) -> World:
    """Return a world with a push that does nothing unless it is varied."""
    robot = planned(name).robot
    push = eq.Push(robot.description.root, (0.0, 0.0, 0.0), start=1.0, duration=0.1)
    return trial_world(robot, pushes=(push,))


def one_by_one(
    world: World, motion: Motion, gains: StabiliserGains | None = None
) -> Run:
    """Return the walk of the loop in Python; its sensors have delay and no noise."""
    late = Noise(delay=DELAY)
    sensors = SensorSuite(
        world,
        Encoders(late, None),
        FootSensors(late, late),
        Imu(angular_velocity=late, specific_force=late, orientation=late),
    )
    feedback = Feedback(
        Stabiliser(motion.robot, PERIOD, gains),
        sensors,
        ContactAidedEstimator(motion.robot, PERIOD),
        PERIOD,
        "stabiliser",
    )
    return eq.walk(world, motion, feedback=feedback, model=motion.robot)


def com_errors(run: Run, motion: Motion) -> Array:
    """Return the CoM error from the stance foot, at whole multiples of 5 ms."""
    rows = np.clip(np.round(run.time / motion.dt).astype(int), 0, len(motion.q) - 1)
    soles = {side: sole_pose(motion.robot, motion.q[rows], side) for side in SIDES}
    moved = MovedPlan(soles, true_soles(run), planned_loads(run, soles))
    whole = np.round(run.time / 1e-3).astype(int) % RECORD == 0
    fell = run.summary["fell_at_s"]
    errors = com_error_from_stance(run, moved, np.inf)
    return np.asarray(errors[whole & (run.time <= (np.inf if fell is None else fell))])


@pytest.mark.parametrize("name", ["itu-biped", "humanoid"])
def test_without_noise_walks_are_those_of_the_loop(name: str) -> None:
    """Joints, base and CoM at the end of a walk, and its results, to rounding."""
    world, motion = world_of(name), planned(name)
    run = one_by_one(world, motion)
    walks = PlannedWalks(world, [motion], seeds=[1, 2, 3], noise=0.0)
    together = Walks(walks.arrays([0, 1, 2]), wp.float64, "cpu")
    together.run()
    rows = together.rollout.rows
    np.testing.assert_allclose(rows.q.numpy()[0, 1], run.q[-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(rows.v.numpy()[0, 2], run.v[-1], rtol=0, atol=1e-7)
    found = walk_together(world, motion, seeds=[5], noise=0.0)
    errors = com_errors(run, motion)
    assert found.survived.all()
    np.testing.assert_allclose(found.com_error_mean_m, errors.mean(), atol=1e-10)
    np.testing.assert_allclose(found.com_error_max_m, errors.max(), atol=1e-9)
    least = run.zmp_margin[run.supported].min()
    np.testing.assert_allclose(found.zmp_margin_min_m, least, atol=1e-7)
    heading = run.summary["heading_error_deg"]
    np.testing.assert_allclose(found.heading_error_deg, heading, atol=1e-2)
    assert found.distance_fraction == pytest.approx(1.0, abs=0.05)
    agrees(found, 0, run)


def agrees(found: WalkedTogether, robot: int, run: Run) -> None:
    """Assert that a walk is judged as by the loop, to what is left of its last 5 ms."""
    summary = run.summary
    assert found.survived[robot] == (summary["fell_at_s"] is None)
    assert found.achieved[robot] == summary["achieved"]
    assert found.steps_done[robot] == summary["steps_done"]
    speed = summary["actuators"]["peak_speed_fraction"]
    assert found.speed_fraction[robot] == pytest.approx(speed, rel=1e-6)
    if summary["fell_at_s"] is None:
        placed = summary["placement_error_from_stance_m"]["max"]
        assert found.placement_error_max_m[robot] == pytest.approx(placed, abs=1e-6)
        turned = summary["step_yaw_error_deg"]
        assert found.step_yaw_error_deg[robot] == pytest.approx(turned, abs=1e-3)
        inside = summary["zmp_inside_feet_fraction"]
        assert found.zmp_inside_feet_fraction[robot] == pytest.approx(inside, abs=2e-3)


def inertial(robot: eq.Robot, link: str) -> Inertial:
    """Return mass, CoM and inertia of a link."""
    found = robot.description.link_by_name[link].inertial
    assert found is not None
    return found


def heavier(old: Inertial) -> Inertial:
    """Return another mass, CoM and inertia."""
    return replace(
        old,
        mass=1.2 * old.mass,
        com_in_link=old.com_in_link + np.array([0.01, -0.005, 0.02]),
        inertia_in_link=1.3 * old.inertia_in_link,
    )


def test_each_robot_walks_in_its_own_world() -> None:
    """Mass, CoM, inertia, friction, delay, servos, push, gains: as one by one.

    The feet are heavier, too, which the sensors at the ankles feel.
    """
    name = "itu-biped"
    world, motion = world_of(name), planned(name)
    robot = world.robot
    links = [robot.description.root, robot.legs["left"].end_link]
    usual = {link: inertial(robot, link) for link in links}
    inertials = {link: heavier(old) for link, old in usual.items()}
    push = replace(world.pushes[0], force_in_world=np.array([30.0, 20.0, 0.0]))
    gains = StabiliserGains(dcm=1.7, fastest=0.9)
    changed = replace(
        world,
        robot=robot.with_inertials(inertials),
        pushes=(push,),
        material=replace(world.material, static_friction=0.6, dynamic_friction=0.5),
        actuation=replace(
            world.actuation,
            delay=3e-3,
            stiffness=0.9 * world.actuation.stiffness,
        ),
    )
    run = one_by_one(changed, motion, gains)

    def beside(own: Any, usual: Any) -> Array:
        return np.array([usual, own, usual])

    variation = Variation(
        mass={k: beside(i.mass, usual[k].mass) for k, i in inertials.items()},
        com={
            k: beside(i.com_in_link, usual[k].com_in_link) for k, i in inertials.items()
        },
        inertia={
            k: beside(i.inertia_in_link, usual[k].inertia_in_link)
            for k, i in inertials.items()
        },
        static_friction=beside(0.6, 0.8),
        dynamic_friction=beside(0.5, 0.7),
        delay=beside(3e-3, 0.0),
        stiffness=beside(0.9 * world.actuation.stiffness, world.actuation.stiffness),
        push_force=beside([[30.0, 20.0, 0.0]], np.zeros((1, 3))),
    )
    default = StabiliserGains()
    found = walk_together(
        world,
        motion,
        variation,
        seeds=[0, 0, 0],
        noise=0.0,
        gains=[default, gains, default],
    )
    errors = com_errors(run, motion)
    assert run.summary["fell_at_s"] is None
    assert found.com_error_mean_m[1] == pytest.approx(errors.mean(), abs=1e-9)
    assert found.com_error_max_m[1] == pytest.approx(errors.max(), abs=1e-8)
    # to rounding: vector instructions of a machine may sum another row otherwise
    like = pytest.approx(found.com_error_max_m[2], rel=1e-12)
    assert found.com_error_max_m[0] == like
    assert abs(found.com_error_max_m[0] - errors.max()) > 1e-3
    agrees(found, 1, run)


def test_a_fall_is_that_of_the_loop() -> None:
    """At the same time, its results until then the same; others go on."""
    name = "itu-biped"
    world, motion = world_of(name), planned(name)
    force = np.array([150.0, 250.0, 0.0])
    push = replace(world.pushes[0], force_in_world=force)
    run = one_by_one(replace(world, pushes=(push,)), motion)
    forces = np.array([[force], [0.0 * force]])
    found = walk_together(
        world, motion, Variation(push_force=forces), seeds=[0, 0], noise=0.0
    )
    assert found.survived.tolist() == [False, True]
    assert not found.diverged.any()
    assert found.fell_at_s[0] == pytest.approx(run.summary["fell_at_s"], abs=1e-9)
    assert np.isnan(found.fell_at_s[1])
    errors = com_errors(run, motion)
    assert found.com_error_max_m[0] == pytest.approx(errors.max(), rel=1e-6)
    assert found.steps_done.tolist() == [run.summary["steps_done"], 2]
    assert found.achieved.tolist() == [False, True]


def test_neighbours_do_not_matter() -> None:
    """Robots, plans and seeds in another order and other batches: the same bits."""
    name = "itu-biped"
    world, motions = world_of(name), [planned(name), planned(name, 1)]
    rng = np.random.default_rng(3)
    count, link = 7, world.robot.description.root
    mass = rng.uniform(0.9, 1.1, count) * 10.0
    kick = rng.uniform(-60.0, 60.0, (count, 1, 3)) * [1.0, 1.0, 0.0]
    kick[2] = [[150.0, 250.0, 0.0]]
    seeds, gait_of = rng.integers(0, 2**32, count), rng.integers(0, 2, count)
    delay = rng.choice([0.0, 2e-3, 5e-3], count)
    variation = Variation(mass={link: mass}, push_force=kick, delay=delay)

    def walked(rows: list[int], **how: Any) -> WalkedTogether:
        return walk_together(
            world,
            motions,
            variation.of_robots(rows),
            seeds=seeds[rows],
            gait_of=gait_of[rows],
            seconds=1.8,
            **how,
        )

    whole = walked(list(range(count)))
    rows = [5, 2, 0, 3]
    some = walked(rows, batch=2, threads=2)
    for item in fields(WalkedTogether):
        np.testing.assert_array_equal(
            getattr(whole, item.name)[rows], getattr(some, item.name), item.name
        )
    assert not whole.survived[2]
    assert len(set(whole.com_error_mean_m)) == count


def test_arrays_of_some_robots_are_theirs() -> None:
    """Walks laid out for all and picked are those laid out for the few; also twice."""
    name = "itu-biped"
    world, rows = world_of(name), np.array([2, 0, 2], np.int32)
    link = world.robot.description.root
    variation = Variation(
        mass={link: np.array([8.0, 9.0, 10.0])},
        static_friction=np.array([0.5, 0.6, 0.7]),
        delay=np.array([0.0, 1e-3, 2e-3]),
        push_force=np.array([[[5.0, 0.0, 0.0]], [[0.0, 5.0, 0.0]], [[0.0, 0.0, 5.0]]]),
    )
    walks = PlannedWalks(
        world,
        [planned(name), planned(name, 1)],
        variation,
        seeds=[3, 4, 5],
        gait_of=[0, 1, 1],
        gains=[StabiliserGains(dcm=gain) for gain in (1.8, 2.0, 2.2)],
        seconds=0.3,
    )
    few, picked = (
        Walks(arrays, wp.float64, "cpu").run()
        for arrays in (
            walks.arrays(rows),
            walks.arrays([0, 1, 2]).of_robots(rows),
        )
    )
    np.testing.assert_array_equal(few.found, picked.found)
    np.testing.assert_array_equal(few.found[0], few.found[2])
    assert (few.found[0] != few.found[1]).any()


def test_noise_disturbs_as_that_of_the_loop() -> None:
    """The mean CoM error over seeds is that of walks one by one, as seeds scatter."""
    name = "itu-biped"
    world, motion = world_of(name), planned(name)
    alone = [
        com_errors(eq.walk(world, motion, seed=seed), motion).mean()
        for seed in range(3)
    ]
    found = walk_together(world, motion, seeds=np.arange(16)).com_error_mean_m
    spread = np.std(found) * np.sqrt(1.0 / len(alone) + 1.0 / len(found))
    assert 0.0 < spread < 0.05 * found.mean()
    assert np.mean(alone) == pytest.approx(found.mean(), abs=3.0 * spread)


def test_float32_is_near() -> None:
    """The CoM error of a walk is that of float64 within 0.1 mm."""
    name = "itu-biped"
    world, motion = world_of(name), planned(name, 1)
    exact, near = (
        walk_together(world, motion, seeds=np.arange(8), dtype=dtype)
        for dtype in (np.float64, np.float32)
    )
    assert exact.survived.all()
    assert near.survived.all()
    off = np.abs(near.com_error_mean_m - exact.com_error_mean_m).max()
    print(f"float32: CoM error off by up to {1e3 * off:.4f} mm")
    assert off < 1e-4


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seeds": []}, "seeds: whole numbers are needed"),
        ({"seeds": [0.5]}, "seeds: whole numbers are needed"),
        ({"seeds": [-1, 2]}, "seeds: numbers from 0 to 4294967295"),
        ({"noise": -1.0}, "noise: factors must be finite, and 0 or more"),
        ({"noise": [1.0, 1.0, 1.0]}, r"noise has shape \(3,\); \(2,\) is needed"),
        ({"gait_of": [0, 1]}, "gait_of: numbers from 0 to 0"),
        ({"gains": [StabiliserGains()]}, "gains: 1 of them for 2 robots"),
        ({"batch": 0}, "a batch of 0 robots"),
        ({"device": "tpu"}, "there is no device 'tpu'"),
        ({"model": eq.load("humanoid")}, "the model has other joints than itu-biped"),
        ({"motion": []}, "there is no motion"),
        ({"world": trial_world(eq.load("humanoid"))}, "the motion was solved for"),
    ],
)
def test_bad_arguments(change: dict[str, Any], words: str) -> None:
    """Each is refused in one line that says what is wrong."""
    name = "itu-biped"
    options: dict[str, Any] = {
        "world": world_of(name),
        "motion": planned(name),
        "seeds": [1, 2],
    }
    with pytest.raises(EquipoiseError, match=words) as caught:
        walk_together(**(options | change))
    assert "\n" not in str(caught.value)


def test_torque_controlled_joints_are_refused() -> None:
    """The stabiliser is for servos."""
    motion = planned("itu-biped")
    world = trial_world(motion.robot, mode="torque")
    with pytest.raises(EquipoiseError, match="told torques"):
        walk_together(world, motion, seeds=[1])


def test_a_torso_off_to_the_side_stops_on_both_feet() -> None:
    """The last foot is loaded though it hardly touched: G1's torso 80 mm off."""
    robot = eq.load(example_robot("g1_description", "urdf", "g1_29dof_rev_1_0.urdf"))
    motion = solve(robot, fit_walk(robot, 4))
    own = robot.description.link_by_name["torso_link"].inertial
    assert own is not None
    aside = np.array([[0.0, -0.08, 0.0], [0.0, 0.08, 0.0]])
    walked = walk_together(
        trial_world(robot, mode="servo"),
        motion,
        Variation(com={"torso_link": own.com_in_link + aside}),
        seeds=[0, 1],
    )
    assert walked.survived.all()
