"""A user's robot as TOML: the robot, and the settings in the same file."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.errors import RobotFileError
from equipoise.robot.formats.robot_toml import read_robot_toml

LINKS = '[[links]]\nname = "pole"\nmass = 1.0\ncom = [0, 0, 0]\n'
LIMB = """
[base]
mass = 1
com = [0, 0, 0]
[dh.left_leg]
convention = "standard"
rows = [{ joint = "hip", alpha = 0, a = 1, d = 0, theta = 0 }]
[limbs.right_leg]
joints = ["other"]
"""


def read_text(folder: Path, text: str) -> tuple[str, dict[str, object]]:
    """Return the name and the settings of a robot."""
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    description, settings = read_robot_toml(path)
    return description.name, settings


def test_a_robot_without_a_name_has_that_of_its_file(tmp_path: Path) -> None:
    """The name in the file comes first."""
    assert read_text(tmp_path, LINKS) == ("mine", {})
    assert read_text(tmp_path, 'name = "yours"\n' + LINKS) == ("yours", {})


def test_limbs_of_a_dh_robot_are_settings(tmp_path: Path) -> None:
    """DH limbs become settings beside those that the file gives itself."""
    _, settings = read_text(tmp_path, LIMB)
    assert settings["limbs"] == {
        "left_leg": {"joints": ["hip"], "end_link": "hip_link"},
        "right_leg": {"joints": ["other"]},
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('title = "nothing"\n', r"holds no robot: neither \[dh.LIMB\] nor"),
        ('name = "a\\u001b[31m"\n' + LINKS, r"robot name 'a\\x1b\[31m' holds"),
        (LINKS.replace("pole", "po\\nle"), r"link name 'po\\nle' holds"),
    ],
)
def test_slips_are_refused_by_name(text: str, message: str, tmp_path: Path) -> None:
    """A file without a robot, and names that cannot be printed, are refused."""
    with pytest.raises(RobotFileError, match=rf"mine\.toml: .*{message}"):
        read_text(tmp_path, text)
