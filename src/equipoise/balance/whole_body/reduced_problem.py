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


def solve_reduced(problem: Problem, near: NDArray[np.bool_] | None) -> Found | None:
    """Return the solution by DAQP, or None if there is none."""
    reduced = reduce(problem)
    bounds = _bounds(reduced)
    violation, closeness = _tolerances(
        problem.limits.torque.tobytes(),
        sum(len(contact.grasp.cone) for contact in problem.contacts),
        problem.weight,
    )
    if near is None or len(near) != len(closeness):
        near = np.zeros(len(closeness), dtype=bool)
    working, iterations = near, 0
    while True:
        free: dict[int, slice] = {}
        rows, lower, upper = bounds
        if working.any():
            free = _free_columns(reduced, working)
            rows, lower, upper = _add_limits(reduced, working, free, bounds)
        answer = _daqp(reduced, rows, lower, upper)
        if answer is None:
            return None
        iterations += answer[1]
        acceleration, parts = _expand(reduced, answer[0], free)
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


def _daqp(
    reduced: Reduction, rows: Array, lower: Array, upper: Array
) -> tuple[Array, int] | None:
    """Return unknowns and iterations, or None if there is no solution.

    More columns of the rows than unknowns are those of forces that make no wrench.
    """
    import daqp

    matrix, vector = reduced.cost_matrix, reduced.cost_vector
    size, held = len(vector), 6 * len(reduced.others)
    every = rows.shape[1]
    if every > size:
        vector = np.zeros(every)
        vector[:size] = reduced.cost_vector
        matrix = np.diag(np.full(every, FORCE_COST))
        matrix[:size, :size] = reduced.cost_matrix
    sense = np.zeros(len(upper), dtype=np.int32)
    sense[every : every + held] = EQUALITY
    y, _, flag, info = daqp.solve(
        matrix,
        vector,
        rows,
        upper,
        lower,
        sense,
        eq_reduction=daqp.EQ_REDUCTION_OFF,
    )
    return (y, info["iterations"]) if flag > 0 else None


def _bounds(reduced: Reduction) -> tuple[Array, Array, Array]:
    """Return rows by which the other contacts stay; bounds of y, and theirs."""
    problem, first = reduced.problem, reduced.first
    size, held = len(reduced.cost_vector), 6 * len(reduced.others)
    limits = problem.limits
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
    return rows, least, most


@lru_cache(maxsize=16)
def _tolerances(torque: bytes, cones: int, weight: float) -> tuple[Array, Array]:
    """Return what is left to limits that are violated, or near."""
    limits = np.frombuffer(torque)
    scale = np.full(len(limits) + cones, 1.0)
    scale[: len(limits)] = limits
    return frozen_array(-VIOLATED * scale), frozen_array(NEAR * scale)


def _expand(
    reduced: Reduction, y: Array, free: dict[int, slice]
) -> tuple[Array, list[tuple[Array, Array | None]]]:
    """Return accelerations, and u and z of each contact [N]."""
    problem, weight = reduced.problem, reduced.problem.weight
    whole = np.concatenate((y[: len(reduced.cost_vector)], OFFSET))
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


def _free_columns(reduced: Reduction, working: NDArray[np.bool_]) -> dict[int, slice]:
    """Return columns of z, of those contacts whose limits of forces count."""
    problem, size = reduced.problem, len(reduced.cost_vector)
    columns, start = {}, len(problem.joint_weight)
    for number, contact in enumerate(problem.contacts):
        stop = start + len(contact.grasp.cone)
        if working[start:stop].any():
            columns[number] = slice(size, size + contact.grasp.free.shape[1])
            size = columns[number].stop
        start = stop
    return columns


def _add_limits(
    reduced: Reduction,
    working: NDArray[np.bool_],
    free: dict[int, slice],
    bounds: tuple[Array, Array, Array],
) -> tuple[Array, Array, Array]:
    """Return rows and bounds with those of some limits, and columns of z."""
    problem, size = reduced.problem, len(reduced.cost_vector)
    weight, joints = problem.weight, len(problem.joint_weight)
    some = np.flatnonzero(working)
    every = max((columns.stop for columns in free.values()), default=size)
    held = len(bounds[0])
    rows = np.zeros((held + len(some), every + 1))
    rows[:held, :size] = bounds[0]
    added = rows[held:]
    lower, upper = np.full(len(some), -UNLIMITED), np.zeros(len(some))
    count = int(np.searchsorted(some, joints))
    map_columns = np.r_[:size, every]
    if count:
        which = some[:count]
        torque = np.zeros((count, size + 1))
        torque[:, reduced.first :] = reduced.rows[problem.task_rows + BASE_DOF + which]
        for number, contact in enumerate(problem.contacts):
            lever = weight * contact.rows[:, BASE_DOF + which].T
            if number == reduced.main:
                torque -= lever @ reduced.wrench
            else:
                columns = reduced.others[number]
                torque[:, columns] -= lever @ contact.grasp.wrench
        added[:count, map_columns] = torque
        lower[:count] = -problem.limits.torque[which]
        upper[:count] = problem.limits.torque[which]
    start, row = joints, count
    for number, contact in enumerate(problem.contacts):
        stop = start + len(contact.grasp.cone)
        end = int(np.searchsorted(some, stop))
        which = some[row:end] - start
        if len(which):
            active = contact.grasp.cone_active[which]
            if number == reduced.main:
                added[row:end, map_columns] = active @ reduced.force
            else:
                added[row:end, reduced.others[number]] = active
            added[row:end, free[number]] = contact.grasp.cone_free[which]
            if which[-1] == len(contact.grasp.cone) - 1:
                upper[end - 1] = contact.most_force / weight
        start, row = stop, end
    lower, upper = lower + added[:, -1], upper + added[:, -1]
    more = every - size
    unlimited = np.full(more, UNLIMITED)
    return (
        rows[:, :-1].copy(),
        np.concatenate((bounds[1][:size], -unlimited, bounds[1][size:], lower)),
        np.concatenate((bounds[2][:size], unlimited, bounds[2][size:], upper)),
    )
