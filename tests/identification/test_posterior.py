"""Robots drawn from the posterior: possible, and spread as the covariance says."""

from __future__ import annotations

import numpy as np
import pytest
from identification.true_robots import (
    NOISE,
    PRIOR,
    measure,
    random_poses,
    random_truth,
)
from scipy.stats import truncnorm

import equipoise as eq
from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.identification.consistency import link_bounds
from equipoise.identification.identified import Identified
from equipoise.identification.identify import identify_poses
from equipoise.identification.posterior import draw_within


def identified(robot: eq.Robot) -> Identified:
    """Return what twelve poses of a robot unlike its model say."""
    rng = np.random.default_rng(31)
    truth = random_truth(robot, rng)
    poses = measure(truth, random_poses(robot, 12, rng), rng)
    return identify_poses(poses, noise=NOISE, prior=PRIOR)


@pytest.fixture(scope="module")
def found(mahru: eq.Robot) -> Identified:
    """Mahru I from twelve poses."""
    return identified(mahru)


def parameters(found: Identified, robots: eq.Variation) -> Array:
    """Return masses and first moments of drawn robots, shape (n, 4 nl)."""
    names = [link.link for link in found.links]
    mass = np.stack([robots.mass[name] for name in names], axis=1)[..., None]
    com = np.stack([robots.com[name] for name in names], axis=1)
    return np.concatenate([mass, mass * com], axis=2).reshape(len(mass), -1)


def test_samples_have_the_posteriors_mean_and_covariance(found: Identified) -> None:
    """So have 4000 robots, to the accuracy of so many; correlations too."""
    count = 4000
    drawn = parameters(found, found.sample(count, seed=1))
    size = drawn.shape[1]
    mean = found.estimate.mean[:size]
    covariance = found.estimate.covariance[:size, :size]
    deviation = np.sqrt(np.diag(covariance))
    off = (drawn.mean(axis=0) - mean) / deviation
    assert np.abs(off).max() < 5.0 / np.sqrt(count)
    correlation = covariance / np.outer(deviation, deviation)
    shown = np.cov(drawn.T) / np.outer(deviation, deviation)
    assert np.abs(shown - correlation).max() < 5.0 * np.sqrt(2.0 / count)
    # the total mass, whose links' errors cancel, is as sharp as its interval says
    total = drawn[:, ::4].sum(axis=1)
    assert total.std() == pytest.approx(found.mass_95 / 1.959964, rel=0.05)


def test_equal_seeds_draw_equal_robots(found: Identified) -> None:
    """Another seed draws others."""
    one, same, other = (found.sample(3, seed=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(parameters(found, one), parameters(found, same))
    assert np.all(parameters(found, one) != parameters(found, other))


@pytest.mark.parametrize("deviation", [0.0, 0.1, 0.5])
def test_inertias_are_those_of_bodies(found: Identified, deviation: float) -> None:
    """Pseudo-inertias are positive definite; without spread they follow the mass."""
    robots = found.sample(200, inertia_std=deviation)
    for link in found.original.description.links:
        if link.name not in robots.inertia:
            continue
        inertia = np.asarray(robots.inertia[link.name])
        old = link.inertial
        assert old is not None
        mass = np.asarray(robots.mass[link.name])
        if deviation == 0.0:
            scaled = (mass / old.mass)[:, None, None] * old.inertia_in_link
            np.testing.assert_allclose(inertia, scaled, rtol=1e-9, atol=1e-15)
        moments = np.linalg.eigvalsh(inertia)
        assert np.all(moments[:, 0] > 0.0)
        assert np.all(moments[:, 2] < moments[:, 0] + moments[:, 1])
        gyration = np.sqrt(np.trace(inertia, axis1=1, axis2=2) / mass)
        spread = np.std(np.log(gyration))
        assert spread <= 1.3 * deviation + 1e-9
        assert spread >= 0.4 * deviation


def test_no_robot_is_impossible(g1_urdf) -> None:
    """Centres of mass stay within their links where the posterior alone leaves them."""
    found = identified(eq.load(g1_urdf))
    robots = found.sample(40)
    drawn = parameters(found, robots)
    outside = 0
    plain = np.random.default_rng(0).multivariate_normal(
        found.estimate.mean, found.estimate.covariance, 40
    )
    by_name = found.original.description.link_by_name
    for at, link in enumerate(found.links):
        inertial = by_name[link.link].inertial
        assert inertial is not None
        planes, limits = link_bounds(found.original, link.link, inertial)
        own = slice(4 * at, 4 * at + 4)
        assert np.all(drawn[:, own] @ planes.T <= limits + 1e-9)
        assert np.all(robots.mass[link.link] >= 0.0999 * link.mass_before)
        outside += int(np.sum(np.any(plain[:, own] @ planes.T > limits, axis=1)))
    assert outside > 20


def test_bounded_normals_are_scipys() -> None:
    """Within an interval beside the mean the moments are those of SciPy."""
    rng = np.random.default_rng(3)
    planes = np.array([[1.0, 0.0], [-1.0, 0.0], [0.6, 0.8]])
    limits = np.array([2.5, -1.0, 9.0])
    drawn = draw_within(planes, limits, np.array([1.5, 0.0]), 20000, rng)
    assert np.all(drawn @ planes.T <= limits + 1e-9)
    wanted = truncnorm(1.0, 2.5)
    assert drawn[:, 0].mean() == pytest.approx(wanted.mean(), abs=0.015)
    assert drawn[:, 0].std() == pytest.approx(wanted.std(), abs=0.015)
    assert drawn[:, 1].mean() == pytest.approx(0.0, abs=0.03)
    assert drawn[:, 1].std() == pytest.approx(1.0, abs=0.03)


def test_a_wedge_off_the_mean() -> None:
    """Two planes that meet: the moments are those of rejection."""
    rng = np.random.default_rng(4)
    planes = np.array([[1.0, -0.2], [-0.5, -1.0]])
    limits = np.array([-0.5, 0.3])
    drawn = draw_within(planes, limits, np.array([-2.0, 1.0]), 20000, rng)
    free = rng.standard_normal((200000, 2))
    free = free[np.all(free @ planes.T <= limits, axis=1)]
    np.testing.assert_allclose(drawn.mean(axis=0), free.mean(axis=0), atol=0.03)
    np.testing.assert_allclose(np.cov(drawn.T), np.cov(free.T), atol=0.03)


def test_a_fleet_of_samples_runs(found: Identified) -> None:
    """Each stands with its own CoM, which differs as the posterior's does."""
    count = 16
    robots = found.sample(count, seed=2)
    robot = found.original
    fleet = eq.Fleet(eq.make_world(robot), count, variation=robots)
    fleet.reset(robot.standing)
    com = np.array(np.from_dlpack(fleet.state.com))
    expected = robots.centres_of_mass(robot, np.tile(robot.standing, (count, 1)))
    np.testing.assert_allclose(com, expected, atol=1e-9)
    deviation = np.sqrt(np.diag(found.summary()["standing_com_covariance_m2"]))
    assert np.all(com.std(axis=0) < 2.0 * deviation)
    assert np.all(com.std(axis=0) > 0.5 * deviation)
    held = np.tile(eq.joint_positions(robot, robot.standing), (count, 1))
    still = eq.Command(held, *np.zeros((2, *held.shape)))
    results = fleet.run(lambda state, command: still, 0.02)
    assert not len(results.stopped)
    assert np.isfinite(np.from_dlpack(fleet.state.q)).all()


def test_impossible_numbers_are_refused(found: Identified) -> None:
    """No robots, or a negative deviation."""
    with pytest.raises(EquipoiseError, match="0 robots"):
        found.sample(0)
    with pytest.raises(EquipoiseError, match="inertia_std is -1"):
        found.sample(1, inertia_std=-1.0)
