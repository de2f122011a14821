from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError, NameNotFoundError, ShapeError
from equipoise.kinematics.frames import frame_pose
from equipoise.kinematics.leg_geometry import (
    KNEE,
    LegGeometry,
    NoClosedFormError,
    leg_geometry,
)
from equipoise.kinematics.leg_ik import (
    OutOfReachError,
    leg_angles,
    nearest_leg_angles,
)
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.load import load
from equipoise.robot.model import Robot

QUALIFIED = ["humanoid", "itu-biped", "mahru-1", "talos", "romeo"]
ITU_THIGH, ITU_SHANK, ITU_ANKLE = 0.422, 0.4, 0.075


@pytest.fixture(params=itertools.product(QUALIFIED, ["left", "right"]), ids=str)
def robot_and_leg(request):
    """Each leg that has a closed form, with its robot."""
    name, side = request.param
    real = name in ("talos", "romeo")
    robot = load(request.getfixturevalue(f"{name}_urdf") if real else name)
    return robot, leg_geometry(robot, side)


def random_poses(robot: Robot, leg: LegGeometry, count: int) -> tuple[Array, Array]:
    """Return configurations about standing, knees forward, and the leg's angles."""
    rng = np.random.default_rng(1)
    angles = leg.standing + rng.uniform(-0.5, 0.5, (count, 6))
    bend = rng.uniform(1e-3, 2.0, count)
    angles[:, KNEE] = leg.straight + leg.forward_sense * bend
    q = np.tile(robot.standing, (count, 1))
    q[:, :3] = rng.normal(size=(count, 3))
    turn = rng.normal(size=(count, 4))
    q[:, 3:7] = turn / np.linalg.norm(turn, axis=1)[:, None]
    return with_leg(robot, leg, q, angles), angles


def with_leg(robot: Robot, leg: LegGeometry, q: Array, angles: Array) -> Array:
    """Return configurations with other angles of a leg."""
    changed = q.copy()
    joints = [robot.model.joints[robot.joint_id(name)] for name in leg.joints]
    changed[..., [joint.idx_q for joint in joints]] = angles
    return changed


def test_inverse_undoes_forward(robot_and_leg):
    """Soles reached by the robot's own kinematics are reached again, to 1e-12."""
    robot, leg = robot_and_leg
    q, _ = random_poses(robot, leg, 500)
    base = frame_pose(robot, q, robot.description.root)
    sole = sole_pose(robot, q, leg.side)
    for knee in ("forward", "backward"):
        found = leg_angles(leg, base, sole, knee)
        again = sole_pose(robot, with_leg(robot, leg, q, found), leg.side)
        np.testing.assert_allclose(again, sole, rtol=0, atol=1e-12)
        sense = leg.forward_sense if knee == "forward" else -leg.forward_sense
        assert (sense * (found[:, KNEE] - leg.straight) > 0.0).all()


def test_one_pose_is_as_many(robot_and_leg):
    """A single pose goes through plain numbers, with the same result as in a stack."""
    robot, leg = robot_and_leg
    q, _ = random_poses(robot, leg, 20)
    base = frame_pose(robot, q, robot.description.root)
    sole = sole_pose(robot, q, leg.side)
    many = leg_angles(leg, base, sole)
    for row in range(len(q)):
        one = leg_angles(leg, base[row], sole[row])
        np.testing.assert_allclose(one, many[row], rtol=0, atol=1e-12)
    shared = leg_angles(leg, base[0], base[0] @ np.linalg.inv(base) @ sole)
    np.testing.assert_allclose(shared, many, rtol=0, atol=1e-9)


def test_knee_bends_to_its_side(robot_and_leg):
    """A knee that bends forward is ahead of the line from hip to ankle."""
    robot, leg = robot_and_leg
    base = frame_pose(robot, robot.standing, robot.description.root)
    sole = sole_pose(robot, robot.standing, leg.side)
    sole[2, 3] += 0.05
    ahead = {}
    for knee in ("forward", "backward"):
        angles = leg_angles(leg, base, sole, knee)
        q = with_leg(robot, leg, robot.standing, angles)
        at = {
            part: frame_pose(robot, q, leg.joints[joint])[0, 3]
            for part, joint in (("hip", 2), ("knee", KNEE), ("ankle", 4))
        }
        ahead[knee] = at["knee"] - 0.5 * (at["hip"] + at["ankle"])
    assert ahead["forward"] > 0.02
    assert ahead["backward"] < -0.02


def test_standing_comes_back(robot_and_leg):
    """From the soles of the posture standing come its own joint angles."""
    robot, leg = robot_and_leg
    base = frame_pose(robot, robot.standing, robot.description.root)
    angles = leg_angles(leg, base, sole_pose(robot, robot.standing, leg.side))
    np.testing.assert_allclose(angles, leg.standing, rtol=0, atol=1e-7)


def paper_angles(transform_foot_to_hip: Array) -> Array:
    """Eq. (5)–(10) of [Sanliturk2024] as corrected in docs/errata.md."""
    inverse = np.linalg.inv(transform_foot_to_hip)
    (nx, ox, ax, px), (ny, oy, ay, py), (_, _, az, pz) = inverse[:3]
    along = px + ITU_ANKLE
    cosine = along**2 + py**2 + pz**2 - ITU_THIGH**2 - ITU_SHANK**2
    cosine /= 2.0 * ITU_THIGH * ITU_SHANK
    t4 = np.arctan2(np.sqrt(1.0 - cosine**2), cosine)
    t5 = np.arctan2(-pz, np.hypot(along, py)) - np.arctan2(
        ITU_THIGH * np.sin(t4), ITU_THIGH * np.cos(t4) + ITU_SHANK
    )
    t6 = np.arctan2(py, -along)
    s6, c6 = np.sin(t6), np.cos(t6)
    across = ax * s6 + ay * c6
    t2 = np.arctan2(-np.sqrt(1.0 - across**2), across)
    t1 = np.arctan2(ox * s6 + oy * c6, nx * s6 + ny * c6)
    t3 = np.arctan2(az, ax * c6 - ay * s6) - np.pi - t4 - t5
    return np.array([t1, t2, t3, t4, t5, t6])


def test_equations_of_the_paper():
    """On the ITU Biped, Eq. (5)–(10) as corrected give the same six angles."""
    robot = load("itu-biped")
    for side, lateral in (("left", 0.13), ("right", -0.13)):
        leg = leg_geometry(robot, side)
        assert (leg.thigh, leg.shank) == pytest.approx((ITU_THIGH, ITU_SHANK))
        hip = np.array(
            [[0, -1, 0, 0], [1, 0, 0, lateral], [0, 0, 1, -0.07], [0, 0, 0, 1]]
        )
        q, _ = random_poses(robot, leg, 200)
        base = frame_pose(robot, q, robot.description.root)
        foot = frame_pose(robot, q, robot.soles[side].link)
        # The link's frame lies at its joint; the paper's frame 6 at the sole.
        foot = foot @ pin.SE3(np.eye(3), np.array([ITU_ANKLE, 0, 0])).homogeneous
        found = leg_angles(leg, base, sole_pose(robot, q, side))
        for row in range(len(q)):
            own = paper_angles(np.linalg.inv(base[row] @ hip) @ foot[row])
            off = (own - found[row] + np.pi) % (2.0 * np.pi) - np.pi
            np.testing.assert_allclose(off, 0.0, rtol=0, atol=1e-11)


def drawn_leg(rng: np.random.Generator) -> LegGeometry:
    """Return a leg with axes in any order and attitude, and knees out of line."""
    hip_frame, ankle_frame = (pin.exp3(rng.normal(size=3)) for _ in range(2))
    order = rng.permutation(3)
    hip_axes = hip_frame[order] * rng.choice([-1.0, 1.0], (3, 1))
    if rng.random() < 0.3:  # such as yaw, roll, yaw
        hip_axes[2] = hip_axes[0]
    knee_axis = rng.normal(size=3)
    sole = pin.SE3(pin.exp3(rng.normal(size=3)), rng.normal(size=3))
    return LegGeometry(
        side="left",
        joints=tuple("abcdef"),
        axes=frozen_array(
            [*hip_axes, knee_axis / np.linalg.norm(knee_axis), *ankle_frame[:2]]
        ),
        hip=frozen_array(rng.normal(size=3)),
        knee=frozen_array(rng.normal(size=3)),
        ankle=frozen_array(rng.normal(size=3)),
        transform_sole_to_base=frozen_array(sole.homogeneous),
        standing=frozen_array(rng.uniform(-1.0, 1.0, 6)),
        forward_sense=float(rng.choice([-1.0, 1.0])),
    )


def forward(leg: LegGeometry, angles: Array) -> Array:
    """Return the transform from sole to base as a product of six turns."""
    points = [leg.hip] * 3 + [leg.knee] + [leg.ankle] * 2
    pose = pin.SE3.Identity()
    for axis, point, angle in zip(leg.axes, points, angles, strict=True):
        turn = pin.exp3(axis * angle)
        pose = pose * pin.SE3(turn, point - turn @ point)
    return np.asarray(pose.homogeneous @ leg.transform_sole_to_base)


@given(st.integers(0, 2**32 - 1))
def test_any_leg_that_qualifies(seed):
    """Axes in any order, knees out of line: what is reachable is reached to 1e-12."""
    rng = np.random.default_rng(seed)
    leg = drawn_leg(rng)
    wanted = np.array([forward(leg, row) for row in rng.uniform(-3, 3, (20, 6))])
    for knee in ("forward", "backward"):
        # Both branches of hip and ankle.
        for turned in (leg, dataclasses.replace(leg, standing=leg.standing + np.pi)):
            found = nearest_leg_angles(turned, np.eye(4), wanted, knee)
            reached = np.array([forward(leg, row) for row in found.angles])
            off = np.linalg.norm(reached[:, :3, 3] - wanted[:, :3, 3], axis=1)
            inside = found.gap == 0.0
            assert (off[inside] < 1e-12).all()
            np.testing.assert_allclose(
                reached[:, :3, :3], wanted[:, :3, :3], rtol=0, atol=1e-12
            )
            assert (np.abs(found.angles - turned.standing) <= np.pi + 1e-9).all()
    gaps = [
        nearest_leg_angles(leg, np.eye(4), wanted, knee).gap
        for knee in ("forward", "backward")
    ]
    assert (np.minimum(*gaps) == 0.0).all()  # one knee is that of the pose's origin


@given(st.integers(0, 2**32 - 1))
def test_gap_is_how_far_off_the_sole_is(seed):
    """Out of reach, the sole is off by the gap and its attitude is right."""
    rng = np.random.default_rng(seed)
    leg = drawn_leg(rng)
    wanted = np.array([forward(leg, row) for row in rng.uniform(-3, 3, (20, 6))])
    wanted[:, :3, 3] += rng.normal(size=(20, 3))
    found = nearest_leg_angles(leg, np.eye(4), wanted)
    reached = np.array([forward(leg, row) for row in found.angles])
    off = np.linalg.norm(reached[:, :3, 3] - wanted[:, :3, 3], axis=1)
    assert (off <= found.gap + 1e-12).all()
    ankle = (leg.ankle - leg.transform_sole_to_base[:3, 3]) @ (
        leg.transform_sole_to_base[:3, :3]
    )
    distance = np.linalg.norm(
        wanted[:, :3, :3] @ ankle + wanted[:, :3, 3] - leg.hip, axis=1
    )
    short = np.maximum(distance - leg.reach[1], leg.reach[0] - distance)
    assert (found.gap >= short - 1e-12).all()
    only_length = np.abs(found.gap - short) < 1e-12
    np.testing.assert_allclose(off[only_length], short[only_length], atol=1e-12)


def test_out_of_reach_is_answered(robot_and_leg):
    """A sole 5 cm too low leaves the leg straight and is named with its distance."""
    robot, leg = robot_and_leg
    base = frame_pose(robot, robot.standing, robot.description.root)
    sole = sole_pose(robot, robot.standing, leg.side)
    hip = base[:3, :3] @ leg.hip + base[:3, 3]
    ankle = frame_pose(robot, robot.standing, leg.joints[-1])[:3, 3]
    sole[:3, 3] += hip - ankle + [0.0, 0.0, -leg.reach[1] - 0.05]
    found = nearest_leg_angles(leg, base, np.array([sole, sole]))
    np.testing.assert_allclose(found.gap, 0.05, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.angles[:, KNEE], leg.straight, rtol=0, atol=1e-9)
    reached = sole_pose(
        robot, with_leg(robot, leg, robot.standing, found.angles[0]), leg.side
    )
    np.testing.assert_allclose(reached[:3, 3] - sole[:3, 3], [0, 0, 0.05], atol=1e-9)
    with pytest.raises(OutOfReachError, match=r"sole is out of reach: .* 0\.05 m from"):
        leg_angles(leg, base, sole)
    near = sole_pose(robot, robot.standing, leg.side)
    with pytest.raises(OutOfReachError, match="at pose 1: ") as caught:
        leg_angles(leg, base, np.array([near, sole]))
    assert caught.value.row == 1
    assert caught.value.gap == pytest.approx(0.05)


def test_straight_knee(robot_and_leg):
    """Right at the end of its reach the leg is straight and the sole in place."""
    robot, leg = robot_and_leg
    angles = np.array(leg.standing)
    angles[KNEE] = leg.straight
    q = with_leg(robot, leg, robot.standing, angles)
    base = frame_pose(robot, q, robot.description.root)
    sole = sole_pose(robot, q, leg.side)
    found = nearest_leg_angles(leg, base, sole)
    assert found.gap < 1e-12
    again = sole_pose(robot, with_leg(robot, leg, q, found.angles), leg.side)
    np.testing.assert_allclose(again, sole, rtol=0, atol=1e-12)


def test_ankle_at_the_hip():
    """A sole whose ankle is at the hip itself is out of reach, not an error."""
    robot = load("itu-biped")
    leg = leg_geometry(robot, "left")
    ankle = leg.ankle - leg.transform_sole_to_base[:3, 3]
    sole = np.array(leg.transform_sole_to_base)
    sole[:3, 3] = leg.hip - ankle
    found = nearest_leg_angles(leg, np.eye(4), sole)
    assert np.isfinite(found.angles).all()
    assert found.gap == pytest.approx(leg.thigh - leg.shank)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("g1", r"left leg has no closed-form .*: its hip axes miss a common point by"),
        ("icub", r"its hip axes miss a common point by 0\.\d+ mm"),
        ("muscolo-biped", "it has 2 joints, not 6"),
        ("three-link", "it has 1 joints, not 6"),
    ],
)
def test_legs_that_do_not_qualify(name, why, request):
    """The message says what is in the way."""
    real = name in ("g1", "icub")
    robot = load(request.getfixturevalue(f"{name}_urdf") if real else name)
    with pytest.raises(NoClosedFormError, match=why):
        leg_geometry(robot, "left")


def test_nearly_common_points_can_be_accepted(icub_urdf):
    """With a tolerance of 1 mm iCub's legs are solved, to within that."""
    robot = load(icub_urdf)
    leg = leg_geometry(robot, "left", tolerance=1e-3)
    q, _ = random_poses(robot, leg, 100)
    base = frame_pose(robot, q, robot.description.root)
    sole = sole_pose(robot, q, "left")
    found = nearest_leg_angles(leg, base, sole)
    again = sole_pose(robot, with_leg(robot, leg, q, found.angles), "left")
    off = np.linalg.norm((again - sole)[:, :3, 3], axis=1)
    assert 1e-6 < off.max() < 3e-3


def test_bad_arguments():
    """Wrong shapes, no rotations and unknown sides are named."""
    leg = leg_geometry(load("itu-biped"), "left")
    sole = np.array(leg.transform_sole_to_base)
    with pytest.raises(ShapeError, match="transform_sole_to_world has shape"):
        leg_angles(leg, np.eye(4), np.eye(3))
    with pytest.raises(ShapeError, match="transform_base_to_world holds a matrix"):
        leg_angles(leg, 2.0 * np.eye(4), sole)
    with pytest.raises(ShapeError, match="not finite"):
        leg_angles(leg, np.eye(4), np.nan * sole)
    with pytest.raises(ShapeError, match="equally many"):
        leg_angles(leg, np.tile(np.eye(4), (3, 1, 1)), np.tile(sole, (2, 1, 1)))
    with pytest.raises(NameNotFoundError, match="forward, backward"):
        leg_angles(leg, np.eye(4), sole, "sideways")
    with pytest.raises(EquipoiseError, match="no sole 'left'"):
        leg_geometry(dataclasses.replace(load("itu-biped"), soles={}), "left")
