"""What each joint contributes to a Jacobian, column by column."""

# ruff: noqa: SIM109 (kernels have no `in`)
# Kernel bodies are in Warp's own language, which mypy misreads.
# mypy: disable-error-code="arg-type, attr-defined, untyped-decorator"

from types import SimpleNamespace
from typing import Any

import warp as wp

from equipoise.kernels.bodies import Z, make_bodies
from equipoise.kernels.joints import (
    CONTINUOUS,
    FLOATING,
    HELICAL,
    PRISMATIC,
    REVOLUTE,
)
from equipoise.kernels.lanes import make_lanes
from equipoise.kernels.once import once


@once
def make_columns(scalar: Any, width: int) -> SimpleNamespace:
    """Return the Warp functions that write a joint's columns of a Jacobian.

    - ``store_columns(tree, j, scratch, t, share, lever, out, first)``: the linear
      part, rows 0 to 2. A turn of joint j about its axis z moves the point by
      z × ``lever``, a translation along z by ``share`` z. For a point of a body,
      ``lever`` leads from the joint to it and ``share`` is 1; for the centre of mass
      both are weighted with the share of mass that the joint carries.
    - ``store_turns(tree, j, scratch, t, out, first)``: the angular part, rows 3 to 5.
    """
    lanes = make_lanes(scalar, width)
    Lanes3, cross, store_column = lanes.Lanes3, lanes.cross, lanes.store_column
    Tree = make_bodies(scalar, width).Tree

    @wp.func
    def store_columns(
        tree: Tree,
        j: int,
        scratch: wp.array3d[Lanes3],
        t: int,
        share: scalar,
        lever: Lanes3,
        out: wp.array3d[scalar],
        first: int,
    ) -> None:
        kind = tree.kind[j]
        at = tree.idx_v[j]
        if kind == REVOLUTE or kind == CONTINUOUS:
            store_column(out, first, 0, at, cross(scratch[j, Z, t], lever))
        elif kind == PRISMATIC:
            store_column(out, first, 0, at, share * scratch[j, Z, t])
        elif kind == HELICAL:
            z = scratch[j, Z, t]
            advance = (share * tree.pitch[j]) * z
            store_column(out, first, 0, at, cross(z, lever) + advance)
        else:
            if kind == FLOATING:
                for axis in range(3):
                    moved = share * scratch[j, axis, t]
                    store_column(out, first, 0, at + axis, moved)
                at = at + 3
            for axis in range(3):
                turned = cross(scratch[j, axis, t], lever)
                store_column(out, first, 0, at + axis, turned)

    @wp.func
    def store_turns(
        tree: Tree,
        j: int,
        scratch: wp.array3d[Lanes3],
        t: int,
        out: wp.array3d[scalar],
        first: int,
    ) -> None:
        kind = tree.kind[j]
        at = tree.idx_v[j]
        if kind == REVOLUTE or kind == CONTINUOUS or kind == HELICAL:
            store_column(out, first, 3, at, scratch[j, Z, t])
        elif kind != PRISMATIC:
            if kind == FLOATING:
                at = at + 3
            for axis in range(3):
                store_column(out, first, 3, at + axis, scratch[j, axis, t])

    return SimpleNamespace(store_columns=store_columns, store_turns=store_turns)
