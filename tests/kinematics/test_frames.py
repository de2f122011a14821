from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from random_trees import random_states, random_trees

from equipoise.errors import NameNotFoundError
from equipoise.kinematics.frames import frame_jacobian, frame_pose
from equipoise.robot.load import load

COUNT = 200
REFERENCES = ("local_world_aligned", "world", "local")


def test_references_equal_pinocchio_for_humanoids(humanoid_urdf):
    """Jacobians of a foot in two more references equal Pinocchio's to 1e-10."""
    robot = load(humanoid_urdf)
    q, _ = random_states(robot, COUNT)
    frame = robot.legs["left"].end_link
    frame_id = robot.frame_id(frame)
    names = ("world", "local")
    jacobians = {name: frame_jacobian(robot, q, frame, name) for name in names}
    model, data = robot.model, robot.model.createData()
    for i in range(COUNT):
        pin.computeJointJacobians(model, data, q[i])
        pin.updateFramePlacements(model, data)
        for name, jacobian in jacobians.items():
            reference = getattr(pin.ReferenceFrame, name.upper())
            expected = pin.getFrameJacobian(model, data, frame_id, reference)
            np.testing.assert_allclose(jacobian[i], expected, rtol=0, atol=1e-10)


@settings(max_examples=40)
@given(random_trees())
def test_batch_equals_single_for_every_frame(robot):
    """Kernels and Pinocchio agree on all frames of trees of all joint kinds."""
    q, _ = random_states(robot, 5)
    for frame in robot.model.frames:
        expected = [frame_pose(robot, row, frame.name) for row in q]
        np.testing.assert_allclose(
            frame_pose(robot, q, frame.name), expected, rtol=0, atol=1e-10
        )
        for name in REFERENCES:
            expected = [frame_jacobian(robot, row, frame.name, name) for row in q]
            np.testing.assert_allclose(
                frame_jacobian(robot, q, frame.name, name), expected, rtol=0, atol=1e-10
            )


@settings(max_examples=20)
@given(random_trees())
def test_jacobian_equals_finite_differences(robot):
    """The local Jacobian times v is the velocity of the pose along v."""
    q, v = random_states(robot, 2)
    frame = robot.model.frames[robot.model.nframes - 1].name
    jacobian = frame_jacobian(robot, q, frame, "local")
    step = 1e-6
    for i in range(len(q)):
        before, after = (
            pin.SE3(
                frame_pose(robot, pin.integrate(robot.model, q[i], s * v[i]), frame)
            )
            for s in (-step, step)
        )
        twist = pin.log6(before.actInv(after)).vector / (2 * step)
        np.testing.assert_allclose(jacobian[i] @ v[i], twist, rtol=0, atol=1e-5)


def test_float32_is_close(g1_urdf):
    """Single precision gives the same to its own accuracy."""
    robot = load(g1_urdf)
    q, _ = random_states(robot, 20)
    frame = robot.legs["right"].end_link
    for function in (frame_pose, frame_jacobian):
        single = function(robot, q, frame, dtype=np.float32)
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, function(robot, q, frame), rtol=0, atol=1e-5)


def test_unknown_names_are_refused(g1_urdf):
    """A frame or reference that does not exist is named with those that do."""
    robot = load(g1_urdf)
    with pytest.raises(NameNotFoundError, match="has no frame 'left_foo'"):
        frame_pose(robot, robot.standing, "left_foo")
    with pytest.raises(NameNotFoundError, match=r"'locl' .*local_world_aligned, world"):
        frame_jacobian(robot, robot.standing, "pelvis", "locl")
    with pytest.raises(NameNotFoundError, match="'locl'"):
        frame_jacobian(robot, [robot.standing], "pelvis", "locl")
