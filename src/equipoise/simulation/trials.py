"""Two trials that every robot must pass: standing still, and being dropped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.gait.standing import standing_reference
from equipoise.kinematics.com import com
from equipoise.kinematics.terrain import Flat, Terrain
from equipoise.log.run import Event, Run
from equipoise.robot.model import Robot
from equipoise.simulation.actuation import Mode, actuation_of, torque_actuation
from equipoise.simulation.contacts import sole_points
from equipoise.simulation.falling import com_height
from equipoise.simulation.simulate import EngineName, simulate
from equipoise.simulation.start import body_points, stance_on
from equipoise.simulation.summary import (
    Check,
    RunSummary,
    TrialSummary,
    limit_checks,
    named_axes,
    trial_results,
)
from equipoise.simulation.world import World, make_world

# Results are averaged over the last part of a trial [s].
SETTLED = 0.25
# Standing still: the CoM stays within this fraction of its height, and forces add up
# to the weight within this fraction of it.
COM_TOLERANCE = 0.02
FORCE_TOLERANCE = 0.01
# A trial shorter than this is over before the robot has settled [s].
SHORTEST_TRIAL = 0.5
HIGHEST_DROP = 100.0
# An impact is recorded this often, and averaged over this long [s].
IMPACT_PERIOD = 1e-3
IMPACT = 0.02
# Height of a drop as a fraction of the leg's length.
DROP_HEIGHT = 0.1

Progress = Callable[[float], None]


@dataclass(frozen=True, kw_only=True)
class StandSummary(TrialSummary):
    """Results of standing, over the last quarter of a second.

    Attributes:
        force_n: Force of the ground on the robot [N].
        foot_force_n: Vertical force on each foot [N].
        com_m: Centre of mass [m].
        zmp_m: Zero-moment point [m], None without support.
        sinkage_m: Depth of the soles' corners in the ground, mean and largest [m].
    """

    force_n: dict[str, float]
    foot_force_n: dict[str, float]
    com_m: dict[str, float]
    zmp_m: dict[str, float] | None
    sinkage_m: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class DropSummary(TrialSummary):
    """Results of a drop.

    Attributes:
        height_m: Height of the soles above the ground at the start [m].
        landed_at_s: When the robot first touched the ground, or None [s].
        peak_force_n: Largest vertical force of the ground [N].
        peak_force_over_weight: The same over the robot's weight. It is that of dampers
            met at speed, and grows with shorter time steps.
        impact_over_weight: Largest mean of the vertical force over 20 ms, over the
            weight, which does not.
        com_m: Centre of mass at the end [m].
    """

    height_m: float
    landed_at_s: float | None
    peak_force_n: float
    peak_force_over_weight: float
    impact_over_weight: float
    com_m: dict[str, float]

    def events(self) -> list[Event]:
        """Return what happened and when: the landing, too."""
        if self.landed_at_s is None:
            return super().events()
        return [Event(self.landed_at_s, "landed"), *super().events()]


def trial_world(
    robot: Robot | World,
    terrain: Terrain | None = None,
    mode: Mode | None = "servo",
    *,
    bandwidth: float | None = None,
    **more: Any,
) -> World:
    """Return a world in which all of the robot can touch, not only its soles.

    Args:
        robot: The robot; a world is returned as it is.
        terrain: What it stands on; flat ground unless given.
        mode: Mode of the joints; with ``"torque"`` they are those of
            :func:`~equipoise.simulation.actuation.torque_actuation`. None for these if
            the robot's file says that its legs are told torques, and servos if not.
        bandwidth: Bandwidth of the legs' servos in stance [Hz];
            :func:`~equipoise.simulation.actuation.stance_bandwidth` unless given.
        more: Arguments of :func:`~equipoise.simulation.world.make_world`.

    Raises:
        EquipoiseError: If a world is given, and what it already has as well.
    """
    if isinstance(robot, World):
        if terrain is not None or any(more.values()):
            raise EquipoiseError(
                "a world has its own terrain, pushes and actuators: give them to "
                "make_world(), or give the robot alone"
            )
        return robot
    contacts = (*sole_points(robot), *body_points(robot))
    if mode is None:
        mode = "torque" if robot.torque_controlled else "servo"
    if mode == "torque":
        actuation = torque_actuation(robot)
    else:
        actuation = actuation_of(robot, mode, bandwidth=bandwidth)
    return make_world(
        robot, terrain or Flat(), contacts=contacts, actuation=actuation, **more
    )


def stand(
    robot: Robot | World,
    terrain: Terrain | None = None,
    *,
    seconds: float = 3.0,
    engine: EngineName = "native",
    dt: float = 1e-3,
    model: Robot | None = None,
    progress: Progress | None = None,
) -> Run:
    """Let a robot settle on its feet; its servos hold the posture.

    Args:
        robot: The robot, or the robot in its world if another is wanted than
            :func:`trial_world`'s.
        terrain: What to stand on; flat ground unless given.
        seconds: How long.
        engine: Which engine.
        dt: Time step [s].
        model: The robot as the feed-forward torques know it; as it is unless given.
        progress: Is told the simulated time [s] now and then.

    Returns:
        The run; ``achieved`` if it still stands, its CoM where the posture puts it.

    Raises:
        EquipoiseError: If the robot has no such posture.
    """
    _refuse_short(seconds, SHORTEST_TRIAL)
    world = trial_world(robot, terrain)
    q = stance_on(world.terrain, world.robot)

    def assess(run: Run, summary: RunSummary) -> StandSummary:
        late = run.time > run.time[-1] - SETTLED
        force = run.contact_force[late].sum(axis=1).mean(axis=0)
        drift = np.linalg.norm(run.com[late] - com(world.robot, q), axis=1).max()
        results = trial_results(
            world,
            run,
            summary,
            q,
            verb="stand",
            checks=(
                _com_check("CoM stays near", world, q, drift),
                _weight_check(world, force[2]),
                *limit_checks(summary.actuators),
            ),
            passed=f"stood on {world.terrain.describe()} for {seconds:g} s",
            failed=f"did not fall on {world.terrain.describe()}",
        )
        settled = late & run.supported
        feet = run.foot_wrench.items()
        return StandSummary(
            **results,
            force_n=named_axes(force),
            foot_force_n={side: float(wrench[late, 2].mean()) for side, wrench in feet},
            com_m=named_axes(run.com[late].mean(axis=0)),
            zmp_m=named_axes(run.zmp[settled].mean(axis=0)) if settled.any() else None,
            sinkage_m=_sinkage(world, run, late),
        )

    return simulate(
        world,
        standing_reference(model or world.robot, q),
        seconds,
        start=q,
        engine=engine,
        dt=dt,
        assess=assess,
        progress=progress,
    )


def drop(
    robot: Robot | World,
    terrain: Terrain | None = None,
    *,
    height: float | None = None,
    seconds: float = 3.0,
    engine: EngineName = "native",
    dt: float = 1e-3,
    model: Robot | None = None,
    progress: Progress | None = None,
) -> Run:
    """Drop a robot onto its feet; its servos hold the posture.

    Args:
        robot: The robot, or the robot in its world if another is wanted than
            :func:`trial_world`'s.
        terrain: What to drop it on; flat ground unless given.
        height: Height of the soles above the ground [m]; a tenth of the legs unless
            given.
        seconds: How long.
        engine: Which engine.
        dt: Time step [s].
        model: The robot as the feed-forward torques know it; as it is unless given.
        progress: Is told the simulated time [s] now and then.

    Returns:
        The run; ``achieved`` if it stands at the end.

    Raises:
        EquipoiseError: If the height is negative, or the robot has no such posture.
    """
    world = trial_world(robot, terrain)
    fall = DROP_HEIGHT * world.robot.longest_limb if height is None else height
    if not (np.isfinite(fall) and 0.0 <= fall <= HIGHEST_DROP):
        raise EquipoiseError(
            f"a drop from {fall:g} m; it must be from 0 to {HIGHEST_DROP:g} m"
        )
    falling = (2.0 * fall / max(world.gravity, 1e-3)) ** 0.5
    _refuse_short(seconds, falling + SHORTEST_TRIAL)
    stance = stance_on(world.terrain, world.robot)
    start = stance.copy()
    start[2] += fall

    def assess(run: Run, summary: RunSummary) -> DropSummary:
        vertical = run.contact_force[..., 2].sum(axis=1)
        touched = np.flatnonzero(run.supported)
        landed = float(run.time[touched[0]]) if len(touched) else None
        late = run.time > run.time[-1] - SETTLED
        drift = np.abs(run.com[late] - com(world.robot, stance)).max()
        results = trial_results(
            world,
            run,
            summary,
            stance,
            verb="drop",
            checks=(
                _com_check("CoM comes back", world, stance, drift),
                _weight_check(world, vertical[late].mean()),
            ),
            passed=f"landed and stood on {world.terrain.describe()} for {seconds:g} s",
            failed=f"did not fall on {world.terrain.describe()}",
        )
        peak = float(vertical.max())
        return DropSummary(
            **results,
            height_m=fall,
            landed_at_s=landed,
            peak_force_n=peak,
            peak_force_over_weight=peak / results["weight_n"],
            impact_over_weight=_impact(run, vertical) / results["weight_n"],
            com_m=named_axes(run.com[late].mean(axis=0)),
        )

    return simulate(
        world,
        standing_reference(model or world.robot, stance),
        seconds,
        start=start,
        engine=engine,
        dt=dt,
        on_feet=False,
        upright=stance,
        record_period=max(dt, IMPACT_PERIOD),
        assess=assess,
        progress=progress,
    )


def _impact(run: Run, vertical: Array) -> float:
    """Return the largest mean force over a short while [N]."""
    rows = max(round(IMPACT / max(float(np.median(np.diff(run.time))), 1e-9)), 1)
    sums = np.cumsum(np.insert(vertical, 0, 0.0))
    rows = min(rows, len(vertical))
    return float((sums[rows:] - sums[:-rows]).max() / rows)


def _refuse_short(seconds: float, least: float) -> None:
    """Refuse trials that end before the robot can have settled."""
    if not seconds >= least:
        raise EquipoiseError(
            f"{seconds:g} s are too short to settle: at least {least:.2g} s are needed"
        )


def _com_check(name: str, world: World, q: Array, drift: float) -> Check:
    limit = COM_TOLERANCE * float(com_height(world, q))
    return Check(name, float(drift), limit, "m")


def _weight_check(world: World, vertical_force: float) -> Check:
    weight = world.robot.mass * world.gravity
    off = abs(float(vertical_force) - weight)
    return Check("vertical force is the weight", off, FORCE_TOLERANCE * weight, "N")


def _sinkage(world: World, run: Run, late: Array) -> dict[str, float]:
    """Return how deep corners of soles are in the ground [m]: mean and largest."""
    soles = [n for n, contact in enumerate(world.contacts) if contact.side is not None]
    if not soles:
        return {"mean": 0.0, "max": 0.0}
    depth = world.terrain.surface(run.contact_position[late][:, soles]).depth
    return {"mean": float(np.mean(depth)), "max": float(np.max(depth))}
