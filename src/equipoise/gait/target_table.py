"""All that a gait and its joints want at a time, as a table of points."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from equipoise.arrays import Array
from equipoise.control.signals import Support, Target
from equipoise.gait.gait import Gait
from equipoise.robot.parts import Side

# A time is that of a point up to this relative rounding error.
ROUNDING = 4.0 * float(np.finfo(np.float64).eps)

# Columns of the table; after them come joint positions, velocities and torques.
COM, DCM, ZMP = slice(0, 3), slice(3, 6), slice(6, 9)
LEFT, RIGHT, TORSO = slice(9, 25), slice(25, 41), slice(41, 50)
COM_VELOCITY, COM_ACCELERATION = slice(50, 53), slice(53, 56)
LEFT_TWIST, RIGHT_TWIST = slice(56, 62), slice(62, 68)
LEFT_ACCELERATION, RIGHT_ACCELERATION = slice(68, 74), slice(74, 80)
RATES, JOINTS = slice(50, 80), 80


@dataclass(frozen=True, eq=False)
class TargetTable:
    """Targets at n points, equally spaced in time.

    Attributes:
        dt: Time between two points [s].
        duration: Time of the last point; the first is at 0 [s].
        rows: Rest before the start, the n points, rest after the end; read-only,
            shape (n + 2, 80 + 3 (nv - 6)).
        joints: Number of joint degrees of freedom, nv - 6.
        phase_starts: Start of each phase but the first [s].
        supports: Support in each phase.
        lasting: Whether targets may be views of the rows; if not, one that is kept
            does not keep the whole table in memory.
    """

    dt: float
    duration: float
    rows: Array
    joints: int
    phase_starts: tuple[float, ...]
    supports: tuple[Support, ...]
    lasting: bool = True

    def at(self, time: float) -> Target:
        """Return the target at a time [s], linear between points, at rest outside.

        Between points rotations are made orthonormal again.
        """
        if time <= 0.0:
            return self._target(self.rows[0], self.supports[0])
        if time >= self.duration:
            return self._target(self.rows[-1], self.supports[-1])
        support = self.supports[bisect_right(self.phase_starts, time)]
        place = time / self.dt
        point = round(place)
        if abs(place - point) <= ROUNDING * point:
            return self._target(self.rows[1 + point], support)
        before = int(place)
        first, second = self.rows[1 + before], self.rows[2 + before]
        row = first + (place - before) * (second - first)
        _make_orthonormal(row[LEFT].reshape(4, 4)[:3, :3])
        _make_orthonormal(row[RIGHT].reshape(4, 4)[:3, :3])
        _make_orthonormal(row[TORSO].reshape(3, 3))
        row.setflags(write=False)
        return self._target(row, support)

    def _target(self, row: Array, support: Support) -> Target:
        if not self.lasting and row.base is not None:
            row = row.copy()
            row.setflags(write=False)
        velocity = JOINTS + self.joints
        torque = velocity + self.joints
        return Target(
            row[JOINTS:velocity],
            row[velocity:torque],
            row[torque:],
            row[COM],
            row[COM_VELOCITY],
            row[COM_ACCELERATION],
            row[DCM],
            row[ZMP],
            {"left": row[LEFT].reshape(4, 4), "right": row[RIGHT].reshape(4, 4)},
            {"left": row[LEFT_TWIST], "right": row[RIGHT_TWIST]},
            {"left": row[LEFT_ACCELERATION], "right": row[RIGHT_ACCELERATION]},
            support,
            row[TORSO].reshape(3, 3),
        )


def target_table(
    gait: Gait, time: Array, position: Array, velocity: Array, torque: Array
) -> TargetTable:
    """Return the targets of joints that follow a gait.

    Args:
        gait: The gait.
        time: Points, equally spaced from 0 [s], shape (n,).
        position: Joint positions [rad or m], shape (n, nv - 6).
        velocity: Joint velocities [rad/s or m/s], shape (n, nv - 6).
        torque: Feed-forward torques [Nm or N], shape (n, nv - 6).
    """
    rows = _at_rest(target_rows(gait, time, position, velocity, torque))
    return _table_of(gait, time, rows, position.shape[1])


def piece_table(
    gait: Gait, time: Array, position: Array, velocity: Array, torque: Array
) -> TargetTable:
    """Return the targets of a piece of a motion, which moves on at both ends.

    Args:
        gait: The gait.
        time: Points, equally spaced from 0 [s], shape (n,).
        position: Joint positions [rad or m], shape (n, nv - 6).
        velocity: Joint velocities [rad/s or m/s], shape (n, nv - 6).
        torque: Feed-forward torques [Nm or N], shape (n, nv - 6).
    """
    points = target_rows(gait, time, position, velocity, torque)
    rows = np.vstack([points[:1], points, points[-1:]])
    return replace(_table_of(gait, time, rows, position.shape[1]), lasting=False)


def _table_of(gait: Gait, time: Array, rows: Array, joints: int) -> TargetTable:
    """Return a table of rows, those before the start and after the end included."""
    rows.flags.writeable = False
    return TargetTable(
        float(time[1] - time[0]),
        float(time[-1]),
        rows,
        joints,
        tuple(phase.start for phase in gait.phases[1:]),
        tuple(phase.support for phase in gait.phases),
    )


def target_rows(
    gait: Gait, time: Array, position: Array, velocity: Array, torque: Array
) -> Array:
    """Return all that is wanted at times, as columns of a table, a row for each."""
    table = gait.at(time)
    count = len(time)
    dcm = table.com + table.com_velocity / gait.parameters.omega  # ξ = c + ċ / ω
    sides: tuple[Side, Side] = ("left", "right")
    return np.hstack(
        [
            table.com,
            dcm,
            table.zmp,
            *(table.soles[side].reshape(count, 16) for side in sides),
            table.torso.reshape(count, 9),
            table.com_velocity,
            table.com_acceleration,
            *(table.sole_twists[side] for side in sides),
            *(table.sole_accelerations[side] for side in sides),
            position,
            velocity,
            torque,
        ]
    )


def standing_table(
    time: Array,
    com: Array,
    zmp: Array,
    soles: Mapping[Side, Array],
    joints: tuple[Array, Array, Array],
) -> TargetTable:
    """Return the targets of a robot that stands on both feet, its CoM and torso held.

    Args:
        time: Points, equally spaced from 0 [s], shape (n,).
        com: Where the CoM is held [m], shape (3,).
        zmp: ZMP [m], shape (n, 3).
        soles: Transforms from sole to world by side, shape (4, 4) each.
        joints: Joint positions [rad or m], velocities [rad/s or m/s] and feed-forward
            torques [Nm or N], shape (n, nv - 6) each.
    """
    count = len(time)
    held = [com, soles["left"].ravel(), soles["right"].ravel(), np.eye(3).ravel()]
    centre, left, right, torso = (np.tile(row, (count, 1)) for row in held)
    rates = np.zeros((count, RATES.stop - RATES.start))
    points = [centre, centre, zmp, left, right, torso, rates, *joints]
    rows = _at_rest(np.hstack(points))
    rows.flags.writeable = False
    count = joints[0].shape[1]
    return TargetTable(
        float(time[1] - time[0]), float(time[-1]), rows, count, (), ("both",)
    )


def _at_rest(points: Array) -> Array:
    """Return rows of a table with one at rest before them and one after them."""
    rows = np.vstack([points[:1], points, points[-1:]])
    joints = (rows.shape[1] - JOINTS) // 3
    for rest in (rows[0], rows[-1]):
        rest[RATES] = rest[JOINTS + joints : JOINTS + 2 * joints] = 0.0
        rest[DCM] = rest[COM]
    return rows


def _make_orthonormal(rotation: Array) -> None:
    """Make a matrix near a rotation one, by Gram–Schmidt on its rows, in place."""
    # plain numbers: on nine of them NumPy's calls would take several times as long
    (a, b, c), (d, e, f), _ = rotation.tolist()
    scale = 1.0 / sqrt(a * a + b * b + c * c)
    a, b, c = scale * a, scale * b, scale * c
    along = a * d + b * e + c * f
    d, e, f = d - along * a, e - along * b, f - along * c
    scale = 1.0 / sqrt(d * d + e * e + f * f)
    d, e, f = scale * d, scale * e, scale * f
    rotation[:] = (a, b, c), (d, e, f), (b * f - c * e, c * d - a * f, a * e - b * d)
