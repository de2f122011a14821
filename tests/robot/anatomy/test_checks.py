"""Warnings: each has an example that raises it and one that does not."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from bipeds import Biped
from hypothesis import given
from hypothesis import strategies as st

import equipoise as eq
from equipoise.robot.anatomy.checks import distance_outside
from equipoise.robot.description import Shape

FOOT = '<collision><geometry><box size="0.2 0.1 0.04"/></geometry></collision>'
GOOD = "".join(
    f"""
    <joint name="{s}_hip" type="revolute"><parent link="base"/><child link="{s}_leg"/>
      <origin xyz="0 {y} 0"/><axis xyz="0 1 0"/>
      <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
    <link name="{s}_leg"><inertial><origin xyz="0 0 -0.1"/><mass value="2"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
      </link>
    <joint name="{s}_ankle" type="revolute"><parent link="{s}_leg"/>
      <child link="{s}_foot"/><origin xyz="0 0 -0.4"/><axis xyz="0 1 0"/>
      <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
    <link name="{s}_foot"><inertial><mass value="1"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
      {FOOT}</link>"""
    for s, y in (("left", 0.1), ("right", -0.1))
)
ROBOT = (
    '<robot name="good"><link name="base"><inertial><mass value="5"/><inertia '
    'ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    f"{GOOD}</robot>"
)


def warnings_of(text: str, folder: Path) -> str:
    """Return all warnings of a URDF text, joined."""
    path = folder / "robot.urdf"
    path.write_text(text, encoding="utf-8")
    return "; ".join(eq.load(path).warnings)


def changed(old: str, new: str, count: int = 1) -> str:
    """Return the good robot with a replacement that must apply."""
    assert old in ROBOT
    return ROBOT.replace(old, new, count)


def test_good_robot_has_no_warnings(tmp_path: Path) -> None:
    """A symmetric, physical robot gives nothing to warn of."""
    assert warnings_of(Biped().urdf(), tmp_path) == ""
    lacking = [
        f"the {side} leg has no {joint}"
        for side in ("left", "right")
        for joint in ("hip roll joint", "knee", "ankle roll joint")
    ]
    assert warnings_of(ROBOT, tmp_path) == "; ".join(lacking)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'ixx="0.01" iyy="0.01" izz="0.01"',
            'ixx="0" iyy="0" izz="0"',
            "non-physical inertia: a principal moment of zero or less",
        ),
        (
            'ixx="0.01" iyy="0.01" izz="0.01"',
            'ixx="0.03" iyy="0.01" izz="0.01"',
            "triangle inequality",
        ),
        ('<mass value="1"/>', '<mass value="0"/>', "an inertia without a mass"),
        ('<mass value="1"/>', '<mass value="0"/>', "zero-mass links that move"),
        (
            '<mass value="1"/>',
            '<origin xyz="0.3 0 0"/><mass value="1"/>',
            "outside the link's geometry (1: left_foot by 200 mm)",
        ),
        ('<mass value="2"/>', '<mass value="2.1"/>', "left and right leg differ: mass"),
        (
            '<origin xyz="0 0 -0.1"/><mass value="2"/>',
            '<origin xyz="0.1 0 -0.1"/><mass value="2"/>',
            "mirrored centre of mass 66.7 mm apart",
        ),
        ('size="0.2 0.1 0.04"', 'size="0.22 0.1 0.04"', "sole sizes"),
    ],
)
def test_each_warning(tmp_path: Path, old: str, new: str, message: str) -> None:
    """One changed value raises the warning that names it."""
    assert message in warnings_of(changed(old, new), tmp_path)


def test_mimic_joints_are_named(tmp_path: Path) -> None:
    """A mimic joint moves on its own, and a warning names it."""
    text = re.sub(
        r'(<joint name="left_ankle".*?)(</joint>)',
        r'\1<mimic joint="left_hip"/>\2',
        ROBOT,
        flags=re.DOTALL,
    )
    assert "mimic joints are not supported" in warnings_of(text, tmp_path)
    assert "left_ankle" in warnings_of(text, tmp_path)


def test_distance_outside_a_box() -> None:
    """Distances to a box are exact to the stated hundredth of its size."""
    box = [Shape("box", (2.0, 2.0, 2.0))]
    for point, expected in (
        ([0, 0, 0], 0.0),
        ([0.99, 0.99, 0.99], 0.0),
        ([2, 0, 0], 1.0),
        ([2, 2, 0], np.sqrt(2)),
        ([2, 2, 2], np.sqrt(3)),
        ([0.3, -4, 0.2], 3.0),
    ):
        distance, size = distance_outside(box, np.array(point, dtype=float))
        assert size == pytest.approx(2 * np.sqrt(3))
        assert expected - 0.01 * size <= distance <= expected + 1e-9


def test_asymmetry_is_that_of_the_standing_posture() -> None:
    """The ITU biped's legs, stretched out at zero, differ by what Table 2 says."""
    (warning,) = eq.load("itu-biped").warnings
    assert "mirrored centre of mass 5.1 mm apart" in warning


LIMIT = '<limit lower="{}" upper="{}" effort="50" velocity="9"/>'


@pytest.mark.parametrize(
    ("word", "old", "new"),
    [
        ("knee", (0.0, 2.0), (-2.0, 0.0)),
        ("knee", (0.0, 2.0), (0.0, 1.0)),
        ("hip_roll", (-1.0, 1.0), (-1.0, 0.2)),
        ("elbow", (-2.0, 2.0), (0.0, 0.0)),
    ],
)
def test_limits_that_are_not_mirrored_are_named(
    tmp_path: Path, word: str, old: tuple[float, float], new: tuple[float, float]
) -> None:
    """A right joint whose range is not the left one's by far is a likely mistake."""
    text = Biped().urdf()
    joint = f'<joint name="right_{word}"'
    start = text.index(joint)
    end = text.index("</joint>", start)
    part = text[start:end]
    assert LIMIT.format(*old) in part
    changed_part = part.replace(LIMIT.format(*old), LIMIT.format(*new))
    warnings = warnings_of(text[:start] + changed_part + text[end:], tmp_path)
    assert f"limits differ widely, mirrored (1: left_{word} " in warnings
    assert f"right_{word} {new[0]:.3g} to {new[1]:.3g})" in warnings


@given(
    st.sampled_from(["hip_yaw", "hip_roll", "knee", "shoulder_pitch"]),
    st.tuples(st.floats(-1.5, -0.3), st.floats(0.3, 1.5)),
    st.booleans(),
)
def test_mirrored_limits_are_not_warned_of(
    tmp_path_factory: pytest.TempPathFactory,
    word: str,
    limits: tuple[float, float],
    flipped: bool,
) -> None:
    """Yaw and roll have opposite ranges, pitch the same, unless an axis is flipped."""
    lower, upper = limits
    text = Biped().urdf()
    opposite = (word in ("hip_yaw", "hip_roll")) != flipped
    right = (-upper, -lower) if opposite else limits
    for side, bounds in (("left", limits), ("right", right)):
        start = text.index(f'<joint name="{side}_{word}"')
        end = text.index("</joint>", start)
        part = re.sub("<limit.*/>", LIMIT.format(*bounds), text[start:end])
        if flipped and side == "right":
            part = re.sub('axis xyz="(.) (.) (.)"', r'axis xyz="-\1 -\2 -\3"', part)
        text = text[:start] + part + text[end:]
    warnings = warnings_of(text, tmp_path_factory.mktemp("limits"))
    assert "limits differ" not in warnings
