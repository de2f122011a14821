"""Two legs along a path, cut into pieces that are solved side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import warp as wp

from equipoise.kernels.com_legs import BASE, NUMBERS, QUALITY, SLOTS, make_com_legs
from equipoise.kernels.lanes import make_lanes
from equipoise.kernels.once import lock
from equipoise.kernels.program import UNLIMITED, Floats
from equipoise.kernels.runtime import device_named, lane_width, launch

# Points between those that are solved to find where pieces of a path begin.
STRIDE = 20


@dataclass(frozen=True, eq=False)
class LegArrays:
    """Two legs of n joints each, the left one first, in kernel axes.

    Attributes:
        rotation: To the axes above at zero position, shape (2, n, 3, 3).
        translation: Translation of the origin in the axes above [m], shape (2, n, 3).
        turns: Whether a joint turns (1) or not (0), shape (2, n).
        slides: Whether a joint slides (1) or not (0), shape (2, n). One that does
            neither is held.
        mass: Mass of the bodies [kg], shape (2, n).
        moment: Mass × centre of mass in their axes [kg m], shape (2, n, 3).
        lower: Limits [rad or m], shape (2, n).
        upper: Limits [rad or m], shape (2, n).
        sole: From the soles to the axes of the last bodies, shape (2, 4, 4).
        yaw_free: Whether the turn of a sole about its normal is free (1), shape (2,).
        total_mass: Total mass of the robot [kg].
    """

    rotation: Floats
    translation: Floats
    turns: Floats
    slides: Floats
    mass: Floats
    moment: Floats
    lower: Floats
    upper: Floats
    sole: Floats
    yaw_free: Floats
    total_mass: float


class Found(NamedTuple):
    """What was found for m points.

    Attributes:
        base: Position of the base [m], shape (m, 3).
        joints: Joints of the left, then of the right leg [rad or m], shape (m, 2 n).
        com_error: Largest component [m], shape (m,).
        sole_error: Largest component of both soles' errors [m or rad], shape (m,).
        iterations: Newton steps, shape (m,).
    """

    base: Floats
    joints: Floats
    com_error: Floats
    sole_error: Floats
    iterations: Floats


def solve_legs(
    legs: LegArrays,
    targets: Floats,
    base: Floats,
    joints: Floats,
    tolerance: float,
    most: int,
) -> Found:
    """Solve all points of a path.

    The path is cut into pieces, one a lane. Where each piece begins is found first, by
    going along the path in larger strides.

    Args:
        legs: The legs.
        targets: Rows as the slots of a target say, shape (m, TARGETS, 3).
        base: Where to begin [m], shape (3,).
        joints: Where to begin, shape (2 n,).
        tolerance: Error that is accepted [m or rad].
        most: Newton steps at one point.
    """
    device = device_named("cpu")
    width = lane_width(device, wp.float64)
    count = len(targets)
    length = -(-count // width)
    rows = np.minimum(np.arange(width * length), count - 1).reshape(width, length)
    first = np.tile(base, (width, 1)), np.tile(joints, (width, 1))
    if length > 1:
        ahead = np.unique(
            np.concatenate([np.arange(0, rows[-1, 0], STRIDE), rows[:, 0]])
        )
        known = _launch(
            legs, np.repeat(targets[ahead][None], width, axis=0), first, tolerance, most
        )
        at = np.searchsorted(ahead, rows[:, 0])
        first = known.base[0, at], known.joints[0, at]
    found = _launch(legs, targets[rows], first, tolerance, most)
    return Found(
        *(values.reshape(width * length, *values.shape[2:])[:count] for values in found)
    )


def _launch(
    legs: LegArrays,
    targets: Floats,
    first: tuple[Floats, Floats],
    tolerance: float,
    most: int,
) -> Found:
    """Solve pieces of a path, one a lane; results have the lanes as first axis.

    Args:
        legs: The legs.
        targets: Shape (width, length, TARGETS, 3).
        first: Bases (width, 3) and joints (width, 2 n) to begin with.
        tolerance: Error that is accepted [m or rad].
        most: Newton steps at one point.
    """
    device, scalar = device_named("cpu"), wp.float64
    width, length = targets.shape[:2]
    types, lanes = make_com_legs(scalar, width), make_lanes(scalar, width)
    number = 2 * legs.mass.shape[1]
    constants = np.stack([legs.turns, legs.slides, legs.mass], axis=-1)
    limits = np.stack([legs.lower, legs.upper, np.zeros_like(legs.lower)], axis=-1)

    def array(values: Floats, dtype: Any) -> wp.array[Any]:
        rows = np.ascontiguousarray(values, dtype=np.float64)
        return wp.array(rows, dtype=dtype, device=device)

    with lock:
        struct = types.Legs()
        struct.joints, struct.per_mass = legs.mass.shape[1], 1.0 / legs.total_mass
        struct.rotation = array(legs.rotation.reshape(-1, 3, 3), types.mat33)
        struct.translation = array(legs.translation.reshape(-1, 3), types.vec3)
        struct.constants = array(constants.reshape(-1, 3), types.vec3)
        struct.moment = array(legs.moment.reshape(-1, 3), types.vec3)
        struct.limits = array(
            np.clip(limits.reshape(-1, 3), -UNLIMITED, UNLIMITED), types.vec3
        )
        struct.sole_rotation = array(legs.sole[:, :3, :3], types.mat33)
        struct.sole_translation = array(legs.sole[:, :3, 3], types.vec3)
        struct.yaw_free = array(legs.yaw_free, scalar)
        angles = wp.zeros((1, length, number), dtype=lanes.Lanes, device=device)
        results = wp.zeros((1, length, 2), dtype=lanes.Lanes3, device=device)
        inputs = [
            struct,
            tolerance,
            most,
            array(np.moveaxis(targets, 0, -1)[None], lanes.Lanes3),
            array(first[0].T[None], lanes.Lanes3),
            array(first[1].T[None], lanes.Lanes),
            wp.zeros((number, SLOTS, 1), dtype=lanes.Lanes3, device=device),
            wp.zeros((2 * NUMBERS, 1), dtype=lanes.Lanes, device=device),
            angles,
            results,
        ]
    launch(types.solve, 1, inputs, device)
    moved = np.moveaxis(angles.numpy()[0], -1, 0)
    known = np.moveaxis(results.numpy()[0], -1, 0)
    quality = known[:, :, QUALITY]
    return Found(
        known[:, :, BASE], moved, quality[..., 0], quality[..., 1], quality[..., 2]
    )
