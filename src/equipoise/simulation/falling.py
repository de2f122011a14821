"""When a robot has fallen: its CoM is low, or its base is tilted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from equipoise.arrays import Array
from equipoise.kinematics.com import com
from equipoise.kinematics.stance import sole_pose
from equipoise.log.run import Run
from equipoise.robot.joint_coordinates import degree_names
from equipoise.robot.parts import Side
from equipoise.simulation.actuation import MODES
from equipoise.simulation.measures import LEAST_FORCE
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
    fallen = np.flatnonzero(fall_test(world, start)(q))
    return float(time[fallen[0]]) if len(fallen) else None


def fall_test(world: World, start: Array) -> Callable[[Array], NDArray[np.bool_]]:
    """Return what says whether a robot lies, in configurations (…, nq); shape (…).

    Args:
        world: The robot and what it stands on.
        start: Configuration in which it stood, shape (nq,).
    """
    lowest = FALLEN_HEIGHT * com_height(world, start)
    up = vertical_in_base(start[3:7])

    def lies(q: Array) -> NDArray[np.bool_]:
        tilt = np.arccos(np.clip(vertical_in_base(q[..., 3:7]) @ up, -1.0, 1.0))
        return np.asarray((com_height(world, q) < lowest) | (tilt > FALLEN_TILT))

    return lies


def com_height(world: World, q: Array) -> Array:
    """Return the height of the CoM above the ground below it [m], shape (…)."""
    centre = np.asarray(com(world.robot, q))
    ground = world.terrain.height(centre[..., 0], centre[..., 1])
    return np.asarray(centre[..., 2] - ground)


def vertical_in_base(xyzw: Array) -> Array:
    """Return the world's z-axis in axes turned by quaternions (…, 4), shape (…, 3)."""
    x, y, z, w = (xyzw[..., part] for part in range(4))
    row = [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]
    return np.stack(row, axis=-1)


# A robot that is tilted by less [rad], and higher than this fraction of its height at
# the start, has not begun to fall.
UPRIGHT_TILT, UPRIGHT_HEIGHT = 0.1, 0.9
# A ZMP nearer than this to the edge of the support is at it [m].
AT_EDGE = 1e-3
# Shorter interruptions of a cause do not end it [s].
SHORT = 0.1
# Soles slip that are faster than this where they touch [m/s], and go further than
# this before the robot begins to fall [m].
SLIPPING, SLIPPED = 0.05, 0.02
# An actuator that gives this fraction of its limit gives all it can; for less than this
# before the robot begins to fall [s], that is not the cause.
SATURATED, SUSTAINED = 0.999, 0.05
# A foot with less than this fraction of the load does not carry.
CARRYING = 0.2
# Edges whose distances differ by less than this are equally near [m].
EQUALLY_NEAR = 5e-3

Kind = Literal["tipped", "slipped", "saturated"]


@dataclass(frozen=True)
class FallCause:
    """What went on when a robot began to fall, and how it began.

    Attributes:
        kind: It tipped over an edge of its soles, its soles slipped, or an actuator of
            a leg gave all it could.
        time: Since when [s].
        text: In words, as ``"its ZMP reached the front edge of the left sole at
            2.90 s"``.
    """

    kind: Kind
    time: float
    text: str


def fall_cause(
    world: World, run: Run, fell_at: float | None, upright: Array
) -> FallCause | None:
    """Return what led to a fall, or None if that cannot be seen or nothing fell.

    The fall begins when the robot is last upright. Of what then goes on (ZMP at an
    edge of the soles, soles slipping, an actuator of a leg at its limit), the one that
    began first is returned, with the time since when it went on.

    Args:
        world: The robot and what it met.
        run: Its run.
        fell_at: Time of the fall, or None [s].
        upright: Configuration in which it stood, shape (nq,).
    """
    if fell_at is None or len(run.time) < 2:
        return None
    stands = _upright(world, run, upright) & (run.time < fell_at)
    if not stands.any():
        return None
    lost = int(np.flatnonzero(stands)[-1])
    causes = [_tipped(run, lost), _slipped(run, lost), _saturated(world, run, lost)]
    found = [cause for cause in causes if cause is not None]
    return min(found, key=lambda cause: cause.time, default=None)


def _upright(world: World, run: Run, upright: Array) -> NDArray[np.bool_]:
    up = Rotation.from_quat(upright[3:7]).as_matrix()[2]
    tilt = np.arccos(
        np.clip(Rotation.from_quat(run.q[:, 3:7]).as_matrix()[:, 2] @ up, -1.0, 1.0)
    )
    least = UPRIGHT_HEIGHT * com_height(world, upright)
    return np.asarray((tilt < UPRIGHT_TILT) & (com_height(world, run.q) > least))


def _onset(run: Run, flags: NDArray[np.bool_], lost: int) -> int | None:
    """Return the row since which a flag was set, up to a row, but for a short while."""
    rows = np.flatnonzero(flags[: lost + 1])
    if len(rows) == 0 or run.time[lost] - run.time[rows[-1]] > SHORT:
        return None
    gaps = np.flatnonzero(np.diff(run.time[rows]) > SHORT + 1e-9)
    return int(rows[gaps[-1] + 1] if len(gaps) else rows[0])


def _tipped(run: Run, lost: int) -> FallCause | None:
    feet = {side: sole for side, sole in run.robot.soles.items() if sole.area > 0.0}
    if set(feet) - set(run.foot_wrench) or not feet:
        return None
    load = {side: np.maximum(run.foot_wrench[side][:, 2], 0.0) for side in feet}
    total = np.maximum(run.contact_force[..., 2].sum(axis=1), LEAST_FORCE)
    stood = np.flatnonzero(run.supported[: lost + 1])
    if len(stood) == 0:
        return None
    # over this one it went, whatever the others did before
    foot = max(feet, key=lambda side: load[side][stood[-1]])
    at_edge = run.supported & (np.nan_to_num(run.zmp_margin) < AT_EDGE)
    at_edge &= load[foot] > CARRYING * total
    row = _onset(run, at_edge | ~run.supported, lost)
    if row is None or not at_edge[row : lost + 1].any():
        return None
    row += int(np.argmax(at_edge[row : lost + 1]))
    carrying = [side for side in feet if load[side][row] > CARRYING * total[row]]
    names = {side: _edge(run, side, row, lost) for side in carrying}
    both = len(names) == 2 and len(set(names.values())) == 1
    which = "edges of both soles" if both else f"edge of the {foot} sole"
    time = float(run.time[row])
    text = f"its ZMP reached the {names[foot]} {which} at {time:.2f} s"
    return FallCause("tipped", time, text)


def _edge(run: Run, side: Side, row: int, lost: int) -> str:
    """Return the edge of a sole at which it is pressed: front, rear, inner, outer.

    At a corner it is the edge over which the CoM then goes.
    """
    wrench = run.foot_wrench[side][row]
    pressed = np.array([-wrench[4], wrench[3]]) / wrench[2]
    corners = run.robot.soles[side].polygon_in_sole
    along = np.roll(corners, -1, axis=0) - corners
    outwards = np.stack([along[:, 1], -along[:, 0]], axis=1)
    length = np.linalg.norm(outwards, axis=1)
    outwards = outwards[length > 0.0] / length[length > 0.0, None]
    inside = ((corners[length > 0.0] - pressed) * outwards).sum(axis=1)
    near = inside < inside.min() + EQUALLY_NEAR
    last = min(len(run.time) - 1, lost + 1)
    to_sole = sole_pose(run.robot, run.q[row], side)[:3, :3].T
    towards = (to_sole @ (run.com[last] - run.com[row]))[:2]
    best = int(np.argmax(np.where(near, outwards @ towards, -np.inf)))
    x, y = outwards[best]
    if abs(x) >= abs(y):
        return "front" if x > 0.0 else "rear"
    return "outer" if (y > 0.0) == (side == "left") else "inner"


def _slipped(run: Run, lost: int) -> FallCause | None:
    step = np.diff(run.time)[:, None]
    push = np.linalg.norm(run.contact_force, axis=2)
    push = np.minimum(push[1:], push[:-1])  # touching before and after
    speed = np.linalg.norm(np.diff(run.contact_position, axis=0), axis=2) / step
    total = push.sum(axis=1)
    mean = (push * speed).sum(axis=1) / np.where(total > LEAST_FORCE, total, np.inf)
    mean = np.insert(mean, 0, 0.0)
    row = _onset(run, mean > SLIPPING, lost)
    if row is None:
        return None
    spans = np.diff(run.time, prepend=run.time[0])
    if (mean * spans)[row : lost + 1].sum() < SLIPPED:
        return None
    time = float(run.time[row])
    return FallCause("slipped", time, f"its feet began to slip at {time:.2f} s")


def _saturated(world: World, run: Run, lost: int) -> FallCause | None:
    drives = world.actuation
    can = np.isin(drives.mode, [MODES.index("torque"), MODES.index("servo")])
    names = degree_names(run.robot)
    legs = run.robot.leg_joints
    found: list[FallCause] = []
    for joint, name in enumerate(names):
        limit = float(drives.torque_limit[joint])
        if name not in legs or not can[joint] or not 0.0 < limit < np.inf:
            continue
        row = _onset(run, np.abs(run.torque[:, joint]) >= SATURATED * limit, lost)
        if row is None or run.time[lost] - run.time[row] < SUSTAINED:
            continue
        time = float(run.time[row])
        unit = "N" if name in run.robot.sliding_joints else "Nm"
        text = (
            f"the actuator of {name} was at its limit of {limit:g} {unit} from "
            f"{time:.2f} s"
        )
        found.append(FallCause("saturated", time, text))
    return min(found, key=lambda cause: cause.time, default=None)
