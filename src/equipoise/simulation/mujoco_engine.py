"""The second engine: MuJoCo, with its own contact solver."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from equipoise.control.signals import Command, State
from equipoise.errors import ShapeError
from equipoise.robot.description import Array
from equipoise.robot.formats.mujoco_state import from_mujoco, to_mujoco, xyzw_from_wxyz
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.simulation.delay import Delay
from equipoise.simulation.engine import DivergedError, Trace, check_commands, check_dt
from equipoise.simulation.mujoco_drives import Drives
from equipoise.simulation.mujoco_model import compile_world
from equipoise.simulation.world import World

# A world that moves faster than this [m/s or rad/s] has left all bounds.
FASTEST = 1e4


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
        self._compiled = compile_world(world, self.dt)
        self.notices = self._compiled.notices
        self._model: Any = self._compiled.model
        self._data: Any = self._compiled.mujoco.MjData(self._model)
        self._drives = Drives(world, self._compiled, self._data, self.dt)
        self._qvel = self._data.qvel  # a view
        self._delay = Delay(world.actuation.delay, self.dt)
        self._pushes = [
            (
                range(_steps(push.start, dt), _steps(push.start + push.duration, dt)),
                push.force_in_world,
                *world.in_body(push.link, push.point_in_link),
            )
            for push in world.pushes
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
        state = to_mujoco(robot.model, self._model, q, v)
        self._data.qpos[:], self._data.qvel[:] = state
        self._steps_done = 0
        joints = robot.nv - 6
        held = np.zeros((3, joints))
        held[0] = joint_positions(robot, q)
        self._delay.reset(held)
        recorder = _Recorder(self, 1)
        recorder.note_before()
        recorder.record(np.zeros(joints))
        self._state = recorder.trace().at(0)
        return self._state

    def step(self, command: Command, steps: int = 1) -> State:
        """Hold a command for some time steps, and return the state after them."""
        rows = Command(*(np.tile(part, (steps, 1)) for part in command))
        return self.advance(rows, steps).at(-1)

    def advance(self, commands: Command, every: int = 1) -> Trace:
        """Do one step for each row of commands, and return every n-th state.

        Commands reach the drives later by the delay, rounded to whole steps; until the
        first one does, servos hold the position of the reset.

        Args:
            commands: Arrays of shape (steps, nv - 6).
            every: How many steps lie between states; divides their number.

        Raises:
            ShapeError: If a shape is wrong or a command is not finite.
            DivergedError: If the world leaves all bounds, naming time and link.
        """
        commands = check_commands(commands, self.world.robot.nv - 6)
        steps = len(commands.position)
        if every < 1 or steps % every:
            raise ShapeError(f"every is {every}; it must divide the {steps} steps")
        told = self._delay.push(np.stack(commands, axis=1))
        rows = self._drives.known(Command(*np.moveaxis(told, 1, 0)))
        recorder = _Recorder(self, steps // every)
        with _quiet(self._compiled.mujoco):
            for step, row in enumerate(zip(*rows, strict=True), 1):
                wanted = step % every == 0
                if self._pushes:
                    self._push()
                if wanted:
                    recorder.note_before()
                effort = self._drives.step(*row)
                self._steps_done += 1
                if not self._qvel @ self._qvel < FASTEST**2:
                    raise self._diverged()
                if wanted:
                    recorder.record(effort)
        trace = recorder.trace()
        if len(trace):
            self._state = trace.at(-1)
        return trace

    def _push(self) -> None:
        """Apply the forces from outside that act in this step."""
        data, wrench = self._data, self._data.xfrc_applied
        wrench[:] = 0.0
        active = [push for push in self._pushes if self._steps_done in push[0]]
        if active:
            self._compiled.mujoco.mj_kinematics(self._model, data)
        for _, force, joint, point in active:
            body = self._compiled.body[joint]
            at = data.xpos[body] + data.xmat[body].reshape(3, 3) @ point
            wrench[body, :3] += force
            wrench[body, 3:] += np.cross(at - data.xipos[body], force)

    def _diverged(self) -> DivergedError:
        """Say when, where and why the world left all bounds."""
        speed = np.nan_to_num(np.abs(self._data.qvel), nan=np.inf, posinf=np.inf)
        dof = int(np.argmax(speed))
        body = self._model.body(self._model.dof_bodyid[dof]).name
        known = np.isfinite(speed[dof])
        why = f"{speed[dof]:.3g} m/s or rad/s" if known else "a speed that is no number"
        return DivergedError(
            f"mujoco: {self.world.robot.name} diverged at "
            f"{self._steps_done * self.dt:.6g} s: '{body}' moves at {why}; a time step "
            f"shorter than {self.dt:g} s, or smaller forces or gains, may help"
        )


class _Recorder:
    """Collects states in MuJoCo's layout and hands them on in ours."""

    def __init__(self, engine: MujocoEngine, count: int) -> None:
        self.engine, self.data, self.done = engine, engine._data, 0
        self.compiled = compiled = engine._compiled
        # before and after the step that leads to a state
        self.qpos = np.zeros((2, count, compiled.model.nq))
        self.qvel = np.zeros((2, count, compiled.model.nv))
        self.time = np.zeros(count)
        self.effort = np.zeros((count, len(compiled.dof)))
        self.position = np.zeros((count, len(compiled.sites), 3))
        self.touches: list[tuple[int, Any, Any, Any, Any]] = []

    def note_before(self) -> None:
        """Keep what a state's acceleration is counted from."""
        self.qpos[0, self.done], self.qvel[0, self.done] = (
            self.data.qpos,
            self.data.qvel,
        )

    def record(self, effort: Array) -> None:
        """Keep the state now, and what MuJoCo says of the contacts in the last step."""
        row, data, compiled = self.done, self.data, self.compiled
        self.time[row] = self.engine._steps_done * self.engine.dt
        self.qpos[1, row], self.qvel[1, row], self.effort[row] = (
            data.qpos,
            data.qvel,
            effort,
        )
        if data.ncon:
            contact = data.contact
            parts = contact.geom, contact.frame, contact.efc_address, data.efc_force
            self.touches.append((row, *(part.copy() for part in parts)))
        compiled.mujoco.mj_kinematics(compiled.model, data)
        self.position[row] = data.site_xpos[compiled.sites]
        self.done += 1

    def point_forces(self) -> Array:
        """Return the forces on the contact points, in world axes, (count, nc, 3)."""
        total = np.zeros_like(self.position)
        if not self.touches:
            return total
        counts, geoms, frames, addresses, forces = zip(*self.touches, strict=True)
        row = np.repeat(counts, [len(pair) for pair in geoms])
        lengths = [len(values) for values in forces]
        starts = np.repeat(np.cumsum([0, *lengths[:-1]]), [len(pair) for pair in geoms])
        solved = np.concatenate(addresses) >= 0
        first = np.where(solved, np.concatenate(addresses) + starts, 0)
        # along the normal, from the first to the second geom, and two tangents
        parts = np.concatenate(forces)[first[:, None] + np.arange(3)]
        axes = np.concatenate(frames).reshape(-1, 3, 3)
        force = np.einsum("cij,ci->cj", axes, parts * solved[:, None])
        points = self.compiled.point_of_geom[np.concatenate(geoms)]
        for side, sign in ((0, -1.0), (1, 1.0)):
            on = points[:, side] >= 0
            np.add.at(total, (row[on], points[on, side]), sign * force[on])
        return total

    def trace(self) -> Trace:
        """Return the states."""
        model, mj_model = self.engine.world.robot.model, self.compiled.model
        before, after = (
            from_mujoco(model, mj_model, self.qpos[i], self.qvel[i]) for i in range(2)
        )
        boxes = self.qpos[1][:, self.compiled.boxes]
        boxes[..., 3:] = xyzw_from_wxyz(boxes[..., 3:])
        return Trace(
            time=self.time,
            q=after.q,
            v=after.v,
            a=(after.v - before.v) / self.engine.dt,
            torque=self.engine._drives.in_order(self.effort),
            contact_position=self.position,
            contact_force=self.point_forces(),
            boxes=boxes,
        )


def _steps(time: float, dt: float) -> int:
    """Return the first step that begins at a time or later."""
    return math.ceil(time / dt - 1e-6)


_quiet_lock = threading.Lock()
_quiet_engines: list[Any] = []


@contextmanager
def _quiet(mujoco: Any) -> Iterator[None]:
    """Keep MuJoCo from printing and from writing ``MUJOCO_LOG.TXT``.

    Its log is global: the first engine that steps silences it, the last restores it.
    """
    with _quiet_lock:
        before = mujoco.MjLogConfig.get()
        if not _quiet_engines:
            quiet = mujoco.MjLogConfig.get()
            quiet.logto_console = quiet.logto_file = False
            mujoco.MjLogConfig.set(quiet)
        _quiet_engines.append(before)
    try:
        yield
    finally:
        with _quiet_lock:
            first = _quiet_engines[0]
            _quiet_engines.pop()
            if not _quiet_engines:
                mujoco.MjLogConfig.set(first)
