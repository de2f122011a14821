"""Runs of ``identify``: a true robot stands in poses, is identified and compared.

As in :mod:`equipoise.identification.rehearsal`, with the true robot of a study's point.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equipoise.arrays import Array
from equipoise.identification.posing.candidates import pose_candidates
from equipoise.identification.posing.design import choose_poses
from equipoise.identification.prior import default_prior, prior_belief
from equipoise.identification.rehearsal import (
    TrueRobot,
    draw_truth,
    estimate_from_poses,
    noise_of,
    score,
    stand_in_poses,
    usual_encoders,
    usual_feet,
)
from equipoise.identification.statics import FEET, PER_SENSOR, standing_frames
from equipoise.robot.inertias import Inertial
from equipoise.robot.model import Robot
from equipoise.simulation.sensors import FootSensors

# Poses to stand in, those they are chosen from, and new ones in which the result is
# judged; seed of these.
POSES, CANDIDATES, NEW_POSES, POSE_SEED = 15, 300, 100, 0


@dataclass(frozen=True)
class RehearsalSummary:
    """Results of a rehearsed identification.

    Attributes:
        achieved: Whether the identified CoM is nearer to the truth than the model's.
        com_error_before_m: Error of the model's CoM, root mean square over new poses
            [m].
        com_error_after_m: The same of the identified robot [m].
        com_error_after_max_m: The largest of these [m].
        com_covered_fraction: Fraction of 95 % intervals of the CoM that hold the truth.
        link_com_covered_fraction: The same of the links' CoMs.
        poses_stood: Number of poses in which the robot stood still.
    """

    achieved: bool
    com_error_before_m: float
    com_error_after_m: float
    com_error_after_max_m: float
    com_covered_fraction: float
    link_com_covered_fraction: float
    poses_stood: int


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """What rehearsed identifications have in common.

    Attributes:
        q: Poses to stand in, shape (n, nq).
        new: Poses in which the result is judged, shape (m, nq).
    """

    q: Array
    new: Array

    def run(
        self,
        model: Robot,
        settings: Mapping[str, Any],
        inertials: Mapping[str, Inertial],
    ) -> RehearsalSummary:
        """Let a true robot stand in the poses, identify it, and compare.

        Args:
            model: The robot as its file describes it.
            settings: Values of parameters by name.
            inertials: Mass distributions that differ from the model's.

        Raises:
            EquipoiseError: If it stands still in none of the poses.
        """
        prior = default_prior(model)
        true = model.with_inertials(inertials) if inertials else model
        if "truth.seed" in settings:
            truth = draw_truth(true, prior, settings["truth.seed"])
        else:
            values = np.array(prior_belief(true, prior).mean)
            values[-len(FEET) * PER_SENSOR :] = 0.0
            truth = TrueRobot(true, values)
        feet = _noisier(usual_feet(), settings.get("sensors.noise", 1.0))
        encoders = usual_encoders()
        seed = settings.get("sensors.seed", 0)
        stood = stand_in_poses(model, truth, self.q, feet, encoders, seed)
        noise = noise_of(feet, encoders)
        found = estimate_from_poses(stood.poses, noise, prior_belief(model, prior))
        judged = score(standing_frames(model, self.new), found, truth)
        before, after = (
            np.linalg.norm(errors, axis=1) for errors in (judged.before, judged.after)
        )
        rms = [float(np.sqrt(np.mean(errors**2))) for errors in (before, after)]
        return RehearsalSummary(
            achieved=rms[1] < rms[0],
            com_error_before_m=rms[0],
            com_error_after_m=rms[1],
            com_error_after_max_m=float(after.max()),
            com_covered_fraction=float(judged.covered["com"].mean()),
            link_com_covered_fraction=float(judged.covered["link com"].mean()),
            poses_stood=len(stood.rows),
        )


def choose_rehearsal(robot: Robot, poses: int, candidates: int) -> Rehearsal:
    """Return poses to stand in, chosen among random ones, and new ones.

    Args:
        robot: The robot.
        poses: Number of poses to stand in.
        candidates: Number of poses that they are chosen from.

    Raises:
        EquipoiseError: If these numbers are impossible.
    """
    every = pose_candidates(robot, candidates + NEW_POSES, POSE_SEED)
    q, new = every[:candidates], every[candidates:]
    noise = noise_of(usual_feet(), usual_encoders())
    design = choose_poses(robot, q, poses, noise=noise)
    return Rehearsal(q[design.rows], new)


def _noisier(feet: FootSensors, factor: float) -> FootSensors:
    return replace(
        feet,
        force=replace(feet.force, deviation=factor * np.asarray(feet.force.deviation)),
        torque=replace(
            feet.torque, deviation=factor * np.asarray(feet.torque.deviation)
        ),
    )
