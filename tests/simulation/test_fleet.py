"""Fleets whose robots differ, are driven on the device, fall, diverge and are reset."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
import warp as wp
from simulation.blocks import (
    SOFT,
    commands,
    corners,
    idle,
    in_the_air,
    make_block,
    make_machine,
    pose,
)

import equipoise as eq
from equipoise.arrays import Array
from equipoise.control.signals import Command
from equipoise.errors import EquipoiseError, NameNotFoundError, ShapeError
from equipoise.kinematics.terrain import Flat, HeightField, Slope, Stairs, rough
from equipoise.robot.inertias import Inertial
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.simulation.contacts import contact_point
from equipoise.simulation.engine import Trace
from equipoise.simulation.falling import time_of_fall
from equipoise.simulation.fleet import Fleet
from equipoise.simulation.fleet_states import FleetResults, FleetState, FleetTrace
from equipoise.simulation.measures import zmp_margin
from equipoise.simulation.native import NativeEngine
from equipoise.simulation.variation import Variation
from equipoise.simulation.world import Box, Push, World, make_world

PARTS = ("q", "v", "a", "torque", "contact_position", "contact_force", "boxes")
DT = 1e-3
TORSO = {"humanoid": "torso", "g1": "torso_link"}
# Two sets of lanes, the second not full.
SIX = 6
# What each case varies, and the worlds that are the same one by one.
Case = tuple[Variation, list[World]]


def pushed_world(robot: eq.Robot, link: str, **options: Any) -> World:
    """Return a world in which the robot is pushed forward, then to the left."""
    pushes = (
        Push(link, np.array([60.0, 0.0, 0.0]), 0.02, 0.05),
        Push(link, np.array([0.0, 40.0, 10.0]), 0.0505, 0.04, np.array([0, 0, 0.1])),
    )
    return make_world(robot, **{"pushes": pushes, **options})


def humanoid_world(**options: Any) -> World:
    """Return the world of a humanoid that is pushed."""
    return pushed_world(eq.load("humanoid"), "torso", **options)


def swinging(robot: eq.Robot, steps: int, count: int | None = None) -> Command:
    """Return servo commands around standing, (steps, nv - 6) or (steps, n, nv - 6)."""
    rng = np.random.default_rng(3)
    held = joint_positions(robot, stance(robot))
    shape = held.shape if count is None else (count, *held.shape)
    wave = np.sin(0.03 * np.arange(steps)).reshape(-1, *(1 for _ in shape))
    position = held + 0.04 * wave * rng.normal(size=shape)
    return Command(position, np.zeros_like(position), np.zeros_like(position))


def stance(robot: eq.Robot) -> Array:
    """Return a standing posture with no joint at its stop.

    Elbows of the humanoid stand at theirs, where rounding decides whether they touch.
    """
    actuation = eq.actuation_of(robot)
    q = np.array(robot.standing)
    q[7:] = np.clip(q[7:], actuation.lower + 0.05, actuation.upper - 0.05)
    return q


def sliding(robot: eq.Robot) -> Array:
    """Return a velocity of the base along x and y, so that the feet slip."""
    v = np.zeros(robot.nv)
    v[:2] = 0.6, 0.2
    return v


def assert_same_bits(
    first: FleetTrace, one: int, second: FleetTrace, other: int
) -> None:
    """Compare the states of two robots in two fleets."""
    for part in PARTS:
        a, b = getattr(first, part)[one], getattr(second, part)[other]
        assert a.shape == b.shape
        assert (a == b).all(), (part, one, other)


def assert_same_results(
    first: FleetResults, one: int, second: FleetResults, other: int
) -> None:
    """Compare what was measured of two robots in two fleets."""
    for item in fields(FleetResults):
        a, b = getattr(first, item.name), getattr(second, item.name)
        if item.name == "stopped":
            a = [(s.time, s.reason) for s in a if s.robot == one]
            b = [(s.time, s.reason) for s in b if s.robot == other]
            assert a == b
        elif a is None:
            assert b is None
        else:
            assert a[one] == b[other], item.name


def assert_close(found: Trace, wanted: Trace, tolerance: float = 1e-9) -> None:
    """Compare one robot of a fleet with an engine, relative to the largest value."""
    for part in PARTS:
        a, b = getattr(found, part), getattr(wanted, part)
        assert a.shape == b.shape
        scale = max(1.0, np.abs(b).max(initial=0.0))
        assert np.abs(a - b).max(initial=0.0) < tolerance * scale, part


# 1. What is varied, one quantity at a time, against one engine a robot.


def with_link(world: World, link: str, inertial: Inertial) -> World:
    """Return a world whose robot has another link; all else stays as it is."""
    return replace(world, robot=world.robot.with_inertials({link: inertial}))


def vary_mass(world: World, link: str) -> Case:
    """Inertia scales with mass."""
    old = world.robot.description.link_by_name[link].inertial
    assert old is not None
    mass = old.mass + np.linspace(0.0, 3.0, SIX) ** 2
    worlds = [
        with_link(
            world,
            link,
            Inertial(m, old.com_in_link, old.inertia_in_link * (m / old.mass)),
        )
        for m in mass
    ]
    return Variation(mass={link: mass}), worlds


def vary_com(world: World, link: str) -> Case:
    """Move the CoM of a link."""
    old = world.robot.description.link_by_name[link].inertial
    assert old is not None
    com = old.com_in_link + 0.02 * np.random.default_rng(1).normal(size=(SIX, 3))
    worlds = [with_link(world, link, replace(old, com_in_link=row)) for row in com]
    return Variation(com={link: com}), worlds


def vary_inertia(world: World, link: str) -> Case:
    """Give a link other principal axes."""
    rng = np.random.default_rng(2)
    old = world.robot.description.link_by_name[link].inertial
    assert old is not None
    inertia = []
    for _ in range(SIX):
        turn = pin.exp3(rng.normal(size=3))
        inertia.append(turn @ np.diag(rng.uniform(0.2, 0.3, 3)) @ turn.T)
    worlds = [
        with_link(world, link, replace(old, inertia_in_link=row)) for row in inertia
    ]
    return Variation(inertia={link: np.array(inertia)}), worlds


def vary_payload(world: World, link: str) -> Case:
    """Give mass, CoM and inertia to a link that has none in the file."""
    assert world.robot.description.link_by_name[link].inertial is None
    rng = np.random.default_rng(4)
    mass, com = rng.uniform(0.5, 2.0, SIX), rng.normal(size=(SIX, 3)) * 0.05
    inertia = np.array([np.diag(row) for row in rng.uniform(0.02, 0.03, (SIX, 3))])
    worlds = [
        with_link(world, link, Inertial(*row))
        for row in zip(mass, com, inertia, strict=True)
    ]
    return Variation(
        mass={link: mass}, com={link: com}, inertia={link: inertia}
    ), worlds


@pytest.mark.parametrize(
    ("vary", "link"),
    [
        (vary_mass, "torso_link"),
        (vary_mass, "pelvis"),  # the root
        (vary_mass, "head_link"),  # merged with the torso by a fixed joint
        (vary_com, "pelvis"),
        (vary_com, "left_rubber_hand"),  # merged with the wrist
        (vary_inertia, "torso_link"),
        (vary_inertia, "head_link"),
        (vary_payload, "mid360_link"),  # merged, turned, without mass in the file
    ],
)
def test_inertias_of_each_robot(
    g1_urdf, vary: Callable[[World, str], Case], link: str
) -> None:
    """Masses, CoMs and inertias of links are those of robots built with them."""
    world = pushed_world(eq.load(g1_urdf), "torso_link")
    check_case(world, *vary(world, link))


def with_material(world: World, **figures: float) -> World:
    """Return a world of another material."""
    return replace(world, material=replace(world.material, **figures))


def vary_static_friction(world: World) -> Case:
    """Dynamic friction keeps its ratio to static friction."""
    base, mu = world.material, np.linspace(0.05, 0.5, SIX)
    ratio = base.dynamic_friction / base.static_friction
    return Variation(static_friction=mu), [
        with_material(world, static_friction=m, dynamic_friction=ratio * m) for m in mu
    ]


def vary_dynamic_friction(world: World) -> Case:
    """Static friction stays."""
    mu = np.linspace(0.0, 0.5, SIX)
    return Variation(dynamic_friction=mu), [
        with_material(world, dynamic_friction=m) for m in mu
    ]


def vary_both_frictions(world: World) -> Case:
    """Each is as given."""
    rest, slip = np.linspace(0.3, 0.9, SIX), np.linspace(0.3, 0.1, SIX)
    return Variation(static_friction=rest, dynamic_friction=slip), [
        with_material(world, static_friction=a, dynamic_friction=b)
        for a, b in zip(rest, slip, strict=True)
    ]


def vary_contact_stiffness(world: World) -> Case:
    """Damping keeps its fraction of critical damping, 2 √(k m)."""
    base = world.material
    factor = np.linspace(0.1, 2.0, SIX)
    return Variation(contact_stiffness=factor * base.stiffness), [
        with_material(
            world, stiffness=f * base.stiffness, damping=np.sqrt(f) * base.damping
        )
        for f in factor
    ]


def vary_contact_damping(world: World) -> Case:
    """Stiffness stays."""
    damping = np.linspace(0.0, 2.0, SIX) * world.material.damping
    return Variation(contact_damping=damping), [
        with_material(world, damping=d) for d in damping
    ]


def with_drives(world: World, **figures: Any) -> World:
    """Return a world of other actuators."""
    return replace(world, actuation=world.actuation.with_parameters(**figures))


def vary_gains(world: World) -> Case:
    """Each joint of each robot has gains of its own."""
    rng = np.random.default_rng(8)
    base = world.actuation
    kp = base.stiffness * rng.uniform(0.3, 1.5, (SIX, len(base.stiffness)))
    kd = base.damping * rng.uniform(0.3, 1.5, kp.shape)
    return Variation(stiffness=kp, damping=kd), [
        with_drives(world, stiffness=a, damping=b) for a, b in zip(kp, kd, strict=True)
    ]


def vary_one_gain(world: World) -> Case:
    """One gain a robot, for all its joints."""
    kp = np.linspace(800.0, 5000.0, SIX)
    return Variation(stiffness=kp[:, None]), [
        with_drives(world, stiffness=gain) for gain in kp
    ]


def vary_delay(world: World) -> Case:
    """Also none at all."""
    delay = DT * np.array([0, 3, 17, 1, 30, 8])
    return Variation(delay=delay), [with_drives(world, delay=d) for d in delay]


def with_pushes(world: World, name: str, rows: Array) -> World:
    """Return a world of other pushes."""
    return replace(
        world,
        pushes=tuple(
            replace(push, **{name: value})
            for push, value in zip(world.pushes, rows, strict=True)
        ),
    )


def vary_push_force(world: World) -> Case:
    """Times stay."""
    force = 60.0 * np.random.default_rng(9).normal(size=(SIX, 2, 3))
    return Variation(push_force=force), [
        with_pushes(world, "force_in_world", rows) for rows in force
    ]


def vary_push_start(world: World) -> Case:
    """Pushes may begin and end within a time step."""
    start = np.random.default_rng(10).uniform(0.0, 0.1, (SIX, 2))
    return Variation(push_start=start), [
        with_pushes(world, "start", rows) for rows in start
    ]


def vary_push_duration(world: World) -> Case:
    """Forces and starts stay."""
    duration = np.random.default_rng(11).uniform(0.0, 0.1, (SIX, 2))
    return Variation(push_duration=duration), [
        with_pushes(world, "duration", rows) for rows in duration
    ]


def vary_terrain(world: World) -> Case:
    """All kinds of ground, one object twice, height fields with two origins."""
    bumps, flat = rough(0.03, 7, flat_radius=0.0, extent=4.0), Flat(-0.004)
    moved = HeightField(bumps.heights[::-1], bumps.cell, bumps.origin + 0.3)
    terrain = [flat, Slope(0.05, -0.02), bumps, flat, moved, Stairs(0.01, 0.1, 4, 0)]
    return Variation(terrain=terrain), [replace(world, terrain=t) for t in terrain]


CASES: list[Callable[[World], Case]] = [
    vary_static_friction,
    vary_dynamic_friction,
    vary_both_frictions,
    vary_contact_stiffness,
    vary_contact_damping,
    vary_gains,
    vary_one_gain,
    vary_delay,
    vary_push_force,
    vary_push_start,
    vary_push_duration,
    vary_terrain,
]


@pytest.mark.parametrize("vary", CASES, ids=lambda vary: vary.__name__)
def test_surroundings_and_actuators_of_each_robot(
    vary: Callable[[World], Case],
) -> None:
    """Contact, actuators, pushes and ground are those of worlds made with them."""
    world = humanoid_world()
    check_case(world, *vary(world))


def check_case(world: World, variation: Variation, worlds: list[World]) -> None:
    """Compare robots of both sets of lanes with an engine in a world of its own."""
    robot = world.robot
    told, v = swinging(robot, 200), sliding(robot)
    q = stance(robot)
    fleet = Fleet(world, SIX, DT, variation=variation)
    fleet.reset(q, v)
    trace = fleet.advance(told, every=4)
    assert fleet.stopped == ()
    for index in (0, 2, 5):
        engine = NativeEngine(worlds[index], DT)
        engine.reset(q, v)
        assert_close(trace.of_robot(index), engine.advance(told, every=4))
    # the variation matters, also between robots in the same lane of two sets
    for one, other in ((0, 2), (1, 5)):
        assert np.abs(trace.q[one] - trace.q[other]).max() > 1e-6


def test_box_is_softer_in_the_worlds_of_softer_contact() -> None:
    """A box is pushed as stiffly as each robot's own contact, not as the first's."""
    robot = make_block()
    world = make_world(
        robot,
        contacts=corners(robot),
        material=SOFT,
        boxes=(Box(np.array([0.3, 0.0, 0.05]), np.array([0.1, 0.4, 0.1]), 3.0),),
    )
    stiffness = np.array([2e4, 1e3, 5e4, 1e4, 4e5, 3e3])
    fleet = Fleet(
        world, SIX, DT, variation=Variation(contact_stiffness=stiffness), falls=False
    )
    q, v = pose([0.0, 0.0, 0.07]), np.array([3.0, 0, 0, 0, 0, 0])
    fleet.reset(q, v)
    trace = fleet.advance(idle(robot, 300), every=10)
    for index in (1, 4, 5):
        factor = stiffness[index] / SOFT.stiffness
        own = with_material(
            world,
            stiffness=stiffness[index],
            damping=np.sqrt(factor) * SOFT.damping,
        )
        engine = NativeEngine(own, DT)
        engine.reset(q, v)
        assert_close(trace.of_robot(index), engine.advance(idle(robot, 300), every=10))
    assert (trace.boxes[:, -1, 0, 0] > 0.32).all()  # it was hit


# 2. Nobody's motion depends on who else is there.


def vary_everything(world: World, count: int) -> Variation:
    """Return a variation of all there is; robot 2 diverges and robot 5 is thrown."""
    rng = np.random.default_rng(12)
    base = world.actuation
    first, second = world.robot.description.links[:2]
    force = rng.normal(size=(count, 2, 3)) * 30.0
    force[2, 1] = 1e14, 0.0, 0.0
    force[5, 0] = -900.0, 100.0, 0.0
    duration = rng.uniform(0.05, 0.15, (count, 2))
    start = rng.uniform(0.05, 0.3, (count, 2))
    start[5, 0], duration[5, 0] = 0.01, 0.2
    bumps = [rough(0.01, seed, flat_radius=0.1, extent=4.0) for seed in (1, 2)]
    ground = [Flat(), Slope(0.03), *bumps]
    assert first.inertial is not None
    assert second.inertial is not None
    inertia = first.inertial.inertia_in_link
    return Variation(
        mass={
            first.name: first.inertial.mass * rng.uniform(0.8, 1.2, count),
            second.name: second.inertial.mass * rng.uniform(0.8, 1.2, count),
        },
        com={
            second.name: second.inertial.com_in_link
            + 0.01 * rng.normal(size=(count, 3))
        },
        inertia={first.name: inertia * rng.uniform(0.9, 1.3, (count, 1, 1))},
        static_friction=rng.uniform(0.5, 1.0, count),
        dynamic_friction=rng.uniform(0.3, 0.5, count),
        contact_stiffness=world.material.stiffness * rng.uniform(0.5, 1.2, count),
        contact_damping=world.material.damping * rng.uniform(0.5, 1.2, count),
        stiffness=base.stiffness * rng.uniform(0.8, 1.2, (count, len(base.stiffness))),
        damping=rng.uniform(0.8, 1.2, (count, 1)) * base.damping,
        delay=DT * rng.integers(0, 8, count),
        push_force=force,
        push_start=start,
        push_duration=duration,
        terrain=[ground[i % 4] for i in rng.permutation(count)],
    )


def furnished() -> World:
    """Return the world of a pushed humanoid with a heavy box at its feet."""
    return humanoid_world(
        boxes=(Box(np.array([0.25, 0.1, 0.1]), np.full(3, 0.2), 20.0, 0.2),)
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_robot_in_a_fleet_is_a_fleet_of_one(dtype: Any) -> None:
    """All that differs at once: each robot's states and results, bit for bit.

    Robot 2 diverges and robot 5 falls; their neighbours in the same lanes do not
    notice, and they themselves are stopped at the same time alone.
    """
    world, count = furnished(), 9
    variation = vary_everything(world, count)
    told = swinging(world.robot, 1000, count)
    reference = np.random.default_rng(1).normal(size=(50, count, 3))

    def go(robots: list[int]) -> tuple[FleetTrace, FleetResults]:
        own = variation.of_robots(robots)
        fleet = Fleet(world, len(robots), DT, variation=own, dtype=dtype)
        fleet.reset(world.robot.standing)
        fleet.measure(reference[:, robots], 0.02)
        parts = Command(*(part[:, robots] for part in told))
        return fleet.advance(parts, every=5), fleet.results()

    together, results = go(list(range(count)))
    reasons = {item.robot: item.reason for item in results.stopped}
    assert reasons[2] == "diverged"
    assert reasons[5] == "fell"
    assert sum(reason == "diverged" for reason in reasons.values()) == 1
    for part in PARTS:
        assert np.isfinite(getattr(together, part)).all(), part
    for index in range(count):
        alone, own = go([index])
        assert_same_bits(together, index, alone, 0)
        assert_same_results(results, index, own, 0)


@pytest.mark.slow
def test_thousand_different_robots_in_one_call(g1_urdf) -> None:
    """A thousand frictions and torso masses; one diverges and is named and masked.

    Ten others are what they are alone, bit for bit.
    """
    robot = eq.load(g1_urdf)
    count, steps, diverging = 1000, 2000, 417
    push = Push("torso_link", np.array([30.0, 10.0, 0.0]), 0.2, 0.2)
    world = make_world(robot, pushes=(push,))
    torso = robot.description.link_by_name["torso_link"].inertial
    assert torso is not None
    force = np.tile(push.force_in_world, (count, 1, 1))
    force[diverging] = 1e14, 0.0, 0.0
    variation = Variation(
        mass={"torso_link": torso.mass * np.linspace(0.8, 1.3, count)},
        static_friction=np.linspace(0.3, 1.0, count),
        push_force=force,
    )
    told = swinging(robot, steps)

    def go(robots: Array) -> tuple[FleetTrace, Fleet]:
        own = variation.of_robots(robots)
        fleet = Fleet(world, len(robots), DT, variation=own, threads=2)
        fleet.reset(robot.standing)
        return fleet.advance(told, every=100), fleet

    together, fleet = go(np.arange(count))
    diverged = [item for item in fleet.stopped if item.reason == "diverged"]
    assert [item.robot for item in diverged] == [diverging]
    assert 0.2 < diverged[0].time < 0.3
    assert f"robot {diverging}" in diverged[0].text
    for part in PARTS:
        assert np.isfinite(getattr(together, part)).all(), part
    assert (together.a[diverging, 2:] == 0.0).all()
    assert (together.contact_force[diverging, 2:] == 0.0).all()
    assert (together.q[diverging, 2:] == together.q[diverging, 1]).all()
    others = [
        0,
        100,
        333,
        diverging - 1,
        diverging + 1,
        diverging + 2,
        500,
        777,
        998,
        999,
    ]
    for index in others:
        alone, _ = go(np.array([index]))
        assert_same_bits(together, index, alone, 0)
    ends = together.q[others, -1]
    assert len(np.unique(ends[:, 0])) == len(others)


# 3. Controllers on the device.


@wp.kernel
def pd_torque(
    q: wp.array2d[wp.float64],
    v: wp.array2d[wp.float64],
    held: wp.array[wp.float64],
    kp: wp.float64,
    kd: wp.float64,
    torque: wp.array2d[wp.float64],
) -> None:
    """Hold joints where they were."""
    robot, joint = wp.tid()
    position, velocity = q[robot, joint + 7], v[robot, joint + 6]
    torque[robot, joint] = kp * (held[joint] - position) - kd * velocity


KP, KD = 120.0, 3.0


def torque_world() -> World:
    """Return a humanoid whose joints get torques, pushed."""
    robot = eq.load("humanoid")
    actuation = eq.actuation_of(robot, "torque")
    return pushed_world(robot, "torso", actuation=actuation)


def numpy_loop(world: World, q: Array, periods: int) -> list[Array]:
    """Return q and v after each control period of five steps, with NumPy's PD."""
    engine = NativeEngine(world, DT)
    state = engine.reset(q)
    held, none = joint_positions(world.robot, q), np.zeros(world.robot.nv - 6)
    rows = []
    for _ in range(periods):
        torque = KP * (held - state.q[7:]) - KD * state.v[6:]
        state = engine.step(Command(none, none, torque), 5)
        rows.append(np.concatenate([state.q, state.v]))
    return rows


def warp_law(held: Array) -> Callable[[FleetState, Command], None]:
    """Launch a kernel that writes into the command."""
    on_device = wp.array(held, dtype=wp.float64, device="cpu")

    def law(state: FleetState, command: Command) -> None:
        inputs = [state.q, state.v, on_device, KP, KD, command.torque]
        wp.launch(pd_torque, dim=command.torque.shape, inputs=inputs, device="cpu")

    return law


def numpy_law(held: Array) -> Callable[[FleetState, Command], Command]:
    """Return arrays of NumPy, one for all robots where they are alike."""

    def law(state: FleetState, command: Command) -> Command:
        q, v = np.from_dlpack(state.q), np.from_dlpack(state.v)
        torque = KP * (held - q[:, 7:]) - KD * v[:, 6:]
        return Command(np.zeros(len(held)), np.zeros(len(held)), torque)

    return law


def in_place_law(held: Array) -> Callable[[FleetState, Command], None]:
    """Write into the command from NumPy."""

    def law(state: FleetState, command: Command) -> None:
        q, v = state.q.numpy(), state.v.numpy()
        command.torque.numpy()[:] = KP * (held - q[:, 7:]) - KD * v[:, 6:]

    return law


def dlpack_law(held: Array) -> Callable[[FleetState, Command], Command]:
    """Return arrays of another library's that has ``__dlpack__``: here Warp's own."""
    buffer = wp.zeros((SIX, len(held)), dtype=wp.float64, device="cpu")
    none = wp.zeros_like(buffer)

    class Foreign:
        def __init__(self, array: Any) -> None:
            self.array = array

        def __dlpack__(self, *arguments: Any, **options: Any) -> Any:
            return self.array.__dlpack__(*arguments, **options)

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    def law(state: FleetState, command: Command) -> Command:
        q, v = state.q.numpy(), state.v.numpy()
        buffer.numpy()[:] = KP * (held - q[:, 7:]) - KD * v[:, 6:]
        return Command(none, Foreign(none), Foreign(buffer))  # type: ignore[arg-type]

    return law


@pytest.mark.parametrize(
    "make_law",
    [warp_law, numpy_law, in_place_law, dlpack_law],
    ids=lambda f: f.__name__,
)
def test_controller_on_the_device(make_law: Callable[[Array], Any]) -> None:
    """One law four ways drives each robot as through an engine, period by period.

    The first command is already computed from the state that robots were reset to.
    """
    world = torque_world()
    robot = world.robot
    q = np.tile(robot.standing, (SIX, 1))
    q[3, 2] += 0.02
    law = make_law(joint_positions(robot, robot.standing))
    seen: list[Array] = []

    def watched(state: FleetState, command: Command) -> Command | None:
        answer: Command | None = law(state, command)
        seen.append(np.hstack([state.q.numpy(), state.v.numpy()]))
        return answer

    fleet = Fleet(world, SIX, DT, control_period=5 * DT)
    fleet.reset(q)
    results = fleet.run(watched, 0.2)
    assert (results.time == 40 * (5 * DT)).all()
    assert results.stopped == ()
    seen.append(np.hstack([fleet.state.q.numpy(), fleet.state.v.numpy()]))
    assert (seen[0][:, : robot.nq] == q).all()
    for index in (0, 3, 5):
        wanted = numpy_loop(world, q[index], 40)
        found = np.array([row[index] for row in seen[1:]])
        scale = max(1.0, np.abs(wanted).max())
        assert np.abs(found - wanted).max() < 1e-9 * scale


def test_state_and_command_share_memory_with_numpy() -> None:
    """On the CPU both are seen by NumPy without a copy; ``.numpy()`` is writable."""
    world = humanoid_world()
    fleet = Fleet(world, 3, DT)
    fleet.reset(world.robot.standing)
    before = np.from_dlpack(fleet.state.q)
    assert (before == world.robot.standing).all()
    fleet.command.velocity.numpy()[1, 2] = 0.5
    assert fleet.command.velocity.numpy()[1, 2] == 0.5
    fleet.step()
    assert (before == fleet.state.q.numpy()).all()
    assert (before[0] != before[1]).any()


DELAYS = np.array([0, 1, 5, 7, 13])


def delayed_machine(mode: str) -> tuple[World, Variation]:
    """Return a joint without load or gravity, and delays of five robots."""
    robot = make_machine("revolute", inertia=0.3)
    return in_the_air(robot, mode, gravity=0.0), Variation(delay=DT * DELAYS)


def arrived(told: list[float], step: int, delay: int, hold: int) -> float:
    """Return the torque that acts in a step: what was told so many steps before."""
    return told[(step - delay) // hold] if step >= delay else 0.0


@pytest.mark.parametrize("hold", [1, 4, 5, 20])
def test_delays_in_a_closed_loop(hold: int) -> None:
    """Torques arrive late by whole steps, also within a control period.

    Against v += dt τ / I, q += dt × the mean of v before and after, with the law
    τ = 1 - 2 q - 0.3 v of what each robot's state was when its command was given.
    """
    world, variation = delayed_machine("torque")
    fleet = Fleet(world, 5, DT, variation=variation, control_period=hold * DT)
    fleet.reset(world.robot.standing)
    periods = 60 // hold

    def law(state: FleetState, command: Command) -> Command:
        q, v = state.q.numpy()[:, 7:], state.v.numpy()[:, 6:]
        return Command(np.zeros(1), np.zeros(1), 1.0 - 2.0 * q - 0.3 * v)

    fleet.run(law, periods * hold * DT)
    found = np.stack([fleet.state.q.numpy()[:, 7], fleet.state.v.numpy()[:, 6]], axis=1)
    for robot, delay in enumerate(DELAYS):
        q = v = 0.0
        told: list[float] = []
        for step in range(periods * hold):
            if step % hold == 0:
                told.append(1.0 - 2.0 * q - 0.3 * v)
            before = v
            v += DT * arrived(told, step, int(delay), hold) / 0.3
            q += 0.5 * DT * (before + v)
        assert np.abs(found[robot] - [q, v]).max() < 1e-12


def test_delays_of_commands_given_at_once() -> None:
    """The same for tables of commands, however they are cut into calls."""
    world, variation = delayed_machine("torque")
    torque = np.random.default_rng(2).normal(size=(60, 5, 1))
    told = Command(np.zeros_like(torque), np.zeros_like(torque), torque)
    for sizes in ([60], [1] * 60, [3, 17, 40]):
        fleet = Fleet(world, 5, DT, variation=variation)
        fleet.reset(world.robot.standing)
        first, traces = 0, []
        for size in sizes:
            part = Command(*(rows[first : first + size] for rows in told))
            traces.append(fleet.advance(part).torque)
            first += size
        found = np.concatenate(traces, axis=1)[..., 0]
        for robot, delay in enumerate(DELAYS):
            wanted = np.concatenate([np.zeros(delay), torque[: 60 - delay, robot, 0]])
            assert np.abs(found[robot] - wanted).max() < 1e-12


def test_steps_are_what_advance_does() -> None:
    """A closed loop that tells a table row by row moves as the table does."""
    world = furnished()
    variation = vary_everything(world, 7)
    told = swinging(world.robot, 300, 7)
    held = Command(*(np.repeat(part[::3], 3, axis=0) for part in told))
    table = Fleet(world, 7, DT, variation=variation)
    table.reset(world.robot.standing)
    trace = table.advance(held, every=3)
    loop = Fleet(world, 7, DT, variation=variation, control_period=3 * DT)
    loop.reset(world.robot.standing)
    for period in range(100):
        loop.set_command(Command(*(part[3 * period] for part in told)))
        loop.step()
        assert (loop.state.q.numpy()[:, : world.robot.nq] == trace.q[:, period]).all()
        force = loop.state.contact_force.numpy()
        assert (force == trace.contact_force[:, period]).all()
    assert loop.stopped == table.stopped
    assert (loop.state.steps.numpy() == table.state.steps.numpy()).all()


def test_state_follows_reset_and_advance() -> None:
    """The state is that of now: after a reset, after commands given at once."""
    world = furnished()
    robot = world.robot
    fleet = Fleet(world, 5, DT)
    q = np.tile(robot.standing, (5, 1))
    q[:, 0] += np.arange(5.0)
    fleet.reset(q, sliding(robot))
    com = np.array([eq.com(robot, row) for row in q])
    # bases are kept half a step ahead, and put back: to rounding
    assert np.abs(fleet.state.q.numpy()[:, : robot.nq] - q).max() < 1e-15
    assert np.abs(fleet.state.v.numpy()[:, : robot.nv] - sliding(robot)).max() < 1e-15
    assert np.abs(fleet.state.com.numpy() - com).max() < 1e-12
    jacobian = eq.com_jacobian(robot, q[0])
    going = fleet.state.com_velocity.numpy()
    assert np.abs(going - jacobian @ sliding(robot)).max() < 1e-12
    engine = NativeEngine(world, DT)
    points = engine.reset(q[2]).contact_position
    assert np.abs(fleet.state.contact_position.numpy()[2] - points).max() < 1e-12
    for name in ("a", "torque", "contact_force"):
        assert not getattr(fleet.state, name).numpy().any()
    trace = fleet.advance(swinging(robot, 20), every=10)
    state = fleet.state
    assert (state.q.numpy()[:, : robot.nq] == trace.q[:, -1]).all()
    assert (state.torque.numpy()[:, : robot.nv - 6] == trace.torque[:, -1]).all()
    assert (state.contact_force.numpy() == trace.contact_force[:, -1]).all()
    assert (state.steps.numpy() == 20).all()
    centre = [eq.com(robot, row) for row in trace.q[:, -1]]
    assert np.abs(state.com.numpy() - centre).max() < 1e-12


# 4. Results.


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_results_are_what_the_host_computes(dtype: Any) -> None:
    """CoM error and ZMP margin at the measured times, torque fraction of all steps.

    Against the trace of an engine, with host code. Robots are turned and away from the
    origin, and each has a push and a moving reference of its own.
    """
    world, periods = humanoid_world(), 60
    robot, count = world.robot, 5
    rng = np.random.default_rng(20)
    q = np.tile(robot.standing, (count, 1))
    for row in q:
        turn = pin.SE3(
            pin.exp3(np.array([0.0, 0.0, rng.uniform(-3, 3)])),
            np.array([*rng.uniform(-1, 1, 2), 0.0]),
        )
        row[:7] = pin.SE3ToXYZQUAT(turn * pin.XYZQUATToSE3(row[:7]))
    force = rng.normal(size=(count, 2, 3)) * 40.0
    start = np.array([eq.com(robot, row) for row in q])
    reference = start + 0.02 * rng.normal(size=(10, count, 3))
    fleet = Fleet(
        world,
        count,
        DT,
        variation=Variation(push_force=force),
        control_period=5 * DT,
        dtype=dtype,
    )
    fleet.reset(q)
    fleet.measure(reference, 0.02)
    results = fleet.run(lambda state, command: None, 5 * DT * periods)
    assert results.stopped == ()
    assert results.com_error_mean is not None
    assert results.com_error_max is not None
    between = []
    for index in range(count):
        own = with_pushes(world, "force_in_world", force[index])
        engine = NativeEngine(own, DT)
        engine.reset(q[index])
        held = commands(robot, 5 * periods, position=joint_positions(robot, q[index]))
        trace = engine.advance(held)
        fraction = np.abs(trace.torque) / own.actuation.torque_limit
        measured = slice(9, None, 10)
        steps = np.arange(1, 5 * periods + 1)[measured]
        wanted_com = reference[np.minimum(steps // 20, 9), index]
        error = np.linalg.norm(
            np.array([eq.com(robot, row) for row in trace.q[measured]]) - wanted_com,
            axis=1,
        )
        margin, supported = zmp_margin(
            trace.contact_position[measured], trace.contact_force[measured]
        )
        assert supported.all()
        assert margin.min() < margin.mean() - 1e-3
        for name, wanted in (
            ("com_error_mean", error.mean()),
            ("com_error_max", error.max()),
            ("zmp_margin_mean", margin.mean()),
            ("zmp_margin_min", margin.min()),
            ("torque_fraction", fraction.max()),
        ):
            found = getattr(results, name)[index]
            tolerance = 1e-9 if dtype is np.float64 else 3e-3
            assert found == pytest.approx(wanted, abs=tolerance), name
        between.append(fraction.max() - fraction[measured].max())
    # measuring torques at every tenth step only would miss the peak
    assert max(between) > 1e-3


def test_results_of_robots_in_the_air() -> None:
    """Where nothing touches there is no margin, without a reference no error."""
    robot = make_machine("revolute")
    fleet = Fleet(in_the_air(robot, gravity=0.0), 3, DT)
    fleet.reset(robot.standing)
    results = fleet.run(lambda state, command: None, 0.1)
    assert results.com_error_mean is None
    assert results.com_error_max is None
    assert (results.zmp_margin_mean == 0.0).all()
    assert (results.zmp_margin_min == 0.0).all()
    assert (results.torque_fraction == 0.0).all()
    fleet.measure(np.zeros((1, 3)))
    fleet.step()
    assert fleet.results().com_error_mean is not None
    fleet.measure()
    fleet.step()
    assert fleet.results().com_error_mean is None


def test_last_row_of_a_reference_holds() -> None:
    """A robot that stays where it is departs from a reference as that moves away."""
    robot = make_machine("revolute")
    fleet = Fleet(in_the_air(robot, gravity=0.0), 2, DT, control_period=0.01)
    fleet.reset(robot.standing)
    centre = fleet.state.com.numpy()[0]
    away = np.array([[0.0, 0, 0], [0.1, 0, 0], [0, 0.3, 0.4]])
    fleet.measure(centre + away, 0.02)
    results = fleet.run(lambda state, command: None, 0.1)
    distance = [0.0, 0.1, 0.1] + 7 * [0.5]
    assert results.com_error_max == pytest.approx(np.full(2, 0.5), abs=1e-9)
    assert results.com_error_mean == pytest.approx(
        np.full(2, np.mean(distance)), abs=1e-9
    )


# 5. Falls and divergence.


def thrown(count: int, **options: Any) -> tuple[World, Variation]:
    """Return humanoids that are pushed from not at all to far too much."""
    world = humanoid_world(**options)
    force = np.zeros((count, 2, 3))
    force[:, 0, 0] = np.linspace(0.0, 900.0, count)
    force[:, 0, 1] = np.linspace(0.0, -200.0, count)
    return world, Variation(push_force=force)


def fall_times(
    fleet: Fleet, worlds: list[World], q: Array, steps: int
) -> list[tuple[float | None, float | None]]:
    """Return when robots fell, in the fleet and by the host's reading of an engine."""
    held = joint_positions(fleet.world.robot, q[0])
    told = commands(fleet.world.robot, steps, position=held)
    fleet.reset(q)
    fleet.advance(told, every=10)
    stopped = {item.robot: item.time for item in fleet.stopped}
    times = []
    for index, world in enumerate(worlds):
        engine = NativeEngine(world, DT)
        engine.reset(q[index])
        trace = engine.advance(told, every=10)
        times.append(
            (stopped.get(index), time_of_fall(world, q[index], trace.time, trace.q))
        )
    return times


def assert_same_falls(times: list[tuple[float | None, float | None]]) -> None:
    """Compare times of falls, at least one."""
    for found, wanted in times:
        assert (found is None) == (wanted is None)
        if wanted is not None:
            assert found == pytest.approx(wanted, abs=1e-9)
    assert any(wanted is not None for _, wanted in times)


def test_falls_are_those_of_the_host() -> None:
    """Robots fall when ``time_of_fall`` says so of the same motion; not all do."""
    world, variation = thrown(5)
    assert variation.push_force is not None
    forces = np.asarray(variation.push_force)
    worlds = [with_pushes(world, "force_in_world", rows) for rows in forces]
    fleet = Fleet(world, 5, DT, variation=variation)
    q = np.tile(world.robot.standing, (5, 1))
    times = fall_times(fleet, worlds, q, 2000)
    assert_same_falls(times)
    assert times[0] == (None, None)
    for item in fleet.stopped:
        assert item.reason == "fell"
        assert item.text == f"robot {item.robot}: fell at {item.time:.4g} s"


def test_falls_of_heavy_robots_are_measured_against_their_own_com() -> None:
    """A robot that is heavy at the top, sinking to its knees, falls later in height.

    The CoM that a fall is measured against is that of the robot as it is.
    """
    world, variation = thrown(4)
    forces = np.asarray(variation.push_force)
    mass = np.array([30.0, 60.0, 90.0, 20.0])
    com = np.tile([0.0, 0.0, 0.6], (4, 1))
    variation = replace(variation, mass={"torso": mass}, com={"torso": com})
    old = world.robot.description.link_by_name["torso"].inertial
    assert old is not None
    worlds = [
        with_link(
            with_pushes(world, "force_in_world", forces[i]),
            "torso",
            Inertial(mass[i], com[i], old.inertia_in_link * mass[i] / old.mass),
        )
        for i in range(4)
    ]
    fleet = Fleet(world, 4, DT, variation=variation)
    q = np.tile(world.robot.standing, (4, 1))
    upright = np.array([eq.com(w.robot, q[0]) for w in worlds])
    found = variation.checked(world, 4).centres_of_mass(world.robot, q)
    assert np.abs(found - upright).max() < 1e-12
    assert_same_falls(fall_times(fleet, worlds, q, 1500))


def test_falls_on_ground_of_their_own() -> None:
    """On a slope, on ground far below and on ground far above, likewise."""
    world, variation = thrown(4)
    forces = np.asarray(variation.push_force)
    forces[:, 0, 0] = 0.0, 800.0, 850.0, 900.0
    ground = [Flat(3.0), Slope(0.1, 0.05), Flat(-2.0), Slope(-0.1)]
    variation = Variation(push_force=forces, terrain=ground)
    worlds = [
        replace(with_pushes(world, "force_in_world", forces[i]), terrain=ground[i])
        for i in range(4)
    ]
    q = np.tile(world.robot.standing, (4, 1))
    q[:, 2] += [3.0, 0.02, -2.0, 0.02]
    fleet = Fleet(world, 4, DT, variation=variation)
    times = fall_times(fleet, worlds, q, 2000)
    assert_same_falls(times)
    assert times[0] == (None, None)
    sloping = replace(world, terrain=Slope(0.1, 0.05))
    all_on_it = Fleet(sloping, 4, DT, variation=Variation(push_force=forces))
    q = np.tile(world.robot.standing, (4, 1))
    q[:, 2] += 0.02
    same = [with_pushes(sloping, "force_in_world", rows) for rows in forces]
    assert_same_falls(fall_times(all_on_it, same, q, 2000))


def test_robots_that_fell_stay_where_they_were() -> None:
    """From the fall on nothing moves, all is finite, and the clock stands still."""
    world, variation = thrown(6)
    fleet = Fleet(world, 6, DT, variation=variation)
    robot = world.robot
    fleet.reset(robot.standing)
    fleet.measure()
    held = commands(robot, 2000, position=joint_positions(robot, robot.standing))
    trace = fleet.advance(held, every=10)
    again = fleet.advance(held, every=10)
    results = fleet.results()
    fell = {item.robot: item.time for item in fleet.stopped}
    assert 1 <= len(fell) < 6
    for index in range(6):
        if index not in fell:
            assert results.time[index] == 4.0
            continue
        assert results.time[index] == fell[index]
        row = round(fell[index] / (10 * DT)) - 1
        assert trace.a[index, row].any()  # the row of the fall itself is as it was
        for part in (trace.q[index, row + 1 :], again.q[index]):
            assert (part == trace.q[index, row]).all()
        for part in (trace.v[index, row + 1 :], again.v[index]):
            assert (part == trace.v[index, row]).all()
        for name in ("a", "torque", "contact_force"):
            assert not getattr(trace, name)[index, row + 1 :].any()
            assert not getattr(again, name)[index].any()
    for part in PARTS:
        assert np.isfinite(getattr(again, part)).all()
    assert (fleet.state.status.numpy()[:, 0] == [i in fell for i in range(6)]).all()


def test_robots_may_lie() -> None:
    """With ``falls=False`` those that fell lie on the ground and go on."""
    world, variation = thrown(5)
    robot = world.robot
    points = (
        *world.contacts,
        *(contact_point(robot, "head", (0, 0, z)) for z in (0,)),
    )
    world = replace(world, contacts=points)
    fleet = Fleet(world, 5, DT, variation=variation, falls=False)
    fleet.reset(robot.standing)
    held = commands(robot, 3000, position=joint_positions(robot, robot.standing))
    trace = fleet.advance(held, every=100)
    q = np.array(robot.standing)
    fell = [time_of_fall(world, q, trace.time, trace.q[i]) for i in range(5)]
    assert fell[0] is None
    assert fell[4] is not None
    assert [item for item in fleet.stopped if item.reason == "fell"] == []
    assert (fleet.state.steps.numpy() == 3000).all()
    assert np.abs(trace.q[4, -1] - trace.q[4, -10]).max() > 0.0


def test_falls_are_measured_against_a_posture_given() -> None:
    """Robots that start crouched are upright only as the posture says."""
    world = humanoid_world()
    robot = world.robot
    low = np.array(robot.standing)
    low[2] -= 0.5 * eq.com(robot, low)[2]
    for upright, count in ((None, 0), (robot.standing, 3)):
        fleet = Fleet(world, 3, DT)
        fleet.reset(low, upright=upright)
        fleet.step()
        assert len(fleet.stopped) == count


def test_robots_that_diverge_stay_where_they_were() -> None:
    """They are held as in the row before, however the steps are cut into calls."""
    world = humanoid_world()
    force = np.zeros((SIX, 2, 3))
    force[1, 0] = 1e14, 0.0, 0.0  # from 0.02 s on
    robot = world.robot
    held = joint_positions(robot, robot.standing)
    ends = []
    for size in (100, 50, 10):
        fleet = Fleet(world, SIX, DT, variation=Variation(push_force=force))
        fleet.reset(robot.standing)
        fleet.measure()
        rows = [
            fleet.advance(commands(robot, size, position=held), every=10)
            for _ in range(100 // size)
        ]
        q = np.concatenate([part.q for part in rows], axis=1)
        assert np.isfinite(q).all()
        assert (q[1, 2:] == q[1, 1]).all()
        assert (q[1, 1] != q[1, 0]).any()
        ends.append(q)
        (stopped,) = fleet.stopped
        assert stopped.robot == 1
        assert stopped.reason == "diverged"
        assert stopped.time == pytest.approx(0.021)
        assert stopped.text.startswith("robot 1: the simulation diverged at 0.021 s")
        assert fleet.results().time[1] == stopped.time
        assert np.isfinite(fleet.state.com.numpy()).all()
        assert np.isfinite(fleet.results().zmp_margin_mean).all()
    assert (ends[0] == ends[1]).all()
    assert (ends[0] == ends[2]).all()


def test_command_that_is_no_number_stops_its_robot_only() -> None:
    """NaN from a controller on the device stops one robot; the others go on."""
    world = humanoid_world()
    fleet = Fleet(world, 5, DT, control_period=0.005)

    def law(state: FleetState, command: Command) -> None:
        if state.steps.numpy()[0] >= 20:
            command.torque.numpy()[3, 4] = np.nan

    fleet.reset(world.robot.standing)
    results = fleet.run(law, 0.1)
    (stopped,) = results.stopped
    assert (stopped.robot, stopped.reason) == (3, "diverged")
    assert stopped.time == pytest.approx(0.021)
    assert results.time == pytest.approx([0.1, 0.1, 0.1, 0.021, 0.1])
    assert np.isfinite(fleet.state.q.numpy()).all()
    assert np.isfinite(results.torque_fraction).all()


# 6. Resets of some robots.


def test_robots_are_reset_while_others_go_on() -> None:
    """Robots 1 and 5 of 7 begin anew as in a fresh fleet; the others notice nothing.

    Bit for bit, with delays, a box, and pushes at each robot's own time; robot 5 fell
    before, robot 2 diverged and stays stopped.
    """
    world, count = furnished(), 7
    robot = world.robot
    variation = vary_everything(world, count)
    told = swinging(robot, 1600, count)
    early, late = (
        Command(*(part[rows] for part in told))
        for rows in (slice(0, 800), slice(800, None))
    )
    q = np.tile(robot.standing, (count, 1))
    q[:, 2] += 0.001 * np.arange(count)

    def make() -> Fleet:
        fleet = Fleet(world, count, DT, variation=variation)
        fleet.reset(robot.standing)
        fleet.measure(np.zeros((1, 3)))
        return fleet

    fleet, untouched, fresh = make(), make(), make()
    fleet.advance(early, every=10)
    assert {item.robot for item in fleet.stopped} >= {2, 5}
    fleet.reset(q, robots=[5, 1])
    state = fleet.state
    assert (state.steps.numpy()[[1, 5]] == 0).all()
    assert (state.q.numpy()[[1, 5], : robot.nq] == q[[1, 5]]).all()
    assert not state.status.numpy()[5].any()
    trace = fleet.advance(late, every=10)

    untouched.advance(early, every=10)
    without = untouched.advance(late, every=10)
    fresh.reset(q)
    anew = fresh.advance(late, every=10)
    for index in range(count):
        other = (anew, fresh) if index in (1, 5) else (without, untouched)
        assert_same_bits(trace, index, other[0], index)
        assert_same_results(fleet.results(), index, other[1].results(), index)
    assert (anew.q[1] != without.q[1]).any()


def test_robots_are_reset_within_a_closed_loop() -> None:
    """The same step by step: commands that wait are forgotten, others' are not."""
    world, count = furnished(), 7
    robot = world.robot
    variation = vary_everything(world, count)
    told = swinging(robot, 200, count)

    def loop(fleet: Fleet, first: int, last: int) -> Array:
        rows = []
        for period in range(first, last):
            fleet.set_command(Command(*(part[period] for part in told)))
            fleet.step(contacts=period % 2 == 1)
            rows.append(fleet.state.q.numpy().copy())
        return np.array(rows)

    def make() -> Fleet:
        fleet = Fleet(world, count, DT, variation=variation, control_period=3 * DT)
        fleet.reset(robot.standing)
        return fleet

    fleet, untouched, fresh = make(), make(), make()
    loop(fleet, 0, 101)  # an odd number: the newest command is anywhere in its ring
    fleet.reset(robot.standing, robots=[1, 5])
    assert np.abs(fleet.state.q.numpy()[1, : robot.nq] - robot.standing).max() == 0.0
    found = loop(fleet, 101, 200)
    wanted = loop(untouched, 0, 200)[101:]
    anew = loop(fresh, 101, 200)
    for index in range(count):
        other = anew if index in (1, 5) else wanted
        assert (found[:, index] == other[:, index]).all(), index


def test_robot_that_diverged_can_be_reset() -> None:
    """Nothing of what was no number is left: not in contacts, not in a full lane.

    The last robot of the fleet, whose lanes are repeated, among them.
    """
    world, count = humanoid_world(), 5
    force = np.zeros((count, 2, 3))
    force[[1, 4], 0] = 1e14, 0.0, 0.0
    fleet = Fleet(world, count, DT, variation=Variation(push_force=force))
    robot = world.robot
    told = swinging(robot, 19)
    for _ in range(2):
        fleet.reset(robot.standing)
        fleet.advance(swinging(robot, 40))
        assert [item.robot for item in fleet.stopped] == [1, 4]
    fleet.reset(robot.standing, robots=[1, 4])
    assert fleet.stopped == ()
    trace = fleet.advance(told)
    fresh = Fleet(world, count, DT, variation=Variation(push_force=force))
    fresh.reset(robot.standing)
    wanted = fresh.advance(told)
    for index in (1, 4):
        assert_same_bits(trace, index, wanted, index)


def test_reset_of_no_robot_changes_nothing() -> None:
    """An empty list is nobody; numbers may come in any order and more than once."""
    world = humanoid_world()
    robot = world.robot
    fleet = Fleet(world, 5, DT)
    fleet.reset(robot.standing)
    fleet.advance(swinging(robot, 10))
    before = fleet.state.q.numpy().copy()
    fleet.reset(robot.standing, robots=[])
    assert (fleet.state.q.numpy() == before).all()
    fleet.reset(robot.standing, robots=[4, 0, 4])
    after = fleet.state.q.numpy()
    assert (after[[0, 4]] == robot.standing).all()
    assert (after[1:4] == before[1:4]).all()
    assert fleet.state.steps.numpy().tolist() == [0, 10, 10, 10, 0]


# 7. Bad input.


BAD_VARIATIONS: list[tuple[Variation, str]] = [
    (
        Variation(static_friction=np.ones(4)),
        r"static_friction has shape \(4,\); \(3,\)",
    ),
    (Variation(mass={"torso": np.ones(2)}), r"mass\['torso'\] has shape \(2,\)"),
    (Variation(mass={"torso": [1.0, 0.0, 1.0]}), r"mass\['torso'\] of robot 1 is 0"),
    (Variation(mass=np.ones(3)), "mass is ndarray; arrays by link name"),  # type: ignore[arg-type]
    (
        Variation(com={"torso": np.ones(3)}),
        r"com\['torso'\] has shape \(3,\); \(3, 3\)",
    ),
    (Variation(inertia={"torso": np.ones((3, 3))}), r"inertia\['torso'\] has shape"),
    (Variation(inertia={"torso": -np.tile(np.eye(3), (3, 1, 1))}), "must be symmetric"),
    (
        Variation(
            inertia={"torso": np.tile([[1, 0.1, 0], [0, 1, 0], [0, 0, 1]], (3, 1, 1))}
        ),
        "must be symmetric",
    ),
    (Variation(static_friction=[0.5, -0.1, 0.5]), "static_friction of robot 1 is -0.1"),
    (Variation(dynamic_friction=[0.5, 0.5, 0.9]), "robot 2 is 0.9, above its static"),
    (Variation(contact_stiffness=[1e5, np.nan, 1e5]), "contact_stiffness of robot 1"),
    (Variation(contact_damping=["a", "b", "c"]), "contact_damping is not an array"),
    (
        Variation(stiffness=np.ones((3, 2))),
        r"stiffness has shape \(3, 2\); \(3, 29\) or",
    ),
    (Variation(damping=np.ones(3)), r"damping has shape \(3,\); \(3, 29\) or \(3, 1\)"),
    (Variation(damping=-np.ones((3, 1))), "damping of robot 0"),
    (Variation(delay=[0.0, 0.1, -0.1]), "delay of robot 2"),
    (
        Variation(delay=[0.0, 0.1, 3600.0]),
        "robot 2 is 3600.0; it must be from 0 to 1 s",
    ),
    (
        Variation(push_force=np.ones((3, 3))),
        r"push_force has shape \(3, 3\); \(3, 2, 3\)",
    ),
    (Variation(push_start=np.full((3, 2), np.inf)), "push_start of robot 0"),
    (Variation(push_duration=-np.ones((3, 2))), "push_duration of robot 0"),
    (Variation(terrain=[Flat()] * 2), "terrain has 2 entries; 3 robots"),
    (
        Variation(
            terrain=[rough(0.1, 1, extent=1.0), Flat(), rough(0.1, 1, extent=2.0)]
        ),
        "height fields .* shapes",
    ),
]


@pytest.mark.parametrize(("variation", "message"), BAD_VARIATIONS)
def test_bad_variations_are_named(variation: Variation, message: str) -> None:
    """What is wrong is named: the field, the link, the robot, what is needed."""
    with pytest.raises(EquipoiseError, match=message):
        Fleet(humanoid_world(), 3, DT, variation=variation)


def test_unknown_links_are_named() -> None:
    """A link that is not there: what there is, and what may have been meant."""
    variation = Variation(com={"torsoo": np.zeros((3, 3))})
    with pytest.raises(NameNotFoundError, match=r"'torsoo' \(did you mean 'torso'\?\)"):
        Fleet(humanoid_world(), 3, DT, variation=variation)


def test_bad_periods_are_named() -> None:
    """A control period or a duration that is no whole number of steps is refused."""
    world = humanoid_world()
    with pytest.raises(EquipoiseError, match=r"control period of 0.0015 s"):
        Fleet(world, 3, DT, control_period=0.0015)
    fleet = Fleet(world, 3, DT, control_period=0.004)
    fleet.reset(world.robot.standing)
    with pytest.raises(EquipoiseError, match=r"duration of 0.01 s"):
        fleet.run(lambda state, command: None, 0.01)
    with pytest.raises(EquipoiseError, match=r"reference period of 0.0025 s"):
        fleet.measure(np.zeros((3, 3)), 0.0025)


def test_bad_commands_are_named() -> None:
    """Commands of a wrong shape or type: which part, and what is needed."""
    world = humanoid_world()
    fleet = Fleet(world, 3, DT)
    fleet.reset(world.robot.standing)
    good = np.zeros((3, 29))
    for bad in (np.zeros(28), np.zeros((2, 29)), np.zeros((3, 1)), np.zeros(()), "a"):
        with pytest.raises(ShapeError, match="command: velocity"):
            fleet.set_command(Command(good, bad, good))  # type: ignore[arg-type]
    for array in (
        wp.zeros((3, 29), dtype=wp.float32, device="cpu"),
        wp.zeros((3, 28), dtype=wp.float64, device="cpu"),
    ):
        with pytest.raises(ShapeError, match=r"command: torque .* float64 are needed"):
            fleet.set_command(Command(good, good, array))
    with pytest.raises(ShapeError, match=r"commands have shape \(5, 2, 29\)"):
        fleet.advance(Command(*np.zeros((3, 5, 2, 29))))
    told = idle(world.robot, 5)
    told.torque[2, 0] = np.nan
    with pytest.raises(ShapeError, match=r"torque of '.*' is nan in row 2"):
        fleet.advance(told)
    with pytest.raises(ShapeError, match="every 2 of 5 steps"):
        fleet.advance(idle(world.robot, 5), every=2)


def test_order_of_calls_is_checked() -> None:
    """Nothing moves before a reset, and nothing was measured before ``measure``."""
    world = humanoid_world()
    fleet = Fleet(world, 3, DT)
    for move in (
        fleet.step,
        lambda: fleet.advance(idle(world.robot, 5)),
        lambda: fleet.run(lambda state, command: pytest.fail("was asked"), 0.1),
    ):
        with pytest.raises(EquipoiseError, match="reset the fleet before moving it"):
            move()
    with pytest.raises(EquipoiseError, match="after all were"):
        fleet.reset(world.robot.standing, robots=[0])
    fleet.reset(world.robot.standing)
    with pytest.raises(EquipoiseError, match="nothing was measured"):
        fleet.results()


def test_bad_resets_are_named() -> None:
    """Robots that are not there, a mask, rows for another number of robots."""
    world = humanoid_world()
    q = world.robot.standing
    fleet = Fleet(world, 3, DT)
    fleet.reset(q)
    for robots in ([3], [-1], [0, 1, 99]):
        with pytest.raises(EquipoiseError, match="numbers from 0 to 2"):
            fleet.reset(q, robots=robots)
    for mask in ([True, False, True], [0.5]):
        with pytest.raises(EquipoiseError, match="flatnonzero"):
            fleet.reset(q, robots=mask)  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="q has 2 rows; 1 or 3 are needed"):
        fleet.reset(np.tile(q, (2, 1)))
    with pytest.raises(ShapeError, match="upright has 2 rows"):
        fleet.reset(q, upright=np.tile(q, (2, 1)))
    with pytest.raises(EquipoiseError):
        fleet.reset(np.full(world.robot.nq, np.nan))


def test_bad_references_are_named() -> None:
    """A CoM reference without rows, of another shape, or with NaN is refused."""
    fleet = Fleet(humanoid_world(), 3, DT)
    for bad in (np.zeros((0, 3)), np.full((1, 3), np.nan)):
        with pytest.raises(ShapeError, match="com_reference: finite"):
            fleet.measure(bad)
    for bad in (np.zeros(3), np.zeros((5, 2)), np.zeros((5, 2, 3))):
        with pytest.raises(ShapeError, match="com_reference has shape"):
            fleet.measure(bad)


def test_delays_do_not_mix_steps_and_tables() -> None:
    """Commands that wait for ``step`` are not seen by ``advance``: this is refused."""
    world, variation = delayed_machine("torque")
    fleet = Fleet(world, 5, DT, variation=variation)
    fleet.reset(world.robot.standing)
    fleet.step()
    with pytest.raises(EquipoiseError, match="moved by step has commands waiting"):
        fleet.advance(idle(world.robot, 5))
    fleet.reset(world.robot.standing)
    fleet.advance(idle(world.robot, 5))
    with pytest.raises(EquipoiseError, match="moved by advance"):
        fleet.step()
    prompt = Fleet(world, 5, DT)
    prompt.reset(world.robot.standing)
    prompt.step()
    prompt.advance(idle(world.robot, 5))
    prompt.step()
    assert (prompt.state.steps.numpy() == 7).all()


def test_robots_without_joints_can_be_told_nothing() -> None:
    """A fleet of blocks runs in a closed loop: commands are empty."""
    robot = make_block()
    world = make_world(robot, contacts=corners(robot), material=SOFT)
    fleet = Fleet(world, 3, DT, falls=False)
    fleet.reset(pose([0, 0, 0.1]))
    empty = np.zeros((3, 0))
    fleet.run(lambda state, command: Command(empty, empty, empty), 0.5)
    assert fleet.state.q.numpy()[:, 2] == pytest.approx(np.full(3, 0.05), abs=2e-3)


# 8. Threads.


def test_threads_do_not_matter_in_closed_loops() -> None:
    """Two threads give the bytes that one gives: states, results, who was stopped."""
    world, count = furnished(), 9
    variation = vary_everything(world, count)
    told = swinging(world.robot, 200, count)
    found = []
    for threads in (1, 2, 3):
        fleet = Fleet(
            world,
            count,
            DT,
            variation=variation,
            control_period=0.004,
            threads=threads,
        )
        fleet.reset(world.robot.standing)
        rows: list[Array] = []

        def law(
            state: FleetState, command: Command, rows: list[Array] = rows
        ) -> Command:
            rows.append(np.hstack([state.q.numpy(), state.v.numpy()]))
            return Command(*(part[len(rows) - 1] for part in told))

        results = fleet.run(law, 0.8)
        fleet.reset(world.robot.standing, robots=[2, 3])
        fleet.step()
        rows.append(np.hstack([fleet.state.q.numpy(), fleet.state.com.numpy()[:, :1]]))
        found.append((rows, results))
    rows, results = found[0]
    assert len(results.stopped) >= 2
    for other, others in found[1:]:
        assert all((a == b).all() for a, b in zip(rows, other, strict=True))
        assert results.stopped == others.stopped
        for index in range(count):
            assert_same_results(results, index, others, index)


def test_rows_of_a_partial_reset_belong_to_the_robots_named() -> None:
    """One row for each robot named, in the order in which they are named."""
    humanoid = eq.load("humanoid")
    fleet = Fleet(make_world(humanoid), 7, falls=False)
    fleet.reset(humanoid.standing)
    q = np.tile(humanoid.standing, (2, 1))
    q[:, 2] += (0.1, 0.2)
    fleet.reset(q, robots=[5, 1])
    heights = fleet.state.q.numpy()[:, 2] - humanoid.standing[2]
    assert heights == pytest.approx([0.0, 0.2, 0.0, 0.0, 0.0, 0.1, 0.0])
    with pytest.raises(ShapeError, match="q has 3 rows; 1, 2 or 7 are needed"):
        fleet.reset(np.tile(humanoid.standing, (3, 1)), robots=[5, 1])


def test_gains_without_servos_and_ground_that_is_none() -> None:
    """What would be ignored is refused."""
    humanoid = eq.load("humanoid")
    torques = make_world(humanoid, actuation=eq.actuation_of(humanoid, "torque"))
    gains = Variation(stiffness=np.full((2, 1), 100.0))
    with pytest.raises(EquipoiseError, match="no joint of this world is in servo mode"):
        Fleet(torques, 2, variation=gains)
    with pytest.raises(EquipoiseError, match="terrain of robot 1 is str"):
        Fleet(torques, 2, variation=Variation(terrain=[Flat(), "flat"]))  # type: ignore[list-item]


@pytest.mark.parametrize("delay", [0.0, 0.004])
def test_robots_begin_again_where_a_start_was_kept(delay: float) -> None:
    """They move from there as all did, bit for bit; the others notice nothing.

    Robot 5, which is not pushed, begins again as itself, robot 1 as robot 4; robot 1
    is pushed again at its own time.
    """
    robot = eq.load("humanoid")
    push = Push("torso", np.array([0.0, 300.0, 0.0]), 0.06, 0.05)
    world, count = make_world(robot, pushes=(push,)), SIX
    mass = {"torso": np.linspace(20.0, 30.0, count)}
    start = np.full((count, 1), 0.06)
    start[5] = 10.0
    late = np.full(count, delay)
    variation = Variation(mass=mass, delay=late, push_start=start)
    held = joint_positions(robot, robot.standing)

    def loop(fleet: Fleet, periods: int) -> Array:
        rows = []
        for period in range(periods):
            swing = held + 0.02 * np.sin(0.2 * np.pi * (period % 10))
            fleet.set_command(Command(swing, 0.0 * swing, 0.0 * swing))
            fleet.step()
            rows.append(np.hstack([fleet.state.q.numpy(), fleet.state.a.numpy()]))
        return np.array(rows)

    def make() -> Fleet:
        fleet = Fleet(world, count, DT, variation=variation, control_period=0.01)
        fleet.reset(robot.standing)
        loop(fleet, 5)
        fleet.keep_start()
        return fleet

    fleet, untouched = make(), make()
    kept = FleetState._make(part.numpy().copy() for part in fleet.state)
    without = loop(untouched, 30)
    assert (loop(fleet, 10) == without[:10]).all()
    fleet.restart(np.array([-1, 4, -1, -1, -1, 5], np.int32))
    for now, then in zip(fleet.state[:8], kept[:8], strict=True):
        assert (now.numpy()[[1, 5]] == then[[4, 5]]).all()
    assert fleet.state.steps.numpy().tolist() == [150, 0, 150, 150, 150, 0]
    found = loop(fleet, 20)
    others = [0, 2, 3, 4]
    assert (found[:, others] == without[10:][:, others]).all()
    assert (found[:, 5] == without[:20, 5]).all()
    speed = np.abs(np.diff(found[:, 1, 1]))
    assert speed[:5].max() < 0.5 * speed[6:].max()
