"""Footsteps laid onto ground whose height is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.gait.footsteps import Footstep, Footsteps
from equipoise.kinematics.terrain import Terrain
from equipoise.robot.parts import Side

Height: TypeAlias = Callable[[Array, Array], ArrayLike]
# A sole stands where the ground under it is this flat, as a share of the leg length.
MOST_UNEVEN = 0.01
# Steeper ground is not stood on: ankles of humanoids tilt by 15° to 30° sideways.
STEEPEST = math.radians(20.0)


def height_function(ground: Terrain | Height) -> Height:
    """Return the height of the ground as a function of x and y.

    Args:
        ground: A function of x and y, or an object with a method ``height``.

    Raises:
        EquipoiseError: If it is neither.
    """
    found = getattr(ground, "height", ground)
    if not callable(found):
        raise EquipoiseError(
            f"ground is {ground!r}; a function height(x, y) or an object with a method "
            "height is needed"
        )
    height: Height = found
    return height


def heights_or_nothing(height: Height, x: Array, y: Array) -> Array:
    """Return heights of the ground, −inf where there is none (NaN), any shape."""
    values = np.asarray(height(x, y), dtype=np.float64)
    heights = np.array(np.broadcast_to(values, np.shape(x)))
    heights[np.isnan(heights)] = -np.inf
    return heights


def footprint(polygon: Array) -> Array:
    """Return points all over a sole: corners, middles of edges, its middle, (m, 2)."""
    middles = (polygon + np.roll(polygon, -1, axis=0)) / 2.0
    return np.vstack([polygon, middles, polygon.mean(axis=0)])


def lay(
    footsteps: Footsteps, height: Height, polygons: Mapping[Side, Array], leg: float
) -> Footsteps:
    """Return footsteps with height and tilt of the ground under them.

    Args:
        footsteps: Footsteps; their x, y and yaw are kept.
        height: Height of the ground [m] at x and y [m].
        polygons: Corners of the soles in their frames [m], shape (k, 2) each.
        leg: Length of a leg, for what counts as flat [m].

    Raises:
        EquipoiseError: If there is no ground under a sole, or it is uneven or steep;
            names the step.
    """

    def laid(foot: Footstep, name: str) -> Footstep:
        return _laid(foot, name, height, polygons[foot.side], leg)

    return Footsteps(
        laid(footsteps.left, "the left foot at the start"),
        laid(footsteps.right, "the right foot at the start"),
        tuple(
            laid(step, f"step {number} ({step.side} foot)")
            for number, step in enumerate(footsteps.steps, start=1)
        ),
    )


def _laid(
    foot: Footstep, name: str, height: Height, polygon: Array, leg: float
) -> Footstep:
    """Return one footstep on the plane that fits best to the ground under its sole."""
    where = f"{name}, at x = {foot.x:.3f} m, y = {foot.y:.3f} m"
    points = footprint(polygon)
    c, s = math.cos(foot.yaw), math.sin(foot.yaw)
    x, y = (points @ np.array([[c, s], [-s, c]]) + [foot.x, foot.y]).T
    ground = heights_or_nothing(height, x, y)
    if not np.isfinite(ground).all():
        raise EquipoiseError(f"{where}: there is no ground under the sole")
    columns = np.column_stack([np.ones(len(points)), points])
    plane, *_ = np.linalg.lstsq(columns, ground, rcond=1e-9)
    uneven = float(np.abs(ground - columns @ plane).max())
    if uneven > MOST_UNEVEN * leg:
        raise EquipoiseError(
            f"{where}: the ground under the sole differs by {uneven:.3f} m from a "
            f"plane; at most {MOST_UNEVEN * leg:.3f} m is possible (is it an edge?)"
        )
    rise, forward, left = (float(value) for value in plane)
    steepness = math.atan(math.hypot(forward, left))
    if steepness > STEEPEST:
        raise EquipoiseError(
            f"{where}: the ground is {math.degrees(steepness):.1f}° steep; at most "
            f"{math.degrees(STEEPEST):g}° is possible"
        )
    normal = math.sqrt(1.0 + forward**2 + left**2)
    pitch, roll = -math.atan(forward), math.asin(left / normal)
    return replace(foot, z=rise, pitch=pitch, roll=roll)
