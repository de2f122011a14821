"""What legs lack for walking is named, for planning to refuse by name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from bipeds import Biped

import equipoise as eq
from equipoise.errors import LegsNotFoundError
from equipoise.robot.anatomy.leg_problems import leg_problems
from equipoise.robot.summary import summarise


def load_text(text: str, path: Path) -> eq.Robot:
    """Load a robot file with this text."""
    path.write_text(text, encoding="utf-8")
    return eq.load(path)


def with_joint(text: str, name: str, old: str, new: str) -> str:
    """Return a URDF in which a part of one joint is another."""
    start = text.index(f'<joint name="{name}"')
    end = text.index("</joint>", start)
    part, count = re.subn(old, new, text[start:end])
    assert count == 1
    return text[:start] + part + text[end:]


def test_real_humanoids_have_none(humanoid_urdf: Path) -> None:
    """Robots that walk lack nothing."""
    assert leg_problems(eq.load(humanoid_urdf)) == ()


@pytest.mark.parametrize("robot", ["humanoid", "itu-biped", "mahru-1", "three-link"])
def test_catalogue_robots_that_lack_nothing(robot: str) -> None:
    """Legs of six joints have all that it takes, and point feet need no ankles."""
    assert leg_problems(eq.load(robot)) == ()


def test_planar_biped_lacks_roll_and_knees() -> None:
    """Muscolo's biped has hips and ankles that pitch alone; its warnings say so."""
    robot = eq.load("muscolo-biped")
    assert leg_problems(robot) == tuple(
        f"the {side} leg has no {joint}"
        for side in ("left", "right")
        for joint in ("hip roll joint", "knee", "ankle roll joint")
    )
    assert set(leg_problems(robot)) <= set(robot.warnings)


@pytest.mark.parametrize(
    ("joint", "kind"), [("ankle_roll", "roll"), ("ankle_pitch", "pitch")]
)
def test_fixed_ankle_joint_is_missing(tmp_path: Path, joint: str, kind: str) -> None:
    """A joint that is fixed in the file is missing, and named by what it would do."""
    text = with_joint(Biped().urdf(), f"right_{joint}", "revolute", "fixed")
    text = with_joint(text, f"left_{joint}", "revolute", "fixed")
    assert leg_problems(load_text(text, tmp_path / "r.urdf")) == (
        f"the left leg has no ankle {kind} joint",
        f"the right leg has no ankle {kind} joint",
    )


def test_locked_ankle_joint_is_missing(tmp_path: Path) -> None:
    """A joint whose limits leave it no range is named as locked."""
    locked = 'lower="0" upper="0"'
    text = with_joint(Biped().urdf(), "right_ankle_roll", "lower.*upper=.[^ ]*", locked)
    (problem,) = leg_problems(load_text(text, tmp_path / "r.urdf"))
    assert problem == (
        "the right leg has no ankle roll joint "
        "(locked by its limits: 'right_ankle_roll')"
    )


@pytest.mark.parametrize(
    "element",
    [
        '<loop name="rod" type="spherical"><predecessor link="{0}"/>'
        '<successor link="{1}"/></loop>',
        '<loop_joint name="rod"><parent link="{0}"/><child link="{1}"/></loop_joint>',
        '<gazebo><joint name="rod" type="ball"><parent>{0}</parent>'
        "<child> {1} </child></joint></gazebo>",
    ],
)
def test_loop_in_a_urdf_leg(tmp_path: Path, element: str) -> None:
    """Extensions that close a loop in a leg are found, and its links named."""
    ends = "left_knee_link", "left_ankle_roll_link"
    text = Biped(extra=element.format(*ends)).urdf()
    robot = load_text(text, tmp_path / "robot.urdf")
    assert robot.description.loops == (ends,)
    (problem,) = leg_problems(robot)
    assert problem == (
        "the left leg has a closed loop, from link 'left_knee_link' to "
        "'left_ankle_roll_link', which is left open"
    )
    assert problem in robot.warnings
    assert any("loops are not supported: left open" in w for w in robot.warnings)


def test_loops_elsewhere_are_no_problem_of_legs(tmp_path: Path) -> None:
    """Arms may have loops; joints to the world and plugins are not loops."""
    extra = (
        '<gazebo><joint name="a"><parent>left_elbow_link</parent>'
        "<child>right_elbow_link</child></joint></gazebo>"
        '<gazebo><joint name="b"><parent>world</parent><child>pelvis</child></joint>'
        '</gazebo><gazebo reference="left_knee_link"><mu1>1</mu1></gazebo>'
    )
    robot = load_text(Biped(extra=extra).urdf(), tmp_path / "robot.urdf")
    assert robot.description.loops == (("left_elbow_link", "right_elbow_link"),)
    assert leg_problems(robot) == ()


LEG = """<body name="{s}_thigh" pos="0 {y} 0"><joint name="{s}_hip" axis="0 1 0"/>
<joint name="{s}_hip_roll" axis="1 0 0"/>
<geom size=".05"/><body name="{s}_shin" pos="0 0 -.4"><joint name="{s}_knee"
axis="0 1 0"/><geom size=".05"/><site name="{s}_high"/><body name="{s}_foot"
pos="0 0 -.4"><joint name="{s}_ankle_pitch" axis="0 1 0"/>
<joint name="{s}_ankle_roll" axis="1 0 0"/><geom type="box" size=".1 .05 .02"/>
<site name="{s}_low"/></body></body></body>"""
TIED = '<connect body1="left_shin" body2="left_foot" anchor="0 0 0"/>'


@pytest.mark.parametrize(
    ("equality", "loops"),
    [
        (TIED, 1),
        (TIED.replace("connect", "weld"), 1),
        ('<connect site1="left_high" site2="left_low"/>', 1),
        (TIED.replace("/>", ' active="false"/>'), 0),
        ('<weld body1="pelvis"/>', 0),
        ('<joint joint1="left_hip" joint2="right_hip"/>', 0),
    ],
)
def test_loop_in_an_mjcf_leg(tmp_path: Path, equality: str, loops: int) -> None:
    """Connections and welds between bodies close loops, by body or by site."""
    legs = "".join(LEG.format(s=s, y=y) for s, y in (("left", 0.1), ("right", -0.1)))
    robot = load_text(
        f"""<mujoco><worldbody><body name="pelvis"><freejoint/><geom size=".1"/>{legs}
        </body></worldbody><equality>{equality}</equality></mujoco>""",
        tmp_path / "robot.xml",
    )
    assert robot.description.loops == (("left_shin", "left_foot"),) * loops
    assert len(leg_problems(robot)) == loops


@pytest.mark.parametrize("side", ["left", "right"])
def test_one_leg_is_shown_and_the_other_said_to_be_missing(
    tmp_path: Path, side: str
) -> None:
    """A robot of one leg has a summary, but is no biped."""
    text = Biped().urdf()
    other = {"left": "right", "right": "left"}[side]
    for tag in ("link", "joint"):
        text = re.sub(rf'<{tag} name="{other}_.*?</{tag}>', "", text)
    robot = load_text(text, tmp_path / "robot.urdf")
    assert list(robot.soles) == [side]
    (problem,) = leg_problems(robot)
    joints = f"'{side}_hip_yaw' to '{side}_ankle_roll'"
    assert problem.startswith(f"a leg is missing: one leg only, of joints {joints}")
    assert problem in robot.warnings
    assert list(summarise(robot)["legs"]) == [side]
    with pytest.raises(LegsNotFoundError, match="one leg only"):
        _ = robot.legs


def test_four_legs_on_a_spine_are_not_one(tmp_path: Path) -> None:
    """Chains that part above their middle are several legs."""
    text = Biped(pairs_of_legs=2).urdf().replace("pelvis", "rump")
    start = '<robot name="drawn">'
    spine = (
        f'{start}<link name="base"/><joint name="spine" type="revolute">'
        '<parent link="base"/><child link="rump"/><origin xyz="0 0 0.05"/>'
        '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
    )
    robot = load_text(text.replace(start, spine), tmp_path / "robot.urdf")
    assert robot.soles == {}
    (problem,) = leg_problems(robot)
    assert "one leg" not in problem
