"""One biped drawn in many ways is always the same biped; what is none is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bipeds import Biped

import equipoise as eq
from equipoise.errors import LegsNotFoundError, RobotFileError
from equipoise.kinematics.support import polygon_margin
from equipoise.robot.joint_coordinates import degree_of

GERMAN = {
    "hip_yaw": "huefte_gier",
    "hip_roll": "huefte_roll",
    "hip_pitch": "huefte_nick",
    "knee": "knie",
    "ankle_pitch": "knoechel_nick",
    "ankle_roll": "knoechel_roll",
    "shoulder_pitch": "schulter_nick",
    "shoulder_roll": "schulter_roll",
    "elbow": "ellbogen",
}
NUMBERS = {word: f"{index}" for index, word in enumerate(GERMAN)}


def load(biped: Biped, folder: Path, settings: str = "") -> eq.Robot:
    """Load a drawn biped."""
    path = folder / "biped.urdf"
    path.write_text(biped.urdf(), encoding="utf-8")
    if settings:
        path.with_suffix(".toml").write_text(settings, encoding="utf-8")
    return eq.load(path)


@pytest.mark.parametrize(
    "biped",
    [
        Biped(),
        Biped(sides=("l", "r")),
        Biped(sides=("L", "R"), words=GERMAN),
        Biped(sides=("links", "rechts"), words=GERMAN),
        Biped(sides=("izq", "der"), words=GERMAN),
        Biped(sides=("a", "b"), words=NUMBERS),
        Biped(sides=("b", "a"), words=NUMBERS),
        Biped(root_xyz_rpy=("0 0 1.2", "0 0 0")),
        Biped(root_xyz_rpy=("0 0 0", "0 0 3.141592653589793")),
        Biped(root_xyz_rpy=("0 0 0", "0 0 1.5707963267948966")),
        Biped(root_xyz_rpy=("0 0 0", "0 0 0.7853981633974483")),
        Biped(root_xyz_rpy=("0 0 0", "1.5707963267948966 0 0")),
        Biped(root_xyz_rpy=("0 0 0", "3.141592653589793 0 0")),
        Biped(root_xyz_rpy=("0 0 0", "0 1.5707963267948966 0")),
        Biped(arm_length=0.65),
        Biped(sides=("a", "b"), words=NUMBERS, arm_length=0.55),
    ],
    ids=lambda biped: f"{biped.sides}{biped.root_xyz_rpy}{biped.arm_length}",
)
def test_the_same_biped_however_it_is_drawn(biped: Biped, tmp_path: Path) -> None:
    """Legs, arms, soles, lengths and the standing CoM do not depend on the drawing."""
    robot = load(biped, tmp_path)
    for leg in robot.legs.values():
        assert len(leg.joints) == 6
        assert leg.length == pytest.approx(0.88, abs=1e-3)
    assert [len(arm.joints) for arm in robot.arms.values()] == [3, 3]
    assert robot.soles["left"].size == pytest.approx((0.24, 0.12), abs=1e-6)
    plain = load(Biped(arm_length=biped.arm_length), tmp_path)
    np.testing.assert_allclose(
        eq.com(robot, robot.standing), eq.com(plain, plain.standing), atol=1e-9
    )
    assert robot.warnings == ()


@pytest.mark.parametrize(
    "biped",
    [
        Biped(wheel=True),
        Biped(pairs_of_legs=2),
        Biped(pairs_of_legs=2, sides=("a", "b"), words=NUMBERS),
        Biped(pairs_of_legs=3),
    ],
)
def test_wheels_and_more_legs_are_refused(biped: Biped, tmp_path: Path) -> None:
    """Wheels at the end of legs, and four or six legs, do not make a biped."""
    with pytest.raises(LegsNotFoundError, match="needs a left and a right leg"):
        _ = load(biped, tmp_path).legs


def test_a_crouched_biped_stands_over_its_feet(tmp_path: Path) -> None:
    """Knees that cannot straighten: the soles are level and the CoM is over them."""
    robot = load(Biped(knee_limits=(0.8, 2.0)), tmp_path)
    assert robot.warnings == ()
    polygon = eq.support_polygon(robot, robot.standing)
    assert polygon_margin(polygon, eq.com(robot, robot.standing)[:2]) > 0.0
    for name in ("l_sole", "r_sole"):
        pose = eq.frame_pose(robot, robot.standing, name)
        np.testing.assert_allclose(pose[2], [0, 0, 1, 0], atol=1e-6)


def test_a_leg_that_slides_stands_within_its_range(tmp_path: Path) -> None:
    """At zero its joints are at a stop: the legs could lift no foot. It is said."""
    robot = load(Biped(telescopic=True), tmp_path)
    assert robot.warnings == ()
    degrees = eq.joint_positions(robot, robot.standing)
    knees = [degrees[degree_of(robot, f"{side}_knee")] for side in ("left", "right")]
    np.testing.assert_allclose(knees, 0.15)
    assert any("left_knee at 0.15 m" in text for text in robot.assumptions)
    given = "[postures.standing]\nleft_knee = 0.3\nright_knee = 0.3"
    robot = load(Biped(telescopic=True), tmp_path, given)
    degrees = eq.joint_positions(robot, robot.standing)
    np.testing.assert_allclose(degrees[degree_of(robot, "left_knee")], 0.3)
    assert not any("middle" in text for text in robot.assumptions)


def test_falling_over_is_said(tmp_path: Path) -> None:
    """A given posture with the CoM off the soles is kept, with a warning."""
    hips = "".join(f"{side}_hip_pitch = -1.0\n" for side in ("left", "right"))
    rest = "".join(
        f"{side}_{joint} = {value}\n"
        for side in ("left", "right")
        for joint, value in (
            ("knee", 0.0),
            ("ankle_pitch", 1.0),
            ("hip_yaw", 0.0),
            ("hip_roll", 0.0),
            ("ankle_roll", 0.0),
        )
    )
    robot = load(Biped(), tmp_path, f"[postures.standing]\n{hips}{rest}")
    assert any("would fall over" in warning for warning in robot.warnings)


def test_limbs_that_share_joints_are_refused(tmp_path: Path) -> None:
    """One leg cannot be part of the other."""
    toml = (
        '[limbs.left_leg]\njoints = ["right_hip_yaw", "right_knee"]\n'
        '[limbs.right_leg]\njoints = ["right_hip_yaw", "right_ankle_roll"]'
    )
    with pytest.raises(RobotFileError, match="share joint 'right_hip_yaw'"):
        load(Biped(), tmp_path, toml)
    twice = '[limbs.left_leg]\njoints = ["left_knee", "left_knee"]'
    with pytest.raises(RobotFileError, match="is not below"):
        load(Biped(), tmp_path, twice)


def test_rods_beside_the_shin_are_not_the_leg(tmp_path: Path) -> None:
    """A linkage that ends near the ankle does not win against the foot."""
    inertial = (
        '<inertial><mass value="0.1"/><inertia ixx="0.001" iyy="0.001" izz="0.001" '
        'ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    rods = "".join(
        f'<joint name="{side}_{name}" type="revolute"><parent link="{side}_{parent}"/>'
        f'<child link="{side}_{name}_link"/><origin xyz="{xyz}"/><axis xyz="0 1 0"/>'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
        f'<link name="{side}_{name}_link">{inertial}</link>'
        for side in ("left", "right")
        for name, parent, xyz in (
            ("rod", "hip_pitch_link", "-0.05 0 -0.2"),
            ("rod_end", "rod_link", "0 0 -0.61"),
        )
    )
    robot = load(replace(Biped(), extra=rods), tmp_path)
    assert robot.legs["left"].joints[-1] == "left_ankle_roll"
    assert robot.soles["left"].origin == "collision geometry"
