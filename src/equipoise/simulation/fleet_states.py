"""What a fleet returns: states now or over time, results, robots that were stopped."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, NamedTuple

from equipoise.arrays import Array
from equipoise.simulation.engine import Trace


@dataclass(frozen=True, eq=False)
class FleetTrace:
    """States of n robots at m times; see :class:`~equipoise.control.signals.State`.

    A robot that fell stays where it was, one that diverged where it was in the row
    before; velocities are those at that time, and acceleration, torque and force zero.

    Attributes:
        time: Time since the reset of the fleet [s], shape (m,).
        q: Configurations, shape (n, m, nq).
        v: Velocities, shape (n, m, nv).
        a: Accelerations, shape (n, m, nv).
        torque: Torques of the actuators [Nm or N], shape (n, m, nv - 6).
        contact_position: Contact points in the world [m], shape (n, m, nc, 3).
        contact_force: Forces on them in world axes [N], shape (n, m, nc, 3).
        boxes: Poses, shape (n, m, nboxes, 7).
    """

    time: Array
    q: Array
    v: Array
    a: Array
    torque: Array
    contact_position: Array
    contact_force: Array
    boxes: Array

    def of_robot(self, index: int) -> Trace:
        """Return the states of one robot."""
        rows = {item.name: getattr(self, item.name) for item in fields(self)}
        time = rows.pop("time")
        return Trace(time=time, **{name: rows[name][index] for name in rows})


class FleetState(NamedTuple):
    """States of n robots now: arrays on the device, overwritten by each step.

    They are ``warp.array`` and have ``__dlpack__``, so that PyTorch, JAX and CuPy see
    the same memory. Arrays of vectors are of ``vec3``.

    Attributes:
        q: Configurations, shape (n, nq + 7 boxes): boxes' poses are behind the robot.
        v: Velocities, shape (n, nv + 6 boxes).
        a: Accelerations, shape (n, nv + 6 boxes).
        torque: Torques of the actuators, shape (n, nv - 6 + 6 boxes), of boxes zero.
        contact_position: Contact points, vectors of shape (n, nc).
        contact_force: Forces on them, vectors of shape (n, nc).
        com: Centres of mass, vectors of shape (n,).
        com_velocity: Their velocities, vectors of shape (n,).
        steps: Time steps since the reset of each robot, shape (n,).
        status: Why each robot was stopped (0: it runs, 1: fell, 2: diverged), after how
            many steps, and a number for the body at fault, shape (n, 3).
    """

    q: Any
    v: Any
    a: Any
    torque: Any
    contact_position: Any
    contact_force: Any
    com: Any
    com_velocity: Any
    steps: Any
    status: Any


class StoppedRobot(NamedTuple):
    """A robot of a fleet that was stopped, while the others went on.

    Attributes:
        robot: Its number.
        time: When, since its reset [s].
        reason: ``"fell"`` or ``"diverged"``.
        text: The same in a sentence.
    """

    robot: int
    time: float
    reason: Literal["fell", "diverged"]
    text: str


@dataclass(frozen=True, eq=False)
class FleetResults:
    """What was measured of n robots while they ran.

    Attributes:
        time: How long each ran [s], shape (n,).
        stopped: Robots that fell or diverged.
        com_error_mean: Mean distance of the CoM from its reference [m], shape (n,), or
            None without one.
        com_error_max: The largest [m], shape (n,), or None.
        zmp_margin_mean: Mean margin of the ZMP in the polygon of touching points [m],
            shape (n,); zero where nothing ever touched.
        zmp_margin_min: The smallest [m], shape (n,).
        torque_fraction: Largest torque over its limit, of all joints and steps, (n,).
    """

    time: Array
    stopped: tuple[StoppedRobot, ...]
    com_error_mean: Array | None
    com_error_max: Array | None
    zmp_margin_mean: Array
    zmp_margin_min: Array
    torque_fraction: Array
