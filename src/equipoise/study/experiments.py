"""One run of a study: from a point to its outcomes.

An :class:`Experiment` is made once, with all that its runs have in common, and shipped
to where they are done. It never raises for a bad point: the error is part of its row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from equipoise.balance.stabiliser import StabiliserGains
from equipoise.balance.whole_body.gains import WholeBodyGains
from equipoise.errors import EquipoiseError
from equipoise.gait.fit import fit_walk
from equipoise.gait.motion import Motion, solve
from equipoise.gait.standing_motion import StandingMotion
from equipoise.robot.inertias import Inertial
from equipoise.robot.model import Robot
from equipoise.simulation.actuation import Mode
from equipoise.simulation.dance import dance, dance_motion, read_arm_motion
from equipoise.simulation.engine import DivergedError, check_dt
from equipoise.simulation.feedback import (
    PERIOD,
    Feedback,
    Law,
    balance_feedback,
    mode_for,
    paper_feedback,
    whole_body_feedback,
)
from equipoise.simulation.push import push
from equipoise.simulation.push_trial import PushedWalk, pushed_walk
from equipoise.simulation.terrain_names import terrain_named
from equipoise.simulation.trials import stand, trial_world
from equipoise.simulation.walk import walk
from equipoise.simulation.world import World, horizontal_push
from equipoise.study.batched_walks import Device, batched_rows, why_one_by_one
from equipoise.study.outcomes import SURVIVED, measured
from equipoise.study.parameters import GAIT_ANGLES
from equipoise.study.possible_robots import PossibleRobot
from equipoise.study.rehearsal_runs import (
    CANDIDATES,
    POSES,
    Rehearsal,
    choose_rehearsal,
)
from equipoise.study.store import Value
from equipoise.study.study_file import Study
from equipoise.study.true_world import (
    GAINS,
    GAIT,
    Settings,
    of_group,
    refuse_servo_gains,
    true_inertials,
    true_terrain,
    true_world,
)
from equipoise.study.workers import words_of

# Plans of walks that a process keeps: each takes some megabytes.
MOST_PLANS = 4
LONGEST_ERROR = 300


@dataclass(frozen=True, eq=False)
class Job:
    """Runs that are done together.

    Attributes:
        first: Number of the first run.
        points: Values of what is varied, a tuple for each run.
        robots: The possible robot of each run; empty where none are drawn.
    """

    first: int
    points: tuple[tuple[Value, ...], ...]
    robots: tuple[PossibleRobot, ...] = ()

    @property
    def drawn(self) -> tuple[Mapping[str, Inertial], ...]:
        """Mass distributions of the possible robots by link."""
        return tuple(robot.inertials for robot in self.robots)

    @property
    def begins(self) -> tuple[tuple[Value, ...], ...]:
        """Values of all parameters, with which rows of the table begin."""
        if not self.robots:
            return self.points
        both = zip(self.robots, self.points, strict=True)
        return tuple((*robot.values, *point) for robot, point in both)

    def halves(self) -> tuple[Job, Job]:
        """Return the same runs as two jobs."""
        middle = len(self.points) // 2
        return (
            Job(self.first, self.points[:middle], self.robots[:middle]),
            Job(self.first + middle, self.points[middle:], self.robots[middle:]),
        )


@dataclass(eq=False)
class Experiment:
    """All that the runs of a study have in common; called with a job, it does it.

    Attributes:
        study: The study.
        world: The robot of the file in its world.
        device: What walks are computed on, many at once; None: run by run.
        motion: What arms and legs do in a dance, or None.
        rehearsed: What identifications have in common, or None.
    """

    study: Study
    world: World
    device: Device | None = None
    motion: StandingMotion | None = None
    rehearsed: Rehearsal | None = None
    _plans: dict[Any, PushedWalk] = field(default_factory=dict)

    def __call__(self, job: Job) -> list[tuple[Value, ...]]:
        """Return outcomes and error of each run of a job."""
        if self.device is not None:
            points = [self.settings(point) for point in job.points]
            return batched_rows(self, self.device, points, job.drawn)
        drawn = job.drawn or (None,) * len(job.points)
        return [self.row(*both) for both in zip(job.points, drawn, strict=True)]

    def row(
        self, point: Sequence[Value], drawn: Mapping[str, Inertial] | None = None
    ) -> tuple[Value, ...]:
        """Return outcomes and error of one run."""
        outcomes = self.study.outcomes
        try:
            summary = self.summary(self.settings(point), drawn)
        except Exception as error:
            diverged = isinstance(error, DivergedError)
            return (
                *(
                    False if diverged and own.name == SURVIVED else None
                    for own in outcomes
                ),
                words_of(error, LONGEST_ERROR),
            )
        return (*(measured(summary, own.name) for own in outcomes), None)

    def settings(self, point: Sequence[Value]) -> dict[str, Any]:
        """Return all parameters at a point by name, those that are constant too."""
        names = [own.parameter.name for own in self.study.varied]
        return {**self.study.constants, **dict(zip(names, point, strict=True))}

    def summary(
        self, settings: Settings, drawn: Mapping[str, Inertial] | None = None
    ) -> Mapping[str, Any]:
        """Return the results of a run with some parameters.

        Raises:
            EquipoiseError: If it is impossible.
        """
        inertials = true_inertials(
            self.study.robot, settings, drawn, self.study.options.get("payload_link")
        )
        if self.study.verb == "identify":
            assert self.rehearsed is not None
            return vars(self.rehearsed.run(self.study.robot, settings, inertials))
        world = true_world(self.world, settings, inertials)
        ground = true_terrain(self.study.robot, settings)
        match self.study.verb:
            case "walk":
                return self._walk(world, settings, ground)
            case "push":
                return self._push(self._on(world, ground), settings)
            case "dance":
                return self._dance(self._on(world, ground), settings)
            case _:
                return self._stand(self._on(world, ground), settings)

    @staticmethod
    def _on(world: World, ground: Any) -> World:
        return world if ground is None else replace(world, terrain=ground)

    @property
    def model(self) -> Robot | None:
        """The robot as planner and controller know it; None: as it truly is."""
        known = self.study.options.get("knows", "nominal")
        return self.study.robot if known == "nominal" else None

    def _how(self, settings: Settings) -> dict[str, Any]:
        return {
            "engine": settings.get("engine", "native"),
            "dt": self.study.options.get("dt", 1e-3),
            "model": self.model,
        }

    def _feedback(
        self, world: World, settings: Settings, plan: Motion | None
    ) -> Feedback | bool:
        """Return feedback with other gains or noise, or whether there is any."""
        law, options = self.study.law, self.study.options
        if law == "none":
            return False
        gains = of_group(settings, GAINS)
        noise = settings.get("sensors.noise", 1.0)
        if not gains and noise == 1.0:
            return True
        dt = options.get("dt", 1e-3)
        how: dict[str, Any] = {
            "true_state": options.get("true_state", False),
            "seed": settings.get("sensors.seed", 0),
            "noise": noise,
            "period": dt * max(round(PERIOD / dt), 1),
        }
        if law == "stabiliser":
            chosen = replace(StabiliserGains(), **gains)
            return balance_feedback(world, self.model, gains=chosen, **how)
        if law == "paper":
            pair = (gains["kp"], gains["kc"]) if gains else None
            return paper_feedback(world, self.model, gains=pair, **how)
        steps = plan is not None or options.get("recovery_steps", False)
        return whole_body_feedback(
            world,
            self.model,
            gains=_nested(WholeBodyGains(), gains),
            plan=plan,
            steps=steps,
            **how,
        )

    def _walk(self, world: World, settings: Settings, ground: Any) -> Mapping[str, Any]:
        known = self.model or world.robot
        plan = self.plan(settings, known)
        world = self.pushed(world, settings, plan)
        motion = plan.motion
        numbers = motion.gait.parameters
        feedback = self._feedback(world, settings, motion)
        if isinstance(feedback, Feedback) and (numbers.heel_off or numbers.toe_first):
            raise EquipoiseError(
                "heels rise in this walk: it is open loop, without gains and noise"
            )
        run = walk(
            world,
            motion,
            unknown_terrain=ground,
            feedback=feedback,
            true_state=self._shown(feedback),
            seed=settings.get("sensors.seed", 0),
            actuators="torque" if self.study.law == "whole-body" else "servo",
            **self._how(settings),
        )
        return run.summary

    def _shown(self, feedback: Feedback | bool) -> bool:
        """Return whether feedback that is not made yet is shown the true state."""
        return bool(self.study.options.get("true_state")) and feedback is True

    def plan(self, settings: Settings, known: Robot) -> PushedWalk:
        """Return the walk at a point, and its step that may be pushed."""
        nominal = known is self.study.robot
        asked = of_group(settings, GAIT)
        phased = "push.phase" in settings
        key = (phased, *sorted(asked.items()))
        if nominal and key in self._plans:
            return self._plans[key]
        for name in GAIT_ANGLES:
            if name in asked:
                asked[name] = math.radians(asked[name])
        options = self.study.options
        asked |= {
            name: options[name] for name in ("first", "method") if name in options
        }
        asked["ground"] = self.world.terrain
        if phased:
            made = pushed_walk(known, **asked)
        else:
            motion = solve(known, fit_walk(known, options.get("steps"), **asked))
            made = PushedWalk(motion, math.nan, math.nan)
        if nominal:
            if len(self._plans) >= MOST_PLANS:
                del self._plans[next(iter(self._plans))]
            self._plans[key] = made
        return made

    def pushed(self, world: World, settings: Settings, plan: PushedWalk) -> World:
        """Return a world in which a walking robot is pushed, if it is to be."""
        impulse = settings.get("push.impulse", 0.0)
        if impulse == 0.0:
            return world
        if "push.phase" in settings:
            start = plan.time_of(settings["push.phase"])
        else:
            start = settings.get("push.time", 0.5 * plan.motion.duration)
        dt = self.study.options.get("dt", 1e-3)
        made = horizontal_push(
            self.study.robot,
            impulse * self.study.robot.mass,
            math.radians(settings.get("push.direction", 0.0)),
            dt * round(start / dt),
            link=self.study.options.get("push_link"),
        )
        return replace(world, pushes=(*world.pushes, made))

    def _push(self, world: World, settings: Settings) -> Mapping[str, Any]:
        options = self.study.options
        feedback = self._feedback(world, settings, None)
        run = push(
            world,
            settings["push.impulse"] * self.study.robot.mass,
            math.radians(settings.get("push.direction", 0.0)),
            link=options.get("push_link"),
            feedback=feedback,
            law=self._law(),
            steps=bool(options.get("recovery_steps", False)),
            true_state=self._shown(feedback),
            seed=settings.get("sensors.seed", 0),
            seconds=options.get("seconds"),
            **self._how(settings),
        )
        return run.summary

    def _law(self) -> Law:
        law = self.study.law
        return "stabiliser" if law == "none" else cast(Law, law)

    def _dance(self, world: World, settings: Settings) -> Mapping[str, Any]:
        feedback = self._feedback(world, settings, None)
        danced = dance(
            world,
            self.motion if self.model is not None else None,
            feedback=feedback,
            law=self._law(),
            true_state=self._shown(feedback),
            seed=settings.get("sensors.seed", 0),
            **self._how(settings),
        )
        return danced.run.summary

    def _stand(self, world: World, settings: Settings) -> Mapping[str, Any]:
        seconds = self.study.options.get("seconds", 3.0)
        return stand(world, seconds=seconds, **self._how(settings)).summary


def make_experiment(study: Study, device: Device | None = None) -> Experiment:
    """Return what the runs of a study have in common.

    Args:
        study: The study.
        device: What walks are computed on if many can be done at once; the CPU unless
            given.

    Raises:
        EquipoiseError: If something asked for is impossible for all of them.
    """
    robot, options = study.robot, study.options
    check_dt(options.get("dt", 1e-3))
    if study.verb == "walk" and study.law == "paper":
        raise EquipoiseError("law 'paper' is for robots that stand: push or dance")
    ground = terrain_named(options.get("terrain", "flat"), robot)
    mode: Mode = "servo"
    if study.verb in ("walk", "push", "dance") and study.law != "none":
        mode = mode_for(cast(Law, study.law))
    world = trial_world(robot, ground, mode, bandwidth=options.get("bandwidth"))
    made = Experiment(study, world)
    varied = [own.parameter.name for own in study.varied]
    refuse_servo_gains(world, dict.fromkeys([*study.constants, *varied]))
    if study.verb == "walk":
        on_toes = False
        if made.model is not None and not any(name.startswith(GAIT) for name in varied):
            plan = made.plan(made.settings(study.points[0]), robot)  # all have it
            numbers = plan.motion.gait.parameters
            on_toes = max(numbers.heel_off, numbers.toe_first) > 0.0
        if not on_toes and why_one_by_one(study) is None:
            made.device = device or Device()
    elif study.verb == "dance":
        arms = options.get("arms")
        motion = None if arms is None else read_arm_motion(arms, robot)
        made.motion = dance_motion(world, motion, robot)
    elif study.verb == "identify":
        made.rehearsed = choose_rehearsal(
            robot, options.get("poses", POSES), options.get("candidates", CANDIDATES)
        )
    return made


def _nested(gains: Any, changed: Mapping[str, float]) -> Any:
    """Return gains with other numbers, those within them by dotted names."""
    own: dict[str, Any] = {}
    within: dict[str, dict[str, float]] = {}
    for name, value in changed.items():
        first, dot, rest = name.partition(".")
        if dot:
            within.setdefault(first, {})[rest] = value
        else:
            own[name] = value
    for name, values in within.items():
        own[name] = _nested(getattr(gains, name), values)
    return replace(gains, **own)
