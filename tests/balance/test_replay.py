from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import equipoise as eq
from equipoise.balance.replay import estimate_log
from equipoise.errors import EquipoiseError
from equipoise.gait.standing import standing_reference
from equipoise.log.run import Run
from equipoise.simulation.feedback import PERIOD, balance_feedback
from equipoise.simulation.trials import trial_world


@pytest.fixture(scope="module")
def run() -> Run:
    """Return a second of standing with sensors, recorded at every measurement."""
    robot = eq.load("humanoid")
    world, q = trial_world(robot), eq.solve(robot, eq.fit_walk(robot, 2)).q[0]
    loop = balance_feedback(world)
    return eq.simulate(
        world,
        standing_reference(robot, q),
        1.0,
        start=q,
        controller=loop.controller,
        sensors=loop.sensors,
        estimator=loop.estimator,
        control_period=loop.control_period,
        record_period=PERIOD,
    )


def test_log_is_estimated_as_in_the_loop(run: Run, tmp_path: Path) -> None:
    """Read from its log, a standing robot is where it was, and does not move."""
    estimated = estimate_log(run.save(tmp_path / "log"))
    assert len(estimated.time) == len(np.unique(run.measured.time))
    np.testing.assert_allclose(estimated.q[-1, :3], run.q[-1, :3], atol=2e-3)
    np.testing.assert_allclose(estimated.com[-1], run.com[-1], atol=5e-3)
    assert estimated.com[100:].std(axis=0).max() < 1e-3
    assert np.abs(estimated.com_offset[-1]).max() < 5e-3
    np.testing.assert_allclose(estimated.dcm[-1], run.com[-1, :2], atol=8e-3)
    assert estimated.mass_ratio[-1] == pytest.approx(1.0, abs=0.02)


def test_measurements_alone(run: Run) -> None:
    """Without a pose of its own the robot begins at the origin, on its soles."""
    estimated = estimate_log(run.measured, run.robot)
    soles = [eq.frame_pose(run.robot, estimated.q[-1], f"{s}_sole") for s in "lr"]
    middle = np.mean([pose[:3, 3] for pose in soles], axis=0)
    np.testing.assert_allclose(middle, 0.0, atol=5e-3)
    with pytest.raises(EquipoiseError, match="robot="):
        estimate_log(run.measured)


def test_missing_channels_are_named(run: Run, tmp_path: Path) -> None:
    """A log without an IMU, and one foot's wrench, says so in one line."""
    robot = run.robot
    file = tmp_path / "joints.csv"
    eq.write_trajectory(run, file)
    said = "has no gyroscope and no accelerometer and no wrench of the left foot and no"
    with pytest.raises(EquipoiseError, match=said):
        estimate_log(file, robot)
