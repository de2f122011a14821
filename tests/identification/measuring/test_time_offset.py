from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from identification.ground_logs import (
    ground_wrench,
    log_of,
    on_feet,
    on_left_sole,
    swaying,
    true_robot,
)

import equipoise as eq
from equipoise.identification.measuring.log_poses import measured_poses


@pytest.fixture(scope="module")
def humanoid() -> eq.Robot:
    """The robot of the logs."""
    return eq.load("humanoid")


def sway(model, truth, period_s):
    """Return a log of swaying by Newton and Euler."""
    time, path = swaying(model, 15.0, 4, period_s)
    q = on_left_sole(model, path(time))
    feet = on_feet(model, q, ground_wrench(truth, path, time))
    return log_of(model, time, q, {f"{s[0]}_sole": own for s, own in feet.items()})


@pytest.fixture(scope="module")
def quick(humanoid):
    """A quick sway of a robot that is as its model says."""
    return sway(humanoid, humanoid, 4.0)


def late_by(log, seconds):
    """Return a log whose wrenches are late."""
    wrenches = {k: w._replace(time=w.time + seconds) for k, w in log.wrenches.items()}
    return replace(log, wrenches=wrenches)


@settings(max_examples=6)
@given(late=st.floats(-0.2, 0.2))
def test_time_offset_is_taken_out(humanoid, quick, late):
    """Wrenches that are late or early are found out to within 15 ms, and shifted."""
    found = measured_poses(humanoid, late_by(quick, late))
    assert found.offset_s == pytest.approx(late, abs=0.0151)
    assert any("shifted" in text for text in found.notices) == (found.offset_s != 0.0)


def test_thirty_milliseconds(humanoid, quick):
    """30 ms are found with encoders of 0.4 mrad, and reported."""
    step = 4e-4
    joints = {name: step * np.round(own / step) for name, own in quick.joints.items()}
    found = measured_poses(humanoid, late_by(replace(quick, joints=joints), 0.03))
    assert found.offset_s == pytest.approx(0.03, abs=0.01)
    assert any("ms later than joints" in text for text in found.notices)


def test_errors_of_the_model_are_no_delay(humanoid):
    """A slow sway of a robot that differs from its model is not shifted."""
    log = sway(humanoid, true_robot(humanoid, 1), 12.0)
    assert measured_poses(humanoid, log).offset_s == 0.0
