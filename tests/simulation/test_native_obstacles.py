from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from simulation.blocks import HALF, G, corners, idle, make_block, pose

import equipoise as eq
from equipoise.arrays import Array
from equipoise.simulation.contacts import Material, contact_point
from equipoise.simulation.engine import Trace
from equipoise.simulation.native import NativeEngine
from equipoise.simulation.world import Box, Wall, World, make_world

K, B = 5e4, 500.0
ICE = Material(K, B, 0.0, 0.0)
GRIP = Material(K, B, 0.6, 0.5)
# Depth of a block of 10 kg on four of these springs.
SUNK = 10.0 * G / (4.0 * K)


def all_corners(robot: eq.Robot) -> tuple:
    """Return all eight corners of the base."""
    x, y, z = HALF
    upper = tuple(
        contact_point(robot, "base", (a * x, b * y, z))
        for a in (-1.0, 1.0)
        for b in (-1.0, 1.0)
    )
    return (*corners(robot), *upper)


def arena(material: Material, **options: Any) -> World:
    """Return a block of 10 kg that touches with all corners."""
    robot = make_block()
    return make_world(robot, contacts=all_corners(robot), material=material, **options)


def throw(
    world: World, speed: Array, seconds: float, dt: float = 1e-3, **options: Any
) -> Trace:
    """Return the motion of the block from the origin, standing on the floor."""
    engine = NativeEngine(world, dt)
    start = pose([0, 0, HALF[2] - SUNK])
    engine.reset(start, np.concatenate([speed, np.zeros(3)]))
    return engine.advance(idle(world.robot, round(seconds / dt)), **options)


@pytest.mark.parametrize("yaw", [0.0, 0.5, -2.0])
def test_wall_throws_back(yaw: float) -> None:
    """A block thrown squarely at a wall comes back slower, the same way it came."""
    turn = pin.exp3(np.array([0.0, 0.0, yaw]))
    centre = turn @ [0.5, 0.0, 0.0]
    wall = Wall(centre, np.array([0.2, 2.0, 1.0]), yaw)
    world = arena(ICE, walls=(wall,))
    engine = NativeEngine(world)
    start = pose([0, 0, HALF[2] - SUNK], turn)
    engine.reset(start, np.array([1.0, 0, 0, 0, 0, 0]))
    trace = engine.advance(idle(world.robot, 1000))
    along = trace.q[:, :3] @ turn[:, 0]
    velocity = trace.v[:, 0]
    assert along.max() == pytest.approx(0.3, abs=0.02)  # its front meets the wall
    assert -1.0 < velocity[-1] < -0.1
    assert np.abs(trace.q[:, :3] @ turn[:, 1]).max() < 1e-9
    assert np.abs(trace.v[:, 3:]).max() < 1e-6
    # momentum before and after differ by the impulse of the wall's forces
    pushed = trace.contact_force.sum(axis=(0, 1)) * 1e-3
    gained = 10.0 * (velocity[-1] - 1.0)
    assert pushed @ turn[:, 0] == pytest.approx(gained, rel=1e-9)


def test_wall_stops_a_block_on_rough_floor() -> None:
    """With friction the block comes to rest before the wall, and stays."""
    wall = Wall(np.array([1.0, 0, 0.5]), np.array([0.2, 2.0, 1.0]))
    trace = throw(arena(GRIP, walls=(wall,)), np.array([2.0, 0, 0]), 3.0)
    assert trace.q[:, 0].max() < 0.8 + 0.02
    assert np.abs(trace.v[-1]).max() < 1e-7


def test_wall_is_only_where_it_is() -> None:
    """Beside, before and above a wall nothing happens."""
    wall = Wall(np.array([0.5, 1.0, 0.5]), np.array([0.2, 1.0, 1.0]))
    trace = throw(arena(ICE, walls=(wall,)), np.array([1.0, 0, 0]), 1.0)
    assert trace.q[-1, 0] == pytest.approx(1.0, abs=1e-9)


def test_block_stands_on_a_wall() -> None:
    """The top of a wall carries like the floor."""
    wall = Wall(np.array([0, 0, 0.25]), np.array([1.0, 1.0, 0.5]))
    world = arena(GRIP, walls=(wall,))
    engine = NativeEngine(world)
    engine.reset(pose([0, 0, 0.5 + HALF[2] + 0.01]))
    last = engine.advance(idle(world.robot, 3000), every=3000).at(-1)
    assert last.q[2] == pytest.approx(0.5 + HALF[2] - SUNK, abs=1e-8)
    assert last.contact_force.sum(axis=0)[2] == pytest.approx(10.0 * G, rel=1e-6)


def box_momentum(trace: Trace, box: Box, dt: float) -> Array:
    """Return the box's linear momentum from its positions, shape (n - 1, 3)."""
    return box.mass * np.diff(trace.boxes[:, 0, :3], axis=0) / dt


@pytest.mark.parametrize("mass", [0.5, 5.0, 50.0, 200.0])
def test_box_at_rest_stays(mass: float) -> None:
    """A box on the ground sinks in by m g/(4 k), and stays where it is."""
    box = Box(np.array([2.0, 1.0, 0.2]), np.array([0.5, 0.3, 0.4]), mass, 0.4)
    trace = throw(arena(GRIP, boxes=(box,)), np.zeros(3), 8.0)
    assert np.abs(trace.boxes[:, 0, :2] - [2.0, 1.0]).max() < 1e-9
    sunk = mass * G / (4.0 * K)
    assert trace.boxes[-1, 0, 2] == pytest.approx(0.2 - sunk, abs=1e-6 * sunk)
    turn = [0.0, 0.0, np.sin(0.2), np.cos(0.2)]
    assert np.abs(trace.boxes[:, 0, 3:] - turn).max() < 1e-9


@pytest.mark.parametrize("mass", [0.1, 5.0])
@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_light_box_rests_on_stiff_ground(mass: float, dt: float) -> None:
    """A box far too light for the step, k dt² ≫ m, sinks in by m g/(4 k) and rests."""
    k = 1.5e6
    box = Box(np.array([2.0, 0, 0.15]), np.full(3, 0.3), mass)
    engine = NativeEngine(arena(Material(k, 7e3), boxes=(box,)), dt)
    engine.reset(pose([0, 0, HALF[2]]))
    trace = engine.advance(idle(engine.robot, round(3.0 / dt)), round(0.5 / dt))
    sunk = 0.15 - trace.boxes[:, 0, 2]
    assert sunk[-2:] == pytest.approx(mass * G / (4.0 * k), rel=1e-6)


@pytest.mark.parametrize("mass", [0.2, 2.0, 10.0, 200.0])
@pytest.mark.parametrize("dt", [1e-3, 2e-4])
def test_momentum_of_block_and_box(mass: float, dt: float) -> None:
    """On ice, what the block loses the box gains: it has no other to push."""
    half = 0.15
    # it has sunk in already
    centre = np.array([0.5, 0.0, half - mass * G / (4.0 * K)])
    box = Box(centre, np.full(3, 2.0 * half), mass)
    world = arena(ICE, boxes=(box,))
    trace = throw(world, np.array([1.0, 0, 0]), 1.0, dt)
    speed = np.diff(trace.q[:, 0]) / dt
    pushed = box_momentum(trace, box, dt)
    total = 10.0 * speed + pushed[:, 0]
    print(f"box of {mass} kg: {np.abs(total - 10.0).max():.1e} N s of 10")
    assert pushed[-1, 0] > 0.0
    assert np.abs(total - 10.0).max() < 1e-9 * max(1.0, mass)
    assert np.abs(pushed[:, 1]).max() < 1e-9


@pytest.mark.parametrize("mass", [0.2, 2.0, 10.0, 200.0])
@pytest.mark.parametrize("dt", [1e-3, 2e-4])
def test_blow_gains_no_energy(mass: float, dt: float) -> None:
    """Block and box part or go on together, between no and full restitution."""
    centre = np.array([0.5, 0.0, 0.15 - mass * G / (4.0 * K)])
    box = Box(centre, np.full(3, 0.3), mass)
    trace = throw(arena(ICE, boxes=(box,)), np.array([1.0, 0, 0]), 1.0, dt)
    speed = np.diff(trace.q[:, 0]) / dt
    pushed = box_momentum(trace, box, dt)
    energy = 0.5 * 10.0 * speed**2 + 0.5 * pushed[:, 0] ** 2 / mass
    assert energy.max() < 5.0 * (1.0 + 1e-6)
    # they part, or go on together
    assert pushed[-1, 0] / mass >= speed[-1] - 1e-6
    # as the masses say: between no and full restitution
    middle = 10.0 / (10.0 + mass)
    assert middle - 1e-6 <= pushed[-1, 0] / mass <= 2.0 * middle + 1e-6


@pytest.mark.parametrize("mass", [0.2, 2.0, 10.0, 200.0])
def test_block_and_box_in_space(mass: float) -> None:
    """Without gravity and ground, blows keep linear and angular momentum."""
    dt = 1e-3
    box = Box(np.array([0.4, 0.05, 1.06]), np.array([0.3, 0.4, 0.2]), mass, 0.2)
    world = arena(GRIP, boxes=(box,), gravity=0.0)
    engine = NativeEngine(world, dt)
    engine.reset(pose([0, 0, 1.0]), np.array([2.0, 0, 0, 0, 0, 0]))
    trace = engine.advance(idle(world.robot, 500))
    pushed = box_momentum(trace, box, dt)
    total = 10.0 * np.diff(trace.q[:, :3], axis=0) / dt + pushed
    assert pushed[-1, 0] > 0.1  # it was hit
    assert np.abs(total - [20.0, 0.0, 0.0]).max() < 1e-9
    # about the origin: orbit and spin of both
    turns = [
        np.array([pin.Quaternion(row).toRotationMatrix() for row in rows])
        for rows in (trace.q[:, 3:], trace.boxes[:, 0, 3:])
    ]
    spins = [
        np.array([pin.log3(b @ a.T) / dt for a, b in itertools.pairwise(turn)])
        for turn in turns
    ]
    inertias = (np.array(world.robot.model.inertias[1].inertia), box.inertia)
    places = (trace.q[1:, :3], trace.boxes[1:, 0, :3])
    momenta = (total - pushed, pushed)
    angular = np.zeros_like(total)
    for turn, spin, inertia, place, momentum in zip(
        turns, spins, inertias, places, momenta, strict=True
    ):
        in_world = turn[1:] @ inertia @ np.swapaxes(turn[1:], 1, 2)
        angular += np.einsum("nij,nj->ni", in_world, spin) + np.cross(place, momentum)
    drift = np.abs(angular - angular[0]).max() / np.abs(angular[0]).max()
    print(f"angular momentum with a box of {mass} kg: {drift:.1e}")
    assert drift < 2e-3  # first order in dt


def test_box_pushed_on_friction_stops() -> None:
    """A box that was hit slides v²/(2 μ g) and stays there."""
    box = Box(np.array([0.4, 0, 0.15]), np.full(3, 0.3), 5.0)
    trace = throw(arena(GRIP, boxes=(box,)), np.array([3.0, 0, 0]), 3.0)
    place = trace.boxes[:, 0, 0]
    speed = np.gradient(place, 1e-3)
    tilt = np.abs(trace.boxes[:, 0, 3:5]).max(axis=1)
    # it tips, and slides when it is down again
    at = int(np.flatnonzero(tilt > 1e-3)[-1]) + 20
    at = min(at, int(speed.argmax()) + 250)
    wanted = speed[at] ** 2 / (2.0 * 0.5 * G)
    assert place[-1] - place[at] == pytest.approx(wanted, rel=0.05)
    assert np.ptp(place[-500:]) < 1e-6
    assert np.abs(trace.boxes[-1, 0, 2] - 0.15) < 1e-3


def test_box_is_turned_by_a_blow_beside_its_centre() -> None:
    """A blow off the centre turns the box, the way r × F says."""
    box = Box(np.array([0.4, 0.1, 0.15]), np.array([0.3, 0.8, 0.3]), 5.0)
    trace = throw(arena(ICE, boxes=(box,)), np.array([1.0, 0, 0]), 0.4)
    yaw = 2.0 * np.arctan2(trace.boxes[-1, 0, 5], trace.boxes[-1, 0, 6])
    assert yaw > 0.01  # hit at y = ±0.1, its centre is at y = 0.1: r × F is along +z


@pytest.mark.parametrize("mass", [0.3, 3.0, 30.0])
def test_block_stands_on_a_box(mass: float) -> None:
    """A block comes to rest on a box; the ground carries both."""
    box = Box(np.array([0, 0, 0.2]), np.array([0.6, 0.6, 0.4]), mass)
    world = arena(GRIP, boxes=(box,))
    engine = NativeEngine(world)
    engine.reset(pose([0, 0, 0.4 + HALF[2]]))
    trace = engine.advance(idle(world.robot, 5000))
    last = trace.at(-1)
    total = last.contact_force.sum(axis=0)
    assert total[2] == pytest.approx(10.0 * G, rel=1e-5)
    assert last.boxes[0, 2] == pytest.approx(
        0.2 - (10.0 + mass) * G / (4.0 * K), abs=1e-6
    )
    assert np.abs(last.v).max() < 1e-5


@pytest.mark.parametrize("obstacle", ["wall", "box"])
@pytest.mark.parametrize("deeper", [-2e-4, 2e-4])
def test_soles_run_into_what_stands_on_the_ground(obstacle: str, deeper: float) -> None:
    """A foot that touches with its sole alone is stopped by a wall, and kicks a box.

    Sole and block have sunk into the same ground, the one a bit deeper than the other.
    """
    robot = make_block()
    size = np.array([0.3, 1.0, 0.3])
    centre = np.array([0.4, 0.0, 0.15 - SUNK + deeper])
    kind = {
        "wall": {"walls": (Wall(centre, size),)},
        "box": {"boxes": (Box(centre, size, 10.0 * (1.0 - deeper / SUNK)),)},
    }[obstacle]
    world = make_world(robot, contacts=corners(robot), material=ICE, **kind)
    trace = throw(world, np.array([1.0, 0, 0]), 1.0)
    if obstacle == "wall":
        assert trace.q[:, 0].max() < 0.2
        assert trace.v[-1, 0] < 0.0
    else:
        assert trace.boxes[-1, 0, 0] - 0.4 > 0.1
    assert np.abs(trace.q[:, 2] - HALF[2]).max() < 0.02  # not lifted, not pressed down


def test_two_boxes_do_not_mix() -> None:
    """The nearer of two boxes is hit, the other stays."""
    near = Box(np.array([0.4, 0, 0.15]), np.full(3, 0.3), 5.0)
    far = Box(np.array([0.4, 2.0, 0.1]), np.full(3, 0.2), 1.0)
    for boxes, hit in (((near, far), 0), ((far, near), 1)):
        trace = throw(arena(GRIP, boxes=boxes), np.array([3.0, 0, 0]), 1.0)
        moved = np.linalg.norm(trace.boxes[-1, :, :2] - trace.boxes[0, :, :2], axis=1)
        assert moved[hit] > 0.1
        assert moved[1 - hit] < 1e-9
