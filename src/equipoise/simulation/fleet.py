"""Many robots of one kind, each in its own world, stepped together on a device."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from equipoise.arrays import Array
from equipoise.control.signals import Command
from equipoise.errors import EquipoiseError, ShapeError
from equipoise.robot.joint_coordinates import degree_names, joint_positions
from equipoise.simulation.engine import check_dt
from equipoise.simulation.falling import FALLEN_HEIGHT, FALLEN_TILT, vertical_in_base
from equipoise.simulation.fleet_states import (
    FleetResults,
    FleetState,
    FleetTrace,
    StoppedRobot,
)
from equipoise.simulation.loop import whole_steps
from equipoise.simulation.on_device import (
    REASONS,
    check_every,
    make_rollout,
    start_pose,
    stop_text,
)
from equipoise.simulation.variation import Variation
from equipoise.simulation.world import World

# How often contacts, CoM and falls are looked at in a closed loop, unless asked [s].
MEASURE_PERIOD = 0.01

# Writes into the command, or returns one: arrays of shape (n, nv - 6) on the device.
FleetController = Callable[[FleetState, Command], Command | None]


class Fleet:
    """Many robots of one kind, each in its own world.

    Attributes:
        world: The robot and all that it meets.
        count: How many robots.
        dt: Time step [s].
        control_steps: Time steps in a control period.
    """

    def __init__(
        self,
        world: World,
        count: int,
        dt: float = 1e-3,
        *,
        variation: Variation | None = None,
        control_period: float | None = None,
        device: str = "cpu",
        dtype: DTypeLike = np.float64,
        threads: int = 1,
        falls: bool = True,
        kernel_effect: Any = None,
    ) -> None:
        """Lay the worlds out on a device.

        Args:
            world: The robot and all that it meets.
            count: How many robots.
            dt: Time step [s].
            variation: How the robots differ from the world's.
            control_period: For which a command of :meth:`step` holds [s], a whole
                number of time steps; one unless given.
            device: ``"cpu"``, ``"cuda"`` or ``"cuda:1"``.
            dtype: ``float64`` or ``float32``.
            threads: Threads of the CPU, among which the robots are shared out.
            falls: Whether robots that fall are stopped.
            kernel_effect: What is not modelled, as a Warp function of (time, joint,
                position, velocity) that returns a torque of the joint (counted in the
                order of v[6:]); it is compiled into the kernel.

        Raises:
            EquipoiseError: For a bad time step, device, type, variation, or a robot
                with joints of more than one degree of freedom.
        """
        if count < 1:
            raise EquipoiseError(f"a fleet of {count} robots; it needs at least one")
        self.world, self.count, self.dt = world, count, check_dt(dt)
        period = self.dt if control_period is None else control_period
        self.control_steps = whole_steps(period, self.dt, "control period")
        self._falls = falls
        self._variation = variation.checked(world, count) if variation else None
        self._rollout = make_rollout(
            world,
            count,
            self.dt,
            self._variation,
            hold=self.control_steps,
            device=device,
            dtype=dtype,
            threads=threads,
            effect=kernel_effect,
        )
        self._steps, self._has_start = -1, False  # not reset yet
        self._moved_by = ""
        self._waiting = np.zeros((0, count, world.robot.nv - 6, 3))

    def reset(
        self,
        q: ArrayLike,
        v: ArrayLike | None = None,
        robots: Sequence[int] | None = None,
        *,
        upright: ArrayLike | None = None,
    ) -> None:
        """Put robots somewhere at time zero.

        Args:
            q: Configurations, shape (nq,) for all or (n, nq); or one for each of
                ``robots``, in their order.
            v: Velocities, shape (nv,) or (n, nv), likewise; at rest if not given.
            robots: Which robots, all unless given; the others go on.
            upright: Configurations that falls are measured against, shape (nq,) or (n,
                nq), likewise; those at the start unless given.
        """
        robot, boxes = self.world.robot, self.world.boxes
        everyone = np.arange(self.count, dtype=np.int32)
        which = everyone if robots is None else self._numbers(robots)
        v = np.zeros(robot.nv) if v is None else robot.check_v(v)

        def one_each(name: str, rows: Array) -> Array:
            return _one_each(name, rows, self.count, robots, which)

        q, v = one_each("q", robot.check_q(q)), one_each("v", v)
        stood = q if upright is None else one_each("upright", robot.check_q(upright))
        if len(which) == 0:
            return
        held = joint_positions(robot, q)
        poses = np.array([start_pose(box.centre, box.yaw) for box in boxes]).ravel()
        q = np.hstack([q, np.tile(poses, (len(which), 1))])
        v = np.hstack([v, np.zeros((len(which), 6 * len(boxes)))])
        commanded = np.zeros((len(which), held.shape[1], 3))
        commanded[..., 0] = held
        if robots is not None:
            fallen = self._fallen(stood, which)
            self._rollout.starts.put(which, q, v, held, fallen)
            self._rollout.write_start()
            self._waiting[:, which] = commanded
            return
        self._rollout.reset(q, v, held)
        self._rollout.write_start()
        if self._falls:
            fallen, lowest = self._fallen(stood, None), math.cos(FALLEN_TILT)
            self._rollout.watch.look_for_falls(fallen, lowest)
            self._rollout.prepare_again()
        longest = int(self._rollout.delay.max())
        self._waiting = np.repeat(commanded[None], longest, axis=0)
        self._steps, self._moved_by = 0, ""

    def keep_start(self) -> None:
        """Keep where all robots are now, and what they are told, for :meth:`restart`.

        Say, after they have settled on their feet.
        """
        if self._steps < 0:
            raise EquipoiseError("reset the fleet before its start is kept")
        self._rollout.starts.keep(self._rollout.newest)
        self._has_start = True

    def restart(self, which: Any) -> None:
        """Put robots where :meth:`keep_start` found them, at time zero, on the device.

        Nothing goes through the host if ``which`` is on the device.

        Args:
            which: As which robot each begins anew, -1 where it goes on, shape (n,):
                ``int32`` of NumPy's, Warp's, or anything with ``__dlpack__``.
        """
        if not self._has_start:
            raise EquipoiseError("keep_start comes before restart")
        self._move_by("step")
        self._rollout.starts.restart(which)

    def _numbers(self, robots: ArrayLike) -> NDArray[np.int32]:
        """Return numbers of robots, each once."""
        given = np.unique(np.asarray(robots))
        if given.size and given.dtype.kind not in "iu":
            raise EquipoiseError(
                f"robots: whole numbers are needed, not {given.dtype}; those of a mask "
                "are np.flatnonzero(mask)"
            )
        if self._steps < 0 or np.any((given < 0) | (given >= self.count)):
            raise EquipoiseError(
                "some robots of a fleet can be reset after all were, by numbers from 0 "
                f"to {self.count - 1}"
            )
        return given.astype(np.int32)

    def _fallen(self, upright: Array, which: NDArray[np.int32] | None) -> Array:
        """Return what a fall is, of all or some robots, for the kernels, (k, 4)."""
        if not self._falls:
            return np.zeros((len(upright), 4))
        variation = self._variation
        if variation is not None and which is not None:
            variation = variation.of_robots(which)
        return fall_limits(self.world, variation, upright)

    @cached_property
    def state(self) -> FleetState:
        """States now, on the device: always the same arrays."""
        watch = self._rollout.watch
        rows = self._rollout.rows.first()
        return FleetState._make([*rows, watch.clock, watch.status])

    @property
    def push_arrays(self) -> tuple[Any, Any, int]:
        """Pushes on the device, to be written into by kernels, in their own layout.

        Forces and windows of time, and how many robots lie side by side; of robots
        whose pushes differ (:class:`~equipoise.simulation.variation.Variation`).
        """
        force, window, copies = self._rollout.push_arrays
        return force, window, copies

    @property
    def command(self) -> Command:
        """The next commands, arrays on the device to be written into."""
        return Command(*(part[self._rollout.newest] for part in self._rollout.command))

    def set_command(self, command: Command) -> None:
        """Copy a command into :attr:`command`.

        Args:
            command: Arrays of shape (n, nv - 6) or (nv - 6,): NumPy's, Warp's, or
                anything with ``__dlpack__`` on the same device.
        """
        self._rollout.set_command(command)

    def step(self, *, contacts: bool = True) -> None:
        """Hold :attr:`command` for one control period; results are in :attr:`state`.

        Args:
            contacts: Whether contacts and CoM are written too, and falls looked for.
        """
        self._move_by("step")
        self._rollout.step(self.control_steps, contacts)
        self._rollout.shift()
        self._steps += self.control_steps

    def measure(
        self, com_reference: ArrayLike | None = None, period: float = MEASURE_PERIOD
    ) -> None:
        """Begin to measure what :meth:`results` returns, all of it on the device.

        Args:
            com_reference: Where the CoM should be from time zero on [m], shape (rows,
                3) for all robots or (rows, n, 3); the last row holds.
            period: Time between its rows [s].
        """
        if com_reference is None:
            self._rollout.prepare_again()
            self._rollout.watch.measure(None, 1)
            return
        rows = np.asarray(com_reference, dtype=np.float64)
        if rows.ndim == 2:
            rows = rows[:, None]
        if rows.ndim != 3 or rows.shape[1:] not in ((1, 3), (self.count, 3)):
            raise ShapeError(
                f"com_reference has shape {np.shape(com_reference)}; (rows, 3) or "
                f"(rows, {self.count}, 3) is needed"
            )
        if len(rows) == 0 or not np.isfinite(rows).all():
            raise ShapeError("com_reference: finite numbers are needed, a row or more")
        steps = whole_steps(period, self.dt, "reference period")
        self._rollout.prepare_again()
        self._rollout.watch.measure(rows, steps)

    def run(
        self,
        controller: FleetController,
        seconds: float,
        *,
        measure_period: float = MEASURE_PERIOD,
    ) -> FleetResults:
        """Let a controller on the device command all robots.

        Args:
            controller: Function of states and command, called once in a control period;
                writes into the command's arrays, or returns arrays of its own.
            seconds: How long.
            measure_period: How often contacts, CoM and falls are looked at [s].
        """
        self._move_by("step")
        period = self.control_steps * self.dt
        periods = whole_steps(seconds, period, "duration")
        every = max(round(measure_period / period), 1)
        if not self._rollout.watch.measuring:
            self.measure()
        for number in range(1, periods + 1):
            answer = controller(self.state, self.command)
            if answer is not None:
                self.set_command(answer)
            self.step(contacts=number % every == 0 or number == periods)
        return self.results()

    def results(self) -> FleetResults:
        """Return what was measured since :meth:`measure`, to the host."""
        watch = self._rollout.watch
        if not watch.measuring:
            raise EquipoiseError("nothing was measured: call measure before moving")
        steps = np.asarray(watch.clock.numpy(), dtype=np.float64)
        return FleetResults(self.dt * steps, self.stopped, *watch.measured())

    @property
    def stopped(self) -> tuple[StoppedRobot, ...]:
        """Robots that fell or diverged, with time and reason."""
        return tuple(
            StoppedRobot(
                item.robot,
                self.dt * item.steps,
                REASONS[item.why],
                stop_text(self.world, item, self.dt, self.count),
            )
            for item in self._rollout.watch.stopped(self._rollout.program.schedule)
        )

    def advance(self, commands: Command, every: int = 1) -> FleetTrace:
        """Do one step for each row of commands, and return every n-th state.

        Robots that fall or diverge are stopped (:attr:`stopped`); the others go on.
        Falls are looked for in the states returned.

        Args:
            commands: Arrays of shape (steps, nv - 6), the same for all robots, or
                (steps, n, nv - 6).
            every: How many steps lie between states; divides their number.
        """
        commanded = _table(self.world, self.count, commands)
        steps = len(commanded)
        check_every(every, steps)
        self._move_by("advance")
        table = self._with_history(commanded)
        rows = self._rollout.advance(tuple(np.moveaxis(table, -1, 0)), steps, every)
        self._rollout.write_last(rows)
        first = self._steps
        self._steps += steps
        done = np.arange(first + every, self._steps + 1, every, dtype=np.float64)
        return self._trace(done * self.dt, rows)

    def _move_by(self, method: str) -> None:
        """Refuse to move before a reset; commands that wait are one method's own."""
        if self._steps < 0:
            raise EquipoiseError("reset the fleet before moving it")
        if len(self._waiting) and self._moved_by not in ("", method):
            raise EquipoiseError(
                f"a fleet with delays that was moved by {self._moved_by} has commands "
                f"waiting that {method} does not see: use one of them, or reset first"
            )
        self._moved_by = method

    def _with_history(self, commanded: Array) -> Array:
        """Return commands after those that delays keep waiting; one row if held."""
        waiting = len(self._waiting)
        if waiting == 0:
            return commanded[:1] if (commanded == commanded[:1]).all() else commanded
        own = np.broadcast_to(commanded, (len(commanded), *self._waiting.shape[1:]))
        table = np.concatenate([self._waiting, own])
        self._waiting = table[len(table) - waiting :]
        return table

    def _trace(self, time: Array, rows: Any) -> FleetTrace:
        robot, boxes = self.world.robot, len(self.world.boxes)
        parts = [
            np.swapaxes(np.array(getattr(rows, name).numpy(), np.float64), 0, 1)
            for name in ("q", "v", "a", "torque", "position", "force")
        ]
        q, v, a, torque, position, force = parts
        return FleetTrace(
            time,
            q[..., : robot.nq],
            v[..., : robot.nv],
            a[..., : robot.nv],
            torque[..., : robot.nv - 6],
            position,
            force,
            q[..., robot.nq :].reshape(*q.shape[:2], boxes, 7),
        )


def fall_limits(world: World, variation: Variation | None, upright: Array) -> Array:
    """Return what a fall of each robot is, as kernels take it, shape (n, 4).

    Args:
        world: The robot and all that it meets.
        variation: How the robots differ, checked.
        upright: Configurations in which they are upright, shape (n, nq).
    """
    variation = variation or Variation()
    centre = variation.centres_of_mass(world.robot, upright)
    terrains = variation.terrain
    if terrains is None:
        ground = world.terrain.height(centre[:, 0], centre[:, 1])
    else:
        ground = np.array(
            [
                float(terrain.height(x, y))
                for terrain, (x, y, _) in zip(terrains, centre, strict=True)
            ]
        )
    lowest = FALLEN_HEIGHT * (centre[:, 2] - ground)
    return np.hstack([vertical_in_base(upright[:, 3:7]), lowest[:, None]])


def _table(world: World, count: int, commands: Command) -> Array:
    """Return commands as one table, shape (steps, n or 1, nv - 6, 3).

    Raises:
        ShapeError: If a shape is wrong or a value is not finite, naming which.
    """
    parts = [np.asarray(part, dtype=np.float64) for part in commands]
    if len({part.shape for part in parts}) != 1:
        raise ShapeError(
            "commands: position, velocity and torque have shapes "
            + ", ".join(str(part.shape) for part in parts)
        )
    commanded = np.stack(parts, axis=-1)
    if commanded.ndim == 3:
        commanded = commanded[:, None]
    joints = world.robot.nv - 6
    if commanded.shape[1:] not in ((1, joints, 3), (count, joints, 3)):
        raise ShapeError(
            f"commands have shape {commanded.shape[:-1]}; (steps, {joints}) or "
            f"(steps, {count}, {joints}) is needed"
        )
    if not np.isfinite(commanded).all():
        row, who, joint, part = np.argwhere(~np.isfinite(commanded))[0]
        name, value = degree_names(world.robot)[joint], commanded[row, who, joint, part]
        raise ShapeError(
            f"commands: {Command._fields[part]} of '{name}' is {value} in row {row}"
        )
    return commanded


def _one_each(
    name: str,
    rows: Array,
    count: int,
    robots: Sequence[int] | None,
    which: NDArray[np.int32],
) -> Array:
    """Return a row for each of ``which``, the robots named in increasing order."""
    rows = np.atleast_2d(rows)
    if robots is not None and len(rows) == len(robots) != 1:
        placed = np.zeros((len(which), rows.shape[1]))
        placed[np.searchsorted(which, robots)] = rows
        return placed
    if len(rows) not in (1, count):
        some = "" if robots is None else f", {len(robots)}"
        raise ShapeError(f"{name} has {len(rows)} rows; 1{some} or {count} are needed")
    if len(rows) == 1:
        return np.broadcast_to(rows, (len(which), rows.shape[1]))
    return np.asarray(rows[which])
