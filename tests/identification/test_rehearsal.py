from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from identification.true_robots import random_poses
from scipy.spatial.transform import Rotation, Slerp

import equipoise as eq
from equipoise.arrays import Array
from equipoise.cli.main import run as run_command
from equipoise.control.signals import Target
from equipoise.errors import EquipoiseError
from equipoise.identification.identify import identify
from equipoise.identification.prior import Prior, prior_belief
from equipoise.identification.rehearsal import (
    Score,
    TrueRobot,
    draw_truth,
    estimate_from_poses,
    noise_of,
    score,
    stand_in_poses,
    usual_encoders,
    usual_feet,
)
from equipoise.identification.statics import equations, standing_frames, total_com
from equipoise.kinematics.com_legs import solve_com
from equipoise.kinematics.com_targets import com_targets
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.description import STANDARD_GRAVITY
from equipoise.robot.joint_coordinates import configurations, joint_positions
from equipoise.simulation.noise import Noise
from equipoise.simulation.sensors import Encoders, FootSensors

# CoM errors of up to 30 mm, the total mass off by 8 %, sensors zeroed.
PRIOR = Prior(
    com_std=0.01,
    mass_std_fraction=0.17,
    lateral_force_std=0.0,
    vertical_force_std=0.0,
    torque_std=0.0,
)


@pytest.fixture(scope="module")
def poses(mahru: eq.Robot) -> Array:
    """Poses to measure and poses to predict."""
    return random_poses(mahru, 64, np.random.default_rng(5))


class Rehearsal(NamedTuple):
    """Scores of true robots, and the fraction of poses in which they stood still."""

    scores: list[Score]
    kept: float

    def rms(self, what: str) -> float:
        """Return the RMS error of the CoM in new poses [m]."""
        errors = np.concatenate([getattr(score, what) for score in self.scores])
        return float(np.sqrt(np.mean(np.sum(errors**2, axis=1))))

    def coverage(self, what: str) -> float:
        """Return the fraction of 95 % intervals that hold the truth."""
        return float(np.mean([score.covered[what].mean() for score in self.scores]))


@pytest.fixture(scope="module")
def rehearsal(mahru: eq.Robot, poses: Array) -> Rehearsal:
    """Eight true robots, each in 14 poses."""
    rng = np.random.default_rng(1)
    feet, encoders = usual_feet(), usual_encoders()
    noise, belief = noise_of(feet, encoders), prior_belief(mahru, PRIOR)
    frames = standing_frames(mahru, poses[14:])
    scores, kept = [], []
    for _ in range(8):
        truth = draw_truth(mahru, PRIOR, rng)
        stood = stand_in_poses(mahru, truth, poses[:14], feet, encoders, rng)
        found = estimate_from_poses(stood.poses, noise, belief)
        scores.append(score(frames, found, truth))
        kept.append(len(stood.rows) / 14)
    return Rehearsal(scores, float(np.mean(kept)))


def test_the_simulator_stands_by_our_equations(mahru: eq.Robot, poses: Array) -> None:
    """Weight and tipping balance to 1e-4 once the soles' tilt is allowed for.

    Lateral forces show by how much the soles are not level.
    """
    truth = draw_truth(mahru, PRIOR, 2)
    quiet = Encoders(Noise()), np.random.default_rng(0)
    stood = stand_in_poses(mahru, truth, poses[:20], FootSensors(at="sole"), *quiet)
    assert len(stood.rows) > 15
    frames = standing_frames(mahru, stood.poses.q)
    system = equations(frames, stood.poses)
    weight = truth.robot.mass * STANDARD_GRAVITY
    left = (system.right - system.matrix @ truth.values) / weight
    assert np.abs(left[:, 2]).max() < 1e-4
    up = np.column_stack([left[:, :2], np.zeros(len(left))])
    tilt = np.linalg.norm(up, axis=1)
    assert 1e-4 < tilt.max() < 2e-2
    torque = left[:, 3:] - np.cross(total_com(frames, truth.values), up)
    assert np.abs(torque).max() < 1e-4
    assert np.abs(left[:, 3:5]).max() > 3.0 * np.abs(torque).max()


def test_truths_are_off_as_the_prior_says(mahru: eq.Robot) -> None:
    """No CoM is off by more than 30 mm; deviations are the prior's."""
    rng = np.random.default_rng(3)
    fractions, away = [], []
    for _ in range(30):
        truth = draw_truth(mahru, PRIOR, rng)
        for name, link in truth.robot.description.link_by_name.items():
            old = mahru.description.link_by_name[name].inertial
            if link.inertial is not None and old is not None and old.mass > 0.0:
                fractions.append(link.inertial.mass / old.mass - 1.0)
                away.append(link.inertial.com_in_link - old.com_in_link)
        np.testing.assert_array_equal(truth.values[-12:], 0.0)
    assert np.linalg.norm(away, axis=1).max() <= 0.03 + 1e-12
    assert 0.009 < np.std(away) < 0.0105
    assert 0.15 < np.std(fractions) < 0.19


def test_what_is_measured_is_seen_through_the_sensors(
    mahru: eq.Robot, poses: Array
) -> None:
    """Offsets are added to wrenches, and joints are whole steps of the encoders."""
    belief = prior_belief(mahru, PRIOR)
    plain = TrueRobot(mahru, belief.mean)
    biased = TrueRobot(mahru, np.append(belief.mean[:-12], np.arange(12.0)))
    step = 2.0 * np.pi / 4096
    got = [
        stand_in_poses(mahru, truth, poses[:2], usual_feet(), usual_encoders(step), 0)
        for truth in (plain, biased)
    ]
    for at, side in enumerate(("left", "right")):
        change = got[1].poses.wrenches[side] - got[0].poses.wrenches[side]
        np.testing.assert_allclose(change, np.tile(np.arange(6.0) + 6 * at, (2, 1)))
    steps = joint_positions(mahru, got[0].poses.q) / step
    assert np.mean(np.abs(steps - np.round(steps)) < 1e-6) > 0.9
    noise = noise_of(usual_feet(), usual_encoders(step))
    assert noise.joint == pytest.approx(step / np.sqrt(12.0))


def test_a_robot_that_falls_is_not_measured(mahru: eq.Robot) -> None:
    """Poses that nobody can stand in are said to be."""
    q = np.array(mahru.standing[None])
    hips = [mahru.joint_id(leg.joints[2]) for leg in mahru.legs.values()]
    for hip in hips:
        q[0, mahru.model.joints[hip].idx_q] += 0.8
    truth = TrueRobot(mahru, prior_belief(mahru, PRIOR).mean)
    with pytest.raises(EquipoiseError, match="stands still in none of 1 poses"):
        stand_in_poses(mahru, truth, q, usual_feet(), usual_encoders(), 0)


def test_fourteen_poses_reduce_the_error_fourfold(rehearsal: Rehearsal) -> None:
    """In new poses the total CoM of simulated robots is determined far better."""
    assert rehearsal.kept > 0.8
    assert rehearsal.rms("before") > 0.01
    assert rehearsal.rms("after") < rehearsal.rms("before") / 4.0


def test_intervals_hold_the_truth(rehearsal: Rehearsal) -> None:
    """95 % intervals of eight robots' links hold the truth as often as chance says."""
    for what in ("link com", "link mass"):
        count = sum(score.covered[what].size for score in rehearsal.scores)
        band = 3.0 * np.sqrt(0.95 * 0.05 / count)
        assert abs(rehearsal.coverage(what) - 0.95) < max(band, 0.03)
    assert rehearsal.coverage("com") > 0.8


class Visits:
    """A reference that goes from pose to pose and waits in each."""

    MOVE, WAIT, KNOTS = 1.2, 2.4, 30

    def __init__(self, robot: eq.Robot, q: Array) -> None:
        feet = [sole_pose(robot, q[0], side) for side in ("left", "right")]
        blend = 0.5 - 0.5 * np.cos(np.pi * np.linspace(0.0, 1.0, self.KNOTS))
        times, rows = [0.0], [joint_positions(robot, q[0])]
        for begin, end in pairwise(q):
            turns = Slerp([0.0, 1.0], Rotation.from_quat([begin[3:7], end[3:7]]))
            centre = np.asarray(eq.com(robot, np.stack([begin, end])))
            joints = joint_positions(robot, np.stack([begin, end]))
            fraction = blend[:, None]
            posture = configurations(
                robot,
                np.tile(begin[:7], (self.KNOTS, 1)),
                joints[0] + fraction * (joints[1] - joints[0]),
            )
            targets = com_targets(
                centre[0] + fraction * (centre[1] - centre[0]),
                *feet,
                turns(blend).as_matrix(),
            )
            found = solve_com(robot, targets, posture=posture)
            assert found.converged.all()
            start = times[-1] + self.WAIT
            times += [start, *(start + self.MOVE * np.linspace(0, 1, self.KNOTS)[1:])]
            rows += [rows[-1], *joint_positions(robot, found.q)[1:]]
        self.times, self.rows = np.array(times), np.array(rows)
        self.seconds = round(self.times[-1] + self.WAIT, 2)

    def sample(self, time: float) -> Target:
        """Return joints between knots."""
        at = int(np.searchsorted(self.times, time, side="right"))
        still = np.zeros(self.rows.shape[1])
        if at == len(self.times):
            return Target(self.rows[-1], still, still)
        fraction = (time - self.times[at - 1]) / (self.times[at] - self.times[at - 1])
        step = self.rows[at] - self.rows[at - 1]
        return Target(self.rows[at - 1] + fraction * step, still, still)


@pytest.fixture(scope="module")
def visited(
    mahru: eq.Robot, poses: Array, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path, TrueRobot]:
    """A robot file, and the folder of a run in which its true robot visits poses."""
    folder = tmp_path_factory.mktemp("visits")
    mahru.write_urdf(folder / "mahru.urdf")
    model = eq.load(folder / "mahru.urdf")
    truth = draw_truth(model, PRIOR, 7)
    reference = Visits(model, poses[:12])
    run = eq.simulate(truth.robot, reference, reference.seconds, start=poses[0])
    rng = np.random.default_rng(8)
    scatter = np.repeat([0.5, 0.02], 3)
    noisy = {
        side: wrench + scatter * rng.standard_normal(wrench.shape)
        for side, wrench in run.foot_wrench.items()
    }
    replace(run, foot_wrench=noisy).save(folder / "run")
    return folder / "mahru.urdf", folder / "run", truth


def test_a_log_of_the_simulator_is_identified(visited, poses: Array) -> None:
    """Stretches are found in the MCAP file, and the CoM comes nearer in all axes."""
    urdf, folder, truth = visited
    model = eq.load(urdf)
    found = identify(model, folder, prior=PRIOR)
    assert 10 <= len(found.poses) <= 13
    assert found.improved
    frames = standing_frames(model, poses[14:])
    right = total_com(frames, truth.values)
    before, after = (
        np.sqrt(np.mean((total_com(frames, values) - right) ** 2, axis=0))
        for values in (found.estimate.belief.mean, found.estimate.mean)
    )
    assert np.linalg.norm(after[:2]) < np.linalg.norm(before[:2]) / 10.0
    assert np.linalg.norm(after) < np.linalg.norm(before) / 4.0
    assert found.mass == pytest.approx(truth.robot.mass, rel=0.005)


def test_the_command_writes_the_corrected_robot(visited, tmp_path: Path) -> None:
    """``equipoise identify`` on that folder gives a URDF nearer to the truth."""
    pytest.importorskip("equipoise.show.pages.identified_report")
    urdf, folder, truth = visited
    out = tmp_path / "found"
    assert run_command(["identify", str(urdf), str(folder), "--out", str(out)]) == 0
    again = eq.load(out / "identified.urdf")
    before = abs(eq.load(urdf).mass - truth.robot.mass)
    assert abs(again.mass - truth.robot.mass) < 0.2 * before
