"""Worlds in motion: state on a device, many steps a launch, records back.

What this module is given is plain arrays; what they mean is the business of the room
that simulates.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import warp as wp
from numpy.typing import NDArray

from equipoise.kernels.ground import GroundArrays, upload_ground
from equipoise.kernels.joints import FLOATING
from equipoise.kernels.lane_state import STATES, read_motion, state_in_lanes
from equipoise.kernels.lanes import make_lanes
from equipoise.kernels.once import lock
from equipoise.kernels.program import Floats, SideBySide, make_program, working_memory
from equipoise.kernels.runtime import MAX_CUDA_THREADS, lane_width, launch
from equipoise.kernels.stepper import RECORDS, TRIES, make_stepper
from equipoise.kernels.touch import GROUND, STATE, WORK
from equipoise.kernels.tree import TreeArrays

Ints = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class PointArrays:
    """Points that can touch, and blocks that they can touch beside the ground.

    Attributes:
        body: Of each point, shape (npoints,).
        position: In body coordinates [m], shape (npoints, 3).
        material: Stiffness [N/m], damping [N s/m], static and dynamic friction,
            shape (npoints, 4).
        surface: Number of the block that it may touch, or ``GROUND``, (npoints,).
        block_body: Body that each block is, 0 for fixed ones, shape (nblocks,).
        block_centre: Of fixed ones [m], shape (nblocks, 3).
        block_half: Half of the edges [m], shape (nblocks, 3).
        block_yaw: Of fixed ones [rad], shape (nblocks,).
        block_hangs: Whether fixed ones can be touched from below, shape (nblocks,).
    """

    body: Ints
    position: Floats
    material: Floats
    surface: Ints
    block_body: Ints
    block_centre: Floats
    block_half: Floats
    block_yaw: Floats
    block_hangs: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class PushArrays:
    """Forces from outside.

    Attributes:
        body: That they act on, shape (npushes,).
        point: Where, in body coordinates [m], shape (npushes, 3).
        force: In world axes [N], shape (npushes, 3).
        window: From when to when [s], shape (npushes, 2).
    """

    body: Ints
    point: Floats
    force: Floats
    window: Floats


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
        self.nq, self.robots, self.scalar, self.device = nq, robots, scalar, device
        self._number = wp.dtype_to_numpy(scalar)
        width = lane_width(device, scalar)
        side_by_side: SideBySide = "robots" if robots >= width > 1 else "limbs"
        self.program = make_program(tree, scalar, device, side_by_side, drives)
        self.blocks = self.program.blocks(robots)
        self.kernels = make_stepper(scalar, width, effect)
        self._ground = upload_ground(ground, scalar, device)
        self._npoints = len(points.body)
        copies = self.program.schedule.robots
        self._place = {
            (int(body), robot): self.program.schedule.place_of(int(body), robot)
            for body in range(1, len(tree.parent))
            for robot in range(copies)
        }
        self._root = _roots(tree.parent)
        self._points = self._upload_points(points)
        self._world = self._upload_world(pushes, dt, gravity)
        self._threads = min(threads, self.blocks)
        groups = self.program.schedule.groups
        self.state = np.zeros((self.blocks, groups, STATES, 3, width), self._number)
        self.steps = 0
        self._scratch = [self._make_scratch() for _ in range(max(self._threads, 1))]

    def reset(self, q: Floats, v: Floats) -> None:
        """Put the robots somewhere, at time zero.

        Args:
            q: Configurations, shape (robots, nq).
            v: Velocities, shape (robots, nv).
        """
        self.state[:] = state_in_lanes(self.program, q, v)
        if self.device.is_cuda:
            self._state_array = self._array(self.state, self._vector)
        self._points.state.zero_()
        self.steps = 0

    @property
    def _vector(self) -> Any:
        return make_lanes(self.scalar, self.program.width).Lanes3

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
        hinges = np.flatnonzero(tree.kind != FLOATING)
        moving[:, :, hinges] = commands[:, :, tree.idx_v[hinges]]
        extra = np.zeros((1 if added is None else len(added), len(tree.parent), 6))
        if added is not None:
            extra[:, 1] = added[:, :6]
            extra[:, hinges, 0] = added[:, tree.idx_v[hinges]]
        rows = steps // every
        groups, width = self.program.schedule.groups, self.program.width
        shape = (rows * self.blocks, groups, RECORDS, 3, width)
        record = np.zeros(shape, self._number)
        touched = np.zeros((rows * self.blocks, self._points.count, 3), self._number)
        failure = np.zeros((self.blocks, 3), np.int32)
        with lock:
            told = self._array(self.program.in_lanes(moving), self._vector)
            laid = self.program.in_lanes(extra)
            given = self._array(
                laid.reshape(*laid.shape[:2], 2, 3, width), self._vector
            )
            kept = self._array(record, self._vector)
            contact = self._array(touched, self.kernels.vec3)
            failed = self._array(failure, wp.int32)
            state = (
                self._state_array
                if self.device.is_cuda
                else self._array(self.state, self._vector)
            )
        self._world.start = self.steps
        self._world.steps, self._world.every = steps, every

        def work(part: int) -> None:
            with lock:
                world = self._part_of_world(part)
            threads, scratch, raw, notes = self._scratch[part]
            launch(
                self.kernels.advance,
                threads,
                [
                    self.program.struct,
                    world,
                    self._points,
                    self._ground,
                    told,
                    given,
                    state,
                    scratch,
                    raw,
                    notes,
                    kept,
                    contact,
                    failed,
                ],
                self.device,
            )

        parts = range(max(self._threads, 1))
        if len(parts) == 1:
            work(0)
        else:
            with ThreadPoolExecutor(len(parts)) as pool:
                list(pool.map(work, parts))
        self.steps += steps
        if self.device.is_cuda:
            record, touched = kept.numpy(), contact.numpy()
            failure = failed.numpy()
            record = record.reshape(shape)
        return self._read(record, touched, rows), self._failures(failure)

    def _read(self, record: Floats, touched: Floats, rows: int) -> Record:
        program, robots = self.program, self.robots
        split = record.reshape(rows, self.blocks, record.shape[1], -1, program.width)
        motion = read_motion(program, split, robots, self.nq)
        copies = program.schedule.robots
        force = touched.reshape(rows, self.blocks, self._npoints, copies, 3)
        force = np.moveaxis(force, 3, 2)
        force = force.reshape(rows, self.blocks * copies, self._npoints, 3)
        return Record(*motion, force[:, :robots])

    def _failures(self, failure: Ints) -> list[Failure]:
        schedule = self.program.schedule
        found = []
        for block in np.flatnonzero(failure[:, 0]):
            step, group, lane = (int(value) for value in failure[block])
            robot = int(block) * schedule.robots + int(schedule.robot[group, lane])
            robot = min(robot, self.robots - 1)
            found.append(Failure(robot, step, int(schedule.body[group, lane])))
        return found

    def _array(self, values: Any, dtype: Any) -> wp.array[Any]:
        number = np.int32 if dtype is wp.int32 else self._number
        row = np.ascontiguousarray(values, dtype=number)
        return wp.array(row, dtype=dtype, device=self.device, copy=self.device.is_cuda)

    def _make_scratch(self) -> tuple[int, Any, Any, Any]:
        """Return threads, working memory, the same as numbers, notes on points."""
        threads = min(self.blocks, MAX_CUDA_THREADS) if self.device.is_cuda else 1
        with lock:
            scratch, raw = working_memory(self.program, threads)
            notes = wp.zeros(
                (max(self._points.count, 1), WORK, threads),
                dtype=self.kernels.vec3,
                device=self.device,
            )
        return threads, scratch, raw, notes

    def _part_of_world(self, part: int) -> Any:
        """Return the world with the share of blocks that one thread works on."""
        world = self.kernels.World()
        for name in self.kernels.World.vars:
            setattr(world, name, getattr(self._world, name))
        edges = np.linspace(0, self.blocks, max(self._threads, 1) + 1).astype(int)
        world.first_block, world.blocks = int(edges[part]), int(edges[part + 1])
        return world

    def _upload_points(self, points: PointArrays) -> Any:
        copies = self.program.schedule.robots
        order = [(k, robot) for k in range(len(points.body)) for robot in range(copies)]
        alignment = self.program.alignment
        local = np.einsum(
            "nij,ni->nj", alignment[points.body], np.reshape(points.position, (-1, 3))
        )
        places = [self._place[int(points.body[k]), robot] for k, robot in order]
        roots = [self._place[self._root[int(points.body[k])], r] for k, r in order]
        number = [k for k, _ in order]
        blocks = len(points.block_body)
        # a block's own number is repeated for each robot side by side
        surface = [
            GROUND
            if points.surface[k] == GROUND
            else int(points.surface[k]) * copies + robot
            for k, robot in order
        ]
        block_order = [(b, robot) for b in range(blocks) for robot in range(copies)]
        block_places = [
            self._place[int(points.block_body[b]), robot]
            if points.block_body[b]
            else (-1, 0)
            for b, robot in block_order
        ]
        which = [b for b, _ in block_order]
        yaw = np.zeros((blocks, 3))
        yaw[:, 0], yaw[:, 1] = np.cos(points.block_yaw), np.sin(points.block_yaw)
        yaw[:, 2] = points.block_hangs
        types = self.kernels
        with lock:
            struct = types.Points()
            struct.count = len(order)
            material = np.zeros((len(points.body), 2, 3))
            material[:, :, :2] = np.reshape(points.material, (-1, 2, 2))
            struct.number = self._owned(
                [(*places[n], *roots[n], surface[n]) for n in range(len(order))],
                wp.int32,
                2,
            )
            figures = np.concatenate([local[:, None], material], axis=1)
            struct.figure = self._owned(figures[number], types.vec3, 2)
            struct.block_number = self._owned(block_places, wp.int32, 2)
            figures = np.stack(
                [
                    np.reshape(points.block_centre, (-1, 3)),
                    np.reshape(points.block_half, (-1, 3)),
                    yaw,
                ],
                axis=1,
            )
            struct.block_figure = self._owned(figures[which], types.vec3, 2)
            struct.state = wp.zeros(
                (self.blocks, max(len(order), 1), STATE),
                dtype=types.vec3,
                device=self.device,
            )
        return struct

    def _upload_world(self, pushes: PushArrays, dt: float, gravity: float) -> Any:
        copies = self.program.schedule.robots
        tree = self.program.tree
        order = [(k, robot) for k in range(len(pushes.body)) for robot in range(copies)]
        number = [k for k, _ in order]
        places = [self._place[int(pushes.body[k]), robot] for k, robot in order]
        local = np.einsum(
            "nij,ni->nj",
            self.program.alignment[pushes.body],
            np.reshape(pushes.point, (-1, 3)),
        )
        window = np.zeros((len(pushes.body), 3))
        window[:, :2] = np.reshape(pushes.window, (-1, 2))
        schedule = self.program.schedule
        joint = np.where(tree.kind == FLOATING, -1, tree.idx_v - 6)
        joint[0] = -1
        free = (tree.kind == FLOATING)[schedule.body] & (schedule.body > 1)
        boxes = int(free.any(axis=1).sum())
        vec3 = self.kernels.vec3
        with lock:
            world = self.kernels.World()
            world.dt, world.gravity = dt, gravity
            world.robot_groups = schedule.groups - boxes
            world.first_block, world.blocks = 0, self.blocks
            world.pushes = len(order)
            world.tries = TRIES
            world.push_group = self._owned([g for g, _ in places], wp.int32)
            world.push_lane = self._owned([lane for _, lane in places], wp.int32)
            world.push_point = self._owned(local[number], vec3)
            world.push_force = self._owned(
                np.reshape(pushes.force, (-1, 3))[number], vec3
            )
            world.push_time = self._owned(window[number], vec3)
            world.joint_of = self._owned(joint[schedule.body], wp.int32, 2)
        return world

    def _owned(self, values: Any, dtype: Any, dimensions: int = 1) -> wp.array[Any]:
        """Return an array that kernels keep; one entry of zeros where there is none."""
        number = np.int32 if dtype is wp.int32 else self._number
        rows = np.asarray(values, dtype=number)
        if rows.size == 0:
            return wp.zeros((1,) * dimensions, dtype=dtype, device=self.device)
        return wp.array(np.ascontiguousarray(rows), dtype=dtype, device=self.device)


def _roots(parent: Ints) -> list[int]:
    """Return the floating body that each body hangs on in the end."""
    root = list(range(len(parent)))
    for body in range(1, len(parent)):
        if parent[body] != 0:
            root[body] = root[int(parent[body])]
    return root
