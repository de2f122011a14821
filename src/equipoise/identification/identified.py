"""What was identified: links with intervals, offsets, and whether it is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.identification.estimate import Estimate
from equipoise.identification.held_out import HeldOut
from equipoise.identification.identifiability import Identifiability, LinkSight
from equipoise.identification.level import Level
from equipoise.identification.measuring.measured_poses import FEET, MeasuredPoses
from equipoise.identification.statics import PER_FOOT, PER_LINK
from equipoise.kinematics.frames import frame_pose
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

# 95 % of a normal distribution lie within so many standard deviations.
WIDTH_95 = 1.959964


class LinkFound(NamedTuple):
    """A link before and after.

    Attributes:
        link: Name.
        mass_before: In the model [kg].
        mass: Identified [kg].
        mass_95: Half the width of its 95 % interval [kg].
        com_before: In link coordinates, in the model [m], shape (3,).
        com: Identified [m], shape (3,).
        com_95: Half the widths of the coordinates' 95 % intervals [m], shape (3,).
        seen: Whether the data say more about it than the prior.
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
    """What a robot's log says about its masses.

    Attributes:
        original: The robot as its file describes it.
        robot: The same with identified masses and centres of mass.
        poses: What was measured.
        links: Every link with mass.
        offsets: Of the sensors, by side: force and torque in sole axes [N, Nm], (6,).
        offsets_95: Half the widths of their 95 % intervals, likewise.
        offset_sum: Force offset of both sensors together [N], shape (3,): known better
            than either where the feet stay where they are.
        offset_sum_95: Half the widths of its 95 % intervals [N], shape (3,).
        mass: Total [kg].
        mass_95: Half the width of its 95 % interval [kg].
        estimate: All best values with their covariance, before bounds.
        level: How level the soles were taken to stand.
        can_tell: What the poses can tell at all.
        held_out: Errors in poses that were left out.
        held_links: Links whose figures lie at the edge of what a body can have.
        notices: What was mended, assumed or noticed, a sentence each.
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

    @property
    def improved(self) -> bool:
        """Whether poses that were left out confirm the identified model."""
        return self.held_out.confirmed

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
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


def links_found(
    robot: Robot, estimate: Estimate, mean: Array, sights: tuple[LinkSight, ...]
) -> tuple[LinkFound, ...]:
    """Return every link before and after.

    Args:
        robot: The robot as its file describes it.
        estimate: The best values with their covariance.
        mean: The best values within bounds, shape (nx,).
        sights: How well links are seen.
    """
    deviation = np.sqrt(np.diag(estimate.covariance))
    found = []
    for at, sight in enumerate(sights):
        first = PER_LINK * at
        old = robot.description.link_by_name[sight.link].inertial
        if old is None:
            continue
        mass = float(mean[first])
        found.append(
            LinkFound(
                sight.link,
                old.mass,
                mass,
                float(WIDTH_95 * deviation[first]),
                old.com_in_link,
                mean[first + 1 : first + PER_LINK] / mass,
                WIDTH_95 * sight.after,
                sight.seen,
            )
        )
    return tuple(found)


def offsets_found(estimate: Estimate, mean: Array) -> tuple[dict[Side, Array], ...]:
    """Return the sensors' offsets and half the widths of their 95 % intervals."""
    deviation = WIDTH_95 * np.sqrt(np.diag(estimate.covariance))
    first = PER_LINK * len(estimate.belief.links)
    return tuple(
        {
            side: values[first + PER_FOOT * at : first + PER_FOOT * (at + 1)]
            for at, side in enumerate(FEET)
        }
        for values in (mean, deviation)
    )


def offset_sum_found(estimate: Estimate, mean: Array) -> tuple[Array, Array]:
    """Return both sensors' force offsets together, and half the 95 % widths [N]."""
    first = PER_LINK * len(estimate.belief.links)
    lever = np.zeros((3, len(mean)))
    for at in range(len(FEET)):
        lever[:, first + PER_FOOT * at : first + PER_FOOT * at + 3] = np.eye(3)
    scatter = np.diag(lever @ estimate.covariance @ lever.T)
    return lever @ mean, WIDTH_95 * np.sqrt(scatter)


def figures(found: Identified) -> dict[str, Any]:
    """Return what was found as plain data, for ``summary.json``."""
    tell, held = found.can_tell, found.held_out
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
            "unknowns": tell.unknowns,
            "rank": tell.rank,
            "known_better_than_prior": tell.known,
            "condition": tell.condition,
            "combinations": list(tell.combinations),
            "at_prior": list(tell.at_prior),
            "not_told_apart": [list(group) for group in tell.groups],
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
    """Return how the CoM of the standing robot scatters [m²], in the world, (3, 3)."""
    robot, mean = found.original, found.estimate.mean
    links = mean[: PER_LINK * len(found.estimate.belief.links)].reshape(-1, PER_LINK)
    poses = np.array(
        [
            frame_pose(robot, robot.standing, name)
            for name in found.estimate.belief.links
        ]
    )
    mass = links[:, 0].sum()
    moment = links[:, 0] @ poses[:, :3, 3]
    moment += np.einsum("lij,lj->i", poses[:, :3, :3], links[:, 1:])
    lever = np.zeros((3, len(mean)))
    for at, pose in enumerate(poses):
        first = PER_LINK * at
        lever[:, first] = (pose[:3, 3] - moment / mass) / mass
        lever[:, first + 1 : first + PER_LINK] = pose[:3, :3] / mass
    scatter: Array = lever @ found.estimate.covariance @ lever.T
    return scatter
