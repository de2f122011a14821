"""The three-link biped as lines in its plane: where legs and torso are over a walk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from equipoise.arrays import Array
from equipoise.planar.hybrid import Walk
from equipoise.planar.three_link import ThreeLink

# Points of a figure, in the order of ``figure_points``.
FEET, HIP, TORSO = (0, 1), 2, 3
MASSES = (4, 5)


def figure_points(model: ThreeLink, theta: Array, foot: Array) -> Array:
    """Return the points of figures in the world [m].

    Args:
        model: The biped.
        theta: Angles θ, shape (n, 3).
        foot: Position of the stance foot, shape (n, 2).

    Returns:
        Stance foot, swing foot, hip, torso's mass, and the masses of stance and swing
        leg; shape (n, 6, 2).
    """
    points = model.points(theta)
    origin = np.zeros((len(theta), 2))
    names = ("f_2", "m_h", "m_t", "m_1", "m_2")
    return np.asarray(
        np.stack([origin, *(points[name] for name in names)], axis=1) + foot[:, None]
    )


@dataclass(frozen=True, eq=False)
class StickWalk:
    """A walk as figures whose legs keep their identity over the steps.

    Attributes:
        walk: The walk, of one step at least.
    """

    walk: Walk

    @cached_property
    def time(self) -> Array:
        """Times of the rows [s], shape (n,)."""
        return self.walk.time

    @cached_property
    def com(self) -> Array:
        """The centre of mass in the world [m], shape (n, 2)."""
        theta = self.walk.state[:, :3]
        return np.asarray(self.walk.model.com(theta) + self.walk.stance_foot)

    @cached_property
    def points(self) -> Array:
        """Points of the figures as ``figure_points`` has them, shape (n, 6, 2).

        The first leg is that on which the first step stands, whether it is the stance
        leg or not.
        """
        walk = self.walk
        points = figure_points(walk.model, walk.state[:, :3], walk.stance_foot)
        second = self.on_second_leg
        points[second] = points[second][:, [1, 0, 2, 3, 5, 4]]
        return points

    @cached_property
    def on_second_leg(self) -> Array:
        """Whether the second leg carries the biped, shape (n,)."""
        steps = enumerate(self.walk.steps)
        rows = [np.full(len(step.time), i % 2 == 1) for i, step in steps]
        return np.concatenate(rows)

    def rows_at(self, times: Array) -> Array:
        """Return the row that holds at each time: the last that has begun."""
        rows = np.searchsorted(self.time, times + 1e-12, side="right") - 1
        return np.asarray(np.clip(rows, 0, len(self.time) - 1))

    def sampled(self, times: Array) -> Array:
        """Return the points at times, between the rows of one step, (m, 6, 2)."""
        before = self.rows_at(times)
        after = np.minimum(before + 1, len(self.time) - 1)
        span = self.time[after] - self.time[before]
        past = times - self.time[before]
        part = np.where(span > 0.0, past / np.where(span > 0.0, span, 1.0), 0.0)
        part = np.clip(part, 0.0, 1.0)[:, None, None]
        return np.asarray(
            (1.0 - part) * self.points[before] + part * self.points[after]
        )
