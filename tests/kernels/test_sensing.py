"""Sensors in kernels: equal to those of the loop in Python; noise as it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
import warp as wp
from bipeds import Biped

import equipoise as eq
from equipoise.arrays import Array
from equipoise.balance.skeleton import skeleton_arrays
from equipoise.control.signals import State
from equipoise.kernels import runtime
from equipoise.kernels.sensing import BESIDE_JOINTS, make_sensing
from equipoise.kernels.skeleton import make_skeleton, upload_skeleton
from equipoise.simulation.contacts import contact_point, sole_points
from equipoise.simulation.fleet_sensors import sensor_arrays
from equipoise.simulation.sensors import Encoders, SensorSuite
from equipoise.simulation.world import World, make_world
from equipoise.simulation.world_arrays import world_arrays

PERIOD = 2e-3


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A biped on whose feet joints turn for ever, and slide; its root is above it."""
    inertia = (
        '<inertial><origin xyz="0.01 0.02 0.03"/><mass value="0.3"/><inertia '
        'ixx="1e-3" iyy="2e-3" izz="3e-3" ixy="1e-4" ixz="0" iyz="0"/></inertial>'
    )
    toes = "".join(
        f'<link name="{side}_{name}">{inertia}</link>'
        f'<joint name="{side}_{name}" type="{kind}"><origin xyz="{xyz}"/>'
        f'<parent link="{side}_{parent}"/><child link="{side}_{name}"/>'
        '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="10" velocity="10"/>'
        "</joint>"
        for side in ("left", "right")
        for name, kind, parent, xyz in (
            ("toes", "continuous", "ankle_roll_link", "0.16 0 -0.06"),
            ("tip", "prismatic", "toes", "0.05 0 0.01"),
        )
    )
    path: Path = tmp_path_factory.mktemp("toes") / "biped.urdf"
    mounted = ("0.1 0 0.3", "0 0.1 0")
    path.write_text(Biped(extra=toes, root_xyz_rpy=mounted).urdf())
    robot = eq.load(path)
    points = (
        contact_point(robot, f"{side}_{name}", [0.05, 0.02, 0.0])
        for side in ("left", "right")
        for name in ("toes", "tip")
    )
    root = contact_point(robot, robot.description.root, [0.1, 0.2, 0.3])
    return make_world(robot, contacts=(root, *sole_points(robot), *points))


def sensed(
    world: World, states: list[State], noise: Array, seeds: Array, tick: int
) -> tuple[Array, Array]:
    """Return positions and all else that robots measure, a row for each state."""
    scalar, device = wp.float64, runtime.device_named("cpu")
    types, own = make_skeleton(scalar), make_sensing(scalar)
    sense, robot, count = own.sense, world.robot, len(states)
    laid = world_arrays(world, 1e-3, None, count)
    values = sensor_arrays(world, laid, PERIOD, seeds, noise)

    def zeros(dtype: Any, *shape: int) -> Any:
        return wp.zeros((count, *shape), dtype=dtype, device=device)

    def kernel(skeleton, sensors, truth, moving, tick, before, position, measured):
        t = wp.tid()
        sense(skeleton, sensors, t, tick, truth, moving, before, position, measured)

    structs = types.Skeleton, own.Sensors, own.Truth, own.Moving
    kinds = [*structs, int, *[wp.array2d[scalar]] * 3]
    names = kernel.__code__.co_varnames[: kernel.__code__.co_argcount]
    kernel.__annotations__ = dict(zip(names, kinds, strict=True))
    compiled = wp.kernel(kernel, module="unique", module_options=runtime.MODULE_OPTIONS)

    rows = {
        "q": [state.q for state in states],
        "v": [state.v for state in states],
        "a": [state.a for state in states],
        "force": [state.contact_force for state in states],
    }
    memory = {
        name: zeros(
            types.mat33 if name == "rotation" else types.vec3, len(values["body"])
        )
        for name in own.Moving.vars
    }
    joints = robot.nv - 6
    position, measured = zeros(scalar, joints), zeros(scalar, joints + BESIDE_JOINTS)
    runtime.launch(
        compiled,
        count,
        [
            upload_skeleton(skeleton_arrays(robot), scalar, device),
            runtime.filled(own.Sensors, values, device),
            runtime.filled(own.Truth, rows, device),
            runtime.filled(own.Moving, memory, device),
            tick,
            zeros(scalar, joints),
            position,
            measured,
        ],
        device,
    )
    return position.numpy(), measured.numpy()


def random_state(world: World, seed: int) -> State:
    """Return a state in which everything moves and is pushed."""
    robot, rng = world.robot, np.random.default_rng(seed)
    v, a = rng.normal(size=(2, robot.nv))
    q = pin.integrate(robot.model, robot.standing, rng.normal(size=robot.nv))
    forces = rng.normal(size=(len(world.contacts), 3))
    return State(0.0, q, v, a, np.zeros(robot.nv - 6), 0.0 * forces, forces)


def test_without_noise_they_measure_what_those_of_the_loop_do(world: World) -> None:
    """Encoders, gyroscope, accelerometer, ankles: toes, sliders, endless joints."""
    states = [random_state(world, seed) for seed in range(4)]
    nothing = np.zeros(4)
    found, measured = sensed(world, states, nothing, nothing.astype(np.int64), 0)
    joints = world.robot.nv - 6
    for row, state in enumerate(states):
        suite = SensorSuite(world, Encoders(velocity=None))
        told = suite.measure(state)
        np.testing.assert_allclose(found[row], told.position, atol=1e-12)
        assert not measured[row, :joints].any()
        expected = np.concatenate(
            [
                told.imu.angular_velocity,
                told.imu.specific_force,
                *told.feet["left"],
                *told.feet["right"],
            ]
        )
        np.testing.assert_allclose(measured[row, joints:], expected, atol=1e-10)


def test_noise_is_white_and_that_of_seed_and_tick(world: World) -> None:
    """Deviations are as told, channels independent, neighbours do not matter."""
    count = 400
    states, seeds = [random_state(world, 0)] * count, np.arange(count)
    noise = np.full(count, 2.0)
    position, measured = sensed(world, states, noise, seeds, 7)
    off = np.hstack([position, measured[:, world.robot.nv - 6 :]])
    exact = np.hstack(
        [part[0] for part in sensed(world, states[:1], np.zeros(1), seeds[:1], 7)]
    )
    exact = np.delete(exact, range(world.robot.nv - 6, 2 * (world.robot.nv - 6)))
    joints, weight = world.robot.nv - 6, world.robot.mass * world.gravity
    arm = max(max(sole.size) for sole in world.robot.soles.values())
    told = np.concatenate(
        [
            np.full(joints, 1e-4),
            np.full(3, 0.01),
            np.full(3, 0.1),
            np.tile(np.repeat([0.01 * weight, 0.005 * weight * arm], 3), 2),
        ]
    )
    drawn = (off - exact) / (2.0 * told)
    assert np.abs(drawn.mean(axis=0)).max() < 5.0 / np.sqrt(count)
    assert np.abs(drawn.std(axis=0) - 1.0).max() < 5.0 / np.sqrt(2.0 * count)
    related = np.corrcoef(drawn.T) - np.eye(drawn.shape[1])
    assert np.abs(related).max() < 5.0 / np.sqrt(count)
    again = sensed(world, states[:3], noise[:3], seeds[[9, 3, 100]], 7)
    np.testing.assert_array_equal(again[0], position[[9, 3, 100]])
    np.testing.assert_array_equal(again[1], measured[[9, 3, 100]])
    later = sensed(world, states[:1], noise[:1], seeds[:1], 8)
    assert (later[0] != position[:1]).all()
