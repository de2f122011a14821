"""Both feet over a whole walk: laid onto the ground, and swinging above it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.gait.footsteps import Footstep, Footsteps, Stride, sole_transforms
from equipoise.gait.parameters import Phase
from equipoise.kinematics.terrain import Terrain
from equipoise.robot.parts import Side

Height: TypeAlias = Callable[[Array, Array], ArrayLike]
# A sole stands where the ground under it is this flat, as a fraction of the leg length.
MOST_UNEVEN = 0.01
# Steeper ground is not stood on: ankles of humanoids roll by 15° to 30°.
STEEPEST = math.radians(20.0)


def height_function(ground: Terrain | Height) -> Height:
    """Return the height of the ground as a function of x and y.

    Args:
        ground: A function of x and y, or an object with a method ``height``.

    Raises:
        EquipoiseError: If it is neither.
    """
    found = getattr(ground, "height", ground)
    if not callable(found):
        raise EquipoiseError(
            f"ground is {ground!r}; a function height(x, y) or an object with a method "
            "height is needed"
        )
    height: Height = found
    return height


def heights_or_nothing(height: Height, x: Array, y: Array) -> Array:
    """Return heights of the ground, −inf where there is none (NaN), any shape."""
    values = np.asarray(height(x, y), dtype=np.float64)
    heights = np.array(np.broadcast_to(values, np.shape(x)))
    heights[np.isnan(heights)] = -np.inf
    return heights


def footprint(polygon: Array) -> Array:
    """Return points all over a sole: corners, middles of edges, its middle, (m, 2)."""
    middles = (polygon + np.roll(polygon, -1, axis=0)) / 2.0
    return np.vstack([polygon, middles, polygon.mean(axis=0)])


def lay(
    footsteps: Footsteps, height: Height, polygons: Mapping[Side, Array], leg: float
) -> Footsteps:
    """Return footsteps with height and tilt of the ground under them.

    Args:
        footsteps: Footsteps; their x, y and yaw are kept.
        height: Height of the ground [m] at x and y [m].
        polygons: Corners of the soles in their frames [m], shape (k, 2) each.
        leg: Length of a leg, for what counts as flat [m].

    Raises:
        EquipoiseError: If there is no ground under a sole, or it is uneven or steep;
            names the step.
    """

    def laid(foot: Footstep, name: str) -> Footstep:
        return _laid(foot, name, height, polygons[foot.side], leg)

    return Footsteps(
        laid(footsteps.left, "the left foot at the start"),
        laid(footsteps.right, "the right foot at the start"),
        tuple(
            laid(step, f"step {number} ({step.side} foot)")
            for number, step in enumerate(footsteps.steps, start=1)
        ),
    )


def _laid(
    foot: Footstep, name: str, height: Height, polygon: Array, leg: float
) -> Footstep:
    """Return one footstep on the plane that fits best to the ground under its sole."""
    where = f"{name}, at x = {foot.x:.3f} m, y = {foot.y:.3f} m"
    points = footprint(polygon)
    c, s = math.cos(foot.yaw), math.sin(foot.yaw)
    x, y = (points @ np.array([[c, s], [-s, c]]) + [foot.x, foot.y]).T
    ground = heights_or_nothing(height, x, y)
    if not np.isfinite(ground).all():
        raise EquipoiseError(f"{where}: there is no ground under the sole")
    columns = np.column_stack([np.ones(len(points)), points])
    plane, *_ = np.linalg.lstsq(columns, ground, rcond=1e-9)
    uneven = float(np.abs(ground - columns @ plane).max())
    if uneven > MOST_UNEVEN * leg:
        raise EquipoiseError(
            f"{where}: the ground under the sole differs by {uneven:.3f} m from a "
            f"plane; at most {MOST_UNEVEN * leg:.3f} m is possible (is it an edge?)"
        )
    rise, forward, left = (float(value) for value in plane)
    steepness = math.atan(math.hypot(forward, left))
    if steepness > STEEPEST:
        raise EquipoiseError(
            f"{where}: the ground is {math.degrees(steepness):.1f}° steep; at most "
            f"{math.degrees(STEEPEST):g}° is possible"
        )
    normal = math.sqrt(1.0 + forward**2 + left**2)
    pitch, roll = -math.atan(forward), math.asin(left / normal)
    return replace(foot, z=rise, pitch=pitch, roll=roll)


# Fractions of the swing: for going up (and for coming down), and before the foot goes
# forward (and after). The first is smoothest; in the last the foot goes straight up,
# straight on and straight down, which clears any edge lower than the apex.
PROFILES = ((0.5, 0.1), (0.45, 0.15), (0.4, 0.2), (0.35, 0.25), (0.3, 0.3))
# Over an edge, each point of the sole keeps this fraction of the clearance.
EDGE_FRACTION = 0.3
# A foot that turns about its toe is turned most after this fraction of the swing.
HEEL_HIGHEST = 0.3
SAMPLES = 61


class FootTable(NamedTuple):
    """A foot at n times.

    Attributes:
        coordinates: x, y, z [m], yaw, pitch, roll [rad], shape (n, 6).
        rates: Their time derivatives, shape (n, 6).
        accelerations: Their second time derivatives, shape (n, 6).
    """

    coordinates: Array
    rates: Array
    accelerations: Array


@dataclass(frozen=True)
class Swing:
    """One swing of a foot.

    Attributes:
        start: Where the foot lifts off.
        end: Where it comes down.
        lift_off: When [s].
        touch_down: When [s].
        apex: Height of the sole frame at its highest [m].
        rising: Fraction of the time for going up, and for coming down.
        waiting: Fraction of the time before the foot goes forward, and after.
        pitch: How far the foot turns about its toe, heel up, at most [rad].
        toe: How far the toe is ahead of the sole frame [m]; it moves as if the foot
            did not turn.
        heel_off: Time before lift-off at which the heel begins to rise [s].
        heel_down: Time after touch-down at which the heel is down [s].
    """

    start: Footstep
    end: Footstep
    lift_off: float
    touch_down: float
    apex: float
    rising: float = PROFILES[0][0]
    waiting: float = PROFILES[0][1]
    pitch: float = 0.0
    toe: float = 0.0
    heel_off: float = 0.0
    heel_down: float = 0.0

    def at(self, times: Array) -> FootTable:
        """Return the foot at times [s], shape (n,); at rest before and after."""
        duration = self.touch_down - self.lift_off
        fraction = np.clip((times - self.lift_off) / duration, 0.0, 1.0)
        first, last = self.start.coordinates, self.end.coordinates
        along = 1.0 - 2.0 * self.waiting
        over = _quintic((fraction - self.waiting) / along, along * duration)
        up = _quintic(fraction / self.rising, self.rising * duration)
        down = _quintic((fraction - 1.0) / self.rising + 1.0, self.rising * duration)
        tables = []
        for order in range(3):
            values = over[order][:, None] * (last - first)
            values[:, 2] = up[order] * (self.apex - self.start.z)
            values[:, 2] += down[order] * (self.end.z - self.apex)
            tables.append(values)
        if self.pitch:
            self._raise_heel(times, tables)
        tables[0] += first
        # both ends exactly as they are, whatever rounding does in between
        tables[0][times >= self.touch_down + self.heel_down] = last
        return FootTable(*tables)

    def _raise_heel(self, times: Array, tables: list[Array]) -> None:
        """Add a turn about the toe to coordinates and their derivatives, in place."""
        begin = self.lift_off - self.heel_off
        highest = self.lift_off + HEEL_HIGHEST * (self.touch_down - self.lift_off)
        end = self.touch_down + self.heel_down
        turns_back = self.touch_down - self.heel_down if self.heel_down else highest
        rising, falling = highest - begin, end - turns_back
        up = _quintic((times - begin) / rising, rising)
        down = _quintic((times - turns_back) / falling, falling)
        angle, rate, change = (
            self.pitch * (u - d) for u, d in zip(up, down, strict=True)
        )
        level = self.start.pitch
        s, c = self.toe * np.sin(level + angle), self.toe * np.cos(level + angle)
        forward = (self.toe * np.cos(level) - c, s * rate, s * change + c * rate**2)
        upward = (s - self.toe * np.sin(level), c * rate, c * change - s * rate**2)
        along = np.cos(self.start.yaw), np.sin(self.start.yaw)
        for values, turn, x, z in zip(
            tables, (angle, rate, change), forward, upward, strict=True
        ):
            values[:, :2] += x[:, None] * np.array(along)
            values[:, 2] += z
            values[:, 4] += turn


def plan_swing(
    start: Footstep,
    end: Footstep,
    lift_off: float,
    touch_down: float,
    clearance: float,
    polygon: Array,
    height: Height | None = None,
    pitch: float = 0.0,
    heel_off: float = 0.0,
    heel_down: float = 0.0,
) -> Swing:
    """Return a swing that clears the ground.

    Args:
        start: Where the foot lifts off.
        end: Where it comes down.
        lift_off: When [s].
        touch_down: When [s].
        clearance: Clearance of the sole at its highest, above the higher of both ends
            and above the highest ground that it passes [m].
        polygon: Corners of the sole in its frame [m], shape (k, 2).
        height: Height of the ground at x and y; None if it is level or only known
            under the footsteps.
        pitch: How far the foot turns about its toe, heel up [rad].
        heel_off: Time before lift-off at which the heel begins to rise [s].
        heel_down: Time after touch-down at which the heel is down [s].
    """
    ends = max(start.z, end.z)
    level = Swing(start, end, lift_off, touch_down, ends + clearance)
    turned = replace(
        level,
        pitch=pitch,
        toe=float(polygon[:, 0].max()),
        heel_off=heel_off,
        heel_down=heel_down,
    )
    if height is None:
        return turned
    times = np.linspace(lift_off, touch_down, SAMPLES)
    sole = footprint(polygon)
    points = np.hstack([sole, np.zeros((len(sole), 1)), np.ones((len(sole), 1))])

    def above_ground(swing: Swing) -> tuple[Array, Array]:
        path = swing.at(times).coordinates
        placed = points @ np.swapaxes(sole_transforms(path), 1, 2)
        ground = heights_or_nothing(height, placed[..., 0], placed[..., 1])
        return placed[..., 2] - ground, path[:, 2, None] - placed[..., 2] + ground

    # what the sole frame's height must be for no point to be in the ground
    _, needed = above_ground(level)
    apex = max(ends, float(np.max(needed, initial=-np.inf))) + clearance
    for rising, waiting in PROFILES:
        flat = replace(level, apex=apex, rising=rising, waiting=waiting)
        path = flat.at(times).coordinates[:, 2]
        swing = replace(turned, apex=apex, rising=rising, waiting=waiting)
        gap, _ = above_ground(swing)
        first_half = times <= (lift_off + touch_down) / 2.0
        lifted = path - np.where(first_half, start.z, end.z)
        sunk = max(0.0, float(-np.minimum(gap[0].min(), gap[-1].min())))
        wanted = np.clip(lifted, 0.0, EDGE_FRACTION * clearance) - sunk - 1e-9
        if np.all(gap >= wanted[:, None]):
            break
    return swing


def _quintic(fraction: Array, duration: float) -> tuple[Array, Array, Array]:
    """Return the quintic from 0 to 1, its rate and acceleration; constant outside."""
    u = np.clip(fraction, 0.0, 1.0)
    return (
        u**3 * (10.0 + u * (6.0 * u - 15.0)),
        30.0 * (u * (1.0 - u)) ** 2 / duration,
        60.0 * u * (1.0 - u) * (1.0 - 2.0 * u) / duration**2,
    )


@dataclass(frozen=True)
class FootMotion:
    """One foot over time: it stands, swings, stands.

    Attributes:
        start: Where it stands at first.
        swings: Its swings, in order of time.
    """

    start: Footstep
    swings: tuple[Swing, ...]

    def on_toe(self, times: Array) -> NDArray[np.bool_]:
        """Return when the heel is up while the toe still stands, shape (n,)."""
        found = np.zeros(len(times), dtype=bool)
        for swing in self.swings:
            if swing.pitch:
                begin = swing.lift_off - swing.heel_off
                end = swing.touch_down + swing.heel_down
                found |= (times > begin) & (times <= swing.lift_off)
                found |= (times >= swing.touch_down) & (times < end)
        return found

    def at(self, times: Array) -> FootTable:
        """Return the foot at times [s], shape (n,)."""
        rest = np.zeros((len(times), 6))
        table = FootTable(
            np.tile(self.start.coordinates, (len(times), 1)), rest, rest.copy()
        )
        starts = [swing.lift_off - swing.heel_off for swing in self.swings]
        latest = np.searchsorted(starts, times, side="right")
        for number, swing in enumerate(self.swings, start=1):
            during = latest == number
            for whole, part in zip(table, swing.at(times[during]), strict=True):
                whole[during] = part
        return table


def plan_feet(
    footsteps: Footsteps,
    phases: tuple[Phase, ...],
    clearance: float,
    polygons: Mapping[Side, Array],
    height: Height | None = None,
    pitch: float = 0.0,
    heel_off: float = 0.0,
    toe_first: float = 0.0,
) -> dict[Side, FootMotion]:
    """Return the motion of both feet.

    Args:
        footsteps: Where they stand.
        phases: When they swing.
        clearance: Above the higher of both ends and the ground between [m].
        polygons: Corners of the soles in their frames [m], shape (k, 2) each.
        height: Height of the ground [m] at x and y [m], if known.
        pitch: How far swing feet turn about their toes, heel up [rad].
        heel_off: Fraction of the double support before a swing in which the heel
            begins to rise; not before the first swing.
        toe_first: Fraction of the double support after a swing to lower ground in
            which the heel comes down; not after the last swing.
    """
    swings: dict[Side, list[Swing]] = {"left": [], "right": []}
    times = {phase.step: phase for phase in phases if phase.kind == "swing"}
    double = {phase.step: phase.duration for phase in phases if phase.kind == "double"}
    for stride in footsteps.strides:
        side, phase = stride.end.side, times[stride.number]
        swings[side].append(
            plan_swing(
                stride.start,
                stride.end,
                phase.start,
                phase.end,
                clearance,
                polygons[side],
                height,
                pitch,
                heel_off * double.get(stride.number - 1, 0.0),
                toe_first * double.get(stride.number, 0.0) * _goes_down(stride),
            )
        )
    return {
        side: FootMotion(footsteps.feet[side], tuple(done))
        for side, done in swings.items()
    }


def _goes_down(stride: Stride) -> bool:
    return bool(stride.end.z < stride.support.z - TOLERANCE)


# Points of a swing at which the feet must be apart, and what is rounding [m].
PASSING_SAMPLES = 21
TOLERANCE = 1e-9


def check_feet_apart(
    footsteps: Footsteps,
    feet: Mapping[Side, FootMotion],
    polygons: Mapping[Side, Array],
) -> None:
    """Refuse steps whose swing foot passes over the other one, seen from above.

    Raises:
        EquipoiseError: Naming the step, and by how much the feet overlap.
    """
    done: dict[Side, int] = {"left": 0, "right": 0}
    for stride in footsteps.strides:
        side = stride.end.side
        swing = feet[side].swings[done[side]]
        done[side] += 1
        path = swing.at(np.linspace(swing.lift_off, swing.touch_down, PASSING_SAMPLES))
        standing = _placed(polygons[stride.support.side], stride.support.coordinates)
        passing = _placed(polygons[side], path.coordinates)
        gap = float(separation(passing, standing).min())
        if gap < -TOLERANCE:
            raise EquipoiseError(
                f"step {stride.number}: the {side} foot would come onto the other one "
                f"(soles overlap by {-gap:.3f} m)"
            )
        if _lateral_distance(stride) < -TOLERANCE:
            raise EquipoiseError(
                f"step {stride.number}: the feet would cross, the {side} foot "
                f"{-_lateral_distance(stride):.3f} m on the wrong side of the other one"
            )


def separation(first: Array, second: Array) -> Array:
    """Return how far convex polygons are apart along the best line between them [m].

    Never more than their distance; negative if they overlap, by how much one would
    have to move. Points and segments overlap nothing.

    Args:
        first: Corners, shape (k, 2), or of n polygons, shape (n, k, 2).
        second: Corners, shape (m, 2).

    Returns:
        Shape () or (n,).
    """
    other = np.broadcast_to(second, (*first.shape[:-2], *second.shape))
    best = np.full(first.shape[:-2], -np.inf)
    for polygon in (first, other):
        edges = np.roll(polygon, -1, axis=-2) - polygon
        lengths = np.linalg.norm(edges, axis=-1, keepdims=True)
        known = lengths > 0.0
        edges = np.divide(edges, lengths, out=np.zeros_like(edges), where=known)
        normals = np.stack([edges[..., 1], -edges[..., 0]], axis=-2)
        near, far = first @ normals, other @ normals  # corners × edges
        gaps = np.maximum(
            far.min(axis=-2) - near.max(axis=-2), near.min(axis=-2) - far.max(axis=-2)
        )
        gaps = np.where(known[..., 0], gaps, -np.inf)
        best = np.maximum(best, gaps.max(axis=-1, initial=-np.inf))
    return np.where(np.isfinite(best), best, 0.0)


def _placed(polygon: Array, coordinates: Array) -> Array:
    """Return a sole's corners seen from above [m], shape (…, k, 2)."""
    c, s = np.cos(coordinates[..., 3]), np.sin(coordinates[..., 3])
    turn = np.stack([np.stack([c, s], -1), np.stack([-s, c], -1)], -2)
    return np.asarray(polygon @ turn + coordinates[..., None, :2])


def _lateral_distance(stride: Stride) -> float:
    """Return how far a step is on its own side of the supporting foot [m]."""
    dx, dy, _ = stride.end.position - stride.support.position
    yaw = (stride.end.yaw + stride.support.yaw) / 2.0
    left = np.cos(yaw) * dy - np.sin(yaw) * dx
    return float(left if stride.end.side == "left" else -left)
