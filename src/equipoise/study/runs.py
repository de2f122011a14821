"""The runs of a study: their points, jobs of them, and what makes them the same."""

from __future__ import annotations

from typing import Any

from equipoise.simulation.summary import versions
from equipoise.study.batched_walks import Device, count_gaits
from equipoise.study.experiments import Job, make_experiment
from equipoise.study.places import GPU, Place
from equipoise.study.possible_robots import PossibleRobots, possible_robots
from equipoise.study.sampling import Points
from equipoise.study.store import code_hash, content_hash
from equipoise.study.study_file import Study

# Packages of ours that have no part in a run.
NOT_RUNNING = ("cli", "show")


class StudyRuns:
    """The runs of a study: their points, and jobs of them.

    Attributes:
        study: The study.
        experiment: What does a run.
        points: Points of what is varied.
        robots: Possible robots, or None.
        size: Runs of a job.
    """

    def __init__(self, study: Study, place: Place) -> None:
        """Prepare all that runs have in common.

        Raises:
            EquipoiseError: If something asked for is impossible for all of them.
        """
        self.study = study
        self.robots: PossibleRobots | None = possible_robots(study)
        self.points: Points = study.points
        device = Device("cuda", "float32") if place.on == GPU else Device()
        self.experiment = make_experiment(study, device)
        used = self.experiment.device
        self.size = 1 if used is None else used.size(len(self), count_gaits(study))

    def __len__(self) -> int:
        """Return the number of runs."""
        return len(self.points)

    def job(self, first: int, last: int) -> Job:
        """Return the job of runs from a number up to, and without, another."""
        numbers = range(first, min(last, len(self)))
        points = tuple(self.points[number] for number in numbers)
        if self.robots is None:
            return Job(first, points)
        return Job(first, points, tuple(self.robots[number] for number in numbers))

    def identity(self) -> dict[str, Any]:
        """Return what makes a study the same study, for its store."""
        study, made = self.study, self.experiment
        found = None if self.robots is None else self.robots.found
        return {
            "verb": study.verb,
            "robot": content_hash(study.robot, made.world),
            "run": content_hash(study.options, study.constants),
            "motion": content_hash(None if made.motion is None else made.motion.arms),
            "varied_parameters": content_hash(study.varied),
            "sampling": content_hash(study.sampling),
            "posterior": content_hash(found),
            "numbers": None if made.device is None else made.device.dtype,
            "batch": self.size,
            "code_of_Equipoise": code_hash(NOT_RUNNING),
            "versions": versions(),
        }
