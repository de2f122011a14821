from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.gait.arm_motion import ArmMotion
from equipoise.simulation.dance import EMBEDDED, HELD, dance, read_arm_motion
from equipoise.simulation.feedback import Feedback


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["native", "mujoco"])
def test_mahru_dances(engine):
    """CoM within 5 mm and ZMP within 10 mm in 10 s of dance; worse with legs held."""
    done = dance(eq.load("mahru-1"), engine=engine, feedback=False)
    results, held = done.run.summary, done.held.summary
    assert results["achieved"], results["sentence"]
    assert results["duration_s"] == pytest.approx(10.0)
    assert results["kinematic_com_error_m"] <= 1e-4
    assert results["com_error_m"]["max"] <= 5e-3
    assert max(results["zmp_deviation_m"].values()) <= 10e-3
    assert held["com_error_m"]["max"] > 10.0 * results["com_error_m"]["max"]
    assert max(held["zmp_deviation_m"].values()) > 10e-3
    assert set(results["compared"]) == {EMBEDDED, HELD}
    # what the joints were told is what they did: servos followed
    speeds = np.abs(done.run.v[:, 6:]).max(axis=0)
    assert (speeds >= 2.0).sum() >= 8


@pytest.mark.slow
def test_mahru_dances_with_sensors_and_feedback():
    """CoM within 5 mm and ZMP within 10 mm in 10 s, by the paper's law; held worse."""
    done = dance(eq.load("mahru-1"))
    results, held = done.run.summary, done.held.summary
    assert (results["law"], results["feedback"]) == ("paper", "sensors")
    assert results["achieved"], results["sentence"]
    assert results["duration_s"] == pytest.approx(10.0)
    assert results["com_error_m"]["max"] <= 5e-3
    assert max(results["zmp_deviation_m"].values()) <= 10e-3
    assert held["com_error_m"]["max"] > 3.0 * results["com_error_m"]["max"]


@pytest.mark.parametrize("true_state", [False, True])
def test_feedback_is_named(true_state):
    """What it knows, and its law, is part of the results."""
    robot = eq.load("mahru-1")
    done = dance(robot, short(robot), law="stabiliser", true_state=true_state)
    results = done.run.summary
    assert results["feedback"] == ("true state" if true_state else "sensors")
    assert results["law"] == "stabiliser"
    assert results["fell_at_s"] is None
    assert (done.run.measured is None) == true_state


def short(robot: eq.Robot) -> ArmMotion:
    """Return a short motion of one arm."""
    time = np.linspace(0.0, 0.4, 21)
    bend = 0.3 * np.sin(np.pi * time / 0.4) ** 2
    joint = next(iter(robot.arms["left"].joints))
    return ArmMotion(time, (joint,), bend[:, None], "test")


class Counting(eq.Controller[eq.State]):
    """Hands on what is wanted, and counts."""

    count = 0

    def control(self, state: eq.State, target: eq.Target) -> eq.Command:
        """Return the target."""
        self.count += 1
        assert target.support == "both"
        return eq.Command(target.position, target.velocity, target.torque)


def test_a_controller_is_asked():
    """Both runs ask it once in its period."""
    robot = eq.load("mahru-1")
    controller = Counting()
    told: list[float] = []
    done = dance(
        robot,
        short(robot),
        feedback=Feedback(controller, None, None, 5e-3),
        progress=told.append,
    )
    assert controller.count == 2 * 80
    assert done.run.summary["fell_at_s"] is None
    assert done.run.summary["law"] == "own"
    assert max(told) > 0.7


def write(path: Path, text: str) -> Path:
    """Write a file and return it."""
    path.write_text(text, encoding="utf-8")
    return path


def test_a_csv_file_is_an_arm_motion(tmp_path):
    """Times from zero, joints by name, at rest at both ends."""
    robot = eq.load("mahru-1")
    text = "time,left_elbow,head_yaw\n1,0,0\n1.5,0.4,0.1\n2,0,0\n"
    motion = read_arm_motion(write(tmp_path / "arms.csv", text), robot)
    assert motion.joints == ("left_elbow", "head_yaw")
    assert motion.duration == 1.0
    np.testing.assert_allclose(motion.at([0.5]), [[0.4, 0.1]])
    slope = (motion.at([1e-6]) - motion.at([0.0])) / 1e-6
    np.testing.assert_allclose(slope, 0.0, atol=1e-4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("left_elbow,head_yaw\n0,0\n1,0\n", "has no column 'time'"),
        ("time,left_elbow\n0,up\n1,down\n", "'left_elbow' is left out"),
        ("time,left_elbow\n0,0\n", "1 rows"),
        ("time,left_elbow\n0,0\n1,0\n1,0\n", "row 3 below the head"),
        ("time,left_elbow\n0,0\n1,\n2,0\n", "'left_elbow' has no number in row 2"),
    ],
)
def test_bad_files_are_refused(tmp_path, text, message):
    """Which column or row is wrong."""
    path = write(tmp_path / "arms.csv", text)
    with pytest.raises(EquipoiseError, match=message):
        read_arm_motion(path, eq.load("mahru-1"))
