"""Things in a scene, and their surfaces: corners, normals, colours as light."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.robot.description import Colour
from equipoise.robot.mesh import Mesh, creased, triangle_normals, weld


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
        corners: Of its triangles [m], shape (n, 3, 3).
        normals: Unit vectors at the corners, shape (n, 3, 3).
        box: Corners of a box around it [m], shape (8, 3).
        colour: Linear, and its opacity, shape (4,).
        casts: Whether it has a shadow.
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
