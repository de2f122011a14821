"""What is judged is the file, in whole stretches, beside its rivals."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from identification.true_robots import (
    NOISE,
    PRIOR,
    TrueRobot,
    measure,
    random_poses,
    random_truth,
)

import equipoise as eq
from equipoise.arrays import Array
from equipoise.identification.estimate import estimate
from equipoise.identification.identify import identify_poses
from equipoise.identification.left_out import errors_of, left_out_means, rms
from equipoise.identification.measuring.log_poses import measured_poses
from equipoise.identification.noise import covariances
from equipoise.identification.pose_errors import turned
from equipoise.identification.prior import default_prior, prior_belief
from equipoise.identification.statics import MeasuredPoses, equations, frames_of
from equipoise.log.open_run import read_recording


@pytest.fixture(scope="module")
def poses(mahru: eq.Robot) -> Array:
    """Poses to measure."""
    return random_poses(mahru, 16, np.random.default_rng(31))


def as_modelled(robot: eq.Robot) -> TrueRobot:
    """Return a robot that is as its model says, with sensors that have no offsets."""
    return TrueRobot(robot, prior_belief(robot, default_prior(robot)).mean)


def shared_errors(
    measured: MeasuredPoses, rows: int, rng: np.random.Generator
) -> MeasuredPoses:
    """Return each pose as so many rows of a stretch that share an error of the CoP."""
    count = len(measured)
    off = 2.0 * rng.standard_normal((count, 2))
    stretch = np.repeat(np.arange(count), rows)
    wrenches = {side: np.array(own)[stretch] for side, own in measured.wrenches.items()}
    wrenches["left"][:, 3:5] += off[stretch]
    scatter = 0.002 * rng.standard_normal(wrenches["left"].shape)
    wrenches["left"] += scatter
    return replace(
        measured,
        q=measured.q[stretch],
        wrenches=wrenches,
        samples=measured.samples[stretch],
        start_s=measured.start_s[stretch],
        stretch=stretch,
    )


def test_leaving_out_is_fitting_the_others(mahru: eq.Robot, poses: Array) -> None:
    """The shortcut by blocks of an inverse gives what a new fit gives."""
    rng = np.random.default_rng(32)
    measured = measure(random_truth(mahru, rng), poses, rng)
    frames = frames_of(measured)
    system, spread = equations(frames, measured), covariances(frames, measured, NOISE)
    belief = prior_belief(mahru, PRIOR)
    part = np.array([2, 3, 9])
    others = np.setdiff1d(np.arange(len(measured)), part)
    (left,) = left_out_means(system, spread, belief, [part])
    (right,) = left_out_means(
        system.take(others), spread[others], belief, [np.arange(0)]
    )
    np.testing.assert_allclose(left, right, atol=1e-9)
    fitted = estimate(system.take(others), spread[others], belief)
    if (fitted.weights == 1.0).all() and max(fitted.noise_scale) == 1.0:
        np.testing.assert_allclose(left, fitted.mean, atol=1e-6)


def test_turned_equations_keep_all_there_is() -> None:
    """Rows of a stretch become their sum and differences, by an orthogonal matrix."""
    found = turned(np.array([0, 0, 0, 1, 2, 2]))
    np.testing.assert_allclose(found.turn @ found.turn.T, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(found.turn[0, :3], 1.0 / np.sqrt(3.0))
    assert found.shared.tolist() == [3.0, 0.0, 0.0, 1.0, 2.0, 0.0]


def test_rows_of_a_stretch_are_not_independent(mahru: eq.Robot, poses: Array) -> None:
    """Many rows with the errors of few stretches say no more than these."""
    rng = np.random.default_rng(33)
    measured = measure(as_modelled(mahru), poses[:8], rng)
    few = identify_poses(shared_errors(measured, 1, np.random.default_rng(1)))
    many = identify_poses(shared_errors(measured, 6, np.random.default_rng(1)))
    assert not few.improved
    assert not many.improved
    assert many.held_out.stretches == few.held_out.stretches == 8
    variance = [np.diag(own.estimate.covariance)[1:4].sum() for own in (few, many)]
    assert 0.5 < variance[1] / variance[0] < 2.0


def test_a_torso_is_found_and_confirmed(mahru: eq.Robot, poses: Array) -> None:
    """Its CoM is displaced such that the robot's moves by 8 mm; sensors were zeroed."""
    rng = np.random.default_rng(34)
    truth = as_modelled(mahru)
    values = np.array(truth.values)
    torso = 4 * int(np.argmax(values[:-12:4]))
    values[torso + 1 : torso + 3] += 8e-3 * mahru.mass * np.array([0.8, 0.6])
    measured = measure(truth._replace(values=values), poses, rng)
    result = identify_poses(measured, noise=NOISE, zeroed=True)
    assert result.improved
    assert result.held_out.com_confirmed
    assert not result.held_out.mass_confirmed
    held = result.held_out
    assert held.file.pressure_rms < 0.3 * held.original.pressure_rms
    assert "its centre of mass" in result.sentence


def test_a_heavier_robot_is_confirmed_by_its_weight(
    mahru: eq.Robot, poses: Array
) -> None:
    """Three per cent more of everything moves no CoM, and is found."""
    rng = np.random.default_rng(35)
    truth = as_modelled(mahru)
    values = np.array(truth.values)
    values[:-12] *= 1.03
    result = identify_poses(
        measure(truth._replace(values=values), poses, rng), noise=NOISE
    )
    assert result.held_out.mass_confirmed
    assert result.improved
    assert result.mass == pytest.approx(1.03 * mahru.mass, rel=3e-3)


def test_a_robot_that_tips_is_named_and_left_out(mahru: eq.Robot, poses: Array) -> None:
    """A quarter of the weight is missing in one of five poses."""
    rng = np.random.default_rng(36)
    measured = measure(as_modelled(mahru), poses[:5], rng)
    wrenches = {side: np.array(own) for side, own in measured.wrenches.items()}
    for own in wrenches.values():
        own[3] *= 0.75
    result = identify_poses(replace(measured, wrenches=wrenches), noise=NOISE)
    assert len(result.poses) == 4
    assert any("pose 3" in note and "25 % less" in note for note in result.notices)


def test_offsets_are_no_centre_of_mass(mahru: eq.Robot, poses: Array) -> None:
    """Sensors with offsets and an exact model confirm nothing."""
    rng = np.random.default_rng(37)
    truth = as_modelled(mahru)
    values = np.array(truth.values)
    values[-12:] = np.tile([30.0, -20.0, 0.5, 1.0, -1.5, 0.5], 2)
    result = identify_poses(
        measure(truth._replace(values=values), poses, rng), noise=NOISE
    )
    assert not result.held_out.com_confirmed
    assert not result.improved


@pytest.fixture(scope="module")
def real_data() -> Path:
    """Folder of real logs."""
    folder = os.environ.get("EQUIPOISE_REAL_DATA")
    if not folder:
        pytest.skip("EQUIPOISE_REAL_DATA is not set: no real log to read")
    return Path(folder)


def test_halves_of_a_real_log_predict_each_other(real_data: Path) -> None:
    """The file of either half, without offsets, is far better than CAD in the other."""
    robot = eq.load(real_data / "icub/iCubGenova04.urdf")
    log = read_recording(real_data / "icub/walking_with_stops.csv")
    extracted = measured_poses(robot, log)
    count = len(extracted.poses)
    halves = np.array_split(np.arange(count), 2)
    for train, test in (halves, halves[::-1]):
        found = identify_poses(extracted.poses.take(train), noise=extracted.noise)
        new = extracted.poses.take(test)
        cad, file = (
            rms(errors_of(new, frames_of(new), mean).pressure)
            for mean in (found.estimate.belief.mean, found.parameters)
        )
        assert file < 0.5 * cad
        assert file < 1.1e-3


def test_a_real_sweep_is_not_called_confirmed(real_data: Path) -> None:
    """Its sensors were not zeroed, and between 34 and 39 s the robot tips."""
    folder = real_data / "icub_torso_sweep"
    robot = eq.load(folder / "iCubGenova01.urdf")
    found = eq.identify(robot, folder / "torso_sweep.csv", units={"angle": "deg"})
    assert not found.improved
    assert any("left out" in note and "3" in note for note in found.notices)
    assert any("not zeroed" in note for note in found.notices)
    held = found.held_out
    assert held.file.pressure_rms <= held.original.pressure_rms
