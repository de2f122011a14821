from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from runs import swaying

import equipoise as eq
from equipoise.kinematics.stance import sole_pose
from equipoise.kinematics.support import polygon_margin
from equipoise.show.space.scene import RunScene, posture_moment
from equipoise.show.space.solids import joint_poses, robot_bodies


@pytest.fixture(scope="module")
def walked() -> eq.Run:
    """Four steps of the humanoid."""
    robot = eq.load("humanoid")
    motion = eq.solve(robot, eq.fit_walk(robot, steps=2))
    return eq.walk(robot, motion, feedback=False)


def test_every_robot_has_a_body(robot: eq.Robot) -> None:
    """Something is drawn of every robot, about as large as it is."""
    bodies = robot_bodies(robot)
    poses = joint_poses(robot, robot.standing)
    points = []
    for body in bodies:
        pose = np.array(pin.XYZQUATToSE3(poses[body.joint]).homogeneous)
        points.append(body.mesh.moved(pose).vertices)
    heights = np.concatenate(points)[:, 2]
    tall = eq.com(robot, robot.standing)[2]
    assert np.isfinite(heights).all()
    assert heights.max() > tall
    assert -0.1 * tall < heights.min() < 0.2 * tall
    assert len({body.name for body in bodies}) == len(bodies)


def test_every_leg_is_drawn(robot: eq.Robot) -> None:
    """Each leg has a body, whether the file has shapes or not."""
    drawn = {body.joint for body in robot_bodies(robot)}
    for limb in robot.legs.values():
        joints = {robot.model.getJointId(name) for name in limb.subtree_joints}
        assert joints & drawn


def test_few_triangles_are_enough(g1_urdf) -> None:
    """Meshes are made coarser until they are about as many as asked for."""
    robot = eq.load(g1_urdf)
    count = sum(len(body.mesh.triangles) for body in robot_bodies(robot, 20_000))
    assert count < 1.3 * 20_000


def test_large_parts_keep_their_shape(g1_urdf) -> None:
    """Limbs get more of few triangles than small parts that are finer."""
    fine, coarse = (
        {body.name: body.mesh for body in robot_bodies(eq.load(g1_urdf), most)}
        for most in (10**9, 20_000)
    )
    for name in ("left_hip_roll_joint", "left_knee_joint"):
        sizes = [np.ptp(meshes[name].vertices, axis=0) for meshes in (fine, coarse)]
        np.testing.assert_allclose(sizes[1], sizes[0], rtol=0.1, atol=2e-3)
    longest = max(coarse, key=lambda name: np.ptp(coarse[name].vertices, axis=0).max())
    assert len(coarse[longest].triangles) > 20_000 / len(coarse)


def test_a_robot_whose_meshes_are_lost_is_drawn(g1_urdf, tmp_path) -> None:
    """Without mesh files capsules stand in."""
    moved = tmp_path / "g1.urdf"
    moved.write_bytes(g1_urdf.read_bytes())
    robot = eq.load(moved)
    for leg in robot.legs.values():
        drawn = {body.joint for body in robot_bodies(robot)}
        assert {robot.model.getJointId(name) for name in leg.joints} & drawn


def test_poses_are_pinocchios(robot: eq.Robot) -> None:
    """Frames of joints are where an independent walk down the tree puts them."""
    poses = joint_poses(robot, robot.standing)
    for joint in range(1, robot.model.njoints):
        name = robot.model.names[joint]
        if robot.model.existFrame(name, pin.FrameType.JOINT):
            frame = robot.model.getFrameId(name, pin.FrameType.JOINT)
            pin.framesForwardKinematics(robot.model, robot.data, robot.standing)
            np.testing.assert_allclose(
                poses[joint, :3], robot.data.oMf[frame].translation, atol=1e-12
            )


def test_a_standing_robot_is_over_its_soles(robot: eq.Robot) -> None:
    """The support polygon of a posture lies on the ground; CoM and projection agree."""
    moment = posture_moment(robot, robot.standing, 0.005)
    np.testing.assert_array_equal(moment.com[:2], moment.com_on_ground[:2])
    assert moment.zmp is None
    if len(moment.support):
        assert np.all(moment.support[:, 2] == 0.0)


def test_moments_of_a_walk_add_up(walked: eq.Run) -> None:
    """Arrows sum to the forces, the ZMP is inside the polygon, poses follow q."""
    scene = RunScene(walked)
    assert {path.label for path in scene.paths} == {
        "CoM",
        "CoM, planned",
        "ZMP",
        "ZMP, planned",
    }
    assert len(scene.footprints) >= 4
    weight = walked.robot.mass * 9.80665
    for row in range(0, len(walked.time), 50):
        moment = scene.moment(row)
        assert moment.time == walked.time[row]
        np.testing.assert_array_equal(moment.com, walked.com[row])
        arrows = sum(arrow.end - arrow.start for arrow in moment.forces)
        total = walked.contact_force[row].sum(axis=0)
        # arrows of forces too small to see are left out
        scale = 0.6 * walked.robot.longest_limb / weight
        np.testing.assert_allclose(arrows, scale * total, atol=0.02 * scale * weight)
        assert moment.zmp is not None
        margin = polygon_margin(moment.support[:, :2], moment.zmp[:2])
        assert margin > -1e-6


def test_rows_are_found_by_time(walked: eq.Run) -> None:
    """The nearest row is found, at and beyond both ends too."""
    scene = RunScene(walked)
    for time in (-1.0, 0.0, 0.0149, 0.0151, 1.0, 1e6):
        nearest = int(np.argmin(np.abs(walked.time - time)))
        assert scene.row_at(time) == nearest


def test_a_run_of_one_row() -> None:
    """A single row can be looked at."""
    run = swaying(seconds=0.0)
    scene = RunScene(run)
    assert scene.row_at(3.0) == 0
    assert scene.moment(0).time == 0.0


def test_without_contacts_loaded_feet_make_the_polygon() -> None:
    """A real robot's log has foot wrenches only."""
    run = swaying()
    nothing = np.zeros((len(run.time), 0, 3))
    bare = swaying(contact_names=(), contact_position=nothing, contact_force=nothing)
    scene = RunScene(bare)
    loaded = int(np.argmax(bare.foot_wrench["left"][:, 2]))
    assert len(scene.moment(loaded).support) >= 3
    for arrow, side in zip(scene.moment(loaded).forces, bare.foot_wrench, strict=True):
        pose = sole_pose(bare.robot, bare.q[loaded], side)
        wrench = bare.foot_wrench[side][loaded]
        weight = bare.robot.mass * 9.80665
        scale = 0.6 * bare.robot.longest_limb / weight
        force = pose[:3, :3] @ wrench[:3]
        np.testing.assert_allclose(arrow.end - arrow.start, scale * force, atol=1e-12)
        # about the centre of pressure nothing turns the foot along the sole
        place = (np.linalg.inv(pose) @ [*arrow.start, 1.0])[:3]
        rest = wrench[3:] - np.cross(place, wrench[:3])
        np.testing.assert_allclose([place[2], *rest[:2]], 0.0, atol=1e-9)
    assert scene.touches
    floating = int(np.argmin(bare.foot_wrench["left"][:, 2]))
    assert scene.moment(floating).forces == ()
