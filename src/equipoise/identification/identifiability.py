"""What the poses can tell at all, and what only the prior says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.identification.estimate import Estimate
from equipoise.identification.standing_frames import StandingFrames
from equipoise.identification.statics import PER_LINK, link_columns

# Unknowns of a link, in order.
UNKNOWNS = ("m", "m x", "m y", "m z")
# Directions this much weaker than the strongest are rounding.
ROUNDING = 1e-9
# Coefficients below this share of the largest are left out of a combination.
SMALL = 1e-6
# A link is seen if its centre of mass is known so much better than before, and links
# cannot be told apart if their errors go so much together.
SEEN, TOGETHER = 0.5, 0.9


class LinkSight(NamedTuple):
    """How well the data see a link.

    Attributes:
        link: Name.
        before: Standard deviation of its centre of mass by the prior [m], shape (3,).
        after: The same with the data [m], shape (3,).
    """

    link: str
    before: Array
    after: Array

    @property
    def seen(self) -> bool:
        """Whether the data know any of its coordinates better than the prior."""
        return bool(np.any(self.after < SEEN * self.before))


@dataclass(frozen=True)
class Identifiability:
    """What can be told.

    Attributes:
        unknowns: How many there are of the links.
        rank: How many combinations of them standing still tells with no noise at all.
        known: How many directions the data know better than the prior, offsets
            included.
        condition: Of the strongest direction against the weakest of ``rank``.
        combinations: The combinations, as words.
        at_prior: Links whose centres of mass stay where the model has them.
        groups: Links that cannot be told apart: only their sum is known.
    """

    unknowns: int
    rank: int
    known: int
    condition: float
    combinations: tuple[str, ...]
    at_prior: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]


def identifiability(frames: StandingFrames, found: Estimate) -> Identifiability:
    """Return what poses tell of a robot.

    Args:
        frames: Of the poses.
        found: What was found with them.
    """
    names = found.belief.links
    count = PER_LINK * len(names)
    columns = link_columns(frames)
    rows = columns.reshape(-1, count) @ found.belief.root[:count, :count]
    values = np.linalg.svd(rows, compute_uv=False)
    strongest = float(values[0]) if len(values) else 0.0
    rank = int(np.sum(values > ROUNDING * strongest))
    condition = strongest / float(values[rank - 1]) if rank else np.inf
    sights = link_sights(found)
    return Identifiability(
        unknowns=count,
        rank=rank,
        known=int(np.sum(found.singular_values > 1.0)),
        condition=condition,
        combinations=_combinations(columns.reshape(-1, count), names, rank),
        at_prior=tuple(sight.link for sight in sights if not sight.seen),
        groups=_groups(found),
    )


def link_sights(found: Estimate) -> tuple[LinkSight, ...]:
    """Return how well each link's centre of mass was and is known."""
    before = found.belief.root @ found.belief.root.T
    sights = []
    for at, name in enumerate(found.belief.links):
        prior = com_covariance(found.belief.mean, before, at)
        now = com_covariance(found.mean, found.covariance, at)
        deviations = (np.sqrt(np.diag(part)) for part in (prior, now))
        sights.append(LinkSight(name, *deviations))
    return tuple(sights)


def com_covariance(mean: Array, covariance: Array, link: int) -> Array:
    """Return how a link's centre of mass c = h / m scatters [m²], shape (3, 3)."""
    lever = _com_lever(mean, link)
    here = slice(PER_LINK * link, PER_LINK * link + PER_LINK)
    scatter: Array = lever @ covariance[here, here] @ lever.T
    return scatter


def _com_lever(mean: Array, link: int) -> Array:
    mass, *moment = mean[PER_LINK * link : PER_LINK * link + PER_LINK]
    return np.column_stack([-np.array(moment) / mass**2, np.eye(3) / mass])


def _combinations(rows: Array, names: Sequence[str], rank: int) -> tuple[str, ...]:
    """Return independent combinations of unknowns that the equations hold.

    Columns are taken one by one while they say something new (QR with pivoting); the
    others are sums of these, and go with them [Gautier1991].
    """
    from scipy.linalg import qr, solve_triangular

    _, triangle, order = qr(rows, mode="economic", pivoting=True)
    if rank == 0:
        return ()
    sums = solve_triangular(triangle[:rank, :rank], triangle[:rank, rank:])
    found = []
    for at in np.argsort(order[:rank]):
        parts = [_unknown(names, int(order[at]))]
        for other in np.flatnonzero(np.abs(sums[at]) > SMALL * np.abs(sums).max()):
            factor = float(sums[at, other])
            sign = "-" if factor < 0.0 else "+"
            name = _unknown(names, int(order[rank + other]))
            parts.append(f"{sign} {abs(factor):.4g} {name}")
        found.append(" ".join(parts))
    return tuple(found)


def _unknown(names: Sequence[str], column: int) -> str:
    link, which = divmod(column, PER_LINK)
    return f"{UNKNOWNS[which]}({names[link]})"


def _groups(found: Estimate) -> tuple[tuple[str, ...], ...]:
    """Return links whose errors nearly cancel, joined with those of their partners."""
    from scipy.sparse.csgraph import connected_components

    names = found.belief.links
    whitened = []
    for link in range(len(names)):
        lever = _com_lever(found.mean, link)
        scatter = com_covariance(found.mean, found.covariance, link)
        whitened.append(np.linalg.solve(np.linalg.cholesky(scatter), lever))
    blocks = found.covariance[: PER_LINK * len(names), : PER_LINK * len(names)]
    together = np.zeros((len(names), len(names)), dtype=np.bool_)
    for one in range(len(names)):
        left = whitened[one] @ blocks[PER_LINK * one : PER_LINK * one + PER_LINK]
        for other in range(one):
            here = slice(PER_LINK * other, PER_LINK * other + PER_LINK)
            shared = left[:, here] @ whitened[other].T
            together[one, other] = np.linalg.norm(shared, 2) > TOGETHER
    count, label = connected_components(together, directed=False)
    groups = [tuple(np.array(names)[label == at].tolist()) for at in range(count)]
    return tuple(group for group in groups if len(group) > 1)
