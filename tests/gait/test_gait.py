"""A gait over time: tables, holds, twists, accelerations and corrections."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import equipoise as eq
from equipoise.errors import ShapeError
from equipoise.gait.gait import Gait
from equipoise.gait.plan import plan_walk
from equipoise.kinematics.terrain import Slope


@pytest.fixture(scope="module")
def gait() -> Gait:
    """A turning walk on a slope."""
    return plan_walk(eq.load("mahru-1"), turn=0.2, ground=Slope(0.05, 0.03))


def test_a_table_has_a_row_for_each_time(gait: Gait) -> None:
    """Shapes are as documented, and a row does not depend on the others."""
    times = np.linspace(-0.5, gait.duration + 0.5, 23)
    table = gait.at(times)
    assert table.com.shape == table.zmp.shape == (23, 3)
    assert table.soles["left"].shape == (23, 4, 4)
    assert table.sole_twists["left"].shape == (23, 6)
    assert table.sole_accelerations["left"].shape == (23, 6)
    assert table.torso.shape == (23, 3, 3)
    for k, time in enumerate(times):
        alone = gait.at([time])
        np.testing.assert_array_equal(alone.com[0], table.com[k])
        np.testing.assert_array_equal(alone.soles["right"][0], table.soles["right"][k])
        assert alone.support[0] == table.support[k]
        assert alone.heading[0] == table.heading[k]


@pytest.mark.parametrize("method", ["lipm", "preview"])
def test_it_holds_before_and_after(method: str) -> None:
    """Outside its time a gait is at rest where it starts and ends."""
    gait = plan_walk(eq.load("humanoid"), method=method)
    table = gait.at([-3.0, 0.0, gait.duration, gait.duration + 3.0])
    np.testing.assert_array_equal(table.com[0], table.com[1])
    np.testing.assert_array_equal(table.com[3], table.com[2])
    for side in ("left", "right"):
        np.testing.assert_array_equal(table.soles[side][3], table.soles[side][2])
        np.testing.assert_array_equal(table.sole_twists[side], 0.0)
        np.testing.assert_array_equal(table.sole_accelerations[side], 0.0)
    np.testing.assert_array_equal(table.com_velocity[[0, 3]], 0.0)
    np.testing.assert_array_equal(table.com_acceleration[[0, 3]], 0.0)
    np.testing.assert_array_equal(table.support, 0)


def test_twists_are_the_motion_of_the_soles(gait: Gait) -> None:
    """Pinocchio's logarithm of two near poses is the twist between them."""
    step = 1e-6
    times = np.linspace(0.0, gait.duration, 200)
    before, now, after = (gait.at(times + d) for d in (-step, 0.0, step))
    for side in ("left", "right"):
        poses = zip(before.soles[side], after.soles[side], strict=True)
        for twist, (first, last) in zip(now.sole_twists[side], poses, strict=True):
            linear = (last[:3, 3] - first[:3, 3]) / (2 * step)
            turned = last[:3, :3] @ first[:3, :3].T
            angular = pin.log3(turned) / (2 * step)
            np.testing.assert_allclose(twist[:3], linear, atol=1e-6)
            np.testing.assert_allclose(twist[3:], angular, atol=1e-6)


def test_sole_accelerations_are_the_rates_of_twists(gait: Gait) -> None:
    """Central differences of the twists, and second ones of the rotations."""
    times = np.linspace(0.0, gait.duration, 500)
    step = 1e-6
    before, now, after = (gait.at(times + d) for d in (-step, 0.0, step))
    # longer, since rounding counts by the square of the step
    longer = 1e-4
    first, last = gait.at(times - longer), gait.at(times + longer)
    for side in ("left", "right"):
        rates = (after.sole_twists[side] - before.sole_twists[side]) / (2.0 * step)
        np.testing.assert_allclose(now.sole_accelerations[side], rates, atol=2e-4)
        largest = np.abs(now.sole_accelerations[side]).max(axis=0)
        assert (largest > 0.05).all()
        poses = (table.soles[side][:, :3, :3] for table in (first, now, last))
        turns = [
            pin.log3(c @ b.T) - pin.log3(b @ a.T)
            for a, b, c in zip(*poses, strict=True)
        ]
        angular = np.array(turns) / longer**2
        np.testing.assert_allclose(
            now.sole_accelerations[side][:, 3:], angular, atol=5e-3 * largest.max()
        )


def test_sole_accelerations_are_continuous(gait: Gait) -> None:
    """Swings start and end without acceleration, and nowhere does it jump."""
    swings = [phase for phase in gait.phases if phase.kind == "swing"]
    close = 1e-7
    for phase in swings:
        for end in (phase.start, phase.end):
            table = gait.at([end - close, end, end + close])
            for values in table.sole_accelerations.values():
                np.testing.assert_allclose(values, 0.0, atol=1e-4)
    largest = []
    for step in (1e-3, 1e-4):
        table = gait.at(np.arange(swings[0].start - 0.1, swings[1].end + 0.1, step))
        largest.append(
            [
                np.abs(np.diff(values, axis=0)).max()
                for values in table.sole_accelerations.values()
            ]
        )
    np.testing.assert_array_less(largest[1], 0.15 * np.array(largest[0]))


def test_the_torso_faces_the_heading(gait: Gait) -> None:
    """Its rotation is Pinocchio's about the vertical, by the heading."""
    table = gait.at(np.linspace(0.0, gait.duration, 50))
    for turn, heading in zip(table.torso, table.heading, strict=True):
        expected = pin.exp3(np.array([0.0, 0.0, heading]))
        np.testing.assert_allclose(turn, expected, atol=1e-12)


def test_standing_feet_stand_still(gait: Gait) -> None:
    """A foot that supports neither moves nor turns, and is where its step says."""
    for phase in gait.phases:
        times = np.linspace(phase.start, phase.end, 7)
        table = gait.at(times)
        sides = ("left", "right") if phase.support == "both" else (phase.support,)
        for side in sides:
            np.testing.assert_allclose(table.sole_twists[side], 0.0, atol=1e-12)
            accelerations = table.sole_accelerations[side]
            np.testing.assert_allclose(accelerations, 0.0, atol=1e-9)
            np.testing.assert_allclose(np.ptp(table.soles[side], axis=0), 0.0)


def test_heading_is_smooth_and_turns_with_the_feet(gait: Gait) -> None:
    """It starts at 0, ends at the feet's yaw, and its rate is its derivative."""
    times = np.linspace(0.0, gait.duration, 4001)
    table = gait.at(times)
    assert table.heading[0] == pytest.approx(0.0, abs=1e-9)
    assert table.heading[-1] == pytest.approx(gait.footsteps.steps[-1].yaw)
    rate = np.gradient(table.heading, times)
    np.testing.assert_allclose(table.heading_rate, rate, atol=2e-3)


def test_tables_are_read_only(gait: Gait) -> None:
    """What a table holds cannot be changed."""
    table = gait.at([0.0, 1.0])
    for array in (table.com, table.zmp, table.soles["left"], table.support):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(TypeError):
        table.soles["left"] = table.soles["right"]  # type: ignore[index]


def test_times_of_the_wrong_shape_are_refused(gait: Gait) -> None:
    """Neither tables of times nor NaN."""
    for times in ([[0.0]], [np.nan], 0.0):
        with pytest.raises(ShapeError, match="times have shape"):
            gait.at(times)


def test_a_zmp_shift_moves_the_pendulums_zmp(gait: Gait) -> None:
    """The corrected CoM has its ZMP beside the planned one by the shift asked for."""
    times = np.linspace(0.0, gait.duration, 400)
    middle = np.exp(-((times - gait.duration / 2.0) ** 2))
    shift = np.column_stack([0.01 * middle, -0.02 * middle])
    moved = gait.with_zmp_shift(times, shift)
    swings = [phase for phase in gait.phases if phase.kind == "swing"]
    inside = (times >= swings[0].start) & (times <= swings[-1].end)
    before, after = gait.at(times), moved.at(times)
    omega = gait.parameters.omega
    pendulum = after.com - after.com_acceleration / omega**2
    planned = before.com - before.com_acceleration / omega**2
    np.testing.assert_allclose(
        (pendulum - planned)[inside, :2], shift[inside], atol=1e-12
    )
    np.testing.assert_array_equal(after.zmp, before.zmp)
    np.testing.assert_allclose(after.com_velocity[[0, -1]], 0.0, atol=1e-12)
    with pytest.raises(ShapeError, match=r"\(m, 2\)"):
        gait.with_zmp_shift(times, shift[:3])
