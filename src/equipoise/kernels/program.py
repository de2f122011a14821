"""A tree of bodies, laid out in groups of lanes on a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import warp as wp
from numpy.typing import NDArray

from equipoise.errors import EquipoiseError
from equipoise.kernels import articulated as at
from equipoise.kernels.articulated import (
    FREE,
    HINGE,
    PARAMETERS,
    SLOTS,
    make_articulated,
)
from equipoise.kernels.joints import FLOATING, HELICAL, PRISMATIC, SPHERICAL
from equipoise.kernels.lanes import make_lanes
from equipoise.kernels.once import lock
from equipoise.kernels.runtime import lane_width
from equipoise.kernels.schedule import (
    EMPTY,
    Schedule,
    limbs_side_by_side,
    robots_side_by_side,
)
from equipoise.kernels.tree import TreeArrays, in_kernel_axes

Floats = NDArray[np.floating[Any]]
SideBySide = Literal["limbs", "robots"]
# Stands for a limit that is not there; in kernels infinity times zero is no number.
UNLIMITED = 1e30


@dataclass(frozen=True, eq=False)
class LaneProgram:
    """A tree in groups of lanes on a device.

    Attributes:
        struct: What kernels get.
        schedule: Which body is where.
        tree: The bodies.
        scalar: Warp's number type.
        device: Where the arrays are.
        alignment: Maps kernel axes of each body to its own, (nbodies, 3, 3).
    """

    struct: Any
    schedule: Schedule
    tree: TreeArrays
    scalar: Any
    device: wp.Device
    alignment: NDArray[np.float64]

    @property
    def width(self) -> int:
        """How many lanes there are."""
        return self.schedule.width

    def blocks(self, robots: int) -> int:
        """Return how many sets of lanes hold so many robots."""
        return -(-robots // self.schedule.robots)

    def in_lanes(self, values: Floats) -> Floats:
        """Lay out what is known of bodies.

        Args:
            values: Shape (..., robots, nbodies, k).

        Returns:
            Shape (..., blocks, groups, k, width); robots that are missing in the last
            block are the last one again.
        """
        body, width = self.schedule.body, self.width
        if self.schedule.robots == 1:
            return np.moveaxis(values[..., body, :], -2, -1)
        robots = values.shape[-3]
        blocks = self.blocks(robots)
        rows = np.minimum(np.arange(blocks * width), robots - 1)
        laid = values[..., rows, :, :][..., body[:, 0], :]
        split = laid.reshape(*values.shape[:-3], blocks, width, *laid.shape[-2:])
        return np.moveaxis(split, -3, -1)

    def from_lanes(self, values: Floats, robots: int) -> Floats:
        """Undo :meth:`in_lanes`; the row of the world is zero."""
        body, width = self.schedule.body, self.width
        lead, k = values.shape[:-4], values.shape[-2]
        result = np.zeros((*lead, robots, len(self.tree.parent), k), values.dtype)
        if self.schedule.robots == 1:
            group, lane = np.nonzero(body)
            picked = values[..., group, :, lane]  # the advanced axis comes first
            result[..., body[group, lane], :] = np.moveaxis(picked, 0, -2)
            return result
        blocks = values.shape[-4]
        rows = np.moveaxis(values, -1, -3).reshape(*lead, blocks * width, -1, k)
        result[..., body[:, 0], :] = rows[..., :robots, :, :]
        return result


def make_program(
    tree: TreeArrays,
    scalar: Any,
    device: wp.Device,
    side_by_side: SideBySide,
    drives: Mapping[int, Floats] | None = None,
) -> LaneProgram:
    """Lay a tree out on a device.

    Args:
        tree: The bodies; those without a parent float, the first is the robot's base.
        scalar: Warp's number type.
        device: Where to.
        side_by_side: Limbs of one robot or whole robots in lanes.
        drives: Parameters of joints by slot, each (nbodies, 3); none move by
            themselves if left out.

    Raises:
        EquipoiseError: If a joint below the base floats or is a ball.
    """
    for body in range(1, len(tree.parent)):
        if tree.kind[body] >= SPHERICAL and tree.parent[body] != 0:
            raise EquipoiseError(
                "the native engine moves joints of one degree of freedom below a "
                f"floating base; body {body} has another joint"
            )
    width = lane_width(device, scalar)
    roots = tree.kind == FLOATING
    if side_by_side == "limbs":
        schedule = limbs_side_by_side(tree.parent, roots, width)
    else:
        schedule = robots_side_by_side(tree.parent, width)
    figures, alignment = _parameters(tree, drives or {})
    busy = schedule.body != EMPTY
    kinds = np.where(roots[schedule.body] & busy, FREE, HINGE).max(axis=1)
    laid = np.moveaxis(figures[schedule.body], 1, -1)  # (groups, slots, 3, width)
    # a free body must have mass, also in a lane with nothing to do
    idle = (kinds == FREE)[:, None] & ~busy
    for slot, rows in ((at.P_MASS, [0]), (at.P_INERTIA, [0, 1, 2])):
        for row in rows:
            laid[:, slot, row][idle] = 1.0
    above = np.max(np.where(busy, schedule.parent_group, -1), axis=1)
    aligned = schedule.aligned | (kinds == FREE)
    with lock:
        struct = make_articulated(scalar, width).Program()
        struct.groups = schedule.groups
        table = np.column_stack(
            [
                kinds,
                np.where(aligned, above, schedule.groups),
                aligned,
                np.where(busy, schedule.parent_group, -1),
                schedule.parent_lane,
                busy,
            ]
        )
        struct.table = wp.array(
            np.ascontiguousarray(table, dtype=np.int32), dtype=wp.int32, device=device
        )
        struct.parameters = wp.array(
            np.ascontiguousarray(laid[None], dtype=wp.dtype_to_numpy(scalar)),
            dtype=make_lanes(scalar, width).Lanes3,
            device=device,
        )
    return LaneProgram(struct, schedule, tree, scalar, device, alignment)


def working_memory(
    program: LaneProgram, threads: int
) -> tuple[wp.array[Any], wp.array[Any]]:
    """Return working memory for threads, as vectors in lanes and number by number."""
    rows = program.schedule.groups + 1
    scratch = wp.zeros(
        (rows, SLOTS, threads),
        dtype=make_lanes(program.scalar, program.width).Lanes3,
        device=program.device,
    )
    raw: wp.array[Any] = wp.array(
        ptr=scratch.ptr,
        shape=(rows * SLOTS, threads, 3 * program.width),
        dtype=program.scalar,
        device=program.device,
    )
    return scratch, raw


def _parameters(
    tree: TreeArrays, drives: Mapping[int, Floats]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return parameters (nbodies, slots, 3), and the alignment of axes."""
    axes = in_kernel_axes(tree)
    turn = np.where(tree.kind == PRISMATIC, 0.0, 1.0)
    slide = np.where(tree.kind == HELICAL, tree.pitch, 1.0 - turn)
    table = np.zeros((len(tree.parent), PARAMETERS, 3))
    for column, slot in enumerate((at.P_X, at.P_Y, at.P_Z)):
        table[:, slot] = axes.rotation[:, :, column]
    table[:, at.P_TRANSLATION] = axes.translation
    table[:, at.P_MOMENT] = axes.moment
    table[:, at.P_INERTIA] = np.diagonal(axes.inertia, axis1=1, axis2=2)
    table[:, at.P_INERTIA_OFF] = axes.inertia[:, [1, 0, 0], [2, 2, 1]]
    table[:, at.P_MASS] = np.stack([tree.mass, turn, slide], axis=1)
    table[:, at.P_LIMIT] = (UNLIMITED, UNLIMITED, 0.0)
    table[:, at.P_STOP] = (-UNLIMITED, UNLIMITED, 0.0)
    table[:, at.P_MODE] = (0.0, 0.0, 1.0)
    for slot, values in drives.items():
        table[:, slot] = np.clip(values, -UNLIMITED, UNLIMITED)
    # lanes with nothing to do: a body of no mass whose joint has some inertia
    table[EMPTY] = 0.0
    for row, slot in enumerate((at.P_X, at.P_Y, at.P_Z)):
        table[EMPTY, slot, row] = 1.0
    table[EMPTY, at.P_GAIN, 2] = 1.0
    table[EMPTY, at.P_MODE, 2] = 1.0
    table[EMPTY, at.P_LIMIT, :2] = UNLIMITED
    table[EMPTY, at.P_STOP, :2] = (-UNLIMITED, UNLIMITED)
    return table, axes.alignment
