"""How high the centre of mass may be for the legs to reach the ground."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.gait.footsteps import Footsteps
from equipoise.gait.gait import Gait
from equipoise.gait.leg_reach import LegReach
from equipoise.gait.table import GaitTable
from equipoise.robot.parts import Side

# In each phase.
SAMPLES = 9


def highest_com(
    table: GaitTable, reaches: Mapping[Side, LegReach], extension: float
) -> tuple[Array, Array]:
    """Return how high the CoM may be for legs not to be straighter than allowed.

    Args:
        table: A gait; its CoM's height does not count.
        reaches: Of the legs.
        extension: Greatest distance of hip and ankle, as a share of the longest.

    Returns:
        Heights in the world [m], shape (n,), NaN where feet are too far away for any;
        and the distance seen from above of the leg that needs them most, as a share
        of what is allowed, shape (n,).
    """
    c, s = np.cos(table.heading), np.sin(table.heading)
    lowest = np.full(len(table.time), np.inf)
    spread = np.zeros(len(table.time))
    for side, reach in reaches.items():
        x, y, z = reach.hip_from_com
        hip = table.com[:, :2] + np.column_stack([c * x - s * y, s * x + c * y])
        pose = table.soles[side]
        ankle = pose[:, :3, :3] @ reach.ankle_in_sole + pose[:, :3, 3]
        allowed = extension * reach.longest
        away = np.linalg.norm(hip - ankle[:, :2], axis=1) / allowed
        up = allowed * np.sqrt(np.where(away < 1.0, 1.0 - away**2, np.nan))
        lowest = np.minimum(lowest, ankle[:, 2] + up - z)
        spread = np.maximum(spread, away)
    return lowest, spread


def headroom(
    gait: Gait, reaches: Mapping[Side, LegReach], extension: float
) -> tuple[float, str]:
    """Return by how much the CoM could be higher all along [m]; negative: lower.

    Args:
        gait: The gait.
        reaches: Of the legs.
        extension: Greatest distance of hip and ankle, as a share of the longest.

    Returns:
        The height, and the step that leaves least, in words.

    Raises:
        EquipoiseError: If feet are too far apart for the legs at any height; names
            the step.
    """
    spans = [np.linspace(p.start, p.end, SAMPLES) for p in gait.phases]
    table = gait.at(np.unique(np.concatenate(spans)))
    highest, spread = highest_com(table, reaches, extension)
    if np.isnan(highest).any():
        at = int(np.argmax(spread))
        raise EquipoiseError(
            f"{describe_step(gait, float(table.time[at]))} is longer than the legs of "
            f"{gait.robot_name} allow: seen from above, hip and ankle come "
            f"{spread[at]:.2f} times as far apart as a leg is long"
        )
    room = highest - table.com[:, 2]
    at = int(np.argmin(room))
    return float(room[at]), describe_step(gait, float(table.time[at]))


def describe_step(gait: Gait, time: float) -> str:
    """Return the step at a time in words: its number, length and rise."""
    number = next((p.step for p in gait.phases if time <= p.end), 0)
    return _words(gait.footsteps, max(1, number))


def _words(footsteps: Footsteps, number: int) -> str:
    stride = footsteps.strides[number - 1]
    dx, dy, dz = stride.end.position - stride.support.position
    rise = f" and {dz:+.3f} m high" if abs(dz) > 1e-6 else ""
    return (
        f"step {number} ({stride.end.side} foot, {math.hypot(dx, dy):.3f} m from the "
        f"other one{rise})"
    )
