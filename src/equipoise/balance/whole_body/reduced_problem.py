"""The same quadratic programme with fewer unknowns, for a fast solution.

Equations are used up before the solver sees them. The first contact that can bear any
wrench, with the rows J a = b of its twist, says how the base accelerates,

    a_base = X (b - J_j a_j),

where X takes the contact's twist to the base; the base's rows of the dynamics then say
the wrench at that contact, w = Xᵀ (M_b a + h_b - Σ J_bᵀ w_i) over the other contacts i.
What is left are joint accelerations and the wrenches of the other contacts. In the air,
the base's rows say its acceleration. Forces that make no wrench are zero unless limits
of forces are near. Forces count in units of the weight.

Limits of torques and forces are left out unless they were near the last time; those
that a solution violates are added, and it is solved again. The result is the same.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array, frozen_array
from equipoise.balance.skeleton import BASE_DOF
from equipoise.balance.whole_body.problem import (
    ACCELERATION_COST,
    FORCE_COST,
    UNLIMITED,
    Problem,
)

# A limit counts from the start if less than this part of it was left the last time
# (of the weight, for forces); it is violated by more than that part.
NEAR, VIOLATED = 0.02, 1e-9
EQUALITY = 5
OFFSET = frozen_array(np.array([-1.0]))
ROOT_ACCELERATION, ROOT_FORCE = math.sqrt(ACCELERATION_COST), math.sqrt(FORCE_COST)


class Reduction(NamedTuple):
    """How accelerations and forces follow from the unknowns that are left.

    These are y = (u of other contacts, a_j), n of them, with forces f = B u + N z (see
    :class:`~equipoise.balance.whole_body.problem.Grasp`). Each map has one more column,
    what is taken off at the end.

    Attributes:
        problem: The whole problem.
        main: The contact whose forces follow from the rest; None in the air.
        others: Columns of u of the other contacts, by their number.
        first: The column of the first joint.
        base: From a_j to base accelerations, shape (6, nv - 6 + 1).
        rows: From a_j to the rows of the problem, likewise.
        wrench: From y to the main contact's wrench, in weights, shape (6, n + 1).
        force: From y to its u, in weights, shape (6, n + 1).
        cost_matrix: Shape (n, n).
        cost_vector: Shape (n,).
    """

    problem: Problem
    main: int | None
    others: dict[int, slice]
    first: int
    base: Array
    rows: Array
    wrench: Array
    force: Array
    cost_matrix: Array
    cost_vector: Array


class Found(NamedTuple):
    """A solution of the whole problem.

    Attributes:
        acceleration: a, shape (nv,).
        forces: By contact, in axes of its frame [N], shape (3 k,) each.
        torque: Joint torques, shape (nv - 6,).
        near: Limits that are reached, or nearly.
        iterations: Of the solver.
    """

    acceleration: Array
    forces: tuple[Array, ...]
    torque: Array
    near: NDArray[np.bool_] | None
    iterations: int


def can_reduce(problem: Problem) -> bool:
    """Return whether base and a contact can be eliminated."""
    contacts = problem.contacts
    return not contacts or any(contact.grasp.whole for contact in contacts)


def reduce(problem: Problem) -> Reduction:
    """Eliminate the base's accelerations and the wrench of one contact."""
    main, others, first = _layout(problem)
    count, joints = problem.task_rows, len(problem.joint_weight)
    size, stop = first + joints, count + BASE_DOF
    wrench = np.zeros((BASE_DOF, size + 1))
    costs = np.zeros((stop + BASE_DOF, size + 1))
    if main is None:
        inert = problem.rows[count:stop]
        solved = np.linalg.solve(-inert[:, :BASE_DOF], inert[:, BASE_DOF:])
        base = np.asarray(solved, dtype=np.float64)
    else:
        contact = problem.contacts[main]
        base = (-contact.twist_to_base).dot(contact.rows[:, BASE_DOF:])
    rows = problem.rows[:, :BASE_DOF].dot(base)
    rows += problem.rows[:, BASE_DOF:]
    force = wrench
    if main is not None:
        to_main = contact.twist_to_base.T
        wrench[:, first:] = to_main.dot(rows[count:stop])
        wrench *= 1.0 / problem.weight
        for number, columns in others.items():
            other = problem.contacts[number]
            carried = to_main.dot(other.rows[:, :BASE_DOF].T)
            wrench[:, columns] = carried.dot(other.grasp.minus_wrench)
        force = contact.grasp.inverse.dot(wrench)
    # the cost is the square of these rows, and a diagonal
    costs[:count, first:] = rows[:count]
    np.multiply(base, ROOT_ACCELERATION, out=costs[count:stop, first:])
    np.multiply(force, ROOT_FORCE, out=costs[stop:])
    square = costs.T @ costs
    diagonal = square.reshape(-1)[:: size + 2]
    diagonal[first:size] += problem.joint_weight
    if first:
        diagonal[:first] += FORCE_COST
    vector = -square[size, :size]
    vector[first:] -= problem.joint_goal
    matrix = square[:size, :size].copy()
    return Reduction(
        problem, main, others, first, base, rows, wrench, force, matrix, vector
    )


def _layout(problem: Problem) -> tuple[int | None, dict[int, slice], int]:
    """Return the main contact, columns of the others, and how many these are."""
    main, others, size = None, {}, 0
    for number, contact in enumerate(problem.contacts):
        if main is None and contact.grasp.whole:
            main = number
        else:
            others[number] = slice(size, size + contact.grasp.active.shape[1])
            size = others[number].stop
    return main, others, size


class Programme(NamedTuple):
    """What DAQP is given: unknowns (z, y), z of contacts whose limits count.

    Attributes:
        matrix: Cost, shape (n, n).
        vector: Likewise, shape (n,).
        rows: Rows by which the other contacts stay, then limits.
        lower: Bounds of unknowns, then of rows.
        upper: Likewise.
        held: How many rows are equations.
        free: Columns of z, by the contact's number.
    """

    matrix: Array
    vector: Array
    rows: Array
    lower: Array
    upper: Array
    held: int
    free: dict[int, slice]


def solve_reduced(problem: Problem, near: NDArray[np.bool_] | None) -> Found | None:
    """Return the solution by DAQP, or None if there is none."""
    import daqp

    reduced = reduce(problem)
    unlimited = _without_limits(reduced)
    violation, closeness = _tolerances(
        problem.limits.torque.tobytes(),
        sum(len(contact.grasp.cone) for contact in problem.contacts),
    )
    if near is None or len(near) != len(closeness):
        near = np.zeros(len(closeness), dtype=bool)
    working, iterations = near, 0
    while True:
        given = unlimited
        if working.any():
            given = _with_limits(reduced, unlimited, np.flatnonzero(working))
        size = len(given.vector)
        sense = np.zeros(len(given.upper), dtype=np.int32)
        sense[size : size + given.held] = EQUALITY
        y, _, flag, info = daqp.solve(
            given.matrix,
            given.vector,
            given.rows,
            given.upper,
            given.lower,
            sense,
            eq_reduction=daqp.EQ_REDUCTION_OFF,
        )
        iterations += info["iterations"]
        if flag <= 0:
            return None
        acceleration, parts = _expand(reduced, y, given.free)
        torque, left = _limits_left(problem, acceleration, parts)
        violated = left < violation
        violated &= ~working
        if not violated.any():
            break
        working = working | violated
    forces = []
    for contact, (active, idle) in zip(problem.contacts, parts, strict=True):
        force = contact.grasp.active.dot(active)
        forces.append(force if idle is None else force + contact.grasp.free.dot(idle))
    return Found(acceleration, tuple(forces), torque, left < closeness, iterations)


def _without_limits(reduced: Reduction) -> Programme:
    """Return the programme without limits of torques and forces."""
    problem, first, limits = reduced.problem, reduced.first, reduced.problem.limits
    size, held = len(reduced.cost_vector), 6 * len(reduced.others)
    least, most = np.empty(size + held), np.empty(size + held)
    least.fill(-UNLIMITED)
    most.fill(UNLIMITED)
    if limits.least_acceleration is not None:
        least[first:size] = limits.least_acceleration
    if limits.most_acceleration is not None:
        most[first:size] = limits.most_acceleration
    rows = np.zeros((held, size))
    start = problem.task_rows + problem.nv
    for place, number in enumerate(reduced.others):
        at = slice(6 * place, 6 * place + 6)
        own = reduced.rows[start + 6 * number : start + 6 * number + 6]
        rows[at, first:] = own[:, :-1]
        least[size:][at] = most[size:][at] = own[:, -1]
    return Programme(
        reduced.cost_matrix, reduced.cost_vector, rows, least, most, held, {}
    )


def _with_limits(
    reduced: Reduction, given: Programme, limits: NDArray[np.intp]
) -> Programme:
    """Return the programme with some limits, numbered as torques, then cones."""
    problem, count = reduced.problem, len(limits)
    torques, *ends = limits.searchsorted(_limit_ends(problem)).tolist()
    free, size = {}, 0
    begin = torques
    for number, (contact, end) in enumerate(zip(problem.contacts, ends, strict=True)):
        if end > begin:
            free[number] = slice(size, size + contact.grasp.free.shape[1])
            size = free[number].stop
        begin = end
    every, held = size + len(reduced.cost_vector), given.held
    rows = np.zeros((held + count, every))
    rows[:held, size:] = given.rows
    lower, upper = np.empty(size + count), np.empty(size + count)
    lower.fill(-UNLIMITED)
    upper[:size], upper[size:] = UNLIMITED, 0.0
    if torques:
        which = limits[:torques]
        added = _torque_rows(reduced, which)
        rows[held : held + torques, size:] = added[:, :-1]
        limit = problem.limits.torque[which]
        lower[size : size + torques] = added[:, -1] - limit
        upper[size : size + torques] = added[:, -1] + limit
    begin, start = torques, len(problem.joint_weight)
    for number, (contact, end) in enumerate(zip(problem.contacts, ends, strict=True)):
        grasp = contact.grasp
        if number in free:
            which = limits[begin:end] - start
            at = slice(held + begin, held + end)
            active = grasp.cone_active[which]
            rows[at, free[number]] = grasp.cone_free[which]
            if which[-1] == len(grasp.cone) - 1:
                upper[size + end - 1] = contact.most_force / problem.weight
            if number == reduced.main:
                added = active.dot(reduced.force)
                rows[at, size:] = added[:, :-1]
                upper[size + begin : size + end] += added[:, -1]
            else:
                columns = reduced.others[number]
                rows[at, size + columns.start : size + columns.stop] = active
        begin, start = end, start + len(grasp.cone)
    matrix, vector = given.matrix, given.vector
    if size:
        matrix = np.zeros((every, every))
        matrix[size:, size:] = given.matrix
        matrix.reshape(-1)[: size * (every + 1) : every + 1] = FORCE_COST
        vector = np.concatenate((np.zeros(size), vector))
    return Programme(
        matrix,
        vector,
        rows,
        np.concatenate((lower[:size], given.lower, lower[size:])),
        np.concatenate((upper[:size], given.upper, upper[size:])),
        held,
        free,
    )


def _limit_ends(problem: Problem) -> list[int]:
    """Return where limits of torques end, and those of each contact."""
    ends = [len(problem.joint_weight)]
    for contact in problem.contacts:
        ends.append(ends[-1] + len(contact.grasp.cone))
    return ends


def _torque_rows(reduced: Reduction, which: NDArray[np.intp]) -> Array:
    """Return rows of y of some torques, and what is taken off, shape (k, n + 1)."""
    problem = reduced.problem
    rows = np.zeros((len(which), len(reduced.cost_vector) + 1))
    rows[:, reduced.first :] = reduced.rows[problem.task_rows + BASE_DOF + which]
    for number, contact in enumerate(problem.contacts):
        lever = problem.weight * contact.rows[:, BASE_DOF + which].T
        if number == reduced.main:
            rows -= lever @ reduced.wrench
        else:
            rows[:, reduced.others[number]] -= lever @ contact.grasp.wrench
    return rows


@lru_cache(maxsize=16)
def _tolerances(torque: bytes, cones: int) -> tuple[Array, Array]:
    """Return what is left to limits that are violated, or near."""
    scale = np.concatenate((np.frombuffer(torque), np.ones(cones)))
    return frozen_array(-VIOLATED * scale), frozen_array(NEAR * scale)


def _expand(
    reduced: Reduction, y: Array, free: dict[int, slice]
) -> tuple[Array, list[tuple[Array, Array | None]]]:
    """Return accelerations, and u and z of each contact [N]."""
    problem, weight = reduced.problem, reduced.problem.weight
    whole = np.concatenate((y[-len(reduced.cost_vector) :], OFFSET))
    own = whole[reduced.first :]
    acceleration = np.concatenate((reduced.base.dot(own), own[:-1]))
    whole *= weight
    parts = []
    for number in range(len(problem.contacts)):
        if number == reduced.main:
            active = reduced.force.dot(whole)
        else:
            active = whole[reduced.others[number]]
        idle = weight * y[free[number]] if number in free else None
        parts.append((active, idle))
    return acceleration, parts


def torques_of(
    problem: Problem, acceleration: Array, forces: tuple[Array, ...]
) -> Array:
    """Return joint torques of accelerations and forces, shape (nv - 6,)."""
    inert = problem.dynamics_rows[BASE_DOF:]
    torque = inert.dot(np.concatenate((acceleration, OFFSET)))
    for contact, force in zip(problem.contacts, forces, strict=True):
        torque -= (contact.grasp.matrix @ force) @ contact.rows[:, BASE_DOF:-1]
    return np.asarray(torque)


def _limits_left(
    problem: Problem,
    acceleration: Array,
    parts: list[tuple[Array, Array | None]],
) -> tuple[Array, Array]:
    """Return torques, and what is left to limits: torques [Nm], cones in weights."""
    inert = problem.dynamics_rows[BASE_DOF:]
    torque = inert.dot(np.concatenate((acceleration, OFFSET)))
    per_weight = -1.0 / problem.weight
    left = [torque]
    for contact, (active, idle) in zip(problem.contacts, parts, strict=True):
        grasp = contact.grasp
        torque -= grasp.wrench.dot(active).dot(contact.rows[:, BASE_DOF:-1])
        cone = grasp.cone_active.dot(active)
        if idle is not None:
            cone += grasp.cone_free.dot(idle)
        cone[-1] -= contact.most_force
        cone *= per_weight
        left.append(cone)
    left[0] = problem.limits.torque - np.abs(torque)
    return torque, np.concatenate(left)
