"""Walks of many points at once, all of the loop in compiled kernels.

What is varied becomes arrays, a row for each robot
(:class:`~equipoise.simulation.variation.Variation`); the walks are those of
:func:`~equipoise.simulation.walking_fleet.walk_together`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.balance.stabiliser import StabiliserGains
from equipoise.errors import EquipoiseError
from equipoise.gait.motion import Motion
from equipoise.robot.inertias import Inertial
from equipoise.simulation.variation import Variation
from equipoise.simulation.walking_fleet import (
    CPU_BATCH,
    CUDA_BATCH,
    WalkedTogether,
    walk_together,
)
from equipoise.simulation.world import PUSH_DURATION, World, horizontal_push
from equipoise.study.outcomes import SURVIVED
from equipoise.study.store import Value
from equipoise.study.true_world import (
    GAINS,
    GAIT,
    Settings,
    of_group,
    true_inertials,
    true_terrain,
    true_world,
)
from equipoise.study.workers import words_of

if TYPE_CHECKING:
    from equipoise.study.experiments import Experiment
    from equipoise.study.study_file import Study

# What walks of many robots measure, by the names of a walk's summary.
MEASURED = {
    SURVIVED: "survived",
    "fell_at_s": "fell_at_s",
    "com_error_from_stance_m.mean": "com_error_mean_m",
    "com_error_from_stance_m.max": "com_error_max_m",
    "zmp_margin_m.min": "zmp_margin_min_m",
    "zmp_margin_m.mean": "zmp_margin_mean_m",
    "achieved": "achieved",
    "steps_done": "steps_done",
    "zmp_inside_feet_fraction": "zmp_inside_feet_fraction",
    "step_yaw_error_deg": "step_yaw_error_deg",
    "heading_error_deg": "heading_error_deg",
    "placement_error_from_stance_m.max": "placement_error_max_m",
}
DIVERGED = "its simulation diverged"
# Small studies are done in so many jobs, so that all cores have something to do.
FEWEST_JOBS = 16
# A job on a GPU has at most so many gaits, of some megabytes each.
MOST_GAITS = 256


@dataclass(frozen=True)
class Device:
    """What walks are computed on.

    Attributes:
        name: ``"cpu"`` or ``"cuda"``.
        dtype: ``"float64"`` or ``"float32"``.
    """

    name: str = "cpu"
    dtype: str = "float64"

    def size(self, runs: int, gaits: float = 1) -> int:
        """Return the number of runs of a job.

        Args:
            runs: Number of all runs.
            gaits: Number of different gaits that they have at most.
        """
        if self.name != "cpu":
            return min(runs, CUDA_BATCH if gaits <= MOST_GAITS else MOST_GAITS)
        return min(CPU_BATCH, max(1, -(-runs // FEWEST_JOBS)))


def why_one_by_one(study: Study) -> str | None:
    """Return why the walks of a study cannot be done many at once; None if they can."""
    names = {*study.constants, *(own.parameter.name for own in study.varied)}
    if study.verb != "walk" or study.law != "stabiliser":
        return f"{study.verb} with law '{study.law}' is done run by run"
    for name, usual in (("one_by_one", False), ("true_state", False)):
        if study.options.get(name, usual) != usual:
            return f"with {name} walks are done run by run"
    if study.options.get("knows", "nominal") != "nominal":
        return "each controller knows another robot"
    if "engine" in names:
        return "it chooses the engine of each run"
    for own in study.outcomes:
        if own.name not in MEASURED:
            return f"'{own.name}' is measured run by run"
    return None


def count_gaits(study: Study) -> float:
    """Return how many gaits the runs of a study have at most; infinity if any."""
    grid, count = study.sampling.method == "grid", 1.0
    for own in study.varied:
        if own.parameter.name.startswith(GAIT):
            spread = own.distribution
            levels = len(spread.values) or (spread.points if grid else None)
            count *= math.inf if levels is None else levels
    return count


class _Walk(NamedTuple):
    """One walk of a batch."""

    settings: Settings
    inertials: Mapping[str, Inertial]
    motion: Motion
    push: Array
    push_start: float


def batched_rows(
    experiment: Experiment,
    device: Device,
    points: Sequence[Settings],
    drawn: Sequence[Mapping[str, Inertial]],
) -> list[tuple[Value, ...]]:
    """Return outcomes and error of each point; one that fails costs no other."""
    names = [own.name for own in experiment.study.outcomes]
    rows: list[tuple[Value, ...]] = [()] * len(points)
    walks: dict[int, _Walk] = {}
    for at, settings in enumerate(points):
        try:
            walks[at] = _walk(experiment, settings, drawn[at] if drawn else None)
        except EquipoiseError as error:
            rows[at] = (*(None for _ in names), words_of(error))
    parts = [list(walks)] if walks else []
    while parts:
        part = parts.pop()
        try:
            done = _together(experiment, device, [walks[at] for at in part])
        except EquipoiseError as error:
            if len(part) > 1:  # one of them: a walk does not depend on its neighbours
                parts += [[at] for at in part]
            else:
                rows[part[0]] = (*(None for _ in names), words_of(error))
            continue
        for number, at in enumerate(part):
            values = {
                name: getattr(done, MEASURED[name])[number].item() for name in names
            }
            if done.diverged[number]:
                failed = (False if name == SURVIVED else None for name in names)
                rows[at] = (*failed, DIVERGED)
            else:
                rows[at] = (*map(_known, values.values()), None)
    return rows


def _known(value: Value) -> Value:
    return None if isinstance(value, float) and math.isnan(value) else value


def _walk(
    experiment: Experiment, settings: Settings, drawn: Mapping[str, Inertial] | None
) -> _Walk:
    study = experiment.study
    inertials = true_inertials(
        study.robot, settings, drawn, study.options.get("payload_link")
    )
    plan = experiment.plan(settings, study.robot)
    pushes = experiment.pushed(experiment.world, settings, plan).pushes
    if not pushes:
        return _Walk(settings, inertials, plan.motion, np.zeros(3), 0.0)
    return _Walk(
        settings, inertials, plan.motion, pushes[0].force_in_world, pushes[0].start
    )


def _together(
    experiment: Experiment, device: Device, walks: Sequence[_Walk]
) -> WalkedTogether:
    study, world = experiment.study, experiment.world
    motions: list[Motion] = []
    gait_of = []
    for walk in walks:
        same = [n for n, motion in enumerate(motions) if motion is walk.motion]
        if not same:
            motions.append(walk.motion)
        gait_of.append(same[0] if same else len(motions) - 1)
    if any(walk.push.any() for walk in walks):
        link = study.options.get("push_link")
        world = replace(
            world, pushes=(horizontal_push(study.robot, 1.0, 0.0, 0.0, link=link),)
        )
    return walk_together(
        world,
        motions,
        _variation(world, walks),
        seeds=[walk.settings.get("sensors.seed", 0) for walk in walks],
        gait_of=gait_of,
        model=study.robot,
        noise=np.array([walk.settings.get("sensors.noise", 1.0) for walk in walks]),
        gains=_gains(walks),
        device=device.name,
        dtype=device.dtype,
        dt=study.options.get("dt", 1e-3),
    )


def _variation(world: World, walks: Sequence[_Walk]) -> Variation:
    """Return how the robots differ, from the world that each would have alone."""
    changed: dict[str, Any] = {}
    links = sorted({link for walk in walks for link in walk.inertials})
    for link in links:
        own = world.robot.description.link_by_name[link].inertial
        each = [walk.inertials.get(link, own) for walk in walks]
        for name, of in (
            ("mass", "mass"),
            ("com", "com_in_link"),
            ("inertia", "inertia_in_link"),
        ):
            values = np.array([getattr(inertial, of) for inertial in each])
            changed.setdefault(name, {})[link] = values
    worlds = [true_world(world, walk.settings, {}) for walk in walks]
    names = {name for walk in walks for name in walk.settings}
    if "friction" in names:
        static = [own.material.static_friction for own in worlds]
        changed["static_friction"] = np.array(static)
        dynamic = [own.material.dynamic_friction for own in worlds]
        changed["dynamic_friction"] = np.array(dynamic)
    if "contact.stiffness" in names:
        stiffness = [own.material.stiffness for own in worlds]
        changed["contact_stiffness"] = np.array(stiffness)
        damping = [own.material.damping for own in worlds]
        changed["contact_damping"] = np.array(damping)
    for name in ("stiffness", "damping"):
        if f"servo.{name}" in names:
            gains = [getattr(own.actuation, name) for own in worlds]
            changed[name] = np.array(gains)
    if "actuator.delay" in names:
        changed["delay"] = np.array([own.actuation.delay for own in worlds])
    if world.pushes:
        changed["push_force"] = np.array([[walk.push] for walk in walks])
        changed["push_start"] = np.array([[walk.push_start] for walk in walks])
        changed["push_duration"] = np.full((len(walks), 1), PUSH_DURATION)
    if any(name.startswith("terrain.") for name in names):
        grounds = [true_terrain(world.robot, walk.settings) for walk in walks]
        changed["terrain"] = [world.terrain if own is None else own for own in grounds]
    return Variation(**changed)


def _gains(walks: Sequence[_Walk]) -> list[StabiliserGains] | None:
    each = [of_group(walk.settings, GAINS) for walk in walks]
    if not any(each):
        return None
    return [replace(StabiliserGains(), **own) for own in each]
