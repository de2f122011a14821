"""Ground, walls and boxes of a world as geoms of a MuJoCo model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.kinematics.terrain import Flat, HeightField, Slope, Stairs
from equipoise.simulation.world import World

# Contacts are listed one by one, so that each has its own stiffness.
ONLY_PAIRS = {"contype": 0, "conaffinity": 0}
# Infinite ground, in boxes and in height fields [m].
FAR = 1e3
BEYOND_FIELD = 10.0
MOST_NODES = 4_000_000
THICKNESS = 1.0
FIELD = "equipoise/ground"


def box_name(number: int) -> str:
    """Return the name of a box's body, joint and geom."""
    return f"equipoise/box/{number}"


def add_boxes(mujoco: Any, spec: Any, world: World) -> Iterator[Any]:
    """Add boxes; yield their geoms."""
    for number, box in enumerate(world.boxes):
        name, pose = box_name(number), {"pos": box.centre, "quat": _yaw(box.yaw)}
        body = spec.worldbody.add_body(name=name, **pose)
        body.add_freejoint(name=name)
        body.mass, body.inertia = box.mass, np.diag(box.inertia)
        body.ipos, body.iquat = np.zeros(3), _yaw(0.0)
        body.explicitinertial = True
        yield body.add_geom(
            name=name,
            type=mujoco.mjtGeom.mjGEOM_BOX,
            size=0.5 * box.size,
            mass=0.0,
            **ONLY_PAIRS,
        )


def add_ground(mujoco: Any, spec: Any, world: World) -> Iterator[Any]:
    """Add walls and terrain; yield their geoms."""
    kinds, terrain = mujoco.mjtGeom, world.terrain
    plane = {"type": kinds.mjGEOM_PLANE, "size": [0.0, 0.0, 1.0]}
    block = {"type": kinds.mjGEOM_BOX}
    numbers = itertools.count()

    def add(**attributes: Any) -> Any:
        name = f"equipoise/fixed/{next(numbers)}"
        return spec.worldbody.add_geom(name=name, **ONLY_PAIRS, **attributes)

    for wall in world.walls:
        yield add(size=0.5 * wall.size, pos=wall.centre, quat=_yaw(wall.yaw), **block)
    match terrain:
        case Flat() | Slope():
            normal = terrain.normal
            yield add(pos=terrain.offset * normal, quat=_tilt(normal), **plane)
        case Stairs():
            lowest = min(0.0, terrain.rise * terrain.count)
            yield add(pos=[0.0, 0.0, lowest], **plane)
            for first, last, top in _steps(terrain):
                height = top - lowest + THICKNESS
                yield add(
                    size=[0.5 * (last - first), FAR, 0.5 * height],
                    pos=[0.5 * (first + last), 0.0, top - 0.5 * height],
                    **block,
                )
        case HeightField():
            yield add(type=kinds.mjGEOM_HFIELD, **_add_field(spec, terrain))
        case _:
            raise EquipoiseError(
                f"the engine 'mujoco' does not know the terrain {terrain.describe()}"
            )


def _steps(stairs: Stairs) -> Iterator[tuple[float, float, float]]:
    """Yield beginning and end along x, and top, of steps above the lowest ground.

    Each goes on below the step above it, so that the face between them is none.
    """
    tread, riser = stairs.tread, stairs.start
    for number in range(1, stairs.count + 1):
        if stairs.rise > 0.0:
            last = FAR if number == stairs.count else riser + 1.5 * tread
            yield riser, last, number * stairs.rise
        else:
            first = -FAR if number == 1 else riser - 1.5 * tread
            yield first, riser, (number - 1) * stairs.rise
        riser += tread


def _add_field(spec: Any, field: HeightField) -> dict[str, Any]:
    """Add a height field and level ground around it; return the attributes of its geom.

    MuJoCo divides each cell into two triangles, from node (0, 0) to node (1, 1).
    """
    around = math.ceil(BEYOND_FIELD / field.cell)
    room = (math.sqrt(MOST_NODES) - max(field.heights.shape)) / 2.0
    around = max(1, min(around, int(room)))
    heights = np.pad(field.heights, around, mode="edge")
    ny, nx = heights.shape
    half = 0.5 * field.cell * np.array([nx - 1, ny - 1])
    centre = field.origin - around * field.cell + half
    lowest, spread = float(heights.min()), max(float(np.ptp(heights)), 1e-6)
    spec.add_hfield(
        name=FIELD,
        nrow=ny,
        ncol=nx,
        size=[*half, spread, THICKNESS],
        userdata=(heights - lowest).ravel(),
    )
    return {"hfieldname": FIELD, "pos": [*centre, lowest]}


def _yaw(angle: float) -> Array:
    """Return the quaternion of a turn about z, scalar first, shape (4,)."""
    return np.array([math.cos(0.5 * angle), 0.0, 0.0, math.sin(0.5 * angle)])


def _tilt(normal: Array) -> Array:
    """Return a quaternion that turns z to a normal, scalar first, shape (4,)."""
    half = np.array([1.0 + normal[2], -normal[1], normal[0], 0.0])
    return np.asarray(half / np.linalg.norm(half))
