"""The replay of a run in its report: markup, script, and the run as compact bytes.

Bytes are the length of a header (uint32, little-endian, as all numbers), the header as
JSON, then arrays one after the other, each from a multiple of four bytes on. The header
says of each array its type, first byte after the header, and count. Whole numbers of
16 and 32 bits are differences from the one before, modulo their size: what changes
slowly then deflates well.

Points that move are whole multiples of a step from the centre of mass, so that they are
as exact after a kilometre as at the start.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Sequence
from string import Template
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from equipoise.arrays import Array
from equipoise.log.run import Run
from equipoise.robot.description import Colour
from equipoise.robot.mesh import Mesh, creased, weld
from equipoise.show.pages.markup import element, resource, text
from equipoise.show.palette import (
    BOX,
    COM,
    FORCE,
    GROUND,
    LINES,
    SIDES,
    SUPPORT,
    WALL,
    ZMP,
    rgb,
)
from equipoise.show.space.scene import Moment, RunScene, nearest_rows
from equipoise.show.space.solids import box, pose_matrix

SCRIPTS = ("playback.js", "replay_gl.js", "replay_view.js", "replay.js")
# The eye wants no more [Hz]; long runs get less, to stay small.
FASTEST, MOST_FRAMES = 50.0, 1200
LARGEST_16 = 32767
# Ground that is nearer to a plane is drawn as one, without an end [m].
FLAT_ENOUGH = 1e-3
TYPES = {"uint8": "u1", "int16": "<i2", "uint16": "<u2", "uint32": "<u4"}
TYPES |= {"float32": "<f4"}
COLOUR_NAMES = {rgb(name): name for name in LINES}


def replay(run: Run) -> str:
    """Return the markup of a run's replay, with its data.

    It is hidden, and a sentence stands in its place, until :func:`replay_script` shows
    it.
    """
    scene = RunScene(run)
    content = zlib.compress(replay_bytes(scene), 9)
    samples = [
        element("span", element("i", class_=style), text(words))
        for style, words in _marks(scene)
    ]
    return Template(resource("replay.html")).substitute(
        label=text(f"Replay of {run.robot.name} in three dimensions"),
        legend="".join(samples),
        controls=resource("playback.html"),
        data=base64.b64encode(content).decode("ascii"),
    )


def replay_script() -> str:
    """Return the program that shows replays; it is the same for all runs."""
    return "\n".join(resource(name) for name in SCRIPTS)


def _marks(scene: RunScene) -> list[tuple[str, str]]:
    """Return the marks that occur in a run: class of the sample, words."""
    stood = {print_.side for print_ in scene.footprints}
    marks = (
        ("point c0", "CoM", True),
        ("point c1", "ZMP", bool(scene.run.supported.any())),
        ("area c2", "support polygon", scene.touches),
        ("c2", "ground force", scene.touches),
        ("area c3", "left footprint", "left" in stood),
        ("area c4", "right footprint", "right" in stood),
        ("dashed reference", "planned", any(path.planned for path in scene.paths)),
    )
    return [(style, words) for style, words, there in marks if there]


class _Solid(NamedTuple):
    """A mesh that moves with one of the movers, or stands in the world if None."""

    mesh: Mesh
    colour: Colour
    mover: int | None


def replay_bytes(scene: RunScene) -> bytes:
    """Return what there is to see in a run; the same bytes for the same run."""
    rows = frame_rows(scene.run.time)
    moments = [scene.moment(int(row)) for row in rows]
    joints = sorted({body.joint for body in scene.bodies})
    boxes = min(len(scene.run.surroundings.boxes), scene.run.boxes.shape[1])
    ground, plane = _ground(scene)
    packer = _Packer()
    packer.add("time", [moment.time for moment in moments], "float32")
    com = np.array([moment.com for moment in moments])
    packer.add("com", com.T, "float32")
    packer.add("level", [m.com_on_ground[2] for m in moments], "float32")
    movers = [(m.joint_poses[joints], m.boxes[:boxes]) for m in moments]
    packer.poses([np.concatenate(poses) for poses in movers], com)
    packer.track("zmp", [m.zmp for m in moments], com)
    packer.lists("support", [m.support for m in moments], com)
    arrows = [np.array(m.forces).reshape(-1, 3) for m in moments]
    packer.lists("forces", arrows, com)
    for at, path in enumerate(scene.paths):
        packer.track(f"path{at}", list(path.points[rows]), com)
    prints = [print_.polygon_in_world for print_ in scene.footprints]
    packer.add("prints", np.concatenate([np.zeros((0, 3)), *prints]), "float32")
    packer.solids([*_solids(scene, joints, boxes), *ground])
    return packer.content(
        frames=len(rows),
        colours={
            "com": COLOUR_NAMES[COM],
            "zmp": COLOUR_NAMES[ZMP],
            "support": COLOUR_NAMES[SUPPORT],
            "force": COLOUR_NAMES[FORCE],
        },
        paths=[
            {"label": p.label, "colour": p.style.split()[0], "planned": p.planned}
            for p in scene.paths
        ],
        footprints=[
            {
                "colour": COLOUR_NAMES[SIDES[print_.side]],
                "count": len(print_.polygon_in_world),
                "start": round(print_.start_s, 4),
                "end": round(print_.end_s, 4),
            }
            for print_ in scene.footprints
        ],
        plane=plane,
        hasGround=bool(ground),
        **_size(scene, moments[0]),
    )


def frame_rows(time: Array) -> NDArray[np.intp]:
    """Return the rows of a run that are shown: first, last, and evenly between."""
    span = float(time[-1] - time[0])
    count = int(min(span * FASTEST + 1e-6, MOST_FRAMES - 1)) + 1
    rows = nearest_rows(time, np.linspace(time[0], time[-1], count))
    return np.unique([0, *rows, len(time) - 1])


class _Packer:
    """Collects arrays and what the header says of them."""

    def __init__(self) -> None:
        self._arrays: dict[str, Any] = {}
        self._parts: list[bytes] = []
        self._length = 0
        self._header: dict[str, Any] = {"steps": {}}

    def add(self, name: str, values: Any, kind: str) -> None:
        """Add an array of one of the types, flat."""
        array = np.asarray(values).astype(TYPES[kind]).reshape(-1)
        if kind in ("int16", "uint16", "uint32"):
            array = np.diff(array, prepend=array.dtype.type(0))
        content = array.tobytes()
        self._arrays[name] = [kind, self._length, array.size]
        self._parts.append(content + bytes(-len(content) % 4))
        self._length += len(self._parts[-1])

    def poses(self, poses: Sequence[Array], com: Array) -> None:
        """Add where movers are, shape (movers, 7) a frame: mover, number, frame."""
        stack = np.array(poses)
        relative = stack[..., :3] - com[:, None]
        steps = [_step(relative[:, at]) for at in range(stack.shape[1])]
        whole = np.round(relative / np.reshape(steps, (1, -1, 1)))
        turns = np.round(LARGEST_16 * _continuous(stack[..., 3:]))
        numbers = np.concatenate([whole, turns], axis=2)
        self.add("poses", numbers.transpose(1, 2, 0), "int16")
        self._header["steps"]["poses"] = steps

    def track(self, name: str, points: Sequence[Array | None], com: Array) -> None:
        """Add a point that may be missing at times, by axis and frame."""
        missing = np.full(3, np.nan)
        stack = np.array([missing if point is None else point for point in points])
        shown = np.isfinite(stack).all(axis=1)
        relative = np.where(shown[:, None], stack - com, 0.0)
        step = _step(relative)
        self.add(name, np.round(relative / step).T, "int16")
        self.add(f"{name}Shown", shown, "uint8")
        self._header["steps"][name] = step

    def lists(self, name: str, points: Sequence[Array], com: Array) -> None:
        """Add points (k, 3) of which there are more or fewer in each frame."""
        counts = [len(some) for some in points]
        relative = np.concatenate(points) - np.repeat(com, counts, axis=0)
        step = _step(relative)
        self.add(name, np.round(relative / step), "int16")
        self.add(f"{name}Counts", counts, "uint16")
        self._header["steps"][name] = step

    def solids(self, solids: Sequence[_Solid]) -> None:
        """Add meshes; vertices are whole steps from the lowest corner of each."""
        described, vertices = [], [np.zeros((0, 3))]
        triangles = [np.zeros((0, 3), np.int32)]
        for mesh, colour, mover in solids:
            low = mesh.vertices.min(axis=0).astype(np.float64)
            step = float((mesh.vertices.max(axis=0) - low).max()) / 65535 or 1.0
            vertices.append(np.round((mesh.vertices - low) / step))
            triangles.append(mesh.triangles)
            described.append(
                {
                    "mover": mover,
                    "colour": colour,
                    "low": low.tolist(),
                    "step": step,
                    "vertices": len(mesh.vertices),
                    "triangles": len(mesh.triangles),
                }
            )
        largest = max((len(points) for points in vertices), default=0)
        kind = "uint16" if largest <= 65536 else "uint32"
        self.add("vertices", np.concatenate(vertices).T, "uint16")
        self.add("triangles", np.concatenate(triangles), kind)
        self._header["solids"] = described

    def content(self, **header: Any) -> bytes:
        """Return all of it."""
        described = {**self._header, **header, "arrays": self._arrays}
        words = json.dumps(described, separators=(",", ":"), allow_nan=False).encode()
        words += b" " * (-len(words) % 4)
        return len(words).to_bytes(4, "little") + words + b"".join(self._parts)


def _step(relative: Array) -> float:
    """Return the step of which 16 bits hold the largest number [m]."""
    return float(np.abs(relative).max(initial=0.0)) / LARGEST_16 or 1.0


def _continuous(turns: Array) -> Array:
    """Return quaternions (frames, k, 4) that go the short way to the next."""
    unit = turns / np.linalg.norm(turns, axis=2, keepdims=True)
    same = np.einsum("fki,fki->fk", unit[1:], unit[:-1]) >= 0.0
    signs = np.cumprod(np.where(same, 1.0, -1.0), axis=0)
    return np.concatenate([unit[:1], signs[..., None] * unit[1:]])


def _solids(scene: RunScene, joints: list[int], boxes: int) -> Iterator[_Solid]:
    """Yield bodies, boxes and walls; movers are the joints, then the boxes."""
    for body in scene.bodies:
        yield _Solid(body.mesh, body.colour, joints.index(body.joint))
    for at, block in enumerate(scene.run.surroundings.boxes[:boxes]):
        yield _Solid(creased(box(block.size)), BOX, len(joints) + at)
    for block in scene.run.surroundings.walls:
        yield _Solid(
            creased(box(block.size)).moved(pose_matrix(block.pose)), WALL, None
        )


def _ground(scene: RunScene) -> tuple[list[_Solid], list[float] | None]:
    """Return the ground as a solid, or if it is flat height and slopes of its plane."""
    ground = scene.run.surroundings.ground
    if ground is None or len(ground.triangles) == 0:
        corners = [print_.polygon_in_world[:, 2] for print_ in scene.footprints]
        level = float(np.median(np.concatenate(corners))) if corners else 0.0
        return [], [level, 0.0, 0.0]
    x, y, z = ground.vertices.T.astype(np.float64)
    columns = np.stack([np.ones_like(x), x, y], axis=1)
    plane: Array = np.linalg.lstsq(columns, z)[0]
    if np.abs(columns @ plane - z).max() < FLAT_ENOUGH:
        return [], [round(float(number), 6) for number in plane]
    return [_Solid(creased(weld(ground)), GROUND, None)], None


def _size(scene: RunScene, first: Moment) -> dict[str, Any]:
    """Return middle and height of the robot at first, for the camera [m]."""
    found: list[float] = []
    for body in scene.bodies:
        up = pose_matrix(first.joint_poses[body.joint])[2]
        heights = body.mesh.vertices @ up[:3] + up[3]
        found += [float(heights.min()), float(heights.max())]
    limb = scene.run.robot.longest_limb
    low, high = min(found, default=-limb), max(found, default=limb)
    middle = 0.5 * (low + high) - float(first.com[2])
    return {"height": max(high - low, 1e-3), "middle": middle}
