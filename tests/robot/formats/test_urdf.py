"""URDF reading and model building, with Pinocchio's own parser as the oracle."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from bipeds import Biped
from hypothesis import given
from hypothesis import strategies as st

import equipoise as eq
from equipoise.errors import RobotFileError
from equipoise.robot.formats.export import to_urdf
from equipoise.robot.formats.mjcf import read_mjcf
from equipoise.robot.formats.mjcf_export import to_mjcf
from equipoise.robot.formats.urdf import read_urdf
from equipoise.robot.formats.xml_file import parse_xml, read_bytes
from equipoise.robot.pinocchio_model import build_model

LINK = (
    '<link name="{0}"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" '
    'ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
JOINT = (
    '<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/>'
    '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/>{4}'
    "</joint>"
)


SHAPE = "<collision><geometry><{}/></geometry></collision>"


def model_of(path: Path) -> pin.Model:
    """Build our model of a file."""
    return build_model(read_urdf(parse_xml(read_bytes(path), path), path))


def model_of_text(text: str) -> pin.Model:
    """Build our model of a text."""
    path = Path("text.urdf")
    return build_model(read_urdf(parse_xml(text.encode(), path), path))


def robot_text(*parts: str) -> str:
    """Wrap links and joints in a robot."""
    return f'<robot name="r">{"".join(parts)}</robot>'


def test_model_is_the_one_that_pinocchio_parses(humanoid_urdf: Path) -> None:
    """Joints, frames, inertias and limits equal pin.buildModelFromUrdf's."""
    ours = model_of(humanoid_urdf)
    theirs = pin.buildModelFromUrdf(str(humanoid_urdf), pin.JointModelFreeFlyer())
    assert list(ours.names) == list(theirs.names)
    assert [j.shortname() for j in ours.joints] == [
        j.shortname() for j in theirs.joints
    ]
    assert [(f.name, f.type, f.parentJoint, f.parentFrame) for f in ours.frames] == [
        (f.name, f.type, f.parentJoint, f.parentFrame) for f in theirs.frames
    ]
    for a, b in zip(ours.frames, theirs.frames, strict=True):
        np.testing.assert_allclose(
            a.placement.homogeneous, b.placement.homogeneous, atol=1e-12
        )
    for a, b in zip(ours.inertias, theirs.inertias, strict=True):
        np.testing.assert_allclose(
            a.toDynamicParameters(), b.toDynamicParameters(), atol=1e-12
        )
    for limits in (
        "lowerPositionLimit",
        "upperPositionLimit",
        "velocityLimit",
        "effortLimit",
        "damping",
        "upperDryFrictionLimit",
    ):
        np.testing.assert_array_equal(getattr(ours, limits), getattr(theirs, limits))


def test_masses_on_root_and_fixed_joints_are_kept(humanoid_urdf: Path) -> None:
    """The model's mass is the sum of all masses in the file."""
    root = parse_xml(read_bytes(humanoid_urdf), humanoid_urdf)
    in_file = sum(
        float(mass.get("value", "nan")) for mass in root.iterfind("link/inertial/mass")
    )
    model_mass = pin.computeTotalMass(model_of(humanoid_urdf))
    assert model_mass == pytest.approx(in_file, rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "extra", "short_name"),
    [
        ("revolute", "", "JointModelRZ"),
        ("continuous", "", "JointModelRUBZ"),
        ("prismatic", "", "JointModelPZ"),
        ("helical", '<pitch value="0.1"/>', "JointModelHZ"),
        ("screw", '<pitch value="0.1"/>', "JointModelHZ"),
        ("spherical", "", "JointModelSpherical"),
        ("ball", "", "JointModelSpherical"),
        ("floating", "", "JointModelFreeFlyer"),
    ],
)
def test_every_joint_kind_is_read(kind: str, extra: str, short_name: str) -> None:
    """Each supported joint type becomes Pinocchio's joint of that kind."""
    text = robot_text(
        LINK.format("a"), LINK.format("b"), JOINT.format("j", kind, "a", "b", extra)
    )
    assert model_of_text(text).joints[2].shortname() == short_name


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic"])
def test_joints_about_any_axis_equal_pinocchio(kind: str) -> None:
    """A skew axis gives the kinematics of Pinocchio's parser."""
    joint = JOINT.format("j", kind, "a", "b", "").replace("0 0 1", "0.3 -0.5 0.8")
    text = robot_text(LINK.format("a"), LINK.format("b"), joint)
    ours = model_of_text(text)
    theirs = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
    assert ours.joints[2].shortname() == theirs.joints[2].shortname()
    q = pin.randomConfiguration(ours, -np.ones(ours.nq), np.ones(ours.nq))
    poses = []
    for model in (ours, theirs):
        data = model.createData()
        pin.forwardKinematics(model, data, q)
        poses.append(data.oMi[2].homogeneous)
    np.testing.assert_allclose(poses[0], poses[1], atol=1e-14)


def test_negative_speed_and_effort_mean_no_limit() -> None:
    """Files of real robots write -1 for a limit that there is not; it is said."""
    text = robot_text(
        LINK.format("a"),
        LINK.format("b"),
        JOINT.format("j", "revolute", "a", "b", "").replace(
            'effort="1" velocity="1"', 'effort="-1" velocity="-1"'
        ),
    )
    path = Path("text.urdf")
    description = read_urdf(parse_xml(text.encode(), path), path)
    joint = description.joint_by_name["j"]
    assert joint.effort_limit == joint.velocity_limit == math.inf
    assert len(description.notices) == 2


def test_helical_joint_advances_by_its_pitch() -> None:
    """A turn of q radians moves the child by pitch · q along the axis."""
    text = robot_text(
        LINK.format("a"),
        LINK.format("b"),
        JOINT.format("j", "helical", "a", "b", '<pitch value="0.1"/>'),
    )
    model = model_of_text(text)
    data = model.createData()
    q = pin.neutral(model)
    q[7] = 0.5
    pin.forwardKinematics(model, data, q)
    np.testing.assert_allclose(data.oMi[2].translation, [0, 0, 0.05], atol=1e-15)


def test_explicit_floating_base_is_not_doubled() -> None:
    """A massless world link above a floating joint is left out, and said so."""
    text = robot_text(
        '<link name="world"/>',
        LINK.format("b"),
        JOINT.format("float", "floating", "world", "b", ""),
    )
    path = Path("text.urdf")
    description = read_urdf(parse_xml(text.encode(), path), path)
    assert build_model(description).nv == 6
    assert "floating base" in description.notices[0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<robot", "not well-formed"),
        ("<robot/>", "has no links"),
        (robot_text('<link name="a"/>'), "no link has a mass"),
        (robot_text(LINK.format("a"), LINK.format("a")), "2 links are named 'a'"),
        (robot_text(LINK.format("a"), LINK.format("b")), "several root links"),
        (
            robot_text(
                LINK.format("a"), LINK.format("b"), JOINT.format("j", "x", "a", "b", "")
            ),
            "joint 'j' is of type 'x', which is not supported; supported are fixed",
        ),
        (
            robot_text(
                LINK.format("a"),
                LINK.format("b"),
                JOINT.format("j", "planar", "a", "b", ""),
            ),
            "type 'planar'",
        ),
        (
            robot_text(
                LINK.format("a"),
                LINK.format("b"),
                JOINT.format("j", "fixed", "a", "c", ""),
            ),
            "link 'c', which does not exist",
        ),
        (
            robot_text(
                LINK.format("a"),
                LINK.format("b"),
                JOINT.format("j", "fixed", "a", "b", ""),
                JOINT.format("k", "fixed", "b", "a", ""),
            ),
            "loop",
        ),
        (
            robot_text(
                *(LINK.format(name) for name in "abc"),
                JOINT.format("j", "fixed", "a", "b", ""),
                JOINT.format("k", "fixed", "c", "b", ""),
            ),
            "closed loops are not supported",
        ),
        (
            robot_text(LINK.format("a").replace('value="1"', 'value="nan"')),
            "'nan' is not a finite number",
        ),
        (
            robot_text(LINK.format("a").replace('value="1"', 'value="1e200"')),
            "'1e200' is impossibly large",
        ),
        (
            robot_text(LINK.format("a").replace('value="1"', 'value="-2"')),
            "negative mass -2 kg",
        ),
        (
            robot_text(
                LINK.format("a"),
                LINK.format("b"),
                JOINT.format("j", "revolute", "a", "b", '<dynamics friction="-1"/>'),
            ),
            "joint 'j' has friction -1",
        ),
        (
            robot_text(
                LINK.format("a"),
                LINK.format("b"),
                JOINT.format("j", "revolute", "a", "b", "").replace(
                    'lower="-1"', 'lower="2"'
                ),
            ),
            "lower limit 2 above its upper limit 1",
        ),
        (
            robot_text(
                LINK.format("a"),
                LINK.format("b"),
                JOINT.format("j", "revolute", "a", "b", "")
                .replace('lower="-1"', 'lower="1e300"')
                .replace('upper="1"', 'upper="inf"'),
            ),
            "limits inf and inf, between which there is no position",
        ),
        (
            robot_text(LINK.format("a").replace('ixx="1"', 'ixx="-1"')),
            "not positive definite",
        ),
        (
            robot_text(LINK.format("a").replace('<mass value="1"/>', "")),
            "without <mass>",
        ),
        *(
            (robot_text(LINK.format("a").replace("</link>", f"{shape}</link>")), words)
            for shape, words in (
                (SHAPE.format('sphere radius="-0.005"'), "'a' has a sphere of neg"),
                (SHAPE.format('box size="1 -2 1"'), "a box of negative size 1 -2 1"),
                (SHAPE.format('cylinder radius="1" length="-1"'), "negative size 1 -1"),
                (SHAPE.format('capsule radius="-1" length="1"'), "capsule of negative"),
                (SHAPE.format('mesh filename="m.stl" scale="1 0 1"'), "holds a zero"),
                (SHAPE.format('mesh filename="m.stl" scale="1 inf 1"'), "'inf' is not"),
            )
        ),
        (robot_text(LINK.format("&#10;")), "a link has an empty name"),
        (robot_text(LINK.format("a&#10;b")), r"link name 'a\nb' holds characters"),
        (robot_text(LINK.format("&#x9b;31m")), r"link name '\x9b31m' holds"),
        (robot_text(LINK.format("a&#x202e;b")), r"link name 'a\u202eb' holds"),
        (
            robot_text(LINK.format("a")).replace('"r"', '"r&#9;"'),
            r"robot name 'r\t' holds",
        ),
        (
            robot_text(
                LINK.format("a"),
                LINK.format("b"),
                JOINT.format("j&#10;", "fixed", "a", "b", ""),
            ),
            r"joint name 'j\n' holds",
        ),
        (
            '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:macro/></robot>',
            "xacro",
        ),
    ],
)
def test_bad_files_are_refused_by_name(text: str, message: str) -> None:
    """What is wrong is said in one line that names file and item."""
    with pytest.raises(RobotFileError) as error:
        model_of_text(text)
    assert message in str(error.value)
    assert str(error.value).startswith("text.urdf")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "document",
    [
        '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><robot name="&b;"/>',
        '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot>&x;</robot>',
        '<!DOCTYPE r SYSTEM "http://127.0.0.1/x.dtd" [<!ENTITY % p "x">]><robot/>',
    ],
)
def test_entities_are_refused(document: str) -> None:
    """Entity bombs and external entities are refused before they are expanded."""
    with pytest.raises(RobotFileError, match="entities"):
        parse_xml(document.encode(), Path("bomb.urdf"))


def test_huge_limits_are_none() -> None:
    """Numbers that stand for infinity in released files are read as infinity."""
    joint = JOINT.format("j", "revolute", "a", "b", "")
    for old, new in (("-1", "-1e16"), ("1", "1e16"), ("1", "1.7976931348623157e308")):
        joint = joint.replace(f'"{old}"', f'"{new}"', 1)
    model = model_of_text(robot_text(LINK.format("a"), LINK.format("b"), joint))
    assert (model.lowerPositionLimit[7], model.upperPositionLimit[7]) == (
        -np.inf,
        np.inf,
    )
    assert model.upperEffortLimit[6] == np.inf


@pytest.mark.parametrize("name", ["root_joint", "universe"])
def test_names_of_the_models_own_joints_are_refused(name: str) -> None:
    """A moving joint named as the floating base would be mistaken for it."""
    joint = JOINT.format(name, "revolute", "a", "b", "")
    with pytest.raises(RobotFileError, match=f"r: a moving .* be named '{name}'"):
        model_of_text(robot_text(LINK.format("a"), LINK.format("b"), joint))
    fixed = JOINT.format(name, "fixed", "a", "b", "")
    model = model_of_text(robot_text(LINK.format("a"), LINK.format("b"), fixed))
    assert model.njoints == 2


def many_links(count: int, kind: str, *, chained: bool) -> str:
    """Return a robot of many links, in one chain or all on the root."""
    return robot_text(
        *(LINK.format(k) for k in range(count)),
        *(
            JOINT.format(f"j{k}", kind, k - 1 if chained else 0, k, "")
            for k in range(1, count)
        ),
    )


@pytest.mark.parametrize(
    ("count", "kind", "chained", "message"),
    [
        (1500, "revolute", True, "1499 degrees of freedom, at most 200 are supported"),
        (202, "revolute", False, "201 degrees of freedom, at most 200 are supported"),
        (68, "spherical", False, "201 degrees of freedom, at most 200 are supported"),
        (202, "fixed", True, "link '201' is 201 joints away from the root"),
        (5001, "fixed", False, "has 5001 links, at most 5000 are supported"),
    ],
)
def test_robots_too_large_to_compute_are_refused(
    count: int, kind: str, chained: bool, message: str
) -> None:
    """Chains and bushes that would exhaust memory or stack are refused."""
    with pytest.raises(RobotFileError, match=message):
        model_of_text(many_links(count, kind, chained=chained))


def test_the_deepest_chain_is_exported_and_read_back() -> None:
    """What the limits allow can be written as URDF and MJCF and read again."""
    path = Path("deep.urdf")
    text = many_links(201, "fixed", chained=True)
    deep = read_urdf(parse_xml(text.encode(), path), path)
    again = read_urdf(parse_xml(to_urdf(deep).encode(), path), path)
    assert len(again.links) == 201
    by_mujoco = read_mjcf(parse_xml(to_mjcf(deep).encode(), path), path)
    assert len(by_mujoco.links) == 201


def test_package_path_that_climbs_out_is_refused() -> None:
    """A package:// mesh path with '..' is an error, not a file read."""
    link = LINK.format("a").replace(
        "</link>",
        "<collision><geometry>"
        '<mesh filename="package://p/../../etc/passwd"/></geometry></collision></link>',
    )
    with pytest.raises(RobotFileError, match="climbs out of its package"):
        model_of_text(robot_text(link))


WITHOUT_BOUNDS = '<limit effort="50" velocity="9"/>'


@given(
    st.dictionaries(
        st.sampled_from(
            ["hip_yaw", "hip_roll", "hip_pitch", "knee", "ankle_pitch", "ankle_roll"]
        ),
        st.sampled_from(["", WITHOUT_BOUNDS, "continuous"]),
        min_size=1,
    )
)
def test_joints_without_limits_are_free_and_named(
    tmp_path_factory: pytest.TempPathFactory, given_up: dict[str, str]
) -> None:
    """No limit given means none; a warning counts them, and the robot stands level."""
    text = Biped().urdf()
    for word, instead in given_up.items():
        for side in ("left", "right"):
            start = text.index(f'<joint name="{side}_{word}"')
            end = text.index("</joint>", start)
            part = text[start:end]
            if instead == "continuous":
                part = part.replace("revolute", "continuous")
            else:
                part = re.sub("<limit.*/>", instead, part)
            text = text[:start] + part + text[end:]
    path = tmp_path_factory.mktemp("free") / "robot.urdf"
    path.write_text(text, encoding="utf-8")
    robot = eq.load(path)
    free = {f"{side}_{word}" for word in given_up for side in ("left", "right")}
    for actuator in robot.actuators:
        unlimited = (actuator.lower, actuator.upper) == (-math.inf, math.inf)
        assert unlimited == (actuator.joint in free)
    said = "; ".join(robot.warnings)
    count = 2 * sum(kind != "continuous" for kind in given_up.values())
    assert (f"taken as unlimited ({count}: left" in said) == (count > 0)
    assert "not level" not in said
    assert "fall over" not in said


def test_one_bound_alone_leaves_the_other_at_zero() -> None:
    """URDF's default for a bound that is not written is zero."""
    joint = JOINT.format("j", "revolute", "a", "b", "").replace('lower="-1" ', "")
    path = Path("text.urdf")
    text = robot_text(LINK.format("a"), LINK.format("b"), joint)
    description = read_urdf(parse_xml(text.encode(), path), path)
    read = description.joint_by_name["j"]
    assert (read.lower, read.upper) == (0.0, 1.0)
    assert description.notices == ()


def test_continuous_ankles_are_turned_to_level_the_soles(tmp_path: Path) -> None:
    """Feet drawn at an angle are levelled by joints that turn without limit."""
    text = Biped(root_xyz_rpy=("0 0 0", "0 0.2 0")).urdf()
    text = text.replace("revolute", "continuous")
    path = tmp_path / "robot.urdf"
    path.write_text(text, encoding="utf-8")
    robot = eq.load(path)
    assert not any("level" in warning for warning in robot.warnings)
    assert not any("fall over" in warning for warning in robot.warnings)
