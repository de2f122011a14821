"""The zero-moment point: where it should be, where a motion puts it, its margin."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.gait.footsteps import Footstep, Footsteps
from equipoise.gait.parameters import SUPPORTS, Phase
from equipoise.kinematics.com import centroidal_momentum, com
from equipoise.kinematics.frames import velocities
from equipoise.robot.anatomy.geometry import convex_hull, signed_distance
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# Corners of a sole that are this near to its front are its toe's edge [m].
TOE_EDGE = 1e-3


def zmp_knots(
    footsteps: Footsteps, phases: tuple[Phase, ...], zmp_in_sole: Mapping[Side, Array]
) -> tuple[Array, Array, Array]:
    """Return a ZMP that stands still in single and moves linearly in double support.

    Args:
        footsteps: Where the feet stand.
        phases: When.
        zmp_in_sole: Where the ZMP is under a foot that carries alone [m], shape (2,);
            under both feet it is midway.

    Returns:
        Times of the knots [s], shape (m,); the ZMP there [m], shape (m, 3); and two
        shapes by which the ZMP may change: hats over the start and the stop, (2, m).
    """
    strides = footsteps.strides
    points: dict[int, Array] = {
        stride.number: under(stride.support, zmp_in_sole) for stride in strides
    }
    points[0] = _midway(footsteps.feet, zmp_in_sole)
    points[len(strides) + 1] = _midway(footsteps.feet_at_end, zmp_in_sole)
    knots: list[tuple[float, Array]] = []
    hats: list[int] = []
    for phase in phases:
        before, after = points[phase.step], points[phase.step]
        if phase.kind in ("start", "double", "stop"):
            after = points[phase.step + 1]
        elif phase.kind == "hold" and phase.step > 0:
            before = after = points[len(strides) + 1]
        knots.append((phase.start, before))
        if phase.kind in ("start", "stop"):
            hats.append(len(knots))
            knots.append(((phase.start + phase.end) / 2.0, (before + after) / 2.0))
        knots.append((phase.end, after))
    shapes = np.zeros((2, len(knots)))
    shapes[[0, 1], hats] = 1.0
    times, zmp = zip(*knots, strict=True)
    return np.array(times), np.array(zmp), shapes


def under(foot: Footstep, zmp_in_sole: Mapping[Side, Array]) -> Array:
    """Return where the ZMP is under a foot that carries alone [m], shape (3,)."""
    pose = foot.transform_sole_to_world
    return np.asarray(pose[:3, :2] @ zmp_in_sole[foot.side] + pose[:3, 3])


def support_polygons(
    soles: Mapping[Side, Array],
    support: NDArray[np.int8],
    polygons: Mapping[Side, Array],
    on_toes: Mapping[Side, NDArray[np.bool_]],
) -> tuple[Array, ...]:
    """Return the convex hulls of what stands on the ground, seen from above.

    Args:
        soles: Transforms from sole to world by side, shape (n, 4, 4) each.
        support: Index into ``SUPPORTS``, shape (n,).
        polygons: Corners of the soles in their frames [m], shape (k, 2) each.
        on_toes: Whether only the toe's edge touches, by side, shape (n,) each.

    Returns:
        n polygons, counter-clockwise [m], shape (k, 2) each.
    """
    outlines = {side: convex_hull(polygon) for side, polygon in polygons.items()}
    corners = {
        side: outline @ np.swapaxes(soles[side][:, :2, :2], 1, 2)
        + soles[side][:, None, :2, 3]
        for side, outline in outlines.items()
    }
    # one sole is convex from above as it is, unless it lies on its back
    upright = {side: soles[side][:, 2, 2] > 0.0 for side in outlines}
    toes = {side: toe_corners(outline) for side, outline in outlines.items()}
    hulls: list[Array] = []
    before = np.empty((0, 2))
    for k, code in enumerate(support):
        on = SUPPORTS[code]
        sides: tuple[Side, ...] = ("left", "right") if on == "both" else (on,)
        touching = [
            corners[side][k][toes[side]] if on_toes[side][k] else corners[side][k]
            for side in sides
        ]
        points = touching[0] if len(touching) == 1 else np.concatenate(touching)
        # feet on the ground stand still: most polygons are the one before
        if np.array_equal(points, before):
            hulls.append(hulls[-1])
        elif on != "both" and upright[on][k] and not on_toes[on][k]:
            hulls.append(points)
        else:
            hulls.append(convex_hull(points))
        before = points
    return tuple(hulls)


def toe_corners(polygon: Array) -> NDArray[np.bool_]:
    """Return which corners of a sole, shape (k, 2), are its toe's edge, shape (k,)."""
    return np.asarray(polygon[:, 0] >= polygon[:, 0].max() - TOE_EDGE)


def zmp_margins(zmp: Array, polygons: tuple[Array, ...]) -> Array:
    """Return how far inside each polygon the ZMP is [m], shape (n,).

    Args:
        zmp: Shape (n, 3); its height does not count.
        polygons: One for each, as :func:`support_polygons` returns them.
    """
    margins = np.empty(len(zmp))
    corners = np.array([len(polygon) for polygon in polygons])
    for count in np.unique(corners):
        rows = np.flatnonzero(corners == count)
        together = np.array([polygons[row] for row in rows])
        margins[rows] = signed_distance(together, zmp[rows, :2])
    return margins


def _midway(feet: Mapping[Side, Footstep], zmp_in_sole: Mapping[Side, Array]) -> Array:
    both = [under(foot, zmp_in_sole) for foot in feet.values()]
    return np.asarray(np.mean(both, axis=0))


def true_zmp(
    robot: Robot, q: Array, dt: float, height: Array, gravity: float = STANDARD_GRAVITY
) -> Array:
    """Return where ground forces of a motion have no horizontal moment, shape (n, 2).

    p = c - ((c_z - z) F_xy + (L̇_y, -L̇_x)) / F_z, with F = Ṗ + m g and P, L the linear
    momentum and the angular momentum about the CoM c.

    Args:
        robot: The robot.
        q: Configurations at equal distances of time, shape (n, nq).
        dt: Time between configurations [s].
        height: Height of the ground z [m], shape (n,).
        gravity: Downwards [m/s²].
    """
    momentum = centroidal_momentum(robot, q, velocities(robot, q, dt))
    rate = np.gradient(momentum, dt, axis=0)
    centre = np.asarray(com(robot, q))
    force = rate[:, :3] + np.array([0.0, 0.0, robot.mass * gravity])
    lever = (centre[:, 2] - height)[:, None] * force[:, :2]
    turning = np.stack([rate[:, 4], -rate[:, 3]], axis=1)
    return np.asarray(centre[:, :2] - (lever + turning) / force[:, 2:])
