from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

import equipoise as eq
from equipoise.arrays import Array
from equipoise.control.signals import Wrench
from equipoise.errors import NameNotFoundError, ShapeError
from equipoise.kinematics.support import polygon_margin
from equipoise.simulation.contacts import contact_point, sole_points
from equipoise.simulation.measures import (
    ankle_zmp,
    foot_wrench,
    points_of_foot,
    sole_pose,
    touching_polygon,
    yaw_moment,
    zmp,
    zmp_margin,
)

seeds = st.integers(0, 2**31)


@pytest.fixture(scope="module")
def humanoid() -> eq.Robot:
    """A robot with two soles."""
    return eq.load("humanoid")


def pushed_points(seed: int, level: bool = False) -> tuple[Array, Array]:
    """Return six random points and forces that push up, with friction."""
    generator = np.random.default_rng(seed)
    points = generator.uniform(-1.0, 1.0, (6, 3))
    points[:, 2] *= 0.0 if level else 0.2
    forces = generator.normal(0.0, 50.0, (6, 3))
    forces[:, 2] = generator.uniform(1.0, 200.0, 6)
    return points, forces


def moment_about(point: Array, points: Array, forces: Array) -> Array:
    """Return Σ (p_i - p) × F_i."""
    return np.cross(points - point, forces).sum(axis=0)


@given(seeds)
def test_on_level_ground_the_zmp_is_the_centre_of_pressure(seed):
    """It equals Eq. 51 of [Sariyildiz2015], and is inside the polygon."""
    points, forces = pushed_points(seed, level=True)
    found = zmp(points, forces)
    weights = np.abs(forces[:, 2])
    expected = (points * weights[:, None]).sum(axis=0) / weights.sum()
    np.testing.assert_allclose(found.position, expected, atol=1e-12)
    margin = zmp_margin(points, forces)
    assert found.supported
    assert margin.supported
    assert margin.distance > 0.0
    distance = polygon_margin(points[:, :2], expected[:2])
    assert margin.distance == pytest.approx(float(distance))


@given(seeds, st.floats(-0.5, 0.5), st.floats(-0.5, 0.5))
def test_the_moment_about_the_zmp_is_along_the_normal(seed, pitch, roll):
    """On ground of any shape and for any normal, only a yaw moment is left."""
    points, forces = pushed_points(seed)
    normal = np.array([-pitch, -roll, 1.0])
    normal /= np.linalg.norm(normal)
    if (forces @ normal).sum() < 10.0:
        return
    point = zmp(points, forces, normal).position
    left = moment_about(point, points, forces)
    np.testing.assert_allclose(np.cross(normal, left), 0.0, atol=1e-9)
    weights = forces @ normal
    mean = (weights @ points) / weights.sum()
    assert normal @ (point - mean) == pytest.approx(0.0, abs=1e-12)


def test_on_a_slope_the_zmp_is_a_point_of_the_slope():
    """With the slope's normal it is the mean weighted by normal force."""
    points, forces = pushed_points(3)
    points[:, 2] = 0.3 * points[:, 0]
    normal = np.array([-0.3, 0.0, 1.0]) / np.hypot(0.3, 1.0)
    weights = forces @ normal
    expected = (weights @ points) / weights.sum()
    np.testing.assert_allclose(zmp(points, forces, normal).position, expected)


def test_nothing_touches():
    """A state in the air is marked, and holds no NaN; so is a robot without points."""
    points, forces = pushed_points(0)
    trace = np.stack([forces, 0.0 * forces, forces])
    found = zmp(np.stack([points] * 3), trace)
    margin = zmp_margin(np.stack([points] * 3), trace)
    for result in (found, margin):
        np.testing.assert_array_equal(result.supported, [True, False, True])
        assert not result[0][1].any()
        assert np.isfinite(result[0]).all()
    assert touching_polygon(points, 0.0 * forces).shape == (0, 2)
    assert not zmp(np.zeros((0, 3)), np.zeros((0, 3))).supported
    assert not ankle_zmp(Wrench(np.zeros(3), np.ones(3)), 0.1).supported


def test_one_point_and_two():
    """One point that touches is the ZMP; two are a line, and the margin is zero."""
    points, forces = pushed_points(1)
    forces[1:] = 0.0
    np.testing.assert_allclose(zmp(points, forces).position, points[0])
    np.testing.assert_array_equal(touching_polygon(points, forces), points[:1, :2])
    points, forces = pushed_points(1, level=True)
    forces[2:] = 0.0
    assert zmp_margin(points, forces).distance == pytest.approx(0.0, abs=1e-12)


@given(seeds)
def test_wrenches_balance(humanoid, seed):
    """The wrenches of both feet, seen from the world, are those of all points."""
    generator = np.random.default_rng(seed)
    q = pin.integrate(
        humanoid.model, humanoid.standing, generator.normal(0, 0.3, humanoid.nv)
    )
    contacts = sole_points(humanoid)
    points = generator.uniform(-1.0, 1.0, (len(contacts), 3))
    forces = generator.normal(0.0, 50.0, points.shape)
    total = np.zeros(6)
    for side in ("left", "right"):
        in_sole = foot_wrench(humanoid, q, contacts, points, forces, side)
        total += pin.SE3(sole_pose(humanoid, q, side)).act(pin.Force(*in_sole)).vector
    np.testing.assert_allclose(total[:3], forces.sum(axis=0), atol=1e-10)
    moment = moment_about(np.zeros(3), points, forces)
    np.testing.assert_allclose(total[3:], moment, atol=1e-10)


def test_traces_are_stacks_of_states(humanoid):
    """Many rows give what each row gives."""
    contacts = sole_points(humanoid)
    q = np.stack([humanoid.standing] * 3)
    q[:, 2] += [0.0, 0.1, 0.2]
    points = np.random.default_rng(2).normal(size=(3, len(contacts), 3))
    forces = np.random.default_rng(3).normal(size=points.shape)
    trace = foot_wrench(humanoid, q, contacts, points, forces, "left")
    for row in range(3):
        one = foot_wrench(humanoid, q[row], contacts, points[row], forces[row], "left")
        np.testing.assert_allclose(trace.force[row], one.force, atol=1e-12)
        np.testing.assert_allclose(trace.torque[row], one.torque, atol=1e-12)


def test_friction_turns_the_foot_beyond_eq_52(humanoid):
    """Opposite friction at two corners is a yaw moment, which Eq. 52 leaves out."""
    contacts = sole_points(humanoid)
    own = points_of_foot(humanoid, contacts, "left")
    pose = sole_pose(humanoid, humanoid.standing, "left")
    sole = humanoid.soles["left"]
    positions = np.zeros((len(contacts), 3))
    links = [contacts[number].position_in_link for number in own]
    in_sole = (links - sole.transform_sole_to_link[:3, 3]) @ (
        sole.transform_sole_to_link[:3, :3]
    )
    positions[own] = in_sole @ pose[:3, :3].T + pose[:3, 3]
    forces = np.zeros_like(positions)
    forces[own, 2] = 100.0
    forces[own[0], 1], forces[own[1], 1] = -20.0, 20.0
    found = foot_wrench(
        humanoid, humanoid.standing, contacts, positions, forces, "left"
    )
    point = zmp(positions, forces).position
    printed = pose[:3, :3].T @ np.cross(point - pose[:3, 3], forces.sum(axis=0))
    np.testing.assert_allclose(found.torque[:2], printed[:2], atol=1e-9)
    yaw = 20.0 * (positions[own[1], 0] - positions[own[0], 0])
    assert abs(yaw) > 1.0
    assert found.torque[2] - printed[2] == pytest.approx(yaw)


def test_points_that_a_user_names_count_for_their_foot(humanoid):
    """A point of the foot link belongs to that foot, a point of the base to none."""
    link = humanoid.soles["left"].link
    contacts = (
        *sole_points(humanoid),
        contact_point(humanoid, link, [0.0, 0.0, 0.0]),
        contact_point(humanoid, humanoid.description.root, [0.0, 0.0, 0.0]),
    )
    left = points_of_foot(humanoid, contacts, "left")
    right = points_of_foot(humanoid, contacts, "right")
    assert len(contacts) - 2 in left
    assert sorted(left + right) == list(range(len(contacts) - 1))


@given(seeds, st.floats(0.01, 0.3))
def test_an_ankle_sensor_finds_the_zmp(seed, height):
    """From the wrench at the ankle comes the ZMP of the points in the sole."""
    points, forces = pushed_points(seed, level=True)
    sensor = np.array([0.0, 0.0, height])
    felt = Wrench(forces.sum(axis=0), moment_about(sensor, points, forces))
    found = ankle_zmp(felt, height)
    np.testing.assert_allclose(found.position, zmp(points, forces).position, atol=1e-9)
    assert found.supported


def test_ankle_sensor_equations_hold_as_printed_with_x_downwards():
    """Eq. 15–16 of [Sanliturk2024]: x from ankle to sole; with x up l_3 turns sign."""
    points, forces = pushed_points(5, level=True)
    felt = moment_about(np.array([0.0, 0.0, 0.1]), points, forces)
    expected = zmp(points, forces).position
    for up, l3 in ((-1.0, 0.1), (1.0, -0.1)):
        axes = np.array([[0, 0, up], [0, -up, 0], [1, 0, 0]])  # rows x, y, z
        assert np.linalg.det(axes) == pytest.approx(1.0)
        fx, fy, fz = axes @ forces.sum(axis=0)
        _, my, mz = axes @ felt
        p_z, p_y = (my + l3 * fz) / fx, (l3 * fy - mz) / fx
        np.testing.assert_allclose(axes.T @ [0, p_y, p_z], expected, atol=1e-12)


def test_the_last_axis_of_itu_biped_points_from_ankle_to_sole():
    """The x-axis of the last DH frame is downwards in standing, as Eq. 15–16 need."""
    robot = eq.load("itu-biped")
    link = robot.soles["right"].link
    pose = eq.frame_pose(robot, robot.standing, link)
    np.testing.assert_allclose(pose[:3, 0], [0.0, 0.0, -1.0], atol=1e-6)


def test_bad_shapes_and_names(humanoid):
    """The error names the argument and what is needed."""
    contacts = sole_points(humanoid)
    with pytest.raises(ShapeError, match=r"positions have shape \(3,\)"):
        zmp(np.zeros(3), np.zeros(3))
    with pytest.raises(ShapeError, match=r"forces have shape \(2, 3\)"):
        zmp(np.zeros((4, 3)), np.zeros((2, 3)))
    with pytest.raises(ShapeError, match=r"\(nc, 3\) is needed"):
        touching_polygon(np.zeros((2, 4, 3)), np.zeros((2, 4, 3)))
    with pytest.raises(NameNotFoundError, match="no sole 'middle'"):
        sole_pose(humanoid, humanoid.standing, "middle")  # type: ignore[arg-type]
    none = np.zeros((1, 3))
    with pytest.raises(ShapeError, match=rf"\(…, {len(contacts)}, 3\) is needed"):
        foot_wrench(humanoid, humanoid.standing, contacts, none, none, "left")


@given(seeds)
def test_the_yaw_moment_is_about_the_middle_of_the_sole(humanoid, seed):
    """It is the vertical part of Σ (p_i - c) × F_i, however the foot is tilted."""
    generator = np.random.default_rng(seed)
    v = generator.normal(0.0, 0.3, humanoid.nv)
    q = pin.integrate(humanoid.model, np.array(humanoid.standing), v)
    contacts = sole_points(humanoid)
    positions = generator.normal(0.0, 1.0, (len(contacts), 3))
    forces = generator.normal(0.0, 50.0, (len(contacts), 3))
    wrench = foot_wrench(humanoid, q, contacts, positions, forces, "left")
    pose = sole_pose(humanoid, q, "left")
    corners = humanoid.soles["left"].polygon_in_sole
    middle = np.append((corners.min(axis=0) + corners.max(axis=0)) / 2, 0.0)
    about = pose[:3, :3] @ middle + pose[:3, 3]
    own = points_of_foot(humanoid, contacts, "left")
    expected = moment_about(about, positions[own], forces[own])[2]
    found = yaw_moment(humanoid, q, np.concatenate(wrench), "left")
    assert found == pytest.approx(expected, abs=1e-9)
