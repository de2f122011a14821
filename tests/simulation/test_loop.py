"""The control loop, against sequences computed by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from simulation.blocks import in_the_air, make_machine

import equipoise as eq
from equipoise.arrays import Array
from equipoise.control.signals import Command, Measurement, State, Target
from equipoise.errors import EquipoiseError, ShapeError
from equipoise.simulation.loop import ControlLoop, Periods, whole_steps
from equipoise.simulation.noise import Noise
from equipoise.simulation.sensors import Encoders, SensorSuite
from equipoise.simulation.simulate import make_engine, simulate

DT = 1e-3
INERTIA = 0.3
ENGINES = ["native", "mujoco"]


@pytest.fixture(scope="module")
def machine() -> eq.Robot:
    """Two joints on a bench: each moves by torque over inertia, and nothing else."""
    return make_machine("revolute", "revolute", inertia=INERTIA)


@pytest.fixture(scope="module")
def humanoid() -> eq.Robot:
    """A robot that stands and walks."""
    return eq.load("humanoid")


class Wanted:
    """A reference that notes when it is asked."""

    def __init__(self, joints: int = 2) -> None:
        self.asked: list[float] = []
        self.resets, self.joints = 0, joints

    def reset(self) -> None:
        """Forget."""
        self.resets += 1
        self.asked.clear()

    def sample(self, time: float) -> Target:
        """Return a position that tells the time."""
        self.asked.append(round(time, 9))
        still = np.zeros(self.joints)
        return Target(np.full(self.joints, time), still, still)


class Spring:
    """A controller: pulls joints back, and notes what it saw."""

    stiffness, damping = 40.0, 1.5

    def __init__(self) -> None:
        self.seen: list[tuple[float, float]] = []
        self.resets = 0

    def reset(self, start: State) -> None:
        """Forget."""
        self.resets += 1
        self.seen.clear()

    def control(self, known: State | Measurement, target: Target) -> Command:
        """Return torques."""
        if isinstance(known, Measurement):
            x, v = known.position, known.velocity
        else:
            x, v = known.q[7:], known.v[6:]
        self.seen.append((round(known.time, 9), round(float(target.position[0]), 9)))
        torque = -self.stiffness * x - self.damping * v
        return Command(np.zeros(2), np.zeros(2), torque)


def by_hand(
    start: Array,
    steps: int,
    control: int,
    *,
    command_delay: int = 0,
    sensors: int | None = None,
    sensor_delay: int = 0,
    engine: str = "native",
) -> Array:
    """Return joint positions after each step, shape (steps, 2).

    Torque over inertia; a command waits for its delay, a measurement is the newest
    that is old enough when the sensors are asked. A joint goes at the mean of its
    velocities before and after a step, in MuJoCo at that after it.
    """
    x, v = np.array(start), np.zeros(2)
    waiting = [np.zeros(2)] * command_delay
    samples: list[tuple[Array, Array]] = []
    positions = np.zeros((steps, 2))
    seen = (x.copy(), v.copy())
    torque = np.zeros(2)
    for step in range(steps):
        if sensors is None:
            seen = (x.copy(), v.copy())
        elif step % sensors == 0:
            samples.append((x.copy(), v.copy()))
            late = -(-sensor_delay // sensors)
            seen = samples[max(len(samples) - 1 - late, 0)]
        if step % control == 0:
            torque = -Spring.stiffness * seen[0] - Spring.damping * seen[1]
        waiting.append(torque)
        before, v = v, v + DT * waiting.pop(0) / INERTIA
        x = x + DT * (0.5 * (before + v) if engine == "native" else v)
        positions[step] = x
    return positions


def started(robot: eq.Robot) -> Array:
    """Return a configuration with both joints turned."""
    q = np.array(robot.standing)
    q[7:] = 0.3, -0.2
    return q


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("control", [1, 2, 7])
@pytest.mark.parametrize("delay", [0, 1, 5])
def test_a_closed_loop_is_the_hand_computed_sequence(
    machine: eq.Robot, engine: str, control: int, delay: int
) -> None:
    """Feedback acts on the state now, holds for its period and comes late."""
    world = in_the_air(machine, gravity=0.0, delay=delay * DT)
    run = simulate(
        world,
        Wanted(),
        0.2,
        start=started(machine),
        controller=Spring(),
        engine=engine,  # type: ignore[arg-type]
        control_period=control * DT,
        record_period=DT,
        on_feet=False,
    )
    wanted = by_hand(
        started(machine)[7:], 200, control, command_delay=delay, engine=engine
    )
    assert np.abs(run.q[:, 7:] - wanted).max() < 1e-9


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("control", "period", "delay"), [(1, 1, 0), (1, 1, 3), (2, 5, 0), (6, 4, 8)]
)
def test_sensors_have_a_rate_and_a_delay_of_their_own(
    machine: eq.Robot, engine: str, control: int, period: int, delay: int
) -> None:
    """The controller acts on the newest measurement that has arrived."""
    world = in_the_air(machine, gravity=0.0)
    late = Noise(delay=delay * DT)
    run = simulate(
        world,
        Wanted(),
        0.2,
        start=started(machine),
        controller=Spring(),
        sensors=SensorSuite(world, encoders=Encoders(late, late)),
        engine=engine,  # type: ignore[arg-type]
        control_period=control * DT,
        sensor_period=period * DT,
        record_period=DT,
        on_feet=False,
    )
    wanted = by_hand(
        started(machine)[7:],
        200,
        control,
        sensors=period,
        sensor_delay=delay,
        engine=engine,
    )
    assert np.abs(run.q[:, 7:] - wanted).max() < 1e-9


def test_each_block_is_asked_when_it_is_due(machine: eq.Robot) -> None:
    """Periods of 3, 2 and 5 steps, none of which divides another, over 12 steps."""
    world = in_the_air(machine, gravity=0.0)
    engine = make_engine("native", world, DT)
    reference, controller = Wanted(), Spring()
    loop = ControlLoop(
        reference,
        controller,
        engine,
        Periods(control=3, reference=2, sensors=5, record=100),
        sensors=SensorSuite(world),
    )
    loop.run(12)
    ms = [0.002, 0.004, 0.006, 0.008, 0.01, 0.012]
    assert reference.asked == ms  # for the end of each period of its own
    # in steps 0, 3, 6, 9: what was measured in 0, 0, 5, 5 and wanted since 0, 2, 6, 8
    assert controller.seen == [
        (0.0, 0.002),
        (0.0, 0.004),
        (0.005, 0.008),
        (0.005, 0.01),
    ]


def test_an_estimator_is_given_measurement_and_command(machine: eq.Robot) -> None:
    """It begins from the true state and is told what was last commanded."""
    told: list[tuple[float, float]] = []

    class Estimator:
        start: State | None = None

        def reset(self, start: State) -> None:
            self.start = start

        def estimate(self, measurement: Measurement, command: Command) -> State:
            told.append((round(measurement.time, 9), float(command.torque[0])))
            q = np.concatenate([machine.standing[:7], measurement.position])
            v = np.concatenate([np.zeros(6), measurement.velocity])
            return State(measurement.time, q, v)

    world = in_the_air(machine, gravity=0.0)
    estimator, controller = Estimator(), Spring()
    run = simulate(
        world,
        Wanted(),
        0.01,
        start=started(machine),
        controller=controller,
        sensors=SensorSuite(world),
        estimator=estimator,
        control_period=5 * DT,
        record_period=DT,
        on_feet=False,
    )
    assert estimator.start is not None
    assert (estimator.start.q == started(machine)).all()
    assert told[0] == (0.0, 0.0)
    assert told[1] == (0.005, pytest.approx(-Spring.stiffness * 0.3))
    wanted = by_hand(started(machine)[7:], 10, 5, sensors=5)
    assert np.abs(run.q[:, 7:] - wanted).max() < 1e-9
    assert run.estimates["q"].shape == run.q.shape
    with pytest.raises(EquipoiseError, match="an estimator needs sensors"):
        simulate(world, Wanted(), 0.01, estimator=estimator, on_feet=False)


class Remembers(Spring):
    """A controller with memory, which reset must clear."""

    def reset(self, start: State) -> None:
        """Forget."""
        super().reset(start)
        self.sum = np.zeros(2)

    def control(self, known: Any, target: Target) -> Command:
        """Return torques that depend on all that was seen."""
        command = super().control(known, target)
        self.sum = self.sum + command.torque
        return command._replace(torque=command.torque + 0.01 * self.sum)


@pytest.mark.parametrize("engine", ENGINES)
def test_twice_is_the_same_to_the_byte(machine: eq.Robot, engine: str) -> None:
    """Blocks with memory and noisy sensors begin anew in each run."""
    world = in_the_air(machine, gravity=0.0)
    noisy = Noise(deviation=1e-3, delay=2e-3)
    sensors = SensorSuite(world, encoders=Encoders(noisy, noisy), seed=3)
    reference, controller = Wanted(), Remembers()
    own = make_engine(engine, world, DT)
    runs = [
        simulate(
            world,
            reference,
            0.3,
            start=started(machine),
            controller=controller,
            sensors=sensors,
            engine=own,
            record_period=DT,
            on_feet=False,
        )
        for _ in range(2)
    ]
    assert (reference.resets, controller.resets) == (2, 2)
    first, second = runs
    assert first.measured is not None
    assert second.measured is not None
    for part in ("time", "q", "v", "a", "torque"):
        assert getattr(first, part).tobytes() == getattr(second, part).tobytes()
    assert first.measured.position.tobytes() == second.measured.position.tobytes()
    assert first.commands["torque"].tobytes() == second.commands["torque"].tobytes()


class HandsOn:
    """Open loop as a controller of one's own: without memory, it needs no reset."""

    def control(self, known: State, target: Target) -> Command:
        """Return what is wanted."""
        return Command(target.position, target.velocity, target.torque)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("control", [1, 4])
def test_open_loop_in_pieces_is_the_loop_step_by_step(
    humanoid: eq.Robot, engine: str, control: int
) -> None:
    """Many steps in one launch give what one step after the other gives."""
    gait = eq.fit_walk(humanoid, steps=1)
    motion = eq.solve(humanoid, gait)
    world = eq.make_world(humanoid)
    runs = [
        simulate(
            world,
            motion,
            0.6,
            start=motion.q[0],
            controller=controller,
            engine=engine,  # type: ignore[arg-type]
            control_period=control * DT,
            record_period=7 * DT,
        )
        for controller in (None, HandsOn())
    ]
    pieces, steps = runs
    assert len(pieces.time) == len(steps.time) == 86
    assert np.abs(pieces.time - steps.time).max() < 1e-12
    for part in ("q", "v", "torque", "contact_force", "contact_position"):
        one, other = getattr(pieces, part), getattr(steps, part)
        scale = max(1.0, np.abs(one).max())
        assert np.abs(one - other).max() < 1e-9 * scale, part
    assert set(pieces.references) == set(steps.references)
    for name, rows in pieces.references.items():
        np.testing.assert_allclose(rows, steps.references[name], atol=1e-12)
    for name, rows in pieces.commands.items():
        np.testing.assert_allclose(rows, steps.commands[name], atol=1e-12)


def test_a_run_keeps_what_was_commanded(machine: eq.Robot) -> None:
    """The command of a row is the one that acted in the step that led to it."""
    world = in_the_air(machine, gravity=0.0)
    run = simulate(
        world,
        Wanted(),
        0.02,
        start=started(machine),
        controller=Spring(),
        control_period=3 * DT,
        record_period=DT,
        on_feet=False,
    )
    assert np.abs(run.commands["torque"] - run.torque).max() < 1e-12
    first = -Spring.stiffness * np.array([0.3, -0.2])
    assert np.abs(run.commands["torque"][:3] - first).max() < 1e-12
    assert np.abs(run.commands["torque"][3] - first).max() > 1e-6


def broken(answer: Any, at: float = 0.05) -> Any:
    """Return a controller that goes wrong at a time."""

    class Broken(Spring):
        def control(self, known: Any, target: Target) -> Any:
            good = super().control(known, target)
            return good if known.time < at - 1e-9 else answer

    return Broken()


NAN = np.array([0.0, np.nan])
WRONG: dict[str, tuple[Any, str]] = {
    "nothing": (None, r"Broken at 0\.05 s: control\(\) returned nothing"),
    "NaN": (
        Command(np.zeros(2), np.zeros(2), NAN),
        r"Broken at 0\.05 s: torque of 'joint_1' is nan",
    ),
    "infinity": (
        Command(np.array([np.inf, 0.0]), np.zeros(2), np.zeros(2)),
        r"Broken at 0\.05 s: position of 'joint_0' is inf",
    ),
    "a wrong shape": (
        Command(np.zeros(2), np.zeros(3), np.zeros(2)),
        r"Broken at 0\.05 s: velocity has shape \(3,\); \(2,\)",
    ),
    "one number for all": (
        Command(0.0, 0.0, 0.0),  # type: ignore[arg-type]
        r"Broken at 0\.05 s: position has shape \(\)",
    ),
    "rows": (Command(*np.zeros((3, 4, 2))), r"Broken at 0\.05 s: .* 4 rows; one"),
    "text": (
        Command("up", np.zeros(2), np.zeros(2)),  # type: ignore[arg-type]
        r"Broken at 0\.05 s: position is not an array of numbers",
    ),
    "something else": (np.zeros(2), r"Broken at 0\.05 s: a Command of .* not ndarray"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", WRONG)
def test_a_controller_that_goes_wrong_is_named(
    machine: eq.Robot, engine: str, case: str
) -> None:
    """One line with time and joint; the run until then is kept if asked for."""
    answer, message = WRONG[case]
    world = in_the_air(machine, gravity=0.0)
    options: dict[str, Any] = {
        "start": started(machine),
        "engine": engine,
        "record_period": DT,
        "on_feet": False,
    }
    with pytest.raises(ShapeError, match=message) as error:
        simulate(world, Wanted(), 0.1, controller=broken(answer), **options)
    assert "\n" not in str(error.value)
    run = simulate(
        world, Wanted(), 0.1, controller=broken(answer), keep_failed=True, **options
    )
    assert run.summary["error"] == str(error.value)
    assert run.time[-1] == pytest.approx(0.05)
    assert len(run.time) == 50
    assert run.events[-1].text == f"stopped: {error.value}"
    wanted = by_hand(started(machine)[7:], 50, 1, engine=engine)
    assert np.abs(run.q[:, 7:] - wanted).max() < 1e-9


def test_a_controller_that_fails_at_once_leaves_the_start(machine: eq.Robot) -> None:
    """A run that never began has one row: the start."""
    world = in_the_air(machine, gravity=0.0)
    run = simulate(
        world,
        Wanted(),
        0.1,
        start=started(machine),
        controller=broken(None, 0.0),
        keep_failed=True,
        on_feet=False,
    )
    assert run.time.tolist() == [0.0]
    assert (run.q[0] == started(machine)).all()


def test_a_divergence_keeps_the_run_if_asked(machine: eq.Robot) -> None:
    """Torques beyond all bounds end the run with the reason."""
    world = in_the_air(machine, gravity=0.0)
    wild = broken(Command(np.zeros(2), np.zeros(2), np.full(2, 1e14)))
    run = simulate(
        world,
        Wanted(),
        0.1,
        controller=wild,
        keep_failed=True,
        record_period=DT,
        on_feet=False,
    )
    assert "diverged at 0.051 s" in run.summary["error"]
    assert run.time[-1] == pytest.approx(0.05)
    assert np.isfinite(run.q).all()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "control_period",
            r"a control period of 0\.0025 s is not a whole number of time steps of "
            r"0\.001 s; the nearest that are: 0\.002 and 0\.003 s",
        ),
        ("reference_period", r"a reference period of 0\.0025 s is not"),
        ("sensor_period", r"a sensor period of 0\.0025 s is not"),
    ],
)
def test_periods_that_do_not_divide_are_named(
    machine: eq.Robot, name: str, message: str
) -> None:
    """Which one, and the nearest that do."""
    world = in_the_air(machine, gravity=0.0)
    periods: dict[str, Any] = {name: 0.0025}
    with pytest.raises(EquipoiseError, match=message):
        simulate(world, Wanted(), 0.1, on_feet=False, **periods)


def test_whole_steps() -> None:
    """Times within rounding of whole steps are whole; the nearest is never zero."""
    assert whole_steps(0.3, 0.1, "time") == 3
    assert whole_steps(3600.0, 1e-3, "time") == 3_600_000
    with pytest.raises(EquipoiseError, match=r"the nearest that is: 0\.001 s"):
        whole_steps(4e-4, 1e-3, "time")
    for bad in (0.0, -1.0, np.nan, np.inf, 1e6):
        with pytest.raises(EquipoiseError, match="must be above 0"):
            whole_steps(bad, 1e-3, "time")


class Puppet:
    """A plant that is no engine: joints are where they are told to be."""

    def __init__(self, robot: eq.Robot, dt: float) -> None:
        self.robot, self.dt = robot, dt
        self.state = State(0.0, np.array(robot.standing), np.zeros(robot.nv))

    def reset(self, q: Array, v: Array | None = None) -> State:
        """Begin anew."""
        joints, nv = self.robot.nv - 6, self.robot.nv
        points = np.zeros((8, 3))
        self.state = State(
            0.0,
            np.array(q),
            np.zeros(nv),
            np.zeros(nv),
            np.zeros(joints),
            points,
            points,
        )
        return self.state

    def step(self, command: Command, steps: int = 1) -> State:
        """Go where it is told."""
        q = np.concatenate([self.state.q[:7], command.position])
        old = self.state
        self.state = State(
            old.time + steps * self.dt,
            q,
            old.v,
            old.a,
            command.torque,
            old.contact_position,
            old.contact_force,
        )
        return self.state


def test_any_plant_runs_in_the_loop(humanoid: eq.Robot) -> None:
    """Three methods make a plant: a real robot's driver needs no more."""
    held = eq.joint_positions(humanoid, humanoid.standing)
    world = eq.make_world(humanoid)
    run = simulate(
        world,
        eq.Hold(held),
        0.1,
        controller=HandsOn(),
        engine=Puppet(humanoid, 2e-3),  # type: ignore[arg-type]
    )
    assert run.summary["engine"] == "Puppet"
    assert run.time[-1] == pytest.approx(0.1)
    assert (run.q[-1] == humanoid.standing).all()
