"""The second engine: MuJoCo, with its own contact solver."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.control.signals import CheckedCommand, Command, State
from equipoise.errors import ShapeError
from equipoise.robot.formats.mujoco_state import from_mujoco, to_mujoco
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.simulation.engine import (
    DivergedError,
    Trace,
    check_commands,
    check_dt,
    check_mask,
    check_push,
)
from equipoise.simulation.mujoco_drives import Delay, Drives
from equipoise.simulation.mujoco_model import FAR, MujocoWorld, compile_world
from equipoise.simulation.world import Push, World

# A world that moves faster than this [m/s or rad/s] has left all bounds.
FASTEST = 1e4
Vector = tuple[float, float, float]


class MujocoEngine:
    """Moves one world through time with MuJoCo; see :class:`~.engine.Engine`.

    Attributes:
        name: ``"mujoco"``.
        world: The world.
        robot: The robot.
        dt: Time step [s].
        notices: What MuJoCo cannot express of this world, a sentence each.
    """

    name = "mujoco"

    def __init__(self, world: World, dt: float = 1e-3) -> None:
        """Compile the world and put the robot in its standing posture.

        Args:
            world: The world.
            dt: Time step [s].

        Raises:
            EquipoiseError: If MuJoCo is not installed or cannot express the world.
        """
        self.world, self.robot, self.dt = world, world.robot, check_dt(dt)
        self._compiled = compiled = compile_world(world, self.dt)
        self.notices = compiled.notices
        self._model: Any = compiled.model
        self._data: Any = compiled.mujoco.MjData(self._model)
        self._qvel, self._outside = self._data.qvel, self._data.xfrc_applied  # views
        self._drives = Drives(world, compiled, self._data, self.dt)
        self._reader = _Reader(world, compiled, self._data, self.dt)
        self._joints = world.robot.nv - 6
        self._commanded = np.zeros((1, 3, self._joints))
        self._delay = Delay(world.actuation.delay, self.dt)
        self._pushes = [
            _Push(push, world, compiled, self._data, self.dt) for push in world.pushes
        ]
        self.reset(world.robot.standing)

    @property
    def state(self) -> State:
        """The state now."""
        return self._state

    def reset(self, q: ArrayLike, v: ArrayLike | None = None) -> State:
        """Put the robot somewhere at time zero, at rest unless ``v`` is given.

        Args:
            q: Configuration, shape (nq,).
            v: Velocity, shape (nv,).
        """
        robot = self.world.robot
        q = robot.check_q(q)
        v = robot.check_v(np.zeros(robot.nv) if v is None else v)
        if q.ndim != 1 or v.ndim != 1:
            raise ShapeError("an engine is reset to one configuration and velocity")
        self._compiled.mujoco.mj_resetData(self._model, self._data)
        # MuJoCo prints and logs the first warning of each kind: it has been given
        self._data.warning.number[:] = 1
        state = to_mujoco(robot.model, self._model, q, v)
        self._data.qpos[:], self._data.qvel[:] = state
        self.mask_contacts(np.zeros(len(self.world.contacts), dtype=bool))
        self._steps_done = 0
        held = np.zeros((3, self._joints))
        held[0] = joint_positions(robot, q)
        self._delay.reset(held)
        still = np.zeros(self._joints)
        self._state = self._reader.state(0.0, self._reader.velocity(), still)
        return self._state

    def step(self, command: Command, steps: int = 1) -> State:
        """Hold a command for some time steps, and return the state after them.

        Args:
            command: Arrays of shape (nv - 6,).
            steps: How many.

        Raises:
            ShapeError: If a shape is wrong or a command is not finite.
            DivergedError: If the world leaves all bounds, naming time and link.
        """
        if steps < 1:
            raise ShapeError(f"steps is {steps}; it must be 1 or more")
        commanded = self._checked(command)
        if steps > 1 or self._delay.steps or self._pushes:
            return self._run(np.repeat(commanded, steps, axis=0), steps)[0]
        before = self._state.v
        torque = self._drives.step(commanded[0])
        self._steps_done += 1
        if not self._qvel.dot(self._qvel) < FASTEST**2:
            raise self._diverged()
        self._state = self._reader.state(self._steps_done * self.dt, before, torque)
        return self._state

    def mask_contacts(self, masked: ArrayLike) -> None:
        """Let contact points touch nothing, until this is called again or a reset.

        Args:
            masked: Whether each is masked, shape (nc,).
        """
        off = np.append(check_mask(masked, self.world), False)
        # -1, which is no contact point, takes the last
        points = self._compiled.point_of_geom
        model = self._model
        either = off[points[model.pair_geom1]] | off[points[model.pair_geom2]]
        # pairs are looked at when they are nearer than their margin
        model.pair_margin[:] = np.where(either, -FAR, 0.0)

    def set_push(self, push: Push, number: int = 0) -> None:
        """Put a push in the place of one of the world's, for this engine alone.

        Args:
            push: Another force, at another time, on the same point of the same link.
            number: Index of the push that it replaces.

        Raises:
            EquipoiseError: If the world has no such push, or it acts elsewhere.
        """
        check_push(push, number, self.world)
        self._pushes[number] = _Push(
            push, self.world, self._compiled, self._data, self.dt
        )

    def advance(self, commands: Command, every: int = 1) -> Trace:
        """Do one step for each row of commands, and return every n-th state.

        Commands reach the actuators later by the delay, rounded to whole steps; until
        the first one does, servos hold the position of the reset.

        Args:
            commands: Arrays of shape (steps, nv - 6).
            every: How many steps lie between states; divides their number.

        Raises:
            ShapeError: If a shape is wrong or a command is not finite.
            DivergedError: If the world leaves all bounds, naming time and link.
        """
        commands = check_commands(commands, self._joints)
        steps = len(commands.position)
        if every < 1 or steps % every:
            raise ShapeError(f"every is {every}; it must divide the {steps} steps")
        states = self._run(np.stack(commands, axis=1), every)
        rows = {
            name: np.array([getattr(state, name) for state in states]).reshape(
                len(states), *np.shape(getattr(self._state, name))
            )
            for name in (item.name for item in fields(Trace))
        }
        return Trace(**rows)

    def _checked(self, command: Command) -> Array:
        """Return one command, shape (1, 3, nv - 6), in memory that is used again."""
        commanded = self._commanded
        row = commanded[0]
        try:
            position, velocity, torque = command
            row[0], row[1], row[2] = position, velocity, torque
            if type(command) is CheckedCommand:
                return commanded
            fine = position.shape == velocity.shape == torque.shape == row[0].shape
        except (AttributeError, TypeError, ValueError):
            fine = False
        if not (fine and np.count_nonzero(np.isfinite(row)) == row.size):
            commands = check_commands(command, self._joints)
            if len(commands.position) != 1:
                raise ShapeError(
                    f"command: position, velocity and torque have "
                    f"{len(commands.position)} rows; one is needed"
                )
            row[:] = np.concatenate(commands)
        return commanded

    def _run(self, commanded: Array, every: int) -> list[State]:
        """Step through commands, (steps, 3, nv - 6); return every n-th state."""
        drives, reader, qvel = self._drives, self._reader, self._qvel
        states = []
        for step, row in enumerate(self._delay.push(commanded), 1):
            wanted = step % every == 0
            if self._pushes:
                self._outside[:] = 0.0
                for push in self._pushes:
                    if self._steps_done in push.steps:
                        if every > 1:  # else links are where the last state has them
                            reader.kinematics()
                        push.apply()
            if wanted:
                before = self._state.v if every == 1 else reader.velocity()
            torque = drives.step(row)
            self._steps_done += 1
            if not qvel.dot(qvel) < FASTEST**2:
                raise self._diverged()
            if wanted:
                time = self._steps_done * self.dt
                self._state = reader.state(time, before, torque)
                states.append(self._state)
        return states

    def _diverged(self) -> DivergedError:
        """Say when, where and why the world left all bounds."""
        speed = np.nan_to_num(np.abs(self._data.qvel), nan=np.inf, posinf=np.inf)
        dof = int(np.argmax(speed))
        body = self._model.body(self._model.dof_bodyid[dof]).name
        known = np.isfinite(speed[dof])
        why = (
            f"{speed[dof]:.3g} m/s or rad/s"
            if known
            else "a speed that is not a number"
        )
        return DivergedError(
            f"mujoco: {self.world.robot.name} diverged at "
            f"{self._steps_done * self.dt:.6g} s: '{body}' moves at {why}; a time step "
            f"shorter than {self.dt:g} s, or smaller forces or gains, may help"
        )


class _Push:
    """A force from outside, while links are where they are now.

    Attributes:
        steps: In which it acts.
    """

    def __init__(
        self, push: Push, world: World, compiled: MujocoWorld, data: Any, dt: float
    ) -> None:
        first, last = (_steps(t, dt) for t in (push.start, push.start + push.duration))
        self.steps = range(first, last)
        self._force, self._parts = push.force_in_world, push.force_in_world.tolist()
        joint, self._point = world.in_body(push.link, push.point_in_link)
        body = compiled.body[joint]
        # views
        self._origin, self._com = data.xpos[body], data.xipos[body]
        self._rotation = data.xmat[body].reshape(3, 3)
        self._linear, self._angular = data.xfrc_applied[body].reshape(2, 3)

    def apply(self) -> None:
        """Add it to what acts on its body."""
        arm = self._origin + self._rotation.dot(self._point) - self._com
        self._linear += self._force
        x, y, z = _cross(arm.tolist(), self._parts)
        self._angular[0] += x
        self._angular[1] += y
        self._angular[2] += z


class _Reader:
    """Reads states of the robot and its contacts in our layout.

    Where things are in MuJoCo's arrays is found once; views of these arrays stay valid.
    """

    def __init__(
        self, world: World, compiled: MujocoWorld, data: Any, dt: float
    ) -> None:
        self._data, self._dt = data, np.array(dt)
        self._qpos, self._qvel = data.qpos, data.qvel
        self.kinematics = partial(compiled.mujoco.mj_kinematics, compiled.model, data)
        self._sites = data.site_xpos.ravel()
        self._sites_from = 3 * compiled.sites[:, None] + np.arange(3)
        self._boxes_from = compiled.boxes[:, [0, 1, 2, 4, 5, 6, 3]]  # xyzw from wxyz
        self._find_joints(world, compiled)
        self._point_of_geom = compiled.point_of_geom
        self._touching, self._to_points = b"", np.zeros((0, 0))

    def _find_joints(self, world: World, compiled: MujocoWorld) -> None:
        """Find the entries of qpos and qvel that make up q and v."""
        model, mj_model = world.robot.model, compiled.model
        numbers = np.arange(mj_model.nq, dtype=np.float64)
        found = from_mujoco(model, mj_model, numbers, numbers[: mj_model.nv])
        self._q_from, self._v_from = (part.astype(np.int64) for part in found)
        circles = [j for j in list(model.joints)[2:] if (j.nq, j.nv) == (2, 1)]
        self._cosines = np.array([j.idx_q for j in circles], dtype=np.int64)
        angles = compiled.qpos[[j.idx_v - 6 for j in circles]]
        self._q_from[self._cosines] = self._q_from[self._cosines + 1] = angles
        base, base_v = int(self._q_from[0]), int(self._v_from[3]) - 3
        self._v_from[:3] = range(base_v, base_v + 3)
        self._quaternion = self._qpos[base + 3 : base + 7]
        self._base_velocity = self._qvel[base_v : base_v + 3]

    def velocity(self) -> Array:
        """Return v now, shape (nv,)."""
        v: Array = self._qvel.take(self._v_from)
        turn, linear = self._quaternion.tolist(), self._base_velocity.tolist()
        v[0], v[1], v[2] = _turned_back(turn, linear)
        return v

    def state(self, time: float, before: Array, torque: Array) -> State:
        """Return the state now.

        Args:
            time: Since the reset [s].
            before: v before the last step, shape (nv,).
            torque: Torque of the actuators in the last step, in the order of v[6:].
        """
        q, v = self._qpos.take(self._q_from), self.velocity()
        if len(self._cosines):
            angles = q[self._cosines]
            q[self._cosines], q[self._cosines + 1] = np.cos(angles), np.sin(angles)
        boxes, forces = self._qpos.take(self._boxes_from), self._point_forces()
        self.kinematics()
        a = v - before
        a /= self._dt
        points = self._sites.take(self._sites_from)
        return State(time, q, v, a, torque, points, forces, boxes)

    def _point_forces(self) -> Array:
        """Return the forces on the contact points in the last step, shape (nc, 3)."""
        data, shape = self._data, self._sites_from.shape
        if not (data.ncon and data.nefc):
            return np.zeros(shape)
        contact, forces = data.contact, data.efc_force
        geoms, frames, rows = contact.geom, contact.frame, contact.efc_address
        touching = geoms.tobytes() + frames.tobytes() + rows.tobytes()
        if touching != self._touching or len(forces) != self._to_points.shape[1]:
            self._touching = touching
            self._to_points = self._force_map(geoms, frames, rows, len(forces))
        found: Array = self._to_points.dot(forces).reshape(shape)
        return found

    def _force_map(self, geoms: Array, frames: Array, rows: Array, count: int) -> Array:
        """Return what maps MuJoCo's constraint forces to forces on the contact points.

        On plane ground it changes only when a point begins or ends to touch.

        Args:
            geoms: Geoms of each contact, shape (ncon, 2).
            frames: Normal, from the first to the second geom, and two tangents, each
                a row, shape (ncon, 9).
            rows: Where the forces of each contact begin, or -1, shape (ncon,).
            count: Count of constraint forces.

        Returns:
            Shape (3 nc, count).
        """
        total = np.zeros((*self._sites_from.shape, count))
        for pair, axes, row in zip(geoms, frames.reshape(-1, 3, 3), rows, strict=True):
            for point, sign in zip(self._point_of_geom[pair], (-1.0, 1.0), strict=True):
                if point >= 0 and row >= 0:
                    total[point, :, row : row + 3] = sign * axes.T
        return total.reshape(-1, count)


def _turned_back(wxyz: list[float], vector: list[float]) -> Vector:
    """Return R⁻¹ · vector of a quaternion's rotation R: Rodrigues' formula.

    In floats, as one product of two vectors takes NumPy's cross ten times as long.
    """
    (w, x, y, z), (a, b, c) = wxyz, vector
    u, v, t = b * z - c * y, c * x - a * z, a * y - b * x
    return (
        a + 2.0 * (w * u + (v * z - t * y)),
        b + 2.0 * (w * v + (t * x - u * z)),
        c + 2.0 * (w * t + (u * y - v * x)),
    )


def _cross(a: Sequence[float], b: Sequence[float]) -> Vector:
    """Return a × b."""
    (x, y, z), (u, v, w) = a, b
    return y * w - z * v, z * u - x * w, x * v - y * u


def _steps(time: float, dt: float) -> int:
    """Return the first step that begins at a time or later."""
    return math.ceil(time / dt - 1e-6)
