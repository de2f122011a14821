"""Legs of five and seven joints, joints without end, coupled and locked ones."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from bipeds import Biped

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.kinematics.leg_freedom import leg_freedom
from equipoise.kinematics.stance import sole_pose

TWIST = (
    '<joint name="{0}_thigh_twist" type="revolute"><parent link="{0}_hip_pitch_link"/>'
    '<child link="{0}_twist_link"/><origin xyz="0 0 0" rpy="0 0 0"/>'
    '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="50" velocity="9"/></joint>'
    '<link name="{0}_twist_link"><inertial><mass value="0.5"/><inertia ixx="0.001" '
    'iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
JOINTS = ("hip_yaw", "hip_roll", "hip_pitch", "knee", "ankle_pitch", "ankle_roll")
MIMIC = '<mimic joint="left_hip_yaw"/></joint>'


def fixed(text: str, joint: str) -> str:
    """Return a robot without joints of a name."""
    return re.sub(rf'(<joint name="\w*{joint}" type=")revolute', r"\1fixed", text)


def twisted(text: str, *sides: str) -> str:
    """Return a robot with a second joint about the thigh."""
    for side in sides:
        text = re.sub(
            rf'(<joint name="{side}_knee" .*?<parent link=")\w+',
            rf"\1{side}_twist_link",
            text,
        )
        text = text.replace("</robot>", TWIST.format(side) + "</robot>")
    return text


def coupled(text: str) -> str:
    """Return a robot whose hips yaw together."""
    head, tail = text.split('<joint name="right_hip_yaw"', 1)
    return f'{head}<joint name="right_hip_yaw"{tail.replace("</joint>", MIMIC, 1)}'


def load(text: str, folder: Path) -> eq.Robot:
    """Return a robot from text; legs unlike each other are named beside it."""
    path = folder / "drawn.urdf"
    path.write_text(text)
    if text.count("thigh_twist") == 1:
        right = [f"right_{joint}" for joint in JOINTS]
        left = [joint.replace("right", "left") for joint in right]
        left.insert(3, "left_thigh_twist")
        limbs = (
            f"[limbs.left_leg]\njoints = {left}\n[limbs.right_leg]\njoints = {right}"
        )
        path.with_suffix(".toml").write_text(limbs)
    return eq.load(path)


SIX = Biped().urdf()
ROBOTS = {
    "six joints": (SIX, 6, (), False),
    "no hip yaw": (fixed(SIX, "hip_yaw"), 5, (), True),
    "hip yaw coupled": (coupled(SIX), 5, ("hip_yaw",), True),
    "hip yaw locked": (
        SIX.replace('lower="-1.5" upper="1.5"', 'lower="0.1" upper="0.1"', 1),
        5,
        ("hip_yaw",),
        True,
    ),
    "seven joints": (twisted(SIX, "left", "right"), 6, ("thigh_twist",), False),
    "seven and six": (twisted(SIX, "left"), 6, ("thigh_twist",), False),
    "without end": (SIX.replace('"revolute"', '"continuous"'), 6, (), False),
}


@pytest.mark.parametrize("name", ROBOTS)
def test_which_joints_place_a_sole(name: str, tmp_path: Path) -> None:
    """Five or six joints move a leg; what is held or left free is said."""
    text, moved, held, yaw_free = ROBOTS[name]
    left = leg_freedom(load(text, tmp_path))["left"]
    assert len(left.moved) == moved
    assert tuple(left.held) == tuple(f"left_{joint}" for joint in held)
    assert left.yaw_free == yaw_free
    said = " ".join(left.describe())
    assert ("heading is left free" in said) == yaw_free
    assert all(joint in said for joint in held)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("engine", ["native", "mujoco"])
def test_they_walk(name: str, engine: str, tmp_path: Path) -> None:
    """CoM and soles are exact, held joints stay, and the walk works in simulation."""
    robot = load(ROBOTS[name][0], tmp_path)
    gait = eq.fit_walk(robot, 3)
    motion = eq.solve(robot, gait)
    np.testing.assert_allclose(eq.com(robot, motion.q), motion.com, atol=1e-9)
    table = gait.at(motion.time)
    for side, poses in table.soles.items():
        np.testing.assert_allclose(
            sole_pose(robot, motion.q, side), poses, atol=1e-9, err_msg=side
        )
        for joint in leg_freedom(robot)[side].held:
            degree = robot.model.joints[robot.joint_id(joint)].idx_v
            assert np.abs(motion.v[:, degree]).max() == 0.0
    run = eq.walk(robot, motion, engine=engine, actuators="ideal")
    assert run.summary["steps_done"] == 3
    assert run.summary["com_error_m"]["mean"] < 1e-3
    said = {text for leg in leg_freedom(robot).values() for text in leg.describe()}
    assert said <= set(run.summary["notices"])


def test_no_hip_yaw_no_turn(tmp_path: Path) -> None:
    """A turn that legs cannot make is refused, and why."""
    robot = load(fixed(SIX, "hip_yaw"), tmp_path)
    with pytest.raises(
        EquipoiseError, match=r"cannot keep its \w+ foot along its heading"
    ):
        eq.fit_walk(robot, 6, turn=0.2)


@pytest.mark.parametrize(
    ("joint", "missing"),
    [
        ("hip_roll", "no hip roll joint"),
        ("hip_pitch", "no knee"),
        ("knee", "no knee"),
        ("ankle_pitch", "no ankle pitch joint"),
        ("ankle_roll", "no ankle roll joint"),
    ],
)
def test_what_is_missing_is_named(joint: str, missing: str, tmp_path: Path) -> None:
    """Legs of five joints that cannot walk are refused by the joint they lack."""
    robot = load(fixed(SIX, joint), tmp_path)
    with pytest.raises(EquipoiseError, match=f"left leg has {missing}"):
        eq.fit_walk(robot, 3)
