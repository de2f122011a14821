"""Worlds in motion: state on a device, many steps a launch, results in plain layout.

What this module is given is plain arrays; what they mean is the business of the package
that simulates. Results are in Pinocchio's layout, one row a robot, and stay on the
device; on the CPU NumPy sees the same memory.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import warp as wp
from numpy.typing import NDArray

from equipoise.errors import ShapeError
from equipoise.kernels.advance import ALL, FORCES, MOTION, START
from equipoise.kernels.bodies import FLOATING
from equipoise.kernels.contact import NOTHING, SURFACE, WORK
from equipoise.kernels.ground import GroundArrays, upload_ground
from equipoise.kernels.lane_state import state_in_lanes
from equipoise.kernels.lanes import make_lanes
from equipoise.kernels.once import lock
from equipoise.kernels.program import (
    Floats,
    Inertias,
    SideBySide,
    by_block,
    make_program,
    working_memory,
)
from equipoise.kernels.restart import Starts
from equipoise.kernels.rows import BASE_DOF, OUTPUTS, Rows, make_rows
from equipoise.kernels.runtime import Recorded, record, thread_count
from equipoise.kernels.scene import Ints, PointArrays, PushArrays, Scene
from equipoise.kernels.tree import TreeArrays
from equipoise.kernels.watch import Watch

PARTS = ("position", "velocity", "torque")
# Tables of commands that are kept for the next call of the same size.
MOST_TABLES = 4


class _Share(NamedTuple):
    """What one thread of the CPU, or the GPU, works on and with."""

    threads: int
    world: Any
    memory: tuple[wp.array[Any], wp.array[Any], wp.array[Any]]


class _Table(NamedTuple):
    """Launches with a table of commands, prepared for the next of the same size."""

    struct: Any
    commands: tuple[wp.array[Any], ...]
    rows: Rows
    launches: list[Recorded]


class Rollout:
    """Robots of one kind, each in its own world.

    Attributes:
        robots: How many.
        program: The robots' tree in lanes.
        command: What actuators are told, three arrays of shape (rows, n, joints):
            position, velocity, torque. One row holds, the others are those before it.
        newest: Which row of ``command`` holds.
        rows: What is known after the last :meth:`step`.
        delay: From command to actuator [steps], shape (n,) or (1,).
        watch: Falls, divergence, and what is measured.
        starts: Lets some robots begin anew.
    """

    def __init__(
        self,
        tree: TreeArrays,
        nq: int,
        robots: int,
        actuators: Mapping[int, Floats],
        points: PointArrays,
        contacts: int,
        pushes: PushArrays,
        terrains: Sequence[GroundArrays],
        *,
        dt: float,
        gravity: float,
        scalar: Any,
        device: wp.Device,
        side_by_side: SideBySide = "robots",
        inertias: Inertias | None = None,
        terrain_of: Ints | None = None,
        delay: Ints | None = None,
        hold: int = 1,
        effect: Any = None,
        threads: int = 1,
    ) -> None:
        """Lay everything out on a device.

        Args:
            tree: The robot's bodies, then boxes.
            nq: Length of a configuration, boxes included.
            robots: How many there are.
            actuators: Actuators of joints, by slot of ``articulated``, each (nbodies,
                3), or (robots, nbodies, 3) where robots differ.
            points: What can touch.
            contacts: How many of the points are the robot's, on each surface.
            pushes: Forces from outside.
            terrains: What robots stand on.
            dt: Time step [s].
            gravity: Downwards [m/s²].
            scalar: Warp's number type.
            device: Where to compute.
            side_by_side: Limbs of one robot, or whole robots, in lanes.
            inertias: Inertias of robots that differ.
            terrain_of: Which terrain each robot stands on, shape (robots,); the first
                for all unless given.
            delay: From command to actuator [steps], shape (robots,) or (1,).
            hold: For how many steps a row of ``command`` holds.
            effect: Warp function of (time, joint, position, velocity) that returns a
                torque to add, or None.
            threads: Threads of the CPU, among which robots are shared out.
        """
        self.robots, self._nq, self._scalar, self._device = robots, nq, scalar, device
        self._dt = dt
        self.program = make_program(
            tree, scalar, device, side_by_side, actuators, inertias
        )
        self._blocks = self.program.blocks(robots)
        self._number = wp.dtype_to_numpy(scalar)
        self._lanes3 = make_lanes(scalar, self.program.width).Lanes3
        self._hinges = np.flatnonzero(tree.kind != FLOATING)
        self._joints = int(np.sum(tree.idx_v[self._hinges] >= BASE_DOF))
        self._scene = scene = Scene(self.program, effect)
        self._kernels = scene.kernels
        where = np.zeros(1, np.int32) if terrain_of is None else terrain_of
        self._ground = upload_ground(terrains, where, scalar, device)
        self._points = scene.points(points, self._blocks)
        self._contacts = contacts
        # what points may touch while they are not masked
        self._numbers = self._points.number.numpy().copy()
        self._surfaces = surfaces = len(points.block_body) + 1
        count = 1 if device.is_cuda else max(min(threads, self._blocks), 1)
        edges = [self._blocks * part // count for part in range(count + 1)]
        self._shares = []
        self._world = scene.world(pushes, dt, gravity)
        for first, last in itertools.pairwise(edges):
            world = self._copied_world()
            world.first_block, world.blocks, world.robots = first, last, robots
            world.contacts, world.surfaces = contacts, surfaces
            self._shares.append(self._share(world, thread_count(device, last - first)))
        self._pool = ThreadPoolExecutor(count) if count > 1 else None
        self.delay = np.zeros(1, np.int32) if delay is None else delay
        self._hold = hold
        self._history = -(-int(self.delay.max(initial=0)) // hold)
        self._nothing_added = self._added(np.zeros((1, tree.nv)))
        nothing = np.zeros((robots, nq)), np.zeros((robots, tree.nv))
        self._state = by_block(
            state_in_lanes(self.program, *nothing, dt), self._lanes3, device
        )
        self.watch = Watch(self._kernels, robots, scalar, device)
        self.rows = self._make_rows(1)
        self._commands = self._make_commands(self._history + 1, robots, hold)
        self.command = tuple(getattr(self._commands, name) for name in PARTS)
        self.newest = self._history
        self.starts = Starts(
            self.program,
            self._points,
            self._state,
            self.command,
            self.rows,
            self.watch,
            self._laid,
        )
        self._recorded: dict[tuple[int, int, int], list[Recorded]] = {}
        self._tables: dict[tuple[int, ...], _Table] = {}

    def _share(self, world: Any, threads: int) -> _Share:
        with lock:
            scratch, raw = working_memory(self.program, threads)
            notes = wp.zeros(
                (max(self._points.count, 1), WORK, threads),
                dtype=self._kernels.vec3,
                device=self._device,
            )
        return _Share(threads, world, (scratch, raw, notes))

    def _copied_world(self, source: Any = None) -> Any:
        """Return a struct of its own, with the same arrays."""
        with lock:
            world = self._kernels.World()
            for name in self._kernels.World.vars:
                setattr(world, name, getattr(source or self._world, name))
        return world

    @property
    def push_arrays(self) -> tuple[wp.array[Any], wp.array[Any], int]:
        """Forces and windows of pushes on the device, and robots side by side.

        Both are indexed [block, push × robots side by side + lane, 0] and hold vectors,
        of a window (from, to, -). One block is there where all are pushed alike.
        """
        copies = self.program.schedule.robots
        return self._world.push_force, self._world.push_time, copies

    def _make_rows(self, count: int) -> Rows:
        return make_rows(
            count,
            self.robots,
            self._nq,
            self.program.tree.nv,
            self._contacts,
            self._scalar,
            self._kernels.vec3,
            self._device,
        )

    def _make_commands(self, rows: int, robots: int, hold: int) -> Any:
        with lock:
            commands = self._kernels.Commands()
            for name in PARTS:
                array = wp.zeros(
                    (rows, robots, max(self._joints, 1)),
                    dtype=self._scalar,
                    device=self._device,
                )
                setattr(commands, name, array)
            commands.hold = hold
            commands.first = wp.array([rows - 1], dtype=wp.int32, device=self._device)
            commands.delay = wp.array(self.delay, dtype=wp.int32, device=self._device)
        return commands

    def reset(self, q: Floats, v: Floats, held: Floats) -> None:
        """Put all robots somewhere, at time zero.

        Args:
            q: Configurations, shape (robots, nq).
            v: Velocities, shape (robots, nv).
            held: Positions that actuators hold until they are told, (robots, joints).
        """
        self.watch.reset()
        wp.copy(self._state, self._laid(q, v))
        self._points.state.zero_()
        told = np.broadcast_to(held, (self._history + 1, *held.shape))
        self.command[0].assign(np.ascontiguousarray(told, self._number))
        for array in self.command[1:]:
            array.zero_()
        self.newest = self._history
        self._commands.first.fill_(self.newest)

    def _laid(self, q: Floats, v: Floats) -> wp.array[Any]:
        states = state_in_lanes(self.program, q, v, self._dt)
        return by_block(states, self._lanes3, self._device)

    def mask(self, masked: NDArray[np.bool_]) -> None:
        """Let some of the robots' points touch nothing, until this is called again.

        Args:
            masked: Which of them, shape (contacts,); the same for all robots.
        """
        off = np.tile(np.repeat(masked, self.program.schedule.robots), self._surfaces)
        numbers = self._numbers.copy()
        if off.any():
            numbers[np.flatnonzero(off), SURFACE] = NOTHING
        self._points.number.assign(numbers)

    def set_command(self, command: Sequence[Any]) -> None:
        """Copy position, velocity and torque into the newest row of ``command``.

        Args:
            command: Arrays of shape (n, joints) or (joints,), on the host or by DLPack.
        """
        if self._joints == 0:
            return
        for name, array, values in zip(PARTS, self.command, command, strict=True):
            target = array[self.newest]
            if isinstance(values, np.ndarray) or not hasattr(values, "__dlpack__"):
                try:
                    rows = np.asarray(values, dtype=self._number)
                except (TypeError, ValueError) as error:
                    raise ShapeError(
                        f"command: {name} is not an array of numbers"
                    ) from error
                if rows.shape not in (target.shape, target.shape[1:]):
                    raise ShapeError(
                        f"command: {name} has shape {rows.shape}; "
                        f"{tuple(target.shape)} or {tuple(target.shape[1:])} is needed"
                    )
                wide = np.broadcast_to(rows, target.shape)
                target.assign(np.ascontiguousarray(wide))
                continue
            source: Any = values
            if not isinstance(values, wp.array):
                source = wp.from_dlpack(values)
            if source.shape != target.shape or source.dtype is not self._scalar:
                raise ShapeError(
                    f"command: {name} has shape {tuple(source.shape)} and type "
                    f"{source.dtype.__name__}; {tuple(target.shape)} and "
                    f"{self._scalar.__name__} are needed"
                )
            wp.copy(target, source)

    def prepare_again(self) -> None:
        """Forget launches that were prepared, after a change of what is watched."""
        self._recorded.clear()
        self._tables.clear()

    def step(
        self, steps: int, contacts: bool = True, forces: bool = False, since: int = 0
    ) -> None:
        """Do steps with the commands that are there; results go to ``rows``.

        Args:
            steps: How many; the command holds for them.
            contacts: Whether contacts and CoM are written, and falls looked for.
            forces: Whether contact forces are written in any case.
            since: For how many steps before these the command has held.
        """
        report = ALL if contacts else FORCES if forces else MOTION
        key = (steps, report, since)
        if key not in self._recorded:
            self._recorded[key] = [
                self._record(
                    share,
                    steps,
                    report,
                    steps,
                    self._commands,
                    None,
                    self.rows,
                    since,
                )
                for share in self._shares
            ]
        self._run(self._recorded[key])

    def write_start(self) -> None:
        """Write states of robots at time zero to ``rows``, before their first step."""
        key = (0, START, 0)
        if key not in self._recorded:
            self._recorded[key] = [
                self._record(share, 0, START, 1, self._commands, None, self.rows)
                for share in self._shares
            ]
        self._run(self._recorded[key])

    def write_last(self, rows: Rows) -> None:
        """Copy the last of rows that :meth:`advance` returned to ``rows``."""
        for name in OUTPUTS:
            target = getattr(self.rows, name)
            if target.size:
                wp.copy(target, getattr(rows, name)[-1:])

    @property
    def first(self) -> Any:
        """Number of the row of ``command`` that holds, on the device, shape (1,)."""
        return self._commands.first

    def shift(self, copied: bool = True) -> None:
        """Begin a new row of ``command``, which is as the one before until changed.

        Args:
            copied: Whether it is; one that will be written anew need not be.
        """
        if self._history == 0:
            return
        before, self.newest = self.newest, (self.newest + 1) % (self._history + 1)
        for array in self.command if copied else ():
            wp.copy(array[self.newest], array[before])
        self._commands.first.fill_(self.newest)

    def advance(
        self,
        commands: tuple[Floats, Floats, Floats],
        steps: int,
        every: int,
        added: Floats | None = None,
    ) -> Rows:
        """Do steps with a table of commands.

        Args:
            commands: Position, velocity and torque, shape (rows, robots or 1, joints)
                each: one row for all steps, or one for each step, after as many as the
                longest delay.
            steps: How many.
            every: How many steps lie between rows; divides ``steps``.
            added: Forces that nobody commanded, the same in all steps, shape (robots
                or 1, nv): of the base in world axes at its origin, and of joints.

        Returns:
            Rows that the next call may use again.
        """
        key = (steps, every, *commands[0].shape[:2])
        table = self._tables.pop(key, None) or self._table(*key)
        self._tables[key] = table  # the newest last
        while len(self._tables) > MOST_TABLES:
            del self._tables[next(iter(self._tables))]
        if self._joints:
            for array, values in zip(table.commands, commands, strict=True):
                array.assign(np.ascontiguousarray(values, self._number))
        launches = table.launches
        if added is not None:
            given = self._added(added)
            launches = [
                self._record(share, steps, ALL, every, table.struct, given, table.rows)
                for share in self._shares
            ]
        self._run(launches)
        return table.rows

    def _table(self, steps: int, every: int, rows: int, robots: int) -> _Table:
        """Prepare launches with tables of commands of so many rows and robots."""
        held = rows == 1  # one row for all steps, whatever the delay
        struct = self._make_commands(rows, robots, steps + 1 if held else 1)
        with lock:
            struct.first = wp.array(
                [0 if held else rows - steps], dtype=wp.int32, device=self._device
            )
            if held:
                struct.delay = wp.zeros(1, dtype=wp.int32, device=self._device)
        results = self._make_rows(steps // every)
        launches = [
            self._record(share, steps, ALL, every, struct, None, results)
            for share in self._shares
        ]
        commands = tuple(getattr(struct, name) for name in PARTS)
        return _Table(struct, commands, results, launches)

    def _record(
        self,
        share: _Share,
        steps: int,
        report: int,
        every: int,
        commands: Any,
        added: wp.array[Any] | None,
        rows: Rows,
        since: int = 0,
    ) -> Recorded:
        """Prepare a launch of so many steps."""
        with lock:
            outputs = self._kernels.Outputs()
            for name in OUTPUTS:
                setattr(outputs, name, getattr(rows, name))
            # a prepared launch looks at its structs again each time
            world = self._copied_world(share.world)
            world.steps, world.every, world.report = steps, every, report
            world.since = since
            inputs = [
                self.program.struct,
                world,
                self._points,
                self._ground,
                commands,
                self._nothing_added if added is None else added,
                self._state,
                *share.memory,
                outputs,
                self.watch.struct,
            ]
            return record(self._kernels.advance, share.threads, inputs, self._device)

    def _run(self, launches: list[Recorded]) -> None:
        if self._pool is None:
            launches[0].run()
        else:
            list(self._pool.map(Recorded.run, launches))

    def _added(self, added: Floats) -> wp.array[Any]:
        """Lay out forces that nobody commanded."""
        tree = self.program.tree
        extra = np.zeros((len(added), len(tree.parent), 6))
        extra[:, 1] = added[:, :6]
        extra[:, self._hinges, 0] = added[:, tree.idx_v[self._hinges]]
        return by_block(self.program.in_lanes(extra), self._lanes3, self._device)
