"""Torques by quadratic programmes against Pinocchio, all solvers' answers, physics."""

from __future__ import annotations

from dataclasses import replace

import daqp
import numpy as np
import pinocchio as pin
import pytest
import qpsolvers
from whole_body_states import (
    ROBOTS,
    balance_tasks,
    dynamics_of,
    foot_contacts,
    light,
    wide_limits,
)

from equipoise.arrays import Array
from equipoise.balance.whole_body.diagnosis import (
    check_standing,
    contradictions,
    task_errors,
)
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.balance.whole_body.inverse_dynamics import (
    Contact,
    Limits,
    Problem,
    Solution,
    build_qp,
    solve_qp,
)
from equipoise.balance.whole_body.problem import UNLIMITED
from equipoise.balance.whole_body.tasks import ComTask, FrameTask
from equipoise.errors import EquipoiseError

FEET = (0, 1, 2)
CASES = [(name, feet, seed) for name in ROBOTS for feet in FEET for seed in (0, 1)]


def problem_of(
    name: str, feet: int, seed: int, **limits: Array
) -> tuple[Dynamics, list[Contact], Problem]:
    """Return a problem of a robot on so many feet, where limits matter somewhat."""
    dynamics = dynamics_of(name, seed)
    contacts = foot_contacts(dynamics)[:feet]
    wide = replace(wide_limits(dynamics), **limits)
    tasks = balance_tasks(dynamics, seed)
    return dynamics, contacts, build_qp(dynamics, tasks, contacts, wide)


def stacked(solution: Solution) -> Array:
    """Return the unknowns of the dense problem."""
    return np.concatenate((solution.acceleration, *solution.forces_in_contact))


@pytest.mark.parametrize(("name", "feet", "seed"), CASES)
def test_torques_are_inverse_dynamics(name: str, feet: int, seed: int) -> None:
    """τ = rnea(q, v, a) - Jᵀ f to 1e-8, with nothing left at the base."""
    dynamics, contacts, problem = problem_of(name, feet, seed)
    solution = solve_qp(problem)
    assert solution.relaxed == ""
    model, data = dynamics.model, dynamics.model.createData()
    left = pin.rnea(model, data, dynamics.q, dynamics.v, solution.acceleration)
    pin.computeJointJacobians(model, data, dynamics.q)
    for contact, forces in zip(contacts, solution.forces, strict=True):
        frame = dynamics.frame(contact.frame)
        pose = pin.updateFramePlacement(model, data, frame)
        jacobian = pin.getFrameJacobian(
            model, data, frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        )
        for point, force in zip(contact.points_in_frame, forces, strict=True):
            moment = np.cross(pose.rotation @ point, force)
            left -= jacobian.T @ np.concatenate((force, moment))
    scale = np.abs(solution.torque).max()
    np.testing.assert_allclose(left[:6], 0.0, atol=1e-8 * scale)
    np.testing.assert_allclose(left[6:], solution.torque, atol=1e-8 * scale)


@pytest.mark.parametrize(("name", "feet", "seed"), CASES)
def test_reduction_does_not_change_the_answer(name: str, feet: int, seed: int) -> None:
    """Fewer unknowns and limits left out give what the whole programme gives.

    With limits that are active: torques, accelerations, and a foot that may carry
    little.
    """
    dynamics, contacts, problem = problem_of(name, feet, seed)
    if contacts:
        contacts[0] = light(contacts[0], 0.3 * problem.weight if feet == 2 else 1e4)
    free = solve_qp(problem)
    joints = slice(6, None)
    limits = Limits(
        0.9 * np.abs(free.torque) + 0.3 * np.abs(free.torque).max(),
        -0.9 * np.abs(free.acceleration[joints]) - 5.0,
        0.9 * np.abs(free.acceleration[joints]) + 5.0,
    )
    problem = build_qp(dynamics, balance_tasks(dynamics, seed), contacts, limits)
    fast = solve_qp(problem)
    dense = problem.dense
    size = len(dense.cost_vector)
    sense = np.zeros(size + len(dense.rows), dtype=np.int32)
    sense[size : size + dense.equalities] = 5
    x, _, flag, _ = daqp.solve(
        dense.cost_matrix,
        dense.cost_vector,
        dense.rows,
        np.concatenate((dense.most, dense.upper)),
        np.concatenate((dense.least, dense.lower)),
        sense,
        primal_tol=1e-9,
    )
    assert flag > 0
    assert fast.relaxed == ""
    nv = problem.nv
    scale = np.concatenate(
        (np.full(nv, 1.0 + np.abs(x[:nv]).max()), np.full(size - nv, problem.weight))
    )
    np.testing.assert_allclose(stacked(fast) / scale, x / scale, atol=1e-6)
    # a start from the last solution changes nothing
    again = solve_qp(problem, near=fast.near)
    np.testing.assert_allclose(again.torque, fast.torque, atol=1e-6 * scale.max())


@pytest.mark.parametrize("feet", [1, 2])
def test_solution_is_optimal(feet: int) -> None:
    """It has multipliers of the right signs for the whole programme (KKT)."""
    _, _, problem = problem_of("humanoid", feet, 3)
    solution = solve_qp(problem)
    x, dense = stacked(solution), problem.dense
    gradient = dense.cost_matrix @ x + dense.cost_vector
    values = dense.rows @ x
    scale = 1e-7 * (1.0 + np.abs(values))
    equal = np.arange(len(values)) < dense.equalities
    np.testing.assert_allclose(values[equal], dense.upper[equal], atol=1e-6)
    above = ~equal & (values > dense.upper - scale)
    below = ~equal & (values < dense.lower + scale)
    bound = x < dense.least + 1e-6
    rows = [dense.rows[equal], -dense.rows[equal], dense.rows[above]]
    rows += [-dense.rows[below], -np.eye(len(x))[bound]]
    from scipy.optimize import nnls

    scaled = np.full(len(x), 1.0)
    scaled[problem.nv :] = problem.weight
    columns = (np.vstack(rows) * scaled).T
    _, residual = nnls(columns, -gradient * scaled, maxiter=5000)
    assert residual < 1e-6 * np.abs(gradient * scaled).max() + 1e-9


@pytest.mark.parametrize("name", ROBOTS)
def test_forces_stay_within_friction(name: str) -> None:
    """Points push, within round cones but for 8 %; feet carry no more than they may."""
    dynamics = dynamics_of(name, 5)
    weight = dynamics.robot.mass * 9.81
    tasks = balance_tasks(dynamics, 5)
    com = tasks[0]
    assert isinstance(com, ComTask)
    com.acceleration = np.array([4.0, -3.0, 0.0])  # more than friction gives
    contacts = foot_contacts(dynamics)
    contacts[1] = light(contacts[1], 0.1 * weight)
    solution = solve_qp(build_qp(dynamics, tasks, contacts, wide_limits(dynamics)))
    assert solution.relaxed == ""
    tolerance = 1e-6 * weight
    for contact, flat in zip(contacts, solution.forces_in_contact, strict=True):
        force = flat.reshape(-1, 3)
        assert force[:, 2].min() > -tolerance
        most = contact.friction * force[:, 2]
        assert (np.abs(force[:, :2]).max(axis=1) <= most + tolerance).all()
        between = most / np.cos(np.pi / 8.0)
        assert (np.hypot(*force.T[:2]) <= between + tolerance).all()
        assert force[:, 2].sum() <= contact.most_force + tolerance


def test_points_in_a_line_are_a_contact_too() -> None:
    """Contacts that cannot bear any wrench are solved, by themselves or beside."""
    dynamics = dynamics_of("humanoid", 2)
    feet = foot_contacts(dynamics)
    edge = replace(feet[0], points_in_frame=feet[0].points_in_frame[:2].copy())
    tasks = balance_tasks(dynamics, 2)
    for contacts in ([edge], [edge, feet[1]]):
        problem = build_qp(dynamics, tasks, contacts, wide_limits(dynamics, 1e5))
        solution = solve_qp(problem)
        base = problem.dense.rows[:6] @ stacked(solution) - problem.dense.upper[:6]
        assert np.abs(base).max() < 1e-6 * problem.weight


def test_contacts_that_cannot_stay_are_given_up_and_say_so() -> None:
    """Joints that may hardly accelerate let feet go; then their limits go as well."""
    dynamics = dynamics_of("humanoid", 1)
    dynamics.update(dynamics.q, 3.0 * dynamics.v)
    contacts = foot_contacts(dynamics)
    tasks, joints = balance_tasks(dynamics, 1), dynamics.model.nv - 6
    narrow = replace(
        wide_limits(dynamics, 1e5),
        least_acceleration=np.full(joints, -0.5),
        most_acceleration=np.full(joints, 0.5),
    )
    found = solve_qp(build_qp(dynamics, tasks, contacts, narrow))
    assert found.relaxed == "contacts"
    assert found.slack > 0.1
    assert np.abs(found.acceleration[6:]).max() < 0.5 + 1e-6
    weak = replace(narrow, torque=np.full(joints, 0.01))
    found = solve_qp(build_qp(dynamics, tasks, contacts, weak))
    assert found.relaxed == "limits"
    assert found.slack >= np.abs(found.acceleration[6:]).max() - 0.5 - 1e-6
    assert np.abs(found.torque).max() <= 0.01 + 1e-6


def test_numbers_that_are_none_are_an_error() -> None:
    """A state that has diverged gives one clear line, not torques."""
    dynamics = dynamics_of("humanoid", 1)
    dynamics.update(dynamics.q, np.full(dynamics.model.nv, np.nan))
    contacts = foot_contacts(dynamics)
    problem = build_qp(
        dynamics, balance_tasks(dynamics, 1), contacts, wide_limits(dynamics)
    )
    with pytest.raises(EquipoiseError, match="no joint torques exist for this state"):
        solve_qp(problem)


def test_solvers_by_name() -> None:
    """Every installed solver of qpsolvers gives the same torques; others are named."""
    _, _, problem = problem_of("humanoid", 2, 4)
    ours = solve_qp(problem)
    for solver in qpsolvers.dense_solvers:
        if solver != "daqp":
            theirs = solve_qp(problem, solver)
            np.testing.assert_allclose(theirs.torque, ours.torque, atol=1e-2)
    with pytest.raises(EquipoiseError, match=r"no solver 'none'; .* daqp"):
        solve_qp(problem, "none")


def test_dense_bounds_are_finite() -> None:
    """What has no limit is wide, not infinite, as solvers want it."""
    dense = problem_of("mahru-1", 2, 0)[2].dense
    for bound in (dense.lower, dense.upper, dense.least, dense.most):
        assert np.abs(bound).max() <= UNLIMITED


def test_tasks_say_what_they_did_not_get() -> None:
    """Errors by task are what was asked less what the accelerations found give."""
    dynamics, _, problem = problem_of("humanoid", 2, 6)
    solution = solve_qp(problem)
    errors = task_errors(problem, solution)
    assert list(errors) == ["CoM", problem.tasks[1].name, "posture"]
    got = dynamics.com_jacobian @ solution.acceleration + dynamics.com_drift
    wanted = problem.tasks[0].goal + dynamics.com_drift
    np.testing.assert_allclose(errors["CoM"], wanted - got, atol=1e-9)


def test_contradictions_are_named() -> None:
    """Two targets of one hand contradict; so do a contact and a foot that leaves."""
    dynamics = dynamics_of("humanoid", 7)
    hand = dynamics.robot.limbs["left_arm"].end_link
    up, down = FrameTask(hand, 1.0, 10.0), FrameTask(hand, 1.0, 10.0)
    up.name, down.name = "hand up", "hand down"
    for task, height in ((up, 0.5), (down, -0.5)):
        task.pose = np.array(dynamics.pose(dynamics.frame(hand)).homogeneous)
        task.pose[2, 3] += height
        task.directions = task.directions[:3]
    contacts = foot_contacts(dynamics)
    foot = FrameTask(contacts[0].frame, 1.0, 10.0)
    foot.pose = np.array(dynamics.pose(dynamics.frame(foot.frame)).homogeneous)
    foot.pose[2, 3] += 0.1
    tasks = [*balance_tasks(dynamics, 7), up]
    limits = wide_limits(dynamics)
    assert contradictions(build_qp(dynamics, tasks, contacts, limits)) == ()
    said = contradictions(build_qp(dynamics, [*tasks, down, foot], contacts, limits))
    assert ("hand up", "hand down") in said
    assert (foot.name, f"contact at {contacts[0].frame}") in said


def test_weak_joints_are_named_before_the_run() -> None:
    """Standing is checked: which joints need more than they have."""
    dynamics = dynamics_of("humanoid", 0, spread=0.0)
    dynamics.update(dynamics.q, np.zeros(dynamics.model.nv))
    contacts = foot_contacts(dynamics)
    joints = dynamics.model.nv - 6
    check_standing(dynamics, contacts, np.full(joints, 300.0))
    weak = np.full(joints, 300.0)
    names = [name for name in dynamics.model.names[2:]]
    weak[names.index("left_knee")] = 0.5
    weak[names.index("right_knee")] = 0.5
    with pytest.raises(EquipoiseError, match=r"torque limits .*_knee needs .* of 0\.5"):
        check_standing(dynamics, contacts, weak)
    aside = np.array([*dynamics.q])
    aside[3:7] = pin.Quaternion(pin.rpy.rpyToMatrix(0.0, 0.9, 0.0)).coeffs()
    dynamics.update(aside, np.zeros(dynamics.model.nv))
    with pytest.raises(EquipoiseError, match="carry it; is its CoM between its feet"):
        check_standing(dynamics, contacts, np.full(joints, 300.0))
