"""Forward dynamics of many configurations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import warp as wp

from equipoise.kernels.joints import FLOATING
from equipoise.kernels.lane_state import read_motion, state_in_lanes
from equipoise.kernels.lanes import make_lanes
from equipoise.kernels.once import lock
from equipoise.kernels.program import Floats, LaneProgram, working_memory
from equipoise.kernels.runtime import launch, thread_count
from equipoise.kernels.stepper import RECORDS, make_stepper


def forward_dynamics(
    program: LaneProgram, q: Floats, v: Floats, effort: Floats, gravity: float
) -> Floats:
    """Return accelerations, shape (n, nv).

    Args:
        program: The tree in lanes, rotors included.
        q: Configurations, shape (n, nq).
        v: Velocities, shape (n, nv).
        effort: Generalised forces, shape (n, nv).
        gravity: Downwards [m/s²].
    """
    prepared = prepare(program, q, v, effort, gravity)
    prepared.run()
    record = prepared.record.numpy()
    split = record.reshape(1, *record.shape[:2], -1, program.width)
    return read_motion(program, split, len(q), q.shape[-1]).a[0]


class Prepared(NamedTuple):
    """A launch that is ready.

    Attributes:
        run: Does it.
        record: Where results will be, in lanes.
    """

    run: Callable[[], None]
    record: wp.array[Any]


def prepare(
    program: LaneProgram, q: Floats, v: Floats, effort: Floats, gravity: float
) -> Prepared:
    """Lay out everything for :func:`forward_dynamics` on the device."""
    tree, device, scalar = program.tree, program.device, program.scalar
    width, groups = program.width, program.schedule.groups
    blocks = program.blocks(len(q))
    lanes = make_lanes(scalar, width)
    kernels = make_stepper(scalar, width, None)
    given = np.zeros((len(q), len(tree.parent), 6))
    given[:, 1] = effort[:, :6]
    hinges = np.flatnonzero(tree.kind != FLOATING)
    given[:, hinges, 0] = effort[:, tree.idx_v[hinges]]
    forces = program.in_lanes(given).reshape(blocks, groups, 2, 3, width)
    threads = thread_count(device, blocks)

    def to_device(values: Floats) -> wp.array[Any]:
        rows = np.ascontiguousarray(values, dtype=wp.dtype_to_numpy(scalar))
        return wp.array(rows, dtype=lanes.Lanes3, device=device)

    with lock:
        record = wp.zeros((blocks, groups, RECORDS), dtype=lanes.Lanes3, device=device)
        scratch, raw = working_memory(program, threads)
        inputs = [
            program.struct,
            gravity,
            to_device(state_in_lanes(program, q, v)),
            to_device(forces),
            scratch,
            raw,
            record,
        ]
    return Prepared(lambda: launch(kernels.fall, threads, inputs, device), record)
