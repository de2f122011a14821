"""Footsteps: geometry of walks, step files."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from gait.pendulum import FEET
from hypothesis import given
from hypothesis import strategies as st

import equipoise as eq
from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.gait.footsteps import (
    Footstep,
    Footsteps,
    read_footsteps,
)
from equipoise.gait.walks import Move, route, stairs, standing_feet, walk
from equipoise.kinematics.stance import sole_pose
from equipoise.kinematics.terrain import Stairs


def landings(footsteps: Footsteps) -> Array:
    """Return x, y and z of the first supporting foot and of each step, (3, n + 1)."""
    feet = [footsteps.strides[0].support, *footsteps.steps]
    return np.column_stack([foot.position for foot in feet])


def test_forward_walks_step_by_the_length_and_close() -> None:
    """Each foot lands a step ahead of the other; the last one comes beside it."""
    footsteps = walk(FEET, 6, length=0.3)
    matrix = landings(footsteps)
    np.testing.assert_allclose(matrix[0], [0.0, 0.3, 0.6, 0.9, 1.2, 1.5, 1.5])
    np.testing.assert_allclose(matrix[1], [0.1, -0.1, 0.1, -0.1, 0.1, -0.1, 0.1])
    assert [step.side for step in footsteps.steps] == ["right", "left"] * 3
    assert walk(FEET, 2, length=0.3, first="left").steps[0].side == "left"


def test_backward_is_forward_mirrored() -> None:
    """A negative length gives the same landings with x negative."""
    there = landings(walk(FEET, 5, length=0.2))
    back = landings(walk(FEET, 5, length=-0.2))
    np.testing.assert_allclose(back, there * np.array([[-1.0], [1.0], [1.0]]))


@pytest.mark.parametrize("sideways", [0.15, -0.15])
def test_sideways_feet_never_come_nearer_than_they_stand(sideways: float) -> None:
    """The leading foot steps out, the other follows; both end where they should."""
    footsteps = walk(FEET, 7, sideways=sideways)
    for stride in footsteps.strides:
        across = abs(stride.end.y - stride.support.y)
        assert across >= 0.2 - 1e-12
    ends = footsteps.feet_at_end
    assert ends["left"].y - ends["right"].y == pytest.approx(0.2)
    assert ends["left"].y - 0.1 == pytest.approx(3 * sideways)


@given(
    count=st.integers(3, 40),
    length=st.floats(-0.3, 0.3),
    sideways=st.floats(-0.1, 0.1),
    left=st.booleans(),
)
def test_turning_on_a_circle_closes(
    count: int, length: float, sideways: float, left: bool
) -> None:
    """After a whole turn in equal moves the feet are back where they started."""
    turn = (1 if left else -1) * 2.0 * math.pi / count
    footsteps = route(FEET, [Move(length, sideways, turn)] * count)
    for side, foot in footsteps.feet_at_end.items():
        np.testing.assert_allclose(foot.position, FEET[side].position, atol=1e-12)
        assert math.remainder(foot.yaw, 2 * math.pi) == pytest.approx(0.0, abs=1e-12)


def test_mixed_moves_end_where_they_add_up() -> None:
    """Forward, a quarter turn on the spot, forward: the feet stand to the left."""
    moves = [Move(0.2)] * 5 + [Move(turn=math.pi / 8)] * 4 + [Move(0.2)] * 5
    footsteps = route(FEET, moves)
    ends = footsteps.feet_at_end
    middle = (ends["left"].position + ends["right"].position) / 2.0
    np.testing.assert_allclose(middle, [1.0, 1.0, 0.0], atol=1e-12)
    assert ends["left"].yaw == pytest.approx(math.pi / 2)


@pytest.mark.parametrize("per_tread", [1, 2, 3])
@pytest.mark.parametrize("rise", [0.1, -0.1])
def test_stairs_put_soles_onto_treads(per_tread: int, rise: float) -> None:
    """Whole soles are on treads at their height, one or more each, the last on top."""
    heel, toe = -0.07, 0.13
    sole: dict[str, float] = {"longest": 0.15, "heel": heel, "toe": toe}
    ground = Stairs(rise, 0.28, 3, 0.5)
    footsteps = stairs(FEET, ground, per_tread=per_tread, **sole)  # type: ignore[arg-type]
    for step in footsteps.steps:
        for end in (heel, toe):
            assert step.z == pytest.approx(float(ground.height(step.x + end, step.y)))
    heights = [round(step.z / rise) for step in footsteps.steps]
    assert [heights.count(n) for n in (1, 2, 3)] == [per_tread, per_tread, 2]
    for foot in footsteps.feet_at_end.values():
        assert foot.z == pytest.approx(3 * rise)
    steps = np.diff([0.0, *(step.x for step in footsteps.steps)])
    assert (steps[:-1] > 0.0).all()
    if per_tread == 1:
        assert steps.max() == pytest.approx(0.28)
    else:
        assert steps.max() == pytest.approx(1.1 * (toe - heel))
    with pytest.raises(EquipoiseError, match="too near"):
        stairs(FEET, Stairs(rise, 0.28, 3, 0.1), **sole)  # type: ignore[arg-type]
    with pytest.raises(EquipoiseError, match=r"too short for soles of 0\.200 m"):
        stairs(FEET, Stairs(rise, 0.19, 3, 0.5), **sole)  # type: ignore[arg-type]


def test_standing_feet_are_those_of_the_posture(robot: eq.Robot) -> None:
    """They are where the soles are in standing; a width moves them apart."""
    feet = standing_feet(robot)
    for side, foot in feet.items():
        pose = sole_pose(robot, robot.standing, side)
        np.testing.assert_allclose(foot.transform_sole_to_world, pose, atol=1e-6)
    wide = standing_feet(robot, 0.4)
    assert wide["left"].y - wide["right"].y == pytest.approx(0.4)


def test_whole_turns_are_taken_out_of_yaw() -> None:
    """A yaw of 350° after 0 is −10°: no foot spins around."""
    step = Footstep("right", 0.1, -0.1, yaw=math.radians(350.0))
    footsteps = Footsteps(FEET["left"], FEET["right"], (step,))
    assert footsteps.steps[0].yaw == pytest.approx(math.radians(-10.0))


def test_csv_and_toml_hold_the_same(tmp_path: Path) -> None:
    """Both formats give the footsteps that were written."""
    table = tmp_path / "steps.csv"
    table.write_text(
        "# a walk\nside, x, y, yaw, z\n\n"
        "right, 0.1, -0.1, 0.05, 0\nleft,0.2,0.1,0.1,0.01\n"
    )
    document = tmp_path / "steps.toml"
    document.write_text(
        '[[step]]\nside = "right"\nx = 0.1\ny = -0.1\nyaw = 0.05\n'
        '[[step]]\nside = "left"\nx = 0.2\ny = 0.1\nyaw = 0.1\nz = 0.01\n'
    )
    footsteps = read_footsteps(table, FEET)
    assert footsteps == read_footsteps(document, FEET)
    assert footsteps.steps[1] == Footstep("left", 0.2, 0.1, 0.01, 0.1)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "side,x,y\nleft,nan,0\n", r"line 2 \(step 1\): x is 'nan'"),
        ("a.csv", "side,x,y\n\nleft,0,0\nright,0,inf\n", r"line 4 \(step 2\): y is"),
        ("a.csv", "side,x,y\nleft,0,\n", r"line 2 \(step 1\): y is ''"),
        ("a.csv", "side,x,y\nmiddle,0,0\n", "side is 'middle'"),
        ("a.csv", "side,x,y\nleft,0\n", "has 2 columns; the first line has 3"),
        ("a.csv", "side,x\nleft,0\n", "must name the columns side, x, y"),
        ("a.csv", "side,x,y,jaw\nleft,0,0,0\n", r"'jaw' \(did you mean 'yaw'\?\)"),
        ("a.csv", "side,x,y,x\nleft,0,0,0\n", "'x' is there twice"),
        ("a.csv", "side,x,y\n", "holds no steps"),
        ("a.csv", "", "must name the columns"),
        ("a.csv", 'side,x,y\n"left,0,0\n', "is not CSV"),
        ("a.toml", "[[step]]\nside = 'left'\nx = 0\n", "step 1: 'y' is missing"),
        ("a.toml", "[[step]]\nside='left'\nx=nan\ny=0\n", "step 1: x is 'nan'"),
        ("a.toml", "[[step]]\nside='left'\nx=true\ny=0\n", "step 1: x is 'True'"),
        ("a.toml", "step = 3\n", "must be tables"),
        ("a.toml", "step = [3]\n", "step 1: must be a table"),
        ("a.toml", "[[step]\n", "is not TOML"),
        ("a.txt", "", "ends in .csv or .toml"),
    ],
)
def test_bad_step_files_are_named_with_the_row(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    """One line says which file, which row and what is wrong."""
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(EquipoiseError, match=message) as caught:
        read_footsteps(path, FEET)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_files_and_bad_feet() -> None:
    """A file that is not there, unknown feet and empty walks are refused."""
    with pytest.raises(EquipoiseError, match="no such file"):
        read_footsteps("nowhere.csv", FEET)
    with pytest.raises(EquipoiseError, match="unknown foot 'rigth'"):
        walk(FEET, 3, length=0.1, first="rigth")
    with pytest.raises(EquipoiseError, match="x of a left footstep is nan"):
        Footstep("left", math.nan, 0.0)
    with pytest.raises(EquipoiseError, match="at least one step"):
        route(FEET, [])
    for steps in (0, -1, 2.5, math.nan):
        with pytest.raises(EquipoiseError, match="whole number"):
            walk(FEET, steps)  # type: ignore[arg-type]


def test_files_beyond_all_bounds(tmp_path: Path) -> None:
    """Steps to the end of the universe, and thousands of them, are refused."""
    path = tmp_path / "steps.csv"
    path.write_text("side,x,y\nleft,0.1,1e300\n", encoding="utf-8")
    with pytest.raises(EquipoiseError, match=r"at most 1e\+06 is possible"):
        read_footsteps(path, FEET)
    path.write_text("side,x,y\n" + "left,0.1,0.1\n" * 1001, encoding="utf-8")
    with pytest.raises(EquipoiseError, match="more than 1000 steps"):
        read_footsteps(path, FEET)
