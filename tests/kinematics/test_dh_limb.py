from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equipoise.arrays import Array
from equipoise.errors import ShapeError
from equipoise.kinematics.dh_limb import dh_limb_com, dh_matrix, limb_frames
from equipoise.robot.catalogue import read_catalogue_table
from equipoise.robot.formats.dh import (
    DhLimb,
    DhParameters,
    DhRow,
    read_dh,
    read_dh_limbs,
)
from equipoise.robot.formats.export import to_urdf
from equipoise.robot.pinocchio_model import build_model

DH_ROBOTS = ("mahru-1", "itu-biped")


def random_limb(seed: int, convention: str, frame: str) -> DhLimb:
    """Return a limb of five joints with random entries, every other one prismatic."""
    rng = np.random.default_rng(seed)
    pose = np.eye(4)
    pose[:3, :3] = pin.exp3(rng.normal(size=3))
    pose[:3, 3] = rng.normal(size=3)
    rows = tuple(
        DhRow(
            f"joint_{k}",
            f"link_{k}",
            "prismatic" if rng.random() < 0.4 else "revolute",
            DhParameters(*rng.uniform(-1, 1, 4)),
            rng.uniform(0.1, 2.0),
            rng.uniform(-0.5, 0.5, 3),
            frame,
        )
        for k in range(5)
    )
    return DhLimb("limb", convention, "base", pose, rows)


CASES = [
    ("standard", "proximal"),
    ("standard", "distal"),
    ("standard", "distal_axes"),
    ("modified", "distal"),
]


def whole_robot(name: str, seed: int) -> tuple[dict[str, Any], pin.Model, Array]:
    """Return a catalogue robot's table, its model and random joints, base at rest."""
    table = read_catalogue_table(name)
    model = build_model(read_dh(table, name))
    q = np.random.default_rng(seed).uniform(-1.0, 1.0, model.nq)
    q[:7] = 0, 0, 0, 0, 0, 0, 1
    return table, model, q


def positions_of(model: pin.Model, q: Array, limb: DhLimb) -> Array:
    """Return the limb's part of a configuration."""
    return np.array([q[model.idx_qs[model.getJointId(name)]] for name in limb.joints])


@pytest.mark.parametrize("name", DH_ROBOTS)
@pytest.mark.parametrize("seed", range(5))
def test_jacobian_equals_pinocchio(name: str, seed: int) -> None:
    """°J_ci of each limb is that limb's columns of Pinocchio's CoM Jacobian."""
    table, model, q = whole_robot(name, seed)
    data = model.createData()
    jacobian = pin.jacobianCenterOfMass(model, data, q)
    mass = pin.computeTotalMass(model)

    for limb in read_dh_limbs(table).values():
        columns = [model.idx_vs[model.getJointId(joint)] for joint in limb.joints]
        got = dh_limb_com(limb, positions_of(model, q, limb), mass).jacobian
        np.testing.assert_allclose(got, jacobian[:, columns], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", DH_ROBOTS)
@pytest.mark.parametrize("seed", range(5))
def test_limbs_and_base_add_up(name: str, seed: int) -> None:
    """Shares of the limbs and of the base add up to Pinocchio's CoM."""
    table, model, q = whole_robot(name, seed)
    mass = pin.computeTotalMass(model)
    base = model.inertias[1]

    total = base.mass / mass * base.lever
    for limb in read_dh_limbs(table).values():
        total = (
            total + dh_limb_com(limb, positions_of(model, q, limb), mass).contribution
        )

    com = pin.centerOfMass(model, model.createData(), q)
    np.testing.assert_allclose(total, com, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", DH_ROBOTS)
def test_frames_equal_pinocchio(name: str) -> None:
    """The last DH frame of each limb is its end link in the tree."""
    table, model, q = whole_robot(name, 3)
    data = model.createData()
    pin.framesForwardKinematics(model, data, q)

    for limb in read_dh_limbs(table).values():
        if limb.end is not None:
            frames = limb_frames(limb, positions_of(model, q, limb))
            end = data.oMf[model.getFrameId(limb.end)]
            np.testing.assert_allclose(
                frames.positions[-1], end.translation, rtol=0, atol=1e-13
            )
            np.testing.assert_allclose(
                frames.rotations[-1], end.rotation, rtol=0, atol=1e-13
            )


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from(CASES))
def test_jacobian_is_the_derivative(seed: int, case: tuple[str, str]) -> None:
    """°J_ci is the derivative of °c_i, in every convention and centroid frame."""
    limb = random_limb(seed, *case)
    q = np.random.default_rng(seed + 1).uniform(-1.5, 1.5, 5)
    step = 1e-6

    numeric = np.column_stack(
        [
            (
                dh_limb_com(limb, q + e, 20.0).contribution
                - dh_limb_com(limb, q - e, 20.0).contribution
            )
            / (2.0 * step)
            for e in step * np.eye(5)
        ]
    )

    np.testing.assert_allclose(
        dh_limb_com(limb, q, 20.0).jacobian, numeric, rtol=0, atol=1e-8
    )


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["standard", "modified"]))
def test_written_out_matrix_is_the_product(seed: int, convention: str) -> None:
    """The written-out DH matrix is the product of its elementary motions."""
    line = DhParameters(*np.random.default_rng(seed).uniform(-2, 2, 4))

    np.testing.assert_allclose(
        dh_matrix(line, convention), line.transform(convention), rtol=0, atol=1e-15
    )


def test_locked_limb_moves_rigidly() -> None:
    """Turning the first joint turns the whole limb's CoM about that joint's axis."""
    limb = random_limb(7, "standard", "proximal")
    first = limb.rows[0]
    row = DhRow(
        first.joint,
        first.link,
        "revolute",
        first.parameters,
        first.mass,
        first.centroid,
        "proximal",
    )
    limb = DhLimb("limb", "standard", "base", np.eye(4), (row, *limb.rows[1:]))
    q = np.zeros(5)
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])

    before = dh_limb_com(limb, q, limb.mass).contribution
    q[0] = np.pi / 2
    after = dh_limb_com(limb, q, limb.mass).contribution

    np.testing.assert_allclose(after, turn @ before, rtol=0, atol=1e-14)


def test_wrong_input_is_named() -> None:
    """A wrong length, a value that is not finite and too light a robot are refused."""
    limb = random_limb(1, "standard", "distal")
    with pytest.raises(
        ShapeError, match=r"q has shape \(4,\); limb 'limb' needs \(5,\)"
    ):
        limb_frames(limb, np.zeros(4))
    with pytest.raises(ShapeError, match="not finite"):
        limb_frames(limb, np.full(5, np.nan))
    with pytest.raises(ShapeError, match=r"robot_mass is 0\.1 kg"):
        dh_limb_com(limb, np.zeros(5), 0.1)


def test_results_are_read_only() -> None:
    """Arrays that are handed out cannot be written to."""
    result = dh_limb_com(random_limb(2, "modified", "distal"), np.zeros(5), 20.0)
    with pytest.raises(ValueError, match="read-only"):
        result.jacobian[0, 0] = 1.0


@pytest.mark.parametrize("name", DH_ROBOTS)
def test_jacobian_equals_that_of_the_urdf(name: str, tmp_path: Path) -> None:
    """°J_ci equals Pinocchio's CoM Jacobian of the robot's own URDF to 1e-10."""
    table, built, q = whole_robot(name, 11)
    path = tmp_path / "robot.urdf"
    path.write_text(to_urdf(read_dh(table, name)), encoding="utf-8")
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    assert list(model.names) == list(built.names)
    jacobian = pin.jacobianCenterOfMass(model, model.createData(), q)

    for limb in read_dh_limbs(table).values():
        columns = [model.idx_vs[model.getJointId(joint)] for joint in limb.joints]
        got = dh_limb_com(
            limb, positions_of(model, q, limb), pin.computeTotalMass(model)
        )
        np.testing.assert_allclose(
            got.jacobian, jacobian[:, columns], rtol=0, atol=1e-10
        )
