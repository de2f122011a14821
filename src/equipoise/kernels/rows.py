"""What is known of robots at some times, in memory on a device."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import warp as wp

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
    """

    q: Any
    v: Any
    a: Any
    torque: Any
    position: Any
    force: Any
    com: Any
    com_velocity: Any

    def first(self) -> list[Any]:
        """Return the first row of each array, in the same memory."""
        arrays = [getattr(self, name) for name in OUTPUTS]
        return [
            array[0]
            if array.size
            else wp.empty(array.shape[1:], dtype=array.dtype, device=array.device)
            for array in arrays
        ]


OUTPUTS = tuple(item.name for item in fields(Rows))


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
    with lock:
        return Rows(
            **{
                name: wp.zeros(shape, dtype=dtype, device=device)
                for name, (shape, dtype) in shapes.items()
            }
        )
