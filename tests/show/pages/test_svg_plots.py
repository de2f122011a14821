from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.show.charts.chart import envelope, thin_path
from equipoise.show.pages.labels import (
    readable_results,
    value_beside_limit,
    value_with_unit,
    values_with_unit,
)
from equipoise.show.pages.markup import element, path, text
from equipoise.show.pages.svg_plots import make_axis
from equipoise.simulation.summary import Check


@given(st.integers(1, 3000), st.integers(1, 50), st.integers(0, 5))
def test_envelope_keeps_extremes(count, buckets, seed):
    """Least and greatest value survive, in order of time, in few points."""
    rng = np.random.default_rng(seed)
    time = np.arange(count) / 100.0
    values = rng.standard_normal(count)
    kept_time, kept = envelope(time, values, buckets)
    assert kept.max() == values.max()
    assert kept.min() == values.min()
    assert (np.diff(kept_time) > 0.0).all()
    assert len(kept) <= max(2 * buckets + 2, 3)
    assert (kept_time[0], kept_time[-1]) == (time[0], time[-1])


def test_envelope_keeps_gaps():
    """Where there are no values there is no line, also after thinning."""
    time = np.arange(10_000.0)
    values = np.sin(time)
    values[4000:6000] = np.nan
    kept_time, kept = envelope(time, values, 100)
    inside = (kept_time >= 4000) & (kept_time < 6000)
    assert inside.any()
    assert np.isnan(kept[inside]).all()
    assert np.isfinite(kept[~inside]).all()


def test_thin_path_is_close_to_the_path():
    """Points left out are near to one that is kept; gaps stay; few are enough."""
    turn = np.linspace(0.0, 6.0, 5000)
    points = 100.0 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    points[2000:2500] = np.nan
    thin = thin_path(points, 0.5, 2000)
    assert len(thin) < 1500
    assert 1 <= np.isnan(thin).any(axis=1).sum() <= 2
    finite, kept = points[np.isfinite(points[:, 0])], thin[np.isfinite(thin[:, 0])]
    gaps = np.abs(finite[:, None] - kept[None]).max(axis=2).min(axis=1)
    assert gaps.max() < 0.5
    assert len(thin_path(points, 0.5, 50)) <= 60


@given(st.floats(-1e6, 1e6), st.floats(0.0, 1e6), st.integers(3, 9))
def test_axis_holds_its_numbers(low, span, ticks):
    """Ticks are round, inside, several, and their labels differ."""
    axis = make_axis(low, low + span, 10.0, 110.0, ticks=ticks, least=1e-3)
    assert axis.place(low) >= 10.0 - 1e-6
    assert axis.place(low + span) <= 110.0 + 1e-6
    assert 1 <= len(axis.ticks) <= ticks + 1
    assert len({axis.label(tick) for tick in axis.ticks}) == len(axis.ticks)


def test_axis_has_no_minus_zero():
    """Zero is written as 0."""
    axis = make_axis(-1.0, 1.0, 0.0, 1.0)
    assert [axis.label(tick) for tick in axis.ticks] == [
        "−1.0",
        "−0.5",
        "0.0",
        "0.5",
        "1.0",
    ]


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.0013, "m", "1.3 mm"),
        (-0.0013, "m", "−1.3 mm"),
        (0.0, "m", "0 m"),
        (1.25, "m", "1.25 m"),
        (0.001, "s", "1 ms"),
        (None, "s", "–"),
        (True, "", "yes"),
        (12345.678, "N", "12346 N"),
        ([1, 2], "kg", "1, 2 kg"),
        (0.9932, "%", "99.3 %"),
        (1482998.3, "N/m", "1483 kN/m"),
        (8e-12, "m", "0 mm"),
    ],
)
def test_values_have_units(value, unit, shown):
    """Values are shown with their unit, small lengths in millimetres."""
    assert value_with_unit(value, unit) == shown


def test_values_of_a_quantity_have_one_unit():
    """The largest decides on unit and decimals."""
    assert values_with_unit([0.012, 0.94, 3e-5], "m") == ["0.012 m", "0.94 m", "0 m"]
    assert values_with_unit([6.29e-4, 0.0094], "m") == ["0.63 mm", "9.4 mm"]
    assert values_with_unit([None, 0.02], "s") == ["–", "20 ms"]


def test_a_value_beyond_its_limit_looks_so():
    """Where rounding hides which is larger there are more decimals."""
    assert value_beside_limit(1.0004, 1.0, "%") == ("100.04 %", "100 %")
    assert value_beside_limit(0.2, 1.0, "%") == ("20 %", "100 %")
    assert value_beside_limit(1.0, 1.0, "%") == ("100 %", "100 %")
    assert value_beside_limit(None, 0.02, "m") == ("–", "20 mm")
    said = Check("speed over its limit", 1.0004, 1.0, "%").failure()
    assert said.endswith("(100.04 %, at most 100 %)")


def test_results_in_words():
    """Keys become words, units come off their ends, what matters comes first."""
    results = {
        "a_share": 0.5,
        "com_error_m": {"mean": 0.5, "max": 2.0},
        "robot": "humanoid",
        "total_force_n": {"x": 0.1, "y": 0.0, "z": 12.0},
        "seed": 0,
    }
    assert list(readable_results(results, ("seed",))) == [
        ("robot", "humanoid"),
        ("CoM error, mean", "0.5 m"),
        ("CoM error, max", "2 m"),
        ("a", "50 %"),
        ("total force x, y, z", "0.1, 0, 12 N"),
    ]


def test_markup():
    """Attributes and texts are escaped; a line has gaps where there is nothing."""
    assert element("p", text("a<b"), class_='"') == '<p class="&quot;">a&lt;b</p>'
    points = np.array([[0.0, 1.0], [1.04, 2.0], [np.nan, 0.0], [3.0, 4.0], [5.0, 6.0]])
    assert path(points) == "M0,1L1,2M3,4L5,6"
