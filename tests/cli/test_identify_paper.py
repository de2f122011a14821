"""``equipoise identify ROBOT TABLE --paper``: two poses, and the CoM known a priori."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from cli.test_identify import write_table
from identification.true_robots import TrueRobot, measure, random_poses, random_truth
from said import Say

import equipoise as eq
from equipoise.identification.prior import default_prior, prior_belief
from equipoise.kinematics.stance import sole_pose
from equipoise.robot.joint_coordinates import degree_names, joint_positions


@pytest.fixture(scope="module")
def two_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Mahru I as modelled, standing and leaning forward by 5 degrees."""
    robot = eq.load("mahru-1")
    q = np.tile(robot.standing, (2, 1))
    for side in ("left", "right"):
        joint = next(n for n in robot.legs[side].joints if "ankle_pitch" in n)
        q[1, robot.model.joints[robot.joint_id(joint)].idx_q] += np.deg2rad(5.0)
    exact = TrueRobot(robot, prior_belief(robot, default_prior(robot)).mean)
    poses = measure(exact, q, np.random.default_rng(1), noisy=False)
    return write_table(tmp_path_factory.mktemp("two") / "two.csv", poses)


def test_two_poses_of_any_robot(say: Say, two_rows: Path, tmp_path: Path) -> None:
    """CoMs by the paper, the model and least squares, with equations and misprints."""
    out = tmp_path / "found"
    said = say("identify", "mahru-1", two_rows, "--paper", "--out", out)
    assert (said.status, said.err) == (0, "")
    for word in ("Eq. 10", "Eq. 18", "two poses, Eq. 14–20", "least squares", "errata"):
        assert word in said.out
    plain = json.loads((out / "summary.json").read_text())
    paper, model, fitted = plain["com_from_p_m"].values()
    np.testing.assert_allclose(paper, model, atol=1e-6)
    np.testing.assert_allclose(fitted, model, atol=1e-4)


def test_motor_currents_beside_the_model(
    say: Say, two_rows: Path, tmp_path: Path
) -> None:
    """A column of currents becomes torques; without constants a note says so."""
    knee = eq.load("mahru-1").legs["left"].joints[3]
    lines = two_rows.read_text().splitlines()
    added = (f"{knee}_current", "0.5", "0.5")
    table = tmp_path / "currents.csv"
    rows = (f"{line},{cell}\n" for line, cell in zip(lines, added, strict=True))
    table.write_text("".join(rows))
    settings = tmp_path / "motors.toml"
    settings.write_text("[actuators.default]\ntorque_constant = 0.1\ngear_ratio = 50\n")
    words = ("identify", "mahru-1", table, "--paper")
    out = tmp_path / "found"
    said = say(*words, "--settings", settings, "--out", out)
    assert said.status == 0, said.err
    assert "N K I, Eq. 4" in said.out
    torques = json.loads((out / "summary.json").read_text())["joint_torques"]
    assert torques[knee]["by_current"] == pytest.approx([2.5, 2.5])
    assert "torque_constant" in say(*words).out


def known_table(path: Path, *, scale: float = 1.0) -> Path:
    """Write joints and total CoMs, seen from the left sole, of a robot unlike Mahru."""
    robot = eq.load("mahru-1")
    rng = np.random.default_rng(71)
    values = random_truth(robot, rng).values[: 4 * len(robot.description.links)]
    q = random_poses(robot, 25, rng)
    to_sole = np.linalg.inv(sole_pose(robot, q, "left"))
    links = [own for own in robot.description.links if own.inertial is not None]
    centre = np.zeros((len(q), 3))
    for at, link in enumerate(links):
        assert link.inertial is not None
        _, *moment = values[4 * at : 4 * at + 4]
        pose = to_sole @ eq.frame_pose(robot, q, link.name)
        com = np.array(moment) / values[4 * at]
        centre += link.inertial.mass * (pose[:, :3, :3] @ com + pose[:, :3, 3])
    centre *= scale / robot.mass
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*degree_names(robot), "com_x", "com_y", "com_z"])
        for joints, place in zip(joint_positions(robot, q), centre, strict=True):
            writer.writerow([*joints.tolist(), *place.tolist()])
    return path


def test_the_com_known_a_priori(say: Say, tmp_path: Path) -> None:
    """Links' CoMs from total ones; millimetres with their unit are the same."""
    table = known_table(tmp_path / "known.csv")
    out = tmp_path / "found"
    said = say("identify", "mahru-1", table, "--paper", "--known-com", "--out", out)
    assert (said.status, said.err) == (0, "")
    assert "combinations of coordinates are determined" in said.out
    plain = json.loads((out / "summary.json").read_text())
    assert plain["com_rms_held_out_m"] < 0.2 * plain["com_rms_before_m"]
    new = eq.load(out / "identified.urdf")
    for name, own in plain["links"].items():
        inertial = new.description.link_by_name[name].inertial
        assert inertial is not None
        np.testing.assert_allclose(inertial.com_in_link, own["com_m"], atol=1e-9)
    large = known_table(tmp_path / "mm.csv", scale=1e3)
    words = ("identify", "mahru-1", large, "--paper", "--known-com")
    assert say(*words, "--units", "length=mm").status == 0
    refused = say(*words)
    assert refused.status == 2
    assert "is it in metres" in refused.err


def test_bad_words(say: Say, two_rows: Path, tmp_path: Path) -> None:
    """Rows, columns and options that do not fit are named in one line."""
    lines = two_rows.read_text().splitlines(keepends=True)
    three = tmp_path / "three.csv"
    three.write_text("".join([*lines, lines[-1]]))
    cases: list[tuple[tuple[str | Path, ...], str]] = [
        (("mahru-1", three, "--paper"), "two poses, rows A and B"),
        (("mahru-1", two_rows, "--paper", "--known-com"), "has no column com_x"),
        (("mahru-1", "--paper", "--known-com"), "ROBOT and TABLE are needed"),
        (("mahru-1", two_rows, "--known-com"), "go with --paper"),
        (("mahru-1", two_rows, "--paper", "--com-frame", "x"), "with --known-com"),
        (
            ("mahru-1", two_rows, "--paper", "--known-com", "--com-frame", "x"),
            "no frame 'x'",
        ),
        (("mahru-1", two_rows, "--paper", "--export", "json"), "--export"),
    ]
    for words, complaint in cases:
        said = say("identify", *words)
        assert said.status == 2, words
        assert complaint in said.err, said.err
        assert len(said.err.splitlines()) == 1
