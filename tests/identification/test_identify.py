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
from equipoise.errors import EquipoiseError
from equipoise.identification.consistency import consistent
from equipoise.identification.estimate import estimate
from equipoise.identification.identify import identify_poses
from equipoise.identification.left_out import errors_of
from equipoise.identification.noise import SensorNoise, covariances
from equipoise.identification.prior import Prior, default_prior, prior_belief
from equipoise.identification.statics import (
    MeasuredPoses,
    equations,
    standing_frames,
    total_com,
)


@pytest.fixture(scope="module")
def poses(mahru: eq.Robot) -> np.ndarray:
    """Poses to measure and poses to predict."""
    return random_poses(mahru, 240, np.random.default_rng(5))


@pytest.fixture(scope="module")
def found(mahru, poses):
    """Truth, measurement, and what was identified."""
    rng = np.random.default_rng(6)
    truth = random_truth(mahru, rng)
    measured = measure(truth, poses[:60], rng)
    return truth, measured, identify_poses(measured, noise=NOISE, prior=PRIOR)


def test_with_a_vague_prior_it_is_weighted_least_squares(mahru, poses) -> None:
    """With a prior that knows nothing, residuals are those of NumPy's solver."""
    rng = np.random.default_rng(1)
    truth = random_truth(mahru, rng, offsets=False)
    measured = measure(truth, poses[:100], rng)
    frames = standing_frames(mahru, measured.q)
    system, spread = equations(frames, measured), covariances(frames, measured, NOISE)
    vague = Prior(1e3, 1e4, 1e6, 1e6, 1e6)
    belief = prior_belief(mahru, vague)
    ours = estimate(system, spread, belief)
    root = np.linalg.cholesky(spread)
    rows = np.linalg.solve(root, system.matrix).reshape(600, -1)
    wanted = np.linalg.solve(root, system.right[..., None]).reshape(600)
    design, wanted = rows @ belief.root, wanted - rows @ belief.mean
    left = np.linalg.norm(design @ ours.moved - wanted)
    # all directions, and only those that the data know better than the prior
    bounds = [1e-14, 1.0 / float(np.linalg.norm(design, 2))]
    fits = [np.linalg.lstsq(design, wanted, rcond=cut)[0] for cut in bounds]
    least, most = (np.linalg.norm(design @ away - wanted) for away in fits)
    assert least <= left <= most
    assert most < 1.005 * least


def test_no_data_leave_the_prior(mahru, poses) -> None:
    """Measurements with unbounded noise change neither values nor deviations."""
    rng = np.random.default_rng(2)
    measured = measure(random_truth(mahru, rng), poses[:5], rng)
    frames = standing_frames(mahru, measured.q)
    belief = prior_belief(mahru, PRIOR)
    spread = 1e12 * covariances(frames, measured, NOISE)
    left = estimate(equations(frames, measured), spread, belief)
    np.testing.assert_allclose(left.mean, belief.mean, atol=1e-3)
    before = belief.root @ belief.root.T
    np.testing.assert_allclose(left.covariance, before, atol=1e-5 * before.max())


def test_the_com_is_found(mahru, poses, found) -> None:
    """In new poses the total CoM is known ten times better than before."""
    truth, _, result = found
    frames = standing_frames(mahru, poses[60:])
    true = total_com(frames, truth.values)
    rows = [link.com for link in result.links]
    assert np.isfinite(rows).all()
    errors = [
        np.sqrt(np.mean(np.sum((total_com(frames, values) - true) ** 2, axis=1)))
        for values in (result.estimate.belief.mean, result.estimate.mean)
    ]
    assert errors[1] < 2e-3
    assert errors[1] < errors[0] / 4.0
    assert result.improved
    assert result.held_out.reduction.fraction > 0.5
    assert result.held_out.over_offsets.fraction > 0.3
    assert result.held_out.chance_of_offsets < 0.01


def test_the_corrected_robot_is_what_was_found(mahru, poses, found, tmp_path) -> None:
    """The robot, written and read again, has the CoM that the values predict."""
    _, _, result = found
    frames = standing_frames(mahru, poses[:5])
    predicted = total_com(frames, result.estimate.mean)
    result.robot.write_urdf(tmp_path / "identified.urdf")
    again = eq.load(tmp_path / "identified.urdf")
    assert again.mass == pytest.approx(result.mass)
    for row, q in enumerate(poses[:5]):
        shift = eq.com(result.robot, q) - eq.com(mahru, q)
        known = total_com(frames, result.estimate.belief.mean)[row]
        np.testing.assert_allclose(shift, predicted[row] - known, atol=1e-9)


def test_intervals_cover_the_truth(mahru, poses) -> None:
    """95 % intervals of links' CoMs and masses hold the truth in 93 to 97 of 100."""
    rng = np.random.default_rng(8)
    hits = []
    for _ in range(30):
        truth = random_truth(mahru, rng)
        rows = rng.choice(len(poses), 30, replace=False)
        measured = measure(truth, poses[rows], rng)
        frames = standing_frames(mahru, measured.q)
        spread = covariances(frames, measured, NOISE)
        belief = prior_belief(mahru, PRIOR)
        got = estimate(equations(frames, measured), spread, belief)
        deviation = np.sqrt(np.diag(got.covariance))
        hits.append(np.abs(got.mean - truth.values) < 1.959964 * deviation)
    assert 0.93 < np.mean(hits) < 0.97


def test_offsets_are_found(found) -> None:
    """True offsets of the sensors lie within some of their intervals' widths."""
    truth, _, result = found
    for at, side in enumerate(("left", "right")):
        first = len(truth.values) - 12 + 6 * at
        true = truth.values[first : first + 6]
        off = np.abs(result.offsets[side] - true)
        assert np.all(off < 2.0 * result.offsets_95[side] + 1e-9)


def test_an_outlier_does_little_harm(mahru, poses) -> None:
    """A pose in which somebody leans on the robot counts less."""
    rng = np.random.default_rng(9)
    truth = random_truth(mahru, rng)
    measured = measure(truth, poses[:40], rng)
    wrenches = {side: np.array(w) for side, w in measured.wrenches.items()}
    wrenches["left"][7, :3] += [30.0, 10.0, 80.0]
    spoilt = replace(measured, wrenches=wrenches)
    frames = standing_frames(mahru, poses[60:])
    true = total_com(frames, truth.values)

    def error(poses: MeasuredPoses) -> float:
        got = identify_poses(poses, noise=NOISE, prior=PRIOR).estimate
        return float(np.abs(total_com(frames, got.mean) - true).max())

    assert error(spoilt) < 3.0 * error(measured) + 1e-3
    result = identify_poses(spoilt, noise=NOISE, prior=PRIOR)
    assert len(result.poses) == 39
    assert any("pose 7" in notice for notice in result.notices)
    wrenches["left"][7, 2] -= 80.0
    wrenches["left"][7, 3:] += [20.0, 20.0, 0.0]
    result = identify_poses(
        replace(measured, wrenches=wrenches), noise=NOISE, prior=PRIOR
    )
    assert result.estimate.weights[7] < 0.5
    assert any("do not fit" in notice for notice in result.notices)


def test_noise_that_is_larger_than_assumed_widens_intervals(mahru, poses) -> None:
    """Sensors five times worse than assumed are recognised."""
    rng = np.random.default_rng(10)
    measured = measure(random_truth(mahru, rng), poses[:60], rng, samples=1)
    claimed = SensorNoise(NOISE.force / 5, NOISE.torque / 5, 1e-7)
    result = identify_poses(measured, noise=claimed, prior=PRIOR)
    said = ("worse than the sensors", "beyond the sensors' noise")
    assert any(word in notice for notice in result.notices for word in said)
    honest = identify_poses(measured, noise=replace(NOISE, joint=1e-7), prior=PRIOR)
    assert 0.5 < result.mass_95 / honest.mass_95 < 2.0


def test_what_is_not_identifiable_is_named(found) -> None:
    """Feet never move against the soles; rank and condition are those of the data."""
    _, _, result = found
    poses_identify = result.identifiability
    assert poses_identify.rank < poses_identify.unknowns
    assert poses_identify.better_than_prior > 12
    assert np.isfinite(poses_identify.condition)
    assert len(poses_identify.combinations) == poses_identify.rank
    seen = {link.link for link in result.links if link.seen}
    assert seen
    assert not seen & set(poses_identify.at_prior)


def test_alike_and_few_poses_are_refused(mahru, poses) -> None:
    """Too few poses and copies of one pose say nothing."""
    rng = np.random.default_rng(11)
    truth = random_truth(mahru, rng)
    with pytest.raises(EquipoiseError, match="2 poses are too few"):
        identify_poses(measure(truth, poses[:2], rng))
    same = np.tile(poses[:1], (20, 1))
    with pytest.raises(EquipoiseError, match="all 20 poses are alike"):
        identify_poses(measure(truth, same, rng))


def test_tilted_feet_are_refused(mahru, poses) -> None:
    """Soles that are not both flat are not a standing pose."""
    rng = np.random.default_rng(12)
    truth = random_truth(mahru, rng)
    q = np.array(poses[:5])
    ankle = mahru.model.joints[mahru.joint_id(mahru.legs["left"].joints[-1])].idx_q
    q[3, ankle] += 0.3
    with pytest.raises(EquipoiseError, match=r"in pose 3 the soles are tilted by 17"):
        identify_poses(measure(truth, q, rng))


def test_a_true_model_is_not_called_improved(mahru, poses) -> None:
    """Where the model is right already, held-out poses confirm no improvement."""
    rng = np.random.default_rng(13)
    belief = prior_belief(mahru, default_prior(mahru))
    truth = random_truth(mahru, rng)._replace(values=belief.mean)
    result = identify_poses(measure(truth, poses[:20], rng), noise=NOISE)
    assert not result.improved
    assert "not confirmed" in result.sentence


def test_errors_of_the_pressure_are_those_of_the_com(mahru, poses) -> None:
    """With exact data the error of the CoP is that of the projected CoM."""
    rng = np.random.default_rng(14)
    truth = random_truth(mahru, rng)
    measured = measure(truth, poses[:10], rng, noisy=False)
    frames = standing_frames(mahru, measured.q)
    np.testing.assert_allclose(
        errors_of(measured, frames, truth.values, offsets=True).pressure,
        0.0,
        atol=1e-12,
    )
    other = np.array(truth.values)
    other[:-12] = prior_belief(mahru, PRIOR).mean[:-12]
    expected = (total_com(frames, other) - total_com(frames, truth.values))[:, :2]
    np.testing.assert_allclose(
        errors_of(measured, frames, other, offsets=True).pressure,
        expected,
        atol=1e-12,
    )


def test_centres_stay_within_their_links(g1_urdf) -> None:
    """A measurement far off leaves every CoM within the hull of its link."""
    robot = eq.load(g1_urdf)
    rng = np.random.default_rng(15)
    q = np.tile(robot.standing, (4, 1))
    belief = prior_belief(robot, replace(default_prior(robot), com_std=0.3))
    far_off = belief.mean + belief.root @ rng.standard_normal(len(belief.mean))
    truth = random_truth(robot, rng)._replace(values=far_off)
    measured = measure(truth, q, rng)
    frames = standing_frames(robot, q)
    spread = covariances(frames, measured, NOISE)
    got = estimate(equations(frames, measured), spread, belief)
    possible = consistent(robot, got)
    assert possible.at_bounds
    masses = possible.mean[:-12].reshape(-1, 4)[:, 0]
    assert np.all(masses >= 0.0999 * belief.mean[:-12].reshape(-1, 4)[:, 0])
    again = consistent(robot, replace(got, mean=possible.mean))
    assert again.at_bounds == ()


def test_summary_of_many_poses(mahru, poses) -> None:
    """The summary is plain data and has every link."""
    rng = np.random.default_rng(16)
    q = np.concatenate([poses, poses])[:300]
    measured = measure(random_truth(mahru, rng), q, rng)
    result = identify_poses(measured, noise=NOISE, prior=PRIOR)
    plain = result.summary()
    assert plain["poses"] == 300
    assert set(plain["links"]) == {link.link for link in result.links}


def test_a_robot_heavier_than_its_prior_is_reported(mahru, poses) -> None:
    """Fifteen per cent more than the model, with a small deviation of masses."""
    rng = np.random.default_rng(16)
    truth = random_truth(mahru, rng)
    heavy = np.array(truth.values)
    heavy[:-12] *= 1.15 * mahru.mass / heavy[:-12:4].sum()
    measured = measure(truth._replace(values=heavy), poses[:30], rng)
    notices = identify_poses(measured, noise=NOISE, prior=PRIOR).notices
    assert any("% more than its model" in notice for notice in notices)
    wide = replace(PRIOR, mass_std_fraction=0.3)
    notices = identify_poses(measured, noise=NOISE, prior=wide).notices
    assert not any("% more than its model" in notice for notice in notices)
