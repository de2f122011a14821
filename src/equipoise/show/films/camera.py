"""Where pictures are taken from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError

# Of a picture's height; a long lens, as flat as figures in papers are [rad].
FIELD_OF_VIEW = 0.5

# Nearer than this to the camera's plane nothing is drawn over the picture [m].
NEAREST = 1e-2


@dataclass(frozen=True)
class Camera:
    """A camera without distortion.

    Attributes:
        position: In the world [m].
        target: Point in the middle of the picture [m].
        up: Direction that is up in the picture.
        field_of_view: Angle from the lower to the upper edge [rad].
    """

    position: tuple[float, float, float]
    target: tuple[float, float, float]
    up: tuple[float, float, float] = (0.0, 0.0, 1.0)
    field_of_view: float = FIELD_OF_VIEW

    def __post_init__(self) -> None:
        """Refuse a camera that looks nowhere."""
        numbers = np.array([*self.position, *self.target, *self.up])
        if numbers.shape != (9,) or not np.isfinite(numbers).all():
            raise EquipoiseError(
                "a camera's position, target and up are finite triples"
            )
        if not 0.0 < self.field_of_view < np.pi:
            raise EquipoiseError(
                f"a camera's field of view is between 0 and pi rad, not "
                f"{self.field_of_view}"
            )
        if not np.linalg.norm(np.cross(numbers[3:6] - numbers[:3], numbers[6:])) > 0.0:
            raise EquipoiseError("a camera looks at another point than its own, not up")

    @property
    def axes(self) -> Array:
        """Right, down and forward in world axes, as rows, shape (3, 3)."""
        return _axes(np.subtract(self.target, self.position), np.array(self.up))

    @property
    def focal(self) -> float:
        """Distance of the image plane, in heights of the picture."""
        return float(0.5 / np.tan(0.5 * self.field_of_view))

    def project(self, points: ArrayLike, width: int, height: int) -> Array:
        """Return x, y [px] and distance along the view [m] of points (n, 3).

        x and y are those of no place where the distance is not positive.
        """
        in_camera = (np.reshape(points, (-1, 3)) - self.position) @ self.axes.T
        scale = (
            self.focal * height / np.where(in_camera[:, 2:] > 0, in_camera[:, 2:], 1)
        )
        middle = np.array([0.5 * width, 0.5 * height])
        on_screen = middle + scale * in_camera[:, :2]
        return np.concatenate([on_screen, in_camera[:, 2:]], axis=1)

    @staticmethod
    def fit(
        points: ArrayLike,
        direction: ArrayLike,
        aspect: float,
        *,
        margin: float = 0.08,
        field_of_view: float = FIELD_OF_VIEW,
    ) -> Camera:
        """Return the nearest camera that has all points in its picture.

        Args:
            points: To be seen [m], shape (n, 3), n at least 1.
            direction: The way it looks, shape (3,).
            aspect: Width over height of the picture.
            margin: Part of the picture kept free along each edge.
            field_of_view: Angle from the lower to the upper edge [rad].
        """
        cloud = np.reshape(np.asarray(points, dtype=np.float64), (-1, 3))
        way = np.asarray(direction, dtype=np.float64)
        if len(cloud) == 0 or not np.isfinite(cloud).all():
            raise EquipoiseError("a camera is fitted to one or more finite points")
        up = np.array([0.0, 0.0, 1.0])
        if np.linalg.norm(np.cross(way, up)) < 1e-6 * np.linalg.norm(way):
            up = np.array([1.0, 0.0, 0.0])
        axes = _axes(way, up)
        x, y, z = axes @ cloud.T
        slope_y = (1.0 - 2.0 * margin) * np.tan(0.5 * field_of_view)
        slope_x = aspect * slope_y
        # the planes of the frustum touch the outermost points
        right, left = (x - slope_x * z).max(), (-x - slope_x * z).max()
        below, above = (y - slope_y * z).max(), (-y - slope_y * z).max()
        depth = min(-0.5 * (right + left) / slope_x, -0.5 * (below + above) / slope_y)
        depth = min(depth, z.min() - 10.0 * NEAREST)
        eye = np.array([0.5 * (right - left), 0.5 * (below - above), depth]) @ axes
        target = eye + (z.mean() - depth) * axes[2]
        return Camera(_triple(eye), _triple(target), _triple(up), field_of_view)


def _axes(way: Array, up: Array) -> Array:
    forward = way / np.linalg.norm(way)
    right = np.cross(forward, up)
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(forward, right), forward])


def _triple(values: Array) -> tuple[float, float, float]:
    x, y, z = values.tolist()
    return x, y, z
