"""Worlds in motion: state on a device, many steps a launch, records back.

What this module is given is plain arrays; what they mean is the business of the room
that simulates.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import warp as wp

from equipoise.kernels.ground import GroundArrays, upload_ground
from equipoise.kernels.joints import FLOATING
from equipoise.kernels.lane_memory import RECORDS
from equipoise.kernels.lane_state import read_motion, state_in_lanes
from equipoise.kernels.lanes import make_lanes
from equipoise.kernels.once import lock
from equipoise.kernels.program import Floats, SideBySide, make_program, working_memory
from equipoise.kernels.runtime import lane_width, launch, thread_count
from equipoise.kernels.scene import Ints, PointArrays, PushArrays, Scene
from equipoise.kernels.touch import WORK
from equipoise.kernels.tree import TreeArrays


class Record(NamedTuple):
    """What is known of n robots at m times.

    Attributes:
        q: Configurations, shape (m, n, nq).
        v: Velocities, shape (m, n, nv).
        a: Accelerations of the last step, shape (m, n, nv).
        effort: Of drives, zero for free bodies, shape (m, n, nv).
        force: On points in the last step [N], shape (m, n, npoints, 3).
    """

    q: Floats
    v: Floats
    a: Floats
    effort: Floats
    force: Floats


class Failure(NamedTuple):
    """A world that left all bounds.

    Attributes:
        robot: Which of the batch.
        step: After how many steps of the last call.
        body: Which body was worst.
    """

    robot: int
    step: int
    body: int


class _Share(NamedTuple):
    """What one thread of the CPU, or the GPU, works on and with."""

    threads: int
    world: Any
    memory: tuple[wp.array[Any], wp.array[Any], wp.array[Any]]


class _Results(NamedTuple):
    """Where a launch writes to: records, forces on points, failures."""

    record: wp.array[Any]
    force: wp.array[Any]
    failure: wp.array[Any]


class Rollout:
    """Robots of one kind, each in its own copy of one world."""

    def __init__(
        self,
        tree: TreeArrays,
        nq: int,
        robots: int,
        drives: Mapping[int, Floats],
        points: PointArrays,
        pushes: PushArrays,
        ground: GroundArrays,
        *,
        dt: float,
        gravity: float,
        scalar: Any,
        device: wp.Device,
        effect: Any = None,
        threads: int = 1,
    ) -> None:
        """Lay everything out on a device.

        Args:
            tree: The robot's bodies, then boxes.
            nq: Length of a configuration, boxes included.
            robots: How many there are.
            drives: Of joints, by slot of ``articulated``, each (nbodies, 3).
            points: What can touch.
            pushes: Forces from outside.
            ground: What all stand on.
            dt: Time step [s].
            gravity: Downwards [m/s²].
            scalar: Warp's number type.
            device: Where to compute.
            effect: Warp function of (time, joint, position, velocity) that returns an
                effort to add, or None.
            threads: Of the CPU, among which robots are shared out.
        """
        self.nq, self.robots, self.steps = nq, robots, 0
        width = lane_width(device, scalar)
        side_by_side: SideBySide = "robots" if robots >= width > 1 else "limbs"
        self.program = make_program(tree, scalar, device, side_by_side, drives)
        self.blocks = self.program.blocks(robots)
        self._device, self._number = device, wp.dtype_to_numpy(scalar)
        self._vector = make_lanes(scalar, width).Lanes3
        self._hinges = np.flatnonzero(tree.kind != FLOATING)
        scene = Scene(self.program, effect)
        self._kernels = scene.kernels
        self._ground = upload_ground(ground, scalar, device)
        self._npoints = len(points.body)
        self._points = scene.points(points, self.blocks)
        count = 1 if device.is_cuda else max(min(threads, self.blocks), 1)
        edges = [self.blocks * part // count for part in range(count + 1)]
        self._shares = []
        for first, last in itertools.pairwise(edges):
            world = scene.world(pushes, dt, gravity)
            world.first_block, world.blocks = first, last
            self._shares.append(self._share(world, thread_count(device, last - first)))
        self._state = self._on_device(np.zeros((0, 0, 0, 3, width)))
        self._nothing_added = self._added(np.zeros((1, tree.nv)))
        self._results: dict[int, _Results] = {}

    def _share(self, world: Any, threads: int) -> _Share:
        with lock:
            scratch, raw = working_memory(self.program, threads)
            notes = wp.zeros(
                (max(self._points.count, 1), WORK, threads),
                dtype=self._kernels.vec3,
                device=self._device,
            )
        return _Share(threads, world, (scratch, raw, notes))

    def reset(self, q: Floats, v: Floats) -> None:
        """Put the robots somewhere, at time zero.

        Args:
            q: Configurations, shape (robots, nq).
            v: Velocities, shape (robots, nv).
        """
        self._state = self._on_device(state_in_lanes(self.program, q, v))
        self._points.state.zero_()
        self.steps = 0

    def advance(
        self, commands: Floats, steps: int, every: int, added: Floats | None = None
    ) -> tuple[Record, list[Failure]]:
        """Do steps.

        Args:
            commands: Position, velocity and effort of joints, shape (steps or 1,
                robots or 1, nv, 3); rows of free bodies do not matter.
            steps: How many.
            every: How many steps lie between records; divides ``steps``.
            added: Forces that nobody commanded, the same in all steps, shape (robots
                or 1, nv): of the base in world axes at its origin, and of joints.

        Returns:
            Records, and worlds that left all bounds, whose records mean nothing.
        """
        tree = self.program.tree
        moving = np.zeros((*commands.shape[:2], len(tree.parent), 3), self._number)
        moving[:, :, self._hinges] = commands[:, :, tree.idx_v[self._hinges]]
        told = self._on_device(self.program.in_lanes(moving))
        given = self._nothing_added if added is None else self._added(added)
        results = self._room_for(steps // every)

        def work(share: _Share) -> None:
            world = share.world
            world.start, world.steps, world.every = self.steps, steps, every
            inputs = [
                self.program.struct,
                world,
                self._points,
                self._ground,
                told,
                given,
                self._state,
                *share.memory,
                *results,
            ]
            launch(self._kernels.advance, share.threads, inputs, self._device)

        if len(self._shares) == 1:
            work(self._shares[0])
        else:
            with ThreadPoolExecutor(len(self._shares)) as pool:
                list(pool.map(work, self._shares))
        self.steps += steps
        return self._read(results, steps // every), self._failures(results)

    def _added(self, added: Floats) -> wp.array[Any]:
        """Lay out forces that nobody commanded."""
        tree = self.program.tree
        extra = np.zeros((len(added), len(tree.parent), 6))
        extra[:, 1] = added[:, :6]
        extra[:, self._hinges, 0] = added[:, tree.idx_v[self._hinges]]
        laid = self.program.in_lanes(extra)
        return self._on_device(laid.reshape(*laid.shape[:2], 2, 3, self.program.width))

    def _room_for(self, rows: int) -> _Results:
        """Return where so many records go; for one record always the same place."""
        if rows in self._results:
            self._results[rows].failure.zero_()
            return self._results[rows]
        device, vec3 = self._device, self._kernels.vec3
        many = rows * self.blocks
        with lock:
            room = _Results(
                wp.zeros(
                    (many, self.program.schedule.groups, RECORDS),
                    dtype=self._vector,
                    device=device,
                ),
                wp.zeros((many, self._points.count), dtype=vec3, device=device),
                wp.zeros((self.blocks, 3), dtype=wp.int32, device=device),
            )
        if rows == 1:
            self._results[rows] = room
        return room

    def _read(self, results: _Results, rows: int) -> Record:
        program, robots = self.program, self.robots
        groups, width = program.schedule.groups, program.width
        record = results.record.numpy()
        split = record.reshape(rows, self.blocks, groups, -1, width)
        motion = read_motion(program, split, robots, self.nq)
        copies = program.schedule.robots
        force = results.force.numpy()
        force = force.reshape(rows, self.blocks, self._npoints, copies, 3)
        force = np.moveaxis(force, 3, 2).copy()  # the room is used again
        force = force.reshape(rows, self.blocks * copies, self._npoints, 3)
        return Record(*motion, force[:, :robots])

    def _failures(self, results: _Results) -> list[Failure]:
        schedule = self.program.schedule
        failure: Ints = results.failure.numpy()
        found = []
        for block in np.flatnonzero(failure[:, 0]):
            step, group, lane = (int(value) for value in failure[block])
            robot = int(block) * schedule.robots + int(schedule.robot[group, lane])
            robot = min(robot, self.robots - 1)
            found.append(Failure(robot, step, int(schedule.body[group, lane])))
        return found

    def _on_device(self, values: Floats) -> wp.array[Any]:
        """Return vectors in lanes on the device, memory of their own."""
        rows = np.ascontiguousarray(values, dtype=self._number)
        with lock:
            return wp.array(
                rows, dtype=self._vector, device=self._device, copy=self._device.is_cuda
            )
