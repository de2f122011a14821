from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from identification.true_robots import measure, random_truth

import equipoise as eq
from equipoise.identification.noise import SensorNoise
from equipoise.identification.posing.candidates import pose_candidates
from equipoise.identification.posing.design import (
    choose_poses,
    information_rows,
    joint_travel,
    predicted_poses,
    reduced,
    short_tour,
)
from equipoise.identification.posing.optimal_choice import (
    FLOOR_FRACTION,
    Choice,
    Criterion,
    choose,
    variances_after,
)
from equipoise.identification.prior import com_functionals, default_prior, prior_belief
from equipoise.identification.statics import standing_frames

CRITERIA: tuple[Criterion, ...] = ("com", "com-mean", "all")


def problem(count: int, size: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return measurements, functionals and information at random."""
    rng = np.random.default_rng(4)
    root = rng.standard_normal((size, size))
    return (
        rng.standard_normal((count, 6, size)),
        rng.standard_normal((3, size)),
        np.eye(size) + 0.1 * root @ root.T,
    )


def direct(rows, few, known, chosen, criterion: Criterion) -> float:
    """Return a criterion's value from its definition."""
    inverse = np.linalg.inv(known + sum(rows[at].T @ rows[at] for at in chosen))
    if criterion == "all":
        return float(np.log(np.linalg.det(inverse)))
    covariance = few @ inverse @ few.T
    if criterion == "com-mean":
        return float(np.trace(covariance))
    floor = FLOOR_FRACTION**2 * np.sum(few**2) * np.eye(len(few))
    return float(np.log(np.linalg.det(covariance + floor)))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_gains_are_what_the_determinants_say(criterion: Criterion) -> None:
    """Value and gains agree with direct computation while some come and go."""
    rows, few, known = problem(8)
    choice = Choice(rows, few, known, criterion)
    for change, at in (("add", 2), ("add", 5), ("add", 7), ("remove", 5)):
        getattr(choice, change)(at)
        before = direct(rows, few, known, choice.chosen, criterion)
        assert choice.value == pytest.approx(before, abs=1e-10)
        expected = [
            before - direct(rows, few, known, [*choice.chosen, at], criterion)
            for at in range(8)
        ]
        np.testing.assert_allclose(choice.gains(), expected, atol=1e-10)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_choice_is_the_best_of_all(criterion: Criterion) -> None:
    """On a problem small enough to try all, the choice is best or next to it."""
    rows, few, known = problem(9)
    rows *= np.linspace(0.2, 1.0, 9)[:, None, None]
    chosen = choose(rows, few, known, 3, criterion)
    assert len(set(chosen)) == 3
    values = sorted(
        direct(rows, few, known, some, criterion) for some in combinations(range(9), 3)
    )
    assert direct(rows, few, known, chosen, criterion) <= values[1] + 1e-9


def test_variances_are_those_of_the_inverse() -> None:
    """After each measurement of each order."""
    rows, few, known = problem(6)
    orders = np.array([[0, 3, 5], [4, 1, 2]])
    found = variances_after(rows, few, known, orders)
    for row, order in zip(found, orders, strict=True):
        for count, variance in enumerate(row, start=1):
            expected = direct(rows, few, known, order[:count], "com-mean")
            assert variance == pytest.approx(expected)


@pytest.fixture(scope="module")
def candidates(mahru: eq.Robot) -> np.ndarray:
    """Poses to choose from."""
    return pose_candidates(mahru, 400)


def test_com_follows_the_unknowns(mahru: eq.Robot, candidates: np.ndarray) -> None:
    """Functionals are the derivative of the total CoM, by finite differences."""
    from equipoise.identification.statics import total_com

    belief = prior_belief(mahru, default_prior(mahru))
    frames = standing_frames(mahru, candidates[:3])
    found = com_functionals(frames, belief)
    step = 1e-5 * np.random.default_rng(0).standard_normal(len(belief.mean))
    ahead, behind = (
        total_com(frames, belief.mean + sign * belief.root @ step) for sign in (1, -1)
    )
    np.testing.assert_allclose(found @ step, 0.5 * (ahead - behind), atol=1e-12)


def test_fewer_coordinates_say_the_same(
    mahru: eq.Robot, candidates: np.ndarray
) -> None:
    """The variance of the CoM is that of the whole problem."""
    belief = prior_belief(mahru, default_prior(mahru))
    poses = predicted_poses(mahru, candidates[:40], belief, 100)
    rows = information_rows(poses, SensorNoise(), belief)
    wanted = com_functionals(standing_frames(mahru, candidates[40:80]), belief)
    inverse = np.linalg.inv(np.eye(rows.shape[2]) + np.einsum("nai,naj", rows, rows))
    expected = np.einsum("mci,ij,mcj->", wanted, inverse, wanted) / len(wanted)
    few_rows, few = reduced(rows, wanted)
    assert few_rows.shape[2] < rows.shape[2]
    order = np.arange(40)[None]
    found = variances_after(few_rows, few, np.eye(few_rows.shape[2]), order)[0, -1]
    assert found == pytest.approx(expected, rel=1e-6)


def test_chosen_poses_replace_twice_as_many(
    mahru: eq.Robot, candidates: np.ndarray
) -> None:
    """Random poses need at least twice the number, and more make it better."""
    design = choose_poses(mahru, candidates, 15)
    count = design.random_count or len(design.random_deviation) + 1
    assert count >= 2 * len(design.q)
    assert np.all(np.diff(design.deviation) < 0.0)
    assert design.deviation[0] < design.deviation_before
    assert len(set(design.rows.tolist())) == 15
    np.testing.assert_array_equal(design.q, candidates[design.rows])
    same = choose_poses(mahru, candidates, 15)
    np.testing.assert_array_equal(design.rows, same.rows)


def test_what_was_measured_counts(mahru: eq.Robot, candidates: np.ndarray) -> None:
    """The next poses begin where measured ones end."""
    rng = np.random.default_rng(0)
    first = choose_poses(mahru, candidates, 8)
    measured = measure(random_truth(mahru, rng), first.q, rng)
    design = choose_poses(mahru, candidates, 4, measured=measured)
    assert design.deviation_before == pytest.approx(first.deviation[-1], rel=0.05)
    assert design.deviation[-1] < first.deviation[-1]


def test_tour_is_short(mahru: eq.Robot, candidates: np.ndarray) -> None:
    """Every pose once, with less travel than as they come."""
    q = candidates[:20]
    tour = short_tour(mahru, q)
    assert sorted(tour) == list(range(20))
    travel = joint_travel(mahru, q)
    assert travel[tour[:-1], tour[1:]].sum() < 0.8 * np.diag(travel, 1).sum()


def test_too_many_poses_are_refused(mahru: eq.Robot, candidates: np.ndarray) -> None:
    """One line says how many can be chosen."""
    with pytest.raises(eq.EquipoiseError, match="from 1 to 5 can"):
        choose_poses(mahru, candidates[:5], 6)
