"""Small robots and worlds whose motion is known in closed form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array, frozen_array
from equipoise.control.signals import Command
from equipoise.robot.description import Description, Joint, Link
from equipoise.robot.inertias import Inertial
from equipoise.robot.model import Robot
from equipoise.robot.pinocchio_model import build_model
from equipoise.rotations import transform
from equipoise.simulation.actuation import Actuation, actuation_of
from equipoise.simulation.contacts import ContactPoint, Material, contact_point
from equipoise.simulation.engine import Trace
from equipoise.simulation.native import NativeEngine
from equipoise.simulation.world import World, make_world

G = 9.80665
HALF = np.array([0.1, 0.1, 0.05])
SOFT = Material(2e4, 200.0)
# Of drives without friction, limits and stops.
PLAIN: dict[str, Any] = {
    "viscous_friction": 0.0,
    "coulomb_friction": 0.0,
    "static_friction": 0.0,
    "torque_limit": np.inf,
    "velocity_limit": np.inf,
    "lower": -np.inf,
    "upper": np.inf,
}
# The base of a machine on a bench: what hangs on it cannot move it.
BENCH = 1e12


def solid(mass: float, half: Array = HALF) -> Inertial:
    """Return the mass distribution of a block with half edges [m]."""
    square = (2.0 * np.asarray(half)) ** 2
    inertia = np.diag(mass / 12.0 * (square.sum() - square))
    return Inertial(mass, frozen_array(np.zeros(3)), frozen_array(inertia))


def make_block(mass: float = 10.0, half: Array = HALF) -> Robot:
    """Return a robot of one link: a solid block, its origin in the middle."""
    return assemble([Link("base", solid(mass, half))], [])


def make_machine(
    *kinds: str, mass: float = 2.0, inertia: float = 0.3, base: float = BENCH
) -> Robot:
    """Return joints along y, each with a link of its own, on one heavy base.

    Links have their centre of mass on the joint: gravity does not load joints that
    turn.
    """
    body = Inertial(mass, frozen_array(np.zeros(3)), frozen_array(inertia * np.eye(3)))
    links = [Link("base", solid(base, np.ones(3)))]
    joints = []
    for number, kind in enumerate(kinds):
        links.append(Link(f"link_{number}", body))
        joints.append(
            Joint(
                name=f"joint_{number}",
                kind=kind,  # type: ignore[arg-type]
                parent="base",
                child=f"link_{number}",
                transform_joint_to_parent=transform(
                    np.eye(3), np.array([0.0, 0.5 * number, 0.0])
                ),
                axis=frozen_array([0.0, 1.0, 0.0]),
            )
        )
    return assemble(links, joints)


def assemble(links: Sequence[Link], joints: Sequence[Joint]) -> Robot:
    """Return a robot without limbs, soles or file; it stands at the origin."""
    description = Description("test", tuple(links), tuple(joints), links[0].name)
    model = build_model(description)
    neutral = frozen_array(pin.neutral(model))
    return Robot("test", model, description, {}, {}, (), {"standing": neutral})


def corners(robot: Robot, half: Array = HALF) -> tuple[ContactPoint, ...]:
    """Return the four lower corners of the base."""
    x, y, z = half
    return tuple(
        contact_point(robot, "base", (a * x, b * y, -z))
        for a in (-1.0, 1.0)
        for b in (-1.0, 1.0)
    )


def drives(robot: Robot, mode: str = "torque", **figures: Any) -> Actuation:
    """Return drives without friction, limits and stops, but for what is given."""
    actuation = actuation_of(robot, **{**PLAIN, **figures})
    return actuation.with_parameters(mode=mode)


def in_the_air(robot: Robot, mode: str = "torque", **options: Any) -> World:
    """Return a world in which the robot touches nothing; figures go to the drives."""
    world = {
        name: options.pop(name) for name in ("gravity", "pushes") if name in options
    }
    return make_world(
        robot,
        contacts=(),
        material=SOFT,
        actuation=drives(robot, mode, **options),
        **world,
    )


def idle(robot: Robot, steps: int) -> Command:
    """Return commands of zeros."""
    return Command(*np.zeros((3, steps, robot.nv - 6)))


def commands(robot: Robot, steps: int, **parts: Any) -> Command:
    """Return commands of zeros, but for what is given."""
    return idle(robot, steps)._replace(
        **{
            name: np.broadcast_to(
                np.asarray(values, dtype=float), (steps, robot.nv - 6)
            )
            for name, values in parts.items()
        }
    )


def run(
    world: World,
    seconds: float,
    q: Array,
    v: Array | None = None,
    *,
    dt: float = 1e-3,
    every: int = 1,
    told: Command | None = None,
) -> Trace:
    """Return the motion from a state, drives told nothing unless given."""
    engine = NativeEngine(world, dt)
    engine.reset(q, v)
    steps = round(seconds / dt)
    return engine.advance(idle(world.robot, steps) if told is None else told, every)


def pose(position: Array, rotation: Array | None = None) -> Array:
    """Return a configuration of a block, shape (7,)."""
    turn = pin.Quaternion(np.eye(3) if rotation is None else np.asarray(rotation))
    return np.concatenate([np.asarray(position, dtype=float), turn.coeffs()])


def in_world(q: Array, v: Array) -> Array:
    """Return velocities or accelerations (n, nv) with the base's in world axes."""
    return _turned(q, v, 1)


def in_base(q: Array, v: Array) -> Array:
    """Return velocities or accelerations (n, nv) with the base's in its own axes."""
    return _turned(q, v, -1)


def _turned(q: Array, v: Array, way: int) -> Array:
    turn = np.array([pin.Quaternion(row[3:7]).toRotationMatrix() for row in q])
    if way < 0:
        turn = np.swapaxes(turn, 1, 2)
    result = np.array(v)
    for part in (slice(0, 3), slice(3, 6)):
        result[:, part] = np.einsum("nij,nj->ni", turn, result[:, part])
    return result


def half_ahead(robot: Robot, q: Array, v: Array, speed: Array, dt: float) -> Array:
    """Return configurations (n, nq) half a step on, joints at speeds (n, nv - 6)."""
    alone = np.hstack([np.zeros((len(q), 6)), 0.5 * dt * speed])
    rows = [pin.integrate(robot.model, *row) for row in zip(q, alone, strict=True)]
    result = np.array(rows)
    going = in_world(q, v)
    result[:, :3] += 0.5 * dt * going[:, :3]
    for row, turn in zip(result, 0.5 * dt * going[:, 3:6], strict=True):
        turned = pin.exp3(turn) @ pin.Quaternion(row[3:7]).toRotationMatrix()
        row[3:7] = pin.Quaternion(turned).coeffs()
    return result


def midway(
    robot: Robot,
    q: Array,
    v: Array,
    q_next: Array,
    a: Array,
    dt: float,
    before: tuple[Array, Array] | None = None,
    *,
    prescribed: bool = False,
) -> tuple[Array, Array, Array]:
    """Return configuration, velocity and acceleration at which steps balance forces.

    A step goes from (q, v) to q_next. Its robot is half a step ahead; velocities are
    those midway through the step as the last one foretells, in world axes
    1.5 v - 0.5 v_before, and v itself after a reset; a is the step's, given in base
    axes of q_next. With these, Newton's and Euler's equations hold to rounding.

    Args:
        robot: The robot.
        q: Configurations before the steps, shape (n, nq).
        v: Velocities before them, shape (n, nv).
        q_next: Configurations after them.
        a: Accelerations that a trace has after them.
        dt: Time step [s].
        before: Configurations and velocities another step before; none after a reset.
        prescribed: Whether joints are: then they are midway on their way to q_next.
    """
    world = in_world(q, v)
    last = world if before is None else in_world(*before)
    speed = v[:, 6:] + dt * a[:, 6:] if prescribed else v[:, 6:]
    place = half_ahead(robot, q, v, speed, dt)
    return (
        place,
        in_base(place, 1.5 * world - 0.5 * last),
        in_base(place, in_world(q_next, a)),
    )


def midway_of(
    robot: Robot, trace: Trace, q: Array, v: Array, *, prescribed: bool = False
) -> tuple[Array, Array, Array]:
    """Return what :func:`midway` says of all steps of a trace that began at (q, v)."""
    dt = float(trace.time[0])
    q_before = np.vstack([q, q, trace.q[:-1]])
    v_before = np.vstack([v, v, trace.v[:-1]])
    before = q_before[:-1], v_before[:-1]
    now = q_before[1:], v_before[1:]
    return midway(robot, *now, trace.q, trace.a, dt, before, prescribed=prescribed)
