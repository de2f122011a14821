from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import random_states, random_trees

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, ShapeError
from equipoise.kernels.runtime import device_named
from equipoise.kinematics.com import (
    centroidal_momentum,
    com,
    com_and_jacobian,
    com_jacobian,
    com_jacobian_rate,
    com_velocity,
)
from equipoise.kinematics.frames import frame_jacobian, frame_pose
from equipoise.kinematics.limb_com import limb_com_contribution, limb_com_jacobian
from equipoise.robot.load import load
from equipoise.robot.model import Robot

COUNT = 1000
FLOAT32 = {"rtol": 1e-4, "atol": 1e-4}


def central_difference(function, robot: Robot, q: Array, v: Array, step=1e-6):
    """Return the derivative of a function of q along v."""
    before = pin.integrate(robot.model, q, -step * v)
    after = pin.integrate(robot.model, q, step * v)
    return (function(robot, after) - function(robot, before)) / (2 * step)


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
        np.testing.assert_allclose(position[i], single.com, rtol=0, atol=1e-10)
        np.testing.assert_allclose(jacobian[i], single.jacobian, rtol=0, atol=1e-10)
        np.testing.assert_allclose(
            velocity[i], com_velocity(robot, q[i], v[i]), rtol=0, atol=1e-10
        )
        np.testing.assert_allclose(
            rate[i], com_jacobian_rate(robot, q[i], v[i]), rtol=0, atol=1e-10
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
        np.testing.assert_allclose(jacobian[i] @ v[i], moved, rtol=0, atol=1e-6)
        np.testing.assert_allclose(velocity[i], jacobian[i] @ v[i], rtol=0, atol=1e-10)
        changed = central_difference(com_jacobian, robot, q[i], v[i])
        np.testing.assert_allclose(rate[i], changed, rtol=0, atol=1e-5)


def test_acceleration_is_jacobian_times_acceleration_plus_rate(g1_urdf):
    """c̈ = J a + J̇ v, with c̈ from Pinocchio."""
    robot = load(g1_urdf)
    q, v = random_states(robot, 50)
    a = np.random.default_rng(1).normal(size=v.shape)
    jacobian, rate = com_jacobian(robot, q), com_jacobian_rate(robot, q, v)
    for i in range(len(q)):
        pin.centerOfMass(robot.model, robot.data, q[i], v[i], a[i])
        np.testing.assert_allclose(
            jacobian[i] @ a[i] + rate[i] @ v[i], robot.data.acom[0], rtol=0, atol=1e-10
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
    np.testing.assert_allclose(com(robot, moved), expected, rtol=0, atol=1e-12)


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
        np.testing.assert_allclose(position[i], com(robot, q[i]), rtol=0, atol=1e-12)


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
    for function, rows in quantities(robot, q, v):
        expected = function(robot, *rows)
        found = function(robot, *rows, device="cuda", dtype=dtype)
        error = 1e-10 if dtype == "float64" else 1e-3
        np.testing.assert_allclose(found, expected, rtol=0, atol=error)


def quantities(robot: Robot, q: Array, v: Array):
    """Return every function that takes a device and a number type, and arguments."""
    foot = robot.legs["left"].end_link
    return (
        (com, (q,)),
        (com_jacobian, (q,)),
        (com_velocity, (q, v)),
        (com_jacobian_rate, (q, v)),
        (centroidal_momentum, (q, v)),
        (frame_pose, (q, foot)),
        (frame_jacobian, (q, foot)),
        (limb_com_contribution, (q, "left_arm")),
        (limb_com_jacobian, (q, "left_arm")),
    )


def test_one_configuration_has_the_type_asked_for(g1_urdf):
    """One configuration in float32 is the float64 result, rounded."""
    robot = load(g1_urdf)
    q, v = random_states(robot, 1)
    for function, arguments in quantities(robot, q[0], v[0]):
        single = function(robot, *arguments, dtype="float32")
        double = function(robot, *arguments)
        assert (single.dtype, double.dtype) == (np.float32, np.float64)
        np.testing.assert_array_equal(single, double.astype(np.float32))


@pytest.mark.parametrize("rows", [0, slice(None)])
def test_unknown_device_or_type_is_refused(g1_urdf, rows):
    """Devices and types that there are not are refused, also for one configuration."""
    robot = load(g1_urdf)
    q, v = random_states(robot, 3)
    for function, arguments in quantities(robot, q[rows], v[rows]):
        with pytest.raises(
            EquipoiseError, match=r"no device 'tpu'; the devices here are: cpu"
        ):
            function(robot, *arguments, device="tpu")
        for dtype in (np.int32, "float16", "double precision", ">f8"):
            with pytest.raises(EquipoiseError, match=r"dtype is '.*: float64, float32"):
                function(robot, *arguments, dtype=dtype)


def test_wrong_input_is_refused(g1_urdf):
    """Shapes that do not fit are named in one line."""
    robot = load(g1_urdf)
    q, v = random_states(robot, 3)
    with pytest.raises(ShapeError, match=r"q has shape \(3, 35\)"):
        com(robot, q[:, :-1])
    with pytest.raises(ShapeError, match="both must be one row or equally many rows"):
        com_velocity(robot, q, v[:2])


def test_one_configuration_does_not_wait_for_warp(g1_urdf):
    """Importing and using the functions with one configuration leaves Warp alone."""
    script = (
        "import sys; from equipoise.robot.load import load;"
        "from equipoise.kinematics import com, frames, limb_com, support;"
        f"robot = load({str(g1_urdf)!r});"
        "com.com(robot, robot.standing, dtype='float32');"
        "assert 'warp' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_nothing_is_printed(g1_urdf, tmp_path):
    """A batch prints nothing, also when compiling; that is announced in the log."""
    script = (
        "import logging; logging.getLogger('equipoise').setLevel('ERROR');"
        "from equipoise.robot.load import load;"
        "from equipoise.kinematics.com import com;"
        f"robot = load({str(g1_urdf)!r}); com(robot, [robot.standing])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "WARP_CACHE_PATH": str(tmp_path)},
    )
    assert (done.stdout, done.stderr) == ("", "")
