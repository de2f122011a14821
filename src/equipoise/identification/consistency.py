"""Physically possible parameters: positive mass, centre of mass within the link.

Within the hull of its shapes where these are known; where they are not, within a box
around its joints and the model's own centre of mass.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError
from equipoise.identification.estimate import Estimate
from equipoise.identification.statics import PER_LINK, link_parameters, links_with_mass
from equipoise.robot.anatomy.geometry import (
    link_shapes,
    shape_is_known,
    sphere_directions,
    support_point,
)
from equipoise.robot.description import Link
from equipoise.robot.inertias import Inertial
from equipoise.robot.model import Robot

# A link keeps at least this fraction of its mass in the model.
LEAST_MASS = 0.1
# Directions in which hulls are measured.
DIRECTIONS = 64
# The box of a link without shapes goes beyond its joints by this fraction of its size,
# and of the longest limb.
BEYOND_JOINTS, BEYOND_LIMB = 0.25, 0.05
# Bounds may be missed by this much [kg or kg m], and are active from here on, in units
# of the prior.
ROUNDING, TIGHT = 1e-9, 1e-6


class Consistent(NamedTuple):
    """Best physically possible values.

    Attributes:
        mean: Masses, first moments and offsets, shape (nx,).
        at_bounds: Links that are at a bound.
    """

    mean: Array
    at_bounds: tuple[str, ...]


def consistent(robot: Robot, found: Estimate) -> Consistent:
    """Return the best physically possible values.

    If the estimate is possible, it stays. Otherwise the nearest possible values are
    taken, by the metric of the estimate's covariance: a quadratic program. Where the
    shapes of a link are not known, or do not hold the model's own CoM, its CoM is
    bounded by a box around its joints.

    Raises:
        EquipoiseError: If no possible values were found.
    """
    bounds, most, links = _bounds(robot, found)
    if np.all(bounds @ found.mean <= most + ROUNDING):
        return Consistent(found.mean, ())
    from qpsolvers import solve_qp

    belief = found.belief
    stiffness = (found.directions * (1.0 + found.singular_values**2)) @ (
        found.directions.T
    )
    in_units = bounds @ belief.root
    size = np.linalg.norm(in_units, axis=1)
    rows = in_units / size[:, None]
    limits = (most - bounds @ belief.mean) / size
    # scaled, so that what the data determine well does not drown the rest
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
            f"{robot.name}: no physically possible masses and centres of mass fit the "
            "measurements"
        )
    moved = found.moved + scale * step
    tight = np.array(links)[rows @ moved > limits - TIGHT]
    at_bounds = tuple(dict.fromkeys(tight.tolist()))
    return Consistent(belief.mean + belief.root @ moved, at_bounds)


def new_inertials(robot: Robot, values: Array) -> dict[str, Inertial]:
    """Return the links' inertials with identified masses and centres of mass.

    Standing still does not identify rotational inertia: about the centre of mass it
    stays, but for growing with the mass.
    """
    old = links_with_mass(robot)
    return {
        name: Inertial(
            float(mass),
            frozen_array(np.array(moment) / mass),
            frozen_array(old[name].inertia_in_link * (mass / old[name].mass)),
        )
        for name, (mass, *moment) in zip(
            old, link_parameters(values, len(old)), strict=True
        )
    }


def _bounds(robot: Robot, found: Estimate) -> tuple[Array, Array, list[str]]:
    """Return A and b of A x ≤ b, and the link of each row."""
    rows: list[Array] = []
    limits: list[float] = []
    owners: list[str] = []
    for at, (name, old) in enumerate(links_with_mass(robot).items()):
        planes, most = link_bounds(robot, name, old)
        block = np.zeros((len(planes), len(found.mean)))
        block[:, PER_LINK * at : PER_LINK * at + PER_LINK] = planes
        rows.append(block)
        limits += most.tolist()
        owners += [name] * len(planes)
    return np.concatenate(rows), np.array(limits), owners


def link_bounds(robot: Robot, link: str, old: Inertial) -> tuple[Array, Array]:
    """Return A and b of A (m, m c) ≤ b, shape (k, 4) and (k,); the mass is first."""
    planes = [[-1.0, 0.0, 0.0, 0.0]]
    hull = _hull(robot.description.link_by_name[link])
    if hull is None or np.any(hull[:, :3] @ old.com_in_link > hull[:, 3]):
        hull = _box(robot, link, old.com_in_link)
    # n c ≤ d, times the mass: linear in mass and first moment
    planes += [[-reach, *normal] for *normal, reach in hull.tolist()]
    limits = np.zeros(len(planes))
    limits[0] = -LEAST_MASS * old.mass
    return np.array(planes), limits


def _box(robot: Robot, link: str, com_in_link: Array) -> Array:
    """Return planes n c ≤ d of a box around a link's joints and its CoM, (6, 4)."""
    below = robot.description.joints_below[link]
    points = [joint.transform_joint_to_parent[:3, 3] for joint in below]
    corners = np.array([np.zeros(3), com_in_link, *points])
    low, high = corners.min(axis=0), corners.max(axis=0)
    beyond = BEYOND_JOINTS * float(np.linalg.norm(high - low))
    beyond = max(beyond, BEYOND_LIMB * robot.longest_limb)
    normals = np.vstack([np.eye(3), -np.eye(3)])
    return np.column_stack([normals, np.concatenate([high + beyond, beyond - low])])


def _hull(link: Link) -> Array | None:
    """Return planes n c ≤ d around a link's shapes, shape (k, 4); None if unknown."""
    shapes, _ = link_shapes(link)
    if not shapes or not all(shape_is_known(shape) for shape in shapes):
        return None
    normals = sphere_directions(DIRECTIONS)
    reach = [max(float(support_point(s, n) @ n) for s in shapes) for n in normals]
    return np.column_stack([normals, reach])
