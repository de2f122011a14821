"""A tree of bodies, laid out in groups of lanes on a device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import warp as wp
from numpy.typing import NDArray

from equipoise.errors import EquipoiseError
from equipoise.kernels import articulated as at
from equipoise.kernels.articulated import FREE, HINGE, SLOTS, make_articulated
from equipoise.kernels.bodies import CONTINUOUS, FLOATING, HELICAL, PRISMATIC, SPHERICAL
from equipoise.kernels.lanes import make_lanes
from equipoise.kernels.once import lock
from equipoise.kernels.runtime import lane_width
from equipoise.kernels.schedule import (
    EMPTY,
    Schedule,
    limbs_side_by_side,
    robots_side_by_side,
)
from equipoise.kernels.tree import TreeArrays, in_kernel_axes, turned_inertias

Floats = NDArray[np.floating[Any]]
SideBySide = Literal["limbs", "robots"]
# Stands for a limit that is not there; in kernels infinity times zero is no number.
UNLIMITED = 1e30


class Inertias(NamedTuple):
    """Inertias of the bodies of n robots.

    Attributes:
        mass: Masses [kg], shape (n, nbodies).
        com: Centres of mass in body coordinates [m], shape (n, nbodies, 3).
        inertia: About the centre of mass in body axes [kg m²], (n, nbodies, 3, 3).
    """

    mass: Floats
    com: Floats
    inertia: Floats


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
        prescribed: Whether a joint's position or velocity is prescribed, (nbodies,).
    """

    struct: Any
    schedule: Schedule
    tree: TreeArrays
    scalar: Any
    device: wp.Device
    alignment: NDArray[np.float64]
    prescribed: NDArray[np.bool_]

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
        return _in_lanes(self.schedule, values)


def make_program(
    tree: TreeArrays,
    scalar: Any,
    device: wp.Device,
    side_by_side: SideBySide,
    actuators: Mapping[int, Floats] | None = None,
    inertias: Inertias | None = None,
) -> LaneProgram:
    """Lay a tree out on a device.

    Args:
        tree: The bodies; those without a parent float, the first is the robot's base.
        scalar: Warp's number type.
        device: Where to.
        side_by_side: Limbs of one robot or whole robots in lanes.
        actuators: Parameters of joints by slot, each (nbodies, 3), or (n, nbodies, 3)
            where robots differ; none move by themselves if left out.
        inertias: Inertias of n robots, where they differ; the tree's own if left out.

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
    busy = schedule.body != EMPTY
    kinds = np.where(roots[schedule.body] & busy, FREE, HINGE).max(axis=1)
    above = np.max(np.where(busy, schedule.parent_group, -1), axis=1)
    aligned = schedule.aligned | (kinds == FREE)
    table = np.column_stack(
        [
            kinds,
            np.where(aligned, above, schedule.groups),
            aligned,
            np.where(busy, schedule.parent_group, -1),
            schedule.parent_lane,
            busy,
            tree.idx_q[schedule.body],
            tree.idx_v[schedule.body],
            tree.kind[schedule.body] == CONTINUOUS,
        ]
    )
    geometry, alignment = _geometry(tree)
    laid_inertia = np.ascontiguousarray(
        _in_lanes(schedule, _inertia(tree, alignment, inertias))
    )
    # a free body must have mass, also in a lane with nothing to do
    idle = (kinds == FREE)[:, None] & ~busy
    split = laid_inertia.reshape(*laid_inertia.shape[:2], -1, 3, width)
    for slot, rows in ((at.P_MASS, [0]), (at.P_INERTIA, [0, 1, 2])):
        for row in rows:
            split[:, :, slot, row][:, idle] = 1.0
    with lock:
        vector = make_lanes(scalar, width).Lanes3
        struct = make_articulated(scalar, width).Program()
        struct.groups, struct.robots = schedule.groups, schedule.robots
        struct.table = wp.array(
            np.ascontiguousarray(table, dtype=np.int32), dtype=wp.int32, device=device
        )
        shared = _in_lanes(schedule, geometry[None])[:1]
        struct.geometry = by_block(shared, vector, device).reshape(
            (schedule.groups, at.GEOMETRY)
        )
        struct.inertia = by_block(laid_inertia, vector, device)
        actuator = _actuator(tree, actuators or {})
        struct.actuator = by_block(_in_lanes(schedule, actuator), vector, device)
    prescribed = actuator[0, :, 3 * at.P_MODE + 2] == 0.0
    prescribed &= tree.kind != FLOATING
    return LaneProgram(struct, schedule, tree, scalar, device, alignment, prescribed)


def by_block(values: Floats, vector: Any, device: wp.Device) -> wp.array[Any]:
    """Return what each set of lanes has of its own on a device, as vectors.

    On a GPU sets of lanes, one a thread, lie side by side in memory, so that threads
    read together.

    Args:
        values: Shape (blocks, m, k × numbers of a vector / width, width).
        vector: Warp's type, of which each of the m has k.
        device: Where to.

    Returns:
        An array indexed [block, m, k].
    """
    blocks, rows = values.shape[:2]
    shape = tuple(vector._shape_)
    number = wp.dtype_to_numpy(vector._wp_scalar_type_)
    split = np.asarray(values, dtype=number).reshape(blocks, rows, -1, *shape)
    if not device.is_cuda or blocks == 1:
        return wp.array(np.ascontiguousarray(split), dtype=vector, device=device)
    moved = np.ascontiguousarray(np.moveaxis(split, 0, 2))
    return wp.array(moved, dtype=vector, device=device).transpose([2, 0, 1])


def zeros_by_block(
    blocks: int, rows: int, k: int, vector: Any, device: wp.Device
) -> wp.array[Any]:
    """Return zeros indexed [block, row, k], laid out as by :func:`by_block`."""
    if not device.is_cuda:
        return wp.zeros((blocks, rows, k), dtype=vector, device=device)
    return wp.zeros((rows, k, blocks), dtype=vector, device=device).transpose([2, 0, 1])


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


def _in_lanes(schedule: Schedule, values: Floats) -> Floats:
    """Lay out values (..., robots, nbodies, k) as (..., blocks, groups, k, width)."""
    body, width = schedule.body, schedule.width
    if schedule.robots == 1:
        return np.moveaxis(values[..., body, :], -2, -1)
    robots = values.shape[-3]
    blocks = -(-robots // width)
    rows = np.minimum(np.arange(blocks * width), robots - 1)
    laid = values[..., rows, :, :][..., body[:, 0], :]
    split = laid.reshape(*values.shape[:-3], blocks, width, *laid.shape[-2:])
    return np.moveaxis(split, -3, -1)


def _geometry(tree: TreeArrays) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return geometry (nbodies, slots × 3), and the alignment of axes."""
    axes = in_kernel_axes(tree)
    turn = np.where(tree.kind == PRISMATIC, 0.0, 1.0)
    slide = np.where(tree.kind == HELICAL, tree.pitch, 1.0 - turn)
    table = np.zeros((len(tree.parent), at.GEOMETRY, 3))
    for column, slot in enumerate((at.P_X, at.P_Y, at.P_Z)):
        table[:, slot] = axes.rotation[:, :, column]
    table[:, at.P_TRANSLATION] = axes.translation
    table[:, at.P_MOTION, :2] = np.stack([turn, slide], axis=1)
    table[EMPTY] = 0.0
    for row, slot in enumerate((at.P_X, at.P_Y, at.P_Z)):
        table[EMPTY, slot, row] = 1.0
    return table.reshape(len(table), -1), axes.alignment


def _inertia(
    tree: TreeArrays, alignment: NDArray[np.float64], own: Inertias | None
) -> NDArray[np.float64]:
    """Return inertias (n, nbodies, slots × 3); lanes with nothing to do have none."""
    given = own or Inertias(tree.mass[None], tree.com[None], tree.inertia[None])
    mass, com, about_com = (np.asarray(part, dtype=np.float64) for part in given)
    moment, inertia = turned_inertias(alignment, mass, com, about_com)
    table = np.zeros((*mass.shape, at.INERTIAS, 3))
    table[:, :, at.P_MOMENT] = moment
    table[:, :, at.P_INERTIA] = np.diagonal(inertia, axis1=2, axis2=3)
    table[:, :, at.P_INERTIA_OFF] = inertia[:, :, [1, 0, 0], [2, 2, 1]]
    table[:, :, at.P_MASS, 0] = mass
    table[:, EMPTY] = 0.0
    return table.reshape(*mass.shape, -1)


def _actuator(tree: TreeArrays, actuators: Mapping[int, Floats]) -> NDArray[np.float64]:
    """Return actuators (n, nbodies, slots × 3)."""
    rows = {slot: np.asarray(values) for slot, values in actuators.items()}
    robots = max((len(v) for v in rows.values() if v.ndim == 3), default=1)
    table = np.zeros((robots, len(tree.parent), at.ACTUATORS, 3))
    table[:, :, at.P_LIMIT] = (UNLIMITED, UNLIMITED, 0.0)
    table[:, :, at.P_STOP] = (-UNLIMITED, UNLIMITED, 0.0)
    table[:, :, at.P_MODE] = (0.0, 0.0, 1.0)
    for slot, values in rows.items():
        table[:, :, slot] = np.clip(values, -UNLIMITED, UNLIMITED)
    # a lane with nothing to do has a joint of some inertia
    table[:, EMPTY] = 0.0
    table[:, EMPTY, at.P_GAIN, 2] = 1.0
    table[:, EMPTY, at.P_MODE, 2] = 1.0
    table[:, EMPTY, at.P_LIMIT, :2] = UNLIMITED
    table[:, EMPTY, at.P_STOP, :2] = (-UNLIMITED, UNLIMITED)
    return table.reshape(robots, len(tree.parent), -1)
