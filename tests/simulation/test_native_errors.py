from __future__ import annotations

import numpy as np
import pytest
from simulation.blocks import (
    HALF,
    SOFT,
    commands,
    corners,
    in_the_air,
    make_block,
    make_machine,
    pose,
    run,
)

import equipoise as eq
from equipoise.control.signals import Command
from equipoise.errors import EquipoiseError, NameNotFoundError, ShapeError
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.simulation.actuation import actuation_of
from equipoise.simulation.contacts import Material, contact_point
from equipoise.simulation.engine import DivergedError
from equipoise.simulation.fleet import Fleet
from equipoise.simulation.native import NativeEngine
from equipoise.simulation.world import Box, Push, Wall, make_world


@pytest.fixture
def humanoid() -> eq.Robot:
    """The catalogue's humanoid."""
    return eq.load("humanoid")


def standing(robot: eq.Robot, mode: str = "servo", **figures) -> NativeEngine:
    """Return an engine with the robot on its feet."""
    engine = NativeEngine(
        make_world(robot, actuation=actuation_of(robot, mode, **figures))
    )
    engine.reset(robot.standing)
    return engine


def test_divergence_names_time_link_and_cause(humanoid: eq.Robot) -> None:
    """Torques that nothing can bear are refused: when, which link, and why."""
    engine = standing(humanoid, "torque", torque_limit=np.inf)
    torque = np.zeros((50, humanoid.nv - 6))
    joint_name = humanoid.arms["left"].joints[0]
    joint = humanoid.model.joints[humanoid.joint_id(joint_name)]
    torque[20:, joint.idx_v - 6] = 1e14
    with pytest.raises(DivergedError) as caught:
        engine.advance(commands(humanoid, 50, torque=torque))
    text = str(caught.value)
    print(text)
    assert "0.021 s" in text
    assert text.endswith(f"joint '{joint_name}' was commanded 1e+14 Nm")
    # the arm, not the base and no box
    arm = set(humanoid.arms["left"].joints)
    links = {item.child for item in humanoid.description.joints if item.name in arm}
    assert any(f"'{link}'" in text for link in links)


def test_block_pushed_beyond_all_bounds_is_not_a_box() -> None:
    """Where a base without boxes diverges, the error names the base."""
    robot = make_block()
    push = Push("base", np.array([1e13, 0.0, 0.0]), 0.0, 1.0)
    world = make_world(robot, contacts=corners(robot), material=SOFT, pushes=(push,))
    engine = NativeEngine(world)
    engine.reset(pose([0, 0, HALF[2] - 10.0 * 9.80665 / 8e4]))
    with pytest.raises(
        DivergedError, match=r"link 'base' .* the push on 'base' is 1e\+13 N"
    ):
        engine.advance(commands(robot, 10))


def test_position_that_no_joint_reaches_is_named() -> None:
    """A jump of a prescribed position: which joint, and what it takes."""
    robot = make_machine("revolute", "prismatic")
    engine = NativeEngine(in_the_air(robot, "position"))
    engine.reset(robot.standing)
    told = np.zeros((5, 2))
    told[3:, 1] = 2e4
    with pytest.raises(
        DivergedError, match=r"the position commanded to joint 'joint_1' takes 2e\+10 m"
    ):
        engine.advance(commands(robot, 5, position=told))


def test_servo_beyond_all_bounds_is_named(humanoid: eq.Robot) -> None:
    """A servo without limit that is told to be far away: which, and its torque."""
    engine = standing(humanoid, stiffness=1e12, damping=0.0, torque_limit=np.inf)
    held = joint_positions(humanoid, humanoid.standing)
    held[0] += 1e6
    with pytest.raises(DivergedError, match=r"the servo of joint '\w+' was commanded"):
        engine.advance(commands(humanoid, 5, position=held))


def test_ground_beyond_all_bounds_is_named() -> None:
    """A block that begins far below the ground: which point, and its force."""
    robot = make_block()
    points = corners(robot)
    engine = NativeEngine(make_world(robot, contacts=points, material=SOFT))
    engine.reset(pose([0, 0, -1e7]))
    with pytest.raises(DivergedError, match=r"contact point 'base\(.* 2e\+11 N"):
        engine.advance(commands(robot, 5))


def test_speed_beyond_all_bounds_is_named(humanoid: eq.Robot) -> None:
    """A joint that spins so fast that links fly off: which, and how fast."""
    engine = NativeEngine(in_the_air(humanoid))
    name = humanoid.arms["left"].joints[0]
    v = np.zeros(humanoid.nv)
    v[humanoid.model.joints[humanoid.joint_id(name)].idx_v] = 1e6
    engine.reset(humanoid.standing, v)
    with pytest.raises(DivergedError, match=rf"joint '{name}' moves at 1e\+06 rad/s"):
        engine.advance(commands(humanoid, 5))


def test_spin_beyond_all_bounds_is_found() -> None:
    """A torque that spins the base beyond all bounds is found as well."""
    robot = make_block()
    torque = np.array([0, 0, 0, 0, 0, 1e13])
    engine = NativeEngine(in_the_air(robot), effect=lambda _: torque)
    engine.reset(pose([0, 0, 1.0]))
    with pytest.raises(
        DivergedError, match=r"link 'base' .* the effect adds 1e\+13 N or Nm"
    ):
        engine.advance(commands(robot, 10))


def test_box_as_light_as_air_does_no_harm() -> None:
    """A box with next to no mass is pushed along by a block, and all stays finite."""
    robot = make_block()
    box = Box(np.array([0.3, 0, 0.1]), np.full(3, 0.2), 1e-6)
    world = make_world(
        robot, contacts=corners(robot), material=Material(1e6, 1e4), boxes=(box,)
    )
    start = pose([0, 0, HALF[2]])
    trace = run(world, 0.5, start, np.array([5.0, 0, 0, 0, 0, 0]))
    assert np.isfinite(trace.boxes).all()
    assert np.abs(trace.boxes[..., :3]).max() < 10.0


def test_after_divergence_the_engine_must_be_reset(humanoid: eq.Robot) -> None:
    """What diverged cannot be gone on with; a reset makes all well."""
    engine = standing(humanoid, "torque", torque_limit=np.inf)
    with pytest.raises(DivergedError):
        engine.advance(commands(humanoid, 5, torque=1e14))
    with pytest.raises(EquipoiseError):
        engine.advance(commands(humanoid, 5))
    engine.reset(humanoid.standing)
    trace = engine.advance(commands(humanoid, 5))
    assert np.isfinite(trace.q).all()
    assert trace.time[0] == pytest.approx(1e-3)


def test_fleet_names_the_robot_that_diverged(humanoid: eq.Robot) -> None:
    """Of many, it says which, when and where; the others go on all the same."""
    fleet = Fleet(in_the_air(humanoid), 6)
    fleet.reset(humanoid.standing)
    torque = np.zeros((5, 6, humanoid.nv - 6))
    torque[2:, 4] = 1e14
    zero = np.zeros_like(torque)
    trace = fleet.advance(Command(zero, zero, torque))
    (stopped,) = fleet.stopped
    assert (stopped.robot, stopped.reason) == (4, "diverged")
    assert stopped.time == pytest.approx(3e-3)
    assert "robot 4: the simulation diverged at 0.003 s: link '" in stopped.text
    assert "was commanded 1e+14 Nm" in stopped.text
    for part in ("q", "v", "a", "torque", "contact_force", "contact_position"):
        assert np.isfinite(getattr(trace, part)).all(), part
    assert (trace.q[[0, 1, 2, 3, 5]] == trace.q[0]).all()
    # stays where it was when the call began
    assert (trace.q[4, 2:] == trace.q[4, 3]).all()
    assert not trace.torque[4, 2:].any()


@pytest.mark.parametrize("dt", [0.0, -1e-3, 0.5, 1e-9, np.nan, np.inf])
def test_time_steps_out_of_range(dt: float) -> None:
    """Time steps that make no sense are refused with what would."""
    world = in_the_air(make_block())
    for make in (lambda: NativeEngine(world, dt), lambda: Fleet(world, 2, dt)):
        with pytest.raises(
            EquipoiseError, match=r"time step of .* from 1e-06 to 0.005 s"
        ):
            make()


@pytest.mark.parametrize("part", Command._fields)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_in_commands_is_named(humanoid: eq.Robot, part: str, bad: float) -> None:
    """NaN in a command: which part, which joint, which row; nothing has moved."""
    engine = standing(humanoid)
    values = np.zeros((10, humanoid.nv - 6))
    values[7, 3] = bad
    with pytest.raises(ShapeError, match=f"{part} of .*3 .* row 7"):
        engine.advance(commands(humanoid, 10, **{part: values}))
    assert engine.state.time == 0.0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_in_commands_of_a_fleet_is_named(humanoid: eq.Robot, bad: float) -> None:
    """The same for a fleet."""
    fleet = Fleet(make_world(humanoid), 3)
    fleet.reset(humanoid.standing)
    values = np.zeros((10, 3, humanoid.nv - 6))
    values[7, 1, 3] = bad
    zero = np.zeros_like(values)
    with pytest.raises(ShapeError):
        fleet.advance(Command(values, zero, zero))


def test_shapes_of_commands(humanoid: eq.Robot) -> None:
    """Commands of other joints or lengths are refused."""
    engine = standing(humanoid)
    good = np.zeros((4, humanoid.nv - 6))
    for bad in (np.zeros((4, 3)), np.zeros((4, 2, humanoid.nv - 6)), np.zeros(0)):
        with pytest.raises(ShapeError):
            engine.advance(Command(bad, good, good))
    with pytest.raises(ShapeError, match="length"):
        engine.advance(Command(good[:2], good, good))
    with pytest.raises(ShapeError, match="divide"):
        engine.advance(Command(good, good, good), every=3)
    with pytest.raises(ShapeError, match="divide"):
        engine.advance(Command(good, good, good), every=0)
    with pytest.raises(ShapeError):
        engine.advance(Command(good[:0], good[:0], good[:0]))


def test_shapes_of_commands_of_a_fleet(humanoid: eq.Robot) -> None:
    """Commands for another number of robots, joints or steps are refused."""
    fleet = Fleet(make_world(humanoid), 3)
    fleet.reset(humanoid.standing)
    joints = humanoid.nv - 6
    for shape in ((4, 2, joints), (4, joints + 1), (joints,), (0, joints)):
        zero = np.zeros(shape)
        with pytest.raises(ShapeError):
            fleet.advance(Command(zero, zero, zero))
    good = np.zeros((4, joints))
    with pytest.raises(ShapeError):
        fleet.advance(Command(good[:2], good, good))


def test_states_of_wrong_shape(humanoid: eq.Robot) -> None:
    """An engine takes one state, a fleet as many as it has robots."""
    engine = NativeEngine(make_world(humanoid))
    rows = np.tile(humanoid.standing, (2, 1))
    with pytest.raises(ShapeError, match="one robot"):
        engine.reset(rows)
    with pytest.raises(ShapeError):
        engine.reset(humanoid.standing[:-1])
    with pytest.raises(ShapeError):
        engine.reset(humanoid.standing, np.zeros(3))
    with pytest.raises(ShapeError):
        engine.reset(np.full(humanoid.nq, np.nan))
    with pytest.raises(ShapeError):
        engine.reset(humanoid.standing, np.full(humanoid.nv, np.inf))
    fleet = Fleet(make_world(humanoid), 3)
    with pytest.raises(ShapeError, match="2 rows"):
        fleet.reset(rows)


def test_fleet_must_be_reset_first(humanoid: eq.Robot) -> None:
    """An engine begins standing; a fleet has no state, and says so."""
    engine = NativeEngine(make_world(humanoid))
    assert np.array_equal(engine.state.q, humanoid.standing)
    with pytest.raises(EquipoiseError, match="reset"):
        Fleet(make_world(humanoid), 2).advance(commands(humanoid, 1))


@pytest.mark.parametrize(
    "figures",
    [(-1.0, 1.0), (0.0, 1.0), (1.0, -1.0), (np.nan, 1.0), (1.0, np.inf)],
)
def test_materials_that_are_none(figures: tuple) -> None:
    """Stiffness and damping out of range are refused by name."""
    with pytest.raises(EquipoiseError, match=r"stiffness|damping"):
        Material(*figures)


def test_friction_that_is_none() -> None:
    """Friction is not negative, and sliding friction not above static friction."""
    with pytest.raises(EquipoiseError, match="static_friction"):
        Material(1e4, 1.0, -0.1, 0.0)
    with pytest.raises(EquipoiseError, match="dynamic_friction"):
        Material(1e4, 1.0, 0.5, 0.6)


def test_unknown_links(humanoid: eq.Robot) -> None:
    """Links that a robot does not have are named, with those that it has."""
    with pytest.raises(NameNotFoundError, match="'tail'"):
        contact_point(humanoid, "tail", np.zeros(3))
    push = Push("tail", np.ones(3), 0.0, 1.0)
    with pytest.raises(NameNotFoundError, match="'tail'"):
        make_world(humanoid, pushes=(push,))


@pytest.mark.parametrize("duration", [-1.0, np.nan, np.inf])
def test_pushes_that_make_no_sense(duration: float) -> None:
    """A push lasts for some time."""
    with pytest.raises(EquipoiseError):
        Push("base", np.ones(3), 0.0, duration)


def test_blocks_that_make_no_sense() -> None:
    """Walls and boxes have volume and mass."""
    with pytest.raises(EquipoiseError, match="wall"):
        Wall(np.zeros(3), np.array([1.0, 0.0, 1.0]))
    with pytest.raises(EquipoiseError, match="box"):
        Box(np.zeros(3), np.ones(3), 0.0)
    with pytest.raises(EquipoiseError, match="box"):
        Box(np.zeros(2), np.ones(3), 1.0)


def test_actuation_that_makes_no_sense(humanoid: eq.Robot) -> None:
    """Drives with impossible figures are refused by name."""
    for name, value in (
        ("stiffness", -1.0),
        ("damping", np.nan),
        ("rotor_inertia", -0.1),
        ("delay", 2.0),
        ("delay", -0.1),
    ):
        with pytest.raises(EquipoiseError, match=name):
            actuation_of(humanoid, **{name: value})
    with pytest.raises(EquipoiseError, match="mode"):
        actuation_of(humanoid, "magic")  # type: ignore[arg-type]
    with pytest.raises(EquipoiseError, match="mode"):
        actuation_of(humanoid).with_parameters(mode=9)
    with pytest.raises(EquipoiseError, match=r"lower|upper"):
        actuation_of(humanoid, lower=1.0, upper=-1.0)
    with pytest.raises(EquipoiseError, match="stiffness"):
        actuation_of(humanoid, stiffness=np.inf)


def test_joint_without_inertia_stays() -> None:
    """A free joint that moves nothing stays as it is, and disturbs nothing."""
    robot = make_machine("revolute", mass=0.0, inertia=0.0)
    trace = run(in_the_air(robot), 0.1, robot.standing)
    assert np.isfinite(trace.q).all()
    assert np.abs(trace.q[:, 7:] - robot.standing[7:]).max() < 1e-12


def test_wild_runs_never_hand_on_nan(humanoid: eq.Robot) -> None:
    """Whatever is commanded, a trace is finite or an error is raised."""
    rng = np.random.default_rng(0)
    held = joint_positions(humanoid, humanoid.standing)
    diverged = 0
    for size in 10.0 ** np.arange(0, 16):
        engine = standing(humanoid, "torque", torque_limit=np.inf)
        torque = size * rng.normal(size=(100, humanoid.nv - 6))
        try:
            told = commands(humanoid, 100, position=held, torque=torque)
            trace = engine.advance(told)
        except DivergedError:
            diverged += 1
            continue
        for part in ("q", "v", "a", "torque", "contact_force", "contact_position"):
            assert np.isfinite(getattr(trace, part)).all()
        assert np.abs(np.linalg.norm(trace.q[:, 3:7], axis=1) - 1.0).max() < 1e-9
    assert diverged > 0


def test_soles_deep_in_the_ground_do_not_explode(humanoid: eq.Robot) -> None:
    """Started a centimetre in the ground, the robot is pushed out, all finite."""
    q = humanoid.standing.copy()
    q[2] -= 0.01
    engine = NativeEngine(make_world(humanoid))
    engine.reset(q)
    held = joint_positions(humanoid, q)
    trace = engine.advance(commands(humanoid, 1000, position=held))
    assert np.isfinite(trace.q).all()
