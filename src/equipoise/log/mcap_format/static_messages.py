"""What a log holds once: the robot, its fixed frames and its surroundings."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin

from equipoise.arrays import Array
from equipoise.errors import EquipoiseError
from equipoise.log.mcap_format.mcap_file import Messages
from equipoise.log.mcap_format.topics import (
    ROBOT_DESCRIPTION,
    STATIC_TRANSFORMS,
    SURROUNDINGS,
    WORLD,
    ankle_frame,
    imu_frame,
    sole_frame,
)
from equipoise.log.surroundings import Block, Surroundings
from equipoise.robot.assemble import assemble
from equipoise.robot.formats.export import to_urdf
from equipoise.robot.formats.settings import Settings, parse_settings
from equipoise.robot.formats.urdf import read_urdf
from equipoise.robot.formats.xml_file import parse_xml
from equipoise.robot.mesh import Mesh
from equipoise.robot.model import Robot
from equipoise.robot.parts import Side

if TYPE_CHECKING:
    from equipoise.log.run import Run

# Limbs, soles and postures, which URDF cannot hold.
SETTINGS_ATTACHMENT = "robot.toml"
# Types of visualization_msgs/Marker.
CUBE, TRIANGLE_LIST = 1, 11
GROUND, WALL, BOX = "ground", "wall", "box"
COLORS = {GROUND: (0.93, 0.94, 0.95), WALL: (0.67, 0.69, 0.72), BOX: (0.84, 0.75, 0.59)}


def static_messages(run: Run) -> list[tuple[str, str, dict[str, Any]]]:
    """Return topic, type and message of what a run's log holds once, at its start."""
    urdf, frames = to_urdf(run.robot.description), static_transforms(run)
    found: list[tuple[str, str, dict[str, Any]]] = [
        (ROBOT_DESCRIPTION, "std_msgs/String", {"data": urdf}),
        (STATIC_TRANSFORMS, "tf2_msgs/TFMessage", {"transforms": frames}),
    ]
    if run.surroundings:
        markers = {"markers": _markers(run.surroundings)}
        found.append((SURROUNDINGS, "visualization_msgs/MarkerArray", markers))
    return found


def static_transforms(run: Run) -> list[dict[str, Any]]:
    """Return soles and sensors as geometry_msgs/TransformStamped."""
    robot, measured = run.robot, run.measured
    found = [
        _transform(sole.link, sole_frame(side), sole.transform_sole_to_link)
        for side, sole in robot.soles.items()
    ]
    if measured is None:
        return found
    if measured.feet_at == "ankle":
        for side in measured.feet:
            link, pose = robot.soles[side].link, _ankle_in_link(robot, side)
            found.append(_transform(link, ankle_frame(robot, side), pose))
    pose = measured.transform_imu_to_frame
    return [*found, _transform(measured.imu_frame, imu_frame(robot), pose)]


def foot_sensor_frame(run: Run, side: Side) -> str:
    """Return the frame that a foot's measured wrench is in."""
    at_ankle = run.measured is not None and run.measured.feet_at == "ankle"
    return ankle_frame(run.robot, side) if at_ankle else sole_frame(side)


def described_robot(
    messages: Mapping[str, Messages], attachments: Mapping[str, bytes], file: Path
) -> Robot:
    """Return the robot that a log describes.

    Args:
        messages: The log's messages by topic.
        attachments: Its attachments by name.
        file: The log, for messages and for meshes.

    Raises:
        EquipoiseError: If it describes no robot, or an invalid one.
    """
    if ROBOT_DESCRIPTION not in messages:
        raise EquipoiseError(
            f"{file}: has no topic '{ROBOT_DESCRIPTION}'; name the robot that ran"
        )
    urdf = messages[ROBOT_DESCRIPTION].text("data")[0]
    return robot_of_urdf(urdf, attachments.get(SETTINGS_ATTACHMENT), file)


def robot_of_urdf(urdf: str, toml: bytes | None, file: Path) -> Robot:
    """Return the robot of a URDF in a log.

    Args:
        urdf: The URDF itself.
        toml: Settings that go with it, if any.
        file: The log, for messages and for meshes.

    Raises:
        EquipoiseError: If it is not a valid robot.
    """
    description = read_urdf(parse_xml(urdf.encode(), file), file)
    settings = Settings()
    if toml is not None:
        try:
            table = tomllib.loads(toml.decode())
        except (ValueError, RecursionError) as error:
            raise EquipoiseError(
                f"{file}: its {SETTINGS_ATTACHMENT} is not TOML ({error})"
            ) from error
        settings = parse_settings(table, f"{file}: {SETTINGS_ATTACHMENT}")
    return assemble(description, settings, None)


def logged_surroundings(messages: Messages) -> Surroundings:
    """Return surroundings from the first message of their topic."""
    ground: Mesh | None = None
    blocks: dict[str, list[Block]] = {WALL: [], BOX: []}
    layout = messages.layout
    for at, name in enumerate(layout.list_texts("markers[].ns")):
        marker = f"markers[{at}]"
        if name in blocks:
            pose = messages.numbers(f"{marker}.pose.position.x", 7)[0]
            size = messages.numbers(f"{marker}.scale.x", 3)[0]
            blocks[name].append(Block(pose, size))
        elif name == GROUND:
            count = 0
            while f"{marker}.points[{count}].x" in layout.columns:
                count += 1
            flat = messages.numbers(f"{marker}.points[0].x", 3 * count)[0]
            triangles = np.arange(count - count % 3, dtype=np.int32).reshape(-1, 3)
            ground = Mesh(flat.reshape(-1, 3).astype(np.float32), triangles)
    return Surroundings(ground, tuple(blocks[WALL]), tuple(blocks[BOX]))


def _ankle_in_link(robot: Robot, side: Side) -> Array:
    """Return a pose at the last joint of a leg, axes parallel to the sole's."""
    sole = robot.soles[side]
    link = robot.model.frames[robot.model.getBodyId(sole.link)]
    pose = np.array(sole.transform_sole_to_link)
    pose[:3, 3] = link.placement.inverse().translation
    return pose


def _transform(parent: str, child: str, pose: Array) -> dict[str, Any]:
    turn = pin.Quaternion(np.array(pose[:3, :3])).coeffs()
    return {
        "header": {"frame_id": parent},
        "child_frame_id": child,
        "transform": {
            "translation": dict(zip("xyz", pose[:3, 3], strict=True)),
            "rotation": dict(zip("xyzw", turn, strict=True)),
        },
    }


def _markers(surroundings: Surroundings) -> list[dict[str, Any]]:
    """Return surroundings as visualization_msgs/Marker."""
    found = []
    if surroundings.ground is not None:
        corners = surroundings.ground.vertices[surroundings.ground.triangles]
        points = [_xyz(row) for row in corners.reshape(-1, 3).tolist()]
        still = [0.0] * 6 + [1.0]
        marker = _marker(GROUND, 0, TRIANGLE_LIST, [1.0] * 3, still)
        found.append({**marker, "points": points})
    for name, blocks in ((WALL, surroundings.walls), (BOX, surroundings.boxes)):
        for number, block in enumerate(blocks):
            size, pose = block.size.tolist(), block.pose.tolist()
            found.append(_marker(name, number, CUBE, size, pose))
    return found


def _marker(
    name: str, number: int, kind: int, size: Sequence[float], pose: Sequence[float]
) -> dict[str, Any]:
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
        "color": dict(zip("rgba", (*COLORS[name], 1.0), strict=True)),
    }


def _xyz(values: Sequence[float]) -> dict[str, float]:
    return dict(zip("xyz", values, strict=True))
