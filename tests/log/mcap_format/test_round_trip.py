from __future__ import annotations

import contextlib
import io
import struct
import zlib
from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcap.reader import make_reader
from mcap_ros2.decoder import DecoderFactory
from runs import sensing, swaying

from equipoise.errors import EquipoiseError
from equipoise.log.mcap_format.mcap_reader import read_run
from equipoise.log.mcap_format.mcap_writer import write_mcap
from equipoise.log.mcap_format.ros_types import DEFINITIONS
from equipoise.log.open_run import log_contents
from equipoise.log.run import Measured, Run
from equipoise.log.trajectory import mcap_bytes, trajectory_of
from equipoise.robot.joint_coordinates import degree_names
from equipoise.robot.load import load

ARRAYS = (
    "time",
    "q",
    "v",
    "a",
    "torque",
    "contact_position",
    "contact_force",
    "com",
    "zmp",
    "zmp_margin",
    "boxes",
)

MEASURED = (
    "time",
    "position",
    "velocity",
    "angular_velocity",
    "specific_force",
    "orientation",
)


def as_bytes(run: Run) -> bytes:
    """Return the run as an MCAP file."""
    stream = io.BytesIO()
    write_mcap(run, stream)
    return stream.getvalue()


def decoded(content: bytes) -> dict[str, list]:
    """Return messages by topic, as the package of MCAP's own makers decodes them."""
    reader = make_reader(
        io.BytesIO(content), validate_crcs=True, decoder_factories=[DecoderFactory()]
    )
    found: dict[str, list] = {}
    for _, channel, message, ros in reader.iter_decoded_messages():
        found.setdefault(channel.topic, []).append((message, ros))
    return found


@pytest.fixture(scope="module")
def run() -> Run:
    """A second of swaying at 100 Hz."""
    return swaying()


@pytest.fixture(scope="module")
def log(run) -> dict[str, list]:
    """The same as others read it."""
    return decoded(as_bytes(run))


def numbers(log, topic, *paths) -> np.ndarray:
    """Return fields of all messages of a topic as rows."""

    def get(message, path):
        for name in path.split("."):
            message = getattr(message, name)
        return message

    return np.array([[get(ros, path) for path in paths] for _, ros in log[topic]])


def xyz(path: str) -> list[str]:
    """Return the paths of three coordinates."""
    return [f"{path}.{axis}" for axis in "xyz"]


def assert_same(back: Run, run: Run) -> None:
    """All arrays of a run are the same, bit for bit."""
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(back, name), getattr(run, name), name)
    np.testing.assert_array_equal(back.supported, run.supported)
    for name in ("references", "foot_wrench", "commands", "estimates"):
        own, found = getattr(run, name), getattr(back, name)
        assert set(found) == set(own)
        for key, values in own.items():
            np.testing.assert_array_equal(found[key], values, f"{name}: {key}")
    assert (back.measured is None) == (run.measured is None)
    if back.measured is not None and run.measured is not None:
        assert_same_measured(back.measured, run.measured)


def assert_same_measured(back: Measured, measured: Measured) -> None:
    """All that was measured is the same, the IMU's pose to rounding."""
    for name in MEASURED:
        own = getattr(measured, name)
        np.testing.assert_array_equal(getattr(back, name), own, name)
    assert set(back.feet) == set(measured.feet)
    for side, wrench in measured.feet.items():
        np.testing.assert_array_equal(back.feet[side], wrench)
    assert back.feet_at == measured.feet_at
    assert back.imu_frame == measured.imu_frame
    pose = measured.transform_imu_to_frame
    np.testing.assert_allclose(back.transform_imu_to_frame, pose, rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    "made",
    [
        swaying(),
        sensing(swaying(), "sole"),
        sensing(swaying(), "ankle"),
        sensing(swaying(), "ankle", estimator=True),
        replace(swaying(), commands=sensing(swaying()).commands),
    ],
    ids=["truth alone", "sole", "ankle", "estimator", "commands"],
)
def test_round_trip(made, tmp_path):
    """A run read back with its robot is the same, bit for bit."""
    file = tmp_path / "any.mcap"
    file.write_bytes(as_bytes(made))
    back = read_run(file, made.robot)
    assert_same(back, made)
    assert back.contact_names == made.contact_names
    assert back.events == made.events


def test_sensors_of_every_robot(robot, tmp_path):
    """Sensors come back with the robot of the log itself, ankles where joints are."""
    run = sensing(swaying(robot, 0.05), estimator=True)
    file = tmp_path / "any.mcap"
    file.write_bytes(as_bytes(run))
    back = read_run(file)
    here = [degree_names(robot).index(name) for name in degree_names(back.robot)]
    np.testing.assert_array_equal(
        back.measured.position, run.measured.position[:, here]
    )
    np.testing.assert_array_equal(
        back.commands["torque"], run.commands["torque"][:, here]
    )
    np.testing.assert_array_equal(back.estimates["q"][:, :7], run.estimates["q"][:, :7])
    static = decoded(file.read_bytes())["/tf_static"][0][1].transforms
    for side, sole in robot.soles.items():
        own = next(t for t in static if t.child_frame_id.startswith(f"{side[0]}_ankle"))
        assert own.header.frame_id == sole.link
        place, turn = own.transform.translation, own.transform.rotation
        pose = pin.XYZQUATToSE3(
            np.array([place.x, place.y, place.z, turn.x, turn.y, turn.z, turn.w])
        )
        frame = robot.model.frames[robot.model.getBodyId(sole.link)]
        # the last joint is the origin of the body that the foot is a part of
        np.testing.assert_allclose(frame.placement.act(pose.translation), 0, atol=1e-12)
        rotation = sole.transform_sole_to_link[:3, :3]
        np.testing.assert_allclose(pose.rotation, rotation, atol=1e-9)


def test_log_describes_its_robot(robot, tmp_path):
    """Every robot comes back from its log: masses, limbs, soles, and its motion."""
    run = swaying(robot, 0.1)
    file = tmp_path / "any.mcap"
    file.write_bytes(as_bytes(run))
    back = read_run(file)
    assert back.robot.name == robot.name
    assert set(back.robot.limbs) == set(robot.limbs)
    assert back.robot.mass == pytest.approx(robot.mass, rel=1e-12)
    for side, sole in robot.soles.items():
        found = back.robot.soles[side]
        np.testing.assert_array_equal(found.polygon_in_sole, sole.polygon_in_sole)
    here = [degree_names(robot).index(name) for name in degree_names(back.robot)]
    np.testing.assert_array_equal(back.torque, run.torque[:, here])
    np.testing.assert_array_equal(back.v[:, 6:], run.v[:, 6:][:, here])
    np.testing.assert_array_equal(back.q[:, :7], run.q[:, :7])


def test_run_without_contacts_boxes_references_or_support(tmp_path):
    """What there is not is not in the log, and reads back as nothing."""
    run = swaying(
        contact_names=(),
        contact_position=np.zeros((101, 0, 3)),
        contact_force=np.zeros((101, 0, 3)),
        boxes=np.zeros((101, 0, 7)),
        references={},
        events=(),
        foot_wrench={},
        supported=np.zeros(101, dtype=bool),
    )
    file = tmp_path / "any.mcap"
    file.write_bytes(as_bytes(run))
    back = read_run(file)
    assert back.contact_force.shape == (101, 0, 3)
    assert back.boxes.shape == (101, 0, 7)
    assert not back.supported.any()
    assert np.isnan(back.zmp).all()
    assert not back.references
    assert not back.foot_wrench
    assert not back.events


def test_same_run_same_bytes(run):
    """Nothing in the file depends on the clock."""
    assert as_bytes(run) == as_bytes(swaying())


def test_others_read_joints(run, log):
    """JointState: names, positions, velocities and efforts at the run's times."""
    assert log["/joint_states"][0][1].name == list(run.robot.model.names)[2:]
    states = numbers(log, "/joint_states", "position", "velocity", "effort")
    np.testing.assert_array_equal(states[:, 0], run.q[:, 7:])
    np.testing.assert_array_equal(states[:, 1], run.v[:, 6:])
    np.testing.assert_array_equal(states[:, 2], run.torque)
    stamps = numbers(log, "/joint_states", "header.stamp.sec", "header.stamp.nanosec")
    np.testing.assert_array_equal(stamps @ [1_000_000_000, 1], (run.time * 1e9).round())
    for number, (message, _) in enumerate(log["/joint_states"]):
        assert message.sequence == number
        assert message.log_time == message.publish_time == round(run.time[number] * 1e9)
    wanted = numbers(log, "/references/joint_position", "position")[:, 0]
    np.testing.assert_array_equal(wanted, run.references["joint_position"])
    points = [ros.points[0].accelerations for _, ros in log["/joint_accelerations"]]
    np.testing.assert_array_equal(points, run.a[:, 6:])


def test_others_read_the_base(run, log):
    """Pose and twist of the base; the transform says the same."""
    pose = numbers(
        log,
        "/odom",
        *xyz("pose.pose.position"),
        *xyz("pose.pose.orientation"),
        "pose.pose.orientation.w",
    )
    np.testing.assert_array_equal(pose, run.q[:, :7])
    twist = numbers(
        log, "/odom", *xyz("twist.twist.linear"), *xyz("twist.twist.angular")
    )
    np.testing.assert_array_equal(twist, run.v[:, :6])
    transforms = [ros.transforms[0] for _, ros in log["/tf"]]
    first = transforms[0]
    assert first.header.frame_id == "world"
    assert first.child_frame_id == run.robot.description.root
    np.testing.assert_array_equal(
        [t.transform.rotation.w for t in transforms], run.q[:, 6]
    )
    soles = [t.child_frame_id for t in log["/tf_static"][0][1].transforms]
    assert soles == ["l_sole", "r_sole"]


def test_others_read_forces_and_balance(run, log):
    """Wrenches in the sole's frame; CoM; ZMP only while supported; contact arrows."""
    topic = "/foot/right/wrench"
    assert log[topic][0][1].header.frame_id == "r_sole"
    wrench = numbers(log, topic, *xyz("wrench.force"), *xyz("wrench.torque"))
    np.testing.assert_array_equal(wrench, run.foot_wrench["right"])
    np.testing.assert_array_equal(numbers(log, "/com", *xyz("point")), run.com)
    np.testing.assert_array_equal(
        numbers(log, "/zmp", *xyz("point")), run.zmp[run.supported]
    )
    assert len(log["/zmp"]) == len(log["/zmp_margin"]) == run.supported.sum() < 101
    for row, (_, ros) in enumerate(log["/contacts"]):
        marker = ros.markers[3]
        assert (marker.ns, marker.id) == (run.contact_names[3], 3)
        tip = marker.points[1]
        force = np.array([tip.x, tip.y, tip.z]) * 1024.0
        np.testing.assert_array_equal(force, run.contact_force[row, 3])
        assert marker.pose.position.x == run.contact_position[row, 3, 0]
        # 2 removes the arrow
        assert marker.action == (0 if force.any() else 2)
    box = log["/boxes"][-1][1].poses[1]
    assert (box.position.x, box.orientation.w) == (1.0, 1.0)


def test_others_read_events_and_the_robot(run, log):
    """Events have their own times; the robot's description is a URDF."""
    assert [ros.msg for _, ros in log["/events"]] == ["start", "left the ground"]
    assert [message.log_time for message, _ in log["/events"]] == [0, 500_000_000]
    assert "<robot name=" in log["/robot_description"][0][1].data


SENSING = sensing(swaying(), estimator=True)


@pytest.fixture(scope="module")
def sensed() -> dict[str, list]:
    """A run with sensors and an estimator as others read it."""
    return decoded(as_bytes(SENSING))


def quaternion(path: str) -> list[str]:
    """Return the paths of a quaternion's coordinates."""
    return [f"{path}.{axis}" for axis in "xyzw"]


def stamps(log, topic) -> np.ndarray:
    """Return the times in the headers of a topic [ns]."""
    paths = ("header.stamp.sec", "header.stamp.nanosec")
    return numbers(log, topic, *paths) @ [1_000_000_000, 1]


def test_others_read_what_was_measured(sensed):
    """Measurements have the topics of a real robot, and the time they were taken at."""
    run, measured = SENSING, SENSING.measured
    states = numbers(sensed, "/joint_states", "position", "velocity", "effort")
    np.testing.assert_array_equal(states[:, 0], measured.position)
    np.testing.assert_array_equal(states[:, 1], measured.velocity)
    np.testing.assert_array_equal(states[:, 2], run.torque)
    for topic in ("/joint_states", "/imu", "/foot/left/wrench", "/odom"):
        np.testing.assert_array_equal(
            stamps(sensed, topic), (measured.time * 1e9).round()
        )
        logged = [message.log_time for message, _ in sensed[topic]]
        np.testing.assert_array_equal(logged, (run.time * 1e9).round())
    topic = "/foot/right/wrench"
    assert sensed[topic][0][1].header.frame_id == "r_ankle"
    wrench = numbers(sensed, topic, *xyz("wrench.force"), *xyz("wrench.torque"))
    np.testing.assert_array_equal(wrench, measured.feet["right"])
    paths = xyz("angular_velocity"), xyz("linear_acceleration")
    for own, path in zip(
        (measured.angular_velocity, measured.specific_force), paths, strict=True
    ):
        np.testing.assert_array_equal(numbers(sensed, "/imu", *path), own)
    turn = numbers(sensed, "/imu", *quaternion("orientation"))
    np.testing.assert_array_equal(turn, measured.orientation)
    frame = sensed["/imu"][0][1].header.frame_id
    (own,) = (
        item
        for item in sensed["/tf_static"][0][1].transforms
        if item.child_frame_id == frame
    )
    assert own.header.frame_id == "pelvis"


def test_others_read_the_truth_beside(sensed):
    """With sensors all that only a simulator knows is below /true."""
    run = SENSING
    states = numbers(sensed, "/true/joint_states", "position", "velocity", "effort")
    np.testing.assert_array_equal(states[:, 0], run.q[:, 7:])
    np.testing.assert_array_equal(states[:, 2], run.torque)
    assert sensed["/true/foot/left/wrench"][0][1].header.frame_id == "l_sole"
    np.testing.assert_array_equal(numbers(sensed, "/true/com", *xyz("point")), run.com)
    pose = [*xyz("pose.pose.position"), *quaternion("pose.pose.orientation")]
    np.testing.assert_array_equal(numbers(sensed, "/true/odom", *pose), run.q[:, :7])
    estimated = run.estimates["q"]
    np.testing.assert_array_equal(numbers(sensed, "/odom", *pose), estimated[:, :7])
    own = numbers(sensed, "/estimated/joint_states", "position")[:, 0]
    np.testing.assert_array_equal(own, estimated[:, 7:])
    truth = ("com", "zmp", "zmp_margin", "contacts", "boxes", "joint_accelerations")
    for name in (*truth, "base/acceleration", "tf"):
        assert f"/true/{name}" in sensed
        assert f"/{name}" not in sensed or name == "tf"
    alone = decoded(as_bytes(sensing(swaying(seconds=0.05))))
    assert {"/odom", "/tf", "/estimated/joint_states"}.isdisjoint(alone)


def test_others_read_what_was_wanted_and_commanded(sensed):
    """Commands are joint states; what was wanted has the type of what it is."""
    run = SENSING
    commanded = numbers(sensed, "/joint_commands", "position", "velocity", "effort")
    for at, name in enumerate(("position", "velocity", "torque")):
        np.testing.assert_array_equal(commanded[:, at], run.commands[name])
    for name, paths in {
        "com_velocity": xyz("vector"),
        "dcm": xyz("point"),
        "left_sole": [*xyz("pose.position"), *quaternion("pose.orientation")],
        "left_sole_twist": [*xyz("twist.linear"), *xyz("twist.angular")],
        "torso": quaternion("quaternion"),
        "support": ["data"],
    }.items():
        found = numbers(sensed, f"/references/{name}", *paths)
        wanted = run.references[name].reshape(len(run.time), -1)
        np.testing.assert_array_equal(found, wanted)
    torque = numbers(sensed, "/references/joint_torque", "effort")[:, 0]
    np.testing.assert_array_equal(torque, run.references["joint_torque"])


def test_definitions_are_complete():
    """All message types of the file are read by others; every definition is used."""
    files = (as_bytes(SENSING), mcap_bytes(trajectory_of(SENSING)))
    schemas = [
        schema
        for content in files
        for schema in make_reader(io.BytesIO(content)).get_summary().schemas.values()
    ]
    texts = "".join(schema.data.decode() for schema in schemas)
    names = {schema.name.replace("/msg/", "/") for schema in schemas}
    for name in DEFINITIONS:
        assert name in names or f"MSG: {name}\n" in texts


def test_container_is_sound(run):
    """Profile, statistics, indexes and the checksum of the summary."""
    content = as_bytes(run)
    reader = make_reader(io.BytesIO(content), validate_crcs=True)
    assert reader.get_header().profile == "ros2"
    summary = reader.get_summary()
    counted: dict[int, int] = {}
    for _, channel, _ in reader.iter_messages():
        counted[channel.id] = counted.get(channel.id, 0) + 1
    assert summary.statistics.channel_message_counts == counted
    assert summary.statistics.message_end_time == 10**9
    assert summary.statistics.chunk_count == len(summary.chunk_indexes)
    assert {index.compression for index in summary.chunk_indexes} == {"zstd"}
    # footer: 9 bytes of head, two offsets, the checksum; then the magic
    start, _, crc = struct.unpack_from("<QQI", content, len(content) - 8 - 20)
    assert zlib.crc32(content[start : -8 - 4]) == crc
    # an index finds the messages of one topic in a span of time
    some = reader.iter_messages("/com", starting_at=10**8, ending_before=2 * 10**8)
    assert len(list(some)) == 10


def test_topics(run, tmp_path):
    """Topics are listed with type and count, from a file or a run's folder."""
    run.save(tmp_path / "out")
    topics = log_contents(tmp_path / "out").topics
    found = {topic.name: topic for topic in topics}
    assert found["/joint_states"].type == "sensor_msgs/msg/JointState"
    assert found["/joint_states"].messages == 101
    assert found["/zmp"].messages == run.supported.sum()
    assert log_contents(tmp_path / "out" / "run.mcap").topics == topics


def test_support_that_flickers(tmp_path):
    """Support may change at every row, and over many chunks."""
    supported = np.arange(3001) % 3 > 0
    run = swaying(seconds=3.0, rate=1000.0, supported=supported)
    file = tmp_path / "any.mcap"
    file.write_bytes(as_bytes(run))
    back = read_run(file, run.robot)
    np.testing.assert_array_equal(back.supported, supported)
    np.testing.assert_array_equal(back.zmp, run.zmp)


def test_log_of_another_robot(run, tmp_path):
    """A robot whose joints are not in the log is refused by name."""
    file = tmp_path / "any.mcap"
    file.write_bytes(as_bytes(run))
    with pytest.raises(EquipoiseError, match=r"any.mcap: is a log of another robot: j"):
        read_run(file, load("three-link"))


def test_what_is_not_a_log(run, tmp_path):
    """A missing file, another file and another MCAP are refused in one line."""
    with pytest.raises(EquipoiseError, match="no such file"):
        read_run(tmp_path / "none.mcap")
    with pytest.raises(EquipoiseError, match=r"a run's folder holds run\.mcap"):
        read_run(tmp_path)
    text = tmp_path / "text.mcap"
    text.write_text("no MCAP at all")
    with pytest.raises(EquipoiseError, match=r"text\.mcap: is not an MCAP file"):
        read_run(text)
    from mcap.writer import Writer

    with (tmp_path / "other.mcap").open("wb") as stream:
        writer = Writer(stream)
        writer.start("ros2")
        name, text = "std_msgs/msg/String", b"string data"
        schema = writer.register_schema(name, "ros2msg", text)
        channel = writer.register_channel("/hello", "cdr", schema)
        writer.add_message(channel, 0, b"\x00\x01\x00\x00\x01\x00\x00\x00\x00", 0)
        writer.finish()
    with pytest.raises(EquipoiseError, match=r"no topic '/joint_states'.*are: /hello"):
        read_run(tmp_path / "other.mcap")


SMALL = as_bytes(swaying(seconds=0.05))


@settings(max_examples=60)
@given(st.integers(0, len(SMALL) - 1))
def test_cut_off_log(tmp_path_factory, length):
    """A log that is cut off anywhere gives one clear line."""
    file = tmp_path_factory.mktemp("cut") / "run.mcap"
    file.write_bytes(SMALL[:length])
    with pytest.raises(
        EquipoiseError, match=r"run\.mcap: is not an MCAP file, or is cut"
    ):
        read_run(file)


@settings(max_examples=60)
@given(st.integers(0, len(SMALL) - 1), st.integers(1, 255))
def test_damaged_log(tmp_path_factory, at, change):
    """A changed byte is noticed, or changes nothing that matters; never a crash."""
    content = bytearray(SMALL)
    content[at] ^= change
    file = tmp_path_factory.mktemp("damaged") / "run.mcap"
    file.write_bytes(content)
    with contextlib.suppress(EquipoiseError):
        read_run(file)
