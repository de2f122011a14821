"""Figures that a body can have: mass above zero, its centre within its hull."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError
from equipoise.identification.estimate import Estimate
from equipoise.identification.statics import PER_LINK
from equipoise.robot.anatomy.geometry import (
    link_shapes,
    shape_is_known,
    support_point,
)
from equipoise.robot.description import Link
from equipoise.robot.inertias import Inertial
from equipoise.robot.model import Robot

# A link keeps at least this share of the mass that the model gives it.
LEAST_MASS = 0.1
# Directions in which hulls are measured.
DIRECTIONS = 64
# Bounds may be missed by this much [kg or kg m], and hold from here on, in units of
# the prior.
ROUNDING, TIGHT = 1e-9, 1e-6


class Consistent(NamedTuple):
    """Best values that bodies can have.

    Attributes:
        mean: Masses, first moments and offsets, shape (nx,).
        held: Links that are at a bound.
        unbounded: Links whose shapes are not known, or do not hold the model's own
            centre of mass: nothing bounds theirs.
    """

    mean: Array
    held: tuple[str, ...]
    unbounded: tuple[str, ...]


class _Bounds(NamedTuple):
    """rows x ≤ limits, and the link of each row."""

    rows: Array
    limits: Array
    links: tuple[str, ...]
    unbounded: tuple[str, ...]


def consistent(robot: Robot, found: Estimate) -> Consistent:
    """Return the best values among those that bodies can have.

    If the best of all are possible, they stay. Otherwise the nearest possible ones are
    taken, near as the data's and the prior's uncertainty sees it: a quadratic program.

    Args:
        robot: The robot as its file describes it.
        found: The best values, and their uncertainty.

    Raises:
        EquipoiseError: If no possible values were found.
    """
    bounds = _bounds(robot, found)
    if np.all(bounds.rows @ found.mean <= bounds.limits + ROUNDING):
        return Consistent(found.mean, (), bounds.unbounded)
    from qpsolvers import solve_qp

    belief = found.belief
    stiffness = (found.directions * (1.0 + found.singular_values**2)) @ (
        found.directions.T
    )
    in_units = bounds.rows @ belief.root
    size = np.linalg.norm(in_units, axis=1)
    rows = in_units / size[:, None]
    limits = (bounds.limits - bounds.rows @ belief.mean) / size
    # scaled, so that what the data know well does not drown the rest
    scale = 1.0 / np.sqrt(np.diag(stiffness))
    step = solve_qp(
        stiffness * np.outer(scale, scale),
        np.zeros(len(scale)),
        rows * scale,
        limits - rows @ found.moved,
        solver="daqp",
    )
    if step is None:
        raise EquipoiseError(
            f"{robot.name}: no masses and centres of mass that bodies can have fit "
            "the measurements"
        )
    mean = belief.mean + belief.root @ (found.moved + scale * step)
    tight = rows @ (found.moved + scale * step) > limits - TIGHT
    held = dict.fromkeys(np.array(bounds.links)[tight].tolist())
    return Consistent(mean, tuple(held), bounds.unbounded)


def new_inertials(
    robot: Robot, mean: Array, links: tuple[str, ...]
) -> dict[str, Inertial]:
    """Return the links' figures with identified masses and centres of mass.

    Standing still says nothing of rotational inertia: about the centre of mass it
    stays, but for growing with the mass.
    """
    inertials = {}
    for at, name in enumerate(links):
        old = robot.description.link_by_name[name].inertial
        if old is None:
            continue
        mass, *moment = mean[PER_LINK * at : PER_LINK * at + PER_LINK].tolist()
        inertials[name] = Inertial(
            mass,
            frozen_array(np.array(moment) / mass),
            frozen_array(old.inertia_in_link * (mass / old.mass)),
        )
    return inertials


def _bounds(robot: Robot, found: Estimate) -> _Bounds:
    names, size = found.belief.links, len(found.mean)
    rows, limits, owners, unbounded = [], [], [], []
    for at, name in enumerate(names):
        first = PER_LINK * at
        mass = found.belief.mean[first]
        row = np.zeros(size)
        row[first] = -1.0
        rows.append(row)
        limits.append(-LEAST_MASS * mass)
        owners.append(name)
        hull = _hull(robot.description.link_by_name[name])
        centre = found.belief.mean[first + 1 : first + PER_LINK] / mass
        if hull is None or np.any(hull[:, :3] @ centre > hull[:, 3]):
            unbounded.append(name)
            continue
        for *normal, reach in hull.tolist():
            # n c ≤ d, times the mass: linear in mass and first moment
            row = np.zeros(size)
            row[first] = -reach
            row[first + 1 : first + PER_LINK] = normal
            rows.append(row)
            limits.append(0.0)
            owners.append(name)
    return _Bounds(np.array(rows), np.array(limits), tuple(owners), tuple(unbounded))


def _hull(link: Link) -> Array | None:
    """Return planes n c ≤ d around a link's shapes, shape (k, 4); None if unknown."""
    shapes, _ = link_shapes(link)
    if not shapes or not all(shape_is_known(shape) for shape in shapes):
        return None
    planes = []
    for normal in _directions():
        reach = max(float(support_point(shape, normal) @ normal) for shape in shapes)
        planes.append([*normal, reach])
    return np.array(planes)


def _directions() -> Array:
    """Return unit vectors all around, evenly (a Fibonacci spiral), shape (k, 3)."""
    at = np.arange(DIRECTIONS) + 0.5
    z = 1.0 - 2.0 * at / DIRECTIONS
    angle = np.pi * (1.0 + np.sqrt(5.0)) * at
    ring = np.sqrt(1.0 - z**2)
    return np.column_stack([ring * np.cos(angle), ring * np.sin(angle), z])
