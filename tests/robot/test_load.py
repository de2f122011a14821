"""Loading: limbs, soles and standing posture of robots nobody prepared."""

from __future__ import annotations

import copy
import pickle
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from example_robots import example_robot

import equipoise as eq
from equipoise.errors import (
    EquipoiseError,
    LegsNotFoundError,
    NameNotFoundError,
    RobotFileError,
    ShapeError,
    UnknownRobotError,
)


def sole_poses(robot: eq.Robot) -> list[np.ndarray]:
    """Return the sole frames in the world, standing."""
    pin.framesForwardKinematics(robot.model, robot.data, robot.standing)
    return [
        robot.data.oMf[robot.frame_id(sole.link)].homogeneous
        @ sole.transform_sole_to_link
        for sole in robot.soles.values()
    ]


def test_legs_arms_and_soles_are_found_without_help(humanoid_urdf: Path) -> None:
    """Real files give two 6-joint legs, two 7-joint arms and two soles."""
    robot = eq.load(humanoid_urdf)
    for side, other in (("left", "right"), ("right", "left")):
        assert len(robot.legs[side].joints) == 6
        assert len(robot.arms[side].joints) == 7
        for name in robot.legs[side].joints + robot.arms[side].joints:
            assert not re.search(other, name, re.IGNORECASE)
        sole = robot.soles[side]
        assert sole.origin == "collision geometry"
        length, width = sole.size
        assert 0.1 < length < 0.3
        assert 0.04 < width < length


def test_every_body_is_in_one_limb(humanoid_urdf: Path) -> None:
    """Each moving joint belongs to exactly one limb."""
    robot = eq.load(humanoid_urdf)
    shared = [name for limb in robot.limbs.values() for name in limb.subtree_joints]
    assert sorted(shared) == sorted(list(robot.model.names)[2:])


def test_standing_has_flat_soles_at_the_origin(humanoid_urdf: Path) -> None:
    """Soles lie level on z = 0, left of and right of the origin, facing x."""
    robot = eq.load(humanoid_urdf)
    left, right = sole_poses(robot)
    for pose in (left, right):
        np.testing.assert_allclose(pose[:3, 2], [0, 0, 1], atol=1e-6)
        assert pose[0, 0] > 0.9
        assert abs(pose[2, 3]) < 1e-9
    np.testing.assert_allclose((left + right)[:2, 3], 0.0, atol=1e-9)
    assert left[1, 3] > 0.02
    assert right[1, 3] < -0.02


def test_icub_faces_x_although_its_root_link_looks_back(icub_urdf: Path) -> None:
    """Left comes from the names, so the base is turned by half a turn."""
    robot = eq.load(icub_urdf)
    np.testing.assert_allclose(np.abs(robot.standing[3:7]), [0, 0, 1, 0], atol=1e-9)


def test_names_do_not_matter(g1_urdf: Path, tmp_path: Path) -> None:
    """A G1 whose names say nothing has the same legs, arms and soles."""
    text = g1_urdf.read_text(encoding="utf-8")
    text = text.replace('filename="', f'filename="{g1_urdf.parent}/')
    names = sorted(set(re.findall(r'(?:link|joint) name="([^"]+)"', text)))
    # numbers keep the alphabetical order that Pinocchio sorts joints by
    code = {name: f"n{index:03d}" for index, name in enumerate(names)}
    text = re.sub(
        r'(name|link|joint)="([^"]+)"',
        lambda match: f'{match[1]}="{code.get(match[2], match[2])}"',
        text,
    )
    renamed_file = tmp_path / "anonymous.urdf"
    renamed_file.write_text(text, encoding="utf-8")
    original, renamed = eq.load(g1_urdf), eq.load(renamed_file)
    for side in ("left", "right"):
        for kind in ("leg", "arm"):
            limb = f"{side}_{kind}"
            expected = [code[name] for name in original.limb(limb).joints]
            assert list(renamed.limb(limb).joints) == expected
        np.testing.assert_allclose(
            renamed.soles[side].polygon_in_sole, original.soles[side].polygon_in_sole
        )
    np.testing.assert_allclose(renamed.standing, original.standing, atol=1e-12)
    assert any("names do not distinguish left" in line for line in renamed.assumptions)
    assert original.assumptions == ()


@pytest.mark.parametrize("prefix", ["swarm_", "armar6_", "handy_", "Leg"])
def test_a_prefix_of_all_names_says_nothing(
    g1_urdf: Path, tmp_path: Path, prefix: str
) -> None:
    """The robot's own name before every name does not make legs arms."""
    text = g1_urdf.read_text(encoding="utf-8")
    text = re.sub(r'((?:link|joint)(?: name)?)="([^"]+)"', rf'\1="{prefix}\2"', text)
    path = tmp_path / "prefixed.urdf"
    path.write_text(text, encoding="utf-8")
    assert len(eq.load(path).legs["left"].joints) == 6


def test_y_up_robot_stands_upright() -> None:
    """A file whose root link has y up is recognised, and the assumption said."""
    robot = eq.load(example_robot("human_description", "robots", "human.urdf"))
    assert any("up is +y" in sentence for sentence in robot.assumptions)
    left, right = sole_poses(robot)
    assert min(left[2, 2], right[2, 2]) > 0.999
    com = pin.centerOfMass(robot.model, robot.data, robot.standing)
    assert 0.8 < com[2] < 1.2


@pytest.mark.parametrize(
    "parts",
    [
        ("a1_description", "urdf", "a1.urdf"),
        ("anymal_c_simple_description", "urdf", "anymal.urdf"),
        ("panda_description", "urdf", "panda.urdf"),
        ("pr2_description", "urdf", "pr2.urdf"),
        ("baxter_description", "urdf", "baxter.urdf"),
        ("tiago_pro_description", "robots", "tiago_pro.urdf"),
        ("alex_description", "urdf", "alex_nub_hands.urdf"),
    ],
)
def test_what_is_not_a_biped_has_no_legs(parts: tuple[str, ...]) -> None:
    """Quadrupeds, arms and wheeled robots are not taken for bipeds."""
    robot = eq.load(example_robot(*parts))
    with pytest.raises(LegsNotFoundError, match="needs a left and a right leg"):
        _ = robot.legs


def test_foot_without_geometry_is_a_stated_estimate() -> None:
    """Where no shape is known the sole is estimated and the robot says so."""
    robot = eq.load(
        example_robot("simple_humanoid_description", "urdf", "simple_humanoid.urdf")
    )
    assert robot.soles["left"].origin.startswith("estimate")
    assert any("estimate" in sentence for sentence in robot.assumptions)


def test_unknown_name_suggests_the_nearest() -> None:
    """A mistyped catalogue name is answered with the one that was meant."""
    with pytest.raises(UnknownRobotError, match="did you mean 'mahru-1'"):
        eq.load("mahru1")


@pytest.mark.parametrize(
    "source",
    ["", " ", "a\0b", "/no/such/file.urdf", "x.urdf", "a" * 300, b"a.urdf", None, 3],
)
def test_missing_files_are_refused(source: object) -> None:
    """Anything that cannot be opened gives one of our errors."""
    with pytest.raises(EquipoiseError):
        eq.load(source)


def test_one_leg_is_not_enough(g1_urdf: Path, tmp_path: Path) -> None:
    """A robot whose right leg is fixed and gone is refused where two are needed."""
    text = g1_urdf.read_text(encoding="utf-8")
    right_leg = r'(<joint name="right_(?:hip|knee|ankle)[^"]*" type=)"revolute"'
    path = tmp_path / "hopper.urdf"
    path.write_text(re.sub(right_leg, r'\1"fixed"', text), encoding="utf-8")
    with pytest.raises(LegsNotFoundError, match="needs a left and a right leg"):
        _ = eq.load(path).legs


def test_robots_can_be_copied_and_sent(g1_urdf: Path) -> None:
    """A pickled or copied robot gives the same answers."""
    robot = eq.load(g1_urdf)
    com = eq.com(robot, robot.standing)
    for twin in (pickle.loads(pickle.dumps(robot)), copy.deepcopy(robot)):
        np.testing.assert_array_equal(eq.com(twin, twin.standing), com)
        assert list(twin.limbs) == list(robot.limbs)
        assert twin.soles["left"].size == robot.soles["left"].size


def test_with_inertials_moves_the_com_and_nothing_else(g1_urdf: Path) -> None:
    """A heavier pelvis pulls the CoM towards itself by its fraction of the mass."""
    robot = eq.load(g1_urdf)
    pelvis = robot.description.link_by_name["pelvis"].inertial
    assert pelvis is not None
    heavier = robot.with_inertials({"pelvis": replace(pelvis, mass=pelvis.mass + 5.0)})
    assert heavier.mass == pytest.approx(robot.mass + 5.0)
    pose = eq.frame_pose(robot, robot.standing, "pelvis")
    centre = pose[:3, :3] @ pelvis.com_in_link + pose[:3, 3]
    before = eq.com(robot, robot.standing)
    expected = (robot.mass * before + 5.0 * centre) / (robot.mass + 5.0)
    np.testing.assert_allclose(eq.com(heavier, robot.standing), expected, atol=1e-12)
    np.testing.assert_array_equal(eq.com(robot, robot.standing), before)
    with pytest.raises(NameNotFoundError, match="no link 'nose'"):
        robot.with_inertials({"nose": pelvis})


def test_frames_have_the_names_of_rep_120(g1_urdf: Path) -> None:
    """Soles are frames; base, ankles, wrists, torso are understood as well."""
    robot = eq.load(g1_urdf)
    q = robot.standing
    for side, name in (("left", "l_sole"), ("right", "r_sole")):
        sole = robot.soles[side]
        expected = eq.frame_pose(robot, q, sole.link) @ sole.transform_sole_to_link
        np.testing.assert_allclose(eq.frame_pose(robot, q, name), expected, atol=1e-12)
    for alias, frame in (
        ("base_link", "pelvis"),
        ("l_ankle", "left_ankle_roll_joint"),
        ("r_wrist", "right_wrist_yaw_joint"),
        ("torso", "torso_link"),
    ):
        assert robot.frame_id(alias) == robot.frame_id(frame)


def test_other_xml_is_refused(tmp_path: Path) -> None:
    """SDF and other XML is named and the valid formats are listed."""
    path = tmp_path / "world.xml"
    path.write_text("<sdf/>", encoding="utf-8")
    with pytest.raises(RobotFileError, match="starts with <sdf>"):
        eq.load(path)


def test_configurations_are_checked(g1_urdf: Path) -> None:
    """Wrong shapes, NaN and unnormalised quaternions are refused by name."""
    robot = eq.load(g1_urdf)
    with pytest.raises(ShapeError, match=r"q has shape \(3,\)"):
        robot.check_q(np.zeros(3))
    with pytest.raises(ShapeError, match="unit quaternion"):
        robot.check_q(2.0 * robot.standing)
    with pytest.raises(ShapeError, match="not finite"):
        robot.check_q(np.full(robot.nq, np.nan))
    with pytest.raises(ShapeError, match="array of numbers"):
        robot.check_q(["a"])
    with pytest.raises(ShapeError, match="equally many rows"):
        robot.check_v(np.zeros((2, robot.nv)), like=robot.standing)


def test_lookups_list_the_valid_names(g1_urdf: Path) -> None:
    """A wrong name is answered with the nearest and with all there are."""
    robot = eq.load(g1_urdf)
    with pytest.raises(NameNotFoundError, match="did you mean 'left_knee_joint'"):
        robot.joint_id("left_knee")
    with pytest.raises(NameNotFoundError, match="its limbs are: left_leg"):
        robot.limb("tail")
    with pytest.raises(NameNotFoundError, match="no frame 'nose'"):
        robot.frame_id("nose")
    with pytest.raises(NameNotFoundError, match="no posture 'sitting'"):
        robot.posture("sitting")


def test_handed_out_arrays_are_read_only(g1_urdf: Path) -> None:
    """Postures, soles and inertias cannot be changed by accident."""
    robot = eq.load(g1_urdf)
    link = robot.description.link_by_name["pelvis"]
    assert link.inertial is not None
    for array in (
        robot.standing,
        robot.soles["left"].polygon_in_sole,
        robot.soles["left"].corners_in_link,
        link.inertial.com_in_link,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    with pytest.raises(TypeError):
        robot.limbs["tail"] = robot.limb("left_leg")
