"""Pictures of meshes, without a display: a renderer in software."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.kernels.drawing.painter import (
    MAP_SIZE,
    Painter,
    TriangleArrays,
    ViewArrays,
)
from equipoise.robot.anatomy.geometry import plane_axes
from equipoise.robot.description import Colour
from equipoise.robot.mesh import Mesh, creased, triangle_normals, weld
from equipoise.show.films.drawing import (
    FOCAL,
    Camera,
    Line,
    Marker,
    arrow_meshes,
    arrow_places,
    lay_out,
)
from equipoise.show.palette import FORCE
from equipoise.show.space.scene import Arrow
from equipoise.show.space.solids import rotation_matrices

SMALLEST_PX, LARGEST_PX = 16, 8192
# Towards the key light, from the left front of a robot that faces +x.
LIGHT = np.array([0.42, 0.50, 0.92]) / np.linalg.norm([0.42, 0.50, 0.92])
HORIZON: Colour = (240, 243, 247)
ZENITH: Colour = (252, 253, 255)
# The finest shadow map [m], and free space around what casts a shadow [m].
FINEST_TEXEL, SHADOW_MARGIN = 1.2e-3, 0.02
# The ground fades at this many times the distance from camera to target.
REACH = 2.2
NO_POSES = np.zeros((0, 7))


@dataclass(frozen=True, eq=False)
class Item:
    """One thing in a scene, rigid and of one colour.

    Attributes:
        mesh: Mesh in its own coordinates.
        colour: Colour.
        opacity: 1 hides what is behind it; of things that do not, only the nearest
            surface is seen.
        casts_shadow: Whether it does, on the ground and on the other items.
    """

    mesh: Mesh
    colour: Colour
    opacity: float = 1.0
    casts_shadow: bool = True


class _Surface(NamedTuple):
    """An item as kernels want it.

    Attributes:
        corners: Corners of its triangles [m], shape (n, 3, 3).
        normals: Unit vectors at the corners, shape (n, 3, 3).
        box: Corners of a box around it [m], shape (8, 3).
        colour: Linear colour and opacity, shape (4,).
        casts: Whether it casts a shadow.
    """

    corners: NDArray[np.float32]
    normals: NDArray[np.float32]
    box: Array
    colour: Array
    casts: bool


def _surface(item: Item) -> _Surface:
    """Return an item's surface, smooth where it bends gently."""
    mesh = weld(item.mesh)
    if len(mesh.triangles):
        mesh = creased(mesh)
    corners = mesh.vertices[mesh.triangles]
    # twice the area: large triangles say more about a vertex's normal
    area = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    at_vertex = np.zeros((len(mesh.vertices), 3))
    for corner in range(3):
        np.add.at(at_vertex, mesh.triangles[:, corner], area)
    length = np.linalg.norm(at_vertex, axis=1, keepdims=True)
    at_vertex /= np.where(length > 0.0, length, 1.0)
    normals = at_vertex[mesh.triangles]
    flat = triangle_normals(mesh)[:, None]
    normals = np.where(np.abs(normals).max(axis=2, keepdims=True) > 0, normals, flat)
    points = mesh.vertices if len(mesh.vertices) else np.zeros((1, 3))
    sides = np.stack([points.min(axis=0), points.max(axis=0)])
    return _Surface(
        corners.reshape(-1, 3, 3),
        normals.reshape(-1, 3, 3).astype(np.float32),
        np.array(list(product(*sides.T)), dtype=np.float64),
        np.append(_linear(item.colour), item.opacity),
        item.casts_shadow,
    )


def _linear(colour: Colour) -> Array:
    """Return a colour as light, 0 to 1; kernels take the root again."""
    light: Array = (np.array(colour) / 255.0) ** 2
    return light


class Renderer:
    """Takes pictures of items; meshes are prepared once, poses change."""

    def __init__(
        self,
        items: Sequence[Item],
        *,
        width: int,
        height: int,
        ground: Item | None = None,
        background: tuple[Colour, Colour] = (HORIZON, ZENITH),
        light: ArrayLike = LIGHT,
        arrow_radius: float = 0.01,
    ) -> None:
        """Prepare meshes.

        Args:
            items: Items that move first, in the order of their poses.
            width: Width of pictures [px].
            height: Height of pictures [px].
            ground: Drawn with a grid of 0.1 m and 0.5 m that fades away; it casts no
                shadow.
            background: Colours at the horizon and above.
            light: Direction towards the key light, shape (3,).
            arrow_radius: Radius of the shafts of forces [m].

        Raises:
            EquipoiseError: If a size is impossible.
        """
        for size in (width, height):
            if not SMALLEST_PX <= size <= LARGEST_PX:
                raise EquipoiseError(
                    f"a picture of {width} x {height} px: its sides are "
                    f"{SMALLEST_PX} to {LARGEST_PX} px"
                )
        self.width, self.height = width, height
        self._count = len(items)
        self._surfaces = [_surface(item) for item in items]
        self._ground = [_surface(ground)._replace(casts=False)] if ground else []
        self._arrow = [_surface(Item(mesh, FORCE)) for mesh in arrow_meshes()]
        self._arrow_radius = arrow_radius
        self._background = [_linear(colour) for colour in background]
        self._light = np.asarray(light, float) / np.linalg.norm(light)
        self._prepare(arrows=8)

    def picture(
        self,
        camera: Camera,
        poses: ArrayLike = NO_POSES,
        *,
        lines: Sequence[Line] = (),
        markers: Sequence[Marker] = (),
        arrows: Sequence[Arrow] = (),
    ) -> NDArray[np.uint8]:
        """Return a picture, shape (height, width, 3).

        Args:
            camera: Camera that takes it.
            poses: Position [m] and quaternion xyzw of the first items, shape (k, 7);
                the others are at the origin.
            lines: Drawn over the meshes in this order.
            markers: Drawn over the lines in this order.
            arrows: Forces, among the meshes.

        Raises:
            EquipoiseError: If a pose is not finite.
        """
        if len(arrows) > self._arrows:
            self._prepare(arrows=2 * len(arrows))
        place, origin = self._places(np.asarray(poses, dtype=np.float64), arrows)
        u, v, map_origin, texel, size = self._shadow_map(place, origin)
        focus, eye = np.array(camera.target), np.array(camera.position)
        view = ViewArrays(
            place=place,
            origin=origin,
            colour=self._colour,
            casts=self._casts,
            eye=eye,
            axes=camera.axes,
            focal=FOCAL,
            light=self._light,
            light_axes=np.stack([u, v]),
            map_origin=map_origin,
            map_size=size,
            texel=texel,
            focus=focus,
            reach=REACH * float(np.linalg.norm(focus - eye)),
            horizon=self._background[0],
            zenith=self._background[1],
        )
        drawing = lay_out(camera, self.width, self.height, lines, markers)
        return self._painter.picture(view, drawing)

    def _prepare(self, arrows: int) -> None:
        """Upload items, space for arrows, and the ground: solid ones first."""
        self._arrows = arrows
        surfaces = [*self._surfaces, *(self._arrow * arrows), *self._ground]
        order = sorted(range(len(surfaces)), key=lambda n: surfaces[n].colour[3] < 1.0)
        ordered = [surfaces[n] for n in order]
        counts = [len(surface.corners) for surface in ordered]
        solid = sum(len(s.corners) for s in ordered if s.colour[3] >= 1.0)
        self._boxes = np.stack([surface.box for surface in surfaces])
        self._colour = np.stack([surface.colour for surface in surfaces])
        self._casts = np.array([surface.casts for surface in surfaces])
        self._painter = Painter(
            TriangleArrays(
                np.concatenate([surface.corners for surface in ordered]),
                np.concatenate([surface.normals for surface in ordered]),
                np.repeat(order, counts).astype(np.int32),
                solid,
                len(surfaces) - 1 if self._ground else -1,
            ),
            self.width,
            self.height,
        )

    def _places(self, poses: Array, arrows: Sequence[Arrow]) -> tuple[Array, Array]:
        """Return linear part and origin of all items, arrows and the ground."""
        count = self._count
        if poses.ndim != 2 or poses.shape[1] != 7 or len(poses) > count:
            raise EquipoiseError(
                f"poses have shape (k, 7), k at most {count}, not {poses.shape}"
            )
        length = np.linalg.norm(poses[:, 3:], axis=1)
        bad = ~(np.isfinite(poses).all(axis=1) & (length > 1e-6))
        if bad.any():
            at = int(np.argmax(bad))
            raise EquipoiseError(
                f"the pose of item {at} is not a pose: {poses[at].tolist()}"
            )
        place = np.tile(np.eye(3), (len(self._boxes), 1, 1))
        origin = np.zeros((len(self._boxes), 3))
        place[: len(poses)] = rotation_matrices(poses[:, 3:] / length[:, None])
        origin[: len(poses)] = poses[:, :3]
        place[count : count + 2 * self._arrows] = 0.0
        for at, arrow in enumerate(arrows):
            shaft, start, head, end = arrow_places(*arrow, self._arrow_radius)
            place[count + 2 * at : count + 2 * at + 2] = shaft, head
            origin[count + 2 * at : count + 2 * at + 2] = start, end
        return place, origin

    def _shadow_map(
        self, place: Array, origin: Array
    ) -> tuple[Array, Array, Array, float, tuple[int, int]]:
        """Return axes across the light, and the map's origin, texel [m] and size."""
        u, v = plane_axes(self._light)
        axes = np.stack([u, v, self._light])
        corners = np.einsum("nij,nkj->nki", place, self._boxes) + origin[:, None]
        shown = self._casts & (np.abs(place).max(axis=(1, 2)) > 0.0)
        cloud = corners[shown].reshape(-1, 3) @ axes.T
        if len(cloud) == 0:
            return u, v, np.zeros(3), FINEST_TEXEL, (1, 1)
        low, high = cloud.min(axis=0) - SHADOW_MARGIN, cloud.max(axis=0) + SHADOW_MARGIN
        # steps of size and whole texels: the map's grain stands still while items move
        needed = float((high - low)[:2].max()) / (MAP_SIZE - 2) / FINEST_TEXEL
        texel = FINEST_TEXEL * 1.25 ** max(0, np.ceil(np.log(needed) / np.log(1.25)))
        low[:2] = np.floor(low[:2] / texel) * texel
        low[2] -= 1.0
        columns, rows = np.minimum((high - low)[:2] / texel + 2, MAP_SIZE).astype(int)
        return u, v, low @ axes, float(texel), (int(columns), int(rows))
