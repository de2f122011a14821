"""Errors of poses, and averages over their causes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from identification.true_robots import NOISE, measure, random_poses, random_truth

import equipoise as eq
from equipoise.arrays import Array
from equipoise.identification.estimate import estimate
from equipoise.identification.evidence import averaged, most_probable
from equipoise.identification.hypotheses import NO_OFFSETS, USUAL, hypothesis
from equipoise.identification.noise import covariances
from equipoise.identification.pose_errors import Level, Levers, tilt_lever, turned
from equipoise.identification.prior import default_prior
from equipoise.identification.statics import equations, frames_of, standing_frames


@pytest.fixture(scope="module")
def poses(mahru: eq.Robot) -> Array:
    """Poses to measure."""
    return random_poses(mahru, 12, np.random.default_rng(61))


def test_shared_tilts_differ_in_effect(mahru: eq.Robot, poses: Array) -> None:
    """One tilt for a stretch adds another wrench where the CoM is elsewhere.

    Covariances of the turned equations are those of drawn tilts.
    """
    frames = standing_frames(mahru, poses)
    belief = hypothesis(mahru, default_prior(mahru), 2).belief
    stretches = turned(np.repeat(np.arange(3), 4))
    lever = tilt_lever(frames, belief.mean)
    levers = Levers.of(frames, belief.mean, stretches)
    rng = np.random.default_rng(0)
    drawn = 1e-3 * rng.standard_normal((20_000, 3, 2))[:, np.repeat(np.arange(3), 4)]
    wrench = np.einsum("nij,dnj->dni", lever, drawn)
    seen = np.einsum("kn,dni->dki", stretches.turn, wrench)
    spread = np.einsum("dki,dkj->kij", seen, seen) / len(drawn)
    shared = Level(1e-3, 0.0, own=0.0).added(levers)
    scale = np.abs(spread).max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(shared / scale, spread / scale, atol=0.05)
    differences = stretches.shared == 0.0
    assert shared[differences, 4, 4].min() > 0.0
    own = Level(1e-3, 0.0, own=1.0).added(levers)
    alone = 1e-6 * np.einsum("nij,nkj->nik", lever, lever)
    np.testing.assert_allclose(own[0], alone[:4].mean(axis=0))


def test_averages_hold_what_causes_disagree_about(
    mahru: eq.Robot, poses: Array
) -> None:
    """Values lie among those of the alternatives, and uncertainty contains these."""
    truth = random_truth(mahru, np.random.default_rng(62))
    measured = measure(truth, poses, np.random.default_rng(63))
    frames, stretches = frames_of(measured), turned(measured.stretch)
    system, plain = equations(frames, measured), covariances(frames, measured, NOISE)
    prior = replace(default_prior(mahru), joint_zero_std=0.0)
    beliefs = [
        hypothesis(mahru, prior, 2, kind, strength)
        for kind in (USUAL, NO_OFFSETS)
        for strength in (0.3, 1.0, 3.0)
    ]
    chosen = most_probable(frames, system, plain, NOISE, beliefs, stretches)
    assert len(chosen.alternatives) > 1
    probabilities = [own.probability for own in chosen.alternatives]
    assert sum(probabilities) == pytest.approx(1.0)
    assert max(probabilities) < 20.0 * min(probabilities)
    found = averaged(system, chosen)
    best = estimate(system, chosen.covariance, chosen.hypothesis.belief)
    means = [
        estimate(system, own.covariance, own.belief).mean for own in chosen.alternatives
    ]
    assert np.all(found.mean >= np.min(means, axis=0) - 1e-9)
    assert np.all(found.mean <= np.max(means, axis=0) + 1e-9)
    away = np.einsum("k,ki->i", probabilities, (np.array(means) - found.mean) ** 2)
    assert np.all(np.diag(found.covariance) > away)
    np.testing.assert_array_equal(found.weights, best.weights)
