"""A pose of a table, put on its soles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import equipoise as eq
from equipoise.identification.posing.candidates import pose_candidates
from equipoise.identification.posing.pose_file import on_soles, pose_of_table
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.formats.write import posture_toml
from equipoise.robot.joint_coordinates import degree_names, joint_positions


def written(path: Path, robot: eq.Robot, q: np.ndarray, numbers: list[int]) -> Path:
    """Write poses as ``equipoise poses`` does."""
    lines = [",".join(["pose", *degree_names(robot)])]
    for number, row in zip(numbers, joint_positions(robot, q), strict=True):
        lines.append(",".join([str(number), *(f"{value:.9g}" for value in row)]))
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("name", ["humanoid", "mahru-1", "itu-biped"])
def test_soles_are_flat_and_face_forward(name: str, tmp_path: Path) -> None:
    """Both at z = 0, level, their middle at the origin; the joints are the table's."""
    robot = eq.load(name)
    q = pose_candidates(robot, 4, 1, stances=2)
    path = written(tmp_path / "poses.csv", robot, q, [3, 1, 4, 2])
    for number, row in ((3, 0), (1, 1), (2, 3)):
        pose = pose_of_table(robot, path, number)
        soles = [sole_pose(robot, pose.q, side) for side in ("left", "right")]
        np.testing.assert_allclose([s[2, 3] for s in soles], 0.0, atol=1e-7)
        np.testing.assert_allclose([s[2, 2] for s in soles], 1.0, atol=1e-12)
        middle = 0.5 * (soles[0][:2, 3] + soles[1][:2, 3])
        np.testing.assert_allclose(middle, 0.0, atol=1e-12)
        ahead = soles[0][:2, 0] + soles[1][:2, 0]
        assert abs(ahead[1]) < 1e-12 < ahead[0]
        np.testing.assert_allclose(
            joint_positions(robot, pose.q), joint_positions(robot, q[row]), atol=1e-8
        )
        # a rigid motion of the whole robot on the ground: the CoM is as high as before
        assert pose.com[2] == pytest.approx(float(eq.com(robot, q[row])[2]), abs=1e-7)
        assert pose.com_margin > 0.0


def test_plain_data_has_base_and_joints(tmp_path: Path) -> None:
    """They make the same configuration, with the same CoM."""
    robot = eq.load("humanoid")
    path = written(tmp_path / "poses.csv", robot, robot.standing[None], [1])
    facts = pose_of_table(robot, path, 1).as_dict()
    q = [*facts["base"]["position_m"], *facts["base"]["quaternion_xyzw"]]
    q += [facts["joints"][name] for name in degree_names(robot)]
    np.testing.assert_allclose(q, facts["q"])
    np.testing.assert_allclose(eq.com(robot, q), facts["com_m"])
    np.testing.assert_allclose(q, robot.standing, atol=1e-8)


def test_a_written_posture_is_one_of_the_robots(tmp_path: Path) -> None:
    """Settings with it give the robot that posture, standing as here."""
    robot = eq.load("mahru-1")
    q = on_soles(robot, pose_candidates(robot, 1, 2)[0])
    path = tmp_path / "pose.toml"
    path.write_text(posture_toml(robot, "pose_1", q), encoding="utf-8")
    again = eq.load("mahru-1", path)
    found = again.posture("pose_1")
    np.testing.assert_allclose(
        joint_positions(again, found), joint_positions(robot, q), atol=1e-12
    )
    assert float(eq.com(again, found)[2]) == pytest.approx(float(eq.com(robot, q)[2]))


def test_a_table_without_numbers_is_counted(tmp_path: Path) -> None:
    """Rows from 1 on."""
    robot = eq.load("itu-biped")
    q = pose_candidates(robot, 2, 0)
    path = written(tmp_path / "poses.csv", robot, q, [1, 2])
    lines = [line.split(",", 1)[1] for line in path.read_text().splitlines()]
    path.write_text("\n".join(lines))
    pose = pose_of_table(robot, path, 2)
    np.testing.assert_allclose(
        joint_positions(robot, pose.q), joint_positions(robot, q[1]), atol=1e-8
    )


def test_what_is_no_pose_is_refused(tmp_path: Path) -> None:
    """Numbers that are not there, soles that are not flat, numbers that are missing."""
    robot = eq.load("humanoid")
    bent = np.array(robot.standing)
    bent[7 + degree_names(robot).index("left_ankle_pitch")] += 0.4
    path = written(
        tmp_path / "poses.csv", robot, np.stack([robot.standing, bent]), [1, 2]
    )
    for number in (0, -1, 3):
        with pytest.raises(eq.EquipoiseError, match=f"has no pose {number}"):
            pose_of_table(robot, path, number)
    with pytest.raises(eq.EquipoiseError, match="not both flat"):
        pose_of_table(robot, path, 2)
    for joint, by in (("hip_pitch", -0.3), ("knee", 0.6), ("ankle_pitch", -0.3)):
        lifted = 7 + degree_names(robot).index(f"left_{joint}")
        bent[lifted] = robot.standing[lifted] + by
    written(path, robot, np.stack([robot.standing, bent]), [1, 2])
    with pytest.raises(eq.EquipoiseError, match="one sole is"):
        pose_of_table(robot, path, 2)
    lines = path.read_text().splitlines()
    gap = lines[1].replace("1,", "9,,", 1).rsplit(",", 1)[0]
    path.write_text("\n".join([*lines[:1], *lines[1:2] * 9, gap]))
    with pytest.raises(eq.EquipoiseError, match="pose 9 lacks a number"):
        pose_of_table(robot, path, 9)
