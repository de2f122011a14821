from __future__ import annotations

import dataclasses
import subprocess
import sys

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import random_states, random_trees

from equipoise.errors import EquipoiseError, ShapeError
from equipoise.kernels.runtime import device_named
from equipoise.kinematics.com import (
    com,
    com_and_jacobian,
    com_jacobian,
    com_jacobian_rate,
    com_velocity,
)
from equipoise.kinematics.frames import frame_jacobian, frame_pose
from equipoise.kinematics.limb_com import limb_com_jacobian
from equipoise.kinematics.momentum import centroidal_momentum
from equipoise.robot.description import Array
from equipoise.robot.formats.export_mjcf import to_mjcf
from equipoise.robot.load import load
from equipoise.robot.model import Robot

COUNT = 1000
FLOAT32 = {"rtol": 1e-4, "atol": 1e-4}


def central_difference(function, robot: Robot, q: Array, v: Array, step=1e-6):
    """Return the derivative of a function of q along v."""
    before = pin.integrate(robot.model, q, -step * v)
    after = pin.integrate(robot.model, q, step * v)
    return (function(robot, after) - function(robot, before)) / (2 * step)


def test_batch_equals_pinocchio_for_humanoids(humanoid_urdf):
    """Every quantity of 1,000 configurations equals Pinocchio's to 1e-10."""
    robot = load(humanoid_urdf)
    q, v = random_states(robot, COUNT)
    model, data = robot.model, robot.model.createData()
    position, jacobian = com_and_jacobian(robot, q)
    alone = com(robot, q)
    velocity = com_velocity(robot, q, v)
    rate = com_jacobian_rate(robot, q, v)
    for i in range(COUNT):
        np.testing.assert_allclose(
            jacobian[i], pin.jacobianCenterOfMass(model, data, q[i]), atol=1e-10
        )
        np.testing.assert_allclose(position[i], data.com[0], atol=1e-10)
        np.testing.assert_allclose(alone[i], data.com[0], atol=1e-10)
        pin.centerOfMass(model, data, q[i], v[i])
        np.testing.assert_allclose(velocity[i], data.vcom[0], atol=1e-10)
        expected = pin.computeCentroidalMapTimeVariation(model, data, q[i], v[i])
        np.testing.assert_allclose(rate[i], expected[:3] / robot.mass, atol=1e-10)


@settings(max_examples=60)
@given(random_trees())
def test_batch_equals_single_for_every_joint_kind(robot):
    """Kernels and Pinocchio agree on trees of all joint kinds."""
    q, v = random_states(robot, 6)
    position, jacobian = com_and_jacobian(robot, q)
    velocity = com_velocity(robot, q, v)
    rate = com_jacobian_rate(robot, q, v)
    for i in range(len(q)):
        single = com_and_jacobian(robot, q[i])
        np.testing.assert_allclose(position[i], single.com, atol=1e-10)
        np.testing.assert_allclose(jacobian[i], single.jacobian, atol=1e-10)
        np.testing.assert_allclose(
            velocity[i], com_velocity(robot, q[i], v[i]), atol=1e-10
        )
        np.testing.assert_allclose(
            rate[i], com_jacobian_rate(robot, q[i], v[i]), atol=1e-10
        )


@settings(max_examples=30)
@given(random_trees())
def test_derivatives_equal_finite_differences(robot):
    """J v is the derivative of the CoM along v, and J̇ that of J."""
    q, v = random_states(robot, 2)
    jacobian = com_jacobian(robot, q)
    velocity = com_velocity(robot, q, v)
    rate = com_jacobian_rate(robot, q, v)
    for i in range(len(q)):
        moved = central_difference(com, robot, q[i], v[i])
        np.testing.assert_allclose(jacobian[i] @ v[i], moved, atol=1e-6)
        np.testing.assert_allclose(velocity[i], jacobian[i] @ v[i], atol=1e-10)
        changed = central_difference(com_jacobian, robot, q[i], v[i])
        np.testing.assert_allclose(rate[i], changed, atol=1e-5)


def test_acceleration_is_jacobian_times_acceleration_plus_rate(g1_urdf):
    """c̈ = J a + J̇ v, with c̈ from Pinocchio."""
    robot = load(g1_urdf)
    q, v = random_states(robot, 50)
    a = np.random.default_rng(1).normal(size=v.shape)
    jacobian, rate = com_jacobian(robot, q), com_jacobian_rate(robot, q, v)
    for i in range(len(q)):
        pin.centerOfMass(robot.model, robot.data, q[i], v[i], a[i])
        np.testing.assert_allclose(
            jacobian[i] @ a[i] + rate[i] @ v[i], robot.data.acom[0], atol=1e-10
        )


@settings(max_examples=20)
@given(random_trees(), st.integers(0, 2**32 - 1))
def test_moving_the_base_moves_the_com_rigidly(robot, seed):
    """If all of the robot is displaced, so is its centre of mass."""
    rng = np.random.default_rng(seed)
    q, _ = random_states(robot, 5, seed)
    motion = pin.SE3(pin.exp3(rng.normal(size=3)), rng.normal(size=3))
    moved = q.copy()
    for row in moved:
        row[:7] = pin.SE3ToXYZQUAT(motion * pin.XYZQUATToSE3(row[:7]))
    expected = com(robot, q) @ motion.rotation.T + motion.translation
    np.testing.assert_allclose(com(robot, moved), expected, atol=1e-12)


@pytest.mark.parametrize("name", ["g1_urdf", "talos_urdf"])
def test_com_equals_mujoco(name, request):
    """The centre of mass equals MuJoCo's subtree_com of the exported robot to 1e-9."""
    robot = load(request.getfixturevalue(name))
    bare = tuple(
        dataclasses.replace(link, collisions=(), visuals=())
        for link in robot.description.links
    )
    description = dataclasses.replace(robot.description, links=bare)
    model = mujoco.MjModel.from_xml_string(to_mjcf(description))
    data = mujoco.MjData(model)
    q, _ = random_states(robot, 50)
    free = int(np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_FREE)[0])
    base = model.jnt_qposadr[free]
    for row, expected in zip(q, com(robot, q), strict=True):
        data.qpos[base : base + 7] = row[[0, 1, 2, 6, 3, 4, 5]]
        for joint, name in zip(
            robot.model.joints[2:], robot.model.names[2:], strict=True
        ):
            data.joint(name).qpos[:] = row[joint.idx_q]
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        body = model.jnt_bodyid[free]
        np.testing.assert_allclose(expected, data.subtree_com[body], atol=1e-9)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 9])
def test_any_number_of_configurations(g1_urdf, count):
    """Batches of any size, also empty ones, have one result for each row."""
    robot = load(g1_urdf)
    q, v = random_states(robot, count) if count else (np.empty((0, robot.nq)), None)
    v = np.empty((0, robot.nv)) if v is None else v
    position, jacobian = com_and_jacobian(robot, q)
    assert position.shape == (count, 3)
    assert jacobian.shape == (count, 3, robot.nv)
    assert com_velocity(robot, q, v).shape == (count, 3)
    for i in range(count):
        np.testing.assert_allclose(position[i], com(robot, q[i]), atol=1e-12)


def test_input_of_any_layout_stays_as_it_was(g1_urdf):
    """Read-only, strided and float32 input gives the same, and is not written to."""
    robot = load(g1_urdf)
    q, _ = random_states(robot, 8)
    expected = com(robot, q)
    frozen = q.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(com(robot, frozen), expected)
    np.testing.assert_array_equal(com(robot, np.asfortranarray(q)), expected)
    np.testing.assert_array_equal(com(robot, q.tolist()), expected)
    np.testing.assert_array_equal(com(robot, np.repeat(q, 2, axis=0)[::2]), expected)
    np.testing.assert_array_equal(frozen, q)


def test_results_belong_to_the_caller(g1_urdf):
    """A later call does not change what an earlier one returned."""
    robot = load(g1_urdf)
    q, _ = random_states(robot, 2)
    for rows in (q, q[0]):
        position, jacobian = com_and_jacobian(robot, rows)
        kept = position.copy(), jacobian.copy()
        com_and_jacobian(robot, np.flip(q, axis=0) if rows.ndim == 2 else q[1])
        np.testing.assert_array_equal(position, kept[0])
        np.testing.assert_array_equal(jacobian, kept[1])


@settings(max_examples=10)
@given(random_trees())
def test_float32_is_close(robot):
    """Single precision gives the same to its own accuracy."""
    q, v = random_states(robot, 9)
    for function, rows in (
        (com, (q,)),
        (com_jacobian, (q,)),
        (com_velocity, (q, v)),
        (com_jacobian_rate, (q, v)),
    ):
        single = function(robot, *rows, dtype=np.float32)
        assert single.dtype == np.float32
        double = function(robot, *rows)
        scale = max(1.0, np.abs(double).max())
        np.testing.assert_allclose(single / scale, double / scale, **FLOAT32)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_gpu_equals_cpu(g1_urdf, dtype):
    """All quantities are the same on a GPU as on the CPU."""
    try:
        device_named("cuda")
    except EquipoiseError as error:
        pytest.skip(str(error))
    robot = load(g1_urdf)
    q, v = random_states(robot, COUNT)
    foot = robot.legs["left"].end_link
    for function, rows in (
        (com, (q,)),
        (com_jacobian, (q,)),
        (com_velocity, (q, v)),
        (com_jacobian_rate, (q, v)),
        (centroidal_momentum, (q, v)),
        (frame_pose, (q, foot)),
        (frame_jacobian, (q, foot)),
        (limb_com_jacobian, (q, "left_arm")),
    ):
        expected = function(robot, *rows)
        found = function(robot, *rows, device="cuda", dtype=dtype)
        error = 1e-10 if dtype == "float64" else 1e-3
        np.testing.assert_allclose(found, expected, atol=error)


def test_wrong_input_is_refused(g1_urdf):
    """Shapes, devices and types that do not fit are named in one line."""
    robot = load(g1_urdf)
    q, v = random_states(robot, 3)
    with pytest.raises(ShapeError, match=r"q has shape \(3, 35\)"):
        com(robot, q[:, :-1])
    with pytest.raises(ShapeError, match="both must be one row or equally many rows"):
        com_velocity(robot, q, v[:2])
    with pytest.raises(
        EquipoiseError, match=r"no device 'tpu'; the devices here are: cpu"
    ):
        com(robot, q, device="tpu")
    with pytest.raises(EquipoiseError, match=r"dtype is 'int32'.*float64, float32"):
        com(robot, q, dtype=np.int32)


def test_one_configuration_does_not_wait_for_warp(g1_urdf):
    """Importing and using the functions with one configuration leaves Warp alone."""
    script = (
        "import sys; from equipoise.robot.load import load;"
        "from equipoise.kinematics import com, frames, limb_com, momentum, support;"
        f"robot = load({str(g1_urdf)!r}); com.com(robot, robot.standing);"
        "assert 'warp' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_nothing_is_printed(g1_urdf):
    """A batch prints nothing; compilation is announced in the log."""
    script = (
        "import logging; logging.getLogger('equipoise').setLevel('ERROR');"
        "from equipoise.robot.load import load;"
        "from equipoise.kinematics.com import com;"
        f"robot = load({str(g1_urdf)!r}); com(robot, [robot.standing])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert done.stdout == ""
    assert done.stderr == ""
