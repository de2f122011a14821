from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from simulation.blocks import (
    G,
    commands,
    in_the_air,
    make_machine,
    midway_of,
    run,
)

import equipoise as eq
from equipoise.arrays import Array
from equipoise.kinematics.terrain import Slope
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.simulation.actuation import actuation_of
from equipoise.simulation.engine import Trace
from equipoise.simulation.native import NativeEngine
from equipoise.simulation.start import stance_on
from equipoise.simulation.world import make_world

DT = 1e-3
MASS, INERTIA = 2.0, 0.3


@pytest.fixture(scope="module")
def machine() -> eq.Robot:
    """A joint that turns and one that slides, on a base that nothing moves."""
    return make_machine("revolute", "prismatic", mass=MASS, inertia=INERTIA)


def spin(
    robot: eq.Robot,
    seconds: float,
    mode: str = "torque",
    *,
    v: Array | float = 0.0,
    told: dict[str, Any] | None = None,
    dt: float = DT,
    **figures: Any,
) -> Trace:
    """Return the motion of a machine without gravity."""
    start = np.zeros(robot.nv)
    start[6:] = v
    world = in_the_air(robot, mode, gravity=0.0, **figures)
    command = commands(robot, round(seconds / dt), **(told or {}))
    return run(world, seconds, robot.standing, start, dt=dt, told=command)


def positions(robot: eq.Robot, trace: Trace) -> Array:
    """Return joint positions over time."""
    return joint_positions(robot, trace.q)


def test_rotor_inertia_adds_to_the_joint(machine: eq.Robot) -> None:
    """A free joint accelerates by torque / (inertia + rotor inertia)."""
    trace = spin(machine, 0.1, told={"torque": [3.0, -5.0]}, rotor_inertia=0.2)
    wanted = [3.0 / (INERTIA + 0.2), -5.0 / (MASS + 0.2)]
    assert np.abs(trace.a[:, 6:] - wanted).max() < 1e-9
    assert np.abs(trace.v[-1, 6:] - 0.1 * np.array(wanted)).max() < 1e-9
    assert np.abs(trace.torque - [3.0, -5.0]).max() < 1e-12


def test_disturbance_is_a_torque_nobody_commanded(machine: eq.Robot) -> None:
    """A disturbance moves the joint as a torque would, and is no torque."""
    trace = spin(machine, 0.1, disturbance=[0.6, 4.0])
    assert np.abs(trace.a[:, 6:] - [2.0, 2.0]).max() < 1e-9
    assert np.abs(trace.torque).max() == 0.0


def test_viscous_friction_slows_by_its_time_constant(machine: eq.Robot) -> None:
    """Without torque the speed fades as exp(-b t/J), to O(dt)."""
    errors = []
    for dt in (1e-3, 5e-4):
        trace = spin(machine, 0.5, v=[2.0, 3.0], viscous_friction=[1.5, 10.0], dt=dt)
        exact = np.array([2.0, 3.0]) * np.exp(-5.0 * trace.time[:, None])
        errors.append(np.abs(trace.v[:, 6:] - exact).max())
    assert errors[0] < 5e-3
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.05)


def test_coulomb_friction_slows_evenly_and_stops(machine: eq.Robot) -> None:
    """Dry friction takes speed off evenly; then the joint stops, and stays.

    Bristles that bend by 1e-4 swing for a while before they rest.
    """
    figures = {"coulomb_friction": [0.6, 4.0], "static_friction": [0.6, 4.0]}
    trace = spin(machine, 6.0, v=[1.0, -1.0], **figures)
    moving = trace.time < 0.45
    exact = np.array([1.0, -1.0]) * (1.0 - 2.0 * trace.time[moving, None])
    assert np.abs(trace.v[moving, 6:] - exact).max() < 2.0 * 2.0 * DT
    stopped, late = trace.time > 0.6, trace.time > 5.0
    assert np.ptp(positions(machine, trace)[stopped], axis=0).max() < 2e-4
    assert np.ptp(positions(machine, trace)[late], axis=0).max() < 1e-12
    assert np.abs(trace.v[late, 6:]).max() < 1e-12
    gone = positions(machine, trace)[-1]
    assert np.abs(gone - [0.25, -0.25]).max() < 2e-3


def test_stiction_holds_below_its_limit_and_not_above(machine: eq.Robot) -> None:
    """Below the static friction a joint stays, to the bend of its bristles."""
    figures = {"coulomb_friction": 0.5, "static_friction": 1.0}
    for factor, moves in ((0.9, False), (-0.9, False), (1.1, True), (-1.1, True)):
        # the torque comes up slowly: a step of torque overshoots
        seconds = 3.0 if moves else 12.0
        ramp = np.minimum(np.arange(1.0, 1e3 * seconds + 1.0) / 1000.0, 1.0)
        told = {"torque": factor * ramp[:, None]}
        trace = spin(machine, seconds, told=told, **figures)
        gone = np.abs(positions(machine, trace)[-1])
        if moves:
            assert gone.min() > 0.05
            wanted = (abs(factor) - 0.5) / np.array([INERTIA, MASS])
            speed = np.abs(trace.v[:, 6:])
            fast = speed.min(axis=1) > 0.2
            # Stribeck: friction falls towards Coulomb's
            rest = (1.0 - 0.5) / (1.0 + (speed[fast] / 0.05) ** 2)
            found = np.abs(trace.a[fast][:, 6:]) + rest / np.array([INERTIA, MASS])
            assert np.abs(found / wanted - 1.0).max() < 0.02
        else:
            bend = 1e-4 * abs(factor)
            assert gone == pytest.approx([bend, bend], rel=1e-6)
            late = trace.time > 11.0
            assert np.ptp(positions(machine, trace)[late], axis=0).max() < 1e-12


@pytest.mark.parametrize("speed", [0.01, 0.05, 0.2, 1.0])
def test_stribeck_curve(machine: eq.Robot, speed: float) -> None:
    """At a speed that is held, the torque is the friction of that speed."""
    figures = {"coulomb_friction": 1.0, "static_friction": 1.6, "viscous_friction": 0.5}
    for sign in (1.0, -1.0):
        told = {"velocity": sign * speed}
        trace = spin(machine, 1.0, "velocity", told=told, **figures)
        assert np.abs(trace.v[5:, 6:] - sign * speed).max() < 1e-12
        wanted = sign * (1.0 + 0.6 / (1.0 + (speed / 0.05) ** 2) + 0.5 * speed)
        assert trace.torque[-1] == pytest.approx([wanted, wanted], rel=1e-9)


def test_torque_limit(machine: eq.Robot) -> None:
    """A drive gives no more than its limit, in torque mode and as a servo."""
    limit = np.array([2.0, 3.0])
    trace = spin(machine, 0.1, told={"torque": [50.0, -50.0]}, torque_limit=limit)
    assert np.abs(trace.torque - [2.0, -3.0]).max() < 1e-12
    assert np.abs(trace.a[:, 6:] - [2.0 / INERTIA, -3.0 / MASS]).max() < 1e-9
    told = {"position": [1.0, -1.0]}
    gains = {"stiffness": 1e4, "damping": 100.0}
    trace = spin(machine, 3.0, "servo", told=told, torque_limit=limit, **gains)
    assert (np.abs(trace.torque) <= limit * (1.0 + 1e-12)).all()
    assert np.abs(trace.torque).max(axis=0) == pytest.approx(limit)


@pytest.mark.parametrize("name", ["g1", "humanoid"])
def test_torque_limit_of_a_robot(name: str, request: pytest.FixtureRequest) -> None:
    """No drive of a robot that is dropped and thrashes exceeds its limit, ever."""
    robot = eq.load(request.getfixturevalue("g1_urdf") if name == "g1" else name)
    limit = 15.0
    world = make_world(robot, actuation=actuation_of(robot, torque_limit=limit))
    engine = NativeEngine(world)
    q = robot.standing.copy()
    q[2] += 0.05
    engine.reset(q)
    swing = 0.3 * np.sin(25.0 * DT * np.arange(1000.0))[:, None]
    held = joint_positions(robot, q)
    trace = engine.advance(commands(robot, 1000, position=held + swing))
    excess = np.abs(trace.torque).max() / limit - 1.0
    count = (np.abs(trace.torque) > limit * (1.0 + 1e-9)).sum()
    print(f"{name}: {excess:.1e} beyond the limit, {count} times")
    assert excess < 1e-9


def test_speed_limit(machine: eq.Robot) -> None:
    """Above its speed limit a drive pushes no more, but may brake."""
    limit = np.array([1.0, 2.0])
    told = {"torque": [3.0, 20.0]}
    trace = spin(machine, 2.0, told=told, velocity_limit=limit)
    over = limit + np.array([3.0 / INERTIA, 20.0 / MASS]) * DT
    assert (trace.v[:, 6:] <= over + 1e-12).all()
    assert (trace.v[-1, 6:] >= limit).all()
    # what brakes still works
    braked = spin(
        machine, 0.1, v=2.0 * limit, told={"torque": -1.0}, velocity_limit=limit
    )
    assert np.abs(braked.torque + 1.0).max() < 1e-12


@pytest.mark.parametrize("steps", [0, 1, 7])
@pytest.mark.parametrize("launches", [1, 4])
def test_delay_is_exact(machine: eq.Robot, steps: int, launches: int) -> None:
    """Commands arrive n steps late, whatever the launches."""
    world = in_the_air(machine, gravity=0.0, delay=steps * DT)
    engine = NativeEngine(world, DT)
    engine.reset(machine.standing)
    told = np.random.default_rng(0).normal(size=(40, 2))
    parts = []
    for rows in np.split(told, launches):
        command = commands(machine, len(rows), torque=rows)
        parts.append(engine.advance(command).torque)
    found = np.vstack(parts)
    wanted = np.vstack([np.zeros((steps, 2)), told])[:40]
    assert np.abs(found - wanted).max() < 1e-12


def test_delayed_servo_holds_where_it_was(machine: eq.Robot) -> None:
    """Before the first command arrives, a servo holds the joints where they are."""
    q = machine.standing.copy()
    q[7:] = [0.3, -0.2]
    world = in_the_air(machine, "servo", gravity=0.0, delay=0.05, stiffness=1e3)
    trace = run(world, 0.05, q, told=commands(machine, 50, position=1.0))
    assert np.abs(positions(machine, trace) - q[7:]).max() < 1e-12


def test_servo_is_a_spring_and_damper(machine: eq.Robot) -> None:
    """A servo swings as kp and kd say, to O(dt)."""
    errors = []
    for dt in (1e-3, 5e-4):
        gains = {"stiffness": [30.0, 200.0], "damping": [0.6, 4.0]}
        trace = spin(machine, 1.0, "servo", told={"position": 0.5}, dt=dt, **gains)
        wild, fade = 10.0, 1.0  # sqrt(kp/J), kd/(2 J), both joints
        turn = np.sqrt(wild**2 - fade**2)
        wave = np.cos(turn * trace.time) + fade / turn * np.sin(turn * trace.time)
        exact = 0.5 * (1.0 - np.exp(-fade * trace.time) * wave)
        errors.append(np.abs(positions(machine, trace) - exact[:, None]).max())
    print(f"servo: {errors[0]:.1e} rad at 1 ms")
    assert errors[0] < 5e-3
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize("kp", [1e5, 1e7, 1e9])
@pytest.mark.parametrize("kd", [0.0, 1e3, 1e6])
def test_absurd_gains_are_stable(machine: eq.Robot, kp: float, kd: float) -> None:
    """Gains far beyond what dt can follow: the joint gets there and stays."""
    gains = {"stiffness": kp, "damping": kd}
    trace = spin(machine, 2.0, "servo", told={"position": 0.3}, **gains)
    assert np.isfinite(trace.q).all()
    assert np.abs(positions(machine, trace)).max() < 0.7
    if kd <= 1e3:  # with more it creeps there by kd/kp
        assert np.abs(positions(machine, trace)[-1] - 0.3).max() < 1e-4


def test_absurd_gains_on_a_robot(g1_urdf) -> None:
    """G1 with kp of 1e7 on all joints stands at 1 ms."""
    robot = eq.load(g1_urdf)
    drives = actuation_of(robot, stiffness=1e7, damping=1e3, torque_limit=np.inf)
    engine = NativeEngine(make_world(robot, actuation=drives))
    engine.reset(robot.standing)
    held = joint_positions(robot, robot.standing)
    trace = engine.advance(commands(robot, 2000, position=held), every=10)
    assert np.abs(positions(robot, trace) - held).max() < 1e-4
    assert trace.contact_force[-1, :, 2].sum() == pytest.approx(
        robot.mass * G, rel=1e-5
    )


def test_stops_hold(machine: eq.Robot) -> None:
    """A joint driven against its stop rests there, sunk in by a·T² (T = 5 ms)."""
    told = {"torque": [3.0, -20.0]}
    trace = spin(machine, 2.0, told=told, lower=-0.2, upper=0.2)
    found = positions(machine, trace)
    assert np.abs(found[-1] - [0.2, -0.2]).max() < 10.0 * 0.005**2 * 1.1
    assert np.abs(found).max() < 0.21
    assert np.abs(trace.v[-1, 6:]).max() < 1e-9
    # without a drive it stays inside or comes to rest at the stop, and never gains
    free = spin(machine, 2.0, v=[3.0, -3.0], lower=-0.2, upper=0.2)
    assert np.abs(positions(machine, free)).max() < 0.23
    assert np.abs(free.v[:, 6:]).max() <= 3.0 + 1e-12


@pytest.mark.parametrize("dt", [1e-3, 5e-3])
def test_robot_with_knees_at_their_stops_rests(g1_urdf, dt: float) -> None:
    """G1 on a slope, its knees told to be at their stops, comes to rest.

    Whether a stop pushes is decided at the end of a step: decided at its beginning, the
    knees would leave and meet their stops in turn for ever.
    """
    robot = eq.load(g1_urdf)
    ground = Slope(np.radians(5.0), np.radians(2.0))
    q = stance_on(ground, robot)
    engine = NativeEngine(make_world(robot, ground), dt)
    engine.reset(q)
    told = commands(robot, round(12.0 / dt), position=joint_positions(robot, q))
    trace = engine.advance(told)
    late = trace.time > 11.9
    lower = engine.world.actuation.lower
    assert (joint_positions(robot, q) - lower).min() < 1e-6  # some joint is at its stop
    assert np.abs(trace.v[late]).max() < 1e-6


def test_position_mode_is_exact(robot: eq.Robot) -> None:
    """Joints are where they are told to be, and torques are inverse dynamics'.

    In free flight, with the base's own acceleration, Pinocchio's RNEA needs no force
    on the base and the torques that the trace says, where and as fast as the step has
    the robot.
    """
    rng = np.random.default_rng(1)
    steps = 60
    start = joint_positions(robot, robot.standing)
    time = DT * np.arange(1, steps + 1)[:, None]
    told = start + 0.2 * (1.0 - np.cos(8.0 * time)) * rng.uniform(-1, 1, robot.nv - 6)
    rotor = robot.model.armature[6:]
    world = in_the_air(robot, "position", rotor_inertia=rotor)
    engine = NativeEngine(world, DT)
    engine.reset(robot.standing)
    trace = engine.advance(commands(robot, steps, position=told))
    error = positions(robot, trace) - told
    assert np.abs((error + np.pi) % (2.0 * np.pi) - np.pi).max() < 1e-12
    q, v, a = midway_of(
        robot, trace, robot.standing, np.zeros(robot.nv), prescribed=True
    )
    model = pin.Model(robot.model)
    model.gravity.linear = np.array([0.0, 0.0, -G])
    data = model.createData()
    needed = np.array(
        [pin.rnea(model, data, *row) for row in zip(q, v, a, strict=True)]
    )
    scale = max(1.0, np.abs(needed).max())
    assert np.abs(needed[:, :6]).max() < 1e-9 * scale
    assert np.abs(needed[:, 6:] - trace.torque).max() < 1e-9 * scale


@pytest.mark.parametrize("mode", ["position", "servo"])
def test_torques_while_standing(g1_urdf, mode: str) -> None:
    """At rest, torques are what inverse dynamics with the ground's forces asks for."""
    robot = eq.load(g1_urdf)
    drives = actuation_of(robot, mode, coulomb_friction=0.0, static_friction=0.0)
    world = make_world(robot, actuation=drives)
    engine = NativeEngine(world)
    engine.reset(robot.standing)
    held = joint_positions(robot, robot.standing)
    last = engine.advance(commands(robot, 4000, position=held), every=4000).at(-1)
    model, data = pin.Model(robot.model), robot.data
    model.gravity.linear = np.array([0.0, 0.0, -G])
    zero = np.zeros(robot.nv)
    needed = pin.rnea(model, data, last.q, zero, zero)
    pin.computeJointJacobians(model, data, last.q)
    pin.updateFramePlacements(model, data)
    points = zip(world.contacts, last.contact_position, last.contact_force, strict=True)
    for point, place, force in points:
        frame = robot.frame_id(point.link)
        jacobian = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
        arm = place - data.oMf[frame].translation
        needed -= jacobian.T @ np.concatenate([force, np.cross(arm, force)])
    assert np.abs(needed[:6]).max() < 1e-5
    assert np.abs(needed[6:] - last.torque).max() < 1e-5


def test_velocity_mode_is_exact(machine: eq.Robot) -> None:
    """Joints have the velocity commanded at the end of each step."""
    told = np.random.default_rng(0).normal(size=(100, 2))
    trace = spin(machine, 0.1, "velocity", told={"velocity": told})
    assert np.abs(trace.v[:, 6:] - told).max() < 1e-12
    assert np.abs(positions(machine, trace)[-1] - DT * told.sum(axis=0)).max() < 1e-12


def test_modes_mix(machine: eq.Robot) -> None:
    """Each joint has its own mode."""
    drives = in_the_air(machine).actuation.with_parameters(mode=np.array([2, 0]))
    world = make_world(
        machine,
        contacts=(),
        material=in_the_air(machine).material,
        actuation=drives,
        gravity=0.0,
    )
    told = commands(machine, 100, position=0.1, torque=[7.0, 4.0])
    trace = run(world, 0.1, machine.standing, told=told)
    assert np.abs(positions(machine, trace)[:, 0] - 0.1).max() < 1e-12
    assert np.abs(trace.a[:, 7] - 2.0).max() < 1e-9


def test_continuous_joints_turn_without_end() -> None:
    """A joint without limits can be driven round and round, as a servo too."""
    robot = make_machine("continuous")
    angle = np.linspace(0.0, 20.0, 2001)[1:, None]
    trace = spin(robot, 2.0, "position", told={"position": angle})
    found = np.unwrap(joint_positions(robot, trace.q), axis=0)
    assert np.abs(found - angle).max() < 1e-10
    assert np.abs(np.linalg.norm(trace.q[:, 7:9], axis=1) - 1.0).max() < 1e-14
