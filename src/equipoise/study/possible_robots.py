"""Robots that an identification leaves possible, by their number.

They are drawn in blocks of fixed size, each with a seed of its own, so that any of them
can be had without drawing all before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from equipoise.identification.identify import identify
from equipoise.identification.posterior import (
    INERTIA_STD,
    Posterior,
    posterior_of,
    sample_robots,
)
from equipoise.identification.randomisation_files import read_posterior
from equipoise.kinematics.com import com
from equipoise.log.folder import SUMMARY_NAME, read_summary
from equipoise.robot.inertias import Inertial
from equipoise.study.store import Value
from equipoise.study.study_file import Study

BLOCK = 64
# Seeds of blocks follow each other; those of studies are so far apart.
APART = 2**32


class PossibleRobot(NamedTuple):
    """A robot that was drawn.

    Attributes:
        values: Its number, mass [kg], and the offset of its CoM from the model's,
            standing [m].
        inertials: Mass distributions of its links by name.
    """

    values: tuple[Value, ...]
    inertials: Mapping[str, Inertial]


class PossibleRobots:
    """Robots drawn from the posterior of an identification."""

    def __init__(self, found: Posterior, seed: int, inertia_std: float) -> None:
        """Prepare; nothing is drawn yet.

        Args:
            found: What the measurements leave possible.
            seed: Seed.
            inertia_std: Relative standard deviation of the links' radii of gyration.
        """
        self.found, self._seed, self._inertia_std = found, seed, inertia_std
        self._block: tuple[int, list[PossibleRobot]] = -1, []

    def __getitem__(self, number: int) -> PossibleRobot:
        """Return a robot by its number."""
        block, at = divmod(number, BLOCK)
        if self._block[0] != block:
            self._block = block, self._draw(block)
        return self._block[1][at]

    def _draw(self, block: int) -> list[PossibleRobot]:
        robot = self.found.original
        seed = self._seed * APART + block
        drawn = sample_robots(self.found, BLOCK, seed, self._inertia_std)
        q = np.tile(robot.standing, (BLOCK, 1))
        away = drawn.centres_of_mass(robot, q) - com(robot, robot.standing)
        others = robot.mass - sum(
            link.inertial.mass
            for name in drawn.mass
            if (link := robot.description.link_by_name[name]).inertial is not None
        )
        robots = []
        for at in range(BLOCK):
            inertials = {
                name: Inertial(
                    float(np.asarray(drawn.mass[name])[at]),
                    np.asarray(drawn.com[name])[at],
                    np.asarray(drawn.inertia[name])[at],
                )
                for name in drawn.mass
            }
            mass = others + sum(own.mass for own in inertials.values())
            values = (block * BLOCK + at, float(mass), *map(float, away[at]))
            robots.append(PossibleRobot(values, inertials))
        return robots


def possible_robots(study: Study) -> PossibleRobots | None:
    """Return the robots of a study that draws them from a log; None for others.

    Raises:
        EquipoiseError: If the log cannot be read, or does not fit the robot.
    """
    own = study.sampling
    if own.log is None:
        return None
    std = INERTIA_STD if own.inertia_std is None else own.inertia_std
    if not (own.log / SUMMARY_NAME).is_file():
        found = posterior_of(identify(study.robot, own.log, table=own.table))
    elif read_summary(own.log).get("verb") == "identify":
        found = read_posterior(own.log, study.robot)
    else:  # a run that was simulated is a log, too
        found = posterior_of(identify(study.robot, own.log))
    return PossibleRobots(found, own.seed, std)
