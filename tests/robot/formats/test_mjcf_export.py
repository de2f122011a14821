"""MJCF files for MuJoCo itself: actuators, a standing keyframe, relative meshes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.errors import EquipoiseError
from equipoise.kinematics.com import com
from equipoise.robot.formats.mjcf_export import MjcfActuator, to_mjcf
from equipoise.robot.formats.write import export_robot, mesh_folder
from equipoise.robot.load import load
from equipoise.robot.model import Robot
from equipoise.simulation.mjcf_servos import mjcf_servos

mujoco = pytest.importorskip("mujoco")

EXACT = 1e-6
CATALOGUE = ["humanoid", "mahru-1", "itu-biped", "muscolo-biped", "three-link"]


def standing(path: Path) -> tuple[Any, Any]:
    """Return MuJoCo's model of a file, and its data at the keyframe ``standing``."""
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    key = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_KEY, "standing")
    assert key >= 0
    mujoco.mj_resetDataKeyframe(model, data, key)
    mujoco.mj_forward(model, data)
    return model, data


def assert_stands_as(path: Path, robot: Robot) -> None:
    """Assert that the keyframe has the CoM of the robot's standing posture."""
    _, data = standing(path)
    assert np.abs(data.subtree_com[0] - com(robot, robot.standing)).max() < EXACT


@pytest.mark.parametrize("name", CATALOGUE)
@pytest.mark.parametrize("servos", [False, True])
def test_the_keyframe_stands_with_the_same_com(
    name: str, servos: bool, tmp_path: Path
) -> None:
    """MuJoCo's CoM at the keyframe, soles on z = 0, is that of the posture."""
    robot, path = load(name), tmp_path / "r.xml"
    export_robot(robot, path, actuators=mjcf_servos(robot) if servos else None)
    assert_stands_as(path, robot)
    model, _ = standing(path)
    assert model.nactuator == len(robot.actuators)


def test_force_ranges_are_the_robots_limits(tmp_path: Path) -> None:
    """Motors of the joints' names, limited to their torques."""
    robot, path = load("humanoid"), tmp_path / "r.xml"
    export_robot(robot, path)
    model, _ = standing(path)
    for at, actuator in enumerate(robot.actuators):
        assert model.actuator(at).name == actuator.joint
        limit = actuator.effort_limit
        assert model.actuator(at).forcerange == pytest.approx([-limit, limit])


@pytest.mark.parametrize("name", ["humanoid", "itu-biped"])
def test_servos_hold_the_keyframe_in_mujoco(name: str, tmp_path: Path) -> None:
    """On a plane, with nothing else, the robot stands as the verb ``stand`` wants it.

    The CoM is within 2 % of its height after two seconds; contact is MuJoCo's own.
    """
    robot, path = load(name), tmp_path / "r.xml"
    export_robot(robot, path, actuators=mjcf_servos(robot))
    spec = mujoco.MjSpec.from_file(str(path))
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5.0, 5.0, 0.1])
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    for _ in range(round(2.0 / model.opt.timestep)):
        mujoco.mj_step(model, data)
    stood = com(robot, robot.standing)
    assert np.linalg.norm(data.subtree_com[0] - stood) < 0.02 * stood[2]


def test_links_touch_the_floor_alone(g1_urdf: Path, tmp_path: Path) -> None:
    """Hulls of meshes that overlap do not push each other apart."""
    robot, path = load(g1_urdf), tmp_path / "g1.xml"
    export_robot(robot, path)
    _, data = standing(path)
    assert data.ncon == 0
    spec = mujoco.MjSpec.from_file(str(path))
    spec.worldbody.add_geom(
        type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5.0, 5.0, 0.1], pos=[0.0, 0.0, 1e-3]
    )
    model = spec.compile()
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_forward(model, data)
    assert data.ncon >= 2


def test_meshes_move_with_the_file(g1_urdf: Path, tmp_path: Path) -> None:
    """Paths are relative: the folder can be copied to another place."""
    robot = load(g1_urdf)
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    export_robot(robot, here / "g1.xml")
    text = (here / "g1.xml").read_text(encoding="utf-8")
    assert 'file="g1_meshes/' in text
    assert str(tmp_path) not in text
    assert str(g1_urdf.parent) not in text
    shutil.move(here, there)
    assert_stands_as(there / "g1.xml", robot)
    again = load(there / "g1.xml")
    assert again.mass == pytest.approx(robot.mass)
    np.testing.assert_allclose(
        com(again, again.standing), com(robot, robot.standing), atol=EXACT
    )
    shapes = [shape for link in again.description.links for shape in link.visuals]
    assert any(shape.kind == "mesh" for shape in shapes)


def test_an_exported_file_reads_back_without_its_settings(tmp_path: Path) -> None:
    """Limits and posture are in the MJCF itself."""
    robot, path = load("humanoid"), tmp_path / "r.xml"
    _, beside = export_robot(robot, path)
    beside.unlink()
    again = load(path)
    limits = {actuator.joint: actuator.effort_limit for actuator in again.actuators}
    for actuator in robot.actuators:
        assert limits[actuator.joint] == pytest.approx(actuator.effort_limit)
    np.testing.assert_allclose(
        com(again, again.standing), com(robot, robot.standing), atol=1e-6
    )


def test_without_options_there_are_no_actuators() -> None:
    """What engines compile has none, and meshes by their absolute paths."""
    text = to_mjcf(load("humanoid").description)
    assert "<actuator" not in text
    assert "<option" not in text
    assert "<default" not in text


def test_an_export_that_fails_leaves_no_folder(g1_urdf: Path, tmp_path: Path) -> None:
    """A file in the folder's place, a mesh that is there: nothing changes."""
    robot, path = load(g1_urdf), tmp_path / "g1.xml"
    path.with_suffix(".toml").mkdir()
    with pytest.raises(EquipoiseError, match="is a folder"):
        export_robot(robot, path, replace=True)
    path.with_suffix(".toml").rmdir()
    assert list(tmp_path.iterdir()) == []
    mesh_folder(path).write_text("mine")
    with pytest.raises(EquipoiseError, match="g1_meshes"):
        export_robot(robot, path)
    assert [file.name for file in tmp_path.iterdir()] == ["g1_meshes"]
    mesh_folder(path).unlink()
    export_robot(robot, path)
    with pytest.raises(EquipoiseError, match="exists already"):
        export_robot(robot, path)
    export_robot(robot, path, replace=True)


def test_urdf_has_no_actuators(tmp_path: Path) -> None:
    """To ask for them is an error."""
    with pytest.raises(EquipoiseError, match="URDF has no actuators"):
        export_robot(
            load("itu-biped"),
            tmp_path / "r.urdf",
            actuators=[MjcfActuator("left_knee", 1.0)],
        )
