from __future__ import annotations

import os

import numpy as np
import pinocchio as pin
import pytest
import warp as wp
from simulation.blocks import (
    SOFT,
    G,
    commands,
    corners,
    drives,
    in_the_air,
    make_block,
    make_machine,
    pose,
    run,
)

import equipoise as eq
from equipoise.arrays import Array
from equipoise.control.signals import Command, State
from equipoise.errors import EquipoiseError
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.simulation.fleet import Fleet
from equipoise.simulation.native import NativeEngine
from equipoise.simulation.world import Box, Push, Wall, World, make_world

PARTS = ("q", "v", "a", "torque", "contact_position", "contact_force", "boxes")


def starts(robot: eq.Robot, count: int) -> tuple[Array, Array]:
    """Return configurations near standing, dropped from a few millimetres."""
    rng = np.random.default_rng(5)
    q, v = [], []
    for _ in range(count):
        step = 0.05 * rng.normal(size=robot.nv)
        step[:6] *= 0.1
        row = pin.integrate(robot.model, np.array(robot.standing), step)
        row[2] += 0.01
        q.append(row)
        v.append(0.1 * rng.normal(size=robot.nv))
    return np.array(q), np.array(v)


def orders(robot: eq.Robot, q: Array, steps: int) -> Command:
    """Return a command for each robot, shape (steps, n, nv - 6)."""
    rng = np.random.default_rng(6)
    held = joint_positions(robot, q)[None]
    swing = np.sin(0.02 * np.arange(steps))[:, None, None]
    position = held + 0.05 * swing * rng.normal(size=held.shape)
    return Command(position, np.zeros_like(position), np.zeros_like(position))


def furnished(robot: eq.Robot) -> World:
    """Return a world with everything in it."""
    link = robot.description.links[0].name
    return make_world(
        robot,
        walls=(Wall(np.array([5.0, 0, 0.5]), np.ones(3), 0.3),),
        boxes=(Box(np.array([0.0, 1.5, 0.1]), np.full(3, 0.2), 2.0),),
        pushes=(Push(link, np.array([20.0, 5.0, 0.0]), 0.02, 0.05),),
    )


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("name", ["humanoid", "three-link"])
def test_each_of_a_fleet_is_one_alone(name: str, count: int) -> None:
    """Robot i of a fleet moves as if it were alone, to rounding."""
    robot = eq.load(name)
    world = furnished(robot)
    q, v = starts(robot, count)
    told = orders(robot, q, 100)
    fleet = Fleet(world, count)
    fleet.reset(q, v)
    together = fleet.advance(told, every=10)
    for index in range(count):
        engine = NativeEngine(world)
        engine.reset(q[index], v[index])
        own = Command(*(part[:, index] for part in told))
        alone = engine.advance(own, every=10)
        for part in PARTS:
            found = getattr(together, part)[index]
            wanted = getattr(alone, part)
            assert found.shape == wanted.shape
            scale = max(1.0, np.abs(wanted).max(initial=0.0))
            assert np.abs(found - wanted).max(initial=0.0) < 1e-9 * scale, part


def test_wide_robots_in_fleets(romeo_urdf) -> None:
    """The same for a robot with fingers: more bodies side by side than lanes."""
    robot = eq.load(romeo_urdf)
    world = make_world(robot)
    q, v = starts(robot, 5)
    told = orders(robot, q, 30)
    fleet = Fleet(world, 5)
    fleet.reset(q, v)
    together = fleet.advance(told)
    engine = NativeEngine(world)
    engine.reset(q[3], v[3])
    alone = engine.advance(Command(*(part[:, 3] for part in told)))
    scale = max(1.0, np.abs(alone.v).max())
    assert np.abs(together.v[3] - alone.v).max() < 1e-9 * scale
    assert np.abs(together.q[3] - alone.q).max() < 1e-9


@pytest.mark.parametrize("count", [1, 3, 4, 6])
def test_single_links_in_fleets(count: int) -> None:
    """A fleet of blocks without joints: each falls and lands by itself."""
    robot = make_block()
    world = make_world(robot, contacts=corners(robot), material=SOFT)
    q = np.array([pose([0, 0, 0.05 + 0.05 * i]) for i in range(count)])
    fleet = Fleet(world, count, falls=False)
    fleet.reset(q)
    trace = fleet.advance(commands(robot, 500))
    for index in range(count):
        alone = run(world, 0.5, q[index])
        assert np.abs(trace.q[index] - alone.q).max() < 1e-12


def test_launches_can_be_split(g1_urdf) -> None:
    """A hundred steps at once, one by one or in parts: the same bytes."""
    robot = eq.load(g1_urdf)
    world = furnished(robot)
    q, v = starts(robot, 1)
    told = orders(robot, q, 100)
    told = Command(*(part[:, 0] for part in told))
    whole = NativeEngine(world)
    whole.reset(q[0], v[0])
    wanted = whole.advance(told)
    for size in (1, 10, 50):
        engine = NativeEngine(world)
        engine.reset(q[0], v[0])
        for first in range(0, 100, size):
            part = Command(*(values[first : first + size] for values in told))
            trace = engine.advance(part, every=size)
        assert (trace.q[-1] == wanted.q[-1]).all()
        assert (trace.contact_force[-1] == wanted.contact_force[-1]).all()
        assert trace.time[-1] == wanted.time[-1]


def test_same_run_twice_is_the_same_bytes(g1_urdf) -> None:
    """Nothing is random, and nothing is left over from the run before."""
    robot = eq.load(g1_urdf)
    q, v = starts(robot, 6)
    told = orders(robot, q, 200)
    fleet = Fleet(furnished(robot), 6)
    runs = []
    for _ in range(2):
        fleet.reset(q, v)
        runs.append(fleet.advance(told, every=10))
    other = Fleet(furnished(robot), 6)
    other.reset(q, v)
    runs.append(other.advance(told, every=10))
    for part in PARTS:
        first = getattr(runs[0], part).tobytes()
        assert getattr(runs[1], part).tobytes() == first, part
        assert getattr(runs[2], part).tobytes() == first, part


@pytest.mark.parametrize("count", [2, 9])
def test_threads_do_not_matter(count: int) -> None:
    """Two or more threads give the bytes that one gives."""
    robot = eq.load("humanoid")
    q, v = starts(robot, count)
    told = orders(robot, q, 50)
    results = []
    for threads in (1, 2, 16):
        fleet = Fleet(furnished(robot), count, threads=threads)
        fleet.reset(q, v)
        results.append(fleet.advance(told, every=5))
    for part in PARTS:
        for other in results[1:]:
            assert (getattr(other, part) == getattr(results[0], part)).all(), part


def test_single_precision_is_close() -> None:
    """With float32 a robot stands as with float64, to the precision it has."""
    robot = eq.load("humanoid")
    world = make_world(robot)
    paths = []
    for dtype in (np.float64, np.float32):
        fleet = Fleet(world, 2, dtype=dtype)
        fleet.reset(robot.standing)
        held = joint_positions(robot, robot.standing)
        trace = fleet.advance(commands(robot, 2000, position=held), every=100)
        paths.append(trace)
    error = np.abs(paths[0].q - paths[1].q).max()
    print(f"float32: {error:.1e} m or rad")
    assert error < 1e-3
    weight = paths[1].contact_force[:, -1].sum(axis=1)[:, 2]
    assert weight == pytest.approx(np.full(2, robot.mass * G), rel=1e-3)


@pytest.mark.skipif(not wp.is_cuda_available(), reason="no CUDA device")
def test_gpu_is_close() -> None:
    """A GPU gives what the CPU gives."""
    robot = eq.load("humanoid")
    q, v = starts(robot, 5)
    told = orders(robot, q, 200)
    paths = []
    for device in ("cpu", "cuda"):
        fleet = Fleet(furnished(robot), 5, device=device)
        fleet.reset(q, v)
        paths.append(fleet.advance(told, every=10))
    assert np.abs(paths[0].q - paths[1].q).max() < 1e-8


def test_one_state_and_one_command_for_all() -> None:
    """What is the same for all robots is given once."""
    robot = eq.load("three-link")
    fleet = Fleet(make_world(robot), 6)
    fleet.reset(robot.standing)
    held = joint_positions(robot, robot.standing)
    trace = fleet.advance(commands(robot, 20, position=held))
    assert trace.q.shape == (6, 20, robot.nq)
    assert (trace.q == trace.q[:1]).all()


def test_thousand_robots_are_independent() -> None:
    """A thousand robots, each from its own height, in one call."""
    robot = make_block()
    world = in_the_air(robot)
    q = np.array([pose([0.001 * i, 0, 1.0]) for i in range(1000)])
    fleet = Fleet(world, 1000, threads=os.cpu_count() or 1)
    fleet.reset(q)
    trace = fleet.advance(commands(robot, 10))
    assert np.abs(trace.q[:, -1, 0] - q[:, 0]).max() == 0.0
    with pytest.raises(EquipoiseError):
        Fleet(world, 0)


@wp.func
def brake(
    time: wp.float64, joint: wp.int32, position: wp.float64, velocity: wp.float64
) -> wp.float64:
    """Slow joints down, each by its number, and pull the first one back."""
    force = -wp.float64(0.3) * wp.float64(joint + 1) * velocity
    if joint == 0:
        force = force - wp.float64(2.0) * position
    return force + wp.float64(0.01) * wp.sin(time)


def test_effects_in_python_and_in_the_kernel_agree() -> None:
    """The same law as a Python and as a Warp function: the same motion."""
    robot = make_machine("revolute", "prismatic", "continuous", base=5.0)
    world = in_the_air(robot, gravity=0.0)
    v = np.array([0.1, 0, 0, 0, 0.2, 0, 1.0, -0.5, 2.0])

    def slow(state: State) -> Array:
        position = joint_positions(robot, state.q)
        force = np.zeros(robot.nv)
        force[6:] = -0.3 * np.arange(1.0, 4.0) * state.v[6:]
        force[6] -= 2.0 * position[0]
        force[6:] += 0.01 * np.sin(state.time)
        return force

    traces = []
    for options in ({"effect": slow}, {"kernel_effect": brake}):
        engine = NativeEngine(world, **options)
        engine.reset(robot.standing, v)
        traces.append(engine.advance(commands(robot, 300), every=10))
    assert np.abs(traces[0].v - traces[1].v).max() < 1e-11
    assert np.abs(traces[0].q - traces[1].q).max() < 1e-11
    assert (traces[0].time == traces[1].time).all()
    # viscous friction of the drives is the same law, taken implicitly
    assert np.abs(traces[0].v[-1, 6:]).max() < 2.0


def test_effect_on_the_base_is_a_force_in_its_axes() -> None:
    """Generalised forces on the base are in base axes, like its velocity."""
    robot = make_block()
    turn = pin.exp3(np.array([0.3, -0.5, 0.8]))
    force = np.array([3.0, -1.0, 2.0, 0.01, 0.02, -0.03])
    engine = NativeEngine(in_the_air(robot, gravity=0.0), 1e-6, effect=lambda _: force)
    engine.reset(pose([0, 0, 1.0], turn))
    trace = engine.advance(commands(robot, 1))
    inertia = robot.model.inertias[1].matrix()
    assert np.abs(inertia @ trace.a[0] - force).max() < 1e-6


def test_effect_that_is_wrong_is_named() -> None:
    """An effect of wrong shape or with NaN is refused, with the time."""
    robot = make_machine("revolute")
    for bad in (np.zeros(3), np.full(robot.nv, np.nan)):
        engine = NativeEngine(in_the_air(robot), effect=lambda _, bad=bad: bad)
        engine.reset(robot.standing)
        with pytest.raises(EquipoiseError, match=r"effect .* at 0 s"):
            engine.advance(commands(robot, 1))


def test_fleet_of_drives_has_the_same_figures() -> None:
    """Drives of all robots of a fleet are those of the world."""
    robot = make_machine("revolute")
    world = make_world(
        robot,
        contacts=(),
        material=SOFT,
        actuation=drives(robot, disturbance=0.3),
        gravity=0.0,
    )
    fleet = Fleet(world, 7)
    fleet.reset(robot.standing)
    trace = fleet.advance(commands(robot, 10))
    assert np.abs(trace.a[..., 6] - 1.0).max() < 1e-9
