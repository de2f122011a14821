from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

import equipoise as eq
from equipoise.arrays import Array
from equipoise.balance.estimator import ContactAidedEstimator, Estimate
from equipoise.balance.skeleton import sole_placements
from equipoise.balance.stabiliser import Stabiliser
from equipoise.control.signals import Command, ImuReading, Measurement, State, Wrench
from equipoise.errors import NameNotFoundError
from equipoise.gait.motion import Motion
from equipoise.gait.standing import standing_reference
from equipoise.kernels.estimation import TOLD_CONTACT, TOLD_FORCE, TOLD_SOLE
from equipoise.kinematics.stance import sole_pose
from equipoise.log.run import Run
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import configurations
from equipoise.simulation.feedback import PERIOD, usual_sensors
from equipoise.simulation.sensors import FootSensors, SensorSuite
from equipoise.simulation.trials import trial_world
from equipoise.simulation.world import World

SIDES = ("left", "right")
NAMES = ("humanoid", "mahru-1", "itu-biped")
TURNED = np.array([0.02, -0.05, 0.3, 0.95])
BASE = np.append([0.3, -0.2, 0.9], TURNED / np.linalg.norm(TURNED))


def with_other_joints(folder: Path) -> eq.Robot:
    """Return the built-in robot, its elbows sliding and its shoulders without stops."""
    file = folder / "other.urdf"
    eq.load("humanoid").write_urdf(file)
    text = file.read_text()
    for word, kind in (("elbow", "prismatic"), ("shoulder_pitch", "continuous")):
        text, count = re.subn(
            rf'(<joint name="[^"]*{word}[^"]*" type=)"revolute"', rf'\1"{kind}"', text
        )
        assert count == 2, word
    file.write_text(text)
    return eq.load(file)


class Watched(eq.Estimator):
    """An estimator whose estimates are kept."""

    def __init__(self, inner: ContactAidedEstimator) -> None:
        self.inner = inner
        self.kept: list[Estimate] = []

    def reset(self, start: State) -> None:
        """Begin anew."""
        self.kept = []
        self.inner.reset(start)

    def estimate(self, measurement: Measurement, command: Command) -> Estimate:
        """Return the state, and keep it."""
        self.kept.append(self.inner.estimate(measurement, command))
        return self.kept[-1]


@pytest.fixture(scope="module")
def robot() -> eq.Robot:
    """Return the built-in robot."""
    return eq.load("humanoid")


@pytest.fixture(scope="module")
def motion(robot: eq.Robot) -> Motion:
    """Return four steps of it."""
    return eq.solve(robot, eq.fit_walk(robot, 4))


def closed(
    world: World,
    model: eq.Robot,
    reference: eq.Reference,
    sensors: SensorSuite,
    estimator: ContactAidedEstimator | None = None,
    seconds: float | None = None,
    start: Array | None = None,
) -> tuple[Run, list[Estimate]]:
    """Return a run with the loop closed, recorded every period, and its estimates."""
    watched = Watched(estimator or ContactAidedEstimator(model, PERIOD))
    run = eq.simulate(
        world,
        reference,
        seconds,
        start=start,
        controller=Stabiliser(model, PERIOD),
        sensors=sensors,
        estimator=watched,
        control_period=PERIOD,
        record_period=PERIOD,
    )
    assert run.summary["fell_at_s"] is None
    return run, watched.kept


def errors(
    robot: eq.Robot, run: Run, kept: list[Estimate]
) -> tuple[Array, Array, Array]:
    """Return errors of CoM less stance sole, CoM velocity and base."""
    rows = np.round(np.array([e.time for e in kept]) / PERIOD).astype(int)
    q, v = run.q[rows], run.v[rows]
    own = np.array([e.q for e in kept])
    soles = [sole_pose(robot, x, s)[:, :3, 3] for s in SIDES for x in (own, q)]
    load = [run.foot_wrench[side][rows, 2] for side in SIDES]
    on_left = (load[0] > load[1])[:, None]
    sole = np.where(on_left, soles[0] - soles[1], soles[2] - soles[3])
    com = np.array([e.com for e in kept]) - np.asarray(eq.com(robot, q)) - sole
    data = robot.model.createData()
    velocity = []
    for estimate, now, moves in zip(kept, q, v, strict=True):
        pin.centerOfMass(robot.model, data, now, moves)
        velocity.append(estimate.com_velocity - np.array(data.vcom[0]))
    return com, np.array(velocity), own[:, :3] - q[:, :3]


def rms(values: Array) -> float:
    """Return the root mean square of the length of rows."""
    return float(np.sqrt(np.mean(np.sum(values**2, axis=1))))


@pytest.mark.parametrize("name", [*NAMES, "other joints"])
@pytest.mark.parametrize("imu", ["base", "hand"])
def test_kinematics_are_pinocchios(name: str, imu: str, tmp_path: Path) -> None:
    """Within one tick base, CoM, its velocity and soles are Pinocchio's."""
    robot = with_other_joints(tmp_path) if name == "other joints" else eq.load(name)
    rng = np.random.default_rng(3)
    model, data, joints = robot.model, robot.model.createData(), robot.nv - 6
    body = 1 if imu == "base" else model.njoints - 1
    pose = pin.SE3(pin.exp3(rng.normal(size=3)), 0.1 * rng.normal(size=3))
    estimator = ContactAidedEstimator(
        robot,
        1e-15,  # nothing moves meanwhile
        imu_frame="base_link" if imu == "base" else model.names[body],
        transform_imu_to_frame=np.array(pose.homogeneous),
    )
    feet = {side: Wrench(np.zeros(3), np.zeros(3)) for side in SIDES}
    for _ in range(5):
        position = rng.uniform(-1.0, 1.0, joints)
        q = configurations(robot, BASE[None], position[None])[0]
        v = np.append(np.zeros(3), rng.normal(size=3 + joints))
        # an estimator begins with an IMU at rest: so does this one
        pin.forwardKinematics(model, data, q, v)
        at_imu = data.v[body].linear + np.cross(data.v[body].angular, pose.translation)
        in_base = data.oMi[1].rotation.T @ data.oMi[body].rotation
        v[:3] -= in_base @ at_imu
        pin.centerOfMass(model, data, q, v)
        angular = pose.rotation.T @ data.v[body].angular
        turned = data.oMi[body].rotation @ pose.rotation
        reading = ImuReading(angular, STANDARD_GRAVITY * turned[2], np.zeros(4))
        estimator.reset(State(0.0, q, v))
        estimate = estimator.estimate(
            Measurement(0.0, position, v[6:], feet, reading),
            Command(position, v[6:], v[6:]),
        )
        exact = {"rtol": 0.0, "atol": 1e-12}
        np.testing.assert_allclose(estimate.com, data.com[0], **exact)
        np.testing.assert_allclose(estimate.com_velocity, data.vcom[0], **exact)
        np.testing.assert_allclose(estimate.q[:3], q[:3], **exact)
        np.testing.assert_allclose(estimate.v, v, **exact)
        soles = [sole_pose(robot, q, side)[:3, 3] for side in SIDES]
        np.testing.assert_allclose(
            estimate.told[TOLD_SOLE : TOLD_SOLE + 2], soles, **exact
        )


def test_standing_is_exact(robot: eq.Robot, motion: Motion) -> None:
    """With sensors that are exact nothing drifts, and there is no offset."""
    world, q = trial_world(robot), motion.q[0]
    run, kept = closed(
        world, robot, standing_reference(robot, q), SensorSuite(world), None, 2.0, q
    )
    com, velocity, base = errors(robot, run, kept)
    assert np.abs(com).max() < 2e-4
    assert np.abs(base).max() < 1e-3  # soles sink into the ground
    assert np.abs(velocity[-100:]).max() < 1e-3
    assert np.abs(kept[-1].com_offset).max() < 1e-3
    assert np.abs(kept[-1].gyroscope_bias).max() < 1e-4
    assert kept[-1].mass_ratio == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("imu", ["base_link", "torso"])
def test_walking(robot: eq.Robot, motion: Motion, imu: str) -> None:
    """Walking with usual sensors, CoM and its velocity stay within the bounds."""
    world = trial_world(robot)
    usual = usual_sensors(world)
    pose = np.array(
        pin.SE3(pin.exp3(np.array([0.3, 0.1, 2.0])), np.array([0.05, 0.0, 0.1]))
    )
    on_link = replace(usual.imu, frame=imu, transform_imu_to_frame=pose)
    sensors = SensorSuite(world, usual.encoders, usual.feet, on_link)
    estimator = ContactAidedEstimator(
        robot, PERIOD, imu_frame=imu, transform_imu_to_frame=pose
    )
    run, kept = closed(world, robot, motion, sensors, estimator)
    com, velocity, base = errors(robot, run, kept)
    walked = float(np.linalg.norm(run.q[-1, :2] - run.q[0, :2]))
    assert rms(com) < 5e-3
    assert rms(velocity) < 20e-3
    assert np.linalg.norm(base[-1, :2]) < 0.02 * walked


def test_bias_of_the_gyroscope_is_found(robot: eq.Robot, motion: Motion) -> None:
    """A gyroscope with a bias neither tilts the robot for long nor fells it."""
    world = trial_world(robot)
    usual = usual_sensors(world)
    bias = np.array([0.01, -0.008, 0.01])
    gyroscope = replace(usual.imu.angular_velocity, bias=bias)
    imu = replace(usual.imu, angular_velocity=gyroscope)
    sensors = SensorSuite(world, usual.encoders, usual.feet, imu)
    run, kept = closed(world, robot, motion, sensors)
    com, _, _ = errors(robot, run, kept)
    assert rms(com) < 8e-3
    np.testing.assert_allclose(kept[-1].gyroscope_bias, bias, atol=1.5e-3)


@pytest.mark.parametrize("axis", [0, 1])
def test_offset_of_the_com_is_found(robot: eq.Robot, motion: Motion, axis: int) -> None:
    """A model whose CoM is 10 mm wrong: found to 3 mm within 10 s, standing."""
    world, q = trial_world(robot), motion.q[0]
    link = robot.description.link_by_name["torso"]
    turned = np.asarray(eq.frame_pose(robot, q, "torso"))[:3, :3]
    moved = turned.T @ (0.01 * np.eye(3)[axis]) * robot.mass / link.inertial.mass
    wrong = replace(link.inertial, com_in_link=link.inertial.com_in_link - moved)
    model = robot.with_inertials({"torso": wrong})
    reference = standing_reference(model, q)
    _, kept = closed(world, model, reference, usual_sensors(world), None, 8.0, q)
    offset = kept[-1].com_offset
    np.testing.assert_allclose(offset, 0.01 * np.eye(2)[axis], rtol=0, atol=3e-3)


def test_reset_repeats(robot: eq.Robot, motion: Motion) -> None:
    """After a reset the same measurements give the same estimates, to the last bit."""
    world, q = trial_world(robot), motion.q[0]
    reference, sensors = standing_reference(robot, q), usual_sensors(world)
    estimator = ContactAidedEstimator(robot, PERIOD)
    first, second = (
        closed(world, robot, reference, sensors, estimator, 0.2, q)[1] for _ in "ab"
    )
    for one, other in zip(first, second, strict=True):
        assert np.array_equal(one.told, other.told)
        assert np.array_equal(one.q, other.q)


def test_sole_and_ankle_sensors_agree(robot: eq.Robot, motion: Motion) -> None:
    """Sensors at the sole and above the foot tell the same ground forces, at rest."""
    world, q = trial_world(robot), motion.q[0]
    reference = standing_reference(robot, q)
    zmps, forces = [], []
    for at in ("sole", "ankle"):
        sensors = SensorSuite(world, feet=FootSensors(at=at))
        estimator = ContactAidedEstimator(robot, PERIOD, feet_at=at)
        _, kept = closed(world, robot, reference, sensors, estimator, 1.0, q)
        zmps.append(kept[-1].zmp)
        forces.append(kept[-1].told[TOLD_FORCE : TOLD_FORCE + 2])
    np.testing.assert_allclose(*zmps, atol=2e-4)
    np.testing.assert_allclose(*forces, atol=0.5)


def test_foot_that_rocks_turns_about_its_centre_of_pressure(robot: eq.Robot) -> None:
    """A robot that tips over an edge of its soles: the edge stays, the base moves."""
    estimator = ContactAidedEstimator(robot, PERIOD)
    q = robot.standing.copy()
    position = eq.joint_positions(robot, q)
    still = np.zeros(len(position))
    edge = np.array([0.05, 0.0, 0.0])  # in the sole
    speed, weight = 0.05, robot.mass * STANDARD_GRAVITY
    estimator.reset(State(0.0, q, np.zeros(robot.nv)))
    start, sole = pin.XYZQUATToSE3(q[:7]), sole_pose(robot, q, "left")
    pivot = pin.SE3(np.eye(3), (sole[:3, :3] @ edge + sole[:3, 3]) * [1.0, 0.0, 1.0])
    end = start
    for step in range(700):  # it stands still for a second at first
        rate = speed if step >= 500 else 0.0
        angle = rate * PERIOD * (step - 499)
        turn = pin.SE3(pin.exp3(np.array([0.0, angle, 0.0])), np.zeros(3))
        end = pivot * turn * pivot.inverse() * start
        up = end.rotation[2]
        tilted = {}
        for side in SIDES:
            axes = end.rotation @ start.rotation.T @ sole_pose(robot, q, side)[:3, :3]
            force = axes.T @ np.array([0.0, 0.0, 0.5 * weight])
            tilted[side] = Wrench(force, np.cross(edge, force))
        reading = ImuReading(
            end.rotation.T @ np.array([0.0, rate, 0.0]),
            STANDARD_GRAVITY * up,
            np.zeros(4),
        )
        measurement = Measurement(step * PERIOD, position, still, tilted, reading)
        estimate = estimator.estimate(measurement, Command(position, still, still))
    moved = float(np.linalg.norm(end.translation - start.translation))
    assert moved > 0.01
    assert np.linalg.norm(estimate.q[:3] - end.translation) < 0.1 * moved


@pytest.mark.parametrize("ground", [0.0, 0.15])
def test_a_foot_that_is_thrown_down_does_not_touch(
    robot: eq.Robot, ground: float
) -> None:
    """Inertia of the feet is not taken for contact; a force beyond it is."""
    estimator, weight = ContactAidedEstimator(robot, PERIOD), robot.mass
    weight *= STANDARD_GRAVITY
    position = eq.joint_positions(robot, robot.standing)
    still = np.zeros(len(position))
    body = sole_placements(robot)["left"][0]
    mass = sum(robot.model.inertias[part].mass for part in robot.model.subtrees[body])
    estimator.reset(State(0.0, robot.standing, np.zeros(robot.nv)))
    for step in range(40):  # the whole robot is thrown down, harder and harder
        down = max(step - 10, 0) / 30.0 * 0.12 * weight / mass
        upward = mass * (down - STANDARD_GRAVITY) + (
            ground * weight if step > 30 else 0
        )
        wrench = Wrench(np.array([0.0, 0.0, upward]), np.zeros(3))
        reading = ImuReading(
            np.zeros(3), np.array([0.0, 0.0, STANDARD_GRAVITY - down]), np.zeros(4)
        )
        measurement = Measurement(
            step * PERIOD, position, still, dict.fromkeys(SIDES, wrench), reading
        )
        estimate = estimator.estimate(measurement, Command(position, still, still))
    assert mass * down > 0.1 * weight
    assert estimate.told[TOLD_CONTACT][0] == float(ground > 0.0)


def test_unknown_frame_is_named(robot: eq.Robot) -> None:
    """A frame that is not there is refused by its name."""
    with pytest.raises(NameNotFoundError, match="nowhere"):
        ContactAidedEstimator(robot, PERIOD, imu_frame="nowhere")
