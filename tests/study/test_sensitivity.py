"""Which parameter matters most."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import sobol_indices, uniform

from equipoise.arrays import Array
from equipoise.study.outcomes import Outcome
from equipoise.study.parameters import Parameter
from equipoise.study.sampling import Distribution, Method, Points
from equipoise.study.sensitivity import Sensitivity, outcome_words, sensitivities
from equipoise.study.table import StudyTable

# Ishigami's function, sin x1 + 7 sin² x2 + 0.1 x3⁴ sin x1 on [−π, π]³: variances of its
# parts [Ishigami1990].
A, B = 7.0, 0.1
V1 = 0.5 * (1.0 + B * np.pi**4 / 5.0) ** 2
V2 = A**2 / 8.0
V13 = B**2 * np.pi**8 * (1.0 / 18.0 - 1.0 / 50.0)
V = V1 + V2 + V13
# A linear function of uniform parameters, a·x: variances are a² / 12.
SLOPES = np.array([4.0, -2.0, 1.0, 0.0])
PARTS = SLOPES**2 / (SLOPES**2).sum()


def ishigami(x: Array) -> Array:
    """Return its values at points, shape (n, 3)."""
    x1, x2, x3 = x.T
    return np.asarray(np.sin(x1) + A * np.sin(x2) ** 2 + B * x3**4 * np.sin(x1))


def a_table(points: Array, values: Array, name: str = "error_m.max") -> StudyTable:
    """Return the table of a study."""
    own = [Parameter(f"x{k}", "", f"parameter {k}") for k in range(points.shape[1])]
    columns: dict[str, NDArray] = {p.name: points[:, k] for k, p in enumerate(own)}
    columns[name] = values
    outcome = Outcome(name, "m", "an error", "float")
    return StudyTable(tuple(own), (outcome,), columns, len(values))


def the_points(method: Method, spread: list[Distribution], count: int | None) -> Array:
    """Return the points of a study, shape (n, k)."""
    chosen = Points(method, spread, count, seed=3)
    return np.array([chosen[run] for run in range(len(chosen))], dtype=np.float64)


def strengths(found: Sensitivity) -> Array:
    """Return first-order effects in the order of the parameters."""
    by_name = {effect.parameter: effect.first_order for effect in found.effects}
    return np.array([by_name[name] for name in sorted(by_name)])


@pytest.fixture(scope="module")
def ishigami_points() -> Array:
    """Return Saltelli's design of 1024 base samples."""
    return the_points("sobol", [Distribution("uniform", -np.pi, np.pi)] * 3, 1024)


def test_indices_of_ishigamis_function(ishigami_points: Array) -> None:
    """First-order and total indices are the known ones, within their intervals."""
    table = a_table(ishigami_points, ishigami(ishigami_points))
    (found,) = sensitivities(table, "sobol")
    assert (found.used, found.lost, found.notes) == (1024, 0, ())
    assert [effect.parameter for effect in found.effects] == ["x0", "x1", "x2"]
    truth = {"x0": (V1, V1 + V13), "x1": (V2, V2), "x2": (0.0, V13)}
    for effect in found.effects:
        first, total = np.array(truth[effect.parameter]) / V
        assert effect.first_order == pytest.approx(first, abs=0.05)
        assert effect.total == pytest.approx(total, abs=0.05)
        for known, interval in (
            (first, effect.first_order_interval),
            (total, effect.total_interval),
        ):
            assert interval is not None
            low, high = interval
            assert low - 0.02 < known < high + 0.02
            assert 0.0 < high - low < 0.4
    assert found.effects[0].sentence.startswith("x0 (parameter 0) explains 5")
    assert "variance of the largest error" in found.effects[0].sentence
    assert sensitivities(table, "sobol") == (found,)


def test_indices_are_those_of_scipy(ishigami_points: Array) -> None:
    """The design, and the order of its runs, give what the library's sampling does."""
    (found,) = sensitivities(
        a_table(ishigami_points, ishigami(ishigami_points)), "sobol"
    )
    spread = [uniform(-np.pi, 2.0 * np.pi)] * 3
    expected = sobol_indices(func=lambda x: ishigami(x.T), n=1024, dists=spread, rng=0)
    assert strengths(found) == pytest.approx(expected.first_order, abs=0.06)


def test_lost_base_samples_do_not_bias_the_indices(ishigami_points: Array) -> None:
    """A missing value costs its base sample, and no other."""
    values = ishigami(ishigami_points)
    (whole,) = sensitivities(
        a_table(ishigami_points[: 5 * 300], values[: 5 * 300]), "sobol"
    )
    holes = values.copy()
    holes[5 * 300 :: 5] = np.nan
    (found,) = sensitivities(a_table(ishigami_points, holes), "sobol")
    assert (found.used, found.lost) == (300, 724)
    assert found.notes == (
        "724 of 1024 base samples have no value, and cannot be used.",
    )
    assert strengths(found) == pytest.approx(strengths(whole), rel=1e-12)


@pytest.mark.parametrize("method", ["random", "latin-hypercube"])
def test_samples_of_a_linear_function(method: Method) -> None:
    """Correlation ratios are the parts of the variance, and ranks have their signs."""
    points = the_points(method, [Distribution("uniform", 0.0, 1.0)] * 4, 2000)
    (found,) = sensitivities(a_table(points, points @ SLOPES), method)
    assert [effect.parameter for effect in found.effects] == ["x0", "x1", "x2", "x3"]
    assert strengths(found) == pytest.approx(PARTS, abs=0.03)
    for effect, part in zip(found.effects, PARTS, strict=True):
        assert effect.first_order_interval is not None
        low, high = effect.first_order_interval
        assert low - 0.01 < part < high + 0.01
        assert high - low < 0.2
    signs = [effect.rank_correlation for effect in found.effects]
    assert signs[0] > 0.7
    assert -0.6 < signs[1] < -0.2
    assert found.effects[0].p_value < 1e-9
    assert found.effects[3].p_value > 0.01
    assert found.effects[1].sentence.endswith("; the largest error falls with it.")
    assert "told from zero" in found.effects[3].sentence


def test_grids_of_a_linear_function() -> None:
    """Marginal means of a full grid explain exactly the parts; nothing is together."""
    points = the_points("grid", [Distribution("uniform", 0.0, 1.0, points=4)] * 4, None)
    (found,) = sensitivities(a_table(points, points @ SLOPES), "grid")
    assert strengths(found) == pytest.approx(PARTS, abs=1e-9)
    assert found.notes == ("0 % of the variance are interactions of parameters.",)
    (product,) = sensitivities(
        a_table(points, (points[:, 0] - 0.5) * (points[:, 1] - 0.5)), "grid"
    )
    assert strengths(product) == pytest.approx(0.0, abs=1e-9)
    assert product.notes[0].startswith("100 %")


def test_texts_are_categories() -> None:
    """A parameter that is a text has a correlation ratio, and no ranks."""
    rng = np.random.default_rng(0)
    engine = rng.choice(np.array(["native", "mujoco"], dtype=object), 400)
    table = a_table(rng.random((400, 1)), np.where(engine == "native", 1.0, 3.0))
    columns = {**table.columns, "engine": engine}
    own = (*table.parameters, Parameter("engine", "", "engine", kind="text"))
    (found,) = sensitivities(StudyTable(own, table.outcomes, columns, 400), "random")
    assert found.effects[0].parameter == "engine"
    assert found.effects[0].first_order == pytest.approx(1.0)
    assert found.effects[0].rank_correlation is None


@pytest.mark.parametrize("method", ["random", "grid", "sobol"])
def test_what_cannot_be_said(method: Method) -> None:
    """An outcome that is the same in all runs, or hardly known, has no effects."""
    points = the_points("random", [Distribution("uniform", 0.0, 1.0)] * 2, 80)
    (same,) = sensitivities(a_table(points, np.full(80, 0.3)), method)
    assert same.effects == ()
    assert same.notes == ("error_m.max is the same in all runs.",)
    values = np.full(80, np.nan)
    values[:12] = points[:12, 0]
    (few,) = sensitivities(a_table(points, values), method)
    assert few.effects == ()
    assert few.notes[1].startswith("Too few")


def test_words_of_outcomes() -> None:
    """Names become words."""
    assert (
        outcome_words("com_error_from_stance_m.max") == "largest CoM error from stance"
    )
    assert outcome_words("zmp_deviation_m.x") == "ZMP deviation (x)"
    assert outcome_words("estimator.com_rms_m") == "CoM RMS"
    assert outcome_words("steps_done") == "steps done"
    assert outcome_words("survived") == "survival"
