"""New URDF and MJCF documents: what is read back is what was written."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_trees import random_inertial

from equipoise.arrays import frozen_array
from equipoise.atomic_file import write_text_atomically
from equipoise.errors import EquipoiseError, ExportError, RobotFileError
from equipoise.robot.description import JOINT_KINDS, Description, Joint, Link, Shape
from equipoise.robot.formats.export import to_urdf
from equipoise.robot.formats.mjcf import read_mjcf
from equipoise.robot.formats.mjcf_export import to_mjcf
from equipoise.robot.formats.urdf import read_urdf
from equipoise.robot.formats.write import export_robot
from equipoise.robot.formats.xml_file import parse_xml, read_bytes
from equipoise.robot.inertias import Inertial
from equipoise.robot.load import load
from equipoise.robot.pinocchio_model import build_model
from equipoise.rotations import rotation_from_rpy, transform

LARGEST = np.finfo(float).max
NEAR_GIMBAL_LOCK = transform(rotation_from_rpy([0.3, 1.5707963, -0.4]), [1, 2, 3])


def urdf_of_file(path: Path) -> Description:
    """Read a URDF file."""
    return read_urdf(parse_xml(read_bytes(path), path), path)


def urdf_of_text(text: str) -> Description:
    """Read a URDF text."""
    path = Path("text.urdf")
    return read_urdf(parse_xml(text.encode(), path), path)


def mjcf_of_text(text: str) -> Description:
    """Read an MJCF text."""
    path = Path("text.xml")
    return read_mjcf(parse_xml(text.encode(), path), path)


def body(mass: float = 1.0, inertia: tuple[float, ...] = (1.0, 1.0, 1.0)) -> Inertial:
    """Return a body with some mass and principal moments."""
    return Inertial(mass, frozen_array([0.1, 0.2, 0.3]), frozen_array(np.diag(inertia)))


def two_links(joint: Joint, below: Link) -> Description:
    """Return a robot of two links."""
    return Description("r", (Link("a", body()), below), (joint,), "a")


def assert_same_robot(
    ours: Description, wanted: Description, *, mjcf: bool = False
) -> None:
    """Compare links and joints by name; MJCF has no names for fixed joints."""
    assert ours.root == wanted.root
    assert set(ours.link_by_name) == set(wanted.link_by_name)
    for link in wanted.links:
        assert_same_inertial(ours.link_by_name[link.name].inertial, link.inertial)
        assert_same_shapes(ours.link_by_name[link.name], link)
    joint_above = {joint.child: joint for joint in ours.joints}
    for joint in wanted.joints:
        found = joint_above[joint.child]
        assert found.parent == joint.parent
        np.testing.assert_allclose(
            found.transform_joint_to_parent, joint.transform_joint_to_parent, atol=1e-12
        )
        if joint.kind == "fixed":
            assert found.kind == "fixed"
            continue
        turns = mjcf and joint.kind == "continuous"
        assert found.name == joint.name
        assert found.kind == ("revolute" if turns else joint.kind)
        assert_same_values(found, joint, mjcf=mjcf)


def assert_same_values(found: Joint, joint: Joint, *, mjcf: bool) -> None:
    """Compare axis, limits and friction of a moving joint."""
    if joint.kind not in ("spherical", "floating"):
        np.testing.assert_allclose(found.axis, joint.axis, atol=1e-15)
    keys = [
        "lower",
        "upper",
        "damping",
        "friction",
        "armature",
        "effort_limit",
        "pitch",
    ]
    keys += [] if mjcf else ["velocity_limit"]
    for key in keys:
        values = np.clip([getattr(found, key), getattr(joint, key)], -LARGEST, LARGEST)
        np.testing.assert_allclose(values[0], values[1], atol=2e-12, err_msg=key)


def assert_same_inertial(found: Inertial | None, wanted: Inertial | None) -> None:
    """Compare mass distributions; no mass at all is the same as none given."""
    if wanted is None or (wanted.mass == 0.0 and not wanted.inertia_in_link.any()):
        assert found is None or found.mass == 0.0
        return
    assert found is not None
    assert found.mass == wanted.mass
    np.testing.assert_array_equal(found.com_in_link, wanted.com_in_link)
    np.testing.assert_allclose(
        found.inertia_in_link, wanted.inertia_in_link, atol=1e-14, rtol=1e-12
    )


def assert_same_shapes(found: Link, wanted: Link) -> None:
    """Compare shapes in order."""
    for ours, theirs in (
        (found.collisions, wanted.collisions),
        (found.visuals, wanted.visuals),
    ):
        assert [shape.kind for shape in ours] == [shape.kind for shape in theirs]
        for a, b in zip(ours, theirs, strict=True):
            assert a.size == pytest.approx(b.size, rel=1e-15)
            assert a.mesh == b.mesh
            np.testing.assert_allclose(
                a.transform_shape_to_link, b.transform_shape_to_link, atol=1e-12
            )


def test_urdf_of_a_humanoid_reads_back(humanoid_urdf: Path) -> None:
    """Reading an exported URDF gives the same robot."""
    wanted = urdf_of_file(humanoid_urdf)
    assert_same_robot(urdf_of_text(to_urdf(wanted)), wanted)


def test_pinocchio_reads_the_exported_urdf(g1_urdf: Path) -> None:
    """Pinocchio's parser makes of the exported URDF what it makes of the original."""
    text = to_urdf(urdf_of_file(g1_urdf))
    ours = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
    theirs = pin.buildModelFromUrdf(str(g1_urdf), pin.JointModelFreeFlyer())
    assert list(ours.names) == list(theirs.names)
    q = pin.randomConfiguration(theirs, -np.ones(theirs.nq), np.ones(theirs.nq))
    np.testing.assert_allclose(
        pin.centerOfMass(ours, ours.createData(), q),
        pin.centerOfMass(theirs, theirs.createData(), q),
        atol=1e-12,
    )


def test_unlimited_joints_are_read_by_pinocchio() -> None:
    """Infinite limits are written as numbers that URDF readers accept."""
    robot = two_links(Joint("j", "revolute", "a", "b"), Link("b", body()))
    model = pin.buildModelFromXML(to_urdf(robot))
    assert model.upperPositionLimit[0] == LARGEST
    assert model.effortLimit[0] == LARGEST


@pytest.mark.parametrize("name", ["g1", "talos"])
def test_mjcf_of_a_humanoid_reads_back(
    name: str, request: pytest.FixtureRequest
) -> None:
    """URDF to MJCF and back again keeps links, joints, limits and meshes."""
    wanted = urdf_of_file(request.getfixturevalue(f"{name}_urdf"))
    wanted = replace(
        wanted, links=tuple(replace(link, visuals=()) for link in wanted.links)
    )
    found = mjcf_of_text(to_mjcf(wanted))
    assert_same_robot(found, wanted, mjcf=True)
    assert_same_robot(urdf_of_text(to_urdf(found)), found)


def test_exported_mjcf_moves_as_the_urdf(g1_urdf: Path) -> None:
    """MuJoCo's centre of mass of the export equals Pinocchio's of the original."""
    description = urdf_of_file(g1_urdf)
    links = tuple(replace(link, visuals=()) for link in description.links)
    text = to_mjcf(replace(description, links=links))
    theirs = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(theirs)
    model = pin.buildModelFromUrdf(str(g1_urdf), pin.JointModelFreeFlyer())
    pin.seed(0)
    for _ in range(5):
        q = pin.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq))
        data.qpos[:7] = q[[0, 1, 2, 6, 3, 4, 5]]
        for index, name in enumerate(model.names[2:], start=2):
            data.joint(name).qpos = q[model.joints[index].idx_q]
        mujoco.mj_kinematics(theirs, data)
        mujoco.mj_comPos(theirs, data)
        com = pin.centerOfMass(model, model.createData(), q)
        np.testing.assert_allclose(data.subtree_com[1], com, atol=1e-9)


def test_every_joint_and_shape_kind_survives_urdf() -> None:
    """Helical and spherical joints, capsules and odd rotations come back."""
    shapes = (
        Shape("capsule", (0.1, 0.2), NEAR_GIMBAL_LOCK),
        Shape("cylinder", (0.1, 0.2)),
        Shape("box", (0.1, 0.2, 1 / 3)),
        Shape("sphere", (0.1,)),
        Shape("mesh", (1.0, -1.0, 2.0), mesh_name="package://p/m.stl"),
    )
    axis = frozen_array([0.6, 0.0, 0.8])
    kinds = [kind for kind in JOINT_KINDS if kind != "fixed"]
    joints = tuple(
        Joint(f"j{i}", kind, f"l{i}", f"l{i + 1}", NEAR_GIMBAL_LOCK, axis)
        for i, kind in enumerate(kinds)
    )
    joints = (
        *(
            replace(joint, lower=-1 / 3, upper=2.0, velocity_limit=3.0, damping=0.1)
            for joint in joints[:1]
        ),
        replace(joints[1], effort_limit=7.0, armature=0.3),
        joints[2],
        replace(joints[3], pitch=1 / 7, upper=2.0),
        *joints[4:],
    )
    links = tuple(
        Link(f"l{i}", body(), shapes, shapes[:1]) for i in range(len(joints) + 1)
    )
    wanted = Description('<r "&">', links, joints, "l0")
    found = urdf_of_text(to_urdf(wanted))
    assert found.name == wanted.name
    assert_same_robot(found, wanted)


def test_chains_of_massless_links_survive_mjcf() -> None:
    """Several joints on a body, references and anchors come back under their names."""
    text = """<mujoco><worldbody><body name="base"><freejoint/><geom size=".1"/>
    <body name="hip" pos=".1 .2 .3" euler="10 20 30">
      <joint name="x" axis="1 0 0" pos="0 0 .1" ref="20" range="-30 60"/>
      <joint name="y" axis="0 1 1" pos=".3 0 .1"/>
      <geom size=".1"/>
      <body name="foot"><joint name="z" type="ball" damping="1"/><geom size=".1"/>
      <body name="toe" pos="0 0 .1"><joint name="t" pos="1 0 0"/><geom size=".1"/>
      </body></body>
    </body></body></worldbody>
    <keyframe><key name="k" qpos="0 0 0 1 0 0 0 .1 .2 0 1 0 0 .3"/></keyframe>
    </mujoco>"""
    wanted = mjcf_of_text(text)
    found = mjcf_of_text(to_mjcf(wanted))
    assert set(found.link_by_name) == set(wanted.link_by_name)
    ours, theirs = build_model(found), build_model(wanted)
    assert list(ours.names) == list(theirs.names)
    pin.seed(0)
    q = pin.randomConfiguration(theirs, -np.ones(theirs.nq), np.ones(theirs.nq))
    np.testing.assert_allclose(
        pin.centerOfMass(ours, ours.createData(), q),
        pin.centerOfMass(theirs, theirs.createData(), q),
        atol=1e-12,
    )
    assert {name: values.tolist() for name, values in found.postures["k"].items()} == {
        name: values.tolist() for name, values in wanted.postures["k"].items()
    }
    assert to_mjcf(found).count("<body") == 4


moments = st.tuples(*(st.floats(1e-6, 10.0) for _ in range(3)))


@given(moments, st.tuples(*(st.floats(-3.0, 3.0) for _ in range(3))))
def test_mujoco_accepts_every_rigid_body(
    second_moments: tuple[float, float, float], rpy: tuple[float, float, float]
) -> None:
    """Bodies down to flat plates, however turned, keep their inertia in MJCF."""
    x, y, _ = second_moments
    for z in (second_moments[2], 0.0):
        rotation = rotation_from_rpy(rpy)
        turned = rotation @ np.diag([y + z, x + z, x + y]) @ rotation.T
        inertia = frozen_array(0.5 * (turned + turned.T))
        inertial = Inertial(1.5, frozen_array([0.1, 0.2, 0.3]), inertia)
        robot = two_links(Joint("j", "revolute", "a", "b"), Link("b", inertial))
        found = mjcf_of_text(to_mjcf(robot)).link_by_name["b"].inertial
        assert found is not None
        np.testing.assert_allclose(
            found.inertia_in_link, inertia, atol=1e-9 * np.abs(inertia).max()
        )


def test_locked_joints_are_written() -> None:
    """Equal limits and zero efforts, which MuJoCo refuses, are kept but for 1e-12."""
    joint = Joint("j", "revolute", "a", "b", lower=0.5, upper=0.5, effort_limit=0.0)
    found = mjcf_of_text(to_mjcf(two_links(joint, Link("b", body()))))
    assert found.joint_by_name["j"].upper == pytest.approx(0.5, abs=2e-12)
    assert found.joint_by_name["j"].effort_limit <= 2e-12


@pytest.mark.parametrize(
    ("joint", "inertial", "words"),
    [
        (Joint("j", "helical", "a", "b", pitch=1.0), body(), "joint 'j' is helical"),
        (Joint("j", "floating", "a", "b"), body(), "joint 'j' is floating"),
        (Joint("j", "revolute", "a", "b"), None, "moving link 'b' has no mass"),
        (Joint("j", "revolute", "a", "b"), body(1.0, (0, 0, 0)), "moving link 'b'"),
        (Joint("j", "revolute", "a", "b"), body(1.0, (1, 1, 3)), "link 'b'.*rigid"),
    ],
)
def test_what_mjcf_cannot_express_is_refused_by_name(
    joint: Joint, inertial: Inertial | None, words: str
) -> None:
    """Nothing is silently changed to please MuJoCo: the joint or link is named."""
    with pytest.raises((ExportError, RobotFileError), match=words):
        to_mjcf(two_links(joint, Link("b", inertial)))


def test_massless_fixed_links_are_written() -> None:
    """Frames and point masses on fixed joints become bodies without a joint."""
    for inertial in (None, body(0.0, (0, 0, 0)), body(0.1, (0, 0, 0))):
        wanted = two_links(Joint("j", "fixed", "a", "b"), Link("b", inertial))
        assert_same_robot(mjcf_of_text(to_mjcf(wanted)), wanted, mjcf=True)


def test_unreadable_meshes_are_left_out_with_a_comment(tmp_path: Path) -> None:
    """COLLADA and text STL do not make MuJoCo refuse the whole robot."""
    (tmp_path / "m.stl").write_text("solid text\nendsolid\n" * 10)
    for name in ("m.stl", "m.dae"):
        shape = Shape("mesh", (1.0, 1.0, 1.0), mesh=tmp_path / name, mesh_name=name)
        link = Link("b", body(), (shape,))
        text = to_mjcf(two_links(Joint("j", "revolute", "a", "b"), link))
        assert f"mesh {name} is left out" in text
        assert mjcf_of_text(text).link_by_name["b"].collisions == ()


@pytest.mark.parametrize("ending", [".urdf", ".xml"])
def test_exported_robot_is_loaded_again(ending: str, tmp_path: Path) -> None:
    """A catalogue robot with its settings file is the same robot again."""
    robot = load("mahru-1")
    path, beside = export_robot(robot, tmp_path / f"r{ending}")
    again = load(path)
    assert again.mass == pytest.approx(robot.mass)
    assert list(again.legs["left"].joints) == list(robot.legs["left"].joints)
    with pytest.raises(EquipoiseError, match=r"exists already"):
        export_robot(robot, path)
    beside.unlink()
    path.unlink()
    with pytest.raises(EquipoiseError, match=r"ends in \.urdf"):
        export_robot(robot, tmp_path / "r.obj")
    assert list(tmp_path.iterdir()) == []


def test_files_appear_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failing write leaves the old content, and no other file."""
    path = tmp_path / "f.txt"
    write_text_atomically(path, "old\r\n")
    path.chmod(0o640)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(EquipoiseError, match="No space left"):
            write_text_atomically(path, "new")
    assert path.read_bytes() == b"old\r\n"
    assert list(tmp_path.iterdir()) == [path]
    write_text_atomically(path, "µ")
    assert path.read_bytes() == "µ".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("failing", ["r.urdf", "r.toml"])
@pytest.mark.parametrize("there_before", [True, False])
@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_an_export_that_fails_changes_nothing(
    failing: str,
    there_before: bool,
    step: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """If either file cannot be written, both stay as they were, and no other is."""
    path = tmp_path / "r.urdf"
    if there_before:
        path.write_text("mine", encoding="utf-8")
        path.with_suffix(".toml").write_text("mine too", encoding="utf-8")
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    really = getattr(os, step)

    def fail(first: int | Path, *rest: Path) -> None:
        # a file is synchronised by its number, and replaced by two names
        name = rest[0].name if rest else os.readlink(f"/proc/self/fd/{first}")
        if failing in name:
            raise OSError(28, "No space left on device")
        really(first, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises(EquipoiseError, match=rf"{failing}.*No space left"):
            export_robot(load("itu-biped"), path, replace=True)
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before
    export_robot(load("itu-biped"), path, replace=True)
    assert len(list(tmp_path.iterdir())) == 2
    assert path.read_text(encoding="utf-8").startswith("<?xml")


def test_two_names_of_one_file_are_refused(tmp_path: Path) -> None:
    """A robot file that is a link to its settings file would overwrite it."""
    (tmp_path / "r.toml").write_text("", encoding="utf-8")
    (tmp_path / "r.urdf").symlink_to(tmp_path / "r.toml")
    with pytest.raises(EquipoiseError, match="are the same file"):
        export_robot(load("itu-biped"), tmp_path / "r.urdf", replace=True)


def test_unwritable_places_are_named(tmp_path: Path) -> None:
    """A missing folder and a folder in the file's place give one clear line."""
    with pytest.raises(EquipoiseError, match=r"no.*does not exist"):
        write_text_atomically(tmp_path / "no" / "f", "")
    with pytest.raises(EquipoiseError, match="is a folder"):
        write_text_atomically(tmp_path, "")


def test_shapes_without_size_are_left_out_of_mjcf() -> None:
    """Contact points drawn as spheres of radius zero do not stop MuJoCo."""
    inertial = random_inertial(np.random.default_rng(1))
    link = Link("a", inertial, (Shape("sphere", (0.0,)),))
    text = to_mjcf(Description("points", (link,), (), "a"))
    assert "size zero" in text
    assert mujoco.MjModel.from_xml_string(text).ngeom == 0
