from __future__ import annotations

import math
import weakref

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError, ShapeError
from equipoise.simulation.noise import Channels, Noise

STATES = np.random.default_rng(0).normal(size=(50, 4))
TURN = np.array([0.4, -0.3, 1.0])
LEVEL = pin.SE3.Identity()


def channels(noise: Noise, size: int, seed: int = 0) -> Channels:
    """Return channels of one quantity, and of an orientation without noise."""
    return Channels({"it": (noise, size)}, Noise(delay=noise.delay), seed)


def read(given: Channels, time: float, truth: Array) -> Array:
    """Return a measurement of that quantity."""
    return given.delayed(time, given.disturbed(truth, LEVEL))[given.slices["it"]]


def attitude(noise: Noise, rotation: Array, count: int = 1) -> Array:
    """Return measured quaternions, shape (count, 4)."""
    one = Channels({}, noise, 0)
    pose = pin.SE3(rotation, np.ones(3))
    reads = [
        one.delayed(float(i), one.disturbed(np.zeros(0), pose)) for i in range(count)
    ]
    return np.array(reads)


def test_nothing_given_is_the_truth():
    """Without noise the same numbers are handed on, as a copy."""
    given = channels(Noise(), 4)
    for step, truth in enumerate(STATES):
        found = read(given, 0.001 * step, truth)
        np.testing.assert_array_equal(found, truth)
        found[:] = 0.0
    assert STATES.any()


def test_what_is_held_is_a_copy():
    """Who changes a measurement does not change the next."""
    given = channels(Noise(delay=1.0), 4)
    for step in range(3):
        found = read(given, 0.001 * step, STATES[0])
        np.testing.assert_array_equal(found, STATES[0])
        found[:] = 0.0


def test_statistics():
    """Mean and deviation of many measurements are bias and deviation."""
    noise = Noise(deviation=[0.1, 0.2, 0.0], bias=[1.0, 0.0, -1.0])
    given = channels(noise, 3, seed=1)
    count = 20_000
    reads = np.array([read(given, float(i), np.zeros(3)) for i in range(count)])
    five_sigma = 5 * 0.2 / math.sqrt(count)
    np.testing.assert_allclose(reads.mean(axis=0), [1, 0, -1], atol=five_sigma)
    np.testing.assert_allclose(reads.std(axis=0), [0.1, 0.2, 0.0], atol=five_sigma)
    for one, other in ((reads[:-1, 0], reads[1:, 0]), (reads[:, 0], reads[:, 1])):
        assert abs(np.corrcoef(one, other)[0, 1]) < 5 / math.sqrt(count)


@given(st.floats(1e-4, 1.0), st.floats(-10.0, 10.0))
def test_rounding(step, value):
    """Measurements are multiples of the step, at most half a step off."""
    noise, truth = Noise(step=[step, 0.0]), np.array([value, value])
    found = read(channels(noise, 2), 0.0, truth)
    np.testing.assert_array_equal(found, noise.rounded(truth))
    assert abs(found[0] - value) <= 0.5 * step * (1 + 1e-9)
    assert found[0] / step == pytest.approx(round(found[0] / step), abs=1e-6)
    assert found[1] == value


@given(st.integers(0, 10), st.integers(1, 7))
def test_delay_in_whole_steps(delay, milliseconds):
    """The measurement is that of so many steps ago; at first it is the first."""
    dt = 0.001 * milliseconds
    given = channels(Noise(delay=delay * dt), 4)
    for step, truth in enumerate(STATES):
        found = read(given, step * dt, truth)
        np.testing.assert_array_equal(found, STATES[max(step - delay, 0)])


@given(st.integers(0, 10))
def test_only_samples_that_wait_are_kept(delay):
    """However long it measures, only samples still to be handed out stay alive."""
    given = channels(Noise(delay=0.001 * delay), 4)
    kept = []
    for step, truth in enumerate(STATES):
        sample = given.disturbed(truth, LEVEL)
        kept.append(weakref.ref(sample))
        given.delayed(0.001 * step, sample)
    del sample
    assert sum(reference() is not None for reference in kept) == delay + 1


def test_delay_between_steps_waits_for_the_next():
    """A delay of 2.5 steps hands out what is 3 steps old: never younger."""
    given = channels(Noise(delay=0.0025), 4)
    reads = [read(given, 0.001 * step, truth) for step, truth in enumerate(STATES)]
    np.testing.assert_array_equal(reads[10], STATES[7])


def test_each_quantity_has_its_delay():
    """Three delays in one vector: each quantity is as old as its own."""
    delays = {"a": (Noise(delay=0.003), 1), "b": (Noise(), 2)}
    given = Channels({**delays, "c": (Noise(delay=0.003), 1)}, Noise(delay=0.001), 0)
    turns = [pin.SE3(pin.exp3(0.01 * step * TURN), np.zeros(3)) for step in range(20)]
    for step, (truth, turn) in enumerate(zip(STATES, turns, strict=False)):
        found = given.delayed(0.001 * step, given.disturbed(truth, turn))
        old = STATES[max(step - 3, 0)]
        np.testing.assert_array_equal(found[:4], [old[0], *truth[1:3], old[3]])
        expected = pin.Quaternion(turns[max(step - 1, 0)].rotation).coeffs()
        np.testing.assert_allclose(found[4:], expected, atol=1e-12)


def test_attitude_noise_is_a_small_turn():
    """Bias turns about own axes; deviation is that of the angle; unit length stays."""
    rotation = pin.exp3(TURN)
    truth = pin.Quaternion(rotation)
    biased = attitude(Noise(bias=[0.0, 0.0, 0.1]), rotation)[0]
    expected = truth * pin.Quaternion(pin.exp3(np.array([0, 0, 0.1])))
    np.testing.assert_allclose(biased, expected.coeffs(), atol=1e-12)
    reads = attitude(Noise(deviation=0.02), rotation, 3000)
    turns = [pin.log3((truth.inverse() * pin.Quaternion(q)).matrix()) for q in reads]
    np.testing.assert_allclose(np.std(turns, axis=0), 0.02, atol=0.002)
    np.testing.assert_allclose(np.linalg.norm(reads, axis=1), 1.0, atol=1e-12)


def test_attitude_rounding():
    """The rotation vector is rounded."""
    found = attitude(Noise(step=0.1), pin.exp3(np.array([0.42, -0.31, 0.98])))[0]
    turn = pin.log3(pin.Quaternion(found).matrix())
    np.testing.assert_allclose(turn, [0.4, -0.3, 1.0], atol=1e-12)


@pytest.mark.parametrize("noise", [Noise(), Noise(bias=0.1), Noise(step=0.1)])
def test_attitudes_have_one_sign(noise):
    """Of the two quaternions of an orientation it is that with w ≥ 0."""
    for angle in np.linspace(-6.0, 6.0, 25):
        assert attitude(noise, pin.exp3(np.array([0.0, 0.0, angle])))[0, 3] >= 0.0


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
