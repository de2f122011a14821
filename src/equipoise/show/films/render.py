"""Pictures of meshes, without a display: a renderer in software."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
from equipoise.robot.description import Colour
from equipoise.robot.mesh import Mesh, creased, triangle_normals, weld
from equipoise.show.films.drawing import (
    Arrow,
    Camera,
    Line,
    Marker,
    arrow_meshes,
    arrow_places,
    lay_out,
)
from equipoise.show.space.solids import rotation_matrices

SMALLEST_PX, LARGEST_PX = 16, 8192
# Towards the key light, from the left front of a robot that faces +x.
LIGHT = np.array([0.42, 0.50, 0.92]) / np.linalg.norm([0.42, 0.50, 0.92])
HORIZON: Colour = (240, 243, 247)
ZENITH: Colour = (252, 253, 255)
GROUND: Colour = (236, 239, 243)
# The finest shadow map [m], and free space around what casts a shadow [m].
FINEST_TEXEL, SHADOW_MARGIN = 1.2e-3, 0.02
# The ground fades at this many times the distance from camera to target.
REACH = 2.2
NO_POSES = np.zeros((0, 7))


@dataclass(frozen=True, eq=False)
class Item:
    """One thing in a scene, rigid and of one colour.

    Attributes:
        mesh: In its own coordinates.
        colour: Red, green, blue, 0 to 255.
        opacity: 1 hides what is behind it; of things that do not, only the nearest
            surface is seen.
        casts_shadow: Whether it does, on the ground and on the other items.
    """

    mesh: Mesh
    colour: Colour
    opacity: float = 1.0
    casts_shadow: bool = True


@dataclass(frozen=True, eq=False)
class Surface:
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

    @staticmethod
    def of(item: Item) -> Surface:
        """Return an item's surface, smooth where it bends gently."""
        if not np.isfinite(item.mesh.vertices).all():
            raise EquipoiseError("a mesh has vertices that are not finite")
        if not 0.0 <= item.opacity <= 1.0:
            raise EquipoiseError(f"an opacity is 0 to 1, not {item.opacity}")
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
        normals = np.where(
            np.abs(normals).max(axis=2, keepdims=True) > 0, normals, flat
        )
        points = mesh.vertices if len(mesh.vertices) else np.zeros((1, 3))
        sides = np.stack([points.min(axis=0), points.max(axis=0)])
        pick = np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, -1).T
        return Surface(
            corners.reshape(-1, 3, 3),
            normals.reshape(-1, 3, 3).astype(np.float32),
            sides[pick, np.arange(3)].astype(np.float64),
            np.append(linear(item.colour), item.opacity),
            item.casts_shadow,
        )


def linear(colour: Colour) -> Array:
    """Return a colour as light, 0 to 1; kernels take the root again."""
    values = np.array(colour, dtype=np.float64)
    if values.shape != (3,) or not ((values >= 0) & (values <= 255)).all():
        raise EquipoiseError(f"a colour is three numbers from 0 to 255, not {colour}")
    light: Array = (values / 255.0) ** 2
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
        device: str = "cpu",
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
            device: ``"cpu"``, ``"cuda"`` or ``"cuda:1"``.

        Raises:
            EquipoiseError: If a size, a colour or a vertex is impossible.
        """
        for size in (width, height):
            if not SMALLEST_PX <= size <= LARGEST_PX:
                raise EquipoiseError(
                    f"a picture of {width} x {height} px: its sides are "
                    f"{SMALLEST_PX} to {LARGEST_PX} px"
                )
        self.width, self.height = width, height
        self._items, self._ground, self._device = tuple(items), ground, device
        self._surfaces = [Surface.of(item) for item in items]
        self._ground_surface = Surface.of(ground) if ground is not None else None
        self._arrow_surfaces = [
            Surface.of(Item(mesh, (0, 0, 0))) for mesh in arrow_meshes()
        ]
        self._background = [linear(colour) for colour in background]
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
            arrows: Among the meshes.

        Raises:
            EquipoiseError: If a pose or a drawing is not finite.
        """
        if len(arrows) > self._arrows:
            self._prepare(arrows=2 * len(arrows))
        place, origin = self._places(np.asarray(poses, dtype=np.float64), arrows)
        colour, first = self._color, len(self._items)
        if arrows:
            colour = colour.copy()
            paint = [linear(arrow.colour) for arrow in arrows for _ in range(2)]
            colour[first : first + 2 * len(arrows), :3] = paint
        u, v, map_origin, texel, size = self._shadow_map(place, origin)
        focus = np.array(camera.target)
        distance = float(np.linalg.norm(focus - camera.position))
        view = ViewArrays(
            place=place,
            origin=origin,
            colour=colour,
            casts=self._casts,
            eye=np.array(camera.position),
            axes=camera.axes,
            focal=camera.focal,
            light=self._light,
            light_axes=np.stack([u, v]),
            map_origin=map_origin,
            map_size=size,
            texel=texel,
            focus=focus,
            reach=REACH * distance,
            horizon=self._background[0],
            zenith=self._background[1],
        )
        drawing = lay_out(camera, self.width, self.height, lines, markers)
        return self._painter.picture(view, drawing)

    def _prepare(self, arrows: int) -> None:
        """Upload items, space for arrows, and the ground: solid ones first."""
        self._arrows = arrows
        surfaces = [*self._surfaces, *(self._arrow_surfaces * arrows)]
        if self._ground_surface is not None:
            surfaces.append(self._ground_surface)
        order = sorted(range(len(surfaces)), key=lambda n: surfaces[n].colour[3] < 1.0)
        ordered = [surfaces[n] for n in order]
        counts = [len(surface.corners) for surface in ordered]
        solid = sum(len(s.corners) for s in ordered if s.colour[3] >= 1.0)
        self._boxes = np.stack([surface.box for surface in surfaces])
        self._color = np.stack([surface.colour for surface in surfaces])
        self._casts = np.array([surface.casts for surface in surfaces])
        if self._ground is not None:
            self._casts[-1] = False
        self._painter = Painter(
            TriangleArrays(
                np.concatenate([surface.corners for surface in ordered]),
                np.concatenate([surface.normals for surface in ordered]),
                np.repeat(order, counts).astype(np.int32),
                solid,
                len(surfaces) - 1 if self._ground is not None else -1,
            ),
            self.width,
            self.height,
            self._device,
        )

    def _places(self, poses: Array, arrows: Sequence[Arrow]) -> tuple[Array, Array]:
        """Return linear part and origin of all items, arrows and the ground."""
        count = len(self._items)
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
            shaft, start, head, end = arrow_places(arrow)
            place[count + 2 * at : count + 2 * at + 2] = shaft, head
            origin[count + 2 * at : count + 2 * at + 2] = start, end
        return place, origin

    def _shadow_map(
        self, place: Array, origin: Array
    ) -> tuple[Array, Array, Array, float, tuple[int, int]]:
        """Return axes across the light, and the map's origin, texel [m] and size."""
        u = np.cross(self._light, np.eye(3)[np.argmin(np.abs(self._light))])
        u /= np.linalg.norm(u)
        v = np.cross(self._light, u)
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
