"""The TOML beside a robot: it overrides detection, and its slips are not silent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import equipoise as eq
from equipoise.errors import EquipoiseError


@pytest.fixture
def g1_beside_toml(g1_urdf: Path, tmp_path: Path) -> Path:
    """A copy of the G1 file in a folder of its own."""
    path = tmp_path / "g1.urdf"
    text = g1_urdf.read_text(encoding="utf-8")
    path.write_text(
        text.replace('filename="', f'filename="{g1_urdf.parent}/'), encoding="utf-8"
    )
    return path


def load_with(robot_file: Path, toml: str) -> eq.Robot:
    """Load a robot with a TOML beside it."""
    robot_file.with_suffix(".toml").write_text(toml, encoding="utf-8")
    return eq.load(robot_file)


def test_sole_is_taken_from_the_file(g1_beside_toml: Path) -> None:
    """A sole given in the TOML replaces the detected one and names its origin."""
    robot = load_with(
        g1_beside_toml,
        """
        assumptions = ["feet measured by hand"]
        [soles.left]
        link = "left_ankle_roll_link"
        xyz = [0, 0, -0.04]
        size = [0.2, 0.1]
        centre = [0.03, 0]
        """,
    )
    sole = robot.soles["left"]
    assert sole.size == pytest.approx((0.2, 0.1))
    assert sole.origin.endswith("g1.toml")
    np.testing.assert_allclose(sole.transform_sole_to_link[:3, 3], [0, 0, -0.04])
    assert robot.soles["right"].origin == "collision geometry"
    assert "feet measured by hand" in robot.assumptions


def test_limbs_postures_and_actuators_are_taken_from_the_file(
    g1_beside_toml: Path,
) -> None:
    """Named limbs, postures and motor figures replace what was found."""
    robot = load_with(
        g1_beside_toml,
        """
        [limbs.left_arm]
        joints = ["left_shoulder_pitch_joint", "left_elbow_joint"]
        [actuators.default]
        rotor_inertia = 0.01
        [actuators.left_knee_joint]
        rotor_inertia = 0.02
        [postures.crouch]
        left_knee_joint = 0.6
        """,
    )
    assert len(robot.arms["left"].joints) == 2
    assert len(robot.arms["right"].joints) == 7
    inertia = {item.joint: item.rotor_inertia for item in robot.actuators}
    assert inertia["left_knee_joint"] == 0.02
    assert inertia["right_knee_joint"] == 0.01
    knee = robot.model.idx_qs[robot.joint_id("left_knee_joint")]
    assert robot.posture("crouch")[knee] == 0.6


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("x = ", "not valid TOML"),
        ("[sole.left]\nlink = 'a'", "did you mean 'soles'"),
        ("[soles.middle]\nlink = 'a'", "middle"),
        ("[soles.left]\nlink = 'a'\nsize = [1, 1]", "no link 'a'"),
        ("[soles.left]\nlink = 'pelvis'\nsize = [1, 1]", "not part of the left leg"),
        ("[soles.left]\nlink = 'pelvis'", "either polygon or size"),
        ("[soles.left]\nlink = 'pelvis'\nsize = [1, nan]", "finite"),
        ("[soles.left]\nlink = 'pelvis'\nsize = [1, -1]", "positive"),
        ("[limbs.left_wing]\njoints = ['a']", "left_wing"),
        ("[limbs.left_leg]\njoints = ['a']", "no joint 'a'"),
        ("[limbs.left_leg]\njoints = []", "joints"),
        (
            "[limbs.left_leg]\njoints = ['left_knee_joint', 'left_hip_roll_joint']",
            "is not below",
        ),
        ("[actuators.a]\nrotor_inertia = 1", "no joint 'a'"),
        ("[actuators.default]\nrotor_inertia = -1", "negative"),
        ("[postures.standing]\na = 1", "no joint 'a'"),
        ("[postures.standing]\nleft_knee_joint = 'x'", "left_knee_joint"),
        ("[orientation]\nup = [0, 0, 0]", "zero"),
        ("[orientation]\nforward = [0, 0, 1]", "along up"),
        ("limbs = 3", "table"),
    ],
)
def test_slips_are_refused_by_name(
    g1_beside_toml: Path, toml: str, message: str
) -> None:
    """Unknown keys, names and impossible values each give one clear line."""
    with pytest.raises(EquipoiseError) as error:
        load_with(g1_beside_toml, toml)
    assert message in str(error.value)
    assert "g1.toml" in str(error.value)
