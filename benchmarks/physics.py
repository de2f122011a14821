"""What theory says in closed form, and how far both engines are from it.

``python -m benchmarks.physics`` prints the table "Checked against theory" of
docs/simulation.md: relative errors at three time steps, and the order at which they
shrink. The same numbers come out each time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pinocchio as pin
from scipy.integrate import solve_ivp
from scipy.linalg import eig
from scipy.special import ellipk

from equipoise.arrays import Array, frozen_array
from equipoise.control.signals import Command
from equipoise.kinematics.terrain import Slope
from equipoise.robot.description import STANDARD_GRAVITY, Description, Joint, Link
from equipoise.robot.inertias import Inertial
from equipoise.robot.model import Robot
from equipoise.robot.pinocchio_model import build_model
from equipoise.rotations import transform
from equipoise.simulation.actuation import actuation_of
from equipoise.simulation.contacts import Material, contact_point
from equipoise.simulation.engine import Trace
from equipoise.simulation.simulate import make_engine
from equipoise.simulation.world import Push, World, make_world

STEPS = (2e-3, 1e-3, 5e-4)
ENGINES = ("native", "mujoco")
G = STANDARD_GRAVITY
# Smaller errors are rounding, or the fit's, and have no order.
ROUNDING = 1e-9
# A bench that nothing moves [kg].
BENCH = 1e9
# An impact may fall anywhere within a step: the worst of so many heights counts.
PHASES = 8


class Row(NamedTuple):
    """A quantity: its relative errors in an engine at ``STEPS``."""

    case: str
    quantity: str
    engine: str
    errors: tuple[float, ...]

    @property
    def order(self) -> float | None:
        """Exponent with which the error shrinks with the step; None at rounding."""
        coarse, fine = self.errors[0], self.errors[-1]
        if min(coarse, fine) < ROUNDING:
            return None
        return math.log(coarse / fine) / math.log(STEPS[0] / STEPS[-1])


Errors = dict[str, float]
Check = Callable[[str, float], Errors]


def main() -> None:
    """Print the table."""
    print("| case | quantity | engine | 2 ms | 1 ms | 0.5 ms | order |")
    print("|---|---|---|---|---|---|---|")
    for row in rows():
        errors = " | ".join(f"{error:.1e}" for error in row.errors)
        order = "–" if row.order is None else f"{row.order:.1f}"
        print(f"| {row.case} | {row.quantity} | {row.engine} | {errors} | {order} |")


def rows() -> Iterator[Row]:
    """Yield what every check gives in every engine."""
    for case, check in CHECKS.items():
        for engine in ENGINES:
            found = [check(engine, dt) for dt in STEPS]
            for quantity in found[0]:
                errors = tuple(errors[quantity] for errors in found)
                yield Row(case, quantity, engine, errors)


def torque_free_block(engine: str, dt: float) -> Errors:
    """Ten seconds of free rotation without symmetry: what Euler's equations keep."""
    inertia, omega = np.array([0.1, 0.2, 0.28]), np.array([10.0, 20.0, 15.0])
    robot = body(1.0, inertia)
    trace = move(in_the_air(robot), engine, dt, 10.0, v=np.array([0, 0, 0, *omega]))
    start = inertia * omega
    turn = np.array([pin.Quaternion(q[3:7]).toRotationMatrix() for q in trace.q])
    momentum = np.einsum("nij,nj->ni", turn, inertia * trace.v[:, 3:])
    energy = (inertia * trace.v[:, 3:] ** 2).sum(axis=1) / (start @ omega) - 1.0
    off = np.linalg.norm(momentum - start, axis=1) / np.linalg.norm(start)
    return {"energy": np.abs(energy).max(), "angular momentum": off.max()}


def pendulum(engine: str, dt: float) -> Errors:
    """Ten seconds of a physical pendulum of 2 rad: T = 4 √(I/(m g l)) K(sin²(θ₀/2)).

    On a bench that nothing moves; the weight is a push.
    """
    mass, inertia, length, most = 2.0, 0.05, 0.4, 2.0
    about = inertia + mass * length**2
    robot = hanging(mass, inertia, length)
    weight = Push(
        "bob",
        np.array([0.0, 0.0, -mass * G]),
        0.0,
        100.0,
        np.array([0.0, 0.0, -length]),
    )
    q = robot.standing.copy()
    q[7] = most
    trace = move(in_the_air(robot, pushes=(weight,)), engine, dt, 10.0, q=q)
    angle, speed = trace.q[:, 7], trace.v[:, 6]
    up = np.flatnonzero((angle[:-1] < 0.0) & (angle[1:] >= 0.0))
    crossed = trace.time[up] - angle[up] * dt / (angle[up + 1] - angle[up])
    period = (crossed[-1] - crossed[0]) / (len(up) - 1)
    exact = 4.0 * math.sqrt(about / (mass * G * length))
    exact *= ellipk(math.sin(0.5 * most) ** 2)
    depth = mass * G * length
    energy = 0.5 * about * speed**2 - depth * np.cos(angle) + depth * math.cos(most)
    swing = depth * (1.0 - math.cos(most))
    return {"period": abs(period / exact - 1.0), "energy": np.abs(energy).max() / swing}


def incline(engine: str, dt: float) -> Errors:
    """A block on a slope: rests below atan μ, and slides above at g (sin - μ cos)."""
    mu, k = 0.5, 1e5
    found = {}
    for name, factor in (("creep in 1 s [m]", 0.9), ("acceleration", 1.5)):
        angle = math.atan(factor * mu)
        robot = body(10.0, np.full(3, 0.1))
        # points level with the CoM: friction does not tip the block
        points = tuple(
            contact_point(robot, "base", (x, y, 0.0))
            for x in (-0.1, 0.1)
            for y in (-0.1, 0.1)
        )
        world = make_world(
            robot,
            Slope(angle),
            contacts=points,
            material=Material(k, 1e3, mu, mu),
            actuation=actuation_of(robot),
        )
        q = robot.standing.copy()
        up = np.array([-math.sin(angle), 0.0, math.cos(angle)])
        q[:3] = -up * robot.mass * G * math.cos(angle) / (4.0 * k)
        q[3:7] = pin.Quaternion(pin.exp3(np.array([0.0, -angle, 0.0]))).coeffs()
        trace = move(world, engine, dt, 2.0, q=q)
        down = -np.array([math.cos(angle), 0.0, math.sin(angle)])
        along = trace.q[:, :3] @ down
        half = len(along) // 2
        if factor < 1.0:
            found[name] = abs(along[-1] - along[half - 1])
            continue
        fit = 2.0 * np.polyfit(trace.time[half:], along[half:], 2)[0]
        exact = G * (math.sin(angle) - mu * math.cos(angle))
        found[name] = abs(fit / exact - 1.0)
    return found


def impact(engine: str, dt: float) -> Errors:
    """A point mass falls on a spring and damper: largest force and rebound.

    Against m z̈ = k d - b ż - m g, which holds until the force is zero; the damping
    ratio is 0.2. The worst of several heights, whose impacts fall into all parts of a
    step.
    """
    mass, k, ratio = 10.0, 2e5, 0.2
    b = 2.0 * ratio * math.sqrt(k * mass)
    robot = body(mass, np.full(3, 0.1))
    world = make_world(
        robot,
        contacts=(contact_point(robot, "base", (0.0, 0.0, 0.0)),),
        material=Material(k, b),
        actuation=actuation_of(robot),
    )
    worst = {"peak force": 0.0, "rebound": 0.0}
    for phase in range(PHASES):
        speed = 1.0
        height = speed * dt * (phase + 0.5) / PHASES
        landing = math.sqrt(speed**2 + 2.0 * G * height)
        exact = solve_ivp(
            lambda _, s: [s[1], (-k * s[0] - b * s[1]) / mass - G],
            (0.0, 0.1),
            [0.0, -landing],
            rtol=1e-11,
            atol=1e-13,
            events=_let_go(k, b),
            dense_output=True,
        )
        held = np.linspace(0.0, exact.t_events[0][0], 20001)
        z, rate = exact.sol(held)
        q = robot.standing.copy()
        q[2] = height
        v = np.array([0.0, 0.0, -speed, 0.0, 0.0, 0.0])
        trace = move(world, engine, dt, 0.1, q=q, v=v)
        force = trace.contact_force[:, 0, 2].max()
        errors = {
            "peak force": abs(force / (-k * z - b * rate).max() - 1.0),
            "rebound": abs(trace.v[:, 2].max() / rate[-1] - 1.0),
        }
        worst = {name: max(worst[name], errors[name]) for name in worst}
    return worst


def _let_go(k: float, b: float) -> Callable[[float, Array], float]:
    """Return the event at which the ground would begin to pull."""

    def force(_: float, state: Array) -> float:
        return float(-k * state[0] - b * state[1])

    force.terminal, force.direction = True, -1.0  # type: ignore[attr-defined]
    return force


def rocking(engine: str, dt: float) -> Errors:
    """A rigid robot rocks on one sole: frequency and damping of the slow mode.

    Corners at ±r are springs k and dampers b along the normal, so that
    I θ̈ + C θ̇ + (K - m g h) θ = 0 with K = 4 k r², C = 4 b r², I = I_c + m h² where
    the sole cannot move sideways, as in MuJoCo; here springs and dampers hold it
    sideways too, and theory is the slow mode of sole and tilt together, a percent
    slower.
    """
    mass, inertia, h, r = 70.0, 6.0, 0.9, 0.1
    k = 20.0 * mass * G * h / (4.0 * r**2)
    tilt = 4.0 * k * r**2 - mass * G * h
    about = inertia + mass * h**2
    b = 0.2 * math.sqrt(tilt * about) / (4.0 * r**2)
    robot = body(mass, np.full(3, inertia))
    points = tuple(
        contact_point(robot, "base", (x, y, -h)) for x in (-r, r) for y in (-r, r)
    )
    world = make_world(
        robot,
        contacts=points,
        material=Material(k, b, 5.0, 5.0),
        actuation=actuation_of(robot),
    )
    matrix = np.array([[mass, mass * h], [mass * h, about]])
    springs = np.diag([4.0 * k, tilt])
    dampers = np.diag([4.0 * b, 4.0 * b * r**2])
    if engine == "mujoco":
        matrix, springs, dampers = matrix[1:, 1:], springs[1:, 1:], dampers[1:, 1:]
    size = len(matrix)
    zero, one = np.zeros((size, size)), np.eye(size)
    values, vectors = eig(
        np.block([[zero, one], [-springs, -dampers]]),
        np.block([[one, zero], [zero, matrix]]),
    )
    slow = int(np.argmin(np.where(values.imag > 0.0, np.abs(values), np.inf)))
    exact = values[slow]
    # begin in that mode alone, tilted by 1 mrad
    shape = vectors[:, slow] * (1e-3 / vectors[size - 1, slow])
    theta, omega = shape[size - 1].real, shape[2 * size - 1].real
    slip, rate = (0.0, 0.0) if size == 1 else (shape[0].real, shape[2].real)
    turn = pin.exp3(np.array([0.0, theta, 0.0]))
    q = robot.standing.copy()
    q[:3] = turn @ [0.0, 0.0, h] + [slip, 0.0, -mass * G / (4.0 * k)]
    q[3:7] = pin.Quaternion(turn).coeffs()
    going = np.array([rate + h * omega * math.cos(theta), 0.0, 0.0])
    v = np.concatenate([turn.T @ going, [0.0, omega, 0.0]])
    trace = move(world, engine, dt, 1.5, q=q, v=v)
    every = round(0.01 / dt)
    # anchors begin where the sole is: what that sets off sideways is gone by 0.3 s
    late = trace.time > 0.3
    angle = 2.0 * trace.q[late, 4][::every]
    # θ(n + 1) = p θ(n) - s θ(n - 1), whose roots are e^{λ 10 ms}
    left = np.stack([angle[1:-1], -angle[:-2]], axis=1)
    p, s = np.linalg.lstsq(left, angle[2:], rcond=None)[0]
    found = np.log(complex(p, math.sqrt(max(4.0 * s - p * p, 0.0))) / 2.0) / 0.01
    ratio = exact.real / abs(exact)
    return {
        "frequency": abs(abs(found) / abs(exact) - 1.0),
        "damping ratio": abs(found.real / abs(found) / ratio - 1.0),
    }


CHECKS: dict[str, Check] = {
    "torque-free block, 27 rad/s": torque_free_block,
    "pendulum, 2 rad": pendulum,
    "block on an incline": incline,
    "impact on spring and damper": impact,
    "rocking on one sole": rocking,
}


def body(mass: float, inertia: Array) -> Robot:
    """Return a robot of one link, its origin in its CoM."""
    return assemble([Link("base", _inertial(mass, inertia))], [])


def hanging(mass: float, inertia: float, length: float) -> Robot:
    """Return a pendulum on a bench, its CoM below the joint."""
    bob = _inertial(mass, np.full(3, inertia), np.array([0.0, 0.0, -length]))
    bench = _inertial(BENCH, np.full(3, BENCH))
    joint = Joint(
        name="hinge",
        kind="revolute",
        parent="base",
        child="bob",
        transform_joint_to_parent=transform(np.eye(3), np.zeros(3)),
        axis=frozen_array([0.0, 1.0, 0.0]),
    )
    return assemble([Link("base", bench), Link("bob", bob)], [joint])


def _inertial(mass: float, inertia: Array, com: Array | None = None) -> Inertial:
    centre = np.zeros(3) if com is None else com
    return Inertial(mass, frozen_array(centre), frozen_array(np.diag(inertia)))


def assemble(links: list[Link], joints: list[Joint]) -> Robot:
    """Return a robot without limbs, soles or file; it stands at the origin."""
    description = Description("test", tuple(links), tuple(joints), links[0].name)
    model = build_model(description)
    neutral = frozen_array(pin.neutral(model))
    return Robot("test", model, description, {}, {}, (), {"standing": neutral})


def in_the_air(robot: Robot, pushes: tuple[Push, ...] = ()) -> World:
    """Return a world without ground, gravity, friction and joint limits."""
    free = actuation_of(
        robot,
        viscous_friction=0.0,
        coulomb_friction=0.0,
        static_friction=0.0,
        lower=-np.inf,
        upper=np.inf,
    )
    return make_world(
        robot,
        contacts=(),
        material=Material(1e4, 1e2),
        actuation=free.with_parameters(mode="torque"),
        gravity=0.0,
        pushes=pushes,
    )


def move(
    world: World,
    engine: str,
    dt: float,
    seconds: float,
    *,
    q: Array | None = None,
    v: Array | None = None,
) -> Trace:
    """Return all states of a world that nobody commands."""
    plant = make_engine(engine, world, dt)
    plant.reset(world.robot.standing if q is None else q, v)
    steps = round(seconds / dt)
    return plant.advance(Command(*np.zeros((3, steps, world.robot.nv - 6))))


if __name__ == "__main__":
    main()
