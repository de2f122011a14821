from __future__ import annotations

import numpy as np
import pytest
from foreign_bags import START, Sent, motion, write_db3_bag, write_mcap_bag
from runs import swaying

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.log.mcap_format.mcap_reader import read_run
from equipoise.log.open_run import log_contents, open_run
from equipoise.robot.formats.export import to_urdf

RUN = swaying()


def sent_by(robot: eq.Robot) -> list[Sent]:
    """Return the joint states of a robot that stands for a second."""
    time = np.arange(0.0, 1.0, 0.02)
    return list(motion(robot, time, np.tile(robot.standing, (len(time), 1))))


def test_run_folder_and_log(tmp_path):
    """A run is read as it was written, from its folder or its log."""
    RUN.save(tmp_path / "out")
    for path in (tmp_path / "out", tmp_path / "out" / "run.mcap"):
        found = open_run(path)
        np.testing.assert_array_equal(found.com, RUN.com)
        assert dict(found.summary) == dict(RUN.summary)
    again = open_run(tmp_path / "out", RUN.robot)
    np.testing.assert_array_equal(again.q, RUN.q)


def test_run_that_is_cut_off(tmp_path):
    """What is whole is opened, with a notice."""
    swaying(seconds=3.0, rate=200.0).save(tmp_path / "out")
    log = tmp_path / "out" / "run.mcap"
    log.write_bytes(log.read_bytes()[: log.stat().st_size // 2])
    found = open_run(tmp_path / "out")
    assert "of 3.00 s are whole" in found.summary["notices"][-1]
    assert 0.5 < found.time[-1] < 2.0


def test_run_whose_summary_is_broken(tmp_path):
    """A log is played without its broken summary, and a notice says so."""
    folder = swaying(seconds=0.1, summary={"sentence": "it sways"}).save(tmp_path / "a")
    (folder / "summary.json").write_text('{"sentence":', encoding="utf-8")
    with pytest.raises(EquipoiseError, match=r"^\S*summary\.json: is not JSON"):
        read_run(folder)
    found = open_run(folder)
    assert len(found.time) == 11
    (notice,) = found.summary["notices"]
    assert "summary.json: is not JSON" in notice
    assert notice in log_contents(folder).notices


def test_run_of_another_robot(tmp_path):
    """The joint that the log lacks is named."""
    RUN.save(tmp_path / "out")
    with pytest.raises(EquipoiseError, match="is a log of another robot: joint '"):
        open_run(tmp_path / "out", eq.load("three-link"))


@pytest.mark.parametrize("ending", ["mcap", "db3"])
def test_bag_with_a_robot(tmp_path, ending):
    """A real robot's bag is replayed on the robot that is named."""
    robot = eq.load("humanoid")
    write = {"mcap": write_mcap_bag, "db3": write_db3_bag}[ending]
    file = write(tmp_path / f"bag.{ending}", sent_by(robot))
    found = open_run(file, robot)
    assert found.summary["verb"] == "replay"
    np.testing.assert_allclose(found.q[-1], robot.standing, atol=1e-9)
    with pytest.raises(EquipoiseError, match=r"bag\..*name the robot: robot=…"):
        open_run(file)


def test_bag_that_describes_its_robot(tmp_path):
    """/robot_description is used where no robot is named."""
    robot = eq.load("humanoid")
    message = {"data": to_urdf(robot.description)}
    described = Sent("/robot_description", "std_msgs/String", message, START)
    file = write_mcap_bag(tmp_path / "bag.mcap", [described, *sent_by(robot)])
    found = open_run(file)
    assert found.robot.name == "humanoid"
    np.testing.assert_allclose(found.com[-1, 2], eq.com(robot, robot.standing)[2])


def test_csv_with_a_robot(tmp_path):
    """A table with a column for each leg joint is enough."""
    robot = eq.load("itu-biped")
    names = [joint for leg in robot.legs.values() for joint in leg.joints]
    rows = [",".join(["t", *names])]
    rows += [",".join([f"{0.1 * at:.1f}"] + ["0.0"] * len(names)) for at in range(5)]
    (tmp_path / "a.csv").write_text("\n".join(rows), encoding="utf-8")
    found = open_run(tmp_path / "a.csv", robot)
    assert len(found.time) == 5
    with pytest.raises(EquipoiseError, match="describes no robot; name the robot"):
        open_run(tmp_path / "a.csv")


def test_what_is_not_a_run(tmp_path):
    """One line that names what is missing."""
    with pytest.raises(EquipoiseError, match="no such file or folder"):
        open_run(tmp_path / "nowhere")
    with pytest.raises(
        EquipoiseError, match=r"is not the folder of a run or a ROS 2 b"
    ):
        open_run(tmp_path)
    (tmp_path / "summary.json").write_text("{}", encoding="utf-8")
    with pytest.raises(
        EquipoiseError, match=r"not the folder of a run: it has no run\.mcap"
    ):
        open_run(tmp_path)
    (tmp_path / "notes.txt").write_text("hello", encoding="utf-8")
    with pytest.raises(EquipoiseError, match="is not a CSV file"):
        open_run(tmp_path / "notes.txt")
    (tmp_path / "run.mcap").write_bytes(b"")
    with pytest.raises(EquipoiseError, match="is not an MCAP file"):
        open_run(tmp_path)
