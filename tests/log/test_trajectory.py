"""Joint trajectories as CSV and as ROS 2 messages, read back by others' readers."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from runs import swaying

import equipoise as eq
from equipoise.arrays import Array
from equipoise.errors import ShapeError
from equipoise.gait.motion import Motion
from equipoise.log.trajectory import trajectory_of, write_trajectory
from equipoise.robot.joint_coordinates import configurations, degree_names

EXACT = 1e-6


@pytest.fixture(scope="module")
def motion() -> Motion:
    """A walk of two steps, planned and solved."""
    robot = eq.load("humanoid")
    return eq.solve(robot, eq.fit_walk(robot, 2), dt=0.01)


def table_of(path: Path) -> tuple[list[str], Array]:
    """Return names and numbers of a CSV file."""
    with path.open(newline="") as stream:
        names = next(csv.reader(stream))
    return names, np.loadtxt(path, delimiter=",", skiprows=1)


def messages_of(path: Path) -> dict[str, Any]:
    """Return the messages of an MCAP file, one for each topic, by ROS's own decoder."""
    with path.open("rb") as stream:
        reader = make_reader(stream, decoder_factories=[DecoderFactory()])
        found = {
            channel.topic: message
            for _, channel, _, message in reader.iter_decoded_messages()
        }
    assert list(found) == ["/joint_trajectory", "/base_trajectory"]
    return found


def test_a_csv_file_replays_to_the_same_com(motion: Motion, tmp_path: Path) -> None:
    """Joints and base of the file, through the robot's kinematics."""
    path = tmp_path / "walk.csv"
    write_trajectory(motion, path)
    names, table = table_of(path)
    joints = degree_names(motion.robot)
    count = len(joints)
    assert names[0] == "time"
    assert names[1 : 1 + count] == [f"{name}.position" for name in joints]
    assert names[1 + count : 1 + 2 * count] == [f"{name}.velocity" for name in joints]
    assert names[1 + 2 * count : 1 + 3 * count] == [f"{n}.torque" for n in joints]
    assert names[1 + 3 * count :] == [
        f"base.{part}" for part in ("x", "y", "z", "qx", "qy", "qz", "qw")
    ]
    np.testing.assert_allclose(table[:, 0], motion.time, atol=1e-12)
    q = configurations(motion.robot, table[:, -7:], table[:, 1 : 1 + count])
    assert np.abs(eq.com(motion.robot, q) - motion.com).max() < EXACT
    np.testing.assert_allclose(
        table[:, 1 + count : 1 + 2 * count], motion.v[:, 6:], atol=1e-9
    )
    np.testing.assert_allclose(
        table[:, 1 + 2 * count : 1 + 3 * count], motion.joint_torque, atol=1e-8
    )


def test_an_mcap_file_replays_to_the_same_com(motion: Motion, tmp_path: Path) -> None:
    """ROS 2 messages, decoded by mcap-ros2-support, are the motion bit for bit."""
    path = tmp_path / "walk.mcap"
    write_trajectory(motion, path)
    found = messages_of(path)
    joints, base = found["/joint_trajectory"], found["/base_trajectory"]
    assert tuple(joints.joint_names) == degree_names(motion.robot)
    assert base.joint_names == [motion.robot.description.root]
    time = [
        p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in joints.points
    ]
    np.testing.assert_allclose(time, motion.time, atol=1e-9)
    position = np.array([point.positions for point in joints.points])
    poses = [point.transforms[0] for point in base.points]
    pose = np.array(
        [
            [getattr(p.translation, a) for a in "xyz"]
            + [getattr(p.rotation, a) for a in "xyzw"]
            for p in poses
        ]
    )
    q = configurations(motion.robot, pose, position)
    assert np.abs(eq.com(motion.robot, q) - motion.com).max() < EXACT
    np.testing.assert_array_equal(
        [point.velocities for point in joints.points], motion.v[:, 6:]
    )
    np.testing.assert_array_equal(
        [point.effort for point in joints.points], motion.joint_torque
    )
    turning = [point.velocities[0].angular.z for point in base.points]
    np.testing.assert_array_equal(turning, motion.v[:, 5])


def test_a_trajectory_in_csv_is_a_log(motion: Motion, tmp_path: Path) -> None:
    """Our own reader shows it: the same CoM, torques included."""
    path = tmp_path / "walk.csv"
    write_trajectory(motion, path)
    run = eq.open_run(path, motion.robot)
    assert np.abs(run.com - motion.com).max() < EXACT
    np.testing.assert_allclose(run.torque, motion.joint_torque, atol=1e-8)


@pytest.mark.parametrize("ending", [".csv", ".mcap"])
def test_a_run_is_written_as_it_was(ending: str, tmp_path: Path) -> None:
    """True joints and actuator torques; times of an MCAP count from the first."""
    run = swaying(seconds=0.3)
    path = tmp_path / f"run{ending}"
    write_trajectory(run, path)
    if ending == ".csv":
        _, table = table_of(path)
        torque = table[:, 1 + 2 * run.torque.shape[1] : -7]
    else:
        points = messages_of(path)["/joint_trajectory"].points
        torque = np.array([point.effort for point in points])
    np.testing.assert_allclose(torque, run.torque, atol=1e-9)


@pytest.mark.parametrize(
    ("rate", "rows"), [(1000.0, 101), (100.0, 101), (50.0, 51), (33.0, 34), (1.0, 2)]
)
def test_a_rate_takes_rows_that_are_there(rate: float, rows: int) -> None:
    """None is interpolated, the first and the last are among them."""
    whole = trajectory_of(swaying(seconds=1.0, rate=100.0))
    thin = whole.at_rate(rate)
    assert len(thin.time) in (rows, rows + 1)
    assert set(thin.time) <= set(whole.time)
    assert (thin.time[0], thin.time[-1]) == (whole.time[0], whole.time[-1])
    apart = np.abs(np.diff(thin.time)[:-1] - 1.0 / min(rate, 100.0))
    assert (apart <= 0.01 + 1e-9).all()
    at = np.searchsorted(whole.time, thin.time)
    np.testing.assert_array_equal(thin.q, whole.q[at])


def test_a_single_row_is_a_trajectory() -> None:
    """A rate leaves it as it is."""
    one = trajectory_of(swaying(seconds=0.0))
    assert len(one.at_rate(10.0).time) == 1


def test_bad_input_is_refused(motion: Motion, tmp_path: Path) -> None:
    """Formats, rates, files that exist, arrays that do not fit."""
    with pytest.raises(eq.EquipoiseError, match=r"ends in \.csv or \.mcap"):
        write_trajectory(motion, tmp_path / "walk.txt")
    for rate in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(eq.EquipoiseError, match="must be positive"):
            write_trajectory(motion, tmp_path / "walk.csv", rate=rate)
    (tmp_path / "there.csv").write_text("mine")
    with pytest.raises(eq.EquipoiseError, match="exists already"):
        write_trajectory(motion, tmp_path / "there.csv")
    wrong = SimpleNamespace(
        robot=motion.robot,
        time=motion.time,
        q=motion.q,
        v=motion.v[:, 1:],
        joint_torque=motion.joint_torque,
    )
    with pytest.raises(ShapeError, match="v has shape"):
        trajectory_of(wrong)
    assert [path.name for path in tmp_path.iterdir()] == ["there.csv"]
    write_trajectory(motion, tmp_path / "there.csv", replace=True)


def test_the_same_motion_gives_the_same_bytes(motion: Motion, tmp_path: Path) -> None:
    """Nothing in the files depends on when they are written."""
    for ending in (".csv", ".mcap"):
        paths = [tmp_path / f"{name}{ending}" for name in "ab"]
        for path in paths:
            write_trajectory(replace(motion), path)
        assert paths[0].read_bytes() == paths[1].read_bytes()
