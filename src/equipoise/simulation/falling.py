"""When a robot has fallen: its CoM is low, or its base is tilted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.kinematics.com import com
from equipoise.simulation.world import World

# A robot has fallen when its CoM is below this fraction of its height when upright, or
# its base is tilted by more than this [rad].
FALLEN_HEIGHT = 0.6
FALLEN_TILT = 1.0


def time_of_fall(world: World, start: Array, time: Array, q: Array) -> float | None:
    """Return when a robot had fallen [s], or None if it had not.

    Args:
        world: The robot and what it stands on.
        start: Configuration in which it stood, shape (nq,).
        time: Times [s], shape (n,).
        q: Configurations, shape (n, nq).
    """
    fallen = np.flatnonzero(has_fallen(world, start, q))
    return float(time[fallen[0]]) if len(fallen) else None


def has_fallen(world: World, start: Array, q: Array) -> NDArray[np.bool_]:
    """Return whether a robot lies, in configurations (…, nq); shape (…)."""
    low = com_height(world, q) < FALLEN_HEIGHT * com_height(world, start)
    cosine = vertical_in_base(q[..., 3:7]) @ vertical_in_base(start[3:7])
    tilt = np.arccos(np.clip(cosine, -1.0, 1.0))
    return np.asarray(low | (tilt > FALLEN_TILT))


def com_height(world: World, q: Array) -> Array:
    """Return the height of the CoM above the ground below it [m], shape (…)."""
    centre = np.asarray(com(world.robot, q))
    ground = world.terrain.height(centre[..., 0], centre[..., 1])
    return np.asarray(centre[..., 2] - ground)


def vertical_in_base(xyzw: Array) -> Array:
    """Return the world's z-axis in axes turned by quaternions (…, 4), shape (…, 3)."""
    x, y, z, w = np.moveaxis(xyzw, -1, 0)
    row = [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]
    return np.moveaxis(np.array(row), 0, -1)
