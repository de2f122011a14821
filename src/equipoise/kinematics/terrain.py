"""What a robot stands on: flat ground, slopes, stairs, height fields, roughness."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array, frozen_array
from equipoise.errors import EquipoiseError, ShapeError
from equipoise.kernels.ground import GRID, PLANE, STAIRS, GroundArrays

STEEPEST = math.radians(60.0)
# Random roughness: plane waves that add up, and how finely they are sampled.
WAVES = 32
NODES_PER_WAVE = 8
MOST_NODES = 4_000_000


class Surface(NamedTuple):
    """The ground at points.

    Attributes:
        depth: Depth of the points along the normal, positive inside the ground [m],
            (…).
        normal: Unit vectors out of the ground, in world axes, shape (…, 3).
    """

    depth: Array
    normal: Array


class Terrain(Protocol):
    """What a robot stands on; :mod:`equipoise.kernels.ground` is the same in Warp."""

    def height(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Return the height of the ground above z = 0 [m] at x and y [m]."""
        ...

    def surface(self, positions: ArrayLike) -> Surface:
        """Return depth and normal at positions in the world [m], shape (…, 3)."""
        ...

    def arrays(self) -> GroundArrays:
        """Return the same ground for kernels."""
        ...

    def describe(self) -> str:
        """Return what it is, in a few words."""
        ...


class _Plane(ABC):
    """What flat and sloping ground have in common."""

    @property
    @abstractmethod
    def normal(self) -> Array:
        """Unit vector out of the ground, shape (3,)."""

    @property
    def offset(self) -> float:
        """Distance from the origin along the normal [m]."""
        return 0.0

    def height(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Return the height of the ground above z = 0 [m] at x and y [m]."""
        nx, ny, nz = self.normal
        return np.asarray((self.offset - nx * np.asarray(x) - ny * np.asarray(y)) / nz)

    def surface(self, positions: ArrayLike) -> Surface:
        """Return depth and normal at positions in the world [m], shape (…, 3)."""
        points = _points(positions)
        normal = np.broadcast_to(self.normal, points.shape).copy()
        return Surface(np.asarray(self.offset - points @ self.normal), normal)

    def arrays(self) -> GroundArrays:
        """Return the same ground for kernels."""
        return GroundArrays(PLANE, normal=self.normal, offset=self.offset)


# No ground is higher or deeper [m].
HIGHEST = 1e6


@dataclass(frozen=True)
class Flat(_Plane):
    """Level ground.

    Attributes:
        level: Its height [m].
    """

    level: float = 0.0

    def __post_init__(self) -> None:
        """Refuse heights that are not finite."""
        _check_number("level", self.level, "flat ground", "m")

    @property
    def normal(self) -> Array:
        """Unit vector out of the ground, shape (3,)."""
        return np.array([0.0, 0.0, 1.0])

    @property
    def offset(self) -> float:
        """Height [m]."""
        return self.level

    def describe(self) -> str:
        """Return what it is, in a few words."""
        return f"flat ground at {self.level:g} m" if self.level else "flat ground"


@dataclass(frozen=True)
class Slope(_Plane):
    """A plane through the origin.

    Attributes:
        pitch: Its angle along x; positive rises towards +x [rad].
        roll: Its angle along y; positive rises towards +y [rad].
    """

    pitch: float
    roll: float = 0.0

    def __post_init__(self) -> None:
        """Refuse slopes that nothing stands on."""
        for name in ("pitch", "roll"):
            _check_number(name, getattr(self, name), "a slope", "rad")
        upright = abs(self.pitch) < STEEPEST and abs(self.roll) < STEEPEST
        if not (upright and self.steepness < STEEPEST):
            raise EquipoiseError(
                f"a slope of {math.degrees(self.pitch):g}° along x and "
                f"{math.degrees(self.roll):g}° along y; at its steepest it must be "
                f"less than {math.degrees(STEEPEST):g}°"
            )

    @property
    def steepness(self) -> float:
        """Angle between the plane and level ground [rad]."""
        return math.atan(math.hypot(math.tan(self.pitch), math.tan(self.roll)))

    @property
    def normal(self) -> Array:
        """Unit vector out of the ground, shape (3,)."""
        upward = np.array([-math.tan(self.pitch), -math.tan(self.roll), 1.0])
        return np.asarray(upward / np.linalg.norm(upward))

    def describe(self) -> str:
        """Return what it is, in a few words."""
        pitch, roll = math.degrees(self.pitch), math.degrees(self.roll)
        lateral = f", {roll:.3g}° along y" if roll else ""
        return f"slope of {pitch:.3g}° along x{lateral}"


@dataclass(frozen=True)
class Stairs:
    """Steps going along +x, as wide as the world, between two level grounds.

    A point inside touches the face that it is less deep in, riser or tread. So a
    point that stands nearer to an edge than it sinks in touches the riser.

    Attributes:
        rise: Height of a step [m]; negative goes down.
        tread: Depth of a step [m].
        count: How many steps; then a landing that goes on for ever.
        start: Where the first riser is, along x [m].
    """

    rise: float
    tread: float
    count: int
    start: float

    def __post_init__(self) -> None:
        """Refuse steps without height, depth or number."""
        for name in ("rise", "tread", "start"):
            _check_number(name, getattr(self, name), "stairs", "m")
        if self.rise == 0.0:
            raise EquipoiseError("stairs with a rise of 0 m; it must not be zero")
        if self.tread <= 0.0:
            raise EquipoiseError(
                f"stairs with a tread of {self.tread:g} m; it must be positive"
            )
        if not (1 <= self.count == int(self.count)):
            raise EquipoiseError(
                f"stairs of {self.count} steps; there must be a whole number of them, "
                "1 or more"
            )

    def height(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Return the height of the ground above z = 0 [m] at x and y [m]."""
        x, _ = np.broadcast_arrays(np.asarray(x, dtype=np.float64), y)
        passed = np.floor((x - self.start) / self.tread) + 1.0
        return np.asarray(self.rise * np.clip(passed, 0.0, self.count))

    def surface(self, positions: ArrayLike) -> Surface:
        """Return depth and normal at positions in the world [m], shape (…, 3)."""
        points = _points(positions)
        x, y, z = np.moveaxis(points, -1, 0)
        below_tread = self.height(x, y) - z
        riser = np.floor(z / self.rise) + 1.0
        up = math.copysign(1.0, self.rise)
        behind_riser = up * (x - self.start - (riser - 1.0) * self.tread)
        has_riser = (below_tread > 0.0) & (riser >= 1.0) & (riser <= self.count)
        pushed_back = has_riser & (behind_riser < below_tread)
        depth = np.where(pushed_back, behind_riser, below_tread)
        normal = np.where(pushed_back[..., None], [-up, 0.0, 0.0], [0.0, 0.0, 1.0])
        return Surface(depth, normal)

    def arrays(self) -> GroundArrays:
        """Return the same ground for kernels."""
        return GroundArrays(
            STAIRS,
            rise=self.rise,
            tread=self.tread,
            count=int(self.count),
            start=self.start,
        )

    def describe(self) -> str:
        """Return what it is, in a few words."""
        way = "up" if self.rise > 0.0 else "down"
        return (
            f"{self.count} stairs {way}, rise {abs(self.rise):.3g} m, "
            f"tread {self.tread:.3g} m"
        )


@dataclass(frozen=True, eq=False)
class HeightField:
    """Heights on a square grid, bilinear between the nodes, level beyond the edges.

    Attributes:
        heights: Heights of the nodes [m], shape (ny, nx): rows go along y, columns
            along x.
        cell: Distance of neighbouring nodes [m].
        origin: Where node (0, 0) is, x and y [m], shape (2,).
        label: What to call it.
    """

    heights: Array
    cell: float
    origin: Array
    label: str = "height field"

    def __post_init__(self) -> None:
        """Keep the arrays read-only and refuse grids of another shape."""
        heights = np.asarray(self.heights, dtype=np.float64)
        if heights.ndim != 2 or min(heights.shape) < 2:
            raise ShapeError(
                f"{self.label}: heights have shape {heights.shape}; "
                "(ny, nx) is needed, both at least 2"
            )
        if not np.isfinite(heights).all():
            raise ShapeError(f"{self.label}: heights hold values that are not finite")
        if not (np.abs(heights) <= HIGHEST).all():
            raise ShapeError(f"{self.label}: heights hold values beyond {HIGHEST:g} m")
        _check_number("cell", self.cell, self.label, "m", positive=True)
        origin = np.asarray(self.origin, dtype=np.float64)
        if origin.shape != (2,) or not np.isfinite(origin).all():
            raise ShapeError(f"{self.label}: origin must be two finite numbers")
        object.__setattr__(self, "heights", frozen_array(heights))
        object.__setattr__(self, "origin", frozen_array(origin))

    def height(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Return the height of the ground above z = 0 [m] at x and y [m]."""
        height, _, _ = self._height_and_slopes(x, y)
        return height

    def surface(self, positions: ArrayLike) -> Surface:
        """Return depth and normal at positions in the world [m], shape (…, 3)."""
        x, y, z = np.moveaxis(_points(positions), -1, 0)
        height, slope_x, slope_y = self._height_and_slopes(x, y)
        upward = np.stack([-slope_x, -slope_y, np.ones_like(slope_x)], axis=-1)
        normal = upward / np.linalg.norm(upward, axis=-1, keepdims=True)
        return Surface(np.asarray((height - z) * normal[..., 2]), normal)

    def _height_and_slopes(
        self, x: ArrayLike, y: ArrayLike
    ) -> tuple[Array, Array, Array]:
        ny, nx = self.heights.shape
        u = (np.asarray(x, dtype=np.float64) - self.origin[0]) / self.cell
        v = (np.asarray(y, dtype=np.float64) - self.origin[1]) / self.cell
        u, v = np.broadcast_arrays(u, v)
        on_u, on_v = np.clip(u, 0.0, nx - 1.0), np.clip(v, 0.0, ny - 1.0)
        i = np.minimum(on_u.astype(np.intp), nx - 2)
        j = np.minimum(on_v.astype(np.intp), ny - 2)
        a, b = on_u - i, on_v - j
        corners = self.heights
        low, high = corners[j, i], corners[j + 1, i]
        low_right, high_right = corners[j, i + 1], corners[j + 1, i + 1]
        height = (1 - b) * ((1 - a) * low + a * low_right) + b * (
            (1 - a) * high + a * high_right
        )
        slope_x = ((1 - b) * (low_right - low) + b * (high_right - high)) / self.cell
        slope_y = ((1 - a) * (high - low) + a * (high_right - low_right)) / self.cell
        return (
            np.asarray(height),
            np.where(on_u == u, slope_x, 0.0),
            np.where(on_v == v, slope_y, 0.0),
        )

    def arrays(self) -> GroundArrays:
        """Return the same ground for kernels."""
        return GroundArrays(
            GRID, heights=self.heights, cell=self.cell, origin=self.origin
        )

    def describe(self) -> str:
        """Return what it is, in a few words."""
        width, length = self.cell * (np.array(self.heights.shape) - 1)
        low, high = self.heights.min(), self.heights.max()
        return (
            f"{self.label}, {length:.3g} m × {width:.3g} m, "
            f"heights from {low:.3g} to {high:.3g} m"
        )


def rough(
    amplitude: float,
    seed: int,
    wavelength: float = 0.5,
    flat_radius: float = 0.3,
    extent: float = 10.0,
) -> HeightField:
    """Return random roughness around the origin: plane waves of random directions.

    Args:
        amplitude: Largest height or depth [m].
        seed: Seed of the random numbers; the same seed gives the same ground.
        wavelength: Typical distance of two bumps [m]; waves are between 0.7 and 1.4
            times as long.
        flat_radius: Radius of the disc around the origin that is flat, to start on [m];
            roughness grows to its full height over the next wavelength.
        extent: Edge length of the square that is rough [m].
    """
    _check_number("amplitude", amplitude, "rough ground", "m")
    _check_number("wavelength", wavelength, "rough ground", "m", positive=True)
    _check_number("flat_radius", flat_radius, "rough ground", "m")
    _check_number("extent", extent, "rough ground", "m", positive=True)
    if amplitude < 0.0:
        raise EquipoiseError(f"rough ground of {amplitude:g} m; it must be 0 or more")
    if seed < 0:
        raise EquipoiseError(f"rough ground of seed {seed}; it must be 0 or more")
    cells = max(2, math.ceil(NODES_PER_WAVE * extent / wavelength))
    if (cells + 1) ** 2 > MOST_NODES:
        raise EquipoiseError(
            f"rough ground with bumps every {wavelength:g} m over {extent:g} m needs "
            f"{(cells + 1) ** 2} nodes; at most {MOST_NODES} are possible"
        )
    generator = np.random.default_rng(seed)
    angle = generator.uniform(0.0, 2.0 * np.pi, WAVES)
    phase = generator.uniform(0.0, 2.0 * np.pi, WAVES)
    number = 2.0 * np.pi / (wavelength * generator.uniform(0.7, 1.4, WAVES))
    along = np.linspace(-extent / 2.0, extent / 2.0, cells + 1)
    x, y = np.meshgrid(along, along)
    heights = np.zeros_like(x)
    for k, direction, start in zip(number, angle, phase, strict=True):
        heights += np.cos(k * (np.cos(direction) * x + np.sin(direction) * y) + start)
    # a cell further: interpolation brings in the nodes around the disc
    flat_nodes = flat_radius + math.sqrt(2.0) * extent / cells
    away = np.clip((np.hypot(x, y) - flat_nodes) / wavelength, 0.0, 1.0)
    heights *= away * away * (3.0 - 2.0 * away)
    heights *= amplitude / max(float(np.abs(heights).max()), 1e-12)
    label = f"rough ground of {amplitude:.3g} m, seed {seed}"
    return HeightField(heights, extent / cells, along[[0, 0]], label)


def _check_number(
    name: str, value: float, of: str, unit: str, *, positive: bool = False
) -> None:
    """Refuse numbers that are not finite, or not positive where they must be.

    Raises:
        EquipoiseError: Naming the number.
    """
    if not math.isfinite(value) or (positive and value <= 0.0):
        must = "positive and finite" if positive else "finite"
        raise EquipoiseError(f"{of}: {name} is {value:g} {unit}; it must be {must}")


def _points(positions: ArrayLike) -> Array:
    points = np.asarray(positions, dtype=np.float64)
    if points.ndim == 0 or points.shape[-1] != 3:
        raise ShapeError(f"positions have shape {points.shape}; (…, 3) is needed")
    return points
