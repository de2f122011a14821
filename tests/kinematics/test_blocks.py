from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.kinematics.blocks import blocks

STEP, SLOPE, SIZE = 0.02, math.radians(4.0), 0.5
GROUND = blocks(STEP, 3, SLOPE, SIZE, 0.2, 4.0)


def plane(column: int, number: int) -> tuple[Array, float]:
    """Return height and slopes of a block, and how far it is from a plane."""
    start = SIZE * number + GROUND.shift(column)
    inside = np.linspace(GROUND.cell / 2, SIZE - GROUND.cell / 2, 9)
    x, y = np.meshgrid(start + inside, SIZE * column + inside)
    middle = [start + SIZE / 2, SIZE * (column + 0.5)]
    rows = np.column_stack([np.ones(x.size), x.ravel(), y.ravel()])
    rows[:, 1:] -= middle
    heights = GROUND.height(x, y).ravel()
    found, *_ = np.linalg.lstsq(rows, heights, rcond=None)
    return found, float(np.abs(rows @ found - heights).max())


@pytest.mark.parametrize("column", [-2, -1, 0, 1])
def test_each_block_is_a_plane_of_its_own(column: int) -> None:
    """Heights and tilts are within what was asked for, and all differ."""
    found = []
    for number in (-3, -2, 1, 2):
        (height, forward, left), off = plane(column, number)
        assert off < 1e-12
        assert abs(height) <= STEP
        assert max(abs(forward), abs(left)) <= math.tan(SLOPE)
        found.append(height)
    assert len({round(height, 6) for height in found}) == 4


def test_the_middle_is_level_and_a_seed_is_a_ground() -> None:
    """One can stand at the origin; the same seed gives the same blocks."""
    x, y = np.random.default_rng(0).uniform(-0.14, 0.14, (2, 50))
    np.testing.assert_array_equal(GROUND.height(x, y), 0.0)
    again = blocks(STEP, 3, SLOPE, SIZE, 0.2, 4.0)
    np.testing.assert_array_equal(again.heights, GROUND.heights)
    other = blocks(STEP, 4, SLOPE, SIZE, 0.2, 4.0)
    assert not np.array_equal(other.heights, GROUND.heights)


@given(st.floats(-1.2, 1.2), st.floats(-1.2, 1.2), st.floats(-0.6, 0.6))
def test_a_shifted_sole_lies_on_one_block(x: float, y: float, yaw: float) -> None:
    """The ground under it is a plane, and one that lay so is not shifted."""
    c, s = math.cos(yaw), math.sin(yaw)
    sole = np.array([[0.1, 0.05], [-0.1, 0.05], [-0.1, -0.05], [0.1, -0.05]])
    corners = sole @ np.array([[c, s], [-s, c]]) + [x, y]
    shift = GROUND.inside(corners)
    placed = corners + shift
    np.testing.assert_allclose(GROUND.inside(placed), 0.0, atol=1e-12)
    # the farther diagonal of a plane is as high as the other
    heights = GROUND.height(*placed.T)
    assert heights[0] + heights[2] == pytest.approx(heights[1] + heights[3], abs=1e-12)
    assert np.abs(shift).max() < 0.25


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((-0.1, 0, 0.1, 0.5), "step is -0.1 m"),
        ((0.1, 0, 1.2, 0.5), "less than 60°"),
        ((0.1, 0, 0.1, 0.0), "larger than 0 m"),
        ((0.1, -1, 0.1, 0.5), "seed -1"),
        ((0.1, 0, 0.1, 1e-4), "nodes"),
    ],
)
def test_bad_numbers_are_named(numbers: tuple[float, int, float, float], words) -> None:
    """One line says what is wrong."""
    with pytest.raises(EquipoiseError, match=words):
        blocks(*numbers)
