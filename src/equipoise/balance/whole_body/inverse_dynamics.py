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

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.balance.skeleton import BASE_DOF
from equipoise.balance.whole_body.dynamics import Dynamics
from equipoise.balance.whole_body.problem import (
    ACCELERATION_COST,
    UNLIMITED,
    Contact,
    DenseProblem,
    HeldContact,
    Limits,
    Problem,
    TaskRows,
    grasp_of,
)
from equipoise.balance.whole_body.reduced_problem import (
    EQUALITY,
    Found,
    can_reduce,
    solve_reduced,
    torques_of,
)
from equipoise.balance.whole_body.tasks import PostureTask, Task
from equipoise.errors import EquipoiseError
from equipoise.robot.description import STANDARD_GRAVITY

__all__ = ["Contact", "Limits", "Problem", "Solution", "build_qp", "solve_qp"]

# Weight of contacts that cannot be kept strictly.
RELAXED_CONTACT = 1e4

Relaxed = Literal["", "contacts", "limits", "all"]
RELAXATIONS: tuple[Relaxed, ...] = get_args(Relaxed)[:-1]


@dataclass(frozen=True, eq=False)
class Solution:
    """What :func:`solve_qp` found.

    Attributes:
        acceleration: a, shape (nv,).
        torque: Joint torques [Nm or N], shape (nv - 6,).
        near: Limits of torques and forces that were reached, or nearly; a start for
            the next problem. None if it is not known.
        relaxed: What could not be kept: ``""``, ``"contacts"``, or ``"limits"``, which
            are contacts and bounds of accelerations.
        slack: By how much: the largest acceleration [m/s² or rad/s²] beyond what
            contacts and bounds allow.
        iterations: Of the solver.
        forces_in_contact: Contact forces in axes of their frames [N], by contact, one
            after another, shape (3 k,) each.
        rotations: From the contacts' frames to the world, shape (3, 3) each.
    """

    acceleration: Array
    torque: Array
    near: NDArray[np.bool_] | None = field(repr=False)
    relaxed: Relaxed = ""
    slack: float = 0.0
    iterations: int = 0
    forces_in_contact: tuple[Array, ...] = ()
    rotations: tuple[Array, ...] = field(default=(), repr=False)

    @property
    def forces(self) -> tuple[Array, ...]:
        """Contact forces in world axes, by contact, shape (k, 3) each [N]."""
        return tuple(
            force.reshape(-1, 3) @ rotation.T
            for rotation, force in zip(
                self.rotations, self.forces_in_contact, strict=True
            )
        )


def build_qp(
    dynamics: Dynamics,
    tasks: Sequence[Task],
    contacts: Sequence[Contact],
    limits: Limits,
) -> Problem:
    """Return the quadratic programme of tasks in one state."""
    nv = dynamics.model.nv
    joint_weight = np.full(nv - BASE_DOF, ACCELERATION_COST)
    joint_goal = np.zeros(nv - BASE_DOF)
    asked: list[TaskRows] = []
    count = 0
    for task in tasks:
        if isinstance(task, PostureTask):
            wanted = task.joint_acceleration(dynamics)
            joint_weight += task.weight
            joint_goal += task.weight * wanted
            asked.append(TaskRows(task.name, None, wanted, task.root_weight))
        else:
            jacobian, wanted = task.rows(dynamics)
            asked.append(TaskRows(task.name, jacobian, wanted, task.root_weight))
            count += len(wanted)
    rows = np.empty((count + nv + 6 * len(contacts), nv + 1))
    start = 0
    for part in asked:
        if part.jacobian is not None:
            stop = start + len(part.goal)
            root = part.root_weight
            column = root[:, None] if root.ndim else root
            np.multiply(part.jacobian, column, out=rows[start:stop, :nv])
            np.multiply(part.goal, root, out=rows[start:stop, nv])
            start = stop
    rows[start : start + nv, :nv] = dynamics.mass_matrix
    np.negative(dynamics.bias_force, out=rows[start : start + nv, nv])
    start += nv
    held: list[HeldContact] = []
    for contact in contacts:
        frame = dynamics.frame(contact.frame)
        pose = dynamics.pose(frame)
        own = rows[start : start + 6]
        own[:, :nv], own[:, nv] = dynamics.contact_rows(frame, contact.damping)
        if contact.leftover is not None:
            own[:, nv] += contact.leftover
        start += 6
        points = contact.points_in_frame
        held.append(
            HeldContact(
                contact.frame,
                own,
                dynamics.base.actInv(pose).action,
                pose.rotation,
                grasp_of(points.tobytes(), contact.friction),
                contact.most_force,
            )
        )
    return Problem(
        tuple(asked),
        tuple(held),
        limits,
        dynamics.robot.mass * STANDARD_GRAVITY,
        rows,
        joint_weight,
        joint_goal,
    )


def solve_qp(
    problem: Problem, solver: str = "daqp", near: NDArray[np.bool_] | None = None
) -> Solution:
    """Return accelerations, forces and torques.

    Contacts that limits do not allow to stay strictly are relaxed, and if that is not
    enough, bounds of accelerations are given up; the solution says so, and by how much.
    Limits of torques and forces are always kept; if a solver finds nothing, torques and
    forces are zero.

    Args:
        problem: From :func:`build_qp`.
        solver: Any that ``qpsolvers`` knows. DAQP solves a smaller problem, of which
            base accelerations and the forces of one contact are eliminated.
        near: Limits that were near in the last solution: DAQP leaves the others out at
            first and adds those that are violated, which changes nothing but the time.

    Raises:
        EquipoiseError: If there is no such solver, or a state that is not finite.
    """
    found, relaxed = None, RELAXATIONS[0]
    tries = RELAXATIONS
    if solver == "daqp" and can_reduce(problem):
        found, tries = solve_reduced(problem, near), RELAXATIONS[1:]
    for relaxed in tries if found is None else ():
        dense = _relax(problem.dense, relaxed)
        if solver == "daqp":
            answer = _daqp(dense, problem.weight)
        else:
            answer = _by_name(dense, solver)
        if answer is not None:
            found = _found(problem, *answer)
            break
    if found is None:
        found, relaxed = _limp(problem), "all"
    if not math.isfinite(found.torque.sum() + found.acceleration.sum()):
        raise EquipoiseError(
            "no joint torques exist for this state: it, what tasks ask for, or limits "
            "are not finite numbers"
        )
    return _solution(problem, found, relaxed)


def _limp(problem: Problem) -> Found:
    """Return a fall without torques and forces: it always exists.

    Solvers may fail in the middle of a fall, where numbers are of very different size.
    """
    inert, nv = problem.dynamics_rows, problem.nv
    solved = np.linalg.solve(inert[:, :nv], inert[:, nv])
    acceleration = np.asarray(solved, dtype=np.float64)
    forces = tuple(np.zeros(3 * contact.grasp.points) for contact in problem.contacts)
    return Found(acceleration, forces, np.zeros(nv - BASE_DOF), None, 0)


def _relax(problem: DenseProblem, relaxed: Relaxed) -> DenseProblem:
    """Return a problem whose contacts are tasks, or has no stops and speeds as well.

    Friction and torques are always kept: without forces and torques, it falls.
    """
    if not relaxed:
        return problem
    contacts = slice(BASE_DOF, problem.equalities)
    held, goal = problem.rows[contacts], problem.upper[contacts]
    keep = np.ones(len(problem.rows), dtype=bool)
    keep[contacts] = False
    least, most = problem.least, problem.most
    if relaxed == "limits":
        nv = problem.accelerations
        least, most = least.copy(), most.copy()
        least[:nv], most[:nv] = -UNLIMITED, UNLIMITED
    return problem._replace(
        cost_matrix=problem.cost_matrix + RELAXED_CONTACT * (held.T @ held),
        cost_vector=problem.cost_vector - RELAXED_CONTACT * (goal @ held),
        rows=problem.rows[keep],
        lower=problem.lower[keep],
        upper=problem.upper[keep],
        equalities=BASE_DOF,
        least=least,
        most=most,
    )


def _daqp(problem: DenseProblem, weight: float) -> tuple[Array, int] | None:
    """Return a solution and iterations, or None if there is none."""
    import daqp

    size, equal = len(problem.cost_vector), problem.equalities
    sense = np.zeros(size + len(problem.rows), dtype=np.int32)
    sense[size : size + equal] = EQUALITY
    # in units of the weight, forces are as large as accelerations
    scale = np.ones(size)
    scale[problem.accelerations :] = weight
    x, _, flag, info = daqp.solve(
        problem.cost_matrix * scale * scale[:, None],
        problem.cost_vector * scale,
        problem.rows * scale,
        np.concatenate((problem.most / scale, problem.upper)),
        np.concatenate((problem.least / scale, problem.lower)),
        sense,
    )
    return (x * scale, info["iterations"]) if flag > 0 else None


def _by_name(problem: DenseProblem, solver: str) -> tuple[Array, int] | None:
    """Return a solution by a solver of ``qpsolvers``, or None if there is none."""
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
    return (answer.x, 0) if answer.found and answer.x is not None else None


def _found(problem: Problem, x: Array, iterations: int) -> Found:
    """Return what a solution of the dense problem says."""
    nv = problem.nv
    ends = np.cumsum([3 * contact.grasp.points for contact in problem.contacts])
    forces = tuple(np.split(x[nv:], ends[:-1])) if len(ends) else ()
    return Found(x[:nv], forces, torques_of(problem, x[:nv], forces), None, iterations)


def _solution(problem: Problem, found: Found, relaxed: Relaxed) -> Solution:
    slack = 0.0
    if relaxed:
        dense = problem.dense
        values = dense.rows @ np.concatenate((found.acceleration, *found.forces))
        over = np.maximum(values - dense.upper, dense.lower - values)
        own, nv = found.acceleration, problem.nv
        beyond = np.maximum(own - dense.most[:nv], dense.least[:nv] - own)
        slack = float(max(over.max(), beyond.max()))
    return Solution(
        found.acceleration,
        found.torque,
        found.near,
        relaxed,
        slack,
        found.iterations,
        found.forces,
        tuple(contact.rotation for contact in problem.contacts),
    )
