"""A push against a robot that stands: whether it stands afterwards, feet in place.

The robot follows the reference of standing still, with feedback or with servos alone,
and is pushed for a tenth of a second. It stands afterwards if it has not fallen, its
soles are flat where they were, its CoM is back and at rest, and no actuator went beyond
its limits. Meanwhile a foot may have been in the air; the sentence says so.

The theoretical limit is that of the linear inverted pendulum with the force of the
push, c̈ = ω² (c - p) + F / m. Its divergent component ξ = c + ċ / ω obeys
ξ̇ = ω (ξ - p) + F / (m ω). From rest at ξ = 0, with the ZMP p at the edge, d ahead, from
the start of the push, ξ reaches the edge at its end if F (1 - e^(-ωτ)) = m ω² d; beyond
it nothing but a step helps. The impulse F τ is then

    J* = m ω d · ωτ / (1 - e^(-ωτ)).

As the support polygon P is convex, no other path of the ZMP allows more: at the end of
the push ξ is F (e^(ωτ) - 1) / (m ω²) along the push, less (e^(ωτ) - 1) times a mean of
ZMPs in P, and must be in P; so F (1 - e^(-ωτ)) / (m ω²) along the push must be in P.

A push at height z_F acts on the CoM as F does if it turns the upper body freely. Where
the posture is kept, angular momentum L about the CoM stays at zero, and the moment of
the push must be borne, too: m h c̈ = m g (c - p) + F z_F - dL/dt. The push then counts
z_F / h times, and the limit is J* h / z_F; a robot that swings its upper body may
survive more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.control.certificate import Gains
from equipoise.errors import EquipoiseError
from equipoise.gait.standing import standing_reference
from equipoise.gait.standing_motion import bent_stance
from equipoise.kinematics.com import com, com_velocity
from equipoise.kinematics.stance import sole_pose
from equipoise.kinematics.support import distance_to_edge, support_polygon
from equipoise.kinematics.terrain import Terrain
from equipoise.log.run import Run
from equipoise.robot.model import Robot
from equipoise.simulation.falling import com_height
from equipoise.simulation.feedback import (
    Feedback,
    Knowledge,
    Law,
    feedback_by,
    mode_for,
)
from equipoise.simulation.simulate import EngineName, simulate
from equipoise.simulation.start import stance_on
from equipoise.simulation.summary import (
    Check,
    RunSummary,
    TrialSummary,
    limit_checks,
    trial_results,
)
from equipoise.simulation.trials import trial_world
from equipoise.simulation.world import PUSH_DURATION, World, horizontal_push

# When the push begins, how long the robot is watched in all, and how long if it has not
# fallen by then and is not yet at rest [s]. Near the limit it rocks for seconds.
PUSH_START = 0.5
SECONDS, LONGER = 4.0, 8.0
# The least time after a push in which a robot can come to rest [s].
LEAST_AFTER = 1.0
# Corners of the soles are back where they were within these fractions of the sole's
# length: along the ground, and above it.
SLIP_TOLERANCE = 0.05
LIFT_TOLERANCE = 0.02
# The CoM is back within this fraction of its height h, and at rest below this fraction
# of √(g h), in the last part of the run [s].
COM_TOLERANCE = 0.02
SPEED_TOLERANCE = 0.01
SETTLED = 0.25
BACK, AT_REST = "CoM comes back", "CoM is at rest"
# What must hold after a push, in words.
CONDITIONS = (
    "The robot has not fallen.",
    f"Corners of the soles are off their place by at most {100 * SLIP_TOLERANCE:g} % "
    f"of the sole's length along the ground, and {100 * LIFT_TOLERANCE:g} % above it.",
    f"The CoM is off its place by at most {100 * COM_TOLERANCE:g} % of its height h, "
    f"and slower than {100 * SPEED_TOLERANCE:g} % of √(g h), in the last "
    f"{SETTLED:g} s.",
    "Torques and speeds of the actuators are within their limits.",
)

STEPPING_CONDITIONS = (
    CONDITIONS[0],
    f"The soles lie flat at the end, to {100 * LIFT_TOLERANCE:g} % of their length.",
    f"The CoM is slower than {100 * SPEED_TOLERANCE:g} % of √(g h) in the last "
    f"{SETTLED:g} s.",
    CONDITIONS[3],
)

Progress = Callable[[float], None]


@dataclass(frozen=True, kw_only=True)
class PushSummary(TrialSummary):
    """Results of a push.

    Attributes:
        feedback: What the feedback knows: ``"sensors"``, ``"true state"``, or
            ``"none"`` where there is none.
        law: Law of control: ``"stabiliser"``, ``"paper"``, or ``"servos"`` alone.
        impulse_nspkg: Impulse over the robot's mass [N s/kg].
        theoretical_limit_ns: J* in the direction of the push [N s].
        limit_fraction: Impulse over J*.
        com_excursion_m: Largest horizontal distance of the CoM from its place [m].
        com_end_m: The same at the end, its largest over the last quarter of a second.
        com_speed_mps: Largest speed of the CoM in that time [m/s].
        sole_slip_m: Largest horizontal distance of a sole's corner from its place, in
            that time [m].
        sole_lift_m: Largest height of a sole's corner over its place, during the run
            and in that time, ``"max"`` and ``"end"`` [m].
        steps_taken: How many steps it took.
    """

    feedback: Knowledge
    law: str
    impulse_nspkg: float
    theoretical_limit_ns: float
    limit_fraction: float | None
    com_excursion_m: float
    com_end_m: float
    com_speed_mps: float
    sole_slip_m: float
    sole_lift_m: dict[str, float]
    steps_taken: int


def impulse_limit(
    mass: float, omega: float, distance: float, duration: float = PUSH_DURATION
) -> float:
    """Return J*, the largest impulse that a pendulum survives without a step [N s].

    Args:
        mass: Mass [kg].
        omega: Natural frequency of the pendulum, √(g / h) [1/s].
        distance: From the ZMP at rest to the edge of the support polygon, along the
            push [m].
        duration: How long the push lasts [s]; zero for a blow, where J* = m ω d.
    """
    phase = omega * duration
    longer = -phase / math.expm1(-phase) if phase > 0.0 else 1.0
    return mass * omega * distance * longer


def theoretical_limit(
    robot: Robot | World,
    direction: float,
    duration: float = PUSH_DURATION,
    q: Array | None = None,
) -> float:
    """Return J* of a robot that stands on both soles [N s].

    Args:
        robot: The robot, or the robot in its world.
        direction: Where it is pushed, about the world's z [rad]: 0 forward, π/2 left.
        duration: How long the push lasts [s].
        q: Configuration in which it stands, shape (nq,); standing unless given.

    Raises:
        EquipoiseError: If the robot has no such posture.
    """
    world = trial_world(robot)
    if q is None:
        q = pushed_stance(world)
    corners = support_polygon(world.robot, q, tuple(world.robot.soles))
    centre = np.asarray(com(world.robot, q))
    distance = distance_to_edge(np.asarray(corners), centre[:2], direction)
    omega = math.sqrt(world.gravity / float(com_height(world, q)))
    return impulse_limit(world.robot.mass, omega, distance, duration)


def pushed_stance(world: World) -> Array:
    """Return the posture in which a robot is pushed: standing, legs not straight."""
    return bent_stance(world.robot, stance_on(world.terrain, world.robot))


def push(
    robot: Robot | World,
    impulse: float,
    direction: float = 0.0,
    terrain: Terrain | None = None,
    *,
    link: str | None = None,
    pull: bool = False,
    feedback: Feedback | bool = True,
    law: Law = "stabiliser",
    gains: Gains | tuple[float, float] | None = None,
    force_gains: bool = False,
    steps: bool = False,
    true_state: bool = False,
    seed: int = 0,
    seconds: float | None = None,
    engine: EngineName = "native",
    dt: float = 1e-3,
    model: Robot | None = None,
    progress: Progress | None = None,
) -> Run:
    """Push a robot that stands, for a tenth of a second, and see whether it stands.

    Args:
        robot: The robot, or the robot in its world if another is wanted than
            :func:`~equipoise.simulation.trials.trial_world`'s.
        impulse: Force times duration [N s].
        direction: Where it is pushed, about the world's z [rad]: 0 forward, π/2 left.
        terrain: What it stands on; flat ground unless given.
        link: Link whose centre of mass is pushed; the torso unless given.
        pull: Whether it is pulled instead: the opposite direction.
        feedback: Whether there is feedback, or one of your own; servos alone hold the
            posture if not.
        law: Law of ours: ``"stabiliser"``
            (:func:`~equipoise.simulation.feedback.balance_feedback`), ``"paper"``
            (:func:`~equipoise.simulation.feedback.paper_feedback`), or ``"whole-body"``
            (:func:`~equipoise.simulation.feedback.whole_body_feedback`) for joints that
            are told torques.
        gains: Gains of the paper's law, or k_p and k_c [1/s].
        force_gains: Whether these may be unstable.
        steps: Whether the robot may step, with whole-body torques; then feet and CoM
            need not come back to where they were.
        true_state: Whether ours is shown the true state, not sensors.
        seed: Seed of the noise of our sensors.
        seconds: How long to simulate [s]; 4 s unless given, and 8 s if the robot is
            not at rest by then. The push begins after half a second.
        engine: Which engine.
        dt: Time step [s].
        model: The robot as reference and feedback know it; as it is unless given.
        progress: Is told the simulated time [s] now and then.

    Returns:
        The run; ``achieved`` if it stands, its feet and its CoM where they were.

    Raises:
        NameNotFoundError: If the robot has no such link.
        EquipoiseError: If impulse or direction is impossible, the time is too short,
            the robot has no posture to stand in, or gains are not stable.
    """
    least = PUSH_START + PUSH_DURATION + LEAST_AFTER
    if seconds is not None and not seconds >= least:
        raise EquipoiseError(
            f"{seconds:g} s are too short to see whether a robot stands after a push: "
            f"at least {least:.2g} s are needed"
        )
    towards = direction + math.pi if pull else direction
    world = trial_world(robot, terrain, mode_for(law, feedback))
    q = pushed_stance(world)
    pushed = horizontal_push(world.robot, impulse, towards, PUSH_START, link=link)
    world = replace(world, pushes=(*world.pushes, pushed))
    known = model or world.robot
    closed = feedback_by(
        world,
        feedback,
        known,
        law=law,
        gains=gains,
        force_gains=force_gains,
        steps=steps,
        true_state=true_state,
        seed=seed,
    )
    word = "pull" if pull else "push"
    what = f"a {word} of {impulse:.3g} N s towards {degrees(towards):.0f}°"

    def assess(run: Run, summary: RunSummary) -> PushSummary:
        moved = _moved(world, run)
        height, pace = _scales(world, q)
        length = min(float(sole.size[0]) for sole in world.robot.soles.values())
        in_place = (
            Check("soles slip", moved.slip, SLIP_TOLERANCE * length, "m"),
            Check(BACK, moved.com, COM_TOLERANCE * height, "m"),
        )
        taken = _steps_taken(closed)
        stepped = f", with {taken} steps" if taken else ""
        if not taken and moved.highest > LIFT_TOLERANCE * length:
            stepped = (
                f", a foot up to {1e3 * moved.highest:.0f} mm in the air meanwhile"
            )
        results = trial_results(
            world,
            run,
            summary,
            q,
            verb="push",
            checks=(
                *(() if taken else in_place),
                Check("soles lie flat", moved.lift, LIFT_TOLERANCE * length, "m"),
                Check(AT_REST, moved.speed, SPEED_TOLERANCE * pace, "m/s"),
                *limit_checks(summary.actuators),
            ),
            passed=f"stood after {what}{stepped}",
            failed=f"did not fall after {what}{stepped}",
            fell=f" after {what}",
        )
        limit = theoretical_limit(world, towards, q=q)
        return PushSummary(
            **results,
            feedback="none" if closed is None else closed.knowledge,
            law="servos" if closed is None else closed.law,
            impulse_nspkg=impulse / world.robot.mass,
            theoretical_limit_ns=limit,
            limit_fraction=impulse / limit if limit > 0.0 else None,
            com_excursion_m=moved.excursion,
            com_end_m=moved.com,
            com_speed_mps=moved.speed,
            sole_slip_m=moved.slip,
            sole_lift_m={"max": moved.highest, "end": moved.lift},
            steps_taken=taken,
        )

    for lasts in (SECONDS, LONGER) if seconds is None else (seconds,):
        run = simulate(
            world,
            standing_reference(known, q),
            lasts,
            start=q,
            engine=engine,
            dt=dt,
            assess=assess,
            progress=progress,
            **({} if closed is None else closed.blocks),
        )
        if not _moves_still(run):
            break
    return run


def _steps_taken(feedback: Feedback | None) -> int:
    """Return how many steps a robot made that was to stand."""
    if feedback is None or feedback.steps is None:
        return 0
    return sum(event.what == "lands" for event in feedback.steps.events)


def _moves_still(run: Run) -> bool:
    """Return whether a robot has not fallen, but is not yet back and at rest."""
    if run.summary["fell_at_s"] is not None:
        return False
    checks = {check["name"]: check["passed"] for check in run.summary["checks"]}
    return not (checks.get(BACK, True) and checks[AT_REST])


@dataclass(frozen=True)
class _Moved:
    """How far CoM and soles are from where they were before the push.

    Attributes:
        com: Largest horizontal distance of the CoM at the end [m].
        excursion: The same over the whole run [m].
        speed: Largest speed of the CoM at the end [m/s].
        slip: Largest horizontal distance of a sole's corner at the end [m].
        lift: Largest vertical distance of a sole's corner at the end [m].
        highest: The same over the whole run [m].
        clear: Largest height of a sole's lowest corner over its place [m].
    """

    com: float
    excursion: float
    speed: float
    slip: float
    lift: float
    highest: float
    clear: float


def _moved(world: World, run: Run) -> _Moved:
    robot, last = world.robot, float(run.time[-1])
    late: NDArray[np.bool_] = run.time > last - SETTLED
    before = max(int(np.searchsorted(run.time, PUSH_START, "right")) - 1, 0)
    away = np.linalg.norm((run.com - run.com[before])[:, :2], axis=1)
    speed = np.linalg.norm(com_velocity(robot, run.q[late], run.v[late]), axis=1)
    slips, lifts, clear = [], [], 0.0
    for side, sole in robot.soles.items():
        pose = sole_pose(robot, run.q, side)
        corners = sole.polygon_in_sole @ np.swapaxes(pose[:, :3, :2], 1, 2)
        corners = corners + pose[:, None, :3, 3]
        off = corners - corners[before]
        slips.append(np.linalg.norm(off[..., :2], axis=2).max(axis=1))
        lifts.append(np.abs(off[..., 2]).max(axis=1))
        clear = max(clear, float(off[..., 2].min(axis=1).max()))
    slip, lift = np.max(slips, axis=0), np.max(lifts, axis=0)
    return _Moved(
        float(away[late].max()),
        float(away.max()),
        float(speed.max()),
        float(slip[late].max()),
        float(lift[late].max()),
        float(lift.max()),
        clear,
    )


def _scales(world: World, q: Array) -> tuple[float, float]:
    """Return the CoM's height h [m] and √(g h) [m/s]."""
    height = float(com_height(world, q))
    return height, math.sqrt(world.gravity * height)


def degrees(angle: float) -> float:
    """Return an angle in degrees, above -180 and up to 180."""
    turned = round(math.degrees(angle), 9) % 360.0
    return turned - 360.0 if turned > 180.0 else turned
