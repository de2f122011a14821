from __future__ import annotations

import itertools
import sys
from pathlib import Path

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from simulation.blocks import assemble, drives, idle, solid

import equipoise as eq
from equipoise.arrays import Array, frozen_array
from equipoise.control.signals import Command
from equipoise.errors import EquipoiseError, ShapeError
from equipoise.kinematics.support import polygon_margin
from equipoise.kinematics.terrain import Flat, HeightField, Slope, Stairs, Terrain
from equipoise.robot.description import Joint, Link
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.rotations import transform
from equipoise.simulation.actuation import Actuation, actuation_of
from equipoise.simulation.contacts import Material, contact_point
from equipoise.simulation.engine import DivergedError
from equipoise.simulation.mujoco_engine import MujocoEngine
from equipoise.simulation.mujoco_model import compile_world
from equipoise.simulation.world import Box, Push, Wall, World, make_world

DT = 1e-3
# Of drives that only push.
FREE = {"coulomb_friction": 0.0, "viscous_friction": 0.0}
FREE |= {"lower": -np.inf, "upper": np.inf, "torque_limit": np.inf}


@pytest.fixture(scope="module")
def humanoid() -> eq.Robot:
    """The catalogue's humanoid."""
    return eq.load("humanoid")


@pytest.fixture
def mujoco_data(monkeypatch: pytest.MonkeyPatch) -> list[mujoco.MjData]:
    """MuJoCo's own data, of every engine that a test makes."""
    made: list[mujoco.MjData] = []
    original = mujoco.MjData

    def make(model: mujoco.MjModel) -> mujoco.MjData:
        made.append(original(model))
        return made[-1]

    monkeypatch.setattr(mujoco, "MjData", make)
    return made


def hold(robot: eq.Robot, seconds: float, **changes: Array | float) -> Command:
    """Return commands that hold the standing posture, but for what is given."""
    steps = round(seconds / DT)
    position = np.tile(joint_positions(robot, robot.standing), (steps, 1))
    zeros = np.zeros_like(position)
    parts = {"position": position, "velocity": zeros, "torque": zeros}
    parts |= {name: zeros + value for name, value in changes.items()}
    return Command(**parts)


def floating(robot: eq.Robot, mode: str = "servo", **options: object) -> World:
    """Return a world in which the robot touches nothing."""
    figures = options.pop("figures", {})
    actuation = actuation_of(robot, mode, **figures)
    return make_world(robot, contacts=(), actuation=actuation, **options)


@pytest.mark.parametrize("name", ["humanoid", "g1"])
def test_standing_is_in_balance(name: str, request: pytest.FixtureRequest) -> None:
    """ΣFz = m g, the ZMP lies inside and soles sink in by m g / (n k)."""
    source = request.getfixturevalue("g1_urdf") if name == "g1" else name
    robot = eq.load(source)
    world = make_world(robot)
    trace = MujocoEngine(world, DT).advance(hold(robot, 2.0), every=100)
    last = trace.at(-1)
    weight = robot.mass * world.gravity
    total = last.contact_force.sum(axis=0)
    assert total[2] == pytest.approx(weight, rel=1e-6)
    assert np.abs(total[:2]).max() < 1e-4 * weight
    share = last.contact_force[:, 2:] / total[2]
    zmp = (share * last.contact_position).sum(axis=0)[:2]
    polygon = eq.support_polygon(robot, last.q)
    assert polygon_margin(polygon, zmp) > 0.01
    sunk = weight / (len(world.contacts) * world.material.stiffness)
    assert -last.contact_position[:, 2].mean() == pytest.approx(sunk, rel=1e-3)
    assert np.abs(last.v).max() < 1e-4
    assert np.abs(last.a).max() < 1e-1


def test_free_fall_is_a_parabola(humanoid: eq.Robot) -> None:
    """Whatever the joints do, the CoM falls as the integrator's parabola."""
    engine = MujocoEngine(floating(humanoid), DT)
    swing = 0.3 * np.sin(20.0 * DT * np.arange(500.0))[:, None]
    trace = engine.advance(hold(humanoid, 0.5, torque=10.0 * swing))
    start = eq.com(humanoid, humanoid.standing)
    fallen = 0.5 * 9.80665 * trace.time * (trace.time + DT)
    error = eq.com(humanoid, trace.q) - start + fallen[:, None] * [0.0, 0.0, 1.0]
    assert np.abs(error).max() < 1e-4
    assert not trace.contact_force.any()


def test_base_velocity_is_in_base_axes(humanoid: eq.Robot) -> None:
    """One step moves q along v as Pinocchio integrates it, the base turned."""
    engine = MujocoEngine(floating(humanoid, "torque", gravity=0.0, figures=FREE), DT)
    generator = np.random.default_rng(0)
    q = humanoid.standing.copy()
    q[3:7] = pin.Quaternion(pin.exp3(generator.normal(size=3))).coeffs()
    v = generator.normal(size=humanoid.nv)
    state = engine.reset(q, v)
    np.testing.assert_allclose(state.v, v, atol=1e-12)
    after = engine.advance(hold(humanoid, DT)).at(0)
    expected = pin.integrate(humanoid.model, q, DT * after.v)
    np.testing.assert_allclose(after.q, expected, atol=1e-5)
    np.testing.assert_allclose(after.a, (after.v - v) / DT, atol=1e-9)
    acceleration = pin.aba(
        humanoid.model, humanoid.data, q, v, np.zeros(humanoid.nv)
    ) + _without_gravity(humanoid, q)
    assert np.abs(after.a - acceleration).max() < 0.05 * np.abs(acceleration).max()


def _without_gravity(robot: eq.Robot, q: Array) -> Array:
    """Return what takes Pinocchio's gravity out of an acceleration."""
    zeros = np.zeros(robot.nv)
    return -np.asarray(pin.aba(robot.model, robot.data, q, zeros, zeros))


def test_ideal_positions_are_reached(humanoid: eq.Robot) -> None:
    """Joints in position mode are where they are told to be, standing and moving."""
    world = make_world(humanoid, actuation=actuation_of(humanoid, "position"))
    engine = MujocoEngine(world, DT)
    time = DT * np.arange(1, 1001)
    bend = 0.05 * np.sin(2.0 * np.pi * time)[:, None]
    commands = hold(humanoid, 1.0)
    commands = commands._replace(position=commands.position + bend)
    trace = engine.advance(commands)
    error = joint_positions(humanoid, trace.q) - commands.position
    assert np.abs(error).max() < 1e-8
    assert 1.0 < np.abs(trace.torque).max() < 1e4


def test_ideal_velocities_are_reached(humanoid: eq.Robot) -> None:
    """Joints in velocity mode have the speed they are told to have."""
    engine = MujocoEngine(floating(humanoid, "velocity"), DT)
    trace = engine.advance(hold(humanoid, 0.1, velocity=0.5))
    assert np.abs(trace.v[:, 6:] - 0.5).max() < 1e-6


def test_torques_keep_their_limits(humanoid: eq.Robot) -> None:
    """No drive pushes harder than it can, also while the robot falls for it."""
    actuation = actuation_of(humanoid, torque_limit=20.0)
    trace = MujocoEngine(make_world(humanoid, actuation=actuation), DT).advance(
        hold(humanoid, 1.0)
    )
    assert np.abs(trace.torque).max() == pytest.approx(20.0, abs=1e-9)


def test_drives_do_not_push_beyond_their_speed(humanoid: eq.Robot) -> None:
    """A joint under constant torque stops accelerating at the drive's speed limit."""
    figures = {**FREE, "velocity_limit": 2.0}
    world = floating(humanoid, "torque", gravity=0.0, figures=figures)
    push = np.zeros(humanoid.nv - 6)
    push[-1] = 0.05
    trace = MujocoEngine(world, DT).advance(hold(humanoid, 2.0, torque=push))
    assert 2.0 < trace.v[:, -1].max() < 2.2
    assert trace.torque[-1, -1] < 0.05


def test_friction_and_stops_hold(humanoid: eq.Robot) -> None:
    """Coulomb friction keeps a joint still below it; a stop ends its way above it."""
    figures = {"coulomb_friction": 0.5, "lower": -0.4, "upper": 0.4}
    world = floating(humanoid, "torque", gravity=0.0, figures=figures)
    q = humanoid.standing.copy()
    q[7:] = 0.0
    for torque, low, high in ((0.45, -1e-3, 1e-3), (1.5, 0.39, 0.401)):
        engine = MujocoEngine(world, DT)
        engine.reset(q)
        push = np.zeros(humanoid.nv - 6)
        push[-1] = torque
        last = engine.advance(hold(humanoid, 3.0, torque=push), every=3000).at(-1)
        assert low < last.q[-1] < high


def test_commands_are_delayed(humanoid: eq.Robot) -> None:
    """With a delay the same happens later, over several calls; before, nothing."""
    traces = []
    for delay in (0.0, 0.01):
        world = floating(humanoid, gravity=0.0, figures={"delay": delay})
        engine = MujocoEngine(world, DT)
        commands = hold(humanoid, 0.05)
        commands.position[:, 3] += 0.1
        parts = [
            engine.advance(Command(*(rows[part] for rows in commands))).q
            for part in (slice(0, 7), slice(7, 50))
        ]
        traces.append(np.concatenate(parts))
    np.testing.assert_allclose(traces[1][10:], traces[0][:-10], atol=1e-9)
    np.testing.assert_allclose(traces[1][9], humanoid.standing, atol=1e-9)


def test_pushes_change_momentum(humanoid: eq.Robot) -> None:
    """A force for a while changes linear momentum by F t, angular by r × F t."""
    force, at = np.array([20.0, -10.0, 5.0]), np.array([0.0, 0.1, 0.2])
    link = humanoid.description.root
    push = Push(link, force, start=0.05, duration=0.1, point_in_link=at)
    engine = MujocoEngine(floating(humanoid, gravity=0.0, pushes=(push,)), DT)
    trace = engine.advance(hold(humanoid, 0.2))
    assert not trace.v[49].any()
    momentum = eq.centroidal_momentum(humanoid, trace.q[-1], trace.v[-1])
    np.testing.assert_allclose(momentum[:3], 0.1 * force, rtol=1e-3)
    arm = humanoid.standing[:3] + at - eq.com(humanoid, humanoid.standing)
    turned = 0.1 * np.cross(arm, force)
    np.testing.assert_allclose(momentum[3:], turned, atol=0.02 * np.linalg.norm(turned))


def test_disturbance_moves_joints(humanoid: eq.Robot) -> None:
    """A torque from outside accelerates a joint and is not counted as the drive's."""
    disturbance = np.zeros(humanoid.nv - 6)
    disturbance[-1] = 1.0
    figures = {"disturbance": disturbance, "coulomb_friction": 0.0}
    world = floating(humanoid, "torque", gravity=0.0, figures=figures)
    trace = MujocoEngine(world, DT).advance(hold(humanoid, 0.01))
    assert trace.v[-1, -1] > 0.01
    assert not trace.torque.any()


def test_foot_sticks_under_a_trunk_that_turns() -> None:
    """A foot well within its friction cone hardly moves while a trunk turns on it.

    MuJoCo leaves out J̇ v, the centripetal acceleration ω² r here: were it all
    horizontal, a point that is stopped in one step would creep at ω² r dt.
    """
    length, spin, seconds = 0.5, 3.0, 0.15
    half = np.array([0.15, 0.1, 0.02])
    ankle = Joint(
        name="ankle",
        kind="revolute",
        parent="base",
        child="foot",
        transform_joint_to_parent=transform(np.eye(3), np.array([0.0, 0.0, -length])),
        axis=frozen_array([0.0, 1.0, 0.0]),
    )
    robot = assemble(
        [Link("base", solid(10.0)), Link("foot", solid(1.0, half))], [ankle]
    )
    points = [
        contact_point(robot, "foot", half * sign)
        for sign in itertools.product((-1.0, 1.0), (-1.0, 1.0), (-1.0,))
    ]
    material = Material(2e5, 2e3)
    world = make_world(
        robot, contacts=tuple(points), material=material, actuation=drives(robot)
    )
    q, v = np.array(robot.standing), np.zeros(robot.nv)
    q[2] = length + half[2]
    v[0], v[4], v[6] = spin * length, spin, -spin
    engine = MujocoEngine(world, DT)
    engine.reset(q, v)
    trace = engine.advance(idle(robot, round(seconds / DT)))
    force = trace.contact_force.sum(axis=1)
    assert (np.hypot(*force.T[:2]) < 0.5 * force[:, 2]).all()
    foot = [np.array(joint_pose(robot, row, "ankle").translation) for row in trace.q]
    slipped = np.hypot(*(foot[-1] - foot[0])[:2])
    assert slipped < spin**2 * length * DT * seconds


def joint_pose(robot: eq.Robot, q: Array, joint: str) -> pin.SE3:
    """Return the pose of a joint's link."""
    pin.forwardKinematics(robot.model, robot.data, q)
    return robot.data.oMi[robot.model.getJointId(joint)]


def test_box_slides_and_stops(
    humanoid: eq.Robot, mujoco_data: list[mujoco.MjData]
) -> None:
    """A box rests on four corners, slows down by μ g and stays in its own plane."""
    box = Box(np.array([2.0, 0.0, 0.1]), np.array([0.4, 0.3, 0.2]), mass=5.0, yaw=0.3)
    world = make_world(humanoid, boxes=(box,))
    engine = MujocoEngine(world, DT)
    rest = engine.advance(hold(humanoid, 0.2)).boxes[-1, 0]
    sunk = box.mass * world.gravity / (4.0 * world.material.stiffness)
    assert box.centre[2] - rest[2] == pytest.approx(sunk, rel=1e-3)
    np.testing.assert_allclose(rest[3:], [0, 0, np.sin(0.15), np.cos(0.15)], atol=1e-9)
    mujoco_data[0].qvel[-6] = 1.0
    path = engine.advance(hold(humanoid, 0.3)).boxes[:, 0]
    travelled = 1.0 / (2.0 * world.material.static_friction * world.gravity)
    assert path[-1, 0] - rest[0] == pytest.approx(travelled, rel=0.1)
    assert np.ptp(path[:, 2]) < 5e-4
    assert np.abs(path[-1] - path[-2]).max() < 1e-8


def test_wall_stops_a_box(humanoid: eq.Robot, mujoco_data: list[mujoco.MjData]) -> None:
    """A box does not go through a wall, nor through another box."""
    size = np.array([0.2, 0.2, 0.2])
    boxes = [Box(np.array([x, 0.0, 0.1]), size, mass=2.0) for x in (2.0, 2.4)]
    wall = Wall(np.array([2.8, 0.0, 0.2]), np.array([0.2, 1.0, 0.4]))
    world = make_world(humanoid, boxes=tuple(boxes), walls=(wall,))
    engine = MujocoEngine(world, DT)
    mujoco_data[0].qvel[-12] = 4.0
    path = engine.advance(hold(humanoid, 0.5)).boxes[..., 0]
    assert path[:, 1].max() == pytest.approx(2.6, abs=5e-3)
    assert (path[:, 1] - path[:, 0]).min() > 0.195


UNEVEN = 0.1 * np.random.default_rng(1).random((5, 7))


@pytest.mark.parametrize(
    "terrain",
    [
        Flat(0.2),
        Slope(0.2, -0.1),
        Stairs(0.15, 0.3, 3, 0.12),
        Stairs(-0.15, 0.3, 3, 0.12),
        HeightField(UNEVEN, 0.25, np.array([-0.6, -0.3])),
    ],
    ids=lambda terrain: terrain.describe(),
)
def test_ground_is_where_it_should_be(humanoid: eq.Robot, terrain: Terrain) -> None:
    """Rays from above meet MuJoCo's ground at the terrain's height."""
    compiled = compile_world(make_world(humanoid, terrain, contacts=()), DT)
    data = mujoco.MjData(compiled.model)
    mujoco.mj_forward(compiled.model, data)
    x, y = np.meshgrid(-0.6 + 0.25 * np.arange(-2, 9), -0.3 + 0.25 * np.arange(-2, 7))
    for above in np.column_stack([x.ravel(), y.ravel(), np.full(x.size, 3.0)]):
        geom = np.zeros(1, np.int32)
        down = np.array([0.0, 0.0, -1.0])
        distance = mujoco.mj_ray(compiled.model, data, above, down, None, 1, -1, geom)
        expected = float(terrain.height(above[0], above[1]))
        assert 3.0 - distance == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    "terrain",
    [
        Stairs(0.15, 0.5, 3, -0.75),
        Stairs(-0.15, 0.5, 3, -0.75),
        HeightField(np.full((9, 9), 0.2), 0.1, np.array([-0.4, -0.4])),
        HeightField(np.array([[0.0, 0.0], [0.0, 0.3]]), 0.1, np.array([2.0, 2.0])),
    ],
    ids=lambda terrain: terrain.describe(),
)
def test_stands_on_terrain(humanoid: eq.Robot, terrain: Terrain) -> None:
    """Contact points at rest are at the terrain's height but for what they sink in."""
    world = make_world(humanoid, terrain)
    engine = MujocoEngine(world, DT)
    q = humanoid.standing.copy()
    q[2] += float(terrain.height(0.0, 0.0))
    engine.reset(q)
    last = engine.advance(hold(humanoid, 1.0), every=1000).at(0)
    weight = humanoid.mass * world.gravity
    assert last.contact_force[:, 2].sum() == pytest.approx(weight, rel=1e-4)
    x, y, z = last.contact_position.T
    sunk = terrain.height(x, y) - z
    assert sunk.mean() == pytest.approx(weight / 8 / world.material.stiffness, rel=0.01)


def test_sticks_on_a_slope(humanoid: eq.Robot) -> None:
    """On a slope below atan μ a robot stays where it is, held by friction."""
    slope = Slope(np.radians(5.0))
    world = make_world(humanoid, slope)
    turn = pin.SE3(pin.exp3(np.array([0.0, -slope.pitch, 0.0])), np.zeros(3))
    q = humanoid.standing.copy()
    q[:7] = pin.SE3ToXYZQUAT(turn * pin.XYZQUATToSE3(q[:7]))
    engine = MujocoEngine(world, DT)
    engine.reset(q)
    trace = engine.advance(hold(humanoid, 2.0), every=1000)
    crept = trace.contact_position[1] - trace.contact_position[0]
    assert np.abs(crept).max() < 2e-5
    force = trace.contact_force[-1].sum(axis=0)
    weight = humanoid.mass * world.gravity
    np.testing.assert_allclose(force, [0.0, 0.0, weight], atol=1e-3 * weight)


def test_links_without_mass(romeo_urdf: Path) -> None:
    """Romeo's massless fingers get a negligible inertia, which is said."""
    robot = eq.load(romeo_urdf)
    count = robot.nv - 6
    given = {"mode": np.ones(count), "stiffness": np.full(count, 2e3)}
    given |= {"damping": np.full(count, 50.0), "stribeck_speed": np.ones(count)}
    given |= {name: np.full(count, np.inf) for name in ("torque_limit", "upper")}
    given |= {"velocity_limit": given["upper"], "lower": -given["upper"]}
    zero = ("rotor_inertia", "viscous_friction", "coulomb_friction")
    zero += ("static_friction", "disturbance")
    actuation = Actuation(**given, **{name: np.zeros(count) for name in zero})
    engine = MujocoEngine(make_world(robot, actuation=actuation), DT)
    assert "LFinger13Link" in engine.notices[0]
    last = engine.advance(hold(robot, 1.0), every=1000).at(0)
    weight = robot.mass * engine.world.gravity
    assert last.contact_force[:, 2].sum() == pytest.approx(weight, rel=1e-3)


def test_what_cannot_be_expressed_is_said(humanoid: eq.Robot) -> None:
    """Notices name the friction and the ground that MuJoCo lacks."""
    field = HeightField(np.zeros((2, 2)), 1.0, np.zeros(2))
    said = " ".join(MujocoEngine(make_world(humanoid, field), DT).notices)
    assert "static one, 0.8" in said
    assert "triangles" in said


def test_same_run_same_bytes(humanoid: eq.Robot) -> None:
    """A run is repeated to the last bit, after a reset and in a new engine."""
    world = make_world(humanoid)
    engine = MujocoEngine(world, DT)
    runs = []
    for other in (engine, engine, MujocoEngine(world, DT)):
        other.reset(humanoid.standing)
        trace = other.advance(hold(humanoid, 0.2))
        runs.append(b"".join(getattr(trace, name).tobytes() for name in vars(trace)))
    assert runs[0] == runs[1] == runs[2]


def eventful(robot: eq.Robot) -> World:
    """Return a world with delay, torques at their limits, pushes and a box."""
    link, at = robot.description.root, np.array([0.0, 0.1, 0.2])
    pushes = (
        Push(link, np.array([60.0, -30.0, 10.0]), 0.05, 0.1, at),
        Push(link, np.array([-10.0, 20.0, 0.0]), 0.1, 0.05),
    )
    box = Box(np.array([0.2, 0.0, 0.1]), np.array([0.2, 0.3, 0.2]), mass=2.0, yaw=0.3)
    actuation = actuation_of(robot, torque_limit=15.0, velocity_limit=3.0, delay=0.003)
    return make_world(robot, actuation=actuation, pushes=pushes, boxes=(box,))


@pytest.mark.parametrize("name", ["humanoid", "g1"])
def test_steps_are_what_advance_does(name: str, request: pytest.FixtureRequest) -> None:
    """200 steps one by one are the rows of one advance, to the last bit."""
    source = request.getfixturevalue("g1_urdf") if name == "g1" else name
    robot = eq.load(source)
    world = eventful(robot)
    swing = 0.3 * np.sin(40.0 * DT * np.arange(200.0))[:, None]
    commands = hold(robot, 0.2, velocity=swing, torque=5.0 * swing)
    trace = MujocoEngine(world, DT).advance(commands)
    assert np.abs(trace.torque).max() == pytest.approx(15.0, abs=1e-9)
    assert trace.contact_force.any()
    engine = MujocoEngine(world, DT)
    for row, command in enumerate(zip(*commands, strict=True)):
        state = engine.step(Command(*command))
        assert engine.state is state
        expected = trace.at(row)
        for part in vars(trace):
            np.testing.assert_array_equal(
                getattr(state, part), getattr(expected, part), part
            )


def test_a_command_holds_for_some_steps(humanoid: eq.Robot) -> None:
    """Told once for seven steps is told seven times, also while it is delayed."""
    world = eventful(humanoid)
    swing = np.repeat(np.random.default_rng(0).normal(0.0, 0.1, 10), 7)[:, None]
    commands = hold(humanoid, 0.07)
    commands = commands._replace(position=commands.position + swing)
    trace = MujocoEngine(world, DT).advance(commands)
    engine = MujocoEngine(world, DT)
    for row in range(6, 70, 7):
        state = engine.step(Command(*(part[row] for part in commands)), steps=7)
        expected = trace.at(row)
        for part in vars(trace):
            np.testing.assert_allclose(
                getattr(state, part), getattr(expected, part), atol=1e-12, err_msg=part
            )


def test_states_do_not_change_afterwards(humanoid: eq.Robot) -> None:
    """The arrays of a state are its own: later steps leave them alone."""
    world = eventful(humanoid)
    engine = MujocoEngine(world, DT)
    command = Command(*(part[0] for part in hold(humanoid, DT)))
    states = [engine.step(command) for _ in range(3)]
    parts = ("q", "v", "a", "torque", "contact_position", "contact_force", "boxes")
    copies = [{part: getattr(s, part).copy() for part in parts} for s in states]
    for _ in range(20):
        engine.step(command)
    for state, copy in zip(states, copies, strict=True):
        for part in parts:
            np.testing.assert_array_equal(getattr(state, part), copy[part], part)


def test_forces_follow_the_contacts(
    humanoid: eq.Robot, mujoco_data: list[mujoco.MjData]
) -> None:
    """Forces on points are MuJoCo's own of each contact, while the robot falls over."""
    world = eventful(humanoid)
    engine = MujocoEngine(world, DT)
    compiled, data = compile_world(world, DT), mujoco_data[0]
    command = Command(*(part[0] for part in hold(humanoid, DT)))
    counts = set()
    for _ in range(400):
        found = engine.step(command).contact_force
        expected = np.zeros_like(found)
        wrench = np.zeros(6)
        for number in range(data.ncon):
            contact = data.contact[number]
            mujoco.mj_contactForce(compiled.model, data, number, wrench)
            force = contact.frame.reshape(3, 3).T @ wrench[:3]
            for geom, sign in zip(contact.geom, (-1.0, 1.0), strict=True):
                if compiled.point_of_geom[geom] >= 0:
                    expected[compiled.point_of_geom[geom]] += sign * force
        np.testing.assert_allclose(found, expected, atol=1e-9)
        counts.add(data.ncon)
    assert len(counts) > 2


def test_divergence_is_an_error(
    humanoid: eq.Robot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Forces beyond all bounds are named with time and link; no log is left."""
    monkeypatch.chdir(tmp_path)
    world = floating(humanoid, "torque", figures={"torque_limit": np.inf})
    engine = MujocoEngine(world, DT)
    push = np.zeros(humanoid.nv - 6)
    push[0] = 1e300
    with pytest.raises(DivergedError, match=r"diverged at 0\.001 s: '\w+' moves at"):
        engine.advance(hold(humanoid, 0.1, torque=push))
    engine.reset(humanoid.standing)
    with pytest.raises(DivergedError, match=r"diverged at 0\.001 s: '\w+' moves at"):
        engine.step(Command(0.0 * push, 0.0 * push, push))
    assert not list(tmp_path.iterdir())
    assert capfd.readouterr() == ("", "")


def test_bad_input_is_named(humanoid: eq.Robot) -> None:
    """Time steps, shapes and values that make no sense are refused."""
    world = make_world(humanoid)
    with pytest.raises(EquipoiseError, match="a time step of 1 s"):
        MujocoEngine(world, 1.0)
    engine = MujocoEngine(world, DT)
    with pytest.raises(ShapeError, match="every is 3; it must divide the 10 steps"):
        engine.advance(hold(humanoid, 0.01), every=3)
    with pytest.raises(ShapeError, match="torque of degree of freedom 0 is nan"):
        engine.advance(hold(humanoid, 0.01, torque=np.nan))
    joints = humanoid.nv - 6
    good = np.zeros(joints)
    for bad, message in (
        (np.full(joints, np.nan), "torque of degree of freedom 0 is nan"),
        (np.full(joints, -np.inf), "torque of degree of freedom 0 is -inf"),
        (np.zeros(joints - 1), r"torque has shape \(\d+,\); \(\d+,\) or"),
        (0.0, r"torque has shape \(\); \(\d+,\) or"),
        ("fast", "torque is not an array of numbers"),
    ):
        with pytest.raises(ShapeError, match=message):
            engine.step(Command(good, good, bad))  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="have 2 rows; one is needed"):
        engine.step(Command(*np.zeros((3, 2, joints))))
    with pytest.raises(ShapeError, match="a Command of position, velocity and torque"):
        engine.step(None)  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="steps is 0; it must be 1 or more"):
        engine.step(Command(good, good, good), steps=0)
    assert engine.state.time == 0.0
    with pytest.raises(ShapeError, match="one configuration"):
        engine.reset(np.tile(humanoid.standing, (2, 1)), np.zeros((2, humanoid.nv)))


def test_needs_mujoco(humanoid: eq.Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without MuJoCo the message says how to get it."""
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(EquipoiseError, match=r"pip install 'equipoise\[mujoco\]'"):
        MujocoEngine(make_world(humanoid), DT)
