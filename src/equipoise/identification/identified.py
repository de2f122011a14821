"""Results of an identification: links with intervals, offsets, and validation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.identification.estimate import (
    Estimate,
    Identifiability,
    link_com_deviations,
    observed_links,
)
from equipoise.identification.held_out import HeldOut
from equipoise.identification.hypotheses import Offsets
from equipoise.identification.left_out import FEWEST_STRETCHES
from equipoise.identification.measuring.log_rows import LogRows
from equipoise.identification.pose_errors import Level
from equipoise.identification.posterior import INERTIA_STD, sample_robots
from equipoise.identification.randomisation_files import export_text
from equipoise.identification.statics import (
    PER_LINK,
    PER_SENSOR,
    MeasuredPoses,
    com_gradient,
    link_parameters,
    links_with_mass,
)
from equipoise.kinematics.frames import frame_pose
from equipoise.notebook import html_table
from equipoise.robot.model import Robot
from equipoise.simulation.variation import Variation

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
        parameters: Best physically possible values, shape (nx,).
        estimate: Best values with their covariance, before physical bounds.
        level: Standard deviations of the soles' tilt and of lateral forces.
        offset_belief: What sensors' offsets may be.
        strength: How far CoMs may be from the model, as a multiple of what is usual;
            zero if they are the model's, and masses have one factor.
        identifiability: Parameters that the poses identify.
        held_out: Errors in stretches that were left out.
        links_at_bounds: Links whose parameters lie at a physical bound.
        notices: Corrections, assumptions and anomalies, a sentence each.
        log_rows: Rows of the log in order, used or left out, with the reason.
    """

    original: Robot
    robot: Robot
    poses: MeasuredPoses
    parameters: Array
    estimate: Estimate
    level: Level
    offset_belief: Offsets
    strength: float
    identifiability: Identifiability
    held_out: HeldOut
    links_at_bounds: tuple[str, ...]
    notices: tuple[str, ...]
    log_rows: tuple[LogRows, ...] = ()

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

    @cached_property
    def links(self) -> tuple[LinkFound, ...]:
        """Every link with mass."""
        estimate = self.estimate
        masses_95 = WIDTH_95 * np.sqrt(np.diag(estimate.covariance)[::PER_LINK])
        coms_95 = WIDTH_95 * link_com_deviations(
            estimate.mean, estimate.covariance, len(estimate.belief.links)
        )
        seen, old = observed_links(estimate), links_with_mass(self.original)
        return tuple(
            LinkFound(
                name,
                old[name].mass,
                float(mass),
                float(masses_95[at]),
                old[name].com_in_link,
                np.array(moment) / mass,
                coms_95[at],
                bool(seen[at]),
            )
            for at, (name, (mass, *moment)) in enumerate(
                zip(old, link_parameters(self.parameters, len(old)), strict=True)
            )
        )

    def _half_widths(self, combinations: Array) -> Array:
        """Return half the widths of 95 % intervals of k combinations (k, nx), (k,)."""
        covariance = self.estimate.covariance
        variances = np.einsum("ki,ij,kj->k", combinations, covariance, combinations)
        return np.asarray(WIDTH_95 * np.sqrt(variances))

    @property
    def _selectors(self) -> tuple[Array, Array]:
        """Combinations of parameters: the total mass, and the sum of force offsets."""
        mass, forces = np.zeros((1, self.parameters.size)), np.eye(3, PER_SENSOR)
        sensors, links = len(self.poses.sensors), len(self.estimate.belief.links)
        mass[0, : PER_LINK * links : PER_LINK] = 1.0
        together = np.zeros((3, mass.size))
        first = PER_LINK * links
        together[:, first : first + PER_SENSOR * sensors] = np.tile(forces, sensors)
        return mass, together

    @property
    def mass(self) -> float:
        """Total mass [kg]."""
        return float((self._selectors[0] @ self.parameters)[0])

    @property
    def mass_95(self) -> float:
        """Half the width of the total mass's 95 % interval [kg]."""
        return float(self._half_widths(self._selectors[0])[0])

    @property
    def offsets(self) -> dict[str, Array]:
        """Offsets by sensor: force and torque in its axes [N, Nm], shape (6,)."""
        return self._by_sensor(self.parameters)

    @property
    def offsets_95(self) -> dict[str, Array]:
        """Half the widths of their 95 % intervals, likewise."""
        return self._by_sensor(WIDTH_95 * np.sqrt(np.diag(self.estimate.covariance)))

    def _by_sensor(self, values: Array) -> dict[str, Array]:
        first = PER_LINK * len(self.estimate.belief.links)
        count = PER_SENSOR * len(self.poses.sensors)
        offsets = values[first : first + count].reshape(-1, PER_SENSOR)
        return dict(zip(self.poses.sensors, offsets, strict=True))

    @property
    def offset_sum(self) -> Array:
        """Force offset of both sensors together [N], shape (3,).

        Determined better than either where the feet do not move.
        """
        return np.asarray(self._selectors[1] @ self.parameters)

    @property
    def offset_sum_95(self) -> Array:
        """Half the widths of its 95 % intervals [N], shape (3,)."""
        return self._half_widths(self._selectors[1])

    @property
    def improved(self) -> bool:
        """Whether poses that were left out confirm the identified model."""
        return self.held_out.confirmed

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        held, name = self.held_out, self.original.name
        com = (
            f"{1e3 * held.original.pressure_rms:.1f} mm to "
            f"{1e3 * held.file.pressure_rms:.1f} mm"
        )
        weight = (
            f"{100 * held.original.weight_rms:.1f} % to "
            f"{100 * held.file.weight_rms:.1f} %"
        )
        what = (
            f"error of the centre of pressure from {com}, of the weight from {weight}"
        )
        if self.improved:
            better = [
                word
                for word, is_so in (
                    ("its centre of mass", held.com_confirmed),
                    ("its mass", held.mass_confirmed),
                )
                if is_so
            ]
            doubt = ""
            if held.moved and not held.com_confirmed:
                doubt = ", but not its centres of mass"
                if held.by_offsets:
                    doubt += ", which may hold offsets of the sensors"
            return (
                f"{name}: stretches that were left out confirm the identified file, "
                f"{' and '.join(better)}{doubt}: {what}."
            )
        return f"{name}: not confirmed, keep the original: {self._doubt()} ({what})."

    def _doubt(self) -> str:
        """Return why the file is not confirmed."""
        held = self.held_out
        if held.stretches < FEWEST_STRETCHES:
            return (
                f"{held.stretches} independent stretches are too few to tell "
                f"(at least {FEWEST_STRETCHES})"
            )
        if held.reduction.matters and held.by_offsets:
            return (
                "offsets of the sensors may be all that there is: "
                f"{1e3 * held.offsets_only.pressure_rms:.1f} mm with these alone, "
                f"{1e3 * held.with_offsets.pressure_rms:.1f} mm with new masses, too"
            )
        if held.weight_reduction.matters:
            return "the weight's error may be that of the sensors"
        return "the file is not better in stretches that were left out"

    def sample(
        self, count: int, seed: int = 0, inertia_std: float = INERTIA_STD
    ) -> Variation:
        """Return robots that the measurements leave possible, as ``Fleet`` takes them.

        See :func:`~equipoise.identification.posterior.sample_robots`.
        """
        return sample_robots(self, count, seed, inertia_std)

    def export(self, kind: str, *, robot_file: Path | str | None = None) -> str:
        """Return ranges for domain randomisation, or all of the posterior as JSON.

        See :func:`~equipoise.identification.randomisation_files.export_text`.
        """
        return export_text(self, kind, robot_file=robot_file)

    def summary(self) -> dict[str, Any]:
        """Return the results as plain data, for ``summary.json``."""
        identifiable, held = self.identifiability, self.held_out
        return {
            "verb": "identify",
            "robot": self.original.name,
            "achieved": self.improved,
            "sentence": self.sentence,
            "poses": len(self.poses),
            "mass_kg": {
                "before": self.original.mass,
                "after": self.mass,
                "interval_95": self.mass_95,
            },
            "held_out": {
                "stretches": held.stretches,
                "folds": held.folds,
                "cop_rms_m": {
                    "original": held.original.pressure_rms,
                    "offsets_only": held.offsets_only.pressure_rms,
                    "ridge": held.ridge.pressure_rms,
                    "file": held.file.pressure_rms,
                    "file_with_offsets": held.with_offsets.pressure_rms,
                },
                "weight_rms_fraction": {
                    "original": held.original.weight_rms,
                    "scaled": held.scaled.weight_rms,
                    "ridge": held.ridge.weight_rms,
                    "file": held.file.weight_rms,
                },
                **{
                    name: {"fraction": own.fraction, "interval_90": list(own.interval)}
                    for name, own in (
                        ("reduction", held.reduction),
                        ("reduction_over_offsets", held.over_offsets),
                        ("reduction_over_ridge", held.over_ridge),
                        ("weight_reduction", held.weight_reduction),
                    )
                },
                "sensors_zeroed": held.zeroed,
                "chance_of_offsets": held.chance_of_offsets,
                "weight_by_offsets_fraction": held.weight_by_offsets,
                "least_cop_error_m": held.least_pressure,
                "com_confirmed": held.com_confirmed,
                "mass_confirmed": held.mass_confirmed,
                "confirmed": held.confirmed,
            },
            "standing_com_covariance_m2": self._standing_com_covariance().tolist(),
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
                for link in self.links
            },
            "sensor_offsets": {
                name: {
                    "force_n": offset[:3].tolist(),
                    "force_interval_95_n": self.offsets_95[name][:3].tolist(),
                    "torque_nm": offset[3:].tolist(),
                    "torque_interval_95_nm": self.offsets_95[name][3:].tolist(),
                }
                for name, offset in self.offsets.items()
            }
            | {
                "together": {
                    "force_n": self.offset_sum.tolist(),
                    "force_interval_95_n": self.offset_sum_95.tolist(),
                }
            },
            "identifiable": {
                "unknowns": identifiable.unknowns,
                "rank": identifiable.rank,
                "known_better_than_prior": identifiable.better_than_prior,
                "condition": identifiable.condition,
                "combinations": list(identifiable.combinations),
                "at_prior": list(identifiable.at_prior),
                "inseparable_links": [list(group) for group in identifiable.groups],
            },
            "level": {
                "tilt_rad": self.level.tilt,
                "lateral_force_n": self.level.lateral_force,
                "vertical_force_n": self.level.vertical_force,
            },
            "offset_belief": self.offset_belief.words,
            "com_strength": self.strength,
            "noise_scale": self.estimate.noise_scale._asdict(),
            "outliers": np.flatnonzero(self.estimate.weights < 1.0).tolist(),
            "at_bounds": list(self.links_at_bounds),
            "notices": list(self.notices),
        }

    def _standing_com_covariance(self) -> Array:
        """Return the covariance of the standing robot's CoM [m²], shape (3, 3)."""
        robot, estimate = self.original, self.estimate
        poses = np.array(
            [frame_pose(robot, robot.standing, name) for name in estimate.belief.links]
        )
        arms = poses[None, :, :3][..., [3, 0, 1, 2]]
        gradient = com_gradient(arms, estimate.mean)[0]
        return np.asarray(gradient @ estimate.covariance @ gradient.T)
