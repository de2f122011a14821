from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.errors import EquipoiseError, ShapeError
from equipoise.simulation.noise import AttitudeChannel, Channel, Noise, quaternion

STATES = np.random.default_rng(0).normal(size=(50, 4))


def test_nothing_given_is_the_truth():
    """Without noise a channel hands on the same bytes, and its own copy."""
    channel = Channel(Noise(), (0,))
    for step, truth in enumerate(STATES):
        read = channel.read(0.001 * step, truth)
        assert read.tobytes() == truth.tobytes()
        read[:] = 0.0
    assert STATES.any()


def test_statistics():
    """Mean and deviation of many measurements are bias and deviation."""
    noise = Noise(deviation=[0.1, 0.2, 0.0], bias=[1.0, 0.0, -1.0])
    channel = Channel(noise, (1,))
    count = 20_000
    reads = np.array([channel.read(float(i), np.zeros(3)) for i in range(count)])
    five_sigma = 5 * 0.2 / math.sqrt(count)
    np.testing.assert_allclose(reads.mean(axis=0), [1, 0, -1], atol=five_sigma)
    np.testing.assert_allclose(reads.std(axis=0), [0.1, 0.2, 0.0], atol=five_sigma)
    correlation = np.corrcoef(reads[:-1, 0], reads[1:, 0])[0, 1]
    assert abs(correlation) < 5 / math.sqrt(count)


@given(st.floats(1e-4, 1.0), st.floats(-10.0, 10.0))
def test_rounding(step, value):
    """Measurements are multiples of the step, at most half a step off."""
    read = Noise(step=step).rounded(np.array([value]))[0]
    assert abs(read - value) <= 0.5 * step * (1 + 1e-9)
    assert read / step == pytest.approx(round(read / step), abs=1e-6)


@given(st.integers(0, 10), st.integers(1, 7))
def test_delay_in_whole_steps(delay, milliseconds):
    """The measurement is that of so many steps ago; at first it is the first."""
    dt = 0.001 * milliseconds
    channel = Channel(Noise(delay=delay * dt), (0,))
    for step, truth in enumerate(STATES):
        read = channel.read(step * dt, truth)
        np.testing.assert_array_equal(read, STATES[max(step - delay, 0)])
    assert len(channel._samples) <= delay + 1


def test_delay_between_steps_waits_for_the_next():
    """A delay of 2.5 steps hands out what is 3 steps old: never younger."""
    channel = Channel(Noise(delay=0.0025), (0,))
    reads = [channel.read(0.001 * step, truth) for step, truth in enumerate(STATES)]
    np.testing.assert_array_equal(reads[10], STATES[7])


def test_attitude_noise_is_a_small_turn():
    """Bias turns about own axes; deviation is that of the angle; unit length stays."""
    truth = quaternion(pin.exp3(np.array([0.4, -0.3, 1.0])))
    biased = AttitudeChannel(Noise(bias=[0.0, 0.0, 0.1]), (0,)).read(0.0, truth)
    expected = pin.Quaternion(truth) * pin.Quaternion(pin.exp3(np.array([0, 0, 0.1])))
    np.testing.assert_allclose(biased, expected.coeffs(), atol=1e-12)
    channel = AttitudeChannel(Noise(deviation=0.02), (0,))
    reads = [channel.read(float(i), truth) for i in range(3000)]
    turns = [
        pin.log3((pin.Quaternion(truth).inverse() * pin.Quaternion(q)).matrix())
        for q in reads
    ]
    np.testing.assert_allclose(np.std(turns, axis=0), 0.02, atol=0.002)
    np.testing.assert_allclose(np.linalg.norm(reads, axis=1), 1.0, atol=1e-12)


def test_attitude_rounding():
    """The rotation vector is rounded."""
    truth = quaternion(pin.exp3(np.array([0.42, -0.31, 0.98])))
    read = AttitudeChannel(Noise(step=0.1), (0,)).read(0.0, truth)
    turn = pin.log3(pin.Quaternion(read).matrix())
    np.testing.assert_allclose(turn, [0.4, -0.3, 1.0], atol=1e-12)


@pytest.mark.parametrize(
    ("figures", "message"),
    [
        ({"deviation": -0.1}, "deviation is -0.1; it must be finite, and 0 or more"),
        ({"bias": math.nan}, "bias is nan; it must be finite"),
        ({"step": [0.1, -0.1]}, "step is"),
        ({"delay": -1.0}, "delay is -1 s"),
        ({"delay": math.inf}, "delay is inf s"),
    ],
)
def test_impossible_noise_is_refused(figures, message):
    """The error names the figure."""
    with pytest.raises(EquipoiseError, match=message):
        Noise(**figures)


def test_figures_for_other_components_are_refused():
    """Three biases do not fit four components."""
    with pytest.raises(ShapeError, match=r"noise of force: bias has shape \(3,\)"):
        Noise(bias=[1, 2, 3]).check_size("force", 4)
