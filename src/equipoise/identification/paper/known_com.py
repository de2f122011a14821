"""Links' centres of mass where the robot's is known a priori, in three dimensions.

Section 4.2 of [Muscolo2017] takes the robot's total CoM in some poses as given, from a
CAD model or another instrument, and asks for the links'. As in the paper, masses are
known and so are the feet; Eq. (26) in three dimensions, in a frame F of the robot, is::

    m c_i = Σ_l m_l (p_il + R_il c_l)

for pose i, with p_il and R_il the pose of link l in F. It is linear in the c_l, three
equations a pose. What they leave open stays at the model's values: each coordinate has
the usual standard deviation of models around them. The standard deviation of the given
CoMs is the one under which they are most probable.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError
from equipoise.identification.measuring.log_checks import (
    UNITS,
    check_joint_names,
    in_si,
)
from equipoise.identification.measuring.log_poses import AT_ORIGIN
from equipoise.identification.measuring.pose_table import read_pose_table
from equipoise.identification.prior import default_prior
from equipoise.identification.statics import FEET, links_with_mass
from equipoise.kinematics.com import com
from equipoise.kinematics.frames import frame_pose
from equipoise.kinematics.stance import sole_pose
from equipoise.log.recordings.match_to_robot import matched_positions
from equipoise.robot.inertias import Inertial
from equipoise.robot.joint_coordinates import configurations
from equipoise.robot.model import Robot

COLUMNS = ("com_x", "com_y", "com_z")
WIDTH_95 = 1.959964
# Standard deviations of given CoMs that are tried [m].
DEVIATIONS = np.geomspace(1e-9, 0.1, 161)
# A coordinate is determined if its deviation falls below this fraction of the prior's.
DETERMINED = 0.5
FEWEST = 2
MOST_FOLDS = 10


class KnownComs(NamedTuple):
    """Total CoMs that are known a priori.

    Attributes:
        q: Configurations, shape (n, nq); their base poses do not matter.
        com: The robot's CoM in the frame named [m], shape (n, 3).
        frame: Frame of the robot; None for the left sole.
        notices: What was left out or assumed, a sentence each.
    """

    q: Array
    com: Array
    frame: str | None
    notices: tuple[str, ...]


class LinkCom(NamedTuple):
    """A link's CoM in link coordinates.

    Attributes:
        link: Name.
        com_before: In the model [m], shape (3,).
        com: Found [m], shape (3,).
        com_95: Half the widths of its 95 % intervals [m], shape (3,).
        determined: Whether the given CoMs determine a coordinate better than the
            model, shape (3,).
    """

    link: str
    com_before: Array
    com: Array
    com_95: Array
    determined: tuple[bool, bool, bool]


@dataclass(frozen=True, eq=False)
class LinksFromCom:
    """Links' CoMs from total CoMs.

    Attributes:
        original: The robot as its file describes it.
        robot: The same with the CoMs found.
        links: Links above the feet.
        unknowns: Number of their coordinates.
        rank: Number of combinations that the given CoMs determine beyond their noise.
        com_std: Standard deviation of the given CoMs that fits best [m].
        before: Given less the model's CoM [m], shape (n, 3).
        held_out: Given CoM of each pose less the one predicted without it [m], shape
            (n, 3).
        notices: What was left out or assumed, a sentence each.
    """

    original: Robot
    robot: Robot
    links: tuple[LinkCom, ...]
    unknowns: int
    rank: int
    com_std: float
    before: Array
    held_out: Array
    notices: tuple[str, ...]

    @property
    def rms(self) -> tuple[float, float]:
        """RMS distance of given and predicted CoM, before and held out [m]."""
        before, after = (
            float(np.sqrt(np.mean(np.sum(errors**2, axis=1))))
            for errors in (self.before, self.held_out)
        )
        return before, after

    @property
    def improved(self) -> bool:
        """Whether each pose is predicted better from the others than by the model."""
        before, after = self.rms
        return after < before

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        before, after = (1e3 * error for error in self.rms)
        verdict = "falls" if self.improved else "does not fall"
        return (
            f"{self.original.name}: the error of the total centre of mass in poses "
            f"left out {verdict}, from {before:.2f} mm to {after:.2f} mm."
        )

    def summary(self) -> dict[str, Any]:
        """Return the results as plain data."""
        before, after = self.rms
        return {
            "verb": "identify",
            "robot": self.original.name,
            "achieved": self.improved,
            "sentence": self.sentence,
            "poses": len(self.before),
            "com_rms_before_m": before,
            "com_rms_held_out_m": after,
            "com_std_m": self.com_std,
            "unknowns": self.unknowns,
            "rank": self.rank,
            "links": {
                own.link: {
                    "com_before_m": own.com_before.tolist(),
                    "com_m": own.com.tolist(),
                    "com_interval_95_m": own.com_95.tolist(),
                    "determined": list(own.determined),
                }
                for own in self.links
            },
            "notices": list(self.notices),
        }


def read_known_coms(
    robot: Robot,
    path: Path | str,
    *,
    frame: str | None = None,
    units: Mapping[str, str] | None = None,
) -> KnownComs:
    """Read a CSV table of joint positions and total CoMs, a pose a row.

    Args:
        robot: The robot.
        path: The table: columns of joints as in logs, and ``com_x``, ``com_y``,
            ``com_z``.
        frame: Frame of the robot that the CoM is given in; the left sole by default.
        units: Units where they are not SI, as ``{"length": "mm"}``.

    Raises:
        EquipoiseError: If a column is missing, or joints do not fit the robot.
    """
    if frame is not None:
        robot.frame_id(frame)
    recording = read_pose_table(path)
    joints = dict(recording.joints)
    missing = [name for name in COLUMNS if name not in joints]
    if missing:
        raise EquipoiseError(
            f"{path}: has no column {', '.join(missing)}: the total centre of mass of "
            "each pose is needed [m]"
        )
    given = np.stack([joints.pop(name) for name in COLUMNS], axis=1)
    recording = in_si(replace(recording, joints=joints), robot, units or {})
    notices = list(recording.notices)
    notices.extend(check_joint_names(recording, robot))
    positions = matched_positions(recording, robot, notices)
    q = configurations(robot, np.tile(AT_ORIGIN, (len(positions), 1)), positions)
    scale = UNITS["length"][(units or {}).get("length", next(iter(UNITS["length"])))]
    return KnownComs(q, scale * given, frame, tuple(notices))


def links_from_known_com(robot: Robot, known: KnownComs) -> LinksFromCom:
    """Return the links' CoMs from total CoMs, Eq. (26) in three dimensions.

    Raises:
        EquipoiseError: If there are too few poses, or a CoM is not within reach of the
            robot.
    """
    q, given, frame, notices = known
    if len(q) < FEWEST:
        raise EquipoiseError(
            f"{len(q)} pose is too few: links are told apart by how they move, in at "
            f"least {FEWEST} poses"
        )
    pose = sole_pose(robot, q, "left") if frame is None else frame_pose(robot, q, frame)
    to_frame = np.asarray(np.linalg.inv(pose), dtype=np.float64)
    centre = np.array([com(robot, row) for row in q])
    model = np.einsum("nij,nj->ni", to_frame[:, :3, :3], centre) + to_frame[:, :3, 3]
    before = given - model
    _refuse_far(robot, before, frame)
    inertials = links_with_mass(robot)
    names = [name for name in inertials if name not in _feet(robot)]
    prior = default_prior(robot).com_std
    turns = np.stack(
        [(to_frame @ frame_pose(robot, q, name))[:, :3, :3] for name in names], axis=2
    )
    shares = np.array([inertials[name].mass for name in names]) / robot.mass
    # rows of three equations a pose, columns of three coordinates a link
    design = prior * (turns * shares[:, None]).reshape(3 * len(q), 3 * len(names))
    fit = _fit(design, before.ravel())
    moved = prior * fit.mean.reshape(-1, 3)
    deviation = prior * np.sqrt(np.maximum(np.diag(fit.covariance), 0.0)).reshape(-1, 3)
    links = tuple(
        LinkCom(
            name,
            inertials[name].com_in_link,
            inertials[name].com_in_link + moved[at],
            WIDTH_95 * deviation[at],
            (
                bool(deviation[at, 0] < DETERMINED * prior),
                bool(deviation[at, 1] < DETERMINED * prior),
                bool(deviation[at, 2] < DETERMINED * prior),
            ),
        )
        for at, name in enumerate(names)
    )
    changed = {
        own.link: Inertial(
            inertials[own.link].mass,
            frozen_array(own.com),
            inertials[own.link].inertia_in_link,
        )
        for own in links
    }
    return LinksFromCom(
        robot,
        robot.with_inertials(changed),
        links,
        design.shape[1],
        fit.rank,
        fit.noise,
        before,
        _left_out(design, before),
        (
            *notices,
            "masses, and the feet's centres of mass, are the model's, as in the paper",
            f"what the poses leave open stays at the model's values, with a standard "
            f"deviation of {1e3 * prior:.1f} mm for each coordinate",
        ),
    )


class _Fit(NamedTuple):
    """u of unit variance from A u = y with noise; with its covariance."""

    mean: Array
    covariance: Array
    noise: float
    rank: int


def _fit(design: Array, wanted: Array) -> _Fit:
    left, values, right = np.linalg.svd(design, full_matrices=False)
    seen = left.T @ wanted
    rest = float(np.sum((wanted - left @ seen) ** 2))
    # the probability of what is given, over all links: y ~ N(0, A Aᵀ + σ² 1)
    square = DEVIATIONS**2
    variances = values**2 + square[:, None]
    chance = np.sum(np.log(variances) + seen**2 / variances, axis=1)
    chance += (len(wanted) - len(values)) * np.log(square) + rest / square
    noise = float(DEVIATIONS[int(np.argmin(chance))])
    gain = values / (values**2 + noise**2)
    mean = right.T @ (gain * seen)
    covariance = np.eye(design.shape[1]) - (right.T * (gain * values)) @ right
    return _Fit(mean, covariance, noise, int(np.sum(values > noise)))


def _left_out(design: Array, before: Array) -> Array:
    """Return errors of poses predicted without their part of all [m], shape (n, 3)."""
    errors = np.zeros_like(before)
    blocks = design.reshape(len(before), 3, -1)
    rows = np.arange(len(before))
    for part in np.array_split(rows, min(MOST_FOLDS, len(rows))):
        others = np.setdiff1d(rows, part)
        kept = blocks[others].reshape(-1, design.shape[1])
        fit = _fit(kept, before[others].ravel())
        errors[part] = before[part] - blocks[part] @ fit.mean
    return errors


def _feet(robot: Robot) -> set[str]:
    """Return the links that are fixed to a sole's link, or are it."""
    frames = robot.model.frames
    bodies = {
        frames[robot.frame_id(robot.soles[side].link)].parentJoint
        for side in FEET
        if side in robot.soles
    }
    return {
        name
        for name in links_with_mass(robot)
        if frames[robot.frame_id(name)].parentJoint in bodies
    }


def _refuse_far(robot: Robot, before: Array, frame: str | None) -> None:
    far = np.linalg.norm(before, axis=1)
    worst = int(np.argmax(far))
    if far[worst] > robot.longest_limb:
        raise EquipoiseError(
            f"in pose {worst} the given centre of mass is {far[worst]:.2f} m from the "
            f"model's: is it in metres, and in the frame "
            f"'{frame or 'of the left sole'}'?"
        )
