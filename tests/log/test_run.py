from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_trees import random_states, random_trees
from runs import sensing, swaying

from equipoise.errors import EquipoiseError, NameNotFoundError, ShapeError
from equipoise.log.folder import plain_summary, summary_as_json
from equipoise.log.run import Event
from equipoise.robot.joint_coordinates import (
    configurations,
    degree_names,
    joint_positions,
)
from equipoise.robot.load import load

ROWS, JOINTS, POINTS = 101, 29, 8


def test_arrays_are_copies_and_read_only():
    """What is recorded can no longer be changed, by nobody."""
    time = np.arange(ROWS) / 100.0
    run = swaying(time=time)
    time[0] = 7.0
    assert run.time[0] == 0.0
    for array in (run.time, run.q, run.supported, run.zmp, run.boxes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(TypeError):
        run.summary["verb"] = "walk"
    with pytest.raises(ValueError, match="read-only"):
        run.references["com"][0] = 0.0


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("time", (ROWS, 1)),
        ("q", (ROWS, 7)),
        ("v", (ROWS - 1, JOINTS + 6)),
        ("a", (JOINTS + 6,)),
        ("torque", (ROWS, JOINTS + 6)),
        ("contact_position", (ROWS, 3)),
        ("contact_force", (ROWS, POINTS - 1, 3)),
        ("com", (ROWS, 2)),
        ("zmp", (ROWS, 2)),
        ("zmp_margin", (ROWS, 1)),
        ("supported", (ROWS + 1,)),
        ("boxes", (ROWS, 7)),
    ],
)
def test_wrong_shapes_are_named(name, shape):
    """An array of the wrong shape is refused, and the message names it."""
    dtype = np.bool_ if name == "supported" else np.float64
    with pytest.raises(ShapeError, match=rf"^{name} has shape"):
        swaying(**{name: np.zeros(shape, dtype)})


def test_wrong_shapes_in_mappings_are_named():
    """So are wrenches and references; a joint's reference has an entry for each."""
    with pytest.raises(ShapeError, match=r"foot_wrench\['left'\] has shape"):
        swaying(foot_wrench={"left": np.zeros((ROWS, 3))})
    with pytest.raises(ShapeError, match=r"references\['com'\] has shape"):
        swaying(references={"com": np.zeros((ROWS - 1, 3))})
    with pytest.raises(ShapeError, match=r"references\['joint_position'\] has shape"):
        swaying(references={"joint_position": np.zeros((ROWS, 3))})
    with pytest.raises(NameNotFoundError, match="no sole 'middle'"):
        swaying(foot_wrench={"middle": np.zeros((ROWS, 6))})
    with pytest.raises(EquipoiseError, match="reference 'a b'"):
        swaying(references={"a b": np.zeros(ROWS)})


def test_signals_are_checked():
    """Commands, measurements and estimates are whole, of the right size, or refused."""
    run = sensing(swaying(), estimator=True)
    for array in (run.commands["torque"], run.measured.position, run.estimates["q"]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0
    with pytest.raises(TypeError):
        run.measured.feet["left"] = np.zeros((ROWS, 6))
    still = np.zeros((ROWS, JOINTS))
    with pytest.raises(EquipoiseError, match="commands are of position; position, v"):
        swaying(commands={"position": still})
    with pytest.raises(ShapeError, match=r"commands\['torque'\] has shape"):
        replace(run, commands={**run.commands, "torque": still[:, 1:]})
    with pytest.raises(ShapeError, match=r"estimates\['q'\] has shape"):
        replace(run, estimates={**run.estimates, "q": still})
    with pytest.raises(EquipoiseError, match="has estimates, but no measurements"):
        replace(run, measured=None)
    # an estimator may diverge
    lost = {name: values * np.nan for name, values in run.estimates.items()}
    assert np.isnan(replace(run, estimates=lost).estimates["q"]).all()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"orientation": np.zeros((ROWS, 3))}, r"^measured\.orientation has shape"),
        ({"feet": {"left": np.zeros(6)}}, r"^measured\.feet\['left'\] has shape"),
        ({"position": np.zeros((ROWS, 3)), "velocity": np.zeros((ROWS, 3))}, "29"),
        ({"specific_force": np.full((ROWS, 3), np.nan)}, "not finite, first in row 0"),
        ({"time": np.arange(ROWS)[::-1]}, "decreases"),
        ({"feet_at": "knee"}, "no foot sensors at 'knee'; the choices are: sole, an"),
        ({"feet": {"middle": np.zeros((ROWS, 6))}}, "no sole 'middle'"),
        ({"imu_frame": "nowhere"}, "no frame 'nowhere'"),
    ],
)
def test_measurements_are_checked(changes, reason):
    """What no sensor can have measured is refused, by name."""
    run = sensing(swaying())
    with pytest.raises(EquipoiseError, match=reason):
        replace(run, measured=replace(run.measured, **changes))


def test_frame_of_the_imu_has_the_robots_name():
    """Names that are understood as well become those of the robot's file."""
    run = sensing(swaying())
    measured = replace(run.measured, imu_frame="base_link")
    assert replace(run, measured=measured).measured.imu_frame == "pelvis"


def test_impossible_values_are_named():
    """NaN, time that stands still, and texts for numbers are refused."""
    torque = np.zeros((ROWS, JOINTS))
    torque[5, 2] = np.nan
    with pytest.raises(ShapeError, match=r"torque holds .* not finite, first in row 5"):
        swaying(torque=torque)
    with pytest.raises(ShapeError, match="time does not increase at row 1"):
        swaying(time=np.zeros(ROWS))
    with pytest.raises(ShapeError, match="time begins at -1 s"):
        swaying(time=np.arange(ROWS) - 1.0)
    with pytest.raises(ShapeError, match="com must be an array of numbers"):
        swaying(com="here")
    with pytest.raises(EquipoiseError, match="event 'end' is at nan s"):
        swaying(events=(Event(np.nan, "end"),))
    with pytest.raises(EquipoiseError, match="holds a name twice"):
        swaying(contact_names=("left",) * POINTS)


def test_zmp_means_nothing_without_support():
    """Where nothing carries the robot, ZMP and margin are NaN, whatever was given."""
    run = swaying()
    assert np.isnan(run.zmp[~run.supported]).all()
    assert np.isnan(run.zmp_margin[~run.supported]).all()
    assert np.isfinite(run.zmp[run.supported]).all()
    zmp = np.array(run.zmp)
    zmp[0] = np.nan
    with pytest.raises(ShapeError, match="zmp holds values that are not finite"):
        swaying(zmp=zmp)


def test_events_are_put_in_order():
    """Events come in order of time, however they were given."""
    assert [event.text for event in swaying().events] == ["start", "left the ground"]


def test_results_are_plain():
    """NumPy's numbers become plain ones; NaN is refused with its place."""
    results = {"b": np.float64(1.5), "a": {"x": np.arange(2), "y": (True, None)}}
    assert plain_summary(results) == {"b": 1.5, "a": {"x": [0, 1], "y": [True, None]}}
    assert summary_as_json(results).index('"a"') < summary_as_json(results).index('"b"')
    with pytest.raises(EquipoiseError, match=r"summary: 'com_error_m.max\[1\]' is nan"):
        swaying(summary={"com_error_m": {"max": [0.0, np.nan]}})
    with pytest.raises(EquipoiseError, match="summary: 'robot' is a Robot"):
        swaying(summary={"robot": load("humanoid")})
    with pytest.raises(EquipoiseError, match="the key 3 is not a text"):
        swaying(summary={3: 1})


@given(random_trees(), st.integers(0, 100))
def test_joint_positions_give_back_the_configuration(robot, seed):
    """One number for each degree of freedom holds joints of every kind."""
    q, _ = random_states(robot, 5, seed)
    positions = joint_positions(robot, q)
    assert positions.shape == (5, robot.nv - 6)
    assert len(set(degree_names(robot))) == robot.nv - 6
    back = configurations(robot, q[:, :7], positions)
    np.testing.assert_allclose(back, q, rtol=0, atol=1e-13)


def test_degrees_are_named_after_joints():
    """Where every joint has one degree of freedom, they have the joints' names."""
    robot = load("humanoid")
    assert degree_names(robot) == tuple(robot.model.names)[2:]
