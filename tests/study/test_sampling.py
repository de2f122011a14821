"""Points of studies: the same by seed and number, and spread as they should be."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.stats import qmc

from equipoise.study.sampling import BLOCK, Distribution, Points

UNIFORM = Distribution("uniform", -1.0, 3.0)
NORMAL = Distribution("normal", 2.0, 0.5)
LOG = Distribution("log-uniform", 0.1, 10.0)
CHOICE = Distribution("choice", values=("a", "b", "c"))
WHOLE = Distribution("uniform", 0, 9, whole=True)
EVERY = (UNIFORM, NORMAL, LOG, CHOICE, WHOLE)


def test_a_grid_has_all_combinations() -> None:
    """The last parameter varies fastest; levels are round where they should be."""
    spread = Distribution("uniform", 0.1, 0.5, points=5)
    points = Points("grid", [spread, CHOICE])
    assert len(points) == 15
    assert [points[k] for k in (0, 1, 14)] == [(0.1, "a"), (0.1, "b"), (0.5, "c")]
    assert spread.levels == (0.1, 0.2, 0.3, 0.4, 0.5)
    assert Distribution("log-uniform", 0.1, 10.0, points=3).levels == (0.1, 1.0, 10.0)
    assert WHOLE.levels == tuple(range(10))


@pytest.mark.parametrize("method", ["random", "latin-hypercube", "sobol", "posterior"])
def test_points_are_addressable(method: str) -> None:
    """Any of them can be had alone, in any order, from a new table as well."""
    count = 2 * BLOCK if method == "sobol" else 40
    points = Points(method, EVERY, count, seed=5)  # type: ignore[arg-type]
    every = [points[k] for k in range(len(points))]
    again = Points(method, EVERY, count, seed=5)  # type: ignore[arg-type]
    for k in (len(points) - 1, 3, 17, 0):
        assert again[k] == every[k]
    other = Points(method, EVERY, count, seed=6)  # type: ignore[arg-type]
    assert other[0] != every[0]
    with pytest.raises(IndexError):
        points[len(points)]


@pytest.mark.parametrize("method", ["random", "latin-hypercube"])
def test_distributions_are_as_asked(method: str) -> None:
    """By Kolmogorov and Smirnov's test against SciPy's distributions, and by counts."""
    points = Points(method, EVERY, 2000, seed=1)  # type: ignore[arg-type]
    uniform, normal, log, choice, whole = zip(
        *(points[k] for k in range(2000)), strict=True
    )
    for values, oracle in (
        (uniform, stats.uniform(-1.0, 4.0)),
        (normal, stats.norm(2.0, 0.5)),
        (log, stats.loguniform(0.1, 10.0)),
    ):
        assert stats.kstest(values, oracle.cdf).pvalue > 1e-3
    for values, kinds in ((choice, 3), (whole, 10)):
        _, counts = np.unique(values, return_counts=True)
        assert len(counts) == kinds
        assert stats.chisquare(counts).pvalue > 1e-3


def test_a_latin_hypercube_has_one_point_in_each_row() -> None:
    """Of each parameter, in every n-th part of its range."""
    points = Points("latin-hypercube", [UNIFORM, UNIFORM], 50)
    table = np.array([points[k] for k in range(50)])
    parts = np.floor((table + 1.0) / 4.0 * 50).astype(int)
    for column in parts.T:
        assert sorted(column) == list(range(50))


def test_the_design_for_sobol_indices() -> None:
    """A, B and A with one column of B, of SciPy's own scrambled sequence."""
    unit = Distribution("uniform", 0.0, 1.0)
    points = Points("sobol", [unit] * 3, 512, seed=7)
    assert len(points) == 512 * 5
    table = np.array([points[k] for k in range(len(points))]).reshape(512, 5, 3)
    sequence = qmc.Sobol(6, rng=7).random(512)
    first, second = sequence[:, :3], sequence[:, 3:]
    assert table[:, 0] == pytest.approx(first)
    assert table[:, 1] == pytest.approx(second)
    for at in range(3):
        mixed = first.copy()
        mixed[:, at] = second[:, at]
        assert table[:, 2 + at] == pytest.approx(mixed)


def test_normal_numbers_are_finite() -> None:
    """Also at the ends of the range of probabilities."""
    assert np.isfinite([NORMAL.quantile(0.0), NORMAL.quantile(1.0 - 1e-17)]).all()  # type: ignore[arg-type]
