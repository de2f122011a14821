"""Where centres of mass are when the robot stands, before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.kinematics.com import com
from equipoise.kinematics.frames import frame_pose
from equipoise.kinematics.support import support_polygon
from equipoise.robot.model import Robot

# In a plane, 95 % lie within so many standard deviations (chi-squared, 2 degrees).
ELLIPSE_95 = 2.447747
# Points around an ellipse that look round.
AROUND = 48


class Shift(NamedTuple):
    """A centre of mass before and after, in the world.

    Attributes:
        name: Of the link.
        before: [m], shape (3,).
        after: [m], shape (3,).
        seen: Whether the data say more about it than the model.
    """

    name: str
    before: Array
    after: Array
    seen: bool


class Places(NamedTuple):
    """What is drawn on the robot, in the world.

    Attributes:
        links: Their centres of mass.
        whole: The robot's own.
        support: Corners of the support polygon [m], shape (k, 2).
        scatter: Covariance of the whole robot's centre of mass after [m²], (3, 3).
    """

    links: tuple[Shift, ...]
    whole: Shift
    support: Array
    scatter: Array | None


def places(figures: Mapping[str, Any], original: Robot, corrected: Robot) -> Places:
    """Return where centres of mass are when the robot stands.

    Args:
        figures: As of :func:`~.identified_report.identified_report`.
        original: The robot as its file describes it.
        corrected: The same with what was identified.
    """
    q = original.standing
    links = []
    for name, link in figures["links"].items():
        pose = np.asarray(frame_pose(original, q, name), dtype=np.float64)
        before, after = (
            pose[:3, :3] @ np.asarray(link[key], dtype=np.float64) + pose[:3, 3]
            for key in ("com_before_m", "com_m")
        )
        links.append(Shift(name, before, after, bool(link["seen"])))
    before, after = (
        np.asarray(com(robot, q), dtype=np.float64) for robot in (original, corrected)
    )
    whole = Shift("the whole robot", before, after, True)
    support = support_polygon(original, q, list(original.soles))
    scatter = figures.get("standing_com_covariance_m2")
    return Places(
        tuple(links),
        whole,
        np.asarray(support),
        None if scatter is None else np.asarray(scatter, dtype=np.float64),
    )


def ellipse_95(scatter: Array, plane: Array) -> Array:
    """Return the 95 % ellipse of a covariance [m²] in a plane [m], shape (k, 2)."""
    values, axes = np.linalg.eigh(plane @ scatter @ plane.T)
    angle = 2.0 * np.pi * np.arange(AROUND) / AROUND
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    spread: Array = ELLIPSE_95 * circle * np.sqrt(np.maximum(values, 0.0)) @ axes.T
    return spread
