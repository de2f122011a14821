from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from random_trees import random_states, random_trees

from equipoise.arrays import Array
from equipoise.errors import NameNotFoundError
from equipoise.kinematics.com import com, com_velocity
from equipoise.kinematics.limb_com import (
    limb_com_contribution,
    limb_com_contribution_and_jacobian,
    limb_com_jacobian,
    mass_influence,
)
from equipoise.robot.load import load
from equipoise.robot.model import Robot


def base_part(robot: Robot) -> Array:
    """Return what the base link itself adds to the centre of mass, in its frame."""
    base = robot.model.inertias[1]
    return np.array(base.lever) * base.mass / robot.mass


def check_sums(robot: Robot, q: Array, v: Array) -> None:
    """Check position and Eq. (8) of [Choi2007] in batch form."""
    poses = [pin.XYZQUATToSE3(row[:7]) for row in q]
    rotation = np.array([pose.rotation for pose in poses])
    origin = q[:, :3]
    parts = [limb_com_contribution_and_jacobian(robot, q, name) for name in robot.limbs]
    seen_from_base = base_part(robot) + sum(part.contribution for part in parts)
    position = com(robot, q)
    np.testing.assert_allclose(
        position,
        origin + np.einsum("nij,nj->ni", rotation, seen_from_base),
        rtol=0,
        atol=1e-10,
    )
    jacobian = sum(part.jacobian for part in parts)
    base_velocity = np.einsum("nij,nj->ni", rotation, v[:, :3])
    base_omega = np.einsum("nij,nj->ni", rotation, v[:, 3:6])
    velocity = (
        base_velocity
        + np.cross(base_omega, position - origin)
        + np.einsum("nij,njk,nk->ni", rotation, jacobian, v)
    )
    np.testing.assert_allclose(com_velocity(robot, q, v), velocity, rtol=0, atol=1e-10)


@settings(max_examples=40)
@given(random_trees())
def test_limbs_add_up_for_every_joint_kind(robot):
    """Limbs and base give the CoM and its velocity, for any sets of bodies."""
    check_sums(robot, *random_states(robot, 4))


@settings(max_examples=40)
@given(random_trees())
def test_batch_equals_single(robot):
    """Kernels and Pinocchio agree on each limb, massless and empty ones included."""
    q, _ = random_states(robot, 5)
    for limb in robot.limbs:
        whole, jacobians = limb_com_contribution_and_jacobian(robot, q, limb)
        np.testing.assert_array_equal(limb_com_contribution(robot, q, limb), whole)
        np.testing.assert_array_equal(limb_com_jacobian(robot, q, limb), jacobians)
        for i in range(len(q)):
            single = limb_com_contribution_and_jacobian(robot, q[i], limb)
            np.testing.assert_allclose(
                whole[i], single.contribution, rtol=0, atol=1e-10
            )
            np.testing.assert_allclose(
                jacobians[i], single.jacobian, rtol=0, atol=1e-10
            )


def test_contribution_over_its_mass_is_the_limbs_own_centre(g1_urdf):
    """The contribution divided by the limb's part of the mass is the limb's CoM."""
    robot = load(g1_urdf)
    q, _ = random_states(robot, 1)
    q[0, :7] = 0, 0, 0, 0, 0, 0, 1
    pin.forwardKinematics(robot.model, robot.data, q[0])
    for limb, part in robot.limbs.items():
        joints = [robot.joint_id(joint) for joint in part.subtree_joints]
        masses = np.array([robot.model.inertias[j].mass for j in joints])
        centres = [robot.data.oMi[j].act(robot.model.inertias[j].lever) for j in joints]
        added = limb_com_contribution(robot, q[0], limb)
        own = added / sum(mass_influence(robot, limb).values())
        expected = masses @ np.array(centres) / masses.sum()
        np.testing.assert_allclose(own, expected, rtol=0, atol=1e-12)


def test_jacobian_equals_finite_differences(g1_urdf):
    """°J_ci is the derivative of °c_i, and zero for the base; the torso moves arms."""
    robot = load(g1_urdf)
    q, v = random_states(robot, 5)
    step = 1e-6
    for limb in robot.limbs:
        jacobian = limb_com_jacobian(robot, q, limb)
        assert not jacobian[:, :, :6].any()
        for i in range(len(q)):
            before, after = (
                limb_com_contribution(robot, moved, limb)
                for moved in (
                    pin.integrate(robot.model, q[i], s * v[i]) for s in (-step, step)
                )
            )
            change = (after - before) / (2 * step)
            np.testing.assert_allclose(jacobian[i] @ v[i], change, rtol=0, atol=1e-7)
    waist = robot.model.idx_vs[robot.joint_id("waist_yaw_joint")]
    assert limb_com_jacobian(robot, q, "left_arm")[:, :, waist].any()
    assert not limb_com_jacobian(robot, q, "left_leg")[:, :, waist].any()


def test_mass_influence_adds_up_to_one(humanoid_urdf):
    """Eq. (10): the coefficients of all limbs and the base's fraction sum to one."""
    robot = load(humanoid_urdf)
    total = robot.model.inertias[1].mass / robot.mass
    for limb in robot.limbs:
        coefficients = mass_influence(robot, limb)
        assert list(coefficients) == list(robot.limbs[limb].subtree_joints)
        total += sum(coefficients.values())
    assert total == pytest.approx(1.0, abs=1e-12)


def test_unknown_limb_is_refused(g1_urdf):
    """A limb that does not exist is named with those that do."""
    robot = load(g1_urdf)
    for q in (robot.standing, [robot.standing]):
        with pytest.raises(NameNotFoundError, match=r"no limb 'tail'.*left_leg"):
            limb_com_contribution(robot, q, "tail")
