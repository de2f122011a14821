from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from standing_logs import FRAMES, poses_of, standing_log

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.identification.measuring.balance_series import (
    BalanceSeries,
    sliding,
    sole_views,
)
from equipoise.identification.measuring.correlation import correlation_length
from equipoise.identification.measuring.log_poses import measured_poses
from equipoise.identification.measuring.stretches import (
    Stillness,
    Stretch,
    encoder_step,
    scatter,
)
from equipoise.identification.noise import SensorNoise
from equipoise.identification.statics import FEET, centre_of_pressure, total_wrench
from equipoise.log.open_run import read_recording
from equipoise.log.recordings.replay import recorded_run

GRAVITY = 9.80665


@pytest.fixture(scope="module")
def humanoid() -> eq.Robot:
    """The robot of the made-up logs."""
    return eq.load("humanoid")


def test_sliding_line_is_exact():
    """A straight line has its own slope and mean, however its rows are spaced."""
    time = np.cumsum(np.random.default_rng(1).uniform(0.001, 0.1, 200)) + 1e6
    line = np.column_stack([2.0 + 3.0 * (time - 1e6), np.full(200, 5.0)])
    found = sliding(time, line, 0.5)
    np.testing.assert_allclose(found.slope[:, 0], 3.0, rtol=1e-5)
    np.testing.assert_allclose(found.slope[:, 1], 0.0, atol=1e-9)
    within = np.abs(time[:, None] - time) <= 0.25
    means = (within @ line) / within.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.mean, means, rtol=1e-9)


def test_sliding_row_alone_has_no_slope():
    """A row without neighbours within the window has slope zero and its own value."""
    found = sliding(np.array([0.0, 10.0]), np.array([[1.0], [4.0]]), 0.5)
    np.testing.assert_array_equal(found.slope, 0.0)
    np.testing.assert_array_equal(found.mean, [[1.0], [4.0]])


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
def test_correlation_length_of_ar1(rho):
    """For x_i = ρ x_{i-1} + e the length is (1 + ρ) / (1 - ρ), from short pieces."""
    rng = np.random.default_rng(2)
    pieces = [_ar1(rng, rho, 400) + rng.uniform(-9, 9) for _ in range(40)]
    expected = (1.0 + rho) / (1.0 - rho)
    assert correlation_length(pieces) == pytest.approx(expected, rel=0.15)


def test_correlation_length_gives_the_variance_of_means():
    """Means of correlated pieces scatter as σ² τ / n, the oracle by many pieces."""
    rng = np.random.default_rng(3)
    pieces = [_ar1(rng, 0.8, 300) for _ in range(400)]
    length = correlation_length(pieces[:30])
    expected = np.var(np.concatenate(pieces)) * length / 300
    assert np.var([piece.mean() for piece in pieces]) == pytest.approx(
        expected, rel=0.3
    )


@pytest.mark.parametrize("pieces", [[], [np.zeros(50)], [np.array([1.0])]])
def test_correlation_length_of_nothing(pieces):
    """Where nothing varies, each sample counts as one."""
    assert correlation_length(pieces) == 1.0


def _ar1(rng, rho, count):
    values = rng.standard_normal(count + 200)
    for at in range(1, len(values)):
        values[at] = rho * values[at - 1] + np.sqrt(1.0 - rho**2) * values[at]
    return values[200:]


def test_scatter_finds_noise_and_samples(humanoid):
    """Noise of force and torque come back, and rows of AR(1) noise count for less."""
    rng = np.random.default_rng(4)
    made = standing_log(humanoid, poses_of(humanoid, 1, 5), hold_s=30.0, force=1e-9)
    rows = len(made.recording.time)
    positions = np.tile(made.positions, (rows, 1))
    q = np.zeros((rows, humanoid.nq))
    q[:, 6], q[:, 7:] = 1.0, positions
    views = sole_views(humanoid, q)
    stretch = [Stretch(0, rows, 0.0, 30.0)]
    deviation = np.repeat([0.5, 0.02], 3)
    for rho in (0.0, 0.8):
        noise = {
            side: np.stack([_ar1(rng, rho, rows) for _ in range(6)], 1) * deviation
            for side in FEET
        }
        wrenches = {side: made.wrenches[side] + noise[side] for side in FEET}
        time = made.recording.time
        log = BalanceSeries("log", humanoid, time, positions, views, wrenches)
        found = scatter(log, stretch, 0.4)
        assert found.noise.force == pytest.approx(0.5, rel=0.1)
        assert found.noise.torque == pytest.approx(0.02, rel=0.25)
        expected = rows * (1.0 - rho) / (1.0 + rho)
        assert found.samples[0] == pytest.approx(expected, rel=0.4)


def test_encoder_step():
    """The step of encoders is seen; a smooth move and a joint at rest have none."""
    time = np.linspace(0.0, 10.0, 2000)
    wave = np.sin(time)[:, None]
    assert encoder_step(0.01 * np.round(wave / 0.01)) == pytest.approx(0.01)
    assert encoder_step(wave) == 0.0
    assert encoder_step(np.zeros((50, 3))) == 0.0


@settings(max_examples=8)
@given(
    seed=st.integers(0, 1000),
    step=st.sampled_from([0.0, 1.5e-3]),
    lost=st.sampled_from([0.0, 0.2]),
    hold_s=st.floats(1.6, 3.0),
)
def test_every_hold_is_found(humanoid, seed, step, lost, hold_s):
    """Poses held are found once each and nothing else, with their true means."""
    poses = poses_of(humanoid, 4, seed)
    made = standing_log(humanoid, poses, seed=seed, step=step, lost=lost, hold_s=hold_s)
    found = measured_poses(humanoid, made.recording)
    assert len(found.stretches) == len(poses)
    views = sole_views(humanoid, found.poses.q)
    total = total_wrench(views.sole_in_level, found.poses.wrenches)
    pressed = centre_of_pressure(total) - views.com_in_level[:, :2]
    for at, (stretch, span) in enumerate(zip(found.stretches, made.spans, strict=True)):
        # a move between poses that are nearly alike begins slowly
        assert span[0] - 0.5 < stretch.start_s < stretch.end_s < span[1] + 0.5
        for side in FEET:
            off = found.poses.wrenches[side][at] - made.wrenches[side][at]
            sigma = 0.5 / np.sqrt(stretch.end - stretch.first)
            assert np.abs(off[:2]).max() < 6.0 * sigma
    # what moves do at the ends, and steps of encoders, stay below half a millimetre
    assert np.abs(pressed).max() < (5e-4 if step == 0.0 else 2e-3)


def test_creep_is_cut(humanoid):
    """A joint that creeps on without moving the CoM much ends up in several poses."""
    made = standing_log(humanoid, poses_of(humanoid, 1, 6), hold_s=20.0)
    joints = dict(made.recording.joints)
    hand = list(joints)[-1]
    joints[hand] = joints[hand] + np.linspace(0.0, 0.12, len(made.recording.time))
    found = measured_poses(humanoid, replace(made.recording, joints=joints))
    assert len(found.stretches) == 3
    ends = [found.stretches[0].end, found.stretches[1].end]
    assert ends == [found.stretches[1].first, found.stretches[2].first]


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"speed": 0.0}, "speed is 0"), ({"duration_s": np.nan}, "duration_s is nan")],
)
def test_bad_stillness(changes, said):
    """A speed or duration that is none is refused."""
    with pytest.raises(EquipoiseError, match=said):
        Stillness(**changes)


def test_speed_limit_grows_with_the_robot():
    """The limit is 4 mm/s for an iCub's height, or a given one."""
    assert Stillness().speed_limit(0.533) == pytest.approx(0.004, rel=0.01)
    assert Stillness().speed_limit(2.0) > Stillness().speed_limit(0.5)
    assert Stillness(speed=0.01).speed_limit(0.5) == 0.01


def test_real_icub():
    """Eight stretches of a real iCub, with the weight and offsets known of it."""
    folder = os.environ.get("EQUIPOISE_REAL_DATA")
    if not folder:
        pytest.skip("EQUIPOISE_REAL_DATA names no folder of real data")
    robot = eq.load(Path(folder) / "icub" / "iCubGenova04.urdf")
    recording = read_recording(Path(folder) / "icub" / "walking_with_stops.csv")
    found = measured_poses(robot, recording)
    assert len(found.stretches) == 8
    assert found.offset_s is None  # it walks, and does not shift its weight
    assert any("'l_wrist_prosup'" in text for text in found.notices)
    views = sole_views(robot, found.poses.q)
    total = total_wrench(views.sole_in_level, found.poses.wrenches)
    assert total[:, 2].mean() / GRAVITY == pytest.approx(33.86, abs=0.15)
    assert total[:, 0].mean() == pytest.approx(-34.0, abs=3.0)
    run = recorded_run(recording, robot)  # in world axes, by motion capture
    pressed = 1e3 * (run.zmp - run.com)[:, :2]
    means = np.array(
        [pressed[stretch.rows].mean(axis=0) for stretch in found.stretches]
    )
    np.testing.assert_allclose(means.mean(axis=0), [-5.7, 2.4], atol=0.5)
    np.testing.assert_allclose(np.sqrt((means**2).mean(0)), [6.8, 2.9], atol=0.5)
    assert found.noise.joint == pytest.approx(
        2.0 * np.pi / 4096 / np.sqrt(12.0), rel=0.01
    )
    assert SensorNoise().force < found.noise.force < 2.0
    assert np.all(found.poses.samples < [s.end - s.first for s in found.stretches])
    assert set(recording.wrenches) == set(FRAMES.values())


def test_real_icub_that_tips():
    """Between 34 and 39 s a real iCub tips: that stretch is named and left out."""
    folder = os.environ.get("EQUIPOISE_REAL_DATA")
    if not folder:
        pytest.skip("EQUIPOISE_REAL_DATA names no folder of real data")
    sweep = Path(folder) / "icub_torso_sweep"
    robot = eq.load(sweep / "iCubGenova01.urdf")
    recording = read_recording(sweep / "torso_sweep.csv")
    found = measured_poses(robot, recording, units={"angle": "deg"})
    named = [own for own in found.dropped if "less than in the other" in own.reason]
    assert len(named) == 1
    assert 34.0 < named[0].start_s < named[0].end_s < 39.0
    assert not any(34.0 < own.start_s < 39.0 for own in found.used)
    assert sum("the foot's weight, 5.8 N" in text for text in found.notices) == 2
    assert any("17 joints are not in the log" in text for text in found.notices)
