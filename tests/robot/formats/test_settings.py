"""The TOML beside a robot: it overrides detection, and its slips are not silent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.simulation.mjcf_servos import mjcf_servos


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
    """Named limbs, postures and actuator parameters replace what was found."""
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


def test_a_given_standing_posture_is_completed(g1_beside_toml: Path) -> None:
    """Bent knees stay as given; the other leg joints make the soles level."""
    plain = eq.load(g1_beside_toml)
    robot = load_with(
        g1_beside_toml,
        "[postures.standing]\nleft_knee_joint = 0.4\nright_knee_joint = 0.4",
    )
    knee = robot.model.idx_qs[robot.joint_id("left_knee_joint")]
    assert robot.standing[knee] == 0.4
    for side in ("left", "right"):
        assert robot.soles[side].size == plain.soles[side].size
    for name in ("l_sole", "r_sole"):
        pose = eq.frame_pose(robot, robot.standing, name)
        np.testing.assert_allclose(pose[2], [0, 0, 1, 0], atol=1e-6)
    assert robot.warnings == plain.warnings
    assert robot.legs["left"].length == plain.legs["left"].length


def test_uneven_standing_is_said(g1_beside_toml: Path) -> None:
    """A posture on one leg is kept, its lowest corner on the ground, with a warning."""
    robot = load_with(
        g1_beside_toml,
        "[postures.standing]\nleft_hip_pitch_joint = -0.8\nleft_knee_joint = 1.2",
    )
    assert any("soles are not level" in warning for warning in robot.warnings)
    lowest = min(
        (eq.frame_pose(robot, robot.standing, sole.link)[:3] @ np.append(corner, 1.0))[
            2
        ]
        for sole in robot.soles.values()
        for corner in sole.corners_in_link
    )
    assert abs(lowest) < 1e-9


def test_raising_an_arm_does_not_make_a_robot_asymmetric(g1_beside_toml: Path) -> None:
    """Left and right are compared at the neutral posture, not at the given one."""
    robot = load_with(
        g1_beside_toml, "[postures.standing]\nleft_shoulder_pitch_joint = -1.5"
    )
    assert not any("differ" in warning for warning in robot.warnings)


def test_given_legs_leave_the_arms_detected(g1_beside_toml: Path) -> None:
    """Naming the legs does not lose the arms."""
    plain = eq.load(g1_beside_toml)
    toml = "".join(
        f"[limbs.{side}_leg]\njoints = {list(plain.legs[side].joints)}\n"
        for side in ("left", "right")
    )
    robot = load_with(g1_beside_toml, toml)
    for side in ("left", "right"):
        assert robot.arms[side].joints == plain.arms[side].joints
        assert robot.legs[side].joints == plain.legs[side].joints


def test_a_given_polygon_is_kept(g1_beside_toml: Path) -> None:
    """All corners of a user's own convex polygon remain."""
    angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    corners = [[0.1 * float(np.cos(a)), 0.05 * float(np.sin(a))] for a in angle]
    toml = f"[soles.left]\nlink = 'left_ankle_roll_link'\npolygon = {corners}"
    robot = load_with(g1_beside_toml, toml)
    assert len(robot.soles["left"].polygon_in_sole) == 24


def test_settings_are_added_to_the_robots_own(tmp_path: Path) -> None:
    """A further file overrides what it names and nothing else."""
    path = tmp_path / "more.toml"
    path.write_text("[actuators.left_knee]\nrotor_inertia = 7.0", encoding="utf-8")
    plain, robot = eq.load("mahru-1"), eq.load("mahru-1", path)
    assert robot.assumptions == plain.assumptions
    assert list(robot.postures) == list(plain.postures)
    knee = next(item for item in robot.actuators if item.joint == "left_knee")
    assert knee.rotor_inertia == 7.0
    assert knee.origins["rotor_inertia"] == str(path)
    assert knee.origins["effort_limit"] == "catalogue (mahru-1)"


def test_values_that_are_not_given_are_named_so(g1_urdf: Path) -> None:
    """Defaults are not presented as the robot file's."""
    origins = eq.load(g1_urdf).actuators[0].origins
    assert origins["effort_limit"] == "robot file"
    assert origins["rotor_inertia"] == "not given"


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
        (
            "[limbs.left_leg]\njoints = ['left_knee_joint']\nend_link = 'nose'",
            "cannot end at 'nose'",
        ),
        ("[limbs.torso]\nnonsense = 1", "nonsense"),
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


def test_what_joints_are_told_comes_from_the_file(
    g1_urdf: Path, g1_beside_toml: Path, tmp_path: Path
) -> None:
    """Effort interfaces, motors and settings make a robot torque-controlled."""
    plain = eq.load(g1_urdf)
    assert not plain.torque_controlled
    assert plain.actuators[0].origins["command"] == "not given"
    told = load_with(g1_beside_toml, "[actuators.default]\ncommand = 'torque'")
    assert told.torque_controlled
    motors = tmp_path / "motors.xml"
    eq.export_robot(plain, motors)
    assert eq.load(motors).torque_controlled
    servos = tmp_path / "servos.xml"
    eq.export_robot(plain, servos, actuators=mjcf_servos(plain))
    assert not eq.load(servos).torque_controlled


@pytest.mark.parametrize(
    ("interfaces", "torque"),
    [
        (("EffortJointInterface",), True),
        (("hardware_interface/EffortJointInterface",), True),
        (("PositionJointInterface", "EffortJointInterface"), False),
        ((), False),
    ],
)
def test_transmissions_say_what_joints_are_told(
    g1_urdf: Path, tmp_path: Path, interfaces: tuple[str, ...], torque: bool
) -> None:
    """A joint that may be told positions is not counted as one told torques."""
    text = g1_urdf.read_text(encoding="utf-8")
    words = "".join(f"<hardwareInterface>{i}</hardwareInterface>" for i in interfaces)
    ros1 = "".join(
        f'<transmission name="t"><joint name="{joint}">{words}</joint></transmission>'
        for joint in eq.load(g1_urdf).leg_joints
    )
    path = tmp_path / "g1.urdf"
    path.write_text(text.replace("</robot>", f"{ros1}</robot>"), encoding="utf-8")
    assert eq.load(path).torque_controlled == torque
    kinds = "".join(
        f'<command_interface name="{i.rpartition("/")[2][:-14].lower()}"/>'
        for i in interfaces
    )
    ros2 = "".join(
        f'<joint name="{joint}">{kinds}</joint>' for joint in eq.load(path).leg_joints
    )
    ros2 = f'<ros2_control name="c" type="system">{ros2}</ros2_control></robot>'
    path.write_text(text.replace("</robot>", ros2), encoding="utf-8")
    assert eq.load(path).torque_controlled == torque
