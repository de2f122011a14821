"""Where the mesh files are that a robot file names, and which MuJoCo can read."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from equipoise.errors import RobotFileError

STL_HEADER_BYTES = 84
STL_TRIANGLE_BYTES = 50
MOST_STL_TRIANGLES = 200_000


def resolve_mesh(name: str, robot_file: Path) -> Path | None:
    """Find a mesh file; None where it is not on this machine.

    ``package://p/…`` and ``model://p/…`` are looked for in every folder above the
    robot file and in the folders of ``ROS_PACKAGE_PATH`` and ``AMENT_PREFIX_PATH``;
    a plain path is relative to the robot file.

    Args:
        name: The mesh as the robot file names it.
        robot_file: The robot file.

    Raises:
        RobotFileError: If a package path climbs out of its package.
    """
    scheme, separator, rest = name.partition("://")
    try:
        if not separator:
            return _existing(robot_file.parent / name)
        if scheme == "file":
            return _existing(Path(rest))
        if scheme not in ("package", "model"):
            return None
        rest = rest.lstrip("/")  # "package:///p/…" is met in released files
        if ".." in PurePosixPath(rest).parts:
            raise RobotFileError(
                f"{robot_file}: mesh path '{name}' climbs out of its package"
            )
        return _in_packages(rest, robot_file)
    except (OSError, ValueError):  # over-long names, embedded NUL
        return None


def mujoco_reads(mesh: Path) -> bool:
    """Whether MuJoCo reads a mesh file: OBJ, its own MSH, and binary STL.

    Text STL and COLLADA are what robot files often name and MuJoCo refuses.
    """
    suffix = mesh.suffix.lower()
    if suffix != ".stl":
        return suffix in (".obj", ".msh")
    try:
        with mesh.open("rb") as file:
            header = file.read(STL_HEADER_BYTES)
        if len(header) < STL_HEADER_BYTES:
            return False
        count = int.from_bytes(header[-4:], "little")
        size = mesh.stat().st_size
    except OSError:
        return False
    whole = size == STL_HEADER_BYTES + STL_TRIANGLE_BYTES * count
    return whole and 0 < count <= MOST_STL_TRIANGLES


def _in_packages(package_path: str, robot_file: Path) -> Path | None:
    package, _, inside = package_path.partition("/")
    for folder in robot_file.absolute().parents:
        if folder.name == package and (found := _existing(folder / inside)):
            return found
        if found := _existing(folder / package_path):
            return found
    for variable, below in (("ROS_PACKAGE_PATH", ""), ("AMENT_PREFIX_PATH", "share")):
        for entry in filter(None, os.environ.get(variable, "").split(os.pathsep)):
            if found := _existing(Path(entry) / below / package_path):
                return found
    return None


def _existing(path: Path) -> Path | None:
    return path if path.is_file() else None
