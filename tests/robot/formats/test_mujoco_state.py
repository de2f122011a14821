"""States between Pinocchio's layout and MuJoCo's, with both engines as oracles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, NameNotFoundError, ShapeError
from equipoise.robot.description import Description
from equipoise.robot.formats.mjcf import read_mjcf
from equipoise.robot.formats.mjcf_export import to_mjcf
from equipoise.robot.formats.mujoco_state import from_mujoco, to_mujoco
from equipoise.robot.formats.urdf import read_urdf
from equipoise.robot.formats.xml_file import parse_xml, read_bytes
from equipoise.robot.pinocchio_model import build_model
from equipoise.rotations import wxyz_from_xyzw, xyzw_from_wxyz

ROD = '<geom type="capsule" size=".04" fromto="0 0 0 .1 .2 -.3"/>'
# A ball, a hinge with a reference and an anchor, a slider; a box that also floats.
SCENE = f"""<mujoco><compiler angle="radian"/><worldbody>
  <body name="crate" pos="3 0 0"><freejoint/><geom size=".1"/></body>
  <body name="base" pos="0 0 1" euler=".1 .2 .3"><freejoint/>{ROD}
    <body name="a" pos=".1 .2 .3" euler=".3 .2 .1">
      <joint type="ball" name="ball" pos="0 .1 0"/>{ROD}
      <body name="b" pos=".1 0 0" euler="0 1 0">
        <joint name="hinge" axis="1 2 3" pos=".1 .2 .3" ref=".4"/>
        <joint name="slide" type="slide" axis="0 1 0"/>{ROD}
        <body name="c" pos="0 .2 0"><joint name="end" axis="0 1 0"/>{ROD}</body>
      </body></body></body></worldbody></mujoco>"""
# The links below z have names that sort otherwise than the file's order.
CONTINUOUS = "".join(
    f'<link name="{name}"><inertial><origin xyz=".1 0 .1"/><mass value="1"/>'
    '<inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    for name in "zab"
) + "".join(
    f'<joint name="{name}" type="continuous"><parent link="{above}"/>'
    f'<child link="{below}"/><origin xyz=".1 .2 .3" rpy="1 2 3"/>'
    f'<axis xyz="{axis}"/></joint>'
    for name, above, below, axis in (("j", "z", "a", "0 0 1"), ("i", "a", "b", "1 2 3"))
)


def scene() -> tuple[Description, mujoco.MjModel]:
    """Return the scene as we read it and as MuJoCo compiles it."""
    path = Path("scene.xml")
    # two floating trees: ours is the one that is not alone a crate
    robot = SCENE.replace('<body name="crate" pos="3 0 0"><freejoint/>', "<body>")
    description = read_mjcf(parse_xml(robot.encode(), path), path)
    return description, mujoco.MjModel.from_xml_string(SCENE)


def continuous() -> tuple[Description, mujoco.MjModel]:
    """Return a robot of joints without limits, and its MJCF export compiled."""
    path = Path("continuous.urdf")
    text = f'<robot name="c">{CONTINUOUS}</robot>'
    description = read_urdf(parse_xml(text.encode(), path), path)
    return description, mujoco.MjModel.from_xml_string(to_mjcf(description))


def humanoid(path: Path) -> tuple[Description, mujoco.MjModel]:
    """Return a humanoid and its MJCF export compiled."""
    description = read_urdf(parse_xml(read_bytes(path), path), path)
    text = to_mjcf(without_shapes(description))
    return description, mujoco.MjModel.from_xml_string(text)


def without_shapes(description: Description) -> Description:
    """Return the robot without shapes, whose meshes take long to compile."""
    links = (replace(link, collisions=(), visuals=()) for link in description.links)
    return replace(description, links=tuple(links))


def random_state(model: pin.Model, count: int) -> tuple[Array, Array]:
    """Return random configurations, the base anywhere, and velocities."""
    pin.seed(3)
    ones = np.ones(model.nq)
    q = np.array([pin.randomConfiguration(model, -ones, ones) for _ in range(count)])
    return q, np.random.default_rng(3).normal(size=(count, model.nv))


def assert_same_motion(description: Description, theirs: mujoco.MjModel) -> None:
    """Compare pose and velocity of every body in both engines."""
    ours = build_model(description)
    data, their_data = ours.createData(), mujoco.MjData(theirs)
    q, v = random_state(ours, 8)
    state = to_mujoco(ours, theirs, q, v)
    bodies = [
        (body, ours.getFrameId(theirs.body(body).name, pin.FrameType.BODY))
        for body in range(theirs.nbody)
        if theirs.body(body).name in description.link_by_name
    ]
    assert len(bodies) >= 3
    for k in range(len(q)):
        their_data.qpos[:], their_data.qvel[:] = state.qpos[k], state.qvel[k]
        mujoco.mj_forward(theirs, their_data)
        pin.forwardKinematics(ours, data, q[k], v[k])
        pin.updateFramePlacements(ours, data)
        for body, frame in bodies:
            found = np.zeros(6)  # angular part first
            mujoco.mj_objectVelocity(
                theirs, their_data, mujoco.mjtObj.mjOBJ_XBODY, body, found, 1
            )
            wanted = pin.getFrameVelocity(ours, data, frame, pin.ReferenceFrame.LOCAL)
            np.testing.assert_allclose(found[3:], wanted.linear, atol=1e-10)
            np.testing.assert_allclose(found[:3], wanted.angular, atol=1e-10)
            pose = data.oMf[frame]
            np.testing.assert_allclose(
                their_data.xpos[body], pose.translation, atol=1e-10
            )
            np.testing.assert_allclose(
                their_data.xmat[body], pose.rotation.ravel(), atol=1e-10
            )


def test_bodies_of_a_scene_move_alike() -> None:
    """Ball, hinge and slider move alike in both engines; the crate rests."""
    description, theirs = scene()
    assert_same_motion(description, theirs)
    ours = build_model(description)
    state = to_mujoco(ours, theirs, *(row[0] for row in random_state(ours, 1)))
    np.testing.assert_array_equal(state.qpos[:7], theirs.qpos0[:7])
    assert not state.qvel[:6].any()


def test_bodies_behind_joints_without_limits_move_alike() -> None:
    """(cos θ, sin θ) becomes θ, in the order of the other engine."""
    assert_same_motion(*continuous())


@pytest.mark.parametrize("name", ["g1", "talos", "icub"])
def test_bodies_of_a_humanoid_move_alike(
    name: str, request: pytest.FixtureRequest
) -> None:
    """Every link of real humanoids moves alike in both engines."""
    path: Path = request.getfixturevalue(f"{name}_urdf")
    assert_same_motion(*humanoid(path))


@pytest.mark.parametrize("make", [scene, continuous])
def test_there_and_back(make: Callable[[], tuple[Description, mujoco.MjModel]]) -> None:
    """A state comes back as it was, one or many at once."""
    description, theirs = make()
    model = build_model(description)
    q, v = random_state(model, 5)
    many = to_mujoco(model, theirs, q, v)
    back = from_mujoco(model, theirs, many.qpos, many.qvel)
    np.testing.assert_allclose(back.q, q, atol=1e-14)
    np.testing.assert_allclose(back.v, v, atol=1e-14)
    one = to_mujoco(model, theirs, q[2], v[2])
    np.testing.assert_array_equal(one.qpos, many.qpos[2])
    np.testing.assert_array_equal(one.qvel, many.qvel[2])
    again = from_mujoco(model, theirs, one.qpos, one.qvel)
    np.testing.assert_allclose(again.q, back.q[2], rtol=0, atol=1e-15)
    np.testing.assert_allclose(again.v, back.v[2], rtol=0, atol=1e-15)


def test_quaternions_there_and_back() -> None:
    """The scalar goes to the front and back to the end, for any leading shape."""
    np.testing.assert_array_equal(
        wxyz_from_xyzw(np.array([1.0, 2, 3, 4])), [4, 1, 2, 3]
    )
    many = np.arange(24.0).reshape(2, 3, 4)
    np.testing.assert_array_equal(xyzw_from_wxyz(wxyz_from_xyzw(many)), many)


def test_models_that_do_not_match_are_refused() -> None:
    """A missing joint, another type, a fixed base and wrong shapes are named."""
    description, _ = scene()
    model = build_model(description)
    state = pin.neutral(model), np.zeros(model.nv)

    def compiled(old: str, new: str) -> mujoco.MjModel:
        return mujoco.MjModel.from_xml_string(SCENE.replace(old, new))

    with pytest.raises(NameNotFoundError, match=r"no joint 'hinge'.*ball"):
        to_mujoco(model, compiled('name="hinge"', 'name="x"'), *state)
    with pytest.raises(EquipoiseError, match="joint 'ball' is JointModelSpherical"):
        to_mujoco(model, compiled('type="ball"', ""), *state)
    free = 'euler=".1 .2 .3"><freejoint/>'
    with pytest.raises(EquipoiseError, match="no body 'base' with a free joint"):
        to_mujoco(model, compiled(free, ">"), *state)
    theirs = compiled("", "")
    with pytest.raises(ShapeError, match=r"q has shape \(3,\)"):
        to_mujoco(model, theirs, np.zeros(3), state[1])
    with pytest.raises(ShapeError, match="equally many rows"):
        to_mujoco(model, theirs, state[0], [state[1]])
    with pytest.raises(ShapeError, match=r"qvel has shape \(\)"):
        from_mujoco(model, theirs, theirs.qpos0, 0.0)
