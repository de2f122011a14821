"""Working memory of groups: filled from a state, kept in a record."""

# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.articulated import (
    ACCELERATION,
    ANCHOR,
    EFFORT,
    FREE,
    JOINT,
    KIND,
    OMEGA,
    POSITION,
    QUATERNION,
    QUATERNION_W,
    SPIN,
    VELOCITY,
    make_articulated,
)
from equipoise.kernels.lanes import make_lanes
from equipoise.kernels.once import once

# Vectors that describe a group in a record.
RECORDS = 7


@once
def make_lane_memory(scalar: Any, width: int) -> SimpleNamespace:
    """Return the functions ``load_state``, ``store_state`` and ``keep``.

    States are laid out as :mod:`equipoise.kernels.lane_state` says, records as its
    ``read_motion`` reads them.
    """
    Lanes3 = make_lanes(scalar, width).Lanes3
    Program = make_articulated(scalar, width).Program

    @wp.func
    def load_state(
        state: wp.array3d[Lanes3],
        block: int,
        g: int,
        scratch: wp.array3d[Lanes3],
        t: int,
    ) -> None:
        scratch[g, JOINT, t] = state[block, g, 0]
        scratch[g, ANCHOR, t] = state[block, g, 1]
        scratch[g, POSITION, t] = state[block, g, 2]
        scratch[g, QUATERNION, t] = state[block, g, 3]
        scratch[g, QUATERNION_W, t] = state[block, g, 4]
        scratch[g, VELOCITY, t] = state[block, g, 5]
        scratch[g, OMEGA, t] = state[block, g, 6]

    @wp.func
    def store_state(
        state: wp.array3d[Lanes3],
        block: int,
        g: int,
        scratch: wp.array3d[Lanes3],
        t: int,
    ) -> None:
        state[block, g, 0] = scratch[g, JOINT, t]
        state[block, g, 1] = scratch[g, ANCHOR, t]
        state[block, g, 2] = scratch[g, POSITION, t]
        state[block, g, 3] = scratch[g, QUATERNION, t]
        state[block, g, 4] = scratch[g, QUATERNION_W, t]
        state[block, g, 5] = scratch[g, VELOCITY, t]
        state[block, g, 6] = scratch[g, OMEGA, t]

    @wp.func
    def keep(
        program: Program,
        record: wp.array3d[Lanes3],
        row: int,
        g: int,
        scratch: wp.array3d[Lanes3],
        t: int,
    ) -> None:
        """Write down a group: joints, or the free body."""
        if program.table[g, KIND] == FREE:
            record[row, g, 0] = scratch[g, POSITION, t]
            record[row, g, 1] = scratch[g, QUATERNION, t]
            record[row, g, 2] = scratch[g, QUATERNION_W, t]
            record[row, g, 3] = scratch[g, VELOCITY, t]
            record[row, g, 4] = scratch[g, OMEGA, t]
            record[row, g, 5] = scratch[g, ACCELERATION, t]
            record[row, g, 6] = scratch[g, SPIN, t]
        else:
            record[row, g, 0] = scratch[g, JOINT, t]
            record[row, g, 1] = scratch[g, EFFORT, t]

    return SimpleNamespace(load_state=load_state, store_state=store_state, keep=keep)
