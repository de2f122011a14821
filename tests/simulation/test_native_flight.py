from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from random_trees import random_states
from simulation.blocks import (
    G,
    commands,
    in_the_air,
    make_block,
    pose,
    run,
    start_axes,
)

import equipoise as eq
from equipoise.arrays import Array
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.simulation.engine import Trace
from equipoise.simulation.native import NativeEngine
from equipoise.simulation.world import Push


def momentum_rates(robot: eq.Robot, q: Array, v: Array, a: Array) -> Array:
    """Return d/dt of the momentum about the CoM, shape (n, 6)."""
    rates = []
    for row in zip(q, v, a, strict=True):
        pin.computeCentroidalMomentumTimeVariation(robot.model, robot.data, *row)
        rates.append(robot.data.dhg.vector.copy())
    return np.array(rates)


def with_start(trace: Trace, q: Array, v: Array) -> tuple[Array, Array, Array]:
    """Return states before each step of a trace, and accelerations in their axes."""
    before = np.vstack([q, trace.q[:-1]])
    return (
        before,
        np.vstack([v, trace.v[:-1]]),
        start_axes(before, trace.q, trace.a),
    )


@pytest.mark.parametrize("mode", ["torque", "servo", "position"])
def test_momentum_is_kept_at_every_instant(robot: eq.Robot, mode: str) -> None:
    """In flight, d/dt of linear momentum is m g and of angular momentum zero.

    Whatever the drives do: torques are internal.
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
    states = with_start(engine.advance(told), q, v)
    rates = momentum_rates(robot, *states)
    rates[:, 2] += robot.mass * G
    # sums of forces as large as mass × acceleration are rounded
    scale = robot.mass * max(1.0, np.abs(states[2]).max())
    print(f"{robot.name} {mode}: {np.abs(rates).max() / scale:.1e} of m a")
    assert np.abs(rates).max() < 1e-10 * scale


@pytest.mark.parametrize("name", ["humanoid", "three-link", "g1"])
def test_drift_is_of_first_order(name: str, request: pytest.FixtureRequest) -> None:
    """Over ten seconds without gravity, momentum and energy drift by O(dt)."""
    source = request.getfixturevalue("g1_urdf") if name == "g1" else name
    robot = eq.load(source)
    rotor = robot.model.armature[6:]
    world = in_the_air(robot, gravity=0.0, rotor_inertia=rotor)
    v = np.random.default_rng(0).normal(size=robot.nv) * 0.1
    q = robot.standing
    start = eq.centroidal_momentum(robot, q, v)
    energy = pin.computeKineticEnergy(robot.model, robot.data, q, v)
    drifts = []
    for dt in (1e-3, 5e-4):
        trace = run(world, 10.0, q, v, dt=dt, every=round(0.1 / dt))
        now = eq.centroidal_momentum(robot, trace.q, trace.v)
        energies = [
            pin.computeKineticEnergy(robot.model, robot.data, *row)
            for row in zip(trace.q, trace.v, strict=True)
        ]
        drifts.append(
            [
                np.abs(now - start)[:, :3].max() / np.linalg.norm(start[:3]),
                np.abs(now - start)[:, 3:].max() / np.linalg.norm(start[3:]),
                np.abs(np.array(energies) / energy - 1.0).max(),
            ]
        )
    ratio = np.array(drifts[0]) / drifts[1]
    print(f"{name}: linear, angular, energy {drifts[0]} at 1 ms, halved: {ratio}")
    assert np.max(drifts[0]) < 0.05
    assert np.abs(ratio - 2.0).max() < 0.3


def test_com_falls_as_a_parabola(robot: eq.Robot) -> None:
    """A robot that holds its posture and does not turn falls by the book.

    Semi-implicit Euler is ahead of g t²/2 by g t dt/2, exactly.
    """
    engine = NativeEngine(in_the_air(robot, "position"), 1e-3)
    engine.reset(robot.standing)
    held = joint_positions(robot, robot.standing)
    trace = engine.advance(commands(robot, 300, position=held))
    fallen = 0.5 * G * trace.time * (trace.time + 1e-3)
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
    """Euler's equations of a block without symmetry, to first order in dt."""
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
    for dt in (1e-3, 5e-4):
        trace = run(in_the_air(robot, gravity=0.0), 3.0, pose([0, 0, 1.0]), v, dt=dt)
        errors.append(np.linalg.norm(trace.v[-1, 3:] - exact))
    print(f"tumbling: {errors[0]:.1e} rad/s at 1 ms")
    assert errors[0] < 0.02
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)


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
    states = with_start(trace, q[None], v[None])
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
