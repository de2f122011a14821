"""The stabiliser's tick against Pinocchio, least squares and plain geometry."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
import warp as wp

import equipoise as eq
from equipoise.arrays import Array
from equipoise.balance.estimator import ContactAidedEstimator, Estimate
from equipoise.balance.stabiliser import Stabiliser, StabiliserGains
from equipoise.control.signals import Command, State, Target
from equipoise.gait.standing import standing_reference
from equipoise.gait.standing_motion import bent_stance
from equipoise.kernels.estimation import TOLD_COM_VELOCITY
from equipoise.kernels.stabiliser.hull import make_nearest_in_hull
from equipoise.kernels.stabiliser.types import SAID_COM_VELOCITY
from equipoise.kinematics.com import com_jacobian
from equipoise.kinematics.frames import frame_jacobian, frame_pose
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.anatomy.geometry import convex_hull, signed_distance
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.simulation.sensors import SensorSuite
from equipoise.simulation.simulate import make_engine
from equipoise.simulation.trials import trial_world

PERIOD = 2e-3
ROBOTS = ("humanoid", "mahru-1", "itu-biped")


def settled(robot: eq.Robot) -> tuple[State, Target, Estimate, ContactAidedEstimator]:
    """Return a robot that stands: its state, what is wanted, what is estimated."""
    world = trial_world(robot)
    q = bent_stance(robot, robot.standing)
    target = standing_reference(robot, q).sample(0.0)
    engine = make_engine("native", world)
    engine.reset(q)
    command = Command(target.position, target.velocity, target.torque)
    state = engine.step(command, 500)
    estimator = ContactAidedEstimator(robot, PERIOD)
    estimator.reset(state)
    estimate = estimator.estimate(SensorSuite(world).measure(state), command)
    return state, target, estimate, estimator


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_on_its_plan_is_told_the_plan(name: str) -> None:
    """Standing where it should, the command is what is wanted, to what it gave way."""
    robot = eq.load(name)
    state, target, estimate, _ = settled(robot)
    stabiliser = Stabiliser(robot, PERIOD)
    stabiliser.reset(state)
    for _ in range(5):
        command = stabiliser.control(estimate, target)
    moved = joint_positions(robot, state.q)
    assert np.abs(command.position - moved).max() < 2e-3
    most = np.abs(target.torque).max()
    assert np.abs(command.torque - target.torque).max() < 0.1 * most


@pytest.mark.parametrize("name", ROBOTS)
def test_joint_velocities_are_those_of_whole_body_least_squares(name: str) -> None:
    """CoM, soles, torso and the other joints move as wanted, exactly."""
    robot = eq.load(name)
    state, target, estimate, _ = settled(robot)
    generator = np.random.default_rng(1)
    joints = robot.nv - 6
    others = np.ones(joints, dtype=bool)
    for side in ("left", "right"):
        for joint in robot.legs[side].joints:
            others[robot.model.joints[robot.joint_id(joint)].idx_v - 6] = False
    swing = generator.uniform(-0.2, 0.2, 6)
    swing[2] = abs(swing[2])  # it rises: it has not come down yet
    com_velocity = generator.uniform(-0.1, 0.1, 3)
    assert target.sole_twists is not None
    wanted = replace(
        target,
        velocity=np.where(others, generator.uniform(-1.0, 1.0, joints), 0.0),
        com_velocity=com_velocity,
        sole_twists={**target.sole_twists, "right": swing},
        support="left",
    )
    # no feedback of the measured velocity: the plan's own is what is wanted
    gains = StabiliserGains(com_rate=0.0, follow_turn=0.0, follow_height=0.0)
    stabiliser = Stabiliser(robot, PERIOD, replace(gains, damping=1e-13))
    stabiliser.reset(state)
    moving = replace(estimate, told=estimate.told.copy())
    moving.told[TOLD_COM_VELOCITY] = com_velocity
    command = stabiliser.control(moving, wanted)
    # the joints that the velocities belong to
    rows = [com_jacobian(robot, state.q)]
    values = [stabiliser.said[SAID_COM_VELOCITY]]
    for side, twist in (("left", np.zeros(6)), ("right", swing)):
        body_jacobian = frame_jacobian(robot, state.q, robot.soles[side].link)
        shift = _to_sole(robot, state.q, side)
        rows.append(shift @ body_jacobian)
        values.append(twist)
    turn = np.zeros((3, robot.nv))
    turn[:, 3:6] = pin.Quaternion(state.q[3:7]).toRotationMatrix()
    rows.append(turn)
    values.append(np.zeros(3))
    for at in np.flatnonzero(others):
        row = np.zeros((1, robot.nv))
        row[0, 6 + at] = 1.0
        rows.append(row)
        values.append(wanted.velocity[at : at + 1])
    expected = np.linalg.lstsq(np.vstack(rows), np.concatenate(values), rcond=None)[0]
    np.testing.assert_allclose(command.velocity, expected[6:], atol=1e-6)


def _to_sole(robot: eq.Robot, q: Array, side: str) -> Array:
    """Return what maps a link's velocity to that of its sole's origin, world axes."""
    link = frame_pose(robot, q, robot.soles[side].link)
    arm = sole_pose(robot, q, side)[:3, 3] - link[:3, 3]
    matrix = np.eye(6)
    matrix[:3, 3:] = -pin.skew(arm)
    return matrix


def test_only_estimates_and_whole_targets_are_taken() -> None:
    """A plain state, or joints alone, are refused in one line."""
    robot = eq.load("humanoid")
    state, target, estimate, _ = settled(robot)
    stabiliser = Stabiliser(robot, PERIOD)
    stabiliser.reset(state)
    with pytest.raises(eq.EquipoiseError, match="needs an Estimate"):
        stabiliser.control(state, target)
    joints = Target(target.position, target.velocity, target.torque)
    with pytest.raises(eq.EquipoiseError, match="CoM, ZMP, soles and torso"):
        stabiliser.control(estimate, joints)


def test_the_same_twice_after_a_reset() -> None:
    """Nothing of an earlier run is left."""
    robot = eq.load("mahru-1")
    state, target, estimate, _ = settled(robot)
    stabiliser = Stabiliser(robot, PERIOD)
    told = []
    for _ in range(2):
        stabiliser.reset(state)
        told.append([stabiliser.control(estimate, target) for _ in range(3)][-1])
    for one, two in zip(*told, strict=True):
        np.testing.assert_array_equal(one, two)


def test_points_nearest_in_a_hull() -> None:
    """Points inside stay; others go to the nearest point of the edge."""
    nearest = make_nearest_in_hull(wp.float64)

    @wp.kernel
    def ask(
        points: wp.array[wp.vec3d],
        corners: wp.array[wp.vec3d],
        found: wp.array[wp.vec3d],
    ) -> None:
        i = wp.tid()
        found[i] = nearest(points[i], corners, corners.shape[0])

    generator = np.random.default_rng(3)
    for count in (3, 4, 8, 12):
        corners, points = np.zeros((count, 3)), np.zeros((200, 3))
        corners[:, :2] = generator.uniform(-1.0, 1.0, (count, 2))
        points[:, :2] = generator.uniform(-2.0, 2.0, (200, 2))
        found = wp.zeros(200, dtype=wp.vec3d, device="cpu")
        inputs = [
            wp.array(points, dtype=wp.vec3d, device="cpu"),
            wp.array(corners, dtype=wp.vec3d, device="cpu"),
            found,
        ]
        wp.launch(ask, dim=200, inputs=inputs, device="cpu")
        hull = convex_hull(corners[:, :2])
        distance = np.array([signed_distance(hull, point) for point in points[:, :2]])
        moved = np.linalg.norm(found.numpy() - points, axis=1)
        np.testing.assert_allclose(moved, np.maximum(-distance, 0.0), atol=1e-12)
