"""Results of a simulation, typed: what ``summary.json`` and the tables are made of."""

from __future__ import annotations

import importlib.metadata
import math
import platform
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from equipoise.arrays import Array
from equipoise.log.run import Event, Run
from equipoise.simulation.actuator_use import ActuatorUse
from equipoise.simulation.falling import fall_cause
from equipoise.simulation.world import Push, World

# A sentence tells of so many checks that failed.
MOST_FAILURES = 2
PACKAGES = ("equipoise", "numpy", "pin", "warp-lang", "mujoco")


@dataclass(frozen=True)
class Check:
    """A number beside the limit that it must keep.

    Attributes:
        name: What is checked, in words.
        value: What it came to.
        limit: The most that it may be.
        unit: Unit of both; ``"%"`` of fractions of one.
        passed: Whether the value is within the limit.
    """

    name: str
    value: float
    limit: float
    unit: str = ""
    passed: bool = field(init=False)

    def __post_init__(self) -> None:
        """Compare."""
        object.__setattr__(self, "passed", bool(self.value <= self.limit))

    def failure(self) -> str:
        """Return what failed, in words."""
        factor = 100.0 if self.unit == "%" else 1.0
        unit = f" {self.unit}" if self.unit else ""
        value, limit = factor * self.value, factor * self.limit
        # as many digits as tell them apart
        digits = next(
            (n for n in range(3, 9) if f"{value:.{n}g}" != f"{limit:.{n}g}"), 3
        )
        return (
            f"the check '{self.name}' failed ({value:.{digits}g}{unit}, "
            f"at most {limit:.{digits}g}{unit})"
        )


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """Results of any simulation.

    Attributes:
        robot: Name of the robot.
        engine: Name of the engine.
        fell_at_s: When the robot had fallen, or None [s].
        duration_s: Simulated time [s].
        dt_s: Time step [s].
        wall_s: Time that it took [s].
        realtime_factor: Simulated time over that.
        com_error_m: Mean and largest distance of the CoM from its reference [m], None
            without a reference.
        zmp_margin_m: Smallest and mean distance of the ZMP to the edge of the support
            polygon, positive inside [m], None if nothing touched.
        actuators: Torques and speeds against their limits.
        notices: What the engine could not do exactly as asked.
        versions: Versions of what computed it.
        error: What ended the simulation early, or None.
    """

    robot: str
    engine: str
    fell_at_s: float | None
    duration_s: float
    dt_s: float
    wall_s: float
    realtime_factor: float
    com_error_m: dict[str, float] | None
    zmp_margin_m: dict[str, float] | None
    actuators: ActuatorUse
    notices: tuple[str, ...]
    versions: dict[str, str]
    error: str | None = None

    def events(self) -> list[Event]:
        """Return what happened and when."""
        events = [] if self.fell_at_s is None else [Event(self.fell_at_s, "fell")]
        if self.error is not None:
            events.append(Event(self.duration_s, f"stopped: {self.error}"))
        return events

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, by the names of ``summary.json``."""
        plain = asdict(self)
        if plain["error"] is None:
            del plain["error"]
        return plain


@dataclass(frozen=True, kw_only=True)
class TrialSummary(RunSummary):
    """Results of a trial: a simulation that a robot passes or not.

    Attributes:
        verb: Which trial.
        achieved: Whether the robot did not fall and all checks were passed.
        sentence: The outcome in a sentence.
        checks: What had to hold.
        terrain: The ground, in words.
        contact: Number of contact points and the parameters of their material.
        weight_n: Mass times gravity [N].
        pushes: Forces from outside: ``link``, ``impulse_ns`` [N s], ``force_n`` [N],
            ``direction_deg`` about the world's z [degrees], ``start_s`` and
            ``duration_s`` [s] of each.
        steps_done: Footsteps made.
    """

    verb: str
    achieved: bool
    sentence: str
    checks: tuple[Check, ...]
    terrain: str
    contact: dict[str, float]
    weight_n: float
    pushes: tuple[dict[str, Any], ...] = ()
    steps_done: int = 0

    def events(self) -> list[Event]:
        """Return what happened and when: pushes, too."""
        pushed = [
            Event(
                max(push["start_s"], 0.0),
                f"pushed at {push['link']}, {push['impulse_ns']:.3g} N s",
            )
            for push in self.pushes
            if push["start_s"] < self.duration_s
        ]
        return [*pushed, *super().events()]


def trial_results(
    world: World,
    run: Run,
    summary: RunSummary,
    upright: Array,
    *,
    verb: str,
    checks: tuple[Check, ...],
    passed: str,
    failed: str,
    fell: str = "",
) -> dict[str, Any]:
    """Return the attributes of a :class:`TrialSummary`: outcome, checks, surroundings.

    Args:
        world: The robot and what it met.
        run: What happened.
        summary: Results of the simulation.
        upright: Configuration in which the robot stood, shape (nq,).
        verb: Which trial.
        checks: What had to hold.
        passed: What the robot did, after its name, if all checks are passed.
        failed: What it did if one is not.
        fell: What it had done before it fell, after the time of the fall.
    """
    name, ground = world.robot.name, world.terrain.describe()
    failures = [check.failure() for check in checks if not check.passed]
    if summary.fell_at_s is not None:
        cause = fall_cause(world, run, summary.fell_at_s, upright)
        why = f": {cause.text}" if cause else ""
        sentence = f"{name} fell at {summary.fell_at_s:.2f} s{fell} on {ground}{why}."
    elif failures:
        told = failures[:MOST_FAILURES]
        if len(failures) > MOST_FAILURES:
            told[-1] += f" ({len(failures) - MOST_FAILURES} more failed)"
        sentence = f"{name} {failed}, but {' and '.join(told)}."
    else:
        sentence = f"{name} {passed}."
    material = world.material
    return {
        **vars(summary),
        "verb": verb,
        "achieved": summary.fell_at_s is None and not failures,
        "sentence": sentence,
        "checks": checks,
        "terrain": ground,
        "contact": {
            "points": len(world.contacts),
            "stiffness_npm": material.stiffness,
            "damping_nspm": material.damping,
            "static_friction": material.static_friction,
            "dynamic_friction": material.dynamic_friction,
        },
        "weight_n": world.robot.mass * world.gravity,
        "pushes": tuple(map(_push_results, world.pushes)),
    }


def _push_results(push: Push) -> dict[str, Any]:
    x, y, _ = force = push.force_in_world
    return {
        "link": push.link,
        "impulse_ns": float(np.linalg.norm(force)) * push.duration,
        "force_n": named_axes(force),
        "direction_deg": round(math.degrees(math.atan2(y, x)), 9) + 0.0,
        "start_s": push.start,
        "duration_s": push.duration,
    }


def limit_checks(use: ActuatorUse) -> tuple[Check, ...]:
    """Return that no torque and no speed was beyond its limit."""
    torque, speed = use.peak_torque_joint, use.peak_speed_joint
    return (
        Check(f"torque over its limit ({torque})", use.peak_torque_fraction, 1.0, "%"),
        Check(f"speed over its limit ({speed})", use.peak_speed_fraction, 1.0, "%"),
    )


def com_error(run: Run) -> dict[str, float] | None:
    """Return mean and largest distance of the CoM from its reference [m]."""
    if "com" not in run.references:
        return None
    distance = np.linalg.norm(run.com - run.references["com"], axis=1)
    return {"mean": float(distance.mean()), "max": float(distance.max())}


def margins(run: Run) -> dict[str, float] | None:
    """Return smallest and mean margin of the ZMP [m], None if nothing touched."""
    margin = run.zmp_margin[run.supported]
    if len(margin) == 0:
        return None
    return {"min": float(margin.min()), "mean": float(margin.mean())}


def named_axes(vector: Array) -> dict[str, float]:
    """Return the components of a vector by the names of their axes."""
    return dict(zip("xyz", map(float, vector), strict=True))


def versions() -> dict[str, str]:
    """Return versions of what computed a run."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
