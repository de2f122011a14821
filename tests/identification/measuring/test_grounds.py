from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from identification.ground_logs import (
    com_error,
    ground_wrench,
    held,
    in_frame,
    log_of,
    on_feet,
    on_left_sole,
    static_wrench,
    swaying,
    true_robot,
)
from identification.true_robots import PRIOR, random_poses
from scipy.spatial.transform import Rotation

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.identification.identify import identify_poses
from equipoise.identification.measuring.log_poses import measured_poses
from equipoise.identification.measuring.log_rows import rows_as_csv
from equipoise.identification.measuring.pose_table import read_pose_table
from equipoise.identification.noise import SensorNoise
from equipoise.identification.statics import FEET, equations, frames_of, links_with_mass
from equipoise.kinematics.stance import sole_pose
from equipoise.log.open_run import read_recording
from equipoise.log.recordings.recording import MeasuredImu, StaticFrame
from equipoise.robot.inertias import Inertial
from equipoise.robot.joint_coordinates import degree_names, joint_positions

# Sensors that were zeroed without load.
ZEROED = replace(PRIOR, torque_std=0.1, lateral_force_std=1.0, vertical_force_std=0.2)
# Where the plate is: x, y, z, yaw.
PLACE = (0.3, -0.2, -0.04, 0.5 * np.pi)


@pytest.fixture(scope="module")
def model() -> eq.Robot:
    """A robot as its file describes it."""
    return eq.load("humanoid")


@pytest.fixture(scope="module")
def truth(model) -> eq.Robot:
    """The robot as it is."""
    return true_robot(model, 1)


@pytest.fixture(scope="module")
def stood(model, truth):
    """Times, configurations and the ground's wrench of twelve poses."""
    time, q = held(model, 12, 3)
    return time, q, static_wrench(truth, q)


@pytest.fixture(scope="module")
def new_poses(model):
    """Poses that were not measured."""
    return random_poses(model, 8, np.random.default_rng(99))


def plate_pose(x, y, z, yaw):
    """Return the transform of a plate to the world, (4, 4)."""
    pose = np.eye(4)
    pose[:2, :2] = [[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]]
    pose[:3, 3] = x, y, z
    return pose


def on_plates(model, stood, places, shares=None, turn=None):
    """Return a log of plates by name; ``turn`` is applied to what they measure."""
    time, q, total = stood
    wrenches = {}
    for at, (name, place) in enumerate(places.items()):
        part = total if shares is None else shares[at]
        own = in_frame(np.tile(plate_pose(*place), (len(q), 1, 1)), part)
        wrenches[name] = own if turn is None else own @ np.kron(np.eye(2), turn)
    return log_of(model, time, q, wrenches, base_pose=q[:, :7], base_source="/mocap")


def identified(found):
    """Return the robot that poses identify."""
    return identify_poses(found.poses, noise=found.noise, prior=ZEROED).robot


def test_one_plate_under_both_feet(model, truth, stood, new_poses):
    """One wrench, with one offset, gives the CoM in new poses to 2 mm."""
    log = on_plates(model, stood, {"force_plate": PLACE})
    found = measured_poses(model, log, plate_at={"": PLACE})
    assert found.poses.sensors == ("force_plate",)
    assert len(found.poses) == 12
    assert com_error(model, truth, new_poses) > 5e-3
    assert com_error(identified(found), truth, new_poses) < 2e-3


def test_a_plate_that_the_log_places(model, stood):
    """The place of a plate may come from the log's own frames."""
    log = on_plates(model, stood, {"/plate": PLACE})
    static = {"/plate": StaticFrame("world", plate_pose(*PLACE))}
    by_log = measured_poses(model, replace(log, static_frames=static))
    given = measured_poses(model, log, plate_at={"/plate": PLACE})
    np.testing.assert_allclose(
        by_log.poses.plates["/plate"], given.poses.plates["/plate"], atol=1e-9
    )


def test_two_plates(model, truth, stood, new_poses):
    """A plate for each foot, anywhere, does the same."""
    _, q, total = stood
    soles = on_feet(model, q, total)
    shares = []
    for side in FEET:
        back = np.linalg.inv(sole_pose(model, q, side))
        shares.append(in_frame(back, soles[side]))
    places = {"plate_1": (0.1, 0.2, 0.0, 0.0), "plate_2": (0.1, -0.2, 0.0, np.pi)}
    log = on_plates(model, stood, places, shares)
    found = measured_poses(model, log, plate_at=places)
    assert found.poses.sensors == ("plate_1", "plate_2")
    assert com_error(identified(found), truth, new_poses) < 2e-3


@pytest.mark.parametrize(
    ("turn", "said"),
    [
        (-np.eye(3), "signs are reversed"),
        (np.diag([1.0, -1.0, -1.0]), "half a turn about x"),
        (-np.diag([-1.0, 1.0, -1.0]), "half a turn about y"),
    ],
)
def test_conventions_of_plates(model, stood, turn, said):
    """Forces on the plate and axes with z down are found out, corrected and said."""
    place = (0.1, 0.15, 0.0, 0.0)
    right = measured_poses(
        model, on_plates(model, stood, {"plate": place}), plate_at={"": place}
    )
    odd = on_plates(model, stood, {"plate": place}, turn=turn)
    found = measured_poses(model, odd, plate_at={"": place})
    assert any(said in text for text in found.notices)
    own, other = (e.poses.wrenches["plate"] for e in (found, right))
    np.testing.assert_allclose(own, other, atol=0.3)


def refused(model, log, **options):
    """Return the one line that a log is refused with."""
    with pytest.raises(EquipoiseError) as caught:
        measured_poses(model, log, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_plates_that_are_refused(model, stood):
    """A plate without a pose, at the wrong place, or in wrong units is refused."""
    log = on_plates(model, stood, {"plate": PLACE})
    text = refused(model, replace(log, base_pose=None))
    assert "the pose of the base in the plate's world is needed" in text
    assert "beside the feet" in refused(model, log, plate_at={"": (2.0, 0, 0, 0)})
    far = np.array(log.base_pose) * ([1e3] * 3 + [1.0] * 4)
    odd = replace(log, base_pose=far)
    assert "units={'length': 'mm'}" in refused(model, odd, plate_at={"": PLACE})
    measured_poses(model, odd, plate_at={"": PLACE}, units={"length": "mm"})
    small = {"plate": log.wrenches["plate"]._replace(values=np.zeros((len(far), 6)))}
    text = refused(model, replace(log, wrenches=small), plate_at={"": PLACE})
    assert "zero all the time" in text
    assert "did you mean 'plate'" in refused(model, log, plate_at={"plat": PLACE})


def test_attitude_of_the_base_on_a_plate(model, stood):
    """An attitude that contradicts the soles is not used, and corrected by them."""
    log = on_plates(model, stood, {"plate": PLACE})
    right = measured_poses(model, log, plate_at={"": PLACE})
    assert right.poses.up_in_base is not None
    soles = measured_poses(model, log, plate_at={"": PLACE}, up="soles")
    assert soles.poses.up_in_base is None
    totals = [equations(frames_of(e.poses), e.poses).right for e in (right, soles)]
    np.testing.assert_allclose(totals[0], totals[1], atol=0.05)


@pytest.fixture(scope="module")
def swayed(model, truth):
    """A log of slow motion on soles that stand, by inverse dynamics."""
    time, path = swaying(model, 40.0, 1)
    q = on_left_sole(model, path(time))
    feet = on_feet(model, q, ground_wrench(truth, path, time))
    frames = {f"{side[0]}_sole": own for side, own in feet.items()}
    return log_of(model, time, q, frames)


def test_slow_motion(model, truth, swayed, new_poses):
    """A robot that never stands still is identified from its slow motion, to 2 mm."""
    found = measured_poses(model, swayed)
    assert len(found.poses) == 49
    assert any("49 pieces of slow motion" in text for text in found.notices)
    assert found.offset_s == 0.0
    assert found.poses.momentum_rate is not None
    assert set(found.poses.stretch) == {0}
    assert found.noise.force == pytest.approx(0.5, rel=0.15)
    assert com_error(identified(found), truth, new_poses) < 2e-3


def test_rate_of_momentum_is_that_of_newton_and_euler(model):
    """With the model's own motion, gravity and rate of momentum explain the wrenches.

    Without the rate the misfit is ten times as large.
    """
    time, path = swaying(model, 12.0, 2, period_s=5.0)
    q = on_left_sole(model, path(time))
    feet = on_feet(model, q, ground_wrench(model, path, time))
    frames = {f"{side[0]}_sole": own for side, own in feet.items()}
    found = measured_poses(model, log_of(model, time, q, frames))
    links = frames_of(found.poses)
    values = np.concatenate(
        [
            own.mass * np.append(1.0, own.com_in_link)
            for own in links_with_mass(model).values()
        ]
    )
    matrix, right = equations(links, found.poses)
    misfit = right - matrix[..., : len(values)] @ values
    without = misfit + found.poses.momentum_rate
    assert np.abs(misfit[:, 3:5]).max() < 0.1
    assert np.abs(without[:, 3:5]).max() > 10.0 * np.abs(misfit[:, 3:5]).max()


def test_rate_of_momentum_has_the_measured_weight(model):
    """Masses half as large again: so is the rate of momentum, and nothing is left."""
    heavy = model.with_inertials(
        {
            link: Inertial(1.5 * own.mass, own.com_in_link, 1.5 * own.inertia_in_link)
            for link, own in links_with_mass(model).items()
        }
    )
    time, path = swaying(model, 12.0, 2, period_s=5.0)
    q = on_left_sole(model, path(time))
    feet = on_feet(model, q, ground_wrench(heavy, path, time))
    frames = {f"{side[0]}_sole": own for side, own in feet.items()}
    log = log_of(model, time, q, frames)
    found = measured_poses(model, log, free_mass=True)
    links = frames_of(found.poses)
    values = np.concatenate(
        [
            own.mass * np.append(1.0, own.com_in_link)
            for own in links_with_mass(heavy).values()
        ]
    )
    matrix, right = equations(links, found.poses)
    misfit = right - matrix[..., : len(values)] @ values
    assert np.abs(misfit[:, 3:5]).max() < 0.15


def test_standing_poses_come_first(model, truth, stood):
    """Where standing poses are enough, motion is used only if wanted."""
    time, q, total = stood
    feet = {f"{s[0]}_sole": own for s, own in on_feet(model, q, total).items()}
    log = log_of(model, time, q, feet)
    found = measured_poses(model, log)
    assert found.poses.momentum_rate is None
    assert len(found.used) == 12
    assert sum(own.end - own.first for own in found.rows) == len(time)


def with_feet(model, stood, total, **more):
    """Return a log of sensors at the soles."""
    time, q, _ = stood
    feet = {f"{s[0]}_sole": own for s, own in on_feet(model, q, total).items()}
    return log_of(model, time, q, feet, **more)


def tilted(truth, q, turn):
    """Return the ground's wrench where gravity is turned, about the world's origin."""
    centre = np.asarray(eq.com(truth, q), np.float64)
    force = np.tile(turn @ [0.0, 0.0, truth.mass * 9.80665], (len(q), 1))
    return np.hstack([force, np.cross(centre, force)])


@pytest.mark.parametrize("by", ["orientation", "accelerometer", "base"])
def test_measured_up_on_a_floor_that_slopes(model, truth, stood, new_poses, by):
    """On a floor of 2° an IMU or the base's attitude says where up is.

    Seen along it there are no lateral forces, and the CoM is right to 2 mm.
    """
    time, q, _ = stood
    slope = Rotation.from_euler("xy", [0.0, np.deg2rad(2.0)]).as_matrix()
    base = Rotation.from_quat(q[:, 3:7]).as_matrix()
    up_in_base = np.einsum("nji,j->ni", base, slope[:, 2])
    log = with_feet(model, stood, tilted(truth, q, slope))
    root = model.description.root
    if by == "base":
        turned = Rotation.from_matrix(slope.T @ base).as_quat()
        log = replace(
            log, base_pose=np.hstack([q[:, :3], turned]), base_source="/mocap"
        )
    else:
        up = up_in_base if by == "orientation" else None
        log = replace(log, imu=MeasuredImu(root, time, up, 9.81 * up_in_base))
    found = measured_poses(model, log, up="base")
    np.testing.assert_allclose(
        np.einsum("ni,ni->n", found.poses.up_in_base, up_in_base[::150]), 1.0, atol=1e-6
    )
    assert any("2.0° away (median)" in text for text in found.notices)
    assert com_error(identified(found), truth, new_poses) < 2e-3
    right = equations(frames_of(found.poses), found.poses).right
    assert np.abs(right[:, :2]).max() < 0.5
    blind = measured_poses(model, log)
    assert blind.poses.up_in_base is None
    slid = equations(frames_of(blind.poses), blind.poses).right
    np.testing.assert_allclose(slid[:, 0] / slid[:, 2], np.tan(np.deg2rad(2.0)), 0.05)


def test_up_without_an_attitude(model, stood):
    """Who wants the base's attitude must have measured it."""
    log = with_feet(model, stood, stood[2])
    assert "up='base' needs an attitude" in refused(model, log, up="base")


def write_log(path, model, stood, columns):
    """Write joints and columns of numbers as a CSV log."""
    time, q, _ = stood
    joints = joint_positions(model, q)
    names = ["time", *degree_names(model), *columns]
    rows = np.column_stack([time, joints, *columns.values()])
    np.savetxt(path, rows, delimiter=",", header=",".join(names), comments="")
    return path


def test_insoles(model, truth, stood, new_poses, tmp_path):
    """Vertical force and centre of pressure of each foot give the CoM to 2 mm."""
    _, q, total = stood
    columns = {}
    for side, own in on_feet(model, q, total).items():
        columns[f"{side}_insole.fz"] = own[:, 2]
        columns[f"{side}_insole.cop_x"] = -1e3 * own[:, 4] / own[:, 2]
        columns[f"{side}_insole.cop_y"] = 1e3 * own[:, 3] / own[:, 2]
    log = read_recording(write_log(tmp_path / "log.csv", model, stood, columns))
    found = measured_poses(model, log, units={"length": "mm"})
    assert any("vertical force and centre of pressure" in t for t in found.notices)
    missing = found.poses.missing_std["left"]
    assert np.all(missing[:, [0, 1, 5]] > 0.0)
    assert not np.any(missing[:, 2:5])
    robot = identified(replace(found, noise=SensorNoise(level=found.noise.level)))
    assert com_error(robot, truth, new_poses) < 2e-3


def test_vertical_forces_only(model, truth, stood, tmp_path):
    """Feet that give F_z only are named for what they are; intervals stay wide."""
    _, q, total = stood
    columns = {f"{s}.fz": w[:, 2] for s, w in on_feet(model, q, total).items()}
    log = read_recording(write_log(tmp_path / "log.csv", model, stood, columns))
    found = measured_poses(model, log)
    assert any("gives the vertical force only" in text for text in found.notices)
    length = model.soles["left"].size[0]
    load = found.poses.wrenches["left"][:, 2]
    shared = np.sqrt(len(found.poses))
    np.testing.assert_allclose(
        found.poses.missing_std["left"][:, 4], shared * load * length / np.sqrt(12.0)
    )
    told = identify_poses(found.poses, noise=SensorNoise(), prior=ZEROED)
    assert told.mass == pytest.approx(truth.mass, rel=5e-3)
    assert not told.improved


def test_a_force_without_its_vertical_part(model, stood, tmp_path):
    """Columns without fz are no wrench, and the line says what there is."""
    columns = {f"{side}.fx": stood[0] for side in FEET}
    log = read_recording(write_log(tmp_path / "log.csv", model, stood, columns))
    assert any("without fz they are no wrench" in text for text in log.notices)
    assert "its wrenches are: none" in refused(model, log)


def test_feet_exchanged(model, stood):
    """Wrenches that only fit when left and right are exchanged are refused."""
    log = with_feet(model, stood, stood[2])
    left, right = log.wrenches["l_sole"], log.wrenches["r_sole"]
    swapped = {
        "l_sole": left._replace(values=right.values),
        "r_sole": right._replace(values=left.values),
    }
    text = refused(model, replace(log, wrenches=swapped))
    assert "the wrenches of the feet seem to be exchanged" in text
    named = {"l_sole": "r_sole", "r_sole": "l_sole"}
    found = measured_poses(model, replace(log, wrenches=swapped), wrench_frames=named)
    assert len(found.poses) == 12


def test_a_robot_that_tips(model, stood):
    """A stretch in which a fifth of the weight is gone is named and left out."""
    log = with_feet(model, stood, stood[2])
    tips = (log.time > 12.0) & (log.time < 14.0)
    less = {
        name: own._replace(values=np.where(tips[:, None], 0.8, 1.0) * own.values)
        for name, own in log.wrenches.items()
    }
    found = measured_poses(model, replace(log, wrenches=less))
    assert len(found.poses) == 11
    named = [text for text in found.notices if "20% less than in the other" in text]
    assert len(named) == 1
    assert named[0].startswith("12.50 s to 13.99 s is left out")
    assert [own.reason for own in found.dropped] == [named[0].partition(": ")[2]]
    table = rows_as_csv(found.rows).splitlines()
    assert table[0].startswith("first_row,last_row,start_s,end_s,used,pose,reason")
    assert len(table) == 1 + len(found.rows)
    assert sum(",yes," in line for line in table) == 11


def test_a_table_on_a_plate(model, stood, tmp_path):
    """A table of poses may have a plate and the base's pose; a bad row is left out."""
    rows = stood[0].searchsorted(np.arange(12) * 2.5)
    _, q, total = (own[rows] for own in stood)
    wrench = np.array(total)
    wrench[5] *= 0.7
    axes = [f"plate.{kind}{axis}" for kind in "fm" for axis in "xyz"]
    base = [f"base.{name}" for name in ("x", "y", "z", "qx", "qy", "qz", "qw")]
    columns = dict(zip(axes + base, np.hstack([wrench, q[:, :7]]).T, strict=True))
    log = write_log(tmp_path / "t.csv", model, (rows.astype(float), q, total), columns)
    found = measured_poses(model, read_pose_table(log), table=True)
    assert len(found.poses) == 11
    assert any("pose 5 is left out: the ground carries" in t for t in found.notices)
    assert [own.first for own in found.dropped] == [5]
    np.testing.assert_allclose(found.poses.wrenches["plate"][0], total[0])


@pytest.mark.parametrize("degrees", [8.0, 20.0])
def test_soles_some_degrees_apart(model, truth, stood, new_poses, degrees):
    """Ankles that are wrong by the same in all poses are found; by 20° is refused."""
    time, q, total = stood
    log = with_feet(model, stood, total, base_pose=q[:, :7], base_source="/mocap")
    ankle = model.legs["left"].joints[-2]
    joints = dict(log.joints)
    joints[ankle] = joints[ankle] + np.deg2rad(degrees)
    odd = replace(log, joints=joints)
    if degrees > 15.0:
        assert "never stands still on both feet" in refused(model, odd)
        return
    found = measured_poses(model, odd, up="base")
    assert any(f"'{ankle}' -8.0°" in text for text in found.notices)
    assert com_error(identified(found), truth, new_poses) < 2e-3
    blind = measured_poses(model, odd)
    assert any("up may be 4.0° off" in text for text in blind.notices)
    assert blind.noise.level == pytest.approx(np.deg2rad(4.0) / np.sqrt(3.0), rel=1e-2)
    assert len(time) == len(odd.time)


def test_joints_that_are_not_logged(model, stood):
    """Joints that the log lacks are held, and what that may do is said."""
    log = with_feet(model, stood, stood[2])
    elbows = [name for name in log.joints if "elbow" in name]
    kept = {name: own for name, own in log.joints.items() if name not in elbows}
    found = measured_poses(model, replace(log, joints=kept))
    said = [text for text in found.notices if "the centre of mass would be" in text]
    assert said[0].startswith(f"{len(elbows)} joints are not in the log")
