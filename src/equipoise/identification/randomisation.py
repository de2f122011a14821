"""Ranges for domain randomisation: what the measurements leave open of each link.

Simulators for reinforcement learning draw each link's mass and centre of mass from an
interval of its own. Here these are the 95 % intervals of the posterior around the
identified robot, cut where no body can be: masses at a tenth of the model's, centres of
mass where the link's shapes end along each axis.

Importers often merge links that fixed joints connect into one body. Mass and first
moment of such a body are sums of the links' own, so that its interval follows from the
same covariance; it is narrower than the sum of its links' intervals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.identification.consistency import LEAST_MASS, link_bounds
from equipoise.identification.statics import PER_LINK, links_with_mass
from equipoise.robot.inertias import Inertial

if TYPE_CHECKING:
    from equipoise.identification.identified import Identified
    from equipoise.robot.model import Robot

# 95 % of a normal distribution lie within so many standard deviations.
WIDTH_95 = 1.959964


class BodyRange(NamedTuple):
    """What is left open of a link, or of links that are fixed to each other.

    Attributes:
        name: Name of the link, or of the first one in the tree.
        links: The links that it is made of.
        mass: Identified mass [kg].
        mass_range: Least and largest mass [kg].
        com: Identified CoM in coordinates of the link named [m], shape (3,).
        com_range: Least and largest offset from it along each axis [m], shape (3, 2).
        determined: Whether the data determine it better than the prior: all its links.
        definite: Whether its pseudo-inertia is positive definite, computed in single
            precision.
    """

    name: str
    links: tuple[str, ...]
    mass: float
    mass_range: tuple[float, float]
    com: Array
    com_range: Array
    determined: bool
    definite: bool

    @property
    def mass_scale_range(self) -> tuple[float, float]:
        """Least and largest mass as fractions of the identified one."""
        least, most = self.mass_range
        return least / self.mass, most / self.mass

    @property
    def alpha_range(self) -> tuple[float, float]:
        """Range of α, where mass and inertia grow by exp(2 α) [Rucker2022]."""
        least, most = (0.5 * float(np.log(scale)) for scale in self.mass_scale_range)
        return least, most


def link_ranges(found: Identified) -> tuple[BodyRange, ...]:
    """Return the ranges of every link that has mass, in the file's order."""
    own = links_with_mass(found.robot)
    by_name = found.original.description.link_by_name
    ranges = []
    for link in found.links:
        inertial = by_name[link.link].inertial
        assert inertial is not None
        planes, _ = link_bounds(found.original, link.link, inertial)
        ranges.append(
            BodyRange(
                link.link,
                (link.link,),
                link.mass,
                _mass_range(link.mass, link.mass_95, LEAST_MASS * inertial.mass),
                link.com,
                _within(planes[1:], link.com, link.com_95),
                link.seen,
                _is_definite(_pseudo_inertia(own[link.link])),
            )
        )
    return tuple(ranges)


def merged_ranges(
    found: Identified, links: Sequence[BodyRange] | None = None
) -> tuple[BodyRange, ...]:
    """Return the ranges of bodies: links that fixed joints connect count as one.

    ``links`` are those of :func:`link_ranges`, where they are known already.
    """
    groups, places = fixed_groups(found.robot)
    size = PER_LINK * len(found.links)
    covariance = found.estimate.covariance[:size, :size]
    own = links_with_mass(found.robot)
    values = np.concatenate(
        [link.mass * np.array([1.0, *link.com]) for link in found.links]
    )
    to_bodies = np.zeros((PER_LINK * len(groups), size))
    index = {link.link: at for at, link in enumerate(found.links)}
    for body, names in enumerate(groups.values()):
        for name in names:
            rows = slice(PER_LINK * body, PER_LINK * body + PER_LINK)
            columns = slice(PER_LINK * index[name], PER_LINK * index[name] + PER_LINK)
            block = np.zeros((PER_LINK, PER_LINK))
            block[0, 0] = 1.0
            block[1:, 0] = places[name][:3, 3]  # h = p m + R (m c)
            block[1:, 1:] = places[name][:3, :3]
            to_bodies[rows, columns] = block
    bodies = to_bodies @ values
    spread = to_bodies @ covariance @ to_bodies.T
    masses_95 = WIDTH_95 * np.sqrt(np.diag(spread)[::PER_LINK])
    coms_95 = WIDTH_95 * _com_deviations(bodies, spread)
    known = {link.link: link.seen for link in found.links}
    alone = {own.name: own for own in links or link_ranges(found)}
    ranges = []
    for body, (root, names) in enumerate(groups.items()):
        if names == (root,):
            ranges.append(alone[root])
            continue
        mass, *moment = bodies[PER_LINK * body : PER_LINK * body + PER_LINK].tolist()
        com = np.array(moment) / mass
        least = sum(alone[name].mass_range[0] for name in names)
        half = float(masses_95[body])
        pseudo = sum(
            places[name] @ _pseudo_inertia(own[name]) @ places[name].T for name in names
        )
        ranges.append(
            BodyRange(
                root,
                names,
                mass,
                (max(mass - half, least), mass + half),
                com,
                np.stack([-coms_95[body], coms_95[body]], axis=1),
                all(known[name] for name in names),
                _is_definite(np.asarray(pseudo)),
            )
        )
    return tuple(ranges)


def fixed_groups(
    robot: Robot,
) -> tuple[dict[str, tuple[str, ...]], dict[str, Array]]:
    """Return links with mass by the body that they are fixed to.

    Also the transform from each of these links to its body's first link, (4, 4).
    """
    model = robot.model
    roots = {1: robot.description.root}
    for joint in robot.description.joints:
        if model.existJointName(joint.name):
            roots[int(model.getJointId(joint.name))] = joint.child
    groups: dict[str, tuple[str, ...]] = {}
    places = {}
    for name in links_with_mass(robot):
        frame = model.frames[robot.frame_id(name)]
        root = roots[int(frame.parentJoint)]
        groups[root] = (*groups.get(root, ()), name)
        base = model.frames[robot.frame_id(root)].placement
        places[name] = np.array((base.inverse() * frame.placement).homogeneous)
    return groups, places


def _mass_range(mass: float, half: float, least: float) -> tuple[float, float]:
    return min(max(mass - half, least), mass), mass + half


def _within(planes: Array, com: Array, half: Array) -> Array:
    """Return ±half, cut where n c ≤ d ends along each axis, shape (3, 2).

    ``planes`` are rows (-d, n), shape (k, 4).
    """
    reach, normals = -planes[:, 0], planes[:, 1:]
    ranges = np.stack([-half, half], axis=1)
    left = np.maximum(reach - normals @ com, 0.0)
    for axis in range(3):
        slope = normals[:, axis]
        for side, facing in ((0, slope < 0.0), (1, slope > 0.0)):
            if facing.any():
                most = float(np.min(left[facing] / np.abs(slope[facing])))
                ranges[axis, side] = np.clip(ranges[axis, side], -most, most)
    return ranges


def _com_deviations(values: Array, covariance: Array) -> Array:
    """Return standard deviations of bodies' CoMs [m], of (m, m c), shape (n, 3)."""
    mass, *moment = values.reshape(-1, PER_LINK).T
    blocks = covariance.reshape(len(mass), PER_LINK, len(mass), PER_LINK)
    own = np.einsum("ljlk->ljk", blocks)
    gradient = np.zeros((len(mass), 3, PER_LINK))
    gradient[..., 0] = -(np.array(moment) / mass**2).T
    gradient[..., 1:] = np.eye(3) / mass[:, None, None]
    return np.asarray(np.sqrt(np.einsum("lij,ljk,lik->li", gradient, own, gradient)))


def _pseudo_inertia(inertial: Inertial) -> Array:
    """Return the second moments of mass about the link's origin, (4, 4), mass last."""
    inertia, com = inertial.inertia_in_link, inertial.com_in_link
    moment = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    pseudo = np.zeros((4, 4))
    pseudo[:3, :3] = moment + inertial.mass * np.outer(com, com)
    pseudo[:3, 3] = pseudo[3, :3] = inertial.mass * com
    pseudo[3, 3] = inertial.mass
    return pseudo


def _is_definite(pseudo: Array) -> bool:
    try:
        np.linalg.cholesky(pseudo.astype(np.float32))
    except np.linalg.LinAlgError:
        return False
    return True
