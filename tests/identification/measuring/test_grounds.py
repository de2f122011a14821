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

import equipoise as eq
from equipoise.errors import EquipoiseError
from equipoise.identification.identify import identify_poses
from equipoise.identification.measuring.log_poses import measured_poses
from equipoise.identification.statics import FEET, equations, frames_of, links_with_mass
from equipoise.kinematics.stance import sole_pose
from equipoise.log.recordings.recording import StaticFrame

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


def test_standing_poses_come_first(model, truth, stood):
    """Where standing poses are enough, motion is used only if wanted."""
    time, q, total = stood
    feet = {f"{s[0]}_sole": own for s, own in on_feet(model, q, total).items()}
    log = log_of(model, time, q, feet)
    found = measured_poses(model, log)
    assert found.poses.momentum_rate is None
    assert len(found.used) == 12
    assert sum(own.end - own.first for own in found.rows) == len(time)
