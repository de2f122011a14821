"""Every quantity, on every robot of the catalogue and on four real humanoids.

1,000 random configurations each: equal to Pinocchio to 1e-10, to MuJoCo to 1e-9,
and to finite differences.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from random_trees import random_states

import equipoise as eq
from benchmarks.agreement import mujoco_com
from equipoise.arrays import Array
from equipoise.kinematics.com import com_and_jacobian, com_jacobian_rate
from equipoise.kinematics.dh_limb import dh_limb_com
from equipoise.kinematics.limb_com import limb_com_contribution, limb_com_jacobian
from equipoise.robot.catalogue import read_catalogue_table
from equipoise.robot.formats.dh import read_dh_limbs
from equipoise.robot.formats.export import to_urdf

COUNT = 1000
EQUAL_TO_PINOCCHIO = 1e-10
EQUAL_TO_MUJOCO = 1e-9


@pytest.fixture(scope="module")
def states(robot: eq.Robot) -> tuple[Array, Array]:
    """1,000 random configurations and velocities."""
    return random_states(robot, COUNT)


def equal(found: Array, expected: Array, tolerance: float) -> None:
    """Assert equality to an absolute tolerance."""
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=tolerance)


def test_quantities_equal_pinocchio(
    robot: eq.Robot, states: tuple[Array, Array]
) -> None:
    """CoM, its velocity, Jacobian and rate, momentum and sole frames, in a batch."""
    q, v = states
    model, data = robot.model, robot.model.createData()
    position, jacobian = com_and_jacobian(robot, q)
    velocity = eq.com_velocity(robot, q, v)
    rate = com_jacobian_rate(robot, q, v)
    momentum = eq.centroidal_momentum(robot, q, v)
    foot = robot.soles["left"].link
    pose = eq.frame_pose(robot, q, foot)
    frame_jacobian = eq.frame_jacobian(robot, q, foot)
    frame = robot.frame_id(foot)
    aligned = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    for i in range(COUNT):
        expected = pin.jacobianCenterOfMass(model, data, q[i])
        equal(jacobian[i], expected, EQUAL_TO_PINOCCHIO)
        pin.centerOfMass(model, data, q[i], v[i])
        equal(position[i], data.com[0], EQUAL_TO_PINOCCHIO)
        equal(velocity[i], data.vcom[0], EQUAL_TO_PINOCCHIO)
        expected = pin.computeCentroidalMapTimeVariation(model, data, q[i], v[i])
        equal(rate[i], expected[:3] / robot.mass, EQUAL_TO_PINOCCHIO)
        pin.computeCentroidalMomentum(model, data, q[i], v[i])
        equal(momentum[i], data.hg.vector, EQUAL_TO_PINOCCHIO * robot.mass)
        expected = pin.computeFrameJacobian(model, data, q[i], frame, aligned)
        equal(frame_jacobian[i], expected, EQUAL_TO_PINOCCHIO)
        pin.framesForwardKinematics(model, data, q[i])
        equal(pose[i], data.oMf[frame].homogeneous, EQUAL_TO_PINOCCHIO)


def test_one_configuration_equals_the_batch(
    robot: eq.Robot, states: tuple[Array, Array]
) -> None:
    """The same functions, called with one row, give the batch's row."""
    q, v = (rows[:20] for rows in states)
    foot = robot.soles["right"].link
    for function, arguments in (
        (eq.com, (q,)),
        (eq.com_jacobian, (q,)),
        (eq.com_velocity, (q, v)),
        (com_jacobian_rate, (q, v)),
        (eq.centroidal_momentum, (q, v)),
    ):
        batch = function(robot, *arguments)
        for i in range(len(q)):
            single = function(robot, *(rows[i] for rows in arguments))
            equal(batch[i], single, EQUAL_TO_PINOCCHIO * robot.mass)
    for frames in (eq.frame_pose, eq.frame_jacobian):
        batch = frames(robot, q, foot)
        for i in range(len(q)):
            equal(batch[i], frames(robot, q[i], foot), EQUAL_TO_PINOCCHIO)


def test_jacobians_equal_finite_differences(
    robot: eq.Robot, states: tuple[Array, Array]
) -> None:
    """Columns are derivatives of the CoM and of the CoM's Jacobian along v."""
    q, v = states
    step = 1e-6
    before, after = (
        np.array(
            [pin.integrate(robot.model, a, b) for a, b in zip(q, s * v, strict=True)]
        )
        for s in (-step, step)
    )
    moved = (eq.com(robot, after) - eq.com(robot, before)) / (2 * step)
    along = np.einsum("nij,nj->ni", eq.com_jacobian(robot, q), v)
    equal(along, moved, 1e-7)
    changed = eq.com_jacobian(robot, after) - eq.com_jacobian(robot, before)
    equal(com_jacobian_rate(robot, q, v), changed / (2 * step), 1e-7)


def test_limbs_and_base_add_up(robot: eq.Robot, states: tuple[Array, Array]) -> None:
    """Eq. (8) of [Choi2007]: limbs and base give the CoM and its velocity."""
    q, v = states
    rotation = eq.frame_pose(robot, q, robot.description.root)[:, :3, :3]
    base = robot.model.inertias[1]
    centre = base.mass / robot.mass * base.lever + sum(
        limb_com_contribution(robot, q, name) for name in robot.limbs
    )
    position = eq.com(robot, q)
    equal(q[:, :3] + np.einsum("nij,nj->ni", rotation, centre), position, 1e-10)
    jacobian = sum(limb_com_jacobian(robot, q, name) for name in robot.limbs)
    linear = np.einsum("nij,nj->ni", rotation, v[:, :3])
    angular = np.einsum("nij,nj->ni", rotation, v[:, 3:6])
    velocity = linear + np.cross(angular, position - q[:, :3])
    velocity += np.einsum("nij,njk,nk->ni", rotation, jacobian, v)
    equal(velocity, eq.com_velocity(robot, q, v), 1e-10)


def test_com_equals_mujoco(robot: eq.Robot, states: tuple[Array, Array]) -> None:
    """MuJoCo's subtree_com of the exported robot, in the same configurations."""
    equal(mujoco_com(robot, *states), eq.com(robot, states[0]), EQUAL_TO_MUJOCO)


@pytest.mark.parametrize("name", ["mahru-1", "itu-biped"])
def test_dh_limbs_equal_their_urdf_export(name: str, tmp_path: Path) -> None:
    """The paper's recursion on the DH table equals the tree of the exported URDF."""
    robot = eq.load(name)
    path = tmp_path / "robot.urdf"
    path.write_text(to_urdf(robot.description), encoding="utf-8")
    exported = eq.load(path)
    q, _ = random_states(exported, COUNT)
    for limb in read_dh_limbs(read_catalogue_table(name)).values():
        columns = [exported.model.idx_vs[exported.joint_id(j)] for j in limb.joints]
        places = [exported.model.idx_qs[exported.joint_id(j)] for j in limb.joints]
        com = limb_com_contribution(exported, q, limb.name)
        jacobian = limb_com_jacobian(exported, q, limb.name)
        for i in range(COUNT):
            from_table = dh_limb_com(limb, q[i, places], exported.mass)
            equal(from_table.contribution, com[i], EQUAL_TO_PINOCCHIO)
            equal(from_table.jacobian, jacobian[i][:, columns], EQUAL_TO_PINOCCHIO)
