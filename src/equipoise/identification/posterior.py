"""Robots that the measurements leave possible, drawn from the posterior.

Masses and first moments of all links are normal with the estimate's mean and
covariance, as far as bodies can have them: masses above a tenth of the model's, centres
of mass within the hull of a link's shapes where these are known
(:mod:`equipoise.identification.consistency`). A normal distribution within planes is
drawn from exactly where a draw happens to lie within; else by Hamiltonian Monte Carlo
whose paths are ellipses that bounce off the planes [Pakman2014].

Standing still does not identify rotational inertia. About the centre of mass it is
assumed to be that of the model's body, as dense as the drawn mass asks for and
stretched about its centre of mass by a random symmetric matrix G = exp(σ Z)::

    Σ' = (m' / m) G Σ Gᵀ,    Σ = ½ tr(I) 1 - I,    I' = tr(Σ') 1 - Σ'

A pseudo-inertia that is positive definite stays so for every G.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.consistency import link_bounds
from equipoise.identification.statics import PER_LINK, links_with_mass
from equipoise.robot.model import Robot
from equipoise.simulation.variation import Variation

if TYPE_CHECKING:
    from equipoise.identification.identified import Identified

# Relative standard deviation of the links' radii of gyration: an assumption.
INERTIA_STD = 0.1
# Robots that are drawn at once: there are thousands of planes.
AT_ONCE = 500
# Paths of a quarter turn, each with a new random velocity, from the first start.
PATHS = 8
# Planes that are so many standard deviations beyond start and mean are never met.
FAR = 9.0
# A path that bounces more often is cut there.
MOST_BOUNCES = 400
# Starts are moved this far from the best values towards the model, off the bounds.
INWARD = 1e-3
# Planes are not hit again within this of a quarter turn; distances to them are rounded
# to this, in standard deviations.
ROUNDING = 1e-10


class Posterior(NamedTuple):
    """Masses and first moments of all links with mass, as measurements leave them.

    Attributes:
        original: The robot as its file describes it.
        mean: Best values before physical bounds, shape (4 nl,).
        covariance: Their covariance, shape (4 nl, 4 nl).
        best: Best physically possible values, shape (4 nl,).
    """

    original: Robot
    mean: Array
    covariance: Array
    best: Array


def posterior_of(found: Identified) -> Posterior:
    """Return what an identification leaves possible of the links."""
    size = PER_LINK * len(found.links)
    best = [link.mass * np.array([1.0, *link.com]) for link in found.links]
    return Posterior(
        found.original,
        found.estimate.mean[:size],
        found.estimate.covariance[:size, :size],
        np.array(best).ravel(),
    )


def sample_robots(
    found: Identified | Posterior,
    count: int,
    seed: int = 0,
    inertia_std: float = INERTIA_STD,
) -> Variation:
    """Return robots that the measurements leave possible, as a fleet takes them.

    Args:
        found: What was identified, or its posterior.
        count: Number of robots, n.
        seed: Seed; equal seeds draw equal robots.
        inertia_std: Relative standard deviation of the links' radii of gyration, which
            standing still does not identify.

    Returns:
        Masses, centres of mass and rotational inertias of every link that has mass;
        arrays have a row for each robot.

    Raises:
        EquipoiseError: If the count or the standard deviation is impossible.
    """
    if count < 1:
        raise EquipoiseError(f"{count} robots cannot be drawn: at least one is needed")
    if not (np.isfinite(inertia_std) and inertia_std >= 0.0):
        raise EquipoiseError(f"inertia_std is {inertia_std:g}; it must be 0 or more")
    rng = np.random.default_rng(seed)
    own = found if isinstance(found, Posterior) else posterior_of(found)
    links = draw_links(own, count, rng)
    mass = links[..., 0]
    com = links[..., 1:] / mass[..., None]
    inertias = {}
    known = links_with_mass(own.original)
    for at, (name, old) in enumerate(known.items()):
        stretched = _stretched(old.inertia_in_link, count, inertia_std, rng)
        inertias[name] = (mass[:, at] / old.mass)[:, None, None] * stretched
    return Variation(
        mass={name: mass[:, at] for at, name in enumerate(known)},
        com={name: com[:, at] for at, name in enumerate(known)},
        inertia=inertias,
    )


def draw_links(found: Posterior, count: int, rng: np.random.Generator) -> Array:
    """Return masses and first moments of possible robots, shape (count, nl, 4)."""
    mean, root = found.mean, _root(found.covariance)
    planes, limits = _bounds(found.original)
    model = [
        old.mass * np.array([1.0, *old.com_in_link])
        for old in links_with_mass(found.original).values()
    ]
    inside = found.best + INWARD * (np.array(model).ravel() - found.best)
    start = np.asarray(np.linalg.lstsq(root, inside - mean, rcond=None)[0], np.float64)
    within, reach = planes @ root, limits - planes @ mean
    parts = [
        draw_within(within, reach, start, min(AT_ONCE, count - first), rng)
        for first in range(0, count, AT_ONCE)
    ]
    drawn = np.concatenate(parts)
    return np.asarray((mean + drawn @ root.T).reshape(count, -1, PER_LINK))


def draw_within(
    planes: Array, limits: Array, start: Array, count: int, rng: np.random.Generator
) -> Array:
    """Return standard normal vectors z within planes, A z ≤ b, shape (count, k).

    Args:
        planes: A, shape (m, k).
        limits: b, shape (m,).
        start: A vector strictly within, shape (k,).
        count: Number of vectors.
        rng: Random numbers.
    """
    length = np.linalg.norm(planes, axis=1)
    moving = length > ROUNDING * max(1.0, float(length.max(initial=0.0)))
    normals = planes[moving] / length[moving, None]
    reach = limits[moving] / length[moving]
    # planes that the start misses by rounding go through it
    reach = np.maximum(reach, normals @ start + ROUNDING)
    drawn = rng.standard_normal((count, planes.shape[1]))
    outside = np.any(drawn @ normals.T > reach, axis=1)
    if outside.any():
        places = np.tile(start, (int(outside.sum()), 1))
        near = reach < FAR + np.abs(normals @ start)
        normals, reach = normals[near], reach[near]
        gram = normals @ normals.T
        for _ in range(PATHS):
            places = _bounced(places, normals, reach, gram, rng)
        drawn[outside] = places
    return drawn


def _bounced(
    places: Array, normals: Array, reach: Array, gram: Array, rng: np.random.Generator
) -> Array:
    """Follow z(t) = z cos t + v sin t for a quarter turn, mirrored at planes.

    Shapes are (n, k), (m, k), (m,) and (m, m), products of normals.
    """
    places = np.array(places)
    speeds = rng.standard_normal(places.shape)
    left = np.full(len(places), np.pi / 2.0)
    last = np.full(len(places), -1)
    going = np.arange(len(places))
    # along the normals, kept up to date: cheaper than products at every bounce
    at, rate = places @ normals.T, speeds @ normals.T
    for _ in range(MOST_BOUNCES):
        if not len(going):
            break
        time, plane = _first_hit(at, rate, reach, last[going])
        step = np.minimum(time, left[going])
        sine, cosine = np.sin(step)[:, None], np.cos(step)[:, None]
        z, v = places[going], speeds[going]
        places[going], speeds[going] = z * cosine + v * sine, v * cosine - z * sine
        hit = time < left[going]
        left[going] -= step
        going, plane = going[hit], plane[hit]
        turned = [part[hit] for part in (sine, cosine, at, rate)]
        sine, cosine, at, rate = turned
        at, rate = at * cosine + rate * sine, rate * cosine - at * sine
        twice = 2.0 * rate[np.arange(len(going)), plane][:, None]
        speeds[going] -= twice * normals[plane]
        rate -= twice * gram[plane]
        last[going] = plane
    return places


def _first_hit(
    at: Array, rate: Array, reach: Array, last: NDArray[np.int64]
) -> tuple[Array, NDArray[np.int64]]:
    """Return when paths meet a plane first, and which one; shapes (n,).

    A plane is met where p cos t + r sin t = u cos(t - φ) reaches its limit upwards.
    ``last`` are planes that paths have just left.
    """
    time = np.full(at.shape, np.inf)
    met = np.nonzero((at**2 + rate**2 > reach**2) | (reach < 0.0))
    p, r, limit = at[met], rate[met], reach[met[1]]
    size = np.maximum(np.hypot(p, r), np.abs(limit))
    found = np.mod(np.arctan2(r, p) - np.arccos(limit / size), 2.0 * np.pi)
    # rounding must not let a path go round once where it touches a plane outwards
    touching = (np.abs(p - limit) < ROUNDING * (1.0 + size)) & (r > 0.0)
    time[met] = np.where(touching, 0.0, found)
    # the plane just left is met again where the path comes back to it
    rows = np.flatnonzero(last >= 0)
    own = (rows, last[rows])
    back = np.mod(2.0 * np.arctan2(rate[own], at[own]), 2.0 * np.pi)
    time[own] = np.where(back > ROUNDING, back, np.inf)
    plane = np.argmin(time, axis=1)
    return np.take_along_axis(time, plane[:, None], axis=1)[:, 0], plane


def _bounds(robot: Robot) -> tuple[Array, Array]:
    """Return A and b of A x ≤ b for the links' parameters, (m, 4 nl) and (m,)."""
    blocks, limits = [], []
    links = links_with_mass(robot)
    for at, (name, old) in enumerate(links.items()):
        planes, most = link_bounds(robot, name, old)
        block = np.zeros((len(planes), PER_LINK * len(links)))
        block[:, PER_LINK * at : PER_LINK * at + PER_LINK] = planes
        blocks.append(block)
        limits.append(most)
    return np.concatenate(blocks), np.concatenate(limits)


def _root(covariance: Array) -> Array:
    """Return R with R Rᵀ = covariance, which may be singular."""
    scale = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    scale[scale == 0.0] = 1.0
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    return np.asarray(scale[:, None] * vectors * np.sqrt(np.maximum(values, 0.0)))


def _stretched(
    inertia: Array, count: int, deviation: float, rng: np.random.Generator
) -> Array:
    """Return inertias of a body stretched at random, shape (count, 3, 3)."""
    square = rng.standard_normal((count, 3, 3))
    # invariant to the choice of axes: variance 1 on the diagonal, 1/2 beside it
    symmetric = deviation * np.where(np.eye(3), square, 0.0)
    upper = deviation * np.sqrt(0.5) * np.triu(square, 1)
    values, axes = np.linalg.eigh(symmetric + upper + np.swapaxes(upper, 1, 2))
    stretch = (axes * np.exp(values)[:, None, :]) @ np.swapaxes(axes, 1, 2)
    moment = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    moments = stretch @ moment @ stretch
    trace = np.trace(moments, axis1=1, axis2=2)
    return np.asarray(trace[:, None, None] * np.eye(3) - moments)
