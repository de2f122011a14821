"""The quadratic programme of whole-body control: what it is made of, and as matrices.

A :class:`Problem` keeps the parts: dynamics, rows of tasks, contacts, limits. Its
:attr:`~Problem.dense` form has them as matrices of one programme over x = (a, f).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array, frozen_array
from equipoise.balance.skeleton import BASE_DOF
from equipoise.balance.whole_body.limits import JointRange

# Costs of accelerations [per (rad/s²)²], and of forces as fractions of the weight.
ACCELERATION_COST = 1e-6
FORCE_COST = 0.1
UNLIMITED = 1e20
# A friction cone has so many faces: with four, forces could be 1.41 times as large as
# friction allows between them; with eight, 1.08 times.
FACES = 8


@dataclass(eq=False)
class Contact:
    """Points of a frame that stand on something and do not move.

    Attributes:
        frame: The frame; its z points away from what it stands on.
        points_in_frame: Where forces act [m], shape (k, 3).
        friction: Largest tangential over normal force.
        most_force: Largest normal force of all points together [N].
        damping: Rate at which a velocity that it has is stopped [1/s].
        leftover: Acceleration that it has besides, in axes of the frame, shape (6,):
            what is left of when it was no contact
            (:class:`~equipoise.balance.whole_body.handover.Handover`).
    """

    frame: str
    points_in_frame: Array
    friction: float = 0.6
    most_force: float = np.inf
    damping: float = 0.0
    leftover: Array | None = None


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


class RangeLimits(Limits):
    """Limits whose bounds of accelerations follow from where joints may be.

    Args:
        torque: Largest torques (forces) [Nm or N], shape (nv - 6,).
        motion: Where joints may be, and how fast.
        position: Joint positions [rad or m], shape (nv - 6,).
        velocity: Joint velocities, shape (nv - 6,).
        time: In which a velocity beyond its limit is brought back [s].
    """

    def __init__(
        self,
        torque: Array,
        motion: JointRange,
        position: Array,
        velocity: Array,
        time: float,
    ) -> None:
        known = self.__dict__  # which a frozen class leaves to set
        known["torque"], known["motion"], known["time"] = torque, motion, time
        known["position"], known["velocity"] = position, velocity

    motion: JointRange
    time: float
    position: Array
    velocity: Array

    @property
    def least_acceleration(self) -> Array:
        """Lower bounds [rad/s² or m/s²], shape (nv - 6,)."""
        return self._bounds[0]

    @property
    def most_acceleration(self) -> Array:
        """Upper bounds, likewise."""
        return self._bounds[1]

    @cached_property
    def _bounds(self) -> tuple[Array, Array]:
        return self.motion.acceleration_bounds(self.position, self.velocity, self.time)


class TaskRows(NamedTuple):
    """What a task asks for, J a = b.

    Attributes:
        name: Of the task.
        jacobian: J, shape (k, nv); None for the joints themselves.
        goal: b, shape (k,).
        root_weight: Square roots of its weights, one or k of them.
    """

    name: str
    jacobian: Array | None
    goal: Array
    root_weight: Array


class Grasp(NamedTuple):
    """How forces f at points make a wrench w and keep within friction.

    All in axes of the contact's frame. Any forces are f = B u + N z, with orthonormal
    B and N: those that make wrenches, w = W u, and those that make none.

    Attributes:
        points: How many points there are, k.
        active: B, shape (3 k, r); r is 6 if the points can make any wrench.
        free: N, shape (3 k, 3 k - r).
        wrench: W, shape (6, r).
        minus_wrench: -W.
        inverse: Its inverse; pseudo-inverse if the points cannot make any wrench.
        cone: C of C f ≤ (0, most): friction by point and face, normal forces by point,
            and their sum; shape (9 k + 1, 3 k).
        cone_active: C B.
        cone_free: C N.
    """

    points: int
    active: Array
    free: Array
    wrench: Array
    minus_wrench: Array
    inverse: Array
    cone: Array
    cone_active: Array
    cone_free: Array

    @property
    def whole(self) -> bool:
        """Whether the points can make any wrench, but for limits."""
        return len(self.inverse) == 6

    @property
    def matrix(self) -> Array:
        """G of w = G f, shape (6, 3 k)."""
        return np.asarray(self.wrench @ self.active.T)


@lru_cache(maxsize=64)
def grasp_of(points: bytes, friction: float) -> Grasp:
    """Return how forces act at points, given as the bytes of an array (k, 3)."""
    levers = np.frombuffer(points).reshape(-1, 3)
    count = len(levers)
    matrix = np.concatenate(
        [np.vstack([np.eye(3), pin.skew(lever)]) for lever in levers], axis=1
    )
    _, strengths, directions = np.linalg.svd(matrix)
    rank = int((strengths > 1e-9 * strengths[0]).sum())
    active, free = directions[:rank].T, directions[rank:].T
    wrench = matrix @ active
    turns = 2.0 * np.pi / FACES * np.arange(FACES)
    faces = np.stack((np.cos(turns), np.sin(turns), np.full(FACES, -friction)), axis=1)
    cone = np.zeros(((FACES + 1) * count + 1, 3 * count))
    for point in range(count):
        own = slice(3 * point, 3 * point + 3)
        cone[FACES * point : FACES * (point + 1), own] = faces
        cone[FACES * count + point, own.stop - 1] = -1.0
    cone[-1, 2::3] = 1.0
    inverse = np.linalg.pinv(wrench)
    parts = (active, free, wrench, -wrench, inverse, cone, cone @ active, cone @ free)
    return Grasp(count, *(frozen_array(np.ascontiguousarray(part)) for part in parts))


class HeldContact(NamedTuple):
    """A contact in one state; all in axes of its frame.

    Attributes:
        frame: Its name.
        rows: J and b of J a = b, by which it stays, shape (6, nv + 1).
        twist_to_base: From its twist to that of the base as if they were one body,
            shape (6, 6).
        rotation: From its frame to the world.
        grasp: How forces act on it.
        most_force: Largest normal force of all points together [N].
    """

    frame: str
    rows: Array
    twist_to_base: Array
    rotation: Array
    grasp: Grasp
    most_force: float

    @property
    def jacobian(self) -> Array:
        """J of its twist, shape (6, nv)."""
        return self.rows[:, :-1]


class DenseProblem(NamedTuple):
    """A quadratic programme over x = (a, f): minimise ½ xᵀ P x + qᵀ x.

    Subject to lower ≤ A x ≤ upper, the first :attr:`equalities` rows with equality, and
    to bounds on x. Forces are in axes of their contact's frame, three for each point.

    Attributes:
        cost_matrix: P, shape (n, n).
        cost_vector: q, shape (n,).
        rows: A, shape (m, n): base, contacts, torques, then for each contact friction
            and the sum of normal forces.
        lower: Shape (m,).
        upper: Shape (m,).
        equalities: How many rows are equations.
        least: Lower bounds of x, shape (n,).
        most: Upper bounds of x, shape (n,).
        torques: Which rows are torques, less h, before contacts are relaxed.
    """

    cost_matrix: Array
    cost_vector: Array
    rows: Array
    lower: Array
    upper: Array
    equalities: int
    least: Array
    most: Array
    torques: slice

    @property
    def accelerations(self) -> int:
        """How many of the unknowns are accelerations."""
        return BASE_DOF + self.joints

    @property
    def joints(self) -> int:
        """How many rows are torques."""
        return int(self.torques.stop - self.torques.start)


@dataclass(frozen=True, eq=False)
class Problem:
    """What whole-body control solves in one tick.

    Attributes:
        tasks: What each task asks for.
        contacts: The contacts.
        limits: What joints can do.
        weight: The robot's weight [N], the scale of forces.
        rows: A and c of A a = c, stacked, shape (k + nv + 6 contacts, nv + 1): what
            tasks but postures ask for, times the roots of their weights; dynamics
            without torques and forces, M a = -h; the contacts.
        joint_weight: Sum of the weights of postures, and of the cost of accelerations,
            by joint, shape (nv - 6,).
        joint_goal: Sum of their weights times joint accelerations that they ask for.
    """

    tasks: tuple[TaskRows, ...]
    contacts: tuple[HeldContact, ...]
    limits: Limits
    weight: float
    rows: Array
    joint_weight: Array
    joint_goal: Array

    @property
    def nv(self) -> int:
        """How many accelerations there are."""
        return len(self.joint_weight) + BASE_DOF

    @property
    def task_rows(self) -> int:
        """How many rows tasks have."""
        return len(self.rows) - self.nv - 6 * len(self.contacts)

    @property
    def dynamics_rows(self) -> Array:
        """M and -h, shape (nv, nv + 1)."""
        return self.rows[self.task_rows : self.task_rows + self.nv]

    @cached_property
    def dense(self) -> DenseProblem:
        """The programme as matrices, for any solver."""
        nv, held = self.nv, 6 * len(self.contacts)
        grasps = [contact.grasp.matrix for contact in self.contacts]
        starts = np.cumsum([nv, *(grasp.shape[1] for grasp in grasps)])
        size, equalities = int(starts[-1]), BASE_DOF + held
        tasks = self.rows[: self.task_rows]
        cost, vector = np.zeros((size, size)), np.zeros(size)
        cost[:nv, :nv] = tasks[:, :nv].T @ tasks[:, :nv]
        vector[:nv] = -(tasks[:, nv] @ tasks[:, :nv])
        vector[BASE_DOF:nv] -= self.joint_goal
        diagonal = cost.reshape(-1)[:: size + 1]
        diagonal[:BASE_DOF] += ACCELERATION_COST
        diagonal[BASE_DOF:nv] += self.joint_weight
        diagonal[nv:] = FORCE_COST / self.weight**2
        # that normal forces are positive are bounds of x
        cones = [
            np.delete(grasp.cone, slice(-grasp.points - 1, -1), 0)
            for grasp in (contact.grasp for contact in self.contacts)
        ]
        torques = slice(equalities, equalities + nv - BASE_DOF)
        count = torques.stop + sum(len(cone) for cone in cones)
        rows = np.zeros((count, size))
        lower, upper = np.full(count, -UNLIMITED), np.zeros(count)
        inert, limit = self.dynamics_rows, self.limits.torque
        rows[:BASE_DOF, :nv] = inert[:BASE_DOF, :nv]
        rows[torques, :nv] = inert[BASE_DOF:, :nv]
        lower[:BASE_DOF] = upper[:BASE_DOF] = inert[:BASE_DOF, nv]
        lower[torques] = np.maximum(inert[BASE_DOF:, nv] - limit, -UNLIMITED)
        upper[torques] = np.minimum(inert[BASE_DOF:, nv] + limit, UNLIMITED)
        least, most = np.full(size, -UNLIMITED), np.full(size, UNLIMITED)
        if self.limits.least_acceleration is not None:
            least[BASE_DOF:nv] = self.limits.least_acceleration
        if self.limits.most_acceleration is not None:
            most[BASE_DOF:nv] = self.limits.most_acceleration
        row = torques.stop
        for number, contact in enumerate(self.contacts):
            at = slice(BASE_DOF + 6 * number, BASE_DOF + 6 * number + 6)
            own = slice(int(starts[number]), int(starts[number + 1]))
            rows[at, :nv] = contact.jacobian
            lower[at] = upper[at] = contact.rows[:, nv]
            force = contact.jacobian.T @ grasps[number]
            rows[:BASE_DOF, own] = -force[:BASE_DOF]
            rows[torques, own] = -force[BASE_DOF:]
            least[own][2::3] = 0.0
            end = row + len(cones[number])
            rows[row:end, own] = cones[number]
            upper[end - 1] = min(contact.most_force, UNLIMITED)
            row = end
        return DenseProblem(
            cost, vector, rows, lower, upper, equalities, least, most, torques
        )
