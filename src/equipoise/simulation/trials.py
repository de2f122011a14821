"""Two trials that every robot must pass: standing still, and being dropped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from equipoise.arrays import Array
from equipoise.control.blocks import Hold
from equipoise.errors import EquipoiseError
from equipoise.kinematics.com import com
from equipoise.kinematics.terrain import Flat, Terrain
from equipoise.log.run import Event, Run
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.robot.model import Robot
from equipoise.simulation.actuation import Mode, actuation_of
from equipoise.simulation.contacts import sole_points
from equipoise.simulation.fall_cause import fall_cause
from equipoise.simulation.falling import com_height
from equipoise.simulation.simulate import (
    RECORD_PERIOD,
    EngineName,
    simulate,
)
from equipoise.simulation.start import body_points, stance_on
from equipoise.simulation.world import World, make_world

# Over the last part of a trial figures are averaged [s].
SETTLED = 0.25
# Standing still: the CoM stays this close, as a share of its height, and forces add
# up to the weight to this share.
COM_SHARE = 0.02
FORCE_SHARE = 0.01
# A trial shorter than this is over before the robot has settled [s].
SHORTEST_TRIAL = 0.5
HIGHEST_DROP = 100.0
# An impact is recorded this often [s].
IMPACT_PERIOD = 1e-3
# A drop from this share of the leg's length.
DROP_SHARE = 0.1

Progress = Callable[[float], None]


def trial_world(
    robot: Robot, terrain: Terrain, mode: Mode = "servo", **more: Any
) -> World:
    """Return a world in which all of the robot can touch, not only its soles."""
    contacts = (*sole_points(robot), *body_points(robot))
    return make_world(
        robot, terrain, contacts=contacts, actuation=actuation_of(robot, mode), **more
    )


def stand(
    robot: Robot,
    terrain: Terrain | None = None,
    *,
    seconds: float = 3.0,
    engine: EngineName = "native",
    dt: float = 1e-3,
    world: World | None = None,
    progress: Progress | None = None,
) -> Run:
    """Let a robot settle on its feet; its servos hold the posture.

    Args:
        robot: The robot.
        terrain: What to stand on; flat ground unless given.
        seconds: How long.
        engine: Which engine.
        dt: Time step [s].
        world: The robot in its world, if another is wanted than
            :func:`trial_world`'s.
        progress: Is told the simulated time [s] now and then.

    Returns:
        The run; ``achieved`` if it still stands, its CoM where the posture puts it.

    Raises:
        EquipoiseError: If the robot has no such posture.
    """
    _refuse_short(seconds, SHORTEST_TRIAL)
    world = world or trial_world(robot, terrain or Flat())
    q = stance_on(world.terrain, world.robot)
    run = _hold(world, q, q, seconds, engine, dt, progress)
    figures = dict(run.summary)
    late = run.time > run.time[-1] - SETTLED
    weight = world.robot.mass * world.gravity
    force = run.contact_force[late].sum(axis=1).mean(axis=0)
    drift = float(np.linalg.norm(run.com[late] - com(world.robot, q), axis=1).max())
    fell = figures["fell_at_s"]
    checks = [
        make_check(
            "CoM stays near", drift, COM_SHARE * float(com_height(world, q)), "m"
        ),
        _weight_check(float(force[2]), weight),
    ]
    figures |= {
        "verb": "stand",
        "achieved": fell is None and all(check["passed"] for check in checks),
        "steps_done": 0,
        "weight_n": weight,
        "force_n": _named(force),
        "foot_force_n": {
            side: float(wrench[late, 2].mean())
            for side, wrench in run.foot_wrench.items()
        },
        "com_m": _named(run.com[late].mean(axis=0)),
        "zmp_m": _named(run.zmp[late & run.supported].mean(axis=0))
        if (late & run.supported).any()
        else None,
        "sinkage_m": _sinkage(world, run, late),
        "checks": checks,
        "sentence": _sentence(world, "stood", seconds, run, q, checks),
        **described_world(world),
    }
    return replace(run, summary=figures)


def drop(
    robot: Robot,
    terrain: Terrain | None = None,
    *,
    height: float | None = None,
    seconds: float = 3.0,
    engine: EngineName = "native",
    dt: float = 1e-3,
    world: World | None = None,
    progress: Progress | None = None,
) -> Run:
    """Drop a robot onto its feet; its servos hold the posture.

    Args:
        robot: The robot.
        terrain: What to drop it on; flat ground unless given.
        height: Height of the soles above the ground [m]; a tenth of the legs unless
            given.
        seconds: How long.
        engine: Which engine.
        dt: Time step [s].
        world: The robot in its world, if another is wanted than
            :func:`trial_world`'s.
        progress: Is told the simulated time [s] now and then.

    Returns:
        The run; ``achieved`` if it stands at the end.

    Raises:
        EquipoiseError: If the height is negative, or the robot has no such posture.
    """
    world = world or trial_world(robot, terrain or Flat())
    height = DROP_SHARE * robot.longest_limb if height is None else height
    if not (np.isfinite(height) and 0.0 <= height <= HIGHEST_DROP):
        raise EquipoiseError(
            f"a drop from {height:g} m; it must be from 0 to {HIGHEST_DROP:g} m"
        )
    falling = (2.0 * height / max(world.gravity, 1e-3)) ** 0.5
    _refuse_short(seconds, falling + SHORTEST_TRIAL)
    stance = stance_on(world.terrain, world.robot)
    q = stance.copy()
    q[2] += height
    run = _hold(world, q, stance, seconds, engine, dt, progress, max(dt, IMPACT_PERIOD))
    figures = dict(run.summary)
    vertical = run.contact_force[..., 2].sum(axis=1)
    weight = world.robot.mass * world.gravity
    touched = np.flatnonzero(run.supported)
    landed = float(run.time[touched[0]]) if len(touched) else None
    events = [*run.events]
    if landed is not None:
        events.insert(0, Event(landed, "landed"))
    late = run.time > run.time[-1] - SETTLED
    drift = float(np.abs(run.com[late] - com(world.robot, stance)).max())
    fell = figures["fell_at_s"]
    checks = [
        make_check(
            "CoM comes back", drift, COM_SHARE * float(com_height(world, stance)), "m"
        ),
        _weight_check(float(vertical[late].mean()), weight),
    ]
    figures |= {
        "verb": "drop",
        "achieved": fell is None and all(check["passed"] for check in checks),
        "steps_done": 0,
        "height_m": height,
        "landed_at_s": landed,
        "weight_n": weight,
        "peak_force_n": float(vertical.max()),
        "peak_force_over_weight": float(vertical.max()) / weight,
        "com_m": _named(run.com[late].mean(axis=0)),
        "checks": checks,
        "sentence": _sentence(world, "landed and stood", seconds, run, stance, checks),
        **described_world(world),
    }
    return replace(run, summary=figures, events=tuple(events))


def _refuse_short(seconds: float, least: float) -> None:
    """Refuse trials that end before the robot can have settled."""
    if not seconds >= least:
        raise EquipoiseError(
            f"{seconds:g} s are too short to settle: at least {least:.2g} s are needed"
        )


def _hold(
    world: World,
    start: Array,
    posture: Array,
    seconds: float,
    engine: EngineName,
    dt: float,
    progress: Progress | None,
    record_period: float = RECORD_PERIOD,
) -> Run:
    robot = world.robot
    reference = Hold(joint_positions(robot, posture), np.asarray(com(robot, posture)))
    return simulate(
        world,
        reference,
        seconds,
        start=start,
        engine=engine,
        dt=dt,
        on_feet=start is posture,
        upright=posture,
        record_period=record_period,
        progress=progress,
    )


def described_world(world: World) -> dict[str, Any]:
    """Return ground and contact, as plain data."""
    material = world.material
    return {
        "terrain": world.terrain.describe(),
        "contact": {
            "points": len(world.contacts),
            "stiffness_npm": material.stiffness,
            "damping_nspm": material.damping,
            "static_friction": material.static_friction,
            "dynamic_friction": material.dynamic_friction,
        },
    }


def _weight_check(vertical_force: float, weight: float) -> dict[str, Any]:
    off = abs(vertical_force - weight)
    return make_check("vertical force is the weight", off, FORCE_SHARE * weight, "N")


def _sinkage(world: World, run: Run, late: Array) -> dict[str, float]:
    """Return how deep corners of soles are in the ground [m]: mean and largest."""
    soles = [n for n, contact in enumerate(world.contacts) if contact.side is not None]
    depth = world.terrain.surface(run.contact_position[late][:, soles]).depth
    return {"mean": float(np.mean(depth)), "max": float(np.max(depth))}


def make_check(name: str, value: float, limit: float, unit: str) -> dict[str, Any]:
    """Return a figure beside its limit, and whether it keeps it."""
    return {
        "name": name,
        "value": value,
        "limit": limit,
        "unit": unit,
        "passed": bool(value <= limit),
    }


def _named(vector: Array) -> dict[str, float]:
    return dict(zip("xyz", map(float, vector), strict=True))


def _sentence(
    world: World,
    did: str,
    seconds: float,
    run: Run,
    upright: Array,
    checks: list[dict[str, Any]],
) -> str:
    name, ground = world.robot.name, world.terrain.describe()
    fell = run.summary["fell_at_s"]
    if fell is not None:
        cause = fall_cause(world, run, upright)
        why = f": {cause.text}" if cause else ""
        return f"{name} fell at {fell:.2f} s on {ground}{why}."
    failed = [
        f"the check '{check['name']}' failed ({check['value']:.3g} {check['unit']}, "
        f"at most {check['limit']:.3g} {check['unit']})"
        for check in checks
        if not check["passed"]
    ]
    if failed:
        return f"{name} did not fall on {ground}, but {' and '.join(failed)}."
    return f"{name} {did} on {ground} for {seconds:g} s."
