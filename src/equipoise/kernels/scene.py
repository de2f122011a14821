"""What surrounds robots, on a device: points that touch, blocks, outside forces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import NDArray

from equipoise.kernels.advance import make_advance
from equipoise.kernels.bodies import FLOATING
from equipoise.kernels.contact import GROUND, STATE
from equipoise.kernels.once import lock
from equipoise.kernels.program import Floats, LaneProgram, by_block, zeros_by_block
from equipoise.kernels.stepper import TRIES

Ints = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class PointArrays:
    """Points that can touch, and blocks that they can touch beside the ground.

    Attributes:
        body: Body of each point, shape (npoints,).
        position: In body coordinates [m], shape (npoints, 3).
        material: Stiffness [N/m], damping [N s/m], static and dynamic friction,
            shape (robots or 1, npoints, 4).
        surface: Number of the block that it may touch, or ``GROUND``, (npoints,).
        block_body: Body that each block is, 0 for fixed ones, shape (nblocks,).
        block_centre: Centre of fixed ones [m], shape (nblocks, 3).
        block_half: Half of the edges [m], shape (nblocks, 3).
        block_yaw: Yaw angle of fixed ones [rad], shape (nblocks,).
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
        force: In world axes [N], shape (robots or 1, npushes, 3).
        window: From when to when [s], shape (robots or 1, npushes, 2).
    """

    body: Ints
    point: Floats
    force: Floats
    window: Floats


class Scene:
    """Puts what surrounds robots on a device, for the lanes of a program.

    Attributes:
        program: The robots' tree in lanes.
        has_effect: Whether there is an effect that a user added.
        kernels: The kernel ``advance`` and its structs.
    """

    def __init__(self, program: LaneProgram, effect: Any) -> None:
        """Find out where bodies are in lanes.

        Args:
            program: The robots' tree in lanes.
            effect: Warp function compiled into the kernel, or None.
        """
        self.program, self.has_effect = program, effect is not None
        self.kernels = make_advance(program.scalar, program.width, effect)
        bodies = range(1, len(program.tree.parent))
        self._robots = range(program.schedule.robots)
        self._place = {
            (body, robot): program.schedule.place_of(body, robot)
            for body in bodies
            for robot in self._robots
        }
        self._root = list(range(len(program.tree.parent)))
        for body in bodies:
            if program.tree.parent[body] != 0:
                self._root[body] = self._root[int(program.tree.parent[body])]

    def points(self, points: PointArrays, blocks: int) -> Any:
        """Return the struct ``Points``, with room for the state of sets of lanes."""
        order = [(k, robot) for k in range(len(points.body)) for robot in self._robots]
        copies = len(self._robots)
        numbers = []
        for k, robot in order:
            body, surface = int(points.body[k]), int(points.surface[k])
            # each robot has its own copy of a block
            numbers.append(
                (
                    *self._place[body, robot],
                    *self._place[self._root[body], robot],
                    surface if surface == GROUND else surface * copies + robot,
                )
            )
        robots, count = points.material.shape[:2]
        figures = np.zeros((robots, count, 3, 3))
        figures[:, :, 0] = self._in_kernel_axes(points.body, points.position)
        figures[:, :, 1:, :2] = points.material.reshape(robots, count, 2, 2)
        count = len(points.block_body)
        block_order = [(n, robot) for n in range(count) for robot in self._robots]
        block_numbers = [
            self._place[int(points.block_body[n]), robot]
            if points.block_body[n]
            else (-1, 0)
            for n, robot in block_order
        ]
        block_figures = np.zeros((count, 3, 3))
        block_figures[:, 0] = np.reshape(points.block_centre, (-1, 3))
        block_figures[:, 1] = np.reshape(points.block_half, (-1, 3))
        block_figures[:, 2, 0] = np.cos(points.block_yaw)
        block_figures[:, 2, 1] = np.sin(points.block_yaw)
        block_figures[:, 2, 2] = points.block_hangs
        vec3 = self.kernels.vec3
        with lock:
            struct = self.kernels.Points()
            struct.count = len(order)
            struct.number = self._array(numbers, wp.int32, 2)
            struct.figure = self._by_block(figures)
            struct.block_number = self._array(block_numbers, wp.int32, 2)
            struct.block_figure = self._array(
                block_figures[[n for n, _ in block_order]], vec3, 2
            )
            struct.state = zeros_by_block(
                blocks, max(len(order), 1), STATE, vec3, self.program.device
            )
        return struct

    def world(self, pushes: PushArrays, dt: float, gravity: float) -> Any:
        """Return the struct ``World``; which steps and lanes is for the caller."""
        schedule, tree = self.program.schedule, self.program.tree
        count = len(pushes.body)
        order = [(k, robot) for k in range(count) for robot in self._robots]
        which = [k for k, _ in order]
        places = [self._place[int(pushes.body[k]), robot] for k, robot in order]
        force = pushes.force[:, :, None]
        window = np.zeros((len(pushes.window), count, 1, 3))
        window[..., :2] = pushes.window[:, :, None]
        boxes = (tree.kind == FLOATING)[schedule.body] & (schedule.body > 1)
        points = self._in_kernel_axes(pushes.body, pushes.point)
        vec3 = self.kernels.vec3
        with lock:
            world = self.kernels.World()
            world.dt, world.gravity, world.tries = dt, gravity, TRIES
            world.robot_groups = schedule.groups - int(boxes.any(axis=1).sum())
            world.pushes = len(order)
            world.effects = int(self.has_effect)
            world.prescribed = int(self.program.prescribed.any())
            world.push_group = self._array([g for g, _ in places], wp.int32)
            world.push_lane = self._array([lane for _, lane in places], wp.int32)
            world.push_point = self._array(points[which], vec3)
            world.push_force = self._by_block(force)
            world.push_time = self._by_block(window)
        return world

    def _by_block(self, values: Floats) -> wp.array[Any]:
        """Return what each of m items of robots has, indexed [block, m × copies, k].

        Args:
            values: Shape (robots or 1, m, k, 3).
        """
        robots, count, k = values.shape[:3]
        copies = len(self._robots)
        if count == 0:
            return by_block(
                np.zeros((1, 1, k, 3)), self.kernels.vec3, self.program.device
            )
        blocks = 1 if robots == 1 else self.program.blocks(robots)
        rows = np.minimum(np.arange(blocks * copies), robots - 1)
        split = values[rows].reshape(blocks, copies, count, k, 3)
        laid = np.moveaxis(split, 1, 2).reshape(blocks, count * copies, k, 3)
        return by_block(laid, self.kernels.vec3, self.program.device)

    def _in_kernel_axes(self, body: Ints, position: Floats) -> Floats:
        rows = np.reshape(position, (-1, 3))
        turned: Floats = np.einsum("nij,ni->nj", self.program.alignment[body], rows)
        return turned

    def _array(self, values: Any, dtype: Any, dimensions: int = 1) -> wp.array[Any]:
        """Return an array that kernels keep; one entry of zeros where there is none."""
        scalar = wp.dtype_to_numpy(self.program.scalar)
        rows = np.asarray(values, dtype=np.int32 if dtype is wp.int32 else scalar)
        device = self.program.device
        if rows.size == 0:
            return wp.zeros((1,) * dimensions, dtype=dtype, device=device)
        return wp.array(np.ascontiguousarray(rows), dtype=dtype, device=device)
