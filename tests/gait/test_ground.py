"""Footsteps on ground that is not level."""

from __future__ import annotations

import math

import numpy as np
import pytest
from gait.pendulum import FEET
from hypothesis import given
from hypothesis import strategies as st

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.gait.feet import height_function, lay
from equipoise.gait.footsteps import Footsteps
from equipoise.gait.walks import walk
from equipoise.kinematics.terrain import Slope, Stairs

SOLE = np.array([[-0.05, -0.03], [0.12, -0.03], [0.12, 0.03], [-0.05, 0.03]])
SOLES = {"left": SOLE, "right": SOLE}


def laid(ground: object) -> Footsteps:
    """Return a turning walk laid onto ground."""
    steps = walk(FEET, 5, length=0.2, turn=0.3)
    return lay(steps, height_function(ground), SOLES, 0.7)  # type: ignore[arg-type]


@given(st.floats(-0.2, 0.2), st.floats(-0.2, 0.2))
def test_soles_lie_flat_on_a_slope(pitch: float, roll: float) -> None:
    """Corners are on the plane, and the sole's normal is the slope's."""
    slope = Slope(pitch, roll)
    for step in laid(slope).steps:
        pose = step.transform_sole_to_world
        np.testing.assert_allclose(pose[:3, 2], slope.normal, atol=1e-9)
        assert pose[2, 3] == pytest.approx(float(slope.height(*pose[:2, 3])), abs=1e-9)
        # turned into the slope, the sole still heads where it did
        assert math.atan2(pose[1, 0], pose[0, 0]) == pytest.approx(step.yaw, abs=1e-9)


def test_a_function_is_ground_too() -> None:
    """A plain function of x and y will do, and so will one that returns a number."""
    assert laid(lambda x, y: 0.05).steps[2].z == pytest.approx(0.05)
    with pytest.raises(EquipoiseError, match="a function height"):
        height_function(3)  # type: ignore[arg-type]


@pytest.mark.parametrize("nothing", [np.nan, -np.inf])
def test_a_step_onto_a_gap_is_refused(nothing: float) -> None:
    """No ground under any part of a sole: the step is named."""

    def gap(x: Array, y: Array) -> Array:
        return np.where(np.abs(np.asarray(x) - 0.6) < 0.06, nothing, 0.0)

    with pytest.raises(EquipoiseError, match=r"step 3 \(right foot\).*no ground"):
        laid(gap)


def test_a_step_onto_an_edge_is_refused() -> None:
    """Half a sole on a stair: the step is named, and the limit."""
    message = r"step 2 \(left foot\).*differs by .* at most 0.007 m"
    with pytest.raises(EquipoiseError, match=message):
        laid(Stairs(0.1, 5.0, 1, 0.4))


def test_ground_that_is_too_steep_is_refused() -> None:
    """Steeper than ankles tilt: the foot is named, and the limit."""
    with pytest.raises(
        EquipoiseError, match=r"left foot at the start.*28.6° steep.*20°"
    ):
        laid(Slope(0.5))
