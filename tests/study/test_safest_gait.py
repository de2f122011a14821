"""The safest gait of a study."""

from __future__ import annotations

import numpy as np
import pytest

from equipoise.arrays import Array
from equipoise.study.cells import cells_of, fraction_interval
from equipoise.study.outcomes import Outcome
from equipoise.study.parameters import Parameter
from equipoise.study.safest_gait import safest_gait
from equipoise.study.table import StudyTable

ERROR = "com_error_m.mean"


def walks(length: Array, step_time: Array, survived: Array, error: Array) -> StudyTable:
    """Return the table of a study that varies gaits and friction."""
    columns = {
        "gait.length": length,
        "gait.step_time": step_time,
        "friction": np.linspace(0.1, 1.0, len(length)),
        "survived": survived.astype(np.float64),
        ERROR: error,
    }
    own = (
        Parameter("gait.length", "m", "step length"),
        Parameter("gait.step_time", "s", "step time"),
        Parameter("friction", "", "friction"),
    )
    outcomes = (
        Outcome("survived", "", "whether it stands", "bool"),
        Outcome(ERROR, "m", "error of the CoM", "float"),
    )
    return StudyTable(own, outcomes, columns, len(length))


def test_levels_of_a_grid() -> None:
    """Most survived, and among equals the most accurate; failed runs do not count."""
    length, time = np.meshgrid([0.1, 0.2], [0.5, 1.0], indexing="ij")
    length, time = np.repeat(length, 10), np.repeat(time, 10)
    survived = np.where(length > 0.15, np.arange(40) % 2 == 0, 1.0)
    error = np.where(time > 0.7, 0.001, 0.002)
    survived[-1] = np.nan
    found = safest_gait(walks(length, time, survived, error))
    assert found is not None
    assert [(own.name, own.low, own.high) for own in found.gait] == [
        ("gait.length", 0.1, 0.1),
        ("gait.step_time", 1.0, 1.0),
    ]
    assert (found.runs, found.survived) == (10, 10)
    assert found.com_error_m == pytest.approx(0.001)
    assert found.interval == pytest.approx((0.7225, 1.0), abs=1e-4)
    assert found.sentence == (
        "The safest gait found has gait.length 0.1 m, gait.step_time 1 s: 10 of 10 "
        "runs survived (95 % interval 72 to 100 %), with a CoM error of 1 mm "
        "(com_error_m.mean, mean)."
    )


def test_ranges_of_a_sample() -> None:
    """Of random gaits a range is found that holds what is safe."""
    rng = np.random.default_rng(2)
    length, time = rng.uniform(0.0, 0.3, 600), rng.uniform(0.5, 1.0, 600)
    survived = np.hypot((length - 0.24) / 0.3, time - 0.9) < 0.15
    found = safest_gait(walks(length, time, survived, np.full(600, np.nan)))
    assert found is not None
    stride, period = found.gait
    middle = 0.5 * (stride.low + stride.high), 0.5 * (period.low + period.high)
    assert np.hypot((middle[0] - 0.24) / 0.3, middle[1] - 0.9) < 0.15
    assert found.runs > 10
    assert found.survived > 3.0 * survived.mean() * found.runs
    assert found.com_error_m is None


def test_no_gait_is_varied() -> None:
    """Nothing is said where there is nothing to choose."""
    whole = walks(*np.ones((4, 20)))
    own = StudyTable(whole.parameters[2:], whole.outcomes, whole.columns, 20)
    assert safest_gait(own) is None
    without = {k: v for k, v in whole.columns.items() if k != "survived"}
    assert safest_gait(StudyTable(whole.parameters, (), without, 20)) is None


def test_cells_hold_equally_many_runs() -> None:
    """Each value is in the range that its cell says, few values are levels."""
    values = np.random.default_rng(0).lognormal(size=1000)
    values[:7] = np.nan
    cells = cells_of(values, 8)
    assert len(cells) == 8
    assert (cells.index[:7] == -1).all()
    inside = cells.index[7:]
    assert (cells.low[inside] <= values[7:]).all()
    assert (values[7:] <= cells.high[inside]).all()
    assert np.ptp(np.bincount(inside)) <= 2
    levels = cells_of(np.array([3.0, 1.0, 3.0, -0.5]), 8)
    assert levels.names == ("−0.5", "1", "3")
    assert levels.index.tolist() == [2, 1, 2, 0]


def test_intervals_are_wilsons() -> None:
    """As in the example of [Wilson1927]'s formula, worked by hand."""
    z, n, p = 1.959964, 20, 0.9
    centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    assert fraction_interval(18, 20) == pytest.approx((centre - half, centre + half))
