"""Rotations, against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.transform import Rotation

from equipoise.rotations import (
    inverse_quaternion,
    inverse_transform,
    quaternion_from_rotation,
    quaternion_from_rotation_vector,
    rotate,
    rotation_from_quaternion,
    rotation_from_rpy,
    rotation_vector_from_quaternion,
    rpy_from_rotation,
    transform,
    wxyz_from_xyzw,
    xyzw_from_wxyz,
)

vectors = arrays(np.float64, 3, elements=st.floats(-3.0, 3.0))


@given(rpy=vectors)
def test_roll_pitch_and_yaw(rpy: np.ndarray) -> None:
    """Angles give SciPy's rotation about fixed x, y, z, and return to it."""
    rotation = rotation_from_rpy(list(rpy))
    assert rotation == pytest.approx(Rotation.from_euler("xyz", rpy).as_matrix())
    back = rotation_from_rpy(list(rpy_from_rotation(rotation)))
    assert back == pytest.approx(rotation, abs=1e-12)


@given(vector=vectors, point=vectors)
def test_quaternions_have_their_scalar_last(
    vector: np.ndarray, point: np.ndarray
) -> None:
    """Every notation of a rotation moves a point as SciPy does."""
    oracle = Rotation.from_rotvec(vector)
    (xyzw,) = quaternion_from_rotation_vector(vector[None])
    moved = oracle.apply(point)
    assert rotate(xyzw, point) == pytest.approx(moved, abs=1e-9)
    assert rotate(inverse_quaternion(xyzw), moved) == pytest.approx(point, abs=1e-9)
    rotation = rotation_from_quaternion(2.0 * xyzw)
    assert rotation == pytest.approx(oracle.as_matrix(), abs=1e-9)
    again = rotation_from_quaternion(quaternion_from_rotation(rotation))
    assert again == pytest.approx(rotation, abs=1e-9)
    (back,) = rotation_vector_from_quaternion(xyzw[None])
    assert Rotation.from_rotvec(back).apply(point) == pytest.approx(moved, abs=1e-9)


def test_scalar_first_and_back() -> None:
    """Scalar first is a rotation of the entries, and back again."""
    assert wxyz_from_xyzw([1.0, 2.0, 3.0, 4.0]).tolist() == [4.0, 1.0, 2.0, 3.0]
    assert xyzw_from_wxyz([4.0, 1.0, 2.0, 3.0]).tolist() == [1.0, 2.0, 3.0, 4.0]


@given(rpy=vectors, translation=vectors)
def test_inverse_of_a_transform(rpy: np.ndarray, translation: np.ndarray) -> None:
    """A transform times its inverse is the identity; both are read-only."""
    pose = transform(rotation_from_rpy(list(rpy)), translation)
    inverse = inverse_transform(pose)
    assert pose @ inverse == pytest.approx(np.eye(4), abs=1e-12)
    assert not pose.flags.writeable
    assert not inverse.flags.writeable


def test_tiny_quaternions_are_rotations() -> None:
    """Squares of their numbers are zero, and they turn all the same."""
    tiny = rotation_from_quaternion(1e-200 * np.array([0.0, 0.0, 1.0, 1.0]))
    np.testing.assert_allclose(tiny @ [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], atol=1e-15)
