"""What is known of robots at some times, in memory on a device."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import warp as wp
from numpy.typing import NDArray

from equipoise.kernels.once import lock

BASE_DOF = 6


@dataclass(frozen=True, eq=False)
class Rows:
    """What is known of n robots at m times, as arrays on a device.

    Attributes:
        q: Configurations, boxes included, shape (m, n, nq).
        v: Velocities, shape (m, n, nv).
        a: Accelerations of the last step, shape (m, n, nv).
        torque: Torques of the actuators [Nm or N], shape (m, n, nv - 6); of boxes zero.
        position: Contact points in the world [m], vectors of shape (m, n, nc).
        force: Forces on them in the last step [N], vectors of shape (m, n, nc).
        com: Centres of mass [m], vectors of shape (m, n).
        com_velocity: Their velocities [m/s], vectors of shape (m, n).
        flat: All of it in one piece, as NumPy sees it; None on a GPU.
    """

    q: Any
    v: Any
    a: Any
    torque: Any
    position: Any
    force: Any
    com: Any
    com_velocity: Any
    flat: NDArray[Any] | None

    def first(self) -> list[Any]:
        """Return the first row of each array, in the same memory."""
        arrays = [getattr(self, name) for name in OUTPUTS]
        return [
            array[0]
            if array.size
            else wp.empty(array.shape[1:], dtype=array.dtype, device=array.device)
            for array in arrays
        ]


OUTPUTS = tuple(item.name for item in fields(Rows) if item.name != "flat")


def make_rows(
    count: int,
    robots: int,
    nq: int,
    nv: int,
    contacts: int,
    scalar: Any,
    vec3: Any,
    device: wp.Device,
) -> Rows:
    """Make room for ``count`` rows of so many robots, contacts and numbers."""
    shapes: dict[str, tuple[tuple[int, ...], Any]] = {
        "q": ((count, robots, nq), scalar),
        "v": ((count, robots, nv), scalar),
        "a": ((count, robots, nv), scalar),
        "torque": ((count, robots, nv - BASE_DOF), scalar),
        "position": ((count, robots, contacts), vec3),
        "force": ((count, robots, contacts), vec3),
        "com": ((count, robots), vec3),
        "com_velocity": ((count, robots), vec3),
    }
    if device.is_cuda:
        with lock:
            arrays = {
                name: wp.zeros(shape, dtype=dtype, device=device)
                for name, (shape, dtype) in shapes.items()
            }
        return Rows(**arrays, flat=None)
    numbers = [(*shape, 3) if t is vec3 else shape for shape, t in shapes.values()]
    sizes = [math.prod(shape) for shape in numbers]
    flat = np.zeros(sum(sizes), wp.dtype_to_numpy(scalar))
    parts = np.split(flat, np.cumsum(sizes)[:-1])
    with lock:
        arrays = {
            name: wp.array(part.reshape(shape), dtype=dtype, device=device, copy=False)
            for part, shape, (name, (_, dtype)) in zip(
                parts, numbers, shapes.items(), strict=True
            )
        }
    return Rows(**arrays, flat=flat)
