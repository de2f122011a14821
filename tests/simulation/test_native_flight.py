from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from random_trees import random_states
from simulation.blocks import (
    G,
    assemble,
    commands,
    in_the_air,
    in_world,
    make_block,
    midway_of,
    pose,
    run,
)

import equipoise as eq
from equipoise.arrays import Array, frozen_array
from equipoise.robot.description import Link
from equipoise.robot.inertias import Inertial
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.simulation.native import NativeEngine
from equipoise.simulation.world import Push


def momentum_rates(robot: eq.Robot, q: Array, v: Array, a: Array) -> Array:
    """Return d/dt of the momentum about the CoM, shape (n, 6)."""
    rates = []
    for row in zip(q, v, a, strict=True):
        pin.computeCentroidalMomentumTimeVariation(robot.model, robot.data, *row)
        rates.append(robot.data.dhg.vector.copy())
    return np.array(rates)


@pytest.mark.parametrize("mode", ["torque", "servo", "position"])
def test_momentum_is_kept_at_every_instant(robot: eq.Robot, mode: str) -> None:
    """In flight, d/dt of linear momentum is m g and of angular momentum zero.

    Whatever the drives do: torques are internal. Exactly so with the configuration
    and velocities that a step uses, half of it ahead.
    """
    q, v = random_states(robot, 1, 3)
    rng = np.random.default_rng(0)
    steps = 50
    figures = {"rotor_inertia": 0.02, "viscous_friction": 0.5, "coulomb_friction": 0.3}
    engine = NativeEngine(in_the_air(robot, mode, **figures), 1e-3)
    engine.reset(q[0], v[0])
    held = joint_positions(robot, q[0])
    swing = np.sin(30.0 * 1e-3 * np.arange(1, steps + 1))[:, None]
    told = commands(
        robot,
        steps,
        position=held + 0.1 * swing * rng.normal(size=robot.nv - 6),
        torque=rng.normal(size=robot.nv - 6) * 5.0,
    )
    trace = engine.advance(told)
    told_where = mode == "position"
    states = midway_of(robot, trace, q[0], v[0], prescribed=told_where)
    rates = momentum_rates(robot, *states)
    rates[:, 2] += robot.mass * G
    # sums of forces as large as mass × acceleration are rounded
    scale = robot.mass * max(1.0, np.abs(states[2]).max())
    print(f"{robot.name} {mode}: {np.abs(rates).max() / scale:.1e} of m a")
    assert np.abs(rates).max() < 1e-10 * scale


def drifts(robot: eq.Robot, v: Array, dt: float) -> Array:
    """Return how far momentum and energy go astray in ten seconds without forces.

    The largest errors of linear momentum, of angular momentum about the CoM and of the
    energy, each over its size at the start (of linear momentum: over mass × speed of
    the fastest joint or of the base, as it may be zero).
    """
    rotor = robot.model.armature[6:]
    world = in_the_air(robot, gravity=0.0, rotor_inertia=rotor)
    q = robot.standing
    start = eq.centroidal_momentum(robot, q, v)
    energy = pin.computeKineticEnergy(robot.model, robot.data, q, v)
    trace = run(world, 10.0, q, v, dt=dt, every=round(0.1 / dt))
    off = np.abs(eq.centroidal_momentum(robot, trace.q, trace.v) - start)
    energies = [
        pin.computeKineticEnergy(robot.model, robot.data, *row)
        for row in zip(trace.q, trace.v, strict=True)
    ]
    return np.array(
        [
            off[:, :3].max() / (robot.mass * np.abs(v).max()),
            off[:, 3:].max() / np.linalg.norm(start[3:]),
            np.abs(np.array(energies) / energy - 1.0).max(),
        ]
    )


@pytest.mark.parametrize("name", ["humanoid", "three-link", "g1"])
def test_drift_is_of_second_order(name: str, request: pytest.FixtureRequest) -> None:
    """Over ten seconds without gravity, momentum and energy drift by O(dt²)."""
    source = request.getfixturevalue("g1_urdf") if name == "g1" else name
    robot = eq.load(source)
    v = np.random.default_rng(0).normal(size=robot.nv) * 0.1
    coarse, fine = (drifts(robot, v, dt) for dt in (1e-3, 5e-4))
    ratio = coarse / fine
    print(f"{name}: linear, angular, energy {coarse} at 1 ms, halved: {ratio}")
    assert coarse.max() < 1e-5
    assert np.abs(ratio - 4.0).max() < 0.1


def test_tumbling_humanoid_keeps_energy_and_momentum() -> None:
    """At 3 rad/s with limbs flung about, both stay within 0.1 % for ten seconds."""
    robot = eq.load("humanoid")
    v = np.zeros(robot.nv)
    v[3:6] = 3.0 * np.array([1.0, 2.0, 0.5]) / np.linalg.norm([1.0, 2.0, 0.5])
    found = drifts(robot, v, 1e-3)
    print(f"tumbling: linear, angular, energy {found} at 1 ms")
    assert found.max() < 1e-3


def test_com_falls_as_a_parabola(robot: eq.Robot) -> None:
    """A robot that holds its posture and does not turn falls by the book, exactly.

    A drift by half a step, a change of velocity, and a drift by the other half are
    without error where the acceleration does not change: g t²/2 in every row.
    """
    engine = NativeEngine(in_the_air(robot, "position"), 1e-3)
    engine.reset(robot.standing)
    held = joint_positions(robot, robot.standing)
    trace = engine.advance(commands(robot, 300, position=held))
    fallen = 0.5 * G * trace.time**2
    error = eq.com(robot, trace.q) - eq.com(robot, robot.standing)
    error[:, 2] += fallen
    assert np.abs(error).max() < 1e-11


def test_spinning_block_keeps_axis_of_symmetry() -> None:
    """A block that turns about a principal axis does so for ever."""
    robot = make_block()
    for axis in np.eye(3):
        v = np.concatenate([[0.1, 0.2, 0.3], 3.0 * axis])
        trace = run(in_the_air(robot, gravity=0.0), 2.0, pose([0, 0, 1.0]), v)
        assert np.abs(trace.v[:, 3:] - v[3:]).max() < 1e-12
        turned = pin.Quaternion(trace.q[-1, 3:]).toRotationMatrix()
        assert np.abs(turned - pin.exp3(6.0 * axis)).max() < 1e-11
        # the centre goes straight in the world while base axes turn
        assert np.abs(trace.q[-1, :3] - [0.2, 0.4, 1.6]).max() < 1e-11


def test_tumbling_block_against_fine_steps() -> None:
    """Euler's equations of a block without symmetry, to second order in dt."""
    robot = make_block(half=np.array([0.1, 0.2, 0.35]))
    v = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 0.5])
    inertia = np.diag(robot.model.inertias[1].inertia)

    from scipy.integrate import solve_ivp

    exact = solve_ivp(
        lambda _, w: np.cross(inertia * w, w) / inertia,
        (0.0, 3.0),
        v[3:],
        rtol=1e-11,
        atol=1e-12,
    ).y[:, -1]
    errors = []
    for dt in (2e-3, 1e-3):
        trace = run(in_the_air(robot, gravity=0.0), 3.0, pose([0, 0, 1.0]), v, dt=dt)
        errors.append(np.linalg.norm(trace.v[-1, 3:] - exact))
    print(f"tumbling: {errors[1]:.1e} rad/s at 1 ms")
    assert errors[1] < 1e-5
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.1)


@pytest.mark.parametrize("omega", [(10.0, 20.0, 15.0), (0.3, 5.0, 0.4)])
def test_torque_free_block_keeps_energy_and_momentum(omega: tuple) -> None:
    """Ten seconds of spinning fast, and of flipping over its middle axis.

    Energy and angular momentum, a vector in the world, stay within 0.1 %.
    """
    inertia = np.array([0.1, 0.2, 0.28])
    body = Inertial(1.0, frozen_array(np.zeros(3)), frozen_array(np.diag(inertia)))
    robot = assemble([Link("base", body)], [])
    v = np.array([0.0, 0.0, 0.0, *omega])
    world = in_the_air(robot, gravity=0.0)
    trace = run(world, 10.0, pose([0, 0, 1.0]), v, every=10)
    spin = trace.v[:, 3:]
    momentum = in_world(trace.q, np.hstack([0.0 * spin, inertia * spin]))[:, 3:]
    start = inertia * omega
    off = np.linalg.norm(momentum - start, axis=1).max() / np.linalg.norm(start)
    energy = (inertia * spin**2).sum(axis=1) / (start @ np.array(omega)) - 1.0
    print(f"{omega}: momentum {off:.1e}, energy {np.abs(energy).max():.1e}")
    assert off < 1e-3
    assert np.abs(energy).max() < 1e-3


@pytest.mark.parametrize(
    ("start", "duration"), [(0.05, 0.1), (0.1, 0.2), (0.0, 0.3), (0.1, 0.0105)]
)
@pytest.mark.parametrize("launches", [1, 7])
def test_push_gives_its_impulse(start: float, duration: float, launches: int) -> None:
    """Change of momentum is force × duration, however steps and launches fall."""
    robot = make_block()
    force = np.array([30.0, -20.0, 10.0])
    world = in_the_air(
        robot, gravity=0.0, pushes=(Push("base", force, start, duration),)
    )
    engine = NativeEngine(world, 1e-3)
    engine.reset(pose([0, 0, 1.0]))
    for _ in range(launches):
        trace = engine.advance(commands(robot, 490 // launches))
    gained = robot.mass * trace.v[-1, :3]
    assert np.abs(gained - force * duration).max() < 1e-9
    assert np.abs(trace.v[-1, 3:]).max() < 1e-12


def test_push_beside_the_centre_turns(g1_urdf) -> None:
    """A push changes linear and angular momentum by r × F, on any link."""
    robot = eq.load(g1_urdf)
    link = robot.soles["left"].link
    force = np.array([5.0, 3.0, -4.0])
    point = np.array([0.1, 0.02, -0.03])
    world = in_the_air(robot, gravity=0.0, pushes=(Push(link, force, 0.0, 1.0, point),))
    q, v = robot.standing, np.zeros(robot.nv)
    trace = run(world, 0.001, q, v)
    states = midway_of(robot, trace, q, v)
    place = eq.frame_pose(robot, q, link) @ [*point, 1.0]
    arm = place[:3] - eq.com(robot, q)
    rate = momentum_rates(robot, *states)[0]
    assert np.abs(rate - [*force, *np.cross(arm, force)]).max() < 1e-9


def test_push_has_left_no_trace_after_reset() -> None:
    """Resetting begins anew: time, state, pushes; the same bytes come out."""
    robot = make_block()
    world = in_the_air(robot, pushes=(Push("base", np.ones(3), 0.01, 0.05),))
    engine = NativeEngine(world)
    runs = []
    for _ in range(2):
        engine.reset(pose([0, 0, 1.0]))
        runs.append(engine.advance(commands(robot, 100)))
    assert (runs[0].q == runs[1].q).all()
    assert runs[1].time[0] == pytest.approx(1e-3)
