"""What differs between two runs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from runs import swaying

import equipoise as eq
from equipoise.log.compare import Comparison, CurveDifference, compare_runs
from equipoise.log.run import Run
from equipoise.robot.joint_coordinates import degree_names


def curve(found: Comparison, name: str) -> CurveDifference:
    """Return a curve by its name."""
    return next(curve for curve in found.curves if curve.name == name)


def test_a_run_does_not_differ_from_itself() -> None:
    """All differences are zero, and no result differs."""
    run = swaying()
    found = compare_runs(run, run)
    assert [c.name for c in found.curves] == [
        "CoM", "ZMP", "joint positions", "joint torques"
    ]  # fmt: skip
    assert all(c.rms == c.largest == 0.0 for c in found.curves)
    assert not any(row.differs for row in found.results)
    assert found.notices == ()


def test_known_differences_are_found() -> None:
    """A shifted CoM, a peak of one torque, one angle: where, when, how much."""
    run = swaying()
    shift = np.array([0.003, 0.0, -0.004])
    torque = np.array(run.torque)
    torque[40, 7] += 50.0
    other = swaying(com=run.com + shift, torque=torque, zmp=run.zmp + 0.01)
    found = compare_runs(run, other)
    com = curve(found, "CoM")
    assert (com.rms, com.largest) == pytest.approx((0.005, 0.005))
    assert curve(found, "ZMP").largest == pytest.approx(0.01 * 3**0.5)
    torques = curve(found, "joint torques")
    assert torques.largest == pytest.approx(50.0)
    assert torques.time == run.time[40]
    assert torques.where == degree_names(run.robot)[7]
    assert torques.rms == pytest.approx(50.0 / np.sqrt(run.torque.size))
    assert curve(found, "joint positions").largest == 0.0


def test_runs_of_other_rates_and_durations() -> None:
    """Rows of both in their common time; lines between rows are straight."""
    first, second = swaying(seconds=1.0, rate=100.0), swaying(seconds=0.5, rate=100.0)
    found = compare_runs(first, second)
    assert (found.begin, found.end) == (0.0, 0.5)
    # each second row of a run is the run, but for what lies between its rows
    thin = swaying(rate=50.0)
    found = compare_runs(first, thin)
    assert curve(found, "CoM").largest < 1e-4


def test_results_are_subtracted() -> None:
    """Numbers by nested keys; texts, truth values and what is missing as they are."""
    one = {"a_m": 1.0, "deep": {"b": 2, "word": "x"}, "done": True, "only": 3}
    other = {"a_m": 1.5, "deep": {"b": 2, "word": "y"}, "done": False, "none": None}
    run = swaying()
    found = compare_runs(run.with_summary(one), run.with_summary(other))
    rows = {row.key: row for row in found.results}
    assert rows["a_m"].difference == 0.5
    assert not rows["deep.b"].differs
    assert (rows["deep.word"].first, rows["deep.word"].difference) == ("x", None)
    assert (rows["done"].first, rows["done"].second) == (True, False)
    assert rows["done"].difference is None
    assert rows["only"].second is None
    json.dumps(found.as_dict(), allow_nan=False)


def test_joints_of_different_robots_are_matched_by_name() -> None:
    """Those that both have are compared, the others are counted."""
    found = compare_runs(swaying(), swaying(eq.load("mahru-1")))
    assert any("in one of the runs alone" in notice for notice in found.notices)
    assert curve(found, "CoM").largest > 0.0


def test_runs_without_common_time_are_refused() -> None:
    """The message has both spans."""
    run = swaying(seconds=0.2)
    later = swaying(seconds=0.2, time=run.time + 5.0)
    with pytest.raises(eq.EquipoiseError, match="no time in common"):
        compare_runs(run, later)


def test_runs_without_support_have_no_zmp(swaying_in_the_air: Run) -> None:
    """The others are compared, and a notice says why."""
    found = compare_runs(swaying_in_the_air, swaying_in_the_air)
    assert "ZMP" not in [c.name for c in found.curves]
    assert any("no ZMP" in notice for notice in found.notices)


@pytest.fixture
def swaying_in_the_air() -> Run:
    """A run in which nothing touches."""
    run = swaying(seconds=0.2)
    nowhere = np.zeros(len(run.time), dtype=bool)
    return swaying(seconds=0.2, supported=nowhere)
