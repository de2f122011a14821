"""Our own engine: linearly-implicit steps in Warp kernels, many in one launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.control.signals import NO_BOXES, CheckedCommand, Command, State
from equipoise.errors import EquipoiseError, ShapeError
from equipoise.robot.joint_coordinates import joint_positions
from equipoise.simulation.engine import (
    DivergedError,
    Trace,
    check_commands,
    check_dt,
    check_mask,
    check_push,
)
from equipoise.simulation.on_device import (
    check_every,
    make_rollout,
    start_pose,
    stop_text,
)
from equipoise.simulation.world import Push, World

BOXES_PASS = "boxes do not touch each other"

# What is not modelled: gets the state, returns generalised forces (nv,).
Effect = Callable[[State], ArrayLike]


class NativeEngine:
    """One robot in one world.

    Attributes:
        name: ``"native"``.
        world: The robot and all that it meets.
        robot: The robot.
        dt: Time step [s].
        notices: What it cannot express of this world, a sentence each.
    """

    name = "native"

    def __init__(
        self,
        world: World,
        dt: float = 1e-3,
        *,
        effect: Effect | None = None,
        kernel_effect: Any = None,
    ) -> None:
        """Lay the world out for the kernels, the robot standing.

        Args:
            world: The robot and all that it meets.
            dt: Time step [s].
            effect: What is not modelled, as a Python function of the state before
                each step that returns generalised forces, shape (nv,). Steps are
                then launched one by one, which is slower.
            kernel_effect: The same as a Warp function of (time, joint, position,
                velocity) that returns a force; it is compiled into the kernel.
        """
        self.world, self.robot, self.dt = world, world.robot, check_dt(dt)
        self._rollout = make_rollout(
            world, 1, self.dt, effect=kernel_effect, alone=True
        )
        self._effect = effect
        several = len(world.boxes) > 1
        self.notices: tuple[str, ...] = (BOXES_PASS,) if several else ()
        self._joints, self._delay = world.robot.nv - 6, int(self._rollout.delay[0])
        self._lay_out()
        self.reset(world.robot.standing)

    def _lay_out(self) -> None:
        """Find out where the kernel reads commands and writes states."""
        robot, rollout = self.robot, self._rollout
        q, v, a, torque, position, force = (
            getattr(rollout.rows, name).numpy()[0, 0]
            for name in ("q", "v", "a", "torque", "position", "force")
        )
        self._has_boxes = bool(self.world.boxes)
        self._written = (
            q[: robot.nq],
            v[: robot.nv],
            a[: robot.nv],
            torque[: self._joints],
            position,
            force,
            q[robot.nq :].reshape(-1, 7),
        )
        self._commanded = [
            part.numpy()[0, 0, : self._joints] for part in rollout.command
        ]
        self._status = rollout.watch.status.numpy()

    @property
    def state(self) -> State:
        """The state now."""
        return self._state

    def reset(self, q: ArrayLike, v: ArrayLike | None = None) -> State:
        """Put the robot somewhere at time zero, at rest unless ``v`` is given."""
        robot, world = self.robot, self.world
        q = robot.check_q(q)
        v = np.zeros(robot.nv) if v is None else robot.check_v(v)
        if q.ndim != 1 or v.ndim != 1:
            raise ShapeError("an engine moves one robot: q and v must be one row each")
        boxes = np.array([start_pose(box.centre, box.yaw) for box in world.boxes])
        whole_q = np.concatenate([q, boxes.ravel()])
        whole_v = np.concatenate([v, np.zeros(6 * len(boxes))])
        held = joint_positions(robot, q)
        self._rollout.reset(whole_q[None], whole_v[None], held[None])
        self._rollout.mask(np.zeros(len(world.contacts), dtype=bool))
        self._history = [
            np.tile(part, (self._delay, 1, 1))
            for part in (held, 0.0 * held, 0.0 * held)
        ]
        self._steps = 0
        self._state = State(
            0.0,
            q,
            v,
            np.zeros(robot.nv),
            np.zeros(self._joints),
            self._contact_positions(q),
            np.zeros((len(world.contacts), 3)),
            boxes.reshape(-1, 7),
        )
        return self._state

    def step(self, command: Command, steps: int = 1) -> State:
        """Hold a command for some time steps, and return the state after them.

        Raises:
            ShapeError: If the command is of a wrong shape or not finite.
            DivergedError: If the simulation diverges.
        """
        if self._delay or self._effect is not None:
            rows = Command(*(np.tile(part, (steps, 1)) for part in command))
            self.advance(rows, steps)
            return self._state
        if type(command) is not CheckedCommand:
            rows = check_commands(command, self._joints)
            if len(rows.position) != 1:
                raise ShapeError(f"a command of {len(rows.position)} rows; one holds")
            command = Command(*(part[0] for part in rows))
        position, velocity, torque = self._commanded
        position[:], velocity[:], torque[:] = command
        self._rollout.step(steps)
        self._steps += steps
        if self._status[0, 0]:
            self._complain()
        q, v, a, torque, position, force, boxes = self._written
        self._state = State(
            self._steps * self.dt,
            q.copy(),
            v.copy(),
            a.copy(),
            torque.copy(),
            position.copy(),
            force.copy(),
            boxes.copy() if self._has_boxes else NO_BOXES,
        )
        return self._state

    def mask_contacts(self, masked: ArrayLike) -> None:
        """Let contact points touch nothing, until this is called again or a reset.

        Args:
            masked: Whether each is masked, shape (nc,).
        """
        self._rollout.mask(check_mask(masked, self.world))

    def set_push(self, push: Push, number: int = 0) -> None:
        """Put a push in the place of one of the world's, for this engine alone.

        Args:
            push: Another force, at another time, on the same point of the same link.
            number: Index of the push that it replaces.

        Raises:
            EquipoiseError: If the world has no such push, or it acts elsewhere.
        """
        check_push(push, number, self.world)
        force, window, _ = self._rollout.push_arrays
        force.numpy()[:, number, 0] = push.force_in_world
        window.numpy()[:, number, 0, :2] = push.start, push.start + push.duration

    def advance(self, commands: Command, every: int = 1) -> Trace:
        """Do one step for each row of commands, and return every n-th state.

        Args:
            commands: Arrays of shape (steps, nv - 6).
            every: How many steps lie between states; divides their number.

        Raises:
            DivergedError: If the simulation diverges.
        """
        commands = check_commands(commands, self._joints)
        check_every(every, len(commands.position))
        if self._effect is not None:
            return self._one_by_one(commands, every, self._effect)
        trace = self._advance(commands, every)
        self._state = trace.at(-1)
        return trace

    def _advance(
        self, commands: Command, every: int, added: Array | None = None
    ) -> Trace:
        """Do steps with a table of commands, arrays of shape (steps, nv - 6)."""
        steps = len(commands.position)
        if self._status[0, 0]:
            raise EquipoiseError("the simulation has diverged: reset it first")
        table = [part[:, None] for part in commands]
        if self._delay:
            waiting = zip(self._history, table, strict=True)
            table = [np.concatenate(parts) for parts in waiting]
            self._history = [part[len(part) - self._delay :] for part in table]
        elif all((part == part[:1]).all() for part in table):
            table = [part[:1] for part in table]
        rows = self._rollout.advance(tuple(table), steps, every, added)
        before, self._steps = self._steps, self._steps + steps
        if self._status[0, 0]:
            self._complain()
        return self._trace(before, every, rows)

    def _trace(self, before: int, every: int, rows: Any) -> Trace:
        robot = self.robot
        q, v, a, torque, position, force = (
            getattr(rows, name).numpy()[:, 0].copy()
            for name in ("q", "v", "a", "torque", "position", "force")
        )
        done = np.arange(before + every, self._steps + 1, every, dtype=np.float64)
        return Trace(
            done * self.dt,
            q[:, : robot.nq],
            v[:, : robot.nv],
            a[:, : robot.nv],
            torque[:, : self._joints],
            position,
            force,
            q[:, robot.nq :].reshape(len(q), -1, 7),
        )

    def _one_by_one(self, commands: Command, every: int, effect: Effect) -> Trace:
        state, states = self._state, []
        boxes = np.zeros(6 * len(self.world.boxes))
        for row in range(len(commands.position)):
            force = _checked_force(effect(state), self.robot.nv, state.time)
            turn = pin.Quaternion(state.q[3:7]).toRotationMatrix()
            force[:3], force[3:6] = turn @ force[:3], turn @ force[3:6]
            added = np.concatenate([force, boxes])[None]
            held = Command(*(part[row : row + 1] for part in commands))
            state = self._state = self._advance(held, 1, added).at(-1)
            if (row + 1) % every == 0:
                states.append(state)
        names = [item.name for item in fields(Trace)]
        return Trace(*(np.array([getattr(s, name) for s in states]) for name in names))

    def _contact_positions(self, q: Array) -> Array:
        """Return where contact points are in a configuration, shape (nc, 3)."""
        robot = self.robot
        pin.forwardKinematics(robot.model, robot.data, q)
        places = np.zeros((len(self.world.contacts), 3))
        for number, point in enumerate(self.world.contacts):
            body, local = self.world.in_body(point.link, point.position_in_link)
            places[number] = robot.data.oMi[body].act(local)
        return places

    def _complain(self) -> None:
        """Say when and where the simulation diverged."""
        (stopped,) = self._rollout.watch.stopped(self._rollout.program.schedule)
        raise DivergedError(stop_text(self.world, stopped, self.dt))


def _checked_force(force: ArrayLike, nv: int, time: float) -> Array:
    values = np.array(force, dtype=np.float64)
    if values.shape != (nv,) or not np.isfinite(values).all():
        raise ShapeError(
            f"the effect returned numbers of shape {values.shape} at {time:g} s; "
            f"finite ones of shape ({nv},) are needed"
        )
    return values
