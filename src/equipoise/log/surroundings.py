"""What a robot met: the ground, walls, and the sizes of boxes; for looking at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from equipoise.arrays import Array
from equipoise.log.mcap_format.mcap_file import Messages
from equipoise.robot.mesh import Mesh

WORLD = "world"
# Types of visualization_msgs/Marker.
CUBE, TRIANGLE_LIST = 1, 11
GROUND, WALL, BOX = "ground", "wall", "box"
COLORS = {GROUND: (0.93, 0.94, 0.95), WALL: (0.67, 0.69, 0.72), BOX: (0.84, 0.75, 0.59)}


class Block(NamedTuple):
    """A block.

    Attributes:
        pose: Position of its centre [m] and quaternion xyzw, shape (7,).
        size: Edge lengths [m], shape (3,).
    """

    pose: Array
    size: Array


@dataclass(frozen=True, eq=False)
class Surroundings:
    """What a robot met.

    Attributes:
        ground: Around where it went, in the world; None where it is not known.
        walls: Blocks that stay.
        boxes: Blocks that can be pushed, where they were at the start.
    """

    ground: Mesh | None = None
    walls: tuple[Block, ...] = field(default_factory=tuple)
    boxes: tuple[Block, ...] = field(default_factory=tuple)

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return bool(self.ground or self.walls or self.boxes)


def to_markers(surroundings: Surroundings) -> dict[str, Any]:
    """Return surroundings as a visualization_msgs/MarkerArray."""
    markers = []
    if surroundings.ground is not None:
        corners = surroundings.ground.vertices[surroundings.ground.triangles]
        points = [_xyz(row) for row in corners.reshape(-1, 3).tolist()]
        markers.append(
            _marker(GROUND, 0, TRIANGLE_LIST, [1.0] * 3, [0.0] * 6 + [1.0])
            | {"points": points}
        )
    for name, blocks in ((WALL, surroundings.walls), (BOX, surroundings.boxes)):
        for number, block in enumerate(blocks):
            markers.append(
                _marker(name, number, CUBE, block.size.tolist(), block.pose.tolist())
            )
    return {"markers": markers}


def from_messages(messages: Messages) -> Surroundings:
    """Return surroundings from the first message of their topic."""
    ground: Mesh | None = None
    blocks: dict[str, list[Block]] = {WALL: [], BOX: []}
    columns = messages.layouts[0].columns
    for at, name in enumerate(messages.texts("markers[].ns")):
        marker = f"markers[{at}]"
        if name in blocks:
            pose = messages.numbers(f"{marker}.pose.position.x", 7)[0]
            size = messages.numbers(f"{marker}.scale.x", 3)[0]
            blocks[name].append(Block(pose, size))
        elif name == GROUND:
            count = 0
            while f"{marker}.points[{count}].x" in columns:
                count += 1
            flat = messages.numbers(f"{marker}.points[0].x", 3 * count)[0]
            triangles = np.arange(count - count % 3, dtype=np.int32).reshape(-1, 3)
            ground = Mesh(flat.reshape(-1, 3).astype(np.float32), triangles)
    return Surroundings(ground, tuple(blocks[WALL]), tuple(blocks[BOX]))


def _marker(
    name: str, number: int, kind: int, size: Sequence[float], pose: Sequence[float]
) -> dict[str, Any]:
    color = dict(zip("rgb", COLORS[name], strict=True))
    return {
        "header": {"frame_id": WORLD},
        "ns": name,
        "id": number,
        "type": kind,
        "pose": {
            "position": _xyz(pose[:3]),
            "orientation": dict(zip("xyzw", pose[3:], strict=True)),
        },
        "scale": _xyz(size),
        "color": {**color, "a": 1.0},
    }


def _xyz(values: Sequence[float]) -> dict[str, float]:
    return dict(zip("xyz", values, strict=True))
