from __future__ import annotations

import contextlib
import os
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from foreign_bags import (
    START,
    Sent,
    header,
    joint_state,
    pose_message,
    transform,
    wrench,
    write_db3_bag,
    write_mcap_bag,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from runs import swaying

from equipoise.errors import EquipoiseError
from equipoise.log.open_run import read_recording
from equipoise.log.recordings.recording import Recording

MS = 1_000_000
POSE = np.array([0.1, -0.2, 0.9, 0.0, 0.0, 0.6, 0.8])


def knees(count: int = 20, step: int = 10 * MS) -> list[Sent]:
    """Return joint states of two knees, a hundred a second."""
    return [
        joint_state(START + at * step, {"l_knee": 0.01 * at, "r_knee": -0.01 * at})
        for at in range(count)
    ]


def noted(recording: Recording, words: str) -> bool:
    """Whether a notice holds the words."""
    return any(words in notice for notice in recording.notices)


def mcap_file(folder: Path, sent: list[Sent]) -> Path:
    """One MCAP file."""
    return write_mcap_bag(folder / "any.mcap", sent)


def bag_folder(folder: Path, sent: list[Sent]) -> Path:
    """A bag that was split in two; its files are not in the order of their names."""
    bag = folder / "bag"
    bag.mkdir()
    write_mcap_bag(bag / "b.mcap", sent[: len(sent) // 2])
    write_mcap_bag(bag / "a.mcap", sent[len(sent) // 2 :])
    text = "rosbag2_bagfile_information:\n  version: 8\n  relative_file_paths:\n"
    text += "    - b.mcap\n    - a.mcap\n  duration:\n    nanoseconds: 1\n"
    (bag / "metadata.yaml").write_text(text, encoding="utf-8")
    return bag


def db3_file(folder: Path, sent: list[Sent]) -> Path:
    """A SQLite bag of ROS 2 Humble."""
    return write_db3_bag(folder / "old.db3", sent)


def newer_db3_file(folder: Path, sent: list[Sent]) -> Path:
    """A SQLite bag of ROS 2 Iron and later."""
    return write_db3_bag(folder / "new.db3", sent, newer=True)


@pytest.mark.parametrize("write", [mcap_file, bag_folder, db3_file, newer_db3_file])
def test_every_kind_of_bag(tmp_path, write):
    """The same messages are the same recording, however they were kept."""
    values = np.arange(6.0)
    sent = knees()
    for at in range(20):
        sent.append(wrench(START + at * 10 * MS, "/ft/left", "l_sole", values + at))
    sent.sort(key=lambda item: item.time)
    found = read_recording(write(tmp_path, sent))
    np.testing.assert_allclose(found.time, np.arange(20) * 0.01, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found.joints["l_knee"], 0.01 * np.arange(20))
    np.testing.assert_array_equal(found.joints["r_knee"], -0.01 * np.arange(20))
    left = found.wrenches["/ft/left"]
    assert left.frame == "l_sole"
    np.testing.assert_array_equal(left.values, values + np.arange(20)[:, None])
    np.testing.assert_allclose(left.time, found.time, rtol=0, atol=1e-12)
    assert found.base_pose is None
    assert found.notices == ()
    with pytest.raises(ValueError, match="read-only"):
        found.joints["l_knee"][0] = 1.0


def test_our_own_log(tmp_path):
    """A run of the simulator is a recording like any other; references are not."""
    run = swaying()
    run.save(tmp_path / "out")
    found = read_recording(tmp_path / "out")
    np.testing.assert_array_equal(found.time, run.time.round(9))
    positions = np.stack(list(found.joints.values()), axis=1)
    np.testing.assert_array_equal(positions, run.q[:, 7:])
    efforts = np.stack(list(found.effort.values()), axis=1)
    np.testing.assert_array_equal(efforts, run.torque)
    np.testing.assert_allclose(found.base_pose, run.q[:, :7], rtol=0, atol=1e-15)
    assert (found.base_source, found.base_frame) == ("/odom", "pelvis")
    assert set(found.wrenches) == {"/foot/left/wrench", "/foot/right/wrench"}
    assert "<robot" in found.urdf


@settings(max_examples=20)
@given(st.data())
def test_order_of_messages_does_not_matter(tmp_path_factory, data):
    """Messages that come late are sorted by their stamps, and that is reported."""
    sent = knees()
    swaps = data.draw(st.lists(st.integers(0, 18), max_size=1))
    for at in swaps:
        first, second = sent[at], sent[at + 1]
        sent[at] = first._replace(message=second.message)
        sent[at + 1] = second._replace(message=first.message)
    file = write_mcap_bag(tmp_path_factory.mktemp("bag") / "any.mcap", sent)
    found = read_recording(file)
    np.testing.assert_array_equal(found.joints["l_knee"], 0.01 * np.arange(20))
    assert noted(found, "1 row out of order") == bool(swaps)


def test_joints_over_several_messages_and_topics(tmp_path):
    """Parts are put together by name; what is not said stays as it was."""
    sent = []
    for at in range(10):
        now = START + at * 10 * MS
        sent.append(joint_state(now, {"l_knee": float(at), "l_hip": 0.5}))
        sent.append(joint_state(now + 5 * MS, {"r_knee": float(-at)}))
        if at >= 5:
            hand = {"thumb": 7.0 + at, "l_knee": 99.0}
            sent.append(joint_state(now, hand, topic="/hand/joint_states"))
    found = read_recording(write_mcap_bag(tmp_path / "any.mcap", sent))
    assert len(found.time) == 20
    np.testing.assert_array_equal(found.joints["l_knee"], np.repeat(np.arange(10.0), 2))
    np.testing.assert_array_equal(found.joints["r_knee"][2:6], [0.0, -1.0, -1.0, -2.0])
    np.testing.assert_array_equal(found.joints["thumb"][[0, 10, 19]], [12, 12, 16])


def test_commands_are_not_measurements(tmp_path):
    """A topic that says what was wanted adds nothing, though it has more joints."""
    sent = knees()
    wanted = {"l_knee": 9.0, "r_knee": 9.0, "l_hip": 9.0}
    sent.append(joint_state(START, wanted, topic="/joint_commands"))
    found = read_recording(write_mcap_bag(tmp_path / "any.mcap", sent))
    assert set(found.joints) == {"l_knee", "r_knee"}


def test_truth_and_references_are_not_measurements(tmp_path):
    """Wrenches and poses that a simulator knows, or somebody wanted, are not read."""
    sent = knees()
    for at in range(20):
        now = START + at * 10 * MS
        for topic in ("/true/foot/left/wrench", "/desired/wrench", "/ft"):
            sent.append(wrench(now, topic, "l_sole", POSE[:6]))
        for topic in ("/references/torso", "/true/base"):
            message = {"header": header(now, "world"), "pose": pose_message(POSE)}
            sent.append(Sent(topic, "geometry_msgs/PoseStamped", message, now))
        sent.append(joint_state(now, {"l_hip": 1.0}, topic="/true/joint_states"))
    sent.sort(key=lambda item: item.time)
    found = read_recording(write_mcap_bag(tmp_path / "any.mcap", sent))
    assert set(found.wrenches) == {"/ft"}
    assert set(found.joints) == {"l_knee", "r_knee"}
    assert found.base_pose is None


def test_stamps_that_are_not_of_a_clock(tmp_path):
    """Without a time in the headers, the log's own is used, for all topics."""
    sent = [
        joint_state(0, {"l_knee": float(at)}, logged=START + at * 10 * MS)
        for at in range(10)
    ]
    sent += [
        wrench(START + at * 10 * MS, "/ft", "l_sole", POSE[:6]) for at in range(10)
    ]
    found = read_recording(write_mcap_bag(tmp_path / "any.mcap", sent))
    np.testing.assert_allclose(found.time, np.arange(10) * 0.01, rtol=0, atol=1e-12)
    assert noted(found, "'/joint_states': its headers have no time; times of the log")
    # another machine's clock, an hour late
    late = [
        item._replace(time=item.time + 3600 * 10**9) if item.topic == "/ft" else item
        for item in knees() + sent[10:]
    ]
    late.sort(key=lambda item: item.time)
    two = read_recording(write_mcap_bag(tmp_path / "two.mcap", late))
    assert noted(two, "are stamped by two clocks (3.6e+03 s apart)")


def test_repairs_are_reported(tmp_path):
    """NaN is held over, doubled stamps count once, gaps stay."""
    sent = knees()
    sent[0].message["position"][0] = float("nan")
    sent[7].message["position"][0] = float("nan")
    sent.insert(10, joint_state(START + 100 * MS, {"l_knee": 55.0, "r_knee": 0.0}))
    sent.append(joint_state(START + 4000 * MS, {"l_knee": 1.0, "r_knee": 1.0}))
    found = read_recording(write_mcap_bag(tmp_path / "any.mcap", sent))
    assert len(found.time) == 21
    np.testing.assert_array_equal(found.joints["l_knee"][[0, 7, 10]], [0.01, 0.06, 0.1])
    assert noted(found, "2 values of joints not finite")
    assert noted(found, "1 row with the time of the next")
    assert noted(found, "1 gap, the longest of 3.81 s from 0.19 s on")
    assert found.time[-1] == pytest.approx(4.0)


def test_wrenches_that_are_not_numbers_are_left_out(tmp_path):
    """Rows with NaN are dropped and counted; a wrench of nothing else is none."""
    sent = knees()
    values = np.arange(6.0)
    for at in range(20):
        bad = np.full(6, np.nan) if at in (3, 4) else values + at
        sent.append(wrench(START + at * 10 * MS, "/ft/left", "l_foot", bad))
        sent.append(
            wrench(START + at * 10 * MS, "/ft/right", "r_foot", values + np.inf)
        )
    found = read_recording(mcap_file(tmp_path, sent))
    assert set(found.wrenches) == {"/ft/left"}
    kept = [at for at in range(20) if at not in (3, 4)]
    own = found.wrenches["/ft/left"]
    np.testing.assert_allclose(own.time, 0.01 * np.array(kept), atol=1e-9)
    np.testing.assert_array_equal(own.values, values + np.array(kept)[:, None])
    assert noted(found, "'/ft/left': 2 rows with values that are not finite, left out")
    assert noted(found, "'/ft/right' is left out: no row of it has finite values only")


def test_holes_in_a_csv(tmp_path):
    """Wrenches lack the rows that hold none; the base goes from pose to pose."""
    axes = ("fx", "fy", "fz", "mx", "my", "mz")
    base = ("x", "y", "z", "roll", "pitch", "yaw")
    names = [
        "t",
        "l_knee",
        *(f"l_sole.{a}" for a in axes),
        *(f"base.{a}" for a in base),
    ]
    rows = [",".join(names)]
    for at in range(5):
        numbers = [f"{0.1 * at:.1f}", "0.5", *["1"] * 6, f"{at}", *["0"] * 5]
        if at == 2:
            numbers[2:] = [""] * 12
        rows.append(",".join(numbers))
    file = tmp_path / "log.csv"
    file.write_text("\n".join(rows), encoding="utf-8")
    found = read_recording(file)
    np.testing.assert_allclose(found.wrenches["l_sole"].time, [0.0, 0.1, 0.3, 0.4])
    assert found.base_pose is not None
    np.testing.assert_allclose(found.base_pose[:, 0], [0, 1, 2, 3, 4], atol=1e-12)
    for columns in ("l_sole", "base"):
        assert noted(found, f"columns {columns}.*: 1 row with values that are not")


def test_base_from_odometry_transforms_or_poses(tmp_path):
    """Odometry goes before /tf, /tf before stamped poses; goals are not the base."""
    times = [START + at * 10 * MS for at in range(20)]
    goal = {"header": header(START), "pose": pose_message(POSE)}
    kind = "geometry_msgs/PoseStamped"
    sent = [*knees(), Sent("/goal", kind, goal, START)]
    assert read_recording(mcap_file(tmp_path, sent)).base_pose is None
    sent += [
        Sent("/mocap/pelvis", kind, {**goal, "header": header(at)}, at) for at in times
    ]
    found = read_recording(mcap_file(tmp_path, sent))
    assert (found.base_source, found.base_frame) == ("/mocap/pelvis", "")
    np.testing.assert_allclose(found.base_pose, np.tile(POSE, (20, 1)))
    sent += [transform(at, "map", "odom", POSE) for at in times]
    sent += [transform(at, "odom", "base_link", POSE) for at in times]
    found = read_recording(mcap_file(tmp_path, sent))
    assert (found.base_source, found.base_frame) == ("/tf", "base_link")
    message = {"child_frame_id": "pelvis", "pose": {"pose": pose_message(POSE)}}
    zeros = [0.0] * 36
    message["pose"]["covariance"] = zeros
    still = {"linear": dict.fromkeys("xyz", 0.0), "angular": dict.fromkeys("xyz", 0.0)}
    message["twist"] = {"twist": still, "covariance": zeros}
    for at in times[::4]:
        own = {**message, "header": header(at, "odom")}
        sent.append(Sent("/odometry", "nav_msgs/Odometry", own, at))
    found = read_recording(mcap_file(tmp_path, sent))
    assert (found.base_source, found.base_frame) == ("/odometry", "pelvis")
    np.testing.assert_allclose(found.base_pose, np.tile(POSE, (20, 1)), atol=1e-12)


@settings(max_examples=15)
@given(st.floats(0.0, 1.0))
def test_truncated_bag(tmp_path_factory, fraction):
    """A bag without end is read as far as it goes; the rest is reported."""
    folder = tmp_path_factory.mktemp("bag")
    content = write_mcap_bag(folder / "whole.mcap", knees(400)).read_bytes()
    file = folder / "any.mcap"
    file.write_bytes(content[: int(fraction * (len(content) - 1))])
    try:
        found = read_recording(file)
    except EquipoiseError:
        assert fraction < 0.5
        return
    rows = len(found.time)
    np.testing.assert_array_equal(found.joints["l_knee"], 0.01 * np.arange(rows))
    assert noted(found, "any.mcap is")


@settings(max_examples=60)
@given(st.sampled_from(["mcap", "db3", "csv"]), st.integers(0), st.binary(max_size=9))
def test_damaged_bytes(tmp_path_factory, ending, place, change):
    """Whatever is changed in a log, it is read or refused in one line."""
    folder = tmp_path_factory.mktemp("damaged")
    file = folder / f"any.{ending}"
    if ending == "csv":
        file.write_text(CSV, encoding="utf-8")
    else:
        {"mcap": write_mcap_bag, "db3": write_db3_bag}[ending](file, knees())
    content = bytearray(file.read_bytes())
    place %= len(content)
    content[place : place + len(change)] = change
    file.write_bytes(content)
    with contextlib.suppress(EquipoiseError):
        assert len(read_recording(file).time) > 0


def test_what_is_not_a_recording(tmp_path):
    """No joints, no bag, a packed bag, nothing at all: one clear line each."""
    text = Sent("/hello", "std_msgs/String", {"data": "hi"}, START)
    with pytest.raises(EquipoiseError, match=r"holds no joint positions.*/hello \(std"):
        read_recording(write_mcap_bag(tmp_path / "any.mcap", [text]))
    with pytest.raises(EquipoiseError, match="no such file or folder"):
        read_recording(tmp_path / "none.mcap")
    with pytest.raises(EquipoiseError, match="no such file or folder"):
        read_recording(tmp_path / ("x" * 300))
    packed = tmp_path / "bag"
    packed.mkdir()
    with pytest.raises(EquipoiseError, match=r"neither run\.mcap nor metadata\.yaml"):
        read_recording(packed)
    (packed / "bag_0.mcap.zstd").write_bytes(b"")
    with pytest.raises(EquipoiseError, match="is packed as a whole; unpack it"):
        read_recording(packed)
    (tmp_path / "bad.db3").write_text("no database, but long enough to be one" * 9)
    with pytest.raises(EquipoiseError, match=r"bad\.db3: is not a ROS 2 bag"):
        read_recording(tmp_path / "bad.db3")
    (tmp_path / "a.mcap").write_text("no MCAP")
    with pytest.raises(EquipoiseError, match="is not an MCAP file"):
        read_recording(tmp_path / "a.mcap")
    (tmp_path / "a.pdf").write_text("")
    with pytest.raises(EquipoiseError, match=r"logs are \.mcap, \.db3 and \.csv"):
        read_recording(tmp_path / "a.pdf")


CSV = """time_s;l_knee;r_knee.position;r_knee.velocity;l_foot.fx;l_foot.fy;l_foot.fz;\
l_foot.mx;l_foot.my;l_foot.mz;base.x;base.y;base.z;base.roll;base.pitch;base.yaw;mode
10.0;0.1;0.2;1;1;2;3;4;5;6;0;0;1;0.1;0.2;0.3;walk
10.5;;0.3;1;1;2;3;4;5;6;0;0;1;0.1;0.2;0.3;walk
11.0;0.3;0.4;1;1;2;3;4;5;6;0;0;1;0.1;0.2;0.3;stop
11.5;0.3
"""


def test_csv(tmp_path):
    """Columns are known by name; holes, texts and a row cut off are reported."""
    file = tmp_path / "any.csv"
    file.write_text(CSV, encoding="utf-8")
    found = read_recording(file)
    np.testing.assert_array_equal(found.time, [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(found.joints["l_knee"], [0.1, 0.1, 0.3])
    np.testing.assert_array_equal(found.joints["r_knee"], [0.2, 0.3, 0.4])
    assert set(found.velocity) == {"r_knee"}
    assert found.wrenches["l_foot"].frame == "l_foot"
    np.testing.assert_array_equal(found.wrenches["l_foot"].values[1], np.arange(1, 7))
    turn = pin.Quaternion(pin.rpy.rpyToMatrix(0.1, 0.2, 0.3)).coeffs()
    np.testing.assert_allclose(found.base_pose[1], [0, 0, 1, *turn], atol=1e-15)
    assert noted(found, "any.csv is cut off: its last row is lost")
    assert noted(found, "column 'mode' is left out")
    assert noted(found, "1 value of joints not finite")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is not a CSV file"),
        ("time,l_knee\n", "is not a CSV file"),
        ("l_knee,r_knee\n0,0\n", "has no column of time .*its columns are: l_knee, r_"),
        ("time,time\n0,0\n", "two columns have the name 'time'"),
        ("time,a\n0,0\n1\n2,2\n", "row 3 has 1 columns, the first has 2"),
        ("time,a\nx,0\n", "has no column of time"),
        ("time,a\n0,0\n,0\n", "row 3 has no time"),
        ("time,base.x\n0,0\n", "holds no joint positions"),
        ("\0\0,\n\xff", "any.csv"),
    ],
)
def test_csv_that_is_none(tmp_path, text, reason):
    """What is wrong with a CSV file is said with its place."""
    file = tmp_path / "any.csv"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(EquipoiseError, match=reason):
        read_recording(file)


def test_real_csv():
    """The columns of a real iCub are all understood."""
    folder = os.environ.get("EQUIPOISE_REAL_DATA")
    if not folder:
        pytest.skip("EQUIPOISE_REAL_DATA names no folder of real data")
    found = read_recording(Path(folder) / "icub" / "walking_with_stops.csv")
    assert len(found.time) == 8851
    assert len(found.joints) == 26
    assert set(found.wrenches) == {"l_sole", "r_sole"}
    assert found.base_source == "columns base.*"
    assert found.notices == ()
    # static ΣFz says 33.86 kg
    load = sum(w.values[:300, 2].mean() for w in found.wrenches.values())
    assert load / 9.80665 == pytest.approx(33.86, abs=0.5)
