"""Both derivations give the equations that Pinocchio and mechanics give."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_trees import random_states, random_trees

import equipoise as eq
from equipoise.arrays import Array
from equipoise.dynamics.analytic import analytic
from equipoise.dynamics.bodies import bodies_at
from equipoise.dynamics.equations import EquationsOfMotion
from equipoise.dynamics.newton_euler import newton_euler
from equipoise.errors import NameNotFoundError, ShapeError
from equipoise.robot.description import STANDARD_GRAVITY

Derivation = Callable[[eq.Robot, Array, Array], EquationsOfMotion]
States = list[tuple[Array, Array]]

EQUAL = 1e-9
WORLD_ALIGNED = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED

both = pytest.mark.parametrize("derive", [newton_euler, analytic])


def equal(found: Array, expected: Array, scale: float) -> None:
    """Assert equality to 1e-9 of the scale."""
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=EQUAL * scale)


def check_against_pinocchio(
    robot: eq.Robot, q: Array, v: Array, found: EquationsOfMotion
) -> None:
    """Compare every part with Pinocchio's algorithm for it."""
    model = robot.model.copy()
    model.armature = np.zeros(model.nv)
    data = model.createData()
    upper = np.triu(pin.crba(model, data, q))
    equal(found.mass_matrix, upper + np.triu(upper, 1).T, robot.mass)
    gravity = np.array(pin.computeGeneralizedGravity(model, data, q))
    equal(found.gravity, gravity, robot.mass)
    coriolis = pin.nonLinearEffects(model, data, q, v) - gravity
    equal(found.coriolis, coriolis, robot.mass)
    assert list(found.contact_jacobians) == list(robot.soles)
    for side, jacobian in found.contact_jacobians.items():
        # iCub's and Romeo's own l_sole lies millimetres beside the sole.
        sole = robot.soles[side]
        link = model.frames[robot.frame_id(sole.link)]
        placement = link.placement * pin.SE3(sole.transform_sole_to_link)
        joint = link.parentJoint
        pin.computeJointJacobians(model, data, q)
        pin.forwardKinematics(model, data, q)
        expected = pin.getFrameJacobian(model, data, joint, placement, WORLD_ALIGNED)
        equal(jacobian, expected, 1.0)


@both
def test_every_part_equals_pinocchio(
    robot: eq.Robot, states: States, derive: Derivation
) -> None:
    """M, c, g and J are Pinocchio's to 1e-9 of the robot's mass, on every robot."""
    for q, v in states:
        check_against_pinocchio(robot, q, v, derive(robot, q, v))


@settings(max_examples=25)
@given(random_trees(), st.integers(0, 2**32 - 1))
def test_every_part_equals_pinocchio_on_random_trees(
    robot: eq.Robot, seed: int
) -> None:
    """The same on trees of all joint kinds, massless links among them."""
    q, v = (rows[0] for rows in random_states(robot, 1, seed))
    for derive in (newton_euler, analytic):
        check_against_pinocchio(robot, q, v, derive(robot, q, v))


def test_both_derivations_agree(robot: eq.Robot, states: States) -> None:
    """Unit accelerations and link Jacobians derive the same equations."""
    for q, v in states:
        one, other = newton_euler(robot, q, v), analytic(robot, q, v)
        for part in ("mass_matrix", "coriolis", "gravity", "contact_jacobian"):
            equal(getattr(one, part), getattr(other, part), robot.mass)
        assert one.coordinates == other.coordinates


@both
def test_mass_matrix_is_symmetric_and_positive(
    robot: eq.Robot, states: States, derive: Derivation
) -> None:
    """No motion has negative energy; none is free unless a moving part weighs nothing.

    Some of Romeo's fingers have no mass.
    """
    pin.computeSubtreeMasses(robot.model, robot.data)
    weightless = min(list(robot.data.mass)[1:]) == 0.0
    for q, v in states[:1]:
        matrix = derive(robot, q, v).mass_matrix
        equal(matrix, matrix.T, robot.mass)
        smallest = np.linalg.eigvalsh(matrix)[0]
        assert smallest > (-EQUAL * robot.mass if weightless else 0.0)


def test_energy_is_the_sum_over_the_links(robot: eq.Robot, states: States) -> None:
    """½ vᵀ M v = Σ ½ m ṗ² + ½ ωᵀ I ω, each link's velocity by Pinocchio."""
    for q, v in states:
        pin.forwardKinematics(robot.model, robot.data, q, v)
        energy = sum(
            inertia.vtiv(motion) / 2.0
            for inertia, motion in zip(robot.model.inertias, robot.data.v, strict=True)
        )
        found = 0.5 * v @ analytic(robot, q, v).mass_matrix @ v
        assert found == pytest.approx(energy, rel=EQUAL)


def test_coriolis_forces_do_no_work(robot: eq.Robot, states: States) -> None:
    """vᵀ (½ Ṁ v − c) = 0: without forces the energy stays; Ṁ by finite differences."""
    step = 1e-5
    for q, v in states:
        before, after = (
            analytic(robot, pin.integrate(robot.model, q, s * v), v).mass_matrix
            for s in (-step, step)
        )
        rate = (after - before) / (2.0 * step)
        coriolis = analytic(robot, q, v).coriolis
        scale = robot.mass * np.dot(v, v)
        assert v @ (0.5 * rate @ v - coriolis) == pytest.approx(0.0, abs=1e-7 * scale)


def test_base_rows_carry_the_weight(robot: eq.Robot, states: States) -> None:
    """Base rows of g: the weight, turned into base axes, and its moment, Eq. (38)."""
    for q, v in states:
        found = analytic(robot, q, v)
        base = bodies_at(robot, q)[0]
        weight = np.array([0.0, 0.0, robot.mass * STANDARD_GRAVITY])
        moment = np.cross(eq.com(robot, q) - base.position, weight)
        base_rows = found.gravity[found.rows("base")]
        equal(base_rows[:3], base.rotation.T @ weight, robot.mass)
        equal(base_rows[3:], base.rotation.T @ moment, robot.mass)


def test_base_rows_give_the_linear_momentum(robot: eq.Robot, states: States) -> None:
    """The first three rows of M v are m ċ in base axes."""
    for q, v in states:
        momentum = analytic(robot, q, v).mass_matrix[:3] @ v
        in_world = bodies_at(robot, q)[0].rotation @ momentum
        equal(in_world, robot.mass * eq.com_velocity(robot, q, v), robot.mass)


def test_world_axes_of_the_paper(robot: eq.Robot, states: States) -> None:
    """T M Tᵀ and T (c − M [ω × v, 0, 0]) belong to base accelerations in the world.

    Those are Pinocchio's classical acceleration of the base.
    """
    model, data = robot.model, robot.data
    rng = np.random.default_rng(0)
    for q, v in states:
        a = rng.normal(size=robot.nv)
        found = analytic(robot, q, v)
        to_world = np.eye(robot.nv)
        rotation = bodies_at(robot, q)[0].rotation
        to_world[:3, :3] = to_world[3:6, 3:6] = rotation
        turning = np.zeros(robot.nv)
        turning[:3] = np.cross(v[3:6], v[:3])
        matrix = to_world @ found.mass_matrix @ to_world.T
        coriolis = to_world @ (found.coriolis - found.mass_matrix @ turning)
        pin.forwardKinematics(model, data, q, v, a)
        base = pin.getClassicalAcceleration(model, data, 1, WORLD_ALIGNED).vector
        forces = to_world @ (found.mass_matrix @ a + found.coriolis)
        equal(
            matrix @ np.concatenate([base, a[6:]]) + coriolis,
            forces,
            robot.mass * np.dot(v, v),
        )


def test_rows_belong_to_base_and_limbs(robot: eq.Robot, states: States) -> None:
    """Base and limbs share no row and together have them all; rows name joints."""
    found = analytic(robot, *states[0])
    rows = np.concatenate([found.rows(name) for name in ("base", *found.limb_rows)])
    assert sorted(rows) == list(range(robot.nv))
    assert len(found.coordinates) == robot.nv
    for name, limb in robot.limbs.items():
        labels = [found.coordinates[row] for row in found.limb_rows[name]]
        assert labels == list(limb.subtree_joints)


def test_limbs_meet_only_where_one_carries_the_other() -> None:
    """M_ij of legs and arms is zero; the waist carries the arms, theirs is not."""
    robot = eq.load("humanoid")
    q, v = (rows[0] for rows in random_states(robot, 1))
    found = analytic(robot, q, v)
    assert found.block("base", "base").shape == (6, 6)
    assert found.block("base", "left_leg").shape == (6, 6)
    assert found.block("left_arm", "base").shape == (7, 6)
    assert not found.block("left_leg", "right_leg").any()
    assert not found.block("left_leg", "left_arm").any()
    assert not found.block("left_arm", "right_arm").any()
    assert np.abs(found.block("torso", "left_arm")).max() > 0.01
    equal(found.block("torso", "head"), found.block("head", "torso").T, robot.mass)


@both
def test_rotor_inertia_is_left_out(derive: Derivation) -> None:
    """Pinocchio's crba has the rotor inertia on the diagonal, the equations do not."""
    robot = eq.load("humanoid")
    assert robot.model.armature.max() > 0.0
    with_rotors = pin.crba(robot.model, robot.model.createData(), robot.standing)
    matrix = derive(robot, robot.standing, np.zeros(robot.nv)).mass_matrix
    difference = np.diag(with_rotors - matrix)
    np.testing.assert_allclose(difference, robot.model.armature, atol=1e-12)


def test_unknown_block_is_an_error() -> None:
    """The message names what is missing and lists what there is."""
    robot = eq.load("three-link")
    found = analytic(robot, robot.standing, np.zeros(robot.nv))
    with pytest.raises(NameNotFoundError, match=r"no block 'tail'.*base, left_leg"):
        found.block("base", "tail")


@both
def test_a_batch_is_refused(derive: Derivation) -> None:
    """Equations are derived for one state; the message says so."""
    robot = eq.load("three-link")
    q, v = random_states(robot, 2)
    with pytest.raises(ShapeError, match="one configuration"):
        derive(robot, q, v)
    with pytest.raises(ShapeError, match="v has shape"):
        derive(robot, q[0], v)


def test_results_are_read_only() -> None:
    """Nothing that belongs to the equations can be written to."""
    robot = eq.load("three-link")
    found = newton_euler(robot, robot.standing, np.zeros(robot.nv))
    arrays = [found.mass_matrix, found.coriolis, found.gravity]
    arrays += [*found.contact_jacobians.values(), *found.limb_rows.values()]
    assert not any(array.flags.writeable for array in arrays)
