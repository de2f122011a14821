"""Joint torques from motor currents, beside those that hold a standing robot."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from cli.test_identify import write_table
from identification.true_robots import TrueRobot, measure, random_poses

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.identification.paper.motor_currents import (
    standing_torques,
    table_torques,
    torques_of_currents,
)
from equipoise.identification.paper.validation import standing_statics
from equipoise.identification.prior import default_prior, prior_belief
from equipoise.identification.statics import MeasuredPoses
from equipoise.robot.joint_coordinates import degree_names

CONSTANT, RATIO = 0.05, -100.0


@pytest.fixture(scope="module")
def poses() -> MeasuredPoses:
    """Mahru I as modelled, whose motors' constants are known."""
    robot = eq.load("mahru-1")
    motors = [
        replace(own, torque_constant=CONSTANT, gear_ratio=RATIO)
        for own in robot.actuators
    ]
    robot = replace(robot, actuators=tuple(motors))
    exact = TrueRobot(robot, prior_belief(robot, default_prior(robot)).mean)
    rng = np.random.default_rng(81)
    return measure(exact, random_poses(robot, 4, rng), rng, noisy=False)


def test_torques_are_those_of_statics() -> None:
    """With the wrenches of a pose's statics its torques come back, base and all."""
    robot = eq.load("muscolo-biped")
    q = robot.posture("configuration_b")
    still = standing_statics(robot, q, internal=np.arange(12.0))
    wrenches = {
        side: np.concatenate([foot.force, foot.torque])[None]
        for side, foot in (("right", still.foot_0), ("left", still.foot_1))
    }
    poses = MeasuredPoses(robot, q[None], wrenches, np.ones(1, dtype=np.int64))
    expected = [still.torques[name] for name in degree_names(robot)]
    np.testing.assert_allclose(standing_torques(poses)[0], expected, atol=1e-9)


def test_currents_in_a_table(poses: MeasuredPoses, tmp_path: Path) -> None:
    """Currents of the torques that hold the robot agree with the model."""
    names = list(degree_names(poses.robot))
    torques = standing_torques(poses)
    table = write_table(tmp_path / "poses.csv", poses)
    rows = list(csv.reader(table.open()))
    chosen = poses.robot.legs["left"].joints[:2]
    for joint in chosen:
        current = torques[:, names.index(joint)] / (CONSTANT * RATIO)
        rows[0].append(f"{joint}_current")
        for row, value in zip(rows[1:], current.tolist(), strict=True):
            row.append(value)
    with table.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    shown = replace(poses, start_s=np.arange(len(poses), dtype=float))
    found = table_torques(shown.take([0, 2, 3]), table)
    assert [own.joint for own in found.checks] == list(chosen)
    assert not found.notices
    for own in found.checks:
        assert own.rms < 1e-9
        assert len(own.measured) == 3
    bare = replace(shown, robot=eq.load("mahru-1"))
    missing = table_torques(bare, table)
    assert not missing.checks
    assert "torque_constant" in missing.notices[0]


def test_a_constant_that_is_missing(mahru: eq.Robot) -> None:
    """Is asked for by the joint's name."""
    joint = mahru.legs["left"].joints[0]
    with pytest.raises(EquipoiseError, match=rf"\[actuators\.{joint}\]"):
        torques_of_currents(mahru, {joint: np.ones(2)})


def test_constants_in_settings(tmp_path: Path) -> None:
    """They are read from TOML, written with the robot, and come back."""
    settings = tmp_path / "motors.toml"
    settings.write_text(
        "[actuators.default]\ntorque_constant = 0.05\n"
        "[actuators.left_knee]\ngear_ratio = -80\n",
        encoding="utf-8",
    )
    robot = eq.load("humanoid", settings)
    eq.export_robot(robot, tmp_path / "robot.urdf")
    again = eq.load(tmp_path / "robot.urdf")
    for own in (robot, again):
        knee = next(a for a in own.actuators if a.joint == "left_knee")
        other = next(a for a in own.actuators if a.joint == "right_knee")
        assert (knee.torque_constant, knee.gear_ratio) == (0.05, -80.0)
        assert (other.torque_constant, other.gear_ratio) == (0.05, 1.0)
    torque = torques_of_currents(robot, {"left_knee": np.array([2.0])})
    assert torque["left_knee"] == pytest.approx([-8.0])
    settings.write_text("[actuators.default]\ngear_ratio = 0", encoding="utf-8")
    with pytest.raises(EquipoiseError, match="must not be zero"):
        eq.load("humanoid", settings)
