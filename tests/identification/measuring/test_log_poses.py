from __future__ import annotations

import csv
from dataclasses import replace

import numpy as np
import pytest
from standing_logs import (
    AT_ORIGIN,
    balanced,
    poses_of,
    standing_log,
    with_wrenches,
)

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.identification.measuring.log_poses import (
    measured_poses,
    measured_poses_of_run,
)
from equipoise.identification.measuring.pose_table import read_pose_table
from equipoise.identification.statics import FEET
from equipoise.log.open_run import read_recording
from equipoise.log.recordings.recording import StaticFrame
from equipoise.log.run import Measured as LogMeasured
from equipoise.log.run import Run
from equipoise.robot.anatomy.soles import placement_in_body
from equipoise.robot.joint_coordinates import configurations, degree_names
from equipoise.simulation.trials import stand

SOLES = ("l_sole", "r_sole")


@pytest.fixture(scope="module")
def humanoid() -> eq.Robot:
    """The robot of the made-up logs."""
    return eq.load("humanoid")


@pytest.fixture(scope="module")
def made(humanoid):
    """A log of four poses."""
    return standing_log(humanoid, poses_of(humanoid, 4, 1))


def scaled(recording, factors):
    """Return a recording with its wrenches times factors, shape (6,)."""
    return with_wrenches(
        recording,
        {name: own.values * factors for name, own in recording.wrenches.items()},
    )


def refused(robot, recording, **options):
    """Return the one line that a log is refused with."""
    with pytest.raises(EquipoiseError) as caught:
        measured_poses(robot, recording, **options)
    text = str(caught.value)
    assert "\n" not in text
    return text


def assert_true(found, made):
    """Poses and wrenches are those of the log that was made."""
    assert len(found.poses) == len(made.positions)
    np.testing.assert_allclose(found.poses.q[:, 7:], made.positions, atol=2e-3)
    for side in FEET:
        off = found.poses.wrenches[side] - made.wrenches[side]
        assert np.abs(off[:, :3]).max() < 0.5
        assert np.abs(off[:, 3:]).max() < 0.1


def test_clean_log(humanoid, made):
    """Nothing is said of a log that has nothing odd."""
    found = measured_poses(humanoid, made.recording)
    assert_true(found, made)
    assert found.notices == ()
    assert found.offset_s == 0.0
    assert found.noise.force == pytest.approx(0.5, rel=0.2)
    assert found.poses.start_s[1] == found.stretches[1].start_s


def test_no_motion_no_time_offset(humanoid, made):
    """A robot that never moves says nothing about clocks."""
    still = standing_log(humanoid, made.positions[:1], hold_s=3.0, late_s=0.03)
    assert measured_poses(humanoid, still.recording).offset_s is None


def test_signs_of_both_feet(humanoid, made):
    """Wrenches of the feet on the ground are reversed, with a notice."""
    found = measured_poses(humanoid, scaled(made.recording, -np.ones(6)))
    assert_true(found, made)
    assert any("signs are reversed" in text for text in found.notices)


def test_sign_of_one_foot(humanoid, made):
    """Feet whose signs differ are refused."""
    own = made.recording.wrenches["r_sole"].values
    text = refused(humanoid, with_wrenches(made.recording, {"r_sole": -own}))
    assert "the right foot is pushed down" in text
    assert "wrench_frames={NAME: FRAME}" in text


@pytest.mark.parametrize(
    ("factors", "said"),
    [
        (0.5, "half of it is missing"),
        (1.4, "40% off"),
        (1.0 / 9.80665, "units={'force': 'kgf'}"),
        ([1, 1, 1, 1e3, 1e3, 1e3], "units={'torque': 'Nmm'}"),
        (0.0, "zero all the time"),
    ],
)
def test_wrong_weight_or_unit(humanoid, made, factors, said):
    """Half of the weight, kilograms and Nmm are refused in a line that says so."""
    text = refused(humanoid, scaled(made.recording, np.ones(6) * factors))
    assert said in text
    assert "made_up.csv" in text


def test_told_units(humanoid, made):
    """Given units are converted: degrees, kilograms, Nmm."""
    odd = scaled(made.recording, np.repeat([1.0 / 9.80665, 1e3], 3))
    odd = replace(odd, joints={k: np.rad2deg(v) for k, v in odd.joints.items()})
    units = {"angle": "deg", "force": "kgf", "torque": "Nmm"}
    assert_true(measured_poses(humanoid, odd, units=units), made)


def test_degrees_are_refused(humanoid, made):
    """Degrees that are not declared are refused, with the option."""
    joints = {name: np.rad2deg(own) for name, own in made.recording.joints.items()}
    text = refused(humanoid, replace(made.recording, joints=joints))
    assert "look like degrees" in text
    assert "units={'angle': 'deg'}" in text


@pytest.mark.parametrize(
    ("units", "said"),
    [
        ({"angle": "grad"}, "unknown unit 'grad' of angle"),
        ({"mass": "kg"}, "unknown kind of unit 'mass'"),
    ],
)
def test_unknown_units(humanoid, made, units, said):
    """Units that are none are refused with those that are."""
    text = refused(humanoid, made.recording, units=units)
    assert said in text
    assert "angle: rad, deg" in text


def test_free_mass(humanoid, made):
    """A robot that weighs 40 % more is measured if its mass is free."""
    heavy = scaled(made.recording, np.full(6, 1.4))
    found = measured_poses(humanoid, heavy, free_mass=True)
    total = sum(found.poses.wrenches[side][:, 2] for side in FEET)
    np.testing.assert_allclose(total, 1.4 * humanoid.mass * 9.80665, rtol=0.01)


def test_sensor_in_another_frame(humanoid, made):
    """Wrenches in axes of a sensor are brought to the sole if the frame is named."""
    turn = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    change = {
        name: np.hstack([own.values[:, :3] @ turn, own.values[:, 3:] @ turn])
        for name, own in made.recording.wrenches.items()
    }
    odd = with_wrenches(made.recording, change)
    text = refused(humanoid, odd)
    assert "not in the frame that the log names" in text
    pose = np.eye(4)
    pose[:3, :3] = turn
    odd = replace(
        odd, static_frames={f"{sole}_ft": StaticFrame(sole, pose) for sole in SOLES}
    )
    frames = {sole: f"{sole}_ft" for sole in SOLES}
    assert_true(measured_poses(humanoid, odd, wrench_frames=frames), made)


def test_pressure_beside_the_sole(humanoid, made):
    """A wrench about another point is refused: it presses beside the foot."""
    own = made.recording.wrenches["l_sole"].values.copy()
    own[:, 4] -= 0.9 * own[:, 2]
    text = refused(humanoid, with_wrenches(made.recording, {"l_sole": own}))
    assert "outside of the sole" in text


@pytest.mark.parametrize(
    ("frames", "said"),
    [
        ({"l_soel": "l_sole"}, "did you mean 'l_sole'"),
        ({"l_sole": "l_soel"}, "has no frame 'l_soel'"),
    ],
)
def test_unknown_wrench_frames(humanoid, made, frames, said):
    """A wrench or a frame that does not exist is refused with those that do."""
    assert said in refused(humanoid, made.recording, wrench_frames=frames)


def test_wrench_in_the_world(humanoid, made):
    """A wrench in a frame that is on no leg is refused, naming what there is."""
    wrenches = dict(made.recording.wrenches)
    wrenches["l_sole"] = wrenches["l_sole"]._replace(frame="world")
    text = refused(humanoid, replace(made.recording, wrenches=wrenches))
    assert "no wrench is in a frame of the left leg" in text
    assert "'l_sole' in 'world'" in text


def test_one_foot_lifted(humanoid, made):
    """Poses on one foot are left out; a log of nothing else is refused."""
    time = made.recording.time
    change = {name: own.values.copy() for name, own in made.recording.wrenches.items()}
    lifted = time < 2.5
    change["l_sole"][lifted] += change["r_sole"][lifted]
    change["r_sole"][lifted] = 0.0
    odd = with_wrenches(made.recording, change)
    found = measured_poses(humanoid, odd)
    assert len(found.poses) == len(made.positions) - 1
    assert any("the right foot does not stand" in text for text in found.notices)
    change = {"l_sole": change["l_sole"], "r_sole": 0.01 * change["r_sole"]}
    text = refused(humanoid, with_wrenches(odd, change), free_mass=True)
    assert "never stands still on both feet: 0.00 s to" in text


def test_always_fast(humanoid, made):
    """A robot that neither stands still nor moves slowly is refused with the limits."""
    fast = replace(made.recording, time=0.02 * made.recording.time)
    hasty = {
        name: own._replace(time=0.02 * own.time)
        for name, own in made.recording.wrenches.items()
    }
    text = refused(humanoid, replace(fast, wrenches=hasty))
    assert "never slower than" in text
    assert "nor does it move on both feet at less than" in text


def test_missing_leg_joint(humanoid, made):
    """A leg joint of another name is listed with the nearest that the log has."""
    name = next(iter(humanoid.legs["left"].joints))
    joints = {
        k + ("_" if k == name else ""): v for k, v in made.recording.joints.items()
    }
    text = refused(humanoid, replace(made.recording, joints=joints))
    assert f"has no '{name}' (did you mean '{name}_'?)" in text


def test_missing_arm_joint(humanoid, made):
    """Another joint that is missing is put to rest, with a notice."""
    legs = {joint for leg in humanoid.legs.values() for joint in leg.joints}
    name = next(name for name in degree_names(humanoid) if name not in legs)
    joints = {k: v for k, v in made.recording.joints.items() if k != name}
    joints[f"{name}_x"] = made.recording.joints[name]
    found = measured_poses(humanoid, replace(made.recording, joints=joints))
    assert any(f"'{name}' (did you mean '{name}_x'?)" in t for t in found.notices)


def test_no_numbers(humanoid, made):
    """Samples that are not numbers are left out; more than half are refused."""
    rng = np.random.default_rng(1)
    for fraction, fine in ((0.1, True), (0.6, False)):
        own = made.recording.wrenches["l_sole"].values.copy()
        own[rng.uniform(size=len(own)) < fraction, 2] = np.nan
        odd = with_wrenches(made.recording, {"l_sole": own})
        if fine:
            found = measured_poses(humanoid, odd)
            assert_true(found, made)
            assert any("are not numbers" in text for text in found.notices)
        else:
            assert "are not numbers" in refused(humanoid, odd)


def test_silent_sensor(humanoid, made):
    """A sensor that repeats itself while the robot goes elsewhere is not believed."""
    own = made.recording.wrenches["l_sole"].values.copy()
    own[150:560] = own[150]
    found = measured_poses(humanoid, with_wrenches(made.recording, {"l_sole": own}))
    assert len(found.poses) == len(made.positions) - 1
    assert any("stays the same while the robot moves" in t for t in found.notices)


def test_wrenches_with_a_gap(humanoid, made):
    """What lies in a gap of the wrenches is not made up of its ends."""
    wrenches = dict(made.recording.wrenches)
    own = wrenches["r_sole"]
    kept = np.r_[0:340, 570 : len(own.time)]
    wrenches["r_sole"] = own._replace(time=own.time[kept], values=own.values[kept])
    found = measured_poses(humanoid, replace(made.recording, wrenches=wrenches))
    assert len(found.poses) == len(made.positions) - 1
    assert any("'r_sole' is missing" in text for text in found.notices)


def write_table(path, robot, poses, wrenches, **more):
    """Write poses with wrenches as a table."""
    names = [*degree_names(robot)]
    columns = [poses]
    for side, sole in zip(FEET, SOLES, strict=True):
        names += [f"{sole}.{kind}{axis}" for kind in "fm" for axis in "xyz"]
        columns.append(wrenches[side])
    for name, values in more.items():
        names.append(name)
        columns.append(np.reshape(values, (-1, 1)))
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["pose", *names])
        for number, row in enumerate(np.hstack(columns)):
            writer.writerow(
                [number, *["" if np.isnan(x) else repr(float(x)) for x in row]]
            )
    return path


def test_table(humanoid, made, tmp_path):
    """Each row of a table is a pose, with its samples, and no time is needed."""
    file = write_table(
        tmp_path / "poses.csv",
        humanoid,
        made.positions,
        made.wrenches,
        samples=[9.0] * 4,
    )
    found = measured_poses(humanoid, read_pose_table(file), table=True)
    assert_true(found, made)
    np.testing.assert_array_equal(found.poses.samples, 9)
    assert found.notices == ()


def test_bad_tables(humanoid, made, tmp_path):
    """Rows with holes are left out; a foot in the air and no samples are refused."""
    holes = made.positions.copy()
    holes[2, 0] = np.nan
    file = write_table(tmp_path / "poses.csv", humanoid, holes, made.wrenches)
    found = measured_poses(humanoid, read_pose_table(file), table=True)
    assert len(found.poses) == 3
    assert "numbers are missing in row 4" in found.notices[0]
    holes[:3] = np.nan
    file = write_table(tmp_path / "holes.csv", humanoid, holes, made.wrenches)
    with pytest.raises(EquipoiseError, match="3 of 4 rows lack a number"):
        read_pose_table(file)
    lifted = {side: own.copy() for side, own in made.wrenches.items()}
    lifted["left"][1] += lifted["right"][1]
    lifted["right"][1] = 0.0
    file = write_table(tmp_path / "lifted.csv", humanoid, made.positions, lifted)
    text = refused(humanoid, read_pose_table(file), table=True)
    assert "in pose 1 the right foot carries 0% of the weight" in text
    file = write_table(
        tmp_path / "none.csv",
        humanoid,
        made.positions,
        made.wrenches,
        samples=[0.0] * 4,
    )
    text = refused(humanoid, read_pose_table(file), table=True)
    assert "pose 0 has 0 samples" in text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a CSV file"),
        ("a,b\n1\n", "row 2 has 1 columns"),
        ("a,a\n1,2\n", "two columns have the name 'a'"),
        ("l_sole.fx,l_sole.fy\n1,2\n", "holds no joint positions"),
    ],
)
def test_no_table(tmp_path, text, said):
    """A file that is not a table is refused in a line."""
    file = tmp_path / "table.csv"
    file.write_text(text)
    with pytest.raises(EquipoiseError, match=said):
        read_pose_table(file)


def test_csv_log(humanoid, made, tmp_path):
    """A log in CSV, with NaN in it, gives the same poses."""
    log = made.recording
    stacked = {
        side: log.wrenches[sole].values for side, sole in zip(FEET, SOLES, strict=True)
    }
    joints = np.stack(list(log.joints.values()), axis=1)
    joints[50:60, 3] = np.nan
    file = write_table(tmp_path / "log.csv", humanoid, joints, stacked, time=log.time)
    found = measured_poses(humanoid, read_recording(file))
    assert len(found.poses) == len(made.positions)
    assert any("not finite" in text for text in found.notices)


def run_of(robot, time, q, foot_wrench):
    """Return a run of which only joints and wrenches matter."""
    rows = len(time)
    empty, flat = np.zeros((rows, 0, 3)), np.zeros((rows, 3))
    return Run(
        robot=robot,
        time=time,
        q=q,
        v=np.zeros((rows, robot.nv)),
        a=np.zeros((rows, robot.nv)),
        torque=np.zeros((rows, robot.nv - 6)),
        contact_names=(),
        contact_position=empty,
        contact_force=empty,
        foot_wrench=foot_wrench,
        com=flat,
        zmp=flat,
        supported=np.ones(rows, dtype=bool),
        zmp_margin=np.zeros(rows),
        references={},
        boxes=np.zeros((rows, 0, 7)),
        events=(),
        summary={},
    )


def test_run(humanoid, made):
    """A run of our own gives the same poses as its log."""
    log = made.recording
    joints = np.stack(list(log.joints.values()), axis=1)
    q = configurations(humanoid, np.tile(AT_ORIGIN, (len(joints), 1)), joints)
    wrenches = {
        side: log.wrenches[sole].values for side, sole in zip(FEET, SOLES, strict=True)
    }
    run = run_of(humanoid, log.time, q, wrenches)
    assert_true(measured_poses_of_run(run), made)
    with pytest.raises(EquipoiseError, match="no wrench of the right foot"):
        measured_poses_of_run(
            replace(run, foot_wrench={"left": run.foot_wrench["left"]})
        )


def test_balance_of_the_made_up_log(humanoid, made):
    """The made-up wrenches carry the weight: what the other tests stand on."""
    wrenches = balanced(humanoid, made.positions, np.zeros((4, 3)))
    total = sum(own[:, 2] for own in wrenches.values())
    np.testing.assert_allclose(total, humanoid.mass * 9.80665, rtol=1e-3)


def test_log_of_our_own(humanoid, tmp_path):
    """A simulated run and its MCAP file give the same pose and the same weight."""
    run = stand(humanoid, seconds=1.5)
    run.save(tmp_path / "run")
    direct = measured_poses_of_run(run)
    read = measured_poses(humanoid, read_recording(tmp_path / "run"))
    assert len(direct.poses) == len(read.poses) == 1
    np.testing.assert_allclose(read.poses.q[:, 7:], direct.poses.q[:, 7:], atol=1e-9)
    for side in FEET:
        np.testing.assert_allclose(
            read.poses.wrenches[side], direct.poses.wrenches[side], atol=1e-6
        )
    total = sum(direct.poses.wrenches[side][0, 2] for side in FEET)
    assert total == pytest.approx(humanoid.mass * 9.80665, rel=0.01)


def with_sensors(robot, made, at):
    """Return a run whose sensors measured a made-up log; the truth is another."""
    log = made.recording
    rows = len(log.time)
    standing = np.tile(robot.standing, (rows, 1))
    nothing = dict.fromkeys(FEET, np.zeros((rows, 6)))
    run = run_of(robot, log.time, standing, nothing)
    feet = {}
    for side, name in zip(FEET, SOLES, strict=True):
        values = np.array(log.wrenches[name].values)
        if at == "ankle":
            values = at_ankle(robot, side, values)
        feet[side] = values
    joints = np.stack([log.joints[name] for name in degree_names(robot)], axis=1)
    measured = LogMeasured(
        time=log.time,
        position=joints,
        velocity=np.zeros_like(joints),
        feet=feet,
        feet_at=at,
        angular_velocity=np.zeros((rows, 3)),
        specific_force=np.zeros((rows, 3)),
        orientation=np.tile([0.0, 0.0, 0.0, 1.0], (rows, 1)),
        imu_frame="torso",
        transform_imu_to_frame=np.eye(4),
    )
    return replace(run, measured=measured)


def at_ankle(robot, side, values):
    """Return what a sensor at the ankle feels of wrenches on a level sole."""
    body, sole = placement_in_body(robot.model, robot.soles[side])
    foot = robot.model.inertias[body]
    arm = sole.rotation.T @ sole.translation
    centre = sole.rotation.T @ foot.lever
    weight = np.array([0.0, 0.0, -foot.mass * 9.80665])
    force = values[:, :3] + weight
    torque = values[:, 3:] + np.cross(arm, values[:, :3]) + np.cross(centre, weight)
    return np.hstack([force, torque])


@pytest.mark.parametrize("at", ["sole", "ankle"])
def test_run_with_sensors(humanoid, made, at, tmp_path):
    """Sensors count, not the truth; a run and its log give the same poses."""
    run = with_sensors(humanoid, made, at)
    direct = measured_poses_of_run(run)
    assert_true(direct, made)
    run.save(tmp_path / "run")
    read = measured_poses(humanoid, read_recording(tmp_path / "run"))
    np.testing.assert_array_equal(read.poses.q, direct.poses.q)
    np.testing.assert_array_equal(read.poses.samples, direct.poses.samples)
    np.testing.assert_array_equal(read.poses.start_s, direct.poses.start_s)
    for side in FEET:
        own = direct.poses.wrenches[side]
        np.testing.assert_array_equal(read.poses.wrenches[side], own)
    assert read.noise == direct.noise
    assert read.notices == direct.notices
    said = [text for text in read.notices if "the foot's weight" in text]
    assert len(said) == (2 if at == "ankle" else 0)
    assert "orientation of IMU 'imu'" in read.notices[-1]


def test_identify_run_with_sensors(humanoid, tmp_path):
    """The robot that a run identifies is the one that its log does, and weighs as much.

    Sensors at the ankles do not feel the feet: without their weight it would be 16 N
    too light, eight times what offsets explain.
    """
    log = standing_log(humanoid, poses_of(humanoid, 8, 2))
    run = with_sensors(humanoid, log, "ankle")
    run.save(tmp_path / "run")
    found, read = eq.identify(humanoid, run), eq.identify(humanoid, tmp_path / "run")
    np.testing.assert_array_equal(found.poses.q, read.poses.q)
    assert found.mass == read.mass
    assert found.mass == pytest.approx(humanoid.mass, abs=0.3)
    np.testing.assert_array_equal(found.offsets["left"], read.offsets["left"])
