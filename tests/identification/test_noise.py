from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from identification.true_robots import (
    NOISE,
    PRIOR,
    measure,
    random_poses,
    random_truth,
)

import equipoise as eq
from equipoise.arrays import Array
from equipoise.identification.evidence import USUAL_LEVEL
from equipoise.identification.identify import identify_poses
from equipoise.identification.pose_errors import Level
from equipoise.identification.prior import prior_belief
from equipoise.identification.statics import FEET, standing_frames, total_com
from equipoise.robot.description import STANDARD_GRAVITY


@pytest.fixture(scope="module")
def poses(mahru: eq.Robot) -> Array:
    """Poses to measure and poses to predict."""
    return random_poses(mahru, 90, np.random.default_rng(21))


def com_error(found: eq.Identified, values: Array, q: Array) -> Array:
    """Return the RMS error of the CoM in poses [m], shape (3,)."""
    frames = standing_frames(found.original, q)
    off = total_com(frames, found.estimate.mean) - total_com(frames, values)
    return np.sqrt(np.mean(off**2, axis=0))


def test_scatter_is_that_of_tilted_gravity(mahru: eq.Robot, poses: Array) -> None:
    """Balances with gravity tilted at random scatter so."""
    belief = prior_belief(mahru, PRIOR)
    frames = standing_frames(mahru, poses[:1])
    expected = Level(1e-3, 2.0).covariances(frames, belief.mean)[0]
    weight, centre = mahru.mass * STANDARD_GRAVITY, total_com(frames, belief.mean)[0]
    total = np.zeros((6, 6))
    for axis in np.eye(3)[:2]:
        pushes = [(centre, 1e-3 * weight * axis)]
        for side in ("left", "right"):
            turned = frames.sole_in_level[side][0, :3, :3] @ axis
            pushes.append((frames.sole_in_level[side][0, :3, 3], 2.0 * turned))
        for place, force in pushes:
            wrench = np.concatenate([force, np.cross(place, force)])
            total += np.outer(wrench, wrench)
    left, right = (frames.sole_in_level[side][0, :3, 3] for side in FEET)
    apart = left - right
    for side in ("left", "right"):
        twist = np.linalg.norm(apart) * frames.sole_in_level[side][0, :3, 2]
        total[3:, 3:] += np.outer(twist, twist)
    np.testing.assert_allclose(expected, total, atol=1e-9)


def test_soles_that_give_way_do_not_move_the_com(mahru: eq.Robot, poses: Array) -> None:
    """Soles tilt with the CoM over them; taken as level, they put it too high."""
    rng = np.random.default_rng(22)
    truth = random_truth(mahru, rng)
    q, new = poses[:40], poses[40:]
    centre = total_com(standing_frames(mahru, q), truth.values)[:, :2]
    tilt = -0.003 * (centre - centre.mean(axis=0)) / centre.std(axis=0)
    measured = measure(truth, q, rng, tilt=tilt)
    found = identify_poses(measured, noise=NOISE, prior=PRIOR)
    taken = identify_poses(measured, noise=replace(NOISE, level=0.0), prior=PRIOR)
    assert found.level.lateral_force == 0.0
    assert 0.001 <= found.level.tilt <= 0.008
    assert com_error(found, truth.values, new)[2] < 5e-3
    assert com_error(taken, truth.values, new)[2] > 20e-3
    # and poses that were left out do not say so
    right, wrong = (own.held_out.with_offsets for own in (found, taken))
    assert right.pressure_rms < 0.5 * wrong.pressure_rms


def test_lateral_sensor_errors_are_not_a_tilt(mahru: eq.Robot, poses: Array) -> None:
    """Lateral errors of 10 N are identified, and hardly move the CoM.

    Taken for a tilt, 10 N of 660 N would move it by 12 mm in each pose.
    """
    rng = np.random.default_rng(23)
    truth = random_truth(mahru, rng)
    q, new = poses[:40], poses[40:]
    wrong = 10.0 * rng.standard_normal((len(q), 2))
    right, found = (
        identify_poses(
            measure(truth, q, np.random.default_rng(1), lateral=errors),
            noise=NOISE,
            prior=PRIOR,
        )
        for errors in (None, wrong)
    )
    assert found.level.tilt == USUAL_LEVEL
    assert 5.0 < found.level.lateral_force < 10.0
    assert any("beyond what a tilt" in note for note in found.notices)
    errors = [com_error(each, truth.values, new)[:2] for each in (right, found)]
    assert np.all(errors[1] < errors[0] + 1.5e-3)


def test_level_floors_cost_nothing(mahru: eq.Robot, poses: Array) -> None:
    """Where soles are level, taking them as they might be is as good."""
    rng = np.random.default_rng(24)
    truth = random_truth(mahru, rng)
    measured = measure(truth, poses[:40], rng)
    errors = [
        np.linalg.norm(
            com_error(
                identify_poses(measured, noise=noise, prior=PRIOR),
                truth.values,
                poses[40:],
            )
        )
        for noise in (NOISE, replace(NOISE, level=0.0))
    ]
    assert errors[0] < 1.5 * errors[1] + 2e-4


def test_a_level_that_is_known_is_taken(mahru: eq.Robot, poses: Array) -> None:
    """What the noise says is not looked for."""
    rng = np.random.default_rng(25)
    measured = measure(random_truth(mahru, rng), poses[:12], rng)
    found = identify_poses(measured, noise=replace(NOISE, level=5e-4), prior=PRIOR)
    assert found.level.tilt == 5e-4


def test_a_tilt_and_wrong_sensors_are_told_apart(mahru: eq.Robot, poses: Array) -> None:
    """Soles tilted by 4 mrad, and a lateral error of 3 N on one foot besides."""
    rng = np.random.default_rng(26)
    truth, q = random_truth(mahru, rng), poses[:40]
    tilt = 4e-3 * rng.standard_normal((len(q), 2))
    wrong = 3.0 * rng.standard_normal((len(q), 2))
    measured = measure(truth, q, rng, tilt=tilt, lateral=wrong)
    found = identify_poses(measured, noise=NOISE, prior=PRIOR)
    assert 2e-3 <= found.level.tilt <= 8e-3
    assert 1.0 < found.level.lateral_force < 4.0
    assert max(found.estimate.noise_scale) < 1.5


def test_lateral_errors_do_not_hide_better_masses(
    mahru: eq.Robot, poses: Array
) -> None:
    """Poses that were left out confirm better masses beside 3 N of wrong force."""
    rng = np.random.default_rng(27)
    truth, q = random_truth(mahru, rng), poses[:40]
    wrong = 3.0 * rng.standard_normal((len(q), 2))
    found = identify_poses(
        measure(truth, q, rng, lateral=wrong), noise=NOISE, prior=PRIOR
    )
    assert found.improved
