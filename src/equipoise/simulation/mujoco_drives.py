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

from equipoise.control.signals import Command
from equipoise.robot.description import Array
from equipoise.simulation.actuation import MODES
from equipoise.simulation.mujoco_model import MujocoWorld
from equipoise.simulation.world import World

# Inertia added to joints in ideal modes, over the largest of the robot's own.
IDEAL_INERTIA = 1e4
# How often a step is done at most for torques at their limits.
MOST_PASSES = 8
TURN = 2.0 * math.pi


class Drives:
    """Steps a MuJoCo model while its joints are driven.

    Within, joints are in MuJoCo's order, where they follow each other.
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
        self._set_gains(world, dt)
        # views of MuJoCo's own arrays
        joints = slice(6, 6 + len(self._order))
        self._velocity, self._acceleration = data.qvel[joints], data.qacc[joints]
        self._applied, self._armature = (
            data.qfrc_applied[joints],
            compiled.model.dof_armature[joints],
        )
        self._at = compiled.qpos[self._order]
        self._position: Array | None = None
        if (np.diff(self._at) == 1).all():
            self._position = data.qpos[7 : 7 + len(self._at)]
        self._inertia = self._armature + dt * self._viscous
        self._armature[:] = self._inertia + self._added

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
        self._on_velocity = self._kd + dt * self._kp
        self._added = dt * self._on_velocity
        self._viscous = drives.viscous_friction[order]
        self._disturbance = drives.disturbance[order]
        real = torque | servo
        self._real, self._torque = 1.0 * real, torque
        self._bound = np.where(real, drives.effort_limit[order], np.inf)
        self._speed = np.where(real, drives.velocity_limit[order], np.inf)
        self._limited = bool(np.isfinite([self._bound, self._speed]).any())
        # joints without stops are told angles of one turn
        self._circles: NDArray[np.int64] = np.flatnonzero(circle[order])

    def known(self, commands: Command) -> tuple[Array, Array]:
        """Return positions commanded, and the torques that commands alone decide.

        Args:
            commands: Arrays of shape (steps, nv - 6).

        Returns:
            Two arrays of shape (steps, nv - 6), in MuJoCo's order.
        """
        position, velocity, effort = (rows[:, self._order] for rows in commands)
        clipped = np.clip(effort, -self._bound, self._bound)
        effort = np.where(self._torque, clipped, effort * self._real)
        return position, self._kp * position + self._kd * velocity + effort

    def in_order(self, efforts: Array) -> Array:
        """Return torques in the order of v[6:], from MuJoCo's, shape (n, nv - 6)."""
        ordered = np.empty_like(efforts)
        ordered[:, self._order] = efforts
        return ordered

    def step(self, position: Array, known: Array) -> Array:
        """Do one step.

        Args:
            position: Commanded [rad or m], a row of what :meth:`known` returns.
            known: [Nm or N], likewise.

        Returns:
            The drives' torques, shape (nv - 6,), in MuJoCo's order.
        """
        data, v = self._data, self._velocity
        q = data.qpos[self._at] if self._position is None else self._position
        torque = known - self._kp * q - self._on_velocity * v
        if len(self._circles):
            turns = np.round((position - q)[self._circles] / TURN)
            torque[self._circles] -= TURN * self._kp[self._circles] * turns
        outside = self._disturbance - self._viscous * v
        np.add(torque, outside, out=self._applied)
        if not self._limited:
            self._step(self._model, data)
            return np.asarray(torque - self._added * self._acceleration)
        before = data.time, data.qpos.copy(), data.qvel.copy()
        lower, upper = -self._bound, self._bound
        fast = np.abs(v) > self._speed
        if np.count_nonzero(fast):
            lower = np.where(fast & (v < 0.0), 0.0, lower)
            upper = np.where(fast & (v > 0.0), 0.0, upper)
        self._step(self._model, data)
        effort = torque - self._added * self._acceleration
        beyond = (effort < lower) | (effort > upper)
        if np.count_nonzero(beyond):
            effort = self._at_limits(torque, outside, lower, upper, effort, before)
        return np.asarray(effort)

    def _at_limits(
        self,
        torque: Array,
        outside: Array,
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
            self._data.time, self._data.qpos[:], self._data.qvel[:] = before
            self._armature[:] = self._inertia + added
            np.add(torque, outside, out=self._applied)
            self._step(self._model, self._data)
            effort = torque - added * self._acceleration
        self._armature[:] = self._inertia + self._added
        return effort
