"""What drives the joints of a robot in MuJoCo, stable for gains of any size.

A drive's torque at the end of a step of length h,

    τ = kp (q* - q - h v⁺) + kd (v* - v⁺) + τ*,    v⁺ = v + h a,

is kp (q* - q - h v) + kd (v* - v) + τ* - (h kd + h² kp) a: a torque known beforehand,
and an inertia added to the joint's. Joints in ideal modes have very large gains.
Torques beyond their limits are found after a step, which is then done again with those
torques at their limits.

MuJoCo's own servos under the ``discrete`` integrator do the same but change its
estimate of the contacts' inertia, and so their stiffness, with the gains.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.simulation.actuation import MODES
from equipoise.simulation.mujoco_model import MujocoWorld
from equipoise.simulation.world import World


class Delay:
    """Hands rows on after a fixed number of steps.

    Until the first row arrives, what was given to :meth:`reset` holds.
    """

    def __init__(self, delay: float, dt: float) -> None:
        """Round the delay [s] to whole steps of ``dt`` [s]."""
        self.steps = round(delay / dt)
        self._waiting: Array = np.zeros(0)

    def reset(self, held: Array) -> None:
        """Forget all rows; one row holds, of any shape."""
        self._waiting = np.repeat(held[None], self.steps, axis=0)

    def push(self, rows: Array) -> Array:
        """Return what arrives while rows are given, as many, shape (steps, …)."""
        if self.steps == 0:
            return rows
        waiting = self._waiting
        if waiting.shape[1:] != rows.shape[1:]:
            shape = np.broadcast_shapes(rows.shape[1:], waiting.shape[1:])
            waiting, rows = (
                np.broadcast_to(part, (len(part), *shape)) for part in (waiting, rows)
            )
        joined = np.concatenate([waiting, rows])
        self._waiting = joined[len(rows) :]
        return joined[: len(rows)]


# Inertia added to joints in ideal modes, over the largest of the robot's own.
IDEAL_INERTIA = 1e4
# How often a step is done at most for torques at their limits.
MOST_PASSES = 8
TURN = 2.0 * math.pi


class Drives:
    """Steps a MuJoCo model while its joints are driven.

    Commands and torques are in the order of v[6:]; within, joints are in MuJoCo's,
    where they follow each other.
    """

    def __init__(
        self, world: World, compiled: MujocoWorld, data: Any, dt: float
    ) -> None:
        """Turn modes and gains into torques and added inertia.

        Args:
            world: The world.
            compiled: The same for MuJoCo.
            data: ``mujoco.MjData``.
            dt: Time step [s].
        """
        self._step = compiled.mujoco.mj_step
        self._model, self._data = compiled.model, data
        self._order = np.argsort(compiled.dof)
        self._back = np.argsort(self._order)
        self._set_gains(world, dt)
        # views of MuJoCo's own arrays
        joints = slice(6, 6 + len(self._order))
        self._qpos, self._qvel = data.qpos, data.qvel
        self._velocity, self._acceleration = data.qvel[joints], data.qacc[joints]
        self._applied, self._armature = (
            data.qfrc_applied[joints],
            compiled.model.dof_armature[joints],
        )
        self._at = compiled.qpos[self._order]
        # commands, positions and velocities, for a sum with gains as factors
        self._terms = np.zeros((5, len(self._order)))
        self._summed = np.zeros_like(self._terms)
        self._is_beyond = np.zeros(len(self._order), dtype=np.bool_)
        self._inertia = self._armature + dt * self._viscous
        self._armature[:] = self._inertia + self._added
        if self._has_ideal:
            # the solver is content with a gradient or an improvement in proportion to
            # the robot's inertia: that of ideal modes would hide whole contacts
            compiled.model.opt.tolerance /= IDEAL_INERTIA

    def _set_gains(self, world: World, dt: float) -> None:
        drives, robot, order = world.actuation, world.robot, self._order
        joints = list(robot.model.joints)[2:]
        single = np.array([j.nv == 1 for j in joints for _ in range(j.nv)], dtype=bool)
        circle = np.array([j.nq == 2 for j in joints for _ in range(j.nv)], dtype=bool)
        mode = np.where(single, drives.mode, MODES.index("torque"))[order]
        torque, servo, position, velocity = (mode == i for i in range(len(MODES)))
        mass_matrix = pin.crba(robot.model, robot.model.createData(), robot.standing)
        ideal = IDEAL_INERTIA * np.diag(mass_matrix).max()
        self._kp = drives.stiffness[order] * servo + ideal / dt**2 * position
        self._kd = drives.damping[order] * servo + ideal / dt * velocity
        self._added = dt * (self._kd + dt * self._kp)
        self._has_ideal = bool(position.any() or velocity.any())
        self._viscous = drives.viscous_friction[order]
        self._disturbance = drives.disturbance[order]
        self._has_outside = bool(self._viscous.any() or self._disturbance.any())
        real = torque | servo
        gains = [self._kp, self._kd, real, -self._kp, -self._kd - dt * self._kp]
        self._gains = np.array(gains, dtype=np.float64)
        self._bound = np.where(real, drives.torque_limit[order], np.inf)
        self._lower = -self._bound
        self._told_bound = np.where(torque, self._bound, np.inf)
        self._told_torques = bool(torque.any())
        self._speed = np.where(real, drives.velocity_limit[order], np.inf)
        self._slowest = self._speed.min(initial=np.inf) ** 2
        self._limited = bool(np.isfinite([self._bound, self._speed]).any())
        # joints without stops are told angles of one turn
        self._circles: NDArray[np.int64] = np.flatnonzero(circle[order])

    def step(self, told: Array) -> Array:
        """Do one step.

        Args:
            told: Position, velocity and torque commanded, shape (3, nv - 6).

        Returns:
            The drives' torques [Nm or N], shape (nv - 6,).
        """
        v, terms = self._velocity, self._terms
        told.take(self._order, axis=1, out=terms[:3], mode="clip")
        self._qpos.take(self._at, out=terms[3], mode="clip")
        terms[4] = v
        if self._told_torques:
            np.maximum(terms[2], -self._told_bound, out=terms[2])
            np.minimum(terms[2], self._told_bound, out=terms[2])
        torque = np.add.reduce(np.multiply(terms, self._gains, out=self._summed))
        if len(self._circles):
            turns = np.round((terms[0] - terms[3])[self._circles] / TURN)
            torque[self._circles] -= TURN * self._kp[self._circles] * turns
        outside = None
        if self._has_outside:
            outside = self._disturbance - self._viscous * v
        self._apply(torque, outside)
        before = self._data.time, self._qpos.copy(), self._qvel.copy()
        lower, upper = self._limits(v)
        self._step(self._model, self._data)
        effort = torque - self._added * self._acceleration
        if self._limited and (
            np.count_nonzero(np.less(effort, lower, out=self._is_beyond))
            or np.count_nonzero(np.greater(effort, upper, out=self._is_beyond))
        ):
            effort = self._at_limits(torque, outside, lower, upper, effort, before)
        return np.asarray(effort.take(self._back))

    def _limits(self, v: Array) -> tuple[Array, Array]:
        """Return lower and upper limits of torques: none drives a joint yet faster."""
        lower, upper = self._lower, self._bound
        # slower than the slowest limit all together is slower than each
        if not v.dot(v) < self._slowest:
            fast = np.abs(v) > self._speed
            lower = np.where(fast & (v < 0.0), 0.0, lower)
            upper = np.where(fast & (v > 0.0), 0.0, upper)
        return lower, upper

    def _apply(self, torque: Array, outside: Array | None) -> None:
        """Hand torques of the drives and from outside to MuJoCo."""
        if outside is None:
            self._applied[:] = torque
        else:
            np.add(torque, outside, out=self._applied)

    def _at_limits(
        self,
        torque: Array,
        outside: Array | None,
        lower: Array,
        upper: Array,
        effort: Array,
        before: tuple[float, Array, Array],
    ) -> Array:
        """Do a step again until no torque is beyond its limits."""
        added = self._added
        for _ in range(MOST_PASSES):
            beyond = (effort < lower) | (effort > upper)
            if not np.count_nonzero(beyond):
                break
            torque = np.where(beyond, np.clip(effort, lower, upper), torque)
            added = np.where(beyond, 0.0, added)
            self._data.time, self._qpos[:], self._qvel[:] = before
            self._armature[:] = self._inertia + added
            self._apply(torque, outside)
            self._step(self._model, self._data)
            effort = torque - added * self._acceleration
        self._armature[:] = self._inertia + self._added
        return effort
