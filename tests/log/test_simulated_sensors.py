from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

import equipoise as eq
from equipoise.control.blocks import Hold, OpenLoop
from equipoise.control.signals import Command, Measurement, State, Target
from equipoise.kinematics.stance import sole_pose
from equipoise.log.open_run import is_run, open_run, read_recording
from equipoise.log.recordings.match_to_robot import foot_wrenches
from equipoise.log.recordings.recording import Recording
from equipoise.log.recordings.replay import recorded_run
from equipoise.log.recordings.topic_series import recording_of_run
from equipoise.log.run import Run
from equipoise.simulation.loop import ControlLoop, Periods
from equipoise.simulation.native import NativeEngine
from equipoise.simulation.noise import Noise
from equipoise.simulation.recorder import make_run
from equipoise.simulation.sensors import Encoders, FootSensors, Imu, SensorSuite
from equipoise.simulation.world import make_world

WORLD = make_world(eq.load("humanoid"))
ROBOT = WORLD.robot
JOINTS = ROBOT.nv - 6
TILT = pin.SE3(pin.exp3(np.array([0.3, -1.0, 2.0])), np.array([0.1, 0.2, -0.3]))


class Guess:
    """An estimator that knows the joints, and believes the base to stay."""

    def reset(self, start: State) -> None:
        """Remember where the base was."""
        self._base = np.array(start.q[:7])

    def estimate(self, measurement: Measurement, command: Command) -> State:
        """Return what is known."""
        q = np.concatenate([self._base, measurement.position])
        v = np.concatenate([np.zeros(6), measurement.velocity])
        return State(measurement.time, q, v)


class Planned:
    """A reference in which everything is planned from 0.05 s on."""

    def reset(self) -> None:
        """Nothing is remembered."""

    def sample(self, time: float) -> Target:
        """Return what is wanted."""
        still = np.zeros(JOINTS)
        position = eq.joint_positions(ROBOT, ROBOT.standing)
        if time < 0.05:
            return Target(position, still, still)
        here = np.array([time, 0.0, 1.0])
        pose = np.array(sole_pose(ROBOT, ROBOT.standing, "left"))
        return Target(
            position,
            still,
            still + 1e-3,
            com=here,
            com_velocity=here + 1.0,
            com_acceleration=here + 2.0,
            dcm=here + 3.0,
            zmp=here + 4.0,
            soles={"left": pose, "right": np.array(TILT.homogeneous)},
            sole_twists={"left": np.arange(6.0), "right": np.arange(6.0) + time},
            sole_accelerations={"left": np.zeros(6), "right": np.zeros(6)},
            support="right",
            torso=np.array(TILT.rotation),
        )


def simulated(
    at: str = "ankle",
    *,
    seconds: float = 0.2,
    reference: object = None,
    estimator: bool = False,
    periods: Periods | None = None,
    noise: float = 1.0,
) -> tuple[Run, SensorSuite]:
    """Return a run of a humanoid that stands and has sensors, and these."""
    suite = SensorSuite(
        WORLD,
        Encoders(Noise(1e-4 * noise), Noise(1e-3 * noise)),
        FootSensors(Noise(noise), Noise(0.02 * noise), at=at),  # type: ignore[arg-type]
        Imu("base_link", TILT.homogeneous, Noise(0.01 * noise)),
    )
    engine = NativeEngine(WORLD)
    engine.reset(ROBOT.standing)
    loop = ControlLoop(
        reference or Hold(eq.joint_positions(ROBOT, ROBOT.standing)),  # type: ignore[arg-type]
        OpenLoop(),
        engine,
        periods or Periods(control=2, reference=2, sensors=2, record=10),
        sensors=suite,
        estimator=Guess() if estimator else None,
    )
    loop.run(round(seconds / engine.dt))
    return make_run(WORLD, loop.records(), suite), suite


def assert_alike(found: Recording, other: Recording) -> None:
    """Two recordings hold the same numbers, bit for bit."""
    np.testing.assert_array_equal(found.time, other.time)
    for name in ("joints", "velocity", "effort"):
        own, its = getattr(found, name), getattr(other, name)
        assert set(own) == set(its)
        for joint, values in own.items():
            np.testing.assert_array_equal(values, its[joint])
    assert set(found.wrenches) == set(other.wrenches)
    for name, wrench in found.wrenches.items():
        assert wrench.frame == other.wrenches[name].frame
        np.testing.assert_array_equal(wrench.time, other.wrenches[name].time)
        np.testing.assert_array_equal(wrench.values, other.wrenches[name].values)
    assert set(found.static_frames) == set(other.static_frames)
    for name, (parent, pose) in found.static_frames.items():
        assert other.static_frames[name].parent == parent
        np.testing.assert_array_equal(
            other.static_frames[name].transform_to_parent, pose
        )
    assert (found.base_pose is None) == (other.base_pose is None)
    if found.base_pose is not None:
        np.testing.assert_array_equal(found.base_pose, other.base_pose)
    assert found.base_source == other.base_source
    assert found.notices == other.notices


def test_run_holds_what_went_round_the_loop(tmp_path):
    """Measurements, commands and estimates of a simulation come back from its log."""
    run, suite = simulated(estimator=True)
    measured = run.measured
    assert measured.feet_at == "ankle"
    assert measured.imu_frame == "pelvis"
    # 2 ms control period: the newest is as old
    np.testing.assert_allclose(run.time - measured.time, 0.002, rtol=0, atol=1e-12)
    off = measured.position - eq.joint_positions(ROBOT, run.q)
    assert 5e-5 < off.std() < 2e-4
    np.testing.assert_array_equal(run.estimates["q"][:, 7:], measured.position)
    held = eq.joint_positions(ROBOT, ROBOT.standing)
    np.testing.assert_array_equal(
        run.commands["position"], np.tile(held, (len(run.time), 1))
    )
    run.save(tmp_path / "out")
    back = eq.open_run(tmp_path / "out", ROBOT)
    np.testing.assert_array_equal(back.q, run.q)
    np.testing.assert_array_equal(back.measured.position, measured.position)
    np.testing.assert_array_equal(back.measured.feet["left"], measured.feet["left"])
    np.testing.assert_array_equal(back.estimates["v"], run.estimates["v"])
    np.testing.assert_allclose(
        back.measured.transform_imu_to_frame, TILT.homogeneous, atol=1e-15
    )
    assert is_run(tmp_path / "out")
    np.testing.assert_array_equal(open_run(tmp_path / "out").com, run.com)
    assert suite.feet.at == back.measured.feet_at


def test_without_sensors_nothing_is_measured():
    """A run without sensors has commands, and neither measurements nor estimates."""
    run = eq.simulate(WORLD, Planned(), 0.1)
    assert run.measured is None
    assert not run.estimates
    np.testing.assert_array_equal(
        run.commands["torque"][-1], run.references["joint_torque"][-1]
    )
    hold = Hold(eq.joint_positions(ROBOT, ROBOT.standing), com=np.ones(3))
    run = eq.simulate(WORLD, hold, 0.1)
    at_rest = {"com_velocity", "com_acceleration", "dcm"}
    assert set(run.references) == {"joint_position", "com"} | at_rest


def test_all_that_was_planned_is_wanted():
    """Fields of a target become references; NaN before anything was planned.

    A CoM that was not planned throughout is left out.
    """
    run, _ = simulated(reference=Planned())
    wanted = run.references
    assert set(wanted) == {
        "joint_position",
        "joint_torque",
        "com_velocity",
        "com_acceleration",
        "dcm",
        "zmp",
        "left_sole",
        "left_sole_twist",
        "right_sole",
        "right_sole_twist",
        "support",
        "torso",
    }
    planned = run.time > 0.0499
    assert 0 < planned.sum() < len(planned)
    for name in set(wanted) - {"joint_position", "joint_torque"}:
        known = np.isfinite(wanted[name].reshape(len(run.time), -1)).all(axis=1)
        np.testing.assert_array_equal(known, planned)
    np.testing.assert_allclose(wanted["zmp"][planned, 0], run.time[planned] + 4.0)
    np.testing.assert_array_equal(wanted["support"][planned], 2.0)
    last = pin.XYZQUATToSE3(wanted["right_sole"][-1])
    np.testing.assert_allclose(last.homogeneous, TILT.homogeneous, atol=1e-12)
    turn = pin.XYZQUATToSE3(np.append(np.zeros(3), wanted["torso"][-1])).rotation
    np.testing.assert_allclose(turn, TILT.rotation, atol=1e-12)


@pytest.mark.parametrize("at", ["sole", "ankle"])
@pytest.mark.parametrize("estimator", [False, True])
def test_recording_is_what_was_measured(tmp_path, at, estimator):
    """A log with sensors reads as a real robot's: no truth, references or commands."""
    run, _ = simulated(at, estimator=estimator)
    run.save(tmp_path / "out")
    found = read_recording(tmp_path / "out")
    positions = np.stack(list(found.joints.values()), axis=1)
    np.testing.assert_array_equal(positions, run.measured.position)
    efforts = np.stack(list(found.effort.values()), axis=1)
    np.testing.assert_array_equal(efforts, run.torque)
    assert set(found.wrenches) == {"/foot/left/wrench", "/foot/right/wrench"}
    for side in ("left", "right"):
        wrench = found.wrenches[f"/foot/{side}/wrench"]
        assert wrench.frame == f"{side[0]}_{at}"
        np.testing.assert_array_equal(wrench.values, run.measured.feet[side])
    if estimator:
        assert found.base_source == "/odom"
        expected = run.estimates["q"][:, :7]
        np.testing.assert_allclose(found.base_pose, expected, rtol=0, atol=1e-15)
    else:
        assert found.base_pose is None
    assert_alike(recording_of_run(run), found)


@pytest.mark.parametrize("sensors", [4, 20, 50, 500])
def test_sensors_that_are_slower_than_the_log(tmp_path, sensors):
    """A measurement that is logged twice counts once, by the clock of the headers."""
    run, _ = simulated(
        periods=Periods(control=2, reference=2, sensors=sensors, record=10)
    )
    run.save(tmp_path / "out")
    found = read_recording(tmp_path / "out")
    assert_alike(recording_of_run(run), found)
    if sensors < 500:
        taken = np.unique(run.measured.time)
        np.testing.assert_allclose(found.time, taken - taken[0], atol=1e-12)
        assert not any("times of the log" in notice for notice in found.notices)


def test_no_recording_without_sensors():
    """The truth alone is not a measurement."""
    run = replace(simulated()[0], measured=None)
    with pytest.raises(eq.EquipoiseError, match="run of humanoid has no sensors"):
        recording_of_run(run)


@pytest.mark.parametrize("at", ["sole", "ankle"])
def test_ground_wrench_of_a_standing_robot(at):
    """Sensors without noise measure the ground's wrench, the foot's weight added."""
    run, _ = simulated(at, seconds=1.5, noise=0.0)
    recording = recording_of_run(run)
    notices: list[str] = []
    found = foot_wrenches(recording, ROBOT, run.q, notices)
    for side, wrench in found.items():
        # the newest measurement is 2 ms old
        still = run.foot_wrench[side][-20:] - wrench[-20:]
        assert np.abs(still[:, :3]).max() < 0.5
        assert np.abs(still[:, 3:]).max() < 0.05
    added = [text for text in notices if "the foot's weight, 8.0 N" in text]
    assert len(added) == (2 if at == "ankle" else 0)
    total = sum(wrench[-1, 2] for wrench in found.values())
    assert total == pytest.approx(ROBOT.mass * 9.80665, rel=1e-3)


def test_replay_of_what_was_measured(tmp_path):
    """Without an estimator the base follows from the legs, as of a real robot."""
    run, _ = simulated(seconds=0.5)
    run.save(tmp_path / "out")
    again = recorded_run(read_recording(tmp_path / "out"), ROBOT)
    assert again.summary["base_from"] == "legs"
    np.testing.assert_allclose(again.com[-1], run.com[-1], atol=3e-3)
