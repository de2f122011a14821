"""Results of an identification: links with intervals, offsets, and validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.identification.estimate import (
    Estimate,
    Identifiability,
    link_deviations,
)
from equipoise.identification.held_out import HeldOut
from equipoise.identification.noise import Level
from equipoise.identification.statics import (
    FEET,
    PER_FOOT,
    PER_LINK,
    MeasuredPoses,
    com_gradient,
)
from equipoise.kinematics.frames import frame_pose
from equipoise.notebook import html_table
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# 95 % of a normal distribution lie within so many standard deviations.
WIDTH_95 = 1.959964


class LinkFound(NamedTuple):
    """A link before and after.

    Attributes:
        link: Name.
        mass_before: Mass in the model [kg].
        mass: Identified mass [kg].
        mass_95: Half the width of its 95 % interval [kg].
        com_before: CoM in the model, in link coordinates [m], shape (3,).
        com: Identified CoM [m], shape (3,).
        com_95: Half the widths of the coordinates' 95 % intervals [m], shape (3,).
        seen: Whether the data determine it better than the prior.
    """

    link: str
    mass_before: float
    mass: float
    mass_95: float
    com_before: Array
    com: Array
    com_95: Array
    seen: bool


@dataclass(frozen=True, eq=False)
class Identified:
    """A robot's masses and centres of mass, identified from a log.

    Attributes:
        original: The robot as its file describes it.
        robot: The same with identified masses and centres of mass.
        poses: The measured poses.
        links: Every link with mass.
        offsets: Sensor offsets by side: force and torque in sole axes [N, Nm], (6,).
        offsets_95: Half the widths of their 95 % intervals, likewise.
        offset_sum: Force offset of both sensors together [N], shape (3,): determined
            better than either where the feet do not move.
        offset_sum_95: Half the widths of its 95 % intervals [N], shape (3,).
        mass: Total mass [kg].
        mass_95: Half the width of its 95 % interval [kg].
        estimate: All best values with their covariance, before bounds.
        level: Standard deviations of the soles' tilt and of lateral forces.
        can_tell: What the poses can identify.
        held_out: Errors in poses that were left out.
        held_links: Links whose parameters lie at a physical bound.
        notices: Corrections, assumptions and anomalies, a sentence each.
    """

    original: Robot
    robot: Robot
    poses: MeasuredPoses
    links: tuple[LinkFound, ...]
    offsets: dict[Side, Array]
    offsets_95: dict[Side, Array]
    offset_sum: Array
    offset_sum_95: Array
    mass: float
    mass_95: float
    estimate: Estimate
    level: Level
    can_tell: Identifiability
    held_out: HeldOut
    held_links: tuple[str, ...]
    notices: tuple[str, ...]

    def __repr__(self) -> str:
        """Return a line: which robot, from how many poses, whether it is better."""
        better = "improved" if self.improved else "not improved"
        return (
            f"Identified({self.original.name!r}, {len(self.poses.q)} poses, {better})"
        )

    def _repr_html_(self) -> str:
        moved = sorted(
            self.links, key=lambda k: -float(np.linalg.norm(k.com - k.com_before))
        )
        rows = {
            "mass": f"{self.mass:.3f} kg (model: {self.original.mass:.3f} kg)",
            **{
                link.link: f"CoM moved by "
                f"{1e3 * float(np.linalg.norm(link.com - link.com_before)):.1f} mm"
                for link in moved[:5]
            },
        }
        return html_table(self.sentence, rows)

    @property
    def improved(self) -> bool:
        """Whether poses that were left out confirm the identified model."""
        return self.held_out.confirmed

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        held = self.held_out
        what = f"{1e3 * held.rms_before:.1f} mm to {1e3 * held.rms_after:.1f} mm"
        name = self.original.name
        if self.improved:
            return (
                f"{name}: held-out poses confirm the identified model: its error of "
                f"the centre of pressure falls from {what}."
            )
        if held.reduction.confirmed:
            return (
                f"{name}: the error of the centre of pressure in held-out poses falls "
                f"from {what}, but to {1e3 * held.rms_offsets_only:.1f} mm with the "
                "sensors' offsets alone: the new masses are not confirmed; keep the "
                "original."
            )
        return (
            f"{name}: held-out poses do not confirm that the identified model is "
            f"better (error of the centre of pressure from {what}); keep the original."
        )


def links_found(robot: Robot, estimate: Estimate, mean: Array) -> tuple[LinkFound, ...]:
    """Return every link before and after; ``mean`` are the values within bounds."""
    deviation = np.sqrt(np.diag(estimate.covariance))
    found = []
    for at, own in enumerate(link_deviations(estimate)):
        first = PER_LINK * at
        old = robot.description.link_by_name[own.link].inertial
        if old is None:
            continue
        found.append(
            LinkFound(
                own.link,
                old.mass,
                float(mean[first]),
                float(WIDTH_95 * deviation[first]),
                old.com_in_link,
                mean[first + 1 : first + PER_LINK] / mean[first],
                WIDTH_95 * own.after,
                own.observed,
            )
        )
    return tuple(found)


def offsets_found(estimate: Estimate, mean: Array) -> tuple[dict[Side, Array], ...]:
    """Return the sensors' offsets and half the widths of their 95 % intervals."""
    deviation = WIDTH_95 * np.sqrt(np.diag(estimate.covariance))
    first = PER_LINK * len(estimate.belief.links)
    return tuple(
        dict(zip(FEET, values[first:].reshape(-1, PER_FOOT), strict=True))
        for values in (mean, deviation)
    )


def offset_sum_found(estimate: Estimate, mean: Array) -> tuple[Array, Array]:
    """Return the sum of both force offsets, and half the 95 % widths [N]."""
    first = PER_LINK * len(estimate.belief.links)
    lever = np.zeros((3, len(mean)))
    for at in range(len(FEET)):
        lever[:, first + PER_FOOT * at : first + PER_FOOT * at + 3] = np.eye(3)
    variance = np.diag(lever @ estimate.covariance @ lever.T)
    return lever @ mean, WIDTH_95 * np.sqrt(variance)


def figures(found: Identified) -> dict[str, Any]:
    """Return the results as plain data, for ``summary.json``."""
    identifiable, held = found.can_tell, found.held_out
    return {
        "verb": "identify",
        "robot": found.original.name,
        "achieved": found.improved,
        "sentence": found.sentence,
        "poses": len(found.poses),
        "mass_kg": {
            "before": found.original.mass,
            "after": found.mass,
            "interval_95": found.mass_95,
        },
        "held_out": {
            "folds": held.folds,
            "cop_rms_before_m": held.rms_before,
            "cop_rms_offsets_only_m": held.rms_offsets_only,
            "cop_rms_after_m": held.rms_after,
            "reduction": held.reduction.share,
            "reduction_interval_95": list(held.reduction.interval),
            "reduction_over_offsets": held.over_offsets.share,
            "reduction_over_offsets_interval_95": list(held.over_offsets.interval),
            "confirmed": held.confirmed,
        },
        "standing_com_covariance_m2": _standing_com_covariance(found).tolist(),
        "links": {
            link.link: {
                "mass_before_kg": link.mass_before,
                "mass_kg": link.mass,
                "mass_interval_95_kg": link.mass_95,
                "com_before_m": link.com_before.tolist(),
                "com_m": link.com.tolist(),
                "com_interval_95_m": link.com_95.tolist(),
                "seen": link.seen,
            }
            for link in found.links
        },
        "sensor_offsets": {
            side: {
                "force_n": found.offsets[side][:3].tolist(),
                "force_interval_95_n": found.offsets_95[side][:3].tolist(),
                "torque_nm": found.offsets[side][3:].tolist(),
                "torque_interval_95_nm": found.offsets_95[side][3:].tolist(),
            }
            for side in FEET
        }
        | {
            "together": {
                "force_n": found.offset_sum.tolist(),
                "force_interval_95_n": found.offset_sum_95.tolist(),
            }
        },
        "identifiable": {
            "unknowns": identifiable.unknowns,
            "rank": identifiable.rank,
            "known_better_than_prior": identifiable.known,
            "condition": identifiable.condition,
            "combinations": list(identifiable.combinations),
            "at_prior": list(identifiable.at_prior),
            "not_told_apart": [list(group) for group in identifiable.groups],
        },
        "level": {
            "tilt_rad": found.level.tilt,
            "sideways_n": found.level.sideways,
        },
        "noise_scale": found.estimate.noise_scale._asdict(),
        "outliers": np.flatnonzero(found.estimate.weights < 1.0).tolist(),
        "at_bounds": list(found.held_links),
        "notices": list(found.notices),
    }


def _standing_com_covariance(found: Identified) -> Array:
    """Return the covariance of the standing robot's CoM in the world [m²], (3, 3)."""
    robot, estimate = found.original, found.estimate
    poses = np.array(
        [frame_pose(robot, robot.standing, name) for name in estimate.belief.links]
    )
    arms = poses[None, :, :3][..., [3, 0, 1, 2]]
    gradient = com_gradient(arms, estimate.mean)[0]
    return np.asarray(gradient @ estimate.covariance @ gradient.T)
