"""Joint torques from tasks, contacts and limits: a quadratic programme.

Over accelerations a and contact forces f

    minimise    Σ w |J a - b|² + regularisation
    subject to  the base's rows of M a + h = Jᵀ f          (exact dynamics)
                J_c a + J̇_c v = -d J_c v                   (contacts stay, strictly)
                |M_j a + h_j - J_jᵀ f| ≤ τ_max             (torques)
                |f_t| ≤ μ f_n, f_n ≥ 0, Σ f_n ≤ most       (friction, unilateral)
                a_min ≤ a ≤ a_max                          (positions and speeds).

As every point that may press lies in the sole, so does the ZMP. The torques are what
the joints' rows of the dynamics leave. :func:`build_qp` makes the programme, to look
at; :func:`solve_qp` solves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from equipoise.arrays import Array, frozen_array
from equipoise.balance.skeleton import BASE_DOF
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.balance.whole_body.tasks import PostureTask, Task
from equipoise.errors import EquipoiseError
from equipoise.robot.description import STANDARD_GRAVITY

# Costs of accelerations [per (rad/s²)²], and of forces as fractions of the weight.
ACCELERATION_COST = 1e-6
FORCE_COST = 1e-3
# Weight of contacts that cannot be kept strictly, and of limits likewise.
RELAXED_CONTACT = 1e4
# A row counts from the start if it was within this part of its limit the last time.
NEAR = 0.05
TOLERANCE = 1e-7
UNLIMITED = 1e20


@dataclass(eq=False)
class Contact:
    """Points of a frame that stand on something and do not move.

    Attributes:
        frame: The frame; its z points away from what it stands on.
        points_in_frame: Where forces act [m], shape (k, 3).
        friction: Largest tangential over normal force.
        most_force: Largest normal force of all points together [N].
        damping: Rate at which a velocity that it has is stopped [1/s].
    """

    frame: str
    points_in_frame: Array
    friction: float = 0.6
    most_force: float = np.inf
    damping: float = 0.0


@dataclass(frozen=True, eq=False)
class Limits:
    """What joints can do, in the order of v[6:].

    Attributes:
        torque: Largest torques (forces) [Nm or N], shape (nv - 6,).
        least_acceleration: Lower bounds [rad/s² or m/s²], shape (nv - 6,), or None.
        most_acceleration: Upper bounds, likewise.
    """

    torque: Array
    least_acceleration: Array | None = None
    most_acceleration: Array | None = None


@dataclass(frozen=True, eq=False)
class Problem:
    """A quadratic programme over x = (a, f): ½ xᵀ P x + qᵀ x.

    Subject to lower ≤ A x ≤ upper, the first :attr:`equalities` rows with equality, and
    to bounds on x. Forces are in axes of their contact's frame, three for each point.

    Attributes:
        cost_matrix: P, shape (n, n).
        cost_vector: q, shape (n,).
        rows: A, shape (m, n): base, contacts, torques, friction.
        lower: Shape (m,).
        upper: Shape (m,).
        equalities: How many rows are equations.
        least: Lower bounds of x, shape (n,).
        most: Upper bounds of x, shape (n,).
        torque_rows: Where the rows of the torques are.
        bias: h of the joints: torques are these rows times x, plus it.
        rotations: From each contact's frame to the world.
        counts: How many points each contact has.
    """

    cost_matrix: Array
    cost_vector: Array
    rows: Array
    lower: Array
    upper: Array
    equalities: int
    least: Array
    most: Array
    torque_rows: slice
    bias: Array
    rotations: Array
    counts: tuple[int, ...]

    @property
    def accelerations(self) -> int:
        """How many of the unknowns are accelerations."""
        return len(self.cost_vector) - 3 * sum(self.counts)


@dataclass(frozen=True, eq=False)
class Solution:
    """What :func:`solve_qp` found.

    Attributes:
        acceleration: a, shape (nv,).
        torque: Joint torques [Nm or N], shape (nv - 6,).
        forces: Contact forces in world axes, by contact, shape (k, 3) each [N].
        near: Rows of the problem that were at a limit, or near it; a start for the
            next one.
        relaxed: What could not be kept: ``""``, ``"contacts"`` or ``"limits"``.
        slack: By how much, the largest violation of the rows that were given up.
        iterations: Of the solver.
    """

    acceleration: Array
    torque: Array
    forces: tuple[Array, ...]
    near: NDArray[np.bool_] = field(repr=False)
    relaxed: str = ""
    slack: float = 0.0
    iterations: int = 0


def build_qp(
    dynamics: Dynamics,
    tasks: Sequence[Task],
    contacts: Sequence[Contact],
    limits: Limits,
) -> Problem:
    """Return the quadratic programme of tasks in one state."""
    nv = dynamics.model.nv
    counts = tuple(len(contact.points_in_frame) for contact in contacts)
    size = nv + 3 * sum(counts)
    cost, gradient = np.zeros((size, size)), np.zeros(size)
    diagonal = cost.reshape(-1)[:: size + 1]
    diagonal[:nv] = ACCELERATION_COST
    weight = dynamics.robot.mass * STANDARD_GRAVITY
    diagonal[nv:] = FORCE_COST / weight**2
    stacked, asked = [], []
    for task in tasks:
        if isinstance(task, PostureTask):
            wanted = task.joint_acceleration(dynamics)
            diagonal[BASE_DOF:nv] += task.weight
            gradient[BASE_DOF:nv] -= task.weight * wanted
            continue
        jacobian, wanted = task.rows(dynamics)
        root = task.root_weight
        if root.ndim:
            stacked.append(jacobian * root[:, None])
        else:
            stacked.append(jacobian * root)
        asked.append(wanted * root)
    if stacked:
        jacobian, wanted = np.concatenate(stacked), np.concatenate(asked)
        cost[:nv, :nv] += jacobian.T @ jacobian
        gradient[:nv] -= wanted @ jacobian
    held = 6 * len(contacts)
    joints = nv - BASE_DOF
    friction_rows = 4 * sum(counts) + len(contacts)
    count = BASE_DOF + held + joints + friction_rows
    rows = np.zeros((count, size))
    lower, upper = np.empty(count), np.empty(count)
    torques = slice(BASE_DOF + held, BASE_DOF + held + joints)
    matrix, bias = dynamics.mass_matrix, dynamics.bias_force
    rows[:BASE_DOF, :nv], rows[torques, :nv] = matrix[:BASE_DOF], matrix[BASE_DOF:]
    lower[:BASE_DOF] = upper[:BASE_DOF] = -bias[:BASE_DOF]
    lower[torques] = -limits.torque - bias[BASE_DOF:]
    upper[torques] = limits.torque - bias[BASE_DOF:]
    least, most = np.full(size, -UNLIMITED), np.full(size, UNLIMITED)
    if limits.least_acceleration is not None:
        least[BASE_DOF:nv] = limits.least_acceleration
    if limits.most_acceleration is not None:
        most[BASE_DOF:nv] = limits.most_acceleration
    column, row = nv, torques.stop
    lower[torques.stop :], upper[torques.stop :] = -UNLIMITED, 0.0
    rotations = np.empty((len(contacts), 3, 3))
    for number, contact in enumerate(contacts):
        frame = dynamics.frame(contact.frame)
        jacobian = dynamics.jacobian(frame)
        rotation = np.array(dynamics.pose(frame).rotation)
        rotations[number] = rotation
        at = slice(BASE_DOF + 6 * number, BASE_DOF + 6 * number + 6)
        rows[at, :nv] = jacobian
        stop = -dynamics.drift(frame) - contact.damping * dynamics.twist(frame)
        lower[at] = upper[at] = stop
        points = len(contact.points_in_frame)
        levers = contact.points_in_frame @ rotation.T
        grasp = np.empty((6, 3 * points))
        for point in range(points):
            own = slice(3 * point, 3 * point + 3)
            grasp[:3, own] = rotation
            grasp[3:, own] = pin.skew(levers[point]) @ rotation
        block = slice(column, column + 3 * points)
        force = jacobian.T @ grasp
        rows[:BASE_DOF, block] = -force[:BASE_DOF]
        rows[torques, block] = -force[BASE_DOF:]
        least[column + 2 : block.stop : 3] = 0.0
        for point in range(points):
            where = column + 3 * point
            rows[row : row + 4, where : where + 3] = (
                PYRAMID_TANGENT + contact.friction * PYRAMID_NORMAL
            )
            row += 4
        rows[row, column + 2 : block.stop : 3] = 1.0
        upper[row] = min(contact.most_force, UNLIMITED)
        row += 1
        column = block.stop
    return Problem(
        cost,
        gradient,
        rows,
        lower,
        upper,
        BASE_DOF + held,
        least,
        most,
        torques,
        bias[BASE_DOF:],
        rotations,
        counts,
    )


def solve_qp(
    problem: Problem, solver: str = "daqp", near: NDArray[np.bool_] | None = None
) -> Solution:
    """Return accelerations, forces and torques.

    Contacts that limits do not allow to stay strictly are relaxed, and limits likewise
    if that is not enough; the solution says so, and by how much.

    Args:
        problem: From :func:`build_qp`.
        solver: Any that ``qpsolvers`` knows.
        near: Rows that were near their limits in the last solution: with DAQP the
            others are left out at first and added where they are violated, which
            changes nothing but the time.

    Raises:
        EquipoiseError: If there is no such solver, or no solution at all.
    """
    for relaxed in ("", "contacts", "limits"):
        found = _try(_relax(problem, relaxed), solver, near if not relaxed else None)
        if found is not None:
            x, iterations = found
            return _solution(
                problem, x[: len(problem.cost_vector)], relaxed, iterations
            )
    raise EquipoiseError(
        "no joint torques exist for these contacts: the base's equations of motion "
        "cannot hold with the forces that they can give"
    )


def _relax(problem: Problem, relaxed: str) -> Problem:
    """Return a problem whose contacts, or limits as well, are tasks."""
    if not relaxed:
        return problem
    base = BASE_DOF
    held = problem.rows[base : problem.equalities]
    goal = problem.upper[base : problem.equalities]
    cost = problem.cost_matrix + RELAXED_CONTACT * (held.T @ held)
    vector = problem.cost_vector - RELAXED_CONTACT * (goal @ held)
    keep = np.ones(len(problem.rows), dtype=bool)
    keep[base : problem.equalities] = False
    least, most = problem.least, problem.most
    torques = problem.torque_rows
    if relaxed == "limits":
        keep[torques] = False
        least, most = least.copy(), most.copy()
        nv = problem.accelerations
        least[:nv], most[:nv] = -UNLIMITED, UNLIMITED
    shift = problem.equalities - base
    return Problem(
        cost,
        vector,
        problem.rows[keep],
        problem.lower[keep],
        problem.upper[keep],
        base,
        least,
        most,
        slice(torques.start - shift, torques.stop - shift),
        problem.bias,
        problem.rotations,
        problem.counts,
    )


def _try(
    problem: Problem, solver: str, near: NDArray[np.bool_] | None
) -> tuple[Array, int] | None:
    """Return a solution and the solver's iterations, or None if there is none."""
    if solver == "daqp":
        return _daqp(problem, near)
    import qpsolvers

    if solver not in qpsolvers.available_solvers:
        raise EquipoiseError(
            f"there is no solver '{solver}'; installed are: "
            f"{', '.join(qpsolvers.available_solvers)}"
        )
    equal = problem.equalities
    limited = problem.upper[equal:] < UNLIMITED
    below = problem.lower[equal:] > -UNLIMITED
    others = problem.rows[equal:]
    most, least = problem.upper[equal:][limited], problem.lower[equal:][below]
    answer = qpsolvers.solve_problem(
        qpsolvers.Problem(
            problem.cost_matrix,
            problem.cost_vector,
            np.vstack([others[limited], -others[below]]),
            np.concatenate([most, -least]),
            problem.rows[:equal],
            problem.upper[:equal],
            problem.least,
            problem.most,
        ),
        solver=solver,
    )
    if not answer.found or answer.x is None:
        return None
    return answer.x, 0


def _daqp(problem: Problem, near: NDArray[np.bool_] | None) -> tuple[Array, int] | None:
    import daqp

    count, equal = len(problem.rows), problem.equalities
    if near is None or len(near) != count:
        working = np.ones(count, dtype=bool)
    else:
        working = near.copy()
        working[:equal] = True
    size = len(problem.cost_vector)
    iterations = 0
    while True:
        every = working.all()
        rows = problem.rows if every else problem.rows[working]
        upper = problem.upper if every else problem.upper[working]
        lower = problem.lower if every else problem.lower[working]
        sense = np.zeros(size + len(rows), dtype=np.int32)
        sense[size : size + equal] = EQUALITY
        x, _, flag, info = daqp.solve(
            problem.cost_matrix,
            problem.cost_vector,
            rows,
            np.concatenate((problem.most, upper)),
            np.concatenate((problem.least, lower)),
            sense,
        )
        iterations += info["iterations"]
        if flag <= 0:
            return None
        if every:
            return x, iterations
        values = problem.rows @ x
        scale = TOLERANCE * (1.0 + np.abs(values))
        broken = (values > problem.upper + scale) | (values < problem.lower - scale)
        broken &= ~working
        if not broken.any():
            return x, iterations
        working |= broken


def _solution(problem: Problem, x: Array, relaxed: str, iterations: int) -> Solution:
    nv = problem.accelerations
    values = problem.rows @ x
    torque = values[problem.torque_rows] + problem.bias
    local = x[nv:].reshape(-1, 3)
    forces, start = [], 0
    for count, rotation in zip(problem.counts, problem.rotations, strict=True):
        forces.append(local[start : start + count] @ rotation.T)
        start += count
    # a row is near its limit if less than a part of its range is left
    scale = NEAR * (1.0 + np.abs(values))
    near = (problem.upper - values < scale) | (values - problem.lower < scale)
    slack = 0.0
    if relaxed:
        over = np.maximum(values - problem.upper, problem.lower - values)
        slack = float(over.max())
    return Solution(x[:nv], torque, tuple(forces), near, relaxed, slack, iterations)


EQUALITY = 5
# |f_x| ≤ μ f_z, |f_y| ≤ μ f_z as rows of one point's force
PYRAMID_TANGENT = frozen_array(
    np.array([[1.0, 0, 0], [-1.0, 0, 0], [0, 1.0, 0], [0, -1.0, 0]])
)
PYRAMID_NORMAL = frozen_array(np.array([[0, 0, -1.0]] * 4))
