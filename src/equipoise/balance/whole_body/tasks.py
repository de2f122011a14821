"""What a whole body is asked to do: tasks, each an error and its Jacobian.

A task has an error e, which is to become zero, and a Jacobian J: e changes at the rate
ẋ_wanted - J v. The rest follows: the acceleration that it asks for,

    J a + J̇ v = ẍ_wanted + d (ẋ_wanted - J v) + k e,

with stiffness k [1/s²] and damping d [1/s], and its cost, the weighted square of what
it does not get.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.balance.whole_body.dynamics import Dynamics

# J̇ v of a task that does not know it: the change of J v over this time [s].
DIFFERENCE = 1e-6


class Task(ABC):
    """A task: its error and its Jacobian, and how much it matters.

    A task of one's own needs :meth:`error` and :meth:`jacobian`.

    Args:
        weight: How much it matters, for all of its rows or one number each.
        stiffness: k, the acceleration per error [1/s²], for all of its rows or one
            number each.
        damping: d, the acceleration per error of the velocity [1/s], likewise;
            critical, 2 √k, unless given.

    Attributes:
        name: How it is called in messages.
    """

    name = "task"

    def __init__(
        self,
        weight: ArrayLike,
        stiffness: float | Array,
        damping: float | Array | None = None,
    ) -> None:
        self.weight = np.asarray(weight, dtype=np.float64)
        self.root_weight = np.sqrt(self.weight)
        self.stiffness = stiffness
        self.damping = 2.0 * np.sqrt(stiffness) if damping is None else damping

    @abstractmethod
    def error(self, dynamics: Dynamics) -> Array:
        """Return what is wanted less what is, shape (k,)."""

    @abstractmethod
    def jacobian(self, dynamics: Dynamics) -> Array:
        """Return J of shape (k, nv): J v is the velocity of what is."""

    def drift(self, dynamics: Dynamics) -> Array:
        """Return J̇ v, shape (k,); from a difference of J unless a task knows better."""
        before = self.jacobian(dynamics) @ dynamics.v
        q, v, bias = dynamics.q, dynamics.v, dynamics.bias_force
        later = pin.integrate(dynamics.model, q, DIFFERENCE * v)
        after = self.jacobian(dynamics.update(later, v)) @ v
        dynamics.update(q, v).bias_force = bias  # which others may have changed
        return np.asarray((after - before) / DIFFERENCE)

    def wanted_velocity(self) -> Array | float:
        """Return the velocity that is wanted, shape (k,)."""
        return 0.0

    def wanted_acceleration(self) -> Array | float:
        """Return the acceleration that is wanted without any error, shape (k,)."""
        return 0.0

    def rows(self, dynamics: Dynamics) -> tuple[Array, Array]:
        """Return J and b of J a = b, the acceleration that it asks for."""
        jacobian = self.jacobian(dynamics)
        asked = self.wanted_acceleration() - self.drift(dynamics)
        if isinstance(self.damping, np.ndarray) or self.damping:
            slower = self.wanted_velocity() - jacobian.dot(dynamics.v)
            asked += self.damping * slower
        if isinstance(self.stiffness, np.ndarray) or self.stiffness:
            asked += self.stiffness * self.error(dynamics)
        return jacobian, asked


class ComTask(Task):
    """Moves the centre of mass.

    Its target is set by :meth:`follow`, or :attr:`acceleration` alone with stiffness
    and damping zero.
    """

    name = "CoM"

    def __init__(
        self,
        weight: ArrayLike,
        stiffness: float = 0.0,
        damping: float | None = None,
    ) -> None:
        super().__init__(weight, stiffness, damping)
        self.position = np.zeros(3)
        self.velocity = np.zeros(3)
        self.acceleration = np.zeros(3)

    def follow(self, position: Array, velocity: Array, acceleration: Array) -> ComTask:
        """Set where the CoM is wanted, and return itself."""
        self.position, self.velocity = position, velocity
        self.acceleration = acceleration
        return self

    def error(self, dynamics: Dynamics) -> Array:
        """Return the distance to where the CoM is wanted [m]."""
        return np.asarray(self.position - dynamics.com)

    def jacobian(self, dynamics: Dynamics) -> Array:
        """Return the CoM Jacobian."""
        return dynamics.com_jacobian

    def drift(self, dynamics: Dynamics) -> Array:
        """Return the acceleration of the CoM while a = 0."""
        return dynamics.com_drift

    def wanted_velocity(self) -> Array:
        """Return the CoM velocity that is wanted."""
        return self.velocity

    def wanted_acceleration(self) -> Array:
        """Return the CoM acceleration that is wanted."""
        return self.acceleration


class AngularMomentumTask(Task):
    """Lets the angular momentum about the CoM die out, or follow what is wanted.

    Args:
        weight: How much it matters, per (Nm)².
        damping: Rate at which it dies out [1/s].

    Attributes:
        momentum: Angular momentum that is wanted [N m s], shape (3,).
        rate: Its derivative [Nm], shape (3,).
    """

    name = "angular momentum"

    def __init__(self, weight: ArrayLike, damping: float) -> None:
        super().__init__(weight, 0.0, damping)
        self.momentum, self.rate = np.zeros(3), np.zeros(3)

    def error(self, dynamics: Dynamics) -> Array:
        """Return zero: there is no position to angular momentum."""
        return np.zeros(3)

    def jacobian(self, dynamics: Dynamics) -> Array:
        """Return the matrix of the angular momentum."""
        return dynamics.momentum_matrix()

    def drift(self, dynamics: Dynamics) -> Array:
        """Return its rate while a = 0."""
        return dynamics.momentum_drift()

    def wanted_velocity(self) -> Array:
        """Return the angular momentum that is wanted."""
        return self.momentum

    def wanted_acceleration(self) -> Array:
        """Return the rate that is wanted."""
        return self.rate


class FrameTask(Task):
    """Moves a frame: a foot, a hand, the torso; or some of its six directions.

    Args:
        frame: Link, joint, frame or sole (:func:`~equipoise.balance.whole_body.\
dynamics.sole_frame`).
        weight: How much it matters: three numbers or one for the position [per
            (m/s²)²], then for the rotation [per (rad/s²)²].
        stiffness: k [1/s²], one number or one for each direction.
        damping: d [1/s], likewise; critical unless given.
        directions: Which of x, y, z and the turns about them count; all unless given.

    Attributes:
        pose: Where it is wanted, shape (4, 4).
        velocity: Twist that is wanted, in world axes, shape (6,).
        acceleration: Its derivative, shape (6,).
        leftover: Acceleration that it has besides, shape (6,): what is left of when
            it was a contact (:class:`~equipoise.balance.whole_body.handover.Handover`).
    """

    def __init__(
        self,
        frame: str,
        weight: ArrayLike,
        stiffness: float | Array,
        damping: float | Array | None = None,
        *,
        directions: Sequence[int] = range(6),
    ) -> None:
        super().__init__(weight, stiffness, damping)
        self.frame, self.name = frame, frame
        self.directions = tuple(directions)
        first, last = self.directions[0], self.directions[-1]
        # which rows: as a slice where they follow each other, which is faster
        self._rows: Any = np.array(self.directions, dtype=np.intp)
        if self.directions == tuple(range(first, last + 1)):
            self._rows = slice(first, last + 1)
        self.pose = np.eye(4)
        self.velocity, self.acceleration = np.zeros(6), np.zeros(6)
        self.leftover: Array | None = None

    def error(self, dynamics: Dynamics) -> Array:
        """Return position error [m] and rotation vector [rad] to the wanted pose."""
        pose = dynamics.pose(dynamics.frame(self.frame))
        error = np.empty(6)
        np.subtract(self.pose[:3, 3], pose.translation, out=error[:3])
        error[3:] = pin.log3(self.pose[:3, :3].dot(pose.rotation.T))
        return np.asarray(error[self._rows])

    def jacobian(self, dynamics: Dynamics) -> Array:
        """Return the frame's Jacobian in world axes."""
        jacobian = dynamics.jacobian(dynamics.frame(self.frame))
        return np.asarray(jacobian[self._rows])

    def drift(self, dynamics: Dynamics) -> Array:
        """Return its acceleration while a = 0."""
        drift = dynamics.drift(dynamics.frame(self.frame))
        return np.asarray(drift[self._rows])

    def wanted_velocity(self) -> Array:
        """Return the twist that is wanted."""
        return np.asarray(self.velocity[self._rows])

    def wanted_acceleration(self) -> Array:
        """Return the acceleration that is wanted, and what is left of another."""
        wanted = self.acceleration
        if self.leftover is not None:
            wanted = wanted + self.leftover
        return np.asarray(wanted[self._rows])


class PostureTask(Task):
    """Keeps joints near a posture; the task of whatever no other task wants.

    Args:
        weight: How much it matters [per (rad/s²)²], one number or one a joint.
        stiffness: k [1/s²].
        damping: d [1/s]; critical unless given.

    Attributes:
        position: Joint positions that are wanted [rad or m], shape (nv - 6,).
        velocity: Joint velocities that are wanted, shape (nv - 6,).
        acceleration: Their derivatives, shape (nv - 6,).
    """

    name = "posture"

    def __init__(
        self, weight: ArrayLike, stiffness: float, damping: float | None = None
    ) -> None:
        super().__init__(weight, stiffness, damping)
        self.position = np.zeros(0)
        self.velocity: Array | float = 0.0
        self.acceleration: Array | float = 0.0

    def error(self, dynamics: Dynamics) -> Array:
        """Return how far joints are from where they are wanted."""
        return np.asarray(self.position - dynamics.joint_positions)

    def joint_acceleration(self, dynamics: Dynamics) -> Array:
        """Return the joint accelerations that it asks for, shape (nv - 6,)."""
        asked = self.stiffness * self.error(dynamics)
        asked += self.damping * (self.velocity - dynamics.v[6:])
        asked += self.acceleration
        return asked

    def jacobian(self, dynamics: Dynamics) -> Array:
        """Return the rows of the joints."""
        return np.eye(dynamics.model.nv)[6:]

    def drift(self, dynamics: Dynamics) -> Array:
        """Return zero: joints are coordinates."""
        return np.zeros(dynamics.model.nv - 6)

    def wanted_velocity(self) -> Array | float:
        """Return the joint velocities that are wanted."""
        return self.velocity

    def wanted_acceleration(self) -> Array | float:
        """Return the joint accelerations that are wanted."""
        return self.acceleration
