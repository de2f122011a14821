from __future__ import annotations

import os
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pinocchio as pin
import pytest
from foreign_bags import START, motion, wrench, write_mcap_bag
from hypothesis import given
from hypothesis import strategies as st
from runs import GRAVITY, swaying

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.kinematics.frames import velocities
from equipoise.kinematics.stance import sole_pose
from equipoise.log.open_run import read_recording
from equipoise.log.recordings import replay
from equipoise.log.recordings.leg_odometry import stance_is_left
from equipoise.log.recordings.match_to_robot import foot_wrenches
from equipoise.log.recordings.recording import MeasuredWrench, Recording
from equipoise.log.recordings.replay import recorded_run
from equipoise.robot.joint_coordinates import degree_names

SIDES = ("left", "right")


class Walk(NamedTuple):
    """Four steps of the humanoid, joints that follow them exactly, n rows."""

    robot: eq.Robot
    time: np.ndarray
    q: np.ndarray
    zmp: np.ndarray


@cache
def walk() -> Walk:
    """Return the walk at about 100 Hz."""
    robot = eq.load("humanoid")
    path = eq.solve(robot, eq.plan_walk(robot, steps=4))
    every = round(0.01 / (path.time[1] - path.time[0]))
    return Walk(robot, path.time[::every], path.q[::every], path.zmp_planned[::every])


def carried() -> dict[str, np.ndarray]:
    """Return wrenches of the soles of the walk if the ZMP is where it was planned."""
    path = walk()
    weight = path.robot.mass * GRAVITY
    left, right = (sole_pose(path.robot, path.q, s)[:, :2, 3] for s in SIDES)
    apart = left - right
    fraction = np.sum((path.zmp - right) * apart, axis=1) / np.sum(apart**2, axis=1)
    fraction = np.clip(fraction, 0.0, 1.0)
    nothing = np.zeros_like(fraction)
    loads = dict(
        zip(SIDES, (weight * fraction, weight * (1.0 - fraction)), strict=True)
    )
    return {
        side: np.stack([nothing, nothing, load, nothing, nothing, nothing], axis=1)
        for side, load in loads.items()
    }


@pytest.fixture(scope="module")
def walked(tmp_path_factory) -> dict[bool, Recording]:
    """The walk as a robot without odometry would log it, with and without loads."""
    path, folder = walk(), tmp_path_factory.mktemp("walked")
    sent = list(motion(path.robot, path.time, path.q))
    without = read_recording(write_mcap_bag(folder / "without.mcap", sent))
    for side, values in carried().items():
        for when, row in zip(path.time, values, strict=True):
            stamp = START + round(float(when) * 1e9)
            sent.append(wrench(stamp, f"/{side}_ft", f"{side[0]}_sole", row))
    return {
        False: without,
        True: read_recording(write_mcap_bag(folder / "with.mcap", sent)),
    }


def noted(run: eq.Run, words: str) -> bool:
    """Whether a notice holds the words."""
    return any(words in notice for notice in run.summary["notices"])


@pytest.mark.parametrize("loads", [True, False])
def test_walk_without_odometry(walked, loads):
    """Legs alone determine the path: CoM and feet to millimetres over four steps."""
    path = walk()
    run = recorded_run(walked[loads], path.robot)
    # the walk too begins with the middle of the soles at the origin, facing x
    error = np.linalg.norm(run.com - eq.com(path.robot, path.q), axis=1)
    assert error.max() < 2e-3
    for side in ("left", "right"):
        strayed = sole_pose(path.robot, run.q, side) - sole_pose(
            path.robot, path.q, side
        )
        assert np.abs(strayed[:, :3, 3]).max() < 4e-3
    assert run.summary["base_from"] == "legs"
    assert noted(run, "the more loaded foot" if loads else "the lower foot")
    assert run.supported.all() == loads


def test_lowest_corner_is_on_the_ground(walked):
    """In every row the robot stands on z = 0, on a corner of a sole."""
    path = walk()
    run = recorded_run(walked[False], path.robot)
    heights = []
    for side, sole in path.robot.soles.items():
        pose = sole_pose(path.robot, run.q, side)
        flat = np.hstack(
            [sole.polygon_in_sole, np.zeros((len(sole.polygon_in_sole), 1))]
        )
        heights.append((flat @ np.swapaxes(pose[:, :3, :3], 1, 2))[..., 2])
        heights[-1] += pose[:, None, 2, 3]
    np.testing.assert_allclose(np.hstack(heights).min(axis=1), 0.0, atol=1e-12)


def test_zmp_of_the_wrenches(walked):
    """The ZMP comes from both feet, lies in their polygon and carries the weight."""
    path = walk()
    run = recorded_run(walked[True], path.robot)
    total = sum(values[:, 2] for values in run.foot_wrench.values())
    np.testing.assert_allclose(total, path.robot.mass * GRAVITY, rtol=1e-9)
    left, right = (sole_pose(path.robot, run.q, side) for side in ("left", "right"))
    on_left = (run.foot_wrench["left"][:, 2] / total)[:, None]
    expected = left[:, :3, 3] * on_left + right[:, :3, 3] * (1 - on_left)
    np.testing.assert_allclose(run.zmp, expected, atol=1e-9)
    assert run.zmp_margin.min() > 0.0


def test_velocities_are_those_of_the_motion():
    """Differences at uneven times give the velocities of the joints."""
    path = walk()
    kept = np.sort(np.random.default_rng(3).permutation(len(path.time))[::2])
    found = velocities(path.robot, path.q[kept], path.time[kept])
    even = velocities(path.robot, path.q, float(path.time[1] - path.time[0]))
    assert np.abs(found - even[kept])[2:-2].mean() < 5e-3


def test_own_run_gives_itself_back(tmp_path):
    """A simulated run replayed on its robot: base, CoM, wrenches and efforts."""
    wrenches = {
        side: np.tile([0, 0, 0.5 * w, 0, 0, 0], (101, 1))
        for side, w in dict.fromkeys(("left", "right"), 40.0 * GRAVITY).items()
    }
    run = swaying(foot_wrench=wrenches)
    run.save(tmp_path / "out")
    back = recorded_run(read_recording(tmp_path / "out"), run.robot)
    np.testing.assert_allclose(back.q, run.q, rtol=0, atol=1e-14)
    np.testing.assert_allclose(back.com, run.com, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(back.torque, run.torque)
    for side, values in run.foot_wrench.items():
        np.testing.assert_allclose(back.foot_wrench[side], values, atol=1e-9)
    assert back.summary["verb"] == "replay"
    assert back.summary["base_from"] == "/odom"
    assert back.summary["duration_s"] == 1.0
    back.save(tmp_path / "again")
    np.testing.assert_array_equal(eq.open_run(tmp_path / "again").com, back.com)


def recording(**changes: object) -> Recording:
    """Return half a second of the humanoid standing, without base or wrenches."""
    robot = eq.load("humanoid")
    positions = eq.joint_positions(robot, np.tile(robot.standing, (50, 1)))
    fields = {
        "source": Path("log.mcap"),
        "time": np.arange(50) * 0.01,
        "joints": dict(zip(degree_names(robot), positions.T, strict=True)),
        "velocity": {},
        "effort": {},
        "wrenches": {},
        "base_pose": None,
        "base_source": "",
        "base_frame": "",
        "static_frames": {},
        "urdf": None,
        "settings": None,
        "notices": ("it was windy",),
    }
    return Recording(**{**fields, **changes})


def test_standing_is_standing():
    """A robot that stands is where its posture puts it; notices are kept."""
    robot = eq.load("humanoid")
    run = recorded_run(recording(), robot)
    np.testing.assert_allclose(run.q, np.tile(robot.standing, (50, 1)), atol=1e-9)
    np.testing.assert_allclose(run.v, 0.0, atol=1e-9)
    assert noted(run, "it was windy")
    assert noted(run, "the log has no torque (effort) of any joint; zero is shown")
    assert noted(run, "no ZMP")


def test_joints_that_differ():
    """Missing joints stay at zero and strange ones are left out, both by name."""
    joints = dict(recording().joints)
    del joints["left_elbow"]
    joints["left_thumb"] = np.ones(50)
    run = recorded_run(recording(joints=joints), eq.load("humanoid"))
    assert noted(run, "nearest to it: 'left_elbow'")
    assert noted(run, "not joints of humanoid, so left out: 'left_thumb'")


def test_log_of_another_robot():
    """Too few leg joints: the nearest name is suggested."""
    joints = {f"{name}_joint": values for name, values in recording().joints.items()}
    match = (
        r"log\.mcap: is a log of another robot: of 12 leg joints of humanoid it has 0; "
        r"it has no 'left_hip_yaw' \(did you mean 'left_hip_yaw_joint'\?\)"
    )
    with pytest.raises(EquipoiseError, match=match):
        recorded_run(recording(joints=joints), eq.load("humanoid"))


def test_degrees_are_refused():
    """Angles far beyond the limits of many joints are not radians."""
    path = walk()
    positions = np.degrees(eq.joint_positions(path.robot, path.q[:50]))
    joints = dict(zip(degree_names(path.robot), positions.T, strict=True))
    bent = {name: values - 60.0 for name, values in joints.items()}
    with pytest.raises(EquipoiseError, match="joint positions look like degrees: '"):
        recorded_run(recording(joints=bent), path.robot)


def test_wrenches_in_other_frames():
    """A wrench at the ankle, upside down, is the same wrench at the sole."""
    robot = eq.load("humanoid")
    weight = robot.mass * GRAVITY
    at_sole = np.tile([3.0, -4.0, 0.5 * weight, 5.0, 6.0, 7.0], (50, 1))
    wrenches = {}
    for side in ("left", "right"):
        sole = robot.soles[side]
        to_link = pin.SE3(np.array(sole.transform_sole_to_link))
        own = np.array([to_link.act(pin.Force(row)).vector for row in at_sole])
        wrenches[f"/{side}_ft"] = MeasuredWrench(sole.link, np.arange(50) * 0.01, -own)
    strange = MeasuredWrench("nowhere", np.arange(50) * 0.01, at_sole)
    wrenches["/left_foot/other"] = strange
    run = recorded_run(recording(wrenches=wrenches), robot)
    for values in run.foot_wrench.values():
        np.testing.assert_allclose(values, at_sole, atol=1e-9)
    assert noted(run, "their signs are reversed")
    assert noted(run, "wrench '/left_foot/other' is left out: humanoid has no frame")
    assert run.supported.all()


def test_wrench_of_a_sensor_above_the_ankle():
    """A sensor on the shank is turned by the ankle's angles."""
    robot = eq.load("humanoid")
    q = np.tile(robot.standing, (50, 1))
    knee = robot.legs["left"].joints[3]
    shank = eq.frame_pose(robot, q, knee)
    sole = sole_pose(robot, q, "left")
    own = np.tile([0.0, 0.0, 200.0, 0.0, 0.0, 0.0], (50, 1))
    to_shank = pin.SE3(np.linalg.inv(shank[0]) @ sole[0])
    values = np.array([to_shank.act(pin.Force(row)).vector for row in own])
    measured = {"/left": MeasuredWrench(knee, np.arange(50) * 0.01, values)}
    run = recorded_run(recording(wrenches=measured), robot)
    np.testing.assert_allclose(run.foot_wrench["left"], own, atol=1e-9)
    assert not run.supported.any()


SENSOR_FEET = """
<robot name="two_feet">
  <link name="base"><inertial><mass value="20"/><inertia ixx="1" iyy="1" izz="1"
    ixy="0" ixz="0" iyz="0"/></inertial></link>{legs}
</robot>"""
SENSOR_LEG = """
  <joint name="{s}_hip" type="revolute"><parent link="base"/><child link="{s}_leg"/>
    <origin xyz="0 {y} 0"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="9" velocity="9"/></joint>
  <link name="{s}_leg"><inertial><origin xyz="0 0 -0.2"/><mass value="2"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="{s}_ankle" type="revolute"><parent link="{s}_leg"/>
    <child link="{s}_shoe"/><origin xyz="0 0 -0.4"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="9" velocity="9"/></joint>
  <link name="{s}_shoe"><inertial><mass value="0.5"/><inertia ixx="0.01" iyy="0.01"
    izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="{s}_foot_ft_sensor" type="fixed"><parent link="{s}_shoe"/>
    <child link="{s}_foot"/><origin xyz="0 0 -0.05"/></joint>
  <link name="{s}_foot"><inertial><origin xyz="0.03 0 0"/><mass value="1.5"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><origin xyz="0.02 0 -0.02"/><geometry><box size="0.2 0.1 0.02"/>
    </geometry></collision></link>"""


def test_foot_below_a_sensor_of_the_robots_file(tmp_path):
    """A sensor at a fixed joint does not measure the link beyond it: that is added."""
    legs = "".join(SENSOR_LEG.format(s=s, y=y) for s, y in (("l", 0.1), ("r", -0.1)))
    file = tmp_path / "two_feet.urdf"
    file.write_text(SENSOR_FEET.format(legs=legs))
    robot = eq.load(file)
    time = np.arange(50) * 0.01
    held = np.tile([0.0, 0.0, 100.0, 0.0, 0.0, 0.0], (50, 1))
    frames = [f"{side}_foot_ft_sensor" for side in "lr"]
    log = recording(
        joints=dict.fromkeys(degree_names(robot), np.zeros(50)),
        wrenches={frame: MeasuredWrench(frame, time, held) for frame in frames},
    )
    q = np.tile(robot.standing, (50, 1))
    notices: list[str] = []
    found = foot_wrenches(log, robot, q, notices)
    assert sum("the foot's weight, 14.7 N" in text for text in notices) == 2
    sole = sole_pose(robot, q, "left")[0]
    sensor = eq.frame_pose(robot, q, frames[0])[0]
    weight = pin.Force(np.array([0, 0, 1.5 * GRAVITY]), np.zeros(3))
    centre = sensor @ [0.03, 0.0, 0.0, 1.0]
    at_centre = pin.SE3(np.eye(3), centre[:3]).act(weight)
    total = pin.SE3(sensor).act(pin.Force(held[0])) + at_centre
    expected = pin.SE3(sole).actInv(total).vector
    np.testing.assert_allclose(found["left"][0], expected, atol=1e-9)


def test_base_of_another_frame_and_floor():
    """The pose of any link gives the base; a floor that is elsewhere is put to zero."""
    robot = eq.load("humanoid")
    head = robot.limb("head").end_link
    pose = pin.SE3ToXYZQUAT(pin.SE3(eq.frame_pose(robot, robot.standing, head)))
    base = np.tile(pose, (50, 1)) - [0.0, 0.0, 0.8, 0.0, 0.0, 0.0, 0.0]
    found = recording(base_pose=base, base_source="/odom", base_frame=head)
    run = recorded_run(found, robot)
    np.testing.assert_allclose(run.q, np.tile(robot.standing, (50, 1)), atol=1e-9)
    assert noted(
        run, "the soles are at z = -0.800 m by '/odom'; the floor there is moved"
    )
    run = recorded_run(replace(found, base_frame="footprint"), robot)
    assert noted(run, "'/odom' is left out: it is the pose of 'footprint'")
    assert run.summary["base_from"] == "legs"


def test_long_logs_are_thinned(monkeypatch):
    """Above a number of rows, only some are shown, and that is reported."""
    monkeypatch.setattr(replay, "MOST_ROWS", 20)
    run = recorded_run(recording(), eq.load("humanoid"))
    np.testing.assert_allclose(run.time, np.arange(0, 50, 3) * 0.01)
    assert noted(run, "of 50 rows every 3th is shown")


@given(st.lists(st.floats(-1.0, 1.0), min_size=1, max_size=40))
def test_stance_does_not_chatter(signal):
    """The stance foot is the sure one, and changes once between two sure rows."""
    values = np.array(signal)
    stance = stance_is_left(values, 0.3)
    sure = np.abs(values) > 0.3
    np.testing.assert_array_equal(stance[sure], values[sure] > 0.0)
    changes = np.count_nonzero(stance[1:] != stance[:-1])
    assert changes == np.count_nonzero(np.diff(np.sign(values[sure])) != 0)


def test_real_walk():
    """A real iCub: weight, ZMP under the CoM, and legs that agree with cameras."""
    folder = os.environ.get("EQUIPOISE_REAL_DATA")
    if not folder:
        pytest.skip("EQUIPOISE_REAL_DATA names no folder of real data")
    robot = eq.load(Path(folder) / "icub" / "iCubGenova04.urdf")
    found = read_recording(Path(folder) / "icub" / "walking_with_stops.csv")
    found = replace(
        found,
        time=found.time[:1600],
        joints={name: values[:1600] for name, values in found.joints.items()},
        base_pose=found.base_pose[:1600],
    )
    seen = recorded_run(found, robot)
    assert noted(seen, "'l_wrist_prosup'")
    load = sum(values[:, 2] for values in seen.foot_wrench.values()).mean()
    assert load == pytest.approx(robot.mass * GRAVITY, rel=0.05)
    assert np.abs((seen.zmp - seen.com)[:, :2].mean(axis=0)).max() < 0.015
    felt = recorded_run(replace(found, base_pose=None), robot)
    way_seen, way_felt = (
        np.linalg.norm((run.com - run.com[0])[:, :2], axis=1) for run in (seen, felt)
    )
    assert way_seen.max() > 0.4
    # at the stop; within steps the cameras see the stance foot tilt, by up to 8 degrees
    assert abs(way_seen[-1] - way_felt[-1]) < 0.05 * way_seen[-1]
