"""MJCF reading, with MuJoCo itself as the oracle."""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.arrays import Array
from equipoise.errors import RobotFileError
from equipoise.robot.description import Description
from equipoise.robot.formats.mjcf import read_mjcf
from equipoise.robot.formats.mjcf_export import to_mjcf
from equipoise.robot.formats.mujoco_state import to_mujoco
from equipoise.robot.formats.xml_file import parse_xml, read_bytes
from equipoise.robot.load import load
from equipoise.robot.pinocchio_model import build_model

ROD = '<geom type="capsule" size=".04" fromto="0 0 0 .1 .2 -.3"/>'
FREE = f'<mujoco><worldbody><body name="base"><freejoint/>{ROD}%s</body>%s'
END = "</worldbody></mujoco>"

# Several joints on a body, anchors away from it, references, a ball, a weld, default
# classes, frames, angles in degrees, and inertias given in four ways.
ODD = """<mujoco model="odd">
  <compiler eulerseq="zyx"/>
  <default>
    <joint damping="2"/>
    <default class="s"><joint type="slide"/></default>
  </default>
  <worldbody>
    <geom type="plane" size="1 1 1"/>
    <body name="base" pos="0 0 1" euler="10 20 30">
      <freejoint name="float"/>
      <inertial pos=".1 .2 .3" mass="3" diaginertia="1 2 2.5" euler="5 6 7"/>
      <frame pos=".1 0 0" euler="0 40 0">
        <body name="hip" pos="0 .2 0" euler="90 0 45">
          <joint name="yaw" axis="0 0 1" pos=".1 .2 .3" range="-40 60" ref="20"/>
          <joint name="lift" class="s" axis="1 1 0" ref=".3" range="-.1 .2"/>
          <joint name="roll" axis="1 0 0" pos="0 0 .4"/>
          <geom type="box" size=".1 .2 .3" pos=".1 0 0"/>
          <body name="knee" pos="0 0 -.4">
            <joint name="pitch" axis="0 1 0" ref="-30"/>
            <inertial pos="0 .1 0" mass="2" fullinertia="1 1.1 1.2 .1 .2 .3"/>
            <body name="shell" pos="0 .01 .02" euler="0 0 10">
              <geom size=".1" mass=".5"/>
              <body pos="0 0 -.3">
                <joint type="ball" pos="0 .1 0"/>
                <geom type="cylinder" size=".1 .2" euler="0 50 0"/>
              </body>
            </body>
          </body>
        </body>
      </frame>
    </body>
  </worldbody>
  <keyframe><key name="bent" qpos="0 0 1 1 0 0 0 .1 .2 .3 .4 0 1 0 0"/></keyframe>
</mujoco>"""


def read_text(text: str, path: Path = Path("text.xml")) -> Description:
    """Read a document that is not on disk."""
    return read_mjcf(parse_xml(text.encode(), path), path)


def mujoco_qpos(theirs: mujoco.MjModel, ours: pin.Model, q: Array) -> Array:
    """Return a configuration as MuJoCo has it."""
    return to_mujoco(ours, theirs, q, np.zeros(ours.nv)).qpos


def assert_moves_alike(
    theirs: mujoco.MjModel, description: Description, count: int = 5
) -> None:
    """Check centre of mass and body poses against MuJoCo at random positions."""
    ours = build_model(description)
    data, their_data = ours.createData(), mujoco.MjData(theirs)
    pin.seed(1)
    for _ in range(count):
        q = pin.randomConfiguration(ours, -np.ones(ours.nq), np.ones(ours.nq))
        their_data.qpos[:] = mujoco_qpos(theirs, ours, q)
        mujoco.mj_kinematics(theirs, their_data)
        mujoco.mj_comPos(theirs, their_data)
        pin.centerOfMass(ours, data, q)
        pin.updateFramePlacements(ours, data)
        root = theirs.body(description.root).id
        np.testing.assert_allclose(data.com[0], their_data.subtree_com[root], atol=1e-9)
        for body in range(1, theirs.nbody):
            name = theirs.body(body).name or f"body_{body}"
            if name not in description.link_by_name:
                continue
            pose = data.oMf[ours.getFrameId(name, pin.FrameType.BODY)]
            np.testing.assert_allclose(
                pose.translation, their_data.xpos[body], atol=1e-9
            )
            np.testing.assert_allclose(
                pose.rotation.ravel(), their_data.xmat[body], atol=1e-9
            )


def test_odd_robot_moves_as_in_mujoco() -> None:
    """Chains for several joints, anchors and references match MuJoCo's bodies."""
    description = read_text(ODD)
    assert_moves_alike(mujoco.MjModel.from_xml_string(ODD), description, 20)
    assert description.name == "odd"
    assert [joint.name for joint in description.joints] == [
        "yaw",
        "lift",
        "roll",
        "hip__fixed",
        "pitch",
        "shell__fixed",
        "joint_5",
        "body_5__fixed",
    ]
    assert "hip__yaw" in description.link_by_name
    assert description.link_by_name["hip__yaw"].inertial is None


def test_mass_matrix_is_that_of_mujoco() -> None:
    """Inertia, joint axes and armature give MuJoCo's joint-space inertia."""
    motor = '<actuator><motor joint="j" gear="3" armature=".01"/></actuator>'
    text = FREE % (
        '<body name="a" pos=".1 0 0"><joint name="j" axis="0 1 0" pos=".1 .2 .3" '
        f'armature=".1"/>{ROD}<body name="b"><joint name="k" axis="1 0 0" '
        f'type="slide"/>{ROD}</body></body>',
        END.replace("</mujoco>", f"{motor}</mujoco>"),
    )
    theirs = mujoco.MjModel.from_xml_string(text)
    their_data = mujoco.MjData(theirs)
    ours = build_model(read_text(text))
    q = np.array([0, 0, 0, 0, 0, 0, 1, 0.3, 0.4])
    their_data.qpos[:] = mujoco_qpos(theirs, ours, q)
    mujoco.mj_forward(theirs, their_data)
    mass = np.zeros((theirs.nv, theirs.nv))
    mujoco.mj_fullM(theirs, their_data, mass)
    found = np.triu(pin.crba(ours, ours.createData(), q))
    found = found + np.triu(found, 1).T
    np.testing.assert_allclose(found, mass, atol=1e-9)


numbers = st.floats(-1.0, 1.0).map(lambda value: round(value, 3))
vectors = st.tuples(numbers, numbers, numbers)


@st.composite
def random_bodies(draw: st.DrawFn, depth: int = 0) -> str:
    """Draw nested bodies with up to three joints each."""
    bodies = []
    for _ in range(draw(st.integers(0 if depth else 1, 2 if depth < 3 else 0))):
        joints = []
        for _ in range(draw(st.integers(0, 3))):
            kind = draw(st.sampled_from(["hinge", "slide"]))
            axis = draw(vectors.filter(lambda v: np.linalg.norm(v) > 0.1))
            anchor = draw(st.one_of(st.just((0, 0, 0)), vectors))
            joints.append(
                f'<joint type="{kind}" axis="{text_of(axis)}" '
                f'pos="{text_of(anchor)}" ref="{draw(numbers)}"/>'
            )
        quat = (1.0, *draw(vectors))
        bodies.append(
            f'<body pos="{text_of(draw(vectors))}" quat="{text_of(quat)}">'
            f"{''.join(joints)}{ROD}{draw(random_bodies(depth + 1))}</body>"
        )
    return "".join(bodies)


def text_of(values: tuple[float, ...]) -> str:
    """Write a vector."""
    return " ".join(map(str, values))


@given(random_bodies())
@settings(max_examples=40)
def test_any_tree_moves_as_in_mujoco(bodies: str) -> None:
    """Random trees of bodies with several joints move as MuJoCo moves them."""
    text = FREE % (bodies, END)
    assert_moves_alike(mujoco.MjModel.from_xml_string(text), read_text(text), 2)


def test_limits_friction_and_effort() -> None:
    """Limits come in radians, and efforts from joints, force and control ranges."""
    names = "abcdef"
    joints = "".join(
        f'<body name="l{name}"><joint name="{name}" {extra}/>{ROD}</body>'
        for name, extra in zip(
            names,
            [
                'range="-90 45" frictionloss=".3" damping=".2" armature=".1"',
                'actuatorfrcrange="-7 5"',
                "",
                "",
                'actuatorfrcrange="-7 7"',
                'type="slide" range="0 inf"',
            ],
            strict=True,
        )
    )
    actuators = """<actuator>
      <motor joint="c" gear="2" ctrlrange="-3 4"/>
      <position joint="d" kp="10" ctrlrange="-1 1" forcerange="-9 9"/>
      <motor joint="e" ctrlrange="-100 100"/>
    </actuator>"""
    text = FREE % (joints, END.replace("</mujoco>", actuators + "</mujoco>"))
    joint = read_text(text).joint_by_name
    assert (joint["a"].lower, joint["a"].upper) == pytest.approx(
        (-np.pi / 2, np.pi / 4)
    )
    assert (joint["a"].friction, joint["a"].damping) == (0.3, 0.2)
    assert joint["a"].armature == 0.1
    efforts = [joint[name].effort_limit for name in names]
    assert efforts == [0.0, 0.0, 8.0, 9.0, 7.0, 0.0]  # a, b and f are passive
    assert joint["b"].kind == "revolute"
    assert (joint["b"].lower, joint["b"].upper) == (-np.inf, np.inf)
    assert (joint["f"].lower, joint["f"].upper) == (0.0, np.inf)


def efforts_of(after_world: str) -> list[float]:
    """Return the effort limits of three joints, the second with a range of its own."""
    joints = "".join(
        f'<body name="l{name}"><joint name="{name}" {extra}/>{ROD}'
        f'<site name="s{name}"/></body>'
        for name, extra in (("a", ""), ("b", 'actuatorfrcrange="-7 5"'), ("c", ""))
    )
    text = FREE % (joints, END.replace("</mujoco>", after_world + "</mujoco>"))
    joint = read_text(text).joint_by_name
    return [joint[name].effort_limit for name in "abc"]


def test_joints_that_nothing_drives_are_passive() -> None:
    """Their effort is zero, unless the file names no actuators at all."""
    motor = '<motor {} forcerange="-3 3"/>'
    on_a = motor.format('joint="a"')
    assert efforts_of("") == [np.inf, 7.0, np.inf]
    assert efforts_of(f"<actuator>{on_a}</actuator>") == [3.0, 0.0, 0.0]
    tendon = '<tendon><fixed name="t"><joint joint="c" coef="1"/></fixed></tendon>'
    on_tendon = motor.format('tendon="t"')
    pulled = f"{tendon}<actuator>{on_a}{on_tendon}</actuator>"
    assert efforts_of(pulled) == [3.0, 0.0, np.inf]
    coupled = '<equality><joint joint1="c" joint2="a"/></equality>'
    assert efforts_of(f"{coupled}<actuator>{on_a}</actuator>") == [3.0, 0.0, np.inf]
    at_site = motor.format('site="sc"')
    assert efforts_of(f"<actuator>{on_a}{at_site}</actuator>") == [3.0, 7.0, np.inf]
    string = """<tendon><spatial name="t"><site site="sa"/><site site="sc"/></spatial>
      </tendon>"""
    pulled = f"{string}<actuator>{on_tendon}</actuator>"
    assert efforts_of(pulled) == [np.inf, 7.0, np.inf]


def test_without_mujoco_the_way_to_install_it_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """MuJoCo is optional: reading MJCF says so, everything else goes without."""
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(
        RobotFileError, match=r"text\.xml: reading MJCF needs MuJoCo: pip install"
    ):
        read_text(ODD)
    assert "<mujoco" in to_mjcf(load("three-link").description)


def test_huge_positions_are_refused_and_huge_limits_are_none() -> None:
    """A keyframe that no angle can be is an error; such a limit counts as none."""
    body = f'<body><joint name="j" range="-1e15 1"/>{ROD}</body>'
    text = FREE % (body, END)
    assert read_text(text).joint_by_name["j"].lower == -np.inf
    key = '<keyframe><key qpos="0 0 0 1 0 0 0 1e300"/></keyframe></mujoco>'
    with pytest.raises(RobotFileError, match="a keyframe has an impossible qpos"):
        read_text(text.replace("</mujoco>", key))
    bad = '<keyframe><key name="a&#10;b"/></keyframe></mujoco>'
    with pytest.raises(RobotFileError, match=r"keyframe name 'a\\nb' holds"):
        read_text(text.replace("</mujoco>", bad))


def test_shapes() -> None:
    """Geoms become shapes with full lengths; untouchable ones are visual."""
    geoms = """<geom type="box" size=".1 .2 .3" contype="0" conaffinity="1"/>
      <geom type="sphere" size=".1" contype="0" conaffinity="0"/>
      <geom name="p" type="cylinder" size=".1 .2" contype="0" conaffinity="0"/>
      <geom type="capsule" size=".1 .2" pos="1 2 3"/>
      <geom type="ellipsoid" size=".1 .2 .3"/>"""
    pair = '<contact><pair geom1="p" geom2="q"/></contact></mujoco>'
    floor = '<geom name="q" type="plane" size="1 1 1"/>'
    text = FREE % (f'<body name="a"><joint/>{geoms}</body>', floor + END)
    description = read_text(text.replace("</mujoco>", pair))
    link = description.link_by_name["a"]
    assert [(s.kind, s.size) for s in link.collisions] == [
        ("box", (0.2, 0.4, 0.6)),
        ("cylinder", (0.1, 0.4)),
        ("capsule", (0.1, 0.4)),
    ]
    assert [(s.kind, s.size) for s in link.visuals] == [("sphere", (0.1,))]
    np.testing.assert_array_equal(
        link.collisions[2].transform_shape_to_link[:3, 3], [1, 2, 3]
    )
    assert any("ellipsoid" in notice for notice in description.notices)


VERTICES = np.array([[1, 0, 0], [2, 0, 0], [1, 1, 0], [1, 0, 3.0]])
FACES = ((0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3))


def write_tetrahedron(path: Path) -> None:
    """Write a binary STL file whose origin is outside of the mesh."""
    body = b"".join(
        struct.pack("<12fH", 0, 0, 0, *VERTICES[list(face)].ravel(), 0)
        for face in FACES
    )
    path.write_bytes(bytes(80) + struct.pack("<I", len(FACES)) + body)


@pytest.mark.parametrize(
    "asset",
    [
        "",
        'scale="1 -2 .5"',
        'refpos=".5 .6 .7" scale="1 -2 .5"',
        'refpos=".5 .6 .7" refquat="1 .2 .3 .4" scale="2 2 2"',
    ],
)
def test_mesh_transform_applies_to_the_files_vertices(
    asset: str, tmp_path: Path
) -> None:
    """The file's vertices, scaled and transformed, lie where MuJoCo has them."""
    (tmp_path / "meshes").mkdir()
    write_tetrahedron(tmp_path / "meshes" / "tet.stl")
    path = tmp_path / "robot.xml"
    path.write_text(
        f"""<mujoco><compiler meshdir="meshes"/>
        <asset><mesh name="t" file="tet.stl" {asset}/></asset>
        <worldbody><body name="a"><freejoint/>
        <geom type="mesh" mesh="t" pos=".1 .2 .3" euler="10 20 30"/>
        </body></worldbody></mujoco>"""
    )
    description = read_mjcf(parse_xml(read_bytes(path), path), path)
    (shape,) = description.link_by_name["a"].collisions
    assert shape.mesh == tmp_path / "meshes" / "tet.stl"
    assert shape.mesh_name == "tet.stl"
    pose = shape.transform_shape_to_link
    ours = (VERTICES * shape.size) @ pose[:3, :3].T + pose[:3, 3]
    theirs = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(theirs)
    mujoco.mj_kinematics(theirs, data)
    wanted = theirs.mesh_vert @ data.geom_xmat[0].reshape(3, 3).T + data.geom_xpos[0]
    order = np.argmin(np.linalg.norm(ours[:, None] - wanted[None], axis=2), axis=1)
    assert sorted(order) == [0, 1, 2, 3]
    np.testing.assert_allclose(ours, wanted[order], atol=1e-6)


def test_missing_mesh_is_left_out_where_the_inertia_is_given() -> None:
    """A missing mesh file costs its shape, or is an error if it decides a mass."""
    text = """<mujoco><asset><mesh name="m" file="no.stl"/></asset><worldbody>
    <body name="a"><freejoint/>%s<geom type="mesh" mesh="m"/></body>
    </worldbody></mujoco>"""
    inertial = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'
    description = read_text(text % inertial)
    assert description.link_by_name["a"].collisions == ()
    assert "no.stl" in description.notices[0]
    with pytest.raises(RobotFileError, match=r"no\.stl.*body 'a' depends"):
        read_text(text % "")


def test_textures_and_height_fields_are_not_opened() -> None:
    """Files that only decorate need not exist."""
    text = """<mujoco><asset><texture name="t" type="2d" file="no.png"/>
    <material name="m" texture="t"/><hfield name="h" file="no.png" size="1 1 1 1"/>
    </asset><worldbody><geom type="hfield" hfield="h"/><body name="a"><freejoint/>
    <geom size=".1" material="m"/></body></worldbody></mujoco>"""
    assert read_text(text).root == "a"


def test_postures_are_the_keyframes() -> None:
    """Keyframes give positions of the joints, the base left out, quaternions xyzw."""
    posture = read_text(ODD).postures["bent"]
    assert {name: values.tolist() for name, values in posture.items()} == {
        "yaw": [0.1],
        "lift": [0.2],
        "roll": [0.3],
        "pitch": [0.4],
        "joint_5": [1.0, 0.0, 0.0, 0.0],
    }


def test_base_without_free_joint_floats_with_a_notice() -> None:
    """Fixed robots and planar ones get a floating base; joints to the world go."""
    arm = f'<body name="b"><joint name="k"/>{ROD}</body>'
    for joints, word in (
        ("", "no free joint"),
        ('<joint name="x" type="slide"/><joint name="t"/>', "'x', 't'"),
    ):
        text = f'<mujoco><worldbody><body name="a">{joints}{ROD}{arm}</body>{END}'
        description = read_text(text)
        assert description.root == "a"
        assert [joint.name for joint in description.joints] == ["k"]
        assert word in description.notices[0]


def test_the_robot_among_objects() -> None:
    """Welded scenery is ignored; of several trees, only one may float freely."""
    scenery = f'<body name="table">{ROD}<body name="top">{ROD}</body></body>'
    door = f'<body name="door"><joint name="hinge"/>{ROD}</body>'
    description = read_text(FREE % ("", scenery + END))
    assert [link.name for link in description.links] == ["base"]
    description = read_text(FREE % ("", door + END))
    assert description.root == "base"
    assert "'base' is the robot" in description.notices[0]
    ball = f'<body name="ball"><freejoint/>{ROD}</body>'
    with pytest.raises(RobotFileError, match=r"2 separate robots.*base, ball"):
        read_text(FREE % ("", ball + END))


def test_what_is_left_out_is_said() -> None:
    """Loops, couplings, tendons and springs each give a notice."""
    extra = """</worldbody><equality><connect body1="b" body2="base" anchor="0 0 0"/>
      <joint joint1="j" joint2="k"/></equality>
      <tendon><fixed><joint joint="j" coef="1"/></fixed></tendon></mujoco>"""
    bodies = (
        f'<body name="b"><joint name="j" stiffness="1"/>{ROD}</body>'
        f'<body name="c"><joint name="k"/>{ROD}</body>'
    )
    notices = "\n".join(read_text(FREE % (bodies, extra)).notices)
    for words in (
        "1 equality constraints (connect)",
        "(joint)",
        "1 tendons",
        "1 joint",
    ):
        assert words in notices


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('<asset><mesh file="../../x.stl"/></asset>', "leaves the folder"),
        ('<compiler meshdir="../.."/>', "leaves the folder"),
        (
            '<compiler meshdir=".."/><asset><mesh file="../x.stl"/></asset>',
            "leaves the folder",
        ),
        ('<asset><texture file="/etc/../etc/hosts"/></asset>', "leaves the folder"),
        ('<asset><mesh file="/dev/zero"/></asset>', "not a regular file"),
        ('<include file="../../../etc/passwd"/>', "leaves the folder"),
        ('<include file="/etc/hostname"/>', "leaves the folder"),
        ('<include file="link.xml"/>', "leaves the folder"),
        ('<asset><model name="m" file="/etc/hosts"/></asset>', "leaves the folder"),
        ('<include file="none.xml"/>', "no such file"),
        ('<include file="evil.xml"/>', "entities"),
        ('<asset><model name="m" file="plug.xml"/></asset>', "plugin"),
        ('<extension><plugin plugin="mujoco.pid"/></extension>', "not supported"),
        ("<worldbody><replicate count='99999999'/></worldbody>", "copies"),
        ("<worldbody>" + "<frame>" * 300 + "</frame>" * 300 + "</worldbody>", "deeper"),
    ],
)
def test_unsafe_documents_are_refused(text: str, words: str, tmp_path: Path) -> None:
    """Paths out of the robot's folders, plugins and bombs never reach MuJoCo."""
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "evil.xml").write_text('<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>')
    (folder / "plug.xml").write_text("<mujoco><extension/></mujoco>")
    (folder / "link.xml").symlink_to("/etc/hostname")
    with pytest.raises(RobotFileError, match=words) as caught:
        read_text(f"<mujoco>{text}</mujoco>", folder / "robot.xml")
    assert "\n" not in str(caught.value)


def test_included_links_may_stay_inside(tmp_path: Path) -> None:
    """Files that are installed as links to their sources include each other."""
    source, installed = tmp_path / "source" / "robots", tmp_path / "share" / "robots"
    for folder in (source, installed):
        folder.mkdir(parents=True)
    part = f'<mujocoinclude><body name="a"><freejoint/>{ROD}</body></mujocoinclude>'
    (source / "part.xml").write_text(part)
    absolute = installed / "part.xml"
    text = f'<mujoco><worldbody><include file="{absolute}"/>{END}'
    (source / "robot.xml").write_text(text)
    for name in ("part.xml", "robot.xml"):
        (installed / name).symlink_to(source / name)
    found = read_text(text, installed / "robot.xml")
    assert [link.name for link in found.links] == ["a"]


def test_includes_are_followed(tmp_path: Path) -> None:
    """An included file beside or one folder up is read."""
    folder = tmp_path / "robots"
    folder.mkdir()
    (tmp_path / "part.xml").write_text(
        f'<mujocoinclude><body name="a"><freejoint/>{ROD}</body></mujocoinclude>'
    )
    text = f'<mujoco><worldbody><include file="../part.xml"/>{END}'
    assert read_text(text, folder / "robot.xml").root == "a"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<mujoco/>", "has no bodies"),
        ("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>", "mass"),
        ("<mujoco><worldbody><boddy/></worldbody></mujoco>", "boddy"),
        (
            FREE % (f'<body><joint limited="true" range="2 1"/>{ROD}</body>', END),
            "range",
        ),
        ('<mujoco><compiler angle="turns"/></mujoco>', "turns"),
        (FREE % (f'<body pos="inf 0 0"><joint/>{ROD}</body>', END), "impossible pos"),
        (
            FREE % (f'<body><joint/>{ROD}<geom size="inf" mass="0"/></body>', END),
            "impossible size",
        ),
        (FREE % (f'<body><joint ref="1e300"/>{ROD}</body>', END), "impossible ref"),
    ],
)
def test_refusals_are_one_line(text: str, words: str) -> None:
    """What MuJoCo refuses becomes one line that names the file."""
    with pytest.raises(RobotFileError, match=words) as caught:
        read_text(text)
    assert str(caught.value).startswith("text.xml: ")
    assert "\n" not in str(caught.value)


def test_mujoco_is_quiet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """MuJoCo's warnings become notices: no log file, nothing printed."""
    monkeypatch.chdir(tmp_path)
    text = f'<mujoco><compiler settotalmass="4"/><worldbody><body>{ROD}</body>{END}'
    description = read_text(text)
    assert any("settotalmass" in notice for notice in description.notices)
    assert os.listdir(tmp_path) == []
    assert capfd.readouterr() == ("", "")
    assert mujoco.MjLogConfig.get().logto_file
