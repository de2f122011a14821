"""Our own engine: linearly-implicit steps in Warp kernels, many in one launch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import ArrayLike

from equipoise.control.signals import Command, State
from equipoise.errors import ShapeError
from equipoise.robot.description import Array
from equipoise.simulation.engine import Trace, check_commands, check_dt
from equipoise.simulation.fleet import Fleet, check_every, start_pose
from equipoise.simulation.world import World

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
        self._fleet = Fleet(world, 1, dt, kernel_effect=kernel_effect)
        self._effect = effect
        several = len(world.boxes) > 1
        self.notices: tuple[str, ...] = (BOXES_PASS,) if several else ()
        self._state = self.reset(world.robot.standing)

    @property
    def state(self) -> State:
        """The state now."""
        return self._state

    def reset(self, q: ArrayLike, v: ArrayLike | None = None) -> State:
        """Put the robot somewhere at time zero, at rest unless ``v`` is given."""
        robot, world = self.world.robot, self.world
        q = robot.check_q(q)
        v = np.zeros(robot.nv) if v is None else robot.check_v(v)
        if q.ndim != 1 or v.ndim != 1:
            raise ShapeError("an engine moves one robot: q and v must be one row each")
        self._fleet.reset(q, v)
        rest = np.zeros(robot.nv - 6)
        self._state = State(
            0.0,
            q,
            v,
            np.zeros(robot.nv),
            rest,
            self._fleet.contact_positions(q),
            np.zeros((len(world.contacts), 3)),
            np.array([start_pose(box.centre, box.yaw) for box in world.boxes]).reshape(
                -1, 7
            ),
        )
        return self._state

    def step(self, command: Command, steps: int = 1) -> State:
        """Hold a command for some time steps, and return the state after them."""
        rows = Command(*(np.tile(part, (steps, 1)) for part in command))
        return self.advance(rows, steps).at(-1)

    def advance(self, commands: Command, every: int = 1) -> Trace:
        """Do one step for each row of commands, and return every n-th state.

        Args:
            commands: Arrays of shape (steps, nv - 6).
            every: How many steps lie between states; divides their number.

        Raises:
            DivergedError: If the world leaves all bounds.
        """
        commands = check_commands(commands, self.world.robot.nv - 6)
        check_every(every, len(commands.position))
        state = self.state
        if self._effect is None:
            trace = self._fleet.advance(commands, every).of_robot(0)
        else:
            trace = self._one_by_one(commands, every, self._effect, state)
        self._state = trace.at(-1)
        return trace

    def _one_by_one(
        self, commands: Command, every: int, effect: Effect, state: State
    ) -> Trace:
        states = []
        for row in range(len(commands.position)):
            force = _checked(effect(state), self.world.robot.nv, state.time)
            turn = pin.Quaternion(state.q[3:7]).toRotationMatrix()
            force[:3], force[3:6] = turn @ force[:3], turn @ force[3:6]
            told = Command(*(values[row : row + 1] for values in commands))
            trace = self._fleet.advance(told, added=force[None])
            state = trace.of_robot(0).at(-1)
            if (row + 1) % every == 0:
                states.append(state)
        names = [item.name for item in fields(Trace)]
        return Trace(*(np.array([getattr(s, name) for s in states]) for name in names))


def _checked(force: ArrayLike, nv: int, time: float) -> Array:
    values = np.array(force, dtype=np.float64)
    if values.shape != (nv,) or not np.isfinite(values).all():
        raise ShapeError(
            f"the effect returned numbers of shape {values.shape} at {time:g} s; "
            f"finite ones of shape ({nv},) are needed"
        )
    return values
