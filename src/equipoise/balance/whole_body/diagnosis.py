"""Why whole-body control cannot do what it is asked: tasks, contacts or limits."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from equipoise.arrays import Array
from equipoise.balance.skeleton import BASE_DOF
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.balance.whole_body.inverse_dynamics import Solution, build_qp
from equipoise.balance.whole_body.problem import (
    UNLIMITED,
    Contact,
    Limits,
    Problem,
    TaskRows,
)
from equipoise.balance.whole_body.reduced_problem import EQUALITY
from equipoise.errors import EquipoiseError
from equipoise.robot.joint_coordinates import degree_names

# Joints whose limits are exceeded by more than this part are at fault.
EXCESS = 1e-4


def task_errors(problem: Problem, solution: Solution) -> dict[str, Array]:
    """Return what each task asked for and did not get, b - J a, by its name.

    Of tasks with one name, the numbers follow each other.
    """
    errors: dict[str, Array] = {}
    for task in problem.tasks:
        if task.jacobian is None:
            got = solution.acceleration[BASE_DOF:]
        else:
            got = task.jacobian @ solution.acceleration
        before = errors.get(task.name, np.zeros(0))
        errors[task.name] = np.concatenate((before, task.goal - got))
    return errors


def contradictions(
    problem: Problem, tolerance: float = 1e-6
) -> tuple[tuple[str, str], ...]:
    """Return pairs of tasks that cannot both have what they ask for.

    Limits do not count, nor do postures, which take what others leave. A task that
    contacts alone prevent is paired with the first of these.

    Args:
        problem: From :func:`~equipoise.balance.whole_body.inverse_dynamics.build_qp`.
        tolerance: What a task may miss, as a part of what it asks for and of 1 m/s² or
            1 rad/s².
    """
    tasks = [task for task in problem.tasks if task.jacobian is not None]
    held = [contact.rows for contact in problem.contacts]
    parts = [_wanted_rows(task) for task in tasks]

    def misses(*chosen: int) -> bool:
        rows = np.vstack([*held, *(parts[number] for number in chosen)])
        matrix, goal = rows[:, :-1], rows[:, -1]
        found = np.linalg.lstsq(matrix, goal, rcond=1e-9)[0]
        most = tolerance * (1.0 + np.abs(goal).max(initial=0.0))
        return bool(np.abs(matrix @ found - goal).max(initial=0.0) > most)

    alone = [misses(number) for number in range(len(tasks))]
    pairs = [
        (tasks[number].name, f"contact at {problem.contacts[0].frame}")
        for number in range(len(tasks))
        if alone[number] and problem.contacts
    ]
    for one, other in combinations(range(len(tasks)), 2):
        if not alone[one] and not alone[other] and misses(one, other):
            pairs.append((tasks[one].name, tasks[other].name))
    return tuple(pairs)


def check_standing(
    dynamics: Dynamics, contacts: Sequence[Contact], torque: Array
) -> None:
    """Make sure that joints can hold the robot still on its contacts.

    Contact forces are those that exceed the limits the least.

    Args:
        dynamics: The robot in the posture in which it is to stand.
        contacts: What it stands on.
        torque: Largest torques (forces) [Nm or N], shape (nv - 6,).

    Raises:
        EquipoiseError: If forces of the contacts cannot carry it, or torques are
            beyond the limits: which joints, and by how much.
    """
    problem = build_qp(dynamics, (), contacts, Limits(torque))
    dense, nv = problem.dense, problem.nv
    forces, joints = len(dense.cost_vector) - nv, nv - BASE_DOF
    scale = np.maximum(torque, EXCESS)
    # over forces and torques beyond the limits, as parts of these
    cost = np.ones(forces + joints)
    cost[:forces] = EXCESS**2 / problem.weight**2
    held = slice(BASE_DOF, dense.equalities)
    rows = np.zeros((len(dense.rows), forces + joints))
    rows[:, :forces] = dense.rows[:, nv:]
    rows[dense.torques, forces:] = -np.diag(scale)
    rows = np.delete(rows, held, axis=0)
    lower, upper = np.delete(dense.lower, held), np.delete(dense.upper, held)
    free = np.full(joints, UNLIMITED)
    x = _least(
        cost,
        rows,
        np.concatenate((dense.least[nv:], -free, lower)),
        np.concatenate((dense.most[nv:], free, upper)),
    )
    if x is None:
        where = " and ".join(contact.frame for contact in contacts)
        raise EquipoiseError(
            f"{dynamics.robot.name} cannot stand in its posture: no forces within "
            f"friction at {where} carry it; is its CoM between its feet?"
        )
    excess = np.abs(x[forces:])
    if (excess > EXCESS).any():
        names = degree_names(dynamics.robot)
        needed = (1.0 + excess) * scale
        worst = [
            f"{names[joint]} needs {needed[joint]:.3g} of {torque[joint]:.3g}"
            for joint in np.argsort(-excess)
            if excess[joint] > EXCESS
        ]
        more = f", and {len(worst) - 4} more" if len(worst) > 4 else ""
        raise EquipoiseError(
            f"{dynamics.robot.name} cannot stand within its torque limits [Nm or N]: "
            f"{', '.join(worst[:4])}{more}"
        )


def _least(cost: Array, rows: Array, lower: Array, upper: Array) -> Array | None:
    """Return the smallest x within bounds of x, then of rows; None if there is none."""
    import daqp

    sense = np.zeros(len(upper), dtype=np.int32)
    sense[len(cost) : len(cost) + BASE_DOF] = EQUALITY
    x, _, flag, _ = daqp.solve(
        np.diag(cost), np.zeros(len(cost)), rows, upper, lower, sense
    )
    return np.asarray(x) if flag > 0 else None


def _wanted_rows(task: TaskRows) -> Array:
    """Return J and b of a task, without rows that do not count, shape (k, nv + 1)."""
    assert task.jacobian is not None
    rows = np.column_stack((task.jacobian, task.goal))
    return rows[np.broadcast_to(task.root_weight > 0.0, len(rows))]
